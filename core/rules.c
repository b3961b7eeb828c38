/* Each rule is a function over the blocks. Order matters: what an earlier rule dropped, later ones leave alone. */
#include "rules.h"

enum { REACH_OF_CLONE = 3, FLOAT_BYTES = 4 };

typedef enum rule_index { RECORDED, SCRATCH, WRAPPED_NUMBER, CAST_INSIDE, HOST, ATTENTION_MATH, ATTENTION_STATISTICS, ATTENTION_FLASH, DROPOUT_MASK, RULE_COUNT } rule_index;

static const oc_rule rules[] = {
    [RECORDED] = {"as recorded", "allocator logs of CUDA training steps: same tensors, order and lifetimes (PyTorch 2.6)"},
    [SCRATCH] = {"CPU scratch", "a block freed inside the operator that made it is the CPU kernel's workspace (oneDNN reorders, im2col, thread buffers)"},
    [WRAPPED_NUMBER] = {"wrapped number", "a Python number that became a tensor outside any operator, or its cast inside one; CUDA kernels take it as an argument "
                                          "(TensorIterator)"},
    [CAST_INSIDE] = {"cast inside", "inputs brought to a common type by a pointwise operator, or half ones to float by a reduction, and gone with it: CUDA converts in registers "
                                    "(gpu_kernel_with_dynamic_casting in native/cuda/Loops.cuh, Reduce.cuh; none of 320 in a CUDA log)"},
    [HOST] = {"host memory", "data sets that only the DataLoader reads, step counters of optimizers"},
    [ATTENTION_MATH] = {"attention without scores", "CUDA's memory-efficient kernel (_scaled_dot_product_efficient_attention) never makes the [batch, heads, L, S] tensors"},
    [ATTENTION_STATISTICS] = {"attention statistics", "in place of the softmax that the CPU keeps for backward: logsumexp, float [batch, heads, L up to a multiple of 32] "
                                                      "(_efficient_attention_forward, native/transformers/cuda/attention.cu)"},
    [ATTENTION_FLASH] = {"attention output layout", "CUDA's kernel writes [batch, L, heads, head size], so the copy after transpose is a view of the output"},
    [DROPOUT_MASK] = {"dropout mask", "fused_dropout_kernel (native/cuda/Dropout.cu) keeps one byte per element instead of the noise"},
};

_Static_assert(sizeof rules / sizeof rules[0] == RULE_COUNT, "one row per rule");

const oc_rule *oc_rules_at(size_t index) {
    return index < RULE_COUNT ? &rules[index] : NULL;
}

static void drop(oc_decision *decision, rule_index rule) {
    decision->is_dropped = 1;
    decision->rule = (uint8_t)rule;
}

/* The operator that made the cast around `op` for one of its inputs, OC_NONE if there is no such cast or autograd made it. */
static uint32_t find_casting(const oc_analysis *analysis, uint32_t op) {
    uint32_t cast = oc_analysis_find_around(analysis, op, OC_CLASS_CAST), around = cast == OC_NONE ? OC_NONE : analysis->ops[cast].at.parent;
    while (around != OC_NONE && (analysis->own[around] & OC_CLASS_CAST))
        around = analysis->ops[around].at.parent;
    return around != OC_NONE && !(analysis->own[around] & OC_CLASS_NODE) ? around : OC_NONE;
}

/* Whether the block, a cast that the operator `around` made if any, lives and dies inside one whose CUDA kernel needs none: a pointwise one, or a reduction of a half type
 * (make_reduction in native/ReduceOpsUtils.h; others are cast on CUDA too, such as a mask that is summed). */
static int is_cast_in_registers(const oc_analysis *analysis, const oc_block *block, uint32_t around) {
    if (around == OC_NONE || block->death_ns > analysis->ops[around].at.end_ns)
        return 0;
    if (analysis->own[around] & OC_CLASS_POINTWISE)
        return 1;
    const char *types = oc_intern_text(analysis->names, analysis->ops[around].types, NULL);
    return (analysis->own[around] & OC_CLASS_REDUCTION) && oc_shape_element_bytes(types, 0) == 2 && !oc_shape_is_whole(types, 0);
}

static void drop_cpu_only(oc_decision *decisions, const oc_analysis *analysis, const oc_job *job) {
    for (uint32_t i = 0; i < analysis->block_count; i++) {
        const oc_block *block = &analysis->blocks[i];
        const uint32_t casting = block->op == OC_NONE ? OC_NONE : find_casting(analysis, block->op);
        if (block->is_scratch)
            drop(&decisions[i], SCRATCH);
        else if (job->roles[i] == OC_ROLE_HOST)
            drop(&decisions[i], HOST);
        else if (block->bytes <= OC_SCALAR_BYTES && (block->op == OC_NONE || casting != OC_NONE))
            drop(&decisions[i], WRAPPED_NUMBER);
        else if (is_cast_in_registers(analysis, block, casting))
            drop(&decisions[i], CAST_INSIDE);
    }
}

/* One call of attention by its matrix products: scores = q k', then output = weights v. */
typedef struct attention {
    int64_t first_product_ns, softmax_ns, last_product_ns;
    int64_t score_bytes; /* of the softmax's result */
} attention;

/* Per operator the index of the attention call it lies in, plus 1; 0 outside. NULL if out of memory. */
static uint32_t *list_attentions(const oc_analysis *analysis, oc_arena *scratch, attention **calls) {
    uint32_t *call_of = oc_arena_alloc(scratch, analysis->op_count, sizeof *call_of), count = 0;
    for (uint32_t i = 0; i < analysis->op_count; i++)
        count += (analysis->own[i] & OC_CLASS_ATTENTION_MATH) != 0;
    *calls = oc_arena_alloc(scratch, count, sizeof **calls);
    if (!call_of || !*calls)
        return NULL;
    count = 0;
    for (uint32_t i = 0; i < analysis->op_count; i++) { /* operators come after those around them */
        if (analysis->own[i] & OC_CLASS_ATTENTION_MATH)
            call_of[i] = ++count;
        else if (analysis->ops[i].at.parent != OC_NONE)
            call_of[i] = call_of[analysis->ops[i].at.parent];
        if (!call_of[i])
            continue;
        attention *call = &(*calls)[call_of[i] - 1];
        int64_t start_ns = analysis->ops[i].at.start_ns;
        if ((analysis->own[i] & OC_CLASS_MATMUL) && !call->first_product_ns)
            call->first_product_ns = start_ns;
        if (analysis->own[i] & OC_CLASS_MATMUL)
            call->last_product_ns = start_ns;
        if (analysis->own[i] & OC_CLASS_SOFTMAX)
            call->softmax_ns = start_ns;
    }
    for (uint32_t i = 0; i < analysis->block_count; i++) {
        const oc_block *block = &analysis->blocks[i];
        if (block->op != OC_NONE && call_of[block->op] && (block->around & OC_CLASS_SOFTMAX))
            (*calls)[call_of[block->op] - 1].score_bytes = block->bytes;
    }
    return call_of;
}

/* The softmax that autograd saves becomes a logsumexp per row; its shape is that of the scores, [..., L, S]. 0 if it is not saved or its
 * shape is unknown. */
static int shrink_to_statistics(oc_decision *decision, const oc_analysis *analysis, const oc_block *block) {
    oc_shape scores;
    if (block->producer == OC_NONE || !(analysis->own[block->producer] & OC_CLASS_SOFTMAX))
        return 0;
    const oc_op *around = &analysis->ops[oc_analysis_find_around(analysis, block->op, OC_CLASS_ATTENTION_MATH)];
    if (block->death_ns <= around->at.end_ns || !oc_shape_read(oc_intern_text(analysis->names, analysis->ops[block->producer].dims, NULL), 0, &scores) ||
        scores.rank < 2)
        return 0;
    int64_t rows = scores.dims[scores.rank - 2], columns = scores.dims[scores.rank - 1];
    int64_t element_bytes = oc_shape_element_bytes(oc_intern_text(analysis->names, analysis->ops[block->producer].types, NULL), 0);
    if (rows < 1 || columns < 1 || element_bytes < 1 || rows > INT32_MAX / 32 || columns > INT32_MAX / rows / element_bytes)
        return 0;
    decision->multiplier = (uint32_t)((rows + 31) / 32 * 32 * FLOAT_BYTES);
    decision->divisor = (uint32_t)(rows * columns * element_bytes);
    decision->rule = ATTENTION_STATISTICS;
    return 1;
}

/* Forward: what has the scores' size between the two products, and all of the dropout and the guarded softmax there. Backward: the same
 * size in the nodes of the softmax and of what follows it; of the second product's node the first result only, the gradient of the
 * weights, as the gradient of v comes second (derivatives.yaml, bmm: self, mat2). */
static int drop_attention_scores(oc_decision *decisions, const oc_analysis *analysis, oc_arena *scratch) {
    attention *calls;
    const uint32_t *call_of = list_attentions(analysis, scratch, &calls);
    uint8_t *has_weights_gradient = oc_arena_alloc(scratch, analysis->op_count, 1); /* per forward operator */
    if (!call_of || !has_weights_gradient)
        return 0;
    for (uint32_t i = 0; i < analysis->block_count; i++) {
        const oc_block *block = &analysis->blocks[i];
        uint32_t op = block->is_backward ? block->forward_op : block->op;
        if (decisions[i].is_dropped || op == OC_NONE || !call_of[op])
            continue;
        const attention *call = &calls[call_of[op] - 1];
        int has_size = call->score_bytes && block->bytes == call->score_bytes;
        if (block->is_backward) {
            int is_second_product = (analysis->own[op] & OC_CLASS_MATMUL) && analysis->ops[op].at.start_ns > call->softmax_ns;
            if (!has_size || analysis->ops[op].at.start_ns < call->softmax_ns || (is_second_product && has_weights_gradient[op]))
                continue;
            has_weights_gradient[op] = 1;
            drop(&decisions[i], ATTENTION_MATH);
            continue;
        }
        int is_between = block->birth_ns >= call->first_product_ns && block->birth_ns < call->last_product_ns;
        int is_inside = (block->around & (OC_CLASS_SAFE_SOFTMAX | OC_CLASS_DROPOUT)) != 0;
        if (((has_size && is_between) || is_inside) && !shrink_to_statistics(&decisions[i], analysis, block))
            drop(&decisions[i], ATTENTION_MATH);
    }
    return 1;
}

/* The CPU's flash kernel writes [batch, heads, L, head size] and the model copies it after transpose; on CUDA both are one
 * storage, alive until the later of the two is freed. The copy is among the next surviving blocks. */
static void join_flash_output(oc_decision *decisions, const oc_analysis *analysis) {
    for (uint32_t i = 0; i < analysis->block_count; i++) {
        const oc_block *block = &analysis->blocks[i];
        if (!(block->around & OC_CLASS_ATTENTION_FLASH) || block->is_backward || block->kind != OC_BLOCK_TENSOR || block->is_scratch)
            continue;
        int seen = 0;
        for (uint32_t k = i + 1; k < analysis->block_count && seen < REACH_OF_CLONE; k++) {
            const oc_block *copy = &analysis->blocks[k];
            if (copy->kind != OC_BLOCK_TENSOR || copy->is_scratch)
                continue;
            seen++;
            if (copy->bytes != block->bytes || !(copy->around & OC_CLASS_CLONE) || (copy->around & OC_CLASS_ATTENTION_FLASH) || copy->is_backward)
                continue;
            drop(&decisions[k], ATTENTION_FLASH);
            if (copy->death_ns > decisions[i].death_ns)
                decisions[i].death_ns = copy->death_ns;
            decisions[i].rule = ATTENTION_FLASH;
            break;
        }
    }
}

static void shrink_dropout_noise(oc_decision *decisions, const oc_analysis *analysis) {
    for (uint32_t i = 0; i < analysis->block_count; i++) {
        const oc_block *block = &analysis->blocks[i];
        if (decisions[i].is_dropped || !(block->around & OC_CLASS_DROPOUT) || (analysis->own[block->producer] & OC_CLASS_MUL))
            continue;
        const oc_op *dropout = &analysis->ops[oc_analysis_find_around(analysis, block->op, OC_CLASS_DROPOUT)];
        int64_t element_bytes = oc_shape_element_bytes(oc_intern_text(analysis->names, dropout->types, NULL), 0);
        decisions[i].divisor = element_bytes ? (uint32_t)element_bytes : 4;
        decisions[i].rule = DROPOUT_MASK;
    }
}

oc_decision *oc_rules_decide(const oc_analysis *analysis, const oc_job *job, oc_arena *arena, oc_arena *scratch) {
    oc_decision *decisions = oc_arena_alloc(arena, analysis->block_count, sizeof *decisions);
    if (!decisions)
        return NULL;
    for (uint32_t i = 0; i < analysis->block_count; i++) {
        decisions[i].multiplier = decisions[i].divisor = 1;
        decisions[i].death_ns = analysis->blocks[i].death_ns;
    }
    drop_cpu_only(decisions, analysis, job);
    if (!drop_attention_scores(decisions, analysis, scratch))
        return NULL;
    join_flash_output(decisions, analysis);
    shrink_dropout_noise(decisions, analysis);
    return decisions;
}

/* Parameters from gradients, buffers from what survives or is read, batch size from the data that flows in. */
#include "job.h"

#include <stdlib.h>
#include <string.h>

enum {
    SCALAR_BYTES = 8,             /* step counters and wrapped numbers are not larger */
    SMALLEST_DATASET_BYTES = 65536 /* below, a chance match of sizes is likelier than a data set, and matters less */
};

static const char *text(const oc_analysis *analysis, uint32_t number) {
    return oc_intern_text(analysis->names, number, NULL);
}

/* Bytes of an operator's n-th input, 0 if unknown. */
static int64_t input_bytes(const oc_analysis *analysis, const oc_op *op, unsigned input) {
    oc_shape shape;
    if (!oc_shape_read(text(analysis, op->dims), input, &shape))
        return 0;
    int64_t count = oc_shape_element_count(&shape);
    int64_t element_bytes = oc_shape_element_bytes(text(analysis, op->types), input);
    return count > 0 && element_bytes > 0 && count <= INT64_MAX / element_bytes ? count * element_bytes : 0;
}

/* ---- gradients and parameters ---- */

static void mark_gradients(oc_job *job, const oc_analysis *analysis) {
    for (uint32_t i = 0; i < analysis->block_count; i++) {
        const oc_block *block = &analysis->blocks[i];
        if (!block->is_backward || block->kind != OC_BLOCK_TENSOR || block->is_scratch)
            continue;
        const oc_window *pass = oc_windows_find(&analysis->passes, block->birth_ns);
        if (pass && block->death_ns > pass->end_ns)
            job->roles[i] = OC_ROLE_GRADIENT;
    }
}

typedef struct gradient_key {
    uint32_t dims, types;
    uint32_t seen;  /* in the current pass */
    uint32_t count; /* most in any pass */
    int64_t bytes;
} gradient_key;

/* Every parameter's gradient goes through AccumulateGrad once a pass, whatever block holds it. Over several passes (gradient
 * accumulation, several losses) the most of each shape in one pass count. Order: last accumulated first, that is about the order of
 * the model. */
static int list_from_accumulate(oc_job *job, const oc_analysis *analysis, oc_arena *arena, oc_arena *scratch) {
    uint32_t op_limit = 0;
    for (uint32_t i = 0; i < analysis->op_count; i++)
        op_limit += (analysis->own[i] & OC_CLASS_ACCUMULATE) && analysis->ops[i].dims;
    gradient_key *keys = oc_arena_alloc(scratch, op_limit, sizeof *keys);
    oc_parameter *found = oc_arena_alloc(scratch, op_limit, sizeof *found);
    job->parameters = oc_arena_alloc(arena, op_limit, sizeof *job->parameters);
    if (!keys || !found || !job->parameters)
        return 0;
    uint32_t key_count = 0, count = 0;
    const oc_window *pass = NULL;
    for (uint32_t i = 0; i < analysis->op_count; i++) {
        const oc_op *op = &analysis->ops[i];
        if (!(analysis->own[i] & OC_CLASS_ACCUMULATE) || !op->dims)
            continue;
        const oc_window *in = oc_windows_find(&analysis->passes, op->at.start_ns);
        if (in != pass)
            for (uint32_t k = 0; k < key_count; k++)
                keys[k].seen = 0;
        pass = in;
        uint32_t k = 0;
        while (k < key_count && (keys[k].dims != op->dims || keys[k].types != op->types))
            k++;
        if (k == key_count)
            keys[key_count++] = (gradient_key){op->dims, op->types, 0, 0, input_bytes(analysis, op, 0)};
        if (++keys[k].seen <= keys[k].count || !keys[k].bytes)
            continue;
        keys[k].count = keys[k].seen;
        found[count++] = (oc_parameter){keys[k].bytes, op->dims, OC_NONE};
    }
    for (uint32_t i = 0; i < count; i++)
        job->parameters[i] = found[count - 1 - i];
    job->parameter_count = count;
    return 1;
}

/* Without shapes: the gradients that are alive when the first step begins (or at the end of the first pass). */
static int list_from_blocks(oc_job *job, const oc_analysis *analysis, oc_arena *arena) {
    if (!analysis->passes.count)
        return 1;
    int64_t moment = analysis->steps.count ? analysis->steps.items[0].start_ns : analysis->passes.items[0].end_ns;
    job->parameters = oc_arena_alloc(arena, analysis->block_count, sizeof *job->parameters);
    if (!job->parameters)
        return 0;
    for (uint32_t i = analysis->block_count; i-- > 0;) {
        const oc_block *block = &analysis->blocks[i];
        if (job->roles[i] == OC_ROLE_GRADIENT && block->birth_ns < moment && block->death_ns > moment)
            job->parameters[job->parameter_count++] = (oc_parameter){block->bytes, 0, OC_NONE};
    }
    return 1;
}

static int compare_parameters(const void *a, const void *b) {
    const oc_parameter *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? -1 : 1;
    return x->block < y->block ? -1 : x->block > y->block;
}

/* Orders as the parameters were made; `block` holds a position here, unseen ones come last in their order. */
static int compare_births(const void *a, const void *b) {
    const oc_parameter *x = a, *y = b;
    return x->block < y->block ? -1 : x->block > y->block;
}

static int is_built_survivor(const oc_block *block) {
    return block->kind == OC_BLOCK_BUILT && block->death_ns == OC_NEVER;
}

/* Gives each parameter the first surviving block of its size that was built before the loop. */
static int match_parameters(oc_job *job, const oc_analysis *analysis, oc_arena *scratch) {
    uint32_t count = job->parameter_count;
    oc_parameter *sorted = oc_arena_alloc(scratch, count, sizeof *sorted);
    uint32_t *taken = oc_arena_alloc(scratch, count, sizeof *taken); /* at the first entry of a size: how many of it are taken */
    if (!sorted || !taken)
        return 0;
    for (uint32_t i = 0; i < count; i++) {
        sorted[i] = job->parameters[i];
        sorted[i].block = i;
    }
    if (count)
        qsort(sorted, count, sizeof *sorted, compare_parameters);
    uint32_t *block_of = oc_arena_alloc(scratch, count, sizeof *block_of);
    if (!block_of)
        return 0;
    for (uint32_t i = 0; i < count; i++)
        block_of[i] = OC_NONE;
    for (uint32_t i = 0; i < analysis->block_count; i++) {
        const oc_block *block = &analysis->blocks[i];
        if (!is_built_survivor(block))
            continue;
        uint32_t low = 0, high = count;
        while (low < high) {
            uint32_t middle = low + (high - low) / 2;
            if (sorted[middle].bytes < block->bytes)
                low = middle + 1;
            else
                high = middle;
        }
        uint32_t at = low < count ? low + taken[low] : count;
        if (at < count && sorted[at].bytes == block->bytes) {
            taken[low]++;
            block_of[sorted[at].block] = i;
            job->roles[i] = OC_ROLE_PARAMETER;
        }
    }
    for (uint32_t i = 0; i < count; i++) { /* unseen ones get positions behind all blocks */
        job->unseen_parameter_count += block_of[i] == OC_NONE;
        job->parameters[i].block = block_of[i] == OC_NONE ? analysis->block_count + i : block_of[i];
        job->parameter_bytes += job->parameters[i].bytes;
    }
    if (count)
        qsort(job->parameters, count, sizeof *job->parameters, compare_births);
    for (uint32_t i = 0; i < count; i++)
        if (job->parameters[i].block >= analysis->block_count)
            job->parameters[i].block = OC_NONE;
    job->gradient_bytes = job->parameter_bytes;
    return 1;
}

/* ---- other blocks built before the loop ---- */

/* State that an optimizer's constructor made (Adagrad's `sum`): survivors made by full_like or zeros_like, of the sizes of the
 * parameters in their order. Scalars built after the first of them, or of 4 bytes (a buffer that counts batches has 8), are its
 * step counters, which stay on the CPU. */
static void mark_built_state(oc_job *job, const oc_analysis *analysis) {
    uint32_t matched = 0, first = OC_NONE;
    for (uint32_t pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0, next = 0; i < analysis->block_count; i++) {
            const oc_block *block = &analysis->blocks[i];
            if (!is_built_survivor(block) || job->roles[i] == OC_ROLE_PARAMETER)
                continue;
            int is_next = next < job->parameter_count && (block->around & OC_CLASS_FULL_LIKE) && block->bytes == job->parameters[next].bytes;
            if (is_next) {
                next++;
                if (first == OC_NONE)
                    first = i;
            }
            if (pass == 0)
                matched = next;
            else if (is_next) {
                job->roles[i] = OC_ROLE_STATE;
                job->recorded_state_bytes += block->bytes;
            } else if (block->bytes <= SCALAR_BYTES && (i > first || block->bytes < SCALAR_BYTES)) {
                job->roles[i] = OC_ROLE_HOST;
            }
        }
        if (!job->parameter_count || matched != job->parameter_count)
            return;
        job->is_state_built = 1;
    }
}

/* Data that only the DataLoader touches stays on the CPU: what its operators read and did not make. */
static int mark_dataset(oc_job *job, const oc_analysis *analysis, oc_arena *scratch) {
    uint32_t *candidates = oc_arena_alloc(scratch, analysis->block_count, sizeof *candidates), count = 0;
    uint8_t *is_seen = oc_arena_alloc(scratch, analysis->names->count, 1); /* per text of dims: one data set each */
    if (!candidates || !is_seen)
        return 0;
    for (uint32_t i = 0; i < analysis->block_count; i++)
        if (is_built_survivor(&analysis->blocks[i]) && job->roles[i] == OC_ROLE_NONE && analysis->blocks[i].bytes >= SMALLEST_DATASET_BYTES)
            candidates[count++] = i;
    for (uint32_t i = 0; count && i < analysis->op_count; i++) {
        const oc_op *op = &analysis->ops[i];
        if (!op->dims || is_seen[op->dims] || !oc_windows_find(&analysis->loads, op->at.start_ns))
            continue;
        is_seen[op->dims] = 1;
        int64_t bytes = input_bytes(analysis, op, 0);
        for (uint32_t k = count; k-- > 0;) { /* the last made first: data sets are made after the model more often than before */
            if (analysis->blocks[candidates[k]].bytes != bytes)
                continue;
            job->roles[candidates[k]] = OC_ROLE_HOST;
            candidates[k] = candidates[--count];
            break;
        }
    }
    return 1;
}

/* What is left are buffers; where nothing is trained, parameters cannot be told from buffers and all count as parameters. */
static void mark_buffers(oc_job *job, const oc_analysis *analysis) {
    for (uint32_t i = 0; i < analysis->block_count; i++) {
        if (!is_built_survivor(&analysis->blocks[i]) || job->roles[i] != OC_ROLE_NONE)
            continue;
        job->roles[i] = job->parameter_count ? OC_ROLE_BUFFER : OC_ROLE_PARAMETER;
        *(job->parameter_count ? &job->buffer_bytes : &job->parameter_bytes) += analysis->blocks[i].bytes;
    }
}

/* What the steps made and kept. */
static void mark_step_state(oc_job *job, const oc_analysis *analysis) {
    for (uint32_t i = 0; i < analysis->block_count; i++) {
        const oc_block *block = &analysis->blocks[i];
        if (block->kind != OC_BLOCK_STEP || block->death_ns != OC_NEVER || block->is_backward)
            continue;
        job->roles[i] = block->bytes <= SCALAR_BYTES ? OC_ROLE_HOST : OC_ROLE_STATE;
        if (block->bytes > SCALAR_BYTES)
            job->recorded_state_bytes += block->bytes;
    }
}

/* ---- what a profile that began later does not show ---- */

/* Running mean and variance of every batch_norm of the first forward pass, and its counter of batches (8 bytes). */
static int find_unseen_buffers(oc_job *job, const oc_analysis *analysis, oc_arena *arena) {
    if (job->unseen_parameter_count * 2 <= job->parameter_count) /* most were seen, so the buffers were too */
        return 1;
    int64_t until = analysis->passes.count ? analysis->passes.items[0].start_ns : analysis->end_ns;
    uint32_t norms = 0;
    for (uint32_t i = 0; i < analysis->op_count; i++)
        norms += (analysis->own[i] & OC_CLASS_BATCH_NORM) && analysis->ops[i].at.start_ns < until;
    job->unseen_buffers = oc_arena_alloc(arena, norms * 3u, sizeof *job->unseen_buffers);
    if (!job->unseen_buffers)
        return 0;
    for (uint32_t i = 0; i < analysis->op_count; i++) {
        if (!(analysis->own[i] & OC_CLASS_BATCH_NORM) || analysis->ops[i].at.start_ns >= until)
            continue;
        int64_t mean = input_bytes(analysis, &analysis->ops[i], 3), variance = input_bytes(analysis, &analysis->ops[i], 4);
        if (!mean || !variance)
            continue;
        job->unseen_buffers[job->unseen_buffer_count++] = mean;
        job->unseen_buffers[job->unseen_buffer_count++] = variance;
        job->unseen_buffers[job->unseen_buffer_count++] = 8;
    }
    for (uint32_t i = 0; i < job->unseen_buffer_count; i++)
        job->buffer_bytes += job->unseen_buffers[i];
    return 1;
}

/* If the first backward pass ran before the first fetch that is in the profile, its batch was fetched before. */
static int find_unseen_batch(oc_job *job, const oc_analysis *analysis, oc_arena *arena) {
    if (!analysis->loads.count || !analysis->passes.count || analysis->loads.items[0].start_ns < analysis->passes.items[0].start_ns)
        return 1;
    const oc_window *load = &analysis->loads.items[0];
    for (uint32_t round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < analysis->block_count; i++) {
            const oc_block *block = &analysis->blocks[i];
            if (block->kind != OC_BLOCK_BATCH || block->is_scratch || block->birth_ns != load->end_ns)
                continue;
            if (round)
                job->unseen_batch[job->unseen_batch_count++] = i;
            else
                job->unseen_batch_count++;
        }
        if (round)
            return 1;
        job->unseen_batch = oc_arena_alloc(arena, job->unseen_batch_count, sizeof *job->unseen_batch);
        job->unseen_batch_count = 0;
        if (!job->unseen_batch)
            return 0;
    }
    return 1;
}

/* ---- batch size ---- */

/* The first operator after a fetch that reads a tensor of a batch block's size: its first dimension. */
static int64_t batch_from_loader(const oc_analysis *analysis) {
    enum { TRIES = 8 };
    for (uint32_t b = 0, tried = 0; b < analysis->block_count && tried < TRIES; b++) {
        const oc_block *block = &analysis->blocks[b];
        if (block->kind != OC_BLOCK_BATCH || block->is_scratch)
            continue;
        tried++;
        for (uint32_t i = 0; i < analysis->op_count; i++) {
            const oc_op *op = &analysis->ops[i];
            if (op->at.start_ns < block->birth_ns || !op->dims)
                continue;
            oc_shape shape;
            for (unsigned input = 0; input < 2; input++)
                if (input_bytes(analysis, op, input) == block->bytes && oc_shape_read(text(analysis, op->dims), input, &shape) && shape.rank)
                    return shape.dims[0];
        }
    }
    return 0;
}

/* The first operator of the loop that has a backward node, or without training the first one with a shape: embedding is given the
 * indices second, all others the data first. */
static int64_t batch_from_input(const oc_analysis *analysis) {
    int64_t earliest = OC_NEVER;
    uint32_t first = OC_NONE;
    for (uint32_t i = 0; i < analysis->op_count; i++) {
        uint32_t op = analysis->passes.count ? analysis->forward[i] : i;
        if (op == OC_NONE || analysis->ops[op].at.start_ns < analysis->first_ns || !analysis->ops[op].dims || analysis->ops[op].at.start_ns >= earliest)
            continue;
        oc_shape shape;
        if (!oc_shape_read(text(analysis, analysis->ops[op].dims), 0, &shape) || shape.rank < 2)
            continue;
        earliest = analysis->ops[op].at.start_ns;
        first = op;
    }
    oc_shape shape;
    while (first != OC_NONE && !(analysis->own[first] & OC_CLASS_EMBEDDING) && analysis->ops[first].at.parent != OC_NONE)
        first = analysis->ops[first].at.parent; /* convolution inside conv2d: the same data */
    if (first == OC_NONE || !oc_shape_read(text(analysis, analysis->ops[first].dims), (analysis->own[first] & OC_CLASS_EMBEDDING) ? 1 : 0, &shape))
        return 0;
    return shape.rank ? shape.dims[0] : 0;
}

static void find_batch_size(oc_job *job, const oc_analysis *analysis) {
    job->batch_source = OC_BATCH_METADATA;
    job->batch_size = analysis->trace->metadata.batch_size;
    if (job->batch_size <= 0) {
        job->batch_source = OC_BATCH_LOADER;
        job->batch_size = batch_from_loader(analysis);
    }
    if (job->batch_size <= 0) {
        job->batch_source = OC_BATCH_INPUT;
        job->batch_size = batch_from_input(analysis);
    }
    if (job->batch_size <= 0) {
        job->batch_source = OC_BATCH_UNKNOWN;
        job->batch_size = 0;
    }
}

/* ---- other facts ---- */

/* The first zero_grad: after a step, or between a forward pass and its backward pass, or before the forward pass. */
static oc_zero_grad find_zero_grad(const oc_analysis *analysis) {
    if (!analysis->zeros.count)
        return OC_ZERO_GRAD_RECORDED;
    const oc_window *zero = &analysis->zeros.items[0];
    if (analysis->steps.count && analysis->steps.items[0].start_ns < zero->start_ns)
        return OC_ZERO_GRAD_AFTER_STEP;
    const oc_window *pass = oc_windows_after(&analysis->passes, zero->start_ns);
    for (uint32_t i = 0; pass && i < analysis->op_count; i++) {
        uint32_t forward = analysis->forward[i];
        if (forward != OC_NONE && analysis->ops[forward].at.start_ns < zero->start_ns && analysis->ops[i].at.start_ns >= pass->start_ns &&
            analysis->ops[i].at.start_ns <= pass->end_ns)
            return OC_ZERO_GRAD_AFTER_FORWARD;
    }
    return OC_ZERO_GRAD_START;
}

/* The SGD loop multiplies its momentum buffers in place; without momentum it only adds (torch.optim.sgd._single_tensor_sgd). */
static int find_step_multiplication(const oc_analysis *analysis) {
    for (uint32_t i = 0; i < analysis->op_count; i++)
        if ((analysis->own[i] & OC_CLASS_MUL_IN_PLACE) && oc_windows_find(&analysis->steps, analysis->ops[i].at.start_ns))
            return 1;
    return 0;
}

/* The loops of torch.optim make `grad.add(param, alpha=weight_decay)`, a new tensor per parameter, for nothing else. */
static int find_step_decay(const oc_job *job, const oc_analysis *analysis) {
    for (uint32_t i = 0; i < analysis->block_count; i++) {
        const oc_block *block = &analysis->blocks[i];
        if (block->kind != OC_BLOCK_STEP || block->producer == OC_NONE || !(analysis->own[block->producer] & OC_CLASS_ADD) || block->bytes <= SCALAR_BYTES)
            continue;
        for (uint32_t k = 0; k < job->parameter_count; k++)
            if (job->parameters[k].bytes == block->bytes)
                return 1;
    }
    return 0;
}

static void look_at_kernels(oc_job *job, const oc_analysis *analysis) {
    for (uint32_t i = 0; i < analysis->op_count; i++) {
        job->is_compiled |= (analysis->own[i] & OC_CLASS_COMPILED) != 0;
        if ((analysis->own[i] & (OC_CLASS_MATMUL | OC_CLASS_CONVOLUTION)) &&
            (strstr(text(analysis, analysis->ops[i].types), "c10::BFloat16") || strstr(text(analysis, analysis->ops[i].types), "c10::Half")))
            job->low_precision_count++;
    }
}

static void find_matmuls(oc_job *job, const oc_analysis *analysis) {
    job->first_matmul = job->first_backward_matmul = OC_NONE;
    for (uint32_t i = 0; i < analysis->op_count; i++) {
        if (!(analysis->own[i] & OC_CLASS_MATMUL) || analysis->ops[i].at.start_ns < analysis->first_ns)
            continue;
        uint32_t *first = (analysis->around[i] & OC_CLASS_NODE) ? &job->first_backward_matmul : &job->first_matmul;
        if (*first == OC_NONE || analysis->ops[i].at.start_ns < analysis->ops[*first].at.start_ns)
            *first = i;
    }
}

oc_status oc_job_read(oc_job *job, const oc_analysis *analysis, oc_arena *arena, oc_arena *scratch, oc_error *error) {
    job->roles = oc_arena_alloc(arena, analysis->block_count, sizeof *job->roles);
    if (!job->roles)
        return oc_error_set_memory(error);
    mark_gradients(job, analysis);
    if (!list_from_accumulate(job, analysis, arena, scratch) || (!job->parameter_count && !list_from_blocks(job, analysis, arena)) ||
        !match_parameters(job, analysis, scratch))
        return oc_error_set_memory(error);
    mark_built_state(job, analysis);
    if (!mark_dataset(job, analysis, scratch))
        return oc_error_set_memory(error);
    mark_buffers(job, analysis);
    mark_step_state(job, analysis);
    if (!find_unseen_buffers(job, analysis, arena) || !find_unseen_batch(job, analysis, arena))
        return oc_error_set_memory(error);
    find_batch_size(job, analysis);
    job->zero_grad = find_zero_grad(analysis);
    find_matmuls(job, analysis);
    look_at_kernels(job, analysis);
    job->step_multiplies = find_step_multiplication(analysis);
    job->step_decays = find_step_decay(job, analysis);
    return OC_OK;
}

void oc_job_mark_data(oc_job *job, const oc_analysis *analysis, const int64_t *difference) {
    for (uint32_t i = 0; i < analysis->block_count; i++) {
        if (job->roles[i] != OC_ROLE_BUFFER || !difference[i])
            continue;
        job->roles[i] = OC_ROLE_DATA;
        job->buffer_bytes -= analysis->blocks[i].bytes;
    }
}

/* Emits requests block by block, then what only CUDA makes, and sorts them by time. At one time frees come first, then what a kernel does
 * before its output, allocations in order of emission, and what it does afterwards. */
#include "orchestrate.h"

#include "reduction.h"
#include "temporaries.h"

#include <stdlib.h>
#include <string.h>

enum { FREE_FIRST, BEFORE_OUTPUT, ALLOCATE, IN_SEQUENCE, AT_END };

typedef struct event {
    int64_t time_ns;
    uint32_t serial;
    uint32_t tensor;
    uint8_t order;
    uint8_t is_free;
} event;

typedef struct emitter {
    oc_plan *plan;
    const oc_subject *subject;
    oc_list events, tensors;
    int is_out_of_memory;
} emitter;

static void emit(emitter *e, int64_t time_ns, uint32_t tensor, int is_free, int order) {
    event *new = tensor == OC_NONE ? NULL : oc_list_push(&e->events);
    if (!new) {
        e->is_out_of_memory = 1;
        return;
    }
    *new = (event){time_ns, (uint32_t)e->events.count, tensor, (uint8_t)order, (uint8_t)is_free};
}

static uint32_t add_tensor(emitter *e, oc_tensor tensor) {
    oc_tensor *new = oc_list_push(&e->tensors);
    if (!new)
        return OC_NONE;
    *new = tensor;
    return (uint32_t)e->tensors.count - 1;
}

/* A tensor with its whole life; `death_ns` may be OC_NEVER. */
static void add_life(emitter *e, int64_t birth_ns, int64_t death_ns, oc_tensor tensor) {
    uint32_t number = add_tensor(e, tensor);
    emit(e, birth_ns, number, 0, ALLOCATE);
    if (death_ns != OC_NEVER)
        emit(e, death_ns, number, 1, FREE_FIRST);
}

/* ---- zero_grad elsewhere ---- */

/* When a gradient that the recorded zero_grad freed would be freed if zero_grad stood elsewhere in the iteration. */
static int64_t moved_death(const oc_subject *subject, int64_t death_ns, oc_zero_grad wanted) {
    enum { REACH_NS = 1000 }; /* the free is reported up to a microsecond after the annotation's end */
    const oc_analysis *a = subject->analysis;
    const oc_window *zero = oc_windows_find(&a->zeros, death_ns);
    if (!zero)
        zero = oc_windows_find(&a->zeros, death_ns - REACH_NS);
    if (!zero)
        return death_ns;
    if (wanted == OC_ZERO_GRAD_AFTER_FORWARD) {
        const oc_window *pass = oc_windows_after(&a->passes, zero->end_ns);
        return pass ? pass->start_ns : death_ns;
    }
    const oc_window *step = oc_windows_before(&a->steps, zero->start_ns);
    if (wanted == OC_ZERO_GRAD_AFTER_STEP)
        return step ? step->end_ns : death_ns;
    /* at the start of the iteration: after the fetch */
    if (subject->job->zero_grad == OC_ZERO_GRAD_AFTER_STEP) {
        const oc_window *next = oc_windows_after(&a->loads, zero->start_ns);
        return next ? next->end_ns : death_ns;
    }
    const oc_window *load = oc_windows_before(&a->loads, zero->start_ns);
    return load ? load->end_ns : step ? step->end_ns : death_ns;
}

/* ---- recorded blocks ---- */

oc_category oc_category_of(const oc_block *block, oc_role role) {
    switch (role) {
    case OC_ROLE_PARAMETER: return OC_CATEGORY_PARAMETER;
    case OC_ROLE_BUFFER: return OC_CATEGORY_BUFFER;
    case OC_ROLE_GRADIENT: return OC_CATEGORY_GRADIENT;
    case OC_ROLE_STATE: return OC_CATEGORY_STATE;
    default: break;
    }
    if (block->kind == OC_BLOCK_BATCH || role == OC_ROLE_DATA)
        return OC_CATEGORY_BATCH;
    return block->is_backward || block->kind == OC_BLOCK_STEP ? OC_CATEGORY_TEMPORARY : OC_CATEGORY_ACTIVATION;
}

static int64_t bytes_of_block(const oc_subject *subject, uint32_t block, int64_t batch) {
    const oc_decision *decision = &subject->decisions[block];
    int64_t bytes = oc_scale_bytes(subject->scale, block, subject->analysis->blocks[block].bytes, batch);
    /* the division first where the product could overflow; both ways are exact for whole rows */
    bytes = bytes <= INT64_MAX / decision->multiplier ? bytes * decision->multiplier / decision->divisor : bytes / decision->divisor * decision->multiplier;
    return bytes < 1 ? 1 : bytes;
}

static void emit_blocks(emitter *e, const oc_options *options, int is_step_replayed) {
    const oc_subject *s = e->subject;
    const oc_analysis *a = s->analysis;
    int is_moved = options->zero_grad != OC_ZERO_GRAD_RECORDED && options->zero_grad != s->job->zero_grad;
    for (uint32_t i = 0; i < a->block_count; i++) {
        const oc_block *block = &a->blocks[i];
        const oc_decision *decision = &s->decisions[i];
        oc_role role = (oc_role)s->job->roles[i];
        if (decision->is_dropped || (!is_step_replayed && (block->kind == OC_BLOCK_STEP || role == OC_ROLE_STATE)))
            continue;
        int64_t death_ns = decision->death_ns;
        if (is_moved && death_ns != OC_NEVER && block->is_backward)
            death_ns = moved_death(s, death_ns, options->zero_grad);
        add_life(e, block->birth_ns, death_ns,
                 (oc_tensor){bytes_of_block(s, i, e->plan->batch), block->producer, block->module, block->iteration,
                             (uint8_t)oc_category_of(block, role), block->phase});
    }
}

/* What a profile that began later does not show: it was there before the first event. */
static void emit_unseen(emitter *e) {
    const oc_subject *s = e->subject;
    const oc_job *job = s->job;
    int64_t before_ns = s->analysis->begin_ns - 1;
    for (uint32_t i = job->parameter_count - job->unseen_parameter_count; i < job->parameter_count; i++)
        add_life(e, before_ns, OC_NEVER, (oc_tensor){job->parameters[i].bytes, OC_NONE, OC_NONE, 0, OC_CATEGORY_PARAMETER, OC_PHASE_PARAMETERS});
    for (uint32_t i = 0; i < job->unseen_frozen_count; i++)
        add_life(e, before_ns, OC_NEVER, (oc_tensor){job->unseen_frozen[i], OC_NONE, OC_NONE, 0, OC_CATEGORY_PARAMETER, OC_PHASE_PARAMETERS});
    for (uint32_t i = 0; i < job->unseen_buffer_count; i++)
        add_life(e, before_ns, OC_NEVER, (oc_tensor){job->unseen_buffers[i], OC_NONE, OC_NONE, 0, OC_CATEGORY_BUFFER, OC_PHASE_PARAMETERS});
    for (uint32_t i = 0; i < job->unseen_batch_count; i++) /* replaced when the next one has come */
        add_life(e, before_ns, s->analysis->loads.items[0].end_ns + 1,
                 (oc_tensor){bytes_of_block(s, job->unseen_batch[i], e->plan->batch), OC_NONE, OC_NONE, 0, OC_CATEGORY_BATCH, OC_PHASE_OTHER});
}

/* ---- the optimizer ---- */

static oc_tensor step_tensor(int64_t bytes, oc_category category, uint32_t iteration) {
    return (oc_tensor){bytes, OC_NONE, OC_NONE, iteration, (uint8_t)category, OC_PHASE_STEP};
}

/* Row and column means instead of a full state tensor, float32 (Adafactor); vectors whole. */
static int64_t factored_bytes(const oc_subject *s, const oc_parameter *parameter, int64_t parts[2]) {
    oc_shape shape;
    parts[0] = parameter->bytes;
    parts[1] = 0;
    if (!oc_shape_read(oc_intern_text(s->analysis->names, parameter->dims, NULL), 0, &shape) || shape.rank < 2)
        return parts[0];
    int64_t count = oc_shape_element_count(&shape);
    parts[0] = count / (shape.dims[shape.rank - 1] ? shape.dims[shape.rank - 1] : 1) * 4;
    parts[1] = count / (shape.dims[shape.rank - 2] ? shape.dims[shape.rank - 2] : 1) * 4;
    return parts[0] + parts[1];
}

static void emit_state(emitter *e, const oc_optimizer *optimizer, int copies, int64_t time_ns) {
    const oc_job *job = e->subject->job;
    for (uint32_t i = 0; i < job->parameter_count; i++) {
        if (optimizer->is_factored) {
            int64_t parts[2];
            e->plan->optimizer_state_bytes = oc_add_bytes(e->plan->optimizer_state_bytes, factored_bytes(e->subject, &job->parameters[i], parts));
            for (int part = 0; part < 2; part++)
                if (parts[part])
                    add_life(e, time_ns, OC_NEVER, step_tensor(parts[part], OC_CATEGORY_STATE, 0));
            continue;
        }
        for (int copy = 0; copy < copies; copy++)
            add_life(e, time_ns, OC_NEVER, step_tensor(job->parameters[i].bytes, OC_CATEGORY_STATE, 0));
        e->plan->optimizer_state_bytes = oc_add_bytes(e->plan->optimizer_state_bytes, copies * job->parameters[i].bytes);
    }
}

/* All parameters at once: lists of temporaries from the step's start to its end. */
static void emit_foreach(emitter *e, int copies, const oc_window *step, uint32_t iteration) {
    const oc_job *job = e->subject->job;
    for (int copy = 0; copy < copies; copy++)
        for (uint32_t i = 0; i < job->parameter_count; i++)
            add_life(e, step->start_ns, step->end_ns, step_tensor(job->parameters[i].bytes, OC_CATEGORY_TEMPORARY, iteration));
}

/* One parameter after the other: each makes `copies` temporaries, of which the last lives until the next parameter's is ready. */
static void emit_loop(emitter *e, int copies, const oc_window *step, uint32_t iteration) {
    const oc_job *job = e->subject->job;
    uint32_t left = OC_NONE;
    for (uint32_t i = 0; copies && i < job->parameter_count; i++) {
        uint32_t previous = OC_NONE;
        for (int copy = 0; copy < copies; copy++) {
            uint32_t number = add_tensor(e, step_tensor(job->parameters[i].bytes, OC_CATEGORY_TEMPORARY, iteration));
            emit(e, step->start_ns, number, 0, IN_SEQUENCE);
            if (previous != OC_NONE)
                emit(e, step->start_ns, previous, 1, IN_SEQUENCE);
            previous = number;
        }
        if (left != OC_NONE)
            emit(e, step->start_ns, left, 1, IN_SEQUENCE);
        left = previous;
    }
    if (left != OC_NONE)
        emit(e, step->end_ns, left, 1, FREE_FIRST);
}

/* Full-size state tensors per parameter: as the recording shows, else the table's default. */
static int state_copies(emitter *e, const oc_optimizer *optimizer, int is_recorded) {
    enum { MOST_COPIES = 8 }; /* no optimizer of the table keeps half as many: what is above was something else */
    const oc_job *job = e->subject->job;
    int copies = optimizer->state_copies;
    if (!is_recorded || optimizer->is_factored || !job->parameter_bytes)
        return copies;
    if (job->recorded_state_bytes) {
        int64_t seen = (job->recorded_state_bytes + job->parameter_bytes / 2) / job->parameter_bytes;
        seen = seen < MOST_COPIES ? seen : MOST_COPIES;
        if (seen != copies)
            oc_assumptions_add(&e->plan->assumptions, "%s keeps %lld %s of the parameters as its state, as recorded", optimizer->name, (long long)seen,
                               seen == 1 ? "copy" : "copies");
        return (int)seen;
    }
    if (!job->unseen_parameter_count)
        return copies;
    /* seen in the recorded loop: amsgrad takes a maximum, a centered form a lerp, momentum one more multiplication per parameter */
    int has_momentum = optimizer->plain_multiplications >= 0 &&
                       job->step_multiplications >= (uint32_t)(optimizer->plain_multiplications + 1) * job->parameter_count;
    copies += (optimizer->is_maximum_state && job->step_has_maximum) + (optimizer->is_lerp_state && job->step_has_lerp) + has_momentum;
    oc_assumptions_add(&e->plan->assumptions,
                       "the profile began after the optimizer had made its state: counted for %s as its recorded step tells, %d %s of the parameters",
                       optimizer->name, copies, copies == 1 ? "copy" : "copies");
    return copies;
}

static oc_status resolve_form(const oc_optimizer *optimizer, oc_foreach wanted, oc_foreach *form, oc_error *error) {
    *form = wanted != OC_FOREACH_AUTO ? wanted : optimizer->is_foreach_default ? OC_FOREACH_ON : OC_FOREACH_OFF;
    if (*form == OC_FOREACH_ON && optimizer->foreach_copies < 0)
        return oc_error_set(error, OC_OPTIONS, OC_NO_OFFSET, "%s has no foreach form that is known here: use foreach off", optimizer->name);
    if (*form == OC_FOREACH_FUSED && !optimizer->has_fused)
        return oc_error_set(error, OC_OPTIONS, OC_NO_OFFSET, "%s has no fused form: use foreach on or off", optimizer->name);
    return OC_OK;
}

static void assume_form(emitter *e, const oc_optimizer *optimizer, oc_foreach form, int is_default, int copies) {
    static const char *const forms[] = {"", "foreach form", "loop", "fused form"};
    const char *which = is_default ? ", the default on CUDA" : "";
    if (copies)
        oc_assumptions_add(&e->plan->assumptions, "%s steps in its %s%s, with temporaries of %d %s of the parameters", optimizer->name, forms[form], which,
                           copies, copies == 1 ? "copy" : "copies");
    else
        oc_assumptions_add(&e->plan->assumptions, "%s steps in its %s%s", optimizer->name, forms[form], which);
}

static oc_status emit_optimizer(emitter *e, const oc_options *options, int is_recorded, oc_error *error) {
    const oc_optimizer *optimizer = e->plan->optimizer;
    const oc_analysis *a = e->subject->analysis;
    oc_foreach form;
    oc_status status = resolve_form(optimizer, options->foreach, &form, error);
    if (status != OC_OK)
        return status;
    oc_windows steps = a->steps;
    if (!steps.count) { /* a step was asked for that was not recorded: at the end of every backward pass */
        steps = a->passes;
        oc_assumptions_add(&e->plan->assumptions, "the profile has no optimizer step; one of %s was added after every backward pass", optimizer->name);
    }
    int decay = is_recorded && e->subject->job->step_decays ? optimizer->decay_copies : 0;
    for (uint32_t i = 0; i < steps.count; i++) {
        oc_window step = a->steps.count ? steps.items[i] : (oc_window){steps.items[i].end_ns, steps.items[i].end_ns + 1};
        if (i == 0) /* with one recorded step, state made in it would never meet a forward pass, as it does in every later iteration */
            emit_state(e, optimizer, state_copies(e, optimizer, is_recorded),
                       optimizer->is_state_built || steps.count == 1 ? a->first_ns - 1 : step.start_ns);
        uint32_t iteration = oc_analysis_iteration(a, step.start_ns);
        if (form == OC_FOREACH_ON)
            emit_foreach(e, optimizer->foreach_copies + decay, &step, iteration);
        else if (form == OC_FOREACH_OFF)
            emit_loop(e, optimizer->loop_copies + decay, &step, iteration);
    }
    assume_form(e, optimizer, form, options->foreach == OC_FOREACH_AUTO, form == OC_FOREACH_ON ? optimizer->foreach_copies + decay : 0);
    return OC_OK;
}

/* Which optimizer, and whether its recorded blocks are replayed because the table does not know it. */
static oc_status choose_optimizer(emitter *e, const oc_options *options, int *is_recorded, int *is_replayed, oc_error *error) {
    const oc_analysis *a = e->subject->analysis;
    oc_plan *plan = e->plan;
    *is_recorded = strcmp(options->optimizer, "recorded") == 0;
    *is_replayed = 0;
    if (!*is_recorded) {
        plan->optimizer = oc_optimizer_find(options->optimizer);
        if (!plan->optimizer) {
            char names[300] = "recorded";
            for (size_t i = 0; oc_optimizer_at(i); i++) {
                strncat(names, ", ", sizeof names - strlen(names) - 1);
                strncat(names, oc_optimizer_at(i)->name, sizeof names - strlen(names) - 1);
            }
            return oc_error_set(error, OC_OPTIONS, OC_NO_OFFSET, "unknown optimizer \"%s\": known are %s", options->optimizer, names);
        }
        plan->optimizer_name = plan->optimizer->name;
        if (!e->subject->job->parameter_count)
            return oc_error_set(error, OC_OPTIONS, OC_NO_OFFSET,
                                "optimizer %s: this profile trains nothing (no gradients), so an optimizer has nothing to do", plan->optimizer->name);
        return OC_OK;
    }
    if (!a->optimizer)
        return OC_OK;
    plan->optimizer_name = oc_intern_text(a->names, a->optimizer, NULL);
    plan->optimizer = oc_optimizer_find(plan->optimizer_name);
    *is_replayed = !plan->optimizer;
    if (*is_replayed) {
        plan->optimizer_state_bytes = e->subject->job->recorded_state_bytes;
        oc_warnings_add(&plan->warnings, "unknown_optimizer", 1, OC_NO_OFFSET,
                        "no rule for the optimizer %s: its tensors are taken as the CPU made them", plan->optimizer_name);
    }
    if (a->other_optimizer)
        oc_warnings_add(&plan->warnings, "several_optimizers", 1, OC_NO_OFFSET,
                        "the profile has steps of %s and %s; all parameters are counted as belonging to the first", plan->optimizer_name,
                        oc_intern_text(a->names, a->other_optimizer, NULL));
    return OC_OK;
}

/* ---- what CUDA's kernels make for themselves ---- */

/* Shape and strides of one input of an operator at the plan's batch size: on the line through both profiles, `other` being the operator of the
 * second one. 0 if not recorded. */
static int shape_at(const oc_subject *s, uint32_t op, uint32_t other, unsigned input, int64_t batch, oc_shape *dims, oc_shape *strides) {
    const oc_op *first = &s->analysis->ops[op];
    if (!oc_shape_read(oc_intern_text(s->analysis->names, first->dims, NULL), input, dims))
        return 0;
    int has_strides = oc_shape_read(oc_intern_text(s->analysis->names, first->strides, NULL), input, strides);
    if (s->scale->difference && batch != s->scale->batch) {
        oc_shape other_dims, other_strides = {.rank = 0};
        if (other == OC_NONE || !oc_shape_read(oc_intern_text(s->analysis->names, s->other->ops[other].dims, NULL), input, &other_dims) ||
            other_dims.rank != dims->rank)
            return 0;
        has_strides = has_strides && oc_shape_read(oc_intern_text(s->analysis->names, s->other->ops[other].strides, NULL), input, &other_strides) &&
                      other_strides.rank == dims->rank;
        for (int i = 0; i < dims->rank; i++) {
            dims->dims[i] = oc_scale_whole(s->scale, dims->dims[i], other_dims.dims[i], batch);
            if (has_strides)
                strides->dims[i] = oc_scale_whole(s->scale, strides->dims[i], other_strides.dims[i], batch);
        }
    }
    if (!has_strides || strides->rank != dims->rank) /* not recorded: contiguous */
        oc_shape_make_strides(dims, strides);
    return 1;
}

/* The operator of the second profile that made the same block. */
static uint32_t other_producer(const oc_subject *s, uint32_t block) {
    return s->scale->difference ? s->scale->other_producer[block] : OC_NONE;
}

static void emit_temporaries(emitter *e, const oc_temporaries *list, uint32_t op, const oc_block *block, int64_t time_ns) {
    uint32_t tensors[OC_TEMPORARY_LIMIT];
    for (uint32_t i = 0; i < list->step_count; i++) {
        const int64_t bytes = list->steps[i].bytes;
        uint32_t *tensor = &tensors[list->steps[i].tensor];
        if (bytes)
            *tensor = add_tensor(e, (oc_tensor){bytes, op, block->module, block->iteration, OC_CATEGORY_TEMPORARY, block->phase});
        emit(e, time_ns, *tensor, !bytes, i < list->before_output ? BEFORE_OUTPUT : IN_SEQUENCE);
    }
}

/* ---- library workspaces ---- */

/* When the operator's own output has been allocated, else its start. */
static int64_t output_time(const oc_analysis *a, uint32_t op) {
    for (uint32_t i = 0; i < a->block_count; i++)
        if (a->blocks[i].producer == op && !a->blocks[i].is_scratch)
            return a->blocks[i].birth_ns;
    return a->ops[op].at.start_ns;
}

/* cuBLAS keeps one workspace per thread and handle: the caller's from the first matrix product on, autograd's from the first in
 * backward on. Asked for after the operator's output (CUDA log of PyTorch 2.6). */
static void emit_workspaces(emitter *e, const oc_options *options) {
    const oc_analysis *a = e->subject->analysis;
    const int64_t bytes = oc_gpu_cublas_workspace_bytes(options->gpu, oc_options_torch(options));
    const uint32_t firsts[] = {e->subject->job->first_matmul, e->subject->job->first_backward_matmul};
    for (size_t i = 0; i < 2; i++) {
        if (firsts[i] == OC_NONE)
            continue;
        const int64_t time_ns = output_time(a, firsts[i]);
        const oc_tensor workspace = {bytes, firsts[i], OC_NONE, oc_analysis_iteration(a, time_ns), OC_CATEGORY_WORKSPACE, (uint8_t)oc_analysis_phase(a, time_ns)};
        emit(e, time_ns, add_tensor(e, workspace), 0, IN_SEQUENCE);
    }
}

/* Whether cuBLASLt adds the bias along with the product: addmm_out_cuda_impl in aten/src/ATen/native/cuda/Blas.cpp (2.6). */
static int is_lt_product(const oc_analysis *a, uint32_t op) {
    const char *dims = oc_intern_text(a->names, a->ops[op].dims, NULL);
    oc_shape bias, matrix;
    return (a->own[op] & OC_CLASS_ADDMM) && oc_shape_read(dims, 0, &bias) && oc_shape_read(dims, 2, &matrix) && bias.rank == 1 && matrix.rank == 2 &&
           bias.dims[0] == matrix.dims[1] && matrix.dims[0] > 1 && matrix.dims[1] > 1 && !oc_shape_is_whole(oc_intern_text(a->names, a->ops[op].types, NULL), 0);
}

/* cuBLASLt's workspace: around each product until 2.6 (292 of 292 in a CUDA log), kept from 2.7 on, since 2.11 that of cuBLAS. */
static void emit_lt_workspaces(emitter *e, const oc_options *options) {
    enum { LT_BYTES = 1048576, FIRST_THAT_KEEPS = 207, FIRST_THAT_SHARES = 211 };
    const oc_analysis *a = e->subject->analysis;
    const int version = oc_options_torch(options);
    uint32_t last = OC_NONE;
    for (uint32_t i = 0; i < a->block_count && version < FIRST_THAT_SHARES; i++) {
        const oc_block *block = &a->blocks[i];
        const uint32_t op = block->producer;
        if (op == OC_NONE || op == last || block->is_scratch || !is_lt_product(a, op))
            continue;
        const uint32_t number = add_tensor(e, (oc_tensor){LT_BYTES, op, block->module, block->iteration, OC_CATEGORY_WORKSPACE, block->phase});
        emit(e, block->birth_ns, number, 0, IN_SEQUENCE);
        if (version >= FIRST_THAT_KEEPS)
            break;
        emit(e, block->birth_ns, number, 1, AT_END);
        last = op;
    }
}

/* ---- reductions and sorts ---- */

/* Bytes of a partial result: single precision for half, bfloat16 and float; a value and a 64-bit index where both are asked for. */
static int64_t accumulator_bytes(const oc_analysis *a, const oc_op *op, int has_index) {
    enum { FLOAT_BYTES = 4, WITH_INDEX_BYTES = 16 };
    int64_t element_bytes = oc_shape_element_bytes(oc_intern_text(a->names, op->types, NULL), 0);
    return has_index ? WITH_INDEX_BYTES : element_bytes > FLOAT_BYTES ? element_bytes : FLOAT_BYTES;
}

/* A reduction's buffer and semaphores come after its outputs and go before it ends. How large they are depends on the card, so there are
 * none where it is not named. */
static void emit_reductions(emitter *e, const oc_gpu *gpu) {
    const oc_subject *s = e->subject;
    const oc_analysis *a = s->analysis;
    if (!gpu || !gpu->multiprocessor_count)
        return;
    for (uint32_t i = 0; i < a->block_count; i++) {
        const oc_block *block = &a->blocks[i];
        uint32_t op = block->producer;
        uint32_t kind = op == OC_NONE ? 0 : a->own[op] & (OC_CLASS_REDUCTION | OC_CLASS_VECTOR_NORM | OC_CLASS_EXTREMUM);
        if (!kind || s->decisions[i].is_dropped || block->kind == OC_BLOCK_STEP || (i + 1 < a->block_count && a->blocks[i + 1].producer == op))
            continue;
        oc_shape dims, strides;
        uint32_t reduced = 0;
        int has_dims = oc_shape_read_dimensions(oc_intern_text(a->names, a->ops[op].concrete, NULL), kind == OC_CLASS_VECTOR_NORM ? 2 : 1, &reduced);
        if (!shape_at(s, op, other_producer(s, i), 0, e->plan->batch, &dims, &strides) || (kind == OC_CLASS_EXTREMUM && !has_dims))
            continue;
        reduced = has_dims ? oc_shape_wrap(reduced, dims.rank) : UINT32_MAX;
        oc_reduction scratch = oc_reduction_scratch(&dims, &strides, reduced, accumulator_bytes(a, &a->ops[op], kind == OC_CLASS_EXTREMUM),
                                                    gpu->multiprocessor_count, gpu->threads_per_multiprocessor);
        if (!scratch.buffer_bytes)
            continue;
        oc_temporaries list = {.step_count = 0};
        uint32_t buffer = oc_temporaries_make(&list, scratch.buffer_bytes), semaphores = oc_temporaries_make(&list, scratch.semaphore_bytes);
        oc_temporaries_free(&list, semaphores);
        oc_temporaries_free(&list, buffer);
        emit_temporaries(e, &list, op, block, block->birth_ns);
    }
}

/* The sorts of embedding's backward, around the gradient of the table. */
static void emit_embedding_backward(emitter *e, uint32_t i) {
    const oc_subject *s = e->subject;
    const oc_analysis *a = s->analysis;
    const oc_block *block = &a->blocks[i];
    const char *types = oc_intern_text(a->names, a->ops[block->producer].types, NULL);
    oc_shape gradient, strides;
    if (!shape_at(s, block->producer, other_producer(s, i), 0, e->plan->batch, &gradient, &strides) || gradient.rank < 1)
        return;
    const int64_t width = gradient.dims[gradient.rank - 1], element_bytes = oc_shape_element_bytes(types, 0), index_bytes = oc_shape_element_bytes(types, 1);
    gradient.rank--;
    if (width < 1 || element_bytes < 1 || width > OC_LARGEST_BLOCK / element_bytes)
        return;
    oc_temporaries list;
    oc_temporaries_of_embedding(&list, oc_shape_element_count(&gradient), index_bytes, block->bytes / (width * element_bytes),
                                width * accumulator_bytes(a, &a->ops[block->producer], 0));
    emit_temporaries(e, &list, block->producer, block, block->birth_ns);
}

/* The first operator directly inside another that has a class, OC_NONE if there is none among its first ones. */
static uint32_t find_child(const oc_analysis *a, uint32_t parent, uint32_t bits) {
    enum { REACH = 64 };
    for (uint32_t op = parent; parent != OC_NONE && ++op < a->op_count && op - parent < REACH && a->ops[op].at.start_ns <= a->ops[parent].at.end_ns;)
        if (a->ops[op].at.parent == parent && (a->own[op] & bits))
            return op;
    return OC_NONE;
}

/* The last block that `producer` made before a time, OC_NONE if none of the last few is its. */
static uint32_t find_made_before(const oc_analysis *a, uint32_t producer, int64_t time_ns) {
    enum { REACH = 16 };
    uint32_t low = 0, high = a->block_count;
    while (low < high) { /* the first block that is born later */
        uint32_t middle = low + (high - low) / 2;
        if (a->blocks[middle].birth_ns <= time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    for (uint32_t i = low; i-- > 0 && low - i <= REACH;)
        if (a->blocks[i].producer == producer)
            return i;
    return OC_NONE;
}

/* The sorts of indexing's backward, which adds into a gradient that the same node made before. */
static void emit_index_backward(emitter *e, uint32_t op) {
    const oc_subject *s = e->subject;
    const oc_analysis *a = s->analysis;
    const uint32_t node = a->ops[op].at.parent, made = node == OC_NONE ? OC_NONE : find_made_before(a, node, a->ops[op].at.start_ns);
    if (made == OC_NONE || !a->blocks[made].is_backward || !oc_shape_is_true(oc_intern_text(a->names, a->ops[op].concrete, NULL), 3))
        return;
    const uint32_t other = s->scale->difference ? find_child(s->other, other_producer(s, made), OC_CLASS_INDEX_PUT) : OC_NONE;
    oc_shape self, values, strides;
    if (!shape_at(s, op, other, 0, e->plan->batch, &self, &strides) || !shape_at(s, op, other, 2, e->plan->batch, &values, &strides))
        return;
    oc_temporaries list;
    oc_temporaries_of_index_put(&list, &self, &values, oc_shape_element_bytes(oc_intern_text(a->names, a->ops[op].types, NULL), 2),
                                oc_shape_is_contiguous(&values, &strides));
    emit_temporaries(e, &list, op, &a->blocks[made], a->ops[op].at.start_ns);
}

static void emit_sorts(emitter *e) {
    const oc_analysis *a = e->subject->analysis;
    for (uint32_t i = 0; i < a->block_count; i++) {
        const uint32_t producer = a->blocks[i].producer;
        if (producer != OC_NONE && (a->own[producer] & OC_CLASS_EMBEDDING_BACKWARD) && !e->subject->decisions[i].is_dropped)
            emit_embedding_backward(e, i);
    }
    for (uint32_t op = 0; op < a->op_count; op++)
        if (a->own[op] & OC_CLASS_INDEX_PUT)
            emit_index_backward(e, op);
}

/* ---- the sequence ---- */

static int compare_events(const void *a, const void *b) {
    const event *x = a, *y = b;
    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? -1 : 1;
    if (x->order != y->order)
        return x->order < y->order ? -1 : 1;
    return x->serial < y->serial ? -1 : x->serial > y->serial;
}

static int write_requests(emitter *e, oc_arena *arena) {
    oc_plan *plan = e->plan;
    plan->tensor_count = (uint32_t)e->tensors.count;
    plan->tensors = oc_list_flatten(&e->tensors, arena);
    uint32_t count = (uint32_t)e->events.count;
    event *events = oc_list_flatten(&e->events, arena);
    plan->requests = oc_arena_alloc(arena, count, sizeof *plan->requests);
    enum { UNBORN, LIVE, DEAD };
    uint8_t *state = oc_arena_alloc(arena, plan->tensor_count, 1);
    if (!plan->tensors || !events || !plan->requests || !state)
        return 0;
    if (count)
        qsort(events, count, sizeof *events, compare_events);
    for (uint32_t i = 0; i < count; i++) {
        const event *from = &events[i];
        int is_due = state[from->tensor] == (from->is_free ? LIVE : UNBORN);
        state[from->tensor] = from->is_free ? DEAD : state[from->tensor] == UNBORN ? LIVE : state[from->tensor];
        if (!is_due)
            continue; /* freed before or when it is made: it never lives */
        plan->requests[plan->request_count++] =
            (oc_request){from->time_ns, from->is_free ? 0 : plan->tensors[from->tensor].bytes, from->tensor};
    }
    return 1;
}

/* zero_grad can be moved only from where it is seen. */
static oc_status check_zero_grad(const oc_subject *subject, const oc_options *options, oc_error *error) {
    if (options->zero_grad == OC_ZERO_GRAD_RECORDED || subject->analysis->zeros.count)
        return OC_OK;
    return oc_error_set(error, OC_OPTIONS, OC_NO_OFFSET,
                        "zero_grad: this profile has no annotation of it (model.zero_grad() makes none), so it cannot be moved; call optimizer.zero_grad() in the "
                        "recording");
}

static oc_status check_batch(oc_plan *plan, const oc_subject *subject, const oc_options *options, oc_error *error) {
    const oc_scale *scale = subject->scale;
    plan->batch = options->batch ? options->batch : scale->batch;
    if (scale->difference || !options->batch || options->batch == scale->batch)
        return OC_OK;
    if (!scale->batch)
        return oc_error_set(error, OC_OPTIONS, OC_NO_OFFSET,
                            "batch %lld: the batch size of this profile cannot be seen, so it cannot be changed; give a second profile of the same job at "
                            "another batch size, both recorded with record_shapes=True or examples/record.py", (long long)options->batch);
    return oc_error_set(error, OC_OPTIONS, OC_NO_OFFSET,
                        "batch %lld: one profile tells only its own batch size, %lld; give a second profile of the same job at another batch size",
                        (long long)options->batch, (long long)scale->batch);
}

int oc_subject_torch(const oc_subject *subject) {
    const uint32_t version = subject->analysis->trace->metadata.torch_version;
    return version ? oc_torch_version(oc_intern_text(subject->analysis->names, version, NULL)) : 0;
}

oc_status oc_orchestrate(oc_plan *plan, const oc_subject *subject, const oc_options *options, oc_arena *arena, oc_error *error) {
    emitter e = {.plan = plan, .subject = subject};
    oc_list_init(&e.events, arena, sizeof(event));
    oc_list_init(&e.tensors, arena, sizeof(oc_tensor));
    int is_recorded, is_replayed;
    oc_status status = check_batch(plan, subject, options, error);
    if (status == OC_OK)
        status = check_zero_grad(subject, options, error);
    if (status == OC_OK)
        status = choose_optimizer(&e, options, &is_recorded, &is_replayed, error);
    if (status != OC_OK)
        return status;
    emit_unseen(&e);
    emit_blocks(&e, options, is_replayed);
    if (plan->optimizer)
        status = emit_optimizer(&e, options, is_recorded, error);
    emit_reductions(&e, options->gpu);
    emit_sorts(&e);
    emit_lt_workspaces(&e, options);
    emit_workspaces(&e, options);
    if (status == OC_OK && (e.is_out_of_memory || !write_requests(&e, arena)))
        status = oc_error_set_memory(error);
    return status;
}

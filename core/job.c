/* Parameters from gradients, buffers from what survives or is read, batch size from the data that flows in. */
#include "job.h"

#include "weights.h"

#include <stdlib.h>
#include <string.h>

enum { SMALLEST_DATASET_BYTES = 65536 }; /* below, a chance match of sizes is likelier than a data set, and matters less */

static const char *text(const oc_analysis *analysis, uint32_t number) {
    return oc_intern_text(analysis->names, number, NULL);
}

/* Bytes of an operator's n-th input, 0 if unknown. */
static int64_t input_bytes(const oc_analysis *analysis, const oc_op *op, unsigned input) {
    oc_shape shape;
    if (!oc_shape_read(text(analysis, op->dims), input, &shape))
        return 0;
    return oc_shape_bytes(&shape, text(analysis, op->types), input);
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

static int compare_sizes(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* The sizes of the gradients that are alive at a moment, sorted. */
static uint32_t sizes_at(const oc_job *job, const oc_analysis *analysis, int64_t moment, int64_t *sizes) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < analysis->block_count; i++) {
        const oc_block *block = &analysis->blocks[i];
        if (job->roles[i] == OC_ROLE_GRADIENT && block->birth_ns < moment && block->death_ns > moment)
            sizes[count++] = block->bytes;
    }
    if (count)
        qsort(sizes, count, sizeof *sizes, compare_sizes);
    return count;
}

/* Two sorted lists as one in which each size stands as often as in the one that has more of it. */
static uint32_t merge_sizes(const int64_t *a, uint32_t a_count, const int64_t *b, uint32_t b_count, int64_t *merged) {
    uint32_t i = 0, k = 0, count = 0;
    while (i < a_count || k < b_count) {
        int takes_a = k == b_count || (i < a_count && a[i] <= b[k]), takes_b = i == a_count || (k < b_count && b[k] <= a[i]);
        merged[count++] = takes_a ? a[i] : b[k];
        i += (uint32_t)takes_a;
        k += (uint32_t)takes_b;
    }
    return count;
}

/* The sizes of the gradients that live when a step begins (without steps: when a pass ends), over the first few of them, as there may
 * be several optimizers; sorted. */
static int64_t *live_gradient_sizes(const oc_job *job, const oc_analysis *analysis, oc_arena *scratch, uint32_t *count) {
    enum { MOMENTS = 4 };
    int64_t *live = oc_arena_alloc(scratch, analysis->block_count, sizeof *live), *now = oc_arena_alloc(scratch, analysis->block_count, sizeof *now);
    int64_t *merged = oc_arena_alloc(scratch, analysis->block_count, sizeof *merged);
    *count = 0;
    if (!live || !now || !merged)
        return NULL;
    const oc_windows *windows = analysis->steps.count ? &analysis->steps : &analysis->passes;
    for (uint32_t i = 0; i < windows->count && i < MOMENTS; i++) {
        uint32_t now_count = sizes_at(job, analysis, analysis->steps.count ? windows->items[i].start_ns : windows->items[i].end_ns, now);
        *count = merge_sizes(live, *count, now, now_count, merged);
        int64_t *swap = live;
        live = merged;
        merged = swap;
    }
    return live;
}

/* Things to be taken by their size, of equal ones the first first. */
typedef struct sized {
    int64_t bytes;
    uint32_t number;
    uint32_t taken; /* at the first of each size: how many of it */
} sized;

static int compare_sized(const void *a, const void *b) {
    const sized *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

static void sort_sized(sized *items, uint32_t count) {
    if (count)
        qsort(items, count, sizeof *items, compare_sized);
}

/* The first of all items of a size, NULL if none has it. */
static sized *find_size(sized *items, uint32_t count, int64_t bytes) {
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (items[middle].bytes < bytes)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && items[low].bytes == bytes ? &items[low] : NULL;
}

/* The next item of a size that has not been taken, NULL if there is none. */
static const sized *take_size(sized *items, uint32_t count, int64_t bytes) {
    sized *first = find_size(items, count, bytes), *next = first ? first + first->taken : NULL;
    if (!next || next >= items + count || next->bytes != bytes)
        return NULL;
    first->taken++;
    return next;
}

/* Leaves as many parameters of a size as gradients of it live; all of a size of which none lives, as where gradients are views of
 * larger blocks. */
static int drop_surplus(oc_job *job, const oc_analysis *analysis, oc_arena *scratch) {
    uint32_t live_count, kept = 0;
    const int64_t *sizes = live_gradient_sizes(job, analysis, scratch, &live_count);
    sized *live = oc_arena_alloc(scratch, live_count, sizeof *live);
    if (!sizes || !live)
        return 0;
    for (uint32_t i = 0; i < live_count; i++)
        live[i] = (sized){sizes[i], i, 0};
    for (uint32_t i = 0; i < job->parameter_count; i++)
        if (!find_size(live, live_count, job->parameters[i].bytes) || take_size(live, live_count, job->parameters[i].bytes))
            job->parameters[kept++] = job->parameters[i];
    job->parameter_count = kept;
    return 1;
}

typedef struct gradient_key {
    uint32_t next;  /* of the same dims but other bytes, plus 1; 0 if none: as many as there are sizes of elements */
    uint32_t seen;  /* in the current pass */
    uint32_t count; /* most in any pass */
    int64_t bytes;
    const oc_window *pass;
} gradient_key;

/* Every parameter's gradient goes through AccumulateGrad once a pass, whatever block holds it. Over several passes (gradient
 * accumulation, several losses) the most of each shape in one pass count. Inputs that need gradients go through it too (reentrant
 * checkpointing, gradient penalties), but theirs do not live until the step. Order: last accumulated first, that is about the order of the
 * model. */
static int list_from_accumulate(oc_job *job, const oc_analysis *analysis, oc_arena *arena, oc_arena *scratch) {
    uint32_t op_limit = 0;
    for (uint32_t i = 0; i < analysis->op_count; i++)
        op_limit += (analysis->own[i] & OC_CLASS_ACCUMULATE) && analysis->ops[i].dims;
    uint32_t *first = oc_arena_alloc(scratch, op_limit ? analysis->names->count : 0, sizeof *first); /* by text of dims: key plus 1 */
    gradient_key *keys = oc_arena_alloc(scratch, op_limit, sizeof *keys);
    oc_parameter *found = oc_arena_alloc(scratch, op_limit, sizeof *found);
    job->parameters = oc_arena_alloc(arena, op_limit, sizeof *job->parameters);
    if (!first || !keys || !found || !job->parameters)
        return 0;
    uint32_t key_count = 0, count = 0;
    for (uint32_t i = 0; i < analysis->op_count; i++) {
        const oc_op *op = &analysis->ops[i];
        if (!(analysis->own[i] & OC_CLASS_ACCUMULATE) || !op->dims)
            continue;
        int64_t bytes = input_bytes(analysis, op, 0);
        if (!bytes)
            continue;
        uint32_t *link = &first[op->dims];
        while (*link && keys[*link - 1].bytes != bytes)
            link = &keys[*link - 1].next;
        if (!*link) {
            keys[key_count].bytes = bytes;
            *link = ++key_count;
        }
        gradient_key *key = &keys[*link - 1];
        const oc_window *pass = oc_windows_find(&analysis->passes, op->at.start_ns);
        if (key->pass != pass)
            key->seen = 0;
        key->pass = pass;
        if (++key->seen <= key->count)
            continue;
        key->count = key->seen;
        found[count++] = (oc_parameter){key->bytes, op->dims, OC_NONE};
    }
    for (uint32_t i = 0; i < count; i++)
        job->parameters[i] = found[count - 1 - i];
    job->parameter_count = count;
    return drop_surplus(job, analysis, scratch);
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

/* Orders as the parameters were made; `block` holds a position here, unseen ones come last in their order. */
static int compare_births(const void *a, const void *b) {
    const oc_parameter *x = a, *y = b;
    return x->block < y->block ? -1 : x->block > y->block;
}

static int is_built_survivor(const oc_block *block) {
    return block->kind == OC_BLOCK_BUILT && block->death_ns == OC_NEVER;
}

/* Where a parameter may lie: built before the loop, or at least before the first backward pass, where something that looks like the loop
 * came earlier (a mark around the building, a look at the first batch). */
static int may_be_parameter(const oc_analysis *analysis, const oc_block *block) {
    int is_early = analysis->passes.count && block->birth_ns < analysis->passes.items[0].start_ns;
    return is_built_survivor(block) || (is_early && block->kind == OC_BLOCK_TENSOR && block->death_ns == OC_NEVER);
}

/* Gives each parameter the first surviving block of its size. */
static int match_parameters(oc_job *job, const oc_analysis *analysis, oc_arena *scratch) {
    uint32_t count = job->parameter_count;
    sized *sorted = oc_arena_alloc(scratch, count, sizeof *sorted);
    uint32_t *block_of = oc_arena_alloc(scratch, count, sizeof *block_of);
    if (!sorted || !block_of)
        return 0;
    for (uint32_t i = 0; i < count; i++) {
        sorted[i] = (sized){job->parameters[i].bytes, i, 0};
        block_of[i] = OC_NONE;
    }
    sort_sized(sorted, count);
    for (uint32_t i = 0; i < analysis->block_count; i++) {
        const sized *match = may_be_parameter(analysis, &analysis->blocks[i]) ? take_size(sorted, count, analysis->blocks[i].bytes) : NULL;
        if (!match)
            continue;
        block_of[match->number] = i;
        job->roles[i] = OC_ROLE_PARAMETER;
    }
    for (uint32_t i = 0; i < count; i++) { /* unseen ones get positions behind all blocks */
        job->unseen_parameter_count += block_of[i] == OC_NONE;
        job->parameters[i].block = block_of[i] == OC_NONE ? analysis->block_count + i : block_of[i];
        job->parameter_bytes = oc_add_bytes(job->parameter_bytes, job->parameters[i].bytes);
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
                job->recorded_state_bytes = oc_add_bytes(job->recorded_state_bytes, block->bytes);
            } else if (block->bytes <= OC_SCALAR_BYTES && (i > first || block->bytes < OC_SCALAR_BYTES)) {
                job->roles[i] = OC_ROLE_HOST;
            }
        }
        if (!job->parameter_count || matched != job->parameter_count)
            return;
        job->is_state_built = 1;
    }
}

/* Parameters without gradient: a survivor of the size of a weight that operators read. What has none was built before the profile, if
 * the trained parameters were too. */
static int mark_frozen(oc_job *job, const oc_analysis *analysis, oc_arena *arena, oc_arena *scratch) {
    sized *candidates = oc_arena_alloc(scratch, analysis->block_count, sizeof *candidates);
    uint32_t candidate_count = 0, weight_count, unseen = 0;
    int64_t *weights;
    if (!candidates || !oc_weights_find(analysis, job, arena, scratch, &weights, &weight_count))
        return 0;
    for (uint32_t i = 0; i < analysis->block_count; i++)
        if (is_built_survivor(&analysis->blocks[i]) && job->roles[i] == OC_ROLE_NONE)
            candidates[candidate_count++] = (sized){analysis->blocks[i].bytes, i, 0};
    sort_sized(candidates, candidate_count);
    for (uint32_t i = 0; i < weight_count; i++) {
        const sized *match = take_size(candidates, candidate_count, weights[i]);
        if (!match) {
            weights[unseen++] = weights[i];
            continue;
        }
        job->roles[match->number] = OC_ROLE_PARAMETER;
        job->frozen_count++;
        job->parameter_bytes = oc_add_bytes(job->parameter_bytes, weights[i]);
    }
    int is_older = job->parameter_count ? job->unseen_parameter_count * 2 > job->parameter_count : candidate_count == 0;
    job->unseen_frozen = weights;
    job->unseen_frozen_count = is_older ? unseen : 0;
    for (uint32_t i = 0; i < job->unseen_frozen_count; i++)
        job->parameter_bytes = oc_add_bytes(job->parameter_bytes, weights[i]);
    return 1;
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
        int64_t *sum = job->parameter_count ? &job->buffer_bytes : &job->parameter_bytes;
        *sum = oc_add_bytes(*sum, analysis->blocks[i].bytes);
    }
}

/* What the steps made and kept. */
static void mark_step_state(oc_job *job, const oc_analysis *analysis) {
    for (uint32_t i = 0; i < analysis->block_count; i++) {
        const oc_block *block = &analysis->blocks[i];
        if (block->kind != OC_BLOCK_STEP || block->death_ns != OC_NEVER || block->is_backward)
            continue;
        job->roles[i] = block->bytes <= OC_SCALAR_BYTES ? OC_ROLE_HOST : OC_ROLE_STATE;
        if (block->bytes > OC_SCALAR_BYTES)
            job->recorded_state_bytes = oc_add_bytes(job->recorded_state_bytes, block->bytes);
    }
}

/* ---- what a profile that began later does not show ---- */

/* Running mean and variance of every batch_norm of the first forward pass, and its counter of batches (8 bytes). */
static int find_unseen_buffers(oc_job *job, const oc_analysis *analysis, oc_arena *arena) {
    int is_older = job->parameter_count ? job->unseen_parameter_count * 2 > job->parameter_count : job->unseen_frozen_count > 0;
    if (!is_older) /* the parameters were seen, so the buffers were too */
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
        job->buffer_bytes = oc_add_bytes(job->buffer_bytes, job->unseen_buffers[i]);
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

/* Whether a backward pass follows a fetch before the next one (a look at the first batch or a validation loop has none). */
static int is_trained_on(const oc_analysis *analysis, int64_t fetched_ns) {
    const oc_window *pass = oc_windows_after(&analysis->passes, fetched_ns), *next = oc_windows_after(&analysis->loads, fetched_ns);
    return !analysis->passes.count || (pass && (!next || pass->start_ns < next->start_ns));
}

/* The first dimension of what the first operator reads that takes a tensor of a batch block's size; 0 if none does. A vector counts
 * only if it holds whole numbers, such as labels; others may be flattened images. */
static int64_t first_dimension(const oc_analysis *analysis, const oc_block *block) {
    int64_t earliest = OC_NEVER, dimension = 0;
    for (uint32_t i = 0; i < analysis->op_count; i++) {
        const oc_op *op = &analysis->ops[i];
        if (op->at.start_ns < block->birth_ns || op->at.start_ns >= earliest || !op->dims)
            continue;
        oc_shape shape;
        for (unsigned input = 0; input < 2; input++) {
            if (input_bytes(analysis, op, input) != block->bytes || !oc_shape_read(text(analysis, op->dims), input, &shape) || !shape.rank)
                continue;
            if (shape.rank == 1 && !oc_shape_is_whole(text(analysis, op->types), input))
                continue;
            earliest = op->at.start_ns;
            dimension = shape.dims[0];
        }
    }
    return dimension;
}

/* What most of the first fetches tell. */
static int64_t batch_from_loader(const oc_analysis *analysis) {
    enum { VOTES = 8, TRIES = 64 };
    int64_t found[VOTES], best = 0;
    uint32_t count = 0, tried = 0, best_votes = 0;
    for (uint32_t b = 0; b < analysis->block_count && count < VOTES && tried < TRIES; b++) {
        const oc_block *block = &analysis->blocks[b];
        if (block->kind != OC_BLOCK_BATCH || block->is_scratch || !is_trained_on(analysis, block->birth_ns))
            continue;
        tried++;
        found[count] = first_dimension(analysis, block);
        count += found[count] > 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t votes = 0;
        for (uint32_t k = 0; k < count; k++)
            votes += found[k] == found[i];
        if (votes > best_votes) {
            best_votes = votes;
            best = found[i];
        }
    }
    return best;
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

/* What the first step's loop does tells which state the optimizer has where the profile began after it was made. */
static void look_at_step(oc_job *job, const oc_analysis *analysis) {
    for (uint32_t i = 0; analysis->steps.count && i < analysis->op_count; i++) {
        int64_t start_ns = analysis->ops[i].at.start_ns;
        if (start_ns < analysis->steps.items[0].start_ns || start_ns > analysis->steps.items[0].end_ns)
            continue;
        job->step_multiplications += (analysis->own[i] & OC_CLASS_MUL_IN_PLACE) != 0;
        job->step_has_lerp |= (analysis->own[i] & OC_CLASS_LERP_IN_PLACE) != 0;
        job->step_has_maximum |= (analysis->own[i] & OC_CLASS_MAXIMUM) != 0;
    }
}

/* The loops of torch.optim make `grad.add(param, alpha=weight_decay)`, a new tensor as large as a parameter, before they touch their
 * state, which they multiply or clone; a later one is the look-ahead of Nesterov momentum or Adadelta's own. */
static int find_step_decay(const oc_job *job, const oc_analysis *analysis) {
    if (!analysis->steps.count)
        return 0;
    const oc_window *step = &analysis->steps.items[0];
    int64_t first_touch_ns = step->end_ns;
    for (uint32_t i = 0; i < analysis->op_count; i++) {
        int64_t start_ns = analysis->ops[i].at.start_ns;
        if ((analysis->own[i] & (OC_CLASS_MUL_IN_PLACE | OC_CLASS_CLONE)) && start_ns >= step->start_ns && start_ns < first_touch_ns)
            first_touch_ns = start_ns;
    }
    for (uint32_t i = 0; i < analysis->block_count; i++) {
        const oc_block *block = &analysis->blocks[i];
        if (block->kind != OC_BLOCK_STEP || block->birth_ns > first_touch_ns || block->producer == OC_NONE || block->bytes <= OC_SCALAR_BYTES ||
            !(analysis->own[block->producer] & OC_CLASS_ADD))
            continue;
        for (uint32_t k = 0; k < job->parameter_count; k++)
            if (job->parameters[k].bytes == block->bytes)
                return 1;
    }
    return 0;
}

static void look_at_kernels(oc_job *job, const oc_analysis *analysis) {
    for (uint32_t i = 0; i < analysis->op_count; i++) {
        job->recurrent_count += (analysis->own[i] & OC_CLASS_RECURRENT) != 0;
        job->has_convolutions |= (analysis->own[i] & OC_CLASS_CONVOLUTION) != 0;
        job->has_shapes = job->has_shapes || strpbrk(text(analysis, analysis->ops[i].dims), "0123456789");
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
    if (!mark_frozen(job, analysis, arena, scratch))
        return oc_error_set_memory(error);
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
    look_at_step(job, analysis);
    job->step_decays = find_step_decay(job, analysis);
    return OC_OK;
}

void oc_job_mark_data(oc_job *job, const oc_analysis *analysis, const int64_t *difference) {
    for (uint32_t i = 0; i < analysis->block_count; i++) {
        int is_guess = job->roles[i] == OC_ROLE_PARAMETER && !job->parameter_count; /* nothing is trained: all survivors count as parameters */
        if ((job->roles[i] != OC_ROLE_BUFFER && !is_guess) || !difference[i])
            continue;
        job->roles[i] = OC_ROLE_DATA;
        *(is_guess ? &job->parameter_bytes : &job->buffer_bytes) -= analysis->blocks[i].bytes;
    }
}

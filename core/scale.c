/* Matching and the straight line. */
#include "scale.h"

__extension__ typedef __int128 wide; /* bytes times a square of batch sizes */

static int is_matched(const oc_block *block) {
    return !block->is_scratch && block->kind != OC_BLOCK_STEP;
}

static uint32_t next_matched(const oc_analysis *analysis, uint32_t at) {
    while (at < analysis->block_count && !is_matched(&analysis->blocks[at]))
        at++;
    return at;
}

/* The operator's interned name; equal names have equal numbers in both profiles. 0 without an operator. */
static uint32_t producer_name(const oc_analysis *analysis, uint32_t block) {
    uint32_t op = analysis->blocks[block].producer;
    return op == OC_NONE ? 0 : analysis->ops[op].name;
}

static const char *what_comes(const oc_analysis *analysis, uint32_t block) {
    if (block == analysis->block_count)
        return "the end";
    const char *name = oc_intern_text(analysis->names, producer_name(analysis, block), NULL);
    return name[0] ? name : "a tensor outside any operator";
}

/* Times in whole microseconds, as torch wrote them until 2.3, leave the order of events open. */
static const char *hint(const oc_analysis *a, const oc_analysis *b) {
    return a->trace->has_fractions && b->trace->has_fractions ? "" : "; or record with torch 2.4 or newer: the times in these files are whole microseconds, too coarse "
                                                                     "to tell the order of events";
}

static oc_status fail_parted(const oc_analysis *a, uint32_t i, const oc_analysis *b, uint32_t k, uint32_t matched, oc_error *error) {
    return oc_error_set(error, OC_MISMATCH, OC_NO_OFFSET,
                        "the two profiles are not of the same job: after %u equal tensors comes %s in the first one, %s in the second. "
                        "Record both with the same model, optimizer and number of iterations, only the batch size changed (and not at 1, where "
                        "PyTorch picks other kernels)%s",
                        matched, what_comes(a, i), what_comes(b, k), hint(a, b));
}

/* A line through (batch, bytes) and (other_batch, bytes + difference) that is negative at batch 0 cannot be: the block grows faster. */
static void note_growth(oc_scale *scale, uint32_t block, int64_t bytes) {
    wide a = scale->batch, b = scale->other_batch, difference = scale->difference[block];
    int falls_below_nothing = b > a ? bytes * (b - a) < difference * a : bytes * (a - b) < -difference * a;
    if (!falls_below_nothing)
        return;
    scale->is_square[block] = (bytes + difference) * a * a == bytes * b * b;
    scale->square_count += scale->is_square[block];
    scale->steeper_count += !scale->is_square[block];
}

/* What preparing data may make per sample. A model is the same in both. */
static int is_tiny(const oc_analysis *analysis, uint32_t block) {
    enum { TINY_BYTES = 512 };
    return block < analysis->block_count && analysis->blocks[block].bytes <= TINY_BYTES && analysis->blocks[block].kind != OC_BLOCK_BUILT;
}

/* Parameters and what belongs to them do not grow with the batch. Where nothing is trained they cannot be told from a fixed batch. */
static oc_status check_parameter(const oc_scale *scale, const oc_analysis *a, const oc_job *job, uint32_t block, oc_error *error) {
    if (!scale->difference[block] || !job->parameter_count || (job->roles[block] != OC_ROLE_PARAMETER && job->roles[block] != OC_ROLE_STATE))
        return OC_OK;
    return oc_error_set(error, OC_MISMATCH, OC_NO_OFFSET,
                        "the two profiles are not of the same job: a parameter of %lld bytes in the first one has %lld in the second. Record both with the same "
                        "model, only the batch size changed", (long long)a->blocks[block].bytes, (long long)(a->blocks[block].bytes + scale->difference[block]));
}

static oc_status match_blocks(oc_scale *scale, const oc_analysis *a, const oc_job *job, const oc_analysis *b, oc_error *error) {
    uint32_t i = next_matched(a, 0), k = next_matched(b, 0), matched = 0;
    while (i < a->block_count || k < b->block_count) {
        if (i < a->block_count && k < b->block_count && producer_name(a, i) == producer_name(b, k)) {
            scale->difference[i] = b->blocks[k].bytes - a->blocks[i].bytes;
            scale->other_producer[i] = b->blocks[k].producer;
            note_growth(scale, i, a->blocks[i].bytes);
            oc_status status = check_parameter(scale, a, job, i, error);
            if (status != OC_OK)
                return status;
            matched++;
            i = next_matched(a, i + 1);
            k = next_matched(b, k + 1);
        } else if (is_tiny(a, i) || is_tiny(b, k)) {
            scale->unmatched_count++;
            if (is_tiny(a, i))
                i = next_matched(a, i + 1);
            else
                k = next_matched(b, k + 1);
        } else {
            return fail_parted(a, i, b, k, matched, error);
        }
    }
    return OC_OK;
}

oc_status oc_scale_match(oc_scale *scale, const oc_analysis *a, const oc_job *job_a, const oc_analysis *b, const oc_job *job_b,
                         oc_arena *arena, oc_error *error) {
    scale->batch = job_a->batch_size;
    scale->other_batch = job_b->batch_size;
    scale->difference = oc_arena_alloc(arena, a->block_count, sizeof *scale->difference);
    scale->is_square = oc_arena_alloc(arena, a->block_count, sizeof *scale->is_square);
    scale->other_producer = oc_arena_alloc(arena, a->block_count, sizeof *scale->other_producer);
    if (!scale->difference || !scale->is_square || !scale->other_producer)
        return oc_error_set_memory(error);
    for (uint32_t i = 0; i < a->block_count; i++)
        scale->other_producer[i] = OC_NONE;
    oc_status status = match_blocks(scale, a, job_a, b, error);
    if (status == OC_OK && job_a->parameter_count && job_a->parameter_bytes != job_b->parameter_bytes)
        status = oc_error_set(error, OC_MISMATCH, OC_NO_OFFSET,
                              "the two profiles are not of the same job: %lld bytes of parameters in the first one, %lld in the second. Record both with the same "
                              "model, only the batch size changed", (long long)job_a->parameter_bytes, (long long)job_b->parameter_bytes);
    if (status != OC_OK)
        return status;
    if (!scale->batch || !scale->other_batch)
        return oc_error_set(error, OC_MISMATCH, OC_NO_OFFSET,
                            "the batch size of a profile cannot be seen (no shapes, or no batch dimension): record with record_shapes=True or with "
                            "examples/record.py, which writes it down, or give both sizes (--recorded-batch)");
    if (scale->batch == scale->other_batch)
        return oc_error_set(error, OC_MISMATCH, OC_NO_OFFSET,
                            "both profiles were recorded at batch size %lld: record the second one at another batch size, for example %lld; if the sizes "
                            "were others, give them (--recorded-batch)", (long long)scale->batch, (long long)scale->batch * 2);
    return OC_OK;
}

/* To the nearest. */
static wide on_line(const oc_scale *scale, int64_t value, int64_t difference, int64_t batch) {
    wide rise = (wide)difference * (batch - scale->batch);
    int64_t run = scale->other_batch - scale->batch;
    if (run < 0) {
        run = -run;
        rise = -rise;
    }
    return value + (rise >= 0 ? (rise + run / 2) / run : -((-rise + run / 2) / run));
}

int64_t oc_scale_whole(const oc_scale *scale, int64_t value, int64_t other_value, int64_t batch) {
    wide whole = on_line(scale, value, other_value - value, batch);
    return whole < 0 ? 0 : whole > OC_LARGEST_SUM ? OC_LARGEST_SUM : (int64_t)whole;
}

int64_t oc_scale_bytes(const oc_scale *scale, uint32_t block, int64_t recorded_bytes, int64_t batch) {
    if (!scale->difference || batch == scale->batch)
        return recorded_bytes;
    wide bytes;
    if (scale->is_square[block]) {
        wide square = (wide)scale->batch * scale->batch;
        bytes = (recorded_bytes * ((wide)batch * batch) + square / 2) / square;
    } else {
        bytes = on_line(scale, recorded_bytes, scale->difference[block], batch);
    }
    return bytes < 1 ? 1 : bytes > OC_LARGEST_BLOCK ? OC_LARGEST_BLOCK : (int64_t)bytes;
}

/* Matching and the straight line. */
#include "scale.h"

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

static oc_status fail_parted(const oc_analysis *a, uint32_t i, const oc_analysis *b, uint32_t k, uint32_t matched, oc_error *error) {
    return oc_error_set(error, OC_MISMATCH, OC_NO_OFFSET,
                        "the two profiles are not of the same job: after %u equal tensors comes %s in the first one, %s in the second. "
                        "Record both with the same model, optimizer and number of iterations, only the batch size changed",
                        matched, what_comes(a, i), what_comes(b, k));
}

oc_status oc_scale_match(oc_scale *scale, const oc_analysis *a, const oc_job *job_a, const oc_analysis *b, const oc_job *job_b,
                         oc_arena *arena, oc_error *error) {
    scale->batch = job_a->batch_size;
    scale->other_batch = job_b->batch_size;
    scale->difference = oc_arena_alloc(arena, a->block_count, sizeof *scale->difference);
    if (!scale->difference)
        return oc_error_set_memory(error);
    uint32_t i = next_matched(a, 0), k = next_matched(b, 0), matched = 0;
    while (i < a->block_count && k < b->block_count && producer_name(a, i) == producer_name(b, k)) {
        scale->difference[i] = b->blocks[k].bytes - a->blocks[i].bytes;
        matched++;
        i = next_matched(a, i + 1);
        k = next_matched(b, k + 1);
    }
    if (i < a->block_count || k < b->block_count)
        return fail_parted(a, i, b, k, matched, error);
    if (!scale->batch || !scale->other_batch)
        return oc_error_set(error, OC_MISMATCH, OC_NO_OFFSET,
                            "the batch size of a profile cannot be seen (no shapes, or no batch dimension): record with record_shapes=True, or with "
                            "examples/record.py, which writes it down");
    if (scale->batch == scale->other_batch)
        return oc_error_set(error, OC_MISMATCH, OC_NO_OFFSET,
                            "both profiles were recorded at batch size %lld: record the second one at another batch size, for example %lld",
                            (long long)scale->batch, (long long)scale->batch * 2);
    return OC_OK;
}

int64_t oc_scale_bytes(const oc_scale *scale, uint32_t block, int64_t recorded_bytes, int64_t batch) {
    if (!scale->difference || batch == scale->batch)
        return recorded_bytes;
    /* exact in 64 bits would overflow for terabytes times thousands; the products stay below 2^53 times small factors */
    __extension__ typedef __int128 wide;
    wide rise = (wide)scale->difference[block] * (batch - scale->batch);
    int64_t run = scale->other_batch - scale->batch;
    if (run < 0) {
        run = -run;
        rise = -rise;
    }
    wide quotient = rise >= 0 ? (rise + run / 2) / run : -((-rise + run / 2) / run); /* to the nearest */
    wide bytes = recorded_bytes + quotient;
    return bytes < 1 ? 1 : bytes > INT64_MAX / 4 ? INT64_MAX / 4 : (int64_t)bytes;
}

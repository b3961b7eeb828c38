/* Block sizes at another batch size. From two profiles of one job the bytes of every block are a straight line through its two
 * recorded sizes, or grow as the square of the batch where they did so exactly and a line would fall below nothing (a loss over all
 * pairs of a batch); with one profile only the recorded size is known. */
#ifndef OC_SCALE_H
#define OC_SCALE_H

#include "job.h"

typedef struct oc_scale {
    int64_t batch;       /* of the first profile, 0 if unknown */
    int64_t other_batch; /* of the second profile, 0 if there is none */
    int64_t *difference; /* per block of the first profile: bytes in the second minus bytes in the first; NULL with one profile */
    uint8_t *is_square;  /* per block */
    uint32_t *other_producer; /* per block: the operator of the second profile that made it, OC_NONE if none; NULL with one profile */
    uint32_t square_count;    /* blocks that grow as the square */
    uint32_t steeper_count;   /* blocks that grow faster than a line but not as the square: their sizes come out wrong */
    uint32_t unmatched_count; /* tiny blocks that only one of the profiles has, such as one per sample */
} oc_scale;

/* Matches the kept blocks of two profiles in order, by the operator that made them; blocks of up to 512 bytes, one allocator unit, that
 * the loop makes may lack a partner. OC_MISMATCH where they part. */
oc_status oc_scale_match(oc_scale *scale, const oc_analysis *a, const oc_job *job_a, const oc_analysis *b, const oc_job *job_b,
                         oc_arena *arena, oc_error *error);

/* Bytes of a block of the first profile at `batch`; with one profile as recorded. Never below 1. */
int64_t oc_scale_bytes(const oc_scale *scale, uint32_t block, int64_t recorded_bytes, int64_t batch);

/* Any whole number on the line through its values in both profiles, such as a dimension; not below 0. */
int64_t oc_scale_whole(const oc_scale *scale, int64_t value, int64_t other_value, int64_t batch);

#endif

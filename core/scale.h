/* Block sizes at another batch size. From two profiles of one job the bytes of every block are a straight line through its two
 * recorded sizes; with one profile only the recorded size is known. */
#ifndef OC_SCALE_H
#define OC_SCALE_H

#include "job.h"

typedef struct oc_scale {
    int64_t batch;       /* of the first profile, 0 if unknown */
    int64_t other_batch; /* of the second profile, 0 if there is none */
    int64_t *difference; /* per block of the first profile: bytes in the second minus bytes in the first; NULL with one profile */
} oc_scale;

/* Matches the kept blocks of two profiles in order, by the operator that made them. OC_MISMATCH where they part. */
oc_status oc_scale_match(oc_scale *scale, const oc_analysis *a, const oc_job *job_a, const oc_analysis *b, const oc_job *job_b,
                         oc_arena *arena, oc_error *error);

/* Bytes of a block of the first profile at `batch`; with one profile as recorded. Never below 1. */
int64_t oc_scale_bytes(const oc_scale *scale, uint32_t block, int64_t recorded_bytes, int64_t batch);

#endif

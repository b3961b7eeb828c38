/* What a profile tells of the job as a whole: its parameters and gradients, buffers, recorded optimizer state, batch size, and
 * where zero_grad stands. Works for profiles that show the model being built and for those that begin later ("scheduled"):
 * what the trace does not show is listed as unseen.
 */
#ifndef OC_JOB_H
#define OC_JOB_H

#include "analyze.h"
#include "options.h"
#include "shape.h"

/* What a block is, as far as the job decides it. */
typedef enum oc_role {
    OC_ROLE_NONE,
    OC_ROLE_PARAMETER,
    OC_ROLE_BUFFER,   /* built before the loop, alive to the end, no gradient: buffers, frozen parameters, fixed data */
    OC_ROLE_GRADIENT, /* born in a backward pass and alive at its end */
    OC_ROLE_STATE,    /* optimizer state as the CPU run made it */
    OC_ROLE_DATA,     /* built before the loop, but grows with the batch: a fixed batch */
    OC_ROLE_HOST      /* stays on the CPU in a GPU run: dataset, step counters */
} oc_role;

typedef struct oc_parameter {
    int64_t bytes;
    uint32_t dims;  /* interned text of AccumulateGrad's Input Dims, 0 if shapes were not recorded */
    uint32_t block; /* the block that holds it, OC_NONE if the profile began later */
} oc_parameter;

typedef enum oc_batch_source { OC_BATCH_UNKNOWN, OC_BATCH_METADATA, OC_BATCH_LOADER, OC_BATCH_INPUT, OC_BATCH_GIVEN } oc_batch_source;

typedef struct oc_job {
    uint8_t *roles;           /* oc_role per block */
    oc_parameter *parameters; /* that get gradients: those with a block in order of birth, then the unseen ones */
    uint32_t parameter_count;
    uint32_t unseen_parameter_count; /* the last ones of the list */
    int64_t parameter_bytes, buffer_bytes, gradient_bytes;
    uint32_t frozen_count;   /* parameters without gradient that have a block */
    int64_t *unseen_frozen;  /* bytes each: parameters without gradient, where the model was built before the profile */
    uint32_t unseen_frozen_count;
    int64_t *unseen_buffers; /* bytes each: running statistics that batch_norm reads, where the model was built before the profile */
    uint32_t unseen_buffer_count;
    uint32_t *unseen_batch; /* blocks of a later batch that stand for the first one, fetched before the profile began */
    uint32_t unseen_batch_count;
    int64_t recorded_state_bytes;  /* optimizer state seen, without scalars */
    int is_state_built;            /* the optimizer's constructor made it */
    uint32_t step_multiplications; /* in-place ones of the first step */
    int step_has_lerp, step_has_maximum; /* operators of the first step */
    int step_decays;               /* the first step decays the gradients into new tensors */
    int64_t batch_size;            /* recorded; 0 if unknown */
    oc_batch_source batch_source;
    oc_zero_grad zero_grad;         /* where it stands; OC_ZERO_GRAD_RECORDED if it is not annotated */
    uint32_t first_matmul, first_backward_matmul; /* operators, OC_NONE if none */
    int is_compiled;
    uint64_t low_precision_count; /* matrix products and convolutions in half or bfloat16 */
    int has_convolutions;
    int has_shapes; /* "Input Dims" were recorded */
    uint64_t recurrent_count;     /* calls of LSTM, GRU and RNN */
} oc_job;

/* Fills `job` (zeroed). OC_OK or OC_MEMORY. */
oc_status oc_job_read(oc_job *job, const oc_analysis *analysis, oc_arena *arena, oc_arena *scratch, oc_error *error);

/* Tells data from buffers, and from parameters where nothing is trained, once a second profile shows which blocks grow with the batch: `difference` per block. */
void oc_job_mark_data(oc_job *job, const oc_analysis *analysis, const int64_t *difference);

#endif

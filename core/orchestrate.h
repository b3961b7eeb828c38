/* The request sequence of a GPU run: recorded blocks after the rules, at the chosen batch size, with the optimizer and the
 * library workspaces of CUDA, in order of time.
 */
#ifndef OC_ORCHESTRATE_H
#define OC_ORCHESTRATE_H

#include "optimizers.h"
#include "request.h"
#include "rules.h"
#include "scale.h"

typedef enum oc_category {
    OC_CATEGORY_PARAMETER,
    OC_CATEGORY_BUFFER,
    OC_CATEGORY_GRADIENT,
    OC_CATEGORY_STATE,
    OC_CATEGORY_ACTIVATION,
    OC_CATEGORY_BATCH,
    OC_CATEGORY_TEMPORARY,
    OC_CATEGORY_WORKSPACE,
    OC_CATEGORY_COUNT
} oc_category;

/* What a request is for. */
typedef struct oc_tensor {
    int64_t bytes;
    uint32_t op;     /* operator of the analysis, OC_NONE if it has none */
    uint32_t module; /* module call, OC_NONE if unknown */
    uint32_t iteration;
    uint8_t category; /* oc_category */
    uint8_t phase;    /* oc_phase at birth */
} oc_tensor;

/* What the report shows a block as. */
oc_category oc_category_of(const oc_block *block, oc_role role);

/* The first profile with all that was found out about it; sizes come from `scale`. */
typedef struct oc_subject {
    const oc_analysis *analysis;
    const oc_job *job;
    const oc_decision *decisions;
    const oc_scale *scale;
    const oc_analysis *other; /* of the second profile, NULL if none */
} oc_subject;

typedef struct oc_plan {
    oc_request *requests;
    uint32_t request_count;
    oc_tensor *tensors;
    uint32_t tensor_count;
    int64_t batch;                    /* 0: as recorded, unknown */
    const oc_optimizer *optimizer;    /* NULL: none, or one without a row in the table, which is replayed as recorded */
    const char *optimizer_name;       /* NULL: none */
    int64_t optimizer_state_bytes;
    oc_assumptions assumptions;
    oc_warnings warnings;
} oc_plan;

/* The version of PyTorch that made the (first) profile, 206 for 2.6; 0 if it does not tell. */
int oc_subject_torch(const oc_subject *subject);

/* Fills `plan` (zeroed), in `arena`. OC_OPTIONS if the options do not suit the profile. */
oc_status oc_orchestrate(oc_plan *plan, const oc_subject *subject, const oc_options *options, oc_arena *arena, oc_error *error);

#endif

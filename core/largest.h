/* The largest batch size that runs under a limit. Reserved memory does not rise evenly with the batch: a size may fail although a
 * larger one runs, when a cached block just serves it. So the search looks around the boundary that bisection finds. */
#ifndef OC_LARGEST_H
#define OC_LARGEST_H

#include "orchestrate.h"
#include "simulate.h"

typedef struct oc_largest {
    int64_t batch;         /* 0: not even 1 */
    int64_t failing_below; /* the largest of the sizes looked at below `batch` that fails; 0: none */
    int is_endless;        /* nothing up to OC_LARGEST_BATCH fails */
    int64_t next_bytes;    /* the request that fails at batch + 1 */
    oc_tensor next_tensor; /* and what it is for */
} oc_largest;

/* Two profiles are needed. `scratch` is reset between tries and holds nothing afterwards. OC_OPTIONS as oc_orchestrate, OC_MEMORY. */
oc_status oc_largest_find(oc_largest *largest, const oc_subject *subject, const oc_options *options, const oc_allocator_options *settings,
                          int64_t limit_bytes, oc_arena *scratch, oc_error *error);

#endif

/* The search: double, bisect, look around. */
#include "largest.h"

#include <string.h>

typedef struct search {
    const oc_subject *subject;
    const oc_allocator_options *settings;
    oc_options options; /* of the try */
    int64_t limit_bytes;
    oc_arena *scratch;
    oc_error *error;
    oc_largest *largest;
} search;

/* Whether the job runs at `batch`; notes the request that fails. */
static oc_status try_batch(search *s, int64_t batch, int *fits) {
    oc_plan *plan = oc_arena_alloc(s->scratch, 1, sizeof *plan);
    oc_run run;
    if (!plan)
        return oc_error_set_memory(s->error);
    s->options.batch = batch;
    oc_status status = oc_orchestrate(plan, s->subject, &s->options, s->scratch, s->error);
    oc_allocator *allocator = status == OC_OK ? oc_allocator_open(s->scratch, plan->tensor_count) : NULL;
    if (status == OC_OK &&
        (!allocator || !oc_simulate(allocator, s->settings, plan->requests, plan->request_count, s->limit_bytes, 0, NULL, &run)))
        status = oc_error_set_memory(s->error);
    if (status == OC_OK) {
        *fits = !run.is_oom;
        s->largest->next_bytes = run.is_oom ? run.oom_bytes : 0;
        if (run.is_oom)
            s->largest->next_tensor = plan->tensors[plan->requests[run.request_count].tensor];
    }
    oc_arena_reset(s->scratch);
    return status;
}

/* `*low` fits or is 0, `*high` fails; or both are OC_LARGEST_BATCH, which fits. */
static oc_status find_boundary(search *s, int64_t *low, int64_t *high) {
    oc_status status = OC_OK;
    int fits = 1;
    *low = 0;
    *high = s->subject->scale->batch;
    while (status == OC_OK && fits) {
        status = try_batch(s, *high, &fits);
        if (!fits || status != OC_OK)
            break;
        *low = *high;
        if (*high == OC_LARGEST_BATCH)
            return OC_OK;
        *high = *high > OC_LARGEST_BATCH / 2 ? OC_LARGEST_BATCH : 2 * *high;
    }
    while (status == OC_OK && *high - *low > 1) {
        int64_t middle = *low + (*high - *low) / 2;
        status = try_batch(s, middle, &fits);
        *(fits ? low : high) = middle;
    }
    return status;
}

oc_status oc_largest_find(oc_largest *largest, const oc_subject *subject, const oc_options *options, const oc_allocator_options *settings,
                          int64_t limit_bytes, oc_arena *scratch, oc_error *error) {
    enum { AROUND = 16 }; /* sizes looked at on either side of the boundary */
    search s = {.subject = subject, .settings = settings, .options = *options, .limit_bytes = limit_bytes, .scratch = scratch, .error = error, .largest = largest};
    int64_t high;
    int fits;
    memset(largest, 0, sizeof *largest);
    if (!subject->scale->difference)
        return oc_error_set(error, OC_OPTIONS, OC_NO_OFFSET, "the largest batch needs two profiles of the same job at different batch sizes: one tells only its own");
    oc_status status = find_boundary(&s, &largest->batch, &high);
    largest->is_endless = largest->batch == high;
    if (status != OC_OK || largest->is_endless)
        return status;
    for (int64_t batch = largest->batch + 2; batch <= largest->batch + 1 + AROUND && status == OC_OK && batch <= OC_LARGEST_BATCH; batch++) {
        status = try_batch(&s, batch, &fits);
        if (status == OC_OK && fits) {
            largest->failing_below = largest->batch + 1 < batch ? batch - 1 : largest->failing_below;
            largest->batch = batch;
        }
    }
    for (int64_t batch = largest->batch - 1; batch >= 1 && batch >= largest->batch - AROUND && !largest->failing_below && status == OC_OK; batch--) {
        status = try_batch(&s, batch, &fits);
        if (!fits)
            largest->failing_below = batch;
    }
    return status == OC_OK ? try_batch(&s, largest->batch + 1, &fits) : status; /* for what fails there */
}

/* Runs of the allocator. */
#include "simulate.h"

#include "error.h"

#include <string.h>

void oc_run_note(oc_run *run, const oc_usage *usage, uint32_t at) {
    if (usage->tensor_bytes > run->peak.tensor_bytes)
        run->peak.tensor_bytes = usage->tensor_bytes;
    if (usage->allocated_bytes > run->peak.allocated_bytes) {
        run->peak.allocated_bytes = usage->allocated_bytes;
        run->peak_allocated_at = at;
    }
    if (usage->reserved_bytes > run->peak.reserved_bytes) {
        run->peak.reserved_bytes = usage->reserved_bytes;
        run->peak_reserved_at = at;
    }
}

int oc_simulate(oc_allocator *a, const oc_allocator_options *options, const oc_request *requests, uint32_t count, int64_t limit_bytes,
                int is_rising, oc_usage *usage, oc_run *run) {
    const oc_usage *now = oc_allocator_usage(a);
    oc_allocator_reset(a, options, limit_bytes, is_rising);
    memset(run, 0, sizeof *run);
    for (uint32_t i = 0; i < count && !run->is_oom; i++) {
        if (requests[i].bytes == 0) {
            oc_allocator_free(a, requests[i].tensor);
        } else {
            oc_placement placement = oc_allocator_allocate(a, requests[i].tensor, requests[i].bytes, 0);
            if (placement == OC_NO_HOST_MEMORY)
                return 0;
            run->is_oom = placement == OC_NO_DEVICE_MEMORY;
        }
        oc_allocator_check(a);
        if (run->is_oom) {
            run->oom_bytes = requests[i].bytes;
            run->oom_largest_free_bytes = oc_allocator_largest_free(a, requests[i].bytes, 0);
            run->at_oom = *now;
            break;
        }
        oc_run_note(run, now, i);
        if (usage)
            usage[i] = *now;
        run->request_count = i + 1;
    }
    const oc_counters counters = oc_allocator_count(a);
    run->retry_count = counters.retry_count;
    run->released_bytes = counters.released_bytes;
    return 1;
}

/* Not every larger limit does where a smaller one does (a cached segment that was not released may be pinned by a small block), so
 * this is no bisection. A run differs from that of a smaller limit only where a segment was refused that fits now: each try is at
 * the smallest multiple of 2 MiB at which that is so, beginning with one that no limit below the highest sum of live tensors can
 * pass. A try that fails ends early; the measured jobs need up to 166 of them. After EXACT_TRIES larger steps keep the time bounded:
 * the answer still does, but a smaller one may. */
int oc_simulate_minimum(oc_allocator *a, const oc_allocator_options *options, const oc_request *requests, uint32_t count,
                        const oc_run *need, int64_t *minimum_bytes) {
    enum { EXACT_TRIES = 512, STEPS_AFTER = 16 };
    const int64_t enough_bytes = oc_round_up(need->peak.reserved_bytes + options->aside_bytes, OC_kRoundLarge);
    oc_run run;
    int64_t limit = oc_round_up(need->peak.tensor_bytes + options->aside_bytes, OC_kRoundLarge);
    for (int tries = 1; limit < enough_bytes; tries++) {
        if (!oc_simulate(a, options, requests, count, limit, 0, NULL, &run))
            return 0;
        if (!run.is_oom)
            break;
        int64_t step = tries < EXACT_TRIES ? 0 : (enough_bytes - limit) / STEPS_AFTER;
        int64_t next_limit = oc_allocator_next_limit(a);
        limit = oc_round_up(next_limit > limit + step ? next_limit : limit + step, OC_kRoundLarge);
    }
    *minimum_bytes = limit < enough_bytes ? limit : enough_bytes;
    return 1;
}

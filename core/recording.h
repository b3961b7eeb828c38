/* A profile that was recorded on a GPU: the requests and totals of its allocator as they were, and the same requests simulated again
 * under other settings. Sizes are blocks, already rounded, so nothing is scaled and no rule applies.
 *
 * What was allocated before the profile began is known as a sum only. It is kept aside as bytes that stay: reserved,
 * what makes the simulation agree with the first event if reserved memory grows in the profile (then no cache was left), else those
 * bytes in steps of 2 MiB. */
#ifndef OC_RECORDING_H
#define OC_RECORDING_H

#include "orchestrate.h"
#include "simulate.h"

typedef struct oc_recording {
    const oc_device_event *events; /* of the chosen device, in order of time */
    uint32_t count;
    int64_t device_type, device_id;
    uint32_t device_count;    /* devices with memory events in the file */
    int has_grown;            /* reserved memory rises after the first event */
} oc_recording;

enum { OC_DEVICE_LIMIT = 256 };

/* Chooses a device, the busiest if `device_id` is negative, and hands its events to the analysis as `trace->memory`. Nothing happens,
 * and `recording->count` stays 0, if the trace has no memory events of a device. OC_OPTIONS if there is no such device or
 * there are more than OC_DEVICE_LIMIT. */
oc_status oc_recording_read(oc_recording *recording, oc_trace *trace, int64_t device_id, oc_arena *arena, oc_error *error);

/* The recorded requests as a plan, `usage` after each as recorded, and their run. The first requests are what was there before. */
oc_status oc_recording_plan(oc_plan *plan, const oc_recording *recording, const oc_subject *subject, const oc_options *options, oc_usage **usage,
                            oc_run *run, oc_arena *arena, oc_error *error);

/* The `aside_bytes` for the plan's simulation: reserved bytes that stay beside it. Without caching these are the tensors alone. -1 if
 * host memory ran out. */
int64_t oc_recording_aside(const oc_recording *recording, oc_allocator *allocator, const oc_plan *plan, int is_uncached);

/* As oc_simulate and oc_simulate_minimum, for the plan of a recording; `options` with its `aside_bytes`. */
int oc_recording_simulate(oc_allocator *allocator, const oc_allocator_options *options, const oc_plan *plan, int64_t limit_bytes, int is_rising,
                          oc_usage *usage, oc_run *run);
int oc_recording_minimum(oc_allocator *allocator, const oc_allocator_options *options, const oc_plan *plan, int64_t *minimum_bytes);

#endif

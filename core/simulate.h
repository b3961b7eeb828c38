/* Runs a job's requests through the simulated allocator: requests in, usage out. Knows nothing of profiles. */
#ifndef OC_SIMULATE_H
#define OC_SIMULATE_H

#include "allocator.h"
#include "request.h"

typedef struct oc_run {
    oc_usage peak;                  /* highest values, each at its own time */
    uint32_t peak_allocated_at;     /* request that reached it first */
    uint32_t peak_reserved_at;
    uint32_t request_count;         /* requests done; less than given if it ran out of memory */
    int is_oom;                     /* the request `request_count` failed */
    int64_t oom_bytes;              /* of that request */
    int64_t oom_largest_free_bytes; /* largest free block of its pool, after the release */
    oc_usage at_oom;                /* after the release */
    uint32_t retry_count;           /* releases of the whole cache */
    int64_t released_bytes;         /* given back by them */
} oc_run;

/* Counts the state after request `at` into the peaks. */
void oc_run_note(oc_run *run, const oc_usage *usage, uint32_t at);

/* Runs all requests, on the default stream, from an empty device. `limit_bytes` is what the driver can give, OC_NO_LIMIT for any.
 * `usage`, if not NULL, receives the state after every request. 0 if host memory ran out. */
int oc_simulate(oc_allocator *allocator, const oc_allocator_options *options, const oc_request *requests, uint32_t count,
                int64_t limit_bytes, int is_rising, oc_usage *usage, oc_run *run);

/* The smallest limit, a multiple of 2 MiB, under which all requests succeed. `need`: the run without a limit, with the same options
 * and not out of memory. 0 if host memory ran out. */
int oc_simulate_minimum(oc_allocator *allocator, const oc_allocator_options *options, const oc_request *requests, uint32_t count,
                        const oc_run *need, int64_t *minimum_bytes);

#endif

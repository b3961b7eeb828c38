/* PyTorch's CUDA caching allocator with default settings on one stream: requests in, usage out. Knows nothing of profiles.
 *
 * Mirrors c10/cuda/CUDACachingAllocator.cpp (2.4 to 2.13: round_size, get_pool, get_allocation_size, get_free_block,
 * should_split, free_block, release_cached_blocks): best fit by (size, address), split of the low end, merge on free; on a miss
 * a new segment, else all wholly free segments are released and it is tried once more, else out of memory.
 *
 * Invariants, checked after every request in checked builds: blocks tile their segment; no two free neighbours; the free index
 * holds exactly the free blocks of its pool; counters equal recounted sums; allocated <= reserved <= limit.
 */
#ifndef OC_SIMULATE_H
#define OC_SIMULATE_H

#include "arena.h"
#include "bytes.h"
#include "request.h"

#define OC_kMinBlockSize 512         /* all sizes are multiples of it */
#define OC_kSmallSize 1048576        /* largest size of the small pool */
#define OC_kSmallBuffer 2097152      /* segment of the small pool */
#define OC_kLargeBuffer 20971520     /* segment for sizes below OC_kMinLargeAlloc */
#define OC_kMinLargeAlloc 10485760   /* from here on the segment follows the size */
#define OC_kRoundLarge 2097152       /* such segments are multiples of it */

#define OC_NO_LIMIT OC_LARGEST_SUM /* more than any device has, and sums below it do not overflow */

typedef struct oc_usage {
    int64_t tensor_bytes;    /* live requests, unrounded */
    int64_t allocated_bytes; /* live blocks: torch.cuda.memory_allocated */
    int64_t reserved_bytes;  /* segments: torch.cuda.memory_reserved */
} oc_usage;

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

typedef struct oc_allocator oc_allocator;

/* An allocator for up to `tensor_count` tensors; lives in the arena. NULL if out of memory. */
oc_allocator *oc_allocator_open(oc_arena *arena, uint32_t tensor_count);

/* Runs all requests from an empty device. `limit_bytes` bounds reserved bytes, OC_NO_LIMIT for none. New segments get falling
 * addresses, or rising ones, which decides ties only. `usage`, if not NULL, receives the state after every request. */
void oc_simulate(oc_allocator *allocator, const oc_request *requests, uint32_t count, int64_t limit_bytes, int is_rising,
                 oc_usage *usage, oc_run *run);

/* The smallest limit, a multiple of 2 MiB, under which all requests succeed; `enough_bytes` is known to do. */
int64_t oc_simulate_minimum(oc_allocator *allocator, const oc_request *requests, uint32_t count, int64_t enough_bytes);

#endif

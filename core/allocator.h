/* PyTorch's CUDA caching allocator on one simulated device: requests in, addresses and counters out. Knows nothing of profiles.
 *
 * Mirrors c10/cuda/CUDACachingAllocator.cpp (2.4 to 2.13: round_size, get_pool, get_allocation_size, get_free_block, should_split,
 * alloc_block, try_allocate_expandable_block, free_block, garbage_collect_cached_blocks, release_available_cached_blocks,
 * release_cached_blocks, record_stream, process_events). With default settings these versions place all blocks alike.
 *
 * Invariants, checked after every request in checked builds: the blocks tile their segment; no two neighbours are both free or both
 * unmapped; the indexes hold exactly the free and the unmapped blocks of their pool; ranges are mapped in whole pages; counters
 * equal recounted sums; allocated <= active <= reserved <= limit; segments and ranges do not overlap. */
#ifndef OC_ALLOCATOR_H
#define OC_ALLOCATOR_H

#include "arena.h"
#include "bytes.h"

#include <stdint.h>

#define OC_kMinBlockSize 512         /* all sizes are multiples of it */
#define OC_kSmallSize 1048576        /* largest size of the small pool */
#define OC_kSmallBuffer 2097152      /* segment of the small pool */
#define OC_kLargeBuffer 20971520     /* segment for sizes below OC_kMinLargeAlloc; large_segment_size_mb replaces it */
#define OC_kMinLargeAlloc 10485760   /* from here on the segment follows the size */
#define OC_kRoundLarge 2097152       /* such segments are multiples of it */
#define OC_kRoundUpPowerOfTwoIntervals 16
#define OC_kMostDivisions ((int64_t)1 << 30) /* ours: no size is divided further */

#define OC_NO_LIMIT OC_LARGEST_SUM /* more than any device has, and sums below it do not overflow */

/* What PYTORCH_CUDA_ALLOC_CONF and its like set. */
typedef struct oc_allocator_options {
    int64_t max_split_bytes;              /* max_split_size_mb; OC_NO_LIMIT: unset */
    int64_t max_non_split_rounding_bytes; /* how much larger than an oversize request its block may be */
    int64_t large_segment_bytes;          /* large_segment_size_mb */
    int64_t divisions[OC_kRoundUpPowerOfTwoIntervals]; /* roundup_power2_divisions for sizes of 2^i to 2^(i+1) MiB; 0: off */
    double garbage_collection_threshold;  /* 0: off; works only with a fraction */
    int64_t fraction_bytes;               /* floor(memory fraction * total): limit of reserved bytes; OC_NO_LIMIT: none in force */
    int is_expandable;                    /* expandable_segments */
    double near_fit; /* hypothetical, 0 in PyTorch: a block of the large pool serves although it is smaller by up to this part of the request */
    int is_uncached;                      /* PYTORCH_NO_CUDA_MEMORY_CACHING: each tensor is an allocation of the driver */
    int64_t range_bytes;                  /* addresses of an expandable segment: 9/8 of the device's memory */
    int64_t aside_bytes;                  /* reserved beside what is simulated: counts against every limit and threshold, never released */
} oc_allocator_options;

extern const oc_allocator_options oc_allocator_defaults;

typedef struct oc_usage {
    int64_t tensor_bytes;    /* live requests, unrounded: requested_bytes */
    int64_t allocated_bytes; /* live blocks: torch.cuda.memory_allocated */
    int64_t reserved_bytes;  /* segments or mapped pages: torch.cuda.memory_reserved; without caching what the driver gave */
} oc_usage;

/* Counters as torch.cuda.memory_stats names them. All stay 0 without caching. */
typedef struct oc_counters {
    int64_t requested_bytes, allocated_bytes, active_bytes, reserved_bytes;
    uint32_t retry_count;   /* num_alloc_retries: releases of the whole cache on a miss */
    uint32_t oom_count;     /* num_ooms */
    int64_t released_bytes; /* given back by those releases */
} oc_counters;

/* What a snapshot would show. */
typedef struct oc_layout {
    int64_t inactive_split_bytes; /* free blocks in segments that are partly in use; ranges have none */
    uint32_t segment_count;       /* ordinary segments */
    uint32_t snapshot_count;      /* ordinary segments and contiguous mapped parts of ranges */
} oc_layout;

typedef struct oc_allocator oc_allocator;

typedef enum oc_placement {
    OC_PLACED,
    OC_NO_DEVICE_MEMORY, /* torch.cuda.OutOfMemoryError; what was released on the way stays released */
    OC_NO_HOST_MEMORY    /* the arena is used up; the allocator is of no use any more */
} oc_placement;

/* An allocator for tensors 0 to `tensor_count` - 1; lives in the arena and grows there. NULL if out of memory. Reset it before use. */
oc_allocator *oc_allocator_open(oc_arena *arena, uint32_t tensor_count);

/* Empties the device. `limit_bytes` is what the driver can give, OC_NO_LIMIT for any. New segments get falling addresses, or rising
 * ones, which decides ties only. Settings are copied. */
void oc_allocator_reset(oc_allocator *allocator, const oc_allocator_options *options, int64_t limit_bytes, int is_rising);

/* Changes settings in the middle of a run. */
void oc_allocator_configure(oc_allocator *allocator, const oc_allocator_options *options, int64_t limit_bytes);

/* `bytes` > 0 for a tensor that holds none, on a stream (its handle's value: 0 is the default stream). */
oc_placement oc_allocator_allocate(oc_allocator *allocator, uint32_t tensor, int64_t bytes, uint64_t stream);

/* Frees what the tensor holds; it does hold something. */
void oc_allocator_free(oc_allocator *allocator, uint32_t tensor);

int oc_allocator_holds(const oc_allocator *allocator, uint32_t tensor);

/* Address of the tensor's block; 0 if it holds none or without caching. */
uint64_t oc_allocator_address(const oc_allocator *allocator, uint32_t tensor);

/* torch.Tensor.record_stream: once freed, the block waits until `stream` has finished what it had to do then. 0 if out of memory. */
int oc_allocator_record_stream(oc_allocator *allocator, uint32_t tensor, uint64_t stream);

/* The stream has finished all work so far: blocks that waited for it can be used from the next request on. */
void oc_allocator_finish_stream(oc_allocator *allocator, uint64_t stream);

/* torch.cuda.empty_cache. 0 if out of memory. */
int oc_allocator_empty_cache(oc_allocator *allocator);

const oc_usage *oc_allocator_usage(const oc_allocator *allocator);

oc_counters oc_allocator_count(const oc_allocator *allocator);

/* Walks all blocks. */
oc_layout oc_allocator_survey(const oc_allocator *allocator);

/* Largest free block that a request of `bytes` on `stream` could look at. */
int64_t oc_allocator_largest_free(const oc_allocator *allocator, int64_t bytes, uint64_t stream);

/* The smallest limit under which something that the driver refused since the reset would have been given; INT64_MAX if none. */
int64_t oc_allocator_next_limit(const oc_allocator *allocator);

/* Checks all invariants in checked builds; traps on a bug of ours. Does nothing in others. */
void oc_allocator_check(const oc_allocator *allocator);

/* ---- for scripts: a device whose state and addresses are known ---- */

#define OC_SCRIPT_ADDRESSES ((uint64_t)1 << 61) /* scripts place segments below; the simulation's own lie above */

/* Where the next segment or range lies, instead of an address of the simulation's own. */
void oc_allocator_set_next_segment(oc_allocator *allocator, uint64_t address);

/* Bytes of the segment that was made for that address, 0 if none has been; the address is forgotten. `*is_overlapping`: it lies
 * elsewhere, since another segment has some of those addresses. */
int64_t oc_allocator_take_next_segment(oc_allocator *allocator, int *is_overlapping);

typedef enum oc_preset { OC_PRESET_DONE, OC_PRESET_OVERLAP, OC_PRESET_MISPLACED, OC_PRESET_NO_HOST_MEMORY } oc_preset;

/* A wholly free segment. OC_PRESET_OVERLAP if another has some of its addresses. */
oc_preset oc_allocator_add_segment(oc_allocator *allocator, uint64_t address, int64_t bytes, uint64_t stream, int is_small);

/* A block in use within a free block of a segment. OC_PRESET_MISPLACED if there is none around it. */
oc_preset oc_allocator_add_block(oc_allocator *allocator, uint32_t tensor, uint64_t address, int64_t block_bytes, int64_t bytes);

/* Gives the segment at `address` back. OC_PRESET_MISPLACED if there is none of that size or it is not wholly free. */
oc_preset oc_allocator_release_segment(oc_allocator *allocator, uint64_t address, int64_t bytes);

#endif

/* Scripts and logs for the allocator: what a program asked of it, and what a real one answered.
 *
 * A script is text, one step a line; `#` begins a remark. Numbers are decimal bytes and addresses, an ID is any word.
 *   config KEY VALUE                      an option of PYTORCH_CUDA_ALLOC_CONF, or one of
 *     alloc_conf STRING                   all of PYTORCH_CUDA_ALLOC_CONF
 *     device_total BYTES                  what CUDA reports as the device's memory
 *     memory_fraction F                   torch.cuda.set_per_process_memory_fraction(F); needs device_total
 *     device_capacity BYTES               what the driver can give
 *     no_caching 0|1                      PYTORCH_NO_CUDA_MEMORY_CACHING
 *     torch VERSION                       whose options and rules
 *   segment ADDR BYTES STREAM small|large a segment that is there at the start
 *   used ID ADDR BLOCK REQUESTED          a live block in it; what is not used is free
 *   next_segment ADDR BYTES               the next request must make a new segment of BYTES; the device gives it ADDR
 *   alloc ID BYTES [STREAM]               request, on stream 0 if none is given
 *   free ID
 *   record_stream ID STREAM               once freed, the block waits for STREAM
 *   finish STREAM                         the stream has done its work so far
 *   empty_cache
 *   release ADDR BYTES                    this wholly free segment goes back to the device
 *   expect_addr ID ADDR                   where the block of ID is
 *   expect_oom                            the request before failed
 *   expect_NAME VALUE                     after the step before; NAME: allocated, reserved, requested, active, inactive_split (bytes),
 *                                         segments, retries, ooms (counts)
 *   note TEXT */
#ifndef OC_REPLAY_H
#define OC_REPLAY_H

#include "arena.h"
#include "error.h"

typedef struct oc_replay_failure {
    uint64_t line; /* from 1 */
    char message[200];
} oc_replay_failure;

typedef struct oc_replay {
    uint64_t line_count, address_count, segment_count; /* lines; addresses and new segments that were compared */
    oc_replay_failure *failures;
    size_t failure_count;
} oc_replay;

/* Runs a script. OC_OPTIONS for a line that is no step or a step that is impossible, its number in `error->event_index`; a wrong
 * expectation is a failure, not an error. Failures live in the arena. */
oc_status oc_replay_script(oc_replay *replay, const char *text, size_t length, oc_arena *arena, oc_error *error);

/* Runs an allocator log as JSON lines: a header with the state at the start, then the entries of a memory snapshot's trace (alloc,
 * free_completed, segment_alloc, segment_free). Every address, new segment and recorded `reserved` is compared. */
oc_status oc_replay_log(oc_replay *replay, const char *text, size_t length, oc_arena *arena, oc_error *error);

#endif

/* The caching allocator: worked examples derived by hand (gpu-memory-rules.md, section 9), ties, releases, limits, and a second,
 * plain allocator written from the same rules that must agree on random scripts. Built with OC_CHECKED every request also checks
 * the whole structure. */
#include "check.h"
#include "simulate.h"

#include <stdlib.h>

#define KIB 1024
#define MIB 1048576

static oc_budget budget;
static oc_arena arena;

static oc_allocator_options options; /* of the runs */

static oc_allocator *open_allocator(uint32_t tensor_count) {
    options = oc_allocator_defaults;
    budget = (oc_budget){(size_t)1 << 30, 0, 0};
    oc_arena_init(&arena, &budget);
    oc_allocator *allocator = oc_allocator_open(&arena, tensor_count);
    if (!allocator)
        abort();
    return allocator;
}

/* ---- worked examples ---- */

typedef struct step {
    char tensor;
    int64_t bytes;               /* 0: free */
    int64_t allocated, reserved; /* expected afterwards; a failing request: -1 */
} step;

static oc_run run;
/* Host memory does not run out. */
static void simulate(oc_allocator *allocator, const oc_request *requests, uint32_t count, int64_t limit_bytes, int is_rising, oc_usage *usage,
                     oc_run *into) {
    CHECK(oc_simulate(allocator, &options, requests, count, limit_bytes, is_rising, usage, into));
}

static int64_t minimum_of(oc_allocator *allocator, const oc_request *requests, uint32_t count) {
    oc_run need;
    int64_t minimum_bytes = -1;
    simulate(allocator, requests, count, OC_NO_LIMIT, 0, NULL, &need);
    CHECK(oc_simulate_minimum(allocator, &options, requests, count, &need, &minimum_bytes));
    return minimum_bytes;
}

/* Runs the steps; the state after each must be as expected, requested bytes included. */
static void check_steps(const char *name, const step *steps, uint32_t count, int64_t limit_bytes, int is_rising) {
    oc_request requests[32];
    oc_usage usage[32];
    int64_t live[128] = {0}, tensor_bytes = 0;
    for (uint32_t i = 0; i < count; i++)
        requests[i] = (oc_request){i, steps[i].bytes, (uint32_t)(steps[i].tensor - 'a')};
    simulate(open_allocator(26), requests, count, limit_bytes, is_rising, usage, &run);
    for (uint32_t i = 0; i < count; i++) {
        check_context("%s, step %u", name, i);
        if (steps[i].allocated < 0) {
            CHECK(run.is_oom);
            CHECK_EQ_U64(run.request_count, i);
            CHECK_EQ_I64(run.oom_bytes, steps[i].bytes);
            break;
        }
        if (!CHECK(i < run.request_count))
            break;
        tensor_bytes += steps[i].bytes ? steps[i].bytes : -live[(int)steps[i].tensor];
        live[(int)steps[i].tensor] = steps[i].bytes;
        CHECK_EQ_I64(usage[i].tensor_bytes, tensor_bytes);
        CHECK_EQ_I64(usage[i].allocated_bytes, steps[i].allocated);
        CHECK_EQ_I64(usage[i].reserved_bytes, steps[i].reserved);
    }
    if (!run.is_oom)
        CHECK_EQ_U64(run.request_count, count);
    check_context("%s", "");
    oc_arena_close(&arena);
}

#define CHECK_STEPS(limit, ...)                                                                                                            \
    do {                                                                                                                                   \
        static const step steps[] = {__VA_ARGS__};                                                                                         \
        check_steps(__func__, steps, sizeof steps / sizeof steps[0], limit, 0);                                                            \
        check_steps(__func__, steps, sizeof steps / sizeof steps[0], limit, 1);                                                            \
    } while (0)

static void small_rounding_and_best_fit(void) {
    CHECK_STEPS(OC_NO_LIMIT, {'a', 1, 512, 2 * MIB}, {'b', 512, 1024, 2 * MIB}, {'c', 513, 2048, 2 * MIB}, {'a', 0, 1536, 2 * MIB},
                {'d', 400, 2048, 2 * MIB} /* into the hole */, {'b', 0, 1536, 2 * MIB}, {'c', 0, 512, 2 * MIB}, {'d', 0, 0, 2 * MIB});
}

static void small_large_threshold(void) {
    CHECK_STEPS(OC_NO_LIMIT, {'a', MIB, MIB, 2 * MIB}, {'b', MIB, 2 * MIB, 2 * MIB}, {'c', MIB, 3 * MIB, 4 * MIB},
                {'d', MIB + 1, 3 * MIB + 1049088, 24 * MIB});
}

static void large_pack_20MiB_nosplit_tail(void) {
    CHECK_STEPS(OC_NO_LIMIT, {'a', 5 * MIB, 5 * MIB, 20 * MIB}, {'b', 10 * MIB, 15 * MIB, 20 * MIB},
                {'c', 4718592, 20 * MIB, 20 * MIB} /* 4.5 MiB own the 5 */, {'a', 0, 15 * MIB, 20 * MIB}, {'c', 0, 10 * MIB, 20 * MIB},
                {'b', 0, 0, 20 * MIB});
}

static void ten_MiB_and_up(void) {
    CHECK_STEPS(OC_NO_LIMIT, {'a', 10 * MIB, 10 * MIB, 10 * MIB}, {'b', 10 * MIB + 1, 20 * MIB + 512, 22 * MIB},
                {'c', 1536 * KIB, 22 * MIB, 22 * MIB});
}

static void just_below_ten_MiB(void) {
    CHECK_STEPS(OC_NO_LIMIT, {'a', 10 * MIB - 512, 10 * MIB - 512, 20 * MIB}, {'b', 10 * MIB + 512, 20 * MIB, 20 * MIB});
    CHECK_STEPS(OC_NO_LIMIT, {'a', 10 * MIB - 1, 10 * MIB, 10 * MIB}); /* the rounded size decides */
}

static void unsplit_rest_counts_as_allocated(void) {
    CHECK_STEPS(OC_NO_LIMIT, {'a', 11776 * KIB, 12 * MIB, 12 * MIB}, {'a', 0, 0, 12 * MIB}, {'b', 12 * MIB, 12 * MIB, 12 * MIB},
                {'b', 0, 0, 12 * MIB});
}

static void best_fit_smallest_block(void) {
    CHECK_STEPS(OC_NO_LIMIT, {'a', 20 * MIB, 20 * MIB, 20 * MIB}, {'b', 30 * MIB, 50 * MIB, 50 * MIB},
                {'c', 25 * MIB, 76 * MIB, 76 * MIB} /* 26: the rest is 1 MiB, not above */, {'b', 0, 46 * MIB, 76 * MIB},
                {'c', 0, 20 * MIB, 76 * MIB}, {'a', 0, 0, 76 * MIB}, {'d', 18 * MIB, 18 * MIB, 76 * MIB},
                {'e', 22 * MIB, 40 * MIB, 76 * MIB}, {'g', 2 * MIB, 42 * MIB, 76 * MIB}, {'h', 30 * MIB, 72 * MIB, 76 * MIB});
}

static void coalescing(void) {
    CHECK_STEPS(OC_NO_LIMIT, {'a', 256 * KIB, 256 * KIB, 2 * MIB}, {'b', 256 * KIB, 512 * KIB, 2 * MIB}, {'c', 256 * KIB, 768 * KIB, 2 * MIB},
                {'a', 0, 512 * KIB, 2 * MIB}, {'c', 0, 256 * KIB, 2 * MIB}, {'d', 1280 * KIB, 1536 * KIB, 22 * MIB} /* large pool */,
                {'b', 0, 1280 * KIB, 22 * MIB}, {'e', MIB, 2304 * KIB, 22 * MIB} /* all of it merged: both fit */,
                {'g', MIB, 3328 * KIB, 22 * MIB});
}

static void fragmentation_grows_reserved(void) {
    CHECK_STEPS(OC_NO_LIMIT, {'a', 14 * MIB, 14 * MIB, 14 * MIB}, {'a', 0, 0, 14 * MIB}, {'b', 12 * MIB, 12 * MIB, 14 * MIB},
                {'c', 14 * MIB, 26 * MIB, 28 * MIB}, {'b', 0, 14 * MIB, 28 * MIB}, {'d', 14 * MIB, 28 * MIB, 28 * MIB});
}

static void oom_then_release_cached_then_retry(void) {
    CHECK_STEPS(512 * MIB, {'a', 300 * MIB, 300 * MIB, 300 * MIB}, {'a', 0, 0, 300 * MIB}, {'b', 400 * MIB, 400 * MIB, 400 * MIB},
                {'c', 200 * MIB, -1, -1});
    CHECK_EQ_U64(run.retry_count, 2); /* for b, and for c in vain */
    CHECK_EQ_I64(run.released_bytes, 300 * MIB);
    CHECK_EQ_I64(run.oom_bytes, 200 * MIB);
    CHECK_EQ_I64(run.at_oom.allocated_bytes, 400 * MIB);
    CHECK_EQ_I64(run.at_oom.reserved_bytes, 400 * MIB);
    CHECK_EQ_I64(run.at_oom.tensor_bytes, 400 * MIB);
    CHECK_EQ_I64(run.oom_largest_free_bytes, 0);
    CHECK_EQ_I64(run.peak.reserved_bytes, 400 * MIB);
    CHECK_EQ_I64(run.peak.allocated_bytes, 400 * MIB);
    CHECK_STEPS(512 * MIB, {'b', 400 * MIB, 400 * MIB, 400 * MIB}, {'b', 0, 0, 400 * MIB},
                {'d', 200 * MIB, 200 * MIB, 400 * MIB}); /* takes b's block and splits it */
    CHECK_EQ_U64(run.retry_count, 0);
}

static void device_capacity_oom(void) {
    CHECK_STEPS(96 * MIB, {'a', 40 * MIB, 40 * MIB, 40 * MIB}, {'b', 40 * MIB, 80 * MIB, 80 * MIB}, {'a', 0, 40 * MIB, 80 * MIB},
                {'c', 60 * MIB, -1, -1});
    CHECK_EQ_I64(run.at_oom.reserved_bytes, 40 * MIB); /* the cached segment is gone although the request failed */
    CHECK_EQ_I64(run.released_bytes, 40 * MIB);
    CHECK_STEPS(96 * MIB, {'b', 40 * MIB, 40 * MIB, 40 * MIB}, {'b', 0, 0, 40 * MIB}, {'d', 60 * MIB, 60 * MIB, 60 * MIB});
    CHECK_EQ_U64(run.retry_count, 1);
}

static void cublas_workspaces(void) {
    CHECK_STEPS(OC_NO_LIMIT, {'a', 8519680, 8519680, 20 * MIB}, {'b', 8519680, 17039360, 20 * MIB},
                {'c', 3 * MIB, 20 * MIB, 20 * MIB} /* 3.75 MiB are left and owned */);
    CHECK_STEPS(OC_NO_LIMIT, {'a', 32 * MIB, 32 * MIB, 32 * MIB}, {'b', 32 * MIB, 64 * MIB, 64 * MIB}); /* compute capability 9.0 */
}

static void the_small_pool_splits_to_512_bytes(void) {
    CHECK_STEPS(OC_NO_LIMIT, {'a', MIB, MIB, 2 * MIB}, {'b', MIB - 512, 2 * MIB - 512, 2 * MIB}, {'c', 512, 2 * MIB, 2 * MIB},
                {'d', 1, 2 * MIB + 512, 4 * MIB});
}

static void pools_do_not_share(void) {
    CHECK_STEPS(OC_NO_LIMIT, {'a', 2 * MIB, 2 * MIB, 20 * MIB}, {'b', 512, 2 * MIB + 512, 22 * MIB} /* 18 MiB of the large pool are free */,
                {'b', 0, 2 * MIB, 22 * MIB}, {'c', 1537 * KIB, 2 * MIB + 1537 * KIB, 22 * MIB});
}

static void the_limit_counts_whole_segments(void) {
    CHECK_STEPS(20 * MIB - 1, {'a', 2 * MIB, -1, -1}); /* 2 MiB need a segment of 20 */
    CHECK_STEPS(20 * MIB, {'a', 2 * MIB, 2 * MIB, 20 * MIB}, {'b', 1, -1, -1});
    CHECK_STEPS(22 * MIB, {'a', 2 * MIB, 2 * MIB, 20 * MIB}, {'b', 1, 2 * MIB + 512, 22 * MIB});
    CHECK_STEPS(1, {'a', 1, -1, -1});
    CHECK_STEPS(0, {'a', 1, -1, -1});
}

static void the_largest_free_block_is_of_the_pool(void) {
    CHECK_STEPS(42 * MIB, {'a', 12 * MIB, 12 * MIB, 12 * MIB}, {'b', 5 * MIB, 17 * MIB, 32 * MIB}, {'c', 7 * MIB, 24 * MIB, 32 * MIB},
                {'b', 0, 19 * MIB, 32 * MIB}, {'d', 9 * MIB, -1, -1}); /* free: 5 and 8 MiB in the segment of 20, no whole segment */
    CHECK_EQ_I64(run.oom_largest_free_bytes, 8 * MIB);
    CHECK_EQ_I64(run.released_bytes, 0);
    CHECK_EQ_U64(run.retry_count, 1);
}

/* ---- ties, releases ---- */

/* A segment of 40 MiB with 20 in use and 20 free, and a later segment of 20 MiB that is free: which of the equal blocks serves `d`
 * shows in what can be released for `e`. */
static void ties_go_to_the_lowest_address(void) {
    static const step rising[] = {{'w', 40 * MIB, 40 * MIB, 40 * MIB}, {'y', 20 * MIB, 60 * MIB, 60 * MIB},
                                  {'w', 0, 20 * MIB, 60 * MIB},        {'x', 20 * MIB, 40 * MIB, 60 * MIB},
                                  {'y', 0, 20 * MIB, 60 * MIB},        {'d', 20 * MIB, 40 * MIB, 60 * MIB} /* behind x */,
                                  {'e', 30 * MIB, 70 * MIB, 70 * MIB} /* y's segment was released */};
    static const step falling[] = {{'w', 40 * MIB, 40 * MIB, 40 * MIB},
                                   {'y', 20 * MIB, 60 * MIB, 60 * MIB},
                                   {'w', 0, 20 * MIB, 60 * MIB},
                                   {'x', 20 * MIB, 40 * MIB, 60 * MIB},
                                   {'y', 0, 20 * MIB, 60 * MIB},
                                   {'d', 20 * MIB, 40 * MIB, 60 * MIB} /* into y's segment */,
                                   {'e', 30 * MIB, -1, -1} /* both segments are in use */};
    check_steps("rising", rising, 7, 70 * MIB, 1);
    check_steps("falling", falling, 7, 70 * MIB, 0);
}

static void segments_are_released_wherever_they_stand(void) {
    /* the middle one of three; then the two around it */
    CHECK_STEPS(70 * MIB, {'a', 20 * MIB, 20 * MIB, 20 * MIB}, {'b', 20 * MIB, 40 * MIB, 40 * MIB}, {'c', 20 * MIB, 60 * MIB, 60 * MIB},
                {'b', 0, 40 * MIB, 60 * MIB}, {'d', 30 * MIB, 70 * MIB, 70 * MIB}, {'a', 0, 50 * MIB, 70 * MIB},
                {'c', 0, 30 * MIB, 70 * MIB}, {'e', 40 * MIB, 70 * MIB, 70 * MIB}, {'d', 0, 40 * MIB, 70 * MIB}, {'e', 0, 0, 70 * MIB},
                {'g', 70 * MIB, 70 * MIB, 70 * MIB});
    CHECK_EQ_U64(run.retry_count, 3);
    CHECK_EQ_I64(run.released_bytes, (20 + 40 + 70) * MIB);
    /* of both pools, and none that is partly in use */
    CHECK_STEPS(44 * MIB, {'a', 1, 512, 2 * MIB}, {'b', 2 * MIB, 2 * MIB + 512, 22 * MIB}, {'c', MIB, 3 * MIB + 512, 22 * MIB},
                {'d', MIB, 4 * MIB + 512, 24 * MIB}, {'b', 0, 2 * MIB + 512, 24 * MIB}, {'d', 0, MIB + 512, 24 * MIB},
                {'e', 42 * MIB, 43 * MIB + 512, 44 * MIB});
}

static void a_released_number_is_used_again(void) {
    oc_request requests[400];
    uint32_t count = 0;
    for (uint32_t i = 0; i < 200; i++) { /* each asks for more than the cached one before it: released every time */
        requests[count] = (oc_request){count, (20 + 2 * (int64_t)i) * MIB, i};
        requests[count + 1] = (oc_request){count + 1, 0, i};
        count += 2;
    }
    simulate(open_allocator(200), requests, count, 418 * MIB, 0, NULL, &run); /* the last one and nothing beside it */
    CHECK(!run.is_oom);
    CHECK_EQ_U64(run.request_count, count);
    CHECK_EQ_I64(run.peak.reserved_bytes, 418 * MIB);
    oc_arena_close(&arena);
}

/* ---- the run's own figures ---- */

static void peaks_have_their_first_request(void) {
    static const oc_request requests[] = {{0, 5 * MIB, 0},  {1, 12 * MIB, 1}, {2, 0, 0},  {3, 0, 1},
                                          {4, 17 * MIB, 2}, {5, 0, 2},        {6, 512, 3}};
    oc_allocator *allocator = open_allocator(4);
    oc_usage usage[7];
    simulate(allocator, requests, 7, OC_NO_LIMIT, 0, usage, &run);
    /* 5 of 20; 12 of 15 left (the rest of 3 is split off): 17 in all; later 17 of 20, split: 17 again */
    CHECK_EQ_I64(run.peak.allocated_bytes, 17 * MIB);
    CHECK_EQ_U64(run.peak_allocated_at, 1); /* reached first there, again at 4 */
    CHECK_EQ_I64(run.peak.tensor_bytes, 17 * MIB);
    CHECK_EQ_I64(run.peak.reserved_bytes, 22 * MIB);
    CHECK_EQ_U64(run.peak_reserved_at, 6);
    oc_run again;
    oc_usage usage_again[7];
    simulate(allocator, requests, 7, OC_NO_LIMIT, 0, usage_again, &again); /* an allocator can be used again */
    CHECK(memcmp(&run, &again, sizeof run) == 0);
    CHECK(memcmp(usage, usage_again, sizeof usage) == 0);
    oc_arena_close(&arena);
}

/* Figures of damaged files: sums stay within 64 bits, and more than any device has is out of memory even without a limit. */
static void sums_beyond_all_devices_end(void) {
    CHECK_EQ_I64(oc_add_bytes(3, 4), 7);
    CHECK_EQ_I64(oc_add_bytes(OC_LARGEST_SUM - 1, 1), OC_LARGEST_SUM);
    CHECK_EQ_I64(oc_add_bytes(OC_LARGEST_SUM, 1), OC_LARGEST_SUM);
    CHECK_EQ_I64(oc_add_bytes(OC_LARGEST_BLOCK, OC_LARGEST_SUM), OC_LARGEST_SUM);
    enum { COUNT = 140000, SOME = 20000 }; /* all of them are more than 2^63 bytes */
    static oc_request requests[COUNT];
    for (uint32_t i = 0; i < COUNT; i++)
        requests[i] = (oc_request){i, OC_LARGEST_BLOCK, i};
    oc_budget large = {(size_t)1 << 26, 0, 0};
    oc_arena own;
    oc_arena_init(&own, &large);
    oc_allocator *endless = oc_allocator_open(&own, COUNT);
    oc_run result;
    if (CHECK(endless)) {
        simulate(endless, requests, SOME, OC_NO_LIMIT, 0, NULL, &result);
        CHECK_EQ_I64(result.is_oom, 1);
        CHECK_EQ_U64(result.request_count, 16384); /* 2^60 of 2^46 */
        CHECK_EQ_I64(result.peak.reserved_bytes, OC_LARGEST_SUM);
        int64_t minimum_bytes = 0;
        CHECK(oc_simulate_minimum(endless, &oc_allocator_defaults, requests, COUNT, &result, &minimum_bytes));
        CHECK_EQ_I64(minimum_bytes, OC_LARGEST_SUM);
    }
    oc_arena_close(&own);
}

static void nothing_needs_nothing(void) {
    oc_allocator *allocator = open_allocator(0);
    simulate(allocator, NULL, 0, 0, 0, NULL, &run);
    CHECK_EQ_U64(run.request_count, 0);
    CHECK_EQ_I64(run.peak.reserved_bytes, 0);
    CHECK(!run.is_oom);
    CHECK_EQ_I64(minimum_of(allocator, NULL, 0), 0);
    oc_arena_close(&arena);
}

static void without_memory_none_is_opened(void) {
    oc_budget small = {1000, 0, 0};
    oc_arena small_arena;
    oc_arena_init(&small_arena, &small);
    CHECK(!oc_allocator_open(&small_arena, 100));
    oc_arena_close(&small_arena);
}

/* ---- the same rules once more, plainly ---- */

enum { PLAIN_LIMIT = 4000 };

typedef struct plain_block {
    uint64_t address, segment; /* the segment's address */
    int64_t size;
    int is_large, is_used;
} plain_block;

typedef struct plain {
    plain_block blocks[PLAIN_LIMIT]; /* in no order */
    uint32_t count;
    uint64_t rising, falling;
    int64_t reserved, allocated, tensors;
    int64_t limit, released;
    uint32_t retries;
    int is_rising;
} plain;

static plain_block *plain_add(plain *p, plain_block block) {
    if (p->count == PLAIN_LIMIT)
        abort();
    p->blocks[p->count] = block;
    return &p->blocks[p->count++];
}

static void plain_remove(plain *p, plain_block *block) {
    *block = p->blocks[--p->count];
}

static plain_block *plain_segment(plain *p, int64_t bytes, int is_large) {
    if (p->reserved + bytes > p->limit)
        return NULL;
    p->reserved += bytes;
    p->rising += 1000 * (uint64_t)MIB;
    p->falling -= 1000 * (uint64_t)MIB;
    uint64_t address = p->is_rising ? p->rising : p->falling;
    return plain_add(p, (plain_block){address, address, bytes, is_large, 0});
}

static void plain_release(plain *p) {
    for (uint32_t i = 0; i < p->count;) {
        int is_whole = !p->blocks[i].is_used;
        for (uint32_t k = 0; k < p->count; k++)
            is_whole &= k == i || p->blocks[k].segment != p->blocks[i].segment;
        if (is_whole) {
            p->reserved -= p->blocks[i].size;
            p->released += p->blocks[i].size;
            plain_remove(p, &p->blocks[i]);
        } else {
            i++;
        }
    }
}

/* The address, 0 if out of memory. */
static uint64_t plain_allocate(plain *p, int64_t bytes) {
    int64_t size = bytes < 512 ? 512 : (bytes + 511) / 512 * 512;
    int is_large = size > MIB;
    plain_block *best = NULL;
    for (uint32_t i = 0; i < p->count; i++) {
        plain_block *b = &p->blocks[i];
        if (!b->is_used && b->is_large == is_large && b->size >= size &&
            (!best || b->size < best->size || (b->size == best->size && b->address < best->address)))
            best = b;
    }
    int64_t segment = !is_large ? 2 * MIB : size < 10 * MIB ? 20 * MIB : (size + 2 * MIB - 1) / (2 * MIB) * (2 * MIB);
    if (!best)
        best = plain_segment(p, segment, is_large);
    if (!best) {
        plain_release(p);
        p->retries++;
        best = plain_segment(p, segment, is_large);
    }
    if (!best)
        return 0;
    int64_t rest = best->size - size;
    best->is_used = 1;
    if (is_large ? rest > MIB : rest >= 512) {
        best->size = size;
        (void)plain_add(p, (plain_block){best->address + (uint64_t)size, best->segment, rest, is_large, 0});
    }
    p->allocated += best->size;
    p->tensors += bytes;
    return best->address;
}

static plain_block *plain_find(plain *p, uint64_t address) {
    for (uint32_t i = 0; i < p->count; i++)
        if (p->blocks[i].address == address)
            return &p->blocks[i];
    return NULL;
}

static void plain_free(plain *p, uint64_t address, int64_t bytes) {
    plain_block *block = plain_find(p, address);
    if (!block)
        abort();
    p->allocated -= block->size;
    p->tensors -= bytes;
    block->is_used = 0;
    for (uint32_t i = 0; i < p->count; i++) { /* the one after it, then the one before it */
        plain_block *after = &p->blocks[i];
        if (after->segment == block->segment && !after->is_used && after->address == block->address + (uint64_t)block->size) {
            block->size += after->size;
            plain_remove(p, after);
            break;
        }
    }
    block = plain_find(p, address); /* removing moves the last block */
    for (uint32_t i = 0; i < p->count; i++) {
        plain_block *before = &p->blocks[i];
        if (before->segment == block->segment && !before->is_used && before->address + (uint64_t)before->size == block->address) {
            before->size += block->size;
            plain_remove(p, block);
            break;
        }
    }
}

/* ---- random scripts ---- */

static uint32_t seed;

static uint32_t random_below(uint32_t limit) {
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % limit;
}

static int64_t random_bytes(void) {
    switch (random_below(8)) {
    case 0: return 1 + random_below(600);
    case 1: return 1 + random_below(100000);
    case 2: return 1 + random_below(MIB + 2000);
    case 3: return (1 + random_below(24)) * (int64_t)MIB; /* equal sizes make ties */
    case 4: return MIB - 600 + random_below(1200);
    case 5: return 10 * MIB - 600 + random_below(1200);
    case 6: return MIB + random_below(9 * MIB);
    default: return 10 * MIB + random_below(30 * MIB);
    }
}

/* A script of `count` requests that never frees what is not live; every allocation is a tensor of its own. */
static uint32_t random_script(oc_request *requests, uint32_t count, uint32_t live_limit) {
    uint32_t live[512], live_count = 0, tensors = 0;
    for (uint32_t i = 0; i < count; i++) {
        int is_free = live_count && (live_count == live_limit || random_below(100) < 45);
        if (is_free) {
            uint32_t pick = random_below(3) ? random_below(live_count) : live_count - 1; /* often the newest */
            requests[i] = (oc_request){i, 0, live[pick]};
            live[pick] = live[--live_count];
        } else {
            requests[i] = (oc_request){i, random_bytes(), tensors};
            live[live_count++] = tensors++;
        }
    }
    return tensors;
}

static void random_runs_agree_with_the_plain_allocator(void) {
    enum { RUNS = 300, COUNT = 400 };
    static oc_request requests[COUNT];
    static oc_usage usage[COUNT];
    static uint64_t addresses[COUNT];
    static plain p;
    for (uint32_t round = 0; round < RUNS; round++) {
        seed = round * 7919 + 1;
        uint32_t tensors = random_script(requests, COUNT, 60);
        int64_t limit = round % 3 ? (int64_t)(100 + random_below(400)) * MIB : OC_NO_LIMIT;
        int is_rising = (int)(round & 1);
        static int64_t bytes[COUNT];
        simulate(open_allocator(tensors), requests, COUNT, limit, is_rising, usage, &run);
        memset(&p, 0, sizeof p);
        p.limit = limit;
        p.is_rising = is_rising;
        p.falling = UINT64_MAX;
        int64_t peak_allocated = 0, peak_reserved = 0, peak_tensors = 0;
        uint32_t done = 0;
        for (; done < COUNT; done++) {
            const oc_request *r = &requests[done];
            if (r->bytes) {
                addresses[r->tensor] = plain_allocate(&p, r->bytes);
                bytes[r->tensor] = r->bytes;
                if (!addresses[r->tensor])
                    break;
            } else {
                plain_free(&p, addresses[r->tensor], bytes[r->tensor]);
            }
            check_context("run %u, request %u", round, done);
            if (!CHECK(done < run.request_count) || !CHECK_EQ_I64(usage[done].allocated_bytes, p.allocated) ||
                !CHECK_EQ_I64(usage[done].reserved_bytes, p.reserved) || !CHECK_EQ_I64(usage[done].tensor_bytes, p.tensors))
                return;
            peak_allocated = p.allocated > peak_allocated ? p.allocated : peak_allocated;
            peak_reserved = p.reserved > peak_reserved ? p.reserved : peak_reserved;
            peak_tensors = p.tensors > peak_tensors ? p.tensors : peak_tensors;
        }
        CHECK_EQ_U64(run.request_count, done);
        CHECK_EQ_I64(run.is_oom, done < COUNT);
        CHECK_EQ_I64(run.peak.allocated_bytes, peak_allocated);
        CHECK_EQ_I64(run.peak.reserved_bytes, peak_reserved);
        CHECK_EQ_I64(run.peak.tensor_bytes, peak_tensors);
        CHECK_EQ_I64(usage[run.peak_allocated_at].allocated_bytes, peak_allocated);
        CHECK_EQ_I64(usage[run.peak_reserved_at].reserved_bytes, peak_reserved);
        CHECK_EQ_U64(run.retry_count, p.retries);
        CHECK_EQ_I64(run.released_bytes, p.released);
        if (run.is_oom)
            CHECK_EQ_I64(run.at_oom.reserved_bytes, p.reserved);
        oc_arena_close(&arena);
    }
    check_context("%s", "");
}

/* ---- the minimum ---- */

/* By trying every limit of 2 MiB steps. */
static int64_t smallest_limit(oc_allocator *allocator, const oc_request *requests, uint32_t count) {
    int64_t limit = 0;
    do {
        simulate(allocator, requests, count, limit, 0, NULL, &run);
        limit += 2 * MIB;
    } while (run.is_oom);
    return limit - 2 * MIB;
}

static void the_minimum_is_the_smallest_limit_that_does(void) {
    enum { RUNS = 300, COUNT = 60 };
    static oc_request requests[COUNT];
    int differences = 0;
    for (uint32_t round = 0; round < RUNS; round++) {
        seed = round * 104729 + 3;
        uint32_t tensors = random_script(requests, COUNT, 8);
        oc_allocator *allocator = open_allocator(tensors);
        options.large_segment_bytes = round % 3 ? OC_kLargeBuffer : 21 * MIB; /* reserved bytes that are no multiple of 2 MiB */
        options.max_non_split_rounding_bytes = options.large_segment_bytes;
        options.is_expandable = round % 5 == 0;
        simulate(allocator, requests, COUNT, OC_NO_LIMIT, 0, NULL, &run);
        int64_t need = run.peak.reserved_bytes;
        int64_t minimum = minimum_of(allocator, requests, COUNT);
        check_context("run %u", round);
        CHECK(minimum < need + 2 * MIB);
        CHECK_EQ_I64(minimum % (2 * MIB), 0);
        CHECK_EQ_I64(minimum, smallest_limit(allocator, requests, COUNT));
        differences += minimum < need;
        oc_arena_close(&arena);
    }
    check_context("%s", "");
    CHECK(differences > RUNS / 4); /* otherwise the scripts say nothing */
}

/* A larger limit may fail where a smaller one does. MiB: a 100, freed; b 120; c 2, kept; b freed; e 170.
 * Limits of 190 to 218: `b` needs a's segment released, so `c` opens one of 20, and `e` has 20 + 170 when b's is released too.
 * Limits of 220 to 268: a's segment stays, `c` moves into it, so it cannot be released, and `e` needs 100 + 170. */
static void a_smaller_limit_may_do_where_a_larger_one_fails(void) {
    static const oc_request requests[] = {{0, 100 * MIB, 0}, {1, 0, 0}, {2, 120 * MIB, 1}, {3, 2 * MIB, 2}, {4, 0, 1}, {5, 170 * MIB, 3}};
    oc_allocator *allocator = open_allocator(4);
    static const int failing[] = {188, 220, 268}, sufficient[] = {190, 218, 270, 390};
    for (size_t i = 0; i < sizeof failing / sizeof failing[0]; i++) {
        simulate(allocator, requests, 6, (int64_t)failing[i] * MIB, 0, NULL, &run);
        CHECK(run.is_oom);
    }
    for (size_t i = 0; i < sizeof sufficient / sizeof sufficient[0]; i++) {
        simulate(allocator, requests, 6, (int64_t)sufficient[i] * MIB, 0, NULL, &run);
        CHECK(!run.is_oom);
    }
    CHECK_EQ_I64(minimum_of(allocator, requests, 6), 190 * MIB);
    oc_arena_close(&arena);
}

CHECK_MAIN(CHECK_TEST(small_rounding_and_best_fit), CHECK_TEST(small_large_threshold), CHECK_TEST(large_pack_20MiB_nosplit_tail),
           CHECK_TEST(ten_MiB_and_up), CHECK_TEST(just_below_ten_MiB), CHECK_TEST(unsplit_rest_counts_as_allocated),
           CHECK_TEST(best_fit_smallest_block), CHECK_TEST(coalescing), CHECK_TEST(fragmentation_grows_reserved),
           CHECK_TEST(oom_then_release_cached_then_retry), CHECK_TEST(device_capacity_oom), CHECK_TEST(cublas_workspaces),
           CHECK_TEST(the_small_pool_splits_to_512_bytes), CHECK_TEST(pools_do_not_share), CHECK_TEST(the_limit_counts_whole_segments),
           CHECK_TEST(the_largest_free_block_is_of_the_pool), CHECK_TEST(ties_go_to_the_lowest_address),
           CHECK_TEST(segments_are_released_wherever_they_stand), CHECK_TEST(a_released_number_is_used_again),
           CHECK_TEST(peaks_have_their_first_request), CHECK_TEST(sums_beyond_all_devices_end), CHECK_TEST(nothing_needs_nothing), CHECK_TEST(without_memory_none_is_opened),
           CHECK_TEST(random_runs_agree_with_the_plain_allocator), CHECK_TEST(the_minimum_is_the_smallest_limit_that_does),
           CHECK_TEST(a_smaller_limit_may_do_where_a_larger_one_fails))

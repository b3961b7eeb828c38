/* libFuzzer target: the allocator alone. The first bytes choose the settings, then every few bytes are a step; the invariants are
 * checked after each. The same bytes as text go through the script reader. */
#include "allocator.h"
#include "replay.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length);

enum { TENSORS = 64, MIB = 1 << 20 };

typedef struct input {
    const uint8_t *at, *end;
} input;

static uint32_t take(input *in, uint32_t limit) {
    uint32_t value = 0;
    for (int i = 0; i < 2 && in->at < in->end; i++)
        value = value << 8 | *in->at++;
    return value % limit;
}

static oc_allocator_options take_options(input *in) {
    static const int64_t splits[] = {OC_NO_LIMIT, 21 * MIB, 40 * MIB, 200 * MIB}, segments[] = {OC_kLargeBuffer, 12 * MIB, 64 * MIB};
    static const int64_t fractions[] = {OC_NO_LIMIT, 50 * MIB, 300 * MIB};
    static const double thresholds[] = {0, 0.3, 0.9};
    oc_allocator_options options = oc_allocator_defaults;
    options.max_split_bytes = splits[take(in, 4)];
    options.large_segment_bytes = options.max_non_split_rounding_bytes = segments[take(in, 3)];
    options.fraction_bytes = fractions[take(in, 3)];
    options.garbage_collection_threshold = thresholds[take(in, 3)];
    options.is_expandable = take(in, 2) == 1;
    options.range_bytes = (int64_t)(50 + take(in, 400)) * MIB;
    for (int slot = 0; slot < OC_kRoundUpPowerOfTwoIntervals; slot++)
        options.divisions[slot] = (int64_t)1 << take(in, 4) >> 1;
    return options;
}

static int64_t take_bytes(input *in) {
    static const int64_t edges[] = {512, OC_kSmallSize, OC_kMinLargeAlloc, 20 * MIB, 40 * MIB, 100 * MIB};
    return take(in, 2) ? 1 + (int64_t)take(in, 60000) * (1 + take(in, 1000)) : edges[take(in, 6)] - 600 + (int64_t)take(in, 1200);
}

static int step(oc_allocator *a, input *in) {
    uint32_t tensor = take(in, TENSORS), stream = take(in, 3);
    switch (take(in, 16)) {
    case 0: return oc_allocator_empty_cache(a);
    case 1: oc_allocator_finish_stream(a, stream); return 1;
    case 2: return !oc_allocator_holds(a, tensor) || oc_allocator_record_stream(a, tensor, stream);
    case 3: {
        oc_allocator_options options = take_options(in);
        oc_allocator_configure(a, &options, (int64_t)(1 + take(in, 400)) * MIB);
        return 1;
    }
    case 4: { /* what scripts do: segments on top of others and beside them, blocks in use anywhere */
        const uint64_t address = (uint64_t)MIB * (1 + take(in, 200));
        const int64_t bytes = 512 * (int64_t)(1 + take(in, 60000));
        int is_overlapping;
        switch (take(in, 5)) {
        case 0: return oc_allocator_add_segment(a, address, bytes, stream, (int)take(in, 2)) != OC_PRESET_NO_HOST_MEMORY;
        case 1: return oc_allocator_holds(a, tensor) || oc_allocator_add_block(a, tensor, address + 512 * take(in, 5000), bytes, bytes - 100) != OC_PRESET_NO_HOST_MEMORY;
        case 2: return oc_allocator_release_segment(a, address, bytes) != OC_PRESET_NO_HOST_MEMORY;
        case 3: oc_allocator_set_next_segment(a, address); return 1;
        default: (void)oc_allocator_take_next_segment(a, &is_overlapping); return 1;
        }
    }
    default:
        if (oc_allocator_holds(a, tensor)) {
            oc_allocator_free(a, tensor);
            return 1;
        }
        int64_t bytes = take_bytes(in);
        return oc_allocator_allocate(a, tensor, bytes > 0 ? bytes : 1, stream) != OC_NO_HOST_MEMORY;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length) {
    oc_budget budget = {.limit_bytes = 64 << 20};
    oc_arena arena;
    oc_arena_init(&arena, &budget);
    oc_allocator *a = oc_allocator_open(&arena, TENSORS);
    input in = {data, data + length};
    if (a) {
        oc_allocator_options options = take_options(&in);
        oc_allocator_reset(a, &options, take(&in, 2) ? OC_NO_LIMIT : (int64_t)(1 + take(&in, 600)) * MIB, (int)take(&in, 2));
        int is_alive = 1;
        while (is_alive && in.at < in.end) {
            is_alive = step(a, &in);
            oc_allocator_check(a);
            (void)oc_allocator_survey(a);
        }
    }
    oc_arena_reset(&arena);
    oc_replay replay;
    oc_error error = {.status = OC_OK};
    (void)oc_replay_script(&replay, (const char *)data, length, &arena, &error);
    error.status = OC_OK;
    (void)oc_replay_log(&replay, (const char *)data, length, &arena, &error);
    oc_arena_close(&arena);
    return 0;
}

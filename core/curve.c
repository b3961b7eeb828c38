/* M4 over requests in order of time. */
#include "curve.h"

typedef struct bucket {
    uint32_t first, last, lowest, highest;
} bucket;

static double milliseconds(int64_t ns) {
    return (double)ns / 1e6;
}

static void put(oc_curve *curve, int64_t ns, int64_t value) {
    curve->time_ms[curve->count] = milliseconds(ns);
    curve->values[curve->count++] = (double)value;
}

/* The points of a bucket in order of time, each request once. */
static void put_bucket(oc_curve *curve, const bucket *b, const oc_request *requests, const int64_t *values, size_t stride, int64_t begin_ns) {
    uint32_t lower = b->lowest < b->highest ? b->lowest : b->highest, upper = b->lowest < b->highest ? b->highest : b->lowest;
    const uint32_t picks[] = {b->first, lower, upper, b->last};
    for (int i = 0; i < 4; i++)
        if (i == 0 || picks[i] != picks[i - 1])
            put(curve, requests[picks[i]].time_ns - begin_ns, values[picks[i] * stride]);
}

int oc_curve_reduce(oc_curve *curve, const oc_request *requests, uint32_t count, const int64_t *values, size_t stride, int64_t begin_ns,
                    int64_t from_ns, int64_t to_ns, int bucket_count, oc_arena *arena) {
    size_t capacity = (size_t)bucket_count * 4 + 2;
    curve->time_ms = oc_arena_alloc(arena, capacity, sizeof *curve->time_ms);
    curve->values = oc_arena_alloc(arena, capacity, sizeof *curve->values);
    curve->count = 0;
    if (!curve->time_ms || !curve->values)
        return 0;
    uint32_t i = 0;
    while (i < count && requests[i].time_ns < from_ns)
        i++;
    put(curve, from_ns - begin_ns, i ? values[(i - 1) * stride] : 0);
    double width = (double)(to_ns - from_ns) / bucket_count;
    int current = -1;
    bucket b = {0, 0, 0, 0};
    for (; i < count && requests[i].time_ns <= to_ns; i++) {
        int index = width > 0 ? (int)((double)(requests[i].time_ns - from_ns) / width) : 0;
        if (index >= bucket_count)
            index = bucket_count - 1;
        if (index != current) {
            if (current >= 0)
                put_bucket(curve, &b, requests, values, stride, begin_ns);
            current = index;
            b = (bucket){i, i, i, i};
        }
        b.last = i;
        if (values[i * stride] < values[b.lowest * stride])
            b.lowest = i;
        if (values[i * stride] > values[b.highest * stride])
            b.highest = i;
    }
    if (current >= 0)
        put_bucket(curve, &b, requests, values, stride, begin_ns);
    put(curve, to_ns - begin_ns, i ? values[(i - 1) * stride] : 0);
    return 1;
}

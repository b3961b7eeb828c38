/* The reduced curve: first, last, lowest and highest of every bucket, and never a lost peak. */
#include "check.h"
#include "curve.h"

#include <stdlib.h>

enum { LIMIT = 20000 };

static oc_budget budget;
static oc_arena arena;
static oc_request requests[LIMIT];
static int64_t values[LIMIT];
static oc_curve curve;

static void open_arena(size_t limit_bytes) {
    budget = (oc_budget){limit_bytes, 0, 0};
    oc_arena_init(&arena, &budget);
}

static bool reduce(uint32_t count, int64_t from_ns, int64_t to_ns, int buckets) {
    open_arena(64 << 20);
    return oc_curve_reduce(&curve, requests, count, values, 1, 0, from_ns, to_ns, buckets, &arena);
}

/* Points as "TIME:VALUE", times in ns. */
static const char *points(void) {
    static char text[2000];
    text[0] = 0;
    for (size_t i = 0; i < curve.count && strlen(text) < sizeof text - 60; i++)
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), i ? " %.0f:%.0f" : "%.0f:%.0f", curve.time_ms[i] * 1e6,
                       curve.values[i]);
    return text;
}

static void set(uint32_t i, int64_t time_ns, int64_t value) {
    requests[i] = (oc_request){time_ns, 1, 0};
    values[i] = value;
}

static void a_short_curve_keeps_every_point(void) {
    set(0, 10, 100);
    set(1, 20, 300);
    set(2, 30, 50);
    if (CHECK(reduce(3, 0, 40, 100)))
        CHECK_EQ_TEXT(points(), "0:0 10:100 20:300 30:50 40:50");
    oc_arena_close(&arena);
}

static void a_bucket_keeps_four_points_in_their_order(void) {
    static const int64_t in[] = {5, 7, 9, 2, 8, 3, 6, 4};
    for (uint32_t i = 0; i < 8; i++)
        set(i, 10 + i, in[i]);
    if (CHECK(reduce(8, 0, 100, 1)))
        CHECK_EQ_TEXT(points(), "0:0 10:5 12:9 13:2 17:4 100:4"); /* first, highest, lowest, last */
    oc_arena_close(&arena);
    if (CHECK(reduce(8, 0, 100, 1)) && CHECK(curve.count >= 2)) {
        CHECK_EQ_F64(curve.time_ms[0], 0);
        CHECK_EQ_F64(curve.time_ms[curve.count - 1], 100e-6);
    }
    oc_arena_close(&arena);
}

static void points_that_coincide_are_kept_once(void) {
    set(0, 10, 1);
    set(1, 11, 2);
    set(2, 12, 3); /* rising: first is lowest, last is highest */
    if (CHECK(reduce(3, 0, 20, 1)))
        CHECK_EQ_TEXT(points(), "0:0 10:1 12:3 20:3");
    oc_arena_close(&arena);
    set(0, 10, 7);
    if (CHECK(reduce(1, 0, 20, 1)))
        CHECK_EQ_TEXT(points(), "0:0 10:7 20:7");
    oc_arena_close(&arena);
}

static void requests_at_one_time_are_all_seen(void) {
    set(0, 10, 5);
    set(1, 10, 900); /* up and down within one instant */
    set(2, 10, 6);
    if (CHECK(reduce(3, 0, 20, 10)))
        CHECK_EQ_TEXT(points(), "0:0 10:5 10:900 10:6 20:6");
    oc_arena_close(&arena);
}

static void a_range_begins_and_ends_with_its_values(void) {
    for (uint32_t i = 0; i < 10; i++)
        set(i, 10 * i, 100 + i);
    if (CHECK(reduce(10, 25, 55, 10)))
        CHECK_EQ_TEXT(points(), "25:102 30:103 40:104 50:105 55:105");
    oc_arena_close(&arena);
    if (CHECK(reduce(10, 30, 50, 10))) /* both ends belong to it */
        CHECK_EQ_TEXT(points(), "30:102 30:103 40:104 50:105 50:105");
    oc_arena_close(&arena);
    if (CHECK(reduce(10, -50, -10, 10)))
        CHECK_EQ_TEXT(points(), "-50:0 -10:0");
    oc_arena_close(&arena);
    if (CHECK(reduce(10, 200, 300, 10)))
        CHECK_EQ_TEXT(points(), "200:109 300:109");
    oc_arena_close(&arena);
    if (CHECK(reduce(10, 40, 40, 10))) /* of no length */
        CHECK_EQ_TEXT(points(), "40:103 40:104 40:104");
    oc_arena_close(&arena);
}

static void no_requests_are_a_flat_line(void) {
    if (CHECK(reduce(0, 0, 100, 10)))
        CHECK_EQ_TEXT(points(), "0:0 100:0");
    oc_arena_close(&arena);
}

static void times_count_from_the_beginning(void) {
    set(0, 5000000000, 1);
    open_arena(1 << 20);
    if (CHECK(oc_curve_reduce(&curve, requests, 1, values, 1, 5000000000 - 2000000, 5000000000 - 2000000, 5000000000 + 1000000, 10,
                              &arena)) &&
        CHECK_EQ_U64(curve.count, 3)) {
        CHECK_EQ_F64(curve.time_ms[0], 0);
        CHECK_EQ_F64(curve.time_ms[1], 2);
        CHECK_EQ_F64(curve.time_ms[2], 3);
    }
    oc_arena_close(&arena);
}

static void values_may_stand_in_records(void) {
    static const int64_t records[] = {1, 10, 100, 2, 20, 200, 3, 30, 300};
    for (uint32_t i = 0; i < 3; i++)
        set(i, i, 0);
    open_arena(1 << 20);
    if (CHECK(oc_curve_reduce(&curve, requests, 3, records + 1, 3, 0, 0, 10, 100, &arena)))
        CHECK_EQ_TEXT(points(), "0:0 0:10 1:20 2:30 10:30");
    oc_arena_close(&arena);
}

/* Against the definition, on random curves with rare spikes. */
static void random_curves_keep_what_matters(void) {
    uint32_t random = 12345;
    for (int round = 0; round < 200; round++) {
        uint32_t count = 1 + (uint32_t)round * 37 % 3000;
        int64_t time = 0;
        for (uint32_t i = 0; i < count; i++) {
            random = random * 1664525u + 1013904223u;
            time += (random >> 8) % 5 ? (random >> 12) % 1000 : 0;
            set(i, time, (random >> 9) % 997 == 0 ? 1000000000 : (random >> 10) % 100000);
        }
        int buckets = 2 + round % 60;
        int64_t from = round % 4 == 3 ? time / 3 : 0, to = round % 4 == 3 ? time / 2 : time;
        check_context("round %d", round);
        if (!CHECK(reduce(count, from, to, buckets)))
            return;
        int64_t before = 0, last = 0;
        double lowest = 1e300, highest = -1;
        uint32_t inside = 0;
        for (uint32_t i = 0; i < count; i++) {
            if (requests[i].time_ns < from)
                before = values[i];
            if (requests[i].time_ns <= to)
                last = values[i];
            if (requests[i].time_ns < from || requests[i].time_ns > to)
                continue;
            inside++;
            lowest = (double)values[i] < lowest ? (double)values[i] : lowest;
            highest = (double)values[i] > highest ? (double)values[i] : highest;
        }
        CHECK_EQ_F64(curve.values[0], (double)before);
        CHECK_EQ_F64(curve.values[curve.count - 1], (double)last);
        CHECK_EQ_F64(curve.time_ms[0], (double)from / 1e6);
        CHECK_EQ_F64(curve.time_ms[curve.count - 1], (double)to / 1e6);
        CHECK(curve.count <= (size_t)buckets * 4 + 2);
        CHECK(curve.count <= (size_t)inside + 2);
        double seen_lowest = 1e300, seen_highest = -1;
        uint32_t at = 0;
        for (size_t i = 0; i < curve.count; i++) {
            CHECK(i == 0 || curve.time_ms[i] >= curve.time_ms[i - 1]);
            if (i == 0 || i == curve.count - 1)
                continue;
            seen_lowest = curve.values[i] < seen_lowest ? curve.values[i] : seen_lowest;
            seen_highest = curve.values[i] > seen_highest ? curve.values[i] : seen_highest;
            /* every point is one of the curve, in its order */
            while (at < count &&
                   !((double)requests[at].time_ns / 1e6 >= curve.time_ms[i] && (double)requests[at].time_ns / 1e6 <= curve.time_ms[i] &&
                     (double)values[at] >= curve.values[i] && (double)values[at] <= curve.values[i]))
                at++;
            if (!CHECK(at < count))
                break;
            at++;
        }
        if (inside) {
            CHECK_EQ_F64(seen_lowest, lowest);
            CHECK_EQ_F64(seen_highest, highest);
        }
        oc_arena_close(&arena);
    }
    check_context("%s", "");
}

/* Each bucket of equal width has its own highest value: no bucket hides another's peak. */
static void every_bucket_keeps_its_own_peak(void) {
    enum { BUCKETS = 20, EACH = 50 };
    for (uint32_t i = 0; i < BUCKETS * EACH; i++)
        set(i, i, i % EACH == 17 ? 1000 + i / EACH : i % EACH == 33 ? -1 - (int64_t)(i / EACH) : 500);
    if (!CHECK(reduce(BUCKETS * EACH, 0, BUCKETS * EACH - 1, BUCKETS)))
        return;
    for (uint32_t bucket = 0; bucket < BUCKETS; bucket++) {
        int peaks = 0, valleys = 0;
        for (size_t i = 0; i < curve.count; i++) {
            peaks += (int64_t)curve.values[i] == 1000 + (int64_t)bucket;
            valleys += (int64_t)curve.values[i] == -1 - (int64_t)bucket;
        }
        check_context("bucket %u", bucket);
        CHECK_EQ_I64(peaks, 1);
        CHECK_EQ_I64(valleys, 1);
    }
    oc_arena_close(&arena);
}

static void without_memory_there_is_no_curve(void) {
    open_arena(1000);
    CHECK(!oc_curve_reduce(&curve, requests, 1, values, 1, 0, 0, 10, 1000, &arena));
    oc_arena_close(&arena);
}

CHECK_MAIN(CHECK_TEST(a_short_curve_keeps_every_point), CHECK_TEST(a_bucket_keeps_four_points_in_their_order),
           CHECK_TEST(points_that_coincide_are_kept_once), CHECK_TEST(requests_at_one_time_are_all_seen),
           CHECK_TEST(a_range_begins_and_ends_with_its_values), CHECK_TEST(no_requests_are_a_flat_line),
           CHECK_TEST(times_count_from_the_beginning), CHECK_TEST(values_may_stand_in_records), CHECK_TEST(random_curves_keep_what_matters),
           CHECK_TEST(every_bucket_keeps_its_own_peak), CHECK_TEST(without_memory_there_is_no_curve))

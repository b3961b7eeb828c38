/* Extents within extents. Times are small numbers of nanoseconds. */
#include "check.h"
#include "nest.h"

enum { LIMIT = 64 };

static oc_span spans[LIMIT];
static uint32_t stack[LIMIT + 1];

static oc_span span(int64_t start_ns, int64_t end_ns, uint32_t thread, uint32_t event_index) {
    return (oc_span){{start_ns, end_ns, thread, event_index, 12345}, event_index};
}

/* Names are the recording order here, so the place of an item after sorting tells which one it was. */
static void check_order(uint32_t count, const uint32_t *names, const uint32_t *parents) {
    oc_nest_sort(spans, count, sizeof *spans, stack);
    for (uint32_t i = 0; i < count; i++) {
        check_context("item %u", i);
        CHECK_EQ_U64(spans[i].name, names[i]);
        CHECK_EQ_U64(spans[i].at.parent, parents[i]);
    }
    check_context("%s", "");
}

static void extents_lie_in_each_other(void) {
    /* 0: 0..100; 1: 10..40; 2: 20..30; 3: 50..90; given inside out, as profilers write them */
    spans[0] = span(20, 30, 0, 2);
    spans[1] = span(10, 40, 0, 1);
    spans[2] = span(50, 90, 0, 3);
    spans[3] = span(0, 100, 0, 0);
    check_order(4, (const uint32_t[]){0, 1, 2, 3}, (const uint32_t[]){OC_NONE, 0, 1, 0});
}

static void at_equal_starts_the_longer_is_outside(void) {
    spans[0] = span(0, 10, 0, 0);
    spans[1] = span(0, 30, 0, 1);
    spans[2] = span(0, 20, 0, 2);
    check_order(3, (const uint32_t[]){1, 2, 0}, (const uint32_t[]){OC_NONE, 0, 1});
}

static void of_equal_extents_the_first_recorded_is_outside(void) {
    spans[0] = span(5, 9, 0, 7);
    spans[1] = span(5, 9, 0, 3);
    spans[2] = span(5, 9, 0, 5);
    check_order(3, (const uint32_t[]){3, 5, 7}, (const uint32_t[]){OC_NONE, 0, 1});
}

static void touching_siblings_are_apart(void) {
    spans[0] = span(0, 10, 0, 0);
    spans[1] = span(10, 20, 0, 1); /* begins where the first ends */
    spans[2] = span(20, 20, 0, 2); /* of no length, at the end of the second: inside it, ends belong to it */
    spans[3] = span(21, 30, 0, 3);
    check_order(4, (const uint32_t[]){0, 1, 2, 3}, (const uint32_t[]){OC_NONE, OC_NONE, 1, OC_NONE});
}

static void threads_do_not_mix(void) {
    spans[0] = span(0, 100, 1, 0);
    spans[1] = span(10, 20, 0, 1);
    spans[2] = span(5, 50, 2, 2);
    spans[3] = span(6, 7, 1, 3);
    spans[4] = span(6, 7, 0, 4);
    check_order(5, (const uint32_t[]){4, 1, 0, 3, 2}, (const uint32_t[]){OC_NONE, OC_NONE, OC_NONE, 2, OC_NONE});
}

static void crossing_extents_are_siblings(void) {
    spans[0] = span(0, 20, 0, 0);
    spans[1] = span(10, 30, 0, 1); /* not nested: an asynchronous range */
    spans[2] = span(15, 18, 0, 2);
    check_order(3, (const uint32_t[]){0, 1, 2}, (const uint32_t[]){OC_NONE, OC_NONE, 1});
}

static void none_is_sorted_too(void) {
    oc_nest_sort(spans, 0, sizeof *spans, stack);
    uint32_t innermost[2] = {0, 0};
    const oc_moment moments[] = {{5, 0}, {6, 1}};
    oc_nest_locate(spans, 0, sizeof *spans, moments, 2, innermost, stack);
    CHECK_EQ_U64(innermost[0], OC_NONE);
    CHECK_EQ_U64(innermost[1], OC_NONE);
}

static void moments_find_the_innermost(void) {
    spans[0] = span(0, 100, 0, 0);
    spans[1] = span(10, 40, 0, 1);
    spans[2] = span(20, 30, 0, 2);
    spans[3] = span(40, 60, 0, 3);
    spans[4] = span(5, 8, 1, 4);
    oc_nest_sort(spans, 5, sizeof *spans, stack);
    static const struct {
        oc_moment moment;
        uint32_t innermost;
    } cases[] = {
        {{-1, 0}, OC_NONE}, {{0, 0}, 0},
        {{9, 0}, 0},        {{10, 0}, 1},
        {{20, 0}, 2},       {{30, 0}, 2} /* an end belongs to its extent */,
        {{31, 0}, 1},       {{40, 0}, 3} /* of two that touch, the one that begins */,
        {{60, 0}, 3},       {{61, 0}, 0},
        {{100, 0}, 0},      {{101, 0}, OC_NONE},
        {{4, 1}, OC_NONE},  {{5, 1}, 4},
        {{8, 1}, 4},        {{9, 1}, OC_NONE},
        {{50, 2}, OC_NONE},
    };
    enum { COUNT = sizeof cases / sizeof cases[0] };
    oc_moment moments[COUNT];
    uint32_t innermost[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        moments[i] = cases[i].moment;
    oc_nest_locate(spans, 5, sizeof *spans, moments, COUNT, innermost, stack);
    for (size_t i = 0; i < COUNT; i++) {
        check_context("time %d thread %u", (int)cases[i].moment.time_ns, cases[i].moment.thread);
        CHECK_EQ_U64(innermost[i], cases[i].innermost);
    }
}

/* Against the definition: the smallest extent around, the last recorded of equal ones. */
static void random_nests_agree_with_a_plain_search(void) {
    enum { MOMENTS = 200, ROUNDS = 300 };
    uint32_t random = 1;
    for (int round = 0; round < ROUNDS; round++) {
        uint32_t count = 0;
        for (uint32_t thread = 0; thread < 3; thread++) /* a binary tree of extents on each thread */
            for (int64_t depth = 0; depth < 4; depth++)
                for (int64_t k = 0; k < 1 << depth; k++) {
                    random = random * 1664525u + 1013904223u;
                    int64_t width = 64 >> depth, inset = (random >> 20) % 3;
                    if ((random >> 24) % 4)
                        spans[count] = span(k * width + inset * depth, (k + 1) * width - 1 - inset * depth, thread, count), count++;
                }
        for (uint32_t i = 0; i < count; i++)
            if (spans[i].at.end_ns < spans[i].at.start_ns)
                spans[i].at.end_ns = spans[i].at.start_ns;
        oc_nest_sort(spans, count, sizeof *spans, stack);
        oc_moment moments[MOMENTS];
        uint32_t innermost[MOMENTS];
        uint32_t moment_count = 0;
        for (uint32_t thread = 0; thread < 3; thread++)
            for (int64_t time = -1; time < 65; time++)
                moments[moment_count++] = (oc_moment){time, thread};
        oc_nest_locate(spans, count, sizeof *spans, moments, moment_count, innermost, stack);
        for (uint32_t m = 0; m < moment_count; m++) {
            uint32_t expected = OC_NONE;
            for (uint32_t i = 0; i < count; i++) /* sorted: a later one that is around is further inside */
                if (spans[i].at.thread == moments[m].thread && spans[i].at.start_ns <= moments[m].time_ns &&
                    spans[i].at.end_ns >= moments[m].time_ns)
                    expected = i;
            check_context("round %d time %d", round, (int)moments[m].time_ns);
            if (!CHECK_EQ_U64(innermost[m], expected))
                return;
        }
    }
}

CHECK_MAIN(CHECK_TEST(extents_lie_in_each_other), CHECK_TEST(at_equal_starts_the_longer_is_outside),
           CHECK_TEST(of_equal_extents_the_first_recorded_is_outside), CHECK_TEST(touching_siblings_are_apart),
           CHECK_TEST(threads_do_not_mix), CHECK_TEST(crossing_extents_are_siblings), CHECK_TEST(none_is_sorted_too),
           CHECK_TEST(moments_find_the_innermost), CHECK_TEST(random_nests_agree_with_a_plain_search))

/* Scripts under every budget of memory: an answer or OC_MEMORY, never a crash. What scripts and logs say is tested in tests/cli. */
#include "replay.h"

#include "check.h"

static const char script[] = "config expandable_segments True\nconfig device_capacity 104857600\nalloc a 10485760\nalloc b 31457280\nrecord_stream b 3\n"
                             "alloc c 5242880\nfree b\nfinish 3\nalloc d 62914560\nfree d\nempty_cache\nalloc e 1\nexpect_segments 5\nfree e\n";

static void every_budget_gives_an_answer_or_says_memory(void) {
    int answers = 0, refusals = 0;
    for (size_t limit_bytes = 0; limit_bytes < 600000; limit_bytes += 4000) {
        oc_budget budget = {limit_bytes, 0, 0};
        oc_arena arena;
        oc_error error = {.status = OC_OK};
        oc_replay replay;
        oc_arena_init(&arena, &budget);
        oc_status status = oc_replay_script(&replay, script, sizeof script - 1, &arena, &error);
        check_context("budget %zu", limit_bytes);
        CHECK(status == OC_OK || status == OC_MEMORY);
        if (status == OC_OK) {
            CHECK_EQ_U64(replay.line_count, 14);
            CHECK_EQ_U64(replay.failure_count, 1);
            CHECK_EQ_TEXT(replay.failures[0].message, "segments: expected 5, found 0");
            CHECK_EQ_U64(replay.failures[0].line, 13);
        }
        answers += status == OC_OK;
        refusals += status == OC_MEMORY;
        oc_arena_close(&arena);
    }
    check_context("%s", "");
    CHECK(answers > 0 && refusals > 1);
}

/* More blocks than the first array holds, many streams, and a release of all of them. */
static void the_block_array_grows(void) {
    static char text[200000];
    size_t length = 0;
    for (int i = 0; i < 3000; i++)
        length += (size_t)snprintf(text + length, sizeof text - length, "alloc %d %d %d\n", i, 600 + i, i % 7);
    for (int i = 0; i < 3000; i += 2)
        length += (size_t)snprintf(text + length, sizeof text - length, "free %d\n", i);
    for (int i = 1; i < 3000; i += 2)
        length += (size_t)snprintf(text + length, sizeof text - length, "free %d\n", i);
    length += (size_t)snprintf(text + length, sizeof text - length, "expect_allocated 0\nempty_cache\nexpect_reserved 0\n");
    oc_budget budget = {SIZE_MAX, 0, 0};
    oc_arena arena;
    oc_error error = {.status = OC_OK};
    oc_replay replay;
    oc_arena_init(&arena, &budget);
    CHECK_EQ_I64(oc_replay_script(&replay, text, length, &arena, &error), OC_OK);
    CHECK_EQ_U64(replay.failure_count, 0);
    oc_arena_close(&arena);
}

CHECK_MAIN(CHECK_TEST(every_budget_gives_an_answer_or_says_memory), CHECK_TEST(the_block_array_grows))

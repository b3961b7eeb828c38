/* Interned texts: equal texts have equal numbers, through every growth of the table. */
#include "check.h"
#include "intern.h"

static oc_budget budget;
static oc_arena arena;
static oc_interner table;

static bool open_table(size_t limit_bytes) {
    budget = (oc_budget){limit_bytes, 0, 0};
    oc_arena_init(&arena, &budget);
    return oc_interner_init(&table, &arena);
}

static void number_zero_is_the_empty_text(void) {
    if (!CHECK(open_table(1 << 20)))
        return;
    size_t length = 99;
    CHECK_EQ_U64(oc_intern(&table, "", 0), 0);
    CHECK_EQ_TEXT(oc_intern_text(&table, 0, &length), "");
    CHECK_EQ_U64(length, 0);
    oc_arena_close(&arena);
}

static void equal_texts_have_equal_numbers(void) {
    if (!CHECK(open_table(1 << 20)))
        return;
    uint32_t a = oc_intern(&table, "aten::add", 9), b = oc_intern(&table, "aten::add_", 10), c = oc_intern(&table, "aten::ad", 8);
    CHECK(a != b && b != c && a != c && a && b && c);
    CHECK_EQ_U64(oc_intern(&table, "aten::add_", 9), a); /* by length, not by what follows */
    CHECK_EQ_U64(oc_intern(&table, "aten::add_", 10), b);
    CHECK_EQ_U64(oc_intern(&table, "aten::add", 8), c);
    CHECK_EQ_TEXT(oc_intern_text(&table, b, NULL), "aten::add_");
    oc_arena_close(&arena);
}

static void texts_are_copied_with_all_their_bytes(void) {
    if (!CHECK(open_table(1 << 20)))
        return;
    char text[] = "a\0b";
    uint32_t number = oc_intern(&table, text, 3), other = oc_intern(&table, text, 1);
    text[0] = 'x';
    size_t length;
    const char *kept = oc_intern_text(&table, number, &length);
    CHECK_EQ_BYTES(kept, length, "a\0b", 3);
    CHECK_EQ_I64(kept[3], 0);
    CHECK(other != number);
    oc_arena_close(&arena);
}

static void many_texts_keep_their_numbers(void) {
    enum { COUNT = 20000 };
    if (!CHECK(open_table(64 << 20)))
        return;
    char text[32];
    for (uint32_t i = 0; i < COUNT; i++)
        CHECK_EQ_U64(oc_intern(&table, text, (size_t)snprintf(text, sizeof text, "[[%u, 3], []]", i)), i + 1);
    for (uint32_t i = 0; i < COUNT; i++) {
        size_t length, expected = (size_t)snprintf(text, sizeof text, "[[%u, 3], []]", i);
        CHECK_EQ_U64(oc_intern(&table, text, expected), i + 1);
        CHECK_EQ_TEXT(oc_intern_text(&table, i + 1, &length), text);
        CHECK_EQ_U64(length, expected);
    }
    oc_arena_close(&arena);
}

static void a_long_text_is_like_any_other(void) {
    static char text[100000];
    memset(text, 'q', sizeof text);
    if (!CHECK(open_table(1 << 20)))
        return;
    uint32_t number = oc_intern(&table, text, sizeof text);
    CHECK_EQ_U64(oc_intern(&table, text, sizeof text), number);
    CHECK(oc_intern(&table, text, sizeof text - 1) != number);
    oc_arena_close(&arena);
}

static void without_memory_old_texts_are_still_found(void) {
    if (!CHECK(open_table(60000)))
        return;
    char text[32];
    uint32_t count = 0, number;
    while ((number = oc_intern(&table, text, (size_t)snprintf(text, sizeof text, "name %u", count))) != OC_INTERN_FAILED && count < 100000)
        count++;
    CHECK(count > 10 && count < 100000);
    CHECK_EQ_U64(oc_intern(&table, text, strlen(text)), OC_INTERN_FAILED);
    for (uint32_t i = 0; i < count; i++)
        CHECK_EQ_U64(oc_intern(&table, text, (size_t)snprintf(text, sizeof text, "name %u", i)), i + 1);
    oc_arena_close(&arena);
}

static void a_table_needs_memory(void) {
    CHECK(!open_table(100));
    oc_arena_close(&arena);
    CHECK_EQ_U64(budget.used_bytes, 0);
}

CHECK_MAIN(CHECK_TEST(number_zero_is_the_empty_text), CHECK_TEST(equal_texts_have_equal_numbers),
           CHECK_TEST(texts_are_copied_with_all_their_bytes), CHECK_TEST(many_texts_keep_their_numbers),
           CHECK_TEST(a_long_text_is_like_any_other), CHECK_TEST(without_memory_old_texts_are_still_found),
           CHECK_TEST(a_table_needs_memory))

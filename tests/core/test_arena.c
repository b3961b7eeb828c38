/* Arenas: zeroed, aligned, within their budget; lists that never move an item. */
#include "arena.h"
#include "check.h"

#include <stdlib.h>

static oc_budget budget;
static oc_arena arena;

static void open_arena(size_t limit_bytes) {
    budget = (oc_budget){limit_bytes, 0, 0};
    oc_arena_init(&arena, &budget);
}

static bool is_zero(const void *memory, size_t bytes) {
    const unsigned char *at = memory;
    for (size_t i = 0; i < bytes; i++)
        if (at[i])
            return false;
    return true;
}

static void memory_is_zeroed_aligned_and_apart(void) {
    open_arena(64 << 20);
    enum { COUNT = 2000 };
    unsigned char *items[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        size_t bytes = 1 + i % 97;
        items[i] = oc_arena_alloc(&arena, bytes, 1);
        if (!CHECK(items[i]))
            return;
        CHECK((uintptr_t)items[i] % 16 == 0);
        CHECK(is_zero(items[i], bytes));
        memset(items[i], (int)(i % 255) + 1, bytes);
    }
    for (size_t i = 0; i < COUNT; i++) /* nothing was written over by a later item */
        for (size_t k = 0; k < 1 + i % 97; k++)
            if (items[i][k] != i % 255 + 1)
                CHECK_FAIL("an item was overwritten");
    oc_arena_close(&arena);
}

static void a_count_of_zero_gives_a_pointer(void) {
    open_arena(1 << 20);
    CHECK(oc_arena_alloc(&arena, 0, 8) != NULL);
    CHECK(oc_arena_alloc(&arena, 8, 0) != NULL);
    oc_arena_close(&arena);
}

static void large_requests_get_what_they_ask(void) {
    open_arena(64 << 20);
    char *small = oc_arena_alloc(&arena, 10, 1), *large = oc_arena_alloc(&arena, 5, 1 << 20), *after = oc_arena_alloc(&arena, 10, 1);
    if (CHECK(small && large && after)) {
        CHECK(is_zero(large, 5 << 20));
        memset(large, 255, 5 << 20);
        CHECK(is_zero(small, 10));
        CHECK(is_zero(after, 10));
    }
    CHECK(budget.used_bytes >= 5 << 20);
    oc_arena_close(&arena);
}

static void the_budget_is_never_exceeded(void) {
    open_arena(100000);
    size_t given = 0;
    while (oc_arena_alloc(&arena, 1000, 1))
        given += 1000;
    CHECK(given >= 16000); /* it is not refused long before the end: at least one chunk fits */
    CHECK(budget.used_bytes <= budget.limit_bytes);
    CHECK(budget.peak_bytes <= budget.limit_bytes);
    size_t used = budget.used_bytes;
    CHECK(!oc_arena_alloc(&arena, 200000, 1));
    CHECK_EQ_U64(budget.used_bytes, used);
    oc_arena_close(&arena);
    CHECK_EQ_U64(budget.used_bytes, 0);
    CHECK_EQ_U64(budget.peak_bytes, used);
}

static void a_budget_is_shared_by_its_arenas(void) {
    oc_arena other;
    open_arena(100000);
    oc_arena_init(&other, &budget);
    CHECK(oc_arena_alloc(&arena, 60000, 1) != NULL);
    CHECK(!oc_arena_alloc(&other, 60000, 1));
    oc_arena_close(&arena);
    CHECK(oc_arena_alloc(&other, 60000, 1) != NULL);
    oc_arena_close(&other);
    CHECK_EQ_U64(budget.used_bytes, 0);
}

static void an_empty_budget_gives_nothing(void) {
    open_arena(0);
    CHECK(!oc_arena_alloc(&arena, 1, 1));
    CHECK(!oc_arena_copy(&arena, "a", 1));
    CHECK_EQ_U64(budget.used_bytes, 0);
    oc_arena_close(&arena);
}

static void products_that_overflow_are_refused(void) {
    open_arena(1 << 20);
    CHECK(!oc_arena_alloc(&arena, SIZE_MAX, 2));
    CHECK(!oc_arena_alloc(&arena, 2, SIZE_MAX));
    CHECK(!oc_arena_alloc(&arena, SIZE_MAX / 16 + 1, 16)); /* the product wraps to 0 */
    CHECK(!oc_arena_alloc(&arena, 1, SIZE_MAX));           /* rounding up would wrap */
    CHECK(!oc_arena_alloc(&arena, 1, SIZE_MAX - 64));      /* adding the chunk's header would wrap */
    CHECK_EQ_U64(budget.used_bytes, 0);
    oc_arena_close(&arena);
}

static void a_reset_zeroes_and_keeps_one_chunk(void) {
    open_arena(64 << 20);
    for (int i = 0; i < 100; i++) {
        void *memory = oc_arena_alloc(&arena, 10000, 1);
        if (CHECK(memory))
            memset(memory, 255, 10000);
    }
    size_t full = budget.used_bytes;
    oc_arena_reset(&arena);
    size_t kept = budget.used_bytes;
    CHECK(kept > 0);
    CHECK(kept < full);
    size_t again = 0;
    for (void *memory; budget.used_bytes == kept && (memory = oc_arena_alloc(&arena, 100, 1)) != NULL; again++) {
        CHECK(is_zero(memory, 100));
        if (again > 100000)
            break;
    }
    CHECK(again * 112 > kept / 2); /* the kept chunk is used again: 100 bytes are rounded up to 112 */
    oc_arena_close(&arena);
    CHECK_EQ_U64(budget.used_bytes, 0);
}

static void an_unused_arena_can_be_reset_and_closed(void) {
    open_arena(1 << 20);
    oc_arena_reset(&arena);
    oc_arena_close(&arena);
    CHECK_EQ_U64(budget.used_bytes, 0);
    CHECK(oc_arena_alloc(&arena, 1, 1) != NULL); /* and used again after a close */
    oc_arena_close(&arena);
    CHECK_EQ_U64(budget.used_bytes, 0);
}

static void copies_end_with_a_zero(void) {
    open_arena(1 << 20);
    char text[] = "ab\0cd";
    char *copy = oc_arena_copy(&arena, text, 5);
    text[0] = 'x';
    if (CHECK(copy))
        CHECK_EQ_BYTES(copy, 6, "ab\0cd\0", 6);
    CHECK_EQ_TEXT(oc_arena_copy(&arena, NULL, 0), "");
    oc_arena_close(&arena);
}

typedef struct item {
    uint64_t number;
    char rest[16];
} item;

static void lists_keep_items_in_place_and_in_order(void) {
    enum { COUNT = 3000 };
    oc_list list;
    open_arena(64 << 20);
    oc_list_init(&list, &arena, sizeof(item));
    item **places = malloc(COUNT * sizeof *places);
    if (!CHECK(places))
        return;
    for (uint64_t i = 0; i < COUNT; i++) {
        places[i] = oc_list_push(&list);
        if (!CHECK(places[i]))
            break;
        CHECK(is_zero(places[i], sizeof(item)));
        CHECK((uintptr_t)places[i] % 8 == 0);
        places[i]->number = i;
    }
    CHECK_EQ_U64(list.count, COUNT);
    for (uint64_t i = 0; i < COUNT; i++)
        CHECK_EQ_U64(places[i]->number, i);
    const item *flat = oc_list_flatten(&list, &arena);
    if (CHECK(flat))
        for (uint64_t i = 0; i < COUNT; i++)
            CHECK_EQ_U64(flat[i].number, i);
    free(places);
    oc_arena_close(&arena);
}

static void an_empty_list_is_flat_already(void) {
    oc_list list;
    open_arena(1 << 20);
    oc_list_init(&list, &arena, 8);
    CHECK(oc_list_flatten(&list, &arena) != NULL);
    CHECK_EQ_U64(list.count, 0);
    oc_arena_close(&arena);
}

static void a_list_without_memory_keeps_what_it_has(void) {
    oc_list list;
    open_arena(60000);
    oc_list_init(&list, &arena, sizeof(item));
    uint64_t count = 0;
    for (item *new; (new = oc_list_push(&list)) != NULL; count++)
        new->number = count;
    CHECK(count > 0);
    CHECK_EQ_U64(list.count, count);
    CHECK(!oc_list_push(&list)); /* still no memory */
    CHECK_EQ_U64(list.count, count);
    oc_budget more = {64 << 20, 0, 0};
    oc_arena flat_arena;
    oc_arena_init(&flat_arena, &more);
    const item *flat = oc_list_flatten(&list, &flat_arena);
    if (CHECK(flat))
        CHECK_EQ_U64(flat[count - 1].number, count - 1);
    CHECK(!oc_list_flatten(&list, &arena));
    oc_arena_close(&flat_arena);
    oc_arena_close(&arena);
}

CHECK_MAIN(CHECK_TEST(memory_is_zeroed_aligned_and_apart), CHECK_TEST(a_count_of_zero_gives_a_pointer),
           CHECK_TEST(large_requests_get_what_they_ask), CHECK_TEST(the_budget_is_never_exceeded),
           CHECK_TEST(a_budget_is_shared_by_its_arenas), CHECK_TEST(an_empty_budget_gives_nothing),
           CHECK_TEST(products_that_overflow_are_refused), CHECK_TEST(a_reset_zeroes_and_keeps_one_chunk),
           CHECK_TEST(an_unused_arena_can_be_reset_and_closed), CHECK_TEST(copies_end_with_a_zero),
           CHECK_TEST(lists_keep_items_in_place_and_in_order), CHECK_TEST(an_empty_list_is_flat_already),
           CHECK_TEST(a_list_without_memory_keeps_what_it_has))

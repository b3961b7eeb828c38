/* Errors: the first stays. Warnings: counted by code. */
#include "check.h"
#include "error.h"

#include <stdlib.h>

static void the_first_error_stays(void) {
    oc_error error = {0};
    CHECK_EQ_I64(oc_error_set(&error, OC_GZIP, 17, "broken at %d", 17), OC_GZIP);
    CHECK_EQ_I64(oc_error_set(&error, OC_SYNTAX, 5, "other"), OC_GZIP);
    CHECK_EQ_I64(oc_error_set_memory(&error), OC_GZIP);
    CHECK_EQ_I64(error.status, OC_GZIP);
    CHECK_EQ_TEXT(error.name, "gzip");
    CHECK_EQ_U64(error.byte_offset, 17);
    CHECK_EQ_TEXT(error.message, "broken at 17");
}

static void memory_errors_have_no_place(void) {
    oc_error error = {0};
    CHECK_EQ_I64(oc_error_set_memory(&error), OC_MEMORY);
    CHECK_EQ_TEXT(error.name, "memory");
    CHECK_EQ_U64(error.byte_offset, OC_NO_OFFSET);
    CHECK_CONTAINS(error.message, "memory");
}

static void every_status_has_a_name(void) {
    static const char *const names[] = {"ok",   "memory",           "empty",    "wrong_kind", "syntax", "truncated",
                                        "gzip", "no_memory_events", "mismatch", "options",    "state"};
    for (int i = 0; i <= OC_STATE; i++)
        CHECK_EQ_TEXT(oc_status_name((oc_status)i), names[i]);
}

static void a_long_message_is_cut(void) {
    oc_error error = {0};
    char text[2000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = 0;
    (void)oc_error_set(&error, OC_SYNTAX, 0, "%s", text);
    CHECK_EQ_U64(strlen(error.message), sizeof error.message - 1);
}

static void warnings_of_one_code_are_counted(void) {
    oc_warnings *warnings = calloc(1, sizeof *warnings);
    if (!CHECK(warnings))
        return;
    oc_warnings_add(warnings, "a", 1, 10, "first %d", 1);
    oc_warnings_add(warnings, "b", 5, OC_NO_OFFSET, "other");
    oc_warnings_add(warnings, "a", 2, 20, "second");
    CHECK_EQ_U64(warnings->count, 2);
    CHECK_EQ_TEXT(warnings->items[0].code, "a");
    CHECK_EQ_U64(warnings->items[0].count, 3);
    CHECK_EQ_U64(warnings->items[0].first_offset, 10);
    CHECK_EQ_TEXT(warnings->items[0].message, "first 1");
    CHECK_EQ_U64(warnings->items[1].count, 5);
    CHECK_EQ_U64(warnings->items[1].first_offset, OC_NO_OFFSET);
    free(warnings);
}

static void too_many_codes_are_left_out(void) {
    static char codes[OC_WARNING_LIMIT + 5][8];
    oc_warnings *warnings = calloc(1, sizeof *warnings);
    if (!CHECK(warnings))
        return;
    for (int i = 0; i < OC_WARNING_LIMIT + 5; i++) {
        (void)snprintf(codes[i], sizeof codes[i], "c%d", i);
        oc_warnings_add(warnings, codes[i], 1, 0, "text");
    }
    CHECK_EQ_U64(warnings->count, OC_WARNING_LIMIT);
    oc_warnings_add(warnings, "c0", 1, 0, "text"); /* known ones are counted still */
    CHECK_EQ_U64(warnings->items[0].count, 2);
    free(warnings);
}

static void assumptions_end_at_their_limit(void) {
    oc_assumptions *assumptions = calloc(1, sizeof *assumptions);
    if (!CHECK(assumptions))
        return;
    for (int i = 0; i < OC_ASSUMPTION_LIMIT + 5; i++)
        oc_assumptions_add(assumptions, "assumption %d", i);
    CHECK_EQ_U64(assumptions->count, OC_ASSUMPTION_LIMIT);
    CHECK_EQ_TEXT(assumptions->items[0], "assumption 0");
    free(assumptions);
}

CHECK_MAIN(CHECK_TEST(the_first_error_stays), CHECK_TEST(memory_errors_have_no_place), CHECK_TEST(every_status_has_a_name),
           CHECK_TEST(a_long_message_is_cut), CHECK_TEST(warnings_of_one_code_are_counted), CHECK_TEST(too_many_codes_are_left_out),
           CHECK_TEST(assumptions_end_at_their_limit))

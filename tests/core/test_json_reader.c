/* The push reader: cuts members and events out of a text fed in any pieces, and keeps damage where it is. */
#include "check.h"
#include "json.h"

#include <stdlib.h>

enum { SEEN_LIMIT = 8000 };

static char seen[SEEN_LIMIT];
static oc_json_reader reader;
static oc_error error;
static oc_budget budget;
static oc_arena arena;

static void note(const char *format, ...) {
    size_t used = strlen(seen);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(seen + used, SEEN_LIMIT - used, format, arguments);
    va_end(arguments);
}

/* Feeds a text in pieces and writes down the items: "key=value" and "event", one per line, and how it ended. Each must stand in the
 * text where its offset says. Pieces are copied to memory of their own, so that a read behind them, or of one that is gone, is seen. */
static void read_pieces(const char *text, size_t length, size_t piece) {
    oc_text item, key;
    seen[0] = 0;
    memset(&error, 0, sizeof error);
    budget = (oc_budget){256 << 20, 0, 0};
    oc_arena_init(&arena, &budget);
    oc_json_reader_init(&reader, &arena, &error);
    oc_json_item result = OC_JSON_NEED_MORE;
    uint64_t last_offset = OC_NO_OFFSET;
    for (size_t at = 0; at < length && result != OC_JSON_FAILED; at += piece) {
        size_t rest = length - at < piece ? length - at : piece;
        char *part = malloc(rest);
        if (!CHECK(part))
            return;
        memcpy(part, text + at, rest);
        const char *in = part;
        while ((result = oc_json_read(&reader, &in, &rest, &item, &key)) == OC_JSON_MEMBER || result == OC_JSON_EVENT) {
            if (result == OC_JSON_MEMBER)
                note("%.*s=", (int)key.length, key.data);
            if (CHECK(reader.item_offset <= length && item.length <= length - reader.item_offset))
                CHECK(memcmp(text + reader.item_offset, item.data, item.length) == 0);
            CHECK(reader.item_offset > last_offset || last_offset == OC_NO_OFFSET);
            last_offset = reader.item_offset;
            if (item.length < 300)
                note("%.*s\n", (int)item.length, item.data);
            else
                note("(%d bytes)\n", (int)item.length);
        }
        CHECK(result == OC_JSON_FAILED || rest == 0); /* "all input consumed" */
        free(part);
    }
    if (result == OC_JSON_FAILED)
        note("failed %s at %d\n", error.name, (int)error.byte_offset);
    else
        note(oc_json_is_complete(&reader) ? "complete" : "open");
    oc_arena_close(&arena);
}

/* The text gives `expected` at every piece size. */
static void check_items(const char *text, const char *expected) {
    size_t length = strlen(text);
    for (size_t piece = length ? length : 1; piece; piece = piece > 40 ? 40 : piece - 1) {
        check_context("pieces of %zu", piece);
        read_pieces(text, length, piece);
        if (!CHECK_EQ_TEXT(seen, expected))
            break;
    }
    check_context("%s", "");
}

static void torch_26_events_end_by_indentation(void) {
    check_items("\n{\n  \"schemaVersion\": 1,\n  \"traceEvents\": [\n  {\n    \"ph\": \"X\",\n    \"args\": {\n      \"a\": 1\n    }\n  "
                "},\n  {\n    \"ph\": \"i\"\n  }\n"
                "  ],\n  \"traceName\": \"x.json\"\n}\n",
                "schemaVersion=1\n"
                "{\n    \"ph\": \"X\",\n    \"args\": {\n      \"a\": 1\n    }\n  }\n"
                "{\n    \"ph\": \"i\"\n  }\n"
                "traceName=\"x.json\"\ncomplete");
    CHECK_EQ_I64(reader.scan, OC_JSON_BY_BRACES); /* of the last value, a string */
    CHECK_EQ_U64(reader.event_count, 2);
}

static void torch_213_events_end_by_indentation(void) {
    check_items(" {\n    \"schemaVersion\": 1,\n    \"deviceProperties\": [],\n    \n      \"with_stack\": 1,\n    \"traceEvents\": [\n    "
                "\n  {\n    \"ts\": 1.5\n    ,\n"
                "    \"args\": {\n      \"a\": {}\n    }\n  }\n  ],\"traceName\": \"x\" }",
                "schemaVersion=1\ndeviceProperties=[]\nwith_stack=1\n"
                "{\n    \"ts\": 1.5\n    ,\n    \"args\": {\n      \"a\": {}\n    }\n  }\n"
                "traceName=\"x\"\ncomplete");
}

static void compact_events_end_by_braces(void) {
    check_items("{\"a\":1,\"traceEvents\":[{\"n\":\"}\"},{\"n\":{\"m\":[{}]}},{}],\"z\":[1,{\"y\":\"]\"}]}",
                "a=1\n{\"n\":\"}\"}\n{\"n\":{\"m\":[{}]}}\n{}\nz=[1,{\"y\":\"]\"}]\ncomplete");
}

static void one_event_per_line_ends_by_braces(void) {
    check_items("[\n{\"n\": \"\\\"}\"},\n{\"n\": 2}\n]\n", "{\"n\": \"\\\"}\"}\n{\"n\": 2}\ncomplete");
}

static void rewritten_files_of_every_indentation(void) {
    for (int unit = 1; unit <= 4; unit++) {
        char in_1[20], in_2[20], in_3[20], text[400], expected[400];
        (void)snprintf(in_1, sizeof in_1, "%*s", unit, "");
        (void)snprintf(in_2, sizeof in_2, "%*s", 2 * unit, "");
        (void)snprintf(in_3, sizeof in_3, "%*s", 3 * unit, "");
        int events = snprintf(text, sizeof text, "{\n%s\"traceEvents\": [\n", in_1);
        (void)snprintf(text + events, sizeof text - (size_t)events,
                       "%s{\n%s\"args\": {\n%s%s\"a\": 1\n%s}\n%s},\n%s{\n%s\"b\": 2\n%s}\n%s]\n}", in_2, in_3, in_3, in_1, in_3, in_2,
                       in_2, in_3, in_2, in_1);
        (void)snprintf(expected, sizeof expected, "{\n%s\"args\": {\n%s%s\"a\": 1\n%s}\n%s}\n{\n%s\"b\": 2\n%s}\ncomplete", in_3, in_3,
                       in_1, in_3, in_2, in_3, in_2);
        check_items(text, expected);
    }
}

static void tabs_and_windows_line_ends(void) {
    check_items("{\n\t\"traceEvents\": [\n\t\t{\n\t\t\t\"a\": \"}\"\n\t\t},\n\t\t{}\n\t]\n}", "{\n\t\t\t\"a\": \"}\"\n\t\t}\n{}\ncomplete");
    check_items(
        "[\r\n  {\r\n    \"a\": \"\"}\"\r\n  },\r\n  {\r\n    \"b\": 2\r\n  }\r\n]\r\n", /* by indentation: the quote is unescaped */
        "{\r\n    \"a\": \"\"}\"\r\n  }\n{\r\n    \"b\": 2\r\n  }\ncomplete");
}

static void an_array_may_be_the_root(void) {
    check_items("[{\"name\": 1}, {\"name\": 2}]", "{\"name\": 1}\n{\"name\": 2}\ncomplete");
    CHECK(reader.root_is_array && reader.found_events);
    check_items("[]", "complete");
    check_items("  [ ] ", "complete");
    CHECK_EQ_U64(reader.event_count, 0);
}

static void members_of_every_type(void) {
    check_items("{\"a\": true, \"b\" : null , \"c\":-1.5e3,\"d\":\"x\\\"}\\\\\", \"e\": {\"f\": \"]\"}, \"g\": [[], \"}\"]\n}",
                "a=true\nb=null\nc=-1.5e3\nd=\"x\\\"}\\\\\"\ne={\"f\": \"]\"}\ng=[[], \"}\"]\ncomplete");
    CHECK(!reader.found_events);
    check_items("{}", "complete");
    check_items("{\"traceEvents\": {\"a\": 1}}", "traceEvents={\"a\": 1}\ncomplete"); /* no array: a member like any other */
    CHECK(!reader.found_events);
    check_items("{\"traceEvents\": [], \"traceEvents\": [{\"a\": 1}]}", "{\"a\": 1}\ncomplete"); /* twice */
}

static void keys_may_be_long_or_escaped(void) {
    check_items("{\"a\\\"b\\\\\": 1}", "a\\\"b\\\\=1\ncomplete");
    char text[200] = "{\"", expected[200];
    memset(text + 2, 'k', 100);
    memcpy(text + 102, "\": 1}", 6);
    (void)snprintf(expected, sizeof expected, "%.64s=1\ncomplete", text + 2); /* cut, and never equal to a known one */
    check_items(text, expected);
}

/* Torch wrote such names until 2.7; the layout saves the events after it. */
static void damage_does_not_reach_the_next_event(void) {
    static const char *const names[] = {"{\"device\": \"cpu\"}(12): run",
                                        "C:\\",
                                        "a\"",
                                        "}",
                                        "]}",
                                        "\x01\x02\xf0\x9f",
                                        "\"\"\"",
                                        "\\\"",
                                        "[{[{\"",
                                        "line\nbreak }",
                                        "\n    }",
                                        "\n }\n   }"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char text[300], expected[300];
        (void)snprintf(text, sizeof text,
                       "{\n  \"traceEvents\": [\n  {\n    \"name\": \"%s\", \"pid\": 1\n  },\n  {\n    \"ph\": \"X\"\n  }\n  ]\n}",
                       names[i]);
        (void)snprintf(expected, sizeof expected, "{\n    \"name\": \"%s\", \"pid\": 1\n  }\n{\n    \"ph\": \"X\"\n  }\ncomplete",
                       names[i]);
        check_items(text, expected);
    }
}

static void junk_between_events_is_counted(void) {
    check_items("[{\"a\": 1}, xyz, 17 {\"b\": 2} \"str\",{\"c\": 3}]", "{\"a\": 1}\n{\"b\": 2}\n{\"c\": 3}\ncomplete");
    CHECK_EQ_U64(reader.junk_count, 3);
    CHECK_EQ_U64(reader.junk_offset, 11);
    check_items("[{\"a\": 1}]", "{\"a\": 1}\ncomplete");
    CHECK_EQ_U64(reader.junk_count, 0);
    CHECK_EQ_U64(reader.junk_offset, OC_NO_OFFSET);
}

static void what_follows_the_root_is_ignored(void) {
    check_items("{\"a\": 1} {\"b\": ", "a=1\ncomplete");
    check_items("[]]]]}{", "complete");
}

static void a_cut_text_stays_open(void) {
    static const char text[] = "{\n  \"a\": [1, \"x\"],\n  \"traceEvents\": [\n  {\n    \"ph\": \"X\"\n  }\n  ],\n  \"z\": 1\n}";
    for (size_t length = 0; length < sizeof text - 1; length++) {
        check_context("cut after %zu", length);
        read_pieces(text, length, 7);
        CHECK_CONTAINS(seen, "open");
        CHECK_EQ_U64(reader.offset, length);
    }
    read_pieces(text, sizeof text - 1, 7);
    CHECK_CONTAINS(seen, "complete");
}

static void syntax_errors_have_their_offset(void) {
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"hello", "failed syntax at 0\n"},
        {" \n hello", "failed syntax at 3\n"},
        {"\"text\"", "failed syntax at 0\n"},
        {"{1: 2}", "failed syntax at 1\n"},
        {"{\"a\" 1}", "failed syntax at 5\n"},
        {"{\"a\":: 1}", "failed syntax at 5\n"},
        {"{\"a\": }", "failed syntax at 6\n"},
        {"{\"a\": , \"b\": 1}", "failed syntax at 6\n"},
        {"{\"a\": ]", "failed syntax at 6\n"},
        {"{\"a\": 1 x}", "a=1\nfailed syntax at 8\n"},
        {"{\"a\": 1]", "a=1\nfailed syntax at 7\n"},
        {"{\"traceEvents\": [{\"a\": 1}]]}", "{\"a\": 1}\nfailed syntax at 26\n"},
        {"{\"traceEvents\": [{\"a\": 1}] x", "{\"a\": 1}\nfailed syntax at 27\n"},
        {"{'a': 1}", "failed syntax at 1\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check_items(cases[i].text, cases[i].expected);
    check_items("{\"a\": 1 \x01", "a=1\nfailed syntax at 8\n");
    CHECK_CONTAINS(error.message,
                   "not valid JSON at byte 8 (found '?' where a key or value should begin)"); /* no control byte in a message */
    check_items("{\"a\": 1 x", "a=1\nfailed syntax at 8\n");
    CHECK_CONTAINS(error.message, "found 'x'");
}

static void nothing_is_read_after_a_failure(void) {
    read_pieces("{x", 2, 2);
    CHECK_EQ_TEXT(seen, "failed syntax at 1\n");
    CHECK_EQ_U64(error.event_index, 0);
}

/* ---- items that are too long ---- */

/* An array of an event of `middle` bytes between two short ones. */
static char *long_text(size_t middle, size_t *length) {
    static const char before[] = "[{\"a\": 1}, ", after[] = ", {\"c\": 3}]", start[] = "{\"b\": \"", end[] = "\"}";
    char *text = malloc(sizeof before + middle + sizeof after);
    if (!text)
        abort();
    char *at = text;
    memcpy(at, before, sizeof before - 1);
    at += sizeof before - 1;
    memset(at, 'x', middle);
    memcpy(at, start, sizeof start - 1);
    memcpy(at + middle - (sizeof end - 1), end, sizeof end - 1);
    at += middle;
    memcpy(at, after, sizeof after - 1);
    *length = (size_t)(at - text) + sizeof after - 1;
    return text;
}

static void check_long(size_t middle, const char *expected, uint64_t skipped) {
    size_t length;
    char *text = long_text(middle, &length);
    const size_t pieces[] = {4096, 100003, 1 << 20, length};
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        check_context("event of %zu in pieces of %zu", middle, pieces[i]);
        read_pieces(text, length, pieces[i]);
        CHECK_EQ_TEXT(seen, expected);
        CHECK_EQ_U64(reader.skipped_count, skipped);
    }
    check_context("%s", "");
    free(text);
}

static void an_event_up_to_the_limit_is_kept(void) {
    check_long(OC_JSON_ITEM_LIMIT, "{\"a\": 1}\n(16777216 bytes)\n{\"c\": 3}\ncomplete", 0);
}

/* "a longer event or value is skipped and counted", however the file is cut. */
static void an_event_above_the_limit_is_skipped(void) {
    check_long(OC_JSON_ITEM_LIMIT + 1, "{\"a\": 1}\n{\"c\": 3}\ncomplete", 1);
}

static void the_buffer_is_bounded_by_the_longest_item(void) {
    size_t length;
    char *text = long_text(3 << 20, &length);
    read_pieces(text, length, 4096);
    CHECK_CONTAINS(seen, "(3145728 bytes)");
    CHECK(budget.peak_bytes < 12 << 20); /* doubling: 4 KiB to 4 MiB, all of them stay in the arena: below 8 MiB and a chunk */
    free(text);
}

static void without_memory_it_fails(void) {
    size_t length;
    char *text = long_text(1 << 20, &length);
    memset(&error, 0, sizeof error);
    budget = (oc_budget){200000, 0, 0};
    oc_arena_init(&arena, &budget);
    oc_json_reader_init(&reader, &arena, &error);
    oc_text item, key;
    oc_json_item result = OC_JSON_NEED_MORE;
    for (size_t at = 0; at < length && result != OC_JSON_FAILED; at += 4096) {
        const char *in = text + at;
        size_t rest = length - at < 4096 ? length - at : 4096;
        while ((result = oc_json_read(&reader, &in, &rest, &item, &key)) == OC_JSON_EVENT)
            ;
    }
    CHECK_EQ_I64(result, OC_JSON_FAILED);
    CHECK_EQ_I64(error.status, OC_MEMORY);
    oc_arena_close(&arena);
    free(text);
}

CHECK_MAIN(CHECK_TEST(torch_26_events_end_by_indentation), CHECK_TEST(torch_213_events_end_by_indentation),
           CHECK_TEST(compact_events_end_by_braces), CHECK_TEST(one_event_per_line_ends_by_braces),
           CHECK_TEST(rewritten_files_of_every_indentation), CHECK_TEST(tabs_and_windows_line_ends), CHECK_TEST(an_array_may_be_the_root),
           CHECK_TEST(members_of_every_type), CHECK_TEST(keys_may_be_long_or_escaped), CHECK_TEST(damage_does_not_reach_the_next_event),
           CHECK_TEST(junk_between_events_is_counted), CHECK_TEST(what_follows_the_root_is_ignored), CHECK_TEST(a_cut_text_stays_open),
           CHECK_TEST(syntax_errors_have_their_offset), CHECK_TEST(nothing_is_read_after_a_failure),
           CHECK_TEST(an_event_up_to_the_limit_is_kept), CHECK_TEST(an_event_above_the_limit_is_skipped),
           CHECK_TEST(the_buffer_is_bounded_by_the_longest_item), CHECK_TEST(without_memory_it_fails))

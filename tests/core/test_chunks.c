/* The chunk axis: however a file is cut, the summary is the same, or the same error at the same place. */
#include "check.h"
#include "gzip_text.h"
#include "oomcast.h"
#include "profile_text.h"

#include <stdlib.h>

#define MIB 1048576

/* What became of a file: the summary of a simulation, or the error. */
typedef struct outcome {
    char *summary;
    oc_error error;
} outcome;

static outcome run(const uint8_t *bytes, size_t length, size_t piece) {
    outcome result = {NULL, {0}};
    oc_session *session = oc_session_open(0);
    if (!session)
        abort();
    oc_status status = OC_OK;
    for (size_t at = 0; at < length && status == OC_OK; at += piece) {
        size_t part = length - at < piece ? length - at : piece;
        uint8_t *copy = malloc(part); /* of its own, so that a read behind it, or later, is seen */
        if (!copy)
            abort();
        memcpy(copy, bytes + at, part);
        status = oc_session_feed(session, copy, part);
        free(copy);
    }
    if (status == OC_OK)
        status = oc_session_finish(session);
    if (status == OC_OK)
        status = oc_session_simulate(session, "{\"gpu\":\"T4\"}", 12);
    result.error = *oc_session_error(session);
    if (status == OC_OK)
        result.summary = strdup(oc_session_summary(session, NULL));
    oc_session_close(session);
    return result;
}

static void check_outcome(const outcome *found, const outcome *whole) {
    CHECK_EQ_I64(found->error.status, whole->error.status);
    CHECK_EQ_TEXT(found->error.message, whole->error.message);
    CHECK_EQ_U64(found->error.byte_offset, whole->error.byte_offset);
    CHECK_EQ_U64(found->error.event_index, whole->error.event_index);
    if (whole->summary)
        CHECK_EQ_TEXT(found->summary, whole->summary);
    CHECK((found->summary != NULL) == (whole->summary != NULL));
}

/* Reads it whole, and at all the piece sizes; `status` is what must come of it. */
static void check_sizes(const char *name, const void *bytes, size_t length, oc_status status, const size_t *sizes, size_t size_count) {
    outcome whole = run(bytes, length, length ? length : 1);
    check_context("%s, whole", name);
    if (!CHECK_EQ_I64(whole.error.status, status))
        printf("    %s\n", whole.error.message);
    for (size_t i = 0; i < size_count; i++) {
        outcome found = run(bytes, length, sizes[i]);
        check_context("%s, pieces of %zu", name, sizes[i]);
        check_outcome(&found, &whole);
        free(found.summary);
    }
    check_context("%s", "");
    free(whole.summary);
}

static void check_bytes_at_all_sizes(const char *name, const void *bytes, size_t length, oc_status status) {
    static const size_t sizes[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,   16, 17,
                                   18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 4096, MIB};
    check_sizes(name, bytes, length, status, sizes, sizeof sizes / sizeof sizes[0]);
}

static void check_all(const char *name, const char *text, oc_status status) {
    check_bytes_at_all_sizes(name, text, strlen(text), status);
}

static char *job_text(profile_layout layout) {
    char *picture = profile_job_new(4, 2, 0),
         *text = profile_text_new(picture, "\"oomcast\":{\"batch_size\":4,\"torch\":\"2.6.0\"}", layout);
    free(picture);
    return text;
}

/* A copy with the first `old` replaced. */
static char *replaced(const char *text, const char *old, const char *new) {
    const char *at = strstr(text, old);
    char *result = malloc(strlen(text) + strlen(new) + 1);
    if (!result || !at)
        abort();
    memcpy(result, text, (size_t)(at - text));
    (void)sprintf(result + (at - text), "%s%s", new, at + strlen(old));
    return result;
}

/* ---- profiles ---- */

static void every_layout(void) {
    for (int layout = 0; layout < PROFILE_LAYOUT_COUNT; layout++) {
        char *text = job_text((profile_layout)layout), name[20];
        (void)snprintf(name, sizeof name, "layout %d", layout);
        check_all(name, text, OC_OK);
        free(text);
    }
}

static void windows_line_ends_and_a_byte_order_mark(void) {
    char *text = job_text(PROFILE_TORCH_26), *windows = malloc(2 * strlen(text) + 4), *to = windows;
    if (!CHECK(windows))
        return;
    to += sprintf(to, "\xef\xbb\xbf");
    for (const char *at = text; *at; at++) {
        if (*at == '\n')
            *to++ = '\r';
        *to++ = *at;
    }
    *to = 0;
    check_all("windows", windows, OC_OK);
    free(windows);
    free(text);
}

static void damaged_profiles(void) {
    static const struct {
        const char *name, *old, *new;
        oc_status status;
    } cases[] = {
        {"control byte", "\"aten::zeros\"", "\"aten::ze\x01ros\"", OC_OK},
        {"cut character", "\"aten::zeros\"", "\"aten::\xf0\x9f\"", OC_OK},
        {"unescaped quotes", "\"aten::zeros\"", "\"{\"device\": \"cpu\"}(12): run\"", OC_OK},
        {"unescaped quote and brackets", "\"aten::zeros\"", "\"x\"}]{[\"", OC_OK},
        {"backslash", "\"aten::zeros\"", "\"C:\\torch\\\"", OC_OK},
        {"a name over several lines", "\"aten::zeros\"", "\"a\n  b\n }\"", OC_OK},
        {"an event that is no JSON", "\"ph\": \"X\", \"cat\"", "ph: X cat", OC_OK},
        {"junk between events", "},\n  {", "},\n  junk, \"more\" 17\n  {", OC_OK},
        {"two commas", "},\n  {", "},,\n  {", OC_OK},
        {"a missing comma", "},\n  {", "}\n  {", OC_OK},
        {"an escaped name", "\"aten::zeros\"", "\"\\u00e9\\ud83d\\ude00\\\"\\n\"", OC_OK},
        {"a string at the top", "\"schemaVersion\": 1", "\"schema\\\"\": \"a } ] \\\" {\"", OC_OK},
        {"a missing colon", "\"schemaVersion\": 1", "\"schemaVersion\" 1", OC_SYNTAX},
        {"a missing quote", "\"schemaVersion\": 1", "schemaVersion\": 1", OC_SYNTAX},
        {"text after the events", "],\n  \"traceName\"", "], oh no \"traceName\"", OC_SYNTAX},
    };
    char *text = job_text(PROFILE_TORCH_26);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *damaged = replaced(text, cases[i].old, cases[i].new);
        check_all(cases[i].name, damaged, cases[i].status);
        free(damaged);
    }
    free(text);
}

static void cut_profiles(void) {
    char *text = job_text(PROFILE_TORCH_26);
    size_t length = strlen(text);
    const size_t cuts[] = {1, 2, 3, 20, 63, 64, 65, 100, length / 2, length / 2 + 1, length - 30, length - 3};
    for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++) {
        char name[40];
        (void)snprintf(name, sizeof name, "cut after %zu", cuts[i]);
        check_bytes_at_all_sizes(name, text, cuts[i], cuts[i] == 1 ? OC_EMPTY : cuts[i] < length - 30 ? OC_TRUNCATED : OC_OK); /* the first byte is a line end */
    }
    free(text);
}

/* ---- wrong files ---- */

static void wrong_files(void) {
    static const struct {
        const char *name, *text;
        oc_status status;
    } cases[] = {
        {"nothing", "", OC_EMPTY},
        {"white space", " \n\n\t ", OC_EMPTY},
        {"much white space", "                                                                                        \n", OC_EMPTY},
        {"white space and text", "                                                                                        text", OC_SYNTAX},
        {"text", "import torch", OC_WRONG_KIND},
        {"a long text", "import torch\nimport torch.profiler\n\nmodel = torch.nn.Linear(3, 4)\nprint(model)\n", OC_WRONG_KIND},
        {"zip", "PK\x03\x04 a model", OC_WRONG_KIND},
        {"html", "<!DOCTYPE html><html><head><title>Not found</title></head><body>404 Not Found</body></html>", OC_WRONG_KIND},
        {"pickle", "\x80\x04\x95\x31", OC_WRONG_KIND},
        {"snapshot", "{\"segments\": [{\"address\": 1, \"blocks\": []}], \"device_traces\": [[]]}", OC_WRONG_KIND},
        {"execution trace", "{\"schema\": \"1.0.2\", \"pid\": 1, \"nodes\": [{\"id\": 2, \"name\": \"x\"}]}", OC_WRONG_KIND},
        {"timeline", "[[1726077563878112, 1726077563878112], [[0, 1], [2, 3]]]", OC_WRONG_KIND},
        {"other JSON", "{\"name\": \"x\", \"version\": 3, \"values\": [1, 2, {\"a\": \"}\"}]}", OC_WRONG_KIND},
        {"no events", "{\"traceEvents\": []}", OC_WRONG_KIND},
        {"no memory events",
         "{\"traceEvents\": [{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::add\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1}]}",
         OC_NO_MEMORY_EVENTS},
        {"old GPU profile",
         "{\"traceEvents\": [{\"ph\":\"i\",\"name\":\"[memory]\",\"ts\":1,\"args\":{\"Device Type\":1,\"Addr\":64,\"Bytes\":512}}]}",
         OC_NO_MEMORY_EVENTS},
        {"half of gzip's magic number", "\x1f", OC_WRONG_KIND},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check_all(cases[i].name, cases[i].text, cases[i].status);
}

/* ---- gzip ---- */

static void gzip_profiles(void) {
    char *text = job_text(PROFILE_TORCH_213);
    size_t length, text_length = strlen(text), half = text_length / 3;
    uint8_t *gzip = gzip_new(text, text_length, &length);
    check_bytes_at_all_sizes("gzip", gzip, length, OC_OK);
    check_bytes_at_all_sizes("gzip, cut in its header", gzip, 7, OC_TRUNCATED);
    check_bytes_at_all_sizes("gzip, two bytes", gzip, 2, OC_TRUNCATED);
    check_bytes_at_all_sizes("gzip, cut in its data", gzip, length / 2, OC_TRUNCATED);
    check_bytes_at_all_sizes("gzip, cut before its trailer", gzip, length - 8, OC_OK);
    check_bytes_at_all_sizes("gzip, the last byte missing", gzip, length - 1, OC_OK);
    gzip[length - 8] ^= 1;
    check_bytes_at_all_sizes("gzip, wrong CRC", gzip, length, OC_GZIP);
    gzip[length - 8] ^= 1;
    gzip[GZIP_HEADER_BYTES + 1] ^= 1;
    check_bytes_at_all_sizes("gzip, wrong block length", gzip, length, OC_GZIP);
    free(gzip);
    gzip = malloc(gzip_member_bytes(half) + gzip_member_bytes(text_length - half) + 100);
    if (!CHECK(gzip))
        return;
    length = gzip_put_member(gzip, text, half);
    length += gzip_put_member(gzip + length, text + half, text_length - half);
    check_bytes_at_all_sizes("two members", gzip, length, OC_OK);
    check_bytes_at_all_sizes("two members, the second cut", gzip, length - 20, OC_OK);
    memset(gzip + length, 0, 100);
    check_bytes_at_all_sizes("bytes behind", gzip, length + 100, OC_OK);
    free(gzip);
    free(text);
}

static void gzip_of_wrong_files(void) {
    static const char text[] =
        "This is no profile but a text of a few lines, longer than the sixty-four bytes that are held back for a first look.\n";
    size_t length;
    uint8_t *gzip = gzip_new(text, sizeof text - 1, &length);
    check_bytes_at_all_sizes("gzip of a text", gzip, length, OC_WRONG_KIND);
    free(gzip);
    gzip = gzip_new("", 0, &length);
    check_bytes_at_all_sizes("gzip of nothing", gzip, length, OC_EMPTY);
    free(gzip);
}

/* The text in front of the damage is read first, as when it comes in small pieces. */
static void gzip_of_wrong_files_that_is_damaged_too(void) {
    static const char text[] =
        "This is no profile but a text of a few lines, longer than the sixty-four bytes that are held back for a first look.\n";
    size_t length;
    uint8_t *gzip = gzip_new(text, sizeof text - 1, &length);
    gzip[length - 8] ^= 1;
    check_bytes_at_all_sizes("gzip of a text, wrong CRC", gzip, length, OC_WRONG_KIND);
    free(gzip);
    static const char syntax[] = "{\"schemaVersion\": 1, \"traceEvents\": [{\"ph\": \"X\"}], and here it is no longer JSON, but goes on "
                                 "for a while with something else}";
    gzip = gzip_new(syntax, sizeof syntax - 1, &length);
    gzip[length - 8] ^= 1;
    check_bytes_at_all_sizes("gzip of a syntax error, wrong CRC", gzip, length, OC_SYNTAX);
    free(gzip);
}

/* ---- long items ---- */

static void an_event_longer_than_the_limit(void) {
    static const size_t sizes[] = {4096, 65536, MIB, 3 * MIB};
    char *text = job_text(PROFILE_TORCH_26), *name = malloc((16 << 20) + 100);
    if (!CHECK(name))
        return;
    memset(name, 'x', (16 << 20) + 50);
    name[0] = '"';
    memcpy(name + (16 << 20) + 50, "\"", 2);
    char *long_text = replaced(text, "\"aten::zeros\"", name);
    check_sizes("a long name", long_text, strlen(long_text), OC_OK, sizes, 4);
    free(long_text);
    long_text = replaced(text, "\"job.json\"", name);
    check_sizes("a long value", long_text, strlen(long_text), OC_OK, sizes, 4);
    free(long_text);
    free(name);
    free(text);
}

/* ---- the examples ---- */

static uint8_t *read_example(const char *name, size_t *length) {
    char path[600];
    (void)snprintf(path, sizeof path, "%s/%s", OOMCAST_EXAMPLES, name);
    FILE *file = fopen(path, "rb");
    if (!file) {
        printf("    cannot open %s\n", path);
        return NULL;
    }
    uint8_t *bytes = malloc(8 << 20);
    if (!bytes)
        abort();
    *length = fread(bytes, 1, 8 << 20, file);
    (void)fclose(file);
    return bytes;
}

static void the_examples(void) {
    static const char *const names[] = {"cnn-b4.json.gz",         "cnn-b8.json.gz",         "cnn-b48.json.gz",
                                        "transformer-b4.json.gz", "transformer-b8.json.gz", "transformer-b4-scheduled.json.gz"};
    static const size_t few[] = {4096}, many[] = {1, 2, 3, 7, 31, 4096, MIB};
    size_t smallest = 0, smallest_length = SIZE_MAX, length;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        uint8_t *bytes = read_example(names[i], &length);
        if (!CHECK(bytes))
            return;
        if (length < smallest_length) {
            smallest = i;
            smallest_length = length;
        }
        check_sizes(names[i], bytes, length, OC_OK, few, 1);
        free(bytes);
    }
    uint8_t *bytes = read_example(names[smallest], &length);
    if (CHECK(bytes))
        check_sizes(names[smallest], bytes, length, OC_OK, many, sizeof many / sizeof many[0]);
    free(bytes);
}

/* Real data of compressed blocks, damaged and cut at some places. */
static void a_damaged_example(void) {
    static const size_t sizes[] = {31, 4096};
    size_t length;
    uint8_t *bytes = read_example("cnn-b4.json.gz", &length);
    if (!CHECK(bytes))
        return;
    for (size_t i = 1; i <= 8; i++) {
        size_t at = length / 9 * i;
        char name[60];
        bytes[at] ^= 0x10;
        outcome whole = run(bytes, length, length);
        (void)snprintf(name, sizeof name, "example damaged at %zu", at);
        check_context("%s", name);
        CHECK(whole.error.status != OC_OK); /* the CRC at the latest */
        check_sizes(name, bytes, length, whole.error.status, sizes, 2);
        free(whole.summary);
        bytes[at] ^= 0x10;
        (void)snprintf(name, sizeof name, "example cut at %zu", at);
        check_sizes(name, bytes, at, i < 7 ? OC_TRUNCATED : OC_OK, sizes, 2); /* a whole iteration is there from 7/9 on */
    }
    free(bytes);
}

CHECK_MAIN(CHECK_TEST(every_layout), CHECK_TEST(windows_line_ends_and_a_byte_order_mark), CHECK_TEST(damaged_profiles),
           CHECK_TEST(cut_profiles), CHECK_TEST(wrong_files), CHECK_TEST(gzip_profiles), CHECK_TEST(gzip_of_wrong_files),
           CHECK_TEST(gzip_of_wrong_files_that_is_damaged_too), CHECK_TEST(an_event_longer_than_the_limit), CHECK_TEST(the_examples),
           CHECK_TEST(a_damaged_example))

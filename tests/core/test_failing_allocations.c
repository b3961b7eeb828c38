/* Fails the n-th allocation, for every n, through a whole session over two profiles: no crash, nothing left unfreed, and either
 * OC_MEMORY or the same answer as with all memory. Link with -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=free. */
#include "check.h"
#include "gzip_text.h"
#include "oomcast.h"
#include "profile_text.h"

#include <stdlib.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void __real_free(void *memory);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void __wrap_free(void *memory);

static bool is_counting;
static uint64_t allocation_count; /* since counting began */
static int64_t live_count;        /* allocated and not freed since then */
static uint64_t failing;          /* the allocation that fails, from 1; 0 for none */
static bool stays_failing;        /* and all after it */

static bool fails(void) {
    if (!is_counting)
        return false;
    allocation_count++;
    return failing && (allocation_count == failing || (stays_failing && allocation_count > failing));
}

static void *counted(void *memory) {
    live_count += is_counting && memory;
    return memory;
}

void *__wrap_malloc(size_t size) {
    return fails() ? NULL : counted(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size) {
    return fails() ? NULL : counted(__real_calloc(count, size));
}

void *__wrap_realloc(void *memory, size_t size) {
    if (fails())
        return NULL;
    return memory ? __real_realloc(memory, size) : counted(__real_malloc(size));
}

void __wrap_free(void *memory) {
    live_count -= is_counting && memory;
    __real_free(memory);
}

static void begin(uint64_t number, bool and_all_after) {
    allocation_count = 0;
    live_count = 0;
    failing = number;
    stays_failing = and_all_after;
    is_counting = true;
}

/* `kept`: what is still to be freed. */
static void end(int64_t kept) {
    is_counting = false;
    CHECK_EQ_I64(live_count, kept);
}

typedef struct input {
    const uint8_t *bytes;
    size_t length;
} input;

/* What is tried: one or two profiles, then questions up to a NULL. */
typedef struct attempt {
    const char *name;
    input inputs[2];
    int input_count;
    const char *questions[3];
    bool is_reading_only; /* allocations of the questions do not fail */
    oc_status expected;   /* with all memory */
} attempt;

static uint64_t failable_count; /* allocations of the last run that could have failed */

/* Returns the status; `summary` is a copy of the last answer, made with all memory, or NULL. */
static oc_status run(const attempt *a, char **summary) {
    enum { PIECE = 1000 }; /* cuts events */
    *summary = NULL;
    oc_session *session = oc_session_open(0);
    if (!session)
        return OC_MEMORY;
    oc_status status = OC_OK;
    for (int i = 0; i < a->input_count && status == OC_OK; i++) {
        const input *in = &a->inputs[i];
        if (i)
            status = oc_session_next_profile(session);
        for (size_t at = 0; at < in->length && status == OC_OK; at += PIECE)
            status = oc_session_feed(session, in->bytes + at, in->length - at < PIECE ? in->length - at : PIECE);
    }
    if (status == OC_OK)
        status = oc_session_finish(session);
    failable_count = allocation_count;
    if (a->is_reading_only)
        failing = 0;
    for (int i = 0; a->questions[i] && status == OC_OK; i++)
        status = oc_session_simulate(session, a->questions[i], strlen(a->questions[i]));
    if (!a->is_reading_only)
        failable_count = allocation_count;
    is_counting = false;
    CHECK_EQ_I64(oc_session_error(session)->status, status);
    if (status == OC_OK)
        *summary = strdup(oc_session_summary(session, NULL));
    is_counting = true;
    oc_session_close(session);
    return status;
}

static void fail_every_allocation(const attempt *a, bool and_all_after) {
    char *whole, *summary;
    begin(0, false);
    CHECK_EQ_I64(run(a, &whole), a->expected);
    end(0);
    const uint64_t total = failable_count;
    CHECK(total > 0);
    for (uint64_t n = 1; n <= total; n++) {
        check_context("%s: allocation %d of %d%s", a->name, (int)n, (int)total, and_all_after ? " and all after it" : "");
        begin(n, and_all_after);
        oc_status status = run(a, &summary);
        end(0);
        if (status == OC_OK && a->expected == OC_OK)
            CHECK_EQ_TEXT(summary, whole); /* a failure that was overcome must not show */
        else
            CHECK(status == OC_MEMORY || status == a->expected);
        if (status == OC_OK && and_all_after && !a->is_reading_only)
            CHECK_FAIL("an answer without memory");
        free(summary);
    }
    check_context("%s", "");
    free(whole);
}

/* A name with unescaped quotes, of a size that needs a chunk of memory for itself when it is repaired. */
static char *with_damaged_name(const char *text) {
    enum { NAME_BYTES = 1200000 };
    static const char old[] = "\"aten::zeros\"";
    const char *at = strstr(text, old);
    char *result = malloc(strlen(text) + NAME_BYTES + 10);
    if (!at || !result)
        abort();
    size_t before = (size_t)(at - text);
    memcpy(result, text, before);
    memset(result + before, 'x', NAME_BYTES);
    memcpy(result + before, "\"a\"b\"", 5);
    result[before + NAME_BYTES - 1] = '"';
    memcpy(result + before + NAME_BYTES, at + sizeof old - 1, strlen(at + sizeof old - 1) + 1);
    return result;
}

static char *job_text(int batch, profile_layout layout) {
    char *picture = profile_job_new(batch, 1, 0), *text = profile_text_new(picture, "\"oomcast\":{\"torch\":\"2.6.0\"}", layout);
    free(picture);
    return text;
}

/* usable: 30 MiB, so that it runs out of memory: the longest report */
#define OUT_OF_MEMORY "{\"capacity_bytes\": 398458880}"

static void two_plain_profiles(void) {
    char *first = job_text(4, PROFILE_TORCH_26), *second = job_text(8, PROFILE_COMPACT);
    const attempt a = {"plain", {{(const uint8_t *)first, strlen(first)}, {(const uint8_t *)second, strlen(second)}},
                       2,       {OUT_OF_MEMORY, "{\"batch\": 16, \"gpu\": \"T4\", \"alloc_conf\": \"expandable_segments:True\"}", NULL},
                       false,   OC_OK};
    fail_every_allocation(&a, false);
    free(first);
    free(second);
}

static void two_gzip_profiles(void) {
    char *first = job_text(4, PROFILE_TORCH_213), *second = job_text(8, PROFILE_TORCH_26);
    size_t lengths[2];
    uint8_t *gzips[] = {gzip_new(first, strlen(first), &lengths[0]), gzip_new(second, strlen(second), &lengths[1])};
    const attempt a = {"gzip", {{gzips[0], lengths[0]}, {gzips[1], lengths[1]}},
                       2,      {"{\"optimizer\": \"Adafactor\", \"zero_grad\": \"start\", \"range_ms\": [0.5, 1]}",
                               "{\"task\": \"max_batch\", \"capacity_bytes\": 450000000}", NULL},
                       false,  OC_OK};
    fail_every_allocation(&a, true);
    free(gzips[0]);
    free(gzips[1]);
    free(first);
    free(second);
}

/* Without memory for its repair an event must not be dropped in silence. */
static void a_repaired_name(void) {
    char *text = job_text(4, PROFILE_TORCH_26), *damaged = with_damaged_name(text);
    const attempt a = {"damaged", {{(const uint8_t *)damaged, strlen(damaged)}}, 1, {"{}", NULL}, true, OC_OK};
    fail_every_allocation(&a, false);
    free(damaged);
    free(text);
}

static void a_gpu_recording(void) {
    static const char recorded[] =
        "{\"traceEvents\": [{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::add\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1},"
        "{\"ph\":\"i\",\"name\":\"[memory]\",\"pid\":1,\"tid\":1,\"ts\":1,\"args\":{\"Device Type\":1,\"Device Id\":0,\"Addr\":4096,\"Bytes\":9437184,"
        "\"Total Allocated\":19922944,\"Total Reserved\":41943040}},"
        "{\"ph\":\"i\",\"name\":\"[memory]\",\"pid\":1,\"tid\":1,\"ts\":2,\"args\":{\"Device Type\":1,\"Device Id\":0,\"Addr\":512,\"Bytes\":-1048576,"
        "\"Total Allocated\":18874368,\"Total Reserved\":41943040}},"
        "{\"ph\":\"i\",\"name\":\"[memory]\",\"pid\":1,\"tid\":1,\"ts\":3,\"args\":{\"Device Type\":1,\"Device Id\":0,\"Addr\":99999744,\"Bytes\":31457280,"
        "\"Total Allocated\":50331648,\"Total Reserved\":73400320}}]}";
    const attempt a = {"GPU recording", {{(const uint8_t *)recorded, sizeof recorded - 1}}, 1,
                       {"{}", "{\"capacity_bytes\": 440401920, \"alloc_conf\": \"expandable_segments:True\"}", NULL}, false, OC_OK};
    fail_every_allocation(&a, false);
}

static void wrong_files_and_questions(void) {
    char *text = job_text(4, PROFILE_TORCH_26), *other = profile_text_new("1..5 op aten::other\n2 + a 8\n", NULL, PROFILE_COMPACT);
    const input job = {(const uint8_t *)text, strlen(text)}, half = {(const uint8_t *)text, strlen(text) / 2};
    const attempt attempts[] = {
        {"cut", {half}, 1, {NULL}, false, OC_TRUNCATED},
        {"mismatch", {job, {(const uint8_t *)other, strlen(other)}}, 2, {NULL}, false, OC_MISMATCH},
        {"unknown GPU", {job}, 1, {"{\"gpu\": \"RTX 4060 Ti\"}", NULL}, false, OC_OPTIONS},
        {"another batch", {job}, 1, {"{\"batch\": 64}", NULL}, false, OC_OPTIONS},
        {"no JSON", {job}, 1, {"{\"batch\": ", NULL}, false, OC_OPTIONS},
    };
    for (size_t i = 0; i < sizeof attempts / sizeof attempts[0]; i++)
        fail_every_allocation(&attempts[i], false);
    free(text);
    free(other);
}

static void the_catalogue(void) {
    begin(0, false);
    char *whole = oc_gpus_json();
    end(1);
    const uint64_t total = allocation_count;
    CHECK(whole && total > 100);
    for (uint64_t n = 1; n <= total; n += n < 300 ? 1 : 7) { /* one card is like another */
        begin(n, false);
        char *json = oc_gpus_json();
        check_context("allocation %d", (int)n);
        end(json != NULL);
        if (json)
            CHECK_EQ_TEXT(json, whole);
        else
            CHECK(!json);
        oc_free_text(json);
    }
    check_context("%s", "");
    oc_free_text(whole);
}

CHECK_MAIN(CHECK_TEST(the_catalogue), CHECK_TEST(two_plain_profiles), CHECK_TEST(two_gzip_profiles), CHECK_TEST(a_repaired_name), CHECK_TEST(a_gpu_recording),
           CHECK_TEST(wrong_files_and_questions))

/* The public interface: order of calls, the first error, budgets, and what stays when a question cannot be answered. */
#include "check.h"
#include "oomcast.h"
#include "profile_text.h"

#include <stdlib.h>

static char *job_text(int batch, int iterations, profile_layout layout) {
    char *picture = profile_job_new(batch, iterations, 0), *text = profile_text_new(picture, NULL, layout);
    free(picture);
    return text;
}

static oc_session *finished_job(void) {
    char *picture = profile_job_new(4, 2, 0);
    oc_session *session = profile_session_new(picture, NULL);
    free(picture);
    return session;
}

static oc_status simulate(oc_session *session, const char *options) {
    return oc_session_simulate(session, options, strlen(options));
}

/* ---- the way it is meant ---- */

static void a_question_is_answered(void) {
    oc_session *session = finished_job();
    CHECK(!oc_session_summary(session, NULL)); /* none asked yet */
    size_t length = 1;
    CHECK(!oc_session_column(session, OC_COLUMN_ALLOCATED, &length) && length == 0);
    CHECK_EQ_I64(simulate(session, "{}"), OC_OK);
    const char *summary = oc_session_summary(session, &length);
    if (CHECK(summary)) {
        CHECK_EQ_U64(strlen(summary), length);
        CHECK(summary[0] == '{' && summary[length - 1] == '}');
        CHECK(summary == oc_session_summary(session, NULL));
    }
    CHECK(oc_session_column(session, OC_COLUMN_ALLOCATED, &length) && length > 10);
    CHECK(!oc_session_column(session, OC_COLUMN_COUNT, &length) && length == 0);
    const oc_error *error = oc_session_error(session);
    CHECK_EQ_I64(error->status, OC_OK);
    CHECK_EQ_TEXT(error->name, "ok");
    oc_session_close(session);
}

static void equal_questions_have_equal_answers(void) {
    oc_session *session = finished_job();
    static const char *const questions[] = {"{}", "{\"gpu\":\"T4\"}", "{\"optimizer\":\"SGD\",\"foreach\":\"fused\"}",
                                            "{\"zero_grad\":\"after-step\",\"points\":7}", "{\"capacity_bytes\":398458880}"};
    char *first[5];
    for (int i = 0; i < 5; i++) {
        CHECK_EQ_I64(simulate(session, questions[i]), OC_OK);
        first[i] = strdup(oc_session_summary(session, NULL));
    }
    for (int round = 0; round < 3; round++)
        for (int i = 4; i >= 0; i--) {
            check_context("%s", questions[i]);
            CHECK_EQ_I64(simulate(session, questions[i]), OC_OK);
            CHECK_EQ_TEXT(oc_session_summary(session, NULL), first[i]);
        }
    for (int i = 0; i < 5; i++)
        free(first[i]);
    oc_session_close(session);
}

/* One job in every layout a file may have is one job. */
static void every_layout_gives_the_same_answer(void) {
    char *expected = NULL;
    for (int layout = 0; layout < PROFILE_LAYOUT_COUNT; layout++) {
        char *text = job_text(4, 2, (profile_layout)layout);
        oc_session *session = oc_session_open(0);
        check_context("layout %d", layout);
        CHECK_EQ_I64(oc_session_feed(session, text, strlen(text)), OC_OK);
        CHECK_EQ_I64(oc_session_finish(session), OC_OK);
        CHECK_EQ_I64(simulate(session, "{\"gpu\":\"RTX 4090\"}"), OC_OK);
        if (!expected)
            expected = strdup(oc_session_summary(session, NULL));
        CHECK_EQ_TEXT(oc_session_summary(session, NULL), expected);
        oc_session_close(session);
        free(text);
    }
    free(expected);
}

static void facts_tell_what_reading_took(void) {
    char *text = job_text(4, 1, PROFILE_TORCH_26), *other = job_text(8, 1, PROFILE_COMPACT);
    oc_session *session = oc_session_open(0);
    uint64_t bytes = 1, events = 1;
    size_t peak = 0;
    oc_session_facts(session, &bytes, &events, &peak);
    CHECK_EQ_U64(bytes, 0);
    CHECK_EQ_U64(events, 0);
    CHECK(peak > 0);
    CHECK_EQ_I64(oc_session_feed(session, text, strlen(text)), OC_OK);
    oc_session_facts(session, &bytes, &events, NULL);
    CHECK_EQ_U64(bytes, strlen(text));
    const uint64_t first_events = events;
    CHECK_EQ_I64(oc_session_next_profile(session), OC_OK);
    CHECK_EQ_I64(oc_session_feed(session, other, strlen(other)), OC_OK);
    CHECK_EQ_I64(oc_session_finish(session), OC_OK);
    oc_session_facts(session, &bytes, &events, &peak);
    CHECK_EQ_U64(bytes, strlen(text) + strlen(other));
    CHECK_EQ_U64(events, 2 * first_events);
    CHECK(peak < 8 << 20);
    oc_session_facts(session, NULL, NULL, NULL);
    oc_session_close(session);
    free(text);
    free(other);
}

static void sessions_are_independent(void) {
    char *small = job_text(4, 1, PROFILE_TORCH_26), *large = job_text(64, 2, PROFILE_TORCH_26);
    oc_session *a = oc_session_open(0), *b = oc_session_open(0);
    for (size_t at = 0; at < strlen(small) || at < strlen(large); at += 1000) { /* by turns */
        if (at < strlen(small))
            CHECK_EQ_I64(oc_session_feed(a, small + at, strlen(small) - at < 1000 ? strlen(small) - at : 1000), OC_OK);
        if (at < strlen(large))
            CHECK_EQ_I64(oc_session_feed(b, large + at, strlen(large) - at < 1000 ? strlen(large) - at : 1000), OC_OK);
    }
    CHECK_EQ_I64(oc_session_finish(a), OC_OK);
    CHECK_EQ_I64(oc_session_finish(b), OC_OK);
    CHECK_EQ_I64(simulate(a, "{}"), OC_OK);
    CHECK_EQ_I64(simulate(b, "{}"), OC_OK);
    CHECK_CONTAINS(oc_session_summary(a, NULL), "\"batch_size\":4,");
    CHECK_CONTAINS(oc_session_summary(b, NULL), "\"batch_size\":64,");
    oc_session_close(a);
    CHECK_CONTAINS(oc_session_summary(b, NULL), "\"iterations\":2}");
    oc_session_close(b);
    free(small);
    free(large);
}

static void an_empty_feed_is_nothing(void) {
    char *text = job_text(4, 1, PROFILE_TORCH_26);
    oc_session *session = oc_session_open(0);
    CHECK_EQ_I64(oc_session_feed(session, text, 0), OC_OK);
    CHECK_EQ_I64(oc_session_feed(session, "", 0), OC_OK);
    CHECK_EQ_I64(oc_session_feed(session, text, strlen(text)), OC_OK);
    CHECK_EQ_I64(oc_session_feed(session, "", 0), OC_OK);
    CHECK_EQ_I64(oc_session_finish(session), OC_OK);
    oc_session_close(session);
    free(text);
}

/* ---- wrong order ---- */

static void check_error(const oc_session *session, oc_status status, const char *message) {
    const oc_error *error = oc_session_error(session);
    CHECK_EQ_I64(error->status, status);
    CHECK_CONTAINS(error->message, message);
}

static void simulating_comes_after_finishing(void) {
    oc_session *session = oc_session_open(0);
    CHECK_EQ_I64(simulate(session, "{}"), OC_STATE);
    check_error(session, OC_STATE, "simulate was called before finish");
    oc_session_close(session);
}

static void feeding_comes_before_finishing(void) {
    oc_session *session = finished_job();
    CHECK_EQ_I64(oc_session_feed(session, "{", 1), OC_STATE);
    check_error(session, OC_STATE, "bytes were fed after the session was finished");
    oc_session_close(session);
    session = finished_job();
    CHECK_EQ_I64(oc_session_next_profile(session), OC_STATE);
    oc_session_close(session);
    session = finished_job();
    CHECK_EQ_I64(oc_session_finish(session), OC_STATE);
    check_error(session, OC_STATE, "finished twice");
    oc_session_close(session);
}

static void two_profiles_are_the_limit(void) {
    char *text = job_text(4, 1, PROFILE_COMPACT);
    oc_session *session = oc_session_open(0);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ_I64(oc_session_feed(session, text, strlen(text)), OC_OK);
        CHECK_EQ_I64(oc_session_next_profile(session), i ? OC_STATE : OC_OK);
    }
    check_error(session, OC_STATE, "two profiles at most");
    oc_session_close(session);
    free(text);
}

/* A call out of order changes nothing: what comes after it works. */
static void wrong_calls_do_not_stick(void) {
    char *text = job_text(4, 1, PROFILE_COMPACT);
    oc_session *session = oc_session_open(0);
    CHECK_EQ_I64(simulate(session, "{}"), OC_STATE);
    CHECK_EQ_I64(oc_session_set_batch(session, 0), OC_STATE);
    CHECK_EQ_I64(oc_session_feed(session, text, strlen(text)), OC_OK);
    CHECK_EQ_I64(oc_session_finish(session), OC_OK);
    CHECK_EQ_I64(oc_session_finish(session), OC_STATE);
    CHECK_EQ_I64(oc_session_feed(session, text, strlen(text)), OC_STATE);
    CHECK_EQ_I64(oc_session_set_batch(session, 8), OC_STATE);
    check_error(session, OC_STATE, "before the profile is finished"); /* the latest */
    CHECK_EQ_I64(simulate(session, "{}"), OC_OK);
    CHECK_EQ_I64(oc_session_error(session)->status, OC_OK);
    oc_session_close(session);
    free(text);
}

/* ---- the batch size given ---- */

/* The two jobs at 4 and 8, of which `first` and `second` are said (0: nothing). */
static oc_session *session_told(int64_t first, int64_t second) {
    char *text = job_text(4, 1, PROFILE_COMPACT), *other = job_text(8, 1, PROFILE_COMPACT);
    oc_session *session = oc_session_open(0);
    if (first)
        CHECK_EQ_I64(oc_session_set_batch(session, first), OC_OK); /* before the bytes or after them */
    CHECK_EQ_I64(oc_session_feed(session, text, strlen(text)), OC_OK);
    CHECK_EQ_I64(oc_session_next_profile(session), OC_OK);
    CHECK_EQ_I64(oc_session_feed(session, other, strlen(other)), OC_OK);
    if (second)
        CHECK_EQ_I64(oc_session_set_batch(session, second), OC_OK);
    free(text);
    free(other);
    return session;
}

static void the_batch_size_can_be_given(void) {
    oc_session *session = session_told(20, 40);
    CHECK_EQ_I64(oc_session_finish(session), OC_OK);
    CHECK_EQ_I64(simulate(session, "{\"batch\":80}"), OC_OK); /* 16 of the true ones */
    CHECK_CONTAINS(oc_session_summary(session, NULL), "\"recorded_batch_sizes\":[20,40]");
    CHECK_CONTAINS(oc_session_summary(session, NULL), "\"batch_bytes\":32896"); /* 16 * (2,048 + 8) */
    CHECK(!strstr(oc_session_summary(session, NULL), "the recorded batch size was read off"));
    oc_session_close(session);
    session = session_told(0, 16); /* the first as it is seen */
    CHECK_EQ_I64(oc_session_finish(session), OC_OK);
    CHECK_EQ_I64(simulate(session, "{}"), OC_OK);
    CHECK_CONTAINS(oc_session_summary(session, NULL), "\"recorded_batch_sizes\":[4,16]");
    oc_session_close(session);
    session = session_told(8, 0);
    CHECK_EQ_I64(oc_session_finish(session), OC_MISMATCH);
    check_error(session, OC_MISMATCH, "both profiles were recorded at batch size 8");
    oc_session_close(session);
}

static void batch_sizes_have_limits(void) {
    static const int64_t wrong[] = {0, -1, INT64_MIN, 100000001, INT64_MAX};
    oc_session *session = oc_session_open(0);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        CHECK_EQ_I64(oc_session_set_batch(session, wrong[i]), OC_STATE);
        check_error(session, OC_STATE, "a recorded batch size must be from 1 to 100000000");
    }
    CHECK_EQ_I64(oc_session_set_batch(session, 1), OC_OK);
    CHECK_EQ_I64(oc_session_set_batch(session, 100000000), OC_OK);
    CHECK_EQ_I64(oc_session_feed(session, "no profile at all, but more text than the sixty-four bytes that are held back", 77), OC_WRONG_KIND);
    CHECK_EQ_I64(oc_session_set_batch(session, 4), OC_WRONG_KIND);
    oc_session_close(session);
}

/* ---- errors of reading ---- */

static void the_first_error_stays(void) {
    oc_session *session = oc_session_open(0);
    CHECK_EQ_I64(oc_session_feed(session, "PK\x03\x04 and so on, more than the sixty-four bytes that are held back", 67), OC_WRONG_KIND);
    char message[600];
    (void)snprintf(message, sizeof message, "%s", oc_session_error(session)->message);
    CHECK_CONTAINS(message, "a ZIP archive");
    CHECK_EQ_I64(oc_session_error(session)->profile, 0);
    CHECK_EQ_I64(oc_session_feed(session, "{}", 2), OC_WRONG_KIND);
    CHECK_EQ_I64(oc_session_next_profile(session), OC_WRONG_KIND);
    CHECK_EQ_I64(oc_session_finish(session), OC_WRONG_KIND);
    CHECK_EQ_I64(oc_session_finish(session), OC_WRONG_KIND);
    CHECK_EQ_I64(simulate(session, "{}"), OC_WRONG_KIND);
    CHECK_EQ_I64(simulate(session, "nonsense"), OC_WRONG_KIND);
    CHECK_EQ_TEXT(oc_session_error(session)->message, message);
    CHECK(!oc_session_summary(session, NULL));
    oc_session_close(session);
}

static void errors_name_profile_place_and_event(void) {
    char *text = job_text(4, 1, PROFILE_TORCH_26);
    oc_session *session = oc_session_open(0);
    CHECK_EQ_I64(oc_session_feed(session, text, strlen(text)), OC_OK);
    CHECK_EQ_I64(oc_session_next_profile(session), OC_OK);
    static const char second[] = "{\"traceEvents\": [{\"a\": 1}, {\"b\": 2}], oh}                                         ";
    CHECK_EQ_I64(oc_session_feed(session, second, sizeof second - 1), OC_SYNTAX);
    const oc_error *error = oc_session_error(session);
    CHECK_EQ_I64(error->profile, 1);
    CHECK_EQ_U64(error->byte_offset, (uint64_t)(strstr(second, "oh") - second));
    CHECK_EQ_U64(error->event_index, 2);
    CHECK_EQ_TEXT(error->name, "syntax");
    oc_session_close(session);
    session = oc_session_open(0); /* the end of the first profile is its own */
    CHECK_EQ_I64(oc_session_feed(session, text, strlen(text) / 8), OC_OK);
    CHECK_EQ_I64(oc_session_next_profile(session), OC_TRUNCATED);
    CHECK_EQ_I64(oc_session_error(session)->profile, 0);
    CHECK_EQ_U64(oc_session_error(session)->byte_offset, strlen(text) / 8);
    oc_session_close(session);
    session = oc_session_open(0); /* memory events, but of no whole iteration: that shows at the end */
    CHECK_EQ_I64(oc_session_feed(session, text, strlen(text) / 2), OC_OK);
    CHECK_EQ_I64(oc_session_next_profile(session), OC_OK);
    CHECK_EQ_I64(oc_session_feed(session, text, strlen(text)), OC_OK);
    CHECK_EQ_I64(oc_session_finish(session), OC_TRUNCATED);
    CHECK_EQ_I64(oc_session_error(session)->profile, 0);
    CHECK_EQ_U64(oc_session_error(session)->byte_offset, strlen(text) / 2);
    oc_session_close(session);
    free(text);
}

static void nothing_is_an_empty_file(void) {
    oc_session *session = oc_session_open(0);
    CHECK_EQ_I64(oc_session_finish(session), OC_EMPTY);
    CHECK_EQ_I64(oc_session_error(session)->profile, 0);
    oc_session_close(session);
    char *text = job_text(4, 1, PROFILE_COMPACT);
    session = oc_session_open(0);
    CHECK_EQ_I64(oc_session_feed(session, text, strlen(text)), OC_OK);
    CHECK_EQ_I64(oc_session_next_profile(session), OC_OK);
    CHECK_EQ_I64(oc_session_finish(session), OC_EMPTY);
    CHECK_EQ_I64(oc_session_error(session)->profile, 1);
    oc_session_close(session);
    free(text);
}

static void profiles_that_do_not_match_belong_to_neither(void) {
    char *text = job_text(4, 1, PROFILE_COMPACT), *other = profile_text_new("1..5 op aten::other\n2 + a 8\n", NULL, PROFILE_COMPACT);
    oc_session *session = oc_session_open(0);
    CHECK_EQ_I64(oc_session_feed(session, text, strlen(text)), OC_OK);
    CHECK_EQ_I64(oc_session_next_profile(session), OC_OK);
    CHECK_EQ_I64(oc_session_feed(session, other, strlen(other)), OC_OK);
    CHECK_EQ_I64(oc_session_finish(session), OC_MISMATCH);
    check_error(session, OC_MISMATCH, "not of the same job");
    CHECK_EQ_I64(oc_session_error(session)->profile, -1);
    oc_session_close(session);
    free(text);
    free(other);
}

/* ---- errors of a question ---- */

static void a_bad_question_keeps_the_last_answer(void) {
    oc_session *session = finished_job();
    CHECK_EQ_I64(simulate(session, "{\"gpu\":\"T4\"}"), OC_OK);
    char *before = strdup(oc_session_summary(session, NULL));
    size_t length_before, length;
    const double *column = oc_session_column(session, OC_COLUMN_RESERVED, &length_before);
    double *values = malloc(length_before * sizeof *values);
    if (!CHECK(values && column))
        return;
    memcpy(values, column, length_before * sizeof *values);
    /* what the options reader refuses, and what only the planning of the requests does */
    static const char *const wrong[] = {"{\"gpu\":\"none\"}", "nonsense", "{\"batch\":5}", "{\"optimizer\":\"Shampoo\"}",
                                        "{\"optimizer\":\"RMSprop\",\"foreach\":\"fused\"}"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        check_context("%s", wrong[i]);
        CHECK_EQ_I64(simulate(session, wrong[i]), OC_OPTIONS);
        CHECK_EQ_I64(oc_session_error(session)->status, OC_OPTIONS);
        CHECK_EQ_TEXT(oc_session_error(session)->name, "options");
        CHECK_EQ_I64(oc_session_error(session)->profile, -1);
        CHECK_EQ_U64(oc_session_error(session)->byte_offset, OC_NO_OFFSET);
        CHECK_EQ_TEXT(oc_session_summary(session, NULL), before);
        column = oc_session_column(session, OC_COLUMN_RESERVED, &length);
        CHECK_EQ_U64(length, length_before);
        CHECK(column && memcmp(column, values, length * sizeof *values) == 0);
    }
    CHECK_EQ_I64(simulate(session, "{\"gpu\":\"L4\"}"), OC_OK); /* and the session goes on */
    CHECK_EQ_I64(oc_session_error(session)->status, OC_OK);
    CHECK_EQ_TEXT(oc_session_error(session)->name, "ok");
    CHECK_EQ_TEXT(oc_session_error(session)->message, "");
    CHECK_CONTAINS(oc_session_summary(session, NULL), "\"name\":\"L4\"");
    free(before);
    free(values);
    oc_session_close(session);
}

static void a_bad_first_question_leaves_none(void) {
    oc_session *session = finished_job();
    CHECK_EQ_I64(simulate(session, "{\"batch\":0}"), OC_OPTIONS);
    size_t length = 1;
    CHECK(!oc_session_summary(session, &length) && length == 0);
    CHECK_EQ_I64(simulate(session, "{}"), OC_OK);
    oc_session_close(session);
}

/* model.zero_grad() leaves no annotation: where it stands is unknown, so it cannot be moved. */
static void zero_grad_moves_only_where_it_is_seen(void) {
    static const char picture[] = "1 + weight 1000\n50..60 op aten::mm seq=1\n100..110 node MmBackward0 seq=1\n  105 + gradient 1000\n"
                                  "120..125 gradient 250\n200..250 note Optimizer.step#SGD.step\n300 - gradient\n";
    static const char *const places[] = {"start", "after-forward", "after-step"};
    oc_session *session = profile_session_new(picture, NULL);
    for (size_t i = 0; i < 3; i++) {
        char options[60];
        (void)snprintf(options, sizeof options, "{\"zero_grad\":\"%s\"}", places[i]);
        CHECK_EQ_I64(simulate(session, options), OC_OPTIONS);
        check_error(session, OC_OPTIONS, "zero_grad: this profile has no annotation of it");
    }
    CHECK_EQ_I64(simulate(session, "{\"zero_grad\":\"recorded\"}"), OC_OK);
    oc_session_close(session);
}

/* ---- warnings about the job ---- */

static void check_warning_of(oc_session *session, const char *picture, const char *code, bool is_expected) {
    char quoted[60];
    (void)snprintf(quoted, sizeof quoted, "\"code\":\"%s\"", code);
    check_context("%s in %.100s", code, picture);
    if (CHECK_EQ_I64(simulate(session, "{}"), OC_OK))
        CHECK((strstr(oc_session_summary(session, NULL), quoted) != NULL) == is_expected);
    check_context("%s", "");
    oc_session_close(session);
}

static void check_warning(const char *picture, const char *code, bool is_expected) {
    check_warning_of(profile_session_new(picture, NULL), picture, code, is_expected);
}

/* With what the recorder counted. */
static void check_told_parameters(const char *picture, const char *bytes, bool is_expected) {
    char members[100];
    (void)snprintf(members, sizeof members, "\"oomcast\":{\"parameter_bytes\":%s}", bytes);
    char *text = profile_text_new(picture, members, PROFILE_TORCH_26);
    oc_session *session = oc_session_open(0);
    CHECK_EQ_I64(oc_session_feed(session, text, strlen(text)), OC_OK);
    CHECK_EQ_I64(oc_session_finish(session), OC_OK);
    check_warning_of(session, bytes, "parameters_differ", is_expected);
    free(text);
}

#define THREE_ITERATIONS "0..99 note ProfilerStep#1\n100..199 note ProfilerStep#2\n200..299 note ProfilerStep#3\n"

static void jobs_that_need_care(void) {
    check_warning("1 + a 8\n10..20 op Torch-Compiled Region: 0/0\n", "compiled", true);
    check_warning("1 + a 8\n10..20 op aten::mm types=[\"c10::Half\",\"c10::Half\"]\n", "low_precision", true);
    check_warning("1 + a 8\n10..20 op aten::mm types=[\"float\",\"float\"]\n", "low_precision", false);
    check_warning("5 + out 100\n", "no_parameters", true);
    check_warning("1 + weight 1000\n5..9 module Net_0\n6 + out 100\n", "no_parameters", false);
    check_warning("1 + a 8\n10..20 note enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__\n", "unseen_batches", true);
    check_warning("1 + a 8\n"
                  "10..20 note enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__\n"
                  "  15 + inputs 100\n",
                  "unseen_batches", false);
    check_warning("1 + a 8\n10..20 op aten::lstm\n", "recurrent", true);
    check_warning("1 + a 8\n10..20 op aten::linear\n", "recurrent", false);
    check_warning("1 + a 8\n10..20 node A seq=1\n30..40 note Optimizer.step#SGD.step\n", "one_step", true);
    check_warning("1 + a 8\n10..20 node A seq=1\n30..40 note Optimizer.step#SGD.step\n50..60 note Optimizer.step#SGD.step\n", "one_step", false);
    check_warning("1 + a 8\n10..20 node A seq=1\n", "one_step", false);
}

/* The recorder counts the parameters of the model itself; more than a hundredth apart is worth a word. */
static void parameters_that_were_not_found(void) {
    static const char picture[] = "1 + weight 10000\n5..9 module Net_0\n6 + out 100\n";
    check_told_parameters(picture, "10000", false);
    check_told_parameters(picture, "10101", false); /* 101 more, a hundredth is 101 */
    check_told_parameters(picture, "10102", true);
    check_told_parameters(picture, "9902", false);
    check_told_parameters(picture, "9900", true);
    check_told_parameters(picture, "0", false); /* not told */
    check_told_parameters(picture, "-5", false);
    check_told_parameters(picture, "9223372036854775807", true);
}

static void growth_beyond_a_line_is_told(void) {
    static const struct {
        const char *second, *expected, *other;
    } cases[] = {
        {"6400", "1 tensors grow as the square of the batch size", "steeper_than_linear"},
        {"5000", "\"code\":\"steeper_than_linear\"", "as the square of the batch size, as they did"},
        {"3200", "sizes are a straight line through the two recorded batch sizes 4 and 8", "square"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
#define ROWS(batch) "1..2 note ProfilerStep#0\n5..9 op aten::mm dims=[[" batch ",8],[8,8]] types=[\"float\",\"float\"]\n  6 + x "
        char second[200];
        (void)snprintf(second, sizeof second, ROWS("8") "%s\n", cases[i].second);
        check_context("%s", cases[i].second);
        oc_session *session = profile_session_new(ROWS("4") "1600\n", second);
        CHECK_EQ_I64(simulate(session, "{\"batch\":16}"), OC_OK);
        CHECK_CONTAINS(oc_session_summary(session, NULL), cases[i].expected);
        CHECK(!strstr(oc_session_summary(session, NULL), cases[i].other));
        oc_session_close(session);
    }
    check_context("%s", "");
}

/* Both profiles of a pair have their own warnings; each code comes once, with the counts of both. */
static void warnings_of_both_profiles_are_one_list(void) {
    static const char second[] = "1 - old 64\n2 - older 64\n10 + a 2000\n12..20 op aten::mm dims=[[8,8]] types=[\"float\"]\n";
    static const char first[] = "1 - old 64\n10 + a 1000\n12..20 op aten::mm dims=[[4,8]] types=[\"float\"]\n";
    oc_session *session = profile_session_new(first, second);
    CHECK_EQ_I64(simulate(session, "{}"), OC_OK);
    const char *code = strstr(oc_session_summary(session, NULL), "\"code\":\"free_without_allocation\"");
    if (CHECK(code)) {
        static const char item[] = "\"code\":\"free_without_allocation\",\"count\":3,";
        CHECK(strncmp(code, item, sizeof item - 1) == 0);
        CHECK(!strstr(code + sizeof item, "\"free_without_allocation\""));
    }
    oc_session_close(session);
}

/* More than half a per cent above the iterations before. */
static void memory_that_grows_to_the_end(void) {
    check_warning(THREE_ITERATIONS "10 + a 100000\n20 - a\n110 + b 100000\n120 - b\n210 + c 100000\n220 - c\n", "still_growing", false);
    check_warning(THREE_ITERATIONS "10 + a 100000\n110 + b 100000\n210 + c 100000\n", "still_growing", true);
    check_warning(THREE_ITERATIONS "10 + a 200000\n20 - a\n210 + c 201000\n220 - c\n", "still_growing", false);
    check_warning(THREE_ITERATIONS "10 + a 200000\n20 - a\n210 + c 201001\n220 - c\n", "still_growing", true);
    check_warning(THREE_ITERATIONS "10 + a 100000\n20 - a\n110 + b 300000\n120 - b\n210 + c 200000\n220 - c\n", "still_growing", false);
    check_warning("0..99 note ProfilerStep#1\n"
                  "100..199 note ProfilerStep#2\n"
                  "10 + a 100\n"
                  "110 + b 100000\n",
                  "still_growing", false); /* two iterations tell nothing */
}

/* ---- budgets ---- */

static void a_budget_that_is_used_up_is_a_status(void) {
    char *text = job_text(4, 40, PROFILE_TORCH_26);
    int failures = 0, successes = 0;
    char *expected = NULL;
    for (size_t budget = 1; budget < 6000000; budget += budget < 400000 ? 9973 : 199999) {
        oc_session *session = oc_session_open(budget);
        check_context("budget %zu", budget);
        if (!session) {
            failures++;
            CHECK(budget < 400000); /* not even the session's own tables */
            continue;
        }
        oc_status status = oc_session_feed(session, text, strlen(text));
        if (status == OC_OK)
            status = oc_session_finish(session);
        if (status == OC_OK)
            status = simulate(session, "{\"gpu\":\"T4\"}");
        size_t peak;
        oc_session_facts(session, NULL, NULL, &peak);
        CHECK(peak <= budget);
        if (status == OC_OK) {
            successes++;
            if (!expected)
                expected = strdup(oc_session_summary(session, NULL));
            CHECK_EQ_TEXT(oc_session_summary(session, NULL), expected);
        } else {
            failures++;
            CHECK_EQ_I64(status, OC_MEMORY);
            check_error(session, OC_MEMORY, "out of memory");
            CHECK(!oc_session_summary(session, NULL));
        }
        oc_session_close(session);
    }
    CHECK(failures > 0 && successes > 0);
    free(expected);
    free(text);
}

static void questions_do_not_use_up_memory(void) {
    oc_session *session = finished_job();
    size_t after_ten = 0, peak;
    for (int i = 0; i < 200; i++) {
        char options[60];
        (void)snprintf(options, sizeof options, "{\"capacity_bytes\":%d}", 400000000 + i * 1000000);
        CHECK_EQ_I64(simulate(session, options), OC_OK);
        oc_session_facts(session, NULL, NULL, &peak);
        if (i == 10)
            after_ten = peak;
    }
    CHECK_EQ_U64(peak, after_ten);
    oc_session_close(session);
}

static void closing_nothing_is_allowed(void) {
    oc_session_close(NULL);
    oc_session *session = oc_session_open(0);
    CHECK(session);
    oc_session_close(session); /* without anything fed */
    CHECK(!oc_session_open(1));
}

CHECK_MAIN(CHECK_TEST(a_question_is_answered), CHECK_TEST(equal_questions_have_equal_answers),
           CHECK_TEST(every_layout_gives_the_same_answer), CHECK_TEST(facts_tell_what_reading_took), CHECK_TEST(sessions_are_independent),
           CHECK_TEST(an_empty_feed_is_nothing), CHECK_TEST(simulating_comes_after_finishing), CHECK_TEST(feeding_comes_before_finishing),
           CHECK_TEST(two_profiles_are_the_limit), CHECK_TEST(wrong_calls_do_not_stick),
           CHECK_TEST(the_batch_size_can_be_given), CHECK_TEST(batch_sizes_have_limits), CHECK_TEST(the_first_error_stays), CHECK_TEST(errors_name_profile_place_and_event),
           CHECK_TEST(nothing_is_an_empty_file), CHECK_TEST(profiles_that_do_not_match_belong_to_neither),
           CHECK_TEST(a_bad_question_keeps_the_last_answer), CHECK_TEST(a_bad_first_question_leaves_none), CHECK_TEST(zero_grad_moves_only_where_it_is_seen),
           CHECK_TEST(jobs_that_need_care), CHECK_TEST(parameters_that_were_not_found), CHECK_TEST(growth_beyond_a_line_is_told),
           CHECK_TEST(warnings_of_both_profiles_are_one_list),
           CHECK_TEST(memory_that_grows_to_the_end), CHECK_TEST(a_budget_that_is_used_up_is_a_status),
           CHECK_TEST(questions_do_not_use_up_memory), CHECK_TEST(closing_nothing_is_allowed))

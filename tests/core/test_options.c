/* Options: every key, its bounds, and the message of every mistake. */
#include "check.h"
#include "options.h"

#include <stdlib.h>

static oc_options options;
static oc_error error;

static oc_status read_text(const char *text) {
    memset(&options, 0x55, sizeof options);
    memset(&error, 0, sizeof error);
    check_context("%.180s", text);
    /* without a NUL behind it, as the page hands it over */
    size_t length = strlen(text);
    char *exact = malloc(length ? length : 1);
    if (!exact)
        return OC_MEMORY;
    memcpy(exact, text, length);
    oc_status status = oc_options_read(&options, exact, length, &error);
    free(exact);
    return status;
}

static bool refuses(const char *text, const char *part_of_message) {
    oc_status status = read_text(text);
    return CHECK_EQ_I64(status, OC_OPTIONS) && CHECK_CONTAINS(error.message, part_of_message) && CHECK_EQ_TEXT(error.name, "options") &&
           CHECK_EQ_U64(error.byte_offset, OC_NO_OFFSET);
}

static void an_empty_object_gives_the_defaults(void) {
    if (!CHECK_EQ_I64(read_text("{}"), OC_OK))
        return;
    CHECK_EQ_I64(options.batch, 0);
    CHECK(!options.gpu);
    CHECK_EQ_I64(options.capacity_bytes, 0);
    CHECK_EQ_I64(options.reserve_bytes, 0);
    CHECK_EQ_TEXT(options.optimizer, "recorded");
    CHECK_EQ_I64(options.foreach, OC_FOREACH_AUTO);
    CHECK_EQ_I64(options.zero_grad, OC_ZERO_GRAD_RECORDED);
    CHECK_EQ_I64(options.torch_version, 0);
    CHECK_EQ_I64(options.points, 1000);
    CHECK_EQ_F64(options.range_start_ms, 0);
    CHECK_EQ_F64(options.range_end_ms, 0);
    CHECK_EQ_I64(read_text(" { } "), OC_OK);
}

static void every_key_is_read(void) {
    if (!CHECK_EQ_I64(
            read_text(
                "{\"task\": \"estimate\", \"batch\": 64, \"gpu\": \"rtx 4090\", \"reserve_bytes\": 1073741824, \"optimizer\": \"AdamW\", "
                "\"foreach\": \"off\", \"zero_grad\": \"after-step\", \"torch\": \"2.13.0+cu130\", \"points\": 50, \"range_ms\": [1.5, "
                "20]}"),
            OC_OK))
        return;
    CHECK_EQ_I64(options.batch, 64);
    CHECK_EQ_TEXT(options.gpu->name, "GeForce RTX 4090");
    CHECK_EQ_I64(options.capacity_bytes, 25393364992); /* the card's */
    CHECK_EQ_I64(options.reserve_bytes, 1073741824);
    CHECK_EQ_TEXT(options.optimizer, "AdamW");
    CHECK_EQ_I64(options.foreach, OC_FOREACH_OFF);
    CHECK_EQ_I64(options.zero_grad, OC_ZERO_GRAD_AFTER_STEP);
    CHECK_EQ_I64(options.torch_version, 213);
    CHECK_EQ_I64(options.points, 50);
    CHECK_EQ_F64(options.range_start_ms, 1.5);
    CHECK_EQ_F64(options.range_end_ms, 20);
    CHECK_EQ_I64(read_text("{\"capacity_bytes\": 8318222336}"), OC_OK);
    CHECK_EQ_I64(options.capacity_bytes, 8318222336);
    CHECK(!options.gpu);
}

static void words_of_choices(void) {
    static const char *const foreach_words[] = {"auto", "on", "off", "fused"};
    static const char *const zero_grad_words[] = {"recorded", "start", "after-forward", "after-step"};
    char text[100];
    for (int i = 0; i < 4; i++) {
        (void)snprintf(text, sizeof text, "{\"foreach\": \"%s\"}", foreach_words[i]);
        CHECK_EQ_I64(read_text(text), OC_OK);
        CHECK_EQ_I64(options.foreach, i); /* the words stand in the order of the enum */
        (void)snprintf(text, sizeof text, "{\"zero_grad\": \"%s\"}", zero_grad_words[i]);
        CHECK_EQ_I64(read_text(text), OC_OK);
        CHECK_EQ_I64(options.zero_grad, i);
    }
    CHECK_EQ_I64(read_text("{\"foreach\": \"FUSED\"}"), OC_OK);
    CHECK_EQ_I64(options.foreach, OC_FOREACH_FUSED);
    refuses("{\"foreach\": \"yes\"}", "\"foreach\": expected auto, on, off or fused");
    refuses("{\"foreach\": true}", "\"foreach\"");
    refuses("{\"zero_grad\": \"end\"}", "\"zero_grad\": expected recorded, start, after-forward or after-step");
    refuses("{\"zero_grad\": 0}", "\"zero_grad\"");
}

static void batch_has_bounds(void) {
    CHECK_EQ_I64(read_text("{\"batch\": 1}"), OC_OK);
    CHECK_EQ_I64(options.batch, 1);
    CHECK_EQ_I64(read_text("{\"batch\": 100000000}"), OC_OK);
    CHECK_EQ_I64(options.batch, 100000000);
    CHECK_EQ_I64(read_text("{\"batch\": 3e2}"), OC_OK);
    CHECK_EQ_I64(options.batch, 300);
    static const char *const wrong[] = {"0", "-1", "1.5", "100000001", "1e400", "\"64\"", "null", "true", "[64]", "{}"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char text[60];
        (void)snprintf(text, sizeof text, "{\"batch\": %s}", wrong[i]);
        refuses(text, "option \"batch\": expected a whole number from 1 to 100000000");
    }
}

static void bytes_have_bounds(void) {
    CHECK_EQ_I64(read_text("{\"capacity_bytes\": 9007199254740992}"), OC_OK); /* 2^53 */
    CHECK_EQ_I64(options.capacity_bytes, 9007199254740992);
    CHECK_EQ_I64(read_text("{\"reserve_bytes\": 0}"), OC_OK);
    static const char *const wrong[] = {"-1", "0.5", "1e16", "\"1\"", "null", "1e999"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char text[60];
        (void)snprintf(text, sizeof text, "{\"capacity_bytes\": %s}", wrong[i]);
        refuses(text, "option \"capacity_bytes\"");
        (void)snprintf(text, sizeof text, "{\"reserve_bytes\": %s}", wrong[i]);
        refuses(text, "option \"reserve_bytes\"");
    }
    refuses("{\"capacity_bytes\": 0}", "option \"capacity_bytes\"");
}

static void a_capacity_must_leave_something(void) {
    refuses("{\"capacity_bytes\": 367001600}", "leaves nothing after the CUDA context (367001600) and the reserve (0)");
    refuses("{\"capacity_bytes\": 1}", "leaves nothing");
    CHECK_EQ_I64(read_text("{\"capacity_bytes\": 367001601}"), OC_OK);
    refuses("{\"capacity_bytes\": 1367001600, \"reserve_bytes\": 1000000000}", "the reserve (1000000000)");
    CHECK_EQ_I64(read_text("{\"capacity_bytes\": 1367001601, \"reserve_bytes\": 1000000000}"), OC_OK);
    refuses("{\"gpu\": \"T4\", \"reserve_bytes\": 15811477504}", "leaves nothing");
    CHECK_EQ_I64(read_text("{\"reserve_bytes\": 9007199254740992}"), OC_OK); /* without a capacity there is nothing to reserve from */
}

static void a_gpu_and_a_capacity_exclude_each_other(void) {
    refuses("{\"gpu\": \"T4\", \"capacity_bytes\": 15811477504}", "give a GPU or a capacity, not both");
    refuses("{\"capacity_bytes\": 15811477504, \"gpu\": \"T4\"}", "give a GPU or a capacity, not both");
}

static void unknown_gpus_get_suggestions(void) {
    refuses("{\"gpu\": \"RTX 4060 Ti\"}", "unknown GPU \"RTX 4060 Ti\": did you mean GeForce RTX 4060 Ti 16GB, GeForce RTX 4060 Ti 8GB;");
    refuses("{\"gpu\": \"abacus\"}", "unknown GPU \"abacus\"; `oomcast gpus` lists all");
    refuses("{\"gpu\": 4090}", "option \"gpu\": expected the name of a GPU");
    refuses("{\"gpu\": null}", "option \"gpu\"");
    char text[1000] = "{\"gpu\": \""; /* a very long name is cut in the message */
    memset(text + 9, 'x', 900);
    memcpy(text + 909, "\"}", 3);
    refuses(text, "unknown GPU \"xxxxxxxx");
}

static void optimizers_are_names(void) {
    refuses("{\"optimizer\": 1}", "option \"optimizer\": expected \"recorded\" or the name of an optimizer");
    char text[200] = "{\"optimizer\": \"";
    memset(text + 15, 'x', 64);
    memcpy(text + 79, "\"}", 3);
    refuses(text, "option \"optimizer\"");
    memcpy(text + 78, "\"}", 3); /* 63 characters and their NUL fit */
    CHECK_EQ_I64(read_text(text), OC_OK);
    CHECK_EQ_U64(strlen(options.optimizer), 63);
}

static void versions_of_torch(void) {
    CHECK_EQ_I64(oc_torch_version("2.6"), 206);
    CHECK_EQ_I64(oc_torch_version("2.6.0+cu124"), 206);
    CHECK_EQ_I64(oc_torch_version("2.13.0"), 213);
    CHECK_EQ_I64(oc_torch_version("1.13.1"), 113);
    CHECK_EQ_I64(oc_torch_version("10.99"), 1099);
    static const char *const wrong[] = {
        "", "2", "two", "2,6", "v2.6", " 2.6", "-2.6", "100.1", "2.100", "99999999999999999999.1", "2.99999999999999999999"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        check_context("%s", wrong[i]);
        CHECK_EQ_I64(oc_torch_version(wrong[i]), 0);
    }
    refuses("{\"torch\": 2.6}", "option \"torch\": expected a version of PyTorch such as 2.6");
    refuses("{\"torch\": \"new\"}", "option \"torch\"");
}

static void points_have_bounds(void) {
    CHECK_EQ_I64(read_text("{\"points\": 2}"), OC_OK);
    CHECK_EQ_I64(read_text("{\"points\": 20000}"), OC_OK);
    CHECK_EQ_I64(options.points, 20000);
    refuses("{\"points\": 1}", "option \"points\": expected a whole number from 2 to 20000");
    refuses("{\"points\": 20001}", "option \"points\"");
    refuses("{\"points\": \"2\"}", "option \"points\"");
}

static void ranges_go_forward(void) {
    CHECK_EQ_I64(read_text("{\"range_ms\": [-5, 0.25]}"), OC_OK);
    CHECK_EQ_F64(options.range_start_ms, -5);
    CHECK_EQ_F64(options.range_end_ms, 0.25);
    static const char *const wrong[] = {"[1, 1]",     "[2, 1]",    "[1]", "[1, 2, 3]",  "[]",        "1",         "\"1-2\"",
                                        "[\"1\", 2]", "[1, null]", "{}",  "[-1e16, 0]", "[0, 1e16]", "[0, 1e999]"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char text[60];
        (void)snprintf(text, sizeof text, "{\"range_ms\": %s}", wrong[i]);
        refuses(text, "option \"range_ms\": expected [from, to] in milliseconds, from before to");
    }
}

static void other_keys_are_refused(void) {
    refuses("{\"bacth\": 4}", "unknown option \"bacth\"");
    refuses("{\"Batch\": 4}", "unknown option \"Batch\""); /* keys do not ignore case */
    refuses("{\"batch\": 4, \"\": 1}", "unknown option \"\"");
    refuses("{\"task\": \"table\"}", "option \"task\": expected estimate or max_batch");
    refuses("{\"task\": 1}", "option \"task\"");
}

static void what_is_no_object_is_refused(void) {
    static const char *const wrong[] = {"",           " ",       "[]", "1", "\"gpu\"", "null", "{", "{\"batch\": }", "{\"batch\": 4",
                                        "{batch: 4}", "nonsense"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        refuses(wrong[i], "no JSON object");
}

/* Options must not pass in silence: what stands behind the object would. */
static void nothing_may_follow_the_object(void) {
    refuses("{\"batch\": 4} {\"gpu\": \"T4\"}", "no JSON object");
    refuses("{}x", "no JSON object");
    CHECK_EQ_I64(read_text("{\"batch\": 4}\n"), OC_OK);
}

static void allocator_settings_are_read(void) {
    CHECK_EQ_I64(read_text("{\"alloc_conf\": \"expandable_segments:True\", \"memory_fraction\": 0.5, \"gpu\": \"T4\", \"no_caching\": false}"), OC_OK);
    CHECK(options.alloc_conf.allocator.is_expandable && !options.alloc_conf.allocator.is_uncached);
    CHECK_EQ_F64(options.memory_fraction, 0.5);
    CHECK_EQ_TEXT(options.alloc_conf_text, "expandable_segments:True");
    CHECK_EQ_I64(read_text("{\"alloc_conf\": \"per_process_memory_fraction:0.25\", \"capacity_bytes\": 15811477504}"), OC_OK);
    CHECK_EQ_F64(options.memory_fraction, 0.25);
    CHECK_EQ_I64(read_text("{\"no_caching\": true}"), OC_OK);
    CHECK(options.alloc_conf.allocator.is_uncached);
    refuses("{\"alloc_conf\": 5}", "option \"alloc_conf\": expected a text as in PYTORCH_CUDA_ALLOC_CONF");
    refuses("{\"alloc_conf\": \"expandable_segments:1\"}", "allocator option expandable_segments:1: expected True or False");
    refuses("{\"alloc_conf\": \"large_segment_size_mb:32\", \"torch\": \"2.6\"}", "PyTorch 2.6 has no allocator option large_segment_size_mb");
    refuses("{\"memory_fraction\": 0.5}", "a memory fraction is one of a device: give a GPU or a capacity too");
    refuses("{\"memory_fraction\": 0, \"gpu\": \"T4\"}", "option \"memory_fraction\": expected a number above 0, at most 1");
    refuses("{\"no_caching\": 1}", "option \"no_caching\": expected true or false");
    CHECK_EQ_I64(read_text("{\"task\": \"max_batch\", \"gpu\": \"T4\"}"), OC_OK);
    CHECK_EQ_I64(options.task, OC_TASK_MAX_BATCH);
    refuses("{\"task\": \"max_batch\"}", "the largest batch is one on a card: give a GPU or a capacity");
}

CHECK_MAIN(CHECK_TEST(an_empty_object_gives_the_defaults), CHECK_TEST(every_key_is_read), CHECK_TEST(words_of_choices),
           CHECK_TEST(batch_has_bounds), CHECK_TEST(bytes_have_bounds), CHECK_TEST(a_capacity_must_leave_something),
           CHECK_TEST(a_gpu_and_a_capacity_exclude_each_other), CHECK_TEST(unknown_gpus_get_suggestions), CHECK_TEST(optimizers_are_names),
           CHECK_TEST(versions_of_torch), CHECK_TEST(points_have_bounds), CHECK_TEST(ranges_go_forward), CHECK_TEST(other_keys_are_refused),
           CHECK_TEST(what_is_no_object_is_refused), CHECK_TEST(nothing_may_follow_the_object), CHECK_TEST(allocator_settings_are_read))

/* Profile text -> records; what is skipped, repaired, counted; and what each wrong file is told to be. */
#include "check.h"
#include "gzip_text.h"
#include "profile_text.h"

#include <stdlib.h>

static oc_budget budget;
static oc_arena arena;
static oc_interner names;
static oc_error error;
static oc_trace *trace;

/* Reads bytes as one piece; the trace stays open for a look until close_trace(). */
static oc_status read_bytes(const void *bytes, size_t length) {
    budget = (oc_budget){64 << 20, 0, 0};
    oc_arena_init(&arena, &budget);
    memset(&error, 0, sizeof error);
    trace = oc_interner_init(&names, &arena) ? oc_arena_alloc(&arena, 1, sizeof *trace) : NULL;
    if (!trace)
        abort();
    oc_status status = oc_trace_open(trace, &arena, &names, &error);
    if (status == OC_OK && length)
        status = oc_trace_feed(trace, bytes, length);
    return status == OC_OK ? oc_trace_finish(trace) : status;
}

static oc_status read_text(const char *text) {
    return read_bytes(text, strlen(text));
}

static oc_status read_picture(const char *picture, const char *members, profile_layout layout) {
    char *text = profile_text_new(picture, members, layout);
    oc_status status = read_text(text);
    free(text);
    return status;
}

static void close_trace(void) {
    oc_arena_close(&arena);
}

static const oc_op *op_at(size_t i) {
    return &((const oc_op *)oc_list_flatten(&trace->ops, &arena))[i];
}

static const oc_memory_event *memory_at(size_t i) {
    return &((const oc_memory_event *)oc_list_flatten(&trace->memory, &arena))[i];
}

static const oc_span *span_at(const oc_list *list, size_t i) {
    return &((const oc_span *)oc_list_flatten(list, &arena))[i];
}

static const char *name_of(uint32_t number) {
    return oc_intern_text(&names, number, NULL);
}

static const oc_warning *warning_of(const char *code) {
    return oc_warnings_find(&trace->warnings, code);
}

/* ---- records ---- */

static const char small_job[] = "10..90.5 op aten::linear seq=3 dims=[[4,8],[16,8],[]] types=[\"float\",\"float\",\"\"] "
                                "strides=[[8,1],[8,1],[]] concrete=[\"\",\"\",\"1\"]\n"
                                "20 + weights 512\n"
                                "12..80 module Linear_0\n"
                                "13..79 frame torch/nn/modules/module.py(1736): _wrapped_call_impl\n"
                                "0..100 note ProfilerStep#4\n"
                                "30 + data 128 thread=77\n"
                                "85 - weights\n";

static void records_hold_what_the_events_said(void) {
    for (int layout = 0; layout < PROFILE_LAYOUT_COUNT; layout++) {
        check_context("layout %d", layout);
        if (!CHECK_EQ_I64(read_picture(small_job, NULL, (profile_layout)layout), OC_OK)) {
            close_trace();
            continue;
        }
        CHECK_EQ_U64(trace->ops.count, 1);
        CHECK_EQ_U64(trace->memory.count, 3);
        CHECK_EQ_U64(trace->modules.count, 1);
        CHECK_EQ_U64(trace->annotations.count, 1);
        CHECK_EQ_U64(trace->reader.event_count, 7);
        CHECK_EQ_U64(trace->warnings.count, 0);
        const oc_op *op = op_at(0);
        CHECK_EQ_TEXT(name_of(op->name), "aten::linear");
        CHECK_EQ_I64(op->at.start_ns, 10000);
        CHECK_EQ_I64(op->at.end_ns, 90500);
        CHECK_EQ_I64(op->sequence, 3);
        CHECK_EQ_U64(op->at.event_index, 0);
        CHECK_EQ_U64(op->at.parent, OC_NONE);
        oc_shape shape;
        CHECK(oc_shape_read(name_of(op->dims), 1, &shape) && shape.rank == 2 && shape.dims[0] == 16 && shape.dims[1] == 8);
        CHECK(oc_shape_read(name_of(op->strides), 0, &shape) && shape.rank == 2 && shape.dims[0] == 8 && shape.dims[1] == 1);
        CHECK_EQ_I64(oc_shape_element_bytes(name_of(op->types), 1), 4);
        CHECK_CONTAINS(name_of(op->concrete), "\"1\"");
        const oc_memory_event *weights = memory_at(0), *data = memory_at(1), *freed = memory_at(2);
        CHECK_EQ_I64(weights->bytes, 512);
        CHECK_EQ_I64(weights->time_ns, 20000);
        CHECK_EQ_U64(weights->event_index, 1);
        CHECK_EQ_I64(freed->bytes, -512);
        CHECK(freed->address == weights->address && data->address != weights->address && weights->address > (uint64_t)1 << 46);
        CHECK(freed->thread == weights->thread && data->thread != weights->thread && op->at.thread == weights->thread);
        CHECK_EQ_TEXT(name_of(trace->threads[data->thread].name), "77");
        CHECK_EQ_TEXT(name_of(trace->threads[data->thread].process), "8436");
        CHECK_EQ_U64(trace->threads[weights->thread].memory_count, 2);
        CHECK_EQ_TEXT(name_of(span_at(&trace->modules, 0)->name), "nn.Module: Linear_0");
        CHECK_EQ_I64(span_at(&trace->modules, 0)->at.start_ns, 12000);
        CHECK_EQ_TEXT(name_of(span_at(&trace->annotations, 0)->name), "ProfilerStep#4");
        CHECK_EQ_I64(span_at(&trace->annotations, 0)->at.end_ns, 100000);
        close_trace();
    }
}

static void what_was_not_recorded_is_empty(void) {
    if (CHECK_EQ_I64(read_picture("1..2 op aten::add\n1 + a 8\n", NULL, PROFILE_TORCH_26), OC_OK)) {
        const oc_op *op = op_at(0);
        CHECK_EQ_I64(op->sequence, -1);
        CHECK_EQ_U64(op->dims + op->types + op->strides + op->concrete, 0);
        CHECK_EQ_I64(trace->metadata.batch_size, 0);
        CHECK_EQ_U64(trace->metadata.torch_version, 0);
    }
    close_trace();
}

static void events_of_no_use_are_left_out(void) {
    static const char picture[] =
        "1 + a 8\n"
        "raw {\"ph\":\"s\",\"id\":56,\"pid\":1,\"tid\":1,\"ts\":5,\"cat\":\"fwdbwd\",\"name\":\"fwdbwd\"}\n"
        "raw {\"name\":\"process_name\",\"ph\":\"M\",\"ts\":5,\"pid\":1,\"tid\":0,\"args\":{\"name\":\"python\"}}\n"
        "raw {\"ph\":\"X\",\"cat\":\"Trace\",\"ts\":5,\"dur\":1,\"pid\":\"Spans\",\"tid\":\"PyTorch Profiler\",\"name\":\"PyTorch Profiler "
        "(0)\"}\n"
        "raw {\"ph\":\"i\",\"cat\":\"cpu_op\",\"ts\":5,\"pid\":1,\"tid\":1,\"name\":\"aten::add\"}\n"
        "raw {\"ph\":\"X\",\"cat\":\"kernel\",\"ts\":5,\"dur\":1,\"pid\":0,\"tid\":7,\"name\":\"sgemm\"}\n"
        "raw {\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"ts\":5,\"dur\":1,\"pid\":0,\"tid\":7,\"name\":\"Memcpy HtoD\"}\n"
        "raw {}\n"
        "1..2 frame threading.py(1): run\n";
    if (CHECK_EQ_I64(read_picture(picture, NULL, PROFILE_TORCH_26), OC_OK)) {
        CHECK_EQ_U64(trace->ops.count + trace->modules.count + trace->annotations.count, 0);
        CHECK_EQ_U64(trace->memory.count, 1);
        CHECK_EQ_U64(trace->reader.event_count, 9);
        CHECK_EQ_U64(trace->device_event_count, 2);
        CHECK_EQ_U64(trace->warnings.count, 0);
        CHECK_EQ_U64(trace->thread_count, 1); /* nor do their threads count */
    }
    close_trace();
}

static void old_versions_name_things_otherwise(void) {
    static const char picture[] =
        "raw {\"ph\":\"X\",\"cat\":\"Operator\",\"name\":\"aten::add\",\"pid\":1,\"tid\":1,\"ts\":5,\"dur\":2,\"args\":{\"Input "
        "dims\":[[4]]}}\n" /* torch 1.10 */
        "raw {\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"ProfilerStep#1\",\"pid\":1,\"tid\":1,\"ts\":5,\"dur\":2}\n"
        "raw {\"ph\":\"X\",\"cat\":\"Operator\",\"name\":\"Optimizer.step#SGD.step\",\"pid\":1,\"tid\":1,\"ts\":5,\"dur\":2}\n"
        "raw "
        "{\"ph\":\"i\",\"cat\":\"cpu_op\",\"s\":\"t\",\"name\":\"[memory]\",\"pid\":1,\"tid\":1,\"ts\":5,\"args\":{\"Bytes\":64,\"Addr\":"
        "4096}}\n"
        "raw {\"ph\":\"i\",\"s\":\"t\",\"name\":\"[memory]\",\"pid\":1,\"tid\":1,\"ts\":6,\"args\":{\"Device "
        "Type\":0,\"Bytes\":-64,\"Addr\":4096}}\n";
    if (CHECK_EQ_I64(read_picture(picture, NULL, PROFILE_TORCH_26), OC_OK)) {
        CHECK_EQ_U64(trace->ops.count, 1);
        CHECK_EQ_TEXT(name_of(op_at(0)->dims), "[[4]]");
        CHECK_EQ_U64(trace->annotations.count, 2);
        CHECK_EQ_U64(trace->memory.count, 2);
    }
    close_trace();
}

static void addresses_keep_all_their_digits(void) {
    static const char picture[] =
        "raw {\"ph\":\"i\",\"name\":\"[memory]\",\"pid\":1,\"tid\":1,\"ts\":5,\"args\":{\"Bytes\":64,\"Addr\":9007199254740993}}\n"
        "raw "
        "{\"ph\":\"i\",\"name\":\"[memory]\",\"pid\":1,\"tid\":1,\"ts\":6,\"args\":{\"Bytes\":70368744177663,\"Addr\":"
        "18446744073709551614}}\n";
    if (CHECK_EQ_I64(read_picture(picture, NULL, PROFILE_TORCH_26), OC_OK)) {
        CHECK_EQ_U64(memory_at(0)->address, 9007199254740993u);
        CHECK_EQ_U64(memory_at(1)->address, 18446744073709551614u);
        CHECK_EQ_I64(memory_at(1)->bytes, 70368744177663);
    }
    close_trace();
}

#define MEMORY(ts, bytes) "raw {\"ph\":\"i\",\"name\":\"[memory]\",\"pid\":1,\"tid\":1,\"ts\":" ts ",\"args\":{\"Bytes\":" bytes ",\"Addr\":7}}\n"

/* 64 TiB in one block, or a time of 73 years, can only be damage: the event is left out and counted. */
static void numbers_that_cannot_be_are_skipped(void) {
    static const char *const events[] = {
        MEMORY("6", "70368744177664"), MEMORY("6", "-70368744177664"),     MEMORY("6", "9223372036854775807"), MEMORY("6", "-9223372036854775808"),
        MEMORY("1e300", "8"),          MEMORY("-1e300", "8"),              MEMORY("99999999999999999999", "8"),
                 MEMORY("2305843009213693.952", "8"), MEMORY("-2305843009213693.952", "8"),
        "raw {\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::x\",\"pid\":1,\"tid\":1,\"ts\":6,\"dur\":-1}\n",
        "raw {\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::x\",\"pid\":1,\"tid\":1,\"ts\":6,\"dur\":1e300}\n"};
    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++) {
        char picture[400];
        (void)snprintf(picture, sizeof picture, "1..2 op aten::ones\n1 + a 64\n%s", events[i]);
        check_context("%s", events[i]);
        if (CHECK_EQ_I64(read_picture(picture, NULL, PROFILE_TORCH_26), OC_OK)) {
            CHECK_EQ_U64(trace->memory.count, 1);
            CHECK_EQ_U64(trace->ops.count, 1);
            if (CHECK(warning_of("impossible_number")))
                CHECK_EQ_U64(warning_of("impossible_number")->count, 1);
        }
        close_trace();
    }
    check_context("%s", "");
    if (CHECK_EQ_I64(read_picture("1 + a 64\n" MEMORY("2305843009213693.951", "-70368744177663"), NULL, PROFILE_TORCH_26), OC_OK)) {
        CHECK_EQ_U64(trace->memory.count, 2); /* the largest that can be */
        CHECK(!warning_of("impossible_number"));
    }
    close_trace();
}

/* torch wrote whole microseconds until 2.3: the order of events is open then. */
static void fractions_of_times_are_noticed(void) {
    CHECK_EQ_I64(read_picture("1..2 op aten::ones\n1 + a 64\n", NULL, PROFILE_TORCH_26), OC_OK);
    CHECK_EQ_I64(trace->has_fractions, 0);
    close_trace();
    CHECK_EQ_I64(read_picture("1..2 op aten::ones\n1.5 + a 64\n", NULL, PROFILE_TORCH_26), OC_OK);
    CHECK_EQ_I64(trace->has_fractions, 1);
    close_trace();
}

static void keys_may_come_in_any_order(void) {
    static const char picture[] = "raw {\"args\":{\"Ev Idx\":9,\"Other\":[{\"a\":\"}\"}],\"Sequence number\":5,\"Input "
                                  "Dims\":[[2]]},\"dur\":2,\"ts\":5,\"tid\":3,\"pid\":2,"
                                  "\"name\":\"aten::add\",\"cat\":\"cpu_op\",\"ph\":\"X\"}\n"
                                  "1 + a 8\n";
    if (CHECK_EQ_I64(read_picture(picture, NULL, PROFILE_TORCH_26), OC_OK) && CHECK_EQ_U64(trace->ops.count, 1)) {
        CHECK_EQ_I64(op_at(0)->sequence, 5);
        CHECK_EQ_U64(op_at(0)->at.event_index, 9);
        CHECK_EQ_I64(op_at(0)->at.end_ns, 7000);
        CHECK_EQ_TEXT(name_of(op_at(0)->dims), "[[2]]");
    }
    close_trace();
}

static void values_of_wrong_types_do_no_harm(void) {
    static const char picture[] =
        "1 + a 8\n"
        "raw {\"ph\":{},\"cat\":[],\"name\":7,\"pid\":{\"a\":1},\"tid\":null,\"ts\":\"x\",\"dur\":[1],\"args\":[1]}\n"
        "raw {\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":{\"a\":1},\"pid\":[],\"tid\":[2],\"ts\":true,\"dur\":null,\"args\":{\"Input "
        "Dims\":7,\"Bytes\":{}}}\n"
        "raw {\"ph\":\"X\",\"cat\":\"cpu_op\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1}\n"
        "raw {\"ph\":\"X\",\"cat\":\"python_function\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1}\n"
        "raw {\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1}\n";
    CHECK_EQ_I64(read_picture(picture, NULL, PROFILE_TORCH_26), OC_OK);
    CHECK_EQ_U64(trace->memory.count, 1);
    CHECK_EQ_U64(trace->reader.event_count, 6);
    for (size_t i = 0; i < trace->ops.count; i++)
        CHECK_EQ_TEXT(name_of(op_at(i)->name), "");
    close_trace();
}

static void threads_are_told_apart_by_process_and_name(void) {
    static const char picture[] = "1 + a 8 process=1 thread=5\n"
                                  "2 + b 8 process=2 thread=5\n"
                                  "3 + c 8 process=1 thread=6\n"
                                  "4 - a process=1 thread=5\n"
                                  "5 + d 8 process=\"Spans\" thread=\"x\"\n";
    if (CHECK_EQ_I64(read_picture(picture, NULL, PROFILE_TORCH_26), OC_OK)) {
        CHECK_EQ_U64(trace->thread_count, 4);
        CHECK_EQ_U64(memory_at(3)->thread, memory_at(0)->thread);
        CHECK(memory_at(0)->thread != memory_at(1)->thread && memory_at(0)->thread != memory_at(2)->thread);
        CHECK_EQ_TEXT(name_of(trace->threads[memory_at(4)->thread].process), "Spans");
    }
    close_trace();
}

static void too_many_threads_are_refused(void) {
    enum { COUNT = OC_THREAD_LIMIT + 1, EVENT_BYTES = 150 };
    char *text = malloc(COUNT * EVENT_BYTES), *at = text;
    if (!CHECK(text))
        return;
    *at++ = '[';
    for (int i = 0; i < COUNT; i++)
        at += snprintf(at, EVENT_BYTES,
                       "%s{\"ph\":\"i\",\"name\":\"[memory]\",\"pid\":1,\"tid\":%d,\"ts\":%d,\"args\":{\"Bytes\":8,\"Addr\":%d}}",
                       i ? "," : "", i, i, 64 * i);
    CHECK_EQ_I64(read_bytes(text, (size_t)(at - text)), OC_WRONG_KIND);
    CHECK_CONTAINS(error.message, "more than 4096 threads");
    close_trace();
    free(text);
}

static void metadata_and_flags_are_read(void) {
    if (CHECK_EQ_I64(
            read_picture(
                "1 + a 8\n",
                "\"with_stack\":0,\"oomcast\":{\"version\":1,\"torch\":\"2.6.0+cu124\",\"batch_size\":48,\"parameter_bytes\":11203216,"
                "\"optimizer\":{\"class\":\"SGD\",\"batch_size\":7}}",
                PROFILE_TORCH_26),
            OC_OK)) {
        CHECK_EQ_I64(trace->metadata.batch_size, 48); /* not the inner one */
        CHECK_EQ_I64(trace->metadata.parameter_bytes, 11203216);
        CHECK_EQ_TEXT(name_of(trace->metadata.torch_version), "2.6.0+cu124");
        CHECK_EQ_I64(trace->with_stack, 0);
        CHECK_EQ_I64(trace->record_shapes, 1);
        CHECK_EQ_I64(trace->profile_memory, 1);
    }
    close_trace();
    if (CHECK_EQ_I64(read_picture("1 + a 8\n", "\"oomcast\":17", PROFILE_ARRAY), OC_OK)) /* no header at all */
        CHECK(trace->profile_memory == -1 && trace->record_shapes == -1 && trace->with_stack == -1);
    close_trace();
    if (CHECK_EQ_I64(read_picture("1 + a 8\n", "\"oomcast\":[1,2]", PROFILE_COMPACT), OC_OK))
        CHECK_EQ_I64(trace->metadata.batch_size, 0);
    close_trace();
}

static void a_byte_order_mark_is_skipped(void) {
    char *profile = profile_text_new(small_job, NULL, PROFILE_TORCH_26), *marked = malloc(strlen(profile) + 4);
    if (!CHECK(marked))
        return;
    (void)snprintf(marked, strlen(profile) + 4, "\xef\xbb\xbf%s", profile);
    CHECK_EQ_I64(read_text(marked), OC_OK);
    CHECK_EQ_U64(trace->ops.count, 1);
    CHECK_EQ_U64(trace->reader.offset, strlen(marked)); /* offsets count the mark */
    close_trace();
    CHECK_EQ_I64(read_text("\xef\xbb\xbf"), OC_EMPTY);
    close_trace();
    CHECK_EQ_I64(read_text("\xef\xbb\xbf{x"), OC_SYNTAX);
    CHECK_EQ_U64(error.byte_offset, 4);
    close_trace();
    free(marked);
    free(profile);
}

/* ---- damage ---- */

/* A profile with one damaged event after `small_job`; the offset of that event. */
static char *damaged_text(const char *category, const char *name, uint64_t *offset) {
    static const char end[] = "\n  ],\n  \"traceName\"";
    char *profile = profile_text_new(small_job, NULL, PROFILE_TORCH_26);
    char *cut = strstr(profile, end);
    size_t size = strlen(profile) + strlen(name) + 300;
    char *text = malloc(size);
    if (!text || !cut)
        abort();
    *cut = 0;
    *offset = strlen(profile) + 4;
    (void)snprintf(text, size,
                   "%s,\n  {\n    \"ph\": \"X\", \"cat\": \"%s\", \"name\": \"%s\", \"pid\": 8436, \"tid\": 8436,\n    \"ts\": 95.000, "
                   "\"dur\": 1.000,\n    \"args\": {\n      \"Ev Idx\": 7\n"
                   "    }\n  }\n  ],\n  \"traceName\": \"x\"\n}\n",
                   profile, category, name);
    free(profile);
    return text;
}

static void check_damage(const char *category, const char *name, const char *code, const char *kept) {
    uint64_t offset;
    char *text = damaged_text(category, name, &offset);
    check_context("%s %s", category, name);
    if (CHECK_EQ_I64(read_text(text), OC_OK)) {
        CHECK_EQ_U64(trace->memory.count, 3); /* nothing else is hurt */
        CHECK_EQ_U64(trace->warnings.count, 1);
        const oc_warning *warning = warning_of(code);
        if (CHECK(warning)) {
            CHECK_EQ_U64(warning->count, 1);
            CHECK_EQ_U64(warning->first_offset, offset);
        }
        CHECK_EQ_U64(trace->ops.count, kept ? 2 : 1);
        if (kept && trace->ops.count == 2) {
            CHECK_EQ_TEXT(name_of(op_at(1)->name), kept);
            CHECK_EQ_I64(op_at(1)->at.start_ns, 95000);
            CHECK_EQ_U64(op_at(1)->at.event_index, 7);
        }
    }
    close_trace();
    check_context("%s", "");
    free(text);
}

static void names_with_bad_bytes_are_repaired(void) {
    check_damage("cpu_op",
                 "a\x01"
                 "b",
                 "damaged_name", "a?b");
    check_damage("cpu_op", "a\xf0\x9f", "damaged_name", "a??");
}

static void unescaped_quotes_and_backslashes_are_repaired(void) {
    check_damage("cpu_op", "{\"device\": \"cpu\"}(12): run", "unescaped_name", "{?device?: ?cpu?}(12): run");
    check_damage("cpu_op", "ends with a quote\"", "unescaped_name", "ends with a quote?");
    check_damage("cpu_op", "C:\\torch\\", "unescaped_name", "C:?torch?"); /* the last backslash hides the quote */
    check_damage("cpu_op", "\"", "unescaped_name", "?");
}

static void damaged_frames_are_skipped_and_counted(void) {
    check_damage("python_function", "torch/_inductor/config.py(0): \x01\x02\xf0", "damaged_frame", NULL);
    check_damage("python_function", "{\"device\": \"cpu\"}(12): run", "unescaped_name", NULL);
}

static void an_event_beyond_repair_is_skipped_alone(void) {
    check_damage("cpu_op\", \"x\" \"y", "aten::add", "damaged_event", NULL);
    check_damage("cpu_op\", \"x", "aten::add", "damaged_event", NULL); /* a member without a value */
}

static void bad_escapes_are_their_own_characters(void) {
    uint64_t offset;
    char *text = damaged_text("cpu_op", "torch\\cuda\\u00e9\\\"x\\\"", &offset);
    if (CHECK_EQ_I64(read_text(text), OC_OK) && CHECK_EQ_U64(trace->ops.count, 2))
        CHECK_EQ_TEXT(name_of(op_at(1)->name), "torchcuda\xc3\xa9\"x\"");
    CHECK_EQ_U64(trace->warnings.count, 0);
    close_trace();
    free(text);
}

static void damage_is_counted_once_per_event(void) {
    static const char picture[] = "1 + a 8\n1..2 op a\x01\n1..2 op b\x01\n1..2 op c\x02\n";
    if (CHECK_EQ_I64(read_picture(picture, NULL, PROFILE_TORCH_26), OC_OK)) {
        CHECK_EQ_U64(profile_warning(&trace->warnings, "damaged_name"), 3);
        CHECK_EQ_U64(trace->ops.count, 3);
    }
    close_trace();
}

static void a_very_long_escaped_name_is_cut(void) {
    char name[3000];
    memset(name, 'x', sizeof name - 1);
    name[0] = '\\';
    name[1] = 'n';
    name[sizeof name - 1] = 0;
    uint64_t offset;
    char *text = damaged_text("cpu_op", name, &offset);
    if (CHECK_EQ_I64(read_text(text), OC_OK) && CHECK_EQ_U64(trace->ops.count, 2)) {
        size_t length = strlen(name_of(op_at(1)->name));
        CHECK(length > 1000 && length <= 1024);
    }
    close_trace();
    free(text);
}

static void junk_between_events_is_a_warning(void) {
    char *text = profile_text_new("1 + a 8\nraw junk\n2 - a\nraw 17\n", NULL, PROFILE_TORCH_26);
    if (CHECK_EQ_I64(read_text(text), OC_OK)) {
        const oc_warning *warning = warning_of("junk_between_events");
        if (CHECK(warning)) {
            CHECK_EQ_U64(warning->count, 2);
            CHECK_EQ_U64(warning->first_offset, (uint64_t)(strstr(text, "junk") - text));
        }
        CHECK_EQ_U64(trace->memory.count, 2);
    }
    close_trace();
    free(text);
}

static void a_value_that_is_too_long_is_a_warning(void) {
    size_t length = OC_JSON_ITEM_LIMIT + 100;
    char *text = malloc(length + 300);
    if (!CHECK(text))
        return;
    int start = snprintf(text, 300, "{\"long\": \"");
    memset(text + start, 'x', length);
    (void)snprintf(
        text + (size_t)start + length, 200,
        "\", \"traceEvents\": [{\"ph\":\"i\",\"name\":\"[memory]\",\"pid\":1,\"tid\":1,\"ts\":5,\"args\":{\"Bytes\":8,\"Addr\":64}}]}");
    budget = (oc_budget){256 << 20, 0, 0};
    oc_arena_init(&arena, &budget);
    memset(&error, 0, sizeof error);
    if (CHECK(oc_interner_init(&names, &arena) && (trace = oc_arena_alloc(&arena, 1, sizeof *trace)) != NULL)) {
        oc_status status = oc_trace_open(trace, &arena, &names, &error);
        size_t whole = strlen(text);
        for (size_t at = 0; at < whole && status == OC_OK; at += 1 << 20)
            status = oc_trace_feed(trace, (const uint8_t *)text + at, whole - at < 1 << 20 ? whole - at : 1 << 20);
        CHECK_EQ_I64(status, OC_OK);
        CHECK_EQ_I64(oc_trace_finish(trace), OC_OK);
        CHECK_EQ_U64(profile_warning(&trace->warnings, "too_long"), 1);
        CHECK_EQ_U64(trace->memory.count, 1);
    }
    close_trace();
    free(text);
}

/* ---- gzip ---- */

static void gzip_is_recognised(void) {
    char *profile = profile_text_new(small_job, NULL, PROFILE_TORCH_26);
    size_t length;
    uint8_t *gzip = gzip_new(profile, strlen(profile), &length);
    if (CHECK_EQ_I64(read_bytes(gzip, length), OC_OK)) {
        CHECK_EQ_U64(trace->memory.count, 3);
        CHECK_EQ_U64(trace->input_bytes, length);
        CHECK_EQ_U64(trace->reader.offset, strlen(profile));
        CHECK_EQ_U64(trace->warnings.count, 0);
    }
    close_trace();
    free(gzip);
    free(profile);
}

static void bytes_after_gzip_are_a_warning(void) {
    char *profile = profile_text_new(small_job, NULL, PROFILE_TORCH_26);
    uint8_t *gzip = calloc(1, gzip_member_bytes(strlen(profile)) + 512);
    if (!CHECK(gzip))
        return;
    size_t length = gzip_put_member(gzip, profile, strlen(profile));
    if (CHECK_EQ_I64(read_bytes(gzip, length + 512), OC_OK))
        CHECK_EQ_U64(profile_warning(&trace->warnings, "gzip_trailing_bytes"), 512);
    close_trace();
    free(gzip);
    free(profile);
}

/* Wherever a gzip file is cut, it is said to be cut, with the bytes that were there: as a warning once memory events can be used. */
static void a_cut_gzip_file_is_told(void) {
    char *profile = profile_text_new(small_job, NULL, PROFILE_TORCH_26);
    size_t length;
    uint8_t *gzip = gzip_new(profile, strlen(profile), &length);
    for (size_t cut = 2; cut < length; cut += cut < 100 ? 1 : 101) {
        check_context("cut after %zu of %zu", cut, length);
        if (read_bytes(gzip, cut) == OC_OK) {
            CHECK(trace->is_cut && trace->memory.count);
            CHECK_EQ_U64(trace->cut_offset, cut);
            CHECK_EQ_I64(oc_trace_refuse_cut(trace, &error), OC_TRUNCATED);
        } else {
            CHECK_EQ_I64(error.status, OC_TRUNCATED);
            CHECK(!trace->memory.count || trace->last_kind == OC_LAST_OP);
        }
        CHECK_EQ_U64(error.byte_offset, cut);
        CHECK_CONTAINS(error.message, "the gzip file is cut off after");
        close_trace();
    }
    check_context("the last byte missing");
    CHECK_EQ_I64(read_bytes(gzip, length - 1), OC_OK);
    CHECK_EQ_U64(profile_warning(&trace->warnings, "truncated"), 1);
    CHECK_EQ_I64(oc_trace_refuse_cut(trace, &error), OC_TRUNCATED);
    CHECK_CONTAINS(error.message, "7 events were read");
    close_trace();
    free(gzip);
    free(profile);
}

/* Each thread has its own operators and memory events: what is missing of a second one cannot be told. */
static void a_cut_file_of_two_threads_is_refused(void) {
    static const char *const pictures[] = {"10..20 op aten::mm\n15 + a 64\n30..40 op aten::mm\n35 + b 64\n", "10..20 op aten::mm\n15 + a 64\n30..40 op aten::mm thread=77\n35 + b 64\n"};
    for (int is_threaded = 0; is_threaded < 2; is_threaded++) {
        char *profile = profile_text_new(pictures[is_threaded], NULL, PROFILE_TORCH_26);
        check_context("%d more threads", is_threaded);
        *strrchr(profile, ']') = 0;
        CHECK_EQ_I64(read_text(profile), is_threaded ? OC_TRUNCATED : OC_OK);
        CHECK_EQ_I64(trace->is_threaded, is_threaded);
        close_trace();
        free(profile);
    }
    check_context("%s", "");
}

static void gzip_of_nothing_is_empty(void) {
    size_t length;
    uint8_t *gzip = gzip_new("", 0, &length);
    CHECK_EQ_I64(read_bytes(gzip, length), OC_EMPTY);
    close_trace();
    free(gzip);
}

/* ---- wrong files ---- */

static void wrong_files_are_told_what_they_are(void) {
    static const struct {
        const char *text;
        oc_status status;
        uint64_t offset;
        const char *message;
    } cases[] = {
        {"", OC_EMPTY, OC_NO_OFFSET, "the file is empty. Record one on the CPU"},
        {" \n\t ", OC_EMPTY, OC_NO_OFFSET, "the file holds nothing but white space"},
        {"PK\x03\x04 a model", OC_WRONG_KIND, 0, "this is a ZIP archive"},
        {"P", OC_WRONG_KIND, 0, "this is plain text"},
        {"import torch", OC_WRONG_KIND, 0, "this is plain text, not a profile. Record one on the CPU"},
        {"<html>", OC_WRONG_KIND, 0, "this is an HTML or XML page"},
        {"{\"segments\": [{\"address\": 1}], \"device_traces\": [[]]}", OC_WRONG_KIND, 0, "this is a CUDA memory snapshot"},
        {"{\"device_traces\": []}", OC_WRONG_KIND, 0, "this is a CUDA memory snapshot"},
        {"{\"schema\": \"1.0.2-chakra.0.0.4\", \"nodes\": [{\"id\": 2}]}", OC_WRONG_KIND, 0,
         "this is an execution trace (ExecutionTraceObserver)"},
        {"[[1726077563878112, 1726077563878112], [[0, 1], [2, 3]]]", OC_WRONG_KIND, 0, "a memory timeline"},
        {"[]", OC_WRONG_KIND, 0, "holds no trace events"},
        {"{}", OC_WRONG_KIND, 0, "has no \"traceEvents\""},
        {"{\"name\": \"x\", \"version\": 3}", OC_WRONG_KIND, 0, "has no \"traceEvents\" (its first key is \"name\")"},
        {"{\"traceEvents\": {}}", OC_WRONG_KIND, 0, "has no \"traceEvents\""},
        {"{\"traceEvents\": []}", OC_WRONG_KIND, OC_NO_OFFSET, "no CPU operators of PyTorch in it (0 events, 0 of a GPU)"},
        {"{\"traceEvents\": [{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"sgemm\",\"ts\":1,\"dur\":1}]}", OC_WRONG_KIND, OC_NO_OFFSET,
         "(1 events, 1 of a GPU)"},
        {"{\"traceEvents\": [{\"ph\":\"i\",\"name\":\"[memory]\",\"ts\":1,\"args\":{\"Device Type\":1,\"Addr\":64,\"Bytes\":512}}]}",
         OC_NO_MEMORY_EVENTS, OC_NO_OFFSET, "recorded on a GPU and its 1 memory events have no addresses or totals"},
        {"{\"traceEvents\": [{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::add\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1}]}",
         OC_NO_MEMORY_EVENTS, OC_NO_OFFSET, "recorded without profile_memory=True"},
        {"{\"profile_memory\": 1, \"traceEvents\": "
         "[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::add\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1}]}",
         OC_NO_MEMORY_EVENTS, OC_NO_OFFSET, "says profile_memory=True but has no memory events"},
        {"{\"traceEvents\": [{\"ph\":\"i\",\"name\":\"[memory]\",\"pid\":1,\"tid\":1,\"ts\":1,\"args\":{\"Device "
         "Type\":0,\"Bytes\":512}}]}",
         OC_NO_MEMORY_EVENTS, OC_NO_OFFSET, "have no addresses"},
        {"{\"traceEvents\": [{\"ph\":\"i\",\"name\":\"[memory]\",\"pid\":1,\"tid\":1,\"ts\":1,\"args\":{\"Addr\":64,\"Bytes\":9e300}}]}",
         OC_NO_MEMORY_EVENTS, 17, "no memory event of this profile can be used: 1 have times or sizes that cannot be, the first at byte 17"},
        {"{\"traceEvents\": [{\"a\": 1}, {\"b\": ", OC_TRUNCATED, 33, "the file is cut off at byte 33 (1 events were read)"},
        {"{", OC_TRUNCATED, 1, "the file is cut off at byte 1 (0 events were read)"},
        {"{\"a\": 1 b}", OC_SYNTAX, 8, "not valid JSON at byte 8 (found 'b'"},
        {"                                                                          text", OC_SYNTAX, 74, "not valid JSON at byte 74"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check_context("%.100s", cases[i].text);
        CHECK_EQ_I64(read_text(cases[i].text), cases[i].status);
        CHECK_EQ_U64(error.byte_offset, cases[i].offset);
        CHECK_CONTAINS(error.message, cases[i].message);
        CHECK(!strchr(error.message, '\n'));
        close_trace();
    }
}

static void gpu_memory_is_kept_if_it_has_totals(void) {
    CHECK_EQ_I64(read_picture("1 + a 8\n2 + b 512 device=1\n", NULL, PROFILE_TORCH_26), OC_NO_MEMORY_EVENTS); /* in spite of the CPU's */
    CHECK_CONTAINS(error.message, "its 1 memory events have no addresses or totals");
    close_trace();
    CHECK_EQ_I64(read_text("{\"traceEvents\": [{\"ph\":\"i\",\"name\":\"[memory]\",\"pid\":1,\"tid\":1,\"ts\":3,\"args\":{\"Device Type\":6,\"Device Id\":2,"
                           "\"Addr\":64,\"Bytes\":-512,\"Total Allocated\":1024,\"Total Reserved\":2048}},{\"ph\":\"i\",\"name\":\"[memory]\",\"pid\":1,"
                           "\"tid\":1,\"ts\":4,\"args\":{\"Device Type\":1,\"Addr\":64,\"Bytes\":512,\"Total Allocated\":-1,\"Total Reserved\":1}}]}"),
                 OC_OK);
    CHECK_EQ_U64(trace->device_memory.count, 1);
    CHECK_EQ_U64(trace->orphan_device_count, 1); /* a total below 0 cannot be */
    const oc_device_event *event = oc_list_flatten(&trace->device_memory, &arena);
    if (CHECK(event)) {
        CHECK_EQ_I64(event->device_type, 6);
        CHECK_EQ_I64(event->device_id, 2);
        CHECK_EQ_I64(event->memory.bytes, -512);
        CHECK_EQ_I64(event->allocated_bytes, 1024);
        CHECK_EQ_I64(event->reserved_bytes, 2048);
    }
    close_trace();
}

static void without_memory_reading_fails(void) {
    char *profile = profile_text_new(small_job, NULL, PROFILE_TORCH_26);
    for (size_t limit = 0; limit < 400000; limit += 5000) {
        budget = (oc_budget){limit, 0, 0};
        oc_arena_init(&arena, &budget);
        memset(&error, 0, sizeof error);
        check_context("budget %zu", limit);
        oc_status status = OC_MEMORY;
        if (oc_interner_init(&names, &arena) && (trace = oc_arena_alloc(&arena, 1, sizeof *trace)) != NULL) {
            status = oc_trace_open(trace, &arena, &names, &error);
            if (status == OC_OK)
                status = oc_trace_feed(trace, (const uint8_t *)profile, strlen(profile));
            if (status == OC_OK)
                status = oc_trace_finish(trace);
        }
        CHECK(status == OC_MEMORY || (status == OC_OK && trace->memory.count == 3 && trace->ops.count == 1));
        oc_arena_close(&arena);
    }
    free(profile);
}

CHECK_MAIN(CHECK_TEST(a_cut_file_of_two_threads_is_refused), CHECK_TEST(records_hold_what_the_events_said), CHECK_TEST(what_was_not_recorded_is_empty),
           CHECK_TEST(events_of_no_use_are_left_out), CHECK_TEST(old_versions_name_things_otherwise),
           CHECK_TEST(addresses_keep_all_their_digits), CHECK_TEST(numbers_that_cannot_be_are_skipped), CHECK_TEST(fractions_of_times_are_noticed),
           CHECK_TEST(keys_may_come_in_any_order),
           CHECK_TEST(values_of_wrong_types_do_no_harm), CHECK_TEST(threads_are_told_apart_by_process_and_name),
           CHECK_TEST(too_many_threads_are_refused), CHECK_TEST(metadata_and_flags_are_read), CHECK_TEST(a_byte_order_mark_is_skipped),
           CHECK_TEST(names_with_bad_bytes_are_repaired), CHECK_TEST(unescaped_quotes_and_backslashes_are_repaired),
           CHECK_TEST(damaged_frames_are_skipped_and_counted), CHECK_TEST(an_event_beyond_repair_is_skipped_alone),
           CHECK_TEST(bad_escapes_are_their_own_characters), CHECK_TEST(damage_is_counted_once_per_event),
           CHECK_TEST(a_very_long_escaped_name_is_cut), CHECK_TEST(junk_between_events_is_a_warning),
           CHECK_TEST(a_value_that_is_too_long_is_a_warning), CHECK_TEST(gzip_is_recognised), CHECK_TEST(bytes_after_gzip_are_a_warning),
           CHECK_TEST(a_cut_gzip_file_is_told), CHECK_TEST(gzip_of_nothing_is_empty), CHECK_TEST(wrong_files_are_told_what_they_are),
           CHECK_TEST(gpu_memory_is_kept_if_it_has_totals), CHECK_TEST(without_memory_reading_fails))

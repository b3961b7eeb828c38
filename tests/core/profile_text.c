/* Pictures -> profile text in several layouts -> the stages of the core. */
#include "profile_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_LIMIT = 256, FIELD_LIMIT = 16, VALUE_LIMIT = 900 };

#define FIRST_ADDRESS 94263318860160u /* as seen in a real profile: above 2^46 */

static void fail(const char *what, const char *line) {
    fprintf(stderr, "profile_text: %s: %.120s\n", what, line);
    abort();
}

/* ---- text that grows ---- */

typedef struct text {
    char *data;
    size_t length, capacity;
} text;

static void put(text *t, const char *data, size_t length) {
    if (t->length + length + 1 > t->capacity) {
        t->capacity = (t->length + length + 1) * 2;
        t->data = realloc(t->data, t->capacity);
        if (!t->data)
            abort();
    }
    memcpy(t->data + t->length, data, length);
    t->length += length;
    t->data[t->length] = 0;
}

static void put_text(text *t, const char *s) {
    put(t, s, strlen(s));
}

static void put_line(text *t, int indent) {
    put_text(t, "\n");
    for (int i = 0; i < indent; i++)
        put_text(t, " ");
}

/* Copies compact JSON, handing every character outside of strings to `outside`. */
static void put_json(text *t, const char *json, void (*outside)(text *t, const char *at, int *depth)) {
    int depth = 0;
    while (*json) {
        if (*json != '"') {
            outside(t, json++, &depth);
            continue;
        }
        const char *end = json + 1;
        while (*end && *end != '"')
            end += *end == '\\' && end[1] ? 2 : 1;
        end += *end == '"';
        put(t, json, (size_t)(end - json));
        json = end;
    }
}

/* A blank after commas and colons. */
static void spaced(text *t, const char *at, int *depth) {
    (void)depth;
    put(t, at, 1);
    if (*at == ',' || *at == ':')
        put_text(t, " ");
}

static void indented(text *t, const char *at, int *depth, int unit) {
    char c = *at;
    int is_empty = (c == '{' || c == '[') && (at[1] == '}' || at[1] == ']');
    int closes_empty = (c == '}' || c == ']') && (at[-1] == '{' || at[-1] == '[');
    if ((c == '}' || c == ']') && !closes_empty)
        put_line(t, --*depth * unit);
    put(t, at, 1);
    if (c == ':')
        put_text(t, " ");
    if (c == ',')
        put_line(t, *depth * unit);
    if ((c == '{' || c == '[') && !is_empty)
        put_line(t, ++*depth * unit);
}

static void indented_1(text *t, const char *at, int *depth) {
    indented(t, at, depth, 1);
}

static void indented_2(text *t, const char *at, int *depth) {
    indented(t, at, depth, 2);
}

static void indented_4(text *t, const char *at, int *depth) {
    indented(t, at, depth, 4);
}

/* ---- one event ---- */

typedef struct field {
    const char *key;
    char value[VALUE_LIMIT]; /* JSON */
} field;

typedef struct event {
    field fields[FIELD_LIMIT], args[FIELD_LIMIT];
    int field_count, arg_count;
    char raw[VALUE_LIMIT]; /* instead of all others, if not empty */
} event;

static void add(field *fields, int *count, const char *key, const char *value, int is_text) {
    if (*count == FIELD_LIMIT || strlen(value) + 3 > VALUE_LIMIT)
        fail("too long", value);
    fields[*count].key = key;
    (void)snprintf(fields[(*count)++].value, VALUE_LIMIT, is_text ? "\"%s\"" : "%s", value);
}

static void put_field(text *t, const field *f, int is_spaced) {
    put_text(t, "\"");
    put_text(t, f->key);
    put_text(t, is_spaced ? "\": " : "\":");
    if (is_spaced)
        put_json(t, f->value, spaced);
    else
        put_text(t, f->value);
}

static void put_fields(text *t, const field *fields, int count, int is_spaced) {
    for (int i = 0; i < count; i++) {
        if (i)
            put_text(t, is_spaced ? ", " : ",");
        put_field(t, &fields[i], is_spaced);
    }
}

static void put_compact(text *t, const event *e) {
    put_text(t, "{");
    put_fields(t, e->fields, e->field_count, 0);
    put_text(t, ",\"args\":{");
    put_fields(t, e->args, e->arg_count, 0);
    put_text(t, "}}");
}

static void put_torch_26(text *t, const event *e) {
    put_text(t, "  {\n    ");
    for (int i = 0; i < e->field_count; i++) {
        if (i)
            put_text(t, strcmp(e->fields[i].key, "ts") == 0 ? ",\n    " : ", ");
        put_field(t, &e->fields[i], 1);
    }
    put_text(t, ",\n    \"args\": {\n      ");
    put_fields(t, e->args, e->arg_count, 1);
    put_text(t, "\n    }\n  }");
}

static void put_torch_213(text *t, const event *e) {
    put_text(t, "  {\n");
    for (int i = 0; i < e->field_count; i++) {
        put_text(t, "    ");
        put_field(t, &e->fields[i], 1);
        put_text(t, i + 1 < e->field_count ? ",\n" : "\n    ,\n");
    }
    put_text(t, "    \"args\": {\n      ");
    put_fields(t, e->args, e->arg_count, 1);
    put_text(t, "\n    }\n  }");
}

/* ---- reading the picture ---- */

typedef struct drawing {
    char block_names[BLOCK_LIMIT][32];
    int64_t block_bytes[BLOCK_LIMIT];
    int block_count;
    int event_count;
    double shift_us;
} drawing;

static const char *const keys[] = {"seq", "dims", "types", "strides", "concrete", "thread", "process", "device"};
enum { SEQ, DIMS, TYPES, STRIDES, CONCRETE, THREAD, PROCESS, DEVICE, KEY_COUNT };

static const char *next_key(const char *at, int *key) {
    for (; *at; at++)
        for (int i = 0; *at == ' ' && i < KEY_COUNT; i++)
            if (strncmp(at + 1, keys[i], strlen(keys[i])) == 0 && at[1 + strlen(keys[i])] == '=') {
                *key = i;
                return at;
            }
    return at;
}

/* Cuts "NAME key=value key=value" into name and values. */
static void cut_keys(char *rest, const char *values[KEY_COUNT]) {
    int key = 0, next = 0;
    const char *at = next_key(rest, &key);
    while (*at) {
        size_t value = (size_t)(at - rest) + 2 + strlen(keys[key]);
        rest[at - rest] = 0;
        at = next_key(rest + value, &next);
        values[key] = rest + value;
        key = next;
    }
}

static int block_index(drawing *d, const char *name) {
    int i = 0;
    while (i < d->block_count && strcmp(d->block_names[i], name) != 0)
        i++;
    if (i < d->block_count)
        return i;
    if (i == BLOCK_LIMIT || strlen(name) >= sizeof d->block_names[0])
        fail("too many blocks or too long a name", name);
    memcpy(d->block_names[i], name, strlen(name) + 1);
    return d->block_count++;
}

static void add_number(field *fields, int *count, const char *key, int64_t value) {
    char number[24];
    (void)snprintf(number, sizeof number, "%lld", (long long)value);
    add(fields, count, key, number, 0);
}

static void add_place(event *e, const char *const values[KEY_COUNT]) {
    add(e->fields, &e->field_count, "pid", values[PROCESS] ? values[PROCESS] : "8436", 0);
    add(e->fields, &e->field_count, "tid", values[THREAD] ? values[THREAD] : "8436", 0);
}

static void draw_memory(drawing *d, event *e, const char *time, int is_free, char *rest, const char *const values[KEY_COUNT]) {
    char name[32];
    long long bytes = 0;
    int count = sscanf(rest, "%31s %lld", name, &bytes);
    if (count < (is_free ? 1 : 2))
        fail("expected NAME BYTES", rest);
    int block = block_index(d, name);
    if (!is_free)
        d->block_bytes[block] = bytes;
    else
        bytes = count == 2 ? -bytes : -d->block_bytes[block];
    add(e->fields, &e->field_count, "ph", "i", 1);
    add(e->fields, &e->field_count, "cat", "cpu_instant_event", 1);
    add(e->fields, &e->field_count, "s", "t", 1);
    add(e->fields, &e->field_count, "name", "[memory]", 1);
    add_place(e, values);
    add(e->fields, &e->field_count, "ts", time, 0);
    add_number(e->args, &e->arg_count, "Total Reserved", 0);
    add_number(e->args, &e->arg_count, "Bytes", bytes);
    add_number(e->args, &e->arg_count, "Addr", (int64_t)(FIRST_ADDRESS + 4096u * (unsigned)block));
    add_number(e->args, &e->arg_count, "Device Id", -1);
    add(e->args, &e->arg_count, "Device Type", values[DEVICE] ? values[DEVICE] : "0", 0);
}

/* "10.5" and "30" -> "19.500" */
static void duration(const char *start, const char *end, char out[32]) {
    (void)snprintf(out, 32, "%.3f", strtod(end, NULL) - strtod(start, NULL));
}

static void draw_span(event *e, const char *category, const char *prefix, const char *start, const char *end, const char *name,
                      const char *const values[KEY_COUNT]) {
    char whole[VALUE_LIMIT], length[32];
    (void)snprintf(whole, sizeof whole, "%s%s", prefix, name);
    duration(start, end, length);
    add(e->fields, &e->field_count, "ph", "X", 1);
    add(e->fields, &e->field_count, "cat", category, 1);
    add(e->fields, &e->field_count, "name", whole, 1);
    add_place(e, values);
    add(e->fields, &e->field_count, "ts", start, 0);
    add(e->fields, &e->field_count, "dur", length, 0);
    static const char *const arguments[KEY_COUNT] = {"Sequence number", "Input Dims", "Input type", "Input Strides", "Concrete Inputs"};
    for (int i = 0; i < KEY_COUNT; i++)
        if (values[i] && arguments[i])
            add(e->args, &e->arg_count, arguments[i], values[i], 0);
}

static void shift(const drawing *d, char time[32]) {
    if (d->shift_us > 0)
        (void)snprintf(time, 32, "%.3f", strtod(time, NULL) + d->shift_us);
}

/* One line of a picture. */
static void draw(drawing *d, event *e, char *line) {
    char start[32], end[32], kind[16];
    int used = 0;
    if (strncmp(line, "raw ", 4) == 0) {
        (void)snprintf(e->raw, sizeof e->raw, "%s", line + 4);
        return;
    }
    if (sscanf(line, "%31[0-9.] %15s %n", start, kind, &used) < 2)
        fail("expected TIME KIND", line);
    char *dots = strstr(start, "..");
    memcpy(end, start, sizeof end);
    if (dots) {
        memcpy(end, dots + 2, strlen(dots + 2) + 1);
        *dots = 0;
    }
    shift(d, start);
    shift(d, end);
    char *rest = line + used;
    const char *values[KEY_COUNT] = {NULL};
    cut_keys(rest, values);
    if (strcmp(kind, "+") == 0 || strcmp(kind, "-") == 0)
        draw_memory(d, e, start, kind[0] == '-', rest, values);
    else if (strcmp(kind, "op") == 0)
        draw_span(e, "cpu_op", "", start, end, rest, values);
    else if (strcmp(kind, "node") == 0)
        draw_span(e, "cpu_op", "autograd::engine::evaluate_function: ", start, end, rest, values);
    else if (strcmp(kind, "note") == 0)
        draw_span(e, "user_annotation", "", start, end, rest, values);
    else if (strcmp(kind, "module") == 0)
        draw_span(e, "python_function", "nn.Module: ", start, end, rest, values);
    else if (strcmp(kind, "frame") == 0)
        draw_span(e, "python_function", "", start, end, rest, values);
    else
        fail("unknown kind", line);
    add_number(e->args, &e->arg_count, "Ev Idx", d->event_count);
}

static void put_event(text *t, const event *e, profile_layout layout, int is_first) {
    int is_torch = layout == PROFILE_TORCH_26 || layout == PROFILE_TORCH_213;
    if (!is_first)
        put_text(t, is_torch ? ",\n" : ",");
    if (e->raw[0]) {
        put_text(t, is_torch ? "  " : "");
        put_text(t, e->raw);
    } else if (layout == PROFILE_TORCH_26) {
        put_torch_26(t, e);
    } else if (layout == PROFILE_TORCH_213) {
        put_torch_213(t, e);
    } else {
        put_compact(t, e);
    }
}

static void put_line_of_picture(text *t, drawing *d, char *line, profile_layout layout) {
    event *e = calloc(1, sizeof *e);
    if (!e)
        abort();
    draw(d, e, line);
    put_event(t, e, layout, d->event_count == 0);
    d->event_count++;
    free(e);
}

/* "10..20 gradient 250" stands for two lines. */
static int put_gradient(text *t, drawing *d, const char *line, profile_layout layout) {
    char time[64], dims[64] = "", part[VALUE_LIMIT];
    int used = 0;
    if (sscanf(line, "%63[0-9.] gradient%n%63s", time, &used, dims) < 1 || !used)
        return 0;
    (void)snprintf(part, sizeof part, "%s node torch::autograd::AccumulateGrad", time);
    put_line_of_picture(t, d, part, layout);
    (void)snprintf(part, sizeof part, "%s op torch::autograd::AccumulateGrad dims=[[%s]] types=[\"float\"]", time, dims);
    put_line_of_picture(t, d, part, layout);
    return 1;
}

static void put_events(text *t, const char *picture, profile_layout layout) {
    drawing *d = calloc(1, sizeof *d);
    char *line = malloc(VALUE_LIMIT);
    if (!d || !line)
        abort();
    while (*picture) {
        picture += strspn(picture, " ");
        size_t length = strcspn(picture, "\n");
        const char *next = picture + length + (picture[length] == '\n');
        if (length >= VALUE_LIMIT)
            fail("too long a line", picture);
        memcpy(line, picture, length);
        line[length] = 0;
        picture = next;
        if (!length || line[0] == '#' || sscanf(line, "shift %lf", &d->shift_us) == 1)
            continue;
        if (!put_gradient(t, d, line, layout))
            put_line_of_picture(t, d, line, layout);
    }
    free(line);
    free(d);
}

static char *torch_text(const char *picture, const char *members, profile_layout layout) {
    int is_26 = layout == PROFILE_TORCH_26;
    text t = {NULL, 0, 0};
    put_text(&t, is_26 ? "\n{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [\n  ],\n  \"record_shapes\": 1,\n"
                       : " {\n    \"schemaVersion\": 1,\n    \"deviceProperties\": [],\n    \n      \"record_shapes\": 1,\n");
    if (members) {
        put_text(&t, is_26 ? "  " : "      ");
        put_json(&t, members, spaced);
        put_text(&t, ",\n");
    }
    put_text(&t,
             is_26 ? "  \"profile_memory\": 1,\n  \"traceEvents\": [\n" : "      \"profile_memory\": 1,\n    \"traceEvents\": [\n    \n");
    put_events(&t, picture, layout);
    put_text(&t, is_26 ? "\n  ],\n  \"traceName\": \"job.json\"\n}\n" : "\n  ],\"traceName\": \"job.json\" }");
    return t.data;
}

char *profile_text_new(const char *picture, const char *members, profile_layout layout) {
    if (layout == PROFILE_TORCH_26 || layout == PROFILE_TORCH_213)
        return torch_text(picture, members, layout);
    text compact = {NULL, 0, 0}, t = {NULL, 0, 0};
    if (layout != PROFILE_ARRAY) {
        put_text(&compact, "{\"schemaVersion\":1,\"record_shapes\":1,");
        if (members) {
            put_text(&compact, members);
            put_text(&compact, ",");
        }
        put_text(&compact, "\"profile_memory\":1,\"traceEvents\":");
    }
    put_text(&compact, "[");
    put_events(&compact, picture, layout);
    put_text(&compact, layout == PROFILE_ARRAY ? "]" : "],\"traceName\":\"job.json\"}");
    switch (layout) {
    case PROFILE_INDENT_1: put_json(&t, compact.data, indented_1); break;
    case PROFILE_INDENT_2: put_json(&t, compact.data, indented_2); break;
    case PROFILE_INDENT_4: put_json(&t, compact.data, indented_4); break;
    case PROFILE_ARRAY: put_json(&t, compact.data, spaced); break;
    default: return compact.data;
    }
    free(compact.data);
    return t.data;
}

/* ---- a whole job ---- */

static const char job_setup[] = "10..20    op aten::empty\n"
                                "  12      + weight 2097152\n"
                                "30..40    op aten::empty\n"
                                "  32      + bias 4096\n"
                                "50..60    op aten::zeros\n"
                                "  51..59  op aten::empty\n"
                                "    52    + buffer 1000\n";

static const char job_fetch[] = "0..50     note enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__\n"
                                "  5..8    op aten::empty\n"
                                "    6     + index 64\n"
                                "  10..20  op aten::stack\n"
                                "    12    + inputs%d %d\n"
                                "  25      - index\n"
                                "  30..40  op aten::stack\n"
                                "    32    + labels%d %d\n";

static const char job_rebind[] = "55       - inputs%d\n"
                                 "56       - labels%d\n";

static const char job_zero_grad[] = "60..70   note Optimizer.zero_grad#AdamW.zero_grad\n";

static const char job_drop_gradients[] = "62       - gweight\n"
                                         "64       - gbias\n";

static const char job_forward[] =
    "100..300     module Net_0\n"
    " 110..200    module Linear_0\n"
    "  120..190   op aten::linear seq=%d dims=[[%d,512],[1024,512],[1024]] types=[\"float\",\"float\",\"float\"]\n"
    "   130..140  op aten::t seq=%d dims=[[1024,512]] types=[\"float\"]\n"
    "   150..180  op aten::addmm seq=%d dims=[[1024],[%d,512],[512,1024],[],[]] "
    "types=[\"float\",\"float\",\"float\",\"Scalar\",\"Scalar\"]\n"
    "     160     + hidden %d\n"
    "     161     + reorder 1048576\n"
    "     170     - reorder\n"
    " 210..290    module ReLU_0\n"
    "  220..280   op aten::relu seq=%d dims=[[%d,1024]] types=[\"float\"]\n"
    "   230..270  op aten::clamp_min\n"
    "     240     + out %d\n"
    "310..390     op aten::cross_entropy_loss\n"
    "  320..350   op aten::log_softmax seq=%d dims=[[%d,1024],[],[]] types=[\"float\",\"Scalar\",\"\"]\n"
    "   325..345  op aten::_log_softmax\n"
    "     330     + logp %d\n"
    "  355..385   op aten::nll_loss seq=%d\n"
    "     360     + loss 4\n"
    "     362     + total 4\n";

static const char job_backward[] = "400..420     node NllLossBackward0 seq=%d\n"
                                   "  405..418   op aten::nll_loss_backward\n"
                                   "     410     + glogp %d\n"
                                   "   419       - total\n"
                                   "430..450     node LogSoftmaxBackward0 seq=%d\n"
                                   "  435..445   op aten::_log_softmax_backward_data\n"
                                   "     440     + gout %d\n"
                                   "   447       - glogp\n"
                                   "   448       - logp\n"
                                   "460..480     node ReluBackward0 seq=%d\n"
                                   "  465..475   op aten::threshold_backward\n"
                                   "     470     + ghidden %d\n"
                                   "   477       - gout\n"
                                   "   478       - out\n"
                                   "490..560     node AddmmBackward0 seq=%d\n"
                                   "  495..515   op aten::mm dims=[[1024,%d],[%d,512]] types=[\"float\",\"float\"]\n"
                                   "     500     + gweight 2097152\n"
                                   "  520..540   op aten::sum\n"
                                   "     530     + gbias 4096\n"
                                   "   550       - ghidden\n"
                                   "   552       - hidden\n"
                                   "570..590     gradient 1024\n"
                                   "600..620     node TBackward0 seq=%d\n"
                                   "630..650     gradient 1024,512\n";

static const char job_state[] = "705..709     op aten::empty\n"
                                "   706       + step_w 4\n"
                                "710..720     op aten::zeros_like\n"
                                "  711..719   op aten::empty_like\n"
                                "     712     + mean_w 2097152\n"
                                "721..730     op aten::zeros_like\n"
                                "  722..729   op aten::empty_like\n"
                                "     723     + square_w 2097152\n"
                                "731..735     op aten::empty\n"
                                "   732       + step_b 4\n"
                                "740..750     op aten::zeros_like\n"
                                "  741..749   op aten::empty_like\n"
                                "     742     + mean_b 4096\n"
                                "751..760     op aten::zeros_like\n"
                                "  752..759   op aten::empty_like\n"
                                "     753     + square_b 4096\n";

static const char job_step[] = "700..900     note Optimizer.step#AdamW.step\n"
                               "  800..820   op aten::sqrt\n"
                               "     810     + root_w 2097152\n"
                               "  830..850   op aten::sqrt\n"
                               "     840     + root_b 4096\n"
                               "   845       - root_w\n"
                               "   890       - root_b\n";

static void put_format(text *t, const char *format, ...) {
    char part[3000];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(part, sizeof part, format, arguments);
    va_end(arguments);
    if (length < 0 || (size_t)length >= sizeof part)
        fail("too long a part", format);
    put(t, part, (size_t)length);
}

char *profile_job_new(int batch, int iterations, int is_scheduled) {
    text t = {NULL, 0, 0};
    if (!is_scheduled)
        put_text(&t, job_setup);
    for (int i = 0; i < iterations; i++) {
        int seq = 100 * i + 1, wide = 4096 * batch;
        put_format(&t, "shift %d\n", 1000 * (i + 1));
        if (is_scheduled)
            put_format(&t, "0..990 note ProfilerStep#%d\n", i + 2);
        put_format(&t, job_fetch, i, 2048 * batch, i, 8 * batch);
        if (i)
            put_format(&t, job_rebind, i - 1, i - 1);
        put_text(&t, job_zero_grad);
        if (i)
            put_text(&t, job_drop_gradients);
        put_format(&t, job_forward, seq, batch, seq, seq + 1, batch, wide, seq + 2, batch, wide, seq + 3, batch, wide, seq + 4);
        put_format(&t, job_backward, seq + 4, wide, seq + 3, wide, seq + 2, wide, seq + 1, batch, batch, seq);
        put_text(&t, job_step);
        if (i == 0 && !is_scheduled)
            put_text(&t, job_state);
        put_text(&t, "910 - loss\n");
    }
    return t.data;
}

/* ---- the stages ---- */

static void must(profile_subject *s, oc_status status) {
    if (status != OC_OK)
        fail("the core refuses the picture", s->error.message);
}

profile_subject *profile_subject_open(const char *picture, const char *members, profile_subject *beside) {
    profile_subject *s = calloc(1, sizeof *s);
    if (!s)
        abort();
    s->budget.limit_bytes = (size_t)1 << 30;
    oc_arena_init(&s->arena, &s->budget);
    oc_arena_init(&s->scratch, &s->budget);
    s->names = beside ? beside->names : &s->own_names;
    if (!beside && !oc_interner_init(s->names, &s->arena))
        abort();
    s->trace = oc_arena_alloc(&s->arena, 1, sizeof *s->trace);
    if (!s->trace)
        abort();
    must(s, oc_trace_open(s->trace, &s->arena, s->names, &s->error));
    char *profile = profile_text_new(picture, members, PROFILE_TORCH_26);
    must(s, oc_trace_feed(s->trace, (const uint8_t *)profile, strlen(profile)));
    free(profile);
    must(s, oc_trace_finish(s->trace));
    must(s, oc_analyze(&s->analysis, s->trace, s->names, &s->arena, &s->scratch, &s->error));
    oc_arena_reset(&s->scratch);
    must(s, oc_job_read(&s->job, &s->analysis, &s->arena, &s->scratch, &s->error));
    oc_arena_reset(&s->scratch);
    s->scale.batch = s->job.batch_size;
    s->subject = (oc_subject){&s->analysis, &s->job, oc_rules_decide(&s->analysis, &s->job, &s->arena, &s->scratch), &s->scale, NULL};
    if (!s->subject.decisions)
        abort();
    return s;
}

void profile_subject_close(profile_subject *s) {
    oc_arena_close(&s->arena);
    oc_arena_close(&s->scratch);
    free(s);
}

oc_session *profile_session_new(const char *picture, const char *other) {
    oc_session *session = oc_session_open(0);
    if (!session)
        abort();
    char *profile = profile_text_new(picture, NULL, PROFILE_TORCH_26);
    oc_status status = oc_session_feed(session, profile, strlen(profile));
    free(profile);
    if (other && status == OC_OK) {
        profile = profile_text_new(other, NULL, PROFILE_TORCH_26);
        status = oc_session_next_profile(session);
        if (status == OC_OK)
            status = oc_session_feed(session, profile, strlen(profile));
        free(profile);
    }
    if (status == OC_OK)
        status = oc_session_finish(session);
    if (status != OC_OK)
        fail("the core refuses the picture", oc_session_error(session)->message);
    return session;
}

uint32_t profile_find_block(const profile_subject *s, int64_t bytes, uint32_t n) {
    for (uint32_t i = 0; i < s->analysis.block_count; i++)
        if (s->analysis.blocks[i].bytes == bytes && n-- == 0)
            return i;
    return OC_NONE;
}

uint32_t profile_find_op(const profile_subject *s, const char *name, uint32_t n) {
    for (uint32_t i = 0; i < s->analysis.op_count; i++)
        if (strcmp(oc_intern_text(s->names, s->analysis.ops[i].name, NULL), name) == 0 && n-- == 0)
            return i;
    return OC_NONE;
}

const oc_block *profile_block(const profile_subject *s, int64_t bytes, uint32_t n) {
    uint32_t block = profile_find_block(s, bytes, n);
    if (block == OC_NONE) {
        char what[64];
        (void)snprintf(what, sizeof what, "no block %u of %lld bytes", n, (long long)bytes);
        fail(what, "");
    }
    return &s->analysis.blocks[block];
}

oc_role profile_role(const profile_subject *s, int64_t bytes, uint32_t n) {
    return (oc_role)s->job.roles[profile_block(s, bytes, n) - s->analysis.blocks];
}

uint64_t profile_warning(const oc_warnings *warnings, const char *code) {
    const oc_warning *warning = oc_warnings_find(warnings, code);
    return warning ? warning->count : 0;
}

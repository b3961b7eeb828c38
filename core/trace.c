/* Events -> records. An event that is no valid JSON gets its name repaired; if that does not help it is skipped alone. */
#include "trace.h"

#include "sniff.h"

#include <string.h>

enum { TEXT_BYTES = 64 << 10 /* stays in the cache */, NAME_LIMIT = 1024 };

/* ---- one event ---- */

typedef struct event {
    oc_text ph, cat, name;
    int name_is_escaped;
    oc_text pid, tid;
    int64_t start_ns, duration_ns;
    int64_t sequence;
    uint32_t event_index;
    oc_text dims, strides, types, concrete;
    uint64_t address;
    int64_t bytes;
    int64_t device_type, device_id, allocated_bytes, reserved_bytes;
    int has_totals;
    int has_address, has_bytes;
    int is_frame; /* a python frame that is no module: the rest was not read */
} event;

static oc_json_step read_array(oc_json_cursor *cursor, const oc_json_value *value, oc_text *text) {
    return value->type == OC_JSON_ARRAY ? oc_json_skip(cursor, text) : OC_JSON_NEXT;
}

static oc_json_step skip_value(oc_json_cursor *cursor, const oc_json_value *value) {
    oc_text ignored;
    if (value->type == OC_JSON_ARRAY || value->type == OC_JSON_OBJECT)
        return oc_json_skip(cursor, &ignored);
    return OC_JSON_NEXT;
}

static oc_json_step read_args(oc_json_cursor *cursor, event *e) {
    oc_text key;
    oc_json_value value;
    oc_json_step step = oc_json_enter(cursor);
    while (step == OC_JSON_NEXT && (step = oc_json_member(cursor, &key, &value)) == OC_JSON_NEXT) {
        if (key.length == 5 && oc_text_equals(key, "Bytes")) {
            e->bytes = oc_json_i64(value.text);
            e->has_bytes = 1;
        } else if (key.length == 4 && oc_text_equals(key, "Addr")) {
            e->address = oc_json_u64(value.text);
            e->has_address = 1;
        } else if (key.length == 6 && oc_text_equals(key, "Ev Idx")) {
            e->event_index = (uint32_t)oc_json_u64(value.text);
        } else if (key.length == 11 && oc_text_equals(key, "Device Type")) {
            e->device_type = oc_json_i64(value.text);
        } else if (key.length == 9 && oc_text_equals(key, "Device Id")) {
            e->device_id = oc_json_i64(value.text);
        } else if (key.length == 15 && oc_text_equals(key, "Total Allocated")) {
            e->allocated_bytes = oc_json_i64(value.text);
            e->has_totals = 1;
        } else if (key.length == 14 && oc_text_equals(key, "Total Reserved")) {
            e->reserved_bytes = oc_json_i64(value.text);
        } else if (key.length == 15 && oc_text_equals(key, "Sequence number")) {
            e->sequence = oc_json_i64(value.text);
        } else if (key.length == 10 && (oc_text_equals(key, "Input Dims") || oc_text_equals(key, "Input dims"))) {
            step = read_array(cursor, &value, &e->dims);
            continue;
        } else if (key.length == 13 && oc_text_equals(key, "Input Strides")) {
            step = read_array(cursor, &value, &e->strides);
            continue;
        } else if (key.length == 10 && oc_text_equals(key, "Input type")) {
            step = read_array(cursor, &value, &e->types);
            continue;
        } else if (key.length == 15 && oc_text_equals(key, "Concrete Inputs")) {
            step = read_array(cursor, &value, &e->concrete);
            continue;
        }
        step = skip_value(cursor, &value);
    }
    return step;
}

/* Python frames are most of a profile with stacks; they are recognised by the first keys and not read on. */
static int is_skippable_frame(const event *e) {
    return e->name.length && oc_text_equals(e->cat, "python_function") && !oc_text_starts_with(e->name, "nn.Module: ");
}

static oc_json_step read_event(oc_text text, event *e) {
    memset(e, 0, sizeof *e);
    e->ph = e->cat = e->name = (oc_text){"", 0};
    e->sequence = -1;
    oc_json_cursor cursor = {text.data, text.data + text.length};
    oc_text key;
    oc_json_value value;
    oc_json_step step = oc_json_enter(&cursor);
    while (step == OC_JSON_NEXT && (step = oc_json_member(&cursor, &key, &value)) == OC_JSON_NEXT) {
        if (key.length == 2 && oc_text_equals(key, "ph")) {
            e->ph = value.text;
        } else if (key.length == 3 && oc_text_equals(key, "cat")) {
            e->cat = value.text;
        } else if (key.length == 4 && oc_text_equals(key, "name") && value.type == OC_JSON_STRING) {
            e->name = value.text;
            e->name_is_escaped = value.is_escaped;
        } else if (key.length == 3 && oc_text_equals(key, "pid")) {
            e->pid = value.text;
        } else if (key.length == 3 && oc_text_equals(key, "tid")) {
            e->tid = value.text;
        } else if (key.length == 2 && oc_text_equals(key, "ts")) {
            e->start_ns = oc_json_ns_from_us(value.text);
        } else if (key.length == 3 && oc_text_equals(key, "dur")) {
            e->duration_ns = oc_json_ns_from_us(value.text);
        } else if (key.length == 4 && oc_text_equals(key, "args") && value.type == OC_JSON_OBJECT) {
            step = read_args(&cursor, e);
            if (step == OC_JSON_CLOSED)
                step = OC_JSON_NEXT;
            continue;
        }
        if (is_skippable_frame(e)) {
            e->is_frame = 1;
            return OC_JSON_NEXT;
        }
        step = skip_value(&cursor, &value);
    }
    return step == OC_JSON_CLOSED ? OC_JSON_NEXT : OC_JSON_DAMAGED;
}

/* 1 repaired, 0 not, -1 out of memory.
 * Unescaped quotes, backslashes and control bytes stand in names only (torch wrote python frame names unescaped until 2.7):
 * the name reaches up to the quote before `"pid"`, whatever it holds. A copy with the name made harmless, or nothing. */
static int repair_name(oc_trace *trace, oc_text text, oc_text *repaired) {
    static const char before[] = "\"name\": \"";
    const char *end = text.data + text.length, *name = NULL, *stop = NULL;
    for (const char *at = text.data; at + sizeof before < end && !name; at++)
        if (*at == '"' && memcmp(at, before, sizeof before - 1) == 0)
            name = at + sizeof before - 1;
    for (const char *at = name; at && at + 6 < end && !stop; at++)
        if (*at == '"' && memcmp(at, "\"pid\":", 6) == 0)
            stop = at;
    if (!stop)
        return 0;
    do
        stop--;
    while (stop > name && (*stop == ' ' || *stop == '\n' || *stop == '\r' || *stop == ','));
    if (*stop != '"')
        return 0;
    if (trace->repair_capacity < text.length) {
        size_t capacity = text.length * 2;
        trace->repair = oc_arena_alloc(trace->arena, capacity, 1);
        trace->repair_capacity = trace->repair ? capacity : 0;
        if (!trace->repair)
            return -1;
    }
    memcpy(trace->repair, text.data, text.length);
    for (char *at = trace->repair + (name - text.data); at < trace->repair + (stop - text.data); at++)
        if (*at == '"' || *at == '\\' || (unsigned char)*at < 0x20)
            *at = '?';
    *repaired = (oc_text){trace->repair, text.length};
    return 1;
}

/* ---- records ---- */

static uint32_t intern(oc_trace *trace, oc_text text) {
    return text.length ? oc_intern(trace->names, text.data, text.length) : 0;
}

static uint32_t intern_name(oc_trace *trace, const event *e) {
    if (!e->name_is_escaped && oc_json_is_clean(e->name))
        return oc_intern(trace->names, e->name.data, e->name.length);
    char clean[NAME_LIMIT];
    int damage = 0;
    size_t length = oc_json_clean(e->name, clean, sizeof clean, &damage);
    if (damage)
        oc_warnings_add(&trace->warnings, "damaged_name", 1, trace->reader.item_offset,
                        "names with control bytes or broken UTF-8 were repaired; the figures do not depend on them");
    return oc_intern(trace->names, clean, length);
}

/* The thread's index; OC_NONE if out of memory or beyond OC_THREAD_LIMIT threads. */
static uint32_t find_thread(oc_trace *trace, const event *e) {
    uint32_t process = intern(trace, e->pid), name = intern(trace, e->tid);
    for (uint32_t i = 0; i < trace->thread_count; i++) {
        uint32_t thread = (trace->last_thread + i) % trace->thread_count;
        if (trace->threads[thread].process == process && trace->threads[thread].name == name)
            return trace->last_thread = thread;
    }
    if (trace->thread_count == OC_THREAD_LIMIT || process == OC_INTERN_FAILED || name == OC_INTERN_FAILED)
        return OC_NONE;
    trace->threads[trace->thread_count].process = process;
    trace->threads[trace->thread_count].name = name;
    return trace->last_thread = trace->thread_count++;
}

static oc_extent extent_of(const event *e, uint32_t thread) {
    return (oc_extent){e->start_ns, e->start_ns + e->duration_ns, thread, e->event_index, OC_NONE};
}

static int keep_span(oc_trace *trace, oc_list *list, const event *e, uint32_t thread) {
    oc_span *span = oc_list_push(list);
    if (!span)
        return 0;
    span->at = extent_of(e, thread);
    span->name = intern_name(trace, e);
    return span->name != OC_INTERN_FAILED;
}

static int keep_op(oc_trace *trace, const event *e, uint32_t thread) {
    oc_op *op = oc_list_push(&trace->ops);
    if (!op)
        return 0;
    op->at = extent_of(e, thread);
    op->sequence = e->sequence;
    op->name = intern_name(trace, e);
    op->dims = intern(trace, e->dims);
    op->strides = intern(trace, e->strides);
    op->types = intern(trace, e->types);
    op->concrete = intern(trace, e->concrete);
    return op->name != OC_INTERN_FAILED && op->dims != OC_INTERN_FAILED && op->strides != OC_INTERN_FAILED &&
           op->types != OC_INTERN_FAILED && op->concrete != OC_INTERN_FAILED;
}

static int are_possible_totals(const event *e) {
    return e->allocated_bytes >= 0 && e->reserved_bytes >= 0 && e->allocated_bytes < OC_LARGEST_BLOCK && e->reserved_bytes < OC_LARGEST_BLOCK;
}

static int keep_memory(oc_trace *trace, const event *e) {
    int is_device = e->device_type != 0;
    if (!e->has_address || !e->has_bytes || (is_device && (!e->has_totals || !are_possible_totals(e)))) {
        *(is_device ? &trace->orphan_device_count : &trace->orphan_memory_count) += 1;
        return 1;
    }
    uint32_t thread = find_thread(trace, e);
    if (thread == OC_NONE)
        return 0;
    oc_memory_event memory = {e->start_ns, e->address, e->bytes, thread, e->event_index};
    if (is_device) {
        oc_device_event *new = oc_list_push(&trace->device_memory);
        if (new)
            *new = (oc_device_event){memory, e->allocated_bytes, e->reserved_bytes, e->device_type, e->device_id};
        return new != NULL;
    }
    oc_memory_event *new = oc_list_push(&trace->memory);
    if (!new)
        return 0;
    trace->threads[thread].memory_count++;
    *new = memory;
    return 1;
}

static int is_annotation_name(oc_text name) {
    return oc_text_starts_with(name, "ProfilerStep#") || oc_text_starts_with(name, "Optimizer.") || oc_text_starts_with(name, "enumerate(DataLoader)");
}

static int is_possible(const event *e) {
    return e->start_ns > -OC_LARGEST_TIME_NS && e->start_ns < OC_LARGEST_TIME_NS && e->duration_ns >= 0 && e->duration_ns < OC_LARGEST_TIME_NS &&
           e->bytes > -OC_LARGEST_BLOCK && e->bytes < OC_LARGEST_BLOCK;
}

/* Keeps what is of use; 0 if out of memory. */
static int keep_event(oc_trace *trace, const event *e) {
    if (e->is_frame) {
        trace->last_kind = OC_LAST_FRAME;
        return 1;
    }
    if (!is_possible(e)) {
        oc_warnings_add(&trace->warnings, "impossible_number", 1, trace->reader.item_offset,
                        "events with times or sizes that cannot be were skipped, the first at byte %llu", (unsigned long long)trace->reader.item_offset);
        if (oc_text_equals(e->name, "[memory]") && !trace->impossible_memory_count++)
            trace->impossible_memory_offset = trace->reader.item_offset;
        return 1;
    }
    trace->has_fractions |= e->start_ns % 1000 != 0;
    if (oc_text_equals(e->name, "[memory]")) {
        trace->last_kind = OC_LAST_MEMORY;
        trace->last_memory_ns = e->start_ns;
        return keep_memory(trace, e);
    }
    if (!oc_text_equals(e->ph, "X"))
        return 1;
    int is_op = oc_text_equals(e->cat, "cpu_op") || oc_text_equals(e->cat, "Operator"); /* "Operator" until torch 1.11 */
    int is_annotation = oc_text_equals(e->cat, "user_annotation") || (is_op && is_annotation_name(e->name));
    int is_module = oc_text_equals(e->cat, "python_function");
    if (!is_op && !is_annotation && !is_module) {
        if (oc_text_equals(e->cat, "kernel") || oc_text_starts_with(e->cat, "gpu_mem"))
            trace->device_event_count++;
        return 1;
    }
    trace->last_kind = is_module ? OC_LAST_FRAME : OC_LAST_OP;
    uint32_t thread = find_thread(trace, e);
    if (thread == OC_NONE)
        return 0;
    if (is_annotation)
        return keep_span(trace, &trace->annotations, e, thread);
    if (is_module)
        return keep_span(trace, &trace->modules, e, thread);
    trace->is_threaded |= trace->ops.count && thread != trace->last_op_thread;
    trace->last_op_thread = thread;
    return keep_op(trace, e, thread);
}

static int take_event(oc_trace *trace, oc_text text) {
    event e;
    uint64_t offset = trace->reader.item_offset;
    if (read_event(text, &e) == OC_JSON_DAMAGED) {
        oc_text repaired;
        int result = repair_name(trace, text, &repaired);
        if (result < 0)
            return 0;
        if (!result || read_event(repaired, &e) == OC_JSON_DAMAGED) {
            oc_warnings_add(&trace->warnings, "damaged_event", 1, offset,
                            "events that are no valid JSON and could not be repaired were skipped, the first at byte %llu",
                            (unsigned long long)offset);
            return 1;
        }
        oc_warnings_add(&trace->warnings, "unescaped_name", 1, offset,
                        "names with unescaped quotes or backslashes were repaired (torch writes such into python frames), the first at byte %llu",
                        (unsigned long long)offset);
    } else if (e.is_frame && !e.name_is_escaped && !oc_json_is_clean(e.name)) {
        oc_warnings_add(&trace->warnings, "damaged_frame", 1, offset,
                        "python frames with control bytes or broken UTF-8 in their names were skipped (torch writes such), the first at byte %llu",
                        (unsigned long long)offset);
    }
    return keep_event(trace, &e);
}

/* ---- the top level ---- */

/* 0 if out of memory. */
static int read_metadata(oc_trace *trace, oc_text text) {
    oc_json_cursor cursor = {text.data, text.data + text.length};
    oc_text key;
    oc_json_value value;
    oc_json_step step = oc_json_enter(&cursor);
    while (step == OC_JSON_NEXT && (step = oc_json_member(&cursor, &key, &value)) == OC_JSON_NEXT) {
        if (oc_text_equals(key, "batch_size"))
            trace->metadata.batch_size = oc_json_i64(value.text);
        else if (oc_text_equals(key, "parameter_bytes"))
            trace->metadata.parameter_bytes = oc_json_i64(value.text);
        else if (oc_text_equals(key, "torch") && value.type == OC_JSON_STRING)
            trace->metadata.torch_version = intern(trace, value.text);
        step = skip_value(&cursor, &value);
    }
    return trace->metadata.torch_version != OC_INTERN_FAILED;
}

static int flag_of(oc_text value) {
    return oc_text_equals(value, "1") || oc_text_equals(value, "true");
}

static int take_member(oc_trace *trace, oc_text key, oc_text value) {
    if (!trace->first_key[0] && oc_json_is_clean(key) && key.length < sizeof trace->first_key)
        memcpy(trace->first_key, key.data, key.length);
    if (oc_text_equals(key, "profile_memory"))
        trace->profile_memory = flag_of(value);
    else if (oc_text_equals(key, "record_shapes"))
        trace->record_shapes = flag_of(value);
    else if (oc_text_equals(key, "with_stack"))
        trace->with_stack = flag_of(value);
    else if (oc_text_equals(key, "nodes"))
        trace->has_nodes = 1;
    else if (oc_text_equals(key, "segments") || oc_text_equals(key, "device_traces"))
        trace->has_segments = 1;
    else if (oc_text_equals(key, "oomcast"))
        return read_metadata(trace, value);
    return 1;
}

static oc_status feed_text(oc_trace *trace, const char *text, size_t length) {
    oc_text item, key;
    for (;;) {
        switch (oc_json_read(&trace->reader, &text, &length, &item, &key)) {
        case OC_JSON_NEED_MORE: return OC_OK;
        case OC_JSON_FAILED: return trace->error->status;
        case OC_JSON_MEMBER:
            if (!take_member(trace, key, item))
                return oc_error_set_memory(trace->error);
            break;
        case OC_JSON_EVENT:
            if (!take_event(trace, item))
                return trace->thread_count == OC_THREAD_LIMIT
                           ? oc_error_set(trace->error, OC_WRONG_KIND, trace->reader.item_offset,
                                          "this trace has more than %d threads: no profile of a training job that oomcast can read", OC_THREAD_LIMIT)
                           : oc_error_set_memory(trace->error);
            break;
        }
    }
}

/* Called once, with the first bytes or all of a shorter file. */
static oc_status feed_head(oc_trace *trace) {
    trace->is_head_done = 1;
    const char *head = trace->head;
    size_t length = trace->head_length;
    const char *kind = oc_sniff_kind((const uint8_t *)head, length);
    if (kind)
        return oc_error_set(trace->error, OC_WRONG_KIND, 0, "this is %s, not a profile. %s", kind, OC_HOW_TO_RECORD);
    if (length >= 3 && memcmp(head, "\xef\xbb\xbf", 3) == 0) { /* a byte order mark */
        head += 3;
        length -= 3;
        trace->reader.offset = 3;
    }
    return feed_text(trace, head, length);
}

static oc_status feed_plain(oc_trace *trace, const char *text, size_t length) {
    if (!trace->is_head_done) {
        size_t wanted = sizeof trace->head - trace->head_length;
        if (wanted > length)
            wanted = length;
        memcpy(trace->head + trace->head_length, text, wanted);
        trace->head_length += wanted;
        text += wanted;
        length -= wanted;
        if (trace->head_length < sizeof trace->head)
            return OC_OK;
        oc_status status = feed_head(trace);
        if (status != OC_OK)
            return status;
    }
    return feed_text(trace, text, length);
}

static oc_status open_unzip(oc_trace *trace) {
    trace->unzip = oc_arena_alloc(trace->arena, 1, sizeof *trace->unzip);
    trace->text = oc_arena_alloc(trace->arena, TEXT_BYTES, 1);
    if (!trace->unzip || !trace->text)
        return oc_error_set_memory(trace->error);
    return oc_inflate_open(trace->unzip, trace->arena, trace->error);
}

static oc_status feed_gzip(oc_trace *trace, const uint8_t *bytes, size_t length) {
    size_t out_length = 0;
    do {
        oc_error damage = {0}; /* set aside: what was inflated before it is read first, however the file is cut */
        oc_status status = oc_inflate_step(trace->unzip, &bytes, &length, trace->text, TEXT_BYTES, &out_length, &damage);
        if (out_length && feed_plain(trace, (const char *)trace->text, out_length) != OC_OK)
            return trace->error->status;
        if (status != OC_OK)
            return oc_error_set(trace->error, status, damage.byte_offset, "%s", damage.message);
    } while (length || out_length == TEXT_BYTES);
    return OC_OK;
}

oc_status oc_trace_open(oc_trace *trace, oc_arena *arena, oc_interner *names, oc_error *error) {
    trace->arena = arena;
    trace->names = names;
    trace->error = error;
    trace->profile_memory = trace->record_shapes = trace->with_stack = -1;
    trace->cut_ns = INT64_MAX;
    oc_json_reader_init(&trace->reader, arena, error);
    oc_list_init(&trace->ops, arena, sizeof(oc_op));
    oc_list_init(&trace->memory, arena, sizeof(oc_memory_event));
    oc_list_init(&trace->device_memory, arena, sizeof(oc_device_event));
    oc_list_init(&trace->annotations, arena, sizeof(oc_span));
    oc_list_init(&trace->modules, arena, sizeof(oc_span));
    return OC_OK;
}

static oc_status feed_bytes(oc_trace *trace, const uint8_t *bytes, size_t length) {
    return trace->unzip ? feed_gzip(trace, bytes, length) : feed_plain(trace, (const char *)bytes, length);
}

static oc_status decide_format(oc_trace *trace) {
    trace->is_format_known = 1;
    if (oc_inflate_is_gzip(trace->magic, trace->magic_length)) {
        oc_status status = open_unzip(trace);
        if (status != OC_OK)
            return status;
    }
    return feed_bytes(trace, trace->magic, trace->magic_length);
}

oc_status oc_trace_feed(oc_trace *trace, const uint8_t *bytes, size_t length) {
    trace->input_bytes += length;
    while (!trace->is_format_known && length) {
        trace->magic[trace->magic_length++] = *bytes++;
        length--;
        if (trace->magic_length == sizeof trace->magic) {
            oc_status status = decide_format(trace);
            if (status != OC_OK)
                return status;
        }
    }
    return length ? feed_bytes(trace, bytes, length) : OC_OK;
}

/* ---- the end ---- */

static oc_status finish_text(oc_trace *trace) {
    if (!trace->is_head_done) {
        if (trace->head_length == 0 && !(trace->unzip && !oc_inflate_is_complete(trace->unzip)))
            return oc_error_set(trace->error, OC_EMPTY, OC_NO_OFFSET, "the file is empty. %s", OC_HOW_TO_RECORD);
        oc_status status = trace->head_length ? feed_head(trace) : OC_OK;
        if (status != OC_OK)
            return status;
    }
    const oc_json_reader *reader = &trace->reader;
    const int is_gzip_cut = trace->unzip && !oc_inflate_is_complete(trace->unzip);
    if (!is_gzip_cut && reader->state == OC_JSON_AT_START)
        return oc_error_set(trace->error, OC_EMPTY, OC_NO_OFFSET, "the file holds nothing but white space. %s", OC_HOW_TO_RECORD);
    if (!is_gzip_cut && oc_json_is_complete(reader))
        return OC_OK;
    trace->cut_offset = is_gzip_cut ? trace->unzip->input_bytes : reader->offset;
    trace->is_cut = trace->memory.count && !trace->device_memory.count && !trace->is_threaded && trace->last_kind != OC_LAST_OP;
    if (trace->is_cut && trace->last_kind == OC_LAST_MEMORY)
        trace->cut_ns = trace->last_memory_ns;
    return trace->is_cut ? OC_OK : oc_trace_refuse_cut(trace, trace->error);
}

oc_status oc_trace_refuse_cut(const oc_trace *trace, oc_error *error) {
    const unsigned long long offset = trace->cut_offset, count = trace->reader.event_count;
    if (trace->unzip && !oc_inflate_is_complete(trace->unzip))
        return oc_error_set(error, OC_TRUNCATED, offset,
                            "the gzip file is cut off after %llu bytes (inside its data, %llu events were read): copy it again, or record again and let "
                            "the export finish", offset, count);
    return oc_error_set(error, OC_TRUNCATED, offset,
                        "the file is cut off at byte %llu (%llu events were read): copy it again, or record again and let the export finish", offset, count);
}

static oc_status check_kind(oc_trace *trace) {
    const oc_json_reader *reader = &trace->reader;
    if (trace->has_segments)
        return oc_error_set(trace->error, OC_WRONG_KIND, 0, "this is a CUDA memory snapshot, not a profile. %s", OC_HOW_TO_RECORD);
    if (trace->has_nodes && !reader->event_count)
        return oc_error_set(trace->error, OC_WRONG_KIND, 0,
                            "this is an execution trace (ExecutionTraceObserver), not a profile. %s", OC_HOW_TO_RECORD);
    if (reader->root_is_array && !reader->event_count)
        return oc_error_set(trace->error, OC_WRONG_KIND, 0,
                            "this JSON array holds no trace events (a memory timeline that export_memory_timeline wrote looks like that). %s",
                            OC_HOW_TO_RECORD);
    if (!reader->found_events)
        return oc_error_set(trace->error, OC_WRONG_KIND, 0, "this JSON file has no \"traceEvents\"%s%s%s. %s", trace->first_key[0] ? " (its first key is \"" : "",
                            trace->first_key, trace->first_key[0] ? "\")" : "", OC_HOW_TO_RECORD);
    if (trace->device_memory.count)
        return OC_OK;
    if (trace->orphan_device_count)
        return oc_error_set(trace->error, OC_NO_MEMORY_EVENTS, OC_NO_OFFSET,
                            "this profile was recorded on a GPU and its %llu memory events have no addresses or totals (torch 1.11 and older): record with a "
                            "newer torch, or the same job on the CPU. %s", (unsigned long long)trace->orphan_device_count, OC_HOW_TO_RECORD);
    if (trace->memory.count)
        return OC_OK;
    if (trace->impossible_memory_count)
        return oc_error_set(trace->error, OC_NO_MEMORY_EVENTS, trace->impossible_memory_offset,
                            "no memory event of this profile can be used: %llu have times or sizes that cannot be, the first at byte %llu. %s",
                            (unsigned long long)trace->impossible_memory_count, (unsigned long long)trace->impossible_memory_offset, OC_HOW_TO_RECORD);
    if (trace->orphan_memory_count)
        return oc_error_set(trace->error, OC_NO_MEMORY_EVENTS, OC_NO_OFFSET,
                            "the memory events of this profile have no addresses (torch 1.11 and older), so tensors cannot be followed: record with a "
                            "newer torch. %s", OC_HOW_TO_RECORD);
    const oc_warning *damage = oc_warnings_find(&trace->warnings, "damaged_event");
    if (!trace->ops.count && damage)
        return oc_error_set(trace->error, OC_SYNTAX, damage->first_offset,
                            "%llu of %llu events are no valid JSON, the first at byte %llu, and the others hold no CPU operators: this is no file that torch.profiler wrote",
                            (unsigned long long)damage->count, (unsigned long long)reader->event_count, (unsigned long long)damage->first_offset);
    if (!trace->ops.count)
        return oc_error_set(trace->error, OC_WRONG_KIND, OC_NO_OFFSET,
                            "this trace has no CPU operators of PyTorch in it (%llu events, %llu of a GPU). %s",
                            (unsigned long long)reader->event_count, (unsigned long long)trace->device_event_count, OC_HOW_TO_RECORD);
    if (trace->profile_memory == 1)
        return oc_error_set(trace->error, OC_NO_MEMORY_EVENTS, OC_NO_OFFSET,
                            "this profile says profile_memory=True but has no memory events (torch loses them with profile_all_threads=True, "
                            "pytorch issue 166121): record without that option. %s", OC_HOW_TO_RECORD);
    return oc_error_set(trace->error, OC_NO_MEMORY_EVENTS, OC_NO_OFFSET,
                        "this profile has no memory events: it was recorded without profile_memory=True. %s", OC_HOW_TO_RECORD);
}

oc_status oc_trace_finish(oc_trace *trace) {
    oc_status status = OC_OK;
    if (!trace->is_format_known && trace->magic_length) /* a file of one byte */
        status = decide_format(trace);
    if (status == OC_OK)
        status = finish_text(trace);
    if (status == OC_OK)
        status = check_kind(trace);
    if (status != OC_OK)
        return status;
    if (trace->is_cut)
        oc_warnings_add(&trace->warnings, "truncated", 1, trace->cut_offset,
                        trace->cut_ns == INT64_MAX ? "the file is cut off at byte %llu, behind its memory events: names of modules may be missing"
                                                   : "the file is cut off at byte %llu, inside its memory events: only what was recorded before the last of them is used",
                        (unsigned long long)trace->cut_offset);
    if (trace->unzip && trace->unzip->trailing_bytes)
        oc_warnings_add(&trace->warnings, "gzip_trailing_bytes", trace->unzip->trailing_bytes, OC_NO_OFFSET,
                        "%llu bytes after the end of the gzip data were ignored", (unsigned long long)trace->unzip->trailing_bytes);
    if (trace->reader.junk_count)
        oc_warnings_add(&trace->warnings, "junk_between_events", trace->reader.junk_count, trace->reader.junk_offset,
                        "text between events that belongs to none was skipped, the first at byte %llu", (unsigned long long)trace->reader.junk_offset);
    if (trace->reader.skipped_count)
        oc_warnings_add(&trace->warnings, "too_long", trace->reader.skipped_count, OC_NO_OFFSET,
                        "events or header values longer than %d bytes were skipped", OC_JSON_ITEM_LIMIT);
    return OC_OK;
}

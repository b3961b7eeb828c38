/* Fills a cJSON tree. A failed allocation anywhere makes the whole report NULL, never a report with a field missing. */
#include "report.h"

#include <cJSON.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PHASED_PASSES_LIMIT = 200, OWNER_LIMIT = 20, OOM_LIVE_LIMIT = 10, PATH_LIMIT = 400 };

static const char *const phase_names[] = {"parameters", "forward", "backward", "optimizer step", "other"};
static const char *const category_names[] = {"parameter", "buffer", "gradient", "optimizer state", "activation", "batch", "temporary", "workspace"};
static const char *const category_keys[] = {"parameter_bytes",  "buffer_bytes", "gradient_bytes",  "optimizer_state_bytes",
                                            "activation_bytes", "batch_bytes",  "temporary_bytes", "workspace_bytes"};

typedef struct writer {
    const oc_findings *f;
    oc_arena *scratch;
    int has_failed;
} writer;

/* ---- cJSON with the failure noted ---- */

static void number(writer *w, cJSON *object, const char *key, int64_t value) {
    char digits[24]; /* cJSON prints numbers above 2^31 with 15 digits */
    (void)snprintf(digits, sizeof digits, "%lld", (long long)value);
    w->has_failed |= !cJSON_AddRawToObject(object, key, digits);
}

static void text(writer *w, cJSON *object, const char *key, const char *value) {
    w->has_failed |= !(value ? cJSON_AddStringToObject(object, key, value) : cJSON_AddNullToObject(object, key));
}

static void null(writer *w, cJSON *object, const char *key) {
    w->has_failed |= !cJSON_AddNullToObject(object, key);
}

static void boolean(writer *w, cJSON *object, const char *key, int value) {
    w->has_failed |= !cJSON_AddBoolToObject(object, key, value);
}

/* Milliseconds since the first event, to the microsecond. */
static void time(writer *w, cJSON *object, const char *key, int64_t time_ns) {
    int64_t us = (time_ns - w->f->subject->analysis->begin_ns) / 1000;
    w->has_failed |= !cJSON_AddNumberToObject(object, key, (double)us / 1000);
}

static cJSON *object(writer *w, cJSON *parent, const char *key) {
    cJSON *new = cJSON_AddObjectToObject(parent, key);
    w->has_failed |= !new;
    return new;
}

static cJSON *array(writer *w, cJSON *parent, const char *key) {
    cJSON *new = cJSON_AddArrayToObject(parent, key);
    w->has_failed |= !new;
    return new;
}

/* Gives `new`, which may be NULL, to the list. */
static cJSON *append(writer *w, cJSON *list, cJSON *new) {
    if (new && cJSON_AddItemToArray(list, new))
        return new;
    cJSON_Delete(new);
    w->has_failed = 1;
    return NULL;
}

static cJSON *element(writer *w, cJSON *list) {
    return append(w, list, cJSON_CreateObject());
}

static void text_element(writer *w, cJSON *list, const char *value) {
    append(w, list, cJSON_CreateString(value));
}

/* ---- names ---- */

static const char *op_name(const oc_analysis *a, const oc_tensor *tensor) {
    if (tensor->op != OC_NONE)
        return oc_intern_text(a->names, a->ops[tensor->op].name, NULL);
    return NULL;
}

/* "nn.Module: Linear_3" -> "Linear_3" */
static const char *module_name(const oc_analysis *a, uint32_t module) {
    static const char prefix[] = "nn.Module: ";
    const char *name = oc_intern_text(a->names, a->modules[module].name, NULL);
    return strncmp(name, prefix, sizeof prefix - 1) == 0 ? name + sizeof prefix - 1 : name;
}

/* "GPT_0/Block_2/Linear_3", the outer modules left out where it gets longer than PATH_LIMIT; NULL without a module. */
static const char *module_path(const oc_analysis *a, uint32_t module, char path[PATH_LIMIT]) {
    size_t at = PATH_LIMIT - 1;
    path[at] = 0;
    if (module == OC_NONE)
        return NULL;
    for (; module != OC_NONE; module = a->modules[module].at.parent) {
        const char *name = module_name(a, module);
        size_t length = strlen(name), separator = path[at] != 0;
        if (length + separator > at)
            break;
        at -= separator;
        if (separator)
            path[at] = '/';
        at -= length;
        memcpy(path + at, name, length);
    }
    return path + at;
}

/* ---- live tensors ---- */

/* Numbers of the tensors that are live after request `until` (not included: exactly `until` requests done). */
static uint32_t *live_tensors(const oc_plan *plan, uint32_t until, oc_arena *scratch, uint32_t *count) {
    uint8_t *is_live = oc_arena_alloc(scratch, plan->tensor_count, 1);
    uint32_t *live = oc_arena_alloc(scratch, plan->tensor_count, sizeof *live);
    *count = 0;
    if (!is_live || !live)
        return NULL;
    for (uint32_t i = 0; i < until; i++)
        is_live[plan->requests[i].tensor] = plan->requests[i].bytes > 0;
    for (uint32_t i = 0; i < plan->tensor_count; i++)
        if (is_live[i])
            live[(*count)++] = i;
    return live;
}

typedef struct owner {
    uint32_t module_name, op_name; /* interned, 0 if none */
    uint32_t module;               /* one call of it */
    uint8_t category;
    uint32_t tensor; /* one of them */
    uint32_t count;
    int64_t bytes;
} owner;

static int compare_owner_keys(const void *a, const void *b) {
    const owner *x = a, *y = b;
    if (x->category != y->category)
        return x->category < y->category ? -1 : 1;
    if (x->module_name != y->module_name)
        return x->module_name < y->module_name ? -1 : 1;
    if (x->op_name != y->op_name)
        return x->op_name < y->op_name ? -1 : 1;
    return x->tensor < y->tensor ? -1 : x->tensor > y->tensor;
}

static int compare_owner_bytes(const void *a, const void *b) {
    const owner *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return compare_owner_keys(a, b);
}

/* One owner per tensor, largest first; merged by category, module and operator if `is_merged`. */
static owner *list_owners(writer *w, uint32_t until, int is_merged, uint32_t *count) {
    const oc_plan *plan = w->f->plan;
    const oc_analysis *a = w->f->subject->analysis;
    uint32_t *live = live_tensors(plan, until, w->scratch, count);
    owner *owners = live ? oc_arena_alloc(w->scratch, *count, sizeof *owners) : NULL;
    if (!owners) {
        w->has_failed = 1;
        *count = 0;
        return NULL;
    }
    for (uint32_t i = 0; i < *count; i++) {
        const oc_tensor *tensor = &plan->tensors[live[i]];
        owners[i] = (owner){tensor->module == OC_NONE ? 0 : a->modules[tensor->module].name, tensor->op == OC_NONE ? 0 : a->ops[tensor->op].name,
                            tensor->module, tensor->category, live[i], 1, tensor->bytes};
        /* parameters and their like have no operator worth a name: they are what they are */
        if (tensor->category == OC_CATEGORY_PARAMETER || tensor->category == OC_CATEGORY_BUFFER || tensor->category == OC_CATEGORY_STATE)
            owners[i].op_name = 0;
    }
    if (!*count)
        return owners;
    if (is_merged) {
        qsort(owners, *count, sizeof *owners, compare_owner_keys);
        uint32_t kept = 0;
        for (uint32_t i = 1; i < *count; i++) {
            owner *last = &owners[kept];
            if (owners[i].category == last->category && owners[i].module_name == last->module_name && owners[i].op_name == last->op_name) {
                last->count++;
                last->bytes += owners[i].bytes;
            } else {
                owners[++kept] = owners[i];
            }
        }
        *count = kept + 1;
    }
    qsort(owners, *count, sizeof *owners, compare_owner_bytes);
    return owners;
}

static void write_owners(writer *w, cJSON *list, uint32_t until, int is_merged, uint32_t limit) {
    const oc_analysis *a = w->f->subject->analysis;
    uint32_t count;
    const owner *owners = list_owners(w, until, is_merged, &count);
    for (uint32_t i = 0; owners && i < count && i < limit; i++) {
        char path[PATH_LIMIT];
        cJSON *item = element(w, list);
        text(w, item, "category", category_names[owners[i].category]);
        text(w, item, "module", module_path(a, owners[i].module, path));
        text(w, item, "op", owners[i].op_name ? oc_intern_text(a->names, owners[i].op_name, NULL) : NULL);
        number(w, item, "count", owners[i].count);
        number(w, item, "bytes", owners[i].bytes);
    }
}

/* ---- parts of the result ---- */

static void write_moment(writer *w, cJSON *at, uint32_t request) {
    const oc_plan *plan = w->f->plan;
    const oc_analysis *a = w->f->subject->analysis;
    const oc_tensor *tensor = &plan->tensors[plan->requests[request].tensor];
    char path[PATH_LIMIT];
    time(w, at, "time_ms", plan->requests[request].time_ns);
    number(w, at, "iteration", (int64_t)tensor->iteration + 1);
    text(w, at, "phase", phase_names[tensor->phase]);
    text(w, at, "op", op_name(a, tensor));
    text(w, at, "module", module_path(a, tensor->module, path));
}

static void write_peak(writer *w, cJSON *root) {
    const oc_run *run = w->f->run;
    cJSON *peak = object(w, root, "peak");
    number(w, peak, "tensor_bytes", run->peak.tensor_bytes);
    number(w, peak, "allocated_bytes", run->peak.allocated_bytes);
    number(w, peak, "reserved_bytes", run->peak.reserved_bytes);
    number(w, peak, "device_bytes", run->peak.reserved_bytes + OC_CONTEXT_BYTES + OC_LIBRARY_BYTES);
    if (w->f->plan->request_count)
        write_moment(w, object(w, peak, "at"), run->peak_allocated_at);
    else
        null(w, peak, "at");
}

/* Where the peak of a real run lies, library memory included. */
typedef struct band {
    int64_t low_bytes, high_bytes;
    int has_order, has_near, has_convolutions, is_unmeasured, has_no_shapes; /* what widens it, beside the libraries */
} band;

static band band_of(const oc_findings *f) {
    int64_t falling = f->run->peak.reserved_bytes, rising = f->run_rising->peak.reserved_bytes;
    band b = {.low_bytes = falling < rising ? falling : rising, .high_bytes = (falling > rising ? falling : rising) + OC_LIBRARY_HIGH_BYTES};
    b.has_order = falling != rising;
    if (!f->run_near) /* a GPU recording */
        return b;
    b.has_near = f->run_near->peak.reserved_bytes < b.low_bytes;
    if (b.has_near)
        b.low_bytes = f->run_near->peak.reserved_bytes;
    b.low_bytes = b.low_bytes > OC_BELOW_BYTES ? b.low_bytes - OC_BELOW_BYTES : 0;
    const oc_job *job = f->subject->job;
    b.has_convolutions = job->has_convolutions;
    b.is_unmeasured = job->recurrent_count || job->low_precision_count || job->is_compiled;
    b.has_no_shapes = !job->has_shapes;
    const double part = (b.has_convolutions ? OC_CONVOLUTION_PART : 0) + (b.is_unmeasured ? OC_UNMEASURED_PART : 0) + (b.has_no_shapes ? OC_NO_SHAPES_PART : 0);
    const int64_t bytes = (int64_t)(part * (double)falling);
    b.low_bytes = b.low_bytes > bytes ? b.low_bytes - bytes : 0;
    b.high_bytes += bytes + (b.has_convolutions ? OC_CONVOLUTION_BYTES : 0);
    return b;
}

static void write_band(writer *w, cJSON *root) {
    const band b = band_of(w->f);
    char why[500];
    (void)snprintf(why, sizeof why, "library memory (0 to 36 MiB)%s%s%s%s%s%s", w->f->run_near ? ", measured runs up to 16 MiB below" : "",
                   b.has_convolutions ? ", workspaces of convolutions (64 MiB, and 3 % either way as measured; in one series of runs up to 21 % more)" : "",
                   b.is_unmeasured ? ", recurrent layers, half precision or compiled code, of which no measured run tells (10 % either way)" : "",
                   b.has_no_shapes ? ", shapes that were not recorded (5.5 % either way)" : "",
                   b.has_order ? ", the order of device addresses, which decides between equal blocks" : "",
                   b.has_near ? ", free blocks that miss a request by less than 2 %, as batches differ" : "");
    cJSON *object_of_it = object(w, root, "band");
    number(w, object_of_it, "low_bytes", b.low_bytes);
    number(w, object_of_it, "high_bytes", b.high_bytes);
    text(w, object_of_it, "why", why);
}

static void write_job(writer *w, cJSON *root) {
    const oc_subject *s = w->f->subject;
    cJSON *job = object(w, root, "job");
    if (w->f->plan->batch)
        number(w, job, "batch_size", w->f->plan->batch);
    else
        null(w, job, "batch_size");
    cJSON *sizes = array(w, job, "recorded_batch_sizes");
    const int64_t recorded[] = {s->scale->batch, s->scale->other_batch};
    for (size_t i = 0; i < 2; i++)
        if (recorded[i])
            append(w, sizes, cJSON_CreateNumber((double)recorded[i]));
    int is_recorded = w->f->plan->batch == s->scale->batch || w->f->plan->batch == s->scale->other_batch;
    text(w, job, "scaling", s->scale->difference && !is_recorded ? "two-profiles" : "recorded");
    text(w, job, "optimizer", w->f->plan->optimizer_name);
    char torch[24];
    const int version = oc_options_torch(w->f->options);
    (void)snprintf(torch, sizeof torch, "%d.%d", version / 100, version % 100);
    text(w, job, "torch", torch);
    number(w, job, "parameter_bytes", s->job->parameter_bytes);
    number(w, job, "buffer_bytes", s->job->buffer_bytes);
    number(w, job, "gradient_bytes", s->job->gradient_bytes);
    number(w, job, "optimizer_state_bytes", w->f->plan->optimizer_state_bytes);
    number(w, job, "iterations", s->analysis->iteration_count);
}

static void write_at_peak(writer *w, cJSON *root) {
    const oc_run *run = w->f->run;
    const oc_plan *plan = w->f->plan;
    int64_t bytes[OC_CATEGORY_COUNT] = {0}, tensor_bytes = 0;
    uint32_t count = 0;
    const uint32_t *live = live_tensors(plan, run->request_count ? run->peak_allocated_at + 1 : 0, w->scratch, &count);
    w->has_failed |= !live;
    for (uint32_t i = 0; i < count; i++) {
        bytes[plan->tensors[live[i]].category] += plan->tensors[live[i]].bytes;
        tensor_bytes += plan->tensors[live[i]].bytes;
    }
    cJSON *at_peak = object(w, root, "at_peak");
    for (int i = 0; i < OC_CATEGORY_COUNT; i++)
        number(w, at_peak, category_keys[i], bytes[i]);
    number(w, at_peak, "rounding_bytes", run->peak.allocated_bytes - tensor_bytes);
    number(w, at_peak, "cached_bytes", run->peak.reserved_bytes - run->peak.allocated_bytes);
}

static void write_phase(writer *w, cJSON *list, const char *name, uint32_t iteration, int64_t start_ns, int64_t end_ns) {
    const oc_plan *plan = w->f->plan;
    int64_t allocated = 0, reserved = 0;
    uint32_t low = 0, high = w->f->run->request_count;
    while (low < high) { /* the first request at or after the start */
        uint32_t middle = low + (high - low) / 2;
        if (plan->requests[middle].time_ns < start_ns)
            low = middle + 1;
        else
            high = middle;
    }
    for (uint32_t i = low; i < w->f->run->request_count && plan->requests[i].time_ns <= end_ns; i++) {
        allocated = w->f->usage[i].allocated_bytes > allocated ? w->f->usage[i].allocated_bytes : allocated;
        reserved = w->f->usage[i].reserved_bytes > reserved ? w->f->usage[i].reserved_bytes : reserved;
    }
    cJSON *item = element(w, list);
    text(w, item, "phase", name);
    number(w, item, "iteration", (int64_t)iteration + 1);
    time(w, item, "start_ms", start_ns);
    time(w, item, "end_ms", end_ns);
    number(w, item, "peak_allocated_bytes", allocated);
    number(w, item, "peak_reserved_bytes", reserved);
}

/* Of the first PHASED_PASSES_LIMIT passes and steps. Forward passes reach from the end of whatever came before (fetch, step, the pass before) to the backward pass. */
static void write_phases(writer *w, cJSON *root) {
    const oc_analysis *a = w->f->subject->analysis;
    cJSON *list = array(w, root, "phases");
    if (a->first_ns > a->begin_ns)
        write_phase(w, list, phase_names[OC_PHASE_PARAMETERS], 0, a->begin_ns, a->first_ns);
    if (!a->passes.count)
        write_phase(w, list, phase_names[OC_PHASE_FORWARD], 0, a->first_ns, a->end_ns);
    for (uint32_t i = 0; i < a->passes.count && i < PHASED_PASSES_LIMIT; i++) {
        const oc_window *pass = &a->passes.items[i];
        int64_t start_ns = i ? a->passes.items[i - 1].end_ns : a->first_ns;
        const oc_windows *before[] = {&a->steps, &a->loads};
        for (size_t group = 0; group < 2; group++) {
            const oc_window *last = oc_windows_before(before[group], pass->start_ns);
            if (last && last->end_ns > start_ns)
                start_ns = last->end_ns;
        }
        uint32_t iteration = oc_analysis_iteration(a, pass->start_ns);
        write_phase(w, list, phase_names[OC_PHASE_FORWARD], iteration, start_ns, pass->start_ns);
        write_phase(w, list, phase_names[OC_PHASE_BACKWARD], iteration, pass->start_ns, pass->end_ns);
    }
    for (uint32_t i = 0; i < a->steps.count && i < PHASED_PASSES_LIMIT; i++)
        write_phase(w, list, phase_names[OC_PHASE_STEP], oc_analysis_iteration(a, a->steps.items[i].start_ns), a->steps.items[i].start_ns,
                    a->steps.items[i].end_ns);
}

/* "20.00 MiB", as c10/util/StringUtil and format_size in CUDACachingAllocator.cpp write sizes. */
static const char *pytorch_size(char *out, size_t capacity, int64_t bytes) {
    double kib = 1024, size = (double)bytes;
    if (bytes <= 1024)
        (void)snprintf(out, capacity, "%lld bytes", (long long)bytes);
    else if (bytes <= 1048576)
        (void)snprintf(out, capacity, "%.2f KiB", size / kib);
    else if (bytes <= 1073741824)
        (void)snprintf(out, capacity, "%.2f MiB", size / kib / kib);
    else
        (void)snprintf(out, capacity, "%.2f GiB", size / kib / kib / kib);
    return out;
}

/* The facts of PyTorch's message, in its order, so that the two can be compared. */
static void write_oom_message(writer *w, cJSON *oom) {
    enum { SIZE_TEXT = 40 };
    const oc_run *run = w->f->run;
    char message[600], sizes[6][SIZE_TEXT];
    int64_t cached_bytes = run->at_oom.reserved_bytes - run->at_oom.allocated_bytes;
    int64_t used_bytes = run->at_oom.reserved_bytes + OC_CONTEXT_BYTES, free_bytes = oc_options_usable(w->f->options) - run->at_oom.reserved_bytes;
    (void)snprintf(message, sizeof message,
                   "CUDA out of memory. Tried to allocate %s. GPU 0 has a total capacity of %s of which %s is free. Including non-PyTorch memory, this "
                   "process has %s memory in use. Of the allocated memory %s is allocated by PyTorch, and %s is reserved by PyTorch but unallocated.",
                   pytorch_size(sizes[0], SIZE_TEXT, run->oom_bytes), pytorch_size(sizes[1], SIZE_TEXT, w->f->options->capacity_bytes),
                   pytorch_size(sizes[2], SIZE_TEXT, free_bytes > 0 ? free_bytes : 0), pytorch_size(sizes[3], SIZE_TEXT, used_bytes),
                   pytorch_size(sizes[4], SIZE_TEXT, run->at_oom.allocated_bytes), pytorch_size(sizes[5], SIZE_TEXT, cached_bytes));
    text(w, oom, "message", message);
}

static void write_oom(writer *w, cJSON *root) {
    const oc_run *run = w->f->run;
    if (!run->is_oom) {
        null(w, root, "oom");
        return;
    }
    cJSON *oom = object(w, root, "oom");
    number(w, oom, "bytes", run->oom_bytes);
    write_moment(w, object(w, oom, "at"), run->request_count);
    number(w, oom, "allocated_bytes", run->at_oom.allocated_bytes);
    number(w, oom, "reserved_bytes", run->at_oom.reserved_bytes);
    number(w, oom, "cached_bytes", run->at_oom.reserved_bytes - run->at_oom.allocated_bytes);
    number(w, oom, "largest_free_block_bytes", run->oom_largest_free_bytes);
    number(w, oom, "retries", run->retry_count);
    number(w, oom, "released_bytes", run->released_bytes);
    write_oom_message(w, oom);
    write_owners(w, array(w, oom, "live"), run->request_count, 0, OOM_LIVE_LIMIT);
}

static void write_warnings(writer *w, cJSON *list, const oc_warnings *warnings) {
    for (size_t i = 0; i < warnings->count; i++) {
        const oc_warning *warning = &warnings->items[i];
        cJSON *item = element(w, list);
        text(w, item, "code", warning->code);
        number(w, item, "count", (int64_t)warning->count);
        if (warning->first_offset == OC_NO_OFFSET)
            null(w, item, "first_offset");
        else
            number(w, item, "first_offset", (int64_t)warning->first_offset);
        text(w, item, "message", warning->message);
    }
}

/* Of both profiles and the plan, each code once. */
static void write_all_warnings(writer *w, cJSON *root) {
    const oc_findings *f = w->f;
    const oc_warnings *sources[] = {&f->subject->analysis->trace->warnings, &f->subject->analysis->warnings,
                                    f->subject->other ? &f->subject->other->trace->warnings : NULL,
                                    f->subject->other ? &f->subject->other->warnings : NULL, &f->plan->warnings};
    oc_warnings *merged = oc_arena_alloc(w->scratch, 1, sizeof *merged);
    w->has_failed |= !merged;
    for (size_t i = 0; merged && i < sizeof sources / sizeof sources[0]; i++)
        for (size_t k = 0; sources[i] && k < sources[i]->count; k++) {
            const oc_warning *warning = &sources[i]->items[k];
            oc_warnings_add(merged, warning->code, warning->count, warning->first_offset, "%s", warning->message);
        }
    cJSON *list = array(w, root, "warnings");
    if (merged)
        write_warnings(w, list, merged);
}

static const char *const column_names[OC_COLUMN_COUNT] = {"allocated time", "allocated", "reserved time", "reserved",
                                                          "tensor time",    "tensor",    "need time",     "need reserved"};

static void write_columns(writer *w, cJSON *root, const oc_columns *columns) {
    cJSON *list = array(w, root, "columns");
    for (int i = 0; i < OC_COLUMN_COUNT; i++) {
        cJSON *item = element(w, list);
        number(w, item, "id", i);
        text(w, item, "name", column_names[i]);
        text(w, item, "unit", i % 2 ? "bytes" : "ms");
        number(w, item, "length", (int64_t)columns->length[i]);
    }
}

static void write_gpu(writer *w, cJSON *root) {
    const oc_options *options = w->f->options;
    if (!options->capacity_bytes) {
        null(w, root, "gpu");
        return;
    }
    cJSON *gpu = object(w, root, "gpu");
    text(w, gpu, "name", options->gpu ? options->gpu->name : NULL);
    number(w, gpu, "total_bytes", options->capacity_bytes);
    number(w, gpu, "usable_bytes", w->f->usable_bytes);
}

static const char *verdict(const oc_findings *f) {
    if (!f->usable_bytes)
        return NULL;
    if (f->run->is_oom)
        return "oom";
    return f->need->peak.reserved_bytes > f->usable_bytes || f->run_rising->is_oom || band_of(f).high_bytes > f->usable_bytes ? "tight" : "fits";
}

/* Null if it was not asked for. */
static void write_max_batch(writer *w, cJSON *root) {
    const oc_largest *largest = w->f->largest;
    const oc_analysis *a = w->f->subject->analysis;
    char path[PATH_LIMIT];
    if (!largest) {
        null(w, root, "max_batch");
        return;
    }
    cJSON *max_batch = object(w, root, "max_batch");
    number(w, max_batch, "batch", largest->batch);
    if (largest->failing_below)
        number(w, max_batch, "failing_below", largest->failing_below);
    else
        null(w, max_batch, "failing_below");
    if (largest->is_endless) {
        null(w, max_batch, "next");
        return;
    }
    cJSON *next = object(w, max_batch, "next"); /* the next batch: the request that fails */
    number(w, next, "bytes", largest->next_bytes);
    number(w, next, "iteration", (int64_t)largest->next_tensor.iteration + 1);
    text(w, next, "phase", phase_names[largest->next_tensor.phase]);
    text(w, next, "op", op_name(a, &largest->next_tensor));
    text(w, next, "module", module_path(a, largest->next_tensor.module, path));
}

/* Null for a CPU profile. */
static void write_recording(writer *w, cJSON *root) {
    const oc_recording *recording = w->f->recording;
    if (!recording) {
        null(w, root, "recording");
        return;
    }
    cJSON *object_of_it = object(w, root, "recording");
    text(w, object_of_it, "device", recording->device_type == 1 ? "cuda" : recording->device_type == 6 ? "hip" : "other");
    number(w, object_of_it, "device_id", recording->device_id);
    number(w, object_of_it, "devices", recording->device_count);
    number(w, object_of_it, "events", recording->count);
    number(w, object_of_it, "before_bytes", w->f->plan->tensors[0].bytes);
    boolean(w, object_of_it, "is_simulated", w->f->run != w->f->need);
}

static void write_xmem(writer *w, cJSON *root) {
    const oc_findings *f = w->f;
    cJSON *xmem = object(w, root, "xmem");
    boolean(w, xmem, "OOM", f->run->is_oom);
    if (f->options->capacity_bytes)
        number(w, xmem, "Max GPU Memory", f->options->capacity_bytes);
    else
        null(w, xmem, "Max GPU Memory");
    cJSON *memory = object(w, xmem, "memory");
    number(w, memory, "tensor", f->run->peak.allocated_bytes);
    number(w, memory, "segment", f->run->peak.reserved_bytes);
    null(w, xmem, "runtime");
}

static void write_all(writer *w, cJSON *root, const oc_columns *columns) {
    const oc_findings *f = w->f;
    text(w, root, "format", "oomcast-result");
    number(w, root, "version", OC_RESULT_VERSION);
    text(w, root, "oomcast", OC_VERSION);
    text(w, root, "verdict", verdict(f));
    write_peak(w, root);
    cJSON *need = object(w, root, "need");
    number(w, need, "allocated_bytes", f->need->peak.allocated_bytes);
    number(w, need, "reserved_bytes", f->need->peak.reserved_bytes);
    number(w, root, "minimum_capacity_bytes", f->minimum_bytes);
    write_band(w, root);
    cJSON *outside = object(w, root, "outside");
    number(w, outside, "context_bytes", OC_CONTEXT_BYTES);
    number(w, outside, "context_low_bytes", OC_CONTEXT_LOW_BYTES);
    number(w, outside, "context_high_bytes", OC_CONTEXT_HIGH_BYTES);
    number(w, outside, "library_bytes", OC_LIBRARY_BYTES);
    write_gpu(w, root);
    write_job(w, root);
    write_max_batch(w, root);
    write_recording(w, root);
    write_at_peak(w, root);
    write_phases(w, root);
    write_owners(w, array(w, root, "owners"), f->run->request_count ? f->run->peak_allocated_at + 1 : 0, 1, OWNER_LIMIT);
    write_oom(w, root);
    write_all_warnings(w, root);
    cJSON *assumptions = array(w, root, "assumptions");
    for (size_t i = 0; i < f->plan->assumptions.count; i++)
        text_element(w, assumptions, f->plan->assumptions.items[i]);
    write_columns(w, root, columns);
    write_xmem(w, root);
}

char *oc_report_json(const oc_findings *findings, const oc_columns *columns, oc_arena *arena, oc_arena *scratch) {
    writer w = {findings, scratch, 0};
    cJSON *root = cJSON_CreateObject();
    if (!root)
        return NULL;
    write_all(&w, root, columns);
    char *printed = w.has_failed ? NULL : cJSON_PrintUnformatted(root);
    char *json = printed ? oc_arena_copy(arena, printed, strlen(printed)) : NULL;
    cJSON_free(printed);
    cJSON_Delete(root);
    return json;
}

/* At most 30 years in either direction: a profile is never longer. */
static int64_t nanoseconds(double ms) {
    const double limit_ms = 1e12;
    return (int64_t)((ms < -limit_ms ? -limit_ms : ms > limit_ms ? limit_ms : ms) * 1e6);
}

int oc_report_columns(oc_columns *columns, const oc_findings *f, oc_arena *arena) {
    const oc_analysis *a = f->subject->analysis;
    int64_t from_ns = a->begin_ns, to_ns = a->end_ns;
    if (f->options->range_end_ms > f->options->range_start_ms) {
        from_ns = a->begin_ns + nanoseconds(f->options->range_start_ms);
        to_ns = a->begin_ns + nanoseconds(f->options->range_end_ms);
    }
    const size_t stride = sizeof(oc_usage) / sizeof(int64_t);
    const oc_usage *usages[] = {f->usage, f->usage, f->usage, f->need_usage};
    const uint32_t counts[] = {f->run->request_count, f->run->request_count, f->run->request_count, f->need->request_count};
    const size_t fields[] = {offsetof(oc_usage, allocated_bytes), offsetof(oc_usage, reserved_bytes), offsetof(oc_usage, tensor_bytes),
                             offsetof(oc_usage, reserved_bytes)};
    for (int i = 0; i < OC_COLUMN_COUNT / 2; i++) {
        if (i == OC_COLUMN_NEED / 2 && !f->run->is_oom && (!f->recording || f->run == f->need))
            continue;
        int64_t end_ns = to_ns;
        if (i != OC_COLUMN_NEED / 2 && f->run->is_oom && f->run->request_count < f->plan->request_count &&
            f->plan->requests[f->run->request_count].time_ns < to_ns)
            end_ns = f->plan->requests[f->run->request_count].time_ns; /* the curve stops where the job does */
        oc_curve curve;
        const int64_t *values = (const int64_t *)(const void *)((const char *)usages[i] + fields[i]);
        if (!oc_curve_reduce(&curve, f->plan->requests, counts[i], values, stride, a->begin_ns, from_ns, end_ns > from_ns ? end_ns : from_ns,
                             f->options->points, arena))
            return 0;
        columns->data[2 * i] = curve.time_ms;
        columns->data[2 * i + 1] = curve.values;
        columns->length[2 * i] = columns->length[2 * i + 1] = curve.count;
    }
    return 1;
}

char *oc_report_gpus(void) {
    cJSON *list = cJSON_CreateArray();
    writer w = {0};
    for (size_t i = 0; list && oc_gpu_at(i); i++) {
        const oc_gpu *gpu = oc_gpu_at(i);
        cJSON *item = element(&w, list);
        text(&w, item, "name", gpu->name);
        text(&w, item, "vendor", gpu->vendor);
        text(&w, item, "group", gpu->group);
        text(&w, item, "architecture", gpu->architecture);
        text(&w, item, "compute_capability", gpu->compute_capability);
        number(&w, item, "marketed_gib", gpu->marketed_gib);
        number(&w, item, "total_bytes", gpu->total_bytes);
        text(&w, item, "certainty", gpu->certainty);
        text(&w, item, "aliases", gpu->aliases);
    }
    char *printed = list && !w.has_failed ? cJSON_PrintUnformatted(list) : NULL;
    cJSON_Delete(list);
    return printed;
}

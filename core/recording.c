/* GPU recordings. */
#include "recording.h"

#include "addresses.h"

#include <stdlib.h>
#include <string.h>

/* ---- reading ---- */

static int is_same_device(const oc_trace *trace, const oc_device_event *x, const oc_device_event *y) {
    return x->device_type == y->device_type && x->device_id == y->device_id &&
           trace->threads[x->memory.thread].process == trace->threads[y->memory.thread].process;
}

/* The device with most events among those of the wanted number; of ranks merged into one file each process has its own. */
static const oc_device_event *choose_device(oc_recording *recording, const oc_trace *trace, const oc_device_event *events, uint32_t count,
                                            int64_t device_id) {
    const oc_device_event *devices[OC_DEVICE_LIMIT], *best = NULL;
    uint32_t counts[OC_DEVICE_LIMIT] = {0}, best_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t k = 0;
        while (k < recording->device_count && !is_same_device(trace, devices[k], &events[i]))
            k++;
        if (k == OC_DEVICE_LIMIT) {
            recording->device_count++;
            return NULL;
        }
        if (k == recording->device_count)
            devices[recording->device_count++] = &events[i];
        counts[k]++;
    }
    for (uint32_t k = 0; k < recording->device_count; k++) {
        if ((device_id < 0 || devices[k]->device_id == device_id) && counts[k] > best_count) {
            best = devices[k];
            best_count = counts[k];
        }
    }
    return best;
}

static int compare_times(const void *a, const void *b) {
    const oc_device_event *x = a, *y = b;
    if (x->memory.time_ns != y->memory.time_ns)
        return x->memory.time_ns < y->memory.time_ns ? -1 : 1;
    return x->memory.event_index < y->memory.event_index ? -1 : x->memory.event_index > y->memory.event_index;
}

/* The chosen device's events take the place of the CPU's. */
static int replace_memory(const oc_recording *recording, oc_trace *trace, oc_arena *arena) {
    oc_list_init(&trace->memory, arena, sizeof(oc_memory_event));
    for (uint32_t i = 0; i < trace->thread_count; i++)
        trace->threads[i].memory_count = 0;
    for (uint32_t i = 0; i < recording->count; i++) {
        oc_memory_event *memory = oc_list_push(&trace->memory);
        if (!memory)
            return 0;
        *memory = recording->events[i].memory;
        trace->threads[memory->thread].memory_count++;
    }
    return 1;
}

oc_status oc_recording_read(oc_recording *recording, oc_trace *trace, int64_t device_id, oc_arena *arena, oc_error *error) {
    memset(recording, 0, sizeof *recording);
    uint32_t count = (uint32_t)trace->device_memory.count, kept = 0;
    if (!count && device_id >= 0)
        return oc_error_set(error, OC_OPTIONS, OC_NO_OFFSET, "device %lld: this profile has no memory events of a GPU", (long long)device_id);
    if (!count)
        return OC_OK;
    oc_device_event *events = oc_list_flatten(&trace->device_memory, arena);
    if (!events)
        return oc_error_set_memory(error);
    const oc_device_event *found = choose_device(recording, trace, events, count, device_id);
    if (recording->device_count > OC_DEVICE_LIMIT)
        return oc_error_set(error, OC_OPTIONS, OC_NO_OFFSET, "this profile has memory events of more than %d devices: keep those of one process in a file",
                            OC_DEVICE_LIMIT);
    if (!found)
        return oc_error_set(error, OC_OPTIONS, OC_NO_OFFSET, "device %lld: this profile has no memory events of it, but of %u other%s", (long long)device_id,
                            recording->device_count, recording->device_count == 1 ? "" : "s");
    const oc_device_event chosen = *found;
    for (uint32_t i = 0; i < count; i++) {
        if (!is_same_device(trace, &events[i], &chosen))
            continue;
        events[kept] = events[i];
        events[kept].memory.event_index = kept; /* as in the file: the totals add up in that order (stable by time) */
        kept++;
    }
    qsort(events, kept, sizeof *events, compare_times);
    for (uint32_t i = 0; i < kept; i++) {
        events[i].memory.event_index = i;
        recording->has_grown |= i && events[i].reserved_bytes > events[i - 1].reserved_bytes;
    }
    recording->events = events;
    recording->count = kept;
    recording->device_type = chosen.device_type;
    recording->device_id = chosen.device_id;
    return replace_memory(recording, trace, arena) ? OC_OK : oc_error_set_memory(error);
}

/* ---- the plan ---- */

static int compare_births(const void *a, const void *b) {
    const oc_memory_event *x = &(*(const oc_device_event *const *)a)->memory, *y = &(*(const oc_device_event *const *)b)->memory;
    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? -1 : 1;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    return x->event_index < y->event_index ? -1 : x->event_index > y->event_index;
}

/* For every event that allocates the block of the analysis, whose blocks lie in this order. */
static uint32_t *match_blocks(const oc_recording *recording, oc_arena *arena) {
    uint32_t *blocks = oc_arena_alloc(arena, recording->count, sizeof *blocks), births = 0;
    const oc_device_event **order = oc_arena_alloc(arena, recording->count, sizeof(const oc_device_event *));
    if (!blocks || !order)
        return NULL;
    for (uint32_t i = 0; i < recording->count; i++)
        if (recording->events[i].memory.bytes > 0)
            order[births++] = &recording->events[i];
    if (births)
        qsort(order, births, sizeof *order, compare_births);
    for (uint32_t i = 0; i < births; i++)
        blocks[order[i] - recording->events] = i;
    return blocks;
}

typedef struct writer {
    oc_plan *plan;
    oc_usage *usage;
    oc_usage now; /* as recorded */
} writer;

static void write_request(writer *w, int64_t time_ns, uint32_t tensor, int64_t bytes) {
    w->usage[w->plan->request_count] = w->now;
    w->plan->requests[w->plan->request_count++] = (oc_request){time_ns, bytes, tensor};
}

static void note_run(oc_run *run, const oc_plan *plan, const oc_usage *usage) {
    memset(run, 0, sizeof *run);
    for (uint32_t i = 0; i < plan->request_count; i++)
        oc_run_note(run, &usage[i], i);
    run->request_count = plan->request_count;
}

static oc_status check_options(const oc_options *options, oc_error *error) {
    const char *what = options->batch ? "batch" : strcmp(options->optimizer, "recorded") != 0 ? "optimizer" : options->foreach != OC_FOREACH_AUTO ? "foreach"
                       : options->zero_grad != OC_ZERO_GRAD_RECORDED ? "zero_grad" : NULL;
    return what ? oc_error_set(error, OC_OPTIONS, OC_NO_OFFSET,
                               "option \"%s\": this profile was recorded on a GPU and is taken as it is; to change the job, record it on the CPU "
                               "(examples/record.py)", what) : OC_OK;
}

/* Tensor numbers: 0 for the sum of what stays, then the blocks from before that are freed, then the recorded allocations. */
oc_status oc_recording_plan(oc_plan *plan, const oc_recording *recording, const oc_subject *subject, const oc_options *options, oc_usage **usage,
                            oc_run *run, oc_arena *arena, oc_error *error) {
    const oc_analysis *a = subject->analysis;
    const uint32_t limit = 2 * recording->count + 1;
    oc_status status = check_options(options, error);
    if (status != OC_OK)
        return status;
    oc_addresses map; /* the event, then the tensor, that lives there */
    uint32_t *blocks = match_blocks(recording, arena), *freed = oc_arena_alloc(arena, recording->count, sizeof *freed);
    plan->requests = oc_arena_alloc(arena, limit, sizeof *plan->requests);
    plan->tensors = oc_arena_alloc(arena, limit, sizeof *plan->tensors);
    writer w = {.plan = plan, .usage = oc_arena_alloc(arena, limit, sizeof *w.usage)};
    if (!blocks || !freed || !plan->requests || !plan->tensors || !w.usage || !oc_addresses_init(&map, recording->count, arena))
        return oc_error_set_memory(error);
    const int64_t before_ns = recording->events[0].memory.time_ns - 1;
    const oc_tensor before = {0, OC_NONE, OC_NONE, 0, OC_CATEGORY_BUFFER, OC_PHASE_PARAMETERS};
    plan->tensors[plan->tensor_count++] = before;
    for (uint32_t i = 0; i < recording->count; i++) { /* what is freed, and which frees are of blocks from before */
        const oc_memory_event *event = &recording->events[i].memory;
        uint32_t *there = oc_addresses_find(&map, event->address);
        freed[i] = OC_NONE;
        if (event->bytes < 0 && *there == OC_NOTHING_THERE) {
            freed[i] = plan->tensor_count;
            plan->tensors[plan->tensor_count] = before;
            plan->tensors[plan->tensor_count++].bytes = -event->bytes;
        }
        *there = event->bytes > 0 ? i : OC_NOTHING_THERE;
    }
    /* all that was there: recorded totals of the first event, less that event */
    w.now.allocated_bytes = w.now.tensor_bytes = recording->events[0].allocated_bytes - recording->events[0].memory.bytes;
    w.now.reserved_bytes = recording->events[0].reserved_bytes;
    int64_t stays_bytes = w.now.allocated_bytes;
    for (uint32_t i = 1; i < plan->tensor_count; i++)
        stays_bytes -= plan->tensors[i].bytes;
    plan->tensors[0].bytes = stays_bytes > 0 ? stays_bytes : 0;
    for (uint32_t i = stays_bytes > 0 ? 0 : 1; i < plan->tensor_count; i++)
        write_request(&w, before_ns, i, plan->tensors[i].bytes);
    oc_addresses_clear(&map);
    for (uint32_t i = 0; i < recording->count; i++) {
        const oc_device_event *event = &recording->events[i];
        uint32_t *there = oc_addresses_find(&map, event->memory.address), old = *there;
        w.now = (oc_usage){event->allocated_bytes, event->allocated_bytes, event->reserved_bytes};
        if (event->memory.bytes <= 0) {
            if (freed[i] != OC_NONE || old != OC_NOTHING_THERE)
                write_request(&w, event->memory.time_ns, freed[i] != OC_NONE ? freed[i] : old, 0);
            *there = OC_NOTHING_THERE;
            continue;
        }
        if (old != OC_NOTHING_THERE) /* its free is missing */
            write_request(&w, event->memory.time_ns, old, 0);
        const oc_block *block = &a->blocks[blocks[i]];
        plan->tensors[plan->tensor_count] = (oc_tensor){event->memory.bytes, block->producer, block->module, block->iteration,
                                                        (uint8_t)oc_category_of(block, (oc_role)subject->job->roles[blocks[i]]), block->phase};
        *there = plan->tensor_count++;
        write_request(&w, event->memory.time_ns, *there, event->memory.bytes);
    }
    *usage = w.usage;
    note_run(run, plan, w.usage);
    plan->batch = subject->scale->batch;
    plan->optimizer_name = a->optimizer ? oc_intern_text(a->names, a->optimizer, NULL) : NULL;
    return OC_OK;
}

/* ---- once more ---- */

/* The bytes that stay are the first request; they are not simulated. */
static uint32_t aside_count(const oc_plan *plan) {
    return plan->request_count && plan->requests[0].tensor == 0;
}

/* The sizes of blocks hold the rest that was not split off: requesting it again gives the same. */
int64_t oc_recording_aside(const oc_recording *recording, oc_allocator *allocator, const oc_plan *plan, int is_uncached) {
    if (is_uncached)
        return oc_round_up(plan->tensors[0].bytes, OC_kMinBlockSize);
    uint32_t aside = aside_count(plan), first = aside;
    int64_t allocated_bytes = plan->tensors[0].bytes;
    if (recording->has_grown) {
        oc_run run;
        while (first < plan->request_count && plan->requests[first].time_ns < recording->events[0].memory.time_ns)
            first++;
        if (!oc_simulate(allocator, &oc_allocator_defaults, plan->requests + aside, first + 1 - aside, OC_NO_LIMIT, 0, NULL, &run))
            return -1;
        int64_t rest = recording->events[0].reserved_bytes - run.peak.reserved_bytes;
        if (rest > allocated_bytes)
            return rest;
    }
    return oc_round_up(allocated_bytes, OC_kRoundLarge);
}

static void add_usage(oc_usage *usage, int64_t allocated_bytes, int64_t reserved_bytes) {
    usage->tensor_bytes += allocated_bytes;
    usage->allocated_bytes += allocated_bytes;
    usage->reserved_bytes += reserved_bytes;
}

int oc_recording_simulate(oc_allocator *allocator, const oc_allocator_options *options, const oc_plan *plan, int64_t limit_bytes, int is_rising,
                          oc_usage *usage, oc_run *run) {
    const uint32_t aside = aside_count(plan);
    const int64_t allocated_bytes = plan->tensors[0].bytes, reserved_bytes = options->aside_bytes;
    if (!oc_simulate(allocator, options, plan->requests + aside, plan->request_count - aside, limit_bytes, is_rising, usage ? usage + aside : NULL, run))
        return 0;
    for (uint32_t i = 0; usage && i < run->request_count; i++)
        add_usage(&usage[aside + i], allocated_bytes, reserved_bytes);
    if (aside && usage)
        usage[0] = (oc_usage){allocated_bytes, allocated_bytes, reserved_bytes};
    add_usage(&run->peak, allocated_bytes, reserved_bytes);
    add_usage(&run->at_oom, allocated_bytes, reserved_bytes);
    run->request_count += aside;
    run->peak_allocated_at += aside;
    run->peak_reserved_at += aside;
    return 1;
}

int oc_recording_minimum(oc_allocator *allocator, const oc_allocator_options *options, const oc_plan *plan, int64_t *minimum_bytes) {
    const uint32_t aside = aside_count(plan);
    oc_run need;
    return oc_simulate(allocator, options, plan->requests + aside, plan->request_count - aside, OC_NO_LIMIT, 0, NULL, &need) &&
           oc_simulate_minimum(allocator, options, plan->requests + aside, plan->request_count - aside, &need, minimum_bytes);
}

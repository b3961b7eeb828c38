/* Pairs memory events into blocks and finds the structure of the job in time. */
#include "analyze.h"

#include "addresses.h"
#include "nest.h"

#include <stdlib.h>
#include <string.h>

/* ---- windows ---- */

static int compare_windows(const void *a, const void *b) {
    const oc_window *x = a, *y = b;
    return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

/* Sorts and merges overlapping windows. */
static void tidy_windows(oc_windows *windows) {
    if (!windows->count)
        return;
    qsort(windows->items, windows->count, sizeof *windows->items, compare_windows);
    uint32_t kept = 0;
    for (uint32_t i = 1; i < windows->count; i++) {
        oc_window *last = &windows->items[kept];
        if (windows->items[i].start_ns >= last->end_ns && windows->items[i].start_ns > last->start_ns) /* touching ones stay two */
            windows->items[++kept] = windows->items[i];
        else if (windows->items[i].end_ns > last->end_ns)
            last->end_ns = windows->items[i].end_ns;
    }
    windows->count = kept + 1;
}

/* How many windows start at or before the time. */
static uint32_t count_started(const oc_windows *windows, int64_t time_ns) {
    uint32_t low = 0, high = windows->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (windows->items[middle].start_ns <= time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const oc_window *oc_windows_find(const oc_windows *windows, int64_t time_ns) {
    uint32_t started = count_started(windows, time_ns);
    return started && windows->items[started - 1].end_ns >= time_ns ? &windows->items[started - 1] : NULL;
}

const oc_window *oc_windows_after(const oc_windows *windows, int64_t time_ns) {
    uint32_t started = count_started(windows, time_ns);
    return started < windows->count ? &windows->items[started] : NULL;
}

const oc_window *oc_windows_before(const oc_windows *windows, int64_t time_ns) {
    uint32_t started = count_started(windows, time_ns);
    while (started && windows->items[started - 1].end_ns >= time_ns)
        started--;
    return started ? &windows->items[started - 1] : NULL;
}

/* ---- reading the annotations ---- */

static int starts_with(const char *text, const char *prefix) {
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* "Optimizer.step#AdamW.step" -> "AdamW" */
static int note_optimizer(oc_analysis *analysis, oc_interner *names, const char *name) {
    const char *class = strchr(name, '#');
    if (!class)
        return 1;
    class++;
    const char *dot = strchr(class, '.');
    uint32_t number = oc_intern(names, class, dot ? (size_t)(dot - class) : strlen(class));
    if (number == OC_INTERN_FAILED)
        return 0;
    if (!analysis->optimizer)
        analysis->optimizer = number;
    else if (number != analysis->optimizer && !analysis->other_optimizer)
        analysis->other_optimizer = number;
    return 1;
}

static int read_annotations(oc_analysis *analysis, oc_interner *names, const oc_span *spans, uint32_t count, oc_arena *arena) {
    oc_windows *groups[] = {&analysis->steps, &analysis->zeros, &analysis->loads, &analysis->marks};
    static const char *const prefixes[] = {"Optimizer.step#", "Optimizer.zero_grad#", "enumerate(DataLoader)", "ProfilerStep#"};
    for (size_t group = 0; group < 4; group++) {
        groups[group]->items = oc_arena_alloc(arena, count, sizeof(oc_window));
        if (!groups[group]->items)
            return 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        const char *name = oc_intern_text(names, spans[i].name, NULL);
        for (size_t group = 0; group < 4; group++) {
            if (!starts_with(name, prefixes[group]))
                continue;
            groups[group]->items[groups[group]->count++] = (oc_window){spans[i].at.start_ns, spans[i].at.end_ns};
            if (group == 0 && !note_optimizer(analysis, names, name))
                return 0;
        }
    }
    for (size_t group = 0; group < 4; group++)
        tidy_windows(groups[group]);
    return 1;
}

/* ---- operators ---- */

static int classify(oc_analysis *analysis, oc_arena *arena, oc_arena *scratch) {
    uint32_t *by_name = oc_arena_alloc(scratch, analysis->names->count, sizeof *by_name); /* bits + 1 */
    analysis->own = oc_arena_alloc(arena, analysis->op_count, sizeof *analysis->own);
    analysis->around = oc_arena_alloc(arena, analysis->op_count, sizeof *analysis->around);
    if (!by_name || !analysis->own || !analysis->around)
        return 0;
    for (uint32_t i = 0; i < analysis->op_count; i++) {
        const oc_op *op = &analysis->ops[i];
        if (!by_name[op->name])
            by_name[op->name] = oc_opclass_of(oc_intern_text(analysis->names, op->name, NULL)) + 1;
        analysis->own[i] = by_name[op->name] - 1;
        analysis->around[i] = analysis->own[i] | (op->at.parent == OC_NONE ? 0 : analysis->around[op->at.parent]);
    }
    return 1;
}

typedef struct sequence_entry {
    int64_t sequence, start_ns;
    uint32_t op;
} sequence_entry;

static int compare_sequences(const void *a, const void *b) {
    const sequence_entry *x = a, *y = b;
    if (x->sequence != y->sequence)
        return x->sequence < y->sequence ? -1 : 1;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return x->op < y->op ? -1 : x->op > y->op;
}

/* A forward operator records the sequence number that the next node will get, so the last operator with the node's number is
 * the one that made the node (torch/csrc/autograd/record_function_ops and the profiler's fwd-bwd linking use the same). */
static int link_forward(oc_analysis *analysis, oc_arena *arena, oc_arena *scratch) {
    sequence_entry *entries = oc_arena_alloc(scratch, analysis->op_count, sizeof *entries);
    analysis->forward = oc_arena_alloc(arena, analysis->op_count, sizeof *analysis->forward);
    if (!entries || !analysis->forward)
        return 0;
    uint32_t count = 0;
    for (uint32_t i = 0; i < analysis->op_count; i++)
        if (analysis->ops[i].sequence >= 0 && !(analysis->around[i] & OC_CLASS_NODE))
            entries[count++] = (sequence_entry){analysis->ops[i].sequence, analysis->ops[i].at.start_ns, i};
    if (count)
        qsort(entries, count, sizeof *entries, compare_sequences);
    for (uint32_t i = 0; i < analysis->op_count; i++) {
        analysis->forward[i] = OC_NONE;
        int64_t sequence = analysis->ops[i].sequence;
        if (!(analysis->own[i] & OC_CLASS_NODE) || sequence < 0)
            continue;
        uint32_t low = 0, high = count;
        while (low < high) {
            uint32_t middle = low + (high - low) / 2;
            if (entries[middle].sequence <= sequence)
                low = middle + 1;
            else
                high = middle;
        }
        if (low && entries[low - 1].sequence == sequence)
            analysis->forward[i] = entries[low - 1].op;
    }
    return 1;
}

/* A backward pass is a run of nodes with falling sequence numbers (the engine takes the highest ready one first,
 * torch/csrc/autograd/engine.cpp, ReadyQueue); a higher number belongs to the graph of a later forward pass. */
static int find_passes(oc_analysis *analysis, oc_arena *arena, oc_arena *scratch) {
    uint32_t node_count = 0;
    for (uint32_t i = 0; i < analysis->op_count; i++)
        node_count += (analysis->own[i] & OC_CLASS_NODE) != 0;
    sequence_entry *nodes = oc_arena_alloc(scratch, node_count, sizeof *nodes);
    analysis->passes.items = oc_arena_alloc(arena, node_count, sizeof(oc_window));
    if (!nodes || !analysis->passes.items)
        return 0;
    uint32_t count = 0;
    for (uint32_t i = 0; i < analysis->op_count; i++) {
        uint32_t parent = analysis->ops[i].at.parent;
        if ((analysis->own[i] & OC_CLASS_NODE) && (parent == OC_NONE || !(analysis->around[parent] & OC_CLASS_NODE)))
            nodes[count++] = (sequence_entry){analysis->ops[i].at.start_ns, analysis->ops[i].at.start_ns, i}; /* by time */
    }
    if (count)
        qsort(nodes, count, sizeof *nodes, compare_sequences);
    int64_t last = -1;
    for (uint32_t i = 0; i < count; i++) {
        const oc_op *op = &analysis->ops[nodes[i].op];
        oc_window *pass = analysis->passes.count ? &analysis->passes.items[analysis->passes.count - 1] : NULL;
        int is_after_step = pass && oc_windows_after(&analysis->steps, pass->end_ns) && oc_windows_after(&analysis->steps, pass->end_ns)->start_ns < op->at.start_ns;
        if (!pass || is_after_step || (op->sequence >= 0 && last >= 0 && op->sequence > last)) {
            pass = &analysis->passes.items[analysis->passes.count++];
            pass->start_ns = op->at.start_ns;
            last = -1;
        }
        pass->end_ns = op->at.end_ns;
        if (op->sequence >= 0)
            last = op->sequence;
    }
    return 1;
}

uint32_t oc_analysis_find_around(const oc_analysis *analysis, uint32_t op, uint32_t bits) {
    while (op != OC_NONE && !(analysis->own[op] & bits))
        op = analysis->ops[op].at.parent;
    return op;
}

/* With optimizer.step(closure) forward and backward lie inside the step's annotation: the step itself is what comes after the last
 * backward pass in it. */
static void trim_steps(oc_analysis *analysis) {
    for (uint32_t i = 0; i < analysis->steps.count; i++) {
        oc_window *step = &analysis->steps.items[i];
        const oc_window *pass = oc_windows_before(&analysis->passes, step->end_ns);
        if (pass && pass->start_ns >= step->start_ns)
            step->start_ns = pass->end_ns + 1;
    }
}

/* A schedule's last mark may hold nothing. */
static void drop_idle_marks(oc_analysis *analysis) {
    oc_windows *marks = &analysis->marks;
    while (analysis->passes.count && marks->count && marks->items[marks->count - 1].start_ns > analysis->passes.items[analysis->passes.count - 1].end_ns)
        marks->count--;
}

/* ---- the loop ---- */

/* The loop begins with the first annotation of training or with the first operator that has a backward node, whichever comes
 * first; without both with the first module call, or with the first matrix product or convolution; without any of them with the
 * profile. */
static void find_loop(oc_analysis *analysis) {
    const oc_windows *groups[] = {&analysis->steps, &analysis->zeros, &analysis->loads, &analysis->marks};
    int64_t first = OC_NEVER;
    for (size_t group = 0; group < 4; group++)
        if (groups[group]->count && groups[group]->items[0].start_ns < first)
            first = groups[group]->items[0].start_ns;
    for (uint32_t i = 0; i < analysis->op_count; i++) {
        uint32_t forward = analysis->forward[i];
        if (forward != OC_NONE && analysis->ops[forward].at.start_ns < first)
            first = analysis->ops[forward].at.start_ns;
    }
    for (uint32_t i = 0; first == OC_NEVER && i < analysis->module_count; i++)
        if (analysis->modules[i].at.parent == OC_NONE)
            first = analysis->modules[i].at.start_ns;
    if (first == OC_NEVER)
        for (uint32_t i = 0; i < analysis->op_count; i++)
            if ((analysis->own[i] & (OC_CLASS_MATMUL | OC_CLASS_CONVOLUTION)) && analysis->ops[i].at.start_ns < first)
                first = analysis->ops[i].at.start_ns;
    analysis->first_ns = first == OC_NEVER ? analysis->begin_ns : first;
}

/* Iterations begin at ProfilerStep# marks, else where the last optimizer step after a backward pass (there may be one per optimizer) or,
 * without optimizer, a backward pass has ended. */
static int find_iterations(oc_analysis *analysis, oc_arena *arena) {
    const oc_windows *marks = &analysis->marks;
    const oc_windows *ends = analysis->steps.count ? &analysis->steps : &analysis->passes;
    uint32_t limit = marks->count ? marks->count : ends->count ? ends->count : 1;
    analysis->iteration_starts = oc_arena_alloc(arena, limit, sizeof *analysis->iteration_starts);
    if (!analysis->iteration_starts)
        return 0;
    analysis->iteration_count = 1;
    analysis->iteration_starts[0] = analysis->first_ns;
    if (marks->count) {
        for (uint32_t i = 0; i < marks->count; i++)
            analysis->iteration_starts[i] = marks->items[i].start_ns;
        analysis->iteration_count = marks->count;
        return 1;
    }
    for (uint32_t i = 1; i < limit; i++) {
        const oc_window *pass = oc_windows_after(&analysis->passes, ends->items[i - 1].end_ns - 1);
        if (ends == &analysis->passes || (pass && pass->start_ns < ends->items[i].end_ns))
            analysis->iteration_starts[analysis->iteration_count++] = ends->items[i - 1].end_ns;
    }
    return 1;
}

uint32_t oc_analysis_iteration(const oc_analysis *analysis, int64_t time_ns) {
    uint32_t low = 0, high = analysis->iteration_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (analysis->iteration_starts[middle] <= time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? low - 1 : 0;
}

oc_phase oc_analysis_phase(const oc_analysis *analysis, int64_t time_ns) {
    if (time_ns < analysis->first_ns)
        return OC_PHASE_PARAMETERS;
    if (oc_windows_find(&analysis->steps, time_ns))
        return OC_PHASE_STEP;
    if (oc_windows_find(&analysis->passes, time_ns))
        return OC_PHASE_BACKWARD;
    if (oc_windows_find(&analysis->loads, time_ns) || oc_windows_find(&analysis->zeros, time_ns))
        return OC_PHASE_OTHER;
    const oc_window *pass = oc_windows_after(&analysis->passes, time_ns), *step = oc_windows_after(&analysis->steps, time_ns);
    if (!analysis->passes.count || (pass && (!step || pass->start_ns < step->start_ns)))
        return OC_PHASE_FORWARD;
    return OC_PHASE_OTHER;
}

/* ---- blocks ---- */

static int compare_memory_by_thread(const void *a, const void *b) {
    const oc_memory_event *x = a, *y = b;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? -1 : 1;
    return x->event_index < y->event_index ? -1 : x->event_index > y->event_index;
}

typedef struct located {
    oc_memory_event event;
    uint32_t op, module;
} located;

static int compare_located(const void *a, const void *b) {
    const located *x = a, *y = b;
    if (x->event.time_ns != y->event.time_ns)
        return x->event.time_ns < y->event.time_ns ? -1 : 1;
    if (x->event.thread != y->event.thread)
        return x->event.thread < y->event.thread ? -1 : 1;
    return x->event.event_index < y->event.event_index ? -1 : x->event.event_index > y->event.event_index;
}

/* The operators and modules around every memory event, in order of time. */
static located *locate_memory(const oc_analysis *analysis, oc_memory_event *memory, uint32_t count, oc_arena *scratch) {
    uint32_t deepest = analysis->op_count > analysis->module_count ? analysis->op_count : analysis->module_count;
    oc_moment *moments = oc_arena_alloc(scratch, count, sizeof *moments);
    uint32_t *ops = oc_arena_alloc(scratch, count, sizeof *ops), *modules = oc_arena_alloc(scratch, count, sizeof *modules);
    uint32_t *stack = oc_arena_alloc(scratch, deepest + 1, sizeof *stack);
    located *result = oc_arena_alloc(scratch, count, sizeof *result);
    if (!moments || !ops || !modules || !stack || !result)
        return NULL;
    qsort(memory, count, sizeof *memory, compare_memory_by_thread);
    for (uint32_t i = 0; i < count; i++)
        moments[i] = (oc_moment){memory[i].time_ns, memory[i].thread};
    oc_nest_locate(analysis->ops, analysis->op_count, sizeof(oc_op), moments, count, ops, stack);
    oc_nest_locate(analysis->modules, analysis->module_count, sizeof(oc_span), moments, count, modules, stack);
    for (uint32_t i = 0; i < count; i++)
        result[i] = (located){memory[i], ops[i], modules[i]};
    qsort(result, count, sizeof *result, compare_located);
    return result;
}

static uint32_t find_producer(const oc_analysis *analysis, uint32_t op) {
    uint32_t outermost = OC_NONE;
    for (; op != OC_NONE; op = analysis->ops[op].at.parent) {
        if (!(analysis->own[op] & OC_CLASS_FACTORY))
            return op;
        outermost = op;
    }
    return outermost;
}

static void fill_block(const oc_analysis *analysis, oc_block *block, const located *birth) {
    block->birth_ns = birth->event.time_ns;
    block->death_ns = OC_NEVER;
    block->bytes = birth->event.bytes;
    block->op = birth->op;
    block->producer = find_producer(analysis, birth->op);
    block->module = birth->module;
    block->around = birth->op == OC_NONE ? 0 : analysis->around[birth->op];
    block->is_backward = (block->around & OC_CLASS_NODE) != 0;
    block->forward_op = OC_NONE;
    if (block->is_backward) {
        uint32_t node = oc_analysis_find_around(analysis, birth->op, OC_CLASS_NODE);
        block->forward_op = analysis->forward[node];
        if (block->module == OC_NONE && block->forward_op != OC_NONE)
            block->module = analysis->op_modules[block->forward_op];
    }
    block->phase = (uint8_t)oc_analysis_phase(analysis, block->birth_ns);
    block->iteration = oc_analysis_iteration(analysis, block->birth_ns);
    block->kind = oc_windows_find(&analysis->steps, block->birth_ns)   ? OC_BLOCK_STEP
                  : oc_windows_find(&analysis->loads, block->birth_ns) ? OC_BLOCK_BATCH
                  : block->birth_ns < analysis->first_ns               ? OC_BLOCK_BUILT
                                                                       : OC_BLOCK_TENSOR;
}

/* A backward node as the engine runs it, or its own function: what it allocates by itself it does on any device. */
static int is_node(const oc_analysis *analysis, uint32_t op) {
    uint32_t parent = analysis->ops[op].at.parent;
    return (analysis->own[op] & OC_CLASS_NODE) || (parent != OC_NONE && (analysis->own[parent] & OC_CLASS_NODE));
}

/* Scratch: freed inside the kernel that made it, or for the DataLoader's inside its `__next__`. What survives that appears
 * on the device right after it. */
static void settle_block(const oc_analysis *analysis, oc_block *block) {
    if (block->producer != OC_NONE && !is_node(analysis, block->producer) && block->death_ns != OC_NEVER && block->death_ns <= analysis->ops[block->producer].at.end_ns)
        block->is_scratch = 1;
    if (block->kind == OC_BLOCK_BATCH) {
        const oc_window *load = oc_windows_find(&analysis->loads, block->birth_ns);
        if (block->death_ns != OC_NEVER && block->death_ns <= load->end_ns)
            block->is_scratch = 1;
        block->birth_ns = load->end_ns;
    }
    if (block->kind == OC_BLOCK_BUILT && block->death_ns != OC_NEVER) {
        if (block->death_ns > analysis->first_ns)
            block->kind = OC_BLOCK_TENSOR; /* made before the loop but used in it, such as a first batch */
        else
            block->is_scratch = 1; /* the model is built on the CPU and moved to the device when it is complete */
    }
}

/* For each operator the innermost module call around its start. */
static uint32_t *locate_ops(const oc_analysis *analysis, oc_arena *arena, oc_arena *scratch) {
    oc_moment *moments = oc_arena_alloc(scratch, analysis->op_count, sizeof *moments);
    uint32_t *modules = oc_arena_alloc(arena, analysis->op_count, sizeof *modules);
    uint32_t *stack = oc_arena_alloc(scratch, analysis->module_count + 1, sizeof *stack);
    if (!moments || !modules || !stack)
        return NULL;
    for (uint32_t i = 0; i < analysis->op_count; i++)
        moments[i] = (oc_moment){analysis->ops[i].at.start_ns, analysis->ops[i].at.thread};
    oc_nest_locate(analysis->modules, analysis->module_count, sizeof(oc_span), moments, analysis->op_count, modules, stack);
    return modules;
}

static int pair_blocks(oc_analysis *analysis, oc_memory_event *memory, uint32_t count, oc_arena *arena, oc_arena *scratch) {
    located *events = locate_memory(analysis, memory, count, scratch);
    oc_addresses live_blocks; /* index of the live block */
    int has_map = oc_addresses_init(&live_blocks, count, scratch);
    uint32_t birth_count = 0;
    for (uint32_t i = 0; i < count; i++)
        birth_count += memory[i].bytes > 0;
    analysis->blocks = oc_arena_alloc(arena, birth_count, sizeof *analysis->blocks);
    if (!events || !has_map || !analysis->blocks)
        return 0;
    uint64_t orphan_frees = 0, doubled = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t *live = oc_addresses_find(&live_blocks, events[i].event.address);
        if (events[i].event.bytes <= 0) {
            if (*live == OC_NOTHING_THERE)
                orphan_frees++;
            else
                analysis->blocks[*live].death_ns = events[i].event.time_ns;
            *live = OC_NOTHING_THERE;
            continue;
        }
        if (*live != OC_NOTHING_THERE) { /* its free is missing */
            analysis->blocks[*live].death_ns = events[i].event.time_ns;
            doubled++;
        }
        *live = analysis->block_count;
        fill_block(analysis, &analysis->blocks[analysis->block_count++], &events[i]);
    }
    for (uint32_t i = 0; i < analysis->block_count; i++)
        settle_block(analysis, &analysis->blocks[i]);
    if (orphan_frees)
        oc_warnings_add(&analysis->warnings, "free_without_allocation", orphan_frees, OC_NO_OFFSET,
                        "%llu frees of memory that was allocated before the profile began were ignored, as is normal; no figure depends on them",
                        (unsigned long long)orphan_frees);
    if (doubled)
        oc_warnings_add(&analysis->warnings, "missing_free", doubled, OC_NO_OFFSET,
                        "%llu allocations at an address that was still in use: the free before them is missing and was assumed",
                        (unsigned long long)doubled);
    return 1;
}

/* ---- processes ---- */

/* The process with most memory events; merged multi-rank traces have several. */
static uint32_t busiest_process(oc_analysis *analysis, const oc_trace *trace) {
    uint32_t best = trace->threads[0].process;
    uint64_t best_count = 0, total = 0;
    for (uint32_t i = 0; i < trace->thread_count; i++) {
        uint64_t count = 0;
        for (uint32_t k = 0; k < trace->thread_count; k++)
            if (trace->threads[k].process == trace->threads[i].process)
                count += trace->threads[k].memory_count;
        total += trace->threads[i].memory_count;
        if (count > best_count) {
            best = trace->threads[i].process;
            best_count = count;
        }
    }
    if (best_count < total)
        oc_warnings_add(&analysis->warnings, "several_processes", total - best_count, OC_NO_OFFSET,
                        "the file holds several processes; only process %s, with %llu of %llu memory events, is looked at",
                        oc_intern_text(analysis->names, best, NULL), (unsigned long long)best_count, (unsigned long long)total);
    return best;
}

_Static_assert(offsetof(oc_op, at) == 0 && offsetof(oc_span, at) == 0 && offsetof(oc_extent, start_ns) == 0 && offsetof(oc_memory_event, time_ns) == 0,
               "keep_items finds the time at the start of an item");

/* Drops what belongs to other processes or begins after `last_ns`; returns how many items stay. `thread_at` is the offset of the thread index. */
static uint32_t keep_items(const oc_trace *trace, uint32_t process, int64_t last_ns, void *items, size_t count, size_t item_bytes, size_t thread_at) {
    char *bytes = items;
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t thread;
        int64_t time_ns;
        memcpy(&thread, bytes + i * item_bytes + thread_at, sizeof thread);
        memcpy(&time_ns, bytes + i * item_bytes, sizeof time_ns);
        if (trace->threads[thread].process != process || time_ns > last_ns)
            continue;
        if (kept != i)
            memcpy(bytes + kept * item_bytes, bytes + i * item_bytes, item_bytes);
        kept++;
    }
    return (uint32_t)kept;
}

/* Whether a cut left one whole iteration. Annotations come before memory events, so all of them are known: the second mark or fetch begins the next
 * iteration; without them two steps, as the first may be one of two optimizers. */
static int has_whole_iteration(const oc_analysis *analysis, int64_t cut_ns) {
    const oc_windows *begins[] = {&analysis->marks, &analysis->loads};
    if (analysis->steps.count && !analysis->passes.count) /* the backward passes are on a thread that is missing */
        return 0;
    for (size_t i = 0; i < 2; i++)
        if (begins[i]->count > 1)
            return begins[i]->items[1].start_ns <= cut_ns;
    const oc_windows *ends = analysis->steps.count ? &analysis->steps : &analysis->passes;
    const uint32_t wanted = analysis->steps.count == 1 ? 1 : 2;
    return ends->count >= wanted && ends->items[wanted - 1].end_ns <= cut_ns;
}

static void drop_later_windows(oc_analysis *analysis, int64_t cut_ns) {
    oc_windows *groups[] = {&analysis->steps, &analysis->zeros, &analysis->loads, &analysis->marks};
    for (size_t group = 0; group < 4; group++)
        while (groups[group]->count && groups[group]->items[groups[group]->count - 1].start_ns > cut_ns)
            groups[group]->count--;
}

static void widen(oc_analysis *analysis, const oc_extent *extent) {
    if (extent->start_ns < analysis->begin_ns)
        analysis->begin_ns = extent->start_ns;
    if (extent->end_ns > analysis->end_ns)
        analysis->end_ns = extent->end_ns;
}

static void find_ends(oc_analysis *analysis, const oc_memory_event *memory, uint32_t count, const oc_span *annotations, uint32_t annotation_count) {
    analysis->begin_ns = OC_NEVER;
    analysis->end_ns = INT64_MIN;
    for (uint32_t i = 0; i < annotation_count; i++)
        widen(analysis, &annotations[i].at);
    for (uint32_t i = 0; i < analysis->module_count; i++)
        widen(analysis, &analysis->modules[i].at);
    for (uint32_t i = 0; i < analysis->op_count; i++)
        widen(analysis, &analysis->ops[i].at);
    for (uint32_t i = 0; i < count; i++) {
        if (memory[i].time_ns < analysis->begin_ns)
            analysis->begin_ns = memory[i].time_ns;
        if (memory[i].time_ns > analysis->end_ns)
            analysis->end_ns = memory[i].time_ns;
    }
}

oc_status oc_analyze(oc_analysis *analysis, const oc_trace *trace, oc_interner *names, oc_arena *arena, oc_arena *scratch,
                     oc_error *error) {
    analysis->trace = trace;
    analysis->names = names;
    analysis->ops = oc_list_flatten(&trace->ops, arena);
    analysis->modules = oc_list_flatten(&trace->modules, arena);
    oc_span *annotations = oc_list_flatten(&trace->annotations, scratch);
    oc_memory_event *memory = oc_list_flatten(&trace->memory, scratch);
    if (!analysis->ops || !analysis->modules || !annotations || !memory)
        return oc_error_set_memory(error);
    uint32_t process = busiest_process(analysis, trace);
    size_t thread_at = offsetof(oc_extent, thread);
    analysis->op_count = keep_items(trace, process, trace->cut_ns, analysis->ops, trace->ops.count, sizeof(oc_op), thread_at);
    analysis->module_count = keep_items(trace, process, trace->cut_ns, analysis->modules, trace->modules.count, sizeof(oc_span), thread_at);
    uint32_t annotation_count = keep_items(trace, process, OC_NEVER, annotations, trace->annotations.count, sizeof(oc_span), thread_at);
    uint32_t memory_count =
        keep_items(trace, process, OC_NEVER, memory, trace->memory.count, sizeof(oc_memory_event), offsetof(oc_memory_event, thread));

    uint32_t deepest = analysis->op_count > analysis->module_count ? analysis->op_count : analysis->module_count;
    uint32_t *stack = oc_arena_alloc(scratch, deepest + 1, sizeof *stack);
    if (!stack)
        return oc_error_set_memory(error);
    oc_nest_sort(analysis->ops, analysis->op_count, sizeof(oc_op), stack);
    oc_nest_sort(analysis->modules, analysis->module_count, sizeof(oc_span), stack);
    find_ends(analysis, memory, memory_count, annotations, annotation_count);
    if (!read_annotations(analysis, names, annotations, annotation_count, arena) || !classify(analysis, arena, scratch) ||
        !link_forward(analysis, arena, scratch) || !find_passes(analysis, arena, scratch))
        return oc_error_set_memory(error);
    if (trace->cut_ns != OC_NEVER && !has_whole_iteration(analysis, trace->cut_ns))
        return oc_trace_refuse_cut(trace, error);
    drop_later_windows(analysis, trace->cut_ns);
    trim_steps(analysis);
    drop_idle_marks(analysis);
    analysis->op_modules = locate_ops(analysis, arena, scratch);
    if (!analysis->op_modules)
        return oc_error_set_memory(error);
    find_loop(analysis);
    if (!find_iterations(analysis, arena) || !pair_blocks(analysis, memory, memory_count, arena, scratch))
        return oc_error_set_memory(error);
    return OC_OK;
}

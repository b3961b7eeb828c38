/* A stack per thread, as in any trace viewer. */
#include "nest.h"

#include <stdlib.h>

static const oc_extent *extent(const void *items, uint32_t index, size_t item_bytes) {
    return (const oc_extent *)(const void *)((const char *)items + index * item_bytes);
}

static int compare_extents(const void *a, const void *b) {
    const oc_extent *x = a, *y = b;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    if (x->end_ns != y->end_ns)
        return x->end_ns > y->end_ns ? -1 : 1;
    return x->event_index < y->event_index ? -1 : x->event_index > y->event_index;
}

void oc_nest_sort(void *items, uint32_t count, size_t item_bytes, uint32_t *stack) {
    if (!count)
        return;
    qsort(items, count, item_bytes, compare_extents);
    uint32_t depth = 0;
    for (uint32_t i = 0; i < count; i++) {
        oc_extent *inner = (oc_extent *)(void *)((char *)items + i * item_bytes);
        while (depth) {
            const oc_extent *outer = extent(items, stack[depth - 1], item_bytes);
            if (outer->thread == inner->thread && outer->end_ns >= inner->start_ns && outer->end_ns >= inner->end_ns)
                break;
            depth--;
        }
        inner->parent = depth ? stack[depth - 1] : OC_NONE;
        stack[depth++] = i;
    }
}

void oc_nest_locate(const void *items, uint32_t count, size_t item_bytes, const oc_moment *moments, uint32_t moment_count,
                    uint32_t *innermost, uint32_t *stack) {
    uint32_t next = 0, depth = 0;
    for (uint32_t i = 0; i < moment_count; i++) {
        oc_moment moment = moments[i];
        for (; next < count; next++) {
            const oc_extent *opened = extent(items, next, item_bytes);
            if (opened->thread > moment.thread || (opened->thread == moment.thread && opened->start_ns > moment.time_ns))
                break;
            stack[depth++] = next;
            /* what has ended before this one began is popped by its parent link */
            while (depth > 1 && stack[depth - 2] != opened->parent) {
                stack[depth - 2] = stack[depth - 1];
                depth--;
            }
        }
        while (depth) {
            const oc_extent *top = extent(items, stack[depth - 1], item_bytes);
            if (top->thread == moment.thread && top->end_ns >= moment.time_ns)
                break;
            depth--;
        }
        innermost[i] = depth ? stack[depth - 1] : OC_NONE;
    }
}

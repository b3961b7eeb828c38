/* Which extent lies in which: extents of one thread are nested or apart. */
#ifndef OC_NEST_H
#define OC_NEST_H

#include "trace.h"

/* A moment on a thread, to be located in a list of extents. */
typedef struct oc_moment {
    int64_t time_ns;
    uint32_t thread;
} oc_moment;

/* Sorts items that begin with an oc_extent: by thread, start, longer first, recording order; and sets every parent. */
void oc_nest_sort(void *items, uint32_t count, size_t item_bytes, uint32_t *stack);

/* For each moment (sorted by thread and time) the index of the innermost extent around it, both ends included, or OC_NONE.
 * `items` as oc_nest_sort left them. `stack` has room for `count` numbers. */
void oc_nest_locate(const void *items, uint32_t count, size_t item_bytes, const oc_moment *moments, uint32_t moment_count,
                    uint32_t *innermost, uint32_t *stack);

#endif

/* A step curve of any length reduced to a few thousand points without losing a peak: per bucket of time its first, last, lowest
 * and highest value (M4 aggregation: Jugel, Jerzak, Hackenbroich, Markl, VLDB 2014). */
#ifndef OC_CURVE_H
#define OC_CURVE_H

#include "arena.h"
#include "request.h"

typedef struct oc_curve {
    double *time_ms; /* since `begin_ns`, rising */
    double *values;
    size_t count;
} oc_curve;

/* `values` holds one number per request, `stride` numbers apart; it holds from its request until the next. The curve covers
 * [from_ns, to_ns]: it begins with the value at from_ns and ends with the value at to_ns. 0 if out of memory. */
int oc_curve_reduce(oc_curve *curve, const oc_request *requests, uint32_t count, const int64_t *values, size_t stride, int64_t begin_ns,
                    int64_t from_ns, int64_t to_ns, int bucket_count, oc_arena *arena);

#endif

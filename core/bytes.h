/* Sums of byte counts that come from files: they saturate instead of overflowing. */
#ifndef OC_BYTES_H
#define OC_BYTES_H

#include <stdint.h>

#define OC_LARGEST_BLOCK ((int64_t)1 << 46)   /* 64 TiB; a larger block is a damaged number */
#define OC_LARGEST_SUM ((int64_t)1 << 60)     /* also the limit of a run without a limit */
#define OC_LARGEST_TIME_NS ((int64_t)1 << 61) /* 73 years; torch's times count from the epoch or from boot */

/* The next multiple of `unit`. */
static inline int64_t oc_round_up(int64_t value, int64_t unit) {
    return (value + unit - 1) / unit * unit;
}

static inline int oc_is_power_of_two(int64_t value) {
    return value > 0 && (value & (value - 1)) == 0;
}

static inline int64_t oc_add_bytes(int64_t a, int64_t b) {
    return a > OC_LARGEST_SUM - b ? OC_LARGEST_SUM : a + b;
}

#endif

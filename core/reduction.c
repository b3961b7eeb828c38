/* The launch configuration of a reduction, as far as its memory depends on it. */
#include "reduction.h"

enum { MAX_THREADS = 512, WARP = 32, MOST_VALUES_PER_THREAD = 256, LEAST_VALUES_PER_THREAD = 16, VECTOR = 4, LEAST_FOR_VECTORS = 128 };

typedef struct axis {
    int64_t size, stride;
} axis;

/* The dimensions of one kind, by rising stride, contiguous neighbours as one. */
static int list_axes(axis *axes, const oc_shape *dims, const oc_shape *strides, uint32_t mask) {
    int count = 0, merged = 0;
    for (int i = 0; i < dims->rank; i++) {
        if (dims->dims[i] <= 1 || !(mask >> i & 1))
            continue;
        int at = count++;
        for (; at > 0 && axes[at - 1].stride > strides->dims[i]; at--)
            axes[at] = axes[at - 1];
        axes[at] = (axis){dims->dims[i], strides->dims[i]};
    }
    for (int i = 1; i < count; i++) {
        if (axes[i].stride == axes[merged].stride * axes[merged].size)
            axes[merged].size *= axes[i].size;
        else
            axes[++merged] = axes[i];
    }
    return count ? merged + 1 : 0;
}

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static int64_t divide_up(int64_t a, int64_t b) {
    return (a + b - 1) / b;
}

/* The largest power of two up to `value`, at most `limit`. */
static int64_t power_of_two(int64_t value, int64_t limit) {
    int64_t power = 1;
    while (power * 2 <= value && power < limit)
        power *= 2;
    return power;
}

/* How many outputs a thread makes at once, where neighbouring threads make neighbouring outputs. */
static int64_t output_vector(const axis *kept, int kept_count, const axis *reduced, int reduced_count) {
    int64_t vector = VECTOR;
    for (; vector > 1; vector /= 2) {
        int fits = kept[0].size % vector == 0;
        for (int i = 1; i < kept_count; i++)
            fits &= kept[i].stride % vector == 0;
        for (int i = 0; i < reduced_count; i++)
            fits &= reduced[i].stride % vector == 0;
        if (fits)
            break;
    }
    return vector;
}

oc_reduction oc_reduction_scratch(const oc_shape *dims, const oc_shape *strides, uint32_t reduced_mask, int64_t accumulator_bytes, int64_t multiprocessors,
                                  int64_t threads) {
    const oc_reduction none = {0, 0};
    axis reduced[OC_RANK_LIMIT], kept[OC_RANK_LIMIT];
    int64_t count = oc_shape_element_count(dims), inputs = 1;
    if (dims->rank != strides->rank || count < 1 || multiprocessors < 1)
        return none;
    for (int i = 0; i < strides->rank; i++)
        if (strides->dims[i] < 0 || strides->dims[i] > count)
            return none;
    int reduced_count = list_axes(reduced, dims, strides, reduced_mask), kept_count = list_axes(kept, dims, strides, ~reduced_mask);
    for (int i = 0; i < reduced_count; i++)
        inputs *= reduced[i].size;
    if (!reduced_count)
        return none;
    const int64_t outputs = count / inputs;
    const int is_fast = !kept_count || reduced[0].stride < kept[0].stride; /* reduction_on_fastest_striding_dimension */
    int64_t dim0 = is_fast ? inputs : outputs, dim1 = is_fast ? outputs : inputs, vector = 1;
    if (is_fast && reduced[0].stride == 1 && reduced_count == 1 && dim0 > LEAST_FOR_VECTORS)
        dim0 /= VECTOR;
    else if (!is_fast && kept[0].stride == 1)
        dim0 /= vector = output_vector(kept, kept_count, reduced, reduced_count);
    const int64_t thread_limit = MAX_THREADS / vector, power0 = power_of_two(dim0, thread_limit), power1 = power_of_two(dim1, thread_limit);
    int64_t width = least(power0, WARP);
    const int64_t height = least(power1, thread_limit / width);
    width = least(power0, thread_limit / height);
    int64_t per_thread = is_fast ? divide_up(inputs, width) : inputs;
    if (per_thread < least(LEAST_VALUES_PER_THREAD * height, MOST_VALUES_PER_THREAD))
        return none;
    per_thread = divide_up(per_thread, height); /* block_y_reduce */
    const int64_t blocks = divide_up(outputs / vector, is_fast ? 1 : width), target = multiprocessors * (threads / (width * height));
    if (per_thread < MOST_VALUES_PER_THREAD || blocks > target)
        return none;
    const int64_t ctas = most(least(divide_up(target, blocks), divide_up(per_thread, LEAST_VALUES_PER_THREAD)), divide_up(per_thread, MOST_VALUES_PER_THREAD));
    if (ctas <= 1)
        return none;
    return (oc_reduction){accumulator_bytes * outputs * ctas * (is_fast ? 1 : width * vector), (int64_t)sizeof(int32_t) * blocks};
}

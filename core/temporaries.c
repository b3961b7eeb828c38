/* Sequences of kernels. */
#include "temporaries.h"

#include "bytes.h"
#include "error.h"

#include <string.h>

enum { INDEX_BYTES = 8 };

uint32_t oc_temporaries_make(oc_temporaries *list, int64_t bytes) {
    OC_ASSERT(bytes > 0 && list->tensor_count < OC_TEMPORARY_LIMIT);
    list->steps[list->step_count].bytes = bytes;
    list->steps[list->step_count++].tensor = list->tensor_count;
    return list->tensor_count++;
}

void oc_temporaries_free(oc_temporaries *list, uint32_t tensor) {
    list->steps[list->step_count].bytes = 0;
    list->steps[list->step_count++].tensor = tensor;
}

/* The range that is sorted along with the keys, and the sort's own scratch: one byte where one thread block does it (measured for 512
 * and 1024), else keys and values once more (cub::DeviceRadixSort without a DoubleBuffer). */
static void sort_pairs(oc_temporaries *list, int64_t count, int64_t index_bytes) {
    enum { ONE_BLOCK = 2304 }; /* SingleTilePolicy for keys and values of 8 bytes: 256 threads, 9 each */
    uint32_t range = oc_temporaries_make(list, count * index_bytes);
    uint32_t scratch = oc_temporaries_make(list, count <= ONE_BLOCK ? 1 : 2 * count * index_bytes);
    oc_temporaries_free(list, scratch);
    oc_temporaries_free(list, range);
}

/* Those of `first` to `end`, the last one first. */
static void free_down(oc_temporaries *list, uint32_t end, uint32_t first) {
    while (end-- > first)
        oc_temporaries_free(list, end);
}

void oc_temporaries_of_embedding(oc_temporaries *list, int64_t count, int64_t index_bytes, int64_t rows, int64_t row_bytes) {
    enum { SMALL = 3072, ROWS_PER_PARTIAL = 10 };
    memset(list, 0, sizeof *list);
    if (count <= SMALL || count > OC_LARGEST_BLOCK / 2 / INDEX_BYTES || index_bytes < 1 || rows < 1 || row_bytes < 1)
        return;
    const int64_t segments = count < rows ? count : rows, partials = count / ROWS_PER_PARTIAL + segments;
    if (partials > OC_LARGEST_BLOCK / row_bytes)
        return;
    const uint32_t sorted = oc_temporaries_make(list, count * index_bytes), original = oc_temporaries_make(list, count * index_bytes);
    sort_pairs(list, count, index_bytes);
    list->before_output = list->step_count;
    const uint32_t first = list->tensor_count;
    oc_temporaries_make(list, count * index_bytes);    /* segment_offsets */
    oc_temporaries_make(list, INDEX_BYTES);            /* num_of_segments_tensor */
    oc_temporaries_make(list, segments * index_bytes); /* partials_per_segment */
    oc_temporaries_make(list, segments * index_bytes); /* partials_per_segment_offset */
    oc_temporaries_make(list, INDEX_BYTES);            /* num_of_partial_segments_tensor */
    oc_temporaries_make(list, partials * index_bytes); /* partial_segment_offset */
    oc_temporaries_make(list, partials * row_bytes);   /* grad_weight_per_segment */
    free_down(list, list->tensor_count, first);
    oc_temporaries_free(list, original);
    oc_temporaries_free(list, sorted);
}

void oc_temporaries_of_index_put(oc_temporaries *list, const oc_shape *self, const oc_shape *values, int64_t element_bytes, int is_contiguous) {
    memset(list, 0, sizeof *list);
    int same = 0;
    while (same < self->rank - 1 && same < values->rank && self->dims[self->rank - 1 - same] == values->dims[values->rank - 1 - same])
        same++;
    oc_shape index = *values;
    index.rank -= same;
    const int64_t count = oc_shape_element_count(&index), elements = oc_shape_element_count(values);
    if (self->rank < 1 || count < 1 || count > OC_LARGEST_BLOCK / 2 / INDEX_BYTES || elements < 1 || element_bytes < 1 || elements > OC_LARGEST_BLOCK / element_bytes)
        return;
    const int64_t bytes = count * INDEX_BYTES;
    uint32_t linear = 0;
    for (int i = 0; i < self->rank - same; i++) {
        uint32_t remainder = oc_temporaries_make(list, bytes), product = oc_temporaries_make(list, bytes);
        oc_temporaries_free(list, remainder);
        if (i)
            oc_temporaries_free(list, product); /* added to the first */
        else
            linear = product;
    }
    const uint32_t first = list->tensor_count;
    if (!is_contiguous)
        oc_temporaries_make(list, elements * element_bytes);
    oc_temporaries_make(list, bytes); /* sorted_indices */
    oc_temporaries_make(list, bytes); /* orig_indices */
    const uint32_t end = list->tensor_count;
    sort_pairs(list, count, INDEX_BYTES);
    free_down(list, end, first);
    oc_temporaries_free(list, linear);
}

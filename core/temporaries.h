/* What a CUDA kernel allocates for itself beside the operator's output, and frees before the operator ends, in its own order. */
#ifndef OC_TEMPORARIES_H
#define OC_TEMPORARIES_H

#include "shape.h"

#include <stdint.h>

enum { OC_TEMPORARY_LIMIT = 2 * OC_RANK_LIMIT + 12 };

typedef struct oc_temporaries {
    struct {
        int64_t bytes;   /* 0: the tensor is freed */
        uint32_t tensor; /* counted from 0 */
    } steps[2 * OC_TEMPORARY_LIMIT];
    uint32_t step_count, tensor_count;
    uint32_t before_output; /* steps before the operator's output is allocated; the others follow it */
} oc_temporaries;

/* One more tensor of `bytes` > 0, its number. */
uint32_t oc_temporaries_make(oc_temporaries *list, int64_t bytes);

/* Frees the tensor. */
void oc_temporaries_free(oc_temporaries *list, uint32_t tensor);

/* aten::embedding_dense_backward with `count` indices of `index_bytes` each, a table of `rows` of `row_bytes` (in the type that
 * sums are kept in). None up to 3072 indices.
 *
 * Source: embedding_dense_backward_cuda in aten/src/ATen/native/cuda/Embedding.cu and embedding_backward_cuda_kernel in
 * EmbeddingBackwardKernel.cu (PyTorch 2.6); no log of it was available. Scratch of cub's scans, a few KiB, is left out. */
void oc_temporaries_of_embedding(oc_temporaries *list, int64_t count, int64_t index_bytes, int64_t rows, int64_t row_bytes);

/* aten::_index_put_impl_ that accumulates `values` into `self`, as in the backward of x[indices]. Which dimensions are indexed is not recorded: all
 * but those that both shapes end with. `is_contiguous`: the values are.
 *
 * Source: index_put_with_sort_kernel and computeLinearIndex in aten/src/ATen/native/cuda/Indexing.cu (PyTorch 2.6); equal, in order and
 * bytes, to the call with device indices in the CUDA log of a training step. Indices on the host, as in x[torch.arange(n), t], give one copy more
 * and two temporaries less; a CPU profile cannot tell them. */
void oc_temporaries_of_index_put(oc_temporaries *list, const oc_shape *self, const oc_shape *values, int64_t element_bytes, int is_contiguous);

#endif

/* What a CUDA reduction needs beside its output: a buffer and semaphores, where few blocks would have to read much each. Both live
 * inside the operator only.
 *
 * Source: setReduceConfig and ReduceConfig in aten/src/ATen/native/cuda/Reduce.cuh (PyTorch 2.6); found equal in every reduction of
 * the CUDA logs of a training step (29 of 29, buffers of 10 to 329 MB). */
#ifndef OC_REDUCTION_H
#define OC_REDUCTION_H

#include "shape.h"

typedef struct oc_reduction {
    int64_t buffer_bytes, semaphore_bytes; /* 0: none */
} oc_reduction;

/* `reduced`: a bit per dimension of the input. `accumulator_bytes`: of one partial result, 16 for max and min with index. The device has
 * `multiprocessors` with room for `threads` each. */
oc_reduction oc_reduction_scratch(const oc_shape *dims, const oc_shape *strides, uint32_t reduced, int64_t accumulator_bytes, int64_t multiprocessors,
                                  int64_t threads);

#endif

/* What an operator's name tells: a set of bits per name, for analysis and rules. The only place that spells operator names
 * of PyTorch's CPU path (torch 2.6, native_functions.yaml and the autograd engine's node names). */
#ifndef OC_OPCLASS_H
#define OC_OPCLASS_H

#include <stdint.h>

enum {
    OC_CLASS_FACTORY = 1 << 0,    /* only makes or fills memory for its caller: empty, zeros, resize_ ... */
    OC_CLASS_NODE = 1 << 1,       /* the autograd engine runs a backward node */
    OC_CLASS_ACCUMULATE = 1 << 2, /* a gradient reaches a parameter; its first input is the gradient */
    OC_CLASS_MATMUL = 1 << 3,     /* cuBLAS does this on CUDA */
    OC_CLASS_DROPOUT = 1 << 4,
    OC_CLASS_MUL = 1 << 5,
    OC_CLASS_SOFTMAX = 1 << 6, /* the kernel: _softmax */
    OC_CLASS_CLONE = 1 << 7,
    OC_CLASS_ATTENTION_MATH = 1 << 8,  /* scaled_dot_product_attention composed of matmul and softmax */
    OC_CLASS_ATTENTION_FLASH = 1 << 9, /* the CPU's fused attention kernel */
    OC_CLASS_BATCH_NORM = 1 << 10,     /* inputs: x, weight, bias, running mean, running variance */
    OC_CLASS_EMBEDDING = 1 << 11,      /* inputs: weight, indices */
    OC_CLASS_COMPILED = 1 << 12,       /* code that torch.compile made */
    OC_CLASS_FULL_LIKE = 1 << 13,      /* full_like, zeros_like: how optimizers make their state */
    OC_CLASS_SAFE_SOFTMAX = 1 << 14,
    OC_CLASS_MUL_IN_PLACE = 1 << 15,
    OC_CLASS_ADD = 1 << 16,
    OC_CLASS_CONVOLUTION = 1 << 17,
    OC_CLASS_LINEAR = 1 << 18,      /* inputs: x, weight, bias */
    OC_CLASS_NORM = 1 << 19,        /* layer_norm, group_norm: inputs: x, a number or shape, weight, bias */
    OC_CLASS_MAXIMUM = 1 << 20,
    OC_CLASS_LERP_IN_PLACE = 1 << 21,
    OC_CLASS_RECURRENT = 1 << 22,   /* cuDNN does this on CUDA in one piece */
    OC_CLASS_REDUCTION = 1 << 23,   /* gpu_reduce_kernel does this on CUDA; inputs: x, the dimensions (none: all) */
    OC_CLASS_VECTOR_NORM = 1 << 24, /* a reduction too; inputs: x, order, the dimensions */
    OC_CLASS_EXTREMUM = 1 << 25,    /* a reduction that also gives the index, if a dimension is named */
    OC_CLASS_CAST = 1 << 26,        /* to another type or device */
    OC_CLASS_EMBEDDING_BACKWARD = 1 << 27, /* inputs: gradient, indices; output: the table's gradient */
    OC_CLASS_INDEX_PUT = 1 << 28,   /* inputs: self, list of indices, values, whether they are added */
    OC_CLASS_ADDMM = 1 << 29,       /* inputs: bias, two matrices */
    OC_CLASS_NO_RULE = 1 << 30      /* CUDA does this with scratch of cub, thrust, cuFFT, cuSOLVER or cuSPARSE, whose size is not known here */
};

#define OC_CLASS_POINTWISE (UINT32_C(1) << 31) /* of several tensors, which it brings to a common type */

uint32_t oc_opclass_of(const char *name);

#endif

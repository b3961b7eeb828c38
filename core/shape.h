/* Reading of "Input Dims", "Input Strides" and "Input type" as the profiler writes them: [[16, 3], [], [[4], [4]]] and
 * ["float", "Scalar", "TensorList"]. Inputs are counted from 0. */
#ifndef OC_SHAPE_H
#define OC_SHAPE_H

#include "json.h"

enum { OC_RANK_LIMIT = 16 };

typedef struct oc_shape {
    int rank; /* 0 for a scalar tensor and for what is no tensor */
    int64_t dims[OC_RANK_LIMIT];
} oc_shape;

/* The shape of one input; 0 if there is no such input, it is a list of tensors, or its rank is above OC_RANK_LIMIT. */
int oc_shape_read(const char *dims_text, unsigned input, oc_shape *shape);

/* How many tensors the list at `input` has; -1 if that input is no list. */
int64_t oc_shape_list_count(const char *dims_text, unsigned input);

/* Bytes of an element of one input by its type; 0 if it is no tensor or the type is unknown. */
int64_t oc_shape_element_bytes(const char *types_text, unsigned input);

/* Bytes of a tensor of that shape and of the type of one input; 0 if it has no elements, the type is unknown or they are more than
 * OC_LARGEST_BLOCK. */
int64_t oc_shape_bytes(const oc_shape *shape, const char *types_text, unsigned input);

/* Whether one input is a tensor of whole numbers or truth values. */
int oc_shape_is_whole(const char *types_text, unsigned input);

/* Product of the dimensions (1 for rank 0), or -1 on overflow. */
int64_t oc_shape_element_count(const oc_shape *shape);

/* The dimensions that "Concrete Inputs" names at `input`, "[0, -1]" or "1", as a bit each: dimension d at bit d, -d at bit 32 - d. 0 if it names
 * none. */
int oc_shape_read_dimensions(const char *concrete_text, unsigned input, uint32_t *bits);

/* Whether "Concrete Inputs" says True at `input`. */
int oc_shape_is_true(const char *concrete_text, unsigned input);

/* The strides of a tensor of that shape that lies in one piece, the last dimension fastest. */
void oc_shape_make_strides(const oc_shape *dims, oc_shape *strides);

/* Whether a tensor of that shape and those strides lies like that. */
int oc_shape_is_contiguous(const oc_shape *dims, const oc_shape *strides);

/* The same bits with those counted from the end as dimensions of a shape of that rank. */
uint32_t oc_shape_wrap(uint32_t bits, int rank);

#endif

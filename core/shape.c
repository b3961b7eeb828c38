/* A small walker over the profiler's shape texts; they come from a file and may hold anything. */
#include "shape.h"

#include "bytes.h"

#include <string.h>

static const char *skip_space(const char *at) {
    while (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t')
        at++;
    return at;
}

/* Moves to the start of the n-th element of the array that `at` points to; NULL if there is none. */
static const char *element(const char *at, unsigned n) {
    if (*at != '[')
        return NULL;
    at++;
    int depth = 0;
    at = skip_space(at);
    if (*at == ']')
        return NULL;
    for (; *at && n; at++) {
        if (*at == '"') {
            for (at++; *at && *at != '"'; at++)
                if (*at == '\\' && at[1])
                    at++;
            if (!*at)
                return NULL;
        } else if (*at == '[') {
            depth++;
        } else if (*at == ']') {
            if (depth-- == 0)
                return NULL;
        } else if (*at == ',' && depth == 0) {
            n--;
        }
    }
    at = skip_space(at);
    return *at ? at : NULL;
}

int oc_shape_read(const char *dims_text, unsigned input, oc_shape *shape) {
    const char *at = element(dims_text, input);
    shape->rank = 0;
    if (!at || *at != '[')
        return 0;
    at++;
    for (;;) {
        for (at = skip_space(at); *at == ','; at = skip_space(at + 1))
            ;
        if (*at == ']')
            return 1;
        if (*at < '0' || *at > '9' || shape->rank == OC_RANK_LIMIT)
            return 0;
        int64_t value = 0;
        for (; *at >= '0' && *at <= '9'; at++) {
            if (value > INT64_MAX / 16)
                return 0;
            value = value * 10 + (*at - '0');
        }
        shape->dims[shape->rank++] = value;
    }
}

int64_t oc_shape_list_count(const char *dims_text, unsigned input) {
    const char *list = element(dims_text, input);
    if (!list || list[0] != '[' || *skip_space(list + 1) != '[')
        return -1;
    int64_t count = 0;
    int depth = 0;
    for (const char *at = list; *at; at++) {
        if (*at == '[') {
            depth++;
            count += depth == 2;
        } else if (*at == ']' && --depth == 0) {
            return count;
        }
    }
    return -1;
}

typedef struct element_type {
    const char *name;
    int64_t bytes;
    int is_whole; /* no fractions: class numbers, indices, masks */
} element_type;

static const element_type *find_type(const char *types_text, unsigned input) {
    static const element_type types[] = {
        {"\"float\"", 4, 0}, {"\"long int\"", 8, 1}, {"\"c10::BFloat16\"", 2, 0}, {"\"c10::Half\"", 2, 0}, {"\"double\"", 8, 0}, {"\"int\"", 4, 1},
        {"\"bool\"", 1, 1}, {"\"unsigned char\"", 1, 1}, {"\"signed char\"", 1, 1}, {"\"short int\"", 2, 1}, {"\"c10::complex<float>\"", 8, 0},
        {"\"c10::complex<double>\"", 16, 0}, {"\"c10::Float8_e4m3fn\"", 1, 0}, {"\"c10::Float8_e5m2\"", 1, 0}, {"\"long\"", 8, 1}, {"\"short\"", 2, 1},
        {"\"__int64\"", 8, 1}, {"\"long long\"", 8, 1},
    };
    const char *at = element(types_text, input);
    for (size_t i = 0; at && i < sizeof types / sizeof types[0]; i++)
        if (strncmp(at, types[i].name, strlen(types[i].name)) == 0)
            return &types[i];
    return NULL;
}

int64_t oc_shape_element_bytes(const char *types_text, unsigned input) {
    const element_type *type = find_type(types_text, input);
    return type ? type->bytes : 0;
}

int oc_shape_is_whole(const char *types_text, unsigned input) {
    const element_type *type = find_type(types_text, input);
    return type && type->is_whole;
}

int64_t oc_shape_element_count(const oc_shape *shape) {
    int64_t count = 1;
    for (int i = 0; i < shape->rank; i++) {
        if (shape->dims[i] && count > INT64_MAX / shape->dims[i])
            return -1;
        count *= shape->dims[i];
    }
    return count;
}

int64_t oc_shape_bytes(const oc_shape *shape, const char *types_text, unsigned input) {
    int64_t count = oc_shape_element_count(shape), element_bytes = oc_shape_element_bytes(types_text, input);
    return count > 0 && element_bytes > 0 && count <= OC_LARGEST_BLOCK / element_bytes ? count * element_bytes : 0;
}

int oc_shape_read_dimensions(const char *concrete_text, unsigned input, uint32_t *bits) {
    const char *at = element(concrete_text, input);
    *bits = 0;
    if (!at || *at != '"')
        return 0;
    for (at++; *at && *at != '"'; at++) {
        int is_negative = *at == '-', value = 0, digits = 0;
        at += is_negative;
        for (; *at >= '0' && *at <= '9' && digits < 3; at++, digits++)
            value = value * 10 + (*at - '0');
        if (digits && value <= OC_RANK_LIMIT - 1 + is_negative)
            *bits |= (uint32_t)1 << (is_negative ? 32 - value : value);
        if (!*at || *at == '"')
            break;
    }
    return *bits != 0;
}

int oc_shape_is_true(const char *concrete_text, unsigned input) {
    const char *at = element(concrete_text, input);
    return at && strncmp(at, "\"True\"", 6) == 0;
}

void oc_shape_make_strides(const oc_shape *dims, oc_shape *strides) {
    strides->rank = dims->rank;
    for (int64_t i = dims->rank - 1, stride = 1; i >= 0; i--) {
        strides->dims[i] = stride;
        stride = dims->dims[i] > 0 && stride < OC_LARGEST_SUM / dims->dims[i] ? stride * dims->dims[i] : OC_LARGEST_SUM;
    }
}

int oc_shape_is_contiguous(const oc_shape *dims, const oc_shape *strides) {
    oc_shape expected;
    oc_shape_make_strides(dims, &expected);
    for (int i = 0; i < dims->rank; i++)
        if (dims->dims[i] != 1 && strides->dims[i] != expected.dims[i])
            return 0;
    return 1;
}

uint32_t oc_shape_wrap(uint32_t bits, int rank) {
    uint32_t wrapped = bits & ((1u << OC_RANK_LIMIT) - 1);
    for (int from_end = 1; from_end <= rank; from_end++)
        if (bits >> (32 - from_end) & 1)
            wrapped |= (uint32_t)1 << (rank - from_end);
    return wrapped;
}

/* Reads shapes of known operators' inputs; which input is a weight is a fact of the operator's signature (native_functions.yaml). */
#include "weights.h"

#include <stdlib.h>

typedef struct reading {
    uint32_t module; /* name of the module call, 0 if unknown */
    uint32_t order;
    unsigned input;
    int64_t bytes;
} reading;

/* Bits of the inputs that are parameters, by class. */
static unsigned weight_inputs(uint32_t own) {
    if (own & (OC_CLASS_CONVOLUTION | OC_CLASS_LINEAR | OC_CLASS_BATCH_NORM))
        return 1u << 1 | 1u << 2;
    if (own & OC_CLASS_NORM)
        return 1u << 2 | 1u << 3;
    return own & OC_CLASS_EMBEDDING ? 1u : 0;
}

static int compare_shapes(const void *a, const void *b) {
    const oc_shape *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    for (int i = 0; i < x->rank; i++)
        if (x->dims[i] != y->dims[i])
            return x->dims[i] < y->dims[i] ? -1 : 1;
    return 0;
}

/* The shapes of all gradients, sorted. */
static oc_shape *gradient_shapes(const oc_analysis *analysis, const oc_job *job, oc_arena *scratch, uint32_t *count) {
    oc_shape *shapes = oc_arena_alloc(scratch, job->parameter_count, sizeof *shapes);
    *count = 0;
    for (uint32_t i = 0; shapes && i < job->parameter_count; i++)
        *count += (uint32_t)oc_shape_read(oc_intern_text(analysis->names, job->parameters[i].dims, NULL), 0, &shapes[*count]);
    if (*count)
        qsort(shapes, *count, sizeof *shapes, compare_shapes);
    return shapes;
}

static int compare_readings(const void *a, const void *b) {
    const reading *x = a, *y = b;
    if (x->module != y->module)
        return x->module < y->module ? -1 : 1;
    if (x->input != y->input)
        return x->input < y->input ? -1 : 1;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* Leaves the first of what one module reads again, in the order of reading. */
static uint32_t list_once(reading *readings, uint32_t count, int64_t *bytes) {
    if (count)
        qsort(readings, count, sizeof *readings, compare_readings);
    for (uint32_t i = 0; i < count; i++) {
        const reading *now = &readings[i], *before = i ? now - 1 : now;
        int is_again = i && now->module && now->module == before->module && now->input == before->input && now->bytes == before->bytes;
        bytes[now->order] = is_again ? 0 : now->bytes;
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++)
        if (bytes[i])
            bytes[kept++] = bytes[i];
    return kept;
}

/* The end of the first forward pass; INT64_MIN if it cannot be told. */
static int64_t end_of_first_pass(const oc_analysis *analysis) {
    if (analysis->passes.count)
        return analysis->passes.items[0].start_ns;
    if (analysis->iteration_count > 1)
        return analysis->iteration_starts[1];
    return analysis->module_count ? OC_NEVER : INT64_MIN; /* modules read once are counted once */
}

int oc_weights_find(const oc_analysis *analysis, const oc_job *job, oc_arena *arena, oc_arena *scratch, int64_t **bytes, uint32_t *count) {
    uint32_t shape_count, reader_count = 0, reading_count = 0;
    int64_t until_ns = end_of_first_pass(analysis);
    const oc_shape *shapes = gradient_shapes(analysis, job, scratch, &shape_count);
    for (uint32_t i = 0; i < analysis->op_count; i++)
        reader_count += weight_inputs(analysis->own[i]) && analysis->ops[i].at.start_ns < until_ns;
    reading *readings = oc_arena_alloc(scratch, reader_count, 2 * sizeof *readings);
    *bytes = oc_arena_alloc(arena, reader_count, 2 * sizeof **bytes);
    *count = 0;
    if (!shapes || !readings || !*bytes)
        return 0;
    for (uint32_t i = 0; i < analysis->op_count; i++) {
        const oc_op *op = &analysis->ops[i];
        unsigned inputs = weight_inputs(analysis->own[i]);
        if (!inputs || op->at.start_ns >= until_ns || op->at.start_ns < analysis->first_ns || (analysis->around[i] & OC_CLASS_NODE))
            continue;
        for (unsigned input = 0; input < 4; input++) {
            oc_shape shape;
            if (!(inputs & 1u << input) || !oc_shape_read(oc_intern_text(analysis->names, op->dims, NULL), input, &shape) || !shape.rank)
                continue;
            int64_t shape_bytes = oc_shape_bytes(&shape, oc_intern_text(analysis->names, op->types, NULL), input);
            if (!shape_bytes || (shape_count && bsearch(&shape, shapes, shape_count, sizeof shape, compare_shapes)))
                continue;
            uint32_t module = analysis->op_modules[i] == OC_NONE ? 0 : analysis->modules[analysis->op_modules[i]].name;
            readings[reading_count] = (reading){module, reading_count, input, shape_bytes};
            reading_count++;
        }
    }
    *count = list_once(readings, reading_count, *bytes);
    return 1;
}

/* Reduction buffers: what CUDA logs of a training step on an 80 GB card of compute capability 9.0 show, and the table of
 * ../shared/op-level-truth.md section 5. */
#include "reduction.h"

#include "check.h"

typedef struct device {
    int64_t multiprocessors, threads;
} device;

static const device h100 = {132, 2048}, a100 = {108, 2048}, rtx3060 = {28, 1536}, t4 = {40, 1024};

static oc_reduction scratch(int rank, const int64_t *dims, const int64_t *strides, uint32_t mask, int64_t accumulator_bytes, device on) {
    oc_shape d = {.rank = rank}, s = {.rank = rank};
    memcpy(d.dims, dims, (size_t)rank * sizeof *dims);
    memcpy(s.dims, strides, (size_t)rank * sizeof *strides);
    return oc_reduction_scratch(&d, &s, mask, accumulator_bytes, on.multiprocessors, on.threads);
}

#define DIMS(...) (const int64_t[]){__VA_ARGS__}

static int64_t column_sum(int64_t rows, int64_t columns, device on) {
    return scratch(2, DIMS(rows, columns), DIMS(columns, 1), 1, 4, on).buffer_bytes;
}

static void logged_reductions_agree(void) {
    /* the loss over a transposed [512, 10000]: max with index, sum */
    oc_reduction r = scratch(2, DIMS(512, 10000), DIMS(1, 512), 2, 16, h100);
    CHECK_EQ_I64(r.buffer_bytes, 164626432);
    CHECK_EQ_I64(r.semaphore_bytes, 16);
    CHECK_EQ_I64(scratch(2, DIMS(512, 10000), DIMS(1, 512), 2, 4, h100).buffer_bytes, 41156608);
    CHECK_EQ_I64(scratch(2, DIMS(1024, 10000), DIMS(1, 1024), 2, 16, h100).buffer_bytes, 329252864); /* context 256 */
    CHECK_EQ_I64(scratch(2, DIMS(1024, 10000), DIMS(1, 1024), 2, 4, h100).buffer_bytes, 82313216);
    CHECK_EQ_I64(scratch(2, DIMS(1024, 10000), DIMS(1, 1024), 2, 4, h100).semaphore_bytes, 32);
    /* over the width of a gradient that einsum left laid out [128, 1, 512] */
    CHECK_EQ_I64(scratch(3, DIMS(4, 128, 2560), DIMS(128, 1, 512), 4, 4, h100).buffer_bytes, 10485760);
    CHECK_EQ_I64(scratch(3, DIMS(4, 256, 2560), DIMS(256, 1, 1024), 4, 4, h100).buffer_bytes, 20971520);
    /* over its rows, or over the last dimension as usual: none */
    CHECK_EQ_I64(scratch(3, DIMS(4, 128, 2560), DIMS(128, 1, 512), 3, 4, h100).buffer_bytes, 0);
    CHECK_EQ_I64(scratch(2, DIMS(512, 10000), DIMS(10000, 1), 2, 4, h100).buffer_bytes, 0);
    CHECK_EQ_I64(scratch(4, DIMS(4, 32, 128, 128), DIMS(524288, 16384, 128, 1), 8, 16, h100).buffer_bytes, 0);
    CHECK_EQ_I64(scratch(1, DIMS(512), DIMS(1), 1, 4, h100).buffer_bytes, 0);
}

static void column_sums_depend_on_the_card(void) {
    CHECK_EQ_I64(column_sum(4096, 768, a100), 25165824);
    CHECK_EQ_I64(column_sum(4096, 768, rtx3060), 22020096);
    CHECK_EQ_I64(column_sum(4096, 768, t4), 21233664);
    CHECK_EQ_I64(column_sum(8192, 768, h100), 50331648);
    CHECK_EQ_I64(column_sum(8192, 768, rtx3060), 22020096);
    CHECK_EQ_I64(column_sum(8192, 3072, a100), 113246208);
    CHECK_EQ_I64(column_sum(8192, 3072, h100), 138412032);
    CHECK_EQ_I64(column_sum(8192, 3072, t4), 22020096);
    CHECK_EQ_I64(column_sum(1024, 1000, rtx3060), 8192000);
    CHECK_EQ_I64(column_sum(2048, 512, h100), 8388608);
    CHECK_EQ_I64(column_sum(1020, 768, h100), 0);
    CHECK(column_sum(1021, 768, h100) > 0);
}

static void odd_input_needs_nothing(void) {
    CHECK_EQ_I64(scratch(2, DIMS(0, 768), DIMS(768, 1), 1, 4, h100).buffer_bytes, 0);
    CHECK_EQ_I64(scratch(2, DIMS(4096, 768), DIMS(768, 1), 0, 4, h100).buffer_bytes, 0); /* nothing is reduced */
    CHECK_EQ_I64(scratch(2, DIMS(4096, 768), DIMS(768, -1), 1, 4, h100).buffer_bytes, 0);
    CHECK_EQ_I64(scratch(2, DIMS(4096, 768), DIMS(INT64_MAX, 1), 1, 4, h100).buffer_bytes, 0);
    CHECK_EQ_I64(column_sum(4096, 768, (device){0, 2048}), 0); /* an unknown card */
    oc_shape dims = {.rank = 2, .dims = {4096, 768}}, strides = {.rank = 0};
    CHECK_EQ_I64(oc_reduction_scratch(&dims, &strides, 1, 4, 132, 2048).buffer_bytes, 0); /* strides were not recorded */
}

CHECK_MAIN(CHECK_TEST(logged_reductions_agree), CHECK_TEST(column_sums_depend_on_the_card), CHECK_TEST(odd_input_needs_nothing))

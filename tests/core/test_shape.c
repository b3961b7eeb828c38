/* Shapes and types as the profiler writes them, and as anything else may. */
#include "check.h"
#include "shape.h"

#include <stdlib.h>

static oc_shape shape;

static bool reads(const char *dims, unsigned input) {
    memset(&shape, 0x55, sizeof shape);
    return oc_shape_read(dims, input, &shape);
}

static void dimensions_are_read_by_input(void) {
    static const char dims[] = "[[16, 3, 224, 224], [], [64], [[4, 2], [4]], [0, 7]]";
    if (CHECK(reads(dims, 0))) {
        CHECK_EQ_I64(shape.rank, 4);
        CHECK_EQ_I64(shape.dims[0], 16);
        CHECK_EQ_I64(shape.dims[3], 224);
        CHECK_EQ_I64(oc_shape_element_count(&shape), 16 * 3 * 224 * 224);
    }
    if (CHECK(reads(dims, 1))) { /* a scalar, or no tensor */
        CHECK_EQ_I64(shape.rank, 0);
        CHECK_EQ_I64(oc_shape_element_count(&shape), 1);
    }
    if (CHECK(reads(dims, 2)))
        CHECK_EQ_I64(shape.dims[0], 64);
    CHECK(!reads(dims, 3)); /* a list of tensors */
    if (CHECK(reads(dims, 4)))
        CHECK_EQ_I64(oc_shape_element_count(&shape), 0);
    CHECK(!reads(dims, 5)); /* no such input */
    CHECK(!reads(dims, 1000));
}

static void compact_and_indented_texts_are_the_same(void) {
    static const char *const texts[] = {"[[16,3],[8]]", "[[16, 3], [8]]", "[\n  [\n    16,\n    3\n  ],\n  [\n    8\n  ]\n]",
                                        "[\r\n\t[\r\n\t\t16,\r\n\t\t3\r\n\t],\r\n\t[\r\n\t\t8\r\n\t]\r\n]"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        check_context("text %zu", i);
        if (CHECK(reads(texts[i], 0))) {
            CHECK_EQ_I64(shape.rank, 2);
            CHECK_EQ_I64(shape.dims[0], 16);
            CHECK_EQ_I64(shape.dims[1], 3);
        }
        if (CHECK(reads(texts[i], 1)))
            CHECK_EQ_I64(shape.dims[0], 8);
    }
}

static void what_is_no_shape_is_refused(void) {
    static const char *const texts[] = {"",
                                        "[",
                                        "[]",
                                        "{}",
                                        "[[",
                                        "[[1",
                                        "[[1,",
                                        "[[1, x]]",
                                        "[[-1]]",
                                        "[[1.5]]",
                                        "[\"text\"]",
                                        "[1, 2]",
                                        "[[9223372036854775807]]",
                                        "[[99999999999999999999]]",
                                        "[\"unclosed",
                                        "[\"\\"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char *exact = malloc(strlen(texts[i]) + 1); /* so that a read behind the end is seen */
        if (!CHECK(exact))
            return;
        memcpy(exact, texts[i], strlen(texts[i]) + 1);
        check_context("%s", texts[i]);
        CHECK(!reads(exact, 0));
        CHECK(!reads(exact, 1) || shape.rank == 0);
        CHECK_EQ_I64(oc_shape_list_count(exact, 0), -1);
        free(exact);
    }
}

static void sixteen_dimensions_are_the_limit(void) {
    if (CHECK(reads("[[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]]", 0))) {
        CHECK_EQ_I64(shape.rank, 16);
        CHECK_EQ_I64(shape.dims[15], 16);
    }
    CHECK(!reads("[[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]]", 0));
}

static void products_that_overflow_are_minus_one(void) {
    if (CHECK(reads("[[3037000500, 3037000500]]", 0))) /* its square is above 2^63 */
        CHECK_EQ_I64(oc_shape_element_count(&shape), -1);
    if (CHECK(reads("[[3037000499, 3037000499]]", 0))) /* and this one below */
        CHECK_EQ_I64(oc_shape_element_count(&shape), 9223372030926249001);
    if (CHECK(reads("[[100000000000, 100000000000, 0]]", 0)))
        CHECK(oc_shape_element_count(&shape) <= 0); /* nothing or too much, never a wrong size */
}

static void lists_of_tensors_are_counted(void) {
    CHECK_EQ_I64(oc_shape_list_count("[[[4], [4, 2], []], [7]]", 0), 3);
    CHECK_EQ_I64(oc_shape_list_count("[[[4],[4,2],[]],[7]]", 0), 3);
    CHECK_EQ_I64(oc_shape_list_count("[[[4], [4, 2], []], [7]]", 1), -1);
    CHECK_EQ_I64(oc_shape_list_count("[[7], [[1], [2]]]", 1), 2);
    CHECK_EQ_I64(oc_shape_list_count("[[7]]", 3), -1);
    CHECK_EQ_I64(oc_shape_list_count("[[[1], [2]", 0), -1);
}

static void element_sizes_follow_the_type(void) {
    static const struct {
        const char *types;
        int64_t bytes;
    } cases[] = {
        {"[\"float\"]", 4},
        {"[\"double\"]", 8},
        {"[\"c10::Half\"]", 2},
        {"[\"c10::BFloat16\"]", 2},
        {"[\"long int\"]", 8},
        {"[\"int\"]", 4},
        {"[\"bool\"]", 1},
        {"[\"unsigned char\"]", 1},
        {"[\"signed char\"]", 1},
        {"[\"short int\"]", 2},
        {"[\"c10::complex<float>\"]", 8},
        {"[\"c10::complex<double>\"]", 16},
        {"[\"Scalar\"]", 0},
        {"[\"\"]", 0},
        {"[\"TensorList\"]", 0},
        {"[\"floating\"]", 0},
        {"[]", 0},
        {"", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check_context("%s", cases[i].types);
        CHECK_EQ_I64(oc_shape_element_bytes(cases[i].types, 0), cases[i].bytes);
    }
    static const char several[] = "[\"c10::complex<float>\", \"Scalar\", \"a, [b]\", \"c10::Half\"]"; /* commas and brackets in a text */
    CHECK_EQ_I64(oc_shape_element_bytes(several, 1), 0);
    CHECK_EQ_I64(oc_shape_element_bytes(several, 2), 0);
    CHECK_EQ_I64(oc_shape_element_bytes(several, 3), 2);
    CHECK_EQ_I64(oc_shape_element_bytes(several, 4), 0);
    CHECK_EQ_I64(oc_shape_element_bytes("[\n  \"float\",\n  \"double\"\n]", 1), 8);
    static const char labels[] = "[\"float\", \"long int\", \"bool\", \"c10::Half\", \"Scalar\"]";
    CHECK(oc_shape_is_whole(labels, 1) && oc_shape_is_whole(labels, 2));
    CHECK(!oc_shape_is_whole(labels, 0) && !oc_shape_is_whole(labels, 3) && !oc_shape_is_whole(labels, 4) && !oc_shape_is_whole(labels, 5));
}

static uint32_t dimensions(const char *concrete, unsigned input, int rank) {
    uint32_t bits = 0;
    int has_any = oc_shape_read_dimensions(concrete, input, &bits);
    CHECK_EQ_I64(has_any, bits != 0);
    return oc_shape_wrap(bits, rank);
}

static void dimensions_to_reduce_are_bits(void) {
    CHECK_EQ_U64(dimensions("[\"\", \"[0, 2]\", \"True\", \"\"]", 1, 3), 5);
    CHECK_EQ_U64(dimensions("[\"\", \"[-1]\", \"True\", \"\"]", 1, 3), 4);
    CHECK_EQ_U64(dimensions("[\"\", \"-2\", \"False\"]", 1, 4), 4);
    CHECK_EQ_U64(dimensions("[\"\", \"2\", \"[-1, 0]\"]", 2, 2), 3);
    CHECK_EQ_U64(dimensions("[\"\", \"[]\", \"False\"]", 1, 3), 0); /* all of them */
    CHECK_EQ_U64(dimensions("[\"\", \"\"]", 1, 3), 0);
    CHECK_EQ_U64(dimensions("[\"\"]", 1, 3), 0);
    CHECK_EQ_U64(dimensions("", 1, 3), 0);
    CHECK_EQ_U64(dimensions("[\"\", \"[99, 4]\"]", 1, 5), 16); /* no such dimension */
    CHECK_EQ_U64(dimensions("[\"\", \"[-7]\"]", 1, 3), 0);
    CHECK_EQ_U64(dimensions("[\"\", \"[0", 1, 3), 1);
}

static void truth_values_and_layouts(void) {
    static const char concrete[] = "[\"\", \"\", \"\", \"True\", \"False\"]";
    CHECK(oc_shape_is_true(concrete, 3));
    CHECK(!oc_shape_is_true(concrete, 4) && !oc_shape_is_true(concrete, 0) && !oc_shape_is_true(concrete, 5) && !oc_shape_is_true("", 0));
    const oc_shape dims = {3, {4, 1, 6}};
    CHECK(oc_shape_is_contiguous(&dims, &(oc_shape){3, {6, 6, 1}}));
    CHECK(oc_shape_is_contiguous(&dims, &(oc_shape){3, {6, 99, 1}})); /* of one element: its stride does not matter */
    CHECK(!oc_shape_is_contiguous(&dims, &(oc_shape){3, {1, 6, 4}}));
    CHECK(!oc_shape_is_contiguous(&dims, &(oc_shape){3, {12, 6, 1}}));
    CHECK(oc_shape_is_contiguous(&(oc_shape){0, {0}}, &(oc_shape){0, {0}}));
}

CHECK_MAIN(CHECK_TEST(truth_values_and_layouts), CHECK_TEST(dimensions_are_read_by_input), CHECK_TEST(compact_and_indented_texts_are_the_same),
           CHECK_TEST(what_is_no_shape_is_refused), CHECK_TEST(sixteen_dimensions_are_the_limit),
           CHECK_TEST(products_that_overflow_are_minus_one), CHECK_TEST(lists_of_tensors_are_counted),
           CHECK_TEST(element_sizes_follow_the_type), CHECK_TEST(dimensions_to_reduce_are_bits))

/* Two profiles of one job: matched block by block, and every size a straight line between their batch sizes. */
#include "check.h"
#include "profile_text.h"

#include <stdlib.h>

static profile_subject *a, *b;
static oc_scale scale;
static oc_error error;

/* Opens two pictures with their batch sizes (0: none told) and matches them. */
static oc_status match(const char *picture_a, int batch_a, const char *picture_b, int batch_b) {
    char members_a[60], members_b[60];
    (void)snprintf(members_a, sizeof members_a, "\"oomcast\":{\"batch_size\":%d}", batch_a);
    (void)snprintf(members_b, sizeof members_b, "\"oomcast\":{\"batch_size\":%d}", batch_b);
    memset(&error, 0, sizeof error);
    memset(&scale, 0, sizeof scale);
    a = profile_subject_open(picture_a, members_a, NULL);
    b = profile_subject_open(picture_b, members_b, a);
    return oc_scale_match(&scale, &a->analysis, &a->job, &b->analysis, &b->job, &a->arena, &error);
}

static void close_both(void) {
    profile_subject_close(b);
    profile_subject_close(a);
}

/* Bytes at `batch` of the n-th block that was recorded with `bytes`. */
static int64_t scaled(int64_t bytes, uint32_t n, int64_t batch) {
    return oc_scale_bytes(&scale, profile_find_block(a, bytes, n), bytes, batch);
}

static void a_whole_job_is_extrapolated_exactly(void) {
    static const int batches[][2] = {{4, 8}, {8, 4}, {1, 7}};
    for (size_t i = 0; i < sizeof batches / sizeof batches[0]; i++) {
        int first = batches[i][0], second = batches[i][1];
        char *picture_a = profile_job_new(first, 2, 0), *picture_b = profile_job_new(second, 2, 0), *picture_c = profile_job_new(298, 2, 0);
        check_context("from %d and %d", first, second);
        if (CHECK_EQ_I64(match(picture_a, first, picture_b, second), OC_OK)) {
            profile_subject *c = profile_subject_open(picture_c, NULL, NULL);
            if (CHECK_EQ_U64(a->analysis.block_count, c->analysis.block_count))
                for (uint32_t k = 0; k < a->analysis.block_count; k++)
                    if (!a->analysis.blocks[k].is_scratch)
                        CHECK_EQ_I64(oc_scale_bytes(&scale, k, a->analysis.blocks[k].bytes, 298), c->analysis.blocks[k].bytes);
            profile_subject_close(c);
        }
        CHECK_EQ_I64(scale.batch, first);
        CHECK_EQ_I64(scale.other_batch, second);
        close_both();
        free(picture_a);
        free(picture_b);
        free(picture_c);
    }
    check_context("%s", "");
}

static void recorded_sizes_come_out_as_recorded(void) {
    if (CHECK_EQ_I64(match("10 + x 1000\n11 + fixed 64\n12 + odd 17\n", 3, "10 + x 1700\n11 + fixed 64\n12 + odd 4\n", 10), OC_OK)) {
        CHECK_EQ_I64(scaled(1000, 0, 3), 1000);
        CHECK_EQ_I64(scaled(1000, 0, 10), 1700);
        CHECK_EQ_I64(scaled(1000, 0, 4), 1100);
        CHECK_EQ_I64(scaled(1000, 0, 1003), 101000);
        CHECK_EQ_I64(scaled(64, 0, 1000000), 64);
        CHECK_EQ_I64(scaled(17, 0, 10), 4);
    }
    close_both();
}

static void sizes_between_are_rounded_to_the_nearest(void) {
    if (CHECK_EQ_I64(match("10 + x 10\n", 2, "10 + x 20\n", 5), OC_OK)) { /* 10/3 per sample */
        CHECK_EQ_I64(scaled(10, 0, 3), 13);                               /* 13.33 */
        CHECK_EQ_I64(scaled(10, 0, 4), 17);                               /* 16.67 */
        CHECK_EQ_I64(scaled(10, 0, 1), 7);                                /* 6.67 */
        CHECK_EQ_I64(scaled(10, 0, 8), 30);
    }
    close_both();
    if (CHECK_EQ_I64(match("10 + x 20\n", 5, "10 + x 10\n", 2), OC_OK)) { /* the same line from its other end */
        CHECK_EQ_I64(scaled(20, 0, 3), 13);
        CHECK_EQ_I64(scaled(20, 0, 4), 17);
        CHECK_EQ_I64(scaled(20, 0, 1), 7);
        CHECK_EQ_I64(scaled(20, 0, 2), 10);
    }
    close_both();
}

static void a_falling_line_ends_at_one_byte(void) {
    if (CHECK_EQ_I64(match("10 + x 100\n", 2, "10 + x 90\n", 4), OC_OK)) {
        CHECK_EQ_I64(scaled(100, 0, 6), 80);
        CHECK_EQ_I64(scaled(100, 0, 1), 105);
        CHECK_EQ_I64(scaled(100, 0, 21), 5);
        CHECK_EQ_I64(scaled(100, 0, 22), 1); /* 0 would be no block */
        CHECK_EQ_I64(scaled(100, 0, 1000000), 1);
    }
    close_both();
}

static void huge_products_do_not_overflow(void) {
    if (CHECK_EQ_I64(match("10 + x 1099511627776\n", 1, "10 + x 2199023255552\n", 2), OC_OK)) { /* 1 TiB per sample */
        CHECK_EQ_I64(scaled(1099511627776, 0, 50), 54975581388800);
        CHECK_EQ_I64(scaled(1099511627776, 0, 1000000), OC_LARGEST_BLOCK); /* 64 TiB: more than any device has */
        CHECK_EQ_I64(scaled(1099511627776, 0, 100000000), OC_LARGEST_BLOCK); /* above 2^63 */
    }
    close_both();
    if (CHECK_EQ_I64(match("10 + x 70368744177663\n", 1, "10 + x 1\n", 2), OC_OK)) { /* the largest block, falling */
        CHECK_EQ_I64(scaled(70368744177663, 0, 100000000), 1);
    }
    close_both();
    if (CHECK_EQ_I64(match("10 + x 1000000000000\n", 100000, "10 + x 4000000000000\n", 200000), OC_OK)) { /* as the square */
        CHECK_EQ_I64(scaled(1000000000000, 0, 400000), 16000000000000);
        CHECK_EQ_I64(scaled(1000000000000, 0, 100000000), OC_LARGEST_BLOCK);
    }
    close_both();
}

static void one_profile_tells_its_own_size_only(void) {
    oc_scale one = {.batch = 8};
    CHECK_EQ_I64(oc_scale_bytes(&one, 0, 1234, 8), 1234);
    CHECK_EQ_I64(oc_scale_bytes(&one, 0, 1234, 16), 1234);
}

static void scratch_and_steps_need_not_match(void) {
    if (CHECK_EQ_I64(match("10..20 op aten::conv2d\n"
                           "  11 + workspace 500\n"
                           "  12 - workspace\n"
                           "  13 + out 100\n"
                           "30..40 note Optimizer.step#SGD.step\n"
                           "  31 + s 64\n"
                           "  32 - s\n",
                           1,
                           "10..20 op aten::conv2d\n"
                           "  13 + out 200\n"
                           "30..40 note Optimizer.step#SGD.step\n"
                           "  31..33 op aten::add\n"
                           "  32 + t 70\n"
                           "  34 - t\n"
                           "  35 + u 7\n",
                           2),
                     OC_OK))
        CHECK_EQ_I64(scaled(100, 0, 3), 300);
    close_both();
}

static void check_mismatch(const char *picture_a, int batch_a, const char *picture_b, int batch_b, const char *message) {
    check_context("%s", message);
    CHECK_EQ_I64(match(picture_a, batch_a, picture_b, batch_b), OC_MISMATCH);
    CHECK_EQ_TEXT(error.name, "mismatch");
    CHECK_EQ_U64(error.byte_offset, OC_NO_OFFSET);
    CHECK_CONTAINS(error.message, message);
    close_both();
    check_context("%s", "");
}

static void profiles_that_part_are_told_where(void) {
    static const char common[] = "1..5 op aten::linear\n  2 + x 1000\n";
    char relu[200], gelu[200], outside[200];
    (void)snprintf(relu, sizeof relu, "%s10..20 op aten::relu\n  15 + y 2000\n", common);
    (void)snprintf(gelu, sizeof gelu, "%s10..20 op aten::gelu\n  15 + y 2000\n", common);
    (void)snprintf(outside, sizeof outside, "%s15 + y 2000\n", common);
    check_mismatch(relu, 1, gelu, 2,
                   "after 1 equal tensors comes aten::relu in the first one, aten::gelu in the second. Record both");
    check_mismatch(common, 1, gelu, 2, "after 1 equal tensors comes the end in the first one, aten::gelu in the second. Record both");
    check_mismatch(relu, 1, common, 2, "after 1 equal tensors comes aten::relu in the first one, the end in the second. Record both");
    check_mismatch(relu, 1, outside, 2, "comes aten::relu in the first one, a tensor outside any operator in the second. Record both");
    check_mismatch("1 + x 1000\n", 1, common, 2, "after 0 equal tensors");
    check_mismatch(relu, 1, gelu, 2, "only the batch size changed (and not at 1, where PyTorch picks other kernels); or record with torch 2.4 or newer: "
                   "the times in these files are whole microseconds");
    char fine[250], fine_other[250];
    (void)snprintf(fine, sizeof fine, "%s30.5..31 op aten::tanh\n", relu);
    (void)snprintf(fine_other, sizeof fine_other, "%s30.5..31 op aten::tanh\n", gelu);
    CHECK_EQ_I64(match(fine, 1, fine_other, 2), OC_MISMATCH);
    CHECK(!strstr(error.message, "microseconds")); /* the order is certain here */
    close_both();
}

/* One tensor per sample, such as a label of its own, of at most an allocator's unit, does no harm. */
static void tiny_blocks_may_lack_a_partner(void) {
    static const char start[] = "1..2 note ProfilerStep#0\n5..9 op aten::stack\n  6 + x 1000\n";
    static const char *const middles[] = {"", "10..11 op aten::tensor\n  10.5 + t0 512\n", "10..11 op aten::tensor\n  10.2 + t0 512\n  10.5 + t1 8\n"};
    static const char end[] = "20..30 op aten::relu\n  25 + y 3000\n";
    static const struct {
        int first, second;
        uint32_t unmatched;
    } cases[] = {{1, 2, 1}, {2, 1, 1}, {0, 2, 2}, {2, 0, 2}, {1, 1, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char picture_a[400], picture_b[400];
        check_context("case %zu", i);
        (void)snprintf(picture_a, sizeof picture_a, "%s%s%s", start, middles[cases[i].first], end);
        (void)snprintf(picture_b, sizeof picture_b, "%s%s%s", start, middles[cases[i].second], end);
        if (CHECK_EQ_I64(match(picture_a, 1, picture_b, 2), OC_OK)) {
            CHECK_EQ_U64(scale.unmatched_count, cases[i].unmatched);
            CHECK_EQ_I64(scaled(3000, 0, 9), 3000); /* what comes after is matched again */
        }
        close_both();
    }
    check_context("%s", "");
    check_mismatch("1..2 note ProfilerStep#0\n10..11 op aten::tensor\n  10.5 + t0 513\n", 1, "1..2 note ProfilerStep#0\n3..4 op aten::x\n  3.5 + y 1000\n", 2,
                   "comes aten::tensor in the first one, aten::x in the second");
    /* a model is the same in both: of what was built before the loop nothing may lack */
    check_mismatch("10..11 op aten::empty\n  10.5 + bias 64\n90..91 note ProfilerStep#0\n", 1, "1..2 op aten::ones\n  1.5 + gamma 64\n90..91 note ProfilerStep#0\n", 2,
                   "comes aten::empty in the first one, aten::ones in the second");
}

static void pairs_of_samples_grow_as_the_square(void) {
    if (CHECK_EQ_I64(match("1..2 note ProfilerStep#0\n10 + pairs 1600\n11 + rows 1200\n12 + steep 1000\n13 + gentle 1000\n", 4,
                           "1..2 note ProfilerStep#0\n10 + pairs 6400\n11 + rows 2400\n12 + steep 3000\n13 + gentle 1999\n", 8), OC_OK)) {
        CHECK_EQ_U64(scale.square_count, 1);
        CHECK_EQ_U64(scale.steeper_count, 1); /* more than doubled, but not four times as much */
        CHECK_EQ_I64(scaled(1600, 0, 8), 6400);
        CHECK_EQ_I64(scaled(1600, 0, 100), 1000000);
        CHECK_EQ_I64(scaled(1600, 0, 1), 100);
        CHECK_EQ_I64(scaled(1200, 0, 100), 30000);
        CHECK_EQ_I64(scaled(1000, 0, 16), 7000); /* a line for want of better */
        CHECK_EQ_I64(scaled(1000, 1, 16), 3997);
    }
    close_both();
    if (CHECK_EQ_I64(match("1..2 note ProfilerStep#0\n10 + pairs 6400\n11 + steep 3000\n", 8, "1..2 note ProfilerStep#0\n10 + pairs 1600\n11 + steep 1000\n", 4), OC_OK)) {
        CHECK_EQ_U64(scale.square_count, 1); /* the larger batch first */
        CHECK_EQ_U64(scale.steeper_count, 1);
        CHECK_EQ_I64(scaled(6400, 0, 100), 1000000);
        CHECK_EQ_I64(scaled(6400, 0, 3), 900);
    }
    close_both();
}

/* A model of another width is another job, though its operators are the same. */
static void parameters_must_be_equal(void) {
#define TRAINED(weight, state)                                                                                                   \
    "10 + w " weight "\n50..60 op aten::mm seq=1\n100..110 node MmBackward0 seq=1\n"                                            \
    "120..125 node torch::autograd::AccumulateGrad\n  121..124 op torch::autograd::AccumulateGrad dims=[[" weight "]] types=[\"bool\"]\n" \
    "200..250 note Optimizer.step#Adam.step\n  210 + s " state "\n"
    check_mismatch(TRAINED("1000", "1000"), 1, TRAINED("2000", "2000"), 2, "a parameter of 1000 bytes in the first one has 2000 in the second");
    check_mismatch("5..9 op aten::full_like\n  6 + sum 2\n" TRAINED("1", "9"), 1, "5..9 op aten::full_like\n  6 + sum 3\n" TRAINED("1", "9") "130..135 gradient 250\n", 2,
                   "1 bytes of parameters in the first one, 1001 in the second");
    /* nothing is trained: what grows is data, such as a fixed batch */
    if (CHECK_EQ_I64(match("10 + w 1000\n11 + images 4000\n50..90 module Net_0\n60 + out 400\n", 1,
                           "10 + w 1000\n11 + images 8000\n50..90 module Net_0\n60 + out 800\n", 2), OC_OK))
        CHECK_EQ_I64(scaled(4000, 0, 3), 12000);
    close_both();
}

static void batch_sizes_must_be_known_and_differ(void) {
    check_mismatch("1 + x 10\n", 0, "1 + x 20\n", 2, "the batch size of a profile cannot be seen");
    check_mismatch("1 + x 10\n", 2, "1 + x 20\n", 0, "or give both sizes (--recorded-batch)");
    check_mismatch("1 + x 10\n", 4, "1 + x 20\n", 4,
                   "both profiles were recorded at batch size 4: record the second one at another batch size, for example 8; if the sizes were others, give them (--recorded-batch)");
}

CHECK_MAIN(CHECK_TEST(a_whole_job_is_extrapolated_exactly), CHECK_TEST(recorded_sizes_come_out_as_recorded),
           CHECK_TEST(sizes_between_are_rounded_to_the_nearest), CHECK_TEST(a_falling_line_ends_at_one_byte),
           CHECK_TEST(huge_products_do_not_overflow), CHECK_TEST(one_profile_tells_its_own_size_only),
           CHECK_TEST(scratch_and_steps_need_not_match), CHECK_TEST(profiles_that_part_are_told_where), CHECK_TEST(tiny_blocks_may_lack_a_partner),
           CHECK_TEST(pairs_of_samples_grow_as_the_square), CHECK_TEST(parameters_must_be_equal),
           CHECK_TEST(batch_sizes_must_be_known_and_differ))

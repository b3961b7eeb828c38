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
        CHECK_EQ_I64(scaled(1099511627776, 0, 1000000), 1099511627776000000);
        int64_t huge = scaled(1099511627776, 0, 100000000); /* above 2^63: something huge, but no wrapped figure */
        CHECK(huge >= (int64_t)1 << 60);
    }
    close_both();
}

static void one_profile_tells_its_own_size_only(void) {
    oc_scale one = {8, 0, NULL};
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
    static const char common[] = "1..5 op aten::linear\n  2 + x 10\n";
    char relu[200], gelu[200], outside[200];
    (void)snprintf(relu, sizeof relu, "%s10..20 op aten::relu\n  15 + y 20\n", common);
    (void)snprintf(gelu, sizeof gelu, "%s10..20 op aten::gelu\n  15 + y 20\n", common);
    (void)snprintf(outside, sizeof outside, "%s15 + y 20\n", common);
    check_mismatch(relu, 1, gelu, 2,
                   "after 1 equal tensors comes aten::relu in the first one, aten::gelu in the second. Record both");
    check_mismatch(common, 1, gelu, 2, "after 1 equal tensors comes the end in the first one, aten::gelu in the second. Record both");
    check_mismatch(relu, 1, common, 2, "after 1 equal tensors comes aten::relu in the first one, the end in the second. Record both");
    check_mismatch(relu, 1, outside, 2, "comes aten::relu in the first one, a tensor outside any operator in the second. Record both");
    check_mismatch("1 + x 10\n", 1, common, 2, "after 0 equal tensors");
}

static void batch_sizes_must_be_known_and_differ(void) {
    check_mismatch("1 + x 10\n", 0, "1 + x 20\n", 2, "the batch size of a profile cannot be seen");
    check_mismatch("1 + x 10\n", 2, "1 + x 20\n", 0, "the batch size of a profile cannot be seen");
    check_mismatch("1 + x 10\n", 4, "1 + x 20\n", 4,
                   "both profiles were recorded at batch size 4: record the second one at another batch size, for example 8");
}

CHECK_MAIN(CHECK_TEST(a_whole_job_is_extrapolated_exactly), CHECK_TEST(recorded_sizes_come_out_as_recorded),
           CHECK_TEST(sizes_between_are_rounded_to_the_nearest), CHECK_TEST(a_falling_line_ends_at_one_byte),
           CHECK_TEST(huge_products_do_not_overflow), CHECK_TEST(one_profile_tells_its_own_size_only),
           CHECK_TEST(scratch_and_steps_need_not_match), CHECK_TEST(profiles_that_part_are_told_where),
           CHECK_TEST(batch_sizes_must_be_known_and_differ))

/* Temporaries of CUDA's kernels: sequences worked out by hand from the sources named in temporaries.h. */
#include "temporaries.h"

#include "bytes.h"
#include "check.h"

static oc_temporaries list;
static char text[2000];

/* "+BYTES" and "-BYTES" in order, "|" where the output comes; every tensor must be freed once. */
static const char *steps(void) {
    int64_t bytes[OC_TEMPORARY_LIMIT] = {0};
    size_t used = 0;
    text[0] = 0;
    for (uint32_t i = 0; i < list.step_count; i++) {
        uint32_t tensor = list.steps[i].tensor;
        if (i == list.before_output && i)
            used += (size_t)snprintf(text + used, sizeof text - used, "| ");
        if (list.steps[i].bytes) {
            CHECK_EQ_I64(bytes[tensor], 0);
            bytes[tensor] = list.steps[i].bytes;
            used += (size_t)snprintf(text + used, sizeof text - used, "+%lld ", (long long)bytes[tensor]);
        } else {
            CHECK(bytes[tensor] > 0);
            used += (size_t)snprintf(text + used, sizeof text - used, "-%lld ", (long long)bytes[tensor]);
            bytes[tensor] = -1;
        }
    }
    for (uint32_t i = 0; i < list.tensor_count; i++)
        CHECK_EQ_I64(bytes[i], -1);
    return text;
}

static void embeddings_sort_more_than_3072_indices(void) {
    oc_temporaries_of_embedding(&list, 3072, 8, 50257, 768 * 4);
    CHECK_EQ_TEXT(steps(), "");
    oc_temporaries_of_embedding(&list, 4096, 8, 50257, 768 * 4); /* 409 + 4096 partial sums */
    CHECK_EQ_TEXT(steps(), "+32768 +32768 +32768 +65536 -65536 -32768 | +32768 +8 +32768 +32768 +8 +36040 +13839360 "
                           "-13839360 -36040 -8 -32768 -32768 -8 -32768 -32768 -32768 ");
    oc_temporaries_of_embedding(&list, 10000, 4, 100, 64 * 4); /* no more segments than rows */
    CHECK_EQ_TEXT(steps(), "+40000 +40000 +40000 +80000 -80000 -40000 | +40000 +8 +400 +400 +8 +4400 +281600 "
                           "-281600 -4400 -8 -400 -400 -8 -40000 -40000 -40000 ");
    oc_temporaries_of_embedding(&list, 4096, 0, 50257, 768 * 4);
    CHECK_EQ_TEXT(steps(), "");
    oc_temporaries_of_embedding(&list, OC_LARGEST_BLOCK, 8, 50257, 768 * 4);
    CHECK_EQ_TEXT(steps(), "");
    oc_temporaries_of_embedding(&list, 1000000000, 8, 1000000000, OC_LARGEST_BLOCK / 1000);
    CHECK_EQ_TEXT(steps(), "");
}

static const char *index_put(oc_shape self, oc_shape values, int is_contiguous) {
    oc_temporaries_of_index_put(&list, &self, &values, 4, is_contiguous);
    return steps();
}

static void index_put_sorts_linear_indices(void) {
    /* the logged call: a table of 10000 rows, gradient [4, 128, 2560] not contiguous */
    CHECK_EQ_TEXT(index_put((oc_shape){2, {10000, 2560}}, (oc_shape){3, {4, 128, 2560}}, 0),
                  "+4096 +4096 -4096 +5242880 +4096 +4096 +4096 +1 -1 -4096 -4096 -4096 -5242880 -4096 ");
    /* two index tensors: the second product is added to the first */
    CHECK_EQ_TEXT(index_put((oc_shape){2, {512, 10000}}, (oc_shape){1, {512}}, 1),
                  "+4096 +4096 -4096 +4096 +4096 -4096 -4096 +4096 +4096 +4096 +1 -1 -4096 -4096 -4096 -4096 ");
    /* more than one thread block sorts: keys and values once more */
    CHECK_EQ_TEXT(index_put((oc_shape){2, {50, 7}}, (oc_shape){2, {2305, 7}}, 1), "+18440 +18440 -18440 +18440 +18440 +18440 +36880 -36880 -18440 -18440 -18440 -18440 ");
    CHECK_EQ_TEXT(index_put((oc_shape){2, {50, 7}}, (oc_shape){2, {0, 7}}, 1), "");
    CHECK_EQ_TEXT(index_put((oc_shape){0, {0}}, (oc_shape){1, {5}}, 1), "");
    CHECK_EQ_TEXT(index_put((oc_shape){1, {5}}, (oc_shape){1, {OC_LARGEST_BLOCK}}, 1), "");
    oc_shape deep = {.rank = OC_RANK_LIMIT};
    for (int i = 0; i < OC_RANK_LIMIT; i++)
        deep.dims[i] = 3;
    CHECK(*index_put(deep, (oc_shape){1, {5}}, 0)); /* the longest list */
}

CHECK_MAIN(CHECK_TEST(embeddings_sort_more_than_3072_indices), CHECK_TEST(index_put_sorts_linear_indices))

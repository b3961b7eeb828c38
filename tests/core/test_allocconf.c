/* PYTORCH_CUDA_ALLOC_CONF: every key, every way to write it wrongly, and the versions that have it. */
#include "allocconf.h"

#include "check.h"

#define MIB ((int64_t)1 << 20)

static oc_alloc_conf conf;
static oc_error error;

static oc_status read_conf(const char *text) {
    memset(&error, 0, sizeof error);
    oc_alloc_conf_init(&conf);
    return oc_alloc_conf_read(&conf, text, &error);
}

static oc_allocator_options options_of(const char *text, int torch_version) {
    CHECK_EQ_I64(read_conf(text), OC_OK);
    return oc_alloc_conf_options(&conf, torch_version, 0, 0);
}

static void nothing_is_the_default(void) {
    static const char *const texts[] = {"", " ", "backend:native", "backend:native,"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        oc_allocator_options options = options_of(texts[i], 0);
        CHECK_EQ_I64(memcmp(&options, &oc_allocator_defaults, sizeof options), 0);
    }
}

static void every_key_is_read(void) {
    oc_allocator_options o = options_of("max_split_size_mb:128, garbage_collection_threshold:0.8,expandable_segments:True", 0);
    CHECK_EQ_I64(o.max_split_bytes, 128 * MIB);
    CHECK_EQ_F64(o.garbage_collection_threshold, 0.8);
    CHECK(o.is_expandable);
    o = options_of("large_segment_size_mb:64", 0);
    CHECK_EQ_I64(o.large_segment_bytes, 64 * MIB);
    CHECK_EQ_I64(o.max_non_split_rounding_bytes, 64 * MIB); /* its default follows */
    o = options_of("max_non_split_rounding_mb:100,expandable_segments:False", 0);
    CHECK_EQ_I64(o.max_non_split_rounding_bytes, 100 * MIB);
    CHECK(!o.is_expandable);
    CHECK_EQ_I64(read_conf("per_process_memory_fraction:0.25"), OC_OK);
    o = oc_alloc_conf_options(&conf, 0, conf.memory_fraction, 1000 * MIB);
    CHECK_EQ_I64(o.fraction_bytes, 250 * MIB);
    CHECK_EQ_I64(read_conf("per_process_memory_fraction:1.0"), OC_OK);
    o = oc_alloc_conf_options(&conf, 0, conf.memory_fraction, 1000 * MIB);
    CHECK_EQ_I64(o.fraction_bytes, OC_NO_LIMIT);
    CHECK_EQ_I64(o.range_bytes, 1125 * MIB);
    o = oc_alloc_conf_options(&conf, 206, 1, 1000 * MIB); /* by torch.cuda.set_per_process_memory_fraction */
    CHECK_EQ_I64(o.fraction_bytes, 1000 * MIB);
    CHECK_EQ_I64(read_conf("pinned_use_cuda_host_register:True,release_lock_on_cudamalloc:True,release_lock_on_cudamalloc:True"), OC_OK);
    CHECK_EQ_TEXT(conf.idle_keys, "pinned_use_cuda_host_register, release_lock_on_cudamalloc");
}

static void divisions_fill_their_slots(void) {
    oc_allocator_options o = options_of("roundup_power2_divisions:8", 0);
    for (int slot = 0; slot < OC_kRoundUpPowerOfTwoIntervals; slot++)
        CHECK_EQ_I64(o.divisions[slot], 8);
    static const int64_t in_new[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 4, 8, 8, 8, 8, 8}, in_old[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 8, 8, 8, 8, 8, 8};
    const char list[] = "roundup_power2_divisions:[256:1, 512:2,1024:4,>:8],max_split_size_mb:40";
    o = options_of(list, 213);
    CHECK_EQ_I64(memcmp(o.divisions, in_new, sizeof in_new), 0);
    CHECK_EQ_I64(o.max_split_bytes, 40 * MIB);
    o = options_of(list, 206);
    CHECK_EQ_I64(memcmp(o.divisions, in_old, sizeof in_old), 0);
    o = options_of("roundup_power2_divisions:[2:4,8:2]", 0);
    CHECK_EQ_I64(o.divisions[0], 4);
    CHECK_EQ_I64(o.divisions[2], 0); /* a slot between that no key names is off */
    CHECK_EQ_I64(o.divisions[4], 0);
    o = options_of("roundup_power2_divisions:[>:2]", 206);
    CHECK_EQ_I64(o.divisions[0], 2);
}

static void what_is_wrong_is_named(void) {
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"max_split_size", "allocator option \"max_split_size\": expected key:value"},
        {"max_split_size_mb:", "allocator option \"max_split_size_mb:\": expected key:value"},
        {":5", "allocator option \":5\": expected key:value"},
        {"max_split_size_mb:128,,expandable_segments:True", "allocator option \"\": expected key:value"},
        {"max_split_size_mb:12.5", "allocator option max_split_size_mb:12.5: expected a whole number of MiB, 1 or more"},
        {"max_split_size_mb:-1", "allocator option max_split_size_mb:-1: expected a whole number of MiB, 1 or more"},
        {"large_segment_size_mb:10", "allocator option large_segment_size_mb:10: expected a whole number of MiB, 11 or more"},
        {"garbage_collection_threshold:1.0", "allocator option garbage_collection_threshold:1.0: expected a number above 0.0 and below 1.0"},
        {"garbage_collection_threshold:0", "allocator option garbage_collection_threshold:0: expected a number above 0.0 and below 1.0"},
        {"garbage_collection_threshold:nan", "allocator option garbage_collection_threshold:nan: expected a number above 0.0 and below 1.0"},
        {"per_process_memory_fraction:1.5", "allocator option per_process_memory_fraction:1.5: expected a number above 0.0, at most 1.0"},
        {"expandable_segments:true", "allocator option expandable_segments:true: expected True or False"},
        {"backend:cudaMallocAsync",
         "allocator option backend:cudaMallocAsync: this is CUDA's own allocator, whose rules are not public; only backend:native can be simulated"},
        {"backend:mine", "allocator option backend:mine: expected native or cudaMallocAsync"},
        {"roundup_power2_divisions:3", "allocator option roundup_power2_divisions:3: expected a power of two, or a list such as [256:1,512:2,1024:4,>:8]"},
        {"roundup_power2_divisions:[256:3]", "allocator option roundup_power2_divisions:[256:3]: the divisions must be powers of two"},
        {"roundup_power2_divisions:[300:2]", "allocator option roundup_power2_divisions:[300:2]: the intervals must be powers of two, 1 to 32768 MiB"},
        {"roundup_power2_divisions:[>:2,256:4]", "allocator option roundup_power2_divisions:[>:2,256:4]: \">\" must be the last interval"},
        {"roundup_power2_divisions:[256]", "allocator option roundup_power2_divisions:[256]: expected [MiB:divisions,...,>:divisions] with powers of two, "
                                           "such as [256:1,512:2,1024:4,>:8]"},
        {"roundup_power2_divisions:[256:1,512:2", "allocator option roundup_power2_divisions:[256:1,512:2: expected [MiB:divisions,...,>:divisions] with "
                                                  "powers of two, such as [256:1,512:2,1024:4,>:8]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check_context("%s", cases[i].text);
        CHECK_EQ_I64(read_conf(cases[i].text), OC_OPTIONS);
        CHECK_EQ_TEXT(error.message, cases[i].message);
    }
    char text[600] = "pinned_num_register_threads:";
    memset(text + strlen(text), '1', 500);
    check_context("%s", "");
    CHECK_EQ_I64(read_conf(text), OC_OPTIONS);
    CHECK_CONTAINS(error.message, "longer than 399 characters");
    CHECK_EQ_I64(read_conf("max_split_mb:64"), OC_OPTIONS);
    CHECK_CONTAINS(error.message, "unrecognized allocator option \"max_split_mb\" (known: max_split_size_mb, ");
}

static oc_status check_version(const char *text, int torch_version) {
    CHECK_EQ_I64(read_conf(text), OC_OK);
    return oc_alloc_conf_check(&conf, torch_version, &error);
}

static void versions_have_their_keys_and_bounds(void) {
    CHECK_EQ_I64(check_version("large_segment_size_mb:32", 211), OC_OPTIONS);
    CHECK_EQ_TEXT(error.message, "PyTorch 2.11 has no allocator option large_segment_size_mb: the earliest version known to have it is 2.12");
    CHECK_EQ_I64(check_version("large_segment_size_mb:32", 212), OC_OK);
    CHECK_EQ_I64(check_version("large_segment_size_mb:32", 0), OC_OK);
    CHECK_EQ_I64(check_version("max_non_split_rounding_mb:32", 206), OC_OPTIONS);
    CHECK_EQ_TEXT(error.message, "PyTorch 2.6 has no allocator option max_non_split_rounding_mb: the earliest version known to have it is 2.7 (uncertain: it may "
                                 "have come a version earlier)");
    CHECK_EQ_I64(check_version("per_process_memory_fraction:0.5", 206), OC_OPTIONS);
    CHECK_EQ_I64(check_version("per_process_memory_fraction:0.5", 210), OC_OK);
    CHECK_EQ_I64(check_version("max_split_size_mb:20", 206), OC_OPTIONS); /* above 20 */
    CHECK_EQ_TEXT(error.message, "allocator option max_split_size_mb:20 is too small, it must be 21 or more");
    CHECK_EQ_I64(check_version("max_split_size_mb:20", 213), OC_OK); /* not below the large segment */
    CHECK_EQ_I64(check_version("max_split_size_mb:31,large_segment_size_mb:32", 213), OC_OPTIONS);
    CHECK_EQ_I64(check_version("max_non_split_rounding_mb:19", 213), OC_OPTIONS);
    CHECK_EQ_I64(check_version("max_non_split_rounding_mb:20", 213), OC_OK);
}

CHECK_MAIN(CHECK_TEST(nothing_is_the_default), CHECK_TEST(every_key_is_read), CHECK_TEST(divisions_fill_their_slots), CHECK_TEST(what_is_wrong_is_named),
           CHECK_TEST(versions_have_their_keys_and_bounds))

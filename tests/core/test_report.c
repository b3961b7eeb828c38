/* The result JSON and the columns: every number of the small job of profile_text.h at batch 4, worked out by hand.
 *
 * W = 2,097,152 (weight, its gradient, two states, the step's temporary), S = 8,519,680 (a workspace). The large pool: a segment of
 * 20 MiB holds the weight and the first workspace, then gradient, states and temporary; the second workspace opens another one.
 * Everything else lies in one segment of 2 MiB. At the peak, in the first step, live: 5 W + 2 S = 27,525,120 and in the small pool
 *   bias 4,096, its gradient, two states and temporary 4 * 4,096, buffer 1,000, batch 8,192 + 32, loss 4: 29,708, in blocks 30,720.
 */
#include "check.h"
#include "profile_text.h"

#include <cJSON.h>

#include <stdlib.h>

#define MIB 1048576

static oc_session *session;
static cJSON *result;

static void open_job(const char *picture) {
    session = profile_session_new(picture, NULL);
}

static void open_small_job(int iterations) {
    char *picture = profile_job_new(4, iterations, 0);
    open_job(picture);
    free(picture);
}

static void close_job(void) {
    cJSON_Delete(result);
    result = NULL;
    oc_session_close(session);
}

static bool answer(const char *options) {
    cJSON_Delete(result);
    result = NULL;
    if (!CHECK_EQ_I64(oc_session_simulate(session, options, strlen(options)), OC_OK)) {
        printf("    %s\n", oc_session_error(session)->message);
        return false;
    }
    result = cJSON_Parse(oc_session_summary(session, NULL));
    return CHECK(result);
}

/* The value at a path such as "peak.at.time_ms" or "phases.0.phase". */
static const cJSON *get(const char *path) {
    const cJSON *at = result;
    char key[64];
    while (at && *path) {
        size_t length = strcspn(path, ".");
        (void)snprintf(key, sizeof key, "%.*s", (int)length, path);
        at = cJSON_IsArray(at) ? cJSON_GetArrayItem(at, atoi(key)) : cJSON_GetObjectItemCaseSensitive(at, key);
        path += length + (path[length] == '.');
    }
    return at;
}

static void check_number(const char *path, double expected, int line) {
    const cJSON *item = get(path);
    if (check_true(cJSON_IsNumber(item), path, __FILE__, line))
        (void)check_f64(item->valuedouble, expected, path, __FILE__, line);
}

static void check_string(const char *path, const char *expected, int line) {
    const cJSON *item = get(path);
    if (!expected)
        (void)check_true(cJSON_IsNull(item), path, __FILE__, line);
    else if (check_true(cJSON_IsString(item), path, __FILE__, line))
        (void)check_text(item->valuestring, expected, path, __FILE__, line);
}

#define NUMBER(path, expected) check_number(path, expected, __LINE__)
#define STRING(path, expected) check_string(path, expected, __LINE__)
#define IS_NULL(path) check_string(path, NULL, __LINE__)
#define COUNT(path, expected) CHECK_EQ_I64(cJSON_GetArraySize(get(path)), expected)

/* ---- the whole result without a limit ---- */

static void head_and_peak(void) {
    open_small_job(2);
    if (answer("{}")) {
        STRING("format", "oomcast-result");
        NUMBER("version", 1);
        STRING("oomcast", OC_VERSION);
        IS_NULL("verdict");
        NUMBER("peak.tensor_bytes", 27525120 + 29708);
        NUMBER("peak.allocated_bytes", 27525120 + 30720);
        NUMBER("peak.reserved_bytes", 42 * MIB);
        NUMBER("peak.device_bytes", 42 * MIB + 367001600 + 12582912);
        NUMBER("peak.at.time_ms", 1.69); /* the step begins at 1700 us, the first event at 10 */
        NUMBER("peak.at.iteration", 1);
        STRING("peak.at.phase", "optimizer step");
        IS_NULL("peak.at.op");
        IS_NULL("peak.at.module");
        NUMBER("need.allocated_bytes", 27555840);
        NUMBER("need.reserved_bytes", 42 * MIB);
        NUMBER("minimum_capacity_bytes", 42 * MIB); /* nothing is cached that could be released */
        NUMBER("band.low_bytes", 26 * MIB);
        NUMBER("band.high_bytes", 42 * MIB + 37748736);
        STRING("band.why", "library memory (0 to 36 MiB), measured runs up to 16 MiB below");
        NUMBER("outside.context_bytes", 367001600);
        NUMBER("outside.library_bytes", 12582912);
        IS_NULL("gpu");
        IS_NULL("oom");
        COUNT("warnings", 0);
        CHECK(cJSON_IsFalse(get("xmem.OOM")));
        IS_NULL("xmem.Max GPU Memory");
        NUMBER("xmem.memory.tensor", 27555840);
        NUMBER("xmem.memory.segment", 42 * MIB);
        IS_NULL("xmem.runtime");
    }
    close_job();
}

static void job_and_what_is_alive(void) {
    open_small_job(2);
    if (answer("{}")) {
        NUMBER("job.batch_size", 4);
        COUNT("job.recorded_batch_sizes", 1);
        NUMBER("job.recorded_batch_sizes.0", 4);
        STRING("job.scaling", "recorded");
        STRING("job.optimizer", "AdamW");
        NUMBER("job.parameter_bytes", 2101248);
        NUMBER("job.buffer_bytes", 1000);
        NUMBER("job.gradient_bytes", 2101248);
        NUMBER("job.optimizer_state_bytes", 4202496);
        NUMBER("job.iterations", 2);
        NUMBER("at_peak.parameter_bytes", 2101248);
        NUMBER("at_peak.buffer_bytes", 1000);
        NUMBER("at_peak.gradient_bytes", 2101248);
        NUMBER("at_peak.optimizer_state_bytes", 4202496);
        NUMBER("at_peak.activation_bytes", 4);
        NUMBER("at_peak.batch_bytes", 8224);
        NUMBER("at_peak.temporary_bytes", 2101248);
        NUMBER("at_peak.workspace_bytes", 2 * 8519680);
        NUMBER("at_peak.rounding_bytes", 1012); /* buffer 24, labels 480, loss 508 */
        NUMBER("at_peak.cached_bytes", 42 * MIB - 27555840);
    }
    close_job();
}

static void check_phase(int index, const char *phase, int iteration, double start_ms, double end_ms, double allocated, double reserved) {
    char path[60];
    check_context("phase %d", index);
    (void)snprintf(path, sizeof path, "phases.%d.phase", index);
    STRING(path, phase);
    (void)snprintf(path, sizeof path, "phases.%d.iteration", index);
    NUMBER(path, iteration);
    (void)snprintf(path, sizeof path, "phases.%d.start_ms", index);
    NUMBER(path, start_ms);
    (void)snprintf(path, sizeof path, "phases.%d.end_ms", index);
    NUMBER(path, end_ms);
    (void)snprintf(path, sizeof path, "phases.%d.peak_allocated_bytes", index);
    NUMBER(path, allocated);
    (void)snprintf(path, sizeof path, "phases.%d.peak_reserved_bytes", index);
    NUMBER(path, reserved);
    check_context("%s", "");
}

static void phases(void) {
    const double W = 2097152, S = 8519680;
    open_small_job(2);
    if (answer("{}")) {
        COUNT("phases", 7);
        check_phase(0, "parameters", 1, 0, 0.99, W + 4096 + 1024, 22 * MIB);
        /* from the end of the fetch, with zero_grad; the first output, with cuBLASLt's workspace */
        check_phase(1, "forward", 1, 1.04, 1.39, W + S + 4096 + 1024 + 8192 + 512 + 16384 + MIB, 22 * MIB);
        /* when the bias' gradient is made: hidden and its gradient, loss */
        check_phase(2, "backward", 1, 1.39, 1.64, 2 * W + 2 * S + 4096 + 1024 + 8192 + 512 + 2 * 16384 + 512 + 4096, 42 * MIB);
        /* until zero_grad the gradients are there, until the names are bound again both batches */
        check_phase(3, "forward", 2, 2.04, 2.39, 4 * W + 2 * S + 4 * 4096 + 1024 + 2 * (8192 + 512), 42 * MIB);
        check_phase(4, "backward", 2, 2.39, 2.64, 4 * W + 2 * S + 3 * 4096 + 1024 + 8192 + 512 + 2 * 16384 + 512 + 4096, 42 * MIB);
        check_phase(5, "optimizer step", 1, 1.69, 1.89, 27555840, 42 * MIB);
        check_phase(6, "optimizer step", 2, 2.69, 2.89, 27555840, 42 * MIB);
    }
    close_job();
}

static void check_owner(const char *list, int index, const char *category, const char *module, const char *op, int count, double bytes) {
    char path[60];
    check_context("%s %d", list, index);
    (void)snprintf(path, sizeof path, "%s.%d.category", list, index);
    STRING(path, category);
    (void)snprintf(path, sizeof path, "%s.%d.module", list, index);
    STRING(path, module);
    (void)snprintf(path, sizeof path, "%s.%d.op", list, index);
    STRING(path, op);
    (void)snprintf(path, sizeof path, "%s.%d.count", list, index);
    NUMBER(path, count);
    (void)snprintf(path, sizeof path, "%s.%d.bytes", list, index);
    NUMBER(path, bytes);
    check_context("%s", "");
}

static void owners(void) {
    open_small_job(2);
    if (answer("{}")) {
        COUNT("owners", 10);
        check_owner("owners", 0, "workspace", NULL, "aten::addmm", 1, 8519680);
        check_owner("owners", 1, "workspace", NULL, "aten::mm", 1, 8519680);
        check_owner("owners", 2, "optimizer state", NULL, NULL, 4, 4202496);
        check_owner("owners", 3, "parameter", NULL, NULL, 2, 2101248);
        check_owner("owners", 4, "temporary", NULL, NULL, 2, 2101248);
        check_owner("owners", 5, "gradient", "Net_0/Linear_0", "aten::mm", 1, 2097152);
        check_owner("owners", 6, "batch", NULL, "aten::stack", 2, 8224);
        check_owner("owners", 7, "gradient", "Net_0/Linear_0", "aten::sum", 1, 4096);
        check_owner("owners", 8, "buffer", NULL, NULL, 1, 1000);
        check_owner("owners", 9, "activation", NULL, "aten::nll_loss", 1, 4);
    }
    close_job();
}

static void what_was_assumed(void) {
    open_small_job(2);
    if (answer("{}")) {
        static const char *const parts[] = {"AdamW steps in its foreach form", "eager PyTorch on one GPU and one stream",
                                            "CUDA context 350 MiB (reports: 256 to 576, with PyTorch before 1.13 over 1000) and libraries 12 MiB", "cuDNN",
                                            "the recorded batch size was read off the tensors that the DataLoader hands over"};
        COUNT("assumptions", 5);
        for (int i = 0; i < 5; i++)
            CHECK_CONTAINS(cJSON_GetStringValue(cJSON_GetArrayItem(get("assumptions"), i)), parts[i]);
    }
    close_job();
}

/* ---- with a limit ---- */

static void a_card_with_room(void) {
    open_small_job(2);
    if (answer("{\"gpu\": \"t4\"}")) {
        STRING("verdict", "fits");
        STRING("gpu.name", "T4");
        NUMBER("gpu.total_bytes", 15811477504);
        NUMBER("gpu.usable_bytes", 15811477504 - 367001600);
        NUMBER("peak.reserved_bytes", 42 * MIB);
        NUMBER("xmem.Max GPU Memory", 15811477504);
        IS_NULL("oom");
        NUMBER("columns.7.length", 0);
    }
    if (answer("{\"gpu\": \"T4\", \"reserve_bytes\": 1000000000}"))
        NUMBER("gpu.usable_bytes", 15811477504 - 367001600 - 1000000000);
    if (answer("{\"capacity_bytes\": 8318222336}")) {
        IS_NULL("gpu.name");
        NUMBER("gpu.total_bytes", 8318222336);
        STRING("verdict", "fits");
    }
    close_job();
}

/* usable = 42 MiB + `spare` bytes */
static void check_verdict(int64_t spare, const char *verdict) {
    char options[80];
    (void)snprintf(options, sizeof options, "{\"capacity_bytes\": %lld}", (long long)(42 * MIB + spare + 367001600));
    if (answer(options))
        STRING("verdict", verdict);
}

static void the_verdict_turns_at_the_band(void) {
    open_small_job(2);
    check_verdict(37748736, "fits"); /* the band's high end is just usable */
    check_verdict(37748736 - 1, "tight");
    check_verdict(0, "tight");
    check_verdict(-1, "oom");
    close_job();
}

static void convolutions_and_near_misses_widen_the_band(void) {
    open_job("10..11 note ProfilerStep#1\n20..60 op aten::convolution dims=[[8,3,9,9]]\n  30 + a 52428800\n");
    if (answer("{}")) {
        NUMBER("band.low_bytes", 34 * MIB - 1572864); /* 3 % of 50 MiB */
        NUMBER("band.high_bytes", 50 * MIB + 36 * MIB + 64 * MIB + 1572864);
        STRING("band.why", "library memory (0 to 36 MiB), measured runs up to 16 MiB below, workspaces of convolutions (64 MiB, and 3 % either way as measured; in one series of runs up to "
                           "21 % more)");
    }
    close_job();
    open_job("10..11 note ProfilerStep#1\n20..60 op aten::lstm dims=[[8,3,9]]\n  30 + a 52428800\n");
    if (answer("{}")) {
        NUMBER("band.low_bytes", 34 * MIB - 5242880);
        NUMBER("band.high_bytes", 50 * MIB + 36 * MIB + 5242880);
        STRING("band.why", "library memory (0 to 36 MiB), measured runs up to 16 MiB below, recurrent layers, half precision or compiled code, of which no measured run tells (10 % either "
                           "way)");
    }
    close_job();
    open_job("10..11 note ProfilerStep#1\n20..60 op aten::relu\n  30 + a 52428800\n");
    if (answer("{}")) {
        NUMBER("band.low_bytes", 34 * MIB - 2883584); /* 5.5 % */
        NUMBER("band.high_bytes", 50 * MIB + 36 * MIB + 2883584);
        STRING("band.why", "library memory (0 to 36 MiB), measured runs up to 16 MiB below, shapes that were not recorded (5.5 % either way)");
        CHECK_CONTAINS(oc_session_summary(session, NULL), "\"code\":\"no_shapes\"");
    }
    close_job();
    /* MiB: 100, freed; 101 misses it by 1 %, so a real batch may have found room in it */
    open_job("10..11 note ProfilerStep#1\n15..16 op aten::relu dims=[[2]]\n20 + a 104857600\n30 - a\n40 + b 105906176\n50 + c 1024\n");
    if (answer("{}")) {
        NUMBER("peak.reserved_bytes", 204 * MIB); /* 100, 102, 2 */
        NUMBER("band.low_bytes", 102 * MIB - 16 * MIB);
        NUMBER("band.high_bytes", 204 * MIB + 36 * MIB);
        STRING("band.why", "library memory (0 to 36 MiB), measured runs up to 16 MiB below, free blocks that miss a request by less than 2 %, as batches differ");
    }
    close_job();
}

static void it_is_tight_if_the_cache_must_be_released(void) {
    /* MiB: 100, freed; 120. Without a limit 220 are reserved; 120 do. */
    open_job("10..11 note ProfilerStep#1\n20 + a 104857600\n30 - a\n40 + b 125829120\n50 - b\n");
    if (answer("{\"capacity_bytes\": 567001600}")) { /* usable: 200,000,000 */
        STRING("verdict", "tight");
        NUMBER("peak.reserved_bytes", 125829120);
        NUMBER("need.reserved_bytes", 230686720);
        NUMBER("minimum_capacity_bytes", 125829120);
        NUMBER("at_peak.cached_bytes", 0);
    }
    close_job();
}

/* 30 MiB usable: the second workspace asks for a segment of 20 MiB beside 22. */
static void out_of_memory(void) {
    const double W = 2097152, S = 8519680;
    open_small_job(2);
    if (answer("{\"capacity_bytes\": 398458880}")) { /* 367,001,600 + 30 MiB */
        STRING("verdict", "oom");
        NUMBER("oom.bytes", S);
        NUMBER("oom.at.time_ms", 1.49);
        NUMBER("oom.at.iteration", 1);
        STRING("oom.at.phase", "backward");
        STRING("oom.at.op", "aten::mm");
        IS_NULL("oom.at.module");
        const double allocated = 2 * W + S + 4096 + 1024 + 8192 + 512 + 2 * 16384 + 512;
        NUMBER("oom.allocated_bytes", allocated);
        NUMBER("oom.reserved_bytes", 22 * MIB);
        NUMBER("oom.cached_bytes", 22 * MIB - allocated);
        NUMBER("oom.largest_free_block_bytes", 20 * MIB - 2 * W - S);
        NUMBER("oom.retries", 1);
        NUMBER("oom.released_bytes", 0);
        COUNT("oom.live", 10);
        check_owner("oom.live", 0, "workspace", NULL, "aten::addmm", 1, S);
        check_owner("oom.live", 1, "parameter", NULL, NULL, 1, W);
        check_owner("oom.live", 2, "gradient", "Net_0/Linear_0", "aten::mm", 1, W);
        check_owner("oom.live", 3, "activation", "Net_0/Linear_0", "aten::addmm", 1, 16384);
        check_owner("oom.live", 4, "temporary", "Net_0/ReLU_0", "aten::threshold_backward", 1, 16384);
        check_owner("oom.live", 5, "batch", NULL, "aten::stack", 1, 8192);
        check_owner("oom.live", 6, "parameter", NULL, NULL, 1, 4096);
        check_owner("oom.live", 7, "buffer", NULL, NULL, 1, 1000);
        check_owner("oom.live", 8, "batch", NULL, "aten::stack", 1, 32);
        check_owner("oom.live", 9, "activation", NULL, "aten::nll_loss", 1, 4);
        /* the peak is that of the run up to there; the need is that of a run without a limit */
        NUMBER("peak.allocated_bytes", allocated);
        NUMBER("peak.reserved_bytes", 22 * MIB);
        NUMBER("peak.at.time_ms", 1.49);
        STRING("peak.at.op", "aten::mm");
        STRING("peak.at.module", "Net_0/Linear_0");
        NUMBER("need.allocated_bytes", 27555840);
        NUMBER("need.reserved_bytes", 42 * MIB);
        NUMBER("minimum_capacity_bytes", 42 * MIB);
        CHECK(cJSON_IsTrue(get("xmem.OOM")));
        size_t length, need_length;
        const double *time = oc_session_column(session, OC_COLUMN_ALLOCATED_TIME, &length),
                     *need_time = oc_session_column(session, OC_COLUMN_NEED_TIME, &need_length);
        if (CHECK(time && length && need_time && need_length)) {
            CHECK_EQ_F64(time[length - 1], 1.49); /* the curve stops where the job does */
            CHECK(need_time[need_length - 1] > 2.8);
        }
    }
    close_job();
}

/* ---- other jobs ---- */

static void two_profiles(void) {
    char *first = profile_job_new(4, 2, 0), *second = profile_job_new(8, 2, 0);
    session = profile_session_new(first, second);
    if (answer("{\"batch\": 16}")) {
        NUMBER("job.batch_size", 16);
        COUNT("job.recorded_batch_sizes", 2);
        NUMBER("job.recorded_batch_sizes.1", 8);
        STRING("job.scaling", "two-profiles");
        NUMBER("at_peak.batch_bytes", 16 * 2056);
        CHECK_CONTAINS(oc_session_summary(session, NULL), "sizes are a straight line through the two recorded batch sizes 4 and 8");
    }
    if (answer("{\"batch\": 8}")) {
        STRING("job.scaling", "recorded");
        NUMBER("at_peak.batch_bytes", 8 * 2056);
    }
    close_job();
    free(first);
    free(second);
}

/* A batch made once before the loop: data, as the second profile shows, and in no sum of buffers. */
static void a_fixed_batch_is_no_buffer(void) {
    static const char picture[] = "10 + weight 1000\n"
                                  "11 + images %d\n"
                                  "12 + mean 300\n"
                                  "50..60 op aten::mm seq=1 dims=[[%d,25],[25,10]] types=[\"float\",\"float\"]\n"
                                  "100..110 node MmBackward0 seq=1\n120..125 node torch::autograd::AccumulateGrad\n"
                                  "121..124 op torch::autograd::AccumulateGrad dims=[[250]] types=[\"float\"]\n";
    char first[600], second[600];
    (void)snprintf(first, sizeof first, picture, 4 * 100, 4);
    (void)snprintf(second, sizeof second, picture, 8 * 100, 8);
    session = profile_session_new(first, second);
    if (answer("{\"batch\": 20}")) {
        NUMBER("job.batch_size", 20);
        NUMBER("job.buffer_bytes", 300);
        NUMBER("at_peak.buffer_bytes", 300);
        NUMBER("at_peak.batch_bytes", 2000);
        NUMBER("at_peak.parameter_bytes", 1000);
    }
    close_job();
}

static void a_profile_without_a_training(void) {
    open_job("20..80 module Net_0\n30 + out 700\n60 - out\n70 + kept 1900\n");
    if (answer("{}")) {
        IS_NULL("job.batch_size");
        COUNT("job.recorded_batch_sizes", 0);
        IS_NULL("job.optimizer");
        NUMBER("job.iterations", 1);
        NUMBER("job.parameter_bytes", 0);
        NUMBER("job.optimizer_state_bytes", 0);
        NUMBER("at_peak.activation_bytes", 1900);
        COUNT("phases", 1);
        STRING("phases.0.phase", "forward");
        STRING("owners.0.module", "Net_0");
        IS_NULL("owners.0.op");
        STRING("warnings.0.code", "no_shapes");
        STRING("warnings.1.code", "no_parameters");
        NUMBER("warnings.1.count", 1);
        IS_NULL("warnings.1.first_offset");
    }
    close_job();
}

static void a_profile_of_nothing_but_scratch(void) {
    open_job("10..20 op aten::conv2d\n  11 + a 100\n  12 - a\n");
    if (answer("{\"gpu\": \"T4\"}")) {
        STRING("verdict", "fits");
        NUMBER("peak.allocated_bytes", 0);
        NUMBER("peak.reserved_bytes", 0);
        IS_NULL("peak.at");
        NUMBER("minimum_capacity_bytes", 0);
        COUNT("owners", 0);
        NUMBER("at_peak.rounding_bytes", 0);
        NUMBER("at_peak.cached_bytes", 0);
    }
    close_job();
}

static void warnings_have_code_count_and_offset(void) {
    open_job("1 - old 64\n10 + a 100\n20..30 op x\x01y\n25 + b 100\n30..40 op Torch-Compiled Region: 0/0\n");
    if (answer("{}")) {
        COUNT("warnings", 5);
        STRING("warnings.0.code", "damaged_name");
        CHECK(cJSON_IsNumber(get("warnings.0.first_offset")));
        STRING("warnings.1.code", "free_without_allocation");
        IS_NULL("warnings.1.first_offset");
        STRING("warnings.2.code", "compiled");
        STRING("warnings.3.code", "no_shapes");
        STRING("warnings.4.code", "no_parameters");
        CHECK_CONTAINS(oc_session_summary(session, NULL), "\"x?y\"");
    }
    close_job();
}

static void operators_without_a_rule_are_counted(void) {
    open_job("10..11 note ProfilerStep#1\n12..18 note enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__\n13..14 op aten::randperm dims=[[]]\n"
             "20..30 op aten::sort dims=[[8]]\n  21 + values 3000\n40..50 op aten::sort dims=[[8]]\n  41 + indices 1000\n  52 - indices\n"
             "60..70 op aten::_fft_r2c dims=[[8]]\n80..90 op aten::relu dims=[[8]]\n  85 + out 6000\n");
    if (answer("{}")) {
        STRING("warnings.0.code", "no_parameters");
        STRING("warnings.1.code", "unseen_batches");
        STRING("warnings.2.code", "no_rule");
        NUMBER("warnings.2.count", 3);
        STRING("warnings.2.message", "CUDA does aten::sort, aten::_fft_r2c with scratch of its libraries, of unknown size, for which there is no rule; what they made is 33.3 % of the peak");
    }
    close_job();
}

static void names_are_json_again(void) {
    open_job("10..20 op say \\\"hi\\\" \\\\ \\u00e9\n  15 + a 100\n  5..30 module Caf\xc3\xa9_0\n");
    if (answer("{}")) {
        STRING("owners.0.op", "say \"hi\" \\ \xc3\xa9");
        STRING("owners.0.module", "Caf\xc3\xa9_0");
    }
    close_job();
}

static void a_deep_path_keeps_its_inner_modules(void) {
    char picture[8000], *at = picture;
    for (int i = 0; i < 40; i++)
        at += sprintf(at, "%d..%d module A_module_with_a_name_of_forty_chars_%d\n", 10 + i, 200 - i, i);
    (void)sprintf(at, "100 + a 100\n");
    open_job(picture);
    if (answer("{}")) {
        const char *path = cJSON_GetStringValue(get("owners.0.module"));
        if (CHECK(path)) {
            CHECK(strlen(path) < 400 && strlen(path) > 300);
            CHECK_CONTAINS(path, "/A_module_with_a_name_of_forty_chars_39");
            CHECK(strncmp(path, "A_module_with", 13) == 0); /* cut between modules */
        }
    }
    close_job();
}

/* ---- columns ---- */

static void check_columns(size_t points, const double peaks[3]) {
    static const oc_column values[] = {OC_COLUMN_ALLOCATED, OC_COLUMN_RESERVED, OC_COLUMN_TENSOR};
    for (int i = 0; i < 3; i++) {
        size_t length, time_length;
        const double *value = oc_session_column(session, values[i], &length),
                     *time = oc_session_column(session, (oc_column)(values[i] - 1), &time_length);
        check_context("column %d", values[i]);
        if (!CHECK(value && time && length == time_length && length >= 2))
            continue;
        CHECK(length <= points * 4 + 2);
        double highest = 0;
        for (size_t k = 0; k < length; k++) {
            highest = value[k] > highest ? value[k] : highest;
            CHECK(k == 0 || time[k] >= time[k - 1]);
        }
        CHECK_EQ_F64(highest, peaks[i]);
        char path[40];
        (void)snprintf(path, sizeof path, "columns.%d.length", values[i]);
        NUMBER(path, (double)length);
        (void)snprintf(path, sizeof path, "columns.%d.length", values[i] - 1);
        NUMBER(path, (double)length);
    }
    check_context("%s", "");
}

static void columns_hold_the_peaks(void) {
    static const double peaks[] = {27555840, 42 * MIB, 27554828};
    open_small_job(2);
    for (size_t points = 2; points <= 1000; points = points * 5 - 3) {
        char options[60];
        (void)snprintf(options, sizeof options, "{\"points\": %zu}", points);
        if (answer(options))
            check_columns(points, peaks);
    }
    COUNT("columns", OC_COLUMN_COUNT);
    NUMBER("columns.0.id", 0);
    STRING("columns.0.name", "allocated time");
    STRING("columns.0.unit", "ms");
    STRING("columns.1.unit", "bytes");
    NUMBER("columns.6.length", 0);
    size_t length = 1;
    CHECK(!oc_session_column(session, OC_COLUMN_NEED, &length) && length == 0);
    close_job();
}

static void a_range_shows_its_part(void) {
    open_small_job(2);
    if (answer("{\"range_ms\": [1.0, 1.2]}")) {
        size_t length;
        const double *time = oc_session_column(session, OC_COLUMN_RESERVED_TIME, &length),
                     *value = oc_session_column(session, OC_COLUMN_RESERVED, NULL);
        if (CHECK(time && value && length >= 2)) {
            CHECK_EQ_F64(time[0], 1.0);
            CHECK_EQ_F64(time[length - 1], 1.2);
            for (size_t i = 0; i < length; i++)
                CHECK_EQ_F64(value[i], 22 * MIB);
        }
        NUMBER("peak.reserved_bytes", 42 * MIB); /* the figures are those of the whole run */
    }
    close_job();
}

/* options.h allows a range up to 1e15 ms on both sides: all of the curve. */
static void the_widest_range_is_everything(void) {
    static const double peaks[] = {27555840, 42 * MIB, 27554828};
    open_small_job(2);
    if (answer("{\"range_ms\": [-1e15, 1e15]}"))
        check_columns(1000, peaks);
    close_job();
}

/* A step without an operator in it, after the last operator: its state and temporaries are the peak, so the curve must reach it, and
 * phases lie within the times of the curve. */
static void the_curve_reaches_the_last_annotation(void) {
    open_job("0.5..400 note ProfilerStep#1\n"
             "50..60 op aten::mm seq=1\n100..110 node MmBackward0 seq=1\n"
             "120..125 node torch::autograd::AccumulateGrad\n"
             "  121..124 op torch::autograd::AccumulateGrad dims=[[250000]] types=[\"float\"]\n"
             "130 + a 16\n300..350 note Optimizer.step#Adam.step\n");
    if (answer("{}")) {
        size_t length;
        const double *value = oc_session_column(session, OC_COLUMN_ALLOCATED, &length);
        double highest = 0;
        for (size_t i = 0; value && i < length; i++)
            highest = value[i] > highest ? value[i] : highest;
        NUMBER("peak.allocated_bytes", highest);
        for (int i = 0; i < cJSON_GetArraySize(get("phases")); i++) {
            char path[40];
            (void)snprintf(path, sizeof path, "phases.%d.start_ms", i);
            CHECK(get(path) && get(path)->valuedouble >= 0);
        }
    }
    close_job();
}

/* "All bytes are integers": also the largest that the options allow. */
static void large_numbers_are_written_exactly(void) {
    open_small_job(1);
    if (answer("{\"capacity_bytes\": 9007199254740991}"))
        CHECK_CONTAINS(oc_session_summary(session, NULL), "\"total_bytes\":9007199254740991,");
    close_job();
}

/* ---- the catalogue ---- */

static void the_catalogue_is_json(void) {
    char *json = oc_gpus_json();
    result = cJSON_Parse(json);
    if (CHECK(result)) {
        COUNT("", 95);
        bool is_found = false;
        const cJSON *gpu;
        cJSON_ArrayForEach(gpu, result) {
            if (strcmp(cJSON_GetStringValue(cJSON_GetObjectItem(gpu, "name")), "GeForce RTX 4060") != 0)
                continue;
            is_found = true;
            CHECK_EQ_F64(cJSON_GetObjectItem(gpu, "total_bytes")->valuedouble, 8318222336);
            CHECK_EQ_TEXT(cJSON_GetStringValue(cJSON_GetObjectItem(gpu, "group")), "consumer");
            CHECK_EQ_TEXT(cJSON_GetStringValue(cJSON_GetObjectItem(gpu, "compute_capability")), "8.9");
        }
        CHECK(is_found);
    }
    cJSON_Delete(result);
    result = NULL;
    oc_free_text(json);
}

CHECK_MAIN(CHECK_TEST(operators_without_a_rule_are_counted), CHECK_TEST(head_and_peak), CHECK_TEST(job_and_what_is_alive), CHECK_TEST(phases), CHECK_TEST(owners),
           CHECK_TEST(what_was_assumed), CHECK_TEST(a_card_with_room), CHECK_TEST(the_verdict_turns_at_the_band), CHECK_TEST(convolutions_and_near_misses_widen_the_band),
           CHECK_TEST(it_is_tight_if_the_cache_must_be_released), CHECK_TEST(out_of_memory), CHECK_TEST(two_profiles),
           CHECK_TEST(a_fixed_batch_is_no_buffer), CHECK_TEST(a_profile_without_a_training), CHECK_TEST(a_profile_of_nothing_but_scratch),
           CHECK_TEST(warnings_have_code_count_and_offset), CHECK_TEST(names_are_json_again),
           CHECK_TEST(a_deep_path_keeps_its_inner_modules), CHECK_TEST(columns_hold_the_peaks), CHECK_TEST(a_range_shows_its_part),
           CHECK_TEST(the_widest_range_is_everything), CHECK_TEST(the_curve_reaches_the_last_annotation),
           CHECK_TEST(large_numbers_are_written_exactly), CHECK_TEST(the_catalogue_is_json))

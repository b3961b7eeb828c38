/* The request sequence of a GPU run. The small job of profile_text.h (batch 4) has a weight of 2,097,152 bytes (W) and a bias of
 * 4,096 bytes (B); its layers' outputs have 16,384 bytes. A cuBLAS workspace has 8,519,680 bytes. */
#include "check.h"
#include "profile_text.h"

#include <stdlib.h>

static profile_subject *s;
static oc_plan *plan;
static oc_error error;
static char text[20000];

static void open_picture(const char *picture) {
    s = profile_subject_open(picture, NULL, NULL);
    plan = calloc(1, sizeof *plan);
    if (!plan)
        abort();
}

static void open_job(int iterations, int is_scheduled) {
    char *picture = profile_job_new(4, iterations, is_scheduled);
    open_picture(picture);
    free(picture);
}

static void close_picture(void) {
    free(plan);
    profile_subject_close(s);
}

static oc_status orchestrate(const char *options_text) {
    oc_options options;
    memset(&error, 0, sizeof error);
    memset(plan, 0, sizeof *plan);
    oc_status status = oc_options_read(&options, options_text, strlen(options_text), &error);
    options.recorded_torch_version = oc_subject_torch(&s->subject);
    return status == OC_OK ? oc_orchestrate(plan, &s->subject, &options, &s->arena, &error) : status;
}

/* Requests from one time on to another, "TIME +BYTES category" and "TIME -BYTES", one per line; times in microseconds. */
static const char *requests(double from_us, double to_us) {
    static const char *const categories[] = {"parameter", "buffer", "gradient", "state", "activation", "batch", "temporary", "workspace"};
    text[0] = 0;
    size_t used = 0;
    for (uint32_t i = 0; i < plan->request_count && used < sizeof text - 100; i++) {
        const oc_request *r = &plan->requests[i];
        const oc_tensor *tensor = &plan->tensors[r->tensor];
        if ((double)r->time_ns / 1000 < from_us || (double)r->time_ns / 1000 > to_us)
            continue;
        used += (size_t)snprintf(text + used, sizeof text - used, "%.10g %c%lld%s%s\n", (double)r->time_ns / 1000, r->bytes ? '+' : '-',
                                 (long long)tensor->bytes, r->bytes ? " " : "", r->bytes ? categories[tensor->category] : "");
    }
    return text;
}

/* Every tensor is allocated once, and freed after that at most once; times do not fall. */
static void check_sound(void) {
    uint8_t *state = calloc(plan->tensor_count + 1, 1);
    if (!state)
        abort();
    for (uint32_t i = 0; i < plan->request_count; i++) {
        const oc_request *r = &plan->requests[i];
        if (!CHECK(r->tensor < plan->tensor_count))
            break;
        CHECK(i == 0 || r->time_ns >= plan->requests[i - 1].time_ns);
        CHECK_EQ_I64(state[r->tensor], r->bytes ? 0 : 1);
        CHECK(r->bytes == 0 || r->bytes == plan->tensors[r->tensor].bytes);
        state[r->tensor]++;
    }
    free(state);
}

static bool assumes(const char *part) {
    for (size_t i = 0; i < plan->assumptions.count; i++)
        if (strstr(plan->assumptions.items[i], part))
            return true;
    for (size_t i = 0; i < plan->assumptions.count; i++)
        printf("    assumed: %s\n", plan->assumptions.items[i]);
    return false;
}

/* ---- a whole job ---- */

static void a_job_becomes_its_requests(void) {
    open_job(2, 0);
    CHECK_EQ_I64(orchestrate("{}"), OC_OK);
    check_sound();
    CHECK_EQ_TEXT(requests(0, 1e9), "12 +2097152 parameter\n"
                                    "32 +4096 parameter\n"
                                    "52 +1000 buffer\n"
                                    "1050 +8192 batch\n" /* after the fetch */
                                    "1050 +32 batch\n"
                                    "1160 +16384 activation\n"  /* the scratch of addmm is not here */
                                    "1160 +1048576 workspace\n" /* cuBLASLt's, around each product with a bias */
                                    "1160 +8519680 workspace\n" /* after the output of the first product */
                                    "1160 -1048576\n"
                                    "1240 +16384 activation\n"
                                    "1330 +16384 activation\n"
                                    "1360 +4 activation\n"
                                    "1362 +4 activation\n"
                                    "1410 +16384 temporary\n"
                                    "1419 -4\n"
                                    "1440 +16384 temporary\n"
                                    "1447 -16384\n"
                                    "1448 -16384\n"
                                    "1470 +16384 temporary\n"
                                    "1477 -16384\n"
                                    "1478 -16384\n"
                                    "1500 +2097152 gradient\n"
                                    "1500 +8519680 workspace\n" /* and of the first one in backward */
                                    "1530 +4096 gradient\n"
                                    "1550 -16384\n"
                                    "1552 -16384\n"
                                    "1700 +2097152 state\n" /* parameter by parameter, the average and that of squares */
                                    "1700 +2097152 state\n"
                                    "1700 +4096 state\n"
                                    "1700 +4096 state\n"
                                    "1700 +2097152 temporary\n" /* all parameters at once */
                                    "1700 +4096 temporary\n"
                                    "1900 -2097152\n"
                                    "1900 -4096\n"
                                    "1910 -4\n"
                                    "2050 +8192 batch\n"
                                    "2050 +32 batch\n"
                                    "2055 -8192\n"
                                    "2056 -32\n"
                                    "2062 -2097152\n"
                                    "2064 -4096\n"
                                    "2160 +16384 activation\n"
                                    "2160 +1048576 workspace\n"
                                    "2160 -1048576\n"
                                    "2240 +16384 activation\n"
                                    "2330 +16384 activation\n"
                                    "2360 +4 activation\n"
                                    "2362 +4 activation\n"
                                    "2410 +16384 temporary\n"
                                    "2419 -4\n"
                                    "2440 +16384 temporary\n"
                                    "2447 -16384\n"
                                    "2448 -16384\n"
                                    "2470 +16384 temporary\n"
                                    "2477 -16384\n"
                                    "2478 -16384\n"
                                    "2500 +2097152 gradient\n"
                                    "2530 +4096 gradient\n"
                                    "2550 -16384\n"
                                    "2552 -16384\n"
                                    "2700 +2097152 temporary\n"
                                    "2700 +4096 temporary\n"
                                    "2900 -2097152\n"
                                    "2900 -4096\n"
                                    "2910 -4\n");
    CHECK_EQ_I64(plan->batch, 4);
    CHECK_EQ_TEXT(plan->optimizer_name, "AdamW");
    CHECK_EQ_I64(plan->optimizer_state_bytes, 2 * 2101248);
    CHECK(assumes("AdamW steps in its foreach form, the default on CUDA, with temporaries of 1 copy of the parameters"));
    CHECK_EQ_U64(plan->warnings.count, 0);
    close_picture();
}

static void tensors_know_where_they_come_from(void) {
    open_job(2, 0);
    CHECK_EQ_I64(orchestrate("{}"), OC_OK);
    int seen = 0;
    for (uint32_t i = 0; i < plan->request_count; i++) {
        const oc_request *r = &plan->requests[i];
        const oc_tensor *tensor = &plan->tensors[r->tensor];
        if (r->time_ns == 2240000) { /* the output of relu in the second iteration */
            seen++;
            CHECK_EQ_TEXT(oc_intern_text(s->names, s->analysis.ops[tensor->op].name, NULL), "aten::clamp_min");
            CHECK_EQ_TEXT(oc_intern_text(s->names, s->analysis.modules[tensor->module].name, NULL), "nn.Module: ReLU_0");
            CHECK_EQ_U64(tensor->iteration, 1);
            CHECK_EQ_I64(tensor->phase, OC_PHASE_FORWARD);
        }
        if (r->time_ns == 1500000 && tensor->category == OC_CATEGORY_WORKSPACE) {
            seen++;
            CHECK_EQ_TEXT(oc_intern_text(s->names, s->analysis.ops[tensor->op].name, NULL), "aten::mm");
            CHECK_EQ_I64(tensor->phase, OC_PHASE_BACKWARD);
            CHECK_EQ_U64(tensor->iteration, 0);
        }
        if (r->time_ns == 2700000) {
            seen++;
            CHECK(tensor->op == OC_NONE && tensor->module == OC_NONE);
            CHECK_EQ_I64(tensor->phase, OC_PHASE_STEP);
            CHECK_EQ_U64(tensor->iteration, 1);
        }
    }
    CHECK_EQ_I64(seen, 4);
    close_picture();
}

/* ---- order at one time ---- */

static void at_one_time_frees_come_first(void) {
    open_picture("10 + a 100\n20 + b 200\n20 - a\n20 + c 300\n30 + d 400\n30 - d\n40 - b\n40 - c\n");
    CHECK_EQ_I64(orchestrate("{}"), OC_OK);
    check_sound();
    CHECK_EQ_TEXT(requests(0, 1e9), "10 +100 activation\n"
                                    "20 -100\n"
                                    "20 +200 activation\n"
                                    "20 +300 activation\n"
                                    "40 -200\n"
                                    "40 -300\n"); /* d never lives */
    close_picture();
}

static void dropped_blocks_make_no_requests(void) {
    open_picture("5..6 note ProfilerStep#1\n"
                 "10 + number 8\n"
                 "20..40 op aten::conv2d\n"
                 "  21 + scratch 500\n"
                 "  22 + out 100\n"
                 "  23 - scratch\n"
                 "50 - number\n"
                 "60 - out\n");
    CHECK_EQ_I64(orchestrate("{}"), OC_OK);
    CHECK_EQ_TEXT(requests(0, 1e9), "22 +100 activation\n60 -100\n");
    close_picture();
}

static void masks_have_their_own_size_and_others_their_own_end(void) {
    open_picture("5..6 note ProfilerStep#1\n"
                 "10..40 op aten::dropout dims=[[250],[],[]] types=[\"float\",\"Scalar\",\"Scalar\"]\n"
                 "  11..15 op aten::empty_like\n"
                 "    12 + noise 1000\n"
                 "  20..30 op aten::mul\n"
                 "    25 + out 1000\n"
                 "100..150 op aten::_scaled_dot_product_flash_attention_for_cpu\n"
                 "  110 + attention 8000\n"
                 "180..190 op aten::clone\n"
                 "  182 + copy 8000\n"
                 "200 - attention\n"
                 "300 - copy\n"
                 "310 - noise\n320 - out\n");
    CHECK_EQ_I64(orchestrate("{}"), OC_OK);
    CHECK_EQ_TEXT(requests(0, 1e9), "12 +250 activation\n25 +1000 activation\n110 +8000 activation\n300 -8000\n310 -250\n320 -1000\n");
    close_picture();
}

/* ---- optimizers ---- */

static void check_step(const char *options, const char *expected) {
    check_context("%s", options);
    if (CHECK_EQ_I64(orchestrate(options), OC_OK)) {
        check_sound();
        CHECK_EQ_TEXT(requests(1650, 1900), expected);
    }
    check_context("%s", "");
}

static void each_form_of_the_optimizer(void) {
    open_job(2, 0);
    check_step("{\"foreach\": \"on\"}", "1700 +2097152 state\n"
                                        "1700 +2097152 state\n"
                                        "1700 +4096 state\n"
                                        "1700 +4096 state\n"
                                        "1700 +2097152 temporary\n"
                                        "1700 +4096 temporary\n"
                                        "1900 -2097152\n1900 -4096\n");
    CHECK(assumes("AdamW steps in its foreach form, with temporaries of 1 copy"));
    /* the loop: two new tensors per parameter; the last one lives until the next parameter's is ready */
    check_step("{\"foreach\": \"off\"}", "1700 +2097152 state\n1700 +2097152 state\n1700 +4096 state\n1700 +4096 state\n"
                                         "1700 +2097152 temporary\n1700 +2097152 temporary\n1700 -2097152\n"
                                         "1700 +4096 temporary\n1700 +4096 temporary\n1700 -4096\n1700 -2097152\n1900 -4096\n");
    CHECK(assumes("AdamW steps in its loop"));
    check_step("{\"foreach\": \"fused\"}", "1700 +2097152 state\n1700 +2097152 state\n1700 +4096 state\n1700 +4096 state\n");
    CHECK(assumes("AdamW steps in its fused form"));
    close_picture();
}

static void each_optimizer_of_the_table(void) {
    open_job(2, 0);
    check_step("{\"optimizer\": \"SGD\"}", "");
    CHECK_EQ_I64(plan->optimizer_state_bytes, 0);
    check_step("{\"optimizer\": \"adam\"}", "1700 +2097152 state\n"
                                            "1700 +2097152 state\n"
                                            "1700 +4096 state\n"
                                            "1700 +4096 state\n"
                                            "1700 +2097152 temporary\n"
                                            "1700 +4096 temporary\n"
                                            "1900 -2097152\n1900 -4096\n");
    CHECK_EQ_TEXT(plan->optimizer_name, "Adam");
    check_step("{\"optimizer\": \"RMSprop\"}", "1700 +2097152 state\n"
                                               "1700 +4096 state\n"
                                               "1700 +2097152 temporary\n"
                                               "1700 +4096 temporary\n"
                                               "1900 -2097152\n"
                                               "1900 -4096\n");
    CHECK_EQ_I64(plan->optimizer_state_bytes, 2101248);
    /* Adagrad: the constructor made its state, before the loop; two lists of temporaries */
    check_step("{\"optimizer\": \"Adagrad\"}", "1700 +2097152 temporary\n"
                                               "1700 +4096 temporary\n"
                                               "1700 +2097152 temporary\n"
                                               "1700 +4096 temporary\n"
                                               "1900 -2097152\n1900 -4096\n1900 -2097152\n1900 -4096\n");
    CHECK_EQ_TEXT(requests(900, 1000), "999.999 +2097152 state\n999.999 +4096 state\n"); /* just before the loop */
    CHECK_EQ_I64(plan->optimizer_state_bytes, 2101248);
    /* Adafactor: of [1024, 512] the row means, 1,024 floats, and the column means, 512; a vector whole; a loop even on CUDA */
    check_step("{\"optimizer\": \"Adafactor\"}", "1700 +4096 state\n1700 +2048 state\n1700 +4096 state\n"
                                                 "1700 +2097152 temporary\n1700 +2097152 temporary\n1700 -2097152\n"
                                                 "1700 +4096 temporary\n1700 +4096 temporary\n1700 -4096\n1700 -2097152\n1900 -4096\n");
    CHECK_EQ_I64(plan->optimizer_state_bytes, 4096 + 2048 + 4096);
    CHECK(assumes("Adafactor steps in its loop, the default on CUDA"));
    close_picture();
}

static void factored_state_of_other_shapes(void) {
    /* a convolution [16, 8, 3, 5]: rows 16 * 8 * 3, columns 16 * 8 * 5, of floats; a scalar and a matrix without rows stay whole */
    open_picture("50..60 op aten::mm seq=1\n100..110 node MmBackward0 seq=1\n"
                 "120..125 gradient 16,8,3,5\n"
                 "120..125 gradient \n"
                 "200..250 note Optimizer.step#SGD.step\n1 + a 16\n");
    CHECK_EQ_I64(orchestrate("{\"optimizer\": \"Adafactor\", \"foreach\": \"off\"}"), OC_OK);
    CHECK_EQ_I64(plan->optimizer_state_bytes, 4 + (16 * 8 * 3 + 16 * 8 * 5) * 4);
    close_picture();
}

static void forms_that_do_not_exist_are_refused(void) {
    open_job(1, 0);
    CHECK_EQ_I64(orchestrate("{\"optimizer\": \"Adafactor\", \"foreach\": \"on\"}"), OC_OPTIONS);
    CHECK_CONTAINS(error.message, "Adafactor has no foreach form");
    CHECK_EQ_I64(orchestrate("{\"optimizer\": \"RMSprop\", \"foreach\": \"fused\"}"), OC_OPTIONS);
    CHECK_CONTAINS(error.message, "RMSprop has no fused form");
    CHECK_EQ_I64(orchestrate("{\"optimizer\": \"Shampoo\"}"), OC_OPTIONS);
    CHECK_CONTAINS(error.message, "unknown optimizer \"Shampoo\": known are recorded, SGD, SGD+momentum, Adam, Adam+amsgrad, AdamW, AdamW+amsgrad, NAdam, "
                                  "RAdam, Adamax, Adadelta, RMSprop, Adagrad, Adafactor");
    close_picture();
    open_picture("10 + weight 1000\n50..90 module Net_0\n60 + out 400\n");
    CHECK_EQ_I64(orchestrate("{\"optimizer\": \"Adam\"}"), OC_OPTIONS);
    CHECK_CONTAINS(error.message, "this profile trains nothing");
    close_picture();
}

/* A step of an optimizer with a weight of 1,000 bytes that was made before or in the profile. */
static void open_step(const char *before, const char *optimizer, const char *inside) {
    char picture[2000];
    (void)snprintf(picture, sizeof picture,
                   "%s50..60 op aten::mm seq=1\n"
                   "100..110 node MmBackward0 seq=1\n"
                   "120..125 gradient 250\n"
                   "200..300 note Optimizer.step#%s.step\n"
                   "%s400 + end 9\n",
                   before, optimizer, inside);
    open_picture(picture);
}

static void state_is_counted_as_recorded(void) {
    open_step("10 + weight 1000\n", "SGD", "  210 + momentum 1000\n");
    CHECK_EQ_I64(orchestrate("{}"), OC_OK);
    CHECK_EQ_TEXT(requests(40, 49.9999), "49.999 +1000 state\n"); /* the only step: later iterations find its state there from the start */
    CHECK_EQ_I64(plan->optimizer_state_bytes, 1000);
    CHECK(assumes("SGD keeps 1 copy of the parameters as its state, as recorded"));
    close_picture();
    open_step("10 + weight 1000\n", "Adam", "  210 + mean 1000\n  211 + square 1000\n  212 + highest 1000\n"); /* amsgrad */
    CHECK_EQ_I64(orchestrate("{}"), OC_OK);
    CHECK_EQ_I64(plan->optimizer_state_bytes, 3000);
    CHECK(assumes("Adam keeps 3 copies of the parameters as its state, as recorded"));
    CHECK_EQ_I64(orchestrate("{\"optimizer\": \"Adam\"}"), OC_OK); /* asked for by name: default arguments */
    CHECK_EQ_I64(plan->optimizer_state_bytes, 2000);
    close_picture();
    open_step("10 + weight 1000\n", "SGD", "");
    CHECK_EQ_I64(orchestrate("{}"), OC_OK);
    CHECK_EQ_I64(plan->optimizer_state_bytes, 0);
    close_picture();
    open_step("10 + weight 1000\n", "Adam", "  210 + something 1000000000000\n"); /* no state: no optimizer keeps so much */
    CHECK_EQ_I64(orchestrate("{}"), OC_OK);
    CHECK_EQ_I64(plan->optimizer_state_bytes, 8000);
    close_picture();
}

/* With more than one step the state is made by the first. */
static void state_of_several_steps_is_made_by_the_first(void) {
    open_step("10 + weight 1000\n", "SGD", "  210 + momentum 1000\n310..320 op aten::mm seq=2\n330..340 node MmBackward0 seq=2\n"
              "350..360 note Optimizer.step#SGD.step\n");
    CHECK_EQ_I64(orchestrate("{}"), OC_OK);
    CHECK_EQ_TEXT(requests(0, 49.9999), "10 +1000 parameter\n");
    CHECK_EQ_TEXT(requests(200, 300), "200 +1000 state\n");
    close_picture();
}

#define MULTIPLY "  210..211 op aten::mul_\n"

/* What the loop of torch.optim does for one parameter tells which arguments it was given. */
static void the_recorded_step_tells_the_state(void) {
    static const struct {
        const char *optimizer, *step;
        int64_t copies;
    } cases[] = {
        {"SGD", "", 0},
        {"SGD", MULTIPLY, 1},
        {"SGD", MULTIPLY MULTIPLY, 1},
        {"Adam", MULTIPLY "  220..221 op aten::lerp_\n", 2},
        {"Adam", MULTIPLY MULTIPLY MULTIPLY, 2},
        {"Adam", MULTIPLY "  230..231 op aten::maximum\n", 3},
        {"AdamW", "  230..231 op aten::maximum\n", 3},
        {"Adamax", "  230..231 op aten::maximum\n", 2}, /* part of every Adamax */
        {"RMSprop", MULTIPLY, 1},
        {"RMSprop", MULTIPLY MULTIPLY, 2},
        {"RMSprop", MULTIPLY "  220..221 op aten::lerp_\n", 2},
        {"RMSprop", MULTIPLY MULTIPLY "  220..221 op aten::lerp_\n", 3},
        {"Adadelta", MULTIPLY MULTIPLY, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check_context("case %zu, %s", i, cases[i].optimizer);
        open_step("", cases[i].optimizer, cases[i].step);
        CHECK_EQ_I64(orchestrate("{}"), OC_OK);
        CHECK_EQ_I64(plan->optimizer_state_bytes, 1000 * cases[i].copies);
        close_picture();
    }
    check_context("%s", "");
}

static void state_made_before_the_profile_is_assumed(void) {
    open_step("", "AdamW", "");
    CHECK_EQ_I64(orchestrate("{}"), OC_OK);
    CHECK_EQ_I64(plan->optimizer_state_bytes, 2000);
    CHECK(assumes("counted for AdamW as its recorded step tells, 2 copies of the parameters"));
    close_picture();
    open_step("", "SGD", "  210..220 op aten::mul_\n");
    CHECK_EQ_I64(orchestrate("{}"), OC_OK);
    CHECK_EQ_I64(plan->optimizer_state_bytes, 1000);
    CHECK(assumes("counted for SGD as its recorded step tells, 1 copy of the parameters"));
    close_picture();
    open_step("", "SGD", "");
    CHECK_EQ_I64(orchestrate("{}"), OC_OK);
    CHECK_EQ_I64(plan->optimizer_state_bytes, 0);
    close_picture();
}

static void decay_makes_temporaries_more(void) {
    static const char decay[] = "  210..220 op aten::add\n    215 + decayed 1000\n    216 + square 1000\n  250 - decayed\n";
    open_step("10 + weight 1000\n", "RMSprop", decay);
    CHECK_EQ_I64(orchestrate("{}"), OC_OK);
    CHECK_EQ_I64(plan->optimizer_state_bytes, 1000);
    CHECK_EQ_TEXT(requests(200, 300), "200 +1000 temporary\n200 +1000 temporary\n300 -1000\n300 -1000\n");
    CHECK(assumes("RMSprop steps in its foreach form, the default on CUDA, with temporaries of 2 copies of the parameters"));
    CHECK_EQ_I64(orchestrate("{\"optimizer\": \"RMSprop\"}"), OC_OK); /* by name: default arguments, without decay */
    CHECK_EQ_I64(plan->optimizer_state_bytes, 1000);
    CHECK_EQ_TEXT(requests(200, 300), "200 +1000 temporary\n300 -1000\n");
    close_picture();
}

static void built_state_is_not_made_twice(void) {
    open_step("10 + weight 1000\n20..25 op aten::full_like\n  21..24 op aten::empty_like\n    22 + sum 1000\n", "Adagrad", "");
    CHECK_EQ_I64(s->job.is_state_built, 1);
    CHECK_EQ_I64(orchestrate("{}"), OC_OK);
    CHECK_EQ_TEXT(requests(0, 49.9999), "10 +1000 parameter\n49.999 +1000 state\n");
    CHECK_EQ_I64(plan->optimizer_state_bytes, 1000);
    CHECK_EQ_I64(orchestrate("{\"optimizer\": \"SGD\"}"), OC_OK); /* the recorded state goes with its optimizer */
    CHECK_EQ_TEXT(requests(0, 49.9999), "10 +1000 parameter\n");
    close_picture();
}

static void an_unknown_optimizer_is_replayed(void) {
    open_step("10 + weight 1000\n", "Lion",
              "  210..230 op aten::lerp\n"
              "    211 + counter 4\n"
              "    215 + momentum 1000\n"
              "    220 + update 1001\n"
              "  250 - update\n");
    CHECK_EQ_I64(orchestrate("{}"), OC_OK);
    CHECK_EQ_TEXT(requests(200, 300), "215 +1000 state\n220 +1001 temporary\n250 -1001\n"); /* without the counter */
    CHECK_EQ_TEXT(plan->optimizer_name, "Lion");
    CHECK(!plan->optimizer);
    CHECK_EQ_I64(plan->optimizer_state_bytes, 1000);
    CHECK_EQ_U64(profile_warning(&plan->warnings, "unknown_optimizer"), 1);
    CHECK_EQ_I64(orchestrate("{\"optimizer\": \"SGD\"}"), OC_OK); /* another one asked for: its blocks go */
    CHECK_EQ_TEXT(requests(200, 300), "");
    CHECK_EQ_U64(profile_warning(&plan->warnings, "unknown_optimizer"), 0);
    close_picture();
}

static void two_optimizers_are_a_warning(void) {
    open_step("10 + weight 1000\n", "SGD", "310..320 note Optimizer.step#AdamW.step\n");
    CHECK_EQ_I64(orchestrate("{}"), OC_OK);
    CHECK_EQ_U64(profile_warning(&plan->warnings, "several_optimizers"), 1);
    CHECK_EQ_TEXT(plan->optimizer_name, "SGD");
    close_picture();
}

static void a_step_that_was_not_recorded(void) {
    open_picture("10 + weight 1000\n50..60 op aten::mm seq=1\n100..110 node MmBackward0 seq=1\n120..125 gradient 250\n"
                 "150..160 op aten::mm seq=2\n200..210 node MmBackward0 seq=2\n400 + end 9\n");
    CHECK_EQ_I64(orchestrate("{}"), OC_OK);
    CHECK(!plan->optimizer_name);
    CHECK_EQ_I64(orchestrate("{\"optimizer\": \"RMSprop\"}"), OC_OK);
    check_sound();
    /* after every backward pass; the workspace of the first product in the loop is at 150 */
    CHECK_EQ_TEXT(requests(125, 140), "125 +1000 state\n125 +1000 temporary\n125.001 -1000\n");
    CHECK_EQ_TEXT(requests(210, 220), "210 +1000 temporary\n210.001 -1000\n");
    CHECK(assumes("the profile has no optimizer step; one of RMSprop was added after every backward pass"));
    close_picture();
}

/* ---- what came before the profile ---- */

static void a_scheduled_profile_gets_what_it_does_not_show(void) {
    open_job(2, 1);
    CHECK_EQ_I64(orchestrate("{}"), OC_OK);
    check_sound();
    const char *begin = requests(0, 1004.9999); /* the first operator is at 1005 */
    CHECK_CONTAINS(begin, "+2097152 parameter\n");
    CHECK_CONTAINS(begin, "+4096 parameter\n");
    CHECK_EQ_I64(plan->requests[0].time_ns, s->analysis.begin_ns - 1); /* there before the first event */
    CHECK_EQ_I64(plan->requests[1].time_ns, s->analysis.begin_ns - 1);
    CHECK_EQ_TEXT(requests(1650, 1900), "1700 +2097152 state\n"
                                        "1700 +2097152 state\n"
                                        "1700 +4096 state\n"
                                        "1700 +4096 state\n"
                                        "1700 +2097152 temporary\n"
                                        "1700 +4096 temporary\n"
                                        "1900 -2097152\n1900 -4096\n");
    close_picture();
}

static void unseen_buffers_and_batches(void) {
    open_picture(
        "25 + out 24\n"
        "20..30 op aten::batch_norm seq=1 dims=[[4,25,8,8],[25],[25],[25],[25]] types=[\"float\",\"float\",\"float\",\"float\",\"float\"]\n"
        "100..110 node NativeBatchNormBackward0 seq=1\n120..125 gradient 250\n"
        "200..250 note enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__\n  210 + inputs 5000\n  211 + labels 16\n"
        "300 - inputs\n301 - labels\n");
    CHECK_EQ_I64(orchestrate("{}"), OC_OK);
    check_sound();
    /* the profile begins at 20 us; the first batch is gone right after the second has come */
    CHECK_EQ_TEXT(requests(0, 260), "19.999 +1000 parameter\n"
                                    "19.999 +100 parameter\n" /* the norm's weight and bias, which have no gradient */
                                    "19.999 +100 parameter\n"
                                    "19.999 +100 buffer\n"
                                    "19.999 +100 buffer\n"
                                    "19.999 +8 buffer\n"
                                    "19.999 +5000 batch\n"
                                    "19.999 +16 batch\n"
                                    "25 +24 activation\n250 +5000 batch\n250 +16 batch\n250.001 -5000\n250.001 -16\n");
    close_picture();
}

/* ---- zero_grad ---- */

/* Gradients of the first iteration: where the weight's is freed, in microseconds; 0 if it is not. */
static double gradient_death(const char *options) {
    double found = 0;
    if (!CHECK_EQ_I64(orchestrate(options), OC_OK))
        return -1;
    check_sound();
    uint32_t gradient = OC_NONE;
    for (uint32_t i = 0; i < plan->request_count; i++) {
        const oc_tensor *tensor = &plan->tensors[plan->requests[i].tensor];
        if (gradient == OC_NONE && plan->requests[i].bytes && tensor->category == OC_CATEGORY_GRADIENT)
            gradient = plan->requests[i].tensor;
        if (plan->requests[i].tensor == gradient && !plan->requests[i].bytes)
            found = (double)plan->requests[i].time_ns / 1000;
    }
    return found;
}

static void zero_grad_can_stand_elsewhere(void) {
    open_job(3, 0); /* zero_grad after the fetch */
    CHECK_EQ_F64(gradient_death("{}"), 2062);
    CHECK_EQ_F64(gradient_death("{\"zero_grad\": \"recorded\"}"), 2062);
    CHECK_EQ_F64(gradient_death("{\"zero_grad\": \"start\"}"), 2062);         /* where it is */
    CHECK_EQ_F64(gradient_death("{\"zero_grad\": \"after-forward\"}"), 2400); /* when the backward pass begins */
    CHECK_EQ_F64(gradient_death("{\"zero_grad\": \"after-step\"}"), 1900);
    close_picture();
}

/* One weight, its gradient freed by zero_grad at `zero`; two iterations with a fetch each. */
static void open_zero_grad(const char *first_zero, const char *second_zero, const char *death) {
    char picture[2000];
    (void)snprintf(picture, sizeof picture,
                   "1 + weight 1000\n"
                   "100..110 note enumerate(DataLoader)#x\n"
                   "%s200..210 op aten::mm seq=1\n"
                   "300..330 node MmBackward0 seq=1\n"
                   "310 + gradient 1000\n"
                   "400..450 note Optimizer.step#SGD.step\n"
                   "%s500..510 note enumerate(DataLoader)#x\n"
                   "600..610 op aten::mm seq=2\n"
                   "700..730 node MmBackward0 seq=2\n"
                   "800..850 note Optimizer.step#SGD.step\n"
                   "%s - gradient\n"
                   "900 + end 9\n",
                   first_zero, second_zero, death);
    open_picture(picture);
}

static void zero_grad_moves_from_every_place(void) {
    open_zero_grad("", "460..470 note Optimizer.zero_grad#SGD.zero_grad\n", "465"); /* recorded after the step */
    CHECK_EQ_I64(s->job.zero_grad, OC_ZERO_GRAD_AFTER_STEP);
    CHECK_EQ_F64(gradient_death("{}"), 465);
    CHECK_EQ_F64(gradient_death("{\"zero_grad\": \"after-step\"}"), 465);
    CHECK_EQ_F64(gradient_death("{\"zero_grad\": \"start\"}"), 510); /* after the next fetch */
    CHECK_EQ_F64(gradient_death("{\"zero_grad\": \"after-forward\"}"), 700);
    close_picture();
    open_zero_grad("250..260 note Optimizer.zero_grad#SGD.zero_grad\n", "650..660 note Optimizer.zero_grad#SGD.zero_grad\n",
                   "655"); /* after the forward pass */
    CHECK_EQ_I64(s->job.zero_grad, OC_ZERO_GRAD_AFTER_FORWARD);
    CHECK_EQ_F64(gradient_death("{\"zero_grad\": \"start\"}"), 510);
    CHECK_EQ_F64(gradient_death("{\"zero_grad\": \"after-step\"}"), 450);
    CHECK_EQ_F64(gradient_death("{\"zero_grad\": \"after-forward\"}"), 655);
    close_picture();
    open_zero_grad("120..130 note Optimizer.zero_grad#SGD.zero_grad\n", "520..530 note Optimizer.zero_grad#SGD.zero_grad\n",
                   "530.8"); /* the free is reported a little after the annotation */
    CHECK_EQ_F64(gradient_death("{\"zero_grad\": \"after-step\"}"), 450);
    close_picture();
    open_zero_grad("120..130 note Optimizer.zero_grad#SGD.zero_grad\n", "520..530 note Optimizer.zero_grad#SGD.zero_grad\n",
                   "560"); /* freed by something else: stays */
    CHECK_EQ_F64(gradient_death("{\"zero_grad\": \"after-step\"}"), 560);
    close_picture();
}

/* ---- workspaces ---- */

static void check_workspaces(const char *options, const char *expected) {
    check_context("%s", options);
    CHECK_EQ_I64(orchestrate(options), OC_OK);
    CHECK_EQ_TEXT(requests(1160, 1160), expected);
    check_context("%s", "");
}

static void workspaces_follow_the_gpu(void) {
    open_job(1, 0);
    check_workspaces("{}", "1160 +16384 activation\n1160 +1048576 workspace\n1160 +8519680 workspace\n1160 -1048576\n");
    check_workspaces("{\"gpu\": \"H100 PCIe 80GB\"}", "1160 +16384 activation\n1160 +1048576 workspace\n1160 +33554432 workspace\n1160 -1048576\n");
    check_workspaces("{\"gpu\": \"B200\"}", "1160 +16384 activation\n1160 +1048576 workspace\n1160 +8519680 workspace\n1160 -1048576\n"); /* no version known: 2.6 */
    check_workspaces("{\"gpu\": \"B200\", \"torch\": \"2.11\"}", "1160 +16384 activation\n1160 +33554432 workspace\n");
    check_workspaces("{\"capacity_bytes\": 99999999999, \"torch\": \"2.13\"}", "1160 +16384 activation\n1160 +8519680 workspace\n");
    check_workspaces("{\"torch\": \"2.10\"}", "1160 +16384 activation\n1160 +1048576 workspace\n1160 +8519680 workspace\n"); /* kept */
    close_picture();
    char *picture = profile_job_new(4, 1, 0);
    s = profile_subject_open(picture, "\"oomcast\":{\"torch\":\"2.12.1\",\"batch_size\":4}", NULL);
    plan = calloc(1, sizeof *plan);
    if (!plan)
        abort();
    check_workspaces("{\"gpu\": \"B200\"}", "1160 +16384 activation\n1160 +33554432 workspace\n"); /* the recording's own version */
    check_workspaces("{\"gpu\": \"B200\", \"torch\": \"2.6\"}", "1160 +16384 activation\n1160 +1048576 workspace\n1160 +8519680 workspace\n1160 -1048576\n");
    close_picture();
    free(picture);
}

/* cuBLASLt takes a product only with a bias as long as its rows, of a floating type, and with two dimensions above 1. */
static void other_products_have_no_lt_workspace(void) {
    static const char *const inputs[] = {"dims=[[8,4],[8,6],[6,4]] types=[\"float\",\"float\",\"float\"]", "dims=[[1],[8,6],[6,4]] types=[\"float\",\"float\",\"float\"]",
                                         "dims=[[1],[8,6],[6,1]] types=[\"float\",\"float\",\"float\"]", "dims=[[4],[8,1],[1,4]] types=[\"float\",\"float\",\"float\"]",
                                         "dims=[[4],[8,6],[6,4]] types=[\"long int\",\"long int\",\"long int\"]", ""};
    for (size_t i = 0; i < sizeof inputs / sizeof inputs[0]; i++) {
        char picture[300];
        (void)snprintf(picture, sizeof picture, "100..200 op aten::addmm %s\n  120 + out 128\n", inputs[i]);
        open_picture(picture);
        check_context("%s", inputs[i]);
        CHECK_EQ_I64(orchestrate("{}"), OC_OK);
        CHECK_EQ_TEXT(requests(0, 1e9), *inputs[i] ? "120 +128 activation\n120 +8519680 workspace\n" : "120 +128 activation\n");
        close_picture();
    }
}

static void without_products_there_are_no_workspaces(void) {
    open_picture("5..6 note ProfilerStep#1\n10..20 op aten::conv2d\n  15 + out 100\n");
    CHECK_EQ_I64(orchestrate("{}"), OC_OK);
    CHECK_EQ_TEXT(requests(0, 1e9), "15 +100 activation\n");
    close_picture();
}

static void a_product_without_output_gets_its_workspace_at_its_start(void) {
    open_picture("5..6 note ProfilerStep#1\n10..20 op aten::mm\n30 + out 100\n");
    CHECK_EQ_I64(orchestrate("{}"), OC_OK);
    CHECK_EQ_TEXT(requests(0, 1e9), "10 +8519680 workspace\n30 +100 activation\n");
    close_picture();
}

/* ---- batch ---- */

static void another_batch_needs_another_profile(void) {
    open_job(1, 0);
    CHECK_EQ_I64(orchestrate("{\"batch\": 4}"), OC_OK);
    CHECK_EQ_I64(plan->batch, 4);
    CHECK_EQ_I64(orchestrate("{\"batch\": 8}"), OC_OPTIONS);
    CHECK_CONTAINS(error.message,
                   "batch 8: one profile tells only its own batch size, 4; give a second profile of the same job at another batch size");
    close_picture();
    open_picture("5..6 note ProfilerStep#1\n30 + out 100\n");
    CHECK_EQ_I64(orchestrate("{}"), OC_OK);
    CHECK_EQ_I64(plan->batch, 0);
    CHECK_EQ_I64(orchestrate("{\"batch\": 4}"), OC_OPTIONS);
    CHECK_CONTAINS(error.message, "batch 4: the batch size of this profile cannot be seen");
    close_picture();
}

static void two_profiles_give_every_batch(void) {
    open_job(2, 0);
    char *picture = profile_job_new(8, 2, 0), *wanted = profile_job_new(298, 2, 0);
    profile_subject *other = profile_subject_open(picture, NULL, s);
    CHECK_EQ_I64(oc_scale_match(&s->scale, &s->analysis, &s->job, &other->analysis, &other->job, &s->arena, &error), OC_OK);
    CHECK_EQ_I64(orchestrate("{\"batch\": 298}"), OC_OK);
    CHECK_EQ_I64(plan->batch, 298);
    char *extrapolated = strdup(requests(0, 1e9));
    CHECK_EQ_I64(orchestrate("{}"), OC_OK);
    CHECK_EQ_I64(plan->batch, 4); /* the first profile's own */
    profile_subject_close(other);
    close_picture();
    open_picture(wanted);
    CHECK_EQ_I64(orchestrate("{}"), OC_OK);
    CHECK_EQ_TEXT(extrapolated, requests(0, 1e9)); /* request by request what a recording at 298 gives */
    close_picture();
    free(extrapolated);
    free(picture);
    free(wanted);
}

/* ---- memory ---- */

static void without_memory_it_fails(void) {
    open_job(2, 0);
    int failures = 0, successes = 0;
    CHECK_EQ_I64(orchestrate("{}"), OC_OK);
    const uint32_t request_count = plan->request_count;
    for (size_t limit = 0; limit < 400000; limit += 10000) {
        oc_options options;
        memset(&error, 0, sizeof error);
        memset(plan, 0, sizeof *plan);
        oc_budget budget = {limit, 0, 0};
        oc_arena arena;
        oc_arena_init(&arena, &budget);
        CHECK_EQ_I64(oc_options_read(&options, "{}", 2, &error), OC_OK);
        oc_status status = oc_orchestrate(plan, &s->subject, &options, &arena, &error);
        CHECK(status == OC_MEMORY || (status == OC_OK && plan->request_count == request_count));
        failures += status == OC_MEMORY;
        successes += status == OC_OK;
        oc_arena_close(&arena);
    }
    CHECK(failures > 0 && successes > 0);
    close_picture();
}

/* The bias gradient of a linear layer: [4096, 768] summed over its rows. */
static void reductions_need_a_buffer_that_depends_on_the_card(void) {
    static const char sum[] = "100..200 op aten::sum dims=[[4096,768],[],[],[]] strides=[[768,1],[],[],[]] types=[\"float\",\"ScalarList\",\"Scalar\",\"\"] "
                              "concrete=[\"\",\"[0]\",\"True\",\"\"]\n  120 + gradient 3072\n";
    open_picture(sum);
    CHECK_EQ_I64(orchestrate("{\"gpu\": \"T4\"}"), OC_OK);
    check_sound();
    CHECK_EQ_TEXT(requests(0, 1000), "120 +3072 activation\n120 +21233664 temporary\n120 +24 temporary\n120 -24\n120 -21233664\n");
    CHECK_EQ_I64(orchestrate("{\"gpu\": \"A100-SXM4-40GB\"}"), OC_OK);
    CHECK_EQ_TEXT(requests(0, 1000), "120 +3072 activation\n120 +25165824 temporary\n120 +24 temporary\n120 -24\n120 -25165824\n");
    CHECK_EQ_I64(orchestrate("{}"), OC_OK);
    CHECK_EQ_TEXT(requests(0, 1000), "120 +3072 activation\n");
    close_picture();
    /* max with index: once for both outputs, after the second; without a dimension there is no index and no buffer of that kind */
    open_picture("100..200 op aten::max dims=[[512,10000],[],[]] strides=[[1,512],[],[]] types=[\"float\",\"Scalar\",\"Scalar\"] concrete=[\"\",\"-1\",\"True\"]\n"
                 "  110 + values 2048\n  120 + indices 4096\n"
                 "300..400 op aten::max dims=[[512,10000]] strides=[[1,512]] types=[\"float\"] concrete=[\"\"]\n  310 + most 4\n");
    CHECK_EQ_I64(orchestrate("{\"gpu\": \"H100 80GB HBM3\"}"), OC_OK);
    CHECK_EQ_TEXT(requests(0, 1000), "110 +2048 activation\n120 +4096 activation\n120 +164626432 temporary\n120 +16 temporary\n120 -16\n120 -164626432\n310 +4 activation\n");
    close_picture();
}

/* Sorts of the backward of embedding come around the table's gradient, those of indexing after the gradient that they add into. */
static void gradients_of_lookups_sort_their_indices(void) {
    open_picture("100..200 op autograd::engine::evaluate_function:~EmbeddingBackward0\n  110..190 op EmbeddingBackward0\n"
                 "    120..180 op aten::embedding_dense_backward dims=[[4,1024,64],[4,1024],[],[],[]] types=[\"float\",\"long int\",\"Scalar\",\"Scalar\",\"Scalar\"]\n"
                 "      130 + table 25600\n");
    CHECK_EQ_I64(orchestrate("{}"), OC_OK);
    check_sound();
    CHECK_EQ_TEXT(requests(130, 130), "130 +32768 temporary\n130 +32768 temporary\n130 +32768 temporary\n130 +65536 temporary\n130 -65536\n130 -32768\n"
                                      "130 +25600 gradient\n130 +32768 temporary\n130 +8 temporary\n130 +800 temporary\n130 +800 temporary\n130 +8 temporary\n"
                                      "130 +4072 temporary\n130 +130304 temporary\n130 -130304\n130 -4072\n130 -8\n130 -800\n130 -800\n130 -8\n130 -32768\n"
                                      "130 -32768\n130 -32768\n");
    close_picture();
    static const char put[] = "100..200 op autograd::engine::evaluate_function:~IndexBackward0\n  110..190 op IndexBackward0\n"
                              "    120..125 op aten::new_zeros\n      121 + whole 2560\n"
                              "    130..180 op aten::_index_put_impl_ dims=[[10,64],[],[5,64],[],[]] strides=[[64,1],[],[1,5],[],[]] "
                              "types=[\"float\",\"\",\"float\",\"Scalar\",\"Scalar\"] concrete=[\"\",\"\",\"\",\"%s\",\"True\"]\n";
    char picture[900];
    (void)snprintf(picture, sizeof picture, put, "True");
    open_picture(picture);
    CHECK_EQ_I64(orchestrate("{}"), OC_OK);
    check_sound();
    CHECK_EQ_TEXT(requests(130, 130), "130 +40 temporary\n130 +40 temporary\n130 -40\n130 +1280 temporary\n130 +40 temporary\n130 +40 temporary\n130 +40 temporary\n"
                                      "130 +1 temporary\n130 -1\n130 -40\n130 -40\n130 -40\n130 -1280\n130 -40\n");
    close_picture();
    (void)snprintf(picture, sizeof picture, put, "False"); /* nothing is added: no sort */
    open_picture(picture);
    CHECK_EQ_I64(orchestrate("{}"), OC_OK);
    CHECK_EQ_TEXT(requests(130, 130), "");
    close_picture();
}

CHECK_MAIN(CHECK_TEST(other_products_have_no_lt_workspace), CHECK_TEST(gradients_of_lookups_sort_their_indices), CHECK_TEST(a_job_becomes_its_requests), CHECK_TEST(tensors_know_where_they_come_from), CHECK_TEST(at_one_time_frees_come_first),
           CHECK_TEST(dropped_blocks_make_no_requests), CHECK_TEST(masks_have_their_own_size_and_others_their_own_end),
           CHECK_TEST(each_form_of_the_optimizer), CHECK_TEST(each_optimizer_of_the_table), CHECK_TEST(factored_state_of_other_shapes),
           CHECK_TEST(forms_that_do_not_exist_are_refused), CHECK_TEST(state_is_counted_as_recorded),
           CHECK_TEST(state_of_several_steps_is_made_by_the_first),
           CHECK_TEST(the_recorded_step_tells_the_state), CHECK_TEST(state_made_before_the_profile_is_assumed), CHECK_TEST(decay_makes_temporaries_more),
           CHECK_TEST(built_state_is_not_made_twice), CHECK_TEST(an_unknown_optimizer_is_replayed),
           CHECK_TEST(two_optimizers_are_a_warning), CHECK_TEST(a_step_that_was_not_recorded),
           CHECK_TEST(a_scheduled_profile_gets_what_it_does_not_show), CHECK_TEST(unseen_buffers_and_batches),
           CHECK_TEST(zero_grad_can_stand_elsewhere), CHECK_TEST(zero_grad_moves_from_every_place), CHECK_TEST(workspaces_follow_the_gpu),
           CHECK_TEST(without_products_there_are_no_workspaces), CHECK_TEST(a_product_without_output_gets_its_workspace_at_its_start),
           CHECK_TEST(another_batch_needs_another_profile), CHECK_TEST(two_profiles_give_every_batch), CHECK_TEST(without_memory_it_fails), CHECK_TEST(reductions_need_a_buffer_that_depends_on_the_card))

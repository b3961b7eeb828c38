/* What a profile tells of the job as a whole. In pictures a float of 250 elements has 1,000 bytes, and so on. */
#include "check.h"
#include "profile_text.h"

#include <stdlib.h>

static profile_subject *s;

static void open_picture(const char *picture) {
    s = profile_subject_open(picture, NULL, NULL);
}

static void close_picture(void) {
    profile_subject_close(s);
}

static const char *op_name(uint32_t op) {
    return op == OC_NONE ? "(none)" : oc_intern_text(s->names, s->analysis.ops[op].name, NULL);
}

/* Parameters as "BYTES@block" or "BYTES" (unseen), in order. */
static const char *parameters(void) {
    static char text[300];
    text[0] = 0;
    for (uint32_t i = 0; i < s->job.parameter_count; i++) {
        const oc_parameter *parameter = &s->job.parameters[i];
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), i ? " %d" : "%d", (int)parameter->bytes);
        if (parameter->block != OC_NONE)
            (void)snprintf(text + strlen(text), sizeof text - strlen(text), "@%d",
                           (int)(s->analysis.blocks[parameter->block].birth_ns / 1000));
    }
    return text;
}

/* ---- a whole job ---- */

static void a_job_recorded_from_its_start(void) {
    char *picture = profile_job_new(4, 2, 0);
    open_picture(picture);
    CHECK_EQ_TEXT(parameters(), "2097152@12 4096@32");
    CHECK_EQ_U64(s->job.unseen_parameter_count, 0);
    CHECK_EQ_I64(s->job.parameter_bytes, 2101248);
    CHECK_EQ_I64(s->job.gradient_bytes, 2101248);
    CHECK_EQ_I64(s->job.buffer_bytes, 1000);
    CHECK_EQ_I64(s->job.recorded_state_bytes, 4202496); /* two copies; the step counters are none */
    CHECK_EQ_I64(s->job.is_state_built, 0);
    CHECK_EQ_U64(s->job.step_multiplications, 0);
    CHECK_EQ_I64(s->job.step_decays, 0);
    CHECK_EQ_U64(s->job.frozen_count + s->job.unseen_frozen_count + s->job.recurrent_count, 0);
    CHECK_EQ_I64(s->job.batch_size, 4);
    CHECK_EQ_I64(s->job.batch_source, OC_BATCH_LOADER);
    CHECK_EQ_I64(s->job.zero_grad, OC_ZERO_GRAD_START);
    CHECK_EQ_TEXT(op_name(s->job.first_matmul), "aten::addmm");
    CHECK_EQ_I64(s->analysis.ops[s->job.first_matmul].at.start_ns, 1150000);
    CHECK_EQ_TEXT(op_name(s->job.first_backward_matmul), "aten::mm");
    CHECK_EQ_I64(s->analysis.ops[s->job.first_backward_matmul].at.start_ns, 1495000);
    CHECK_EQ_I64(s->job.is_compiled, 0);
    CHECK_EQ_U64(s->job.unseen_batch_count + s->job.unseen_buffer_count, 0);
    /* 2,097,152 bytes: weight, gradient, mean, square, root of the step; then gradient and root of the second iteration */
    static const oc_role large[] = {OC_ROLE_PARAMETER, OC_ROLE_GRADIENT, OC_ROLE_STATE, OC_ROLE_STATE,
                                    OC_ROLE_NONE,      OC_ROLE_GRADIENT, OC_ROLE_NONE};
    for (uint32_t i = 0; i < sizeof large / sizeof large[0]; i++) {
        check_context("block %u", i);
        CHECK_EQ_I64(profile_role(s, 2097152, i), large[i]);
    }
    check_context("%s", "");
    CHECK_EQ_I64(profile_role(s, 1000, 0), OC_ROLE_BUFFER);
    CHECK_EQ_I64(profile_role(s, 4, 2), OC_ROLE_HOST);    /* after loss and total: the first step counter */
    CHECK_EQ_I64(profile_role(s, 8192, 0), OC_ROLE_NONE); /* the inputs */
    close_picture();
    free(picture);
}

static void a_job_recorded_in_its_middle(void) {
    char *picture = profile_job_new(4, 3, 1);
    open_picture(picture);
    CHECK_EQ_TEXT(parameters(), "2097152 4096"); /* last accumulated first: the order of the model */
    CHECK_EQ_U64(s->job.unseen_parameter_count, 2);
    CHECK_EQ_I64(s->job.parameter_bytes, 2101248);
    CHECK_EQ_I64(s->job.gradient_bytes, 2101248);
    CHECK_EQ_I64(s->job.buffer_bytes, 0);
    CHECK_EQ_I64(s->job.recorded_state_bytes, 0);
    CHECK_EQ_U64(s->analysis.iteration_count, 3);
    close_picture();
    free(picture);
}

/* ---- parameters ---- */

static void parameters_are_survivors_of_their_size(void) {
    open_picture("10 + first 1000\n11 + bias 200\n12 + second 1000\n13 + third 1000\n14 + gone 1000\n15 - gone\n"
                 "50..60 op aten::mm seq=1\n"
                 "100..110 node MmBackward0 seq=1\n"
                 "120..125 gradient 50\n"
                 "130..135 gradient 250\n"
                 "140..145 gradient 250\n");
    CHECK_EQ_TEXT(parameters(), "1000@10 200@11 1000@12");  /* the first blocks of a size, in order of birth */
    CHECK_EQ_I64(profile_role(s, 1000, 2), OC_ROLE_BUFFER); /* the third of that size has no gradient */
    CHECK_EQ_I64(profile_role(s, 1000, 3), OC_ROLE_NONE);   /* not alive in the loop */
    CHECK_EQ_I64(s->job.parameter_bytes, 2200);
    CHECK_EQ_I64(s->job.buffer_bytes, 1000);
    close_picture();
}

static void unseen_parameters_come_last(void) {
    open_picture("10 + bias 200\n"
                 "50..60 op aten::mm seq=1\n"
                 "100..110 node MmBackward0 seq=1\n"
                 "120..125 gradient 250\n"
                 "130..135 gradient 50\n"
                 "140..145 gradient 10,25\n"
                 "150..155 gradient 75\n");
    CHECK_EQ_TEXT(parameters(), "200@10 300 1000 1000");
    CHECK_EQ_U64(s->job.unseen_parameter_count, 3);
    CHECK_EQ_TEXT(oc_intern_text(s->names, s->job.parameters[1].dims, NULL), "[[75]]");
    CHECK_EQ_TEXT(oc_intern_text(s->names, s->job.parameters[2].dims, NULL), "[[10, 25]]");
    close_picture();
}

static void accumulated_gradients_count_each_parameter_once(void) {
    /* two passes before one step: the same two parameters, one of them twice in a pass of the same shape */
    open_picture("1 + a 8\n"
                 "50..60 op aten::mm seq=1\n"
                 "100..110 node MmBackward0 seq=1\n"
                 "120..125 gradient 250\n"
                 "130..135 gradient 50\n"
                 "150..160 op aten::mm seq=2\n"
                 "200..210 node MmBackward0 seq=2\n"
                 "220..225 gradient 250\n"
                 "230..235 gradient 50\n"
                 "240..245 gradient 50\n"
                 "300..310 note Optimizer.step#SGD.step\n");
    CHECK_EQ_TEXT(parameters(), "200 200 1000"); /* of each shape the most in one pass */
    close_picture();
}

/* An input that needs a gradient goes through AccumulateGrad like a parameter, but its gradient is gone when the step begins. */
static void gradients_of_inputs_are_no_parameters(void) {
    open_picture("10 + weight 1000\n"
                 "50..60 op aten::mm seq=1\n"
                 "100..110 node MmBackward0 seq=1\n"
                 "  101 + gweight 1000\n"
                 "  102 + ginput 1000\n"
                 "115..119 gradient 25\n" /* a size of which no gradient lives, such as a view of a larger block: stays */
                 "120..125 gradient 250\n"
                 "130..135 gradient 250\n"
                 "150 - ginput\n"
                 "200..250 note Optimizer.step#SGD.step\n");
    CHECK_EQ_TEXT(parameters(), "1000@10 100");
    close_picture();
}

/* Two networks in turn, each with its own optimizer: the gradients of one are gone when the other steps. */
static void each_step_may_have_its_own_parameters(void) {
    open_picture("10 + first 1000\n11 + second 200\n"
                 "50..60 op aten::mm seq=1\n100..110 node MmBackward0 seq=1\n  101 + g1 1000\n120..125 gradient 250\n"
                 "200..210 note Optimizer.step#Adam.step\n"
                 "220 - g1\n"
                 "250..260 op aten::mm seq=2\n300..310 node MmBackward0 seq=2\n  301 + g2 200\n320..325 gradient 50\n"
                 "400..410 note Optimizer.step#Adam.step\n");
    CHECK_EQ_TEXT(parameters(), "1000@10 200@11");
    close_picture();
}

static void a_model_may_be_built_inside_a_mark(void) {
    open_picture("5..300 note ProfilerStep#0\n"
                 "10 + weight 1000\n11 + gone 1000\n"
                 "50..60 op aten::mm seq=1\n"
                 "80 - gone\n"
                 "100..110 node MmBackward0 seq=1\n"
                 "120..125 gradient 250\n130..135 gradient 250\n"
                 "140 + late 1000\n");
    CHECK_EQ_TEXT(parameters(), "1000@10 1000"); /* not what is freed again, nor what comes after the pass */
    close_picture();
}

/* ---- parameters without gradients ---- */

#define FROZEN_FORWARD                                                                                                        \
    "40..45 note Optimizer.zero_grad#SGD.zero_grad\n"                                                                        \
    "50..59 module Linear_0\n  51..58 op aten::linear dims=[[4,10],[25,10],[25]] types=[\"float\",\"float\",\"float\"]\n" \
    "60..69 module Linear_0\n  61..68 op aten::linear dims=[[4,10],[25,10],[25]] types=[\"float\",\"float\",\"float\"]\n" \
    "70..79 module LayerNorm_0\n"                                                                                            \
    "  71..78 op aten::layer_norm dims=[[4,25],[],[30],[30],[]] types=[\"float\",\"ScalarList\",\"float\",\"float\",\"Scalar\"]\n" \
    "80..89 op aten::mm seq=1 dims=[[4,30],[50]] types=[\"float\",\"float\"]\n"                                            \
    "100..110 node MmBackward0 seq=1\n"                                                                                      \
    "120..125 gradient 50\n"                                                                                                 \
    "150..159 module Linear_1\n  151..158 op aten::linear dims=[[4,10],[75,10]] types=[\"float\",\"float\"]\n"

static void frozen_weights_are_those_that_operators_read(void) {
    open_picture("10 + weight 1000\n11 + bias 100\n12 + gamma 120\n13 + head 200\n14 + statistics 1000\n" FROZEN_FORWARD);
    CHECK_EQ_TEXT(parameters(), "200@13");
    CHECK_EQ_U64(s->job.frozen_count, 3); /* a module that is called twice has its weight once; the second pass tells nothing new */
    CHECK_EQ_U64(s->job.unseen_frozen_count, 0); /* the trained one was seen, so a bias of the norm would have been */
    CHECK_EQ_I64(s->job.parameter_bytes, 1420);
    CHECK_EQ_I64(s->job.gradient_bytes, 200);
    CHECK_EQ_I64(profile_role(s, 1000, 0), OC_ROLE_PARAMETER);
    CHECK_EQ_I64(profile_role(s, 1000, 1), OC_ROLE_BUFFER);
    CHECK_EQ_I64(profile_role(s, 120, 0), OC_ROLE_PARAMETER);
    CHECK_EQ_I64(s->job.buffer_bytes, 1000);
    close_picture();
}

static void frozen_weights_of_a_model_made_before(void) {
    open_picture("90 + out 8\n" FROZEN_FORWARD);
    static const int64_t bytes[] = {1000, 100, 120, 120};
    if (CHECK_EQ_U64(s->job.unseen_frozen_count, 4))
        for (int i = 0; i < 4; i++)
            CHECK_EQ_I64(s->job.unseen_frozen[i], bytes[i]);
    CHECK_EQ_U64(s->job.frozen_count, 0);
    CHECK_EQ_I64(s->job.parameter_bytes, 1540);
    CHECK_EQ_I64(s->job.gradient_bytes, 200);
    close_picture();
}

/* Without a backward pass all weights are frozen. The two embeddings lie in the first of two marks; the linear layer in the second. */
static void inference_of_a_model_made_before(void) {
    open_picture("10..99 note ProfilerStep#0\n"
                 "20..29 op aten::embedding dims=[[50,20],[4,8]] types=[\"float\",\"long int\"]\n  25 + out 8\n"
                 "30..39 op aten::embedding dims=[[50,20],[4,8]] types=[\"float\",\"long int\"]\n"
                 "100..199 note ProfilerStep#1\n"
                 "120..129 op aten::linear dims=[[4,10],[25,10]] types=[\"float\",\"float\"]\n");
    CHECK_EQ_U64(s->job.unseen_frozen_count, 2);
    CHECK_EQ_I64(s->job.parameter_bytes, 8000);
    close_picture();
    open_picture("20..29 op aten::linear dims=[[4,10],[25,10]] types=[\"float\",\"float\"]\n  25 + out 8\n"); /* where a pass ends is unknown */
    CHECK_EQ_U64(s->job.unseen_frozen_count, 0);
    close_picture();
}

static void types_make_the_size(void) {
    open_picture("1 + a 8\n50..60 op aten::mm seq=1\n100..110 node MmBackward0 seq=1\n"
                 "120..125 node torch::autograd::AccumulateGrad\n"
                 "  121..124 op torch::autograd::AccumulateGrad dims=[[250]] types=[\"c10::BFloat16\"]\n"
                 "130..135 node torch::autograd::AccumulateGrad\n"
                 "  131..134 op torch::autograd::AccumulateGrad dims=[[250]] types=[\"double\"]\n"
                 "140..145 node torch::autograd::AccumulateGrad\n"
                 "  141..144 op torch::autograd::AccumulateGrad dims=[[250]] types=[\"mystery\"]\n");
    CHECK_EQ_TEXT(parameters(), "2000 500"); /* what has no size is left out */
    close_picture();
}

static void without_shapes_gradients_alive_at_the_step_count(void) {
    open_picture("10 + weight 1000\n11 + bias 200\n"
                 "50..60 op aten::mm seq=1\n"
                 "100..120 node MmBackward0 seq=1\n"
                 "  105 + gweight 1000\n"
                 "  106 + inner 5000\n"
                 "  107 - inner\n"
                 "130..140 node SumBackward0 seq=0\n"
                 "  135 + gbias 200\n"
                 "  136 + gout 7000\n"
                 "150 - gout\n" /* alive at the end of the pass, gone at the step */
                 "200..250 note Optimizer.step#SGD.step\n"
                 "300 - gweight\n301 - gbias\n");
    CHECK_EQ_TEXT(parameters(), "1000@10 200@11");
    CHECK_EQ_I64(s->job.gradient_bytes, 1200);
    close_picture();
}

static void inference_has_parameters_without_gradients(void) {
    open_picture("10 + weight 1000\n11 + running_mean 200\n12 + gone 300\n13 - gone\n50..90 module Net_0\n60 + out 400\n");
    CHECK_EQ_U64(s->job.parameter_count, 0);
    CHECK_EQ_I64(s->job.parameter_bytes, 1200); /* buffers cannot be told from them */
    CHECK_EQ_I64(s->job.buffer_bytes, 0);
    CHECK_EQ_I64(s->job.gradient_bytes, 0);
    CHECK_EQ_I64(profile_role(s, 1000, 0), OC_ROLE_PARAMETER);
    CHECK_EQ_I64(profile_role(s, 200, 0), OC_ROLE_PARAMETER);
    CHECK_EQ_I64(profile_role(s, 400, 0), OC_ROLE_NONE);
    close_picture();
}

static void gradients_outlive_their_pass(void) {
    open_picture("1 + a 8\n50..60 op aten::mm seq=2\n61..65 op aten::relu seq=1\n"
                 "100..120 node MmBackward0 seq=2\n"
                 "  101..110 op aten::mm\n"
                 "    102 + gweight 1000\n"
                 "    103 + scratch 2000\n"
                 "    104 - scratch\n"
                 "  115 + ginput 3000\n"
                 "130..140 node ReluBackward0 seq=1\n"
                 "  135 - ginput\n"
                 "    136 + last 4000\n"
                 "140 - last\n"); /* freed at the very end of the pass */
    CHECK_EQ_I64(profile_role(s, 1000, 0), OC_ROLE_GRADIENT);
    CHECK_EQ_I64(profile_role(s, 2000, 0), OC_ROLE_NONE);
    CHECK_EQ_I64(profile_role(s, 3000, 0), OC_ROLE_NONE);
    CHECK_EQ_I64(profile_role(s, 4000, 0), OC_ROLE_NONE);
    close_picture();
}

/* ---- optimizer state ---- */

/* Adagrad as its constructor makes it: per parameter a counter and a sum of the parameter's size. */
static void state_built_by_the_constructor(void) {
    open_picture("10 + weight 1000\n11 + bias 200\n12 + batches_seen 8\n"
                 "20 + counter 4\n21..25 op aten::full_like\n  22..24 op aten::empty_like\n    23 + sum_w 1000\n"
                 "30 + counter2 4\n31..35 op aten::full_like\n  32..34 op aten::empty_like\n    33 + sum_b 200\n"
                 "40 + late_scalar 8\n41 + real_buffer 300\n"
                 "50..60 op aten::mm seq=1\n"
                 "100..110 node MmBackward0 seq=1\n"
                 "120..125 gradient 50\n"
                 "130..135 gradient 250\n"
                 "200..250 note Optimizer.step#Adagrad.step\n");
    CHECK_EQ_TEXT(parameters(), "1000@10 200@11");
    CHECK_EQ_I64(s->job.is_state_built, 1);
    CHECK_EQ_I64(s->job.recorded_state_bytes, 1200);
    CHECK_EQ_I64(profile_role(s, 1000, 1), OC_ROLE_STATE);
    CHECK_EQ_I64(profile_role(s, 200, 1), OC_ROLE_STATE);
    CHECK_EQ_I64(profile_role(s, 4, 0), OC_ROLE_HOST);
    CHECK_EQ_I64(profile_role(s, 4, 1), OC_ROLE_HOST);
    CHECK_EQ_I64(profile_role(s, 8, 0), OC_ROLE_BUFFER); /* before the state: a counter of batch_norm, which is on the device */
    CHECK_EQ_I64(profile_role(s, 8, 1), OC_ROLE_HOST);
    CHECK_EQ_I64(profile_role(s, 300, 0), OC_ROLE_BUFFER);
    CHECK_EQ_I64(s->job.buffer_bytes, 308);
    close_picture();
}

static void a_part_of_a_state_is_no_state(void) {
    open_picture("10 + weight 1000\n11 + bias 200\n21..25 op aten::zeros_like\n  22..24 op aten::empty_like\n    23 + copy 1000\n"
                 "50..60 op aten::mm seq=1\n"
                 "100..110 node MmBackward0 seq=1\n"
                 "120..125 gradient 50\n"
                 "130..135 gradient 250\n");
    CHECK_EQ_I64(s->job.is_state_built, 0);
    CHECK_EQ_I64(profile_role(s, 1000, 1), OC_ROLE_BUFFER);
    CHECK_EQ_I64(s->job.recorded_state_bytes, 0);
    close_picture();
}

static void state_made_by_a_step(void) {
    open_picture("1 + weight 1000\n"
                 "100..200 note Optimizer.step#Adam.step\n"
                 "110 + counter 4\n"
                 "111 + counter8 8\n"
                 "112 + mean 1000\n"
                 "113 + nine 9\n"
                 "114 + gone 500\n"
                 "300 - gone\n");
    CHECK_EQ_I64(profile_role(s, 4, 0), OC_ROLE_HOST);
    CHECK_EQ_I64(profile_role(s, 8, 0), OC_ROLE_HOST);
    CHECK_EQ_I64(profile_role(s, 1000, 1), OC_ROLE_STATE);
    CHECK_EQ_I64(profile_role(s, 9, 0), OC_ROLE_STATE);
    CHECK_EQ_I64(profile_role(s, 500, 0), OC_ROLE_NONE);
    CHECK_EQ_I64(s->job.recorded_state_bytes, 1009);
    close_picture();
}

/* ---- data ---- */

/* The block of 60,000 bytes is below the limit of 65,536, and the last operator is outside of the fetch. */
static void a_data_set_stays_on_the_host(void) {
    open_picture("10 + images 80000\n11 + other 80000\n12 + small 60000\n"
                 "100..150 note enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__\n"
                 "  110..120 op aten::select dims=[[100,200],[],[]] types=[\"float\",\"Scalar\",\"Scalar\"]\n"
                 "  121..122 op aten::select dims=[[100,150],[],[]] types=[\"float\",\"Scalar\",\"Scalar\"]\n"
                 "  123..124 op aten::select dims=[[7,7],[],[]] types=[\"float\",\"Scalar\",\"Scalar\"]\n"
                 "200..210 op aten::select dims=[[100,150],[],[]] types=[\"float\",\"Scalar\",\"Scalar\"]\n");
    CHECK_EQ_I64(profile_role(s, 80000, 1), OC_ROLE_HOST); /* the one made last */
    CHECK_EQ_I64(profile_role(s, 80000, 0), OC_ROLE_PARAMETER);
    CHECK_EQ_I64(profile_role(s, 60000, 0), OC_ROLE_PARAMETER);
    close_picture();
}

/* The third norm keeps a mean but no variance: none of its statistics count. */
static void running_statistics_of_a_model_made_before(void) {
    static const char picture[] =
        "25 + out 8\n"
        "20..30 op aten::batch_norm seq=1 dims=[[4,25,8,8],[25],[25],[25],[25]] types=[\"float\",\"float\",\"float\",\"float\",\"float\"]\n"
        "40..50 op aten::batch_norm seq=2 dims=[[4,50,8,8],[50],[50],[50],[50]] types=[\"float\",\"float\",\"float\",\"float\",\"float\"]\n"
        "55..60 op aten::batch_norm seq=3 dims=[[4,50,8,8],[50],[50],[50],[]] types=[\"float\",\"float\",\"float\",\"float\",\"\"]\n"
        "100..110 node NativeBatchNormBackward0 seq=3\n"
        "111..112 node NativeBatchNormBackward0 seq=2\n"
        "113..114 node NativeBatchNormBackward0 seq=1\n"
        "120..125 gradient 250\n"
        "200..250 note Optimizer.step#SGD.step\n"
        "260..270 op aten::batch_norm seq=9 dims=[[4,25,8,8],[25],[25],[25],[25]] "
        "types=[\"float\",\"float\",\"float\",\"float\",\"float\"]\n";
    open_picture(picture);
    if (CHECK_EQ_U64(s->job.unseen_buffer_count, 6)) { /* mean, variance and the counter of batches, of the first forward pass only */
        static const int64_t bytes[] = {100, 100, 8, 200, 200, 8};
        for (int i = 0; i < 6; i++)
            CHECK_EQ_I64(s->job.unseen_buffers[i], bytes[i]);
    }
    CHECK_EQ_I64(s->job.buffer_bytes, 616);
    close_picture();
    char seen[sizeof picture + 40];
    (void)snprintf(seen, sizeof seen, "0.5 + weight 1000\n%s", picture); /* the model is in the profile: nothing is unseen */
    open_picture(seen);
    CHECK_EQ_U64(s->job.unseen_buffer_count, 0);
    CHECK_EQ_I64(s->job.buffer_bytes, 0);
    close_picture();
}

static void a_batch_fetched_before_the_profile(void) {
    open_picture("50..60 op aten::mm seq=1\n100..110 node MmBackward0 seq=1\n120 + a 8\n"
                 "200..250 note enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__\n"
                 "  210 + inputs 1000\n  211 + labels 64\n  212 + tmp 500\n  213 - tmp\n"
                 "300..350 note enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__\n"
                 "  310 + inputs2 1000\n");
    if (CHECK_EQ_U64(s->job.unseen_batch_count, 2)) {
        CHECK_EQ_U64(s->job.unseen_batch[0], profile_find_block(s, 1000, 0));
        CHECK_EQ_U64(s->job.unseen_batch[1], profile_find_block(s, 64, 0));
    }
    close_picture();
    open_picture("10..20 note enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__\n"
                 "  11 + inputs 1000\n"
                 "50..60 op aten::mm seq=1\n"
                 "100..110 node MmBackward0 seq=1\n");
    CHECK_EQ_U64(s->job.unseen_batch_count, 0);
    close_picture();
}

/* ---- batch size ---- */

static void check_batch(const char *picture, const char *members, int64_t batch, oc_batch_source source) {
    s = profile_subject_open(picture, members, NULL);
    CHECK_EQ_I64(s->job.batch_size, batch);
    CHECK_EQ_I64(s->job.batch_source, source);
    close_picture();
}

#define FETCH "10..50 note enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__\n  20 + inputs 4000\n  21 + labels 80\n"
#define LINEAR "100..110 op aten::linear seq=1 dims=[[10,100],[5,100]] types=[\"float\",\"float\"]\n"
#define BACKWARD "200..210 node AddmmBackward0 seq=1\n"

static void the_batch_size_is_found(void) {
    check_context("metadata come first");
    check_batch(FETCH LINEAR BACKWARD, "\"oomcast\":{\"batch_size\":64}", 64, OC_BATCH_METADATA);
    check_context("what the loader hands over");
    check_batch(FETCH LINEAR BACKWARD, NULL, 10, OC_BATCH_LOADER); /* [10, 100] floats are the 4,000 bytes */
    check_context("metadata without a use");
    check_batch(FETCH LINEAR BACKWARD, "\"oomcast\":{\"batch_size\":0}", 10, OC_BATCH_LOADER);
    check_context("labels where the inputs are never seen");
    check_batch("10..50 note enumerate(DataLoader)#x\n  20 + strange 1234\n  21 + labels 80\n"
                "100..110 op aten::nll_loss dims=[[10,7],[10]] types=[\"float\",\"long int\"]\n",
                NULL, 10, OC_BATCH_LOADER);
    check_context("a batch that is only looked at, or validated on, is none of the training");
    check_batch("10..50 note enumerate(DataLoader)#x\n  20 + look 1200\n"
                "52..58 op aten::mean dims=[[3,100]] types=[\"float\"]\n"
                "60..90 note enumerate(DataLoader)#x\n  70 + inputs 4000\n" LINEAR BACKWARD,
                NULL, 10, OC_BATCH_LOADER);
    check_context("what most of the fetched tensors tell: one is read as [40, 25] first");
    check_batch("10..50 note enumerate(DataLoader)#x\n  20 + strange 4000\n  21 + labels 80\n  22 + weights 120\n"
                "60..65 op aten::sum dims=[[40,25]] types=[\"float\"]\n"
                "70..75 op aten::nll_loss dims=[[10,7],[10]] types=[\"float\",\"long int\"]\n"
                "80..85 op aten::mul dims=[[10,3]] types=[\"float\"]\n" LINEAR BACKWARD,
                NULL, 10, OC_BATCH_LOADER);
    check_context("a flattened image is no batch");
    check_batch("10..50 note enumerate(DataLoader)#x\n  20 + image 4000\n"
                "60..65 op aten::mul dims=[[1000],[1000]] types=[\"float\",\"float\"]\n" LINEAR BACKWARD,
                NULL, 10, OC_BATCH_LOADER);
    check_context("the first operator's input");
    check_batch("1 + a 8\n" LINEAR BACKWARD, NULL, 10, OC_BATCH_INPUT);
    check_context("of an embedding the indices");
    check_batch(
        "1 + a 8\n"
        "100..110 op aten::embedding seq=1 dims=[[1000,64],[6,32],[],[],[]] types=[\"float\",\"long int\",\"Scalar\",\"\",\"\"]\n" BACKWARD,
        NULL, 6, OC_BATCH_INPUT);
    check_context("an outer operator with the same data");
    check_batch("1 + a 8\n90..150 op aten::conv2d dims=[[12,3,8,8],[4,3,3,3]] types=[\"float\",\"float\"]\n"
                "  100..140 op aten::convolution seq=1 dims=[[12,3,8,8],[4,3,3,3]] types=[\"float\",\"float\"]\n" BACKWARD,
                NULL, 12, OC_BATCH_INPUT);
    check_context("inference: the first operator with a shape");
    check_batch("1 + a 8\n50..300 module Net_0\n" LINEAR, NULL, 10, OC_BATCH_INPUT);
    check_context("no shapes");
    check_batch("1 + a 8\n100..110 op aten::linear seq=1\n" BACKWARD, NULL, 0, OC_BATCH_UNKNOWN);
    check_context("vectors only");
    check_batch("1 + a 8\n100..110 op aten::mul seq=1 dims=[[10],[10]] types=[\"float\",\"float\"]\n" BACKWARD, NULL, 0, OC_BATCH_UNKNOWN);
    check_context("%s", "");
}

/* ---- zero_grad ---- */

static void the_place_of_zero_grad(void) {
    static const struct {
        const char *picture;
        oc_zero_grad place;
    } cases[] = {
        {"1 + a 8\n"
         "10..20 note Optimizer.zero_grad#SGD.zero_grad\n"
         "30..40 op aten::mm seq=1\n"
         "50..60 node MmBackward0 seq=1\n"
         "70..80 note Optimizer.step#SGD.step\n",
         OC_ZERO_GRAD_START},
        {"1 + a 8\n"
         "30..40 op aten::mm seq=1\n"
         "41..45 note Optimizer.zero_grad#SGD.zero_grad\n"
         "50..60 node MmBackward0 seq=1\n"
         "70..80 note Optimizer.step#SGD.step\n",
         OC_ZERO_GRAD_AFTER_FORWARD},
        {"1 + a 8\n"
         "30..40 op aten::mm seq=1\n"
         "50..60 node MmBackward0 seq=1\n"
         "70..80 note Optimizer.step#SGD.step\n"
         "90..95 note Optimizer.zero_grad#SGD.zero_grad\n",
         OC_ZERO_GRAD_AFTER_STEP},
        {"1 + a 8\n30..40 op aten::mm seq=1\n50..60 node MmBackward0 seq=1\n70..80 note Optimizer.step#SGD.step\n", OC_ZERO_GRAD_RECORDED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check_context("case %zu", i);
        open_picture(cases[i].picture);
        CHECK_EQ_I64(s->job.zero_grad, cases[i].place);
        close_picture();
    }
}

/* ---- other facts ---- */

static void compiled_code_is_seen(void) {
    open_picture("1 + a 8\n10..20 op Torch-Compiled Region: 0/0\n");
    CHECK_EQ_I64(s->job.is_compiled, 1);
    close_picture();
    open_picture("1 + a 8\n10..20 op CompiledFunctionBackward\n");
    CHECK_EQ_I64(s->job.is_compiled, 1);
    close_picture();
}

static void the_first_matrix_products(void) {
    open_picture("1 + a 8\n2..3 op aten::mm\n" /* before the loop: orthogonal initialisation */
                 "10..20 note Optimizer.zero_grad#SGD.zero_grad\n"
                 "30..40 op aten::bmm seq=1\n"
                 "45..48 op aten::mm\n"
                 "60..80 node BmmBackward0 seq=1\n"
                 "  62..64 op aten::bmm\n"
                 "  65..67 op aten::mm\n");
    CHECK_EQ_TEXT(op_name(s->job.first_matmul), "aten::bmm");
    CHECK_EQ_I64(s->analysis.ops[s->job.first_matmul].at.start_ns, 30000);
    CHECK_EQ_TEXT(op_name(s->job.first_backward_matmul), "aten::bmm");
    CHECK_EQ_I64(s->analysis.ops[s->job.first_backward_matmul].at.start_ns, 62000);
    close_picture();
    open_picture("1 + a 8\n10..20 op aten::relu\n");
    CHECK(s->job.first_matmul == OC_NONE && s->job.first_backward_matmul == OC_NONE);
    close_picture();
}

/* x @ w is the first operator of the loop and its first sign: it needs a workspace like any other. */
static void a_product_may_be_the_first_of_the_loop(void) {
    open_picture("1 + a 8\n"
                 "10..20 op aten::mm seq=1\n"
                 "30..40 op aten::mm seq=2\n"
                 "50..60 node MmBackward0 seq=2\n"
                 "70..80 node MmBackward0 seq=1\n");
    if (CHECK(s->job.first_matmul != OC_NONE))
        CHECK_EQ_I64(s->analysis.ops[s->job.first_matmul].at.start_ns, 10000);
    close_picture();
}

static void what_the_step_computes(void) {
    open_picture("1 + weight 1000\n50..60 op aten::mm seq=1\n100..110 node MmBackward0 seq=1\n120..125 gradient 250\n"
                 "200..300 note Optimizer.step#SGD.step\n"
                 "  210..220 op aten::add dims=[[250],[250],[]]\n"
                 "    215 + decayed 1000\n"
                 "  230..240 op aten::mul_\n");
    CHECK_EQ_U64(s->job.step_multiplications, 1);
    CHECK_EQ_I64(s->job.step_decays, 1);
    CHECK_EQ_I64(s->job.step_has_lerp + s->job.step_has_maximum, 0);
    close_picture();
    open_picture("1 + weight 1000\n20..30 op aten::mul_\n50..60 op aten::mm seq=1\n100..110 node MmBackward0 seq=1\n120..125 gradient 250\n"
                 "200..300 note Optimizer.step#SGD.step\n"
                 "  210..220 op aten::add\n"
                 "    215 + scalar 8\n"
                 "  230..240 op aten::add_\n"
                 "    235 + other 1000\n");
    CHECK_EQ_U64(s->job.step_multiplications, 0); /* the product is not in the step */
    CHECK_EQ_I64(s->job.step_decays, 0);
    close_picture();
}

/* torch.optim decays the gradient before it touches the state: what is added later is Nesterov's look-ahead. */
static void decay_comes_before_the_state(void) {
    static const struct {
        const char *step;
        int decays;
    } cases[] = {
        {"210..220 op aten::add\n  215 + decayed 1000\n230..240 op aten::mul_\n", 1},
        {"210..220 op aten::add\n  215 + decayed 1000\n230..240 op aten::clone\n  235 + momentum 1000\n", 1},
        {"205..208 op aten::mul_\n210..220 op aten::add\n  215 + ahead 1000\n", 0},
        {"205..208 op aten::clone\n  206 + momentum 1000\n210..220 op aten::add\n  215 + ahead 1000\n", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char picture[400];
        check_context("case %zu", i);
        (void)snprintf(picture, sizeof picture,
                       "1 + weight 1000\n50..60 op aten::mm seq=1\n100..110 node MmBackward0 seq=1\n120..125 gradient 250\n"
                       "200..300 note Optimizer.step#SGD.step\n%s",
                       cases[i].step);
        open_picture(picture);
        CHECK_EQ_I64(s->job.step_decays, cases[i].decays);
        close_picture();
    }
}

static void only_the_first_step_is_looked_at(void) {
    open_picture("1 + weight 1000\n20..30 op aten::maximum\n50..60 op aten::mm seq=1\n100..110 node MmBackward0 seq=1\n120..125 gradient 250\n"
                 "200..300 note Optimizer.step#Adam.step\n"
                 "  210..220 op aten::lerp_\n"
                 "  230..240 op aten::mul_\n"
                 "  250..260 op aten::mul_\n"
                 "400..500 note Optimizer.step#Adam.step\n"
                 "  410..420 op aten::mul_\n"
                 "  430..440 op aten::maximum\n");
    CHECK_EQ_U64(s->job.step_multiplications, 2);
    CHECK_EQ_I64(s->job.step_has_lerp, 1);
    CHECK_EQ_I64(s->job.step_has_maximum, 0);
    close_picture();
}

static void recurrent_layers_are_counted(void) {
    open_picture("1 + a 8\n10..20 op aten::lstm\n30..40 op aten::gru\n50..60 op aten::rnn_tanh\n70..80 op aten::rnn_relu\n"
                 "90..95 op aten::lstm_cell\n");
    CHECK_EQ_U64(s->job.recurrent_count, 4);
    close_picture();
}

static void half_precision_is_counted(void) {
    open_picture("1 + a 8\n"
                 "10..20 op aten::mm dims=[[2,2],[2,2]] types=[\"c10::BFloat16\",\"c10::BFloat16\"]\n"
                 "30..40 op aten::addmm types=[\"c10::Half\"]\n"
                 "50..60 op aten::mm types=[\"float\",\"float\"]\n70..80 op aten::add types=[\"c10::Half\"]\n90..95 op aten::mm\n");
    CHECK_EQ_U64(s->job.low_precision_count, 2); /* matrix products only: casts elsewhere weigh little */
    close_picture();
}

/* With a second profile, what was built before the loop and grows with the batch is data, no buffer. */
static void data_grow_with_the_batch(void) {
    open_picture("10 + weight 1000\n"
                 "11 + images 4000\n"
                 "12 + mean 300\n"
                 "50..60 op aten::mm seq=1\n"
                 "100..110 node MmBackward0 seq=1\n"
                 "120..125 gradient 250\n");
    CHECK_EQ_I64(s->job.buffer_bytes, 4300);
    int64_t difference[10] = {0};
    difference[profile_find_block(s, 4000, 0)] = 4000;
    oc_job_mark_data(&s->job, &s->analysis, difference);
    CHECK_EQ_I64(profile_role(s, 4000, 0), OC_ROLE_DATA);
    CHECK_EQ_I64(profile_role(s, 300, 0), OC_ROLE_BUFFER);
    CHECK_EQ_I64(profile_role(s, 1000, 0), OC_ROLE_PARAMETER);
    CHECK_EQ_I64(s->job.buffer_bytes, 300);
    close_picture();
    open_picture("10 + weight 1000\n11 + images 4000\n50..90 module Net_0\n60 + out 400\n"); /* inference: all count as parameters at first */
    CHECK_EQ_I64(s->job.parameter_bytes, 5000);
    oc_job_mark_data(&s->job, &s->analysis, difference);
    CHECK_EQ_I64(profile_role(s, 4000, 0), OC_ROLE_DATA);
    CHECK_EQ_I64(profile_role(s, 1000, 0), OC_ROLE_PARAMETER);
    CHECK_EQ_I64(s->job.parameter_bytes, 1000);
    close_picture();
}

CHECK_MAIN(CHECK_TEST(a_job_recorded_from_its_start), CHECK_TEST(a_job_recorded_in_its_middle),
           CHECK_TEST(parameters_are_survivors_of_their_size), CHECK_TEST(unseen_parameters_come_last),
           CHECK_TEST(accumulated_gradients_count_each_parameter_once), CHECK_TEST(gradients_of_inputs_are_no_parameters),
           CHECK_TEST(each_step_may_have_its_own_parameters), CHECK_TEST(a_model_may_be_built_inside_a_mark),
           CHECK_TEST(frozen_weights_are_those_that_operators_read), CHECK_TEST(frozen_weights_of_a_model_made_before),
           CHECK_TEST(inference_of_a_model_made_before), CHECK_TEST(types_make_the_size),
           CHECK_TEST(without_shapes_gradients_alive_at_the_step_count), CHECK_TEST(inference_has_parameters_without_gradients),
           CHECK_TEST(gradients_outlive_their_pass), CHECK_TEST(state_built_by_the_constructor), CHECK_TEST(a_part_of_a_state_is_no_state),
           CHECK_TEST(state_made_by_a_step), CHECK_TEST(a_data_set_stays_on_the_host),
           CHECK_TEST(running_statistics_of_a_model_made_before), CHECK_TEST(a_batch_fetched_before_the_profile),
           CHECK_TEST(the_batch_size_is_found), CHECK_TEST(the_place_of_zero_grad), CHECK_TEST(compiled_code_is_seen),
           CHECK_TEST(the_first_matrix_products), CHECK_TEST(a_product_may_be_the_first_of_the_loop), CHECK_TEST(what_the_step_computes),
           CHECK_TEST(decay_comes_before_the_state), CHECK_TEST(only_the_first_step_is_looked_at), CHECK_TEST(recurrent_layers_are_counted),
           CHECK_TEST(half_precision_is_counted), CHECK_TEST(data_grow_with_the_batch))

/* Blocks with lifetimes and the structure of the job in time, from pictures of small profiles. Times in pictures are microseconds. */
#include "check.h"
#include "profile_text.h"

#include <stdlib.h>

enum { US = 1000 };

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

static const char *module_name(uint32_t module) {
    return module == OC_NONE ? "(none)" : oc_intern_text(s->names, s->analysis.modules[module].name, NULL);
}

/* ---- pairing ---- */

static void memory_is_paired_by_address(void) {
    open_picture("10 + a 100\n20 - a\n30 + a 200\n31 + b 300\n40 - b\n");
    CHECK_EQ_U64(s->analysis.block_count, 3);
    const oc_block *first = profile_block(s, 100, 0), *second = profile_block(s, 200, 0), *third = profile_block(s, 300, 0);
    CHECK_EQ_I64(first->birth_ns, 10 * US);
    CHECK_EQ_I64(first->death_ns, 20 * US);
    CHECK_EQ_I64(second->birth_ns, 30 * US);
    CHECK_EQ_I64(second->death_ns, OC_NEVER);
    CHECK_EQ_I64(third->death_ns, 40 * US);
    CHECK(first < second && second < third); /* in order of allocation */
    CHECK_EQ_U64(s->analysis.warnings.count, 0);
    close_picture();
}

static void the_order_in_the_file_does_not_matter(void) {
    open_picture("40 - b 300\n30 + a 200\n31 + b 300\n20 - a 100\n10 + a 100\n");
    /* the free at 20 us was recorded after the allocation at 30 us, but time decides */
    CHECK_EQ_I64(profile_block(s, 300, 0)->death_ns, 40 * US);
    CHECK_EQ_I64(profile_block(s, 200, 0)->death_ns, OC_NEVER);
    CHECK_EQ_I64(profile_block(s, 100, 0)->death_ns, 20 * US);
    close_picture();
}

static void at_one_time_the_recording_order_decides(void) {
    open_picture("10 + a 100\n20 - a\n20 + a 200\n20 - a\n20 + a 300\n");
    CHECK_EQ_U64(s->analysis.block_count, 3);
    CHECK_EQ_I64(profile_block(s, 200, 0)->birth_ns, 20 * US);
    CHECK_EQ_I64(profile_block(s, 200, 0)->death_ns, 20 * US);
    CHECK_EQ_I64(profile_block(s, 300, 0)->death_ns, OC_NEVER);
    CHECK_EQ_U64(s->analysis.warnings.count, 0);
    close_picture();
}

static void a_missing_free_is_assumed(void) {
    open_picture("10 + a 100\n30 + a 200\n50 - a\n");
    CHECK_EQ_I64(profile_block(s, 100, 0)->death_ns, 30 * US);
    CHECK_EQ_I64(profile_block(s, 200, 0)->death_ns, 50 * US);
    CHECK_EQ_U64(profile_warning(&s->analysis.warnings, "missing_free"), 1);
    close_picture();
}

static void frees_of_older_memory_are_counted(void) {
    open_picture("5 - x 64\n10 + a 100\n11 - x 64\n20 - a\n21 - a\n");
    CHECK_EQ_U64(s->analysis.block_count, 1);
    CHECK_EQ_U64(profile_warning(&s->analysis.warnings, "free_without_allocation"), 3); /* twice x, and the second of a */
    CHECK_EQ_I64(profile_block(s, 100, 0)->death_ns, 20 * US);
    close_picture();
}

static void another_thread_may_free(void) {
    open_picture("10 + a 100 thread=1\n20 - a thread=2\n20 + b 50 thread=2\n");
    CHECK_EQ_I64(profile_block(s, 100, 0)->death_ns, 20 * US);
    CHECK_EQ_U64(s->analysis.warnings.count, 0);
    close_picture();
}

static void every_address_is_one(void) {
#define AT(us, bytes, address)                                                                                                             \
    "raw {\"ph\":\"i\",\"name\":\"[memory]\",\"pid\":1,\"tid\":1,\"ts\":" us ",\"args\":{\"Bytes\":" bytes ",\"Addr\":" address "}}\n"
    open_picture(AT("1", "100", "0") AT("2", "200", "1") AT("3", "300", "9223372036854775808") AT("4", "-100", "0")
                     AT("5", "-300", "9223372036854775808"));
    CHECK_EQ_I64(profile_block(s, 100, 0)->death_ns, 4 * US);
    CHECK_EQ_I64(profile_block(s, 200, 0)->death_ns, OC_NEVER);
    CHECK_EQ_I64(profile_block(s, 300, 0)->death_ns, 5 * US);
    CHECK_EQ_U64(s->analysis.warnings.count, 0);
    close_picture();
}

static void many_blocks_keep_their_addresses_apart(void) {
    enum { COUNT = 200 };
    char *picture = malloc(COUNT * 60), *at = picture;
    if (!CHECK(picture))
        return;
    for (int i = 0; i < COUNT; i++)
        at += sprintf(at, "%d + b%d %d\n", i, i, 1000 + i);
    for (int i = 0; i < COUNT; i += 2)
        at += sprintf(at, "%d - b%d\n", 1000 + i, i);
    open_picture(picture);
    CHECK_EQ_U64(s->analysis.block_count, COUNT);
    for (int i = 0; i < COUNT; i++)
        CHECK_EQ_I64(profile_block(s, 1000 + i, 0)->death_ns, i % 2 ? OC_NEVER : (1000 + i) * US);
    close_picture();
    free(picture);
}

static void the_busiest_process_is_looked_at(void) {
    open_picture("10 + a 100 process=1\n11 + b 200 process=2\n12 + c 300 process=2\n13 + d 400 process=3\n"
                 "10..20 op aten::one process=1\n"
                 "10..20 op aten::two process=2\n"
                 "10..20 module M_1 process=1\n"
                 "10..20 note ProfilerStep#7 process=3\n");
    CHECK_EQ_U64(s->analysis.block_count, 2);
    CHECK_EQ_U64(profile_find_block(s, 100, 0), OC_NONE);
    CHECK(profile_find_block(s, 200, 0) != OC_NONE && profile_find_block(s, 300, 0) != OC_NONE);
    CHECK_EQ_U64(s->analysis.op_count, 1);
    CHECK_EQ_TEXT(op_name(0), "aten::two");
    CHECK_EQ_U64(s->analysis.module_count, 0);
    CHECK_EQ_U64(s->analysis.marks.count, 0);
    CHECK_EQ_U64(profile_warning(&s->analysis.warnings, "several_processes"), 2); /* memory events left out */
    close_picture();
}

static void threads_of_one_process_are_no_processes(void) {
    open_picture("10 + a 100 thread=1\n11 + b 200 thread=2\n");
    CHECK_EQ_U64(s->analysis.block_count, 2);
    CHECK_EQ_U64(s->analysis.warnings.count, 0);
    close_picture();
}

/* ---- who made a block ---- */

static void blocks_know_their_operators_and_module(void) {
    open_picture("0..100 op aten::conv2d\n"
                 "  10..90 op aten::convolution\n"
                 "    20..40 op aten::empty\n"
                 "      30 + out 100\n"
                 "    50 + direct 200\n"
                 "200 + outside 300\n"
                 "5..95 module Conv2d_0\n"
                 "0..150 module Net_0\n"
                 "120..140 op aten::zeros\n"
                 "  125..135 op aten::empty\n"
                 "    130 + zeros 400\n"
                 "0..100 op aten::other thread=9\n");
    const oc_block *out = profile_block(s, 100, 0);
    CHECK_EQ_TEXT(op_name(out->op), "aten::empty");
    CHECK_EQ_TEXT(op_name(out->producer), "aten::convolution"); /* the innermost that is no factory */
    CHECK_EQ_TEXT(module_name(out->module), "nn.Module: Conv2d_0");
    CHECK_EQ_TEXT(op_name(profile_block(s, 200, 0)->producer), "aten::convolution");
    const oc_block *outside = profile_block(s, 300, 0);
    CHECK(outside->op == OC_NONE && outside->producer == OC_NONE && outside->module == OC_NONE && outside->around == 0);
    const oc_block *zeros = profile_block(s, 400, 0);
    CHECK_EQ_TEXT(op_name(zeros->op), "aten::empty");
    CHECK_EQ_TEXT(op_name(zeros->producer), "aten::zeros"); /* the outermost where all are factories */
    CHECK_EQ_TEXT(module_name(zeros->module), "nn.Module: Net_0");
    close_picture();
}

static void blocks_know_the_classes_around_them(void) {
    open_picture("0..100 op aten::_scaled_dot_product_attention_math\n"
                 "  10..30 op aten::dropout\n"
                 "    12..20 op aten::empty_like\n"
                 "      15 + noise 100\n"
                 "  40 + other 200\n");
    CHECK_EQ_U64(profile_block(s, 100, 0)->around, OC_CLASS_ATTENTION_MATH | OC_CLASS_DROPOUT | OC_CLASS_FACTORY);
    CHECK_EQ_U64(profile_block(s, 200, 0)->around, OC_CLASS_ATTENTION_MATH);
    uint32_t noise_op = profile_block(s, 100, 0)->op;
    CHECK_EQ_TEXT(op_name(oc_analysis_find_around(&s->analysis, noise_op, OC_CLASS_DROPOUT)), "aten::dropout");
    CHECK_EQ_TEXT(op_name(oc_analysis_find_around(&s->analysis, noise_op, OC_CLASS_FACTORY)), "aten::empty_like");
    CHECK_EQ_U64(oc_analysis_find_around(&s->analysis, noise_op, OC_CLASS_MATMUL), OC_NONE);
    CHECK_EQ_U64(oc_analysis_find_around(&s->analysis, OC_NONE, OC_CLASS_DROPOUT), OC_NONE);
    close_picture();
}

static void backward_blocks_know_their_forward_operator(void) {
    open_picture("10..50 module Linear_0\n"
                 "  10..40 op aten::linear seq=5\n"
                 "    20..30 op aten::addmm seq=5\n" /* of equal numbers the last operator made the node */
                 "      25 + out 100\n"
                 "60..70 op aten::relu seq=6\n"
                 "100..120 node ReluBackward0 seq=6\n"
                 "  110 + grelu 200\n"
                 "130..160 node AddmmBackward0 seq=5\n"
                 "  135..155 op AddmmBackward0 seq=5\n"
                 "    140..150 op aten::mm\n"
                 "      145 + gweight 300\n"
                 "170..180 node torch::autograd::AccumulateGrad\n"
                 "  175 + clone 400\n");
    const oc_block *gradient = profile_block(s, 300, 0);
    CHECK_EQ_I64(gradient->is_backward, 1);
    CHECK_EQ_TEXT(op_name(gradient->forward_op), "aten::addmm");
    CHECK_EQ_TEXT(module_name(gradient->module), "nn.Module: Linear_0");
    CHECK_EQ_TEXT(op_name(profile_block(s, 200, 0)->forward_op), "aten::relu");
    CHECK_EQ_TEXT(module_name(profile_block(s, 200, 0)->module), "(none)");
    CHECK_EQ_TEXT(op_name(profile_block(s, 400, 0)->forward_op), "(none)");
    const oc_block *out = profile_block(s, 100, 0);
    CHECK_EQ_I64(out->is_backward, 0);
    CHECK_EQ_U64(out->forward_op, OC_NONE);
    close_picture();
}

/* ---- scratch ---- */

static void what_dies_inside_its_producer_is_scratch(void) {
    open_picture("10..100 op aten::convolution\n"
                 "  20..30 op aten::empty\n"
                 "    25 + inside 100\n"
                 "    26 + end 200\n"
                 "    27 + after 300\n"
                 "  40..60 op aten::resize_\n"
                 "    45 + column 400\n"
                 "  70 - inside\n" /* after the factory, before the end of the operator that wanted it */
                 "  80 - column\n"
                 "100 - end\n" /* at its very end: the end belongs to it */
                 "101 - after\n"
                 "200..210 op aten::zeros\n"
                 "  201..209 op aten::empty\n"
                 "    202 + zeros 500\n"
                 "    203 + zeros_kept 600\n"
                 "    205 - zeros\n"
                 "300 + number 8\n"
                 "301 - number\n");
    CHECK_EQ_I64(profile_block(s, 100, 0)->is_scratch, 1);
    CHECK_EQ_I64(profile_block(s, 200, 0)->is_scratch, 1);
    CHECK_EQ_I64(profile_block(s, 300, 0)->is_scratch, 0);
    CHECK_EQ_I64(profile_block(s, 400, 0)->is_scratch, 1);
    CHECK_EQ_I64(profile_block(s, 500, 0)->is_scratch, 1);
    CHECK_EQ_I64(profile_block(s, 600, 0)->is_scratch, 0);
    CHECK_EQ_I64(profile_block(s, 8, 0)->is_scratch, 0); /* outside of any operator */
    close_picture();
}

/* The outer operator's result of an inner one is no scratch of the inner one. */
static void what_leaves_the_inner_operator_is_not_scratch(void) {
    open_picture("10..100 op aten::matmul\n"
                 "  20..50 op aten::bmm\n"
                 "    30 + product 100\n"
                 "  60 - product\n");
    CHECK_EQ_I64(profile_block(s, 100, 0)->is_scratch, 0);
    close_picture();
}

/* ---- the loop, its phases and iterations ---- */

static const char training[] = "10..20 op aten::empty\n"
                               "  15 + weight 1000\n"
                               "100..150 note enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__\n"
                               "160..170 note Optimizer.zero_grad#SGD.zero_grad\n"
                               "180..200 op aten::mm seq=1\n"
                               "300..320 node MmBackward0 seq=1\n"
                               "400..450 note Optimizer.step#SGD.step\n"
                               "500..550 note enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__\n"
                               "560..570 note Optimizer.zero_grad#SGD.zero_grad\n"
                               "580..600 op aten::mm seq=2\n"
                               "700..720 node MmBackward0 seq=2\n"
                               "800..850 note Optimizer.step#SGD.step\n"
                               "900 - weight\n";

static oc_phase phase(int64_t us) {
    return oc_analysis_phase(&s->analysis, us * US);
}

static void phases_follow_the_annotations(void) {
    open_picture(training);
    CHECK_EQ_I64(s->analysis.first_ns, 100 * US); /* the first fetch */
    CHECK_EQ_I64(phase(15), OC_PHASE_PARAMETERS);
    CHECK_EQ_I64(phase(99), OC_PHASE_PARAMETERS);
    CHECK_EQ_I64(phase(100), OC_PHASE_OTHER);
    CHECK_EQ_I64(phase(150), OC_PHASE_OTHER);
    CHECK_EQ_I64(phase(155), OC_PHASE_FORWARD);
    CHECK_EQ_I64(phase(165), OC_PHASE_OTHER);
    CHECK_EQ_I64(phase(171), OC_PHASE_FORWARD);
    CHECK_EQ_I64(phase(299), OC_PHASE_FORWARD);
    CHECK_EQ_I64(phase(300), OC_PHASE_BACKWARD);
    CHECK_EQ_I64(phase(320), OC_PHASE_BACKWARD);
    CHECK_EQ_I64(phase(350), OC_PHASE_OTHER); /* between backward and step */
    CHECK_EQ_I64(phase(400), OC_PHASE_STEP);
    CHECK_EQ_I64(phase(450), OC_PHASE_STEP);
    CHECK_EQ_I64(phase(460), OC_PHASE_FORWARD); /* the next forward pass has begun for all that can be seen */
    CHECK_EQ_I64(phase(700), OC_PHASE_BACKWARD);
    CHECK_EQ_I64(phase(860), OC_PHASE_OTHER); /* after the last step */
    close_picture();
}

static void iterations_end_with_the_steps(void) {
    open_picture(training);
    CHECK_EQ_U64(s->analysis.iteration_count, 2);
    CHECK_EQ_U64(oc_analysis_iteration(&s->analysis, 0), 0);
    CHECK_EQ_U64(oc_analysis_iteration(&s->analysis, 449 * US), 0);
    CHECK_EQ_U64(oc_analysis_iteration(&s->analysis, 450 * US), 1);
    CHECK_EQ_U64(oc_analysis_iteration(&s->analysis, 5000 * US), 1); /* what follows the last step belongs to its iteration */
    close_picture();
}

/* Two optimizers that step after one backward pass end one iteration; a pass before each of them makes two. */
static void steps_of_one_pass_are_one_iteration(void) {
    open_picture("1 + a 8\n10..20 node A seq=1\n30..40 note Optimizer.step#SGD.step\n50..60 note Optimizer.step#Adam.step\n"
                 "70..80 node A seq=2\n90..95 note Optimizer.step#SGD.step\n96..99 note Optimizer.step#Adam.step\n");
    CHECK_EQ_U64(s->analysis.iteration_count, 2);
    CHECK_EQ_U64(oc_analysis_iteration(&s->analysis, 59 * US), 0);
    CHECK_EQ_U64(oc_analysis_iteration(&s->analysis, 60 * US), 1);
    CHECK_EQ_U64(oc_analysis_iteration(&s->analysis, 98 * US), 1);
    close_picture();
    open_picture("1 + a 8\n10..20 node A seq=1\n30..40 note Optimizer.step#SGD.step\n42..48 node A seq=2\n50..60 note Optimizer.step#Adam.step\n");
    CHECK_EQ_U64(s->analysis.iteration_count, 2);
    close_picture();
}

/* optimizer.step(closure): forward and backward passes lie inside the annotation; the step is what comes after the last of them. */
static void a_step_with_a_closure_begins_after_its_passes(void) {
    open_picture("10..500 note Optimizer.step#LBFGS.step\n"
                 "  20..30 op aten::mm seq=1\n    25 + out 1000\n"
                 "  100..120 node MmBackward0 seq=1\n    110 + gradient 2000\n"
                 "  200..210 op aten::mm seq=2\n"
                 "  300..320 node MmBackward0 seq=2\n"
                 "  400 + state 3000\n"
                 "600..700 note Optimizer.step#LBFGS.step\n");
    CHECK_EQ_I64(s->analysis.first_ns, 20 * US);
    if (CHECK_EQ_U64(s->analysis.steps.count, 2)) {
        CHECK(s->analysis.steps.items[0].start_ns > 320 * US && s->analysis.steps.items[0].start_ns < 321 * US);
        CHECK_EQ_I64(s->analysis.steps.items[0].end_ns, 500 * US);
        CHECK_EQ_I64(s->analysis.steps.items[1].start_ns, 600 * US); /* without a pass inside as annotated */
    }
    CHECK_EQ_I64(profile_block(s, 1000, 0)->kind, OC_BLOCK_TENSOR);
    CHECK_EQ_I64(profile_block(s, 1000, 0)->phase, OC_PHASE_FORWARD);
    CHECK_EQ_I64(profile_block(s, 2000, 0)->phase, OC_PHASE_BACKWARD);
    CHECK_EQ_I64(profile_block(s, 3000, 0)->kind, OC_BLOCK_STEP);
    close_picture();
}

static void a_last_mark_without_a_pass_is_none(void) {
    open_picture("1 + a 8\n10..99 note ProfilerStep#2\n  30..40 node A seq=1\n100..199 note ProfilerStep#3\n  130..140 node A seq=2\n"
                 "200..201 note ProfilerStep#4\n300..301 note ProfilerStep#5\n");
    CHECK_EQ_U64(s->analysis.marks.count, 2);
    CHECK_EQ_U64(s->analysis.iteration_count, 2);
    CHECK_EQ_U64(oc_analysis_iteration(&s->analysis, 250 * US), 1);
    close_picture();
}

static void iterations_begin_with_the_marks(void) {
    open_picture("10 + a 8\n100..290 note ProfilerStep#2\n300..490 note ProfilerStep#3\n500..690 note ProfilerStep#4\n"
                 "150..160 note Optimizer.step#SGD.step\n350..360 note Optimizer.step#SGD.step\n");
    CHECK_EQ_U64(s->analysis.iteration_count, 3);
    CHECK_EQ_U64(oc_analysis_iteration(&s->analysis, 10 * US), 0);
    CHECK_EQ_U64(oc_analysis_iteration(&s->analysis, 299 * US), 0);
    CHECK_EQ_U64(oc_analysis_iteration(&s->analysis, 300 * US), 1);
    CHECK_EQ_U64(oc_analysis_iteration(&s->analysis, 500 * US), 2);
    close_picture();
}

/* Older versions write whole microseconds, so that one mark may end where the next one begins. */
static void marks_that_touch_are_two_iterations(void) {
    open_picture("10 + a 8\n100..300 note ProfilerStep#2\n300..500 note ProfilerStep#3\n");
    CHECK_EQ_U64(s->analysis.marks.count, 2);
    CHECK_EQ_U64(s->analysis.iteration_count, 2);
    CHECK_EQ_U64(oc_analysis_iteration(&s->analysis, 400 * US), 1);
    close_picture();
}

static void without_optimizer_iterations_end_with_the_passes(void) {
    open_picture("10..20 op aten::mm seq=1\n"
                 "15 + a 8\n"
                 "30..40 node MmBackward0 seq=1\n"
                 "50..60 op aten::mm seq=2\n"
                 "70..80 node MmBackward0 seq=2\n");
    CHECK_EQ_U64(s->analysis.passes.count, 2);
    CHECK_EQ_U64(s->analysis.iteration_count, 2);
    CHECK_EQ_U64(oc_analysis_iteration(&s->analysis, 39 * US), 0);
    CHECK_EQ_U64(oc_analysis_iteration(&s->analysis, 40 * US), 1);
    close_picture();
}

static void without_training_there_is_one_iteration(void) {
    open_picture("10..20 op aten::mm\n15 + a 8\n");
    CHECK_EQ_U64(s->analysis.iteration_count, 1);
    CHECK_EQ_U64(s->analysis.passes.count, 0);
    CHECK_EQ_I64(phase(15), OC_PHASE_FORWARD);
    CHECK_EQ_I64(phase(5000), OC_PHASE_FORWARD);
    close_picture();
}

static void the_loop_begins_with_the_first_sign_of_it(void) {
    static const struct {
        const char *picture;
        int64_t first_us;
    } cases[] = {
        {"5 + a 8\n100..110 note ProfilerStep#1\n50..60 note Optimizer.zero_grad#SGD.zero_grad\n", 50},
        {"5 + a 8\n100..110 note Optimizer.step#SGD.step\n", 100},
        {"5 + a 8\n"
         "100..110 note Optimizer.step#SGD.step\n"
         "20..30 op aten::mm seq=1\n"
         "10..15 op aten::normal_\n"
         "40..50 node MmBackward0 seq=1\n",
         20},
        {"5 + a 8\n20..30 module Net_0\n22..25 module Linear_0\n40..50 module Net_0\n", 20}, /* inference: the first call of a module */
        {"5 + a 8\n10..15 op aten::normal_\n20..30 op aten::mm\n", 20}, /* without modules: the first product or convolution */
        {"5 + a 8\n30..40 op aten::mm\n20..25 op aten::convolution\n", 20},
        {"5 + a 8\n20..30 op aten::relu\n", 5}, /* no sign at all: everything */
        {"5 + a 8\n20..30 note my own words\n", 5},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check_context("case %zu", i);
        open_picture(cases[i].picture);
        CHECK_EQ_I64(s->analysis.first_ns, cases[i].first_us * US);
        close_picture();
    }
}

/* "first event", "last event": annotations and calls of modules are events, and times in results count from the first one. */
static void the_profile_begins_and_ends_with_its_events(void) {
    open_picture("20..30 op aten::mm\n10 + a 8\n40 - a\n");
    CHECK_EQ_I64(s->analysis.begin_ns, 10 * US);
    CHECK_EQ_I64(s->analysis.end_ns, 40 * US);
    close_picture();
    open_picture("20..90 op aten::mm\n30 + a 8\n40 - a\n");
    CHECK_EQ_I64(s->analysis.begin_ns, 20 * US);
    CHECK_EQ_I64(s->analysis.end_ns, 90 * US);
    close_picture();
    open_picture("5..100 note ProfilerStep#2\n20..30 op aten::mm\n25 + a 8\n");
    CHECK_EQ_I64(s->analysis.begin_ns, 5 * US);
    CHECK_EQ_I64(s->analysis.end_ns, 100 * US);
    close_picture();
    open_picture("20..80 module Net_0\n30 + a 8\n"); /* inference: the loop, and its phase, begin with the call */
    CHECK_EQ_I64(s->analysis.begin_ns, 20 * US);
    CHECK_EQ_I64(s->analysis.end_ns, 80 * US);
    CHECK(s->analysis.first_ns >= s->analysis.begin_ns);
    close_picture();
}

/* ---- backward passes ---- */

static void a_pass_has_falling_sequence_numbers(void) {
    open_picture("1 + a 8\n"
                 "10..20 node A seq=9\n"
                 "20..30 node B seq=8\n"
                 "  22..28 node Inner seq=50\n" /* inside a node: checkpointing runs a graph of its own */
                 "30..40 node torch::autograd::AccumulateGrad\n"
                 "40..50 node C seq=8\n"
                 "50..60 node D seq=3\n"
                 "100..110 node E seq=20\n" /* higher: another forward pass was before it */
                 "110..120 node F seq=19\n");
    if (CHECK_EQ_U64(s->analysis.passes.count, 2)) {
        CHECK_EQ_I64(s->analysis.passes.items[0].start_ns, 10 * US);
        CHECK_EQ_I64(s->analysis.passes.items[0].end_ns, 60 * US);
        CHECK_EQ_I64(s->analysis.passes.items[1].start_ns, 100 * US);
        CHECK_EQ_I64(s->analysis.passes.items[1].end_ns, 120 * US);
    }
    close_picture();
}

static void a_step_ends_a_pass(void) {
    open_picture("1 + a 8\n"
                 "10..20 node A seq=9\n"
                 "30..40 note Optimizer.step#SGD.step\n"
                 "50..60 node A seq=9\n"
                 "70..80 node torch::autograd::AccumulateGrad\n");
    if (CHECK_EQ_U64(s->analysis.passes.count, 2)) {
        CHECK_EQ_I64(s->analysis.passes.items[0].end_ns, 20 * US);
        CHECK_EQ_I64(s->analysis.passes.items[1].end_ns, 80 * US);
    }
    close_picture();
}

static void passes_may_run_on_their_own_thread(void) {
    open_picture("1 + a 8\n"
                 "10..20 op aten::mm seq=1\n"
                 "30..40 node MmBackward0 seq=1 thread=2\n"
                 "50..60 op aten::mm seq=2\n"
                 "70..80 node MmBackward0 seq=2 thread=2\n");
    CHECK_EQ_U64(s->analysis.passes.count, 2);
    CHECK_EQ_TEXT(op_name(s->analysis.forward[profile_find_op(s, "autograd::engine::evaluate_function: MmBackward0", 1)]), "aten::mm");
    CHECK_EQ_I64(
        s->analysis.ops[s->analysis.forward[profile_find_op(s, "autograd::engine::evaluate_function: MmBackward0", 1)]].at.start_ns,
        50 * US);
    close_picture();
}

/* ---- kinds of blocks ---- */

static void batch_blocks_appear_after_the_fetch(void) {
    open_picture("100..200 note enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__\n"
                 "  110..150 op aten::stack\n"
                 "    120 + inputs 1000\n"
                 "  160 + index 64\n"
                 "  170 - index\n"
                 "  180 + last 300\n"
                 "200 - last\n"
                 "300 - inputs\n");
    const oc_block *inputs = profile_block(s, 1000, 0);
    CHECK_EQ_I64(inputs->kind, OC_BLOCK_BATCH);
    CHECK_EQ_I64(inputs->birth_ns, 200 * US);
    CHECK_EQ_I64(inputs->is_scratch, 0);
    CHECK_EQ_I64(profile_block(s, 64, 0)->is_scratch, 1);
    CHECK_EQ_I64(profile_block(s, 300, 0)->is_scratch, 1); /* gone when the fetch ends */
    close_picture();
}

static void blocks_made_before_the_loop(void) {
    open_picture("10 + weight 1000\n"
                 "20 + init 2000\n"
                 "30 - init\n"
                 "40 + first_batch 3000\n"
                 "100..150 note Optimizer.zero_grad#SGD.zero_grad\n"
                 "160 - first_batch\n"
                 "170 + out 4000\n");
    CHECK_EQ_I64(profile_block(s, 1000, 0)->kind, OC_BLOCK_BUILT);
    CHECK_EQ_I64(profile_block(s, 1000, 0)->is_scratch, 0);
    CHECK_EQ_I64(profile_block(s, 1000, 0)->phase, OC_PHASE_PARAMETERS);
    CHECK_EQ_I64(profile_block(s, 2000, 0)->is_scratch, 1); /* the model moves to the device when it is complete */
    CHECK_EQ_I64(profile_block(s, 3000, 0)->kind, OC_BLOCK_TENSOR);
    CHECK_EQ_I64(profile_block(s, 3000, 0)->is_scratch, 0);
    CHECK_EQ_I64(profile_block(s, 4000, 0)->kind, OC_BLOCK_TENSOR);
    close_picture();
}

static void blocks_made_by_the_step(void) {
    open_picture("100..200 note Optimizer.step#Adam.step\n110 + mean 1000\n120 + temporary 2000\n130 - temporary\n250 + other 3000\n");
    CHECK_EQ_I64(profile_block(s, 1000, 0)->kind, OC_BLOCK_STEP);
    CHECK_EQ_I64(profile_block(s, 1000, 0)->phase, OC_PHASE_STEP);
    CHECK_EQ_I64(profile_block(s, 2000, 0)->kind, OC_BLOCK_STEP);
    CHECK_EQ_I64(profile_block(s, 3000, 0)->kind, OC_BLOCK_TENSOR);
    close_picture();
}

static void blocks_know_their_iteration(void) {
    open_picture("10 + a 100\n50..60 node A seq=1\n100..150 note Optimizer.step#SGD.step\n200 + b 200\n250..260 node A seq=2\n"
                 "300..350 note Optimizer.step#SGD.step\n400 + c 300\n");
    CHECK_EQ_U64(profile_block(s, 100, 0)->iteration, 0);
    CHECK_EQ_U64(profile_block(s, 200, 0)->iteration, 1);
    CHECK_EQ_U64(profile_block(s, 300, 0)->iteration, 1);
    close_picture();
}

/* ---- annotations ---- */

static void the_optimizer_is_named_by_its_annotation(void) {
    open_picture("1 + a 8\n"
                 "10..20 note Optimizer.step#AdamW.step\n"
                 "30..40 note Optimizer.step#AdamW.step\n"
                 "50..60 note Optimizer.step#SGD.step\n");
    CHECK_EQ_TEXT(oc_intern_text(s->names, s->analysis.optimizer, NULL), "AdamW");
    CHECK_EQ_TEXT(oc_intern_text(s->names, s->analysis.other_optimizer, NULL), "SGD");
    CHECK_EQ_U64(s->analysis.steps.count, 3);
    close_picture();
    open_picture("1 + a 8\n10..20 note Optimizer.step#Lion\n");
    CHECK_EQ_TEXT(oc_intern_text(s->names, s->analysis.optimizer, NULL), "Lion");
    CHECK_EQ_U64(s->analysis.other_optimizer, 0);
    close_picture();
    open_picture("1 + a 8\n10..20 note Optimizer.zero_grad#SGD.zero_grad\n");
    CHECK_EQ_U64(s->analysis.optimizer, 0);
    close_picture();
}

static void nested_annotations_are_one_window(void) {
    open_picture("1 + a 8\n"
                 "10..50 note Optimizer.step#AdamW.step\n"
                 "20..30 note Optimizer.step#SGD.step\n"
                 "40..60 note Optimizer.step#AdamW.step\n");
    if (CHECK_EQ_U64(s->analysis.steps.count, 1)) {
        CHECK_EQ_I64(s->analysis.steps.items[0].start_ns, 10 * US);
        CHECK_EQ_I64(s->analysis.steps.items[0].end_ns, 60 * US);
    }
    close_picture();
}

static void windows_are_found_by_time(void) {
    oc_window items[] = {{10, 20}, {30, 40}, {50, 50}};
    oc_windows windows = {items, 3};
    CHECK(!oc_windows_find(&windows, 9));
    CHECK(oc_windows_find(&windows, 10) == &items[0]);
    CHECK(oc_windows_find(&windows, 20) == &items[0]);
    CHECK(!oc_windows_find(&windows, 21));
    CHECK(oc_windows_find(&windows, 35) == &items[1]);
    CHECK(oc_windows_find(&windows, 50) == &items[2]);
    CHECK(!oc_windows_find(&windows, 51));
    CHECK(oc_windows_after(&windows, 9) == &items[0]);
    CHECK(oc_windows_after(&windows, 10) == &items[1]); /* that starts after, not at */
    CHECK(oc_windows_after(&windows, 29) == &items[1]);
    CHECK(oc_windows_after(&windows, 49) == &items[2]);
    CHECK(!oc_windows_after(&windows, 50));
    CHECK(!oc_windows_before(&windows, 10));
    CHECK(!oc_windows_before(&windows, 20)); /* that ends before, not at */
    CHECK(oc_windows_before(&windows, 21) == &items[0]);
    CHECK(oc_windows_before(&windows, 40) == &items[0]);
    CHECK(oc_windows_before(&windows, 41) == &items[1]);
    CHECK(oc_windows_before(&windows, 50) == &items[1]);
    CHECK(oc_windows_before(&windows, 51) == &items[2]);
    windows.count = 0;
    CHECK(!oc_windows_before(&windows, 51));
    CHECK(!oc_windows_find(&windows, 10));
    CHECK(!oc_windows_after(&windows, 10));
}

static void without_memory_it_fails(void) {
    char *picture = profile_job_new(4, 2, 0);
    open_picture(picture);
    int failures = 0, successes = 0;
    for (size_t limit = 0; limit < 200000; limit += 3000) { /* again from the records, within ever larger budgets */
        oc_budget budget = {limit, 0, 0};
        oc_arena arena, scratch;
        oc_arena_init(&arena, &budget);
        oc_arena_init(&scratch, &budget);
        oc_error error = {0};
        oc_analysis *analysis = calloc(1, sizeof *analysis);
        oc_job *job = calloc(1, sizeof *job);
        if (!analysis || !job)
            abort();
        oc_status status = oc_analyze(analysis, s->trace, s->names, &arena, &scratch, &error);
        if (status == OC_OK)
            status = oc_job_read(job, analysis, &arena, &scratch, &error);
        if (status == OC_OK) {
            successes++;
            CHECK_EQ_U64(analysis->block_count, s->analysis.block_count);
            CHECK_EQ_U64(job->parameter_count, s->job.parameter_count);
        } else {
            failures++;
            CHECK_EQ_I64(status, OC_MEMORY);
            CHECK_EQ_I64(error.status, OC_MEMORY);
        }
        oc_arena_close(&arena);
        oc_arena_close(&scratch);
        free(analysis);
        free(job);
    }
    CHECK(failures > 0 && successes > 0);
    close_picture();
    free(picture);
}

CHECK_MAIN(CHECK_TEST(memory_is_paired_by_address), CHECK_TEST(the_order_in_the_file_does_not_matter),
           CHECK_TEST(at_one_time_the_recording_order_decides), CHECK_TEST(a_missing_free_is_assumed),
           CHECK_TEST(frees_of_older_memory_are_counted), CHECK_TEST(another_thread_may_free), CHECK_TEST(every_address_is_one),
           CHECK_TEST(many_blocks_keep_their_addresses_apart), CHECK_TEST(the_busiest_process_is_looked_at),
           CHECK_TEST(threads_of_one_process_are_no_processes), CHECK_TEST(blocks_know_their_operators_and_module),
           CHECK_TEST(blocks_know_the_classes_around_them), CHECK_TEST(backward_blocks_know_their_forward_operator),
           CHECK_TEST(what_dies_inside_its_producer_is_scratch), CHECK_TEST(what_leaves_the_inner_operator_is_not_scratch),
           CHECK_TEST(phases_follow_the_annotations), CHECK_TEST(iterations_end_with_the_steps),
           CHECK_TEST(steps_of_one_pass_are_one_iteration),
           CHECK_TEST(a_step_with_a_closure_begins_after_its_passes), CHECK_TEST(a_last_mark_without_a_pass_is_none),
           CHECK_TEST(iterations_begin_with_the_marks), CHECK_TEST(marks_that_touch_are_two_iterations),
           CHECK_TEST(without_optimizer_iterations_end_with_the_passes), CHECK_TEST(without_training_there_is_one_iteration),
           CHECK_TEST(the_loop_begins_with_the_first_sign_of_it), CHECK_TEST(the_profile_begins_and_ends_with_its_events),
           CHECK_TEST(a_pass_has_falling_sequence_numbers), CHECK_TEST(a_step_ends_a_pass), CHECK_TEST(passes_may_run_on_their_own_thread),
           CHECK_TEST(batch_blocks_appear_after_the_fetch), CHECK_TEST(blocks_made_before_the_loop), CHECK_TEST(blocks_made_by_the_step),
           CHECK_TEST(blocks_know_their_iteration), CHECK_TEST(the_optimizer_is_named_by_its_annotation),
           CHECK_TEST(nested_annotations_are_one_window), CHECK_TEST(windows_are_found_by_time), CHECK_TEST(without_memory_it_fails))

/* Which blocks of the CPU run exist on CUDA. Expected sizes from gpu-memory-rules.md 14, 15 and op-level-truth.md 4. */
#include "check.h"
#include "profile_text.h"

enum { US = 1000 };

static profile_subject *s;

static void open_picture(const char *picture) {
    s = profile_subject_open(picture, NULL, NULL);
}

static void close_picture(void) {
    profile_subject_close(s);
}

static const oc_decision *decision(int64_t bytes, uint32_t n) {
    return &s->subject.decisions[profile_block(s, bytes, n) - s->analysis.blocks];
}

static const char *rule(int64_t bytes, uint32_t n) {
    return oc_rules_at(decision(bytes, n)->rule)->name;
}

static void check_kept(int64_t bytes, uint32_t n) {
    const oc_decision *d = decision(bytes, n);
    CHECK_EQ_I64(d->is_dropped, 0);
    CHECK_EQ_TEXT(rule(bytes, n), "as recorded");
    CHECK_EQ_U64(d->multiplier, 1);
    CHECK_EQ_U64(d->divisor, 1);
    CHECK_EQ_I64(d->death_ns, profile_block(s, bytes, n)->death_ns);
}

static void check_dropped(int64_t bytes, uint32_t n, const char *name) {
    CHECK_EQ_I64(decision(bytes, n)->is_dropped, 1);
    CHECK_EQ_TEXT(rule(bytes, n), name);
}

static void the_table_is_complete(void) {
    size_t count = 0;
    for (; oc_rules_at(count); count++)
        CHECK(oc_rules_at(count)->name[0] && oc_rules_at(count)->source[0]);
    CHECK(count >= 7);
    CHECK_EQ_TEXT(oc_rules_at(0)->name, "as recorded");
    CHECK(!oc_rules_at(SIZE_MAX));
}

static void scratch_is_dropped(void) {
    open_picture("10..90 op aten::conv2d\n  20 + out 1000\n  30 + column 500\n  40 - column\n95 - out\n");
    check_kept(1000, 0);
    check_dropped(500, 0, "CPU scratch");
    close_picture();
}

static void wrapped_numbers_are_dropped(void) {
    open_picture("10 + number 8\n"
                 "11 + small 4\n"
                 "12 + nine 9\n"
                 "20..30 op aten::mean\n"
                 "  25 + mean 4\n"
                 "40..50 op aten::ones_like\n"
                 "  45 + one 8\n");
    check_dropped(8, 0, "wrapped number");
    check_dropped(4, 0, "wrapped number");
    check_kept(9, 0);
    check_kept(4, 1); /* the result of an operator is real: 512 bytes on CUDA */
    check_kept(8, 1);
    close_picture();
}

static void casts_of_numbers_inside_an_operator_are_dropped(void) {
    open_picture("10..50 op aten::div\n  15..30 op aten::to\n    16..29 op aten::_to_copy\n      20 + number 4\n  40 + out 2048\n48 - number\n"
                 "60..70 op aten::to\n  61..69 op aten::_to_copy\n    65 + mine 4\n"); /* a cast that the program asked for is real */
    check_dropped(4, 0, "wrapped number");
    check_kept(2048, 0);
    check_kept(4, 1);
    close_picture();
}

/* bfloat16 with float, half summed in float: CUDA's kernels convert element by element. A cast that outlives the operator is real. */
static void casts_to_a_common_type_are_dropped(void) {
    open_picture("10..50 op aten::add_\n  15..30 op aten::to\n    16..29 op aten::_to_copy\n      20 + wide 4096\n  45 - wide\n"
                 "60..90 op aten::sum dims=[[64,64],[],[],[]] types=[\"c10::BFloat16\",\"ScalarList\",\"Scalar\",\"\"]\n  61..69 op aten::to\n    62..68 op aten::_to_copy\n      65 + float 8192\n  80 + out 64\n  85 - float\n"
                 "100..150 op aten::mul\n  115..130 op aten::to\n    116..129 op aten::_to_copy\n      120 + kept 5000\n160 - kept\n"
                 "170..190 op aten::sum dims=[[64,64]] types=[\"bool\"]\n  171..179 op aten::to\n    172..178 op aten::_to_copy\n      175 + whole 7000\n  185 - whole\n"
                 "200..250 op aten::linear\n  215..230 op aten::to\n    216..229 op aten::_to_copy\n      220 + autocast 6000\n  249 - autocast\n");
    check_dropped(4096, 0, "cast inside");
    check_dropped(8192, 0, "cast inside");
    check_kept(64, 0);
    check_kept(5000, 0);
    check_kept(6000, 0);
    check_kept(7000, 0); /* a mask is counted in 64-bit numbers: CUDA casts it too */
    close_picture();
}

/* Such as the copies of CopySlices: autograd's own code runs on every device. */
static void what_a_backward_node_makes_itself_is_kept(void) {
    open_picture("100..200 op autograd::engine::evaluate_function:~CopySlices\n  110..190 op CopySlices\n    120 + copy 5000\n    130..150 op aten::mul\n"
                 "      135 + scratch 700\n      140 - scratch\n    180 - copy\n");
    check_kept(5000, 0);
    check_dropped(700, 0, "CPU scratch");
    close_picture();
}

static void what_stays_on_the_host_is_dropped(void) {
    open_picture("10 + images 80000\n"
                 "100..150 note enumerate(DataLoader)#x\n"
                 "  110..120 op aten::select dims=[[100,200],[],[]] types=[\"float\",\"Scalar\",\"Scalar\"]\n"
                 "200..300 note Optimizer.step#Adam.step\n  210..220 op aten::zeros\n    215 + counter 4\n");
    check_dropped(80000, 0, "host memory");
    check_dropped(4, 0, "host memory");
    close_picture();
}

/* ---- attention ---- */

/* Scores [2, 4, 33, 40] of floats: 42,240 bytes. logsumexp on CUDA: 2 * 4 * 64 * 4 = 2,048 bytes, L rounded up to 64. */
static const char attention[] = "90..95 op aten::relu seq=1\n"
                                "100..200 op aten::scaled_dot_product_attention\n"
                                " 105..195 op aten::_scaled_dot_product_attention_math\n"
                                "  106..109 op aten::mul\n"
                                "    107 + scaled_query 10560\n"
                                "  110..120 op aten::matmul seq=5\n"
                                "   111..119 op aten::bmm seq=5\n"
                                "     112 + scores 42240\n"
                                "  125..140 op aten::_safe_softmax\n"
                                "   130..136 op aten::softmax seq=6\n"
                                "    131..135 op aten::_softmax seq=6 dims=[[2,4,33,40],[],[]] types=[\"float\",\"Scalar\",\"Scalar\"]\n"
                                "      133 + softmax 42240\n"
                                "   137..139 op aten::eq\n"
                                "      138 + guard 10561\n"
                                "  141 - scores\n"
                                "  142 - guard\n"
                                "  145..160 op aten::dropout seq=7 dims=[[2,4,33,40],[],[]] types=[\"float\",\"Scalar\",\"Scalar\"]\n"
                                "   146..148 op aten::empty_like\n"
                                "     147 + noise 42240\n"
                                "   150..155 op aten::mul seq=7\n"
                                "     152 + dropped 42240\n"
                                "  165..180 op aten::bmm seq=8\n"
                                "     170 + out 10562\n"
                                "300..320 node BmmBackward0 seq=8\n"
                                "  305 + gdropped 42240\n"
                                "  310 + gvalue 10563\n"
                                "330..340 node MulBackward0 seq=7\n"
                                "  335 + gsoftmax 42240\n"
                                "  338 - noise\n"
                                "350..360 node SoftmaxBackward0 seq=6\n"
                                "  355 + gscores 42240\n"
                                "  356 - gsoftmax\n"
                                "  358 - softmax\n"
                                "370..380 node ReluBackward0 seq=1\n"
                                "  375 + other 42240\n";

static void attention_never_makes_its_scores(void) {
    open_picture(attention);
    /* of the scores' size, in order: scores, softmax, noise, dropped, gdropped, gsoftmax, gscores, other */
    check_dropped(42240, 0, "attention without scores");
    check_dropped(42240, 2, "attention without scores");
    check_dropped(42240, 3, "attention without scores");
    check_dropped(42240, 4, "attention without scores"); /* backward, by the forward operator of its node */
    check_dropped(42240, 5, "attention without scores");
    check_dropped(42240, 6, "attention without scores");
    check_kept(42240, 7);                                /* the same size, but its forward operator is not in attention */
    check_dropped(10561, 0, "attention without scores"); /* of the guarded softmax, of whatever size */
    check_kept(10560, 0);                                /* other results inside */
    check_kept(10562, 0);
    check_kept(10563, 0);
    close_picture();
}

static void the_softmax_becomes_a_logsumexp(void) {
    open_picture(attention);
    const oc_decision *softmax = decision(42240, 1);
    CHECK_EQ_I64(softmax->is_dropped, 0);
    CHECK_EQ_TEXT(rule(42240, 1), "attention statistics");
    CHECK_EQ_I64(42240 * (int64_t)softmax->multiplier % softmax->divisor, 0);
    CHECK_EQ_I64(42240 * (int64_t)softmax->multiplier / softmax->divisor, 2048);
    CHECK_EQ_I64(softmax->death_ns, 358 * US);
    close_picture();
}

static void a_softmax_that_is_not_saved_leaves_nothing(void) {
    open_picture("100..200 op aten::_scaled_dot_product_attention_math\n"
                 "  110..120 op aten::bmm\n    115 + scores 42240\n"
                 "  130..136 op aten::_softmax dims=[[2,4,33,40],[],[]] types=[\"float\",\"Scalar\",\"Scalar\"]\n"
                 "    133 + softmax 42240\n"
                 "  150..160 op aten::bmm\n    155 + out 10562\n"
                 "  190 - softmax\n"
                 "210..220 op aten::_softmax\n    215 + classes 42240\n"); /* a softmax outside attention */
    check_dropped(42240, 0, "attention without scores");
    check_dropped(42240, 1, "attention without scores");
    check_kept(42240, 2);
    close_picture();
}

static void without_its_shape_the_softmax_is_dropped(void) {
    open_picture("100..200 op aten::_scaled_dot_product_attention_math\n"
                 "  110..120 op aten::bmm\n    115 + scores 42240\n"
                 "  130..136 op aten::_softmax\n"
                 "    133 + softmax 42240\n"
                 "  150..160 op aten::bmm\n    155 + out 10562\n"
                 "300 - softmax\n");
    check_dropped(42240, 1, "attention without scores");
    close_picture();
}

/* As many keys as a head has channels: queries, output and their gradients have the scores' size. What is made before the first product
 * or by the second one is no score; of the second product's node the first result is the weights' gradient, the second that of v. */
static void sizes_alone_make_no_scores(void) {
    open_picture("90..99 op aten::relu\n  95 + before 8000\n"
                 "100..200 op aten::_scaled_dot_product_attention_math\n"
                 "  106..109 op aten::mul seq=4\n    107 + query 8000\n"
                 "  110..120 op aten::bmm seq=5\n    112 + scores 8000\n"
                 "  131..135 op aten::_softmax seq=6 dims=[[50,40],[],[]] types=[\"float\",\"Scalar\",\"Scalar\"]\n    133 + softmax 8000\n"
                 "  165..180 op aten::bmm seq=7\n    170 + out 8000\n"
                 "300..320 node BmmBackward0 seq=7\n  305 + gsoftmax 8000\n  310 + gvalue 8000\n"
                 "350..360 node SoftmaxBackward0 seq=6\n  355 + gscores 8000\n  358 - softmax\n"
                 "370..380 node BmmBackward0 seq=5\n  372 + gquery 8000\n  374 + gkey 8000\n"
                 "390..395 node MulBackward0 seq=4\n  392 + gscaled 8000\n");
    static const char kinds[] = "kkdskdkdkkk"; /* kept, dropped, shrunk: before, query, scores, softmax, out, gsoftmax, gvalue, gscores ... */
    for (uint32_t i = 0; kinds[i]; i++) {
        check_context("block %u", i);
        if (kinds[i] == 'k')
            check_kept(8000, i);
        else if (kinds[i] == 'd')
            check_dropped(8000, i, "attention without scores");
        else
            CHECK_EQ_TEXT(rule(8000, i), "attention statistics");
    }
    check_context("%s", "");
    close_picture();
}

/* Two calls in one model: a block of the one's scores' size is none of the other's. */
static void scores_belong_to_their_own_call(void) {
    open_picture("100..200 op aten::_scaled_dot_product_attention_math\n"
                 "  110..120 op aten::bmm\n    112 + scores 8000\n"
                 "  130..135 op aten::_softmax\n    133 + softmax 8000\n"
                 "  140..145 op aten::add\n    142 + inner 6000\n"
                 "  150..160 op aten::bmm\n    155 + out 500\n"
                 "300..400 op aten::_scaled_dot_product_attention_math\n"
                 "  310..320 op aten::bmm\n    312 + scores2 6000\n"
                 "  330..335 op aten::_softmax\n    333 + softmax2 6000\n"
                 "  340..345 op aten::add\n    342 + inner2 8000\n"
                 "  350..360 op aten::bmm\n    355 + out2 600\n");
    check_dropped(8000, 0, "attention without scores");
    check_kept(6000, 0);
    check_dropped(6000, 1, "attention without scores");
    check_kept(8000, 2);
    close_picture();
}

/* The CPU's fused kernel; the model copies its transposed output. */
#define FLASH(between, out_death, copy_death)                                                                                              \
    "100..150 op aten::_scaled_dot_product_flash_attention_for_cpu\n"                                                                      \
    "  110 + out 8000\n"                                                                                                                   \
    "  112 + logsumexp 400\n"                                                                                                              \
    "  115 + buffer 900\n"                                                                                                                 \
    "  120 - buffer\n" between "180..190 op aten::clone\n"                                                                                 \
    "  181..183 op aten::empty_like\n"                                                                                                     \
    "    182 + copy 8000\n" out_death " - out\n" copy_death " - copy\n"

static void flash_output_and_its_copy_are_one(void) {
    open_picture(FLASH("", "300", "400"));
    CHECK_EQ_I64(decision(8000, 0)->is_dropped, 0);
    CHECK_EQ_TEXT(rule(8000, 0), "attention output layout");
    CHECK_EQ_I64(decision(8000, 0)->death_ns, 400 * US); /* the later of both */
    check_dropped(8000, 1, "attention output layout");
    check_kept(400, 0);
    close_picture();
    open_picture(FLASH("", "500", "400"));
    CHECK_EQ_I64(decision(8000, 0)->death_ns, 500 * US);
    check_dropped(8000, 1, "attention output layout");
    close_picture();
}

static void a_copy_further_away_is_another_tensor(void) {
    /* logsumexp and one more surviving block: the copy is the third */
    open_picture(FLASH("160..165 op aten::add\n  162 + one 7000\n", "300", "400"));
    check_dropped(8000, 1, "attention output layout");
    close_picture();
    open_picture(FLASH("160..165 op aten::add\n  162 + one 7000\n  163 + two 7001\n", "300", "400"));
    check_kept(8000, 0);
    check_kept(8000, 1);
    close_picture();
}

static void only_a_clone_of_the_same_size_is_the_copy(void) {
    open_picture("100..150 op aten::_scaled_dot_product_flash_attention_for_cpu\n"
                 "  110 + out 8000\n"
                 "180..190 op aten::add\n"
                 "  182 + sum 8000\n"
                 "191..192 op aten::clone\n"
                 "  191.5 + other 7999\n");
    check_kept(8000, 0);
    check_kept(8000, 1);
    check_kept(7999, 0);
    close_picture();
}

/* ---- dropout ---- */

static void check_dropout(const char *types, int64_t bytes, int64_t mask_bytes) {
    char picture[600];
    check_context("%s", types);
    (void)snprintf(picture, sizeof picture,
                   "100..200 op aten::dropout dims=[[250],[],[]] %s\n"
                   "  110..120 op aten::empty_like\n    115 + noise %d\n"
                   "  130..150 op aten::bernoulli_\n    135 + integers 777\n    140 - integers\n"
                   "  160..170 op aten::mul\n    165 + out %d\n"
                   "300 - noise\n",
                   types, (int)bytes, (int)bytes);
    open_picture(picture);
    const oc_decision *noise = decision(bytes, 0);
    CHECK_EQ_I64(noise->is_dropped, 0);
    CHECK_EQ_TEXT(rule(bytes, 0), "dropout mask");
    CHECK_EQ_I64(bytes * (int64_t)noise->multiplier / noise->divisor, mask_bytes);
    CHECK_EQ_I64(noise->death_ns, 300 * US);
    check_kept(bytes, 1);
    check_dropped(777, 0, "CPU scratch");
    close_picture();
    check_context("%s", "");
}

static void dropout_keeps_a_byte_per_element(void) {
    check_dropout("types=[\"float\",\"Scalar\",\"Scalar\"]", 1000, 250);
    check_dropout("types=[\"c10::Half\",\"Scalar\",\"Scalar\"]", 500, 250);
    check_dropout("types=[\"c10::BFloat16\",\"Scalar\",\"Scalar\"]", 500, 250);
    check_dropout("types=[\"double\",\"Scalar\",\"Scalar\"]", 2000, 250);
    check_dropout("", 1000, 250); /* without types a float */
}

static void without_memory_nothing_is_decided(void) {
    open_picture(attention);
    oc_budget small = {100, 0, 0};
    oc_arena arena;
    oc_arena_init(&arena, &small);
    CHECK(!oc_rules_decide(&s->analysis, &s->job, &arena, &s->scratch));
    CHECK(!oc_rules_decide(&s->analysis, &s->job, &s->arena, &arena));
    oc_arena_close(&arena);
    close_picture();
}

CHECK_MAIN(CHECK_TEST(casts_to_a_common_type_are_dropped), CHECK_TEST(the_table_is_complete), CHECK_TEST(scratch_is_dropped), CHECK_TEST(wrapped_numbers_are_dropped),
           CHECK_TEST(casts_of_numbers_inside_an_operator_are_dropped),
           CHECK_TEST(what_a_backward_node_makes_itself_is_kept), CHECK_TEST(what_stays_on_the_host_is_dropped), CHECK_TEST(attention_never_makes_its_scores),
           CHECK_TEST(the_softmax_becomes_a_logsumexp), CHECK_TEST(a_softmax_that_is_not_saved_leaves_nothing),
           CHECK_TEST(without_its_shape_the_softmax_is_dropped), CHECK_TEST(sizes_alone_make_no_scores),
           CHECK_TEST(scores_belong_to_their_own_call), CHECK_TEST(flash_output_and_its_copy_are_one),
           CHECK_TEST(a_copy_further_away_is_another_tensor), CHECK_TEST(only_a_clone_of_the_same_size_is_the_copy),
           CHECK_TEST(dropout_keeps_a_byte_per_element), CHECK_TEST(without_memory_nothing_is_decided))

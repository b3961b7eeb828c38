/* What an operator's name tells. */
#include "check.h"
#include "opclass.h"

static void names_have_their_classes(void) {
    static const struct {
        const char *name;
        uint32_t bits;
    } cases[] = {
        {"aten::empty", OC_CLASS_FACTORY},
        {"aten::empty_strided", OC_CLASS_FACTORY},
        {"aten::resize_", OC_CLASS_FACTORY},
        {"aten::zeros_like", OC_CLASS_FACTORY | OC_CLASS_FULL_LIKE},
        {"aten::full_like", OC_CLASS_FACTORY | OC_CLASS_FULL_LIKE},
        {"aten::ones_like", OC_CLASS_FACTORY},
        {"autograd::engine::evaluate_function: AddmmBackward0", OC_CLASS_NODE},
        {"autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", OC_CLASS_NODE},
        {"torch::autograd::AccumulateGrad", OC_CLASS_ACCUMULATE},
        {"aten::addmm", OC_CLASS_MATMUL | OC_CLASS_ADDMM},
        {"aten::mm", OC_CLASS_MATMUL},
        {"aten::bmm", OC_CLASS_MATMUL},
        {"aten::dropout", OC_CLASS_DROPOUT},
        {"aten::mul", OC_CLASS_MUL | OC_CLASS_POINTWISE},
        {"aten::mul_", OC_CLASS_MUL_IN_PLACE | OC_CLASS_POINTWISE},
        {"aten::add", OC_CLASS_ADD | OC_CLASS_POINTWISE},
        {"aten::_softmax", OC_CLASS_SOFTMAX},
        {"aten::_safe_softmax", OC_CLASS_SAFE_SOFTMAX},
        {"aten::clone", OC_CLASS_CLONE},
        {"aten::_scaled_dot_product_attention_math", OC_CLASS_ATTENTION_MATH},
        {"aten::_scaled_dot_product_flash_attention_for_cpu", OC_CLASS_ATTENTION_FLASH},
        {"aten::batch_norm", OC_CLASS_BATCH_NORM},
        {"aten::embedding", OC_CLASS_EMBEDDING},
        {"aten::embedding_dense_backward", OC_CLASS_EMBEDDING_BACKWARD},
        {"aten::_index_put_impl_", OC_CLASS_INDEX_PUT},
        {"aten::sort", OC_CLASS_NO_RULE},
        {"aten::_fft_r2c", OC_CLASS_NO_RULE},
        {"aten::convolution", OC_CLASS_CONVOLUTION},
        {"aten::linear", OC_CLASS_LINEAR},
        {"aten::layer_norm", OC_CLASS_NORM},
        {"aten::group_norm", OC_CLASS_NORM},
        {"aten::maximum", OC_CLASS_MAXIMUM | OC_CLASS_POINTWISE},
        {"aten::lerp_", OC_CLASS_LERP_IN_PLACE | OC_CLASS_POINTWISE},
        {"aten::lstm", OC_CLASS_RECURRENT},
        {"aten::gru", OC_CLASS_RECURRENT},
        {"aten::rnn_tanh", OC_CLASS_RECURRENT},
        {"aten::rnn_relu", OC_CLASS_RECURRENT},
        {"Torch-Compiled Region: 0/0", OC_CLASS_COMPILED},
        {"CompiledFunction", OC_CLASS_COMPILED},
        {"CompiledFunctionBackward", OC_CLASS_COMPILED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check_context("%s", cases[i].name);
        CHECK_EQ_U64(oc_opclass_of(cases[i].name), cases[i].bits);
    }
}

static void other_names_have_none(void) {
    static const char *const names[] = {
        "",    "aten::",         "aten::relu",       "aten::empty_",  "aten::native_dropout",           "aten::silu",
        "mul", "AddmmBackward0", "autograd::engine", "aten::softmax", "aten::embedding_backward", "aten::contiguous"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        check_context("%s", names[i]);
        CHECK_EQ_U64(oc_opclass_of(names[i]), 0);
    }
}

CHECK_MAIN(CHECK_TEST(names_have_their_classes), CHECK_TEST(other_names_have_none))

/* The table of operator names. */
#include "opclass.h"

#include <string.h>

static const struct {
    const char *name;
    uint32_t bits;
} table[] = {
    {"aten::empty", OC_CLASS_FACTORY},
    {"aten::empty_like", OC_CLASS_FACTORY},
    {"aten::empty_strided", OC_CLASS_FACTORY},
    {"aten::resize_", OC_CLASS_FACTORY},
    {"aten::zeros", OC_CLASS_FACTORY},
    {"aten::zeros_like", OC_CLASS_FACTORY | OC_CLASS_FULL_LIKE},
    {"aten::ones", OC_CLASS_FACTORY},
    {"aten::ones_like", OC_CLASS_FACTORY},
    {"aten::full", OC_CLASS_FACTORY},
    {"aten::full_like", OC_CLASS_FACTORY | OC_CLASS_FULL_LIKE},
    {"aten::new_empty", OC_CLASS_FACTORY},
    {"aten::new_zeros", OC_CLASS_FACTORY},
    {"aten::new_empty_strided", OC_CLASS_FACTORY},
    {"aten::as_strided_", OC_CLASS_FACTORY},
    {"aten::zero_", OC_CLASS_FACTORY},
    {"torch::autograd::AccumulateGrad", OC_CLASS_ACCUMULATE},
    {"aten::addmm", OC_CLASS_MATMUL | OC_CLASS_ADDMM},
    {"aten::mm", OC_CLASS_MATMUL},
    {"aten::bmm", OC_CLASS_MATMUL},
    {"aten::baddbmm", OC_CLASS_MATMUL},
    {"aten::addbmm", OC_CLASS_MATMUL},
    {"aten::mv", OC_CLASS_MATMUL},
    {"aten::addmv", OC_CLASS_MATMUL},
    {"aten::_addmm_activation", OC_CLASS_MATMUL},
    {"aten::convolution", OC_CLASS_CONVOLUTION},
    {"aten::linear", OC_CLASS_LINEAR},
    {"aten::layer_norm", OC_CLASS_NORM},
    {"aten::group_norm", OC_CLASS_NORM},
    {"aten::to", OC_CLASS_CAST},
    {"aten::_to_copy", OC_CLASS_CAST},
    {"aten::sum", OC_CLASS_REDUCTION},
    {"aten::mean", OC_CLASS_REDUCTION},
    {"aten::amax", OC_CLASS_REDUCTION},
    {"aten::amin", OC_CLASS_REDUCTION},
    {"aten::linalg_vector_norm", OC_CLASS_VECTOR_NORM},
    {"aten::max", OC_CLASS_EXTREMUM},
    {"aten::min", OC_CLASS_EXTREMUM},
    {"aten::maximum", OC_CLASS_MAXIMUM},
    {"aten::lstm", OC_CLASS_RECURRENT},
    {"aten::gru", OC_CLASS_RECURRENT},
    {"aten::rnn_tanh", OC_CLASS_RECURRENT},
    {"aten::rnn_relu", OC_CLASS_RECURRENT},
    {"aten::lerp_", OC_CLASS_LERP_IN_PLACE},
    {"aten::dropout", OC_CLASS_DROPOUT},
    {"aten::mul", OC_CLASS_MUL},
    {"aten::mul_", OC_CLASS_MUL_IN_PLACE},
    {"aten::add", OC_CLASS_ADD},
    {"aten::_softmax", OC_CLASS_SOFTMAX},
    {"aten::_safe_softmax", OC_CLASS_SAFE_SOFTMAX},
    {"aten::clone", OC_CLASS_CLONE},
    {"aten::_scaled_dot_product_attention_math", OC_CLASS_ATTENTION_MATH},
    {"aten::_scaled_dot_product_flash_attention_for_cpu", OC_CLASS_ATTENTION_FLASH},
    {"aten::batch_norm", OC_CLASS_BATCH_NORM},
    {"aten::embedding", OC_CLASS_EMBEDDING},
    {"aten::embedding_dense_backward", OC_CLASS_EMBEDDING_BACKWARD},
    {"aten::_index_put_impl_", OC_CLASS_INDEX_PUT},
};

uint32_t oc_opclass_of(const char *name) {
    if (strncmp(name, "autograd::engine::evaluate_function", 35) == 0)
        return OC_CLASS_NODE;
    if (strncmp(name, "CompiledFunction", 16) == 0 || strncmp(name, "Torch-Compiled Region", 21) == 0)
        return OC_CLASS_COMPILED;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (strcmp(table[i].name, name) == 0)
            return table[i].bits;
    return 0;
}

/* The table. Read in torch.optim of PyTorch 2.4, 2.6 and 2.13 (the file named in each row): the foreach temporaries are what the
 * _multi_tensor_* function keeps alive at once, the loop's what the _single_tensor_* function makes anew per parameter, with default
 * arguments and neither capturable nor differentiable. */
#include "optimizers.h"

#include <strings.h>

static const oc_optimizer table[] = {
    /* name, state, factored, built, foreach, decay, loop, fused, default, plain multiplications, lerp, maximum */
    {"SGD", 0, 0, 0, 0, 1, 0, 1, 1, 0, 0, 0, "sgd.py: adds the gradients in place; momentum keeps one copy, weight decay makes one"},
    {"SGD+momentum", 1, 0, 0, 0, 1, 0, 1, 1, -1, 0, 0, "sgd.py: the first step clones the gradients"},
    {"Adam", 2, 0, 0, 1, 0, 2, 1, 1, -1, 0, 1, "adam.py: exp_avg, exp_avg_sq; _foreach_sqrt is a copy, decayed gradients are deleted before it"},
    {"Adam+amsgrad", 3, 0, 0, 1, 0, 2, 1, 1, -1, 0, 0, "adam.py: max_exp_avg_sq besides"},
    {"AdamW", 2, 0, 0, 1, 0, 2, 1, 1, -1, 0, 1, "adamw.py: as Adam; decay multiplies the parameters in place"},
    {"AdamW+amsgrad", 3, 0, 0, 1, 0, 2, 1, 1, -1, 0, 0, "adamw.py: max_exp_avg_sq besides"},
    {"NAdam", 2, 0, 0, 1, 1, 2, 0, 1, -1, 0, 0, "nadam.py: exp_avg, exp_avg_sq; _foreach_sqrt is a copy, decayed gradients another"},
    {"RAdam", 2, 0, 0, 1, 0, 3, 0, 1, -1, 0, 0, "radam.py: exp_avg, exp_avg_sq; _foreach_sqrt is a copy, decayed gradients are deleted before it"},
    {"Adamax", 2, 0, 0, 1, 0, 1, 0, 1, -1, 0, 0, "adamax.py: exp_avg, exp_inf; _foreach_abs of the gradients is a copy"},
    {"Adadelta", 2, 0, 0, 2, 1, 2, 0, 1, -1, 0, 0, "adadelta.py: square_avg, acc_delta; std and deltas are copies, decayed gradients another"},
    {"RMSprop", 1, 0, 0, 1, 1, 1, 0, 1, 1, 1, 0, "rmsprop.py: square_avg; _foreach_sqrt of it is a copy, decayed gradients another"},
    {"Adagrad", 1, 0, 1, 2, 0, 1, 1, 1, -1, 0, 0, "adagrad.py: sum; numerator (in the decayed gradients, if any) and _foreach_sqrt are copies"},
    {"Adafactor", 0, 1, 0, -1, 0, 2, 0, 0, -1, 0, 0, "_adafactor.py and transformers.optimization.Adafactor: row and column means, vectors whole"},
};

const oc_optimizer *oc_optimizer_at(size_t index) {
    return index < sizeof table / sizeof table[0] ? &table[index] : NULL;
}

const oc_optimizer *oc_optimizer_find(const char *name) {
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (strcasecmp(table[i].name, name) == 0)
            return &table[i];
    return NULL;
}

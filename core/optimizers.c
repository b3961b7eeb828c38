/* The table. Read in torch.optim of PyTorch 2.4 to 2.13 (adam.py, sgd.py, rmsprop.py, adagrad.py, _adafactor.py): the foreach
 * temporaries are what the _multi_tensor_* functions keep alive at once with default arguments. */
#include "optimizers.h"

#include <strings.h>

static const oc_optimizer table[] = {
    /* name, state, factored, built, foreach, decay, loop, fused, default */
    {"SGD", 0, 0, 0, 0, 1, 0, 1, 1, "torch.optim.sgd, _multi_tensor_sgd: adds the gradients in place; momentum keeps one copy, weight decay makes one"},
    {"Adam", 2, 0, 0, 1, 0, 2, 1, 1, "torch.optim.adam, _multi_tensor_adam: exp_avg, exp_avg_sq; _foreach_sqrt of exp_avg_sq is a copy, decayed gradients are deleted before it"},
    {"AdamW", 2, 0, 0, 1, 0, 2, 1, 1, "torch.optim.adamw, as Adam; decay multiplies the parameters in place"},
    {"RMSprop", 1, 0, 0, 1, 1, 1, 0, 1, "torch.optim.rmsprop, _multi_tensor_rmsprop: square_avg; _foreach_sqrt of it is a copy, decayed gradients another"},
    {"Adagrad", 1, 0, 1, 2, 0, 1, 1, 1, "torch.optim.adagrad, _multi_tensor_adagrad: sum; numerator (in the decayed gradients, if any) and _foreach_sqrt are copies"},
    {"Adafactor", 0, 1, 0, -1, 0, 2, 0, 0, "transformers.optimization.Adafactor and torch.optim._adafactor: row and column means, vectors whole"},
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

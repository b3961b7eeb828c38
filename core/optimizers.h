/* What each optimizer keeps and borrows on CUDA. Sizes are in copies of the parameters it updates. */
#ifndef OC_OPTIMIZERS_H
#define OC_OPTIMIZERS_H

#include <stddef.h>

typedef struct oc_optimizer {
    const char *name;       /* the class in torch.optim, perhaps with an argument: "SGD+momentum" */
    int state_copies;       /* full-size state tensors per parameter, default arguments */
    int is_factored;        /* row and column statistics instead (Adafactor) for two dimensions and more */
    int is_state_built;     /* by the constructor; else at the first step */
    int foreach_copies;     /* temporaries of the foreach form: of all parameters at once, during a step; -1: no such form */
    int decay_copies;       /* temporaries more with weight decay on the gradient, in either form */
    int loop_copies;        /* temporaries of the loop: new tensors per parameter, one of which lives until the next replaces it */
    int has_fused;          /* a fused form without temporaries exists */
    int is_foreach_default; /* on CUDA */
    int plain_multiplications; /* in-place multiplications per parameter in the loop without momentum; -1: momentum is no option of it */
    int is_lerp_state, is_maximum_state; /* its loop has lerp_, or maximum, only where an argument keeps one more state tensor */
    const char *source;
} oc_optimizer;

/* By name, ignoring case; NULL if unknown. */
const oc_optimizer *oc_optimizer_find(const char *name);

/* The table by index; NULL behind the last. */
const oc_optimizer *oc_optimizer_at(size_t index);

#endif

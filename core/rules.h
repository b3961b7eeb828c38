/* The table of rules: which blocks of the CPU run exist on CUDA, with which bytes and for how long. A rule looks at operators,
 * shapes and lifetimes, never at a model. What no rule touches is kept as recorded: for eager float32 code CPU and CUDA make the
 * same tensors in the same order. */
#ifndef OC_RULES_H
#define OC_RULES_H

#include "job.h"

typedef struct oc_decision {
    uint8_t is_dropped;
    uint8_t rule;         /* index of the rule that decided, 0 for none */
    uint32_t multiplier;  /* bytes on CUDA = recorded bytes * multiplier / divisor; 1 and 1 unless a rule says so */
    uint32_t divisor;
    int64_t death_ns;     /* as recorded unless a rule says so */
} oc_decision;

typedef struct oc_rule {
    const char *name;
    const char *source; /* the CUDA kernel, PyTorch function or measured log behind it */
} oc_rule;

/* The rule of an index, NULL behind the last. Index 0 is "as recorded". */
const oc_rule *oc_rules_at(size_t index);

/* One decision per block of the analysis. NULL if out of memory. */
oc_decision *oc_rules_decide(const oc_analysis *analysis, const oc_job *job, oc_arena *arena, oc_arena *scratch);

#endif

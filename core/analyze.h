/* Records -> blocks with lifetimes, and the times of the job: iterations, backward passes, optimizer steps.
 *
 * A block is what the CPU allocator handed out: from a memory event to the event that frees the same address. Each block knows
 * the operators, the module and the phase around its birth. Invariants: blocks are in order of allocation; all windows in order
 * and do not overlap; indices are valid or OC_NONE. A batch block counts as born when the DataLoader hands it over.
 */
#ifndef OC_ANALYZE_H
#define OC_ANALYZE_H

#include "opclass.h"
#include "trace.h"

#define OC_NEVER INT64_MAX

enum { OC_SCALAR_BYTES = 8 }; /* step counters and wrapped Python numbers are not larger */

typedef enum oc_phase { OC_PHASE_PARAMETERS, OC_PHASE_FORWARD, OC_PHASE_BACKWARD, OC_PHASE_STEP, OC_PHASE_OTHER } oc_phase;

typedef enum oc_block_kind {
    OC_BLOCK_BUILT,  /* made before the training loop: parameters, buffers, data */
    OC_BLOCK_BATCH,  /* made by the DataLoader */
    OC_BLOCK_STEP,   /* made by the optimizer's step */
    OC_BLOCK_TENSOR  /* all others */
} oc_block_kind;

typedef struct oc_block {
    int64_t birth_ns, death_ns; /* OC_NEVER: alive at the end of the profile */
    int64_t bytes;
    uint32_t op;         /* innermost operator at birth, OC_NONE if none */
    uint32_t producer;   /* innermost that is not a factory; the outermost if all are; OC_NONE if none */
    uint32_t forward_op; /* born in backward: the forward operator whose node made it, OC_NONE if unknown */
    uint32_t module;     /* innermost module call at birth; in backward that of the forward operator; OC_NONE if none */
    uint32_t around;     /* OC_CLASS bits of all operators around its birth */
    uint32_t iteration;
    uint8_t kind;        /* oc_block_kind */
    uint8_t phase;       /* oc_phase at birth */
    uint8_t is_scratch;  /* dies inside its producer: a CPU kernel's own workspace */
    uint8_t is_backward; /* born inside the autograd engine */
} oc_block;

typedef struct oc_window {
    int64_t start_ns, end_ns;
} oc_window;

typedef struct oc_windows {
    oc_window *items;
    uint32_t count;
} oc_windows;

typedef struct oc_analysis {
    const oc_trace *trace;
    const oc_interner *names;
    oc_op *ops; /* sorted by oc_nest_sort */
    uint32_t *own;    /* OC_CLASS bits of each operator */
    uint32_t *around; /* of it and all around it */
    uint32_t *forward; /* of a backward node: index of its forward operator, else OC_NONE */
    uint32_t *op_modules; /* innermost module call around each operator's start, OC_NONE if none */
    uint32_t op_count;
    oc_span *modules;
    uint32_t module_count;
    oc_block *blocks;
    uint32_t block_count;
    oc_windows steps, zeros, loads, marks; /* Optimizer.step, Optimizer.zero_grad, DataLoader, ProfilerStep# */
    oc_windows passes;                     /* backward passes */
    uint32_t optimizer; /* class name in Optimizer.step#CLASS.step, interned; 0 if none */
    uint32_t other_optimizer; /* a second class, 0 if none */
    int64_t begin_ns;  /* first event */
    int64_t first_ns;  /* the training loop begins */
    int64_t end_ns;    /* last event */
    int64_t *iteration_starts;
    uint32_t iteration_count;
    oc_warnings warnings;
} oc_analysis;

/* Fills `analysis` (zeroed) from a finished trace. `arena` holds the result, `scratch` may be reset afterwards. */
oc_status oc_analyze(oc_analysis *analysis, const oc_trace *trace, oc_interner *names, oc_arena *arena, oc_arena *scratch,
                     oc_error *error);

/* The window around a time, or NULL. */
const oc_window *oc_windows_find(const oc_windows *windows, int64_t time_ns);

/* The first window that starts after a time, and the last one that ends before it; NULL if there is none. */
const oc_window *oc_windows_after(const oc_windows *windows, int64_t time_ns);
const oc_window *oc_windows_before(const oc_windows *windows, int64_t time_ns);

oc_phase oc_analysis_phase(const oc_analysis *analysis, int64_t time_ns);
uint32_t oc_analysis_iteration(const oc_analysis *analysis, int64_t time_ns);

/* The operator and its ancestors from the inside out: the first whose own class has a bit of `bits`, or OC_NONE. */
uint32_t oc_analysis_find_around(const oc_analysis *analysis, uint32_t op, uint32_t bits);

#endif

/* Small synthetic profiles, drawn as text pictures, and what the core's stages make of them.
 *
 * A picture has one event per line. Times are microseconds, decimals allowed; blanks at the start of a line are free:
 *
 *     0..100   note ProfilerStep#0
 *      10..90  op aten::linear seq=3 dims=[[4,8],[8,8]] types=["float","float"]
 *        20      + weights 512
 *      12..80  module Linear_0
 *      85      - weights
 *
 * Kinds: op (cpu_op), node (the operator of autograd's engine that runs a backward node), gradient (DIMS: a float gradient of
 * that shape reaches its parameter, two operators), note (user_annotation), module (python_function of an nn.Module), frame (any
 * other python_function), + and - (memory events; a block's name stands for an address, the same at each use; a free repeats the
 * bytes of the allocation unless it names its own), raw (the rest of the line is the whole event). Keys: seq dims types strides concrete
 * thread process device. `shift N` adds N microseconds to all times after it. Lines that begin with # are comments. Pictures
 * with mistakes abort: they are the test's own.
 */
#ifndef OC_TESTS_PROFILE_TEXT_H
#define OC_TESTS_PROFILE_TEXT_H

#include "orchestrate.h"

typedef enum profile_layout {
    PROFILE_TORCH_26,  /* as torch 2.6 writes it: an event on five lines */
    PROFILE_TORCH_213, /* as torch 2.13 does: every member on a line of its own */
    PROFILE_COMPACT,   /* all on one line, without blanks */
    PROFILE_INDENT_1,  /* json.dump(indent=1), and so on */
    PROFILE_INDENT_2,
    PROFILE_INDENT_4,
    PROFILE_ARRAY, /* the events alone, as an array */
    PROFILE_LAYOUT_COUNT
} profile_layout;

/* The profile of a picture, NUL-terminated; free() it. `members` are further top-level members such as "\"oomcast\":{}",
 * or NULL; PROFILE_ARRAY has no place for them. */
char *profile_text_new(const char *picture, const char *members, profile_layout layout);

/* The picture of a whole small training job; free() it. A linear layer (weight 2,097,152 bytes, bias 4,096), relu and cross entropy,
 * a buffer of 1,000 bytes, AdamW, batches of 2,048 + 8 bytes per sample from a DataLoader, zero_grad after the fetch. Iteration i
 * begins at 1000 (i + 1) us. A scheduled one has ProfilerStep# marks and begins after model and state were made. */
char *profile_job_new(int batch, int iterations, int is_scheduled);

/* A picture read by the core, stage by stage, as a session does. */
typedef struct profile_subject {
    oc_budget budget;
    oc_arena arena, scratch;
    oc_interner own_names, *names;
    oc_error error;
    oc_trace *trace;
    oc_analysis analysis;
    oc_job job;
    oc_scale scale;
    oc_subject subject; /* all of it, for oc_orchestrate */
} profile_subject;

/* Reads a picture; `beside` (or NULL) is one whose names are shared. Aborts if the core refuses it. */
profile_subject *profile_subject_open(const char *picture, const char *members, profile_subject *beside);
void profile_subject_close(profile_subject *s);

/* A finished session over one picture, or two of a job at two batch sizes (`other` may be NULL). Aborts if the core refuses them. */
oc_session *profile_session_new(const char *picture, const char *other);

/* The n-th block (from 0) of so many bytes, in order of allocation; OC_NONE if there is none. */
uint32_t profile_find_block(const profile_subject *s, int64_t bytes, uint32_t n);

/* The n-th operator of a name, in the order of oc_nest_sort; OC_NONE if there is none. */
uint32_t profile_find_op(const profile_subject *s, const char *name, uint32_t n);

/* The same block and its role; they abort if there is no such block. */
oc_role profile_role(const profile_subject *s, int64_t bytes, uint32_t n);
const oc_block *profile_block(const profile_subject *s, int64_t bytes, uint32_t n);

/* The count of a warning code, 0 if it was not given. */
uint64_t profile_warning(const oc_warnings *warnings, const char *code);

#endif

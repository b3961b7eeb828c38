/* Parameters that are not trained, found by the operators that read them: frozen layers, and all weights of an inference job. */
#ifndef OC_WEIGHTS_H
#define OC_WEIGHTS_H

#include "job.h"

/* Bytes of each weight and bias that convolutions, linear layers, norms and embeddings of the first forward pass read and whose shape no
 * gradient of `job` has, once per module; in the order of reading. Needs shapes, and modules or a backward pass or iteration marks to tell
 * one pass from the next; without them there are none. A frozen weight with the shape of a trained one is not found. 0 if out of memory. */
int oc_weights_find(const oc_analysis *analysis, const oc_job *job, oc_arena *arena, oc_arena *scratch, int64_t **bytes, uint32_t *count);

#endif

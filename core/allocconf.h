/* PYTORCH_CUDA_ALLOC_CONF, also called PYTORCH_ALLOC_CONF: "key:value,key:value", as c10/cuda/CUDAAllocatorConfig.cpp (2.6) and
 * c10/core/AllocatorConfig.cpp (2.13) read it. */
#ifndef OC_ALLOCCONF_H
#define OC_ALLOCCONF_H

#include "allocator.h"
#include "error.h"

enum { OC_ALLOC_CONF_LIMIT = 400 }; /* bytes of such a text with its NUL */

typedef struct oc_alloc_conf {
    oc_allocator_options allocator; /* as far as it depends on neither version nor device; max_non_split_rounding_bytes 0: not given */
    int64_t rest_divisions;         /* of ">" in roundup_power2_divisions; 0: none */
    int last_slot;                  /* the slot of the last interval before it, -1: none */
    double memory_fraction;         /* 0: none */
    char idle_keys[200];            /* keys that change nothing in a simulation, comma-separated */
    const char *newest_key;         /* of those given, the one that came last to PyTorch; static; NULL: none of note */
    int newest_version;             /* its first version known, 207 for 2.7 */
    int is_newest_sure;
} oc_alloc_conf;

void oc_alloc_conf_init(oc_alloc_conf *conf);

/* The text without blanks. 0 if it is longer than OC_ALLOC_CONF_LIMIT allows. */
int oc_alloc_conf_strip(char stripped[OC_ALLOC_CONF_LIMIT], const char *text);

/* Length of the first "key:value" of a stripped text: up to the comma behind it, which is outside brackets, or to the end. */
size_t oc_alloc_conf_pair(const char *text);

/* Reads `text` on top of what `conf` holds. OC_OPTIONS with the key, the value and what is allowed. */
oc_status oc_alloc_conf_read(oc_alloc_conf *conf, const char *text, oc_error *error);

/* OC_OPTIONS if `torch_version` (206 for 2.6; 0: unknown, everything passes) does not have one of the keys or its bounds. */
oc_status oc_alloc_conf_check(const oc_alloc_conf *conf, int torch_version, oc_error *error);

/* The options for a version of PyTorch (0: the newest), on a device of `total_bytes` (0: unknown) with a limit of that fraction of it
 * (0: none; 1 is one only before 2.10). */
oc_allocator_options oc_alloc_conf_options(const oc_alloc_conf *conf, int torch_version, double fraction, int64_t total_bytes);

#endif

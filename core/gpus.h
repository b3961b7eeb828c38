/* The GPU catalogue: one source for the command line and the page. */
#ifndef OC_GPUS_H
#define OC_GPUS_H

#include <stddef.h>
#include <stdint.h>

typedef struct oc_gpu {
    const char *name;
    const char *vendor;
    const char *group;        /* data-centre, workstation, consumer, amd */
    const char *architecture;
    const char *compute_capability; /* "8.6", or gfx name */
    int marketed_gib;
    int64_t total_bytes;      /* as cudaMemGetInfo reports it */
    const char *certainty;    /* of total_bytes: measured (exact bytes seen), confirmed (MiB seen in a public torch output), recalled,
                                 derived (nvidia-smi or marketed size minus what the driver keeps) */
    int multiprocessor_count; /* compute units on AMD; general knowledge, not read off a device; 0: unknown */
    int threads_per_multiprocessor;
    const char *aliases;      /* separated by | */
} oc_gpu;

/* The catalogue by index; NULL behind the last. */
const oc_gpu *oc_gpu_at(size_t index);

/* By name or alias, ignoring case; also without the vendor's words, blanks and the memory size, or by its number, where that leaves one
 * card ("RTX 3060", "Tesla T4", "rtx3090", "4090"). NULL if unknown. */
const oc_gpu *oc_gpu_find(const char *name);

/* Up to `limit` names that resemble an unknown one, into `names`; returns how many. */
size_t oc_gpu_suggest(const char *name, const char **names, size_t limit);

/* Bytes of one cuBLAS workspace as PyTorch asks for it. `gpu` NULL: a card of compute capability 8.x. `torch_version`: 206 for
 * 2.6. Source: ATen/cuda/CublasHandlePool.cpp, getChosenWorkspaceSize (2.4 to 2.13). */
int64_t oc_gpu_cublas_workspace_bytes(const oc_gpu *gpu, int torch_version);

#endif

/* Options of a simulation, read from JSON; defaults with their source. Names stay texts where their meaning belongs to a stage. */
#ifndef OC_OPTIONS_H
#define OC_OPTIONS_H

#include "allocconf.h"
#include "error.h"
#include "gpus.h"

#define OC_CONTEXT_BYTES 367001600      /* bare CUDA context and first kernels, 350 MiB: CUDA 12, lazy loading */
#define OC_CONTEXT_LOW_BYTES 268435456  /* 256 MiB: RTX 3090, torch 2.7.1 cu128, bare (InvokeAI issue 9413) */
#define OC_CONTEXT_HIGH_BYTES 603979776 /* 576 MiB: RTX 6000 Ada, torch 2.10 cu130, bare 426 (unsloth-zoo 1053), and 150 of kernels; too few reports to tell generations apart */
#define OC_LIBRARY_BYTES 12582912  /* what libraries and kernels add after it: 0 to 36 MiB over the measured runs (xMem's data) */
#define OC_LIBRARY_HIGH_BYTES 37748736
#define OC_BELOW_BYTES 16777216       /* how far measured runs lie below the simulated peak where nothing else explains it: up to 14 MiB */
#define OC_CONVOLUTION_BYTES 67108864 /* what convolutions add by cuDNN's workspaces on most measured jobs: up to 66 MiB; on some several hundred */
#define OC_CONVOLUTION_PART 0.03 /* how far 20 of 21 measured CNN runs on an RTX 4060 lie from the peak, beyond that; a series on a 3060 up to 0.21 */
#define OC_NO_SHAPES_PART 0.055  /* up to so much changes where 76 profiles are stripped of their shapes */
#define OC_UNMEASURED_PART 0.1   /* a guess, for what no measured run tells of: recurrent layers, half precision, compiled code */
#define OC_NEAR_FIT 0.02 /* batches differ: texts are padded to the longest. Of 33 measured transformers three lie where such a block had served */
#define OC_DEFAULT_TORCH 206       /* where neither option nor profile tells */

enum { OC_LARGEST_BATCH = 100000000 };

typedef enum oc_task { OC_TASK_ESTIMATE, OC_TASK_MAX_BATCH } oc_task;

typedef enum oc_foreach { OC_FOREACH_AUTO, OC_FOREACH_ON, OC_FOREACH_OFF, OC_FOREACH_FUSED } oc_foreach;

typedef enum oc_zero_grad { OC_ZERO_GRAD_RECORDED, OC_ZERO_GRAD_START, OC_ZERO_GRAD_AFTER_FORWARD, OC_ZERO_GRAD_AFTER_STEP } oc_zero_grad;

typedef struct oc_options {
    oc_task task;
    int64_t batch;          /* 0: as recorded */
    const oc_gpu *gpu;      /* NULL: none named */
    int64_t capacity_bytes; /* what CUDA reports as the card's total; 0: no limit */
    int64_t reserve_bytes;  /* kept for others */
    char optimizer[64];     /* "recorded" or a name of the optimizer table */
    oc_foreach foreach;
    oc_zero_grad zero_grad;
    int torch_version;      /* 206 for 2.6; 0: of the recording */
    int recorded_torch_version; /* not read here: of the profile, 0 if it does not tell */
    oc_alloc_conf alloc_conf; /* with is_uncached for no_caching */
    double memory_fraction;   /* of the total, for PyTorch; 0: no limit of that kind */
    char alloc_conf_text[OC_ALLOC_CONF_LIMIT];
    int points;             /* buckets of the curve */
    double range_start_ms, range_end_ms; /* of the curve; equal: all */
} oc_options;

/* Reads `length` bytes of JSON. OC_OPTIONS with a message that names the key, the value and what is allowed. */
oc_status oc_options_read(oc_options *options, const char *text, size_t length, oc_error *error);

/* The version of PyTorch that runs the job: as given, else as recorded, else OC_DEFAULT_TORCH. */
int oc_options_torch(const oc_options *options);

/* The allocator's settings that the options come to. */
oc_allocator_options oc_options_allocator(const oc_options *options);

/* What is left of the capacity for PyTorch; 0 if none is given. */
int64_t oc_options_usable(const oc_options *options);

/* "2.6", "2.13.0+cu128" -> 206, 213; 0 if it is no version. */
int oc_torch_version(const char *text);

#endif

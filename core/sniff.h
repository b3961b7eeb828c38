/* What a file is that is no profile, told from its first bytes; and what to do instead. */
#ifndef OC_SNIFF_H
#define OC_SNIFF_H

#include <stddef.h>
#include <stdint.h>

#define OC_HOW_TO_RECORD                                                                                                       \
    "Record one on the CPU: torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True, "    \
    "record_shapes=True, with_stack=True, with_modules=True), then export_chrome_trace(); or use examples/record.py."

/* A phrase such as "a PNG image", or NULL where the text may be JSON. `length` may be less than a magic number needs. */
const char *oc_sniff_kind(const uint8_t *bytes, size_t length);

#endif

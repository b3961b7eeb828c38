/* Errors and warnings as data: the first error of a session is kept, warnings are counted by code.
 * Nothing here allocates. */
#ifndef OC_ERROR_H
#define OC_ERROR_H

#include "oomcast.h"

#if defined(__GNUC__)
#define OC_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define OC_PRINTF(text, first)
#endif

/* For our own bugs only, never for input. Traps instead of printing: libc's assert drags WASI imports into the wasm build. */
#define OC_ASSERT(condition) ((condition) ? (void)0 : __builtin_trap())

/* OC_CHECK runs whole-structure checks in debug, sanitizer and fuzz builds (-DOC_CHECKED). */
#ifdef OC_CHECKED
#define OC_CHECK(condition) OC_ASSERT(condition)
#else
#define OC_CHECK(condition) ((void)0)
#endif

/* Sets `error` unless it is set already; returns the status that is in it afterwards. */
oc_status oc_error_set(oc_error *error, oc_status status, uint64_t byte_offset, const char *format, ...) OC_PRINTF(4, 5);

/* The usual OC_MEMORY error. */
oc_status oc_error_set_memory(oc_error *error);

const char *oc_status_name(oc_status status);

enum { OC_WARNING_LIMIT = 32, OC_ASSUMPTION_LIMIT = 32 };

typedef struct oc_warning {
    const char *code; /* static, snake case */
    uint64_t count;
    uint64_t first_offset; /* OC_NO_OFFSET where there is none */
    char message[300];     /* of the first occurrence */
} oc_warning;

typedef struct oc_warnings {
    oc_warning items[OC_WARNING_LIMIT];
    size_t count;
} oc_warnings;

/* Counts one more of `code`; the first keeps offset and message. Beyond OC_WARNING_LIMIT different codes nothing is added. */
void oc_warnings_add(oc_warnings *warnings, const char *code, uint64_t count, uint64_t offset, const char *format, ...) OC_PRINTF(5, 6);

/* The warning of a code, NULL if there is none. */
const oc_warning *oc_warnings_find(const oc_warnings *warnings, const char *code);

typedef struct oc_assumptions {
    char items[OC_ASSUMPTION_LIMIT][300];
    size_t count;
} oc_assumptions;

void oc_assumptions_add(oc_assumptions *assumptions, const char *format, ...) OC_PRINTF(2, 3);

#endif

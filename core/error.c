/* Errors and warnings as data. No allocation, no output. */
#include "error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const names[] = {
    [OC_OK] = "ok",
    [OC_MEMORY] = "memory",
    [OC_EMPTY] = "empty",
    [OC_WRONG_KIND] = "wrong_kind",
    [OC_SYNTAX] = "syntax",
    [OC_TRUNCATED] = "truncated",
    [OC_GZIP] = "gzip",
    [OC_NO_MEMORY_EVENTS] = "no_memory_events",
    [OC_MISMATCH] = "mismatch",
    [OC_OPTIONS] = "options",
    [OC_STATE] = "state",
};

const char *oc_status_name(oc_status status) {
    return names[status];
}

oc_status oc_error_set(oc_error *error, oc_status status, uint64_t byte_offset, const char *format, ...) {
    if (error->status != OC_OK)
        return error->status;
    error->status = status;
    error->name = names[status];
    error->byte_offset = byte_offset;
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    return status;
}

oc_status oc_error_set_memory(oc_error *error) {
    return oc_error_set(error, OC_MEMORY, OC_NO_OFFSET,
                        "out of memory: the profile needs more than the memory budget of this session: record fewer iterations");
}

/* The place of a code, `warnings->count` if it has none. */
static size_t find_code(const oc_warnings *warnings, const char *code) {
    size_t i = 0;
    while (i < warnings->count && strcmp(warnings->items[i].code, code) != 0)
        i++;
    return i;
}

const oc_warning *oc_warnings_find(const oc_warnings *warnings, const char *code) {
    size_t i = find_code(warnings, code);
    return i < warnings->count ? &warnings->items[i] : NULL;
}

void oc_warnings_add(oc_warnings *warnings, const char *code, uint64_t count, uint64_t offset, const char *format, ...) {
    size_t i = find_code(warnings, code);
    if (i < warnings->count) {
        warnings->items[i].count += count;
        return;
    }
    if (warnings->count == OC_WARNING_LIMIT)
        return;
    oc_warning *warning = &warnings->items[warnings->count++];
    warning->code = code;
    warning->count = count;
    warning->first_offset = offset;
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(warning->message, sizeof warning->message, format, arguments);
    va_end(arguments);
}

void oc_assumptions_add(oc_assumptions *assumptions, const char *format, ...) {
    if (assumptions->count == OC_ASSUMPTION_LIMIT)
        return;
    char *text = assumptions->items[assumptions->count++];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof assumptions->items[0], format, arguments);
    va_end(arguments);
}

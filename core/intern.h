/* Texts that occur often (operator names, shapes), kept once and known by a number. Number 0 is the empty text.
 * Equal texts have equal numbers within one table; both profiles of a session share a table. */
#ifndef OC_INTERN_H
#define OC_INTERN_H

#include "arena.h"

#define OC_INTERN_FAILED UINT32_MAX

typedef struct oc_interner {
    oc_arena *arena;
    uint32_t *slots; /* number + 1, or 0; open addressing */
    uint32_t slot_count;
    uint32_t count;
    uint32_t entry_capacity;
    struct oc_interned *entries; /* by number */
} oc_interner;

/* 0 on failure (out of memory), else 1. */
int oc_interner_init(oc_interner *table, oc_arena *arena);

/* The number of the text, which is copied if new; OC_INTERN_FAILED if out of memory. */
uint32_t oc_intern(oc_interner *table, const char *text, size_t length);

/* The text of a number, NUL-terminated, lives as long as the arena; `length` may be NULL. */
const char *oc_intern_text(const oc_interner *table, uint32_t number, size_t *length);

#endif

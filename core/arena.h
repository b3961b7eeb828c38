/* Memory of a session: arenas that are freed as a whole, under one byte budget, and lists that grow in them.
 * No per-item free. All memory is zeroed. Invariant: budget.used_bytes is the sum of all chunks of its arenas. */
#ifndef OC_ARENA_H
#define OC_ARENA_H

#include <stddef.h>
#include <stdint.h>

typedef struct oc_budget {
    size_t limit_bytes;
    size_t used_bytes;
    size_t peak_bytes;
} oc_budget;

typedef struct oc_arena {
    struct oc_arena_chunk *chunks; /* newest first */
    oc_budget *budget;
} oc_arena;

void oc_arena_init(oc_arena *arena, oc_budget *budget);

/* `count` items of `size` bytes, zeroed, aligned to 16; valid until the arena is reset. NULL if the budget or memory is used
 * up. A count of 0 gives a valid pointer to nothing. */
void *oc_arena_alloc(oc_arena *arena, size_t count, size_t size);

/* A NUL-terminated copy of `length` bytes; NULL as above. */
char *oc_arena_copy(oc_arena *arena, const char *text, size_t length);

/* Forgets everything that was allocated. The newest chunk is kept for the next use. */
void oc_arena_reset(oc_arena *arena);

/* Gives all memory back. */
void oc_arena_close(oc_arena *arena);

/* A list of equal items in chunks: appending never moves an item. */
typedef struct oc_list {
    oc_arena *arena;
    struct oc_list_chunk *first, *last;
    size_t item_bytes;
    size_t count;
} oc_list;

void oc_list_init(oc_list *list, oc_arena *arena, size_t item_bytes);

/* A new zeroed item at the end, or NULL if out of memory. */
void *oc_list_push(oc_list *list);

/* All items as one array in `arena`, in order; NULL if out of memory. */
void *oc_list_flatten(const oc_list *list, oc_arena *arena);

#endif

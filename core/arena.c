/* Arenas and lists. Chunks double in size up to 1 MiB; a larger request gets a chunk of its own. */
#include "arena.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_CHUNK_BYTES = 16 << 10, LARGEST_CHUNK_BYTES = 1 << 20, LIST_CHUNK_ITEMS = 512 };

typedef struct oc_arena_chunk {
    struct oc_arena_chunk *next;
    size_t capacity_bytes;
    size_t used_bytes;
    size_t padding; /* keeps the data aligned to 16 */
} oc_arena_chunk;

_Static_assert(sizeof(oc_arena_chunk) % 16 == 0, "chunk data must stay aligned to 16 bytes");

typedef struct oc_list_chunk {
    struct oc_list_chunk *next;
    size_t count;
} oc_list_chunk;

_Static_assert(sizeof(oc_list_chunk) % 8 == 0, "list items must stay aligned to 8 bytes");

void oc_arena_init(oc_arena *arena, oc_budget *budget) {
    arena->chunks = NULL;
    arena->budget = budget;
}

static oc_arena_chunk *add_chunk(oc_arena *arena, size_t needed_bytes) {
    size_t capacity = FIRST_CHUNK_BYTES;
    if (arena->chunks) {
        capacity = arena->chunks->capacity_bytes * 2;
        if (capacity > LARGEST_CHUNK_BYTES)
            capacity = LARGEST_CHUNK_BYTES;
    }
    if (capacity < needed_bytes)
        capacity = needed_bytes;
    oc_budget *budget = arena->budget;
    size_t total = capacity + sizeof(oc_arena_chunk);
    if (total < capacity || budget->limit_bytes - budget->used_bytes < total)
        return NULL;
    oc_arena_chunk *chunk = calloc(1, total);
    if (!chunk)
        return NULL;
    budget->used_bytes += total;
    if (budget->peak_bytes < budget->used_bytes)
        budget->peak_bytes = budget->used_bytes;
    chunk->capacity_bytes = capacity;
    chunk->next = arena->chunks;
    arena->chunks = chunk;
    return chunk;
}

void *oc_arena_alloc(oc_arena *arena, size_t count, size_t size) {
    if (size && count > (SIZE_MAX - 64) / size)
        return NULL;
    size_t bytes = (count * size + 15) & ~(size_t)15;
    oc_arena_chunk *chunk = arena->chunks;
    if (!chunk || chunk->capacity_bytes - chunk->used_bytes < bytes) {
        chunk = add_chunk(arena, bytes);
        if (!chunk)
            return NULL;
    }
    char *memory = (char *)(chunk + 1) + chunk->used_bytes;
    chunk->used_bytes += bytes;
    return memory;
}

char *oc_arena_copy(oc_arena *arena, const char *text, size_t length) {
    char *copy = oc_arena_alloc(arena, length + 1, 1);
    if (copy && length)
        memcpy(copy, text, length);
    return copy;
}

static void free_chunks(oc_arena *arena, oc_arena_chunk *chunk) {
    while (chunk) {
        oc_arena_chunk *next = chunk->next;
        arena->budget->used_bytes -= chunk->capacity_bytes + sizeof(oc_arena_chunk);
        free(chunk);
        chunk = next;
    }
}

void oc_arena_reset(oc_arena *arena) {
    oc_arena_chunk *newest = arena->chunks;
    if (!newest)
        return;
    free_chunks(arena, newest->next);
    newest->next = NULL;
    memset(newest + 1, 0, newest->used_bytes);
    newest->used_bytes = 0;
}

void oc_arena_close(oc_arena *arena) {
    free_chunks(arena, arena->chunks);
    arena->chunks = NULL;
}

void oc_list_init(oc_list *list, oc_arena *arena, size_t item_bytes) {
    list->arena = arena;
    list->first = list->last = NULL;
    list->item_bytes = item_bytes;
    list->count = 0;
}

void *oc_list_push(oc_list *list) {
    oc_list_chunk *chunk = list->last;
    if (!chunk || chunk->count == LIST_CHUNK_ITEMS) {
        chunk = oc_arena_alloc(list->arena, 1, sizeof *chunk + LIST_CHUNK_ITEMS * list->item_bytes);
        if (!chunk)
            return NULL;
        if (list->last)
            list->last->next = chunk;
        else
            list->first = chunk;
        list->last = chunk;
    }
    list->count++;
    return (char *)(chunk + 1) + chunk->count++ * list->item_bytes;
}

void *oc_list_flatten(const oc_list *list, oc_arena *arena) {
    char *items = oc_arena_alloc(arena, list->count, list->item_bytes);
    if (!items)
        return NULL;
    char *at = items;
    for (const oc_list_chunk *chunk = list->first; chunk; chunk = chunk->next) {
        memcpy(at, chunk + 1, chunk->count * list->item_bytes);
        at += chunk->count * list->item_bytes;
    }
    return items;
}

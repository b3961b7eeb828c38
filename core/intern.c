/* Interned texts: FNV-like hash, open addressing, at most half full. Growing leaves the old arrays in the arena (at most
 * as much again in all). */
#include "intern.h"

#include <string.h>

struct oc_interned {
    const char *text;
    uint32_t length;
    uint32_t hash;
};

static uint32_t hash_of(const char *text, size_t length) {
    uint64_t hash = 0x9E3779B97F4A7C15u ^ length;
    while (length >= 8) {
        uint64_t word;
        memcpy(&word, text, 8);
        hash = (hash ^ word) * 0xff51afd7ed558ccdu;
        hash ^= hash >> 32;
        text += 8;
        length -= 8;
    }
    while (length--)
        hash = (hash ^ (unsigned char)*text++) * 0x100000001b3u;
    hash ^= hash >> 29;
    return (uint32_t)(hash ^ (hash >> 32));
}

static int grow(oc_interner *table) {
    uint32_t slot_count = table->slot_count ? table->slot_count * 2 : 1024;
    uint32_t *slots = oc_arena_alloc(table->arena, slot_count, sizeof *slots);
    struct oc_interned *entries = oc_arena_alloc(table->arena, slot_count / 2, sizeof *entries);
    if (!slots || !entries)
        return 0;
    if (table->count)
        memcpy(entries, table->entries, table->count * sizeof *entries);
    for (uint32_t number = 0; number < table->count; number++) {
        uint32_t slot = entries[number].hash & (slot_count - 1);
        while (slots[slot])
            slot = (slot + 1) & (slot_count - 1);
        slots[slot] = number + 1;
    }
    table->slots = slots;
    table->slot_count = slot_count;
    table->entries = entries;
    table->entry_capacity = slot_count / 2;
    return 1;
}

int oc_interner_init(oc_interner *table, oc_arena *arena) {
    memset(table, 0, sizeof *table);
    table->arena = arena;
    return grow(table) && oc_intern(table, "", 0) == 0;
}

uint32_t oc_intern(oc_interner *table, const char *text, size_t length) {
    uint32_t hash = hash_of(text, length);
    uint32_t mask = table->slot_count - 1;
    uint32_t slot = hash & mask;
    for (; table->slots[slot]; slot = (slot + 1) & mask) {
        const struct oc_interned *entry = &table->entries[table->slots[slot] - 1];
        if (entry->hash == hash && entry->length == length && memcmp(entry->text, text, length) == 0)
            return table->slots[slot] - 1;
    }
    if (length > UINT32_MAX)
        return OC_INTERN_FAILED;
    if (table->count == table->entry_capacity) {
        if (table->slot_count > UINT32_MAX / 4 || !grow(table))
            return OC_INTERN_FAILED;
        mask = table->slot_count - 1;
        slot = hash & mask;
        while (table->slots[slot])
            slot = (slot + 1) & mask;
    }
    char *copy = oc_arena_copy(table->arena, text, length);
    if (!copy)
        return OC_INTERN_FAILED;
    struct oc_interned *entry = &table->entries[table->count];
    entry->text = copy;
    entry->length = (uint32_t)length;
    entry->hash = hash;
    table->slots[slot] = table->count + 1;
    return table->count++;
}

const char *oc_intern_text(const oc_interner *table, uint32_t number, size_t *length) {
    const struct oc_interned *entry = &table->entries[number];
    if (length)
        *length = entry->length;
    return entry->text;
}

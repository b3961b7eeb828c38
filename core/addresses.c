/* Addresses. Entries stay when what lived there is gone: their value says so. */
#include "addresses.h"

#include <string.h>

int oc_addresses_init(oc_addresses *map, uint32_t count, oc_arena *arena) {
    uint32_t slot_count = 64;
    while (slot_count < count * 2)
        slot_count *= 2;
    map->keys = oc_arena_alloc(arena, slot_count, sizeof *map->keys);
    map->values = oc_arena_alloc(arena, slot_count, sizeof *map->values);
    map->mask = slot_count - 1;
    return map->keys && map->values;
}

uint32_t *oc_addresses_find(oc_addresses *map, uint64_t address) {
    uint64_t key = address + 1;
    uint32_t slot = (uint32_t)((key * 0x9E3779B97F4A7C15u) >> 32) & map->mask;
    while (map->keys[slot] && map->keys[slot] != key)
        slot = (slot + 1) & map->mask;
    if (!map->keys[slot]) {
        map->keys[slot] = key;
        map->values[slot] = OC_NOTHING_THERE;
    }
    return &map->values[slot];
}

void oc_addresses_clear(oc_addresses *map) {
    memset(map->keys, 0, (map->mask + (size_t)1) * sizeof *map->keys);
}

/* Address -> number of what lives there: open addressing, for a known number of events. */
#ifndef OC_ADDRESSES_H
#define OC_ADDRESSES_H

#include "arena.h"

#include <stdint.h>

#define OC_NOTHING_THERE UINT32_MAX

typedef struct oc_addresses {
    uint64_t *keys;   /* address + 1; 0 marks an empty slot */
    uint32_t *values;
    uint32_t mask;
} oc_addresses;

/* An empty map for up to `count` addresses, in `arena`. 0 if out of memory. */
int oc_addresses_init(oc_addresses *map, uint32_t count, oc_arena *arena);

/* The value at an address, to read and to set; OC_NOTHING_THERE until it is set. */
uint32_t *oc_addresses_find(oc_addresses *map, uint64_t address);

/* Forgets all addresses. */
void oc_addresses_clear(oc_addresses *map);

#endif

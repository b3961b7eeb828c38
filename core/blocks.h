/* Blocks of the simulated device, numbered, and the ordered indexes over them: the structure below the allocator.
 *
 * A segment is a chain of blocks from its lowest address up; a range (expandable segment) is one too, with unmapped blocks in it.
 * An index lives in the blocks themselves: no memory per entry. */
#ifndef OC_BLOCKS_H
#define OC_BLOCKS_H

#include "arena.h"

#include <stdint.h>

enum { OC_NO_BLOCK = 0 };

typedef enum oc_block_state {
    OC_STATE_USED,
    OC_STATE_PENDING, /* freed, but used by other streams that are not done: neither free nor counted as allocated */
    OC_STATE_FREE,
    OC_STATE_UNMAPPED /* addresses of a range without memory behind them */
} oc_block_state;

typedef struct oc_chunk {
    uint64_t address, stream;
    int64_t size;
    uint32_t left, right;    /* neighbours in the segment; `right` also chains blocks that are not in use */
    uint32_t child[2];       /* in an index: before it, behind it; child[0] of a pending block: number of events to wait for */
    uint32_t next, previous; /* of the first block of a segment: the list of segments */
    uint32_t priority;
    uint32_t freed_at; /* of a free block: the pool's count of searches when it became free */
    uint16_t range;    /* number of the range, 0: an ordinary segment */
    uint8_t pool, state;
} oc_chunk;

typedef struct oc_blocks {
    oc_chunk *at; /* by number; moves when oc_blocks_reserve grows it */
    uint32_t limit, count, spare, spare_count;
    uint32_t random;
    oc_arena *arena;
} oc_blocks;

void oc_blocks_init(oc_blocks *blocks, oc_arena *arena);

/* No blocks; keeps the memory. */
void oc_blocks_clear(oc_blocks *blocks);

/* Makes sure that `count` calls of oc_blocks_new succeed. 0 if out of memory. */
int oc_blocks_reserve(oc_blocks *blocks, uint32_t count);

/* A zeroed block; oc_blocks_reserve was called for it. */
uint32_t oc_blocks_new(oc_blocks *blocks);

void oc_blocks_drop(oc_blocks *blocks, uint32_t number);

/* Free blocks in the order stream, size, address, or unmapped ones in the order stream, address: bins by size (four to a power of
 * two, so that trees stay small and a search is mostly a look at a bitmap), a treap in each. Zeroed memory is an empty index. */
enum { OC_BIN_COUNT = 192 };

typedef struct oc_index {
    uint32_t roots[OC_BIN_COUNT];
    uint64_t used[OC_BIN_COUNT / 64]; /* a bit for each bin with blocks */
} oc_index;

/* Order in an index, for its checks. */
int oc_blocks_is_less(const oc_chunk *x, const oc_chunk *y);

/* The bin of a block. */
uint32_t oc_blocks_bin(const oc_chunk *block);

void oc_blocks_insert(oc_blocks *blocks, oc_index *index, uint32_t number);
void oc_blocks_remove(oc_blocks *blocks, oc_index *index, uint32_t number);

/* The first block of the stream of `key` that is not before `key`, OC_NO_BLOCK if none. */
uint32_t oc_blocks_find(const oc_blocks *blocks, const oc_index *index, const oc_chunk *key);

/* The last block of its stream that is before `key`, OC_NO_BLOCK if none. */
uint32_t oc_blocks_find_before(const oc_blocks *blocks, const oc_index *index, const oc_chunk *key);

/* The block of the same stream behind `number`, OC_NO_BLOCK if none. */
uint32_t oc_blocks_after(const oc_blocks *blocks, const oc_index *index, uint32_t number);

#endif

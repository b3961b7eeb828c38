/* Blocks and their indexes. */
#include "blocks.h"

#include "error.h"

#include <string.h>

enum { FIRST_LIMIT = 1024 };

void oc_blocks_init(oc_blocks *blocks, oc_arena *arena) {
    memset(blocks, 0, sizeof *blocks);
    blocks->arena = arena;
    oc_blocks_clear(blocks);
}

void oc_blocks_clear(oc_blocks *blocks) {
    blocks->count = 1; /* number 0 is none */
    blocks->spare = OC_NO_BLOCK;
    blocks->spare_count = 0;
    blocks->random = 2463534242u;
}

int oc_blocks_reserve(oc_blocks *blocks, uint32_t count) {
    if ((uint64_t)blocks->count + count <= (uint64_t)blocks->limit + blocks->spare_count)
        return 1;
    uint64_t limit = blocks->limit ? 2 * (uint64_t)blocks->limit : FIRST_LIMIT;
    while (limit - blocks->count < count)
        limit *= 2;
    oc_chunk *grown = limit <= UINT32_MAX ? oc_arena_alloc(blocks->arena, (size_t)limit, sizeof *grown) : NULL;
    if (!grown)
        return 0;
    if (blocks->at)
        memcpy(grown, blocks->at, blocks->count * sizeof *grown);
    blocks->at = grown;
    blocks->limit = (uint32_t)limit;
    return 1;
}

uint32_t oc_blocks_new(oc_blocks *blocks) {
    uint32_t number = blocks->spare;
    if (number != OC_NO_BLOCK) {
        blocks->spare = blocks->at[number].right;
        blocks->spare_count--;
    } else {
        OC_ASSERT(blocks->count < blocks->limit);
        number = blocks->count++;
    }
    blocks->random ^= blocks->random << 13; /* xorshift32 (Marsaglia 2003): treap priorities, the same in every run */
    blocks->random ^= blocks->random >> 17;
    blocks->random ^= blocks->random << 5;
    memset(&blocks->at[number], 0, sizeof blocks->at[number]);
    blocks->at[number].priority = blocks->random;
    return number;
}

void oc_blocks_drop(oc_blocks *blocks, uint32_t number) {
    blocks->at[number].right = blocks->spare;
    blocks->spare = number;
    blocks->spare_count++;
}

/* Without branches: which way a search goes cannot be predicted, and wrong guesses cost more than the comparison. */
static inline int is_less(const oc_chunk *x, const oc_chunk *y) {
    const int64_t with_size = -(int64_t)(x->state != OC_STATE_UNMAPPED), x_size = x->size & with_size, y_size = y->size & with_size;
    return (x->stream < y->stream) | ((x->stream == y->stream) & ((x_size < y_size) | ((x_size == y_size) & (x->address < y->address))));
}

int oc_blocks_is_less(const oc_chunk *x, const oc_chunk *y) {
    return is_less(x, y);
}

/* ---- one tree ---- */

static void insert(oc_blocks *blocks, uint32_t *root, uint32_t number) {
    oc_chunk *new = &blocks->at[number];
    uint32_t *link = root;
    while (*link != OC_NO_BLOCK && blocks->at[*link].priority >= new->priority) {
        oc_chunk *at = &blocks->at[*link];
        link = &at->child[!is_less(new, at)];
    }
    uint32_t rest = *link, *lower = &new->child[0], *higher = &new->child[1]; /* split what hung there around the new block */
    *link = number;
    while (rest != OC_NO_BLOCK) {
        oc_chunk *at = &blocks->at[rest];
        if (is_less(at, new)) {
            *lower = rest;
            lower = &at->child[1];
            rest = at->child[1];
        } else {
            *higher = rest;
            higher = &at->child[0];
            rest = at->child[0];
        }
    }
    *lower = *higher = OC_NO_BLOCK;
}

static void cut_out(oc_blocks *blocks, uint32_t *root, uint32_t number) {
    oc_chunk *old = &blocks->at[number];
    uint32_t *link = root;
    while (*link != number) {
        OC_ASSERT(*link != OC_NO_BLOCK);
        oc_chunk *at = &blocks->at[*link];
        link = &at->child[!is_less(old, at)];
    }
    uint32_t lower = old->child[0], higher = old->child[1];
    while (lower != OC_NO_BLOCK && higher != OC_NO_BLOCK) {
        if (blocks->at[lower].priority > blocks->at[higher].priority) {
            *link = lower;
            link = &blocks->at[lower].child[1];
            lower = *link;
        } else {
            *link = higher;
            link = &blocks->at[higher].child[0];
            higher = *link;
        }
    }
    *link = lower != OC_NO_BLOCK ? lower : higher;
}

/* The neighbour of `key`: the last block before it, or the first that is not. */
static inline uint32_t neighbour(const oc_blocks *blocks, uint32_t root, const oc_chunk *key, int wants_before) {
    uint32_t best = OC_NO_BLOCK;
    for (uint32_t at = root; at != OC_NO_BLOCK;) {
        int is_before = is_less(&blocks->at[at], key);
        best = is_before == wants_before ? at : best;
        at = blocks->at[at].child[is_before];
    }
    return best;
}

/* ---- bins ---- */

/* Unmapped blocks are ordered by address: one bin. */
uint32_t oc_blocks_bin(const oc_chunk *block) {
    enum { SMALLEST_SHIFT = 9, FRACTION_BITS = 2 };
    uint64_t units = (uint64_t)block->size >> SMALLEST_SHIFT;
    if (block->state == OC_STATE_UNMAPPED || units < 1 << FRACTION_BITS)
        return block->state == OC_STATE_UNMAPPED ? 0 : (uint32_t)units;
    uint32_t power = 63 - (uint32_t)__builtin_clzll(units);
    uint32_t bin = ((power - FRACTION_BITS + 1) << FRACTION_BITS) + (uint32_t)(units >> (power - FRACTION_BITS)) % (1 << FRACTION_BITS);
    return bin < OC_BIN_COUNT ? bin : OC_BIN_COUNT - 1;
}

void oc_blocks_insert(oc_blocks *blocks, oc_index *index, uint32_t number) {
    uint32_t bin = oc_blocks_bin(&blocks->at[number]);
    insert(blocks, &index->roots[bin], number);
    index->used[bin / 64] |= (uint64_t)1 << bin % 64;
}

void oc_blocks_remove(oc_blocks *blocks, oc_index *index, uint32_t number) {
    uint32_t bin = oc_blocks_bin(&blocks->at[number]);
    cut_out(blocks, &index->roots[bin], number);
    if (index->roots[bin] == OC_NO_BLOCK)
        index->used[bin / 64] &= ~((uint64_t)1 << bin % 64);
}

/* The first bin from `bin` on that has blocks, OC_BIN_COUNT if none. */
static uint32_t used_from(const oc_index *index, uint32_t bin) {
    for (uint32_t word = bin / 64; word < OC_BIN_COUNT / 64; word++) {
        uint64_t bits = index->used[word] & (word == bin / 64 ? UINT64_MAX << bin % 64 : UINT64_MAX);
        if (bits)
            return word * 64 + (uint32_t)__builtin_ctzll(bits);
    }
    return OC_BIN_COUNT;
}

uint32_t oc_blocks_find(const oc_blocks *blocks, const oc_index *index, const oc_chunk *key) {
    for (uint32_t bin = used_from(index, oc_blocks_bin(key)); bin < OC_BIN_COUNT; bin = used_from(index, bin + 1)) {
        uint32_t number = neighbour(blocks, index->roots[bin], key, 0);
        if (number != OC_NO_BLOCK && blocks->at[number].stream == key->stream)
            return number;
    }
    return OC_NO_BLOCK;
}

uint32_t oc_blocks_find_before(const oc_blocks *blocks, const oc_index *index, const oc_chunk *key) {
    for (uint32_t bin = oc_blocks_bin(key) + 1; bin-- > 0;) {
        uint32_t number = neighbour(blocks, index->roots[bin], key, 1);
        if (number != OC_NO_BLOCK && blocks->at[number].stream == key->stream)
            return number;
    }
    return OC_NO_BLOCK;
}

uint32_t oc_blocks_after(const oc_blocks *blocks, const oc_index *index, uint32_t number) {
    oc_chunk key = blocks->at[number];
    key.address++; /* addresses of two blocks are further apart */
    return oc_blocks_find(blocks, index, &key);
}

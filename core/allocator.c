/* The allocator. Names in quotes are those of c10/cuda/CUDACachingAllocator.cpp. */
#include "allocator.h"

#include "blocks.h"
#include "error.h"

#include <string.h>

enum { SMALL, LARGE, POOL_COUNT, NO_RANGE = 0, RANGE_LIMIT = 65535 };

/* The simulation's own addresses; when all have been given out it begins anew among those that are free again. */
#define LOWEST_ADDRESS OC_SCRIPT_ADDRESSES
#define HIGHEST_ADDRESS ((uint64_t)1 << 63)
#define RANGES_BYTES ((int64_t)1 << 52) /* addresses of all ranges together: more than any GPU has (47 to 49 bits) */

/* An expandable segment: addresses for one pool and stream, backed by pages as they are needed. */
typedef struct range {
    uint64_t base;
    int64_t page_bytes;
} range;

/* A block that waits for a stream. */
typedef struct event {
    uint64_t stream;
    uint32_t block;
    uint32_t is_done;
} event;

typedef struct stream_use {
    uint64_t stream;
    uint32_t next;
} stream_use;

struct oc_allocator {
    oc_blocks blocks;
    oc_index free[POOL_COUNT], unmapped[POOL_COUNT];
    uint32_t search_count[POOL_COUNT]; /* "get_free_blocks_call_count" */
    uint32_t segments;                 /* first block of the newest segment or range */
    oc_index places;                   /* of segments and ranges, by address: see add_place */
    uint32_t *block_of;                /* per tensor */
    int64_t *bytes_of;                 /* per tensor, as requested */
    uint32_t tensor_count;
    uint64_t cursor;                   /* address of the last segment */
    int is_rising;
    int64_t limit_bytes;
    int64_t next_limit_bytes;
    oc_allocator_options options;
    oc_usage usage;
    int64_t active_bytes;
    uint32_t retry_count, oom_count;
    int64_t released_bytes;
    range *ranges; /* number 0 is none; a dropped one has no pages and its number is used again */
    uint32_t range_limit, range_count, free_range; /* no number below free_range is free */
    event *events; /* in the order in which they were recorded */
    uint32_t event_limit, event_count;
    stream_use *uses; /* number 0 is none */
    uint32_t use_limit, use_count;
    uint32_t *use_of; /* per tensor, made when first needed */
    uint64_t next_address;        /* 0: none was set */
    int64_t next_taken_bytes;
    int is_next_overlapping;
    oc_index presets;             /* blocks of oc_allocator_add_block, by address, as in `places` */
    oc_arena *arena;
};

const oc_allocator_options oc_allocator_defaults = {
    .max_split_bytes = OC_NO_LIMIT,
    .max_non_split_rounding_bytes = OC_kLargeBuffer,
    .large_segment_bytes = OC_kLargeBuffer,
    .fraction_bytes = OC_NO_LIMIT,
    .range_bytes = (int64_t)1 << 42,
};

/* ---- state ---- */

oc_allocator *oc_allocator_open(oc_arena *arena, uint32_t tensor_count) {
    oc_allocator *a = oc_arena_alloc(arena, 1, sizeof *a);
    if (!a)
        return NULL;
    a->arena = arena;
    a->tensor_count = tensor_count;
    oc_blocks_init(&a->blocks, arena);
    a->block_of = oc_arena_alloc(arena, tensor_count, sizeof *a->block_of);
    a->bytes_of = oc_arena_alloc(arena, tensor_count, sizeof *a->bytes_of);
    return a->block_of && a->bytes_of ? a : NULL;
}

void oc_allocator_configure(oc_allocator *a, const oc_allocator_options *options, int64_t limit_bytes) {
    a->options = *options;
    a->limit_bytes = limit_bytes;
}

void oc_allocator_reset(oc_allocator *a, const oc_allocator_options *options, int64_t limit_bytes, int is_rising) {
    oc_allocator_configure(a, options, limit_bytes);
    oc_blocks_clear(&a->blocks);
    for (int pool = 0; pool < POOL_COUNT; pool++)
        a->search_count[pool] = 0;
    memset(a->free, 0, sizeof a->free);
    memset(a->unmapped, 0, sizeof a->unmapped);
    memset(&a->places, 0, sizeof a->places);
    a->segments = OC_NO_BLOCK;
    memset(a->block_of, 0, a->tensor_count * sizeof *a->block_of);
    memset(a->bytes_of, 0, a->tensor_count * sizeof *a->bytes_of);
    if (a->use_of)
        memset(a->use_of, 0, a->tensor_count * sizeof *a->use_of);
    a->cursor = is_rising ? LOWEST_ADDRESS : HIGHEST_ADDRESS;
    a->is_rising = is_rising;
    a->next_limit_bytes = INT64_MAX;
    a->usage = (oc_usage){0, 0, 0};
    a->active_bytes = a->released_bytes = 0;
    a->retry_count = a->oom_count = 0;
    a->range_count = a->free_range = a->use_count = 1;
    a->event_count = 0;
    a->next_address = 0;
    memset(&a->presets, 0, sizeof a->presets);
}

/* Room for `count` items in an array of the arena: the array, moved if it had to grow; NULL if out of memory. */
static void *make_room(oc_arena *arena, void *items, uint32_t count, uint32_t *limit, size_t item_bytes) {
    if (count <= *limit)
        return items;
    void *grown = oc_arena_alloc(arena, 2 * (size_t)count, item_bytes);
    if (!grown)
        return NULL;
    if (items)
        memcpy(grown, items, *limit * item_bytes);
    *limit = 2 * count;
    return grown;
}

static oc_chunk *chunk(const oc_allocator *a, uint32_t number) {
    return &a->blocks.at[number];
}

static void remove_free(oc_allocator *a, uint32_t number) {
    oc_blocks_remove(&a->blocks, &a->free[chunk(a, number)->pool], number);
    chunk(a, number)->state = OC_STATE_USED;
}

static int is_whole_segment(const oc_chunk *c) {
    return c->left == OC_NO_BLOCK && c->right == OC_NO_BLOCK;
}

/* A new block right of `number`, which keeps its first `size` bytes. */
static uint32_t cut(oc_allocator *a, uint32_t number, int64_t size) {
    uint32_t rest_number = oc_blocks_new(&a->blocks);
    oc_chunk *first = chunk(a, number), *rest = chunk(a, rest_number);
    rest->address = first->address + (uint64_t)size;
    rest->stream = first->stream;
    rest->size = first->size - size;
    rest->pool = first->pool;
    rest->range = first->range;
    rest->left = number;
    rest->right = first->right;
    if (first->right != OC_NO_BLOCK)
        chunk(a, first->right)->left = rest_number;
    first->right = rest_number;
    first->size = size;
    return rest_number;
}

/* Notes where a block or the chain that begins with it lies: a block of its own, outside all chains, with `next` for the noted one. */
static void add_place(oc_allocator *a, oc_index *places, uint32_t number, uint64_t address, int64_t bytes) {
    uint32_t place = oc_blocks_new(&a->blocks);
    oc_chunk *new = chunk(a, place);
    new->address = address;
    new->size = bytes;
    new->state = OC_STATE_UNMAPPED;
    new->next = number;
    oc_blocks_insert(&a->blocks, places, place);
}

/* The last place that begins before `address`, OC_NO_BLOCK if none. */
static uint32_t place_before(const oc_allocator *a, const oc_index *places, uint64_t address) {
    const oc_chunk key = {.address = address, .state = OC_STATE_UNMAPPED};
    return oc_blocks_find_before(&a->blocks, places, &key);
}

static void drop_place(oc_allocator *a, oc_index *places, uint32_t place) {
    oc_blocks_remove(&a->blocks, places, place);
    oc_blocks_drop(&a->blocks, place);
}

static void drop_block(oc_allocator *a, uint32_t number) {
    const uint32_t preset = a->presets.roots[0] == OC_NO_BLOCK ? OC_NO_BLOCK : place_before(a, &a->presets, chunk(a, number)->address + 1);
    if (preset != OC_NO_BLOCK && chunk(a, preset)->next == number)
        drop_place(a, &a->presets, preset);
    oc_blocks_drop(&a->blocks, number);
}

/* Takes the block `right` into its left neighbour; neither is in an index. */
static void absorb_right(oc_allocator *a, uint32_t left, uint32_t right) {
    oc_chunk *into = chunk(a, left), *from = chunk(a, right);
    into->size += from->size;
    into->right = from->right;
    if (from->right != OC_NO_BLOCK)
        chunk(a, from->right)->left = left;
    drop_block(a, right);
}

static int has_state(const oc_allocator *a, uint32_t number, oc_block_state state) {
    return number != OC_NO_BLOCK && chunk(a, number)->state == state;
}

/* Puts a block that is in no index among the free ones, or the unmapped ones, merged with such neighbours: "try_merge_blocks".
 * Returns the merged block. */
static uint32_t insert_merged(oc_allocator *a, uint32_t number, oc_block_state state) {
    oc_index *index = state == OC_STATE_FREE ? &a->free[chunk(a, number)->pool] : &a->unmapped[chunk(a, number)->pool];
    uint32_t left = chunk(a, number)->left, right = chunk(a, number)->right;
    if (has_state(a, right, state)) {
        oc_blocks_remove(&a->blocks, index, right);
        absorb_right(a, number, right);
    }
    if (has_state(a, left, state)) {
        oc_blocks_remove(&a->blocks, index, left);
        absorb_right(a, left, number);
        number = left;
    }
    chunk(a, number)->state = (uint8_t)state;
    chunk(a, number)->freed_at = a->search_count[chunk(a, number)->pool];
    oc_blocks_insert(&a->blocks, index, number);
    return number;
}

/* A free block, none of whose neighbours is free. */
static void insert_free(oc_allocator *a, uint32_t number) {
    (void)insert_merged(a, number, OC_STATE_FREE);
}

/* ---- sizes ---- */

/* "roundup_power2_divisions": the slot of a size. */
static int64_t divisions_for(const oc_allocator_options *options, int64_t bytes) {
    int slot = 0;
    for (int64_t mib = bytes >> 20; mib > 1 && slot < OC_kRoundUpPowerOfTwoIntervals - 1; mib >>= 1)
        slot++;
    return options->divisions[slot];
}

/* "round_size" */
static int64_t round_size(const oc_allocator_options *options, int64_t bytes) {
    if (bytes < OC_kMinBlockSize)
        return OC_kMinBlockSize;
    int64_t divisions = divisions_for(options, bytes);
    if (divisions <= 1 || bytes <= OC_kMinBlockSize * divisions)
        return oc_round_up(bytes, OC_kMinBlockSize);
    int64_t power = OC_kMinBlockSize;
    while (power <= bytes / 2)
        power *= 2;
    if (power == bytes)
        return bytes;
    return power / divisions ? oc_round_up(bytes, power / divisions) : 2 * power;
}

static int pool_for(int64_t size) {
    return size <= OC_kSmallSize ? SMALL : LARGE;
}

/* "get_allocation_size" */
static int64_t segment_size(const oc_allocator_options *options, int64_t size) {
    return size <= OC_kSmallSize ? OC_kSmallBuffer : size < OC_kMinLargeAlloc ? options->large_segment_bytes : oc_round_up(size, OC_kRoundLarge);
}

/* ---- search ---- */

/* "get_expandable_size": a free block and the addresses behind it into which it could grow. */
static int64_t growable_size(const oc_allocator *a, const oc_chunk *c) {
    return c->size + (has_state(a, c->right, OC_STATE_UNMAPPED) ? chunk(a, c->right)->size : 0);
}

/* "get_free_block": best fit, ties to the lowest address. There is no second candidate if a rule refuses the first. */
static uint32_t find_free(oc_allocator *a, int pool, int64_t size, uint64_t stream) {
    const int64_t missing = pool == LARGE ? (int64_t)(a->options.near_fit * (double)size) : 0;
    const oc_chunk key = {.stream = stream, .size = size - missing, .state = OC_STATE_FREE};
    const oc_index *index = &a->free[pool];
    uint32_t number = oc_blocks_find(&a->blocks, index, &key);
    a->search_count[pool]++;
    if (number == OC_NO_BLOCK)
        return OC_NO_BLOCK;
    if (chunk(a, number)->range != NO_RANGE && a->options.is_expandable) {
        for (;;) {
            uint32_t next = oc_blocks_after(&a->blocks, index, number);
            if (next == OC_NO_BLOCK || growable_size(a, chunk(a, next)) >= growable_size(a, chunk(a, number)))
                break;
            number = next;
        }
    }
    while (chunk(a, number)->range != NO_RANGE && !a->options.is_expandable) { /* made before the setting was changed */
        number = oc_blocks_after(&a->blocks, index, number);
        if (number == OC_NO_BLOCK)
            return OC_NO_BLOCK;
    }
    const int64_t found = chunk(a, number)->size;
    if (size < a->options.max_split_bytes)
        return found >= a->options.max_split_bytes ? OC_NO_BLOCK : number;
    return found >= size + a->options.max_non_split_rounding_bytes ? OC_NO_BLOCK : number;
}

int64_t oc_allocator_largest_free(const oc_allocator *a, int64_t bytes, uint64_t stream) {
    int pool = pool_for(round_size(&a->options, bytes));
    const oc_chunk key = {.stream = stream, .size = INT64_MAX, .state = OC_STATE_FREE};
    uint32_t number = oc_blocks_find_before(&a->blocks, &a->free[pool], &key);
    return number != OC_NO_BLOCK ? chunk(a, number)->size : 0;
}

/* ---- segments ---- */

static int64_t reserved_in_all(const oc_allocator *a) {
    return a->usage.reserved_bytes + a->options.aside_bytes;
}

/* Whether the driver has that much left. */
static int has_memory(oc_allocator *a, int64_t bytes) {
    const int64_t needed_bytes = reserved_in_all(a) + bytes;
    if (needed_bytes <= a->limit_bytes)
        return 1;
    if (needed_bytes < a->next_limit_bytes)
        a->next_limit_bytes = needed_bytes;
    return 0;
}

static int is_overlapping(const oc_allocator *a, uint64_t address, int64_t bytes) {
    uint32_t place = place_before(a, &a->places, address + (uint64_t)bytes);
    return place != OC_NO_BLOCK && chunk(a, place)->address + (uint64_t)chunk(a, place)->size > address;
}

/* Addresses for a segment or range of that size, beginning at a multiple of `unit`, with a gap to all others. */
static uint64_t next_address(oc_allocator *a, int64_t bytes, int64_t unit) {
    if (a->next_address && !a->next_taken_bytes) {
        a->next_taken_bytes = bytes;
        a->is_next_overlapping = is_overlapping(a, a->next_address, bytes);
        if (!a->is_next_overlapping)
            return a->next_address;
    }
    const uint64_t step = (uint64_t)unit, length = (uint64_t)bytes + step;
    uint64_t address;
    do {
        if (a->is_rising) {
            a->cursor = HIGHEST_ADDRESS - a->cursor < length + step ? LOWEST_ADDRESS : a->cursor;
            address = a->cursor + step - a->cursor % step;
            a->cursor = address + length;
        } else {
            a->cursor = a->cursor - LOWEST_ADDRESS < length + step ? HIGHEST_ADDRESS : a->cursor;
            address = a->cursor - length;
            address -= address % step;
            a->cursor = address;
        }
    } while (is_overlapping(a, address, bytes));
    return address;
}

/* Two new blocks: the first of the chain, which is returned and stays the first, and its place. */
static uint32_t add_chain(oc_allocator *a, uint64_t address, int64_t bytes, int pool, uint64_t stream) {
    uint32_t number = oc_blocks_new(&a->blocks);
    add_place(a, &a->places, number, address, bytes);
    oc_chunk *first = chunk(a, number);
    first->address = address;
    first->stream = stream;
    first->size = bytes;
    first->pool = (uint8_t)pool;
    first->next = a->segments;
    if (a->segments != OC_NO_BLOCK)
        chunk(a, a->segments)->previous = number;
    a->segments = number;
    return number;
}

static void drop_chain(oc_allocator *a, uint32_t number) {
    const oc_chunk *first = chunk(a, number);
    if (first->previous != OC_NO_BLOCK)
        chunk(a, first->previous)->next = first->next;
    else
        a->segments = first->next;
    if (first->next != OC_NO_BLOCK)
        chunk(a, first->next)->previous = first->previous;
    uint32_t place = place_before(a, &a->places, first->address + 1);
    OC_ASSERT(place != OC_NO_BLOCK && chunk(a, place)->next == number);
    drop_place(a, &a->places, place);
    drop_block(a, number);
}

/* Gives a free block that is a whole segment back to the driver: "release_block". */
static void release_segment(oc_allocator *a, uint32_t number) {
    remove_free(a, number);
    a->usage.reserved_bytes -= chunk(a, number)->size;
    drop_chain(a, number);
}

/* ---- ranges ---- */

/* Addresses for a pool and stream, nothing mapped. OC_NO_BLOCK if there are too many (CUDA runs out of addresses before) or host
 * memory ran out. */
static uint32_t add_range(oc_allocator *a, int pool, uint64_t stream, int *is_out_of_host) {
    uint32_t number = a->free_range;
    while (number < a->range_count && a->ranges[number].page_bytes)
        number++;
    a->free_range = number;
    if (number == RANGE_LIMIT || number > RANGES_BYTES / a->options.range_bytes)
        return OC_NO_BLOCK;
    range *ranges = make_room(a->arena, a->ranges, number + 1, &a->range_limit, sizeof *ranges);
    *is_out_of_host = !ranges;
    if (!ranges)
        return OC_NO_BLOCK;
    a->ranges = ranges;
    if (number == a->range_count)
        a->range_count++;
    int64_t page_bytes = pool == SMALL ? OC_kSmallBuffer : a->options.large_segment_bytes;
    ranges[number].page_bytes = page_bytes;
    const int64_t bytes = oc_round_up(a->options.range_bytes, page_bytes);
    ranges[number].base = next_address(a, bytes, page_bytes);
    uint32_t first = add_chain(a, ranges[number].base, bytes, pool, stream);
    chunk(a, first)->range = (uint16_t)number;
    (void)insert_merged(a, first, OC_STATE_UNMAPPED);
    return first;
}

/* "find_expandable_block": the first run of free and unmapped blocks, in address order, that adds up to `size`. */
static uint32_t find_run(const oc_allocator *a, int pool, int64_t size, uint64_t stream) {
    const oc_chunk key = {.stream = stream, .state = OC_STATE_UNMAPPED};
    const oc_index *index = &a->unmapped[pool];
    for (uint32_t number = oc_blocks_find(&a->blocks, index, &key); number != OC_NO_BLOCK; number = oc_blocks_after(&a->blocks, index, number)) {
        uint32_t start = has_state(a, chunk(a, number)->left, OC_STATE_FREE) ? chunk(a, number)->left : number;
        int64_t bytes = 0;
        for (uint32_t at = start; bytes < size && (has_state(a, at, OC_STATE_FREE) || has_state(a, at, OC_STATE_UNMAPPED)); at = chunk(a, at)->right)
            bytes += chunk(a, at)->size;
        if (bytes >= size)
            return start;
    }
    return OC_NO_BLOCK;
}

/* "map_block": backs the first `size` bytes of an unmapped block with whole pages and makes them free. Returns the free block that
 * they became part of, OC_NO_BLOCK if the driver has too little. */
static uint32_t map_pages(oc_allocator *a, uint32_t number, int64_t size) {
    oc_chunk *c = chunk(a, number);
    int64_t bytes = oc_round_up(size, a->ranges[c->range].page_bytes);
    if (!has_memory(a, bytes))
        return OC_NO_BLOCK;
    oc_blocks_remove(&a->blocks, &a->unmapped[c->pool], number);
    c->state = OC_STATE_USED; /* for now, so that the rest does not merge with it */
    if (bytes < c->size)
        (void)insert_merged(a, cut(a, number, bytes), OC_STATE_UNMAPPED);
    a->usage.reserved_bytes += bytes;
    return insert_merged(a, number, OC_STATE_FREE);
}

/* "try_allocate_expandable_block": a free block of at least `size` bytes, taken out of the index. */
static uint32_t grow_range(oc_allocator *a, int pool, int64_t size, uint64_t stream, int *is_out_of_host) {
    uint32_t number = find_run(a, pool, size, stream);
    if (number == OC_NO_BLOCK) {
        if (size > a->options.range_bytes)
            return OC_NO_BLOCK;
        number = add_range(a, pool, stream, is_out_of_host);
        if (number == OC_NO_BLOCK)
            return OC_NO_BLOCK;
    }
    if (chunk(a, number)->state == OC_STATE_UNMAPPED) {
        int64_t bytes = chunk(a, number)->size < size ? chunk(a, number)->size : size;
        number = map_pages(a, number, bytes);
    }
    while (number != OC_NO_BLOCK && chunk(a, number)->size < size) {
        uint32_t next = chunk(a, number)->right;
        int64_t missing = size - chunk(a, number)->size;
        number = map_pages(a, next, chunk(a, next)->size < missing ? chunk(a, next)->size : missing);
    }
    if (number != OC_NO_BLOCK)
        remove_free(a, number);
    return number;
}

/* "unmap_block": gives the pages that lie wholly inside a free block back. */
static void unmap_pages(oc_allocator *a, uint32_t number) {
    const range *r = &a->ranges[chunk(a, number)->range];
    const oc_chunk *c = chunk(a, number);
    int64_t start = (int64_t)(c->address - r->base), end = start + c->size;
    int64_t from = oc_round_up(start, r->page_bytes), to = end / r->page_bytes * r->page_bytes;
    if (from >= to)
        return;
    remove_free(a, number);
    if (to < end)
        insert_free(a, cut(a, number, to - start));
    if (from > start) {
        uint32_t before = number;
        number = cut(a, before, from - start);
        insert_free(a, before);
    }
    a->usage.reserved_bytes -= to - from;
    (void)insert_merged(a, number, OC_STATE_UNMAPPED);
}

/* Ranges with nothing mapped are given back: "release_expandable_segment". */
static void drop_empty_ranges(oc_allocator *a) {
    for (uint32_t number = a->segments, next; number != OC_NO_BLOCK; number = next) {
        next = chunk(a, number)->next;
        if (chunk(a, number)->state == OC_STATE_UNMAPPED && chunk(a, number)->right == OC_NO_BLOCK) {
            a->ranges[chunk(a, number)->range].page_bytes = 0;
            a->free_range = chunk(a, number)->range < a->free_range ? chunk(a, number)->range : a->free_range;
            oc_blocks_remove(&a->blocks, &a->unmapped[chunk(a, number)->pool], number);
            drop_chain(a, number);
        }
    }
}

/* ---- streams ---- */

/* The block goes back to its pool: "free_block". */
static void retire(oc_allocator *a, uint32_t number) {
    a->active_bytes -= chunk(a, number)->size;
    (void)insert_merged(a, number, OC_STATE_FREE);
}

/* Blocks whose last event is done become free: "process_events", or all: "synchronize_and_free_events". */
static void process_events(oc_allocator *a, int is_all) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < a->event_count; i++) {
        event e = a->events[i];
        if (!is_all && !e.is_done)
            a->events[kept++] = e;
        else if (--chunk(a, e.block)->child[0] == 0)
            retire(a, e.block);
    }
    a->event_count = kept;
}

int oc_allocator_record_stream(oc_allocator *a, uint32_t tensor, uint64_t stream) {
    OC_ASSERT(oc_allocator_holds(a, tensor));
    if (a->block_of[tensor] == OC_NO_BLOCK || chunk(a, a->block_of[tensor])->stream == stream)
        return 1; /* without caching, or its own stream: nothing to wait for */
    if (!a->use_of)
        a->use_of = oc_arena_alloc(a->arena, a->tensor_count, sizeof *a->use_of);
    stream_use *uses = make_room(a->arena, a->uses, a->use_count + 1, &a->use_limit, sizeof *uses);
    a->uses = uses ? uses : a->uses;
    event *events = make_room(a->arena, a->events, a->event_count + a->use_count, &a->event_limit, sizeof *events); /* for all frees to come */
    a->events = events ? events : a->events;
    if (!a->use_of || !uses || !events)
        return 0;
    for (uint32_t use = a->use_of[tensor]; use; use = uses[use].next)
        if (uses[use].stream == stream)
            return 1;
    uses[a->use_count] = (stream_use){stream, a->use_of[tensor]};
    a->use_of[tensor] = a->use_count++;
    return 1;
}

void oc_allocator_finish_stream(oc_allocator *a, uint64_t stream) {
    for (uint32_t i = 0; i < a->event_count; i++)
        a->events[i].is_done |= a->events[i].stream == stream;
}

/* ---- releases ---- */

/* Room in the block array for cutting every free block of a range twice. 0 if out of memory. */
static int reserve_for_release(oc_allocator *a) {
    uint32_t free_count = 0;
    for (uint32_t first = a->range_count > 1 ? a->segments : OC_NO_BLOCK; first != OC_NO_BLOCK; first = chunk(a, first)->next)
        for (uint32_t at = first; at != OC_NO_BLOCK; at = chunk(a, at)->right)
            free_count += chunk(a, at)->state != OC_STATE_USED;
    return oc_blocks_reserve(&a->blocks, 2 * free_count);
}

/* "release_cached_blocks". 0 if out of memory. */
static int release_cached(oc_allocator *a) {
    process_events(a, 1);
    if (!reserve_for_release(a))
        return 0;
    for (uint32_t first = a->segments, next_segment; first != OC_NO_BLOCK; first = next_segment) {
        next_segment = chunk(a, first)->next;
        if (chunk(a, first)->range == NO_RANGE) {
            if (chunk(a, first)->state == OC_STATE_FREE && chunk(a, first)->right == OC_NO_BLOCK)
                release_segment(a, first);
            continue;
        }
        for (uint32_t at = first, next; at != OC_NO_BLOCK; at = next) {
            next = chunk(a, at)->right;
            while (has_state(a, next, OC_STATE_UNMAPPED)) /* these may merge with what is unmapped now */
                next = chunk(a, next)->right;
            if (chunk(a, at)->state == OC_STATE_FREE)
                unmap_pages(a, at);
        }
    }
    drop_empty_ranges(a);
    return 1;
}

static int is_collectable(const oc_chunk *c) {
    return c->state == OC_STATE_FREE && c->pool == LARGE && c->range == NO_RANGE && is_whole_segment(c);
}

static uint32_t age_of(const oc_allocator *a, const oc_chunk *c) {
    return a->search_count[LARGE] - c->freed_at;
}

/* "garbage_collect_cached_blocks": the longest unused whole segments of the large pool, older ones first. */
static void collect_garbage(oc_allocator *a) {
    int64_t threshold = (int64_t)(a->options.garbage_collection_threshold * (double)a->options.fraction_bytes);
    if (reserved_in_all(a) <= threshold)
        return;
    int64_t target = reserved_in_all(a) - threshold, reclaimed = 0;
    double total_age = 0;
    uint32_t count = 0;
    for (uint32_t at = a->segments; at != OC_NO_BLOCK; at = chunk(a, at)->next) {
        if (is_collectable(chunk(a, at))) {
            total_age += age_of(a, chunk(a, at));
            count++;
        }
    }
    for (int has_freed = 1; reclaimed < target && has_freed && count;) {
        const double threshold_age = total_age / count; /* fixed for the pass, which goes on when the target is met */
        has_freed = 0;
        for (uint32_t at = a->segments, next; at != OC_NO_BLOCK; at = next) {
            const oc_chunk *c = chunk(a, at);
            const uint32_t age = age_of(a, c);
            next = c->next;
            if (!is_collectable(c) || age < threshold_age)
                continue;
            total_age -= age;
            count--;
            reclaimed += c->size;
            has_freed = 1;
            release_segment(a, at);
        }
    }
}

/* "release_available_cached_blocks": the smallest oversize block that is large enough, else the largest ones. 1 if it was enough. */
static int release_oversize(oc_allocator *a, int pool, int64_t size, uint64_t stream) {
    const int64_t least = a->options.max_split_bytes;
    if (least == OC_NO_LIMIT)
        return 0;
    const oc_chunk key = {.stream = stream, .size = size < least ? least : size, .state = OC_STATE_FREE};
    uint32_t number = oc_blocks_find(&a->blocks, &a->free[pool], &key);
    if (number != OC_NO_BLOCK && chunk(a, number)->range == NO_RANGE && is_whole_segment(chunk(a, number))) {
        release_segment(a, number);
        return 1;
    }
    int64_t released = 0;
    oc_chunk below = key;
    while (released < key.size) {
        number = oc_blocks_find_before(&a->blocks, &a->free[pool], &below);
        if (number == OC_NO_BLOCK || chunk(a, number)->size < least)
            break;
        below = *chunk(a, number);
        if (below.range != NO_RANGE || !is_whole_segment(&below))
            continue;
        released += below.size;
        release_segment(a, number);
    }
    return released >= key.size;
}

int oc_allocator_empty_cache(oc_allocator *a) {
    return a->options.is_uncached || release_cached(a);
}

/* ---- requests ---- */

/* "alloc_block": a block of at least `size` bytes that is in no index; OC_NO_BLOCK if the driver has too little. */
static uint32_t new_block(oc_allocator *a, int pool, int64_t size, uint64_t stream, int *is_out_of_host) {
    int64_t bytes = segment_size(&a->options, size);
    if (bytes > a->options.fraction_bytes - reserved_in_all(a))
        return OC_NO_BLOCK;
    if (a->options.is_expandable)
        return grow_range(a, pool, size, stream, is_out_of_host);
    if (!has_memory(a, bytes))
        return OC_NO_BLOCK;
    uint32_t number = add_chain(a, next_address(a, bytes, OC_kRoundLarge), bytes, pool, stream);
    a->usage.reserved_bytes += bytes;
    return number;
}

/* "should_split" */
static int should_split(const oc_allocator *a, const oc_chunk *c, int64_t size) {
    int64_t rest = c->size - size;
    if (c->pool == SMALL || a->options.is_expandable)
        return rest >= OC_kMinBlockSize;
    return size < a->options.max_split_bytes && rest > OC_kSmallSize;
}

static oc_placement allocate_uncached(oc_allocator *a, uint32_t tensor, int64_t bytes) {
    int64_t size = oc_round_up(bytes, OC_kMinBlockSize); /* cudaMalloc aligns to 512 bytes; that it takes whole 2 MiB pages is not counted */
    if (!has_memory(a, size))
        return OC_NO_DEVICE_MEMORY;
    a->bytes_of[tensor] = bytes;
    a->usage.tensor_bytes += bytes;
    a->usage.allocated_bytes += size;
    a->usage.reserved_bytes += size;
    return OC_PLACED;
}

oc_placement oc_allocator_allocate(oc_allocator *a, uint32_t tensor, int64_t bytes, uint64_t stream) {
    enum { MOST_NEW_BLOCKS = 7 }; /* segment or range and its place, its unmapped rest, the rest of the split */
    OC_ASSERT(tensor < a->tensor_count && !oc_allocator_holds(a, tensor) && bytes > 0);
    if (a->options.is_uncached)
        return allocate_uncached(a, tensor, bytes);
    if (a->event_count)
        process_events(a, 0);
    int64_t size = round_size(&a->options, bytes);
    int pool = pool_for(size), is_out_of_host = !oc_blocks_reserve(&a->blocks, MOST_NEW_BLOCKS);
    if (is_out_of_host)
        return OC_NO_HOST_MEMORY;
    uint32_t number = find_free(a, pool, size, stream);
    if (number != OC_NO_BLOCK) {
        remove_free(a, number);
    } else {
        if (a->options.fraction_bytes != OC_NO_LIMIT && a->options.garbage_collection_threshold > 0)
            collect_garbage(a);
        number = new_block(a, pool, size, stream, &is_out_of_host);
        if (number == OC_NO_BLOCK && !is_out_of_host && release_oversize(a, pool, size, stream))
            number = new_block(a, pool, size, stream, &is_out_of_host);
        if (number == OC_NO_BLOCK && !is_out_of_host) {
            int64_t before = a->usage.reserved_bytes;
            if (!release_cached(a) || !oc_blocks_reserve(&a->blocks, MOST_NEW_BLOCKS))
                return OC_NO_HOST_MEMORY;
            a->retry_count++;
            a->released_bytes += before - a->usage.reserved_bytes;
            number = new_block(a, pool, size, stream, &is_out_of_host);
        }
        if (number == OC_NO_BLOCK && is_out_of_host)
            return OC_NO_HOST_MEMORY;
        if (number == OC_NO_BLOCK) {
            a->oom_count++;
            return OC_NO_DEVICE_MEMORY;
        }
    }
    if (should_split(a, chunk(a, number), size))
        insert_free(a, cut(a, number, size));
    bytes = bytes < chunk(a, number)->size ? bytes : chunk(a, number)->size; /* near_fit: the request is taken to be that small */
    a->block_of[tensor] = number;
    a->bytes_of[tensor] = bytes;
    a->usage.allocated_bytes += chunk(a, number)->size;
    a->active_bytes += chunk(a, number)->size;
    a->usage.tensor_bytes += bytes;
    return OC_PLACED;
}

/* Records an event on every other stream that used the block: "insert_events". Returns how many. */
static uint32_t insert_events(oc_allocator *a, uint32_t tensor, uint32_t number) {
    uint32_t count = 0;
    if (!a->use_of)
        return 0;
    for (uint32_t use = a->use_of[tensor]; use; use = a->uses[use].next, count++) {
        OC_ASSERT(a->event_count < a->event_limit);
        a->events[a->event_count++] = (event){a->uses[use].stream, number, 0};
    }
    a->use_of[tensor] = 0;
    return count;
}

void oc_allocator_free(oc_allocator *a, uint32_t tensor) {
    OC_ASSERT(oc_allocator_holds(a, tensor));
    uint32_t number = a->block_of[tensor], event_count = 0;
    int64_t bytes = a->bytes_of[tensor], size = number ? chunk(a, number)->size : oc_round_up(bytes, OC_kMinBlockSize);
    a->block_of[tensor] = OC_NO_BLOCK;
    a->bytes_of[tensor] = 0;
    a->usage.allocated_bytes -= size;
    a->usage.tensor_bytes -= bytes;
    if (number == OC_NO_BLOCK) {
        a->usage.reserved_bytes -= size;
        return;
    }
    event_count = insert_events(a, tensor, number);
    if (!event_count) {
        retire(a, number);
        return;
    }
    chunk(a, number)->state = OC_STATE_PENDING;
    chunk(a, number)->child[0] = event_count;
}

/* ---- what is seen from outside ---- */

int oc_allocator_holds(const oc_allocator *a, uint32_t tensor) {
    return a->bytes_of[tensor] != 0;
}

uint64_t oc_allocator_address(const oc_allocator *a, uint32_t tensor) {
    return a->block_of[tensor] == OC_NO_BLOCK ? 0 : chunk(a, a->block_of[tensor])->address;
}

const oc_usage *oc_allocator_usage(const oc_allocator *a) {
    return &a->usage;
}

int64_t oc_allocator_next_limit(const oc_allocator *a) {
    return a->next_limit_bytes;
}

oc_counters oc_allocator_count(const oc_allocator *a) {
    if (a->options.is_uncached)
        return (oc_counters){0};
    return (oc_counters){.requested_bytes = a->usage.tensor_bytes, .allocated_bytes = a->usage.allocated_bytes, .active_bytes = a->active_bytes,
                         .reserved_bytes = a->usage.reserved_bytes, .retry_count = a->retry_count, .oom_count = a->oom_count,
                         .released_bytes = a->released_bytes};
}

oc_layout oc_allocator_survey(const oc_allocator *a) {
    oc_layout layout = {0, 0, 0};
    for (uint32_t first = a->segments; first != OC_NO_BLOCK; first = chunk(a, first)->next) {
        int is_range = chunk(a, first)->range != NO_RANGE, is_mapped = 0;
        layout.segment_count += !is_range;
        for (uint32_t at = first; at != OC_NO_BLOCK; at = chunk(a, at)->right) {
            const oc_chunk *c = chunk(a, at);
            layout.snapshot_count += !is_mapped && c->state != OC_STATE_UNMAPPED;
            is_mapped = c->state != OC_STATE_UNMAPPED;
            if (c->state == OC_STATE_FREE && !is_range && !is_whole_segment(c))
                layout.inactive_split_bytes += c->size;
        }
    }
    return layout;
}

/* ---- scripts ---- */

void oc_allocator_set_next_segment(oc_allocator *a, uint64_t address) {
    OC_ASSERT(address < OC_SCRIPT_ADDRESSES);
    a->next_address = address;
    a->next_taken_bytes = 0;
    a->is_next_overlapping = 0;
}

int64_t oc_allocator_take_next_segment(oc_allocator *a, int *is_overlapping) {
    int64_t bytes = a->next_address ? a->next_taken_bytes : 0;
    *is_overlapping = a->next_address && a->is_next_overlapping;
    a->next_address = 0;
    return bytes;
}

oc_preset oc_allocator_add_segment(oc_allocator *a, uint64_t address, int64_t bytes, uint64_t stream, int is_small) {
    OC_ASSERT(address < OC_SCRIPT_ADDRESSES);
    if (is_overlapping(a, address, bytes))
        return OC_PRESET_OVERLAP;
    if (!oc_blocks_reserve(&a->blocks, 2))
        return OC_PRESET_NO_HOST_MEMORY;
    insert_free(a, add_chain(a, address, bytes, is_small ? SMALL : LARGE, stream));
    a->usage.reserved_bytes += bytes;
    return OC_PRESET_DONE;
}

/* The block that `address` is in, OC_NO_BLOCK if none. Walks its segment from the nearest preset before it. */
static uint32_t block_around(const oc_allocator *a, uint64_t address) {
    uint32_t place = place_before(a, &a->places, address + 1);
    if (place == OC_NO_BLOCK || address - chunk(a, place)->address >= (uint64_t)chunk(a, place)->size)
        return OC_NO_BLOCK;
    uint32_t at = chunk(a, place)->next, preset = place_before(a, &a->presets, address + 1);
    if (preset != OC_NO_BLOCK && chunk(a, preset)->address >= chunk(a, place)->address)
        at = chunk(a, preset)->next;
    while (address - chunk(a, at)->address >= (uint64_t)chunk(a, at)->size)
        at = chunk(a, at)->right;
    return at;
}

oc_preset oc_allocator_add_block(oc_allocator *a, uint32_t tensor, uint64_t address, int64_t block_bytes, int64_t bytes) {
    OC_ASSERT(tensor < a->tensor_count && !oc_allocator_holds(a, tensor) && 0 < bytes && bytes <= block_bytes);
    if (!oc_blocks_reserve(&a->blocks, 3))
        return OC_PRESET_NO_HOST_MEMORY;
    uint32_t number = block_around(a, address);
    if (!has_state(a, number, OC_STATE_FREE))
        return OC_PRESET_MISPLACED;
    const int64_t before = (int64_t)(address - chunk(a, number)->address);
    if (before % OC_kMinBlockSize || block_bytes > chunk(a, number)->size - before)
        return OC_PRESET_MISPLACED;
    remove_free(a, number);
    if (before) {
        uint32_t rest = cut(a, number, before);
        insert_free(a, number);
        number = rest;
    }
    if (block_bytes < chunk(a, number)->size)
        insert_free(a, cut(a, number, block_bytes));
    const uint32_t preset = place_before(a, &a->presets, address + 1); /* of a block that was there before and was freed */
    if (preset == OC_NO_BLOCK || chunk(a, preset)->next != number)
        add_place(a, &a->presets, number, address, block_bytes);
    a->block_of[tensor] = number;
    a->bytes_of[tensor] = bytes;
    a->usage.tensor_bytes += bytes;
    a->usage.allocated_bytes += block_bytes;
    a->active_bytes += block_bytes;
    return OC_PRESET_DONE;
}

oc_preset oc_allocator_release_segment(oc_allocator *a, uint64_t address, int64_t bytes) {
    process_events(a, 0);
    uint32_t place = place_before(a, &a->places, address + 1), first = place != OC_NO_BLOCK ? chunk(a, place)->next : OC_NO_BLOCK;
    if (!has_state(a, first, OC_STATE_FREE) || chunk(a, first)->address != address || chunk(a, first)->size != bytes || !is_whole_segment(chunk(a, first)))
        return OC_PRESET_MISPLACED;
    release_segment(a, first);
    return OC_PRESET_DONE;
}

/* ---- invariants ---- */

#ifdef OC_CHECKED
static uint32_t count_tree(const oc_allocator *a, uint32_t at, uint32_t bin, int pool, oc_block_state state) {
    if (at == OC_NO_BLOCK)
        return 0;
    const oc_chunk *c = chunk(a, at);
    OC_CHECK(c->state == state && c->pool == pool && oc_blocks_bin(c) == bin);
    OC_CHECK(c->child[0] == OC_NO_BLOCK || oc_blocks_is_less(chunk(a, c->child[0]), c));
    OC_CHECK(c->child[1] == OC_NO_BLOCK || oc_blocks_is_less(c, chunk(a, c->child[1])));
    return 1 + count_tree(a, c->child[0], bin, pool, state) + count_tree(a, c->child[1], bin, pool, state);
}

static uint32_t count_index(const oc_allocator *a, const oc_index *index, int pool, oc_block_state state) {
    uint32_t count = 0;
    for (uint32_t bin = 0; bin < OC_BIN_COUNT; bin++) {
        OC_CHECK((index->roots[bin] != OC_NO_BLOCK) == (index->used[bin / 64] >> bin % 64 & 1));
        count += count_tree(a, index->roots[bin], bin, pool, state);
    }
    return count;
}

typedef struct tally {
    int64_t bytes[OC_STATE_UNMAPPED + 1];
    uint32_t counts[OC_STATE_UNMAPPED + 1], waiting, segment_count;
    uint64_t end; /* of the segment before */
} tally;

static void check_chain(const oc_allocator *a, const oc_chunk *place, tally *t) {
    const oc_chunk *head = chunk(a, place->next);
    uint64_t address = place->address;
    int64_t mapped_bytes = 0;
    OC_CHECK(head->left == OC_NO_BLOCK && address >= t->end);
    for (uint32_t at = place->next; at != OC_NO_BLOCK; at = chunk(a, at)->right) {
        const oc_chunk *c = chunk(a, at), *right = c->right == OC_NO_BLOCK ? NULL : chunk(a, c->right);
        OC_CHECK(c->address == address && c->size > 0 && c->size % OC_kMinBlockSize == 0);
        OC_CHECK(c->pool == head->pool && c->stream == head->stream && c->range == head->range);
        OC_CHECK(!right || (right->left == at && !(c->state == right->state && (c->state == OC_STATE_FREE || c->state == OC_STATE_UNMAPPED))));
        OC_CHECK(c->state != OC_STATE_UNMAPPED ||
                 (c->range != NO_RANGE && (c->address - a->ranges[c->range].base) % (uint64_t)a->ranges[c->range].page_bytes == 0));
        OC_CHECK(c->state != OC_STATE_PENDING || c->child[0] > 0);
        address += (uint64_t)c->size;
        t->bytes[c->state] += c->size;
        mapped_bytes += c->state == OC_STATE_UNMAPPED ? 0 : c->size;
        t->counts[c->state]++;
        t->waiting += c->state == OC_STATE_PENDING ? c->child[0] : 0;
    }
    OC_CHECK(address == place->address + (uint64_t)place->size);
    OC_CHECK(head->range == NO_RANGE || mapped_bytes % a->ranges[head->range].page_bytes == 0);
    t->end = address;
    t->segment_count++;
}

/* All segments in the order of their addresses. */
static void check_places(const oc_allocator *a, uint32_t at, tally *t) {
    if (at == OC_NO_BLOCK)
        return;
    check_places(a, chunk(a, at)->child[0], t);
    check_chain(a, chunk(a, at), t);
    check_places(a, chunk(a, at)->child[1], t);
}

void oc_allocator_check(const oc_allocator *a) {
    tally t = {0};
    uint32_t listed_count = 0;
    check_places(a, a->places.roots[0], &t);
    for (uint32_t first = a->segments; first != OC_NO_BLOCK; first = chunk(a, first)->next)
        listed_count++;
    OC_CHECK(listed_count == t.segment_count);
    int64_t active = t.bytes[OC_STATE_USED] + t.bytes[OC_STATE_PENDING], reserved = active + t.bytes[OC_STATE_FREE];
    OC_CHECK(a->options.is_uncached || (reserved == a->usage.reserved_bytes && t.bytes[OC_STATE_USED] == a->usage.allocated_bytes && active == a->active_bytes));
    OC_CHECK(a->usage.tensor_bytes <= a->usage.allocated_bytes && a->usage.allocated_bytes <= a->usage.reserved_bytes);
    OC_CHECK(t.waiting == a->event_count);
    for (int state = OC_STATE_FREE; state <= OC_STATE_UNMAPPED; state++) {
        const oc_index *indexes = state == OC_STATE_FREE ? a->free : a->unmapped;
        OC_CHECK(t.counts[state] == count_index(a, &indexes[SMALL], SMALL, (oc_block_state)state) + count_index(a, &indexes[LARGE], LARGE, (oc_block_state)state));
    }
}
#else
void oc_allocator_check(const oc_allocator *a) {
    (void)a;
}
#endif

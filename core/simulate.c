/* The allocator. Blocks are numbered and live in one array; the free ones of a pool form a treap ordered by size and address. */
#include "simulate.h"

#include "error.h"

#include <string.h>

enum { NO_BLOCK = 0, SMALL = 0, LARGE = 1, POOL_COUNT = 2 };

typedef struct block {
    uint64_t address;
    int64_t size;
    uint32_t left, right;           /* neighbours in the segment */
    uint32_t lower, higher;         /* children in the free index */
    uint32_t next, previous;        /* of the first block of a segment: the list of segments */
    uint32_t priority;
    uint8_t is_free, pool;
} block;

struct oc_allocator {
    block *blocks; /* number 0 is none */
    uint32_t block_limit, block_count, spare; /* spare: chain of numbers to use again, by `right` */
    uint32_t free_root[POOL_COUNT];
    uint32_t segments; /* first block of the newest segment */
    uint32_t *block_of; /* per tensor */
    int64_t *bytes_of;  /* per tensor, as requested */
    uint32_t tensor_count;
    uint64_t cursor; /* address of the last segment */
    int is_rising;
    int64_t limit_bytes;
    int64_t next_limit_bytes; /* the smallest limit under which a segment that was refused would have been made */
    oc_usage usage;
    uint32_t random;
};

oc_allocator *oc_allocator_open(oc_arena *arena, uint32_t tensor_count) {
    oc_allocator *a = oc_arena_alloc(arena, 1, sizeof *a);
    if (!a)
        return NULL;
    a->tensor_count = tensor_count;
    a->block_limit = 3 * tensor_count + 2; /* live blocks, free blocks between them and one whole segment each */
    a->blocks = oc_arena_alloc(arena, a->block_limit, sizeof *a->blocks);
    a->block_of = oc_arena_alloc(arena, tensor_count, sizeof *a->block_of);
    a->bytes_of = oc_arena_alloc(arena, tensor_count, sizeof *a->bytes_of);
    return a->blocks && a->block_of && a->bytes_of ? a : NULL;
}

static void reset(oc_allocator *a, int64_t limit_bytes, int is_rising) {
    a->block_count = 1;
    a->spare = NO_BLOCK;
    a->free_root[SMALL] = a->free_root[LARGE] = NO_BLOCK;
    a->segments = NO_BLOCK;
    memset(a->block_of, 0, a->tensor_count * sizeof *a->block_of);
    a->cursor = (uint64_t)1 << 50;
    a->is_rising = is_rising;
    a->limit_bytes = limit_bytes;
    a->next_limit_bytes = INT64_MAX;
    a->usage = (oc_usage){0, 0, 0};
    a->random = 2463534242u;
}

static uint32_t new_block(oc_allocator *a) {
    uint32_t number = a->spare;
    if (number != NO_BLOCK) {
        a->spare = a->blocks[number].right;
    } else {
        OC_ASSERT(a->block_count < a->block_limit);
        number = a->block_count++;
    }
    a->random ^= a->random << 13; /* xorshift32 (Marsaglia 2003): treap priorities, the same in every run */
    a->random ^= a->random >> 17;
    a->random ^= a->random << 5;
    memset(&a->blocks[number], 0, sizeof(block));
    a->blocks[number].priority = a->random;
    return number;
}

static void drop_block(oc_allocator *a, uint32_t number) {
    a->blocks[number].right = a->spare;
    a->spare = number;
}

/* ---- the free index ---- */

static int is_less(const block *x, const block *y) {
    return x->size != y->size ? x->size < y->size : x->address < y->address;
}

static void insert_free(oc_allocator *a, uint32_t number) {
    block *new = &a->blocks[number];
    new->is_free = 1;
    uint32_t *link = &a->free_root[new->pool];
    while (*link != NO_BLOCK && a->blocks[*link].priority >= new->priority) {
        block *at = &a->blocks[*link];
        link = is_less(new, at) ? &at->lower : &at->higher;
    }
    uint32_t rest = *link, *lower = &new->lower, *higher = &new->higher; /* split what hung there around the new block */
    *link = number;
    while (rest != NO_BLOCK) {
        block *at = &a->blocks[rest];
        if (is_less(at, new)) {
            *lower = rest;
            lower = &at->higher;
        } else {
            *higher = rest;
            higher = &at->lower;
        }
        rest = is_less(at, new) ? at->higher : at->lower;
    }
    *lower = *higher = NO_BLOCK;
}

static void remove_free(oc_allocator *a, uint32_t number) {
    block *old = &a->blocks[number];
    uint32_t *link = &a->free_root[old->pool];
    while (*link != number) {
        OC_ASSERT(*link != NO_BLOCK);
        block *at = &a->blocks[*link];
        link = is_less(old, at) ? &at->lower : &at->higher;
    }
    uint32_t lower = old->lower, higher = old->higher;
    while (lower != NO_BLOCK && higher != NO_BLOCK) {
        if (a->blocks[lower].priority > a->blocks[higher].priority) {
            *link = lower;
            link = &a->blocks[lower].higher;
            lower = *link;
        } else {
            *link = higher;
            link = &a->blocks[higher].lower;
            higher = *link;
        }
    }
    *link = lower != NO_BLOCK ? lower : higher;
    old->is_free = 0;
}

/* The smallest free block of at least `size`, lowest address first. */
static uint32_t find_free(const oc_allocator *a, int pool, int64_t size) {
    uint32_t best = NO_BLOCK, at = a->free_root[pool];
    while (at != NO_BLOCK) {
        if (a->blocks[at].size >= size) {
            best = at;
            at = a->blocks[at].lower;
        } else {
            at = a->blocks[at].higher;
        }
    }
    return best;
}

static int64_t largest_free(const oc_allocator *a, int pool) {
    uint32_t at = a->free_root[pool];
    while (at != NO_BLOCK && a->blocks[at].higher != NO_BLOCK)
        at = a->blocks[at].higher;
    return at == NO_BLOCK ? 0 : a->blocks[at].size;
}

/* ---- segments ---- */

static int64_t round_up(int64_t value, int64_t unit) {
    return (value + unit - 1) / unit * unit;
}

static int64_t segment_size(int64_t size) {
    return size <= OC_kSmallSize ? OC_kSmallBuffer : size < OC_kMinLargeAlloc ? OC_kLargeBuffer : round_up(size, OC_kRoundLarge);
}

static uint32_t new_segment(oc_allocator *a, int pool, int64_t bytes) {
    if (bytes > a->limit_bytes - a->usage.reserved_bytes) {
        if (a->usage.reserved_bytes + bytes < a->next_limit_bytes)
            a->next_limit_bytes = a->usage.reserved_bytes + bytes;
        return NO_BLOCK;
    }
    uint32_t number = new_block(a);
    block *first = &a->blocks[number];
    if (!a->is_rising)
        a->cursor -= (uint64_t)bytes + OC_kRoundLarge; /* a gap, so that segments never touch */
    first->address = a->cursor;
    if (a->is_rising)
        a->cursor += (uint64_t)bytes + OC_kRoundLarge;
    first->size = bytes;
    first->pool = (uint8_t)pool;
    first->next = a->segments;
    if (a->segments != NO_BLOCK)
        a->blocks[a->segments].previous = number;
    a->segments = number;
    a->usage.reserved_bytes += bytes;
    return number;
}

/* Gives every wholly free segment back to the device. */
static void release_cached(oc_allocator *a) {
    for (uint32_t number = a->segments; number != NO_BLOCK;) {
        block *first = &a->blocks[number];
        uint32_t next = first->next;
        if (first->is_free && first->right == NO_BLOCK) {
            remove_free(a, number);
            if (first->previous != NO_BLOCK)
                a->blocks[first->previous].next = next;
            else
                a->segments = next;
            if (next != NO_BLOCK)
                a->blocks[next].previous = first->previous;
            a->usage.reserved_bytes -= first->size;
            drop_block(a, number);
        }
        number = next;
    }
}

/* ---- requests ---- */

static int should_split(int pool, int64_t rest) {
    return pool == SMALL ? rest >= OC_kMinBlockSize : rest > OC_kSmallSize;
}

/* The request gets the low end, the rest stays free to its right. */
static void split(oc_allocator *a, uint32_t number, int64_t size) {
    uint32_t rest_number = new_block(a);
    block *used = &a->blocks[number], *rest = &a->blocks[rest_number];
    rest->address = used->address + (uint64_t)size;
    rest->size = used->size - size;
    rest->pool = used->pool;
    rest->left = number;
    rest->right = used->right;
    if (used->right != NO_BLOCK)
        a->blocks[used->right].left = rest_number;
    used->right = rest_number;
    used->size = size;
    insert_free(a, rest_number);
}

/* 0 if out of memory. */
static int allocate(oc_allocator *a, uint32_t tensor, int64_t bytes, oc_run *run) {
    OC_ASSERT(tensor < a->tensor_count && a->block_of[tensor] == NO_BLOCK);
    int64_t size = round_up(bytes, OC_kMinBlockSize);
    int pool = size <= OC_kSmallSize ? SMALL : LARGE;
    uint32_t number = find_free(a, pool, size);
    if (number != NO_BLOCK) {
        remove_free(a, number);
    } else {
        int64_t segment_bytes = segment_size(size);
        number = new_segment(a, pool, segment_bytes);
        if (number == NO_BLOCK) {
            int64_t before = a->usage.reserved_bytes;
            release_cached(a);
            run->retry_count++;
            run->released_bytes += before - a->usage.reserved_bytes;
            number = new_segment(a, pool, segment_bytes);
        }
        if (number == NO_BLOCK) {
            run->is_oom = 1;
            run->oom_bytes = bytes;
            run->oom_largest_free_bytes = largest_free(a, pool);
            run->at_oom = a->usage;
            return 0;
        }
    }
    if (should_split(pool, a->blocks[number].size - size))
        split(a, number, size);
    a->block_of[tensor] = number;
    a->bytes_of[tensor] = bytes;
    a->usage.allocated_bytes += a->blocks[number].size;
    a->usage.tensor_bytes += bytes;
    return 1;
}

/* Takes the free block `right` into its left neighbour `left`; neither is in the free index. */
static void absorb_right(oc_allocator *a, uint32_t left, uint32_t right) {
    a->blocks[left].size += a->blocks[right].size;
    a->blocks[left].right = a->blocks[right].right;
    if (a->blocks[left].right != NO_BLOCK)
        a->blocks[a->blocks[left].right].left = left;
    drop_block(a, right);
}

static void release(oc_allocator *a, uint32_t tensor) {
    OC_ASSERT(tensor < a->tensor_count && a->block_of[tensor] != NO_BLOCK);
    uint32_t number = a->block_of[tensor];
    a->block_of[tensor] = NO_BLOCK;
    a->usage.allocated_bytes -= a->blocks[number].size;
    a->usage.tensor_bytes -= a->bytes_of[tensor];
    uint32_t left = a->blocks[number].left, right = a->blocks[number].right;
    if (right != NO_BLOCK && a->blocks[right].is_free) {
        remove_free(a, right);
        absorb_right(a, number, right);
    }
    if (left != NO_BLOCK && a->blocks[left].is_free) {
        remove_free(a, left);
        absorb_right(a, left, number);
        number = left;
    }
    insert_free(a, number);
}

#ifdef OC_CHECKED
static uint32_t count_index(const oc_allocator *a, uint32_t at, int pool) {
    if (at == NO_BLOCK)
        return 0;
    const block *b = &a->blocks[at];
    OC_CHECK(b->is_free && b->pool == pool);
    OC_CHECK(b->lower == NO_BLOCK || is_less(&a->blocks[b->lower], b));
    OC_CHECK(b->higher == NO_BLOCK || is_less(b, &a->blocks[b->higher]));
    return 1 + count_index(a, b->lower, pool) + count_index(a, b->higher, pool);
}

static void check(const oc_allocator *a) {
    int64_t reserved = 0, used = 0;
    uint32_t free_count = 0;
    for (uint32_t first = a->segments; first != NO_BLOCK; first = a->blocks[first].next) {
        OC_CHECK(a->blocks[first].left == NO_BLOCK);
        uint64_t address = a->blocks[first].address;
        for (uint32_t at = first; at != NO_BLOCK; at = a->blocks[at].right) {
            const block *b = &a->blocks[at];
            OC_CHECK(b->address == address && b->size > 0 && b->size % OC_kMinBlockSize == 0);
            OC_CHECK(b->right == NO_BLOCK || (a->blocks[b->right].left == at && !(b->is_free && a->blocks[b->right].is_free)));
            address += (uint64_t)b->size;
            reserved += b->size;
            used += b->is_free ? 0 : b->size;
            free_count += b->is_free;
        }
    }
    OC_CHECK(reserved == a->usage.reserved_bytes && used == a->usage.allocated_bytes);
    OC_CHECK(a->usage.tensor_bytes <= used && used <= reserved && reserved <= a->limit_bytes);
    OC_CHECK(free_count == count_index(a, a->free_root[SMALL], SMALL) + count_index(a, a->free_root[LARGE], LARGE));
}
#else
static void check(const oc_allocator *a) {
    (void)a;
}
#endif

void oc_simulate(oc_allocator *a, const oc_request *requests, uint32_t count, int64_t limit_bytes, int is_rising, oc_usage *usage,
                 oc_run *run) {
    reset(a, limit_bytes, is_rising);
    memset(run, 0, sizeof *run);
    for (uint32_t i = 0; i < count; i++) {
        if (requests[i].bytes == 0)
            release(a, requests[i].tensor);
        else if (!allocate(a, requests[i].tensor, requests[i].bytes, run))
            return;
        check(a);
        if (a->usage.tensor_bytes > run->peak.tensor_bytes)
            run->peak.tensor_bytes = a->usage.tensor_bytes;
        if (a->usage.allocated_bytes > run->peak.allocated_bytes) {
            run->peak.allocated_bytes = a->usage.allocated_bytes;
            run->peak_allocated_at = i;
        }
        if (a->usage.reserved_bytes > run->peak.reserved_bytes) {
            run->peak.reserved_bytes = a->usage.reserved_bytes;
            run->peak_reserved_at = i;
        }
        if (usage)
            usage[i] = a->usage;
        run->request_count = i + 1;
    }
}

/* The highest sum of rounded live requests: no limit below it can do. */
static int64_t highest_live(oc_allocator *a, const oc_request *requests, uint32_t count) {
    int64_t live = 0, highest = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (requests[i].bytes) {
            a->bytes_of[requests[i].tensor] = round_up(requests[i].bytes, OC_kMinBlockSize);
            live += a->bytes_of[requests[i].tensor];
        } else {
            live -= a->bytes_of[requests[i].tensor];
        }
        if (live > highest)
            highest = live;
        if (highest >= OC_NO_LIMIT)
            break;
    }
    return highest;
}

/* Not every larger limit does where a smaller one does (a cached segment that was not released may be pinned by a small block), so
 * this is no bisection. A run differs from that of a smaller limit only where a segment was refused that fits now: each try is at
 * the smallest limit at which that is so. A try that fails ends early; the measured jobs need up to 166 of them. After
 * EXACT_TRIES larger steps keep the time bounded: the answer still does, but a smaller one may. */
int64_t oc_simulate_minimum(oc_allocator *a, const oc_request *requests, uint32_t count, int64_t enough_bytes) {
    enum { EXACT_TRIES = 512, STEPS_AFTER = 16 };
    int64_t limit = round_up(highest_live(a, requests, count), OC_kRoundLarge);
    for (int tries = 1; limit < enough_bytes; tries++) {
        oc_run run;
        oc_simulate(a, requests, count, limit, 0, NULL, &run);
        if (!run.is_oom)
            return limit;
        int64_t step = tries < EXACT_TRIES ? 0 : (enough_bytes - limit) / STEPS_AFTER;
        limit = a->next_limit_bytes > limit + step ? a->next_limit_bytes : round_up(limit + step, OC_kRoundLarge);
    }
    return round_up(enough_bytes, OC_kRoundLarge);
}

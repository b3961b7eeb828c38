/* Gzip by magic bytes, over zlib: many members in a row, trailing bytes after the last one are ignored and counted.
 * Works on memory it is given, cut anywhere; zlib's own memory comes from the arena. */
#ifndef OC_INFLATE_H
#define OC_INFLATE_H

#include "arena.h"
#include "error.h"

#include <zlib.h>

typedef struct oc_inflate {
    z_stream stream;
    oc_arena *arena;
    enum { OC_INFLATE_MEMBER, OC_INFLATE_BETWEEN, OC_INFLATE_TRAILING } state;
    uint32_t member_count;   /* whole members so far */
    uint64_t input_bytes;    /* compressed bytes consumed */
    uint64_t trailing_bytes; /* bytes after the last member */
} oc_inflate;

/* 1 if the first bytes of a file are gzip's magic number. */
int oc_inflate_is_gzip(const uint8_t *bytes, size_t length);

/* OC_OK or OC_MEMORY. */
oc_status oc_inflate_open(oc_inflate *unzip, oc_arena *arena, oc_error *error);

/* Inflates as much of `*in` as fits into `out`; moves `*in` and `*in_length` on. Call again while `*in_length` is not 0 or the
 * output came back full. OC_GZIP with the offset in the compressed file if the data are damaged. */
oc_status oc_inflate_step(oc_inflate *unzip, const uint8_t **in, size_t *in_length, uint8_t *out, size_t out_capacity,
                          size_t *out_length, oc_error *error);

/* 1 if the input may end here: between members or after the last one. */
int oc_inflate_is_complete(const oc_inflate *unzip);

#endif

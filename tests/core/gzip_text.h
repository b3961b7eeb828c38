/* Gzip data made by hand: members of stored blocks with a right CRC, to be damaged by tests. */
#ifndef OC_TESTS_GZIP_TEXT_H
#define OC_TESTS_GZIP_TEXT_H

#include <stddef.h>
#include <stdint.h>

enum {
    GZIP_HEADER_BYTES = 10,  /* magic, method, flags, time, extra flags, system */
    GZIP_BLOCK_BYTES = 5,    /* what stands before the data of a stored block: type, length, its complement */
    GZIP_TRAILER_BYTES = 8,  /* CRC and length of the data */
    GZIP_BLOCK_LIMIT = 65535 /* data bytes of one stored block */
};

/* Appends one member to `out`, which has room for gzip_member_bytes(length); returns the bytes written. */
size_t gzip_put_member(uint8_t *out, const void *data, size_t length);

size_t gzip_member_bytes(size_t length);

/* One member of its own; free() it. */
uint8_t *gzip_new(const void *data, size_t length, size_t *gzip_length);

#endif

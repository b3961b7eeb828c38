/* Stored blocks (RFC 1951, 3.2.4) in a gzip member (RFC 1952). */
#include "gzip_text.h"

#include <stdlib.h>
#include <string.h>

/* The CRC of RFC 1952, 8, bit by bit. */
static uint32_t crc_of(const uint8_t *data, size_t length) {
    uint32_t crc = 0xffffffffu;
    for (size_t i = 0; i < length; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ 0xedb88320u : crc >> 1;
    }
    return ~crc;
}

static uint8_t *put_u32(uint8_t *out, uint32_t value) {
    for (int i = 0; i < 4; i++)
        *out++ = (uint8_t)(value >> 8 * i);
    return out;
}

size_t gzip_member_bytes(size_t length) {
    size_t blocks = length ? (length + GZIP_BLOCK_LIMIT - 1) / GZIP_BLOCK_LIMIT : 1;
    return GZIP_HEADER_BYTES + blocks * GZIP_BLOCK_BYTES + length + GZIP_TRAILER_BYTES;
}

size_t gzip_put_member(uint8_t *out, const void *data, size_t length) {
    static const uint8_t header[GZIP_HEADER_BYTES] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255};
    uint8_t *start = out;
    const uint8_t *from = data;
    size_t rest = length;
    memcpy(out, header, sizeof header);
    out += sizeof header;
    do {
        size_t block = rest < GZIP_BLOCK_LIMIT ? rest : GZIP_BLOCK_LIMIT;
        *out++ = block == rest; /* the last block; type 0 */
        *out++ = (uint8_t)block;
        *out++ = (uint8_t)(block >> 8);
        *out++ = (uint8_t)~block;
        *out++ = (uint8_t)(~block >> 8);
        if (block)
            memcpy(out, from, block);
        out += block;
        from += block;
        rest -= block;
    } while (rest);
    out = put_u32(out, crc_of(data, length));
    out = put_u32(out, (uint32_t)length);
    return (size_t)(out - start);
}

uint8_t *gzip_new(const void *data, size_t length, size_t *gzip_length) {
    uint8_t *out = malloc(gzip_member_bytes(length));
    if (!out)
        abort();
    *gzip_length = gzip_put_member(out, data, length);
    return out;
}

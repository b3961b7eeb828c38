/* Gzip over zlib's inflate. Invariant: in state MEMBER the stream is inside a member or before its header. */
#include "inflate.h"

#include <string.h>

static voidpf arena_alloc(voidpf opaque, uInt count, uInt size) {
    return oc_arena_alloc(opaque, count, size);
}

static void arena_free(voidpf opaque, voidpf memory) {
    (void)opaque;
    (void)memory;
}

int oc_inflate_is_gzip(const uint8_t *bytes, size_t length) {
    return length >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
}

oc_status oc_inflate_open(oc_inflate *unzip, oc_arena *arena, oc_error *error) {
    memset(unzip, 0, sizeof *unzip);
    unzip->arena = arena;
    unzip->stream.zalloc = arena_alloc;
    unzip->stream.zfree = arena_free;
    unzip->stream.opaque = arena;
    if (inflateInit2(&unzip->stream, 16 + MAX_WBITS) != Z_OK)
        return oc_error_set_memory(error);
    return OC_OK;
}

/* Between members only a 0x1f starts another one; anything else is padding or garbage that some tools append. */
static void begin_member_or_trailing(oc_inflate *unzip, const uint8_t *in) {
    if (in[0] != 0x1f) {
        unzip->state = OC_INFLATE_TRAILING;
        return;
    }
    (void)inflateReset(&unzip->stream);
    unzip->state = OC_INFLATE_MEMBER;
}

oc_status oc_inflate_step(oc_inflate *unzip, const uint8_t **in, size_t *in_length, uint8_t *out, size_t out_capacity,
                          size_t *out_length, oc_error *error) {
    *out_length = 0;
    z_stream *stream = &unzip->stream;
    while (*in_length || unzip->state == OC_INFLATE_MEMBER) {
        if (unzip->state == OC_INFLATE_TRAILING) {
            unzip->trailing_bytes += *in_length;
            *in += *in_length;
            *in_length = 0;
            return OC_OK;
        }
        if (unzip->state == OC_INFLATE_BETWEEN) {
            begin_member_or_trailing(unzip, *in);
            continue;
        }
        uInt offered = *in_length > 1u << 30 ? 1u << 30 : (uInt)*in_length;
        stream->next_in = (z_const Bytef *)*in;
        stream->avail_in = offered;
        stream->next_out = out + *out_length;
        stream->avail_out = (uInt)(out_capacity - *out_length);
        int result = inflate(stream, Z_NO_FLUSH);
        size_t consumed = offered - stream->avail_in;
        *in += consumed;
        *in_length -= consumed;
        unzip->input_bytes += consumed;
        *out_length = out_capacity - stream->avail_out;
        if (result == Z_STREAM_END) {
            unzip->member_count++;
            unzip->state = OC_INFLATE_BETWEEN;
        } else if (result == Z_MEM_ERROR) {
            return oc_error_set_memory(error);
        } else if (result != Z_OK && result != Z_BUF_ERROR) {
            if (unzip->member_count && stream->total_out == 0) { /* looked like a member, was garbage after the last one */
                unzip->state = OC_INFLATE_TRAILING;
                unzip->trailing_bytes += stream->total_in;
                continue;
            }
            return oc_error_set(error, OC_GZIP, unzip->input_bytes,
                                "damaged gzip data near byte %llu of the compressed file (%s): copy or record the profile again",
                                (unsigned long long)unzip->input_bytes, stream->msg ? stream->msg : "bad data");
        }
        if (stream->avail_out == 0 || (stream->avail_in == 0 && *in_length == 0))
            return OC_OK;
    }
    return OC_OK;
}

int oc_inflate_is_complete(const oc_inflate *unzip) {
    return unzip->member_count > 0 && unzip->state != OC_INFLATE_MEMBER;
}

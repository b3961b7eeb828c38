/* libFuzzer target: gzip alone. The first two bytes choose the pieces in which input is given and output is taken. */
#include "inflate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length) {
    enum { OUT_LIMIT = 4096, MOST_OUTPUT = 8 << 20 };
    static uint8_t out[OUT_LIMIT];
    if (length < 2)
        return 0;
    const size_t in_piece = 1 + data[0], out_piece = 1 + 16 * (size_t)data[1] % OUT_LIMIT;
    oc_budget budget = {.limit_bytes = 1 << 20};
    oc_arena arena;
    oc_error error = {.status = OC_OK};
    oc_inflate unzip = {0};
    oc_arena_init(&arena, &budget);
    oc_status status = oc_inflate_open(&unzip, &arena, &error);
    const uint8_t *in = data + 2, *end = data + length;
    for (size_t total = 0; status == OC_OK && in < end && total < MOST_OUTPUT;) {
        size_t rest = (size_t)(end - in) < in_piece ? (size_t)(end - in) : in_piece, given = 0;
        do {
            status = oc_inflate_step(&unzip, &in, &rest, out, out_piece, &given, &error);
            total += given;
        } while (status == OC_OK && (rest || given == out_piece));
    }
    if (status != OC_OK && (!error.message[0] || error.byte_offset > length))
        __builtin_trap();
    oc_arena_close(&arena);
    return 0;
}

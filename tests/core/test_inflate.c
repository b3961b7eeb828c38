/* Gzip: members, what follows them, where they are cut, and where they are damaged; fed in pieces of any size. */
#include "check.h"
#include "gzip_text.h"
#include "inflate.h"

#include <stdlib.h>

enum { OUT_LIMIT = 400000 };

static oc_inflate unzip;
static oc_error error;
static char out[OUT_LIMIT];
static size_t out_length;

/* Inflates all of `gzip`, fed in pieces, into `out`, which it is given in pieces too. */
static oc_status inflate_pieces(const uint8_t *gzip, size_t length, size_t piece, size_t out_piece) {
    oc_budget budget = {1 << 20, 0, 0};
    oc_arena arena;
    oc_arena_init(&arena, &budget);
    memset(&error, 0, sizeof error);
    out_length = 0;
    oc_status status = oc_inflate_open(&unzip, &arena, &error);
    for (size_t at = 0; at < length && status == OC_OK; at += piece) {
        size_t rest = length - at < piece ? length - at : piece, given;
        uint8_t *part = malloc(rest); /* of its own, so that a read behind it is seen */
        if (!part)
            abort();
        memcpy(part, gzip + at, rest);
        const uint8_t *in = part;
        do {
            status = oc_inflate_step(&unzip, &in, &rest, (uint8_t *)out + out_length, out_piece, &given, &error);
            CHECK(given <= out_piece);
            out_length += given;
        } while (status == OC_OK && (rest || given == out_piece));
        free(part);
    }
    oc_arena_close(&arena);
    return status;
}

/* All piece sizes give this text. */
static void check_inflates(const uint8_t *gzip, size_t length, const char *text, size_t text_length, uint32_t members, uint64_t trailing) {
    const size_t out_pieces[] = {1, 7, 300, 65536};
    for (size_t piece = 1; piece <= 33; piece++)
        for (size_t i = 0; i < sizeof out_pieces / sizeof out_pieces[0]; i++) {
            size_t whole = piece == 32 ? length : piece == 33 ? length + 1 : piece;
            check_context("pieces of %zu, output of %zu", whole, out_pieces[i]);
            if (!CHECK_EQ_I64(inflate_pieces(gzip, length, whole, out_pieces[i]), OC_OK))
                continue;
            CHECK_EQ_BYTES(out, out_length, text, text_length);
            CHECK_EQ_U64(unzip.member_count, members);
            CHECK_EQ_U64(unzip.trailing_bytes, trailing);
            CHECK_EQ_U64(unzip.input_bytes, length - trailing);
            CHECK(oc_inflate_is_complete(&unzip));
        }
    check_context("%s", "");
}

/* All piece sizes give an error with this offset and the same message. */
static void check_damaged(const uint8_t *gzip, size_t length, uint64_t offset) {
    char message[sizeof error.message] = "";
    for (size_t piece = 1; piece <= 32; piece++) {
        size_t whole = piece == 32 ? length : piece;
        check_context("pieces of %zu", whole);
        CHECK_EQ_I64(inflate_pieces(gzip, length, whole, 4096), OC_GZIP);
        CHECK_EQ_U64(error.byte_offset, offset);
        CHECK_CONTAINS(error.message, "damaged gzip data near byte");
        if (piece == 1)
            memcpy(message, error.message, sizeof message);
        CHECK_EQ_TEXT(error.message, message);
    }
    check_context("%s", "");
}

static const char text[] = "The quick brown fox jumps over the lazy dog. The quick brown fox jumps over the lazy dog. "
                           "The quick brown fox jumps over the lazy dog. The quick brown fox jumps over the lazy dog. end";

/* `text` by Python's gzip.compress */
static const uint8_t python_gzip[] = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0x0b, 0xc9, 0x48, 0x55,
                                      0x28, 0x2c, 0xcd, 0x4c, 0xce, 0x56, 0x48, 0x2a, 0xca, 0x2f, 0xcf, 0x53, 0x48, 0xcb,
                                      0xaf, 0x50, 0xc8, 0x2a, 0xcd, 0x2d, 0x28, 0x56, 0xc8, 0x2f, 0x4b, 0x2d, 0x52, 0x28,
                                      0x01, 0x4a, 0xe7, 0x24, 0x56, 0x55, 0x2a, 0xa4, 0xe4, 0xa7, 0xeb, 0x29, 0x84, 0x0c,
                                      0x0e, 0xc5, 0xa9, 0x79, 0x29, 0x00, 0xef, 0x76, 0xa0, 0xb3, 0xb7, 0x00, 0x00, 0x00};

/* 300 random letters, with a table of codes of their own */
static const char letters[] = "adaaabbbbaababbdabaadabaaacababacabbcabaabaabcaaaabcbcaaadbcbdababbabcbabcaacbbbabaadddbaacaaaccabcbdbbacdab"
                              "caccababbdcacbbbbbaccddbbdaaacdaacaaaaabaaaaadaba"
                              "aaaacaaabbbbaaabbbaaaacadbaaabaaabcbcacbacabdbbaaaaaaaaaaabdaaacadadbadcababaadbdababacbabdbaaaabdabbaaabcbc"
                              "bcaaaaaaacaabdcabbbaaadbadcabababaa";
static const uint8_t letters_gzip[] = {
    0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0x45, 0x4f, 0x89, 0x11, 0x04, 0x31, 0x08, 0xaa, 0x15, 0xa1, 0xff, 0x1a,
    0x8e, 0x27, 0x3b, 0x97, 0xc9, 0x62, 0x16, 0x51, 0x11, 0x02, 0x70, 0x3e, 0x46, 0x47, 0x19, 0x51, 0x00, 0x43, 0x04, 0x2f, 0xaf, 0x5e,
    0x22, 0x62, 0x36, 0xca, 0x51, 0xad, 0x09, 0xd3, 0x1c, 0xd3, 0x26, 0xf5, 0xd2, 0xa5, 0xde, 0x1f, 0x93, 0x94, 0x69, 0x2a, 0x12, 0x72,
    0x53, 0x58, 0x6d, 0x68, 0x5a, 0x7b, 0xf1, 0x60, 0x41, 0x4b, 0x3a, 0x09, 0x9f, 0x89, 0x71, 0xf3, 0x87, 0xa1, 0x19, 0xdd, 0x93, 0xd5,
    0x0b, 0xeb, 0x52, 0x4b, 0xbe, 0xb3, 0x96, 0x6e, 0x62, 0xa9, 0xb6, 0x89, 0x9f, 0xda, 0x4a, 0x17, 0xf5, 0x53, 0xdd, 0xd7, 0x66, 0xcb,
    0x6d, 0x60, 0x0c, 0x6e, 0xd8, 0xbf, 0xdc, 0x7f, 0x3f, 0xcf, 0x7a, 0x61, 0x1e, 0x2c, 0x01, 0x00, 0x00};

static void magic_bytes(void) {
    CHECK(oc_inflate_is_gzip((const uint8_t *)"\x1f\x8b\x08", 3));
    CHECK(oc_inflate_is_gzip((const uint8_t *)"\x1f\x8b", 2));
    CHECK(!oc_inflate_is_gzip((const uint8_t *)"\x1f", 1));
    CHECK(!oc_inflate_is_gzip((const uint8_t *)"", 0));
    CHECK(!oc_inflate_is_gzip((const uint8_t *)"PK", 2));
    CHECK(!oc_inflate_is_gzip((const uint8_t *)"\x1f\x9d", 2));
}

static void members_of_every_block_type(void) {
    check_inflates(python_gzip, sizeof python_gzip, text, sizeof text - 1, 1, 0);
    check_inflates(letters_gzip, sizeof letters_gzip, letters, sizeof letters - 1, 1, 0);
    size_t length;
    uint8_t *gzip = gzip_new(text, sizeof text - 1, &length); /* stored */
    check_inflates(gzip, length, text, sizeof text - 1, 1, 0);
    free(gzip);
    gzip = gzip_new("", 0, &length);
    check_inflates(gzip, length, "", 0, 1, 0);
    free(gzip);
}

static void a_header_may_have_all_its_fields(void) {
    static const uint8_t header[] = {0x1f, 0x8b, 8,   0x1c, 1,   2,   3,   4,   0,   3, /* extra field, name, comment */
                                     3,    0,    'e', 'x',  't', 'j', 'o', 'b', '.', 'j', 's', 'o',
                                     'n',  0,    'a', ' ',  'c', 'o', 'm', 'm', 'e', 'n', 't', 0};
    uint8_t gzip[sizeof header + sizeof python_gzip];
    memcpy(gzip, header, sizeof header);
    memcpy(gzip + sizeof header, python_gzip + GZIP_HEADER_BYTES, sizeof python_gzip - GZIP_HEADER_BYTES);
    check_inflates(gzip, sizeof gzip - GZIP_HEADER_BYTES, text, sizeof text - 1, 1, 0);
}

static void several_blocks_and_a_large_member(void) {
    enum { LENGTH = 200000 }; /* four stored blocks */
    char *data = malloc(LENGTH);
    if (!CHECK(data))
        return;
    for (size_t i = 0; i < LENGTH; i++)
        data[i] = (char)(i * i >> 7);
    size_t length;
    uint8_t *gzip = gzip_new(data, LENGTH, &length);
    const size_t pieces[] = {1, 4096, 70000, 300000};
    for (size_t i = 0; i < 4; i++) {
        CHECK_EQ_I64(inflate_pieces(gzip, length, pieces[i], 65536), OC_OK);
        CHECK_EQ_BYTES(out, out_length, data, LENGTH);
        CHECK(oc_inflate_is_complete(&unzip));
    }
    free(gzip);
    free(data);
}

static void members_follow_each_other(void) {
    uint8_t gzip[1000];
    size_t length = gzip_put_member(gzip, "one, ", 5);
    length += gzip_put_member(gzip + length, "", 0);
    memcpy(gzip + length, python_gzip, sizeof python_gzip);
    length += sizeof python_gzip;
    length += gzip_put_member(gzip + length, " and all", 8);
    char expected[300];
    (void)snprintf(expected, sizeof expected, "one, %s and all", text);
    check_inflates(gzip, length, expected, strlen(expected), 4, 0);
}

static void what_follows_the_last_member_is_counted(void) {
    static const struct {
        const char *bytes;
        size_t length;
    } tails[] = {{"\0\0\0\0\0\0\0\0", 8}, {"garbage", 7}, {"\x1f garbage", 9}, {"\x1f\x8b garbage", 10}, {"\x1f\x8b\x07\0\0\0\0\0", 8},
                 {"{\"a\": 1}", 8},       {"\n", 1}};
    for (size_t i = 0; i < sizeof tails / sizeof tails[0]; i++) {
        uint8_t gzip[sizeof python_gzip + 16];
        memcpy(gzip, python_gzip, sizeof python_gzip);
        memcpy(gzip + sizeof python_gzip, tails[i].bytes, tails[i].length);
        const size_t length = sizeof python_gzip + tails[i].length;
        for (size_t piece = 1; piece <= length; piece = piece < 40 ? piece + 1 : piece * 2) {
            check_context("tail %zu, pieces of %zu", i, piece);
            CHECK_EQ_I64(inflate_pieces(gzip, length, piece, 4096), OC_OK);
            CHECK_EQ_BYTES(out, out_length, text, sizeof text - 1);
            CHECK_EQ_U64(unzip.trailing_bytes, tails[i].length);
            CHECK_EQ_U64(unzip.member_count, 1);
            CHECK(oc_inflate_is_complete(&unzip));
        }
    }
}

static void a_cut_member_is_not_complete(void) {
    uint8_t gzip[300];
    size_t first = gzip_put_member(gzip, "one", 3), length = first + gzip_put_member(gzip + first, "two", 3);
    for (size_t cut = 1; cut <= length; cut++)
        for (size_t piece = 1; piece <= 5; piece += 4) {
            check_context("cut after %zu, pieces of %zu", cut, piece);
            CHECK_EQ_I64(inflate_pieces(gzip, cut, piece, 4096), OC_OK);
            CHECK_EQ_I64(oc_inflate_is_complete(&unzip), cut == first || cut == length);
            CHECK_EQ_U64(unzip.input_bytes, cut);
        }
    for (size_t cut = 1; cut < sizeof letters_gzip; cut++) {
        check_context("cut after %zu", cut);
        CHECK_EQ_I64(inflate_pieces(letters_gzip, cut, 9, 4096), OC_OK);
        CHECK(!oc_inflate_is_complete(&unzip));
    }
}

static void nothing_is_not_complete(void) {
    CHECK_EQ_I64(inflate_pieces((const uint8_t *)"", 0, 1, 10), OC_OK);
    CHECK(!oc_inflate_is_complete(&unzip));
}

/* Offsets follow from the format: what had to be read to see the damage. */
static void damage_has_its_offset(void) {
    uint8_t gzip[sizeof python_gzip];
    memcpy(gzip, python_gzip, sizeof gzip);
    gzip[sizeof gzip - 8] ^= 1; /* the CRC: four bytes stand behind it */
    check_damaged(gzip, sizeof gzip, sizeof gzip - 4);
    memcpy(gzip, python_gzip, sizeof gzip);
    gzip[sizeof gzip - 1] ^= 1; /* the length: the last four bytes */
    check_damaged(gzip, sizeof gzip, sizeof gzip);
    memcpy(gzip, python_gzip, sizeof gzip);
    gzip[10] |= 6; /* a block type that does not exist: the byte behind the header */
    check_damaged(gzip, sizeof gzip, GZIP_HEADER_BYTES + 1);
    memcpy(gzip, python_gzip, sizeof gzip);
    gzip[2] = 7; /* an unknown method, seen with the flags */
    check_damaged(gzip, sizeof gzip, 4);
    memcpy(gzip, python_gzip, sizeof gzip);
    gzip[3] = 0xe0; /* reserved flags */
    check_damaged(gzip, sizeof gzip, 4);
    uint8_t stored[100];
    size_t length = gzip_put_member(stored, "stored", 6);
    stored[GZIP_HEADER_BYTES + 1] ^= 1; /* the length of a stored block, seen with its complement */
    check_damaged(stored, length, GZIP_HEADER_BYTES + GZIP_BLOCK_BYTES);
    uint8_t second[300];
    length = gzip_put_member(second, "first", 5);
    memcpy(second + length, python_gzip, sizeof python_gzip);
    second[length + sizeof python_gzip - 5] ^= 1; /* in the second member */
    check_damaged(second, length + sizeof python_gzip, length + sizeof python_gzip - 4);
}

/* Whatever bit is flipped: the same end for every piece size, and never a wrong text that passes for right. */
static void every_flipped_bit_is_found_at_one_offset(void) {
    uint8_t gzip[sizeof letters_gzip];
    for (size_t bit = 0; bit < 8 * sizeof gzip; bit++) {
        memcpy(gzip, letters_gzip, sizeof gzip);
        gzip[bit / 8] ^= (uint8_t)(1 << bit % 8);
        oc_status first_status = OC_OK;
        uint64_t first_offset = 0;
        int first_complete = 0;
        for (size_t piece = 1; piece <= 5; piece++) {
            size_t whole = piece == 5 ? sizeof gzip : piece;
            oc_status status = inflate_pieces(gzip, sizeof gzip, whole, 4096);
            int is_complete = oc_inflate_is_complete(&unzip);
            check_context("bit %zu, pieces of %zu", bit, whole);
            CHECK(status == OC_OK || status == OC_GZIP);
            if (status == OC_OK && is_complete) /* a time in the header, a bit of padding, another way to say the same */
                CHECK(out_length == sizeof letters - 1 && memcmp(out, letters, out_length) == 0);
            if (piece == 1) {
                first_status = status;
                first_offset = error.byte_offset;
                first_complete = is_complete;
            }
            CHECK_EQ_I64(status, first_status);
            CHECK_EQ_I64(is_complete, first_complete);
            CHECK_EQ_U64(error.byte_offset, first_offset);
        }
    }
}

static void without_memory_it_does_not_open(void) {
    oc_budget budget = {1000, 0, 0};
    oc_arena arena;
    oc_arena_init(&arena, &budget);
    memset(&error, 0, sizeof error);
    CHECK_EQ_I64(oc_inflate_open(&unzip, &arena, &error), OC_MEMORY);
    CHECK_EQ_I64(error.status, OC_MEMORY);
    oc_arena_close(&arena);
}

/* zlib asks for its window when the first output leaves it. */
static void without_memory_for_the_window_it_fails(void) {
    oc_budget budget = {20000, 0, 0};
    oc_arena arena;
    oc_arena_init(&arena, &budget);
    memset(&error, 0, sizeof error);
    if (CHECK_EQ_I64(oc_inflate_open(&unzip, &arena, &error), OC_OK)) {
        const uint8_t *in = python_gzip;
        size_t rest = 30, given;
        CHECK_EQ_I64(oc_inflate_step(&unzip, &in, &rest, (uint8_t *)out, 100, &given, &error), OC_MEMORY);
        CHECK_EQ_I64(error.status, OC_MEMORY);
    }
    oc_arena_close(&arena);
}

CHECK_MAIN(CHECK_TEST(magic_bytes), CHECK_TEST(members_of_every_block_type), CHECK_TEST(a_header_may_have_all_its_fields),
           CHECK_TEST(several_blocks_and_a_large_member), CHECK_TEST(members_follow_each_other),
           CHECK_TEST(what_follows_the_last_member_is_counted), CHECK_TEST(a_cut_member_is_not_complete),
           CHECK_TEST(nothing_is_not_complete), CHECK_TEST(damage_has_its_offset), CHECK_TEST(every_flipped_bit_is_found_at_one_offset),
           CHECK_TEST(without_memory_it_does_not_open), CHECK_TEST(without_memory_for_the_window_it_fails))

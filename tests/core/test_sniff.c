/* Every kind of file that is told from its first bytes. */
#include "check.h"
#include "sniff.h"

static void magic_numbers_are_known(void) {
    static const struct {
        const char *bytes;
        size_t length;
        const char *kind; /* a part of the phrase */
    } cases[] = {
        {"PK\x03\x04\x00\x00\x08\x08", 8, "a ZIP archive"},
        {"\x89PNG\r\n\x1a\n", 8, "a PNG image"},
        {"\xff\xd8\xff\xe0\x00\x10JFIF", 10, "a JPEG image"},
        {"GIF89a", 6, "a GIF image"},
        {"%PDF-1.7\n", 9, "a PDF document"},
        {"\x7f"
         "ELF\x02\x01",
         6, "a program"},
        {"SQLite format 3\0\x10", 17, "Nsight"},
        {"\x28\xb5\x2f\xfd\x04", 5, "zstd"},
        {"\xfd"
         "7zXZ\0",
         6, "xz"},
        {"BZh91AY&SY", 10, "bzip2"},
        {"\xff\xfe{\0\"\0", 6, "UTF-16"},
        {"\xfe\xff\0{\0\"", 6, "UTF-16"},
        {"<!DOCTYPE html>", 15, "HTML"},
        {"\x80\x04\x95\x31\0\0\0\0\0\0\0}", 12, "pickle"}, /* torch.cuda.memory._dump_snapshot, protocol 4 */
        {"\x80\x05\x95\x31\0\0\0\0\0\0\0}", 12, "pickle"}, /* Python 3.14 writes 5 */
        {"\x18\0\0\0\0\0\0\0\xa3\x7f\x4b\x22\x09\0\0\xc0\x1f\xd5\x92\xd9\x41\x1a\x0d"
         "brain.Event:2",
         36, "TensorBoard"},
        {"\x40\0\0\0\0\0\0\0{\"a\":1", 14, "safetensors"},
        {"\x0a\x30\x08\x01\x12\x02", 6, "Perfetto"},
        {"\x01\x02\x03\x04", 4, "a binary file"},
        {"import torch\n", 13, "plain text"},
        {"17", 2, "plain text"},
        {"\"text\"", 6, "plain text"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check_context("%s", cases[i].kind);
        CHECK_CONTAINS(oc_sniff_kind((const uint8_t *)cases[i].bytes, cases[i].length), cases[i].kind);
    }
}

static void a_binary_file_is_not_said_to_be_a_trace(void) {
    CHECK_EQ_TEXT(oc_sniff_kind((const uint8_t *)"\x01\x02\x03\x04", 4), "a binary file");
}

static void what_may_be_json_is_let_through(void) {
    static const char *const texts[] = {
        "{", "[", "\n{\n  \"schemaVersion\": 1", " \t\r\n[{", "\xef\xbb\xbf{\"a\"", "\xef\xbb\xbf\n [", "", "   \n", "\xef\xbb\xbf"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        check_context("text %zu", i);
        CHECK(!oc_sniff_kind((const uint8_t *)texts[i], strlen(texts[i])));
    }
    /* inside JSON anything may follow: control bytes are the reader's matter */
    CHECK(!oc_sniff_kind((const uint8_t *)"{\"\x01\x02", 4));
}

static void a_cut_magic_number_does_not_read_on(void) {
    static const char *const magics[] = {"PK\x03\x04", "\x89PNG", "SQLite format 3", "\x28\xb5\x2f\xfd"};
    for (size_t i = 0; i < sizeof magics / sizeof magics[0]; i++)
        for (size_t length = 1; length < strlen(magics[i]); length++) {
            uint8_t exact[16]; /* the sanitizer sees a read behind `length` only in a buffer of its own */
            memcpy(exact + sizeof exact - length, magics[i], length);
            const char *kind = oc_sniff_kind(exact + sizeof exact - length, length);
            CHECK(!kind || strcmp(kind, "plain text") == 0 || strcmp(kind, "a binary file") == 0);
        }
}

CHECK_MAIN(CHECK_TEST(magic_numbers_are_known), CHECK_TEST(a_binary_file_is_not_said_to_be_a_trace),
           CHECK_TEST(what_may_be_json_is_let_through), CHECK_TEST(a_cut_magic_number_does_not_read_on))

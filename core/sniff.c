/* Magic numbers of the files that people drop by mistake. */
#include "sniff.h"

#include <string.h>

static const struct {
    const char *magic;
    size_t length;
    const char *kind;
} kinds[] = {
    {"PK\x03\x04", 4, "a ZIP archive (a model that torch.save wrote, or a zipped profile: unpack it first)"},
    {"\x89PNG", 4, "a PNG image"},
    {"\xff\xd8\xff", 3, "a JPEG image"},
    {"GIF8", 4, "a GIF image"},
    {"%PDF", 4, "a PDF document"},
    {"\x7f" "ELF", 4, "a program (ELF)"},
    {"SQLite format 3", 15, "an SQLite database (an export of Nsight Systems or rocprof)"},
    {"\x28\xb5\x2f\xfd", 4, "a file compressed with zstd (unpack it first)"},
    {"\xfd" "7zXZ", 5, "a file compressed with xz (unpack it first)"},
    {"BZh", 3, "a file compressed with bzip2 (unpack it first)"},
    {"\xff\xfe", 2, "UTF-16 text (save it as UTF-8 first)"},
    {"\xfe\xff", 2, "UTF-16 text (save it as UTF-8 first)"},
    {"<", 1, "an HTML or XML page"},
};

static int contains(const uint8_t *bytes, size_t length, const char *word) {
    size_t n = strlen(word);
    for (size_t i = 0; i + n <= length; i++)
        if (memcmp(bytes + i, word, n) == 0)
            return 1;
    return 0;
}

const char *oc_sniff_kind(const uint8_t *bytes, size_t length) {
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (length >= kinds[i].length && memcmp(bytes, kinds[i].magic, kinds[i].length) == 0)
            return kinds[i].kind;
    if (length >= 2 && bytes[0] == 0x80 && bytes[1] >= 1 && bytes[1] <= 5)
        return "a Python pickle (a CUDA memory snapshot of torch.cuda.memory._dump_snapshot, or a saved model)";
    if (contains(bytes, length, "brain.Event:"))
        return "a TensorBoard event file";
    if (length >= 10 && bytes[8] == '{' && bytes[9] == '"' && bytes[5] == 0 && bytes[6] == 0 && bytes[7] == 0)
        return "a safetensors model file";
    size_t first = length >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    while (first < length && (bytes[first] == ' ' || bytes[first] == '\n' || bytes[first] == '\r' || bytes[first] == '\t'))
        first++;
    if (first == length || bytes[first] == '{' || bytes[first] == '[')
        return NULL;
    for (size_t i = 0; i < length; i++)
        if (bytes[i] < 0x20 && bytes[i] != '\n' && bytes[i] != '\r' && bytes[i] != '\t')
            return bytes[0] == 0x0a ? "a binary file (a Perfetto or other protobuf trace begins like that)" : "a binary file";
    return "plain text";
}

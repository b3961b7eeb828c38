/* Damages profiles at random (bits flipped, runs dropped, doubled, moved or overwritten, the end cut off) and sends each through the whole pipeline of
 * pipeline.c. Usage: mutate COUNT SEED FILE... A crash or an input that takes longer than LIMIT_SECONDS ends it; the input is left in
 * crash-mutated. */
#define _DEFAULT_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length);

enum { LIMIT_SECONDS = 20, MOST_MUTATIONS = 8, LONGEST_RUN = 2000 };

static uint8_t *input;
static size_t input_length;
static uint64_t state;

static size_t below(size_t limit) {
    state ^= state << 13; /* xorshift64 (Marsaglia 2003) */
    state ^= state >> 7;
    state ^= state << 17;
    return limit ? (size_t)(state % limit) : 0;
}

static void leave_input(int signal_number) {
    FILE *file = fopen("crash-mutated", "wb");
    if (file) {
        (void)fwrite(input, 1, input_length, file);
        (void)fclose(file);
    }
    (void)signal(signal_number, SIG_DFL);
    (void)raise(signal_number);
}

static uint8_t *read_file(const char *path, size_t *length) {
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0) {
        perror(path);
        exit(2);
    }
    *length = (size_t)ftell(file);
    rewind(file);
    uint8_t *bytes = malloc(*length + 1);
    if (!bytes || fread(bytes, 1, *length, file) != *length) {
        perror(path);
        exit(2);
    }
    (void)fclose(file);
    return bytes;
}

/* `input` has room for MOST_MUTATIONS more runs. */
static void mutate(void) {
    const size_t at = below(input_length), rest = input_length - at;
    size_t run = 1 + below(LONGEST_RUN);
    run = run < rest ? run : rest;
    switch (below(6)) {
    case 0:
        input[at] ^= (uint8_t)(1 << below(8));
        break;
    case 1: /* drop */
        memmove(input + at, input + at + run, rest - run);
        input_length -= run;
        break;
    case 2: /* double */
        memmove(input + at + run, input + at, rest);
        input_length += run;
        break;
    case 3: { /* overwrite with what stands elsewhere */
        const size_t from = below(input_length - run + 1);
        memmove(input + at, input + from, run);
        break;
    }
    case 4:
        for (size_t i = 0; i < run && i < 16; i++)
            input[at + i] = (uint8_t)below(256);
        break;
    default:
        input_length = below(8) ? input_length : 1 + at; /* cuts take much away: less often */
    }
    if (!input_length)
        input_length = 1;
}

int main(int argc, char **argv) {
    if (argc < 4)
        return 2;
    const size_t count = strtoull(argv[1], NULL, 10), file_count = (size_t)argc - 3;
    state = 88172645463325252u ^ strtoull(argv[2], NULL, 10);
    size_t *lengths = calloc(file_count, sizeof *lengths), longest = 0;
    uint8_t **files = calloc(file_count, sizeof *files);
    if (!lengths || !files)
        return 2;
    for (size_t i = 0; i < file_count; i++) {
        files[i] = read_file(argv[3 + i], &lengths[i]);
        longest = lengths[i] > longest ? lengths[i] : longest;
    }
    input = malloc(longest + MOST_MUTATIONS * LONGEST_RUN);
    if (!input)
        return 2;
    const int signals[] = {SIGSEGV, SIGABRT, SIGILL, SIGFPE, SIGALRM, SIGBUS, SIGTRAP};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        (void)signal(signals[i], leave_input);
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        const size_t file = below(file_count);
        memcpy(input, files[file], lengths[file]);
        input_length = lengths[file];
        for (size_t k = 1 + below(MOST_MUTATIONS); k > 0; k--)
            mutate();
        bytes += input_length;
        (void)alarm(LIMIT_SECONDS);
        (void)LLVMFuzzerTestOneInput(input, input_length);
        (void)alarm(0);
    }
    printf("%zu mutated inputs of %zu profiles, %.1f MB: no crash, no hang, no sanitizer report, each within 64 MiB\n", count, file_count, (double)bytes / 1e6);
    for (size_t i = 0; i < file_count; i++)
        free(files[i]);
    free(files);
    free(lengths);
    free(input);
    return 0;
}

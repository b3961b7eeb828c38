/* The test harness: checks that print file, line, expected and found; a table of tests; a main that runs all of them or those
 * named on the command line. A test that makes no check fails. One translation unit per executable includes this file.
 *
 *     static void it_adds(void) { CHECK_EQ_I64(1 + 1, 2); }
 *     CHECK_MAIN(CHECK_TEST(it_adds))
 *
 * Every check is an expression that is true where it holds, so that a test can stop: if (!CHECK(pointer)) return;
 */
#ifndef OC_TESTS_CHECK_H
#define OC_TESTS_CHECK_H

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef struct check_test {
    const char *name;
    void (*run)(void);
} check_test;

enum { CHECK_PRINT_LIMIT = 10 }; /* failures of one test that are printed */

static struct {
    uint64_t count, failed; /* of the running test */
    char context[200];
} check_state;

/* What the next checks are about, for loops; "" for nothing. Printed with a failure. */
#if defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
static inline void
check_context(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(check_state.context, sizeof check_state.context, format, arguments);
    va_end(arguments);
}

/* Counts a check. True if it failed and should be printed. */
static inline bool check_count(bool holds, const char *file, int line, const char *what) {
    check_state.count++;
    if (holds)
        return false;
    if (++check_state.failed > CHECK_PRINT_LIMIT)
        return false;
    printf("%s:%d: %s", file, line, what);
    if (check_state.context[0])
        printf(" [%s]", check_state.context);
    return true;
}

static inline bool check_true(bool holds, const char *what, const char *file, int line) {
    if (check_count(holds, file, line, what))
        printf(": expected true, found false\n");
    return holds;
}

static inline bool check_i64(int64_t found, int64_t expected, const char *what, const char *file, int line) {
    if (check_count(found == expected, file, line, what))
        printf(": expected %" PRId64 ", found %" PRId64 "\n", expected, found);
    return found == expected;
}

static inline bool check_u64(uint64_t found, uint64_t expected, const char *what, const char *file, int line) {
    if (check_count(found == expected, file, line, what))
        printf(": expected %" PRIu64 ", found %" PRIu64 "\n", expected, found);
    return found == expected;
}

/* Exactly equal, for doubles that hold whole numbers or were read from the same text. */
static inline bool check_f64(double found, double expected, const char *what, const char *file, int line) {
    bool holds = !(found < expected) && !(found > expected);
    if (check_count(holds, file, line, what))
        printf(": expected %.17g, found %.17g\n", expected, found);
    return holds;
}

/* Prints some bytes around a place, made printable. */
static inline void check_print_bytes(const char *label, const char *data, size_t length, size_t around) {
    enum { BEFORE = 40, AFTER = 60 };
    size_t from = around > BEFORE ? around - BEFORE : 0, to = length - from > BEFORE + AFTER ? from + BEFORE + AFTER : length;
    printf("    %s \"%s", label, from ? "..." : "");
    for (size_t i = from; i < to; i++) {
        unsigned char c = (unsigned char)data[i];
        if (c >= 0x20 && c < 0x7f)
            putchar(c);
        else
            printf("\\x%02x", c);
    }
    printf("%s\"\n", to < length ? "..." : "");
}

static inline bool check_bytes(const char *found, size_t found_length, const char *expected, size_t length, const char *what,
                               const char *file, int line) {
    bool holds = found && found_length == length && (length == 0 || memcmp(found, expected, length) == 0);
    if (!check_count(holds, file, line, what))
        return holds;
    size_t at = 0;
    while (found && at < length && at < found_length && found[at] == expected[at])
        at++;
    printf(": they part at byte %zu of %zu expected and %zu found\n", at, length, found ? found_length : 0);
    check_print_bytes("expected", expected, length, at);
    if (found)
        check_print_bytes("found   ", found, found_length, at);
    else
        printf("    found    NULL\n");
    return false;
}

static inline bool check_text(const char *found, const char *expected, const char *what, const char *file, int line) {
    return check_bytes(found, found ? strlen(found) : 0, expected, strlen(expected), what, file, line);
}

static inline bool check_contains(const char *text, const char *part, const char *what, const char *file, int line) {
    bool holds = text && strstr(text, part);
    if (check_count(holds, file, line, what))
        printf(": expected a text that holds \"%s\", found \"%.600s\"\n", part, text ? text : "(NULL)");
    return holds;
}

#define CHECK(condition) check_true((condition), #condition, __FILE__, __LINE__)
#define CHECK_FAIL(what) check_true(false, (what), __FILE__, __LINE__)
#define CHECK_EQ_I64(found, expected) check_i64((int64_t)(found), (int64_t)(expected), #found, __FILE__, __LINE__)
#define CHECK_EQ_U64(found, expected) check_u64((uint64_t)(found), (uint64_t)(expected), #found, __FILE__, __LINE__)
#define CHECK_EQ_F64(found, expected) check_f64((found), (expected), #found, __FILE__, __LINE__)
#define CHECK_EQ_TEXT(found, expected) check_text((found), (expected), #found, __FILE__, __LINE__)
#define CHECK_EQ_BYTES(found, found_length, expected, length)                                                                              \
    check_bytes((found), (found_length), (expected), (length), #found, __FILE__, __LINE__)
#define CHECK_CONTAINS(text, part) check_contains((text), (part), #text, __FILE__, __LINE__)

/* 1 if the test failed. */
static inline int check_run_one(const check_test *test) {
    memset(&check_state, 0, sizeof check_state);
    test->run();
    if (!check_state.count)
        printf("%s: made no check\n", test->name);
    if (check_state.failed > CHECK_PRINT_LIMIT)
        printf("%s: %" PRIu64 " more failures\n", test->name, check_state.failed - CHECK_PRINT_LIMIT);
    int has_failed = !check_state.count || check_state.failed;
    printf("%s %s (%" PRIu64 " checks)\n", has_failed ? "FAIL" : "ok  ", test->name, check_state.count);
    (void)fflush(stdout); /* what was found stays visible if the next test crashes */
    return has_failed;
}

/* Runs the tests named in argv, or all. Returns the exit status. */
static inline int check_main(const check_test *tests, size_t count, int argc, char **argv) {
    int run = 0, failed = 0;
    for (int i = 1; i < argc; i++) {
        size_t at = 0;
        while (at < count && strcmp(tests[at].name, argv[i]) != 0)
            at++;
        if (at == count) {
            printf("%s: no such test\n", argv[i]);
            return 2;
        }
        failed += check_run_one(&tests[at]);
        run++;
    }
    for (size_t i = 0; argc < 2 && i < count; i++, run++)
        failed += check_run_one(&tests[i]);
    printf("%d tests, %d failed\n", run, failed);
    return failed || !run;
}

#define CHECK_TEST(function)                                                                                                               \
    { #function, function }
#define CHECK_MAIN(...)                                                                                                                    \
    int main(int argc, char **argv) {                                                                                                      \
        static const check_test tests[] = {__VA_ARGS__};                                                                                   \
        return check_main(tests, sizeof tests / sizeof tests[0], argc, argv);                                                              \
    }

#endif

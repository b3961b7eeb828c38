/* libFuzzer target: the whole pipeline. The first byte chooses how the input is cut and asked; the rest is a profile, or two of
 * them separated by a line "====". Nothing may crash, hang or leak, and whatever loads must simulate. */
#include "oomcast.h"

#include <stdbool.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length);

enum { BUDGET_BYTES = 64 << 20 };

static const char *const questions[] = {
    "{}",
    "{\"capacity_bytes\":8318222336,\"optimizer\":\"Adam\",\"foreach\":\"off\"}",
    "{\"gpu\":\"T4\",\"optimizer\":\"Adafactor\",\"zero_grad\":\"after-step\",\"points\":7}",
    "{\"capacity_bytes\":400000000,\"alloc_conf\":\"expandable_segments:True\"}",
    "{\"gpu\":\"T4\",\"memory_fraction\":0.1,\"alloc_conf\":\"garbage_collection_threshold:0.5,max_split_size_mb:64\"}",
    "{\"no_caching\":true}",
    "{\"task\":\"max_batch\",\"capacity_bytes\":400000000}",
    "{\"capacity_bytes\":400000000,\"batch\":64,\"zero_grad\":\"after-forward\",\"range_ms\":[1,2]}",
};

static void feed(oc_session *session, const uint8_t *data, size_t length, size_t step) {
    for (size_t at = 0; at < length; at += step)
        (void)oc_session_feed(session, data + at, length - at < step ? length - at : step);
}

static const uint8_t *find_separator(const uint8_t *data, size_t length) {
    for (size_t at = 0; at + 6 <= length; at++)
        if (memcmp(data + at, "\n====\n", 6) == 0)
            return data + at;
    return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length) {
    if (length < 1)
        return 0;
    size_t step = data[0] % 64 ? data[0] : (size_t)1 << 20;
    data++;
    length--;
    oc_session *session = oc_session_open(BUDGET_BYTES);
    if (!session)
        return 0;
    const uint8_t *separator = find_separator(data, length);
    feed(session, data, separator ? (size_t)(separator - data) : length, step);
    if (separator) {
        (void)oc_session_next_profile(session);
        feed(session, separator + 6, length - (size_t)(separator + 6 - data), step);
    }
    if (oc_session_finish(session) == OC_OK)
        for (size_t i = 0; i < sizeof questions / sizeof questions[0]; i++)
            if (oc_session_simulate(session, questions[i], strlen(questions[i])) == OC_OK && !oc_session_summary(session, NULL))
                __builtin_trap();
    if (!oc_session_error(session)->name)
        __builtin_trap();
    oc_session_close(session);
    return 0;
}

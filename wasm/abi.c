/* The C side of the boundary: a flat list of functions over one handle, see README.md here. All memory is C's: one input buffer
 * that JavaScript fills, and texts and columns that it reads before the next call. Nothing calls back.
 */
#include "oomcast.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The functions that exports.txt lists; nothing else of the core is visible from JavaScript. */
uint32_t abi_version(void);
struct handle *open(uint32_t input_capacity);
uint8_t *input(struct handle *h);
int32_t feed(struct handle *h, uint32_t length);
int32_t set_batch(struct handle *h, uint32_t batch_size);
int32_t set_device(struct handle *h, uint32_t device_id);
int32_t next_profile(struct handle *h);
int32_t finish(struct handle *h);
int32_t simulate(struct handle *h, uint32_t length);
const char *summary(const struct handle *h);
uint32_t summary_len(const struct handle *h);
const double *column(const struct handle *h, int32_t id);
uint32_t column_len(const struct handle *h, int32_t id);
const char *error(struct handle *h);
uint32_t error_len(struct handle *h);
const char *facts(struct handle *h);
uint32_t facts_len(struct handle *h);
void close(struct handle *h);
const char *gpus(void);
uint32_t gpus_len(void);

struct handle {
    oc_session *session;
    uint8_t *input;
    uint32_t input_capacity;
    char error[1400]; /* JSON */
    char facts[256];  /* JSON */
};

static char *gpu_catalogue; /* made at the first call, constant from then on */

uint32_t abi_version(void) {
    return OC_ABI_VERSION;
}

struct handle *open(uint32_t input_capacity) {
    struct handle *h = calloc(1, sizeof *h);
    if (!h)
        return NULL;
    h->session = oc_session_open(0);
    h->input = malloc(input_capacity ? input_capacity : 1);
    h->input_capacity = input_capacity;
    if (!h->session || !h->input) {
        close(h);
        return NULL;
    }
    return h;
}

uint8_t *input(struct handle *h) {
    return h->input;
}

int32_t feed(struct handle *h, uint32_t length) {
    return length <= h->input_capacity ? (int32_t)oc_session_feed(h->session, h->input, length) : (int32_t)OC_STATE;
}

int32_t set_batch(struct handle *h, uint32_t batch_size) {
    return (int32_t)oc_session_set_batch(h->session, batch_size);
}

int32_t set_device(struct handle *h, uint32_t device_id) {
    return (int32_t)oc_session_set_device(h->session, device_id);
}

int32_t next_profile(struct handle *h) {
    return (int32_t)oc_session_next_profile(h->session);
}

int32_t finish(struct handle *h) {
    return (int32_t)oc_session_finish(h->session);
}

int32_t simulate(struct handle *h, uint32_t length) {
    return length <= h->input_capacity ? (int32_t)oc_session_simulate(h->session, (const char *)h->input, length) : (int32_t)OC_STATE;
}

const char *summary(const struct handle *h) {
    return oc_session_summary(h->session, NULL);
}

uint32_t summary_len(const struct handle *h) {
    size_t length;
    (void)oc_session_summary(h->session, &length);
    return (uint32_t)length;
}

const double *column(const struct handle *h, int32_t id) {
    return oc_session_column(h->session, (oc_column)id, NULL);
}

uint32_t column_len(const struct handle *h, int32_t id) {
    size_t length;
    (void)oc_session_column(h->session, (oc_column)id, &length);
    return (uint32_t)length;
}

/* Text as a JSON string without its quotes; the messages hold no control characters but might after a file's bytes. */
static void escape(const char *text, char *out, size_t capacity) {
    size_t length = 0;
    for (; *text && length + 3 < capacity; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            out[length++] = '\\';
        out[length++] = c < 0x20 ? ' ' : (char)c;
    }
    out[length] = 0;
}

const char *error(struct handle *h) {
    const oc_error *e = oc_session_error(h->session);
    char message[2 * sizeof e->message];
    escape(e->message, message, sizeof message);
    int length = snprintf(h->error, sizeof h->error, "{\"status\":%d,\"name\":\"%s\",\"profile\":%d,\"event_index\":%llu,\"byte_offset\":", (int)e->status,
                          e->name, e->profile, (unsigned long long)e->event_index);
    if (e->status == OC_OK || e->byte_offset == OC_NO_OFFSET)
        length += snprintf(h->error + length, sizeof h->error - (size_t)length, "null");
    else
        length += snprintf(h->error + length, sizeof h->error - (size_t)length, "%llu", (unsigned long long)e->byte_offset);
    (void)snprintf(h->error + length, sizeof h->error - (size_t)length, ",\"message\":\"%s\"}", message);
    return h->error;
}

uint32_t error_len(struct handle *h) {
    return (uint32_t)strlen(error(h));
}

const char *facts(struct handle *h) {
    uint64_t text_bytes, event_count;
    size_t peak_bytes;
    oc_session_facts(h->session, &text_bytes, &event_count, &peak_bytes);
    (void)snprintf(h->facts, sizeof h->facts, "{\"text_bytes\":%llu,\"events\":%llu,\"session_peak_bytes\":%llu}", (unsigned long long)text_bytes,
                   (unsigned long long)event_count, (unsigned long long)peak_bytes);
    return h->facts;
}

uint32_t facts_len(struct handle *h) {
    return (uint32_t)strlen(facts(h));
}

void close(struct handle *h) {
    if (!h)
        return;
    oc_session_close(h->session);
    free(h->input);
    free(h);
}

const char *gpus(void) {
    if (!gpu_catalogue)
        gpu_catalogue = oc_gpus_json();
    return gpu_catalogue;
}

uint32_t gpus_len(void) {
    return gpus() ? (uint32_t)strlen(gpu_catalogue) : 0;
}

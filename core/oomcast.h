/* oomcast: how much GPU memory will a PyTorch job take, from CPU profiles that torch.profiler wrote.
 *
 * The only public header. A session reads one or two profiles of the same job (fed in chunks of any size, plain or gzip)
 * and then answers as many questions about it as wanted; nothing is read again between questions.
 *
 *     oc_session *s = oc_session_open(0);
 *     while (more bytes) oc_session_feed(s, bytes, length);
 *     oc_session_next_profile(s); ... feed the second profile ...
 *     if (oc_session_finish(s) == OC_OK && oc_session_simulate(s, "{\"gpu\":\"T4\"}", 12) == OC_OK)
 *         puts(oc_session_summary(s, NULL));
 *     oc_session_close(s);
 *
 * Units: bytes are exact integers, times are milliseconds since the first event of the profile. Nothing here prints or exits;
 * errors are values. A session belongs to one thread; several sessions are independent. A simulated out-of-memory is a
 * result, not an error.
 */
#ifndef OOMCAST_H
#define OOMCAST_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define OC_VERSION "0.1.0"
#define OC_ABI_VERSION 1        /* changes when a function below or the meaning of a column changes */
#define OC_RESULT_VERSION 1     /* `version` in the result JSON (format `oomcast-result`) */
#define OC_NO_OFFSET UINT64_MAX /* an error or warning that has no place in the file */

typedef enum oc_status {
    OC_OK = 0,
    OC_MEMORY,           /* an allocation failed, or the session's memory budget is used up */
    OC_EMPTY,            /* the input has no bytes */
    OC_WRONG_KIND,       /* a readable file, but no CPU profile: the message says what it is */
    OC_SYNTAX,           /* not JSON, or no complete event in it */
    OC_TRUNCATED,        /* the input ends before one whole iteration was seen */
    OC_GZIP,             /* damaged gzip data */
    OC_NO_MEMORY_EVENTS, /* a profile without memory events: recorded without profile_memory=True */
    OC_MISMATCH,         /* the two profiles are not of the same job */
    OC_OPTIONS,          /* the options of a simulation are wrong, or the profile cannot support them */
    OC_STATE             /* functions called in the wrong order */
} oc_status;

typedef struct oc_error {
    oc_status status;
    const char *name;     /* of the status, in snake case, static: "wrong_kind" */
    uint64_t byte_offset; /* in the uncompressed text (OC_GZIP: in the compressed file); OC_NO_OFFSET where there is none */
    uint64_t event_index; /* how many events had been read */
    int profile;          /* 0 or 1: which of the profiles; -1 where it is neither */
    char message[600];    /* one line, UTF-8: what, where, what to do */
} oc_error;

/* Columns of the last simulation: arrays of doubles (bytes or milliseconds), the lengths of a pair are equal.
 * Each pair is a step curve reduced to first, last, lowest and highest value per bucket, so no peak is lost. */
typedef enum oc_column {
    OC_COLUMN_ALLOCATED_TIME = 0, /* ms */
    OC_COLUMN_ALLOCATED,          /* bytes, torch.cuda.memory_allocated */
    OC_COLUMN_RESERVED_TIME,      /* ms */
    OC_COLUMN_RESERVED,           /* bytes, torch.cuda.memory_reserved */
    OC_COLUMN_TENSOR_TIME,        /* ms */
    OC_COLUMN_TENSOR,             /* bytes, sum of live requests before rounding */
    OC_COLUMN_NEED_TIME,          /* ms */
    OC_COLUMN_NEED,               /* bytes reserved in the run without a limit; empty unless the limited run ran out of memory */
    OC_COLUMN_COUNT
} oc_column;

typedef struct oc_session oc_session;

/* Opens a session that may hold at most `budget_bytes` (0: the default, 1 GiB, 1.5 GiB in WebAssembly).
 * NULL if even the session itself cannot be allocated. Free with oc_session_close. */
oc_session *oc_session_open(size_t budget_bytes);

/* Feeds the next `length` bytes of the current profile, cut anywhere. Gzip is recognised by its first bytes.
 * After an error the session takes no more bytes and returns the first error again. */
oc_status oc_session_feed(oc_session *session, const void *bytes, size_t length);

/* The current profile was recorded at this batch size, whatever it seems to be; 1 to 100,000,000, else OC_STATE. Call it before
 * oc_session_next_profile or oc_session_finish. */
oc_status oc_session_set_batch(oc_session *session, int64_t batch_size);

/* Of a profile that was recorded on GPUs, looks at this one instead of the busiest; 0 to 1000, else OC_STATE. Call it when
 * oc_session_set_batch may be called. */
oc_status oc_session_set_device(oc_session *session, int64_t device_id);

/* Ends the first profile; what is fed next belongs to the second one, the same job at another batch size. */
oc_status oc_session_next_profile(oc_session *session);

/* Ends the last profile and analyses. From here on oc_session_simulate may be called. */
oc_status oc_session_finish(oc_session *session);

/* Answers one question. `options` is JSON, `length` bytes of it; an empty object asks for the unlimited run as recorded:
 *   {"task": "estimate"|"max_batch", "batch": 64, "gpu": "RTX 4090" | "capacity_bytes": N, "reserve_bytes": N, "optimizer": "AdamW",
 *    "foreach": "auto"|"on"|"off"|"fused", "zero_grad": "recorded"|"start"|"after-forward"|"after-step", "torch": "2.6",
 *    "alloc_conf": "expandable_segments:True", "memory_fraction": 0.9, "no_caching": true, "points": 1000, "range_ms": [from, to]}
 * "max_batch" finds the largest batch that runs on the card (two profiles) and reports that one.
 * On success summary and columns describe the answer. On OC_OPTIONS the session stays usable and keeps the last answer. */
oc_status oc_session_simulate(oc_session *session, const char *options, size_t length);

/* The result JSON of the last simulation (design of the format: README), NUL-terminated; `length` may be NULL.
 * Owned by the session, valid until the next oc_session_simulate or oc_session_close. NULL if there is none. */
const char *oc_session_summary(const oc_session *session, size_t *length);

/* One column of the last simulation; NULL with length 0 if there is none. Lives as long as the summary. */
const double *oc_session_column(const oc_session *session, oc_column column, size_t *length);

/* One request of the last simulation to the allocator: `*bytes` > 0 allocates for `*tensor`, 0 frees it. 0 if there is no such request. */
int oc_session_request(const oc_session *session, size_t index, uint32_t *tensor, int64_t *bytes);

/* The first error of reading, else the error of the last simulation or wrong call; never NULL, `status` is OC_OK where there is none. */
const oc_error *oc_session_error(const oc_session *session);

/* What reading took: uncompressed bytes, events, and the highest number of bytes the session held. Any pointer may be NULL. */
void oc_session_facts(const oc_session *session, uint64_t *text_bytes, uint64_t *event_count, size_t *peak_bytes);

/* Frees the session and all it handed out. NULL is allowed. */
void oc_session_close(oc_session *session);

/* The GPU catalogue as a JSON array, NUL-terminated; the caller frees it with oc_free_text. NULL if out of memory. */
char *oc_gpus_json(void);
void oc_free_text(char *text);

#ifdef __cplusplus
}
#endif

#endif

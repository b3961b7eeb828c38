/* JSON of profiles, in two steps made for files that are huge and not always valid.
 *
 * oc_json_reader (push): cuts a byte stream, fed in any pieces, into the members of the top-level object and the elements of
 * its `traceEvents` array (or of a top-level array). Where the file is indented, as torch writes it, an event ends at the
 * line that closes it, whatever its strings hold: damage inside one event cannot reach the next.
 *
 * oc_json_cursor (pull): walks over one complete event. Strings may hold any byte but a quote; what is not JSON makes it
 * answer OC_JSON_DAMAGED instead of guessing.
 *
 * Invariant: text handed out is contiguous and valid until the next call of oc_json_read.
 */
#ifndef OC_JSON_H
#define OC_JSON_H

#include "arena.h"
#include "error.h"

#include <string.h>

typedef struct oc_text {
    const char *data;
    size_t length;
} oc_text;

/* ---- reader ---- */

typedef enum oc_json_item {
    OC_JSON_NEED_MORE, /* all input consumed */
    OC_JSON_MEMBER,    /* a member of the top-level object: key and value text */
    OC_JSON_EVENT,     /* one element of the event array, an object, with its braces */
    OC_JSON_FAILED     /* status in the error */
} oc_json_item;

typedef struct oc_json_reader {
    enum {
        OC_JSON_AT_START, OC_JSON_AT_TOP, OC_JSON_IN_KEY, OC_JSON_AT_COLON, OC_JSON_AT_VALUE, OC_JSON_IN_VALUE, OC_JSON_IN_EVENTS,
        OC_JSON_AT_EVENT_LINE, OC_JSON_IN_EVENT, OC_JSON_AT_END
    } state;
    enum { OC_JSON_BY_INDENT, OC_JSON_BY_BRACES, OC_JSON_BY_DELIMITER } scan;
    oc_arena *arena;
    oc_error *error;
    uint64_t offset;       /* of the next input byte in the text */
    uint64_t item_offset;  /* where the last item handed out begins */
    uint64_t event_count;  /* events handed out */
    uint64_t junk_count;   /* runs of bytes between events that belong to nothing */
    uint64_t junk_offset;  /* the first of them */
    uint64_t skipped_count; /* events longer than the limit */
    int root_is_array;
    int found_events;
    int in_junk;
    /* position inside the item being cut out */
    int column;            /* spaces since the last line break, -1 when something else came first */
    int event_indent;
    int line_indent;
    int matched;           /* bytes seen of the line that closes the event */
    int depth;
    int in_string;
    int escaped;
    int is_too_long;
    char key[64];
    size_t key_length;
    char *carry;           /* bytes of the current item that came with earlier input */
    size_t carry_length, carry_capacity;
} oc_json_reader;

enum { OC_JSON_ITEM_LIMIT = 16 << 20 }; /* a longer event or value is skipped and counted */

void oc_json_reader_init(oc_json_reader *reader, oc_arena *arena, oc_error *error);

/* Cuts the next item out of `*in`, which moves on. For OC_JSON_MEMBER `*key` is set. */
oc_json_item oc_json_read(oc_json_reader *reader, const char **in, size_t *in_length, oc_text *item, oc_text *key);

/* 1 if the text may end here (its root is closed). */
int oc_json_is_complete(const oc_json_reader *reader);

/* ---- cursor ---- */

typedef enum oc_json_type { OC_JSON_STRING, OC_JSON_NUMBER, OC_JSON_OBJECT, OC_JSON_ARRAY, OC_JSON_WORD } oc_json_type;

typedef struct oc_json_value {
    oc_json_type type;
    oc_text text;   /* a string without its quotes, not yet unescaped; empty for objects and arrays */
    int is_escaped; /* a string with a backslash in it */
} oc_json_value;

typedef struct oc_json_cursor {
    const char *at, *end;
} oc_json_cursor;

typedef enum oc_json_step { OC_JSON_NEXT, OC_JSON_CLOSED, OC_JSON_DAMAGED } oc_json_step;

/* Steps over an opening brace. */
oc_json_step oc_json_enter(oc_json_cursor *cursor);

/* The next member of the object the cursor is in: OC_JSON_NEXT, or OC_JSON_CLOSED at its closing brace. A value that is an
 * object or array is left for the caller: oc_json_enter it or oc_json_skip it. */
oc_json_step oc_json_member(oc_json_cursor *cursor, oc_text *key, oc_json_value *value);

/* Steps over the array or object at the cursor; its whole text with brackets in `text`. */
oc_json_step oc_json_skip(oc_json_cursor *cursor, oc_text *text);

/* Numbers, exact: never through floating point. A fraction is cut off, a number too large is the largest one. All give 0 for text that
 * is no number. */
int64_t oc_json_i64(oc_text number);
uint64_t oc_json_u64(oc_text number);
int64_t oc_json_ns_from_us(oc_text microseconds);

/* Resolves escapes and replaces what is no UTF-8 or a control character by '?'; at most `capacity` bytes are written.
 * `*damage` is set to 1 where something was replaced. Returns the length. */
size_t oc_json_clean(oc_text text, char *out, size_t capacity, int *damage);

/* 1 if the bytes are UTF-8 without control characters. */
int oc_json_is_clean(oc_text text);

/* Here, so that a comparison with a literal is one of a few words. */
static inline int oc_text_equals(oc_text text, const char *word) {
    const size_t length = strlen(word);
    return text.length == length && memcmp(text.data, word, length) == 0;
}

static inline int oc_text_starts_with(oc_text text, const char *prefix) {
    const size_t length = strlen(prefix);
    return text.length >= length && memcmp(text.data, prefix, length) == 0;
}

#endif

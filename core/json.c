/* The reader cuts, the cursor walks; see json.h. Neither looks at the meaning of a key but `traceEvents`. */
#include "json.h"

#include <stdlib.h>
#include <string.h>

#ifdef __wasm_simd128__
#include <wasm_simd128.h>

/* As memchr, which is a byte loop in Emscripten's libc; most of a profile is skipped line by line. */
static const char *find_byte(const char *at, char byte, const char *end) {
    const v128_t wanted = wasm_i8x16_splat(byte);
    for (; end - at >= 16; at += 16) {
        uint32_t hits = (uint32_t)wasm_i8x16_bitmask(wasm_i8x16_eq(wasm_v128_load(at), wanted));
        if (hits)
            return at + __builtin_ctz(hits);
    }
    for (; at < end; at++)
        if (*at == byte)
            return at;
    return NULL;
}
#else
static const char *find_byte(const char *at, char byte, const char *end) {
    return memchr(at, byte, (size_t)(end - at));
}
#endif

/* Eight bytes at once, each in its place of a word: the high bit of every byte that is below `limit` (up to 128), if none has its own high bit
 * set; bytes above the first hit may be wrong. */
#define ONES UINT64_C(0x0101010101010101)
#define HIGH_BITS (ONES << 7)

static inline uint64_t load_word(const char *at) {
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

static inline uint64_t below(uint64_t word, uint64_t limit) {
    return (word - ONES * limit) & ~word & HIGH_BITS;
}

static int is_space(char c) {
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* ---- reader ---- */

void oc_json_reader_init(oc_json_reader *reader, oc_arena *arena, oc_error *error) {
    memset(reader, 0, sizeof *reader);
    reader->arena = arena;
    reader->error = error;
    reader->junk_offset = OC_NO_OFFSET;
    reader->column = -1;
}

int oc_json_is_complete(const oc_json_reader *reader) {
    return reader->state == OC_JSON_AT_END;
}

/* Keeps the bytes of an unfinished item. The buffer doubles in the arena; its size is bounded by the longest item. */
static int keep(oc_json_reader *reader, const char *bytes, size_t length) {
    if (reader->is_too_long || length == 0)
        return 1;
    if (reader->carry_length + length > OC_JSON_ITEM_LIMIT) {
        reader->is_too_long = 1;
        return 1;
    }
    if (reader->carry_length + length > reader->carry_capacity) {
        size_t capacity = reader->carry_capacity ? reader->carry_capacity * 2 : 4096;
        while (capacity < reader->carry_length + length)
            capacity *= 2;
        char *carry = oc_arena_alloc(reader->arena, capacity, 1);
        if (!carry)
            return 0;
        if (reader->carry_length)
            memcpy(carry, reader->carry, reader->carry_length);
        reader->carry = carry;
        reader->carry_capacity = capacity;
    }
    memcpy(reader->carry + reader->carry_length, bytes, length);
    reader->carry_length += length;
    return 1;
}

/* Where the event that began with `event_indent` spaces ends: a line of as many spaces and a brace. NULL: not in here. */
static const char *scan_by_indent(oc_json_reader *reader, const char *at, const char *end) {
    while (at < end) {
        if (reader->matched == 0) {
            at = find_byte(at, '\n', end);
            if (!at)
                return NULL;
            at++;
            reader->matched = 1;
        } else if (reader->matched <= reader->event_indent && *at == ' ') {
            at++;
            reader->matched++;
        } else if (reader->matched == reader->event_indent + 1 && *at == '}') {
            return at + 1;
        } else {
            reader->matched = 0;
        }
    }
    return NULL;
}

/* Where the object or array ends by counting brackets outside strings. */
static const char *scan_by_braces(oc_json_reader *reader, const char *at, const char *end) {
    while (at < end) {
        char c = *at++;
        if (reader->in_string) {
            if (reader->escaped)
                reader->escaped = 0;
            else if (c == '\\')
                reader->escaped = 1;
            else if (c == '"') {
                reader->in_string = 0;
                if (reader->depth == 0)
                    return at;
            }
        } else if (c == '"') {
            reader->in_string = 1;
        } else if (c == '{' || c == '[') {
            reader->depth++;
        } else if (c == '}' || c == ']') {
            if (--reader->depth <= 0)
                return at;
        }
    }
    return NULL;
}

/* Where a number or word ends: before the next delimiter. */
static const char *scan_by_delimiter(const char *at, const char *end) {
    for (; at < end; at++)
        if (*at == ',' || *at == '}' || *at == ']' || is_space(*at))
            return at;
    return NULL;
}

static const char *scan_item(oc_json_reader *reader, const char *at, const char *end) {
    switch (reader->scan) {
    case OC_JSON_BY_INDENT: return scan_by_indent(reader, at, end);
    case OC_JSON_BY_BRACES: return scan_by_braces(reader, at, end);
    default: return scan_by_delimiter(at, end);
    }
}

static void begin_item(oc_json_reader *reader, uint64_t offset) {
    reader->item_offset = offset;
    reader->carry_length = 0;
    reader->matched = 0;
    reader->depth = 0;
    reader->in_string = 0;
    reader->escaped = 0;
    reader->is_too_long = 0;
}

/* The item that begins at `start` (in this input, or earlier in the carry) and ends at `stop`. 0 if out of memory. */
static int take_item(oc_json_reader *reader, const char *start, const char *stop, oc_text *item) {
    if (reader->carry_length == 0 && !reader->is_too_long) {
        reader->is_too_long = stop - start > OC_JSON_ITEM_LIMIT;
        item->data = start;
        item->length = (size_t)(stop - start);
        return 1;
    }
    if (!keep(reader, start, (size_t)(stop - start)))
        return 0;
    item->data = reader->carry;
    item->length = reader->carry_length;
    return 1;
}

static oc_json_item fail_syntax(oc_json_reader *reader, uint64_t offset, char found) {
    const char quote[2] = {found >= ' ' && found < 127 ? found : '?', 0};
    (void)oc_error_set(reader->error, OC_SYNTAX, offset,
                       "not valid JSON at byte %llu (found '%s' where a key or value should begin): this is no file that torch.profiler wrote",
                       (unsigned long long)offset, quote);
    return OC_JSON_FAILED;
}

/* One byte of the text around events and members. Returns 0 on a syntax error. */
static int step_outside(oc_json_reader *reader, char c, uint64_t offset) {
    switch (reader->state) {
    case OC_JSON_AT_START:
        if (is_space(c))
            return 1;
        reader->root_is_array = c == '[';
        reader->found_events = reader->root_is_array;
        reader->state = reader->root_is_array ? OC_JSON_IN_EVENTS : OC_JSON_AT_TOP;
        return c == '{' || c == '[';
    case OC_JSON_AT_TOP:
        if (c == '"') {
            reader->state = OC_JSON_IN_KEY;
            reader->key_length = 0;
            reader->escaped = 0;
        } else if (c == '}') {
            reader->state = OC_JSON_AT_END;
        }
        return is_space(c) || c == ',' || c == '"' || c == '}';
    case OC_JSON_IN_KEY:
        if (c == '"' && !reader->escaped) {
            reader->state = OC_JSON_AT_COLON;
        } else if (reader->key_length < sizeof reader->key) {
            reader->key[reader->key_length++] = c;
        }
        reader->escaped = c == '\\' && !reader->escaped;
        return 1;
    case OC_JSON_AT_COLON:
        if (c == ':')
            reader->state = OC_JSON_AT_VALUE;
        return is_space(c) || c == ':';
    case OC_JSON_AT_VALUE:
        if (is_space(c))
            return 1;
        if (c == '[' && oc_text_equals((oc_text){reader->key, reader->key_length}, "traceEvents")) {
            reader->state = OC_JSON_IN_EVENTS;
            reader->found_events = 1;
            return 1;
        }
        begin_item(reader, offset);
        reader->scan = c == '"' || c == '{' || c == '[' ? OC_JSON_BY_BRACES : OC_JSON_BY_DELIMITER;
        reader->state = OC_JSON_IN_VALUE;
        return c != ',' && c != '}' && c != ']' && c != ':';
    default: /* OC_JSON_IN_EVENTS */
        if (c == '{') {
            begin_item(reader, offset);
            reader->event_indent = reader->column;
            reader->line_indent = -1;
            reader->state = OC_JSON_AT_EVENT_LINE;
        } else if (c == ']') {
            reader->state = reader->root_is_array ? OC_JSON_AT_END : OC_JSON_AT_TOP;
        } else if (!is_space(c) && c != ',') {
            if (!reader->in_junk) {
                reader->junk_count++;
                if (reader->junk_offset == OC_NO_OFFSET)
                    reader->junk_offset = offset;
            }
            reader->in_junk = 1;
            return 1;
        }
        reader->in_junk = 0;
        return 1;
    }
}

/* One byte after an event's opening brace, until it is clear how the event's end is found: if the next line is indented
 * deeper than the brace, by indentation, else by brackets. Returns 1 when decided. */
static int decide_scan(oc_json_reader *reader, char c) {
    if (reader->line_indent < 0) {
        if (c == '\r')
            return 0;
        if (c == '\n' && reader->event_indent >= 0) {
            reader->line_indent = 0;
            return 0;
        }
    } else if (c == ' ') {
        reader->line_indent++;
        return 0;
    }
    reader->scan = reader->line_indent > reader->event_indent && reader->event_indent >= 0 ? OC_JSON_BY_INDENT : OC_JSON_BY_BRACES;
    reader->depth = 1; /* the brace is behind us */
    reader->state = OC_JSON_IN_EVENT;
    return 1;
}

oc_json_item oc_json_read(oc_json_reader *reader, const char **in, size_t *in_length, oc_text *item, oc_text *key) {
    const char *at = *in, *end = *in + *in_length;
    oc_json_item result = OC_JSON_NEED_MORE;
    const char *start = at; /* of the current item, as far as it lies in this input */
    while (at < end && result == OC_JSON_NEED_MORE) {
        if (reader->state == OC_JSON_IN_EVENT || reader->state == OC_JSON_IN_VALUE) {
            const char *stop = scan_item(reader, at, end);
            if (!stop) {
                at = end;
                break;
            }
            if (!take_item(reader, start, stop, item)) {
                (void)oc_error_set_memory(reader->error);
                result = OC_JSON_FAILED;
                break;
            }
            at = stop;
            reader->column = -1;
            int is_event = reader->state == OC_JSON_IN_EVENT;
            reader->state = is_event ? OC_JSON_IN_EVENTS : OC_JSON_AT_TOP;
            if (reader->is_too_long) {
                reader->skipped_count++;
                continue;
            }
            if (is_event) {
                reader->event_count++;
                result = OC_JSON_EVENT;
            } else {
                *key = (oc_text){reader->key, reader->key_length};
                result = OC_JSON_MEMBER;
            }
            break;
        }
        char c = *at;
        uint64_t offset = reader->offset + (uint64_t)(at - *in);
        if (reader->state == OC_JSON_AT_EVENT_LINE) {
            if (!decide_scan(reader, c))
                at++;
            continue;
        }
        if (reader->state == OC_JSON_AT_END) { /* whatever follows the root is not ours */
            at = end;
            break;
        }
        start = at;
        if (!step_outside(reader, c, offset)) {
            result = fail_syntax(reader, offset, c);
            break;
        }
        if (c == '\n')
            reader->column = 0;
        else if (c == ' ' && reader->column >= 0)
            reader->column++;
        else
            reader->column = -1;
        if (reader->state != OC_JSON_IN_VALUE) /* a value is scanned from its first byte on */
            at++;
    }
    if (result == OC_JSON_NEED_MORE && (reader->state == OC_JSON_IN_EVENT || reader->state == OC_JSON_IN_VALUE || reader->state == OC_JSON_AT_EVENT_LINE)) {
        if (!keep(reader, start, (size_t)(end - start))) {
            (void)oc_error_set_memory(reader->error);
            result = OC_JSON_FAILED;
        }
    }
    reader->offset += (uint64_t)(at - *in);
    *in = at;
    *in_length = (size_t)(end - at);
    return result;
}

/* ---- cursor ---- */

static void skip_space(oc_json_cursor *cursor) {
    while (cursor->at < cursor->end && is_space(*cursor->at))
        cursor->at++;
}

/* The string at the cursor, which is at its opening quote. */
static int read_string(oc_json_cursor *cursor, oc_text *text, int *is_escaped) {
    const char *start = ++cursor->at;
    *is_escaped = 0;
    for (const char *at = start; at < cursor->end; at++) {
        while (cursor->end - at >= 8 && !(below(load_word(at) ^ ONES * '"', 1) | below(load_word(at) ^ ONES * '\\', 1)))
            at += 8;
        if (at == cursor->end)
            return 0;
        if (*at == '"') {
            text->data = start;
            text->length = (size_t)(at - start);
            cursor->at = at + 1;
            return 1;
        }
        if (*at == '\\') {
            *is_escaped = 1;
            at++;
        }
    }
    return 0;
}

oc_json_step oc_json_enter(oc_json_cursor *cursor) {
    skip_space(cursor);
    if (cursor->at == cursor->end || *cursor->at != '{')
        return OC_JSON_DAMAGED;
    cursor->at++;
    return OC_JSON_NEXT;
}

oc_json_step oc_json_member(oc_json_cursor *cursor, oc_text *key, oc_json_value *value) {
    skip_space(cursor);
    while (cursor->at < cursor->end && *cursor->at == ',') { /* lenient: ",," and a comma before the brace do no harm */
        cursor->at++;
        skip_space(cursor);
    }
    if (cursor->at == cursor->end)
        return OC_JSON_DAMAGED;
    if (*cursor->at == '}') {
        cursor->at++;
        return OC_JSON_CLOSED;
    }
    int is_escaped;
    if (*cursor->at != '"' || !read_string(cursor, key, &is_escaped))
        return OC_JSON_DAMAGED;
    skip_space(cursor);
    if (cursor->at == cursor->end || *cursor->at != ':')
        return OC_JSON_DAMAGED;
    cursor->at++;
    skip_space(cursor);
    if (cursor->at == cursor->end)
        return OC_JSON_DAMAGED;
    value->is_escaped = 0;
    char c = *cursor->at;
    if (c == '"') {
        value->type = OC_JSON_STRING;
        if (!read_string(cursor, &value->text, &value->is_escaped))
            return OC_JSON_DAMAGED;
    } else if (c == '{' || c == '[') {
        value->type = c == '{' ? OC_JSON_OBJECT : OC_JSON_ARRAY;
        value->text = (oc_text){cursor->at, 0};
        return OC_JSON_NEXT;
    } else {
        value->type = (c >= '0' && c <= '9') || c == '-' ? OC_JSON_NUMBER : OC_JSON_WORD;
        const char *stop = scan_by_delimiter(cursor->at, cursor->end);
        if (!stop || stop == cursor->at)
            return OC_JSON_DAMAGED;
        value->text = (oc_text){cursor->at, (size_t)(stop - cursor->at)};
        cursor->at = stop;
    }
    skip_space(cursor);
    /* an unescaped quote inside a string shows here: something other than a comma or brace follows */
    if (cursor->at == cursor->end || (*cursor->at != ',' && *cursor->at != '}'))
        return OC_JSON_DAMAGED;
    return OC_JSON_NEXT;
}

oc_json_step oc_json_skip(oc_json_cursor *cursor, oc_text *text) {
    int depth = 0;
    const char *start = cursor->at;
    for (const char *at = start; at < cursor->end; at++) {
        char c = *at;
        if (c == '"') {
            for (at++; at < cursor->end && *at != '"'; at++)
                if (*at == '\\')
                    at++;
        } else if (c == '{' || c == '[') {
            depth++;
        } else if (c == '}' || c == ']') {
            if (--depth == 0) {
                cursor->at = at + 1;
                *text = (oc_text){start, (size_t)(cursor->at - start)};
                return OC_JSON_NEXT;
            }
        }
    }
    return OC_JSON_DAMAGED;
}

/* ---- numbers and strings ---- */

/* A decimal number without its sign times 10^shift, the rest cut off; beyond 2^64 the largest number. */
static uint64_t scaled(oc_text number, int shift) {
    enum { LARGEST_EXPONENT = 40 };
    size_t i = 0;
    uint64_t digits = 0;
    int is_fraction = 0;
    for (; i < number.length && ((number.data[i] >= '0' && number.data[i] <= '9') || (number.data[i] == '.' && !is_fraction)); i++) {
        if (number.data[i] == '.') {
            is_fraction = 1;
            continue;
        }
        const unsigned digit = (unsigned)(number.data[i] - '0');
        if (digits > (UINT64_MAX - digit) / 10) { /* digits below those that count, or a number that cannot be */
            shift += !is_fraction;
            continue;
        }
        digits = digits * 10 + digit;
        shift -= is_fraction;
    }
    if (i < number.length && (number.data[i] == 'e' || number.data[i] == 'E')) {
        i++;
        int is_small = i < number.length && number.data[i] == '-', exponent = 0;
        for (i += i < number.length && (number.data[i] == '-' || number.data[i] == '+'); i < number.length && number.data[i] >= '0' && number.data[i] <= '9'; i++)
            exponent = exponent > LARGEST_EXPONENT ? exponent : exponent * 10 + (number.data[i] - '0');
        shift += is_small ? -exponent : exponent;
    }
    for (; shift < 0 && digits; shift++)
        digits /= 10;
    for (; shift > 0 && digits && digits < UINT64_MAX / 10; shift--)
        digits *= 10;
    return shift > 0 && digits ? UINT64_MAX : digits;
}

static int64_t with_sign(uint64_t value, int is_negative) {
    int64_t bounded = value > INT64_MAX ? INT64_MAX : (int64_t)value;
    return is_negative ? -bounded : bounded;
}

/* Takes a minus sign off. */
static int take_sign(oc_text *number) {
    int is_negative = number->length && number->data[0] == '-';
    *number = (oc_text){number->data + is_negative, number->length - (size_t)is_negative};
    return is_negative;
}

uint64_t oc_json_u64(oc_text number) {
    enum { SAFE_DIGITS = 19 };
    uint64_t value = 0;
    size_t i = 0;
    for (; i < number.length && i < SAFE_DIGITS && number.data[i] >= '0' && number.data[i] <= '9'; i++)
        value = value * 10 + (uint64_t)(number.data[i] - '0');
    return i == number.length ? value : scaled(number, 0);
}

int64_t oc_json_i64(oc_text number) {
    int is_negative = take_sign(&number);
    return with_sign(oc_json_u64(number), is_negative);
}

int64_t oc_json_ns_from_us(oc_text number) {
    int is_negative = take_sign(&number);
    return with_sign(scaled(number, 3), is_negative);
}

/* Length of the UTF-8 sequence at `at`, 0 if there is none. */
static size_t utf8_length(const unsigned char *at, const unsigned char *end) {
    if (at[0] < 0x80)
        return 1;
    size_t length = at[0] >= 0xf0 && at[0] < 0xf5 ? 4 : at[0] >= 0xe0 ? 3 : at[0] >= 0xc2 ? 2 : 0;
    if (length == 0 || at[0] >= 0xf5 || (size_t)(end - at) < length)
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    if ((at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] >= 0xa0) || (at[0] == 0xf0 && at[1] < 0x90) || (at[0] == 0xf4 && at[1] >= 0x90))
        return 0;
    return length;
}

int oc_json_is_clean(oc_text text) {
    const unsigned char *at = (const unsigned char *)text.data, *end = at + text.length;
    while (at < end) {
        const uint64_t word = end - at >= 8 ? load_word((const char *)at) : HIGH_BITS;
        if (!((word & HIGH_BITS) | below(word, 0x20))) {
            at += 8;
            continue;
        }
        size_t length = utf8_length(at, end);
        if (length == 0 || at[0] < 0x20)
            return 0;
        at += length;
    }
    return 1;
}

static int hex4(const char *at, const char *end, uint32_t *value) {
    if (end - at < 4)
        return 0;
    *value = 0;
    for (int i = 0; i < 4; i++) {
        char c = at[i];
        uint32_t digit;
        if (c >= '0' && c <= '9')
            digit = (uint32_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            digit = (uint32_t)(c - 'a') + 10;
        else if (c >= 'A' && c <= 'F')
            digit = (uint32_t)(c - 'A') + 10;
        else
            return 0;
        *value = *value * 16 + digit;
    }
    return 1;
}

static size_t put_utf8(uint32_t code, char *out) {
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (char)(0xc0 | code >> 6);
        out[1] = (char)(0x80 | (code & 0x3f));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (char)(0xe0 | code >> 12);
        out[1] = (char)(0x80 | (code >> 6 & 0x3f));
        out[2] = (char)(0x80 | (code & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | code >> 18);
    out[1] = (char)(0x80 | (code >> 12 & 0x3f));
    out[2] = (char)(0x80 | (code >> 6 & 0x3f));
    out[3] = (char)(0x80 | (code & 0x3f));
    return 4;
}

/* The character an escape stands for; `*at` is after the backslash and moves on. A bad escape is its own character (Windows
 * paths that torch did not escape). */
static uint32_t read_escape(const char **at, const char *end) {
    char c = *(*at)++;
    switch (c) {
    case 'b': return ' ';
    case 'f': return ' ';
    case 'n': return ' ';
    case 'r': return ' ';
    case 't': return ' ';
    case 'u': break;
    default: return (unsigned char)c < 0x80 ? (uint32_t)c : '?';
    }
    uint32_t high, low;
    if (!hex4(*at, end, &high))
        return 'u';
    *at += 4;
    if (high < 0xd800 || high > 0xdfff)
        return high < 0x20 ? ' ' : high;
    if (high < 0xdc00 && end - *at >= 6 && (*at)[0] == '\\' && (*at)[1] == 'u' && hex4(*at + 2, end, &low) && low >= 0xdc00 && low <= 0xdfff) {
        *at += 6;
        return 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
    }
    return '?';
}

size_t oc_json_clean(oc_text text, char *out, size_t capacity, int *damage) {
    const char *at = text.data, *end = text.data + text.length;
    size_t length = 0;
    while (at < end && capacity - length >= 4) {
        if (*at == '\\' && end - at > 1) {
            at++;
            length += put_utf8(read_escape(&at, end), out + length);
            continue;
        }
        size_t bytes = utf8_length((const unsigned char *)at, (const unsigned char *)end);
        if (bytes == 0 || (unsigned char)*at < 0x20) {
            *damage = 1;
            out[length++] = '?';
            at++;
            continue;
        }
        memcpy(out + length, at, bytes);
        length += bytes;
        at += bytes;
    }
    return length;
}

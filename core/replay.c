/* Scripts and logs: both become the same steps. */
#include "replay.h"

#include "allocconf.h"
#include "allocator.h"
#include "intern.h"
#include "options.h"

#include <cJSON.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIELD_LIMIT = 6, LINE_LIMIT = 1000 };

/* What a name stands for at the moment. */
typedef enum name_state { NAME_UNKNOWN, NAME_LIVE, NAME_EMPTY /* 0 bytes */, NAME_FAILED } name_state;

typedef struct player {
    oc_replay *replay;
    oc_arena *arena;
    oc_error *error;
    oc_allocator *allocator;
    oc_interner names;
    uint8_t *states; /* by name */
    oc_list failures;
    oc_alloc_conf conf;
    int64_t device_total_bytes, capacity_bytes;
    double memory_fraction;
    int torch_version;
    int is_log;
    uint64_t line;
    uint64_t segment_line; /* of a segment that the next request must make; 0: none */
    int64_t segment_bytes;
    uint64_t oom_line; /* of a request that failed and was not expected to; 0: none */
} player;

static oc_status refuse(player *p, const char *format, ...) OC_PRINTF(2, 3);

static oc_status refuse(player *p, const char *format, ...) {
    char message[400];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    p->error->event_index = p->line;
    return oc_error_set(p->error, OC_OPTIONS, OC_NO_OFFSET, "%s", message);
}

static oc_status refuse_memory(player *p) {
    return oc_error_set_memory(p->error);
}

static oc_status fail(player *p, uint64_t line, const char *format, ...) OC_PRINTF(3, 4);

static oc_status fail(player *p, uint64_t line, const char *format, ...) {
    oc_replay_failure *failure = oc_list_push(&p->failures);
    if (!failure)
        return refuse_memory(p);
    failure->line = line;
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(failure->message, sizeof failure->message, format, arguments);
    va_end(arguments);
    return OC_OK;
}

static oc_status compare(player *p, const char *what, int64_t found, int64_t expected) {
    return found == expected ? OC_OK : fail(p, p->line, "%s: expected %lld, found %lld", what, (long long)expected, (long long)found);
}

/* ---- steps ---- */

static double fraction_of(const player *p) {
    return p->memory_fraction > 0 ? p->memory_fraction : p->conf.memory_fraction;
}

static oc_status use_settings(player *p) {
    oc_allocator_options options;
    oc_status status = oc_alloc_conf_check(&p->conf, p->torch_version, p->error);
    if (status != OC_OK) {
        p->error->event_index = p->line;
        return status;
    }
    options = oc_alloc_conf_options(&p->conf, p->torch_version, p->device_total_bytes ? fraction_of(p) : 0, p->device_total_bytes);
    int64_t limit_bytes = p->capacity_bytes ? p->capacity_bytes : p->device_total_bytes ? p->device_total_bytes : OC_NO_LIMIT;
    oc_allocator_configure(p->allocator, &options, limit_bytes);
    return OC_OK;
}

static oc_status find_name(player *p, const char *name, uint32_t *number) {
    *number = oc_intern(&p->names, name, strlen(name));
    return *number == OC_INTERN_FAILED ? refuse_memory(p) : OC_OK;
}

/* The name must stand for nothing yet. */
static oc_status claim_name(player *p, const char *name, uint32_t *number) {
    oc_status status = find_name(p, name, number);
    if (status == OC_OK && (p->states[*number] == NAME_LIVE || p->states[*number] == NAME_EMPTY))
        return p->is_log ? refuse(p, "the block at %.80s is in use already: the log has no free_completed for it", name)
                         : refuse(p, "%.80s is in use already: free it first, or give another name", name);
    return status;
}

static oc_status play_segment(player *p, uint64_t address, int64_t bytes, uint64_t stream, int is_small) {
    if (bytes <= 0 || bytes > OC_LARGEST_BLOCK || bytes % OC_kMinBlockSize || address == 0 || address >= OC_SCRIPT_ADDRESSES)
        return refuse(p, "a segment needs an address below %llu and a multiple of 512 bytes", (unsigned long long)OC_SCRIPT_ADDRESSES);
    switch (oc_allocator_add_segment(p->allocator, address, bytes, stream, is_small)) {
    case OC_PRESET_DONE:
        return OC_OK;
    case OC_PRESET_NO_HOST_MEMORY:
        return refuse_memory(p);
    default:
        return refuse(p, "the segment at %llu overlaps another", (unsigned long long)address);
    }
}

static oc_status play_used(player *p, const char *name, uint64_t address, int64_t block_bytes, int64_t bytes) {
    uint32_t number;
    oc_status status = claim_name(p, name, &number);
    if (status != OC_OK)
        return status;
    if (bytes <= 0 || block_bytes < bytes || block_bytes % OC_kMinBlockSize)
        return refuse(p, "a block needs a multiple of 512 bytes, no less than the %lld requested", (long long)bytes);
    switch (oc_allocator_add_block(p->allocator, number, address, block_bytes, bytes)) {
    case OC_PRESET_DONE:
        p->states[number] = NAME_LIVE;
        return OC_OK;
    case OC_PRESET_NO_HOST_MEMORY:
        return refuse_memory(p);
    default:
        return refuse(p, "no segment has %lld free bytes at %llu", (long long)block_bytes, (unsigned long long)address);
    }
}

static oc_status play_next_segment(player *p, uint64_t address, int64_t bytes) {
    if (address == 0 || address >= OC_SCRIPT_ADDRESSES || bytes <= 0)
        return refuse(p, "a segment needs an address below %llu and a number of bytes", (unsigned long long)OC_SCRIPT_ADDRESSES);
    if (p->segment_line &&
        fail(p, p->segment_line, "new segment: expected %lld bytes, found another one announced before any request", (long long)p->segment_bytes) != OC_OK)
        return p->error->status;
    oc_allocator_set_next_segment(p->allocator, address);
    p->segment_line = p->line;
    p->segment_bytes = bytes;
    p->replay->segment_count++;
    return OC_OK;
}

/* Whether the request made the segment that it had to. */
static oc_status check_segment(player *p) {
    if (!p->segment_line)
        return OC_OK;
    uint64_t line = p->segment_line;
    int is_overlapping;
    int64_t taken = oc_allocator_take_next_segment(p->allocator, &is_overlapping);
    p->segment_line = 0;
    if (is_overlapping && fail(p, line, "new segment: expected its addresses to be free, found a segment still there") != OC_OK)
        return p->error->status;
    if (taken == p->segment_bytes)
        return OC_OK;
    if (!taken)
        return fail(p, line, "new segment: expected %lld bytes, found none made", (long long)p->segment_bytes);
    return fail(p, line, "new segment: expected %lld bytes, found %lld", (long long)p->segment_bytes, (long long)taken);
}

static oc_status play_alloc(player *p, const char *name, int64_t bytes, uint64_t stream) {
    uint32_t number;
    oc_status status = claim_name(p, name, &number);
    if (status != OC_OK)
        return status;
    if (fraction_of(p) > 0 && !p->device_total_bytes)
        return refuse(p, "a memory fraction is one of the device's memory: give config device_total BYTES too");
    if (bytes == 0) { /* PyTorch asks for nothing then */
        p->states[number] = NAME_EMPTY;
        return OC_OK;
    }
    oc_placement placement = oc_allocator_allocate(p->allocator, number, bytes, stream);
    if (placement == OC_NO_HOST_MEMORY)
        return refuse_memory(p);
    p->states[number] = placement == OC_PLACED ? NAME_LIVE : NAME_FAILED;
    p->oom_line = placement == OC_PLACED ? 0 : p->line;
    return check_segment(p);
}

static oc_status play_free(player *p, const char *name) {
    uint32_t number;
    oc_status status = find_name(p, name, &number);
    if (status != OC_OK)
        return status;
    if (p->states[number] == NAME_UNKNOWN)
        return refuse(p, "free of %.80s, which is not in use", name);
    if (p->states[number] == NAME_LIVE)
        oc_allocator_free(p->allocator, number);
    p->states[number] = NAME_UNKNOWN;
    return OC_OK;
}

static oc_status play_record_stream(player *p, const char *name, uint64_t stream) {
    uint32_t number;
    oc_status status = find_name(p, name, &number);
    if (status != OC_OK)
        return status;
    if (p->states[number] == NAME_UNKNOWN)
        return refuse(p, "record_stream of %.80s, which is not in use", name);
    if (p->states[number] == NAME_LIVE && !oc_allocator_record_stream(p->allocator, number, stream))
        return refuse_memory(p);
    return OC_OK;
}

static oc_status play_release(player *p, uint64_t address, int64_t bytes) {
    if (oc_allocator_release_segment(p->allocator, address, bytes) == OC_PRESET_DONE)
        return OC_OK;
    return fail(p, p->line, "release of %lld bytes at %llu: expected a wholly free segment, found none", (long long)bytes, (unsigned long long)address);
}

static oc_status play_expect_addr(player *p, const char *name, uint64_t address) {
    uint32_t number;
    oc_status status = find_name(p, name, &number);
    if (status != OC_OK)
        return status;
    p->replay->address_count++;
    if (p->states[number] == NAME_UNKNOWN)
        return refuse(p, "expect_addr of %.80s, which is not in use", name);
    uint64_t found = p->states[number] == NAME_LIVE ? oc_allocator_address(p->allocator, number) : 0;
    return found == address ? OC_OK : fail(p, p->line, "address: expected %llu, found %llu", (unsigned long long)address, (unsigned long long)found);
}

/* What was still open when the line before ended. */
static oc_status settle(player *p, int is_oom_expected) {
    uint64_t line = p->oom_line;
    p->oom_line = 0;
    oc_allocator_check(p->allocator);
    if (is_oom_expected)
        return line ? OC_OK : fail(p, p->line, "out of memory: expected, found the request served");
    return line ? fail(p, line, "request: expected to be served, found out of memory") : OC_OK;
}

static oc_status open_player(player *p, oc_replay *replay, uint32_t name_limit, oc_arena *arena, oc_error *error) {
    memset(p, 0, sizeof *p);
    memset(replay, 0, sizeof *replay);
    p->replay = replay;
    p->arena = arena;
    p->error = error;
    oc_alloc_conf_init(&p->conf);
    oc_list_init(&p->failures, arena, sizeof(oc_replay_failure));
    p->allocator = oc_allocator_open(arena, name_limit);
    p->states = oc_arena_alloc(arena, name_limit, sizeof *p->states);
    if (!p->allocator || !p->states || !oc_interner_init(&p->names, arena))
        return refuse_memory(p);
    oc_allocator_reset(p->allocator, &oc_allocator_defaults, OC_NO_LIMIT, 1);
    return OC_OK;
}

static oc_status close_player(player *p) {
    oc_status status = settle(p, 0);
    if (status == OC_OK)
        status = check_segment(p);
    p->replay->failures = oc_list_flatten(&p->failures, p->arena);
    p->replay->failure_count = p->failures.count;
    return status == OC_OK && !p->replay->failures ? refuse_memory(p) : status;
}

/* ---- scripts ---- */

static oc_status read_number(player *p, const char *text, uint64_t highest, uint64_t *value) {
    char *end;
    *value = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || *value > highest || strlen(text) > 19)
        return refuse(p, "\"%.80s\": expected a whole number, 0 to %llu", text, (unsigned long long)highest);
    return OC_OK;
}

static oc_status read_bytes(player *p, const char *text, int64_t *bytes) {
    uint64_t value;
    oc_status status = read_number(p, text, OC_LARGEST_BLOCK, &value);
    *bytes = (int64_t)value;
    return status;
}

static oc_status read_address(player *p, const char *text, uint64_t *address) {
    return read_number(p, text, INT64_MAX, address);
}

static oc_status play_config(player *p, const char *key, const char *value) {
    oc_status status = OC_OK;
    if (strcmp(key, "device_total") == 0 || strcmp(key, "device_capacity") == 0) {
        int64_t *bytes = strcmp(key, "device_total") == 0 ? &p->device_total_bytes : &p->capacity_bytes;
        status = read_bytes(p, value, bytes);
        if (status == OC_OK && *bytes == 0)
            return refuse(p, "%s: a device without memory has no allocator", key);
    } else if (strcmp(key, "memory_fraction") == 0) {
        char *end;
        p->memory_fraction = strtod(value, &end);
        if (*value < '0' || *value > '9' || *end || !(p->memory_fraction > 0) || !(p->memory_fraction <= 1))
            return refuse(p, "memory_fraction \"%.80s\": expected a number above 0, at most 1", value);
    } else if (strcmp(key, "no_caching") == 0) {
        if (strcmp(value, "0") != 0 && strcmp(value, "1") != 0)
            return refuse(p, "no_caching \"%.80s\": expected 0 or 1", value);
        if (oc_allocator_usage(p->allocator)->reserved_bytes)
            return refuse(p, "no_caching is for a whole program: give it before the first request");
        p->conf.allocator.is_uncached = *value == '1';
    } else if (strcmp(key, "torch") == 0) {
        p->torch_version = oc_torch_version(value);
        if (!p->torch_version)
            return refuse(p, "torch \"%.80s\": expected a version such as 2.6", value);
    } else {
        char pair[2 * LINE_LIMIT];
        int is_whole = strcmp(key, "alloc_conf") == 0;
        (void)snprintf(pair, sizeof pair, "%s%s%s", is_whole ? "" : key, is_whole ? "" : ":", value);
        status = oc_alloc_conf_read(&p->conf, pair, p->error);
        if (status != OC_OK)
            p->error->event_index = p->line;
    }
    return status == OC_OK ? use_settings(p) : status;
}

/* expect_NAME VALUE; -1 in `*found` if there is no such name. */
static int64_t counter_named(const player *p, const char *name) {
    const oc_counters c = oc_allocator_count(p->allocator);
    if (strcmp(name, "segments") == 0)
        return oc_allocator_survey(p->allocator).segment_count;
    if (strcmp(name, "inactive_split") == 0)
        return oc_allocator_survey(p->allocator).inactive_split_bytes;
    const struct {
        const char *name;
        int64_t value;
    } counters[] = {{"allocated", c.allocated_bytes}, {"reserved", c.reserved_bytes}, {"requested", c.requested_bytes}, {"active", c.active_bytes},
                    {"retries", c.retry_count}, {"ooms", c.oom_count}};
    for (size_t i = 0; i < sizeof counters / sizeof counters[0]; i++)
        if (strcmp(name, counters[i].name) == 0)
            return counters[i].value;
    return -1;
}

static oc_status play_expect_counter(player *p, const char *name, const char *text) {
    int64_t found = counter_named(p, name);
    uint64_t expected = 0;
    if (found < 0)
        return refuse(p, "unknown step \"expect_%.60s\"", name);
    oc_status status = read_number(p, text, INT64_MAX, &expected);
    return status == OC_OK ? compare(p, name, found, (int64_t)expected) : status;
}

typedef struct verb {
    const char *name;
    int least, most; /* fields behind it */
    const char *fields;
} verb;

typedef enum verb_number {
    VERB_CONFIG, VERB_SEGMENT, VERB_USED, VERB_NEXT_SEGMENT, VERB_ALLOC, VERB_FREE, VERB_RECORD_STREAM, VERB_FINISH, VERB_EMPTY_CACHE,
    VERB_RELEASE, VERB_EXPECT_ADDR, VERB_EXPECT_OOM, VERB_COUNT
} verb_number;

static const verb verbs[VERB_COUNT] = {
    {"config", 2, 2, "KEY VALUE"}, {"segment", 4, 4, "ADDR BYTES STREAM small|large"}, {"used", 4, 4, "ID ADDR BLOCK REQUESTED"},
    {"next_segment", 2, 2, "ADDR BYTES"}, {"alloc", 2, 3, "ID BYTES [STREAM]"}, {"free", 1, 1, "ID"}, {"record_stream", 2, 2, "ID STREAM"},
    {"finish", 1, 1, "STREAM"}, {"empty_cache", 0, 0, ""}, {"release", 2, 2, "ADDR BYTES"}, {"expect_addr", 2, 2, "ID ADDR"}, {"expect_oom", 0, 0, ""},
};

/* Reads the numbers of a step, then plays it. `f`: the fields behind the verb. */
static oc_status play_verb(player *p, verb_number number, char **f, int count) {
    uint64_t address = 0, stream = 0;
    int64_t bytes = 0, block_bytes = 0;
    oc_status status = OC_OK;
    switch (number) {
    case VERB_CONFIG:
        return play_config(p, f[0], f[1]);
    case VERB_SEGMENT:
        if (strcmp(f[3], "small") != 0 && strcmp(f[3], "large") != 0)
            return refuse(p, "\"%.80s\": expected small or large", f[3]);
        if ((status = read_address(p, f[0], &address)) == OC_OK && (status = read_bytes(p, f[1], &bytes)) == OC_OK)
            status = read_address(p, f[2], &stream);
        return status == OC_OK ? play_segment(p, address, bytes, stream, strcmp(f[3], "small") == 0) : status;
    case VERB_USED:
        if ((status = read_address(p, f[1], &address)) == OC_OK && (status = read_bytes(p, f[2], &block_bytes)) == OC_OK)
            status = read_bytes(p, f[3], &bytes);
        return status == OC_OK ? play_used(p, f[0], address, block_bytes, bytes) : status;
    case VERB_NEXT_SEGMENT:
    case VERB_RELEASE:
        if ((status = read_address(p, f[0], &address)) == OC_OK)
            status = read_bytes(p, f[1], &bytes);
        if (status != OC_OK)
            return status;
        return number == VERB_RELEASE ? play_release(p, address, bytes) : play_next_segment(p, address, bytes);
    case VERB_ALLOC:
        if ((status = read_bytes(p, f[1], &bytes)) == OC_OK && count > 2)
            status = read_address(p, f[2], &stream);
        return status == OC_OK ? play_alloc(p, f[0], bytes, stream) : status;
    case VERB_FREE:
        return play_free(p, f[0]);
    case VERB_RECORD_STREAM:
        status = read_address(p, f[1], &stream);
        return status == OC_OK ? play_record_stream(p, f[0], stream) : status;
    case VERB_FINISH:
        status = read_address(p, f[0], &stream);
        if (status == OC_OK)
            oc_allocator_finish_stream(p->allocator, stream);
        return status;
    case VERB_EMPTY_CACHE:
        return oc_allocator_empty_cache(p->allocator) ? OC_OK : refuse_memory(p);
    case VERB_EXPECT_ADDR:
        status = read_address(p, f[1], &address);
        return status == OC_OK ? play_expect_addr(p, f[0], address) : status;
    default: /* expect_oom was settled before */
        return OC_OK;
    }
}

static oc_status play_line(player *p, char *line) {
    char *fields[FIELD_LIMIT + 1], *rest = NULL;
    int count = 0;
    for (char *word = strtok_r(line, " \t\r", &rest); word && *word != '#'; word = strtok_r(NULL, " \t\r", &rest)) {
        if (count > 0 && strcmp(fields[0], "note") == 0)
            break;
        if (count == FIELD_LIMIT)
            return refuse(p, "too many fields");
        fields[count++] = word;
    }
    if (count == 0 || strcmp(fields[0], "note") == 0)
        return OC_OK;
    static const char expect[] = "expect_";
    oc_status status = OC_OK;
    int is_oom_expected = strcmp(fields[0], "expect_oom") == 0;
    if (is_oom_expected || strncmp(fields[0], expect, sizeof expect - 1) != 0)
        status = settle(p, is_oom_expected);
    if (status != OC_OK)
        return status;
    for (int i = 0; i < VERB_COUNT; i++) {
        if (strcmp(fields[0], verbs[i].name) != 0)
            continue;
        if (count - 1 < verbs[i].least || count - 1 > verbs[i].most)
            return refuse(p, "expected %s%s%s, found %d fields", verbs[i].name, *verbs[i].fields ? " " : "", verbs[i].fields, count);
        return play_verb(p, (verb_number)i, fields + 1, count - 1);
    }
    if (strncmp(fields[0], expect, sizeof expect - 1) == 0 && count == 2)
        return play_expect_counter(p, fields[0] + sizeof expect - 1, fields[1]);
    return refuse(p, "unknown step \"%.60s\"%s", fields[0], strncmp(fields[0], expect, sizeof expect - 1) == 0 ? ": expected expect_NAME VALUE" : "");
}

static uint32_t count_lines(const char *text, size_t length) {
    uint32_t lines = 1;
    for (size_t i = 0; i < length; i++)
        lines += text[i] == '\n';
    return lines;
}

oc_status oc_replay_script(oc_replay *replay, const char *text, size_t length, oc_arena *arena, oc_error *error) {
    player p;
    oc_status status = open_player(&p, replay, count_lines(text, length) + 1, arena, error); /* at most one name a line; 0 is none */
    for (size_t at = 0; status == OC_OK && at < length;) {
        const char *end = memchr(text + at, '\n', length - at);
        size_t line_length = end ? (size_t)(end - text) - at : length - at;
        char line[LINE_LIMIT];
        p.line = ++replay->line_count;
        if (line_length >= sizeof line)
            return refuse(&p, "the line is longer than %d characters", LINE_LIMIT - 1);
        memcpy(line, text + at, line_length);
        line[line_length] = 0;
        if (strlen(line) != line_length)
            return refuse(&p, "the line holds a zero byte: this is no script");
        status = play_line(&p, line);
        at += line_length + (end != NULL);
    }
    return status == OC_OK ? close_player(&p) : status;
}

/* ---- logs ---- */

/* A whole number, 0 to 2^53; -1 if it is none. */
static int64_t whole(const cJSON *item) {
    const double exact_limit = 9007199254740992.0, value = cJSON_GetNumberValue(item);
    return value >= 0 && value <= exact_limit ? (int64_t)value : -1;
}

static int64_t whole_of(const cJSON *parent, const char *key) {
    return whole(cJSON_GetObjectItemCaseSensitive(parent, key));
}

static int64_t whole_at(const cJSON *list, int index) {
    return whole(cJSON_GetArrayItem(list, index));
}

static oc_status play_log_settings(player *p, const cJSON *header) {
    const cJSON *settings = cJSON_GetObjectItemCaseSensitive(header, "settings");
    const cJSON *divisions = cJSON_GetObjectItemCaseSensitive(settings, "roundup_power2_divisions"), *item;
    oc_allocator_options *options = &p->conf.allocator;
    options->is_expandable = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(header, "expandable"));
    int64_t max_split_bytes = whole_of(settings, "max_split_size");
    if (max_split_bytes > 0 && max_split_bytes < OC_NO_LIMIT)
        options->max_split_bytes = max_split_bytes;
    int slot = 0;
    cJSON_ArrayForEach(item, divisions) { /* by interval, rising */
        int64_t count = whole(item);
        if ((count != 0 && !oc_is_power_of_two(count)) || count > OC_kMostDivisions || slot == OC_kRoundUpPowerOfTwoIntervals)
            return refuse(p, "roundup_power2_divisions: expected at most %d powers of two, or 0", OC_kRoundUpPowerOfTwoIntervals);
        options->divisions[slot++] = count;
    }
    return use_settings(p);
}

typedef struct extent {
    int64_t address, bytes; /* bytes -1: not told */
    int64_t requested_bytes; /* of a block */
    int is_small;            /* a segment */
} extent;

static int compare_extents(const void *x, const void *y) {
    int64_t a = ((const extent *)x)->address, b = ((const extent *)y)->address;
    return (a > b) - (a < b);
}

/* The size of a live block that the log does not tell: rounded, and the rest of its segment or gap where no split would have left it. */
static int64_t guess_block(const extent *segment, const extent *block, const extent *next) {
    int64_t bytes = oc_round_up(block->requested_bytes, OC_kMinBlockSize);
    int64_t end = segment->address + segment->bytes, gap = (next && next->address < end ? next->address : end) - block->address;
    return !segment->is_small && gap - bytes <= OC_kSmallSize ? gap : bytes;
}

/* Room for what a list of the header holds; NULL if out of memory. */
static extent *make_extents(player *p, const cJSON *list, uint32_t *count) {
    *count = (uint32_t)cJSON_GetArraySize(list);
    return oc_arena_alloc(p->arena, *count + 1, sizeof(extent));
}

static oc_status play_log_segments(player *p, const cJSON *list, extent *segments) {
    const cJSON *item;
    cJSON_ArrayForEach(item, list) {
        const char *type = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(item, "type"));
        int64_t stream = whole_of(item, "stream");
        *segments = (extent){.address = whole_of(item, "addr"), .bytes = whole_of(item, "size"), .is_small = type && strcmp(type, "small") == 0};
        if (segments->address < 0 || segments->bytes < 0 || stream < 0 || !type)
            return refuse(p, "a segment needs addr, size, stream and type");
        oc_status status = play_segment(p, (uint64_t)segments->address, segments->bytes, (uint64_t)stream, segments->is_small);
        if (status != OC_OK)
            return status;
        segments++;
    }
    return OC_OK;
}

/* Blocks and segments in the order of their addresses. */
static oc_status play_log_blocks(player *p, const extent *segments, uint32_t segment_count, const extent *blocks, uint32_t count) {
    for (uint32_t i = 0, at = 0; i < count; i++) {
        const extent *block = &blocks[i];
        while (at < segment_count && segments[at].address + segments[at].bytes <= block->address)
            at++;
        if (at == segment_count || block->address < segments[at].address)
            continue; /* of another pool or device */
        char name[24];
        (void)snprintf(name, sizeof name, "%lld", (long long)block->address);
        int64_t bytes = block->bytes >= 0 ? block->bytes : guess_block(&segments[at], block, i + 1 < count ? block + 1 : NULL);
        oc_status status = play_used(p, name, (uint64_t)block->address, bytes, block->requested_bytes);
        if (status != OC_OK)
            return status;
    }
    return OC_OK;
}

static oc_status play_log_start(player *p, const cJSON *header) {
    const cJSON *initial = cJSON_GetObjectItemCaseSensitive(header, "initial"), *segment_list = cJSON_GetObjectItemCaseSensitive(initial, "segments");
    const cJSON *live = cJSON_GetObjectItemCaseSensitive(initial, "live"), *item;
    if (!initial)
        return refuse(p, "no header: expected the settings and the state at the start");
    if (!cJSON_IsArray(segment_list))
        return refuse(p, "the state before the log is unknown (as with expandable segments): it cannot be replayed");
    uint32_t segment_count, count, at = 0;
    extent *segments = make_extents(p, segment_list, &segment_count), *blocks = make_extents(p, live, &count);
    if (!segments || !blocks)
        return refuse_memory(p);
    oc_status status = play_log_settings(p, header);
    if (status == OC_OK)
        status = play_log_segments(p, segment_list, segments);
    if (status != OC_OK)
        return status;
    cJSON_ArrayForEach(item, live) {
        blocks[at] = (extent){.address = whole_at(item, 0), .bytes = whole_at(item, 1), .requested_bytes = whole_at(item, 2)};
        if (blocks[at].address < 0 || blocks[at].requested_bytes < 0)
            return refuse(p, "a live block needs an address, a size or null, and the bytes requested");
        at++;
    }
    qsort(segments, segment_count, sizeof *segments, compare_extents);
    qsort(blocks, count, sizeof *blocks, compare_extents);
    return play_log_blocks(p, segments, segment_count, blocks, count);
}

static oc_status play_log_entry(player *p, const cJSON *entry) {
    const char *action = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(entry, "a"));
    int64_t address = whole_of(entry, "addr"), bytes = whole_of(entry, "size"), stream = whole_of(entry, "stream"), reserved = whole_of(entry, "reserved");
    char name[24];
    if (!action)
        return refuse(p, "no log entry: expected an object with a, addr and size");
    int is_alloc = strcmp(action, "alloc") == 0, is_free = strcmp(action, "free_completed") == 0;
    int is_segment_alloc = strcmp(action, "segment_alloc") == 0, is_segment_free = strcmp(action, "segment_free") == 0;
    if (!is_alloc && !is_free && !is_segment_alloc && !is_segment_free)
        return OC_OK;
    if (address <= 0 || bytes < 0 || bytes > OC_LARGEST_BLOCK)
        return refuse(p, "%.40s: expected addr and size", action);
    (void)snprintf(name, sizeof name, "%lld", (long long)address);
    if (is_segment_alloc)
        return play_next_segment(p, (uint64_t)address, bytes);
    if (is_segment_free)
        return play_release(p, (uint64_t)address, bytes);
    uint32_t number;
    oc_status status = find_name(p, name, &number);
    if (status == OC_OK && is_free) /* of a block from before the log began, if unknown */
        return p->states[number] == NAME_UNKNOWN ? OC_OK : play_free(p, name);
    if (status == OC_OK)
        status = play_alloc(p, name, bytes, stream > 0 ? (uint64_t)stream : 0);
    if (status == OC_OK && bytes)
        status = play_expect_addr(p, name, (uint64_t)address);
    if (status == OC_OK && reserved >= 0)
        status = compare(p, "reserved", oc_allocator_count(p->allocator).reserved_bytes, reserved);
    return status;
}

static int is_blank(const char *text, size_t length) {
    while (length && (text[length - 1] == ' ' || text[length - 1] == '\t' || text[length - 1] == '\r'))
        length--;
    return length == 0;
}

oc_status oc_replay_log(oc_replay *replay, const char *text, size_t length, oc_arena *arena, oc_error *error) {
    player p = {0};
    oc_status status = OC_OK;
    uint64_t line_count = 0;
    int has_header = 0;
    for (size_t at = 0; status == OC_OK && at < length;) {
        const char *end = memchr(text + at, '\n', length - at);
        size_t line_length = end ? (size_t)(end - text) - at : length - at;
        const char *line = text + at;
        at += line_length + (end != NULL);
        line_count++;
        if (is_blank(line, line_length))
            continue;
        cJSON *entry = cJSON_ParseWithLength(line, line_length);
        if (!has_header) {
            uint32_t live_count = (uint32_t)cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(entry, "initial"), "live"));
            status = open_player(&p, replay, count_lines(text, length) + live_count + 1, arena, error);
            p.is_log = 1;
        }
        p.line = replay->line_count = line_count;
        if (status == OC_OK)
            status = settle(&p, 0);
        if (status == OC_OK && !cJSON_IsObject(entry))
            status = refuse(&p, "no JSON object: expected an allocator log as JSON lines");
        else if (status == OC_OK)
            status = has_header ? play_log_entry(&p, entry) : play_log_start(&p, entry);
        has_header = 1;
        cJSON_Delete(entry);
    }
    if (!has_header)
        return oc_error_set(error, OC_EMPTY, OC_NO_OFFSET, "the log is empty");
    return status == OC_OK ? close_player(&p) : status;
}

/* Allocator settings as PyTorch writes them. */
#include "allocconf.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MIB ((int64_t)1 << 20)

enum { LARGEST_MIB = 1 << 26 /* 64 TiB */, LAST_SLOT = OC_kRoundUpPowerOfTwoIntervals - 1 };

void oc_alloc_conf_init(oc_alloc_conf *conf) {
    memset(conf, 0, sizeof *conf);
    conf->allocator = oc_allocator_defaults;
    conf->allocator.max_non_split_rounding_bytes = 0;
}

static oc_status fail(oc_error *error, const char *key, const char *value, const char *expected) {
    return oc_error_set(error, OC_OPTIONS, OC_NO_OFFSET, "allocator option %s:%.80s: %s", key, value, expected);
}

/* A whole number from `lowest` to `highest`; -1 if it is none. */
static int64_t parse_whole(const char *text, int64_t lowest, int64_t highest) {
    char *end;
    if (*text < '0' || *text > '9')
        return -1;
    long long value = strtoll(text, &end, 10);
    return *end == 0 && value >= lowest && value <= highest ? value : -1;
}

/* ---- one key each ---- */

static oc_status read_mib(int64_t *bytes, int lowest, const char *key, const char *value, oc_error *error) {
    int64_t mib = parse_whole(value, lowest, LARGEST_MIB);
    if (mib < 0)
        return oc_error_set(error, OC_OPTIONS, OC_NO_OFFSET, "allocator option %s:%.80s: expected a whole number of MiB, %d or more", key, value, lowest);
    *bytes = mib * MIB;
    return OC_OK;
}

static oc_status read_max_split(oc_alloc_conf *conf, const char *key, const char *value, oc_error *error) {
    return read_mib(&conf->allocator.max_split_bytes, 1, key, value, error);
}

static oc_status read_non_split_rounding(oc_alloc_conf *conf, const char *key, const char *value, oc_error *error) {
    return read_mib(&conf->allocator.max_non_split_rounding_bytes, 1, key, value, error);
}

static oc_status read_large_segment(oc_alloc_conf *conf, const char *key, const char *value, oc_error *error) {
    return read_mib(&conf->allocator.large_segment_bytes, 11, key, value, error);
}

static int parse_fraction(const char *value, double *fraction) {
    char *end;
    *fraction = strtod(value, &end);
    return (*value == '.' || (*value >= '0' && *value <= '9')) && *end == 0;
}

static oc_status read_garbage_threshold(oc_alloc_conf *conf, const char *key, const char *value, oc_error *error) {
    double threshold;
    if (!parse_fraction(value, &threshold) || !(threshold > 0) || !(threshold < 1))
        return fail(error, key, value, "expected a number above 0.0 and below 1.0");
    conf->allocator.garbage_collection_threshold = threshold;
    return OC_OK;
}

static oc_status read_memory_fraction(oc_alloc_conf *conf, const char *key, const char *value, oc_error *error) {
    double fraction;
    if (!parse_fraction(value, &fraction) || !(fraction > 0) || !(fraction <= 1))
        return fail(error, key, value, "expected a number above 0.0, at most 1.0");
    conf->memory_fraction = fraction;
    return OC_OK;
}

static int parse_flag(const char *value) {
    return strcmp(value, "True") == 0 ? 1 : strcmp(value, "False") == 0 ? 0 : -1;
}

static oc_status read_expandable(oc_alloc_conf *conf, const char *key, const char *value, oc_error *error) {
    int flag = parse_flag(value);
    if (flag < 0)
        return fail(error, key, value, "expected True or False");
    conf->allocator.is_expandable = flag;
    return OC_OK;
}

static oc_status read_idle(oc_alloc_conf *conf, const char *key, const char *value, oc_error *error) {
    (void)value;
    (void)error;
    size_t length = strlen(conf->idle_keys);
    if (length + strlen(key) + 3 < sizeof conf->idle_keys && !strstr(conf->idle_keys, key)) {
        strcat(conf->idle_keys, length ? ", " : "");
        strcat(conf->idle_keys, key);
    }
    return OC_OK;
}

static oc_status read_backend(oc_alloc_conf *conf, const char *key, const char *value, oc_error *error) {
    (void)conf;
    if (strcmp(value, "native") == 0)
        return OC_OK;
    if (strcmp(value, "cudaMallocAsync") == 0)
        return fail(error, key, value, "this is CUDA's own allocator, whose rules are not public; only backend:native can be simulated");
    return fail(error, key, value, "expected native or cudaMallocAsync");
}

/* The slot of an interval key in MiB, -1 if it is none. The key K governs sizes of K to 2K MiB. */
static int slot_for(const char *text) {
    int64_t mib = parse_whole(text, 1, (int64_t)1 << LAST_SLOT);
    if (!oc_is_power_of_two(mib))
        return -1;
    int slot = 0;
    while (mib >>= 1)
        slot++;
    return slot;
}

/* "[256:1,512:2,>:4]": the first key fills the slots below it too, ">" the higher ones. */
static oc_status read_division_list(oc_alloc_conf *conf, const char *key, const char *value, oc_error *error) {
    static const char syntax[] = "expected [MiB:divisions,...,>:divisions] with powers of two, such as [256:1,512:2,1024:4,>:8]";
    char text[OC_ALLOC_CONF_LIMIT];
    size_t length = strlen(value);
    if (length < 3 || value[length - 1] != ']')
        return fail(error, key, value, syntax);
    memcpy(text, value + 1, length - 2);
    text[length - 2] = 0;
    int64_t *divisions = conf->allocator.divisions;
    int first = 1;
    conf->last_slot = -1;
    conf->rest_divisions = 0;
    for (char *item = text, *next; item; item = next) {
        next = strchr(item, ',');
        if (next)
            *next++ = 0;
        char *colon = strchr(item, ':');
        if (!colon)
            return fail(error, key, value, syntax);
        *colon = 0;
        int64_t count = parse_whole(colon + 1, 1, OC_kMostDivisions);
        if (!oc_is_power_of_two(count))
            return fail(error, key, value, "the divisions must be powers of two");
        if (strcmp(item, ">") == 0) {
            if (next)
                return fail(error, key, value, "\">\" must be the last interval");
            conf->rest_divisions = count;
            continue;
        }
        int slot = slot_for(item);
        if (slot < 0)
            return fail(error, key, value, "the intervals must be powers of two, 1 to 32768 MiB");
        for (int lower = 0; first && lower < slot; lower++)
            divisions[lower] = count;
        divisions[slot] = count;
        conf->last_slot = slot;
        first = 0;
    }
    return OC_OK;
}

static oc_status read_divisions(oc_alloc_conf *conf, const char *key, const char *value, oc_error *error) {
    if (*value == '[')
        return read_division_list(conf, key, value, error);
    int64_t count = parse_whole(value, 1, OC_kMostDivisions);
    if (!oc_is_power_of_two(count))
        return fail(error, key, value, "expected a power of two, or a list such as [256:1,512:2,1024:4,>:8]");
    for (int slot = 0; slot <= LAST_SLOT; slot++)
        conf->allocator.divisions[slot] = count;
    conf->rest_divisions = 0;
    return OC_OK;
}

/* ---- all keys ---- */

typedef struct conf_key {
    const char *name;
    oc_status (*read)(oc_alloc_conf *conf, const char *key, const char *value, oc_error *error);
    int since; /* the earliest version known to have it; 0: all that matter here */
    int is_sure;
} conf_key;

static const conf_key keys[] = {
    {"max_split_size_mb", read_max_split, 0, 1},
    {"max_non_split_rounding_mb", read_non_split_rounding, 207, 0}, /* change 136174, September to December 2024; in the documentation of 2.7 */
    {"large_segment_size_mb", read_large_segment, 212, 1},
    {"roundup_power2_divisions", read_divisions, 0, 1},
    {"garbage_collection_threshold", read_garbage_threshold, 0, 1},
    {"expandable_segments", read_expandable, 0, 1},
    {"per_process_memory_fraction", read_memory_fraction, 210, 0}, /* in the source of late 2025 */
    {"backend", read_backend, 0, 1},
    {"release_lock_on_cudamalloc", read_idle, 0, 1},
    {"pinned_use_cuda_host_register", read_idle, 0, 1},
    {"pinned_num_register_threads", read_idle, 0, 1},
    {"pinned_use_background_threads", read_idle, 0, 1},
    {"pinned_reserve_segment_size_mb", read_idle, 0, 1},
    {"graph_capture_record_stream_reuse", read_idle, 0, 1},
};

static oc_status read_pair(oc_alloc_conf *conf, char *pair, oc_error *error) {
    char *colon = strchr(pair, ':');
    if (!colon || colon == pair || !colon[1])
        return oc_error_set(error, OC_OPTIONS, OC_NO_OFFSET, "allocator option \"%.80s\": expected key:value", pair);
    *colon = 0;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (strcmp(pair, keys[i].name) != 0)
            continue;
        if (keys[i].since > conf->newest_version) {
            conf->newest_version = keys[i].since;
            conf->newest_key = keys[i].name;
            conf->is_newest_sure = keys[i].is_sure;
        }
        return keys[i].read(conf, keys[i].name, colon + 1, error);
    }
    return oc_error_set(error, OC_OPTIONS, OC_NO_OFFSET,
                        "unrecognized allocator option \"%.80s\" (known: max_split_size_mb, expandable_segments, garbage_collection_threshold, "
                        "roundup_power2_divisions, max_non_split_rounding_mb, large_segment_size_mb, per_process_memory_fraction, backend)", pair);
}

int oc_alloc_conf_strip(char stripped[OC_ALLOC_CONF_LIMIT], const char *text) {
    size_t length = 0;
    for (; *text; text++) {
        if (length == OC_ALLOC_CONF_LIMIT - 1)
            return 0;
        if (*text != ' ' && *text != '\t')
            stripped[length++] = *text;
    }
    stripped[length] = 0;
    return 1;
}

size_t oc_alloc_conf_pair(const char *text) {
    size_t length = 0;
    for (int depth = 0; text[length] && !(text[length] == ',' && depth == 0); length++)
        depth += (text[length] == '[') - (text[length] == ']');
    return length;
}

oc_status oc_alloc_conf_read(oc_alloc_conf *conf, const char *text, oc_error *error) {
    char copy[OC_ALLOC_CONF_LIMIT];
    if (!oc_alloc_conf_strip(copy, text))
        return oc_error_set(error, OC_OPTIONS, OC_NO_OFFSET, "the allocator options are longer than %d characters", OC_ALLOC_CONF_LIMIT - 1);
    const int has_any = *copy != 0;
    oc_status status = OC_OK;
    for (char *pair = copy; status == OC_OK;) {
        char *end = pair + oc_alloc_conf_pair(pair);
        const int is_last = !*end;
        *end = 0;
        if (*pair || (!is_last && has_any)) /* empty text and a comma at the end are fine, as in PyTorch */
            status = read_pair(conf, pair, error);
        if (is_last)
            break;
        pair = end + 1;
    }
    return status;
}

oc_status oc_alloc_conf_check(const oc_alloc_conf *conf, int torch_version, oc_error *error) {
    const oc_allocator_options *o = &conf->allocator;
    if (torch_version && conf->newest_version > torch_version)
        return oc_error_set(error, OC_OPTIONS, OC_NO_OFFSET, "PyTorch %d.%d has no allocator option %s: the earliest version known to have it is %d.%d%s",
                            torch_version / 100, torch_version % 100, conf->newest_key, conf->newest_version / 100, conf->newest_version % 100,
                            conf->is_newest_sure ? "" : " (uncertain: it may have come a version earlier)");
    /* 2.4 and 2.6: above 20 MiB; 2.13: at least the large segment */
    int64_t least = torch_version && torch_version < 207 ? OC_kLargeBuffer + MIB : o->large_segment_bytes;
    if (o->max_split_bytes < least)
        return oc_error_set(error, OC_OPTIONS, OC_NO_OFFSET, "allocator option max_split_size_mb:%lld is too small, it must be %lld or more",
                            (long long)(o->max_split_bytes / MIB), (long long)(least / MIB));
    if (o->max_non_split_rounding_bytes && o->max_non_split_rounding_bytes < o->large_segment_bytes)
        return oc_error_set(error, OC_OPTIONS, OC_NO_OFFSET, "allocator option max_non_split_rounding_mb:%lld is too small, it must be %lld or more",
                            (long long)(o->max_non_split_rounding_bytes / MIB), (long long)(o->large_segment_bytes / MIB));
    return OC_OK;
}

oc_allocator_options oc_alloc_conf_options(const oc_alloc_conf *conf, int torch_version, double fraction, int64_t total_bytes) {
    oc_allocator_options options = conf->allocator;
    /* ">" begins at the last key in 2.4, behind it in the source of 2026; taken to have changed with the rewriting in 2.9 */
    int is_old = torch_version && torch_version < 209 && conf->last_slot >= 0;
    for (int slot = conf->last_slot + !is_old; conf->rest_divisions && slot <= LAST_SLOT; slot++)
        options.divisions[slot] = conf->rest_divisions;
    if (!options.max_non_split_rounding_bytes)
        options.max_non_split_rounding_bytes = options.large_segment_bytes;
    if (total_bytes)
        options.range_bytes = total_bytes + total_bytes / 8;
    /* 2.6: any call sets a limit; source of late 2025 and 2.13: only one below 1 */
    if (fraction > 0 && (fraction < 1 || (torch_version && torch_version < 210)))
        options.fraction_bytes = (int64_t)(fraction * (double)total_bytes);
    return options;
}

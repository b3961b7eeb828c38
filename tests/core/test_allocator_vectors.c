/* The allocator vectors of ../shared, read as JSON: state after every step. Skipped where the folder is missing, except in CI. */
#include "allocconf.h"
#include "allocator.h"

#include "check.h"

#include <cJSON.h>

#include <stdlib.h>

enum { NAME_LIMIT = 1000 };

static oc_budget budget = {SIZE_MAX, 0, 0};
static const char *names[NAME_LIMIT];
static uint32_t name_count;

static char *read_file(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    size_t capacity = 1 << 22;
    char *text = malloc(capacity);
    text[fread(text, 1, capacity - 1, file)] = 0;
    fclose(file);
    return text;
}

static uint32_t number_of(const char *name) {
    for (uint32_t i = 0; i < name_count; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    names[name_count] = name;
    return name_count++;
}

static double value_of(const cJSON *parent, const char *key) {
    return cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(parent, key));
}

/* "[[256,1],[">",8]]" -> "roundup_power2_divisions:[256:1,>:8]" */
static void division_text(char *out, size_t capacity, const cJSON *list) {
    const cJSON *pair;
    (void)snprintf(out, capacity, "roundup_power2_divisions:[");
    cJSON_ArrayForEach(pair, list) {
        const cJSON *key = cJSON_GetArrayItem(pair, 0), *count = cJSON_GetArrayItem(pair, 1);
        size_t length = strlen(out);
        if (cJSON_IsString(key))
            (void)snprintf(out + length, capacity - length, "%s:%d", key->valuestring, count->valueint);
        else
            (void)snprintf(out + length, capacity - length, "%d:%d", key->valueint, count->valueint);
        strncat(out, pair->next ? "," : "]", capacity - strlen(out) - 1);
    }
}

static bool configure(oc_allocator *allocator, const cJSON *config) {
    oc_alloc_conf conf;
    oc_error error = {.status = OC_OK};
    int64_t total_bytes = 0, limit_bytes = OC_NO_LIMIT;
    double fraction = 0;
    oc_alloc_conf_init(&conf);
    for (const cJSON *item = config->child; item; item = item->next) {
        char text[300];
        if (strcmp(item->string, "device_total") == 0)
            total_bytes = (int64_t)item->valuedouble;
        else if (strcmp(item->string, "memory_fraction") == 0)
            fraction = item->valuedouble;
        else if (strcmp(item->string, "device_capacity") == 0)
            limit_bytes = (int64_t)item->valuedouble;
        else {
            if (cJSON_IsArray(item))
                division_text(text, sizeof text, item);
            else if (cJSON_IsBool(item))
                (void)snprintf(text, sizeof text, "%s:%s", item->string, cJSON_IsTrue(item) ? "True" : "False");
            else
                (void)snprintf(text, sizeof text, "%s:%g", item->string, item->valuedouble);
            if (!CHECK_EQ_I64(oc_alloc_conf_read(&conf, text, &error), OC_OK))
                return false;
        }
    }
    CHECK_EQ_I64(oc_alloc_conf_check(&conf, 0, &error), OC_OK);
    oc_allocator_options options = oc_alloc_conf_options(&conf, 0, fraction, total_bytes);
    oc_allocator_reset(allocator, &options, limit_bytes, 1); /* the random ones assume rising addresses */
    return true;
}

static bool play(oc_allocator *allocator, const cJSON *step, bool *is_oom) {
    const char *verb = cJSON_GetArrayItem(step, 0)->valuestring;
    const cJSON *name = cJSON_GetArrayItem(step, 1), *bytes = cJSON_GetArrayItem(step, 2), *stream = cJSON_GetArrayItem(step, 3);
    *is_oom = false;
    if (strcmp(verb, "malloc") == 0)
        *is_oom = oc_allocator_allocate(allocator, number_of(name->valuestring), (int64_t)bytes->valuedouble, stream ? (uint64_t)stream->valuedouble : 0) !=
                  OC_PLACED;
    else if (strcmp(verb, "free") == 0)
        oc_allocator_free(allocator, number_of(name->valuestring));
    else if (strcmp(verb, "empty_cache") == 0)
        return oc_allocator_empty_cache(allocator);
    else
        return CHECK_FAIL("unknown step");
    return true;
}

static void check_vector(const cJSON *vector) {
    const char *name = cJSON_GetObjectItemCaseSensitive(vector, "name")->valuestring;
    const cJSON *expect = cJSON_GetObjectItemCaseSensitive(vector, "expect")->child, *step;
    oc_arena arena;
    oc_arena_init(&arena, &budget);
    oc_allocator *allocator = oc_allocator_open(&arena, NAME_LIMIT);
    int number = 0;
    name_count = 0;
    if (CHECK(allocator) && configure(allocator, cJSON_GetObjectItemCaseSensitive(vector, "config"))) {
        cJSON_ArrayForEach(step, cJSON_GetObjectItemCaseSensitive(vector, "ops")) {
            bool is_oom;
            check_context("%s, step %d", name, number++);
            if (!CHECK(expect) || !CHECK(play(allocator, step, &is_oom)))
                break;
            oc_allocator_check(allocator);
            const oc_counters c = oc_allocator_count(allocator);
            const oc_layout layout = oc_allocator_survey(allocator);
            CHECK_EQ_I64(is_oom, cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(expect, "oom")));
            CHECK_EQ_I64(c.requested_bytes, value_of(expect, "requested"));
            CHECK_EQ_I64(c.allocated_bytes, value_of(expect, "allocated"));
            CHECK_EQ_I64(c.reserved_bytes, value_of(expect, "reserved"));
            CHECK_EQ_I64(layout.segment_count, value_of(expect, "segments"));
            CHECK_EQ_I64(layout.inactive_split_bytes, value_of(expect, "inactive_split"));
            CHECK_EQ_I64(layout.snapshot_count, value_of(expect, "snapshot_segments"));
            expect = expect->next;
        }
    }
    check_context("%s", "");
    oc_arena_close(&arena);
}

static void all_vectors_agree_at_every_step(void) {
    char *text = read_file(OOMCAST_SHARED "/allocator-vectors.json");
    if (!text) {
        CHECK(!getenv("OOMCAST_NEEDS_SHARED"));
        printf("skipped: 31 vectors (need " OOMCAST_SHARED "/allocator-vectors.json)\n");
        return;
    }
    cJSON *vectors = cJSON_Parse(text);
    const cJSON *vector;
    CHECK_EQ_I64(cJSON_GetArraySize(vectors), 31);
    cJSON_ArrayForEach(vector, vectors) check_vector(vector);
    cJSON_Delete(vectors);
    free(text);
}

CHECK_MAIN(CHECK_TEST(all_vectors_agree_at_every_step))

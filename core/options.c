/* Options from JSON, by cJSON. An unknown key is an error: a misspelt option must not pass in silence. */
#include "options.h"

#include "json.h"

#include <cJSON.h>

#include <string.h>
#include <strings.h>

#define LARGEST_BYTES 9007199254740992.0 /* 2^53: doubles are exact up to here */

enum { DEFAULT_POINTS = 1000, LARGEST_POINTS = 20000 };

static oc_status fail(oc_error *error, const char *key, const char *expected) {
    return oc_error_set(error, OC_OPTIONS, OC_NO_OFFSET, "option \"%s\": expected %s", key, expected);
}

static int is_whole(const cJSON *value, double lowest, double highest) {
    return cJSON_IsNumber(value) && value->valuedouble >= lowest && value->valuedouble <= highest &&
           value->valuedouble == (double)(int64_t)value->valuedouble;
}

/* The index of a word in a list, -1 if it is none of them. */
static int word_index(const cJSON *value, const char *const *words, int count) {
    for (int i = 0; cJSON_IsString(value) && i < count; i++)
        if (strcasecmp(value->valuestring, words[i]) == 0)
            return i;
    return -1;
}

int oc_torch_version(const char *text) {
    int major = 0, minor = 0;
    if (*text < '0' || *text > '9')
        return 0;
    for (; *text >= '0' && *text <= '9' && major < 100; text++)
        major = major * 10 + (*text - '0');
    if (*text != '.')
        return 0;
    for (text++; *text >= '0' && *text <= '9' && minor < 100; text++)
        minor = minor * 10 + (*text - '0');
    return major < 100 && minor < 100 ? major * 100 + minor : 0;
}

static oc_status read_gpu(oc_options *options, const cJSON *value, oc_error *error) {
    if (!cJSON_IsString(value))
        return fail(error, "gpu", "the name of a GPU");
    options->gpu = oc_gpu_find(value->valuestring);
    if (options->gpu)
        return OC_OK;
    const char *names[6];
    size_t count = oc_gpu_suggest(value->valuestring, names, 6);
    char list[300] = "";
    for (size_t i = 0; i < count; i++) {
        strncat(list, i ? ", " : "", sizeof list - strlen(list) - 1);
        strncat(list, names[i], sizeof list - strlen(list) - 1);
    }
    return oc_error_set(error, OC_OPTIONS, OC_NO_OFFSET, "unknown GPU \"%.80s\"%s%s; `oomcast gpus` lists all, a capacity in bytes works for any other",
                        value->valuestring, count ? ": did you mean " : "", list);
}

static oc_status read_range(oc_options *options, const cJSON *value, oc_error *error) {
    const cJSON *from = cJSON_GetArrayItem(value, 0), *to = cJSON_GetArrayItem(value, 1);
    if (!cJSON_IsArray(value) || cJSON_GetArraySize(value) != 2 || !cJSON_IsNumber(from) || !cJSON_IsNumber(to) ||
        !(from->valuedouble < to->valuedouble) || !(from->valuedouble >= -1e15) || !(to->valuedouble <= 1e15))
        return fail(error, "range_ms", "[from, to] in milliseconds, from before to");
    options->range_start_ms = from->valuedouble;
    options->range_end_ms = to->valuedouble;
    return OC_OK;
}

static oc_status read_alloc_conf(oc_options *options, const cJSON *value, oc_error *error) {
    if (!cJSON_IsString(value) || strlen(value->valuestring) >= sizeof options->alloc_conf_text)
        return fail(error, "alloc_conf", "a text as in PYTORCH_CUDA_ALLOC_CONF, such as \"expandable_segments:True\"");
    memcpy(options->alloc_conf_text, value->valuestring, strlen(value->valuestring) + 1);
    return oc_alloc_conf_read(&options->alloc_conf, value->valuestring, error);
}

/* What needs more than one option. */
static oc_status check_all(oc_options *options, oc_error *error) {
    if (options->gpu && options->capacity_bytes)
        return oc_error_set(error, OC_OPTIONS, OC_NO_OFFSET, "give a GPU or a capacity, not both");
    if (options->gpu)
        options->capacity_bytes = options->gpu->total_bytes;
    if (options->capacity_bytes && options->capacity_bytes <= OC_CONTEXT_BYTES + options->reserve_bytes)
        return oc_error_set(error, OC_OPTIONS, OC_NO_OFFSET,
                            "a capacity of %lld bytes leaves nothing after the CUDA context (%d) and the reserve (%lld)",
                            (long long)options->capacity_bytes, OC_CONTEXT_BYTES, (long long)options->reserve_bytes);
    if (options->task == OC_TASK_MAX_BATCH && !options->capacity_bytes)
        return oc_error_set(error, OC_OPTIONS, OC_NO_OFFSET, "the largest batch is one on a card: give a GPU or a capacity");
    if (!(options->memory_fraction > 0))
        options->memory_fraction = options->alloc_conf.memory_fraction;
    if (options->memory_fraction > 0 && !options->capacity_bytes)
        return oc_error_set(error, OC_OPTIONS, OC_NO_OFFSET, "a memory fraction is one of a device: give a GPU or a capacity too");
    return oc_alloc_conf_check(&options->alloc_conf, options->torch_version, error);
}

static oc_status read_one(oc_options *options, const cJSON *value, oc_error *error) {
    static const char *const task_words[] = {"estimate", "max_batch"};
    static const char *const foreach_words[] = {"auto", "on", "off", "fused"};
    static const char *const zero_grad_words[] = {"recorded", "start", "after-forward", "after-step"};
    const char *key = value->string;
    if (strcmp(key, "task") == 0) {
        int index = word_index(value, task_words, 2);
        options->task = index < 0 ? OC_TASK_ESTIMATE : (oc_task)index;
        return index < 0 ? fail(error, key, "estimate or max_batch") : OC_OK;
    }
    if (strcmp(key, "batch") == 0) {
        if (!is_whole(value, 1, OC_LARGEST_BATCH))
            return fail(error, key, "a whole number from 1 to 100000000");
        options->batch = (int64_t)value->valuedouble;
        return OC_OK;
    }
    if (strcmp(key, "gpu") == 0)
        return read_gpu(options, value, error);
    if (strcmp(key, "capacity_bytes") == 0) {
        if (!is_whole(value, 1, LARGEST_BYTES))
            return fail(error, key, "a number of bytes above 0 (as CUDA reports the card's total memory)");
        options->capacity_bytes = (int64_t)value->valuedouble;
        return OC_OK;
    }
    if (strcmp(key, "reserve_bytes") == 0) {
        if (!is_whole(value, 0, LARGEST_BYTES))
            return fail(error, key, "a number of bytes, 0 or more");
        options->reserve_bytes = (int64_t)value->valuedouble;
        return OC_OK;
    }
    if (strcmp(key, "optimizer") == 0) {
        if (!cJSON_IsString(value) || strlen(value->valuestring) >= sizeof options->optimizer)
            return fail(error, key, "\"recorded\" or the name of an optimizer");
        memcpy(options->optimizer, value->valuestring, strlen(value->valuestring) + 1);
        return OC_OK;
    }
    if (strcmp(key, "foreach") == 0) {
        int index = word_index(value, foreach_words, 4);
        options->foreach = index < 0 ? OC_FOREACH_AUTO : (oc_foreach)index;
        return index < 0 ? fail(error, key, "auto, on, off or fused") : OC_OK;
    }
    if (strcmp(key, "zero_grad") == 0) {
        int index = word_index(value, zero_grad_words, 4);
        options->zero_grad = index < 0 ? OC_ZERO_GRAD_RECORDED : (oc_zero_grad)index;
        return index < 0 ? fail(error, key, "recorded, start, after-forward or after-step") : OC_OK;
    }
    if (strcmp(key, "torch") == 0) {
        options->torch_version = cJSON_IsString(value) ? oc_torch_version(value->valuestring) : 0;
        return options->torch_version ? OC_OK : fail(error, key, "a version of PyTorch such as 2.6");
    }
    if (strcmp(key, "alloc_conf") == 0)
        return read_alloc_conf(options, value, error);
    if (strcmp(key, "memory_fraction") == 0) {
        if (!cJSON_IsNumber(value) || !(value->valuedouble > 0) || !(value->valuedouble <= 1))
            return fail(error, key, "a number above 0, at most 1");
        options->memory_fraction = value->valuedouble;
        return OC_OK;
    }
    if (strcmp(key, "no_caching") == 0) {
        options->alloc_conf.allocator.is_uncached = cJSON_IsTrue(value);
        return cJSON_IsBool(value) ? OC_OK : fail(error, key, "true or false");
    }
    if (strcmp(key, "points") == 0) {
        if (!is_whole(value, 2, LARGEST_POINTS))
            return fail(error, key, "a whole number from 2 to 20000");
        options->points = (int)value->valuedouble;
        return OC_OK;
    }
    if (strcmp(key, "range_ms") == 0)
        return read_range(options, value, error);
    return oc_error_set(error, OC_OPTIONS, OC_NO_OFFSET, "unknown option \"%.80s\"", key);
}

/* 1 for one object and white space behind it; needs no memory, so that cJSON can fail for nothing else. */
static int is_object(const char *text, size_t length) {
    oc_json_cursor cursor = {text, text + length};
    oc_text key, ignored;
    oc_json_value value;
    oc_json_step step = oc_json_enter(&cursor);
    while (step == OC_JSON_NEXT && (step = oc_json_member(&cursor, &key, &value)) == OC_JSON_NEXT)
        if (value.type == OC_JSON_ARRAY || value.type == OC_JSON_OBJECT)
            step = oc_json_skip(&cursor, &ignored);
    while (step == OC_JSON_CLOSED && cursor.at < cursor.end && (*cursor.at == ' ' || *cursor.at == '\n' || *cursor.at == '\r' || *cursor.at == '\t'))
        cursor.at++;
    return step == OC_JSON_CLOSED && cursor.at == cursor.end;
}

oc_status oc_options_read(oc_options *options, const char *text, size_t length, oc_error *error) {
    memset(options, 0, sizeof *options);
    memcpy(options->optimizer, "recorded", sizeof "recorded");
    oc_alloc_conf_init(&options->alloc_conf);
    options->points = DEFAULT_POINTS;
    if (!is_object(text, length))
        return oc_error_set(error, OC_OPTIONS, OC_NO_OFFSET, "the options are no JSON object");
    cJSON *root = cJSON_ParseWithLength(text, length);
    if (!root)
        return oc_error_set_memory(error);
    oc_status status = OC_OK;
    for (const cJSON *value = root->child; value && status == OC_OK; value = value->next)
        status = read_one(options, value, error);
    cJSON_Delete(root);
    return status == OC_OK ? check_all(options, error) : status;
}

int oc_options_torch(const oc_options *options) {
    return options->torch_version ? options->torch_version : options->recorded_torch_version ? options->recorded_torch_version : OC_DEFAULT_TORCH;
}

oc_allocator_options oc_options_allocator(const oc_options *options) {
    return oc_alloc_conf_options(&options->alloc_conf, oc_options_torch(options), options->memory_fraction, options->capacity_bytes);
}

int64_t oc_options_usable(const oc_options *options) {
    return options->capacity_bytes ? options->capacity_bytes - OC_CONTEXT_BYTES - options->reserve_bytes : 0;
}

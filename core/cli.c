/* The command line: files in, JSON or words out. The only file that does I/O. It asks the session with the same options JSON as
 * the page and prints its answer, so both tell the same. Exit status: 0 fits or nothing to fit, 1 out of memory, 2 could not run.
 */
#include "oomcast.h"

#include "allocconf.h"
#include "inflate.h"
#include "replay.h"

#include <cJSON.h>

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

enum { EXIT_FITS = 0, EXIT_OOM = 1, EXIT_TROUBLE = 2, FILE_LIMIT = 2 };
enum { CHUNK_BYTES = 64 << 10 }; /* what the kernel copies stays in the cache for the reader: 1 MiB is a fifth slower */

static const char usage[] =
    "oomcast " OC_VERSION ": will this PyTorch job fit, and why (not)?\n"
    "\n"
    "usage: oomcast estimate PROFILE [PROFILE_AT_ANOTHER_BATCH] [options]\n"
    "       oomcast max-batch PROFILE PROFILE_AT_ANOTHER_BATCH --gpu NAME [options]    the largest batch that runs\n"
    "       oomcast gpus [--json]                 the GPU catalogue\n"
    "       oomcast replay FILE.ops               an allocator script: checks the addresses and counters that it expects\n"
    "       oomcast replay --log LOG.jsonl        an allocator log of a real GPU, checked against the simulated allocator\n"
    "       oomcast bench PROFILE                 speed and memory of the reader, time of a simulation\n"
    "\n"
    "PROFILE is a CPU profile that torch.profiler wrote with profile_memory=True (.json or .json.gz; - is standard input).\n"
    "One that was recorded on a GPU is shown as it is, and simulated again under another capacity or other allocator settings.\n"
    "\n"
    "  --batch N              batch size to estimate (another than recorded: give two profiles)\n"
    "  --recorded-batch N,M   batch sizes of the profiles, where they are not seen rightly\n"
    "  --gpu NAME             a GPU of the catalogue, such as \"RTX 4090\"\n"
    "  --capacity SIZE        or its total memory as CUDA reports it: bytes, or 12GiB, 24GB\n"
    "  --reserve SIZE         memory kept for other processes and the display\n"
    "  --optimizer NAME       recorded (default), SGD, SGD+momentum, Adam, Adam+amsgrad, AdamW, AdamW+amsgrad, NAdam, RAdam,\n"
    "                         Adamax, Adadelta, RMSprop, Adagrad, Adafactor, each with torch's default arguments\n"
    "  --foreach FORM         auto (default), on, off, fused: the form of the optimizer\n"
    "  --zero-grad WHERE      recorded (default), start, after-forward, after-step\n"
    "  --alloc-conf STRING    allocator settings as in PYTORCH_CUDA_ALLOC_CONF, such as expandable_segments:True,max_split_size_mb:128\n"
    "  --memory-fraction F    torch.cuda.set_per_process_memory_fraction(F)\n"
    "  --no-caching           as with PYTORCH_NO_CUDA_MEMORY_CACHING=1\n"
    "  --torch VERSION        PyTorch of the GPU run, such as 2.6 (matters for cuBLAS workspaces on the newest cards only)\n"
    "  --device N             of a profile recorded on several GPUs: which one (default: the busiest)\n"
    "  --json                 the result as JSON (format oomcast-result)\n"
    "  --ops FILE             the requests to the allocator, as a script for oomcast replay\n"
    "  --csv FILE             the memory curve as CSV (- is standard output, in place of the words)\n"
    "\n"
    "Exit status: 0 it fits (or no GPU was given), 1 out of memory, 2 it could not run.\n";

/* ---- trouble ---- */

static int trouble(const char *what, const char *message) {
    if (what)
        fprintf(stderr, "oomcast: %s: %s\n", what, message);
    else
        fprintf(stderr, "oomcast: %s\n", message);
    return EXIT_TROUBLE;
}

/* ---- arguments ---- */

typedef struct arguments {
    const char *files[FILE_LIMIT];
    int file_count;
    cJSON *options;
    int64_t batches[FILE_LIMIT]; /* recorded, 0: not given */
    int64_t device; /* -1: not given */
    bool is_json;
    bool is_help;
    const char *csv, *ops;
} arguments;

/* "12GiB", "12G", "24 GB", "8318222336"; -1 if it is no size. One letter is binary, as in most tools that show GPU memory. */
static double parse_size(const char *text) {
    static const struct {
        const char *unit;
        double bytes;
    } units[] = {{"", 1},         {"B", 1},          {"KiB", 1024.0},    {"MiB", 1048576.0}, {"GiB", 1073741824.0}, {"TiB", 1099511627776.0},
                 {"K", 1024.0},   {"M", 1048576.0},  {"G", 1073741824.0}, {"T", 1099511627776.0}, {"KB", 1000.0},  {"MB", 1000000.0}, {"GB", 1000000000.0}, {"TB", 1000000000000.0}};
    size_t length = strspn(text, "0123456789.");
    if (*text < '0' || *text > '9')
        return -1;
    char *end;
    double value = strtod(text, &end);
    if (end != text + length) /* an exponent or worse */
        return -1;
    while (*end == ' ')
        end++;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strcasecmp(end, units[i].unit) == 0)
            return (double)(int64_t)(value * units[i].bytes + 0.5);
    return -1;
}

static bool add_size(cJSON *options, const char *key, const char *flag, const char *text) {
    double bytes = parse_size(text);
    if (bytes < 0) {
        fprintf(stderr, "oomcast: %s %s: expected a size such as 8318222336, 12GiB or 24GB\n", flag, text);
        return false;
    }
    return cJSON_AddNumberToObject(options, key, bytes) != NULL;
}

static bool add_number(cJSON *options, const char *key, const char *flag, const char *text) {
    char *end;
    double value = strtod(text, &end);
    if (*text == 0 || *end != 0) {
        fprintf(stderr, "oomcast: %s %s: expected a %snumber\n", flag, text, strcmp(key, "batch") == 0 ? "whole " : "");
        return false;
    }
    return cJSON_AddNumberToObject(options, key, value) != NULL;
}

/* "8" or "8,16" */
static bool add_recorded(arguments *a, const char *text) {
    const char *at = text;
    for (int i = 0; i < FILE_LIMIT; i++) {
        char *end;
        a->batches[i] = strtoll(at, &end, 10);
        if (end == at || a->batches[i] < 1)
            break;
        if (*end == 0)
            return true;
        if (*end != ',')
            break;
        at = end + 1;
    }
    fprintf(stderr, "oomcast: --recorded-batch %s: expected one or two whole numbers, such as 8 or 8,16\n", text);
    return false;
}

static bool add_device(arguments *a, const char *text) {
    char *end;
    a->device = strtoll(text, &end, 10);
    if (*text >= '0' && *text <= '9' && *end == 0 && a->device <= 1000)
        return true;
    fprintf(stderr, "oomcast: --device %s: expected the number of a GPU, 0 or more\n", text);
    return false;
}

/* The options that take a value, by what the value is; `key` is that of the core's options. */
typedef enum value_kind { VALUE_TEXT, VALUE_NUMBER, VALUE_SIZE, VALUE_RECORDED, VALUE_DEVICE, VALUE_OPS, VALUE_CSV } value_kind;

typedef struct value_option {
    const char *flag, *key;
    value_kind kind;
} value_option;

static const value_option *find_value_option(const char *flag) {
    static const value_option options[] = {
        {"--gpu", "gpu", VALUE_TEXT},
        {"--optimizer", "optimizer", VALUE_TEXT},
        {"--foreach", "foreach", VALUE_TEXT},
        {"--zero-grad", "zero_grad", VALUE_TEXT},
        {"--torch", "torch", VALUE_TEXT},
        {"--alloc-conf", "alloc_conf", VALUE_TEXT},
        {"--batch", "batch", VALUE_NUMBER},
        {"--memory-fraction", "memory_fraction", VALUE_NUMBER},
        {"--capacity", "capacity_bytes", VALUE_SIZE},
        {"--reserve", "reserve_bytes", VALUE_SIZE},
        {"--recorded-batch", NULL, VALUE_RECORDED},
        {"--device", NULL, VALUE_DEVICE},
        {"--ops", NULL, VALUE_OPS},
        {"--csv", NULL, VALUE_CSV},
    };
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
        if (strcmp(flag, options[i].flag) == 0)
            return &options[i];
    return NULL;
}

static bool take_value(arguments *a, const value_option *option, const char *value) {
    switch (option->kind) {
    case VALUE_TEXT:
        return cJSON_AddStringToObject(a->options, option->key, value) != NULL;
    case VALUE_NUMBER:
        return add_number(a->options, option->key, option->flag, value);
    case VALUE_SIZE:
        return add_size(a->options, option->key, option->flag, value);
    case VALUE_RECORDED:
        return add_recorded(a, value);
    case VALUE_DEVICE:
        return add_device(a, value);
    case VALUE_OPS:
        a->ops = value;
        return true;
    case VALUE_CSV:
        a->csv = value;
        return true;
    }
    return false;
}

static bool parse_arguments(arguments *a, int argc, char **argv) {
    for (int i = 2; i < argc; i++) {
        const char *flag = argv[i];
        if (flag[0] != '-' || strcmp(flag, "-") == 0) {
            if (a->file_count == FILE_LIMIT) {
                fprintf(stderr, "oomcast: %s: two profiles at most, the same job at two batch sizes\n", flag);
                return false;
            }
            a->files[a->file_count++] = flag;
            continue;
        }
        if (strcmp(flag, "--json") == 0) {
            a->is_json = true;
            continue;
        }
        if (strcmp(flag, "--no-caching") == 0) {
            if (!cJSON_AddTrueToObject(a->options, "no_caching"))
                return false;
            continue;
        }
        if (strcmp(flag, "--help") == 0 || strcmp(flag, "-h") == 0) {
            a->is_help = true;
            return true;
        }
        const value_option *option = find_value_option(flag);
        if (!option || i + 1 == argc) {
            fprintf(stderr, "oomcast: %s: %s (oomcast --help)\n", flag, option ? "a value is missing" : "unknown option");
            return false;
        }
        if (!take_value(a, option, argv[++i]))
            return false;
    }
    if (!a->file_count) {
        fprintf(stderr, "oomcast: no profile given (oomcast --help)\n");
        return false;
    }
    for (int i = a->file_count; i < FILE_LIMIT; i++) {
        if (a->batches[i]) {
            fprintf(stderr, "oomcast: --recorded-batch: more sizes than profiles\n");
            return false;
        }
    }
    return true;
}

/* ---- reading ---- */

static int feed_file(oc_session *session, const char *path) {
    bool is_stdin = strcmp(path, "-") == 0;
    FILE *file = is_stdin ? stdin : fopen(path, "rb");
    if (!file)
        return trouble(path, strerror(errno));
    char *chunk = malloc(CHUNK_BYTES);
    if (!chunk) {
        if (!is_stdin)
            fclose(file);
        return trouble(path, "out of memory");
    }
    size_t length;
    oc_status status = OC_OK;
    while (status == OC_OK && (length = fread(chunk, 1, CHUNK_BYTES, file)) > 0)
        status = oc_session_feed(session, chunk, length);
    int read_error = ferror(file) ? errno : 0;
    free(chunk);
    if (!is_stdin)
        fclose(file);
    return read_error ? trouble(path, strerror(read_error)) : EXIT_FITS;
}

static int report_error(const oc_session *session, const arguments *a) {
    const oc_error *error = oc_session_error(session);
    return trouble(error->profile >= 0 && error->profile < a->file_count ? a->files[error->profile] : NULL, error->message);
}

static int read_profiles(oc_session *session, const arguments *a) {
    for (int i = 0; i < a->file_count; i++) {
        if (i && oc_session_next_profile(session) != OC_OK)
            return report_error(session, a);
        int result = feed_file(session, a->files[i]);
        if (result != EXIT_FITS)
            return result;
        if (a->batches[i])
            (void)oc_session_set_batch(session, a->batches[i]);
        if (a->device >= 0)
            (void)oc_session_set_device(session, a->device);
        if (oc_session_error(session)->status != OC_OK)
            return report_error(session, a);
    }
    return oc_session_finish(session) == OC_OK ? EXIT_FITS : report_error(session, a);
}

/* ---- words ---- */

/* "7.30 GiB (7,838,315,315 bytes)" into one of a few buffers, used in turn. */
static const char *size_text(double bytes) {
    static char buffers[4][96];
    static int turn;
    char *out = buffers[turn = (turn + 1) % 4], digits[24], grouped[40], *to = grouped;
    int length = snprintf(digits, sizeof digits, "%" PRId64, (int64_t)bytes);
    for (int i = 0; i < length; i++) {
        *to++ = digits[i];
        int left = length - 1 - i;
        if (left && left % 3 == 0 && digits[i] != '-')
            *to++ = ',';
    }
    *to = 0;
    double mib = bytes / 1048576;
    if (mib >= 1024)
        snprintf(out, sizeof buffers[0], "%.2f GiB (%.39s bytes)", mib / 1024, grouped);
    else
        snprintf(out, sizeof buffers[0], "%.1f MiB (%.39s bytes)", mib, grouped);
    return out;
}

static double number_of(const cJSON *parent, const char *key) {
    return cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(parent, key));
}

static const char *text_of(const cJSON *parent, const char *key) {
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(parent, key));
}

static const cJSON *item_of(const cJSON *parent, const char *key) {
    return cJSON_GetObjectItemCaseSensitive(parent, key);
}

static void print_verdict(const cJSON *result) {
    const char *verdict = text_of(result, "verdict");
    const cJSON *gpu = item_of(result, "gpu"), *need = item_of(result, "need");
    double need_bytes = number_of(need, "reserved_bytes");
    if (!verdict) {
        printf("Needs %s reserved by PyTorch. Name a GPU (--gpu) to see whether it fits.\n", size_text(need_bytes));
        return;
    }
    double usable = number_of(gpu, "usable_bytes"), peak = number_of(item_of(result, "peak"), "reserved_bytes");
    const char *name = text_of(gpu, "name");
    if (!name)
        name = "this capacity";
    if (strcmp(verdict, "fits") == 0)
        printf("FITS on %s: %s to spare.\n", name, size_text(usable - peak));
    else if (strcmp(verdict, "tight") == 0 && need_bytes > usable)
        printf("TIGHT on %s: it runs, but only by releasing cached memory. Without a limit it would reserve %s; usable are %s.\n", name,
               size_text(need_bytes), size_text(usable));
    else if (strcmp(verdict, "tight") == 0)
        printf("TIGHT on %s: it runs with %s to spare, less than the estimate may be off.\n", name, size_text(usable - peak));
    else if (number_of(result, "minimum_capacity_bytes") <= usable)
        printf("DOES NOT FIT on %s, by a hair: out of memory with %s usable, though it would run under a limit of %s. Which of its cached blocks the "
               "allocator keeps decides; torch.cuda.set_per_process_memory_fraction can set that limit.\n", name, size_text(usable),
               size_text(number_of(result, "minimum_capacity_bytes")));
    else
        printf("DOES NOT FIT on %s: out of memory. It needs at least %s, and %s to run without releasing its cache; usable are %s.\n", name,
               size_text(number_of(result, "minimum_capacity_bytes")), size_text(need_bytes), size_text(usable));
}

/* In front of the report of that batch. */
static void print_max_batch(const cJSON *result) {
    const cJSON *max_batch = item_of(result, "max_batch"), *next = item_of(max_batch, "next"), *below = item_of(max_batch, "failing_below");
    if (!cJSON_IsObject(max_batch))
        return;
    double batch = number_of(max_batch, "batch");
    if (batch < 1)
        printf("No batch size runs on this card, not even 1:");
    else
        printf("Largest batch: %.0f.", batch);
    if (cJSON_IsObject(next) && batch >= 1)
        printf(" At %.0f a request for %s fails in %s of iteration %.0f%s%s.", batch + 1, size_text(number_of(next, "bytes")), text_of(next, "phase"),
               number_of(next, "iteration"), text_of(next, "op") ? ", " : "", text_of(next, "op") ? text_of(next, "op") : "");
    if (cJSON_IsNull(next))
        printf(" Nothing larger was tried.");
    if (cJSON_IsNumber(below))
        printf(" Not every smaller one runs: %.0f does not, as no cached block serves it.", below->valuedouble);
    printf("\n");
}

static void print_sizes(const cJSON *result) {
    const cJSON *peak = item_of(result, "peak"), *need = item_of(result, "need"), *gpu = item_of(result, "gpu"), *at = item_of(peak, "at");
    const cJSON *outside = item_of(result, "outside"), *job = item_of(result, "job");
    const char *optimizer = text_of(job, "optimizer");
    printf("\n");
    if (cJSON_IsNumber(item_of(job, "batch_size")))
        printf("  %-26s %.0f, optimizer %s, %.0f iteration%s (%s)\n", "batch", number_of(job, "batch_size"), optimizer ? optimizer : "none",
               number_of(job, "iterations"), number_of(job, "iterations") == 1 ? "" : "s", text_of(job, "scaling"));
    printf("  %-26s %s\n", "peak tensors", size_text(number_of(peak, "tensor_bytes")));
    printf("  %-26s %s\n", "peak allocated", size_text(number_of(peak, "allocated_bytes")));
    printf("  %-26s %s\n", "peak reserved", size_text(number_of(peak, "reserved_bytes")));
    double device = number_of(peak, "device_bytes"), total = cJSON_IsNull(gpu) ? device : number_of(gpu, "total_bytes");
    printf("  %-26s %s\n", "as nvidia-smi shows it", size_text(device < total ? device : total)); /* never more than there is */
    printf("  %-26s %s context, %s libraries\n", "  of that outside PyTorch", size_text(number_of(outside, "context_bytes")),
           size_text(number_of(outside, "library_bytes")));
    if (!cJSON_IsNull(gpu)) {
        printf("  %-26s %s of %s\n", "usable", size_text(number_of(gpu, "usable_bytes")), size_text(number_of(gpu, "total_bytes")));
        printf("  %-26s allocated %s, reserved %s\n", "need without a limit", size_text(number_of(need, "allocated_bytes")),
               size_text(number_of(need, "reserved_bytes")));
    }
    printf("  %-26s %s\n", "smallest workable limit", size_text(number_of(result, "minimum_capacity_bytes")));
    if (!cJSON_IsNull(at))
        printf("  %-26s %s of iteration %.0f%s%s%s%s\n", "peak is in", text_of(at, "phase"), number_of(at, "iteration"), text_of(at, "op") ? ", " : "",
               text_of(at, "op") ? text_of(at, "op") : "", text_of(at, "module") ? ", " : "", text_of(at, "module") ? text_of(at, "module") : "");
}

static void print_at_peak(const cJSON *result) {
    static const char *const labels[][2] = {{"parameter_bytes", "parameters"},  {"buffer_bytes", "buffers"},       {"gradient_bytes", "gradients"},
                                            {"optimizer_state_bytes", "optimizer state"}, {"activation_bytes", "activations"}, {"batch_bytes", "batch"},
                                            {"temporary_bytes", "temporaries"}, {"workspace_bytes", "workspaces"}, {"rounding_bytes", "rounding"},
                                            {"cached_bytes", "cached, free"}};
    const cJSON *at_peak = item_of(result, "at_peak");
    printf("\nAlive at the peak\n");
    for (size_t i = 0; i < sizeof labels / sizeof labels[0]; i++)
        if (number_of(at_peak, labels[i][0]) > 0)
            printf("  %-26s %s\n", labels[i][1], size_text(number_of(at_peak, labels[i][0])));
    printf("\nLargest owners at the peak\n");
    const cJSON *owner;
    int shown = 0;
    cJSON_ArrayForEach(owner, item_of(result, "owners")) {
        if (++shown > 8)
            break;
        const char *op = text_of(owner, "op"), *module = text_of(owner, "module");
        printf("  %-16s %10.1f MiB  x%-5.0f %s%s%s\n", text_of(owner, "category"), number_of(owner, "bytes") / 1048576, number_of(owner, "count"),
               op ? op : "", op && module ? ", " : "", module ? module : "");
    }
}

static void print_oom(const cJSON *result) {
    const cJSON *oom = item_of(result, "oom");
    if (cJSON_IsNull(oom))
        return;
    const cJSON *at = item_of(oom, "at");
    printf("\nWhere it fails\n");
    printf("  %-26s %s in %s of iteration %.0f%s%s\n", "request", size_text(number_of(oom, "bytes")), text_of(at, "phase"), number_of(at, "iteration"),
           text_of(at, "op") ? ", " : "", text_of(at, "op") ? text_of(at, "op") : "");
    if (text_of(at, "module"))
        printf("  %-26s %s\n", "module", text_of(at, "module"));
    printf("  %-26s %s\n", "allocated then", size_text(number_of(oom, "allocated_bytes")));
    printf("  %-26s %s, largest free block %s\n", "reserved, but free", size_text(number_of(oom, "cached_bytes")),
           size_text(number_of(oom, "largest_free_block_bytes")));
    double retries = number_of(oom, "retries");
    printf("  %-26s %.0f time%s, gave back %s\n", "cache released", retries, retries == 1 ? "" : "s", size_text(number_of(oom, "released_bytes")));
    printf("  %-26s %s\n", "as PyTorch says it", text_of(oom, "message"));
}

static void print_notes(const cJSON *result) {
    const cJSON *item, *warnings = item_of(result, "warnings");
    if (cJSON_GetArraySize(warnings)) {
        printf("\nWarnings\n");
        cJSON_ArrayForEach(item, warnings) printf("  %s (%s, %.0f times)\n", text_of(item, "message"), text_of(item, "code"), number_of(item, "count"));
    }
    printf("\nAssumptions\n");
    cJSON_ArrayForEach(item, item_of(result, "assumptions")) printf("  %s\n", cJSON_GetStringValue(item));
}

/* ---- commands ---- */

static int write_csv(const oc_session *session, const char *path) {
    static const struct {
        oc_column time, bytes;
        const char *name;
    } series[] = {{OC_COLUMN_ALLOCATED_TIME, OC_COLUMN_ALLOCATED, "allocated"},
                  {OC_COLUMN_RESERVED_TIME, OC_COLUMN_RESERVED, "reserved"},
                  {OC_COLUMN_TENSOR_TIME, OC_COLUMN_TENSOR, "tensor"},
                  {OC_COLUMN_NEED_TIME, OC_COLUMN_NEED, "need_reserved"}};
    bool is_stdout = strcmp(path, "-") == 0;
    FILE *file = is_stdout ? stdout : fopen(path, "w");
    if (!file)
        return trouble(path, strerror(errno));
    fprintf(file, "series,time_ms,bytes\n");
    for (size_t i = 0; i < sizeof series / sizeof series[0]; i++) {
        size_t length;
        const double *time_ms = oc_session_column(session, series[i].time, NULL), *bytes = oc_session_column(session, series[i].bytes, &length);
        for (size_t k = 0; k < length; k++)
            fprintf(file, "%s,%.6f,%.0f\n", series[i].name, time_ms[k], bytes[k]);
    }
    bool has_failed = ferror(file) != 0;
    return (is_stdout ? fflush(file) : fclose(file)) != 0 || has_failed ? trouble(path, "could not be written") : EXIT_FITS;
}

/* The allocator options but for the fraction, which a script without a capacity cannot have. */
static void write_conf(FILE *file, const char *conf) {
    static const char fraction[] = "per_process_memory_fraction:";
    char stripped[OC_ALLOC_CONF_LIMIT];
    if (!oc_alloc_conf_strip(stripped, conf))
        return; /* the core has refused it */
    const char *before = "config alloc_conf ";
    for (const char *pair = stripped, *end; *pair; pair = *end ? end + 1 : end) {
        end = pair + oc_alloc_conf_pair(pair);
        if (end == pair || strncmp(pair, fraction, sizeof fraction - 1) == 0)
            continue;
        fprintf(file, "%s%.*s", before, (int)(end - pair), pair);
        before = ",";
    }
    if (*before == ',')
        fputc('\n', file);
}

/* The requests and settings; capacity and memory fraction are left out, so that all of them are served. */
static int write_ops(const oc_session *session, const arguments *a) {
    cJSON *result = cJSON_Parse(oc_session_summary(session, NULL));
    const char *torch = text_of(item_of(result, "job"), "torch"), *conf = text_of(a->options, "alloc_conf");
    FILE *file = torch ? fopen(a->ops, "w") : NULL;
    uint32_t tensor;
    int64_t bytes;
    if (!file) {
        cJSON_Delete(result);
        return trouble(a->ops, torch ? strerror(errno) : "out of memory");
    }
    fputs("note capacity and memory fraction are left out: config device_total, memory_fraction and device_capacity set them\n", file);
    fprintf(file, "config torch %s\n", torch);
    cJSON_Delete(result);
    if (conf)
        write_conf(file, conf);
    if (item_of(a->options, "no_caching"))
        fputs("config no_caching 1\n", file);
    for (size_t i = 0; oc_session_request(session, i, &tensor, &bytes); i++) {
        if (bytes)
            fprintf(file, "alloc %u %" PRId64 "\n", tensor, bytes);
        else
            fprintf(file, "free %u\n", tensor);
    }
    bool has_failed = ferror(file) != 0;
    return fclose(file) != 0 || has_failed ? trouble(a->ops, "could not be written") : EXIT_FITS;
}

static int print_result(const oc_session *session, const arguments *a) {
    cJSON *result = cJSON_Parse(oc_session_summary(session, NULL));
    if (!result)
        return trouble(NULL, "out of memory");
    const char *verdict = text_of(result, "verdict");
    int exit_status = verdict && strcmp(verdict, "oom") == 0 ? EXIT_OOM : EXIT_FITS;
    if (a->is_json) {
        printf("%s\n", oc_session_summary(session, NULL));
    } else if (!a->csv || strcmp(a->csv, "-") != 0) {
        print_max_batch(result);
        print_verdict(result);
        print_sizes(result);
        print_oom(result);
        print_at_peak(result);
        print_notes(result);
    }
    cJSON_Delete(result);
    return exit_status;
}

static int estimate_with(oc_session *session, const arguments *a) {
    int result = read_profiles(session, a);
    if (result != EXIT_FITS)
        return result;
    char *options = cJSON_PrintUnformatted(a->options);
    if (!options)
        return trouble(NULL, "out of memory");
    oc_status status = oc_session_simulate(session, options, strlen(options));
    cJSON_free(options);
    if (status != OC_OK)
        return report_error(session, a);
    if ((a->csv && write_csv(session, a->csv) != EXIT_FITS) || (a->ops && write_ops(session, a) != EXIT_FITS))
        return EXIT_TROUBLE;
    return print_result(session, a);
}

static int estimate(int argc, char **argv, const char *task) {
    arguments a = {.options = cJSON_CreateObject(), .device = -1};
    oc_session *session = oc_session_open(0);
    int result = EXIT_TROUBLE;
    if (!session || !a.options || !cJSON_AddStringToObject(a.options, "task", task))
        (void)trouble(NULL, "out of memory");
    else if (parse_arguments(&a, argc, argv))
        result = a.is_help ? (fputs(usage, stdout), EXIT_FITS) : estimate_with(session, &a);
    oc_session_close(session);
    cJSON_Delete(a.options);
    return result;
}

static int print_gpus(int argc, char **argv) {
    bool is_json = argc > 2 && strcmp(argv[2], "--json") == 0;
    if (argc > 3 || (argc == 3 && !is_json))
        return trouble(argv[argc - 1], "unknown option (oomcast --help)");
    char *text = oc_gpus_json();
    cJSON *list = text ? cJSON_Parse(text) : NULL;
    if (!list) {
        oc_free_text(text);
        return trouble(NULL, "out of memory");
    }
    if (is_json) {
        printf("%s\n", text);
    } else {
        const cJSON *gpu;
        printf("%-36s %-12s %-10s %12s %16s  %s\n", "name", "group", "compute", "total GiB", "total bytes", "certainty");
        cJSON_ArrayForEach(gpu, list)
            printf("%-36s %-12s %-10s %12.2f %16.0f  %s\n", text_of(gpu, "name"), text_of(gpu, "group"), text_of(gpu, "compute_capability"),
                   number_of(gpu, "total_bytes") / 1073741824, number_of(gpu, "total_bytes"), text_of(gpu, "certainty"));
    }
    cJSON_Delete(list);
    oc_free_text(text);
    return EXIT_FITS;
}

/* ---- replay ---- */

/* The whole file, unzipped, in the arena; NULL if it could not be read, after saying so. */
static char *read_whole(const char *path, oc_arena *arena, size_t *length) {
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
    oc_error error = {.status = OC_OK};
    oc_inflate unzip;
    oc_list pieces;
    typedef struct piece {
        size_t length;
        char bytes[65536];
    } piece;
    static uint8_t chunk[65536];
    bool is_gzip = false;
    size_t got, total = 0;
    if (!file) {
        (void)trouble(path, strerror(errno));
        return NULL;
    }
    oc_list_init(&pieces, arena, sizeof(piece));
    while (error.status == OC_OK && (got = fread(chunk, 1, sizeof chunk, file)) > 0) {
        const uint8_t *in = chunk;
        if (pieces.count == 0 && oc_inflate_is_gzip(chunk, got))
            is_gzip = oc_inflate_open(&unzip, arena, &error) == OC_OK;
        for (size_t full = sizeof chunk; error.status == OC_OK && (got || full == sizeof chunk);) {
            piece *next = oc_list_push(&pieces);
            if (!next) {
                (void)oc_error_set_memory(&error);
                break;
            }
            if (is_gzip) {
                (void)oc_inflate_step(&unzip, &in, &got, (uint8_t *)next->bytes, sizeof next->bytes, &next->length, &error);
            } else {
                memcpy(next->bytes, in, got);
                next->length = got;
                got = 0;
            }
            total += next->length;
            full = is_gzip ? next->length : 0;
        }
    }
    int read_error = ferror(file) ? errno : 0;
    if (file != stdin)
        fclose(file);
    if (error.status == OC_OK && is_gzip && !read_error && !oc_inflate_is_complete(&unzip))
        (void)oc_error_set(&error, OC_GZIP, OC_NO_OFFSET, "the gzip data end too early: copy the file again");
    char *text = error.status == OC_OK && !read_error ? oc_arena_alloc(arena, total + 1, 1) : NULL;
    piece *flat = text ? oc_list_flatten(&pieces, arena) : NULL;
    if (!flat) {
        (void)trouble(path, read_error ? strerror(read_error) : error.status != OC_OK ? error.message : "out of memory");
        return NULL;
    }
    *length = 0;
    for (size_t i = 0; i < pieces.count; i++) {
        memcpy(text + *length, flat[i].bytes, flat[i].length);
        *length += flat[i].length;
    }
    return text;
}

static int replay_with(const char *path, bool is_log, oc_arena *arena) {
    size_t length;
    char *text = read_whole(path, arena, &length);
    oc_replay replay;
    oc_error error = {.status = OC_OK};
    if (!text)
        return EXIT_TROUBLE;
    oc_status status = is_log ? oc_replay_log(&replay, text, length, arena, &error) : oc_replay_script(&replay, text, length, arena, &error);
    if (status != OC_OK && error.event_index) {
        fprintf(stderr, "oomcast: %s:%" PRIu64 ": %s\n", path, error.event_index, error.message);
        return EXIT_TROUBLE;
    }
    if (status != OC_OK)
        return trouble(path, error.message);
    for (size_t i = 0; i < replay.failure_count; i++)
        printf("%s:%" PRIu64 ": %s\n", path, replay.failures[i].line, replay.failures[i].message);
    printf("%" PRIu64 " lines, %" PRIu64 " addresses, %" PRIu64 " segments, %zu failed\n", replay.line_count, replay.address_count, replay.segment_count,
           replay.failure_count);
    return replay.failure_count ? EXIT_OOM : EXIT_FITS;
}

static int replay_command(int argc, char **argv) {
    bool is_log = argc > 2 && strcmp(argv[2], "--log") == 0;
    if (argc != (is_log ? 4 : 3))
        return trouble(NULL, "replay takes one script, or --log and one log (oomcast --help)");
    oc_budget budget = {.limit_bytes = (size_t)4 << 30};
    oc_arena arena;
    oc_arena_init(&arena, &budget);
    int result = replay_with(argv[argc - 1], is_log, &arena);
    oc_arena_close(&arena);
    return result;
}

static double seconds(void) {
    struct timespec now;
    (void)timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* One line of JSON: what reading a profile and one simulation took. */
static int bench_with(oc_session *session, const arguments *a) {
    double start = seconds();
    int result = read_profiles(session, a);
    double read_seconds = seconds() - start;
    if (result != EXIT_FITS)
        return result;
    start = seconds();
    if (oc_session_simulate(session, "{}", 2) != OC_OK)
        return report_error(session, a);
    double simulate_seconds = seconds() - start;
    uint64_t text_bytes, event_count;
    size_t peak_bytes;
    oc_session_facts(session, &text_bytes, &event_count, &peak_bytes);
    printf("{\"text_bytes\":%" PRIu64 ",\"events\":%" PRIu64 ",\"read_seconds\":%.6f,\"mb_per_second\":%.1f,\"events_per_second\":%.0f,"
           "\"session_peak_bytes\":%zu,\"simulate_ms\":%.3f}\n",
           text_bytes, event_count, read_seconds, (double)text_bytes / 1e6 / read_seconds, (double)event_count / read_seconds, peak_bytes,
           simulate_seconds * 1e3);
    return EXIT_FITS;
}

static int bench(int argc, char **argv) {
    if (argc < 3 || argc > 4)
        return trouble(NULL, "bench takes one or two profiles (oomcast --help)");
    arguments a = {.files = {argv[2], argc > 3 ? argv[3] : NULL}, .file_count = argc - 2, .device = -1};
    oc_session *session = oc_session_open(0);
    int result = session ? bench_with(session, &a) : trouble(NULL, "out of memory");
    oc_session_close(session);
    return result;
}

static int run(int argc, char **argv) {
    const char *command = argc > 1 ? argv[1] : "";
    if (strcmp(command, "estimate") == 0)
        return estimate(argc, argv, "estimate");
    if (strcmp(command, "max-batch") == 0)
        return estimate(argc, argv, "max_batch");
    if (strcmp(command, "gpus") == 0)
        return print_gpus(argc, argv);
    if (strcmp(command, "replay") == 0)
        return replay_command(argc, argv);
    if (strcmp(command, "bench") == 0)
        return bench(argc, argv);
    if (strcmp(command, "--version") == 0) {
        printf("oomcast %s\n", OC_VERSION);
        return EXIT_FITS;
    }
    if (strcmp(command, "--help") == 0 || strcmp(command, "-h") == 0 || strcmp(command, "help") == 0) {
        fputs(usage, stdout);
        return EXIT_FITS;
    }
    if (*command)
        fprintf(stderr, "oomcast: %s: unknown command\n\n", command);
    fputs(usage, stderr);
    return EXIT_TROUBLE;
}

int main(int argc, char **argv) {
    int result = run(argc, argv);
    if (fflush(stdout) != 0 || ferror(stdout))
        return trouble("standard output", "could not be written");
    return result;
}

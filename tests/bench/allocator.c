/* Requests per second of the allocator. Standard input: scripts as oomcast replay reads them, each after a line "# NAME"; lines other
 * than alloc and free are left out (addresses do not matter here). One line of JSON each. Built natively and as wasm by allocator.sh. */
#include "simulate.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { REQUEST_LIMIT = 500000, ROUNDS = 5 };

static double seconds(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* The best of ROUNDS, each of as many runs as take a while. */
static void measure(const char *name, const oc_request *requests, uint32_t count, uint32_t tensor_count) {
    oc_budget budget = {.limit_bytes = (size_t)1 << 30};
    oc_arena arena;
    oc_arena_init(&arena, &budget);
    oc_allocator *allocator = oc_allocator_open(&arena, tensor_count);
    oc_run run;
    double best = 1e9;
    uint32_t repeats = 1 + 400000 / (count + 1);
    for (int round = 0; allocator && round < ROUNDS; round++) {
        double start = seconds();
        for (uint32_t i = 0; i < repeats; i++)
            if (!oc_simulate(allocator, &oc_allocator_defaults, requests, count, OC_NO_LIMIT, 1, NULL, &run))
                exit(1);
        double took = (seconds() - start) / repeats;
        best = took < best ? took : best;
    }
    int64_t minimum_bytes = 0;
    double start = seconds();
    if (!allocator || !oc_simulate_minimum(allocator, &oc_allocator_defaults, requests, count, &run, &minimum_bytes))
        exit(1);
    double minimum_seconds = seconds() - start;
    printf("{\"name\":\"%s\",\"requests\":%" PRIu32 ",\"ms\":%.3f,\"requests_per_second\":%.0f,\"peak_reserved_bytes\":%" PRId64
           ",\"minimum_bytes\":%" PRId64 ",\"minimum_ms\":%.3f,\"memory_bytes\":%zu}\n",
           name, count, best * 1e3, count / best, run.peak.reserved_bytes, minimum_bytes, minimum_seconds * 1e3, budget.peak_bytes);
    oc_arena_close(&arena);
}

int main(void) {
    static oc_request requests[REQUEST_LIMIT];
    static char line[4096], name[4096];
    uint32_t count = 0, tensor_count = 0, tensor;
    int64_t bytes;
    for (int is_end = 0; !is_end;) {
        is_end = !fgets(line, sizeof line, stdin);
        if (is_end || strncmp(line, "# ", 2) == 0) {
            if (count)
                measure(name, requests, count, tensor_count);
            count = tensor_count = 0;
            if (!is_end)
                (void)sscanf(line, "# %4000s", name);
        } else if (sscanf(line, "alloc %" SCNu32 " %" SCNd64, &tensor, &bytes) == 2 && bytes > 0 && count < REQUEST_LIMIT) {
            requests[count++] = (oc_request){0, bytes, tensor};
            tensor_count = tensor >= tensor_count ? tensor + 1 : tensor_count;
        } else if (sscanf(line, "free %" SCNu32, &tensor) == 1 && count < REQUEST_LIMIT) {
            requests[count++] = (oc_request){0, 0, tensor};
        }
    }
    return 0;
}

/* The GPU catalogue: names, aliases, and the cuBLAS workspace of each architecture. Totals are those of ../shared/gpus.json. */
#include "check.h"
#include "gpus.h"

#include <stdlib.h>

static const char *name_of(const char *wanted) {
    const oc_gpu *gpu = oc_gpu_find(wanted);
    return gpu ? gpu->name : "(none)";
}

static void every_row_is_complete(void) {
    size_t count = 0;
    for (const oc_gpu *gpu; (gpu = oc_gpu_at(count)) != NULL; count++) {
        check_context("%s", gpu->name);
        CHECK(gpu->name[0] && gpu->vendor[0] && gpu->group[0] && gpu->architecture[0] && gpu->compute_capability[0]);
        CHECK(gpu->marketed_gib > 0);
        /* CUDA sees the marketed size give or take: never half of it, never a tenth more */
        CHECK(gpu->total_bytes > (int64_t)gpu->marketed_gib << 29 && gpu->total_bytes < ((int64_t)gpu->marketed_gib << 30) / 10 * 11);
        CHECK(gpu->total_bytes % 512 == 0);
        CHECK(strcmp(gpu->certainty, "measured") == 0 || strcmp(gpu->certainty, "confirmed") == 0 ||
              strcmp(gpu->certainty, "recalled") == 0 || strcmp(gpu->certainty, "derived") == 0);
        CHECK(oc_gpu_find(gpu->name) == gpu); /* every name finds its own row */
    }
    CHECK_EQ_U64(count, 95);
    CHECK(!oc_gpu_at(count) && !oc_gpu_at(SIZE_MAX));
}

static void names_ignore_case(void) {
    CHECK_EQ_TEXT(name_of("T4"), "T4");
    CHECK_EQ_TEXT(name_of("t4"), "T4");
    CHECK_EQ_TEXT(name_of("geforce rtx 4090"), "GeForce RTX 4090");
    CHECK_EQ_I64(oc_gpu_find("GeForce RTX 4090")->total_bytes, 25393364992);
    CHECK_EQ_I64(oc_gpu_find("geforce rtx 4060")->total_bytes, 8318222336);
}

static void aliases_find_their_card(void) {
    CHECK_EQ_TEXT(name_of("RTX 4090"), "GeForce RTX 4090");
    CHECK_EQ_TEXT(name_of("nvidia geforce rtx 4090"), "GeForce RTX 4090");
    CHECK_EQ_TEXT(name_of("H200"), "H200 (SXM)");
    CHECK_EQ_TEXT(name_of("NVIDIA A100-SXM4-40GB"), "A100-SXM4-40GB");
    CHECK_EQ_TEXT(name_of("NVIDIA GeForce RTX 3080"), "GeForce RTX 3080 10GB"); /* what nvidia-smi calls that card */
    CHECK_EQ_TEXT(name_of("GTX 1660 Ti"), "GeForce GTX 1660 Ti");
}

static void bare_names_find_the_only_card(void) {
    CHECK_EQ_TEXT(name_of("RTX 3060"), "GeForce RTX 3060 12GB"); /* the size left out */
    CHECK_EQ_TEXT(name_of("GeForce RTX 3060 12GB"), "GeForce RTX 3060 12GB");
    CHECK_EQ_TEXT(name_of("MI300X"), "Instinct MI300X"); /* the vendor's words left out */
    CHECK_EQ_TEXT(name_of("AMD Instinct MI300X"), "Instinct MI300X");
    CHECK_EQ_TEXT(name_of("NVIDIA L4"), "L4");
    CHECK_EQ_TEXT(name_of("RTX A2000"), "RTX A2000 12GB");
    CHECK_EQ_TEXT(name_of("Tesla T4"), "T4");
    CHECK_EQ_TEXT(name_of("Tesla V100-SXM2-16GB"), "V100-SXM2-16GB");
    CHECK_EQ_TEXT(name_of("rtx3090"), "GeForce RTX 3090"); /* blanks and dashes do not matter */
    CHECK_EQ_TEXT(name_of("4090"), "GeForce RTX 4090"); /* the number alone, where one card has it */
    CHECK_EQ_TEXT(name_of("MI210"), "Instinct MI210");
}

static void ambiguous_and_unknown_names_find_none(void) {
    CHECK_EQ_TEXT(name_of("RTX 4060 Ti"), "(none)"); /* 16 GB or 8 GB */
    CHECK_EQ_TEXT(name_of("RTX 3080"), "(none)");    /* 12 GB or 10 GB */
    CHECK_EQ_TEXT(name_of("A100"), "(none)");
    CHECK_EQ_TEXT(name_of("RTX 9999"), "(none)");
    CHECK_EQ_TEXT(name_of(""), "(none)");
    CHECK_EQ_TEXT(name_of("GB"), "(none)");
    CHECK_EQ_TEXT(name_of("3080"), "(none)"); /* 12 GB or 10 GB */
    CHECK_EQ_TEXT(name_of("090"), "(none)");  /* a part of a number is none */
    CHECK_EQ_TEXT(name_of("90"), "(none)");
    CHECK_EQ_TEXT(name_of("- -"), "(none)");
    CHECK_EQ_TEXT(name_of("NVIDIA "), "(none)");
    CHECK_EQ_TEXT(name_of("RTX 4090|RTX 4080"), "(none)"); /* the separator of the aliases is no wildcard */
}

static void a_very_long_name_is_unknown(void) {
    char name[500];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = 0;
    const char *names[3];
    CHECK(!oc_gpu_find(name));
    CHECK_EQ_U64(oc_gpu_suggest(name, names, 3), 0);
}

static bool suggests(const char *wanted, const char *expected) {
    const char *names[6];
    size_t count = oc_gpu_suggest(wanted, names, 6);
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], expected) == 0)
            return true;
    return false;
}

static void unknown_names_suggest_their_like(void) {
    CHECK(suggests("RTX 4060 Ti", "GeForce RTX 4060 Ti 16GB"));
    CHECK(suggests("RTX 4060 Ti", "GeForce RTX 4060 Ti 8GB"));
    CHECK(suggests("A100", "A100-SXM4-80GB"));
    CHECK(suggests("rtx 3080", "GeForce RTX 3080 10GB"));
    CHECK(suggests("RTX 4095", "GeForce RTX 4090")); /* shortened to RTX 409 */
    const char *names[6];
    CHECK_EQ_U64(oc_gpu_suggest("qqqq", names, 6), 0);
    CHECK_EQ_U64(oc_gpu_suggest("", names, 6), 0);
    CHECK_EQ_U64(oc_gpu_suggest("RTX", names, 2), 2); /* never more than asked for */
    CHECK_EQ_U64(oc_gpu_suggest("RTX", names, 0), 0);
}

/* gpu-memory-rules.md, 12.1 and 12.2 */
static void workspaces_follow_the_architecture(void) {
    static const struct {
        const char *name;
        int64_t bytes_26, bytes_210, bytes_211;
    } cases[] = {
        {"T4", 8519680, 8519680, 8519680},                   /* 7.5 */
        {"A100-SXM4-80GB", 8519680, 8519680, 8519680},       /* 8.0 */
        {"RTX 4090", 8519680, 8519680, 8519680},             /* 8.9 */
        {"H100 PCIe 80GB", 33554432, 33554432, 33554432},    /* 9.0 */
        {"B200", 8519680, 8519680, 33554432},                /* 10.0: 32 MiB since 2.11 */
        {"B300", 8519680, 8519680, 33554432},                /* 10.3 */
        {"RTX 5090", 8519680, 8519680, 33554432},            /* 12.0 */
        {"P100-PCIE-16GB", 8519680, 8519680, 8519680},       /* 6.0 */
        {"Instinct MI210", 33554432, 33554432, 33554432},    /* gfx90a */
        {"Instinct MI300X", 134217728, 134217728, 134217728} /* gfx942 */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const oc_gpu *gpu = oc_gpu_find(cases[i].name);
        check_context("%s", cases[i].name);
        if (!CHECK(gpu))
            continue;
        CHECK_EQ_I64(oc_gpu_cublas_workspace_bytes(gpu, 206), cases[i].bytes_26);
        CHECK_EQ_I64(oc_gpu_cublas_workspace_bytes(gpu, 210), cases[i].bytes_210);
        CHECK_EQ_I64(oc_gpu_cublas_workspace_bytes(gpu, 211), cases[i].bytes_211);
    }
    check_context("%s", "");
    CHECK_EQ_I64(oc_gpu_cublas_workspace_bytes(NULL, 206), 8519680);
    CHECK_EQ_I64(oc_gpu_cublas_workspace_bytes(NULL, 213), 8519680);
}

CHECK_MAIN(CHECK_TEST(every_row_is_complete), CHECK_TEST(names_ignore_case), CHECK_TEST(aliases_find_their_card),
           CHECK_TEST(bare_names_find_the_only_card), CHECK_TEST(ambiguous_and_unknown_names_find_none),
           CHECK_TEST(a_very_long_name_is_unknown), CHECK_TEST(unknown_names_suggest_their_like),
           CHECK_TEST(workspaces_follow_the_architecture))

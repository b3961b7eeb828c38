/* The catalogue. Totals: public outputs of torch (total_memory) and nvidia-smi that name the card, seen until October 2026; what
 * CUDA sees is 250 to 730 MiB less than nvidia-smi shows on Linux. */
#include "gpus.h"

#include <string.h>
#include <strings.h>

/* clang-format off */
static const oc_gpu table[] = {
    {"GB200 (per GPU)", "NVIDIA", "data-centre", "Blackwell", "10.0", 186, 197993168896, "derived", 148, 2048, "GB200|NVIDIA GB200"},
    {"B200", "NVIDIA", "data-centre", "Blackwell", "10.0", 180, 191502483456, "confirmed", 148, 2048, "NVIDIA B200"},
    {"B300", "NVIDIA", "data-centre", "Blackwell Ultra", "10.3", 288, 287718768640, "derived", 0, 2048, "NVIDIA B300"},
    {"H200 (SXM)", "NVIDIA", "data-centre", "Hopper", "9.0", 141, 150109945856, "confirmed", 132, 2048, "H200|NVIDIA H200"},
    {"H200 NVL", "NVIDIA", "data-centre", "Hopper", "9.0", 141, 150073245696, "derived", 132, 2048, "NVIDIA H200 NVL"},
    {"GH200 (96 GB)", "NVIDIA", "data-centre", "Hopper", "9.0", 96, 101943607296, "derived", 132, 2048, "GH200|NVIDIA GH200"},
    {"H20", "NVIDIA", "data-centre", "Hopper", "9.0", 96, 102010716160, "confirmed", 78, 2048, "NVIDIA H20"},
    {"H100 80GB HBM3 (SXM)", "NVIDIA", "data-centre", "Hopper", "9.0", 80, 85017493504, "measured", 132, 2048, "H100 80GB HBM3|NVIDIA H100 80GB HBM3"},
    {"H100 PCIe 80GB", "NVIDIA", "data-centre", "Hopper", "9.0", 80, 84943044608, "confirmed", 114, 2048, "NVIDIA H100 PCIe 80GB"},
    {"H100 NVL 94GB", "NVIDIA", "data-centre", "Hopper", "9.0", 94, 99803463680, "derived", 132, 2048, "NVIDIA H100 NVL 94GB"},
    {"H800 80GB", "NVIDIA", "data-centre", "Hopper", "9.0", 80, 84839235584, "derived", 0, 2048, "NVIDIA H800 80GB"},
    {"A100-SXM4-40GB", "NVIDIA", "data-centre", "Ampere", "8.0", 40, 42474471424, "measured", 108, 2048, "NVIDIA A100-SXM4-40GB"},
    {"A100-PCIE-40GB", "NVIDIA", "data-centre", "Ampere", "8.0", 40, 42284875776, "confirmed", 108, 2048, "NVIDIA A100-PCIE-40GB"},
    {"A100-SXM4-80GB", "NVIDIA", "data-centre", "Ampere", "8.0", 80, 84987084800, "recalled", 108, 2048, "NVIDIA A100-SXM4-80GB"},
    {"A100 80GB PCIe", "NVIDIA", "data-centre", "Ampere", "8.0", 80, 84928364544, "recalled", 108, 2048, "NVIDIA A100 80GB PCIe"},
    {"A800 80GB PCIe", "NVIDIA", "data-centre", "Ampere", "8.0", 80, 85217771520, "derived", 108, 2048, "NVIDIA A800 80GB PCIe"},
    {"A40", "NVIDIA", "data-centre", "Ampere", "8.6", 48, 47622127616, "confirmed", 84, 1536, "NVIDIA A40"},
    {"A30", "NVIDIA", "data-centre", "Ampere", "8.0", 24, 25230835712, "recalled", 56, 2048, "NVIDIA A30"},
    {"A16 (per GPU)", "NVIDIA", "data-centre", "Ampere", "8.6", 16, 15630073856, "derived", 10, 1536, "A16|NVIDIA A16"},
    {"A10", "NVIDIA", "data-centre", "Ampere", "8.6", 24, 23674748928, "derived", 72, 1536, "NVIDIA A10"},
    {"A10G", "NVIDIA", "data-centre", "Ampere", "8.6", 24, 23684186112, "confirmed", 80, 1536, "NVIDIA A10G"},
    {"A2", "NVIDIA", "data-centre", "Ampere", "8.6", 16, 15630073856, "derived", 10, 1536, "NVIDIA A2"},
    {"L40S", "NVIDIA", "data-centre", "Ada", "8.9", 48, 47803531264, "confirmed", 142, 1536, "NVIDIA L40S"},
    {"L40", "NVIDIA", "data-centre", "Ada", "8.9", 48, 47676653568, "derived", 142, 1536, "NVIDIA L40"},
    {"L4", "NVIDIA", "data-centre", "Ada", "8.9", 24, 23569891328, "recalled", 58, 1536, "NVIDIA L4"},
    {"T4", "NVIDIA", "data-centre", "Turing", "7.5", 16, 15811477504, "confirmed", 40, 1024, "NVIDIA T4"},
    {"V100-SXM2-32GB", "NVIDIA", "data-centre", "Volta", "7.0", 32, 34089205760, "recalled", 80, 2048, "NVIDIA V100-SXM2-32GB"},
    {"V100-SXM2-16GB", "NVIDIA", "data-centre", "Volta", "7.0", 16, 16913530880, "confirmed", 80, 2048, "NVIDIA V100-SXM2-16GB"},
    {"P100-PCIE-16GB", "NVIDIA", "data-centre", "Pascal", "6.0", 16, 17070817280, "confirmed", 56, 2048, "NVIDIA P100-PCIE-16GB"},
    {"P40", "NVIDIA", "data-centre", "Pascal", "6.1", 24, 24032313344, "recalled", 30, 2048, "NVIDIA P40"},
    {"P4", "NVIDIA", "data-centre", "Pascal", "6.1", 8, 7718567936, "derived", 20, 2048, "NVIDIA P4"},
    {"K80 (per GPU)", "NVIDIA", "data-centre", "Kepler", "3.7", 12, 11996758016, "confirmed", 13, 2048, "K80|NVIDIA K80"},
    {"RTX PRO 6000 Blackwell (Server)", "NVIDIA", "workstation", "Blackwell", "12.0", 96, 101974016000, "confirmed", 188, 1536, "NVIDIA RTX PRO 6000 Blackwell|RTX PRO 6000 Blackwell"},
    {"RTX PRO 6000 Blackwell (Workstation)", "NVIDIA", "workstation", "Blackwell", "12.0", 96, 101960384512, "derived", 188, 1536, "NVIDIA RTX PRO 6000 Blackwell|RTX PRO 6000 Blackwell"},
    {"RTX PRO 5000 Blackwell", "NVIDIA", "workstation", "Blackwell", "12.0", 48, 50250907648, "derived", 110, 1536, "NVIDIA RTX PRO 5000 Blackwell"},
    {"RTX PRO 4500 Blackwell", "NVIDIA", "workstation", "Blackwell", "12.0", 32, 33499906048, "derived", 82, 1536, "NVIDIA RTX PRO 4500 Blackwell"},
    {"RTX PRO 4000 Blackwell", "NVIDIA", "workstation", "Blackwell", "12.0", 24, 25124929536, "derived", 70, 1536, "NVIDIA RTX PRO 4000 Blackwell"},
    {"RTX 6000 Ada", "NVIDIA", "workstation", "Ada", "8.9", 48, 50865307648, "measured", 142, 1536, "NVIDIA RTX 6000 Ada"},
    {"RTX 5880 Ada", "NVIDIA", "workstation", "Ada", "8.9", 48, 47676653568, "derived", 110, 1536, "NVIDIA RTX 5880 Ada"},
    {"RTX 5000 Ada", "NVIDIA", "workstation", "Ada", "8.9", 32, 33879490560, "derived", 100, 1536, "NVIDIA RTX 5000 Ada"},
    {"RTX 4500 Ada", "NVIDIA", "workstation", "Ada", "8.9", 24, 25291653120, "derived", 60, 1536, "NVIDIA RTX 4500 Ada"},
    {"RTX 4000 SFF Ada", "NVIDIA", "workstation", "Ada", "8.9", 20, 20997734400, "derived", 48, 1536, "NVIDIA RTX 4000 SFF Ada"},
    {"RTX 4000 Ada", "NVIDIA", "workstation", "Ada", "8.9", 20, 20997734400, "derived", 48, 1536, "NVIDIA RTX 4000 Ada"},
    {"RTX 2000 Ada", "NVIDIA", "workstation", "Ada", "8.9", 16, 16703815680, "derived", 22, 1536, "NVIDIA RTX 2000 Ada"},
    {"RTX A6000", "NVIDIA", "workstation", "Ampere", "8.6", 48, 51040485376, "confirmed", 84, 1536, "NVIDIA RTX A6000"},
    {"RTX A5000", "NVIDIA", "workstation", "Ampere", "8.6", 24, 25285361664, "confirmed", 64, 1536, "NVIDIA RTX A5000"},
    {"RTX A4500", "NVIDIA", "workstation", "Ampere", "8.6", 20, 20992491520, "derived", 56, 1536, "NVIDIA RTX A4500"},
    {"RTX A4000", "NVIDIA", "workstation", "Ampere", "8.6", 16, 16699621376, "derived", 48, 1536, "NVIDIA RTX A4000"},
    {"RTX A2000 12GB", "NVIDIA", "workstation", "Ampere", "8.6", 12, 12511608832, "derived", 26, 1536, "NVIDIA RTX A2000 12GB"},
    {"Quadro RTX 8000", "NVIDIA", "workstation", "Turing", "7.5", 48, 50961842176, "confirmed", 72, 1024, "NVIDIA Quadro RTX 8000"},
    {"Quadro RTX 6000", "NVIDIA", "workstation", "Turing", "7.5", 24, 25396510720, "recalled", 72, 1024, "NVIDIA Quadro RTX 6000"},
    {"TITAN RTX", "NVIDIA", "workstation", "Turing", "7.5", 24, 25396510720, "recalled", 72, 1024, "NVIDIA TITAN RTX"},
    {"TITAN V", "NVIDIA", "workstation", "Volta", "7.0", 12, 12652118016, "recalled", 80, 2048, "NVIDIA TITAN V"},
    {"Quadro P5000", "NVIDIA", "workstation", "Pascal", "6.1", 16, 17068720128, "confirmed", 20, 2048, "NVIDIA Quadro P5000"},
    {"GeForce RTX 5090", "NVIDIA", "consumer", "Blackwell", "12.0", 32, 33719058432, "derived", 170, 1536, "NVIDIA GeForce RTX 5090|RTX 5090"},
    {"GeForce RTX 5080", "NVIDIA", "consumer", "Blackwell", "12.0", 16, 17093885952, "confirmed", 84, 1536, "NVIDIA GeForce RTX 5080|RTX 5080"},
    {"GeForce RTX 5070 Ti", "NVIDIA", "consumer", "Blackwell", "12.0", 16, 16623075328, "derived", 70, 1536, "NVIDIA GeForce RTX 5070 Ti|RTX 5070 Ti"},
    {"GeForce RTX 5070", "NVIDIA", "consumer", "Blackwell", "12.0", 12, 12453937152, "derived", 48, 1536, "NVIDIA GeForce RTX 5070|RTX 5070"},
    {"GeForce RTX 5060 Ti 16GB", "NVIDIA", "consumer", "Blackwell", "12.0", 16, 16610492416, "confirmed", 36, 1536, "NVIDIA GeForce RTX 5060 Ti 16GB|RTX 5060 Ti 16GB"},
    {"GeForce RTX 5060", "NVIDIA", "consumer", "Blackwell", "12.0", 8, 8284798976, "derived", 30, 1536, "NVIDIA GeForce RTX 5060|RTX 5060"},
    {"GeForce RTX 4090", "NVIDIA", "consumer", "Ada", "8.9", 24, 25393364992, "confirmed", 128, 1536, "NVIDIA GeForce RTX 4090|RTX 4090"},
    {"GeForce RTX 4080", "NVIDIA", "consumer", "Ada", "8.9", 16, 16828596224, "confirmed", 76, 1536, "NVIDIA GeForce RTX 4080|RTX 4080"},
    {"GeForce RTX 4070 Ti SUPER", "NVIDIA", "consumer", "Ada", "8.9", 16, 16708009984, "confirmed", 66, 1536, "NVIDIA GeForce RTX 4070 Ti SUPER|RTX 4070 Ti SUPER"},
    {"GeForce RTX 4070 Ti", "NVIDIA", "consumer", "Ada", "8.9", 12, 12511608832, "derived", 60, 1536, "NVIDIA GeForce RTX 4070 Ti|RTX 4070 Ti"},
    {"GeForce RTX 4070 SUPER", "NVIDIA", "consumer", "Ada", "8.9", 12, 12511608832, "derived", 56, 1536, "NVIDIA GeForce RTX 4070 SUPER|RTX 4070 SUPER"},
    {"GeForce RTX 4070", "NVIDIA", "consumer", "Ada", "8.9", 12, 12511608832, "derived", 46, 1536, "NVIDIA GeForce RTX 4070|RTX 4070"},
    {"GeForce RTX 4060 Ti 16GB", "NVIDIA", "consumer", "Ada", "8.9", 16, 16703815680, "derived", 34, 1536, "NVIDIA GeForce RTX 4060 Ti 16GB|RTX 4060 Ti 16GB"},
    {"GeForce RTX 4060 Ti 8GB", "NVIDIA", "consumer", "Ada", "8.9", 8, 8323596288, "derived", 34, 1536, "NVIDIA GeForce RTX 4060 Ti 8GB|RTX 4060 Ti 8GB"},
    {"GeForce RTX 4060", "NVIDIA", "consumer", "Ada", "8.9", 8, 8318222336, "measured", 24, 1536, "NVIDIA GeForce RTX 4060|RTX 4060"},
    {"GeForce RTX 3090 Ti", "NVIDIA", "consumer", "Ampere", "8.6", 24, 25285361664, "confirmed", 84, 1536, "NVIDIA GeForce RTX 3090 Ti|RTX 3090 Ti"},
    {"GeForce RTX 3090", "NVIDIA", "consumer", "Ampere", "8.6", 24, 25437405184, "confirmed", 82, 1536, "NVIDIA GeForce RTX 3090|RTX 3090"},
    {"GeForce RTX 3080 12GB", "NVIDIA", "consumer", "Ampere", "8.6", 12, 12517900288, "derived", 70, 1536, "NVIDIA GeForce RTX 3080 12GB|RTX 3080 12GB"},
    {"GeForce RTX 3080 10GB", "NVIDIA", "consumer", "Ampere", "8.6", 10, 10504634368, "confirmed", 68, 1536, "NVIDIA GeForce RTX 3080|RTX 3080 10GB"},
    {"GeForce RTX 3080 Ti", "NVIDIA", "consumer", "Ampere", "8.6", 12, 12638486528, "recalled", 80, 1536, "NVIDIA GeForce RTX 3080 Ti|RTX 3080 Ti"},
    {"GeForce RTX 3070", "NVIDIA", "consumer", "Ampere", "8.6", 8, 8369733632, "recalled", 46, 1536, "NVIDIA GeForce RTX 3070|RTX 3070"},
    {"GeForce RTX 3060 Ti", "NVIDIA", "consumer", "Ampere", "8.6", 8, 8327790592, "derived", 38, 1536, "NVIDIA GeForce RTX 3060 Ti|RTX 3060 Ti"},
    {"GeForce RTX 3060 12GB", "NVIDIA", "consumer", "Ampere", "8.6", 12, 12622168064, "measured", 28, 1536, "NVIDIA GeForce RTX 3060|RTX 3060 12GB"},
    {"GeForce RTX 3080 Laptop 8GB", "NVIDIA", "consumer", "Ampere", "8.6", 8, 8588886016, "confirmed", 48, 1536, "NVIDIA GeForce RTX 3080 Laptop 8GB|RTX 3080 Laptop 8GB"},
    {"GeForce RTX 2080 Ti", "NVIDIA", "consumer", "Turing", "7.5", 11, 11554258944, "confirmed", 68, 1024, "NVIDIA GeForce RTX 2080 Ti|RTX 2080 Ti"},
    {"GeForce RTX 2080", "NVIDIA", "consumer", "Turing", "7.5", 8, 8369733632, "recalled", 46, 1024, "NVIDIA GeForce RTX 2080|RTX 2080"},
    {"GeForce RTX 2070", "NVIDIA", "consumer", "Turing", "7.5", 8, 8327790592, "derived", 36, 1024, "NVIDIA GeForce RTX 2070|RTX 2070"},
    {"GeForce RTX 2060", "NVIDIA", "consumer", "Turing", "7.5", 6, 6222249984, "recalled", 30, 1024, "NVIDIA GeForce RTX 2060|RTX 2060"},
    {"GeForce GTX 1660 Ti", "NVIDIA", "consumer", "Turing", "7.5", 6, 6180306944, "derived", 24, 1024, "GTX 1660 Ti|NVIDIA GeForce GTX 1660 Ti"},
    {"GeForce GTX 1080 Ti", "NVIDIA", "consumer", "Pascal", "6.1", 11, 11720982528, "recalled", 28, 2048, "GTX 1080 Ti|NVIDIA GeForce GTX 1080 Ti"},
    {"GeForce GTX 1080", "NVIDIA", "consumer", "Pascal", "6.1", 8, 8510242816, "confirmed", 20, 2048, "GTX 1080|NVIDIA GeForce GTX 1080"},
    {"GeForce GTX 1060 6GB", "NVIDIA", "consumer", "Pascal", "6.1", 6, 6442450944, "confirmed", 10, 2048, "GTX 1060 6GB|NVIDIA GeForce GTX 1060 6GB"},
    {"Instinct MI300X", "AMD", "amd", "CDNA3", "gfx942", 192, 206141652992, "confirmed", 304, 2048, ""},
    {"Instinct MI325X", "AMD", "amd", "CDNA3", "gfx942", 256, 274861129728, "derived", 304, 2048, ""},
    {"Instinct MI300A", "AMD", "amd", "CDNA3", "gfx942", 128, 137422176256, "derived", 228, 2048, ""},
    {"Instinct MI350X", "AMD", "amd", "CDNA4", "gfx950", 288, 309220868096, "derived", 256, 2048, ""},
    {"Instinct MI355X", "AMD", "amd", "CDNA4", "gfx950", 288, 309220868096, "derived", 256, 2048, ""},
    {"Instinct MI250X (per GCD)", "AMD", "amd", "CDNA2", "gfx90a", 64, 68702699520, "confirmed", 110, 2048, "Instinct MI250X"},
    {"Instinct MI250 (per GCD)", "AMD", "amd", "CDNA2", "gfx90a", 64, 68702699520, "confirmed", 104, 2048, "Instinct MI250"},
    {"Instinct MI210", "AMD", "amd", "CDNA2", "gfx90a", 64, 68702699520, "confirmed", 104, 2048, ""},
    {"Instinct MI100", "AMD", "amd", "CDNA1", "gfx908", 32, 34342961152, "derived", 120, 2048, ""},
};
/* clang-format on */

enum { GPU_COUNT = sizeof table / sizeof table[0], NAME_LIMIT = 96 };

const oc_gpu *oc_gpu_at(size_t index) {
    return index < GPU_COUNT ? &table[index] : NULL;
}

/* 1 if `name` is one of the aliases. */
static int has_alias(const oc_gpu *gpu, const char *name) {
    size_t length = strlen(name);
    for (const char *alias = gpu->aliases; *alias;) {
        const char *end = strchr(alias, '|');
        size_t alias_length = end ? (size_t)(end - alias) : strlen(alias);
        if (alias_length == length && strncasecmp(alias, name, length) == 0)
            return 1;
        alias += alias_length + (end != NULL);
    }
    return 0;
}

/* Letters and digits in lower case, without the vendor's words and the memory size: "NVIDIA GeForce RTX 3060 12GB" -> "rtx3060". */
static void strip(const char *name, char *bare) {
    static const char *const words[] = {"NVIDIA ", "AMD ", "GeForce ", "Instinct ", "Tesla "};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strncasecmp(name, words[i], strlen(words[i])) == 0)
            name += strlen(words[i]);
    size_t length = strlen(name);
    if (length > 2 && strncasecmp(name + length - 2, "GB", 2) == 0) {
        size_t digits = length - 2;
        while (digits && name[digits - 1] >= '0' && name[digits - 1] <= '9')
            digits--;
        if (digits && digits < length - 2 && name[digits - 1] == ' ')
            length = digits - 1;
    }
    size_t kept = 0;
    for (size_t i = 0; i < length && kept < NAME_LIMIT - 1; i++) {
        char c = name[i] >= 'A' && name[i] <= 'Z' ? (char)(name[i] - 'A' + 'a') : name[i];
        if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))
            bare[kept++] = c;
    }
    bare[kept] = 0;
}

/* The only card whose bare name is `wanted`, or that ends in it after letters ("4090"); NULL if there is none or are several. */
static const oc_gpu *find_bare(const char *wanted, int is_end) {
    const oc_gpu *found = NULL;
    size_t length = strlen(wanted);
    for (size_t i = 0; i < GPU_COUNT; i++) {
        char bare[NAME_LIMIT];
        strip(table[i].name, bare);
        size_t bare_length = strlen(bare);
        int is_match = is_end ? bare_length > length && strcmp(bare + bare_length - length, wanted) == 0 &&
                                    !(bare[bare_length - length - 1] >= '0' && bare[bare_length - length - 1] <= '9')
                              : strcmp(bare, wanted) == 0;
        if (is_match && found)
            return NULL;
        if (is_match)
            found = &table[i];
    }
    return found;
}

const oc_gpu *oc_gpu_find(const char *name) {
    for (size_t i = 0; i < GPU_COUNT; i++)
        if (strcasecmp(table[i].name, name) == 0)
            return &table[i];
    for (size_t i = 0; i < GPU_COUNT; i++)
        if (has_alias(&table[i], name))
            return &table[i];
    char wanted[NAME_LIMIT];
    strip(name, wanted);
    const oc_gpu *found = wanted[0] ? find_bare(wanted, 0) : NULL;
    return found || strlen(wanted) < 3 ? found : find_bare(wanted, 1);
}

size_t oc_gpu_suggest(const char *name, const char **names, size_t limit) {
    char wanted[NAME_LIMIT], bare[NAME_LIMIT];
    strip(name, wanted);
    /* shorten the wanted name from its end until some card contains it */
    for (size_t length = strlen(wanted); length >= 2; length--) {
        wanted[length] = 0;
        size_t count = 0;
        for (size_t i = 0; i < GPU_COUNT && count < limit; i++) {
            strip(table[i].name, bare);
            if (strstr(bare, wanted))
                names[count++] = table[i].name;
        }
        if (count)
            return count;
    }
    return 0;
}

int64_t oc_gpu_cublas_workspace_bytes(const oc_gpu *gpu, int torch_version) {
    enum { DEFAULT_BYTES = 8519680, HOPPER_BYTES = 33554432, ROCM_BYTES = 33554432, ROCM_GFX94_BYTES = 134217728 };
    if (!gpu)
        return DEFAULT_BYTES; /* :4096:2:16:8 in KiB */
    const char *capability = gpu->compute_capability;
    if (strncmp(capability, "gfx94", 5) == 0 || strncmp(capability, "gfx95", 5) == 0)
        return ROCM_GFX94_BYTES;
    if (strncmp(capability, "gfx", 3) == 0)
        return ROCM_BYTES;
    if (strncmp(capability, "9.", 2) == 0)
        return HOPPER_BYTES; /* :32768:1 */
    int is_blackwell = strncmp(capability, "10.", 3) == 0 || strncmp(capability, "12.", 3) == 0;
    return is_blackwell && torch_version >= 211 ? HOPPER_BYTES : DEFAULT_BYTES;
}

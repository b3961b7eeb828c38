/* The optimizer table. Figures from gpu-memory-rules.md, section 16: copies of the parameters. */
#include "check.h"
#include "optimizers.h"

static void rows_are_as_torch_does(void) {
    static const struct {
        const char *name;
        int state, is_factored, is_built, foreach, decay, loop, has_fused, is_foreach_default;
    } cases[] = {
        {"SGD", 0, 0, 0, 0, 1, 0, 1, 1},           {"SGD+momentum", 1, 0, 0, 0, 1, 0, 1, 1},  {"Adam", 2, 0, 0, 1, 0, 2, 1, 1},
        {"Adam+amsgrad", 3, 0, 0, 1, 0, 2, 1, 1},  {"AdamW", 2, 0, 0, 1, 0, 2, 1, 1},         {"AdamW+amsgrad", 3, 0, 0, 1, 0, 2, 1, 1},
        {"NAdam", 2, 0, 0, 1, 1, 2, 0, 1},         {"RAdam", 2, 0, 0, 1, 0, 3, 0, 1},         {"Adamax", 2, 0, 0, 1, 0, 1, 0, 1},
        {"Adadelta", 2, 0, 0, 2, 1, 2, 0, 1},      {"RMSprop", 1, 0, 0, 1, 1, 1, 0, 1},       {"Adagrad", 1, 0, 1, 2, 0, 1, 1, 1},
        {"Adafactor", 0, 1, 0, -1, 0, 2, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const oc_optimizer *optimizer = oc_optimizer_find(cases[i].name);
        check_context("%s", cases[i].name);
        if (!CHECK(optimizer))
            continue;
        CHECK_EQ_I64(optimizer->state_copies, cases[i].state);
        CHECK_EQ_I64(optimizer->is_factored, cases[i].is_factored);
        CHECK_EQ_I64(optimizer->is_state_built, cases[i].is_built);
        CHECK_EQ_I64(optimizer->foreach_copies, cases[i].foreach);
        CHECK_EQ_I64(optimizer->decay_copies, cases[i].decay);
        CHECK_EQ_I64(optimizer->loop_copies, cases[i].loop);
        CHECK_EQ_I64(optimizer->has_fused, cases[i].has_fused);
        CHECK_EQ_I64(optimizer->is_foreach_default, cases[i].is_foreach_default);
        CHECK(optimizer->source[0]);
    }
}

static void names_ignore_case(void) {
    CHECK(oc_optimizer_find("adamw") == oc_optimizer_find("AdamW"));
    CHECK(oc_optimizer_find("SGD") == oc_optimizer_find("sgd"));
    CHECK(!oc_optimizer_find("Adam2"));
    CHECK(!oc_optimizer_find("Ada"));
    CHECK(!oc_optimizer_find("SGD+nesterov"));
    CHECK(oc_optimizer_find("sgd+MOMENTUM") && oc_optimizer_find("sgd+MOMENTUM") != oc_optimizer_find("SGD"));
    CHECK(!oc_optimizer_find(""));
}

static void the_table_ends(void) {
    size_t count = 0;
    for (const oc_optimizer *optimizer; (optimizer = oc_optimizer_at(count)) != NULL; count++)
        CHECK(oc_optimizer_find(optimizer->name) == optimizer);
    CHECK_EQ_U64(count, 13);
    CHECK(!oc_optimizer_at(SIZE_MAX));
}

CHECK_MAIN(CHECK_TEST(rows_are_as_torch_does), CHECK_TEST(names_ignore_case), CHECK_TEST(the_table_ends))

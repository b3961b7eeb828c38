/* The pull cursor over one event, numbers, and the cleaning of names. */
#include "check.h"
#include "json.h"

#include <stdlib.h>

static oc_text text_of(const char *s) {
    return (oc_text){s, strlen(s)};
}

/* ---- cursor ---- */

/* Walks over an object and writes down what it sees: "key=type:text " and at the end "closed" or "damaged". */
static const char *walk(const char *json) {
    static const char *const types[] = {"string", "number", "object", "array", "word"};
    static char seen[1000];
    size_t length = strlen(json);
    char *exact = malloc(length ? length : 1); /* so that a read behind the end is seen */
    if (!exact)
        return NULL;
    memcpy(exact, json, length);
    oc_json_cursor cursor = {exact, exact + length};
    oc_text key, inner;
    oc_json_value value;
    seen[0] = 0;
    oc_json_step step = oc_json_enter(&cursor);
    while (step == OC_JSON_NEXT && (step = oc_json_member(&cursor, &key, &value)) == OC_JSON_NEXT) {
        oc_text shown = value.text;
        if (value.type == OC_JSON_OBJECT || value.type == OC_JSON_ARRAY) {
            step = oc_json_skip(&cursor, &inner);
            if (step == OC_JSON_NEXT)
                shown = inner;
        }
        (void)snprintf(seen + strlen(seen), sizeof seen - strlen(seen), "%.*s=%s%s:%.*s ", (int)key.length, key.data, types[value.type],
                       value.type == OC_JSON_STRING && value.is_escaped ? "(escaped)" : "", (int)shown.length, shown.data);
    }
    (void)snprintf(seen + strlen(seen), sizeof seen - strlen(seen), "%s", step == OC_JSON_CLOSED ? "closed" : "damaged");
    free(exact);
    return seen;
}

static void members_are_walked_in_order(void) {
    CHECK_EQ_TEXT(walk("{\"ph\": \"X\", \"ts\": 12.5, \"ok\": true, \"args\": {\"a\": [1]}, \"l\": [1, {\"b\": 2}], \"n\": null}"),
                  "ph=string:X ts=number:12.5 ok=word:true args=object:{\"a\": [1]} l=array:[1, {\"b\": 2}] n=word:null closed");
    CHECK_EQ_TEXT(walk("{}"), "closed");
    CHECK_EQ_TEXT(walk("  {  }"), "closed");
    CHECK_EQ_TEXT(walk("{\"a\":-1e+07,\"b\":\"\"}"), "a=number:-1e+07 b=string: closed");
    CHECK_EQ_TEXT(walk("{\n  \"ts\": 5206438237342.555\n    ,\n  \"x\":\r\n\t1 }"),
                  "ts=number:5206438237342.555 x=number:1 closed"); /* torch 2.13 */
    CHECK_EQ_TEXT(walk("{\"a\": NaN, \"b\": Infinity, \"c\": -Infinity}"), "a=word:NaN b=word:Infinity c=number:-Infinity closed");
    CHECK_EQ_TEXT(walk("{,,\"a\": 1,,}"), "a=number:1 closed"); /* lenient, as json.h promises nothing against it */
}

static void strings_hold_anything_but_a_quote(void) {
    CHECK_EQ_TEXT(walk("{\"a\": \"x\\\"y\\\\\", \"b\": \"{[,:]}\"}"), "a=string(escaped):x\\\"y\\\\ b=string:{[,:]} closed");
    CHECK_EQ_TEXT(walk("{\"a\": \"\x01\xf0\n\"}"), "a=string:\x01\xf0\n closed");
    CHECK_EQ_TEXT(walk("{\"k\\\"ey\": 1}"), "k\\\"ey=number:1 closed");
}

static void damage_is_told(void) {
    static const char *const texts[] = {
        "",
        "x",
        "[",
        "{",
        "{\"a\"",
        "{\"a\":",
        "{\"a\": ",
        "{\"a\": }",
        "{\"a\": 1",
        "{\"a\": \"x",
        "{\"a\": \"x\\",
        "{\"a\": {",
        "{\"a\": [1, 2",
        "{\"a\" 1}",
        "{a: 1}",
        "{\"a\": 1 \"b\": 2}",
        "{\"a\": \"un\"quoted\"}" /* an unescaped quote inside a string */,
        "{\"a\": ,}",
        "{\"a\": [\"x}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        check_context("%s", texts[i]);
        const char *seen = walk(texts[i]);
        CHECK_CONTAINS(seen, "damaged");
    }
}

static void skipping_minds_strings(void) {
    oc_json_cursor cursor;
    static const char json[] = "[\"]\", \"\\\"]\", {\"}\": [1]}] rest";
    cursor = (oc_json_cursor){json, json + strlen(json)};
    oc_text text;
    CHECK_EQ_I64(oc_json_skip(&cursor, &text), OC_JSON_NEXT);
    CHECK_EQ_BYTES(text.data, text.length, "[\"]\", \"\\\"]\", {\"}\": [1]}]", strlen(json) - 5);
    CHECK_EQ_TEXT(cursor.at, " rest");
}

static void texts_are_compared_whole_or_from_the_start(void) {
    CHECK(oc_text_equals(text_of("abc"), "abc"));
    CHECK(!oc_text_equals(text_of("abc"), "ab"));
    CHECK(!oc_text_equals(text_of("ab"), "abc"));
    CHECK(oc_text_equals(text_of(""), ""));
    CHECK(oc_text_starts_with(text_of("abc"), "ab"));
    CHECK(oc_text_starts_with(text_of("abc"), ""));
    CHECK(!oc_text_starts_with(text_of("ab"), "abc"));
}

/* ---- numbers ---- */

static void microseconds_become_exact_nanoseconds(void) {
    static const struct {
        const char *us;
        int64_t ns;
    } cases[] = {
        {"5203826211381.154", 5203826211381154}, /* a time of a real profile: a double of microseconds cannot hold it */
        {"5203826211381.155", 5203826211381155},
        {"1717552534007648", 1717552534007648000}, /* torch 2.3: whole microseconds */
        {"0", 0},
        {"0.001", 1},
        {"0.1", 100},
        {"0.12", 120},
        {"0.123", 123},
        {"7", 7000},
        {"7.", 7000},
        {"7.5", 7500},
        {".5", 500},
        {"1.234567891234567", 1234}, /* below a nanosecond is cut */
        {"1.999999999999999", 1999},
        {"-1.5", -1500},
        {"-0.001", -1},
        {"-5203826211381.154", -5203826211381154},
        {"9223372036854774.807", 9223372036854774807}, /* just below 2^63 ns, the largest microsecond taken */
        {"", 0},
        {"-", 0},
        {"abc", 0},
        {".", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check_context("%s", cases[i].us);
        CHECK_EQ_I64(oc_json_ns_from_us(text_of(cases[i].us)), cases[i].ns);
    }
}

static void times_that_cannot_be_are_the_largest(void) {
    static const char *const texts[] = {
        "9223372036854775807", "99999999999999999999", "18446744073709551617" /* 2^64 + 1 */, "1e300", "-1e300", "1e99999"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        check_context("%s", texts[i]);
        CHECK_EQ_I64(oc_json_ns_from_us(text_of(texts[i])), texts[i][0] == '-' ? -INT64_MAX : INT64_MAX);
    }
}

/* json.h: "exact for any decimal fraction down to 1 ns, never through floating point". */
static void exponents_are_exact_too(void) {
    static const struct {
        const char *us;
        int64_t ns;
    } cases[] = {
        {"1.5e+07", 15000000000},
        {"1.5E7", 15000000000},
        {"1e3", 1000000},
        {"2.5e-1", 250},
        {"1e-3", 1},
        {"-1.5e+01", -15000},
        {"0e0", 0},
        {"1.001e+00", 1001}, /* 1.001 * 1000 is 1000.9999999999999 in doubles */
        {"1.0010e3", 1001000},
        {"5.203826211381154e+12", 5203826211381154},
        {"5.203826211381155e12", 5203826211381155},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check_context("%s", cases[i].us);
        CHECK_EQ_I64(oc_json_ns_from_us(text_of(cases[i].us)), cases[i].ns);
    }
}

static void whole_numbers_are_exact(void) {
    CHECK_EQ_U64(oc_json_u64(text_of("0")), 0);
    CHECK_EQ_U64(oc_json_u64(text_of("9007199254740993")), 9007199254740993u);         /* 2^53 + 1, which no double holds */
    CHECK_EQ_U64(oc_json_u64(text_of("9223372036854775809")), 9223372036854775809u);   /* 2^63 + 1 */
    CHECK_EQ_U64(oc_json_u64(text_of("10159970886766084423")), 10159970886766084423u); /* a communicator's number in a real trace */
    CHECK_EQ_U64(oc_json_u64(text_of("18446744073709551615")), UINT64_MAX);
    CHECK_EQ_U64(oc_json_u64(text_of("18446744073709551616")), UINT64_MAX);
    CHECK_EQ_U64(oc_json_u64(text_of("1844674407370955161500000000")), UINT64_MAX);
    CHECK_EQ_U64(oc_json_u64(text_of("4096.0")), 4096);
    CHECK_EQ_U64(oc_json_u64(text_of("1.5e9")), 1500000000);
    CHECK_EQ_U64(oc_json_u64(text_of("1.048576E+6")), 1048576);
    CHECK_EQ_U64(oc_json_u64(text_of("4096000e-3")), 4096);
    CHECK_EQ_I64(oc_json_i64(text_of("-2e3")), -2000);
    CHECK_EQ_I64(oc_json_i64(text_of("9e300")), INT64_MAX);
    CHECK_EQ_U64(oc_json_u64(text_of("12x")), 12);
    CHECK_EQ_U64(oc_json_u64(text_of("x12")), 0);
    CHECK_EQ_U64(oc_json_u64(text_of("")), 0);
    CHECK_EQ_I64(oc_json_i64(text_of("-9007199254740993")), -9007199254740993);
    CHECK_EQ_I64(oc_json_i64(text_of("9223372036854775807")), INT64_MAX);
    CHECK_EQ_I64(oc_json_i64(text_of("9223372036854775808")), INT64_MAX); /* the nearest that there is */
    CHECK_EQ_I64(oc_json_i64(text_of("-9223372036854775807")), -INT64_MAX);
    CHECK_EQ_I64(oc_json_i64(text_of("-")), 0);
    CHECK_EQ_I64(oc_json_i64(text_of("-1")), -1);
    CHECK_EQ_I64(oc_json_i64(text_of("true")), 0);
}

/* ---- cleaning ---- */

static int damage;

static const char *clean(const char *raw, size_t length) {
    static char out[300];
    char *exact = malloc(length ? length : 1);
    if (!exact)
        return NULL;
    memcpy(exact, raw, length);
    damage = 0;
    size_t written = oc_json_clean((oc_text){exact, length}, out, sizeof out - 1, &damage);
    free(exact);
    out[written] = 0;
    return out;
}

static void escapes_are_resolved(void) {
    static const struct {
        const char *raw, *clean;
    } cases[] = {
        {"plain", "plain"},
        {"a\\\"b", "a\"b"},
        {"a\\\\b", "a\\b"},
        {"a\\/b", "a/b"},
        {"a\\n\\t\\r\\b\\fb", "a     b"} /* one blank for each */,
        {"\\u0041", "A"},
        {"\\u00e9", "\xc3\xa9"},
        {"\\u20AC", "\xe2\x82\xac"},
        {"\\ud83d\\ude00", "\xf0\x9f\x98\x80"},
        {"\\uD83D\\uDE00!", "\xf0\x9f\x98\x80!"},
        {"\\u0001", " "}, /* no control bytes in what is shown */
        {"\\ud83d", "?"}, /* half of a pair */
        {"\\ud83dx", "?x"},
        {"\\ude00", "?"},
        {"\\ud83d\\u0041", "?A"},
        {"\\ud83d\\ud83d", "??"},
        {"torch\\cuda\\__init__.py", "torchcuda__init__.py"}, /* a bad escape is its own character */
        {"\\u12", "u12"},
        {"\\uzzzz", "uzzzz"},
        {"end\\", "end\\"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check_context("%s", cases[i].raw);
        CHECK_EQ_TEXT(clean(cases[i].raw, strlen(cases[i].raw)), cases[i].clean);
    }
    (void)clean("a\\nb", 4);
    CHECK_EQ_I64(damage, 0); /* escapes are no damage */
}

static void what_is_no_utf8_is_replaced(void) {
    static const struct {
        const char *raw, *clean;
    } cases[] = {
        {"a\x01"
         "b\x1f",
         "a?b?"},
        {"\xf0\x9f\x98", "???"} /* cut */,
        {"\xc3", "?"},
        {"\xff\xfe", "??"},
        {"\x80", "?"},
        {"\xc0\xaf", "??"} /* overlong */,
        {"\xc1\xbf", "??"},
        {"\xe0\x80\x80", "???"},
        {"\xed\xa0\x80", "???"} /* a surrogate */,
        {"\xf0\x80\x80\x80", "????"},
        {"\xf4\x90\x80\x80", "????"},
        {"\xf5\x80\x80\x80", "????"},
        {"\xe2\x82"
         "a",
         "??a"},
        {"ok\xf0"
         "ok",
         "ok?ok"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check_context("case %zu", i);
        CHECK_EQ_TEXT(clean(cases[i].raw, strlen(cases[i].raw)), cases[i].clean);
        CHECK_EQ_I64(damage, 1);
        CHECK(!oc_json_is_clean(text_of(cases[i].raw)));
    }
    CHECK_EQ_TEXT(clean("a\0b", 3), "a?b");
    CHECK_EQ_I64(damage, 1);
}

static void good_text_stays_as_it_is(void) {
    static const char *const texts[] = {"",
                                        "aten::add",
                                        "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80",
                                        "\xf4\x8f\xbf\xbf" /* the last character */,
                                        "\xed\x9f\xbf",
                                        "\xee\x80\x80",
                                        "\xc2\x80"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        check_context("text %zu", i);
        CHECK(oc_json_is_clean(text_of(texts[i])));
        CHECK_EQ_TEXT(clean(texts[i], strlen(texts[i])), texts[i]);
        CHECK_EQ_I64(damage, 0);
    }
}

static void cleaning_ends_at_the_capacity(void) {
    char out[20];
    for (size_t capacity = 0; capacity <= sizeof out; capacity++) {
        memset(out, '#', sizeof out);
        damage = 0;
        check_context("capacity %zu", capacity);
        size_t length =
            oc_json_clean(text_of("\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80"), out,
                          capacity, &damage);
        CHECK(length <= capacity);
        CHECK_EQ_I64(length % 4, 0); /* never half a character */
        CHECK(oc_json_is_clean((oc_text){out, length}));
        for (size_t i = length; i < sizeof out; i++)
            CHECK_EQ_I64(out[i], '#');
    }
}

CHECK_MAIN(CHECK_TEST(members_are_walked_in_order), CHECK_TEST(strings_hold_anything_but_a_quote), CHECK_TEST(damage_is_told),
           CHECK_TEST(skipping_minds_strings), CHECK_TEST(texts_are_compared_whole_or_from_the_start),
           CHECK_TEST(microseconds_become_exact_nanoseconds), CHECK_TEST(times_that_cannot_be_are_the_largest),
           CHECK_TEST(exponents_are_exact_too), CHECK_TEST(whole_numbers_are_exact), CHECK_TEST(escapes_are_resolved),
           CHECK_TEST(what_is_no_utf8_is_replaced), CHECK_TEST(good_text_stays_as_it_is), CHECK_TEST(cleaning_ends_at_the_capacity))

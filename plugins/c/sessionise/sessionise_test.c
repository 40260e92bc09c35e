#include <string.h>

#include "twin.h"

enum { SIZE = 1000 };
#define NONE TM_NULL
#define NOWHEN TM_NO_TIME

/* Window i of ann's. */
static tm_fired window(int64_t i, tm_records records)
{
    return (tm_fired){.key = "ann", .start = i * SIZE, .end = (i + 1) * SIZE, .watermark = (i + 1) * SIZE - 1, .records = records};
}

static tm_fired revised(uint32_t revision, tm_fired f)
{
    f.revision = revision;
    return f;
}

/* A step of a test: a firing, and the rows of the results and of bounces, in their order. */
typedef struct {
    const char *name;
    tm_fired f;
    tm_value rows[3][6];
    tm_value bounces[3][2];
} step;

static void walk(const step *steps, size_t n)
{
    tm_twin *t = tm_twin_new(&tm_plugin, (tm_value[]){TM_I(100)});
    for (size_t i = 0; i < n; i++) {
        size_t told = 0, bounced = 0, fine = 1;
        tm_rows got = tm_twin_fire(t, &steps[i].f, 1);
        fine &= !tm_twin_error(t);
        for (size_t k = 0; k < got.len; k++)
            if (got.at[k].output == 0 && told < 3)
                fine &= tm_gave(got, k, 0, 0, steps[i].rows[told++], 6);
            else
                fine &= bounced < 3 && tm_gave(got, k, 0, 1, steps[i].bounces[bounced++], 2);
        fine &= told == 3 || !steps[i].rows[told][0].kind;       /* no more is wanted */
        fine &= bounced == 3 || !steps[i].bounces[bounced][0].kind;
        if (!fine)
            tm_fail(__FILE__, __LINE__, steps[i].name);
    }
    tm_twin_free(t);
}

#define WALK(...) walk((const step[]){__VA_ARGS__}, sizeof((const step[]){__VA_ARGS__}) / sizeof(step))
#define R(...) TM_RECORDS(__VA_ARGS__)
#define P(time, page) TM_AT(time, TM_S(page))
#define TOLD(start, end, events, entry, exit, open) {TM_T(start), TM_T(end), TM_I(events), entry, exit, TM_B(open)}
#define BOUNCED(at, page) {TM_T(at), page}

static void test_within_a_window(void)
{
    WALK({"a pause of the gap still belongs to it", window(0, R(P(10, "a"), P(110, "b"))), {TOLD(10, 110, 2, TM_S("a"), TM_S("b"), false)}, {{NONE}}},
         {"one more does not", window(1, R(P(1010, "a"), P(1111, "b"))), {{NONE}}, {BOUNCED(1010, TM_S("a")), BOUNCED(1111, TM_S("b"))}},
         {"records come in any order", window(2, R(P(2300, "d"), P(2050, "b"), P(2010, "a"), P(2310, "e"))),
          {TOLD(2010, 2050, 2, TM_S("a"), TM_S("b"), false), TOLD(2300, 2310, 2, TM_S("d"), TM_S("e"), false)}, {{NONE}}},
         {"equal times in order of arrival", window(3, R(P(3020, "x"), P(3010, "a"), P(3010, "b"), P(3010, "c"), P(3020, "y"))),
          {TOLD(3010, 3020, 5, TM_S("a"), TM_S("y"), false)}, {{NONE}}},
         {"no page", window(4, R(TM_AT(4010, NONE), P(4020, ""), TM_AT(4300, NONE))), {TOLD(4010, 4020, 2, NONE, NONE, false)}, {BOUNCED(4300, NONE)}},
         {"no time", window(5, R(P(NOWHEN, "a"), P(5010, "b"), P(NOWHEN, "c"), P(5020, "d"))), {TOLD(5010, 5020, 2, TM_S("b"), TM_S("d"), false)}, {{NONE}}},
         {"nothing with a time", window(6, R(P(NOWHEN, "a"))), {{NONE}}, {{NONE}}});
}

static void test_over_windows(void)
{
    WALK({"open where a record of the next window can join", window(0, R(P(10, "a"), P(890, "b"), P(900, "c"))),
          {TOLD(890, 900, 2, TM_S("b"), TM_S("c"), true)}, {BOUNCED(10, TM_S("a"))}},
         {"goes on, and is closed", window(1, R(P(1000, "d"), P(1050, "e"), P(1200, "f"))), {TOLD(890, 1050, 4, TM_S("b"), TM_S("e"), false)}, {BOUNCED(1200, TM_S("f"))}},
         {"a single record too", window(2, R(P(2950, "g"))), {TOLD(2950, 2950, 1, TM_S("g"), TM_S("g"), true)}, {{NONE}}},
         {"over before the first record", window(3, R(P(3051, "h"), TM_AT(3990, NONE))), {TOLD(3990, 3990, 1, NONE, NONE, true)},
          {BOUNCED(2950, TM_S("g")), BOUNCED(3051, TM_S("h"))}},
         {"a window without times closes it", window(4, R(P(NOWHEN, "i"))), {{NONE}}, {BOUNCED(3990, NONE)}},
         {"once", window(5, R(P(NOWHEN, "i"))), {{NONE}}, {{NONE}}});
}

static void test_updates(void)
{
    WALK({"open", window(0, R(P(899, "a"), P(950, "b"))), {TOLD(899, 950, 2, TM_S("a"), TM_S("b"), true)}, {{NONE}}},
         {"a late record joins it", revised(1, window(0, R(P(899, "a"), P(950, "b"), P(990, "c")))), {TOLD(899, 990, 3, TM_S("a"), TM_S("c"), true)}, {{NONE}}},
         {"the next window has it as it was", window(1, R(P(1040, "d"))), {TOLD(899, 1040, 3, TM_S("a"), TM_S("d"), false)}, {{NONE}}},
         {"an update begins with what its first firing had", revised(1, window(1, R(P(1040, "d"), P(1045, "e")))),
          {TOLD(899, 1045, 4, TM_S("a"), TM_S("e"), false)}, {{NONE}}},
         {"and again", revised(2, window(1, R(P(1040, "d"), P(1500, "f")))), {TOLD(899, 1040, 3, TM_S("a"), TM_S("d"), false)}, {BOUNCED(1500, TM_S("f"))}},
         {"what it leaves open is handed on by nobody", revised(3, window(1, R(P(1950, "g")))),
          {TOLD(899, 950, 2, TM_S("a"), TM_S("b"), false), TOLD(1950, 1950, 1, TM_S("g"), TM_S("g"), true)}, {{NONE}}},
         {"nothing was", window(2, R(P(2010, "h"), P(2020, "i"))), {TOLD(2010, 2020, 2, TM_S("h"), TM_S("i"), false)}, {{NONE}}});
}

static void test_windows_out_of_order(void)
{
    WALK({"open", window(5, R(P(5950, "a"))), {TOLD(5950, 5950, 1, TM_S("a"), TM_S("a"), true)}, {{NONE}}},
         {"begins with nothing, and takes its place", window(2, R(P(2010, "b"), P(2020, "c"))), {TOLD(2010, 2020, 2, TM_S("b"), TM_S("c"), false)}, {{NONE}}},
         {"so that it is gone", window(6, R(P(6010, "d"), P(6020, "e"))), {TOLD(6010, 6020, 2, TM_S("d"), TM_S("e"), false)}, {{NONE}}});
}

/* A session handed over within one call, what is kept, and what a cleanup takes away. */
static void test_states(void)
{
    tm_twin *t = tm_twin_new(&tm_plugin, (tm_value[]){TM_I(100)});
    tm_fired bob = window(1, R(P(1500, "x")));
    bob.key = "bob";
    tm_rows got = tm_twin_fire(t, (const tm_fired[]){window(0, R(P(950, "a"))), bob, window(1, R(P(1010, "bc")))}, 3);
    TM_CHECK(got.len == 3);
    TM_CHECK(TM_GAVE(got, 0, 0, 0, TM_T(950), TM_T(950), TM_I(1), TM_S("a"), TM_S("a"), TM_B(true)));
    TM_CHECK(TM_GAVE(got, 1, 1, 1, TM_T(1500), TM_S("x")));
    TM_CHECK(TM_GAVE(got, 2, 2, 0, TM_T(950), TM_T(1010), TM_I(2), TM_S("a"), TM_S("bc"), TM_B(false)));
    TM_CHECK(tm_twin_key_state(t, "ann").len == 0 && tm_twin_key_state(t, "bob").len == 0);
    static const unsigned char handed[] = {0xb6, 3, 0, 0, 0, 0, 0, 0, 0xb6, 3, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 'a', 1, 'a'}; /* 950 is 0x3b6 */
    tm_acc kept = tm_twin_window_state(t, "ann", 1000, 2000);
    TM_CHECK(kept.len == sizeof handed && memcmp(kept.bytes, handed, sizeof handed) == 0);
    TM_CHECK(tm_twin_window_state(t, "ann", 0, 1000).len == 0);

    tm_twin_clean(t, "ann", 1000, 2000);
    tm_fired late = revised(1, window(1, R(P(1010, "b"), P(1020, "c"))));
    TM_CHECK(TM_GAVE(tm_twin_fire(t, &late, 1), 0, 0, 0, TM_T(1010), TM_T(1020), TM_I(2), TM_S("b"), TM_S("c"), TM_B(false)));
    tm_fired open = window(2, R(P(2950, "d"))), next = window(3, R(P(3010, "e"), P(3020, "f")));
    tm_twin_fire(t, &open, 1);
    TM_CHECK(tm_twin_key_state(t, "ann").len == 28);
    tm_twin_expire(t, "ann");
    TM_CHECK(TM_GAVE(tm_twin_fire(t, &next, 1), 0, 0, 0, TM_T(3010), TM_T(3020), TM_I(2), TM_S("e"), TM_S("f"), TM_B(false)));
    tm_twin_free(t);
}

/* At the end of time nothing overflows: a global window never closes what could go on. */
static void test_the_end_of_time(void)
{
    tm_twin *t = tm_twin_new(&tm_plugin, (tm_value[]){TM_I(100)});
    tm_fired f = {.start = INT64_MIN, .end = INT64_MAX, .records = R(P(INT64_MAX - 10, "a"), P(INT64_MIN + 1, "b"))};
    tm_rows got = tm_twin_fire(t, &f, 1);
    TM_CHECK(got.len == 2);
    TM_CHECK(TM_GAVE(got, 0, 0, 1, TM_T(INT64_MIN + 1), TM_S("b")));
    TM_CHECK(TM_GAVE(got, 1, 0, 0, TM_T(INT64_MAX - 10), TM_T(INT64_MAX - 10), TM_I(1), TM_S("a"), TM_S("a"), TM_B(true)));
    tm_twin_free(t);
}

static void test_arguments(void)
{
    tm_twin *t = tm_twin_new(&tm_plugin, (tm_value[]){TM_I(0)});
    TM_CHECK(tm_twin_error(t) && strcmp(tm_twin_error(t), "gap_ms must be at least 1") == 0);
    tm_twin_free(t);
    t = tm_twin_new(&tm_plugin, NULL);
    TM_CHECK(!tm_twin_error(t));
    tm_twin_free(t);
}

int main(void)
{
    test_within_a_window();
    test_over_windows();
    test_updates();
    test_windows_out_of_order();
    test_states();
    test_the_end_of_time();
    test_arguments();
    return tm_failures() > 0;
}

#include <string.h>

#include "twin.h"

#define NONE TM_NULL

static bool said(const tm_twin *t, const char *text) { return tm_twin_error(t) && strcmp(tm_twin_error(t), text) == 0; }

static void test_rows(void)
{
    tm_twin *t = tm_twin_new(&tm_plugin, (tm_value[]){TM_I(2), TM_S("p-"), TM_F(-0.5), NONE});
    tm_rows got = tm_twin_map(t, TM_RECORDS(TM_AT(1, NONE, TM_I(INT64_MIN), TM_F(3), TM_B(false), TM_S("\xc3\xa4"), TM_T(-1)),
                                            TM_AT(2, TM_S("none"), TM_I(1), TM_F(1), TM_B(true), TM_S("x"), TM_T(1)),
                                            TM_AT(3, TM_S(""), NONE, NONE, NONE, NONE, NONE),
                                            TM_AT(4, TM_S("big"), TM_I(3), TM_F(1), TM_B(true), TM_S("ab"), TM_T(1)),
                                            TM_AT(5, TM_S("big"), TM_I(-3), NONE, NONE, TM_S("ab"), NONE)));
    for (int64_t k = 0; k < 2; k++) {
        TM_CHECK(TM_GAVE(got, (size_t)k, 0, 0, TM_I(INT64_MIN), TM_F(-1.5), TM_B(false), TM_S("p-\xc3\xa4"), TM_T(-1), TM_I(k)));
        TM_CHECK(TM_GAVE(got, (size_t)k + 2, 2, 0, NONE, NONE, NONE, NONE, NONE, TM_I(k)));
    }
    TM_CHECK(TM_GAVE(got, 4, 3, 0, NONE, NONE, NONE, TM_S("ababab"), NONE, TM_I(0)));
    TM_CHECK(TM_GAVE(got, 5, 4, 0, NONE, NONE, NONE, TM_S(""), NONE, TM_I(0)));
    TM_CHECK(got.len == 6);
    tm_twin_free(t);

    t = tm_twin_new(&tm_plugin, (tm_value[]){NONE, NONE, NONE, TM_B(false)});
    TM_CHECK(tm_twin_map(t, TM_RECORDS(TM_AT(1, NONE, TM_I(1), NONE, NONE, NONE, NONE))).len == 0 && !tm_twin_error(t));
    tm_twin_free(t);
}

static void test_refusals(void)
{
    tm_twin *t = tm_twin_new(&tm_plugin, NULL);
    tm_shown good = TM_AT(1, NONE, TM_I(1), TM_F(1), NONE, TM_S("as it is"), NONE), sorry = TM_AT(2, TM_S("refuse"), NONE, NONE, NONE, TM_S("no"), NONE),
             silent = TM_AT(2, TM_S("refuse"), NONE, NONE, NONE, NONE, NONE), odd = TM_AT(2, TM_S("odd"), NONE, NONE, NONE, NONE, NONE);
    TM_CHECK(tm_twin_map(t, TM_RECORDS(good, sorry)).len == 0 && said(t, "refused: no") && tm_twin_op(t) == 1);
    TM_CHECK(tm_twin_map(t, TM_RECORDS(silent)).len == 0 && said(t, "refused: ") && tm_twin_op(t) == 0);
    TM_CHECK(tm_twin_map(t, TM_RECORDS(good, good, odd, good)).len == 0 && said(t, "unknown: odd") && tm_twin_op(t) == 2);
    TM_CHECK(TM_GAVE(tm_twin_map(t, TM_RECORDS(good)), 0, 0, 0, TM_I(1), TM_F(1), NONE, TM_S("as it is"), NONE, TM_I(0)) && !tm_twin_error(t));
    tm_twin_free(t);
    for (int64_t times = -1; times <= 1001; times += 1002) {
        t = tm_twin_new(&tm_plugin, (tm_value[]){TM_I(times), NONE, NONE, NONE});
        TM_CHECK(said(t, "times must be from 0 to 1000"));
        tm_twin_free(t);
    }
}

int main(void)
{
    test_rows();
    test_refusals();
    return tm_failures() > 0;
}

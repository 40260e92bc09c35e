#include <string.h>

#include "twin.h"

static bool said(const tm_twin *t, const char *text) { return tm_twin_error(t) && strcmp(tm_twin_error(t), text) == 0; }

static void test_windows(void)
{
    const int64_t late = INT64_MAX - 50;
    tm_twin *t = tm_twin_new(&tm_plugin, (tm_value[]){TM_I(50)});
    tm_rows got = tm_twin_assign(t, TM_RECORDS(TM_AT(100, TM_I(10)), TM_AT(100, TM_NULL), TM_AT(-100, TM_I(1)), TM_AT(late, TM_NULL),
                                               TM_AT(late, TM_I(51)), TM_AT(5, TM_I(INT64_MAX))));
    const int64_t want[][2] = {{100, 110}, {100, 150}, {-100, -99}, {late, INT64_MAX}, {late, INT64_MAX}, {5, INT64_MAX}};
    for (size_t i = 0; i < 6; i++)
        TM_CHECK(TM_GAVE(got, i, i, 0, TM_T(want[i][0]), TM_T(want[i][1])));
    TM_CHECK(got.len == 6);
    for (int64_t gap = -1; gap <= 0; gap++)
        TM_CHECK(tm_twin_assign(t, TM_RECORDS(TM_AT(1, TM_I(1)), TM_AT(2, TM_I(gap)))).len == 0 && said(t, "gap_ms must be at least 1") && tm_twin_op(t) == 1);
    tm_twin_free(t);
}

static void test_arguments(void)
{
    tm_twin *t = tm_twin_new(&tm_plugin, (tm_value[]){TM_I(0)});
    TM_CHECK(said(t, "gap_ms must be at least 1"));
    tm_twin_free(t);
    t = tm_twin_new(&tm_plugin, NULL);
    TM_CHECK(TM_GAVE(tm_twin_assign(t, TM_RECORDS(TM_AT(1, TM_NULL))), 0, 0, 0, TM_T(1), TM_T(60001)));
    tm_twin_free(t);
}

int main(void)
{
    test_windows();
    test_arguments();
    return tm_failures() > 0;
}

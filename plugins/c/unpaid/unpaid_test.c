#include <string.h>

#include "twin.h"

int main(void)
{
    tm_twin *t = tm_twin_new(&tm_plugin, (tm_value[]){TM_F(0.5)});
    tm_rows got = tm_twin_pairs(t, TM_RECORDS(TM_AT(0, TM_F(10)), TM_AT(1000, TM_F(2))), TM_RECORDS(TM_AT(0, TM_F(9.5)), TM_AT(1000, TM_F(4))));
    /* 10 with 9.5 is near enough. */
    TM_CHECK(TM_GAVE(got, 0, 1, 0, TM_F(6), TM_I(1000)));
    TM_CHECK(TM_GAVE(got, 1, 2, 0, TM_F(-7.5), TM_I(-1000)));
    TM_CHECK(TM_GAVE(got, 2, 3, 0, TM_F(-2), TM_I(0)));
    TM_CHECK(got.len == 3);

    /* Without one of the times nobody knows how long it took. */
    got = tm_twin_pairs(t, TM_RECORDS(TM_AT(TM_NO_TIME, TM_F(10))), TM_RECORDS(TM_AT(5, TM_F(1)), TM_AT(5, TM_NULL)));
    TM_CHECK(got.len == 1 && TM_GAVE(got, 0, 0, 0, TM_F(9), TM_NULL));

    got = tm_twin_pairs(t, TM_RECORDS(TM_AT(0, TM_F(10))), TM_RECORDS(TM_AT(0, TM_F(1)), TM_AT(0, TM_F(-1))));
    TM_CHECK(got.len == 0 && tm_twin_error(t) && strcmp(tm_twin_error(t), "paid is below 0") == 0 && tm_twin_op(t) == 1);
    tm_twin_free(t);
    return tm_failures() > 0;
}

#include <math.h>
#include <string.h>

#include "twin.h"

typedef struct {
    double a;
    union {
        double f;
        int64_t i;
    } b;
    double c;
} old_words;

int main(void)
{
    tm_twin *t = tm_twin_new(&tm_plugin, NULL);
    old_words first = {.a = 2.5, .b.f = 4}, second = {.a = 7, .b.i = 2, .c = 3}; /* a mean of 2.5 of 4 */
    tm_acc a = tm_twin_upgrade(t, 1, TM_KEPT_ACCUMULATOR, &first, 16), b = tm_twin_upgrade(t, 2, TM_KEPT_ACCUMULATOR, &second, 24);
    TM_CHECK(a.bytes && b.bytes);
    const tm_value *row = tm_twin_result(t, tm_twin_add(t, tm_twin_merge(t, a, b), &TM_F(4), 1));
    TM_CHECK(row && tm_same(row[0], TM_I(7)) && tm_same(row[1], TM_F(3))); /* 10 + 7 + 4 of 7 */
    row = tm_twin_result(t, tm_twin_add(t, TM_FRESH, NULL, 0));
    TM_CHECK(row && tm_same(row[0], TM_I(0)) && tm_same(row[1], TM_NULL));
    const double bad[] = {-1, 0.5, NAN, INFINITY, 9007199254740992.0};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        first.b.f = bad[i];
        TM_CHECK(!tm_twin_upgrade(t, 1, TM_KEPT_ACCUMULATOR, &first, 16).bytes && strcmp(tm_twin_error(t), "a count is not a whole number") == 0);
    }
    TM_CHECK(!tm_twin_laws(t, (const tm_value[]){TM_F(1), TM_F(2), TM_F(-4.5)}, 3));
    tm_twin_free(t);
    return tm_failures() > 0;
}

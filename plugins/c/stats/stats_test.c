#include <math.h>
#include <string.h>

#include "twin.h"

/* The row of some values: count, sum, min, max, mean. */
static void gives(const tm_value *in, size_t n, const tm_value want[5])
{
    tm_twin *t = tm_twin_new(&tm_plugin, NULL);
    const tm_value *got = tm_twin_result(t, tm_twin_add(t, TM_FRESH, in, n));
    TM_CHECK(got);
    for (int i = 0; got && i < 5; i++)
        TM_CHECK(tm_same(got[i], want[i])); /* tells -0 from 0 */
    tm_twin_free(t);
}

static void lawful(const tm_value *in, size_t n)
{
    tm_twin *t = tm_twin_new(&tm_plugin, NULL);
    TM_CHECK(!tm_twin_laws(t, in, n));
    tm_twin_free(t);
}

#define V(...) (tm_value[]){__VA_ARGS__}, sizeof((tm_value[]){__VA_ARGS__}) / sizeof(tm_value)
#define ROW(...) (tm_value[]){__VA_ARGS__}

int main(void)
{
    /* Without records there is no minimum, maximum and mean. */
    gives(NULL, 0, ROW(TM_I(0), TM_F(0), TM_NULL, TM_NULL, TM_NULL));
    gives(V(TM_F(2.5)), ROW(TM_I(1), TM_F(2.5), TM_F(2.5), TM_F(2.5), TM_F(2.5)));
    gives(V(TM_F(3), TM_F(-1), TM_F(8), TM_F(2)), ROW(TM_I(4), TM_F(12), TM_F(-1), TM_F(8), TM_F(3)));
    gives(V(TM_F(1), TM_NULL, TM_F(2)), ROW(TM_I(2), TM_F(3), TM_F(1), TM_F(2), TM_F(1.5)));
    /* A negative zero counts as zero. */
    gives(V(TM_F(-0.0)), ROW(TM_I(1), TM_F(0), TM_F(0), TM_F(0), TM_F(0)));
    gives(V(TM_F(INFINITY), TM_F(1)), ROW(TM_I(2), TM_F(INFINITY), TM_F(1), TM_F(INFINITY), TM_F(INFINITY)));

    /* NaN is refused by its record. */
    tm_twin *t = tm_twin_new(&tm_plugin, NULL);
    TM_CHECK(!tm_twin_add(t, TM_FRESH, V(TM_F(1), TM_F(NAN), TM_F(2))).bytes);
    TM_CHECK(strcmp(tm_twin_error(t), "value is NaN") == 0 && tm_twin_op(t) == 1);
    tm_twin_free(t);

    lawful(NULL, 0);
    lawful(V(TM_F(7)));
    lawful(V(TM_F(0), TM_F(-0.0)));
    lawful(V(TM_F(0.1), TM_F(0.2), TM_F(0.3), TM_F(1e6), TM_F(-4)));
    lawful(V(TM_F(5), TM_F(5), TM_NULL, TM_F(-5)));
    return tm_failures() > 0;
}

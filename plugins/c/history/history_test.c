#include <string.h>

#include "twin.h"

static tm_acc upgrade(tm_twin *t, const char *old) { return tm_twin_upgrade(t, 1, TM_KEPT_ACCUMULATOR, old, strlen(old)); }

int main(void)
{
    tm_twin *t = tm_twin_new(&tm_plugin, NULL);
    tm_acc a = upgrade(t, "a\n\nbc\n");
    TM_CHECK(a.len == 6 && memcmp(a.bytes, "\1a\0\2bc", 6) == 0);
    a = upgrade(t, "");
    TM_CHECK(a.bytes && a.len == 0);
    TM_CHECK(!upgrade(t, "a\nb").bytes && strcmp(tm_twin_error(t), "a text does not end") == 0);
    const tm_value *row = tm_twin_result(t, tm_twin_add(t, upgrade(t, "a\nb\n"), &TM_S("c"), 1));
    TM_CHECK(row && tm_same(row[0], TM_I(3)) && tm_same(row[1], TM_S("c")));
    row = tm_twin_result(t, tm_twin_add(t, TM_FRESH, NULL, 0));
    TM_CHECK(row && tm_same(row[0], TM_I(0)) && tm_same(row[1], TM_NULL));
    TM_CHECK(!tm_twin_result(t, (tm_acc){(const unsigned char *)"\5a", 2}) && strcmp(tm_twin_error(t), "accumulator is not a list: its bytes are damaged") == 0);
    TM_CHECK(!tm_twin_laws(t, (const tm_value[]){TM_S("x"), TM_S(""), TM_S("\xc3\xa4")}, 3));
    tm_twin_free(t);
    return tm_failures() > 0;
}

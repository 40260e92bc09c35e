#include <string.h>

#include "twin.h"

int main(void)
{
    tm_twin *t = tm_twin_new(&tm_plugin, NULL);
    tm_acc a = tm_twin_upgrade(t, 1, TM_KEPT_OF_SPLIT, "\5\1\0\0\0\0\0\0", 8);
    TM_CHECK(a.len == 16 && memcmp(a.bytes, "\5\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16) == 0);
    TM_CHECK(!tm_twin_upgrade(t, 1, TM_KEPT_OF_SPLIT, "\0\0\0\0\0\0\0\x80", 8).bytes && strcmp(tm_twin_error(t), "the highest time is below 0") == 0);
    TM_CHECK(!tm_twin_upgrade(t, 1, TM_KEPT_OF_SPLIT, "\0\0\0\0", 4).bytes && strcmp(tm_twin_error(t), "a state of schema 1 has 8 bytes") == 0);
    const tm_shown records[] = {{.time = 10}, {.time = 5}, {.time = 30}, {.time = 20}, {.time = 7}};
    tm_rows rows = tm_twin_watermarks(t, (tm_records){records, 5});
    TM_CHECK(rows.len == 2 && TM_GAVE(rows, 0, 1, 0, TM_T(9)) && TM_GAVE(rows, 1, 3, 0, TM_T(29)));
    tm_twin_free(t);
    t = tm_twin_new(&tm_plugin, (const tm_value[]){TM_I(0)});
    TM_CHECK(tm_twin_error(t) && strcmp(tm_twin_error(t), "n must be at least 1") == 0);
    tm_twin_free(t);
    return tm_failures() > 0;
}

#include <string.h>

#include "twin.h"

int main(void)
{
    tm_twin *t = tm_twin_new(&tm_plugin, NULL);
    tm_acc a = tm_twin_upgrade(t, 1, TM_KEPT_OF_KEY, "\1\2\0\0", 4);
    TM_CHECK(a.len == 8 && memcmp(a.bytes, "\1\2\0\0\0\0\0\0", 8) == 0);
    a = tm_twin_upgrade(t, 1, TM_KEPT_OF_WINDOW, "\xff", 1);
    TM_CHECK(a.len == 8 && memcmp(a.bytes, "\xff\0\0\0\0\0\0\0", 8) == 0);
    TM_CHECK(!tm_twin_upgrade(t, 1, TM_KEPT_OF_KEY, "\1", 1).bytes && strcmp(tm_twin_error(t), "the count of a key has 4 bytes") == 0);
    TM_CHECK(!tm_twin_upgrade(t, 1, TM_KEPT_OF_WINDOW, "\1\2\0\0", 4).bytes && strcmp(tm_twin_error(t), "the count of a window has 1 byte") == 0);

    const tm_fired firings[] = {{.key = "a", .end = 10}, {.key = "b", .end = 10}, {.key = "a", .end = 10}, {.key = "a", .start = 10, .end = 20}};
    const int64_t want[][2] = {{1, 1}, {1, 1}, {2, 2}, {3, 1}};
    tm_rows rows = tm_twin_fire(t, firings, 4);
    for (size_t i = 0; i < 4; i++)
        TM_CHECK(TM_GAVE(rows, i, i, 0, TM_I(want[i][0]), TM_I(want[i][1])));
    TM_CHECK(rows.len == 4);
    tm_twin_free(t);
    return tm_failures() > 0;
}

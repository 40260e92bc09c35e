#include <string.h>

#include "twin.h"

int main(void)
{
    tm_twin *t = tm_twin_new(&tm_plugin, (const tm_value[]){TM_I(3)});
    tm_acc a = tm_twin_upgrade(t, 1, TM_KEPT_OF_WINDOW, "258", 3);
    TM_CHECK(a.len == 8 && memcmp(a.bytes, "\2\1\0\0\0\0\0\0", 8) == 0);
    const char *bad[] = {"", "1x", "-1", "1234567890"};
    for (size_t i = 0; i < 4; i++)
        TM_CHECK(!tm_twin_upgrade(t, 1, TM_KEPT_OF_WINDOW, bad[i], strlen(bad[i])).bytes && strcmp(tm_twin_error(t), "a count is no number of 1 to 9 digits") == 0);
    const tm_shown records[7] = {0};
    const uint8_t *verdicts = tm_twin_elements(tm_twin_window(t, 0, 10), (tm_records){records, 7});
    const uint8_t want[] = {0, 0, TM_FIRED, 0, 0, TM_FIRED, 0};
    TM_CHECK(verdicts && memcmp(verdicts, want, sizeof want) == 0);
    tm_twin_free(t);
    t = tm_twin_new(&tm_plugin, (const tm_value[]){TM_I(0)});
    TM_CHECK(tm_twin_error(t) && strcmp(tm_twin_error(t), "n must be at least 1") == 0);
    tm_twin_free(t);
    return tm_failures() > 0;
}

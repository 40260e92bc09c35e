#include <string.h>

#include "twin.h"

#define NONE TM_NULL

static void says(tm_rows got, const int64_t *want, size_t n)
{
    for (size_t i = 0; i < n; i++)
        TM_CHECK(TM_GAVE(got, i, i, 0, TM_T(want[i])));
    TM_CHECK(got.len == n);
}

int main(void)
{
    tm_twin *t = tm_twin_new(&tm_plugin, (tm_value[]){TM_I(100), NONE});
    /* Slack 100 until a record is 80 behind: from there on it is 160, and with one that is
     * 300 behind 600. A flush moves time to itself; the next record says what it would. */
    says(tm_twin_watermarks(t, TM_RECORDS(TM_AT(1000, NONE), TM_AT(1200, NONE), TM_AT(1150, NONE), TM_AT(1120, NONE), TM_AT(1500, TM_S("other")))),
         (const int64_t[]){899, 1099, 1099, 1039, 1339}, 5);
    says(tm_twin_watermarks(t, TM_RECORDS(TM_AT(1200, NONE), TM_AT(1400, TM_S("flush")), TM_AT(3000, NONE))), (const int64_t[]){899, 1400, 2399}, 3);
    TM_CHECK(tm_twin_tick(t, 1 << 30).len == 0 && !tm_twin_error(t));
    tm_acc kept = tm_twin_split_state(t);
    TM_CHECK(kept.len == 16 && memcmp(kept.bytes, (const int64_t[]){3000, 300}, 16) == 0);
    tm_twin_free(t);

    t = tm_twin_new(&tm_plugin, (tm_value[]){TM_I(-1), NONE});
    TM_CHECK(tm_twin_error(t) && strcmp(tm_twin_error(t), "slack must not be negative") == 0);
    tm_twin_free(t);
    return tm_failures() > 0;
}

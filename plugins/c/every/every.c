/* A plug-in, a trigger that fires a window at every n-th record, and at nothing else. It
 * shows how the state of a trigger is upgraded. */
#include "tidemark.h"

static tm_int64_param n = TM_INT64_PARAM("n", TM_DEFAULT(2));
static tm_state state; /* an int64_t: records since the last firing */

static tm_error element(const tm_pane *p)
{
    int64_t count;
    (void)p;
    tm_get(&state, &count);
    if (++count >= tm_int64_value(&n)) {
        tm_clear(&state);
        tm_fire();
        return TM_OK;
    }
    tm_put(&state, &count);
    return TM_OK;
}

/* Schema 1 wrote the count as a decimal number. */
static tm_error from_digits(tm_kept what, tm_text old, tm_bytes *now)
{
    int64_t count = 0;
    bool good = old.len >= 1 && old.len <= 9;
    (void)what;
    for (size_t i = 0; good && i < old.len; i++) {
        good = old.at[i] >= '0' && old.at[i] <= '9';
        count = 10 * count + (old.at[i] - '0');
    }
    if (!good)
        return "a count is no number of 1 to 9 digits";
    tm_append(now, &count, sizeof count);
    return TM_OK;
}

static tm_error configure(void) { return tm_int64_value(&n) < 1 ? "n must be at least 1" : TM_OK; }

const tm_module tm_plugin = {
    .name = "every",
    .version = "2.0.0",
    .params = {&n.param},
    .configure = configure,
    .trigger = &(const tm_trigger){
        .state = &state,
        .schema = 2,
        .upgrades = {&(const tm_upgrade){.schema = 1, .rewrite = from_digits}},
        .element = element,
    },
};

/* A plug-in, a watermark generator that speaks at every n-th record of a split: no record
 * below the highest time so far is to come. It shows how the state of a generator is
 * upgraded. */
#include "tidemark.h"

static tm_int64_param n = TM_INT64_PARAM("n", TM_DEFAULT(2));

/* What the generator knows of a split, schema 2. */
typedef struct {
    int64_t high;
    int64_t records; /* since it spoke last */
} split;

static tm_state state;

static tm_error follow(const tm_record *r)
{
    split s;
    if (!tm_get(&state, &s) || r->time > s.high)
        s.high = r->time;
    if (++s.records >= tm_int64_value(&n)) {
        tm_watermark((int64_t)((uint64_t)s.high - 1)); /* wraps at the beginning of time */
        s.records = 0;
    }
    tm_put(&state, &s);
    return TM_OK;
}

/* Schema 1 spoke at every record: an int64_t high. */
static tm_error from_highest(tm_kept what, tm_text old, tm_bytes *now)
{
    split s = {0};
    (void)what;
    if (old.len != sizeof s.high)
        return "a state of schema 1 has 8 bytes";
    for (size_t i = 8; i-- > 0;)
        s.high = (int64_t)((uint64_t)s.high << 8 | (unsigned char)old.at[i]);
    if (s.high < 0)
        return "the highest time is below 0";
    tm_append(now, &s, sizeof s);
    return TM_OK;
}

static tm_error configure(void) { return tm_int64_value(&n) < 1 ? "n must be at least 1" : TM_OK; }

const tm_module tm_plugin = {
    .name = "sparse",
    .version = "2.0.0",
    .params = {&n.param},
    .configure = configure,
    .watermark = &(const tm_generator){
        .state = &state,
        .schema = 2,
        .upgrades = {&(const tm_upgrade){.schema = 1, .rewrite = from_highest}},
        .each = follow,
    },
};

/* A watermark generator that finds out by itself how far records are out of order: it lags
 * behind the highest time by twice the most that any record so far has been behind, and at
 * least by slack. A record that says that it ends a stretch, such as a flush at the end of
 * a file, moves time up to itself at once.
 *
 * A job that knows its bound should say so: this one pays for each new extreme with late
 * records. */
#include "tidemark.h"

static tm_string_in kind = TM_STRING_IN("kind", .nullable = true);
static tm_int64_param slack = TM_INT64_PARAM("slack", TM_DEFAULT(1000));
static tm_string_param flush = TM_STRING_PARAM("flush", TM_DEFAULT("flush"));

/* What the generator knows of a split. */
typedef struct {
    int64_t high;
    int64_t worst; /* the most that a record was behind, in ms */
} seen;

static tm_state state;

/* Differences wrap at the ends of time, where C says nothing. */
static int64_t minus(int64_t a, int64_t b) { return (int64_t)((uint64_t)a - (uint64_t)b); }

static tm_error follow(const tm_record *r)
{
    seen s;
    if (!tm_get(&state, &s) || r->time > s.high)
        s.high = r->time;
    else if (minus(s.high, r->time) > s.worst)
        s.worst = minus(s.high, r->time);
    tm_put(&state, &s);
    if (!tm_null(&kind.in, r->row) && tm_compare(tm_string_of(&kind, r->row), tm_string_value(&flush)) == 0) {
        tm_watermark(r->time);
        return TM_OK;
    }
    int64_t twice = (int64_t)(2 * (uint64_t)s.worst), lag = twice > tm_int64_value(&slack) ? twice : tm_int64_value(&slack);
    tm_watermark(minus(minus(s.high, lag), 1));
    return TM_OK;
}

static tm_error configure(void) { return tm_int64_value(&slack) < 0 ? "slack must not be negative" : TM_OK; }

const tm_module tm_plugin = {
    .name = "adaptive",
    .version = "1.0.0",
    .params = {&slack.param, &flush.param},
    .configure = configure,
    .watermark = &(const tm_generator){.inputs = {&kind.in}, .state = &state, .each = follow},
};

/* A window assigner for sessions whose gap stands in each record: a record keeps its
 * session open for gap_ms behind its own time. */
#include "tidemark.h"

static tm_int64_in gap = TM_INT64_IN("gap_ms", .nullable = true);
static tm_int64_param usual = TM_INT64_PARAM("gap_ms", TM_DEFAULT(60000));

static const char *const too_short = "gap_ms must be at least 1";

static tm_error assign(const tm_record *r)
{
    int64_t ms = tm_null(&gap.in, r->row) ? tm_int64_value(&usual) : tm_int64_of(&gap, r->row);
    if (ms < 1)
        return too_short;
    tm_window(r->time, r->time > INT64_MAX - ms ? INT64_MAX : r->time + ms);
    return TM_OK;
}

static tm_error configure(void) { return tm_int64_value(&usual) < 1 ? too_short : TM_OK; }

const tm_module tm_plugin = {
    .name = "own_gap",
    .version = "1.0.0",
    .params = {&usual.param},
    .configure = configure,
    .assigner = &(const tm_assigner){.inputs = {&gap.in}, .merges = true, .assign = assign},
};

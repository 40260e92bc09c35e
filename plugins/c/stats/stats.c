/* A plug-in: count, sum, minimum, maximum and mean of a column.
 *
 * It refuses NaN, which has no place in an order. Without values only count and sum
 * have a meaning, 0; min, max and mean are null. */
#include "tidemark.h"

static tm_float64_in value = TM_FLOAT64_IN("value");

static tm_int64_out count = TM_INT64_OUT("count");
static tm_float64_out sum = TM_FLOAT64_OUT("sum");
static tm_float64_out min = TM_FLOAT64_OUT("min");
static tm_float64_out max = TM_FLOAT64_OUT("max");
static tm_float64_out mean = TM_FLOAT64_OUT("mean");

/* The accumulator. min and max mean nothing while count is 0. */
typedef struct {
    int64_t count;
    double sum, min, max;
} stats;

static tm_error add(void *acc, tm_row r)
{
    stats *s = acc;
    double v = tm_float64_of(&value, r) + 0; /* makes -0 a 0: which of the two came first must not show */
    if (v != v)
        return "value is NaN";
    if (s->count == 0)
        s->min = s->max = v;
    else if (v < s->min)
        s->min = v;
    else if (v > s->max)
        s->max = v;
    s->count++;
    s->sum += v;
    return TM_OK;
}

static tm_error add_batch(tm_batch b)
{
    for (tm_row r = 0; r < b.len; r++) {
        tm_error e = add(tm_at(&b, r), r);
        if (e)
            return e;
    }
    return TM_OK;
}

static tm_error merge(void *acc, void *from)
{
    stats *s = acc, *o = from;
    if (o->count == 0)
        return TM_OK;
    if (s->count == 0) {
        *s = *o;
        return TM_OK;
    }
    s->count += o->count;
    s->sum += o->sum;
    s->min = o->min < s->min ? o->min : s->min;
    s->max = o->max > s->max ? o->max : s->max;
    return TM_OK;
}

static tm_error result(void *acc, tm_row w)
{
    const stats *s = acc;
    tm_set_int64(&count, w, s->count);
    tm_set_float64(&sum, w, s->sum);
    if (s->count > 0) {
        tm_set_float64(&min, w, s->min);
        tm_set_float64(&max, w, s->max);
        tm_set_float64(&mean, w, s->sum / (double)s->count);
    }
    return TM_OK;
}

const tm_module tm_plugin = {
    .name = "stats",
    .version = "1.0.0",
    .aggregate = &(const tm_aggregate){
        .inputs = {&value.in},
        .outputs = {&count.out, &sum.out, &min.out, &max.out, &mean.out},
        .size = sizeof(stats),
        .order_insensitive = true, /* up to the rounding of sum and mean, hence not exact */
        .add = add,
        .add_batch = add_batch,
        .merge = merge,
        .result = result,
    },
};

/* A plug-in: count and mean of a column. It shows how the accumulators of a plug-in with a
 * longer past become those of today. */
#include "tidemark.h"

static tm_float64_in value = TM_FLOAT64_IN("value");
static tm_int64_out count = TM_INT64_OUT("count");
static tm_float64_out mean = TM_FLOAT64_OUT("mean");

/* The accumulator, schema 3. */
typedef struct {
    int64_t count;
    double sum;
} sums;

/* Schema 1 kept the mean itself, and counted in floats. */
typedef struct {
    double mean, count;
} means;

/* Schema 2 kept the smallest value, too. */
typedef struct {
    double sum;
    int64_t count;
    double min;
} lowest;

static tm_error add(void *acc, tm_row r)
{
    ((sums *)acc)->count++;
    ((sums *)acc)->sum += tm_float64_of(&value, r);
    return TM_OK;
}

static tm_error merge(void *acc, void *from)
{
    ((sums *)acc)->count += ((sums *)from)->count;
    ((sums *)acc)->sum += ((sums *)from)->sum;
    return TM_OK;
}

static tm_error result(void *acc, tm_row w)
{
    const sums *s = acc;
    tm_set_int64(&count, w, s->count);
    if (s->count > 0)
        tm_set_float64(&mean, w, s->sum / (double)s->count);
    return TM_OK;
}

static tm_error from_means(const void *old, void *now)
{
    const means *o = old;
    sums *s = now;
    if (!(o->count >= 0 && o->count < 9007199254740992.0 && o->count == (double)(int64_t)o->count))
        return "a count is not a whole number";
    s->count = (int64_t)o->count;
    s->sum = o->mean * o->count;
    return TM_OK;
}

static tm_error from_lowest(const void *old, void *now)
{
    ((sums *)now)->count = ((const lowest *)old)->count;
    ((sums *)now)->sum = ((const lowest *)old)->sum;
    return TM_OK;
}

const tm_module tm_plugin = {
    .name = "mean",
    .version = "3.0.0",
    .aggregate = &(const tm_aggregate){
        .inputs = {&value.in},
        .outputs = {&count.out, &mean.out},
        .size = sizeof(sums),
        .schema = 3,
        .upgrades = {
            &(const tm_upgrade){.schema = 1, .size = sizeof(means), .convert = from_means},
            &(const tm_upgrade){.schema = 2, .size = sizeof(lowest), .convert = from_lowest},
        },
        .order_insensitive = true,
        .add = add,
        .merge = merge,
        .result = result,
    },
};

/* A plug-in for tests: what it does with a record is what the record says. */
#include "tidemark.h"

static tm_string_in mood = TM_STRING_IN("mood");
static tm_int64_out length = TM_INT64_OUT("length");

typedef struct {
    int64_t length;
} moods;

static int deep(volatile int n)
{
    volatile char piece[64] = {(char)n};
    return deep(n + 1) + piece[0];
}

static bool is(tm_text t, const char *word)
{
    size_t n = 0;
    while (word[n])
        n++;
    return tm_compare(t, (tm_text){word, n}) == 0;
}

static tm_error add(void *acc, tm_row r)
{
    tm_text m = tm_string_of(&mood, r);
    if (is(m, "error"))
        return "in no mood for this";
    if (is(m, "panic"))
        tm_panic("a fit of temper");
    if (is(m, "deep"))
        deep(1);
    do
        tm_alloc(64 << 10);
    while (is(m, "hoard"));
    ((moods *)acc)->length += (int64_t)m.len;
    return TM_OK;
}

static tm_error merge(void *acc, void *from)
{
    ((moods *)acc)->length += ((moods *)from)->length;
    return TM_OK;
}

static tm_error result(void *acc, tm_row w)
{
    tm_set_int64(&length, w, ((moods *)acc)->length);
    return TM_OK;
}

static tm_error encode(void *acc, tm_bytes *to)
{
    tm_append(to, acc, sizeof(moods));
    return TM_OK;
}

static tm_error decode(void *acc, tm_text bytes)
{
    *(moods *)acc = *(const moods *)(const void *)bytes.at;
    return TM_OK;
}

const tm_module tm_plugin = {
    .name = "moody",
    .version = "1",
    .aggregate = &(const tm_aggregate){
        .inputs = {&mood.in},
        .outputs = {&length.out},
        .size = sizeof(moods),
        .add = add,
        .merge = merge,
        .result = result,
        .encode = encode,
        .decode = decode,
    },
};

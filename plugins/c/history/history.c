/* A plug-in: how many texts there were, and which was the last. It keeps all of them, in
 * order, and shows how accumulators that vary in size are upgraded. */
#include "tidemark.h"

static tm_string_in value = TM_STRING_IN("value");
static tm_int64_out count = TM_INT64_OUT("count");
static tm_string_out last = TM_STRING_OUT("last");

/* The accumulator. Written, schema 2, it is each text behind its length. */
typedef struct {
    tm_bytes texts;
} list;

static void put(tm_bytes *to, tm_text text)
{
    tm_append_uvarint(to, text.len);
    tm_append(to, text.at, text.len);
}

static tm_error add(void *acc, tm_row r)
{
    put(&((list *)acc)->texts, tm_string_of(&value, r));
    return TM_OK;
}

static tm_error merge(void *acc, void *from)
{
    const list *o = from;
    tm_append(&((list *)acc)->texts, o->texts.at, o->texts.len);
    return TM_OK;
}

static tm_error result(void *acc, tm_row w)
{
    const list *l = acc;
    tm_text left = {(const char *)l->texts.at, l->texts.len}, text = {0};
    int64_t n = 0;
    for (uint64_t size; left.len; n++)
        if (!tm_take_uvarint(&left, &size) || size > left.len || !tm_take(&left, (size_t)size, &text))
            return "accumulator is not a list: its bytes are damaged";
    tm_set_int64(&count, w, n);
    if (n > 0)
        tm_set_string(&last, w, text);
    return TM_OK;
}

static tm_error encode(void *acc, tm_bytes *to)
{
    const list *l = acc;
    tm_append(to, l->texts.at, l->texts.len);
    return TM_OK;
}

static tm_error decode(void *acc, tm_text bytes)
{
    tm_append(&((list *)acc)->texts, bytes.at, bytes.len);
    return TM_OK;
}

/* Schema 1 ended each text with a line feed. */
static tm_error from_lines(tm_kept what, tm_text old, tm_bytes *now)
{
    (void)what;
    while (old.len) {
        tm_text text, end;
        size_t n = 0;
        while (n < old.len && old.at[n] != '\n')
            n++;
        if (!tm_take(&old, n, &text) || !tm_take(&old, 1, &end))
            return "a text does not end";
        put(now, text);
    }
    return TM_OK;
}

const tm_module tm_plugin = {
    .name = "history",
    .version = "2.0.0",
    .aggregate = &(const tm_aggregate){
        .inputs = {&value.in},
        .outputs = {&count.out, &last.out},
        .size = sizeof(list),
        .schema = 2,
        .upgrades = {&(const tm_upgrade){.schema = 1, .rewrite = from_lines}},
        .exact = true,
        .add = add,
        .merge = merge,
        .result = result,
        .encode = encode,
        .decode = decode,
    },
};

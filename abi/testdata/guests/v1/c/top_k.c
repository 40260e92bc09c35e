/* A plug-in: the k most frequent texts of a column with their counts, the most frequent
 * first and of equally frequent ones the lower, as a JSON list in one text column.
 *
 * Counts are exact: it keeps all different texts, at most 1 MiB of them with their
 * counts in one accumulator. */
#include "tidemark.h"

static tm_string_in value = TM_STRING_IN("value");
static tm_string_out top = TM_STRING_OUT("top");
static tm_int64_param k = TM_INT64_PARAM("k", TM_DEFAULT(10));

typedef struct {
    tm_text text;
    uint64_t count;
} entry;

/* The accumulator. Written, it is each different text in ascending order, its length
 * before it and its count behind it. */
typedef struct {
    entry *at;
    size_t len, room;
    bool settled; /* each text once, in ascending order */
} table;

static void put(table *t, tm_text text, uint64_t count)
{
    if (t->len == t->room) {
        size_t room = t->room * 2 + 16;
        t->at = tm_grow(t->at, t->len * sizeof *t->at, room * sizeof *t->at);
        t->room = room;
    }
    t->at[t->len++] = (entry){text, count};
    t->settled = false;
}

static int by_text(const void *a, const void *b) { return tm_compare(((const entry *)a)->text, ((const entry *)b)->text); }

static int by_count(const void *a, const void *b)
{
    uint64_t x = ((const entry *)a)->count, y = ((const entry *)b)->count;
    return x > y ? -1 : x < y;
}

static void settle(table *t)
{
    size_t n = 0;
    if (t->settled)
        return;
    tm_sort(t->at, t->len, sizeof *t->at, by_text);
    for (size_t i = 0; i < t->len; i++)
        if (n > 0 && tm_compare(t->at[n - 1].text, t->at[i].text) == 0)
            t->at[n - 1].count += t->at[i].count;
        else
            t->at[n++] = t->at[i];
    t->len = n;
    t->settled = true;
}

static tm_error add(void *acc, tm_row r)
{
    put(acc, tm_string_of(&value, r), 1);
    return TM_OK;
}

static tm_error merge(void *acc, void *from)
{
    table *o = from;
    for (size_t i = 0; i < o->len; i++)
        put(acc, o->at[i].text, o->at[i].count);
    return TM_OK;
}

static void append(tm_bytes *to, const char *text)
{
    size_t n = 0;
    while (text[n])
        n++;
    tm_append(to, text, n);
}

static void append_quoted(tm_bytes *to, tm_text text)
{
    append(to, "\"");
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.at[i];
        const char *hex = "0123456789abcdef";
        if (c == '"' || c == '\\')
            append(to, "\\");
        if (c < 0x20)
            append(to, c < 0x10 ? "\\u000" : "\\u001");
        tm_append(to, c < 0x20 ? &hex[c & 15] : text.at + i, 1);
    }
    append(to, "\"");
}

static void append_count(tm_bytes *to, uint64_t v)
{
    char digits[20];
    size_t n = sizeof digits;
    do
        digits[--n] = (char)('0' + v % 10);
    while (v /= 10);
    tm_append(to, digits + n, sizeof digits - n);
}

static tm_error result(void *acc, tm_row w)
{
    table *t = acc;
    tm_bytes out = {0};
    settle(t);
    tm_sort(t->at, t->len, sizeof *t->at, by_count); /* equal counts stay in the order of their texts */
    append(&out, "[");
    for (size_t i = 0; i < t->len && i < (size_t)tm_int64_value(&k); i++) {
        append(&out, i > 0 ? ",{\"value\":" : "{\"value\":");
        append_quoted(&out, t->at[i].text);
        append(&out, ",\"count\":");
        append_count(&out, t->at[i].count);
        append(&out, "}");
    }
    append(&out, "]");
    tm_set_string(&top, w, (tm_text){(const char *)out.at, out.len});
    return TM_OK;
}

static tm_error encode(void *acc, tm_bytes *to)
{
    table *t = acc;
    settle(t);
    for (size_t i = 0; i < t->len; i++) {
        tm_append_uvarint(to, t->at[i].text.len);
        tm_append(to, t->at[i].text.at, t->at[i].text.len);
        tm_append_uvarint(to, t->at[i].count);
    }
    return TM_OK;
}

static tm_error decode(void *acc, tm_text bytes)
{
    while (bytes.len) {
        uint64_t n, count;
        tm_text text;
        if (!tm_take_uvarint(&bytes, &n) || n > bytes.len || !tm_take(&bytes, (size_t)n, &text) || !tm_take_uvarint(&bytes, &count))
            return "accumulator is not a table of counts: its bytes are damaged";
        put(acc, text, count);
    }
    return TM_OK;
}

static tm_error configure(void)
{
    return tm_int64_value(&k) < 1 || tm_int64_value(&k) > 1000 ? "k is not from 1 to 1000" : TM_OK;
}

const tm_aggregate tm_plugin = {
    .name = "top_k",
    .version = "1.0.0",
    .inputs = {&value.in},
    .outputs = {&top.out},
    .params = {&k.param},
    .size = sizeof(table),
    .order_insensitive = true,
    .exact = true,
    .configure = configure,
    .add = add,
    .merge = merge,
    .result = result,
    .encode = encode,
    .decode = decode,
};

/* A plug-in: the exact number of different texts in a column.
 *
 * It keeps the texts themselves, so it never guesses, and one accumulator holds at
 * most 1 MiB of them. */
#include "tidemark.h"

static tm_string_in value = TM_STRING_IN("value");
static tm_int64_out distinct = TM_INT64_OUT("distinct");

/* The accumulator. Written, it is the number of its members and then each member, its
 * length before it, in ascending order: one set, one sequence of bytes, whatever the
 * order of records and merges. */
typedef struct {
    uint64_t n;     /* members in sorted */
    tm_text sorted; /* their lengths and bytes */

    tm_text *added; /* what was added since; repetitions are found when it is sorted */
    size_t len, room;
} set;

static tm_error add(void *acc, tm_row r)
{
    set *s = acc;
    if (s->len == s->room) {
        size_t room = s->room * 2 + 16;
        s->added = tm_grow(s->added, s->len * sizeof *s->added, room * sizeof *s->added);
        s->room = room;
    }
    s->added[s->len++] = tm_string_of(&value, r);
    return TM_OK;
}

static const tm_error damaged = "accumulator is not a set: its bytes are damaged";

/* Takes the next member off the beginning of a sequence; false: there is none, or the
 * bytes are damaged, which *left then shows by not being empty. */
static bool next(tm_text *left, tm_text *member)
{
    uint64_t n;
    tm_text rest = *left;
    if (!tm_take_uvarint(&rest, &n) || n > rest.len || !tm_take(&rest, (size_t)n, member))
        return false;
    *left = rest;
    return true;
}

static void put(tm_bytes *to, tm_text member)
{
    tm_append_uvarint(to, member.len);
    tm_append(to, member.at, member.len);
}

/* Puts the members of other, which is sorted too, into the set. */
static tm_error unite(set *s, tm_text other)
{
    tm_bytes out = {0};
    tm_text mine = s->sorted, a, b;
    bool some_a = next(&mine, &a), some_b = next(&other, &b);
    s->n = 0;
    while (some_a || some_b) {
        int order = !some_b ? -1 : !some_a ? 1 : tm_compare(a, b);
        put(&out, order <= 0 ? a : b);
        s->n++;
        if (order <= 0)
            some_a = next(&mine, &a);
        if (order >= 0)
            some_b = next(&other, &b);
    }
    if (mine.len || other.len)
        return damaged;
    s->sorted = (tm_text){(const char *)out.at, out.len};
    return TM_OK;
}

static int compare(const void *a, const void *b) { return tm_compare(*(const tm_text *)a, *(const tm_text *)b); }

/* Moves what was added into sorted. */
static tm_error settle(set *s)
{
    tm_bytes run = {0};
    if (s->len == 0)
        return TM_OK;
    tm_sort(s->added, s->len, sizeof *s->added, compare);
    for (size_t i = 0; i < s->len; i++)
        if (i == 0 || tm_compare(s->added[i], s->added[i - 1]))
            put(&run, s->added[i]);
    s->len = 0;
    return unite(s, (tm_text){(const char *)run.at, run.len});
}

/* Both come from decode, so there is nothing to settle. */
static tm_error merge(void *acc, void *from) { return unite(acc, ((set *)from)->sorted); }

static tm_error result(void *acc, tm_row w)
{
    tm_set_int64(&distinct, w, (int64_t)((set *)acc)->n);
    return TM_OK;
}

static tm_error encode(void *acc, tm_bytes *to)
{
    set *s = acc;
    tm_error e = settle(s);
    tm_append_uvarint(to, s->n);
    tm_append(to, s->sorted.at, s->sorted.len);
    return e;
}

static tm_error decode(void *acc, tm_text bytes)
{
    set *s = acc;
    if (!tm_take_uvarint(&bytes, &s->n))
        return damaged;
    s->sorted = bytes;
    return TM_OK;
}

const tm_aggregate tm_plugin = {
    .name = "distinct",
    .version = "1.0.0",
    .inputs = {&value.in},
    .outputs = {&distinct.out},
    .size = sizeof(set),
    .order_insensitive = true,
    .exact = true,
    .add = add,
    .merge = merge,
    .result = result,
    .encode = encode,
    .decode = decode,
};

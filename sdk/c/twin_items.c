/* Items in frames, cut anywhere, and the rows that come of them. */
#include "twin_items.h"

#ifndef __wasm__

#include <string.h>

/* A way to cut a call: how many items the first frame has and how many the others, and
 * how many bytes an answer may take; 0: all that is left. */
typedef struct {
    size_t first, each;
    uint32_t room;
    const char *name;
} cut;

/* What a call made in one way came to. */
typedef struct {
    tm_answer answer;
    tm_acc *states[2];
    bool refused;
    int64_t op;
    char message[MESSAGE_BYTES + 1];
    uint32_t most; /* bytes of the longest answer of a frame */
} outcome;

static void note(tm_twin *t, tm_answer *a, size_t item, uint32_t what, tm_text body)
{
    if (a->len == a->room) {
        size_t room = a->room * 2 + 16;
        tm_said *more = tm_own(t, room * sizeof *more);
        if (a->len)
            memcpy(more, a->at, a->len * sizeof *more);
        a->at = more;
        a->room = room;
    }
    char *bytes = tm_own(t, body.len + 1);
    memcpy(bytes, body.at, body.len);
    a->at[a->len++] = (tm_said){item, what, {bytes, body.len}};
}

/* Writes a table of states, and answers where. */
static uint32_t table(const tm_acc *states, uint32_t n)
{
    uint32_t off = tm_area(4 * (n + 1)), len = 0;
    for (uint32_t i = 0; i < n; i++)
        tm_put32(off, i + 1, len += (uint32_t)states[i].len);
    uint32_t data = tm_area(len);
    for (uint32_t i = 0; i < n; i++) {
        if (states[i].len)
            memcpy(tm_arena + data, states[i].bytes, states[i].len);
        data += (uint32_t)states[i].len;
    }
    return off;
}

/* Takes the entries of the first n items of a frame, which begins with number from. */
static void take_entries(tm_twin *t, const tm_items *w, outcome *o, size_t from, size_t n)
{
    uint32_t at = tm_frame->out, stop = at + tm_frame->out_used;
    while (at < stop) {
        tm_entry e;
        memcpy(&e, tm_arena + at, sizeof e);
        if (e.item >= n || e.size > stop - at - sizeof e)
            tm_misuse("BUG: an entry of item %u with %u bytes, of %zu items", e.item, e.size, n);
        note(t, &o->answer, from + e.item, e.what, (tm_text){(const char *)tm_arena + at + sizeof e, e.size});
        if (e.what >= KEY_STATE) {
            uint32_t sort = e.what - KEY_STATE;
            if (sort > 1 || !w->slots[sort])
                tm_misuse("BUG: a state is answered that is not kept");
            tm_text body = o->answer.at[o->answer.len - 1].body;
            o->states[sort][w->slots[sort][from + e.item]] = (tm_acc){(const unsigned char *)body.at, body.len};
        }
        at += (uint32_t)sizeof e + ((e.size + 7) & ~7u);
    }
}

/* Makes the call in one way. */
static void make(tm_twin *t, const tm_items *w, cut c, outcome *o)
{
    for (int s = 0; s < 2; s++) {
        o->states[s] = tm_own(t, (w->nstates[s] + 1) * sizeof *o->states[s]);
        if (w->nstates[s])
            memcpy(o->states[s], w->states[s], w->nstates[s] * sizeof *o->states[s]);
    }
    for (size_t from = 0; from < w->n;) {
        size_t n = from ? c.each : c.first;
        if (n > w->n - from)
            n = w->n - from;
        if (!tm_fresh_instance(t)) {
            o->refused = true;
            break;
        }
        tm_begin_frame();
        tm_frame->rows = (uint32_t)n;
        uint32_t block = tm_frame->block = tm_area(sizeof(tm_block));
        w->write(t, w, block, from, n);
        uint32_t keys = table(o->states[0], w->nstates[0]), windows = table(o->states[1], w->nstates[1]);
        tm_block_at(block)->keys = keys;
        tm_block_at(block)->nkeys = w->nstates[0];
        tm_block_at(block)->windows = windows;
        tm_block_at(block)->nwindows = w->nstates[1];
        tm_status s = tm_serve(t, w->op, c.room);
        if (s == REFUSED) {
            o->refused = true;
            if (t->op >= 0)
                t->op += (int64_t)from;
            break;
        }
        if (s == OUTPUT_FULL && (n = tm_frame->done) == 0)
            tm_misuse("what one record, pair or firing gives does not fit into the arena");
        if (tm_frame->out_used > o->most)
            o->most = tm_frame->out_used;
        take_entries(t, w, o, from, n);
        from += n;
    }
    o->op = t->op;
    memcpy(o->message, t->message, sizeof o->message);
}

static bool equal(const outcome *a, const outcome *b)
{
    if (a->refused || b->refused)
        return a->refused == b->refused && a->op == b->op && strcmp(a->message, b->message) == 0;
    if (a->answer.len != b->answer.len)
        return false;
    for (size_t i = 0; i < a->answer.len; i++) {
        const tm_said *x = &a->answer.at[i], *y = &b->answer.at[i];
        if (x->item != y->item || x->what != y->what || x->body.len != y->body.len || memcmp(x->body.at, y->body.at, x->body.len))
            return false;
    }
    return true;
}

enum { MANY = 64 }; /* longer calls are not cut at every place */

bool tm_show_items(tm_twin *t, tm_items *w, tm_answer *a)
{
    outcome *whole = tm_own(t, sizeof *whole), *alone = tm_own(t, sizeof *alone);
    make(t, w, (cut){w->n, w->n, 0, NULL}, whole);
    make(t, w, (cut){1, 1, 0, NULL}, alone);
    if (!equal(whole, alone))
        tm_misuse("%s answers something else where things are shown one by one: it must keep nothing outside of its states", t->of->name);
    if (!whole->refused && whole->most > alone->most) { /* room for the longest answer of one */
        outcome *little = tm_own(t, sizeof *little);
        make(t, w, (cut){w->n, w->n, alone->most, NULL}, little);
        if (!equal(whole, little))
            tm_misuse("%s answers something else where there is little room for the answer: it must keep nothing outside of its states", t->of->name);
    }
    for (size_t at = 1; at < w->n && w->n <= MANY; at++) {
        outcome *parts = tm_own(t, sizeof *parts);
        make(t, w, (cut){at, w->n, 0, NULL}, parts);
        if (!equal(whole, parts))
            tm_misuse("%s answers something else where a call is cut in front of number %zu: it must keep nothing outside of its states", t->of->name, at);
    }
    t->refused = whole->refused;
    t->op = whole->op;
    memcpy(t->message, whole->message, sizeof t->message);
    if (whole->refused)
        return false;
    for (int s = 0; s < 2; s++)
        if (w->nstates[s])
            memcpy(w->states[s], whole->states[s], w->nstates[s] * sizeof *w->states[s]);
    *a = whole->answer;
    return true;
}

/* ---- Rows --------------------------------------------------------------------------- */

static uint64_t word_at(tm_text body, size_t i)
{
    uint64_t v;
    memcpy(&v, body.at + 8 * i, 8);
    return v;
}

static tm_value value_of(tm_text body, uint32_t column, uint32_t kind)
{
    tm_value v = {.kind = kind};
    uint64_t word = word_at(body, 1 + column);
    if (!(word_at(body, 0) >> column & 1))
        return TM_NULL;
    switch (kind) {
    case TM_BOOL:
        v.b = word;
        break;
    case TM_STRING:
        if ((uint32_t)word + (word >> 32) > body.len)
            tm_misuse("BUG: a text outside of its row");
        v.s = (tm_text){body.at + (uint32_t)word, word >> 32};
        break;
    default:
        memcpy(&v.i, &word, 8); /* f lies in the same place */
    }
    return v;
}

tm_rows tm_rows_of(tm_twin *t, const tm_answer *a, const size_t *place, tm_output *const *(*cols)(const tm_twin *t, uint32_t output))
{
    tm_given *rows = tm_own(t, (a->len + 1) * sizeof *rows);
    size_t n = 0;
    for (size_t i = 0; i < a->len; i++) {
        const tm_said *e = &a->at[i];
        if (e->what >= KEY_STATE)
            continue;
        tm_output *const *of = cols(t, e->what);
        tm_value *values = tm_own(t, (TM_MAX_COLUMNS + 1) * sizeof *values);
        for (uint32_t k = 0; of[k]; k++)
            values[k] = value_of(e->body, k, of[k]->kind);
        rows[n++] = (tm_given){place[e->item], e->what, values};
    }
    return (tm_rows){rows, n};
}

bool tm_gave(tm_rows rows, size_t i, size_t of, uint32_t output, const tm_value *values, size_t n)
{
    if (i >= rows.len || rows.at[i].of != of || rows.at[i].output != output)
        return false;
    for (size_t k = 0; k < n; k++)
        if (!tm_same(rows.at[i].values[k], values[k]))
            return false;
    return true;
}

/* ---- Records ------------------------------------------------------------------------ */

void tm_write_list(tm_twin *t, uint32_t block, int list, tm_input *const *cols, const tm_shown *records, size_t n)
{
    uint32_t width = 0;
    while (cols[width])
        width++;
    tm_value *times = tm_own(t, (n + 1) * sizeof *times), *values = tm_own(t, (n * width + 1) * sizeof *values);
    for (size_t i = 0; i < n; i++) {
        times[i] = records[i].time == TM_NO_TIME ? TM_NULL : TM_T(records[i].time);
        if (width && !records[i].values)
            tm_misuse("record %zu has no values, and there are columns", i);
        if (width)
            memcpy(values + i * width, records[i].values, width * sizeof *values);
    }
    uint32_t at = tm_area(sizeof(tm_descriptor) * (1 + width));
    tm_block_at(block)->lists[list] = (tm_list_block){(uint32_t)n, at, 1 + width};
    tm_descriptor d = tm_column("time", TM_TIMESTAMP, true, times, 1, n);
    memcpy(tm_arena + at, &d, sizeof d);
    for (uint32_t i = 0; i < width; i++) {
        d = tm_column(cols[i]->name, cols[i]->kind, cols[i]->nullable, values + i, width, n);
        memcpy(tm_arena + at + (1 + i) * sizeof d, &d, sizeof d);
    }
}

tm_chosen tm_keep(tm_twin *t, tm_input *const *cols, tm_records records)
{
    tm_chosen k = {tm_own(t, (records.len + 1) * sizeof *k.at), tm_own(t, (records.len + 1) * sizeof *k.place), 0};
    for (size_t i = 0; i < records.len; i++)
        if (!cols[0] || !records.at[i].values || !tm_lacks(cols, records.at[i].values)) {
            k.at[k.len] = records.at[i];
            k.place[k.len++] = i;
        }
    return k;
}

#endif

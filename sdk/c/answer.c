/* Answers in entries, one behind the other in the output area (abi/SPEC.md, section 3),
 * and the texts of rows, which lie there too. */
#include "items.h"

/* Opens an entry with a body of size bytes and answers where that begins in the output
 * area; 0: there is no room, and the item is shown again in a frame that has. */
uint32_t tm_open_entry(uint32_t what, size_t size)
{
    tm_header *h = tm_now.h;
    if (tm_now.full || sizeof(tm_entry) + ((size + 7) & ~(size_t)7) > h->out_cap - h->out_used) {
        tm_now.full = true;
        return 0;
    }
    tm_entry head = {tm_now.item, what, (uint32_t)size, 0};
    tm_copy((unsigned char *)tm_here(h->out) + h->out_used, &head, sizeof head);
    h->out_used += (uint32_t)(sizeof head + size);
    return h->out_used - (uint32_t)size;
}

void tm_close_entry(void)
{
    tm_header *h = tm_now.h;
    uint32_t to = (h->out_used + 7) & ~7u;
    if (to > h->out_cap) {
        tm_now.full = true;
        return;
    }
    tm_fill((unsigned char *)tm_here(h->out) + h->out_used, 0, to - h->out_used);
    h->out_used = to;
}

void tm_put_words(uint32_t what, const uint64_t *words, uint32_t n)
{
    uint32_t at = tm_open_entry(what, n * sizeof *words);
    if (at)
        tm_copy((unsigned char *)tm_here(tm_now.h->out) + at, words, n * sizeof *words);
}

/* ---- Rows --------------------------------------------------------------------------- */

static tm_row begin_row(uint32_t what, tm_output *const *cols)
{
    static uint64_t lost[2]; /* takes what is set in a row that does not fit */
    uint32_t n = 0;
    tm_finish_row();
    while (cols[n])
        n++;
    uint32_t at = tm_open_entry(what, 8 + 8 * n);
    uint64_t *body = lost;
    if (at)
        body = tm_fill((unsigned char *)tm_here(tm_now.h->out) + at, 0, 8 + 8 * n);
    tm_now.row++;
    for (uint32_t i = 0; i < n; i++) {
        cols[i]->first = tm_now.row;
        cols[i]->rows = 1;
        cols[i]->valid = body;
        cols[i]->bit = i;
        cols[i]->data = at ? body + 1 + i : lost + 1;
    }
    tm_now.open = cols;
    tm_now.body = tm_now.texts = at;
    tm_now.row_out = tm_now.h->out_used;
    return tm_now.row;
}

void tm_finish_row(void)
{
    if (!tm_now.open)
        return;
    for (tm_output *const *c = tm_now.open; *c; c++)
        (*c)->rows = 0;
    tm_now.open = NULL;
    if (!tm_now.body)
        return;
    tm_entry *head = (tm_entry *)(void *)((unsigned char *)tm_here(tm_now.h->out) + tm_now.body) - 1;
    head->size = tm_now.h->out_used - tm_now.body;
    tm_close_entry();
}

tm_row tm_emit(void)
{
    if (!tm_now.outputs)
        tm_panic("tm_emit is for functions with rows, while one works: it was called elsewhere");
    return begin_row(0, tm_now.outputs);
}

tm_row tm_emit_side(const tm_side *s)
{
    if (!tm_now.outputs || !s->number)
        tm_panic(tm_join("a side output that tm_plugin does not name among its sides: ", (tm_text){s->name, tm_length(s->name)}));
    return begin_row(s->number, s->outputs);
}

_Noreturn void tm_no_row(const tm_output *c)
{
    tm_panic(tm_join("a column is set in a row that it does not have, or that is complete: ", (tm_text){c->name, tm_length(c->name)}));
}

void tm_set_string(tm_string_out *c, tm_row w, tm_text v)
{
    tm_header *h = tm_now.h;
    if (w - c->out.first >= c->out.rows)
        tm_no_row(&c->out);
    if (v.len > MAX_TEXTS - (h->out_used - tm_now.row_out)) {
        tm_now.large = true;
        return;
    }
    if (v.len > h->out_cap - h->out_used) {
        tm_now.full = true; /* the row is answered again, in a call with more room */
        return;
    }
    if (v.len)
        tm_copy((unsigned char *)tm_here(h->out) + h->out_used, v.at, v.len);
    ((tm_place *)c->out.data)[tm_valued(&c->out, w)] = (tm_place){h->out_used - tm_now.texts, (uint32_t)v.len};
    h->out_used += (uint32_t)v.len;
}

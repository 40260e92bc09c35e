/* Frames: what is checked of them, and how columns come to read them in place. */
#include "frame.h"

struct tm_now tm_now;

/* Checks what is cheap to check once a call: that the header and every area that it
 * names lie inside the arena. */
bool tm_open_frame(uint32_t off)
{
    if (off % 8 || off > ARENA_BYTES - HEADER_BYTES)
        return false;
    tm_header *h = tm_now.h = (tm_header *)(void *)(tm_arena + off);
    return h->size >= HEADER_BYTES && h->size <= ARENA_BYTES - off && h->rows <= MAX_COUNT && h->groups <= MAX_COUNT &&
           tm_holds(h->out, h->out_cap, 1);
}

tm_status tm_refuse(tm_error text)
{
    size_t n = tm_length(text), most = MESSAGE_BYTES < tm_now.h->out_cap ? MESSAGE_BYTES : tm_now.h->out_cap;
    if (n > most)
        for (n = most; n > 0 && (text[n] & 0xC0) == 0x80;) /* do not cut a character */
            n--;
    tm_copy(tm_here(tm_now.h->out), text, n);
    tm_now.h->out_used = (uint32_t)n;
    return REFUSED;
}

tm_status tm_full(uint32_t done)
{
    tm_now.h->done = done;
    return OUTPUT_FULL;
}

static const uint64_t no_text[1]; /* a column of texts without a blob points here */

static bool bind_input(tm_input *c, const tm_descriptor *d, uint32_t rows)
{
    uint64_t size = c->kind == TM_BOOL ? 1 : c->kind == TM_STRING ? 4 : 8;
    bool nullable = d->flags & HAS_VALIDITY;
    if (d->kind != c->kind || !tm_holds(d->data, (uint64_t)rows + (c->kind == TM_STRING), size) ||
        (nullable && !tm_holds(d->validity, (rows + 63) / 64, 8)))
        return false;
    c->valid = nullable ? tm_here(d->validity) : NULL;
    c->data = tm_here(d->data);
    c->blob = (const char *)no_text;
    if (c->kind == TM_STRING) { /* offsets that go backwards would reach out of the frame */
        const uint32_t *off = c->data;
        bool rising = tm_holds(d->blob, d->blob_size, 1) && off[rows] <= d->blob_size;
        for (uint32_t i = 0; i < rows; i++)
            rising &= off[i] <= off[i + 1];
        if (!rising)
            return false;
        c->blob = tm_here(d->blob);
    }
    return true;
}

bool tm_bind_inputs(tm_input *const *cols, uint32_t at, uint32_t ncols, uint32_t rows)
{
    uint32_t n = 0;
    while (cols[n])
        n++;
    if (ncols != n || !tm_holds(at, n, sizeof(tm_descriptor)))
        return false;
    const tm_descriptor *d = tm_here(at);
    for (uint32_t i = 0; i < n; i++)
        if (!bind_input(cols[i], &d[i], rows))
            return false;
    return true;
}

bool tm_bind_outputs(tm_output *const *cols, uint32_t rows)
{
    const tm_descriptor *d = tm_here(tm_now.h->outcols);
    uint32_t n = 0;
    while (cols[n])
        n++;
    if (tm_now.h->noutcols != n || !tm_holds(tm_now.h->outcols, n, sizeof *d))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        if (d[i].kind != cols[i]->kind || !tm_holds(d[i].validity, (rows + 63) / 64, 8) ||
            !tm_holds(d[i].data, rows, cols[i]->kind == TM_BOOL ? 1 : 8))
            return false;
        cols[i]->first = cols[i]->bit = 0;
        cols[i]->rows = rows;
        cols[i]->valid = tm_here(d[i].validity);
        cols[i]->data = tm_here(d[i].data);
    }
    return true;
}

bool tm_bind_params(tm_param *const *params)
{
    const tm_descriptor *d = tm_here(tm_now.h->cols);
    uint32_t n = 0;
    while (params[n])
        n++;
    if (tm_now.h->rows != 1 || tm_now.h->ncols != n || !tm_holds(tm_now.h->cols, n, sizeof *d))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        tm_param *p = params[i];
        tm_input c = {.kind = p->kind};
        if (!bind_input(&c, &d[i], 1))
            return false;
        p->given = !tm_null(&c, 0);
        p->number = p->kind == TM_INT64 ? *(const int64_t *)c.data : p->kind == TM_BOOL ? *(const uint8_t *)c.data : 0;
        p->real = p->kind == TM_FLOAT64 ? *(const double *)c.data : 0;
        p->text = (tm_text){(const char *)no_text, 0};
        if (p->kind == TM_STRING) { /* the frame is overwritten, the value stays */
            tm_text t = tm_string_of(&(tm_string_in){c}, 0);
            p->text = (tm_text){tm_copy(tm_alloc(t.len), t.at, t.len), t.len};
        }
    }
    return true;
}

bool tm_open_table(uint32_t off, uint32_t n, tm_table *t)
{
    if (n > MAX_COUNT || !tm_holds(off, (uint64_t)n + 1, 4))
        return false;
    t->off = tm_here(off);
    uint32_t start = off + ((4 * (n + 1) + 7) & ~7u);
    if (!tm_holds(start, t->off[n], 1))
        return false;
    t->data = tm_here(start);
    for (uint32_t i = 0; i < n; i++)
        if (t->off[i] > t->off[i + 1])
            return false;
    return true;
}

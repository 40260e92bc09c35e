/* Serves the calls of abi/SPEC.md, section 4, for both sorts of accumulator. The record
 * path is one loop; with link-time optimisation the author's add is part of it. */
#include "frame.h"

_Alignas(16) unsigned char tm_arena[ARENA_BYTES]; /* SPEC asks for 8, native compilers count on 16 */

/* The call that is being served. A guest is single-threaded, and between two calls
 * nothing of this has a meaning, but kept and ready. */
static struct {
    tm_header *h;
    bool ready;       /* configured */
    size_t kept;      /* bytes of the heap that configure took, which stay */
    size_t used;      /* bytes of the heap that are taken */
    size_t last;      /* where the piece that was taken last begins */
    uint32_t row_out; /* out_used before the current result row */
    bool full, large; /* a text did not fit into the output area; into any */
} now;

/* ---- Memory ---------------------------------------------------------------------- */

static void *take(size_t n)
{
    n = (n + 7) & ~(size_t)7;
    if (!tm_raw_heap_has(now.used + n))
        tm_panic("out of memory");
    now.last = now.used;
    now.used += n;
    return tm_raw_heap() + now.last;
}

void *tm_alloc(size_t n) { return tm_fill(take(n), 0, n); }

void *tm_grow(void *p, size_t old, size_t n)
{
    if (p && (unsigned char *)p == tm_raw_heap() + now.last) { /* grows where it is */
        now.used = now.last;
        return take(n);
    }
    void *q = take(n);
    if (p && old)
        tm_copy(q, p, old < n ? old : n);
    return q;
}

void tm_append(tm_bytes *to, const void *bytes, size_t n)
{
    if (n > to->room - to->len) {
        size_t room = to->room * 2 > to->len + n ? to->room * 2 : to->len + n + 64;
        to->at = tm_grow(to->at, to->len, room);
        to->room = room;
    }
    if (n)
        tm_copy(to->at + to->len, bytes, n);
    to->len += n;
}

void tm_append_uvarint(tm_bytes *to, uint64_t v)
{
    unsigned char b[10];
    size_t n = 0;
    for (; v >= 0x80; v >>= 7)
        b[n++] = (unsigned char)(v | 0x80);
    b[n++] = (unsigned char)v;
    tm_append(to, b, n);
}

bool tm_take(tm_text *left, size_t n, tm_text *bytes)
{
    if (n > left->len)
        return false;
    *bytes = (tm_text){left->at, n};
    *left = (tm_text){left->at + n, left->len - n};
    return true;
}

bool tm_take_uvarint(tm_text *left, uint64_t *v)
{
    *v = 0;
    for (size_t n = 0; n < left->len && n < 10; n++) {
        unsigned char b = (unsigned char)left->at[n];
        if (n == 9 && b > 1) /* more than 64 bits */
            return false;
        *v |= (uint64_t)(b & 0x7f) << (7 * n);
        if (b < 0x80) {
            *left = (tm_text){left->at + n + 1, left->len - n - 1};
            return true;
        }
    }
    return false;
}

int tm_compare(tm_text a, tm_text b)
{
    size_t n = a.len < b.len ? a.len : b.len;
    for (size_t i = 0; i < n; i++)
        if (a.at[i] != b.at[i])
            return (unsigned char)a.at[i] < (unsigned char)b.at[i] ? -1 : 1;
    return a.len < b.len ? -1 : a.len > b.len;
}

/* Merges runs of growing length, from one half of the memory to the other. */
void tm_sort(void *items, size_t n, size_t size, int (*compare)(const void *a, const void *b))
{
    unsigned char *from = items, *to = take(n * size);
    for (size_t run = 1; run < n; run *= 2) {
        for (size_t start = 0; start < n; start += 2 * run) {
            size_t a = start, middle = start + run < n ? start + run : n, b = middle;
            size_t stop = middle + run < n ? middle + run : n;
            for (size_t i = start; i < stop; i++) {
                bool left = a < middle && (b == stop || compare(from + a * size, from + b * size) <= 0);
                tm_copy(to + i * size, from + (left ? a++ : b++) * size, size);
            }
        }
        unsigned char *other = from;
        from = to;
        to = other;
    }
    if (from != items && n)
        tm_copy(items, from, n * size);
}

/* ---- Frames ---------------------------------------------------------------------- */

static void *at(uint32_t off) { return (unsigned char *)now.h + off; }

/* Whether n values of size bytes lie aligned inside the frame. */
static bool holds(uint32_t off, uint64_t n, uint64_t size)
{
    return off % 8 == 0 && off <= now.h->size && n * size <= now.h->size - off;
}

/* Checks what is cheap to check once a call: that the header and every area that it
 * names lie inside the arena. */
static bool open_frame(uint32_t off)
{
    if (off % 8 || off > ARENA_BYTES - HEADER_BYTES)
        return false;
    tm_header *h = now.h = (tm_header *)(void *)(tm_arena + off);
    return h->size >= HEADER_BYTES && h->size <= ARENA_BYTES - off && h->rows <= MAX_COUNT && h->groups <= MAX_COUNT &&
           holds(h->out, h->out_cap, 1);
}

static tm_status refuse(tm_error text)
{
    size_t n = tm_length(text), most = MESSAGE_BYTES < now.h->out_cap ? MESSAGE_BYTES : now.h->out_cap;
    if (n > most)
        for (n = most; n > 0 && (text[n] & 0xC0) == 0x80;) /* do not cut a character */
            n--;
    tm_copy(at(now.h->out), text, n);
    now.h->out_used = (uint32_t)n;
    return REFUSED;
}

static tm_status full(uint32_t done)
{
    now.h->done = done;
    return OUTPUT_FULL;
}

static const uint64_t no_text[1]; /* a column of texts without a blob points here */

static bool bind_input(tm_input *c, const tm_descriptor *d, uint32_t rows)
{
    uint64_t size = c->kind == TM_BOOL ? 1 : c->kind == TM_STRING ? 4 : 8;
    bool nullable = d->flags & HAS_VALIDITY;
    if (d->kind != c->kind || !holds(d->data, (uint64_t)rows + (c->kind == TM_STRING), size) ||
        (nullable && !holds(d->validity, (rows + 63) / 64, 8)))
        return false;
    c->valid = nullable ? at(d->validity) : NULL;
    c->data = at(d->data);
    c->blob = (const char *)no_text;
    if (c->kind == TM_STRING) { /* offsets that go backwards would reach out of the frame */
        const uint32_t *off = c->data;
        bool rising = holds(d->blob, d->blob_size, 1) && off[rows] <= d->blob_size;
        for (uint32_t i = 0; i < rows; i++)
            rising &= off[i] <= off[i + 1];
        if (!rising)
            return false;
        c->blob = at(d->blob);
    }
    return true;
}

static bool bind_inputs(tm_input *const *cols)
{
    const tm_descriptor *d = at(now.h->cols);
    uint32_t n = 0;
    while (cols[n])
        n++;
    if (now.h->ncols != n || !holds(now.h->cols, n, sizeof *d))
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (!bind_input(cols[i], &d[i], now.h->rows))
            return false;
    return true;
}

static bool bind_outputs(tm_output *const *cols)
{
    const tm_descriptor *d = at(now.h->outcols);
    uint32_t n = 0, rows = now.h->groups;
    while (cols[n])
        n++;
    if (now.h->noutcols != n || !holds(now.h->outcols, n, sizeof *d))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        if (d[i].kind != cols[i]->kind || !holds(d[i].validity, (rows + 63) / 64, 8) ||
            !holds(d[i].data, rows, cols[i]->kind == TM_BOOL ? 1 : 8))
            return false;
        cols[i]->valid = at(d[i].validity);
        cols[i]->data = at(d[i].data);
    }
    return true;
}

/* Reads the one row of arguments. */
static bool bind_params(tm_param *const *params)
{
    const tm_descriptor *d = at(now.h->cols);
    uint32_t n = 0;
    while (params[n])
        n++;
    if (now.h->rows != 1 || now.h->ncols != n || !holds(now.h->cols, n, sizeof *d))
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

void tm_set_string(tm_string_out *c, tm_row w, tm_text v)
{
    tm_header *h = now.h;
    if (v.len > MAX_TEXTS - (h->out_used - now.row_out)) {
        now.large = true;
        return;
    }
    if (v.len > h->out_cap - h->out_used) {
        now.full = true; /* the row is answered again, in a call with more room */
        return;
    }
    if (v.len)
        tm_copy((unsigned char *)at(h->out) + h->out_used, v.at, v.len);
    ((tm_place *)c->out.data)[w] = (tm_place){h->out_used, (uint32_t)v.len};
    h->out_used += (uint32_t)v.len;
    tm_set_valid(&c->out, w);
}

/* ---- Accumulators of varying size ------------------------------------------------- */

/* A row of accumulators that the host gives. */
typedef struct {
    const uint32_t *off;
    const char *data;
} row_of_accs;

static bool open_accs(uint32_t off, row_of_accs *accs)
{
    uint32_t n = now.h->groups;
    if (!holds(off, (uint64_t)n + 1, 4))
        return false;
    accs->off = at(off);
    uint32_t start = off + ((4 * (n + 1) + 7) & ~7u);
    if (!holds(start, accs->off[n], 1))
        return false;
    accs->data = at(start);
    for (uint32_t i = 0; i < n; i++)
        if (accs->off[i] > accs->off[i + 1])
            return false;
    return true;
}

static void *fresh(const tm_aggregate *a)
{
    void *acc = tm_alloc(a->size);
    if (a->init)
        a->init(acc);
    return acc;
}

static tm_error decode(const tm_aggregate *a, const row_of_accs *accs, uint32_t i, void **acc)
{
    tm_text bytes = {accs->data + accs->off[i], accs->off[i + 1] - accs->off[i]};
    *acc = fresh(a);
    return bytes.len ? a->decode(*acc, bytes) : TM_OK; /* of none, encode had nothing to say */
}

/* Appends an accumulator to the output area; fits is false when it must wait for the
 * next call. */
static tm_error answer(const tm_aggregate *a, void *acc, bool *fits)
{
    tm_bytes b = {0};
    tm_error e = a->encode(acc, &b);
    if (e)
        return e;
    if (b.len > MAX_ACC)
        return "accumulator is longer than 1 MiB";
    uint32_t padded = ((uint32_t)b.len + 3) & ~3u, len = (uint32_t)b.len;
    *fits = 4 + padded <= now.h->out_cap - now.h->out_used;
    if (!*fits)
        return TM_OK;
    unsigned char *to = (unsigned char *)at(now.h->out) + now.h->out_used;
    tm_copy(to, &len, 4);
    if (len)
        tm_copy(to + 4, b.at, len);
    tm_fill(to + 4 + len, 0, padded - len);
    now.h->out_used += 4 + padded;
    return TM_OK;
}

static tm_status vary_create(const tm_aggregate *a)
{
    for (uint32_t i = 0; i < now.h->groups; i++) {
        bool fits = false;
        now.h->op = i;
        now.used = now.kept;
        tm_error e = answer(a, fresh(a), &fits);
        if (e)
            return refuse(e);
        if (!fits)
            return full(i);
    }
    return OK;
}

static tm_status vary_add(const tm_aggregate *a, const uint32_t *group)
{
    uint32_t rows = now.h->rows, groups = now.h->groups;
    size_t width = (a->size + 7) & ~(size_t)7;
    unsigned char *accs = tm_alloc(groups * width);
    for (uint32_t g = 0; a->init && g < groups; g++)
        a->init(accs + g * width);
    for (tm_row r = 0; r < rows; r++) { /* the record path */
        now.h->op = r;
        tm_error e = a->add(accs + group[r] * width, r);
        if (e)
            return refuse(e);
    }
    now.h->op = rows; /* section 3: no record, the accumulators are being answered */
    for (uint32_t g = 0; g < groups; g++) {
        bool fits = false;
        tm_error e = answer(a, accs + g * width, &fits);
        if (e)
            return refuse(e);
        if (!fits)
            return full(g);
    }
    return OK;
}

static tm_status vary_merge(const tm_aggregate *a)
{
    row_of_accs accs, froms;
    if (!open_accs(now.h->acc, &accs) || !open_accs(now.h->from, &froms))
        return BAD_FRAME;
    for (uint32_t i = 0; i < now.h->groups; i++) {
        void *acc, *from;
        bool fits = false;
        now.h->op = i;
        now.used = now.kept;
        tm_error e = decode(a, &accs, i, &acc);
        if (!e)
            e = decode(a, &froms, i, &from);
        if (!e)
            e = a->merge(acc, from);
        if (!e)
            e = answer(a, acc, &fits);
        if (e)
            return refuse(e);
        if (!fits)
            return full(i);
    }
    return OK;
}

/* ---- Accumulators of a fixed size, in place --------------------------------------- */

static tm_status fixed_create(const tm_aggregate *a, size_t width)
{
    if (!holds(now.h->acc, now.h->groups, width))
        return BAD_FRAME;
    /* The padding is cleared too, so that equal accumulators are equal bytes. */
    tm_fill(at(now.h->acc), 0, now.h->groups * width);
    for (uint32_t i = 0; a->init && i < now.h->groups; i++) {
        now.h->op = i;
        a->init((unsigned char *)at(now.h->acc) + i * width);
    }
    return OK;
}

static tm_status fixed_add(const tm_aggregate *a, const uint32_t *group, size_t width)
{
    tm_batch b = {now.h->rows, at(now.h->acc), width, group, &now.h->op};
    if (!holds(now.h->acc, now.h->groups, width))
        return BAD_FRAME;
    if (a->add_batch) {
        tm_error e = b.len ? a->add_batch(b) : TM_OK;
        if (e)
            return refuse(e);
        if (b.len && now.h->op != b.len - 1)
            tm_panic("add_batch must take the records of a call in order, all of them");
        return OK;
    }
    for (tm_row r = 0; r < b.len; r++) { /* the record path */
        tm_error e = a->add(tm_at(&b, r), r);
        if (e)
            return refuse(e);
    }
    return OK;
}

static tm_status fixed_merge(const tm_aggregate *a, size_t width)
{
    if (!holds(now.h->acc, now.h->groups, width) || !holds(now.h->from, now.h->groups, width))
        return BAD_FRAME;
    for (uint32_t i = 0; i < now.h->groups; i++) {
        now.h->op = i;
        now.used = now.kept;
        tm_error e = a->merge((unsigned char *)at(now.h->acc) + i * width, (unsigned char *)at(now.h->from) + i * width);
        if (e)
            return refuse(e);
    }
    return OK;
}

/* ---- Calls ------------------------------------------------------------------------ */

/* The group of each record, all of them below groups; NULL: the frame is bad. */
static const uint32_t *groups_of(void)
{
    uint32_t n = now.h->rows, highest = 0;
    if (!holds(now.h->group, n, 4))
        return NULL;
    const uint32_t *group = at(now.h->group);
    for (uint32_t i = 0; i < n; i++) /* without a branch, so that no record path asks */
        highest = group[i] > highest ? group[i] : highest;
    return n == 0 || highest < now.h->groups ? group : NULL;
}

static tm_status result(const tm_aggregate *a, size_t width)
{
    row_of_accs accs = {0};
    if (width ? !holds(now.h->acc, now.h->groups, width) : !open_accs(now.h->acc, &accs))
        return BAD_FRAME;
    for (uint32_t i = 0; i < now.h->groups; i++) {
        tm_error e = TM_OK;
        void *acc = (unsigned char *)at(now.h->acc) + i * width;
        now.h->op = i;
        now.used = now.kept;
        now.row_out = now.h->out_used;
        now.full = now.large = false;
        if (!width)
            e = decode(a, &accs, i, &acc);
        if (!e)
            e = a->result(acc, i);
        if (!e && now.large)
            e = "the texts of a result row are longer than 1 MiB";
        if (e)
            return refuse(e);
        if (now.full) {
            now.h->out_used = now.row_out;
            return full(i);
        }
    }
    return OK;
}

static tm_status configure(const tm_aggregate *a)
{
    now.kept = now.used = 0;
    now.ready = false;
    if (!bind_params(a->params))
        return BAD_FRAME;
    tm_error e = a->configure ? a->configure() : TM_OK;
    if (e)
        return refuse(e);
    now.kept = now.used;
    now.ready = true;
    return OK;
}

tm_status tm_call(const tm_aggregate *a, tm_op o, uint32_t off)
{
    size_t width = tm_width(a);
    const uint32_t *group;
    if (!open_frame(off) || (o != CONFIGURE && !now.ready))
        return BAD_FRAME;
    now.used = now.kept;
    switch (o) {
    case CONFIGURE:
        return configure(a);
    case CREATE:
        return width ? fixed_create(a, width) : vary_create(a);
    case ADD:
        if (!bind_inputs(a->inputs) || !(group = groups_of()))
            return BAD_FRAME;
        return width ? fixed_add(a, group, width) : vary_add(a, group);
    case MERGE:
        return width ? fixed_merge(a, width) : vary_merge(a);
    case RESULT:
        return bind_outputs(a->outputs) ? result(a, width) : BAD_FRAME;
    }
    return BAD_FRAME;
}

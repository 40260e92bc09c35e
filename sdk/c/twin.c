/* The twin of raw_wasm32.c: in place of the exports that a host calls there is a host
 * in miniature. */
#include "twin.h"

#include "frame.h"

#ifndef __wasm__

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEAP_BYTES = 64 << 20 }; /* as a guest has at most */

static _Alignas(16) unsigned char heap[HEAP_BYTES];

unsigned char *tm_raw_heap(void) { return heap; }
bool tm_raw_heap_has(size_t n) { return n <= HEAP_BYTES; }

_Noreturn void tm_panic(const char *text)
{
    fprintf(stderr, "panic: %s\n", text);
    abort();
}

/* A piece of memory that lives as long as its twin. */
struct piece {
    struct piece *next;
    _Alignas(8) unsigned char bytes[];
};

struct tm_twin {
    const tm_aggregate *of;
    uint32_t ninputs, noutputs, nparams;
    tm_value args[TM_MAX_COLUMNS];
    bool refused;
    int64_t op;
    char message[MESSAGE_BYTES + 1], law[MESSAGE_BYTES + 512];
    struct piece *owned;
};

/* Ends a test that does what no host does. */
static _Noreturn void misuse(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("tidemark twin: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    abort();
}

static void *own(tm_twin *t, size_t n)
{
    struct piece *p = calloc(1, sizeof *p + n);
    if (!p)
        misuse("out of memory");
    p->next = t->owned;
    t->owned = p;
    return p->bytes;
}

bool tm_same(tm_value a, tm_value b)
{
    if (a.kind != b.kind)
        return false;
    switch (a.kind) {
    case 0:
        return true;
    case TM_BOOL:
        return a.b == b.b;
    case TM_STRING:
        return tm_compare(a.s, b.s) == 0;
    case TM_FLOAT64:
        return memcmp(&a.f, &b.f, sizeof a.f) == 0;
    }
    return a.i == b.i;
}

/* ---- Writing a frame --------------------------------------------------------------- */

static tm_header *const h = (tm_header *)(void *)tm_arena;
static uint32_t end; /* where the next area starts */

static void begin(void)
{
    memset(tm_arena, 0, HEADER_BYTES);
    h->op = UINT32_MAX; /* none yet */
    end = HEADER_BYTES;
}

/* Takes n bytes, zeroed. */
static uint32_t area(size_t n)
{
    uint32_t off = end;
    if (n > ARENA_BYTES - off - MESSAGE_BYTES)
        misuse("the records of a test do not fit into the arena");
    end = (uint32_t)(off + n + 7) & ~7u;
    memset(tm_arena + off, 0, end - off);
    return off;
}

static uint32_t area_of(const void *bytes, size_t n)
{
    uint32_t off = area(n);
    if (n)
        memcpy(tm_arena + off, bytes, n);
    return off;
}

static void put32(uint32_t off, size_t i, uint32_t v) { memcpy(tm_arena + off + 4 * i, &v, 4); }

static uint32_t get32(uint32_t off, size_t i)
{
    uint32_t v;
    memcpy(&v, tm_arena + off + 4 * i, 4);
    return v;
}

static bool bit(uint32_t off, size_t i) { return tm_arena[off + i / 8] >> (i % 8) & 1; }

/* Writes column k of n rows of width values. */
static tm_descriptor column(const char *name, uint32_t kind, bool nullable, const tm_value *v, size_t width, size_t n)
{
    tm_descriptor d = {.kind = kind};
    uint32_t text = 0;
    if (nullable) {
        d.flags = HAS_VALIDITY;
        d.validity = area((n + 63) / 64 * 8);
    }
    d.data = area(kind == TM_BOOL ? n : kind == TM_STRING ? 4 * (n + 1) : 8 * n);
    for (size_t i = 0; i < n; i++, v += width) {
        if (v->kind && v->kind != kind)
            misuse("record %zu: the value of %s has another type than the column", i, name);
        if (!v->kind && !nullable)
            misuse("BUG: record %zu: %s is null", i, name);
        if (v->kind && nullable)
            tm_arena[d.validity + i / 8] |= (unsigned char)(1 << (i % 8));
        if (kind == TM_STRING) {
            text += v->kind ? (uint32_t)v->s.len : 0;
            put32(d.data, i + 1, text);
        } else if (v->kind == TM_BOOL) {
            tm_arena[d.data + i] = v->b;
        } else if (v->kind) {
            memcpy(tm_arena + d.data + 8 * i, &v->i, 8); /* f lies in the same place */
        }
    }
    d.blob = area(text);
    d.blob_size = text;
    text = 0;
    for (v -= width * n; kind == TM_STRING && n > 0; n--, v += width)
        if (v->kind && v->s.len) {
            memcpy(tm_arena + d.blob + text, v->s.at, v->s.len);
            text += (uint32_t)v->s.len;
        }
    return d;
}

/* Writes a row of one accumulator. */
static uint32_t accumulator(const tm_twin *t, tm_acc acc)
{
    if (tm_width(t->of))
        return area_of(acc.bytes, tm_width(t->of));
    uint32_t off = area(8);
    put32(off, 1, (uint32_t)acc.len);
    area_of(acc.bytes, acc.len);
    return off;
}

/* Gives what is left of the arena to the answer and calls. */
static bool serve(tm_twin *t, tm_op o)
{
    h->out = end;
    h->out_cap = ARENA_BYTES - end;
    h->size = ARENA_BYTES;
    for (uint32_t i = 0; i < h->noutcols; i++) {
        tm_descriptor *d = (tm_descriptor *)(void *)(tm_arena + h->outcols) + i;
        d->blob = h->out;
        d->blob_size = h->out_cap;
    }
    t->refused = false;
    switch (tm_call(t->of, o, 0)) {
    case OK:
        return true;
    case REFUSED:
        t->refused = true;
        t->op = h->op == UINT32_MAX ? -1 : (int64_t)h->op;
        memcpy(t->message, tm_arena + h->out, h->out_used);
        t->message[h->out_used] = 0;
        return false;
    case OUTPUT_FULL:
        misuse("the answer does not fit into the arena");
    case BAD_FRAME:
        break;
    }
    misuse("BUG: the frame could not be read");
}

/* ---- Calls ------------------------------------------------------------------------- */

/* The default of a param, from its JSON, which tm_check has approved. */
static tm_value fallback(tm_twin *t, const tm_param *p)
{
    const char *s = p->fallback;
    switch (s ? p->kind : 0) {
    case TM_INT64:
        return TM_I(strtoll(s, NULL, 10));
    case TM_FLOAT64:
        return TM_F(strtod(s, NULL));
    case TM_BOOL:
        return TM_B(*s == 't');
    case TM_STRING: {
        char *text = own(t, strlen(s)), *to = text;
        for (s++; *s != '"'; s++) {
            const char *escape = *s == '\\' ? strchr("n\nt\tr\rb\bf\f", *++s) : NULL;
            *to++ = escape ? escape[1] : *s;
        }
        return TM_SN(text, (size_t)(to - text));
    }
    }
    return TM_NULL;
}

static bool configure(tm_twin *t)
{
    begin();
    h->rows = 1;
    h->ncols = t->nparams;
    h->cols = area(sizeof(tm_descriptor) * t->nparams);
    for (uint32_t i = 0; i < t->nparams; i++) {
        tm_descriptor d = column(t->of->params[i]->name, t->of->params[i]->kind, true, &t->args[i], t->nparams, 1);
        memcpy(tm_arena + h->cols + i * sizeof d, &d, sizeof d);
    }
    return serve(t, CONFIGURE);
}

/* Begins a frame of one group, on a fresh instance. */
static bool fresh_instance(tm_twin *t)
{
    if (!configure(t))
        return false;
    begin();
    h->groups = 1;
    return true;
}

/* Reads the accumulator that a call has answered. */
static tm_acc answered(tm_twin *t)
{
    uint32_t at = h->acc, len = (uint32_t)tm_width(t->of);
    if (!len) {
        len = get32(h->out, 0);
        at = h->out + 4;
        if (h->out_used != 4 + ((len + 3) & ~3u))
            misuse("BUG: %u bytes of answer for an accumulator of %u", h->out_used, len);
    }
    return (tm_acc){memcpy(own(t, len + 1), tm_arena + at, len), len};
}

static tm_acc create(tm_twin *t)
{
    if (!fresh_instance(t))
        return TM_FRESH;
    if (tm_width(t->of))
        h->acc = area(tm_width(t->of));
    return serve(t, CREATE) ? answered(t) : TM_FRESH;
}

tm_twin *tm_twin_new(const tm_aggregate *a, const tm_value *args)
{
    const char *problem = tm_check(a);
    if (problem)
        misuse("%s", problem);
    tm_twin *t = calloc(1, sizeof *t);
    if (!t)
        misuse("out of memory");
    t->of = a;
    t->op = -1;
    while (a->inputs[t->ninputs])
        t->ninputs++;
    while (a->outputs[t->noutputs])
        t->noutputs++;
    while (a->params[t->nparams]) {
        const tm_param *p = a->params[t->nparams];
        tm_value *arg = &t->args[t->nparams];
        *arg = args ? args[t->nparams] : TM_NULL;
        if (!arg->kind)
            *arg = fallback(t, p);
        if (!arg->kind && p->required) {
            t->refused = true;
            snprintf(t->message, sizeof t->message, "param %s is required", p->name);
            return t;
        }
        t->nparams++;
    }
    configure(t);
    return t;
}

void tm_twin_free(tm_twin *t)
{
    while (t->owned) {
        struct piece *p = t->owned;
        t->owned = p->next;
        free(p);
    }
    free(t);
}

const char *tm_twin_error(const tm_twin *t) { return t->refused ? t->message : NULL; }
int64_t tm_twin_op(const tm_twin *t) { return t->op; }

/* Whether the host would leave the record out. */
static bool lacks(const tm_twin *t, const tm_value *record)
{
    for (uint32_t i = 0; i < t->ninputs; i++)
        if (!record[i].kind && !t->of->inputs[i]->nullable)
            return true;
    return false;
}

tm_acc tm_twin_add(tm_twin *t, tm_acc acc, const tm_value *records, size_t n)
{
    size_t rows = 0, width = t->ninputs;
    tm_value *kept = own(t, (n * width + 1) * sizeof *kept);
    for (size_t i = 0; i < n; i++)
        if (!lacks(t, records + i * width))
            memcpy(kept + rows++ * width, records + i * width, width * sizeof *kept);
    bool fixed = tm_width(t->of);
    if (fixed && !acc.bytes && !(acc = create(t)).bytes)
        return TM_FRESH;
    if (!fresh_instance(t))
        return TM_FRESH;
    h->rows = (uint32_t)rows;
    h->ncols = t->ninputs;
    h->cols = area(sizeof(tm_descriptor) * width);
    for (uint32_t i = 0; i < t->ninputs; i++) {
        const tm_input *c = t->of->inputs[i];
        tm_descriptor d = column(c->name, c->kind, c->nullable, kept + i, width, rows);
        memcpy(tm_arena + h->cols + i * sizeof d, &d, sizeof d);
    }
    h->group = area(4 * rows);
    if (fixed)
        h->acc = accumulator(t, acc);
    if (!serve(t, ADD))
        return TM_FRESH;
    tm_acc out = answered(t);
    return fixed || !acc.bytes ? out : tm_twin_merge(t, acc, out);
}

tm_acc tm_twin_merge(tm_twin *t, tm_acc acc, tm_acc from)
{
    if (!acc.bytes && !(acc = create(t)).bytes)
        return TM_FRESH;
    if (!from.bytes && !(from = create(t)).bytes)
        return TM_FRESH;
    if (!fresh_instance(t))
        return TM_FRESH;
    h->acc = accumulator(t, acc);
    h->from = accumulator(t, from);
    return serve(t, MERGE) ? answered(t) : TM_FRESH;
}

/* Reads the value of row 0 in an output column. */
static tm_value value(tm_twin *t, const tm_descriptor *d)
{
    tm_value v = {.kind = d->kind};
    if (!bit(d->validity, 0))
        return TM_NULL;
    if (d->kind == TM_BOOL) {
        v.b = tm_arena[d->data];
    } else if (d->kind == TM_STRING) {
        size_t off = get32(d->data, 0), len = get32(d->data, 1);
        v.s = (tm_text){memcpy(own(t, len + 1), tm_arena + h->out + off, len), len};
    } else {
        memcpy(&v.i, tm_arena + d->data, 8);
    }
    return v;
}

const tm_value *tm_twin_result(tm_twin *t, tm_acc acc)
{
    if (!acc.bytes && !(acc = create(t)).bytes)
        return NULL;
    if (!fresh_instance(t))
        return NULL;
    h->acc = accumulator(t, acc);
    h->noutcols = t->noutputs;
    h->outcols = area(sizeof(tm_descriptor) * t->noutputs);
    for (uint32_t i = 0; i < t->noutputs; i++) {
        tm_descriptor d = {.kind = t->of->outputs[i]->kind, .flags = HAS_VALIDITY, .validity = area(8), .data = area(8)};
        memcpy(tm_arena + h->outcols + i * sizeof d, &d, sizeof d);
    }
    if (!serve(t, RESULT))
        return NULL;
    tm_value *row = own(t, t->noutputs * sizeof *row);
    for (uint32_t i = 0; i < t->noutputs; i++)
        row[i] = value(t, (tm_descriptor *)(void *)(tm_arena + h->outcols) + i);
    return row;
}

/* ---- Laws -------------------------------------------------------------------------- */

static const char *broken(tm_twin *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(t->law, sizeof t->law, format, args);
    va_end(args);
    return t->law;
}

/* Whether a and b are equal as far as the aggregate promises. */
static bool close_enough(const tm_twin *t, tm_value a, tm_value b)
{
    const double rounding = 1e-9; /* in parts of the larger */
    if (tm_same(a, b) || t->of->exact || a.kind != TM_FLOAT64 || b.kind != TM_FLOAT64)
        return tm_same(a, b);
    if (a.f != a.f || b.f != b.f)
        return a.f != a.f && b.f != b.f;
    double x = a.f < 0 ? -a.f : a.f, y = b.f < 0 ? -b.f : b.f, most = x > y ? x : y;
    double apart = a.f > b.f ? a.f - b.f : b.f - a.f;
    return a.f == b.f || (!__builtin_isinf(most) && apart <= rounding * (most > 1 ? most : 1));
}

/* Compares an accumulator with the one of the whole. */
static const char *compare(tm_twin *t, tm_acc whole, tm_acc acc, const char *what)
{
    if (!acc.bytes)
        return broken(t, "%s: %s", what, t->message);
    if (t->of->exact && (whole.len != acc.len || memcmp(whole.bytes, acc.bytes, acc.len)))
        return broken(t, "%s: the accumulator is not the one of a single pass, and the aggregate says that it is exact", what);
    const tm_value *want = tm_twin_result(t, whole), *got = want ? tm_twin_result(t, acc) : NULL;
    if (!got)
        return broken(t, "%s: result: %s", what, t->message);
    for (uint32_t i = 0; i < t->noutputs; i++)
        if (!close_enough(t, want[i], got[i]))
            return broken(t, "%s: %s is not what it is in a single pass", what, t->of->outputs[i]->name);
    return NULL;
}

/* Asks twice for the result; an accumulator of a fixed size lies in the frame. */
static const char *result_changes_nothing(tm_twin *t, tm_acc acc)
{
    const tm_value *first = tm_twin_result(t, acc);
    bool changed = first && tm_width(t->of) && memcmp(tm_arena + h->acc, acc.bytes, acc.len);
    const tm_value *again = first ? tm_twin_result(t, acc) : NULL;
    if (!again)
        return broken(t, "result: %s", t->message);
    if (changed)
        return broken(t, "result changed the accumulator");
    for (uint32_t i = 0; i < t->noutputs; i++)
        if (!tm_same(first[i], again[i]))
            return broken(t, "%s is something else in a second result", t->of->outputs[i]->name);
    return NULL;
}

const char *tm_twin_laws(tm_twin *t, const tm_value *records, size_t n)
{
    const char *bad;
    char what[128];
    size_t width = t->ninputs;
    tm_acc whole = tm_twin_add(t, TM_FRESH, records, n), acc = TM_FRESH;
    if (!whole.bytes)
        return broken(t, "all records: %s", t->message);
    for (size_t cut = 0; cut <= n; cut++) {
        snprintf(what, sizeof what, "merged at record %zu of %zu", cut, n);
        tm_acc a = tm_twin_add(t, TM_FRESH, records, cut), b = a.bytes ? tm_twin_add(t, TM_FRESH, records + cut * width, n - cut) : a;
        if (!b.bytes)
            return broken(t, "%s: %s", what, t->message);
        if ((bad = compare(t, whole, tm_twin_merge(t, a, b), what)))
            return bad;
        snprintf(what, sizeof what, "merged at record %zu of %zu, the parts exchanged", cut, n);
        if (t->of->order_insensitive && (bad = compare(t, whole, tm_twin_merge(t, b, a), what)))
            return bad;
    }
    for (size_t i = 0; i < n; i++)
        if (!(acc = tm_twin_add(t, acc, records + i * width, 1)).bytes)
            break;
    if (n > 0 && (bad = compare(t, whole, acc, "added one by one")))
        return bad;
    if (n > 0 && t->of->order_insensitive) {
        tm_value *back = own(t, n * width * sizeof *back + 1);
        for (size_t i = 0; i < n; i++)
            memcpy(back + (n - 1 - i) * width, records + i * width, width * sizeof *back);
        if ((bad = compare(t, whole, tm_twin_add(t, TM_FRESH, back, n), "added in reverse")))
            return bad;
    }
    return result_changes_nothing(t, whole);
}

/* ---- Checks ------------------------------------------------------------------------ */

static int failures;

void tm_fail(const char *file, int line, const char *what)
{
    failures++;
    fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, what);
}

int tm_failures(void) { return failures; }

#endif

/* What the twins of all kinds have in common: a frame is written, and served by the same
 * code as in a module. */
#include "twin_frame.h"

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

void tm_log(tm_text line) { fprintf(stderr, "%.*s\n", (int)line.len, line.at); }

/* A piece of memory that lives as long as its twin. */
struct piece {
    struct piece *next;
    _Alignas(8) unsigned char bytes[];
};

/* Ends a test that does what no host does. */
_Noreturn void tm_misuse(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("tidemark twin: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    abort();
}

void *tm_own(tm_twin *t, size_t n)
{
    struct piece *p = calloc(1, sizeof *p + n);
    if (!p)
        tm_misuse("out of memory");
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

static uint32_t end; /* where the next area starts */

void tm_begin_frame(void)
{
    memset(tm_arena, 0, HEADER_BYTES);
    tm_frame->op = UINT32_MAX; /* none yet */
    end = HEADER_BYTES;
}

/* Takes n bytes, zeroed. */
uint32_t tm_area(size_t n)
{
    uint32_t off = end;
    if (n > ARENA_BYTES - off - MESSAGE_BYTES)
        tm_misuse("the records of a test do not fit into the arena");
    end = (uint32_t)(off + n + 7) & ~7u;
    memset(tm_arena + off, 0, end - off);
    return off;
}

uint32_t tm_area_of(const void *bytes, size_t n)
{
    uint32_t off = tm_area(n);
    if (n)
        memcpy(tm_arena + off, bytes, n);
    return off;
}

void tm_put32(uint32_t off, size_t i, uint32_t v) { memcpy(tm_arena + off + 4 * i, &v, 4); }

uint32_t tm_get32(uint32_t off, size_t i)
{
    uint32_t v;
    memcpy(&v, tm_arena + off + 4 * i, 4);
    return v;
}

bool tm_bit(uint32_t off, size_t i) { return tm_arena[off + i / 8] >> (i % 8) & 1; }

/* Writes column k of n rows of width values. */
tm_descriptor tm_column(const char *name, uint32_t kind, bool nullable, const tm_value *v, size_t width, size_t n)
{
    tm_descriptor d = {.kind = kind};
    uint32_t text = 0;
    if (nullable) {
        d.flags = HAS_VALIDITY;
        d.validity = tm_area((n + 63) / 64 * 8);
    }
    d.data = tm_area(kind == TM_BOOL ? n : kind == TM_STRING ? 4 * (n + 1) : 8 * n);
    for (size_t i = 0; i < n; i++, v += width) {
        if (v->kind && v->kind != kind)
            tm_misuse("record %zu: the value of %s has another type than the column", i, name);
        if (!v->kind && !nullable)
            tm_misuse("BUG: record %zu: %s is null", i, name);
        if (v->kind && nullable)
            tm_arena[d.validity + i / 8] |= (unsigned char)(1 << (i % 8));
        if (kind == TM_STRING) {
            text += v->kind ? (uint32_t)v->s.len : 0;
            tm_put32(d.data, i + 1, text);
        } else if (v->kind == TM_BOOL) {
            tm_arena[d.data + i] = v->b;
        } else if (v->kind) {
            memcpy(tm_arena + d.data + 8 * i, &v->i, 8); /* f lies in the same place */
        }
    }
    d.blob = tm_area(text);
    d.blob_size = text;
    text = 0;
    for (v -= width * n; kind == TM_STRING && n > 0; n--, v += width)
        if (v->kind && v->s.len) {
            memcpy(tm_arena + d.blob + text, v->s.at, v->s.len);
            text += (uint32_t)v->s.len;
        }
    return d;
}

uint32_t tm_write_inputs(tm_input *const *cols, const tm_value *v, size_t n)
{
    uint32_t width = tm_count_inputs(cols);
    uint32_t off = tm_area(sizeof(tm_descriptor) * width);
    for (uint32_t i = 0; i < width; i++) {
        tm_descriptor d = tm_column(cols[i]->name, cols[i]->kind, cols[i]->nullable, v + i, width, n);
        memcpy(tm_arena + off + i * sizeof d, &d, sizeof d);
    }
    return off;
}

void tm_write_outputs(tm_output *const *cols, size_t n)
{
    uint32_t width = tm_count_outputs(cols);
    tm_frame->noutcols = width;
    tm_frame->outcols = tm_area(sizeof(tm_descriptor) * width);
    for (uint32_t i = 0; i < width; i++) {
        tm_descriptor d = {.kind = cols[i]->kind, .flags = HAS_VALIDITY, .validity = tm_area((n + 63) / 64 * 8)};
        d.data = tm_area(8 * n);
        memcpy(tm_arena + tm_frame->outcols + i * sizeof d, &d, sizeof d);
    }
}

/* Reads a value of an output column. */
static tm_value value(tm_twin *t, const tm_descriptor *d, size_t row)
{
    tm_value v = {.kind = d->kind};
    if (!tm_bit(d->validity, row))
        return TM_NULL;
    if (d->kind == TM_BOOL) {
        v.b = tm_arena[d->data + row];
    } else if (d->kind == TM_STRING) {
        size_t off = tm_get32(d->data, 2 * row), len = tm_get32(d->data, 2 * row + 1);
        v.s = (tm_text){memcpy(tm_own(t, len + 1), tm_arena + tm_frame->out + off, len), len};
    } else {
        memcpy(&v.i, tm_arena + d->data + 8 * row, 8);
    }
    return v;
}

const tm_value *tm_read_row(tm_twin *t, size_t row)
{
    tm_value *v = tm_own(t, tm_frame->noutcols * sizeof *v);
    for (uint32_t i = 0; i < tm_frame->noutcols; i++)
        v[i] = value(t, (const tm_descriptor *)(const void *)(tm_arena + tm_frame->outcols) + i, row);
    return v;
}

/* Gives room bytes of the arena to the answer, 0: all that is left, and calls. */
tm_status tm_serve(tm_twin *t, tm_op o, uint32_t room)
{
    tm_frame->out = end;
    tm_frame->out_cap = ARENA_BYTES - end;
    if (room && room < tm_frame->out_cap)
        tm_frame->out_cap = room;
    tm_frame->size = ARENA_BYTES;
    for (uint32_t i = 0; i < tm_frame->noutcols; i++) {
        tm_descriptor *d = (tm_descriptor *)(void *)(tm_arena + tm_frame->outcols) + i;
        d->blob = tm_frame->out;
        d->blob_size = tm_frame->out_cap;
    }
    t->refused = false;
    tm_status s = tm_call(t->of, o, 0);
    if (s == BAD_FRAME)
        tm_misuse("BUG: the frame could not be read");
    if (s == REFUSED) {
        t->refused = true;
        t->op = tm_frame->op == UINT32_MAX ? -1 : (int64_t)tm_frame->op;
        memcpy(t->message, tm_arena + tm_frame->out, tm_frame->out_used);
        t->message[tm_frame->out_used] = 0;
    }
    return s;
}

/* ---- Twins ------------------------------------------------------------------------- */

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
        char *text = tm_own(t, strlen(s)), *to = text;
        for (s++; *s != '"'; s++) {
            const char *escape = *s == '\\' ? strchr("n\nt\tr\rb\bf\f", *++s) : NULL;
            *to++ = escape ? escape[1] : *s;
        }
        return TM_SN(text, (size_t)(to - text));
    }
    }
    return TM_NULL;
}

bool tm_fresh_instance(tm_twin *t)
{
    tm_begin_frame();
    tm_frame->rows = 1;
    tm_frame->ncols = t->nparams;
    tm_frame->cols = tm_area(sizeof(tm_descriptor) * t->nparams);
    for (uint32_t i = 0; i < t->nparams; i++) {
        tm_descriptor d = tm_column(t->of->params[i]->name, t->of->params[i]->kind, true, &t->args[i], t->nparams, 1);
        memcpy(tm_arena + tm_frame->cols + i * sizeof d, &d, sizeof d);
    }
    return tm_serve(t, CONFIGURE, 0) == OK;
}

tm_twin *tm_twin_new(const tm_module *m, const tm_value *args)
{
    const char *problem = tm_check(m);
    if (problem)
        tm_misuse("%s", problem);
    tm_twin *t = calloc(1, sizeof *t);
    if (!t)
        tm_misuse("out of memory");
    t->of = m;
    t->op = -1;
    t->watermark = TM_NO_TIME;
    while (m->params[t->nparams]) {
        const tm_param *p = m->params[t->nparams];
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
    tm_fresh_instance(t);
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

bool tm_lacks(tm_input *const *cols, const tm_value *values)
{
    for (uint32_t i = 0; cols[i]; i++)
        if (!values[i].kind && !cols[i]->nullable)
            return true;
    return false;
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

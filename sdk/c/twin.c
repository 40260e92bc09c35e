/* The twin of aggregates, and their laws. */
#include "twin_frame.h"

#ifndef __wasm__

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const tm_aggregate *of(const tm_twin *t)
{
    if (!t->of->aggregate)
        tm_misuse("%s is no aggregate", t->of->name);
    return t->of->aggregate;
}

static uint32_t ninputs(const tm_twin *t) { return tm_count_inputs(of(t)->inputs); }
static uint32_t noutputs(const tm_twin *t) { return tm_count_outputs(of(t)->outputs); }

static bool served(tm_twin *t, tm_op o)
{
    tm_status s = tm_serve(t, o, 0);
    if (s == OUTPUT_FULL)
        tm_misuse("the answer does not fit into the arena");
    return s == OK;
}

/* Writes a row of one accumulator. */
static uint32_t accumulator(const tm_twin *t, tm_acc acc)
{
    if (tm_width(of(t)))
        return tm_area_of(acc.bytes, tm_width(of(t)));
    uint32_t off = tm_area(8);
    tm_put32(off, 1, (uint32_t)acc.len);
    tm_area_of(acc.bytes, acc.len);
    return off;
}

/* Begins a frame of one group, on a fresh instance. */
static bool fresh_frame(tm_twin *t)
{
    if (!tm_fresh_instance(t))
        return false;
    tm_begin_frame();
    tm_frame->groups = 1;
    return true;
}

/* Reads the accumulator that a call has answered. */
static tm_acc answered(tm_twin *t)
{
    uint32_t at = tm_frame->acc, len = (uint32_t)tm_width(of(t));
    if (!len) {
        len = tm_get32(tm_frame->out, 0);
        at = tm_frame->out + 4;
        if (tm_frame->out_used != 4 + ((len + 3) & ~3u))
            tm_misuse("BUG: %u bytes of answer for an accumulator of %u", tm_frame->out_used, len);
    }
    return (tm_acc){memcpy(tm_own(t, len + 1), tm_arena + at, len), len};
}

static tm_acc create(tm_twin *t)
{
    if (!fresh_frame(t))
        return TM_FRESH;
    if (tm_width(of(t)))
        tm_frame->acc = tm_area(tm_width(of(t)));
    return served(t, CREATE) ? answered(t) : TM_FRESH;
}

tm_acc tm_twin_add(tm_twin *t, tm_acc acc, const tm_value *records, size_t n)
{
    size_t rows = 0, width = ninputs(t);
    tm_value *kept = tm_own(t, (n * width + 1) * sizeof *kept);
    for (size_t i = 0; i < n; i++)
        if (!tm_lacks(of(t)->inputs, records + i * width))
            memcpy(kept + rows++ * width, records + i * width, width * sizeof *kept);
    bool fixed = tm_width(of(t));
    if (fixed && !acc.bytes && !(acc = create(t)).bytes)
        return TM_FRESH;
    if (!fresh_frame(t))
        return TM_FRESH;
    tm_frame->rows = (uint32_t)rows;
    tm_frame->ncols = (uint32_t)width;
    tm_frame->cols = tm_write_inputs(of(t)->inputs, kept, rows);
    tm_frame->group = tm_area(4 * rows);
    if (fixed)
        tm_frame->acc = accumulator(t, acc);
    if (!served(t, ADD))
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
    if (!fresh_frame(t))
        return TM_FRESH;
    tm_frame->acc = accumulator(t, acc);
    tm_frame->from = accumulator(t, from);
    return served(t, MERGE) ? answered(t) : TM_FRESH;
}

const tm_value *tm_twin_result(tm_twin *t, tm_acc acc)
{
    if (!acc.bytes && !(acc = create(t)).bytes)
        return NULL;
    if (!fresh_frame(t))
        return NULL;
    tm_frame->acc = accumulator(t, acc);
    tm_write_outputs(of(t)->outputs, 1);
    return served(t, RESULT) ? tm_read_row(t, 0) : NULL;
}

/* ---- Laws -------------------------------------------------------------------------- */

const char *tm_broken(tm_twin *t, const char *format, ...)
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
    if (tm_same(a, b) || of(t)->exact || a.kind != TM_FLOAT64 || b.kind != TM_FLOAT64)
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
        return tm_broken(t, "%s: %s", what, t->message);
    if (of(t)->exact && (whole.len != acc.len || memcmp(whole.bytes, acc.bytes, acc.len)))
        return tm_broken(t, "%s: the accumulator is not the one of a single pass, and the aggregate says that it is exact", what);
    const tm_value *want = tm_twin_result(t, whole), *got = want ? tm_twin_result(t, acc) : NULL;
    if (!got)
        return tm_broken(t, "%s: result: %s", what, t->message);
    for (uint32_t i = 0; i < noutputs(t); i++)
        if (!close_enough(t, want[i], got[i]))
            return tm_broken(t, "%s: %s is not what it is in a single pass", what, of(t)->outputs[i]->name);
    return NULL;
}

/* Asks twice for the result; an accumulator of a fixed size lies in the frame. */
static const char *result_changes_nothing(tm_twin *t, tm_acc acc)
{
    const tm_value *first = tm_twin_result(t, acc);
    bool changed = first && tm_width(of(t)) && memcmp(tm_arena + tm_frame->acc, acc.bytes, acc.len);
    const tm_value *again = first ? tm_twin_result(t, acc) : NULL;
    if (!again)
        return tm_broken(t, "result: %s", t->message);
    if (changed)
        return tm_broken(t, "result changed the accumulator");
    for (uint32_t i = 0; i < noutputs(t); i++)
        if (!tm_same(first[i], again[i]))
            return tm_broken(t, "%s is something else in a second result", of(t)->outputs[i]->name);
    return NULL;
}

const char *tm_twin_laws(tm_twin *t, const tm_value *records, size_t n)
{
    const char *bad;
    char what[128];
    size_t width = ninputs(t);
    tm_acc whole = tm_twin_add(t, TM_FRESH, records, n), acc = TM_FRESH;
    if (!whole.bytes)
        return tm_broken(t, "all records: %s", t->message);
    for (size_t cut = 0; cut <= n; cut++) {
        snprintf(what, sizeof what, "merged at record %zu of %zu", cut, n);
        tm_acc a = tm_twin_add(t, TM_FRESH, records, cut), b = a.bytes ? tm_twin_add(t, TM_FRESH, records + cut * width, n - cut) : a;
        if (!b.bytes)
            return tm_broken(t, "%s: %s", what, t->message);
        if ((bad = compare(t, whole, tm_twin_merge(t, a, b), what)))
            return bad;
        snprintf(what, sizeof what, "merged at record %zu of %zu, the parts exchanged", cut, n);
        if (of(t)->order_insensitive && (bad = compare(t, whole, tm_twin_merge(t, b, a), what)))
            return bad;
    }
    for (size_t i = 0; i < n; i++)
        if (!(acc = tm_twin_add(t, acc, records + i * width, 1)).bytes)
            break;
    if (n > 0 && (bad = compare(t, whole, acc, "added one by one")))
        return bad;
    if (n > 0 && of(t)->order_insensitive) {
        tm_value *back = tm_own(t, n * width * sizeof *back + 1);
        for (size_t i = 0; i < n; i++)
            memcpy(back + (n - 1 - i) * width, records + i * width, width * sizeof *back);
        if ((bad = compare(t, whole, tm_twin_add(t, TM_FRESH, back, n), "added in reverse")))
            return bad;
    }
    if ((bad = result_changes_nothing(t, whole)))
        return bad;
    return tm_in_one_call(t, records, n);
}

#endif

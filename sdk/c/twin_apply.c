/* Many operations of an aggregate in one call, against single calls. */
#include "twin_frame.h"

#ifndef __wasm__

#include <string.h>

static size_t results(const tm_operation *ops, size_t n)
{
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        k += ops[i].what == APPLY_RESULT;
    return k;
}

bool tm_twin_apply(tm_twin *t, tm_agenda *a)
{
    const tm_aggregate *of = t->of->aggregate;
    size_t width = tm_width(of);
    if (!tm_fresh_instance(t))
        return false;
    tm_begin_frame();
    tm_frame->rows = (uint32_t)a->nops;
    tm_frame->groups = (uint32_t)a->naccs;
    tm_frame->block = tm_area(sizeof(tm_block));
    tm_block b = {.items = tm_area_of(a->ops, a->nops * sizeof *a->ops), .results = (uint32_t)results(a->ops, a->nops)};
    b.lists[0] = (tm_list_block){(uint32_t)a->nrecords, tm_write_inputs(of->inputs, a->records, a->nrecords), tm_count_inputs(of->inputs)};
    memcpy(tm_arena + tm_frame->block, &b, sizeof b);
    tm_frame->acc = tm_area(a->naccs * width);
    for (size_t i = 0; i < a->naccs; i++)
        memcpy(tm_arena + tm_frame->acc + i * width, a->accs[i].bytes, width);
    tm_write_outputs(of->outputs, b.results);
    tm_status s = tm_serve(t, APPLY, a->room);
    if (s == REFUSED)
        return false;
    a->done = s == OUTPUT_FULL ? tm_frame->done : a->nops;
    for (size_t i = 0; i < a->naccs; i++)
        a->accs[i] = (tm_acc){memcpy(tm_own(t, width), tm_arena + tm_frame->acc + i * width, width), width};
    a->nrows = results(a->ops, a->done);
    a->rows = tm_own(t, a->nrows * sizeof *a->rows);
    for (size_t i = 0; i < a->nrows; i++)
        a->rows[i] = tm_read_row(t, i);
    return true;
}

/* Two accumulators and what happens to them, in a list and by single calls. */
typedef struct {
    tm_operation *ops;
    const tm_value **want; /* results */
    size_t nops, nwant;
    tm_acc now[2];
} course;

static void then(course *c, uint32_t what, uint32_t acc, size_t arg) { c->ops[c->nops++] = (tm_operation){what, acc, (uint32_t)arg, 0}; }

/* Whether the accumulator gave a result. */
static bool show(tm_twin *t, course *c, uint32_t acc)
{
    then(c, APPLY_RESULT, acc, c->nwant);
    return (c->want[c->nwant++] = tm_twin_result(t, c->now[acc]));
}

/* Gives the accumulators the records by turns, asks for results on the way, empties one
 * half-way, and lets the other take it in at the end. */
const char *tm_in_one_call(tm_twin *t, const tm_value *records, size_t n)
{
    const tm_aggregate *of = t->of->aggregate;
    size_t width = tm_count_inputs(of->inputs), noutputs = tm_count_outputs(of->outputs), kept = 0;
    if (!tm_applies(of))
        return NULL;
    tm_value *shown = tm_own(t, (n * width + 1) * sizeof *shown);
    for (size_t i = 0; i < n; i++)
        if (!tm_lacks(of->inputs, records + i * width))
            memcpy(shown + kept++ * width, records + i * width, width * sizeof *shown);
    const tm_acc fresh = tm_twin_add(t, TM_FRESH, NULL, 0);
    course c = {.now = {fresh, fresh}};
    c.ops = tm_own(t, (2 * kept + 3) * sizeof *c.ops);
    c.want = tm_own(t, (kept + 1) * sizeof *c.want);
    bool good = fresh.bytes;
    for (size_t i = 0; good && i < kept; i++) {
        uint32_t acc = i % 2;
        then(&c, APPLY_RECORD, acc, i);
        c.now[acc] = tm_twin_add(t, c.now[acc], shown + i * width, 1);
        good = c.now[acc].bytes && (i % 3 || show(t, &c, acc)); /* records without a result between them too */
        if (i == kept / 2) {
            then(&c, APPLY_RESET, 0, 0);
            c.now[0] = fresh;
        }
    }
    if (good) {
        then(&c, APPLY_MERGE, 1, 0);
        c.now[1] = tm_twin_merge(t, c.now[1], c.now[0]);
        good = c.now[1].bytes && show(t, &c, 1);
    }
    if (!good)
        return tm_broken(t, "beside one call: %s", t->message);

    tm_acc accs[] = {fresh, fresh};
    tm_agenda a = {.ops = c.ops, .nops = c.nops, .records = shown, .nrecords = kept, .accs = accs, .naccs = 2};
    if (!tm_twin_apply(t, &a))
        return tm_broken(t, "in one call: %s", t->message);
    if (a.done < a.nops)
        tm_misuse("the answer does not fit into the arena");
    if (memcmp(accs[1].bytes, c.now[1].bytes, accs[1].len))
        return tm_broken(t, "in one call: the accumulator is not the one of single calls");
    for (size_t i = 0; i < c.nwant; i++)
        for (size_t k = 0; k < noutputs; k++)
            if (!tm_same(a.rows[i][k], c.want[i][k]))
                return tm_broken(t, "in one call: %s of result %zu is not what it is by single calls", of->outputs[k]->name, i);
    return NULL;
}

#endif

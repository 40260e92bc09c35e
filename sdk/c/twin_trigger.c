/* The twin of triggers: windows with their states and timers. */
#include "twin_items.h"

#ifndef __wasm__

#include <string.h>

struct tm_window_twin {
    tm_twin *twin;
    int64_t start, end;
    tm_acc state;
    tm_times timers[2]; /* in order, each once */
};

/* Operations on one window. */
typedef struct {
    const tm_window_twin *window;
    const tm_pane_data *ops;
    const tm_shown *records; /* of elements, as many as operations; else NULL */
} some_ops;

void tm_twin_present(tm_twin *t, int64_t watermark, int64_t now, bool ending)
{
    t->watermark = watermark;
    t->now = now;
    t->ending = ending;
}

tm_window_twin *tm_twin_window(tm_twin *t, int64_t start, int64_t end)
{
    if (!t->of->trigger)
        tm_misuse("%s is no trigger", t->of->name);
    tm_window_twin *w = tm_own(t, sizeof *w);
    *w = (tm_window_twin){.twin = t, .start = start, .end = end};
    return w;
}

tm_acc tm_twin_state(const tm_window_twin *w) { return w->state.len ? w->state : TM_FRESH; }
tm_times tm_twin_timers(const tm_window_twin *w, tm_domain d) { return w->timers[d]; }

static void write_ops(tm_twin *t, const tm_items *w, uint32_t block, size_t from, size_t n)
{
    const some_ops *s = w->of;
    uint32_t items = tm_area(n * sizeof(tm_pane_data));
    tm_block_at(block)->items = items;
    for (size_t i = 0; i < n; i++) {
        tm_pane_data d = s->ops[from + i];
        d.start = s->window->start;
        d.end = s->window->end;
        d.watermark = t->watermark;
        d.now = t->now;
        d.row = s->records ? (uint32_t)i : 0;
        d.flags = t->ending ? ENDING : 0;
        memcpy(tm_arena + items + i * sizeof d, &d, sizeof d);
    }
    tm_write_list(t, block, 0, t->of->trigger->inputs, s->records ? s->records + from : NULL, s->records ? n : 0);
}

/* Takes a timer out of a list, and puts it in anew if it is set. */
static void change(tm_twin *t, tm_times *list, int64_t time, bool set)
{
    int64_t *next = tm_own(t, (list->len + 1) * sizeof *next);
    size_t n = 0, i = 0;
    for (; i < list->len && list->at[i] < time; i++)
        next[n++] = list->at[i];
    if (i < list->len && list->at[i] == time)
        i++;
    if (set)
        next[n++] = time;
    for (; i < list->len; i++)
        next[n++] = list->at[i];
    *list = (tm_times){next, n};
}

/* Shows operations on a window, and takes what is answered to all; NULL: refused. */
static uint8_t *call(tm_window_twin *p, const tm_pane_data *ops, size_t n, const tm_shown *records, tm_acc from)
{
    tm_twin *t = p->twin;
    some_ops s = {p, ops, records};
    tm_acc states[2] = {p->state, from};
    tm_items w = {.op = TRIGGER, .n = n, .write = write_ops, .of = &s};
    if (t->of->trigger->state) {
        w.slots[0] = tm_own(t, (n + 1) * sizeof(uint32_t)); /* the window's is 0 */
        w.states[0] = states;
        w.nstates[0] = 2;
    }
    tm_answer a = {0};
    if (!tm_show_items(t, &w, &a))
        return NULL;
    uint8_t *verdicts = tm_own(t, n + 1);
    for (size_t i = 0; i < a.len; i++) {
        const tm_said *e = &a.at[i];
        uint64_t word = 0;
        if (e->what >= KEY_STATE)
            continue;
        if (e->body.len != sizeof word || e->what > DELETE_TIMER + 1)
            tm_misuse("a trigger answered an entry of kind %u", e->what);
        memcpy(&word, e->body.at, sizeof word);
        if (e->what == VERDICT)
            verdicts[e->item] = (uint8_t)word;
        else
            change(t, &p->timers[(e->what - SET_TIMER) % 2], (int64_t)word, e->what < DELETE_TIMER);
        if ((word & PURGE) && e->what == VERDICT && !t->of->trigger->may_purge)
            tm_misuse("%s purges, and does not say .may_purge", t->of->name);
    }
    p->state = states[0];
    return verdicts;
}

const uint8_t *tm_twin_elements(tm_window_twin *p, tm_records records)
{
    tm_twin *t = p->twin;
    tm_chosen k = tm_keep(t, t->of->trigger->inputs, records);
    tm_pane_data *ops = tm_own(t, (k.len + 1) * sizeof *ops);
    for (size_t i = 0; i < k.len; i++)
        ops[i] = (tm_pane_data){.what = ELEMENT, .time = k.at[i].time};
    const uint8_t *given = call(p, ops, k.len, k.at, TM_FRESH);
    if (!given) {
        if (t->op >= 0)
            t->op = (int64_t)k.place[t->op];
        return NULL;
    }
    uint8_t *verdicts = tm_own(t, records.len + 1);
    for (size_t i = 0; i < k.len; i++)
        verdicts[k.place[i]] = given[i];
    return verdicts;
}

/* Shows one operation without a record. */
static uint8_t one(tm_window_twin *p, tm_pane_data op, tm_acc from)
{
    const uint8_t *given = call(p, &op, 1, NULL, from);
    return given ? given[0] : 0;
}

uint8_t tm_twin_timer(tm_window_twin *p, tm_domain d, int64_t time)
{
    change(p->twin, &p->timers[d], time, false);
    return one(p, (tm_pane_data){.what = d == TM_EVENT_TIME ? EVENT_TIMER : PROCESSING_TIMER, .time = time}, TM_FRESH);
}

void tm_twin_clear(tm_window_twin *p)
{
    one(p, (tm_pane_data){.what = CLEAR_PANE}, TM_FRESH);
    p->state = TM_FRESH;
}

void tm_twin_merge_windows(tm_window_twin *p, const tm_window_twin *old)
{
    if (!p->twin->of->trigger->merge)
        tm_misuse("%s has no merge, so that a host uses it with no session", p->twin->of->name);
    one(p, (tm_pane_data){.what = MERGE_PANES, .from = 1}, old->state);
}

#endif

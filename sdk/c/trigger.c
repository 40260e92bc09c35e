/* Triggers: operations on windows, with verdicts, timers and a state. */
#include "items.h"

static tm_timestamp_in time; /* of the records; an operation has its own */

static void decide(uint32_t bit)
{
    if (!tm_now.decides)
        tm_panic("tm_fire and tm_purge are for the functions element and timer of a trigger");
    tm_now.verdict |= bit;
}

void tm_fire(void) { decide(FIRE); }
void tm_purge(void) { decide(PURGE); }

static void change_timer(uint32_t what, int64_t at)
{
    if (tm_now.serving != TRIGGER)
        tm_panic("tm_set_timer and tm_delete_timer are for triggers, while one works");
    tm_put_words(what, (uint64_t[]){(uint64_t)at}, 1);
}

void tm_set_timer(tm_domain d, int64_t at) { change_timer(SET_TIMER + d, at); }
void tm_delete_timer(tm_domain d, int64_t at) { change_timer(DELETE_TIMER + d, at); }

/* The author's function for an operation; NULL: there is none. */
static tm_error (*function_for(const tm_trigger *t, uint32_t what))(const tm_pane *)
{
    switch (what) {
    case ELEMENT:
        return t->element;
    case EVENT_TIMER:
    case PROCESSING_TIMER:
        return t->timer;
    case MERGE_PANES:
        return t->merge;
    }
    return t->clear;
}

static tm_error show_pane(const void *of, const void *items, uint32_t i)
{
    const tm_trigger *t = of;
    const tm_pane_data *d = (const tm_pane_data *)items + i;
    bool global = d->start == INT64_MIN && d->end == INT64_MAX;
    tm_error (*fn)(const tm_pane *) = function_for(t, d->what);
    const tm_pane p = {d->row,       d->time, d->what == PROCESSING_TIMER ? TM_PROCESSING_TIME : TM_EVENT_TIME,
                       d->start,     d->end,  global ? d->end : d->end - 1,
                       d->watermark, d->now,  d->flags & ENDING};
    if (t->state) {
        t->state->slot = d->slot;
        t->state->other = d->what == MERGE_PANES ? d->from : UINT32_MAX;
    }
    tm_now.decides = d->what <= PROCESSING_TIMER;
    tm_now.verdict = 0;
    tm_error e = fn ? fn(&p) : TM_OK;
    tm_now.decides = false;
    if (!e && tm_now.verdict)
        tm_put_words(VERDICT, (uint64_t[]){tm_now.verdict}, 1);
    return e;
}

/* Whether the operations are such, and name rows and slots that the frame has. */
static bool in_bounds(const tm_trigger *t, const tm_block *b, const tm_pane_data *ops)
{
    for (uint32_t i = 0; i < tm_now.h->rows; i++) {
        const tm_pane_data *d = &ops[i];
        if (d->what > CLEAR_PANE || !tm_has_slot(t->state, d->slot, b->nkeys) || (d->what == ELEMENT && d->row >= b->lists[0].rows) ||
            (d->what == MERGE_PANES && !tm_has_slot(t->state, d->from, b->nkeys)))
            return false;
    }
    return true;
}

tm_status tm_serve_trigger(const tm_trigger *t)
{
    const tm_block *b = tm_open_block();
    const tm_pane_data *ops = b ? tm_open_items(b, sizeof *ops) : NULL;
    if (!ops || !tm_open_list(&b->lists[0], &time, t->inputs) || !tm_open_states(t->state, KEY_STATE, b->keys, b->nkeys) || !in_bounds(t, b, ops))
        return BAD_FRAME;
    return tm_show(tm_now.h->rows, show_pane, t, ops);
}

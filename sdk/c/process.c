/* Process functions: firings of windows, with the records and the states that they have. */
#include "items.h"

static tm_error show_firing(const void *of, const void *items, uint32_t i)
{
    const tm_process *p = of;
    const tm_firing_data *d = (const tm_firing_data *)items + i;
    tm_list *const lists[] = {p->left ? p->left : p->records, p->right};
    for (int k = 0; k < 2; k++)
        if (lists[k]) {
            lists[k]->from = d->lists[k].from;
            lists[k]->to = d->lists[k].to;
        }
    if (p->key_state)
        p->key_state->slot = d->key;
    if (p->window_state)
        p->window_state->slot = d->window;
    const tm_firing f = {i, d->start, d->end, d->watermark, d->now, d->revision};
    return p->each(&f);
}

/* Whether the firings name rows and slots that the frame has. */
static bool in_bounds(const tm_process *p, const tm_block *b, const tm_firing_data *firings)
{
    for (uint32_t i = 0; i < tm_now.h->rows; i++) {
        const tm_firing_data *d = &firings[i];
        for (int k = 0; k < 2; k++)
            if (d->lists[k].from > d->lists[k].to || d->lists[k].to > b->lists[k].rows)
                return false;
        if (!tm_has_slot(p->key_state, d->key, b->nkeys) || !tm_has_slot(p->window_state, d->window, b->nwindows))
            return false;
    }
    return true;
}

tm_status tm_serve_process(const tm_process *p)
{
    const tm_block *b = tm_open_block();
    const tm_firing_data *firings = b ? tm_open_items(b, sizeof *firings) : NULL;
    tm_list *const lists[] = {p->left ? p->left : p->records, p->right};
    if (!firings || !tm_bind_inputs(p->inputs, tm_now.h->cols, tm_now.h->ncols, tm_now.h->rows))
        return BAD_FRAME;
    for (int k = 0; k < 2; k++)
        if (lists[k] && !tm_open_list(&b->lists[k], &lists[k]->time, lists[k]->cols))
            return BAD_FRAME;
    if (!tm_open_states(p->key_state, KEY_STATE, b->keys, b->nkeys) || !tm_open_states(p->window_state, WINDOW_STATE, b->windows, b->nwindows) ||
        !in_bounds(p, b, firings))
        return BAD_FRAME;
    for (uint32_t k = 0; p->sides[k]; k++)
        p->sides[k]->number = k + 1;
    tm_now.outputs = p->outputs;
    return tm_show(tm_now.h->rows, show_firing, p, firings);
}

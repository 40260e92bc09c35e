/* Watermark generators: the records of a split, or the clock, and one state. */
#include "items.h"

static tm_timestamp_in time;

static tm_error show_timed(const void *of, const void *items, uint32_t i)
{
    (void)items;
    const tm_record r = tm_record_at(&time, i);
    return ((const tm_generator *)of)->each(&r);
}

static tm_error show_clock(const void *of, const void *items, uint32_t i)
{
    (void)items;
    return ((const tm_generator *)of)->tick(tm_timestamp_of(&time, i));
}

tm_status tm_serve_generator(const tm_generator *g, tm_op o)
{
    static tm_input *const none[] = {NULL};
    if (o == TICK && !g->tick)
        return OK;
    const tm_block *b = tm_open_block();
    if (!b || !tm_open_list(&b->lists[0], &time, o == TICK ? none : g->inputs) || b->lists[0].rows != tm_now.h->rows)
        return BAD_FRAME;
    if (g->state && (b->nkeys != 1 || !tm_open_states(g->state, KEY_STATE, b->keys, 1)))
        return BAD_FRAME;
    if (g->state)
        g->state->slot = 0;
    return tm_show(tm_now.h->rows, o == TICK ? show_clock : show_timed, g, NULL);
}

void tm_watermark(int64_t at)
{
    if (tm_now.serving != WATERMARK && tm_now.serving != TICK)
        tm_panic("tm_watermark is for watermark generators, while one works");
    tm_put_words(0, (uint64_t[]){1, (uint64_t)at}, 2); /* a row of one column, which has a value */
}

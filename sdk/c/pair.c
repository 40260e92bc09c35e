/* Pair functions: two records at a time, of two lists that a frame has each once. */
#include "items.h"

static tm_timestamp_in times[2];

static tm_error show_pair(const void *of, const void *items, uint32_t i)
{
    const tm_pair_data *d = (const tm_pair_data *)items + i;
    const tm_pair p = {tm_record_at(&times[0], d->left), tm_record_at(&times[1], d->right), d->time};
    return ((const tm_pairs *)of)->each(&p);
}

tm_status tm_serve_pairs(const tm_pairs *p)
{
    const tm_block *b = tm_open_block();
    const tm_pair_data *pairs = b ? tm_open_items(b, sizeof *pairs) : NULL;
    if (!pairs || !tm_open_list(&b->lists[0], &times[0], p->left) || !tm_open_list(&b->lists[1], &times[1], p->right))
        return BAD_FRAME;
    for (uint32_t i = 0; i < tm_now.h->rows; i++)
        if (pairs[i].left >= b->lists[0].rows || pairs[i].right >= b->lists[1].rows)
            return BAD_FRAME;
    tm_now.outputs = p->outputs;
    return tm_show(tm_now.h->rows, show_pair, p, pairs);
}

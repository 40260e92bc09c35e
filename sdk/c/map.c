/* Functions of single records, and window assigners, which are shown the same. */
#include "items.h"

static tm_timestamp_in time;

/* Opens a frame of n records. */
static bool open_records(tm_input *const *cols)
{
    const tm_block *b = tm_open_block();
    return b && tm_open_list(&b->lists[0], &time, cols) && b->lists[0].rows == tm_now.h->rows;
}

static tm_error show_record(const void *of, const void *items, uint32_t i)
{
    (void)items;
    const tm_record r = tm_record_at(&time, i);
    return ((const tm_map *)of)->each(&r);
}

tm_status tm_serve_map(const tm_map *m)
{
    if (!open_records(m->inputs))
        return BAD_FRAME;
    tm_now.outputs = m->outputs;
    return tm_show(tm_now.h->rows, show_record, m, NULL);
}

/* ---- Window assigners --------------------------------------------------------------- */

static tm_error show_timed(const void *of, const void *items, uint32_t i)
{
    (void)items;
    const tm_record r = tm_record_at(&time, i);
    return ((const tm_assigner *)of)->assign(&r);
}

tm_status tm_serve_assigner(const tm_assigner *a)
{
    return open_records(a->inputs) ? tm_show(tm_now.h->rows, show_timed, a, NULL) : BAD_FRAME;
}

void tm_window(int64_t start, int64_t end)
{
    if (tm_now.serving != ASSIGN)
        tm_panic("tm_window is for window assigners, while one works");
    tm_put_words(0, (uint64_t[]){(uint64_t)start, (uint64_t)end}, 2);
}

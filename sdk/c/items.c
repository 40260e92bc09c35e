/* What the items of a frame are read from, and what ends the work on one. */
#include "items.h"

const tm_block *tm_open_block(void)
{
    return tm_holds(tm_now.h->block, 1, sizeof(tm_block)) ? tm_here(tm_now.h->block) : NULL;
}

const void *tm_open_items(const tm_block *b, size_t size)
{
    return tm_holds(b->items, tm_now.h->rows, size) ? tm_here(b->items) : NULL;
}

bool tm_open_list(const tm_list_block *b, tm_timestamp_in *time, tm_input *const *cols)
{
    tm_input *const times[] = {&time->in, NULL};
    time->in.kind = TM_TIMESTAMP;
    return b->rows <= MAX_COUNT && b->ncols > 0 && tm_bind_inputs(times, b->cols, 1, b->rows) &&
           tm_bind_inputs(cols, b->cols + sizeof(tm_descriptor), b->ncols - 1, b->rows);
}

void tm_begin_item(uint32_t item)
{
    tm_now.item = item;
    tm_now.full = tm_now.large = false;
}

tm_status tm_end_item(uint32_t start, tm_error e)
{
    tm_finish_row();
    if (!e && tm_now.large)
        e = "the texts of a result row are longer than 1 MiB";
    if (e)
        return tm_refuse(e);
    for (int i = 0; i < 2; i++)
        if (tm_now.states[i])
            tm_leave_state(tm_now.states[i]);
    if (tm_now.full) {
        tm_now.h->out_used = start;
        return tm_full(tm_now.item);
    }
    return OK;
}

/* Many operations on accumulators of a fixed size in one call, in the order in which they
 * happen and in place. With link-time optimisation the author's add is part of the loop. */
#include "items.h"

/* Whether all operations name what the frame has: what is carried out cannot be taken
 * back. */
static bool in_range(const tm_operation *ops, const tm_block *b)
{
    const uint32_t groups = tm_now.h->groups;
    const uint32_t args[] = {[APPLY_RECORD] = b->lists[0].rows, [APPLY_RESULT] = b->results, [APPLY_RESET] = 1, [APPLY_MERGE] = groups};
    for (uint32_t i = 0; i < tm_now.h->rows; i++)
        if (ops[i].what > APPLY_MERGE || ops[i].acc >= groups || ops[i].arg >= args[ops[i].what])
            return false;
    return true;
}

tm_status tm_serve_operations(const tm_aggregate *a)
{
    tm_header *h = tm_now.h;
    size_t width = tm_width(a);
    const tm_block *b = tm_open_block();
    const tm_operation *ops = b ? tm_open_items(b, sizeof *ops) : NULL;
    if (!ops || !tm_holds(h->acc, h->groups, width) || b->lists[0].rows > MAX_COUNT || b->results > MAX_COUNT ||
        !tm_bind_inputs(a->inputs, b->lists[0].cols, b->lists[0].ncols, b->lists[0].rows) || !tm_bind_outputs(a->outputs, b->results) ||
        !in_range(ops, b))
        return BAD_FRAME;
    unsigned char *accs = tm_here(h->acc);
    for (uint32_t i = 0, n = h->rows; i < n; i++) {
        const tm_operation *o = &ops[i];
        void *acc = accs + o->acc * width;
        tm_error e = TM_OK;
        tm_status s = OK;
        h->op = i;
        tm_now.used = tm_now.base;
        switch (o->what) {
        case APPLY_RECORD:
            e = a->add(acc, o->arg);
            break;
        case APPLY_RESULT:
            s = tm_write_result(a, acc, o->arg);
            break;
        case APPLY_RESET:
            tm_renew(a, acc, width);
            break;
        case APPLY_MERGE:
            e = a->merge(acc, accs + o->arg * width);
            break;
        }
        if (e)
            s = tm_refuse(e);
        if (s != OK)
            return s;
    }
    return OK;
}

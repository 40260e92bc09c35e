/* Aggregates, with both sorts of accumulator. The record path is one loop; with
 * link-time optimisation the author's add is part of it. */
#include "frame.h"

/* ---- Accumulators of varying size ------------------------------------------------- */

static void *fresh(const tm_aggregate *a)
{
    void *acc = tm_alloc(a->size);
    if (a->init)
        a->init(acc);
    return acc;
}

static tm_error decode(const tm_aggregate *a, const tm_table *accs, uint32_t i, void **acc)
{
    tm_text bytes = {accs->data + accs->off[i], accs->off[i + 1] - accs->off[i]};
    *acc = fresh(a);
    return bytes.len ? a->decode(*acc, bytes) : TM_OK; /* of none, encode had nothing to say */
}

tm_error tm_answer_piece(const tm_bytes *b, bool *fits)
{
    if (b->len > MAX_ACC)
        return "accumulator is longer than 1 MiB";
    uint32_t padded = ((uint32_t)b->len + 3) & ~3u, len = (uint32_t)b->len;
    *fits = 4 + padded <= tm_now.h->out_cap - tm_now.h->out_used;
    if (!*fits)
        return TM_OK;
    unsigned char *to = (unsigned char *)tm_here(tm_now.h->out) + tm_now.h->out_used;
    tm_copy(to, &len, 4);
    if (len)
        tm_copy(to + 4, b->at, len);
    tm_fill(to + 4 + len, 0, padded - len);
    tm_now.h->out_used += 4 + padded;
    return TM_OK;
}

static tm_error answer(const tm_aggregate *a, void *acc, bool *fits)
{
    tm_bytes b = {0};
    tm_error e = a->encode(acc, &b);
    return e ? e : tm_answer_piece(&b, fits);
}

static tm_status vary_create(const tm_aggregate *a)
{
    for (uint32_t i = 0; i < tm_now.h->groups; i++) {
        bool fits = false;
        tm_now.h->op = i;
        tm_now.used = tm_now.base;
        tm_error e = answer(a, fresh(a), &fits);
        if (e)
            return tm_refuse(e);
        if (!fits)
            return tm_full(i);
    }
    return OK;
}

static tm_status vary_add(const tm_aggregate *a, const uint32_t *group)
{
    uint32_t rows = tm_now.h->rows, groups = tm_now.h->groups;
    size_t width = (a->size + 7) & ~(size_t)7;
    unsigned char *accs = tm_alloc(groups * width);
    for (uint32_t g = 0; a->init && g < groups; g++)
        a->init(accs + g * width);
    for (tm_row r = 0; r < rows; r++) { /* the record path */
        tm_now.h->op = r;
        tm_error e = a->add(accs + group[r] * width, r);
        if (e)
            return tm_refuse(e);
    }
    tm_now.h->op = rows; /* section 3: no record, the accumulators are being answered */
    for (uint32_t g = 0; g < groups; g++) {
        bool fits = false;
        tm_error e = answer(a, accs + g * width, &fits);
        if (e)
            return tm_refuse(e);
        if (!fits)
            return tm_full(g);
    }
    return OK;
}

static tm_status vary_merge(const tm_aggregate *a)
{
    tm_table accs, froms;
    if (!tm_open_table(tm_now.h->acc, tm_now.h->groups, &accs) || !tm_open_table(tm_now.h->from, tm_now.h->groups, &froms))
        return BAD_FRAME;
    for (uint32_t i = 0; i < tm_now.h->groups; i++) {
        void *acc, *from;
        bool fits = false;
        tm_now.h->op = i;
        tm_now.used = tm_now.base;
        tm_error e = decode(a, &accs, i, &acc);
        if (!e)
            e = decode(a, &froms, i, &from);
        if (!e)
            e = a->merge(acc, from);
        if (!e)
            e = answer(a, acc, &fits);
        if (e)
            return tm_refuse(e);
        if (!fits)
            return tm_full(i);
    }
    return OK;
}

/* ---- Accumulators of a fixed size, in place --------------------------------------- */

void tm_renew(const tm_aggregate *a, void *acc, size_t width)
{
    tm_fill(acc, 0, width); /* the padding too, so that equal accumulators are equal bytes */
    if (a->init)
        a->init(acc);
}

static tm_status fixed_create(const tm_aggregate *a, size_t width)
{
    if (!tm_holds(tm_now.h->acc, tm_now.h->groups, width))
        return BAD_FRAME;
    for (uint32_t i = 0; i < tm_now.h->groups; i++) {
        tm_now.h->op = i;
        tm_renew(a, (unsigned char *)tm_here(tm_now.h->acc) + i * width, width);
    }
    return OK;
}

static tm_status fixed_add(const tm_aggregate *a, const uint32_t *group, size_t width)
{
    tm_batch b = {tm_now.h->rows, tm_here(tm_now.h->acc), width, group, &tm_now.h->op};
    if (!tm_holds(tm_now.h->acc, tm_now.h->groups, width))
        return BAD_FRAME;
    if (a->add_batch) {
        tm_error e = b.len ? a->add_batch(b) : TM_OK;
        if (e)
            return tm_refuse(e);
        if (b.len && tm_now.h->op != b.len - 1)
            tm_panic("add_batch must take the records of a call in order, all of them");
        return OK;
    }
    for (tm_row r = 0; r < b.len; r++) { /* the record path */
        tm_error e = a->add(tm_at(&b, r), r);
        if (e)
            return tm_refuse(e);
    }
    return OK;
}

static tm_status fixed_merge(const tm_aggregate *a, size_t width)
{
    if (!tm_holds(tm_now.h->acc, tm_now.h->groups, width) || !tm_holds(tm_now.h->from, tm_now.h->groups, width))
        return BAD_FRAME;
    for (uint32_t i = 0; i < tm_now.h->groups; i++) {
        tm_now.h->op = i;
        tm_now.used = tm_now.base;
        tm_error e = a->merge((unsigned char *)tm_here(tm_now.h->acc) + i * width, (unsigned char *)tm_here(tm_now.h->from) + i * width);
        if (e)
            return tm_refuse(e);
    }
    return OK;
}

/* ---- Calls ------------------------------------------------------------------------ */

/* Whether all of n groups are below groups, which is at most MAX_COUNT; they are aligned to
 * 8. Once a call, so that no record path asks: two at a time, without a branch. The top bit
 * of a number says that it is too large, or that it has become so below zero; a borrow from
 * the number beside it says the same of that one. */
static bool all_below(const uint32_t *group, uint32_t n, uint32_t groups)
{
    const uint64_t one = (uint64_t)1 << 32 | 1, last = (uint64_t)(groups - 1) * one;
    uint64_t bad = 0, pair;
    for (uint32_t i = 0; i + 1 < n; i += 2) {
        tm_copy(&pair, group + i, sizeof pair);
        bad |= pair | (last - pair);
    }
    if (n & 1)
        bad |= group[n - 1] | (last - group[n - 1]);
    return n == 0 || (groups > 0 && (bad & one << 31) == 0);
}

/* The group of each record, all of them below groups; NULL: the frame is bad. */
static const uint32_t *groups_of(void)
{
    uint32_t n = tm_now.h->rows;
    if (!tm_holds(tm_now.h->group, n, 4))
        return NULL;
    const uint32_t *group = tm_here(tm_now.h->group);
    return all_below(group, n, tm_now.h->groups) ? group : NULL;
}

tm_status tm_write_result(const tm_aggregate *a, void *acc, tm_row w)
{
    tm_now.row_out = tm_now.h->out_used;
    tm_now.texts = 0;
    tm_now.full = tm_now.large = false;
    tm_error e = a->result(acc, w);
    if (!e && tm_now.large)
        e = "the texts of a result row are longer than 1 MiB";
    if (e)
        return tm_refuse(e);
    if (tm_now.full) {
        tm_now.h->out_used = tm_now.row_out;
        return tm_full(tm_now.h->op);
    }
    return OK;
}

static tm_status result(const tm_aggregate *a, size_t width)
{
    tm_table accs = {0};
    if (width ? !tm_holds(tm_now.h->acc, tm_now.h->groups, width) : !tm_open_table(tm_now.h->acc, tm_now.h->groups, &accs))
        return BAD_FRAME;
    for (uint32_t i = 0; i < tm_now.h->groups; i++) {
        void *acc = (unsigned char *)tm_here(tm_now.h->acc) + i * width;
        tm_now.h->op = i;
        tm_now.used = tm_now.base;
        tm_error e = width ? TM_OK : decode(a, &accs, i, &acc);
        tm_status s = e ? tm_refuse(e) : tm_write_result(a, acc, i);
        if (s != OK)
            return s;
    }
    return OK;
}

tm_status tm_serve_aggregate(const tm_aggregate *a, tm_op o)
{
    size_t width = tm_width(a);
    const uint32_t *group;
    switch (o) {
    case CREATE:
        return width ? fixed_create(a, width) : vary_create(a);
    case ADD:
        if (!tm_bind_inputs(a->inputs, tm_now.h->cols, tm_now.h->ncols, tm_now.h->rows) || !(group = groups_of()))
            return BAD_FRAME;
        return width ? fixed_add(a, group, width) : vary_add(a, group);
    case MERGE:
        return width ? fixed_merge(a, width) : vary_merge(a);
    case RESULT:
        return tm_bind_outputs(a->outputs, tm_now.h->groups) ? result(a, width) : BAD_FRAME;
    default:
        return BAD_FRAME;
    }
}

/* Upgrades: states of an older schema, one to one. */
#include "items.h"

/* The one from a schema; NULL: the plug-in has none. */
static const tm_upgrade *from(const tm_upgrade *const *upgrades, uint32_t schema)
{
    while (*upgrades && (*upgrades)->schema != schema)
        upgrades++;
    return *upgrades;
}

/* Makes an accumulator of a fixed size. old is copied: it lies where the host has put it, on
 * no boundary of a number. */
static tm_error convert(const tm_upgrade *u, tm_text old, size_t width, tm_bytes *now)
{
    size_t was = (u->size + 7) & ~(size_t)7;
    if (old.len != was)
        return "a state of an older schema has another size than its type";
    *now = (tm_bytes){tm_alloc(width), width, width};
    return u->convert(tm_copy(tm_alloc(was), old.at, was), now->at);
}

tm_status tm_serve_upgrades(const tm_upgrade *const *upgrades, size_t width)
{
    const tm_block *b = tm_open_block();
    tm_table states;
    if (!b || !tm_open_table(tm_now.h->acc, tm_now.h->groups, &states))
        return BAD_FRAME;
    const tm_upgrade *u = from(upgrades, b->items); /* the schema */
    for (uint32_t i = 0; i < tm_now.h->groups; i++) {
        tm_text old = {states.data + states.off[i], states.off[i + 1] - states.off[i]};
        tm_bytes now = {0};
        bool fits = false;
        tm_error e = "the host asks for an upgrade that the plug-in does not have";
        tm_now.h->op = i;
        tm_now.used = tm_now.base;
        if (u)
            e = width ? convert(u, old, width, &now) : u->rewrite((tm_kept)b->keys, old, &now);
        if (!e)
            e = tm_answer_piece(&now, &fits);
        if (e)
            return tm_refuse(e);
        if (!fits)
            return tm_full(i);
    }
    return OK;
}

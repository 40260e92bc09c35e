/* The twin of upgrades. */
#include "twin_frame.h"

#ifndef __wasm__

#include <string.h>

enum { COPIES = 3 };

/* Upgrades n copies of a state in one frame, on a fresh instance, and reads the last one;
 * bytes are NULL if it is refused. */
static tm_acc upgraded(tm_twin *t, uint32_t schema, tm_kept what, tm_text old, uint32_t n)
{
    if (!tm_fresh_instance(t))
        return TM_FRESH;
    tm_begin_frame();
    tm_frame->groups = n;
    tm_frame->block = tm_area(sizeof(tm_block));
    tm_block b = {.items = schema, .keys = what};
    memcpy(tm_arena + tm_frame->block, &b, sizeof b);
    tm_frame->acc = tm_area(4 * (n + 1));
    uint32_t data = tm_area(n * old.len);
    for (uint32_t i = 0; i < n; i++) {
        tm_put32(tm_frame->acc, i + 1, (i + 1) * (uint32_t)old.len);
        if (old.len)
            memcpy(tm_arena + data + i * old.len, old.at, old.len);
    }
    tm_status s = tm_serve(t, UPGRADE, 0);
    if (s == OUTPUT_FULL)
        tm_misuse("the upgraded state does not fit into the arena");
    if (s == REFUSED)
        return TM_FRESH;
    uint32_t at = tm_frame->out, len = 0;
    for (uint32_t i = 0; i < n; i++, at += (len + 3) & ~3u) {
        memcpy(&len, tm_arena + at, sizeof len); /* answers are aligned to 4 */
        at += 4;
    }
    return (tm_acc){memcpy(tm_own(t, len + 1), tm_arena + at - ((len + 3) & ~3u), len), len};
}

tm_acc tm_twin_upgrade(tm_twin *t, uint32_t schema, tm_kept what, const void *old, size_t n)
{
    const tm_upgrade *const *u = tm_upgrades_of(t->of);
    if (!u || !*u)
        tm_misuse("%s has no upgrades", t->of->name);
    tm_text state = {old, n};
    tm_acc many = upgraded(t, schema, what, state, COPIES), one = upgraded(t, schema, what, state, 1);
    if (!one.bytes != !many.bytes || one.len != many.len || (one.len && memcmp(one.bytes, many.bytes, one.len)))
        tm_misuse("%s upgrades a state into something else behind others: it must keep nothing", t->of->name);
    if (one.bytes && !one.len && what != TM_KEPT_ACCUMULATOR)
        tm_misuse("%s upgrades a state to no bytes: hosts do not take that", t->of->name);
    return one;
}

#endif

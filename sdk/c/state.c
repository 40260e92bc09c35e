/* States: those that a frame has, and how a later item of it finds what an earlier one
 * has left. */
#include "items.h"

bool tm_open_states(tm_state *s, uint32_t what, uint32_t at, uint32_t n)
{
    tm_table t;
    if (!s)
        return true;
    if (!tm_open_table(at, n, &t))
        return false;
    s->what = what;
    s->other = UINT32_MAX;
    s->now = tm_alloc(n * sizeof *s->now);
    for (uint32_t i = 0; i < n; i++)
        s->now[i] = (tm_text){t.data + t.off[i], t.off[i + 1] - t.off[i]};
    s->set = false;
    s->next = (tm_bytes){0};
    tm_now.states[what - KEY_STATE] = s;
    return true;
}

/* Whether the state is one of the function that is at work. */
static void known(const tm_state *s)
{
    if (!s->what || tm_now.states[s->what - KEY_STATE] != s)
        tm_panic("the state belongs to no function: name it in tm_plugin, and use it while one works");
}

tm_text tm_state_of(const tm_state *s)
{
    known(s);
    return s->set ? (tm_text){(const char *)s->next.at, s->next.len} : s->now[s->slot];
}

tm_text tm_merged_state_of(const tm_state *s)
{
    known(s);
    if (s->other == UINT32_MAX)
        tm_panic("there is a merged state in the merge of a trigger only");
    return s->now[s->other];
}

static bool copy_state(tm_text state, void *to, size_t n)
{
    if (state.len != n) {
        tm_fill(to, 0, n);
        return false;
    }
    tm_copy(to, state.at, n);
    return true;
}

bool tm_get_bytes(const tm_state *s, void *to, size_t n) { return copy_state(tm_state_of(s), to, n); }
bool tm_get_merged_bytes(const tm_state *s, void *to, size_t n) { return copy_state(tm_merged_state_of(s), to, n); }

void tm_put_bytes(tm_state *s, const void *bytes, size_t n)
{
    known(s);
    if (n > MAX_STATE)
        tm_panic("a state is longer than 1 MiB");
    if (n > s->next.room) {
        s->next.at = tm_alloc(n);
        s->next.room = n;
    }
    if (n)
        __builtin_memmove(s->next.at, bytes, n); /* they may be part of the state */
    s->next.len = n;
    s->set = true;
}

void tm_leave_state(tm_state *s)
{
    if (!s->set)
        return;
    uint32_t at = tm_open_entry(s->what, s->next.len);
    if (at) {
        char *body = (char *)tm_here(tm_now.h->out) + at;
        if (s->next.len)
            tm_copy(body, s->next.at, s->next.len);
        s->now[s->slot] = (tm_text){body, s->next.len};
        tm_close_entry();
    }
    s->set = false;
    s->next = (tm_bytes){0}; /* its memory goes with the item */
}

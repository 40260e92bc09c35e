/* A trigger that fires a window at its end, at every n-th record, and some time after the
 * first record that has not been fired yet, whichever comes first. It shows a state, timers
 * of both domains, and a merge. */
#include "tidemark.h"

static tm_int64_param n = TM_INT64_PARAM("n", .required = true);
static tm_int64_param after = TM_INT64_PARAM("after_ms", .required = true);
static tm_bool_param by_the_clock = TM_BOOL_PARAM("by_the_clock");

/* What the trigger knows of a window: the records since the last firing, and when the
 * timeout is that the first of them has armed. */
typedef struct {
    int64_t records;
    uint64_t armed; /* 0 or 1, of a width that leaves no gap */
    int64_t at;
} waiting;

static tm_state state;

static tm_domain domain(void) { return tm_bool_value(&by_the_clock) ? TM_PROCESSING_TIME : TM_EVENT_TIME; }

/* Takes back the timeout. One that coincides with the window's end leaves that one's timer
 * alone. */
static void disarm(const tm_pane *p, const waiting *w)
{
    if (w->armed && (domain() != TM_EVENT_TIME || w->at != p->last))
        tm_delete_timer(domain(), w->at);
}

/* Begins anew after a firing. */
static void begin(const tm_pane *p, const waiting *w)
{
    disarm(p, w);
    tm_clear(&state);
}

/* Does not go beyond the end of time. */
static int64_t later(int64_t time, int64_t ms) { return time > INT64_MAX - ms ? INT64_MAX : time + ms; }

static tm_error element(const tm_pane *p)
{
    waiting w;
    tm_get(&state, &w);
    if (p->last <= p->watermark) { /* late, but allowed: an update at once */
        begin(p, &w);
        tm_fire();
        return TM_OK;
    }
    tm_set_timer(TM_EVENT_TIME, p->last);
    if (++w.records >= tm_int64_value(&n)) {
        begin(p, &w);
        tm_fire();
        return TM_OK;
    }
    if (!w.armed) {
        w.armed = 1;
        w.at = later(tm_bool_value(&by_the_clock) ? p->now : p->time, tm_int64_value(&after));
        tm_set_timer(domain(), w.at);
    }
    tm_put(&state, &w);
    return TM_OK;
}

static tm_error timer(const tm_pane *p)
{
    waiting w;
    tm_get(&state, &w);
    if (p->domain == TM_EVENT_TIME && p->time == p->last) {
        begin(p, &w);
        tm_fire();
    } else if (p->domain == domain() && w.armed && p->time == w.at) {
        tm_clear(&state);
        tm_fire();
    }
    return TM_OK;
}

static tm_error gone(const tm_pane *p)
{
    waiting w;
    tm_get(&state, &w);
    begin(p, &w);
    tm_delete_timer(TM_EVENT_TIME, p->last);
    return TM_OK;
}

/* Takes over the records of another session, and the earlier one of two timeouts. */
static tm_error join(const tm_pane *p)
{
    waiting w, o;
    tm_get(&state, &w);
    tm_get_merged(&state, &o);
    w.records += o.records;
    if (o.armed && (!w.armed || o.at < w.at)) {
        disarm(p, &w);
        w.armed = 1;
        w.at = o.at;
        tm_set_timer(domain(), w.at);
    }
    tm_put(&state, &w);
    if (p->last > p->watermark)
        tm_set_timer(TM_EVENT_TIME, p->last);
    return TM_OK;
}

static tm_error configure(void)
{
    if (tm_int64_value(&n) < 1)
        return "n must be at least 1";
    return tm_int64_value(&after) < 1 ? "after_ms must be at least 1" : TM_OK;
}

const tm_module tm_plugin = {
    .name = "count_or_timeout",
    .version = "1.0.0",
    .params = {&n.param, &after.param, &by_the_clock.param},
    .configure = configure,
    .trigger = &(const tm_trigger){
        .state = &state,
        .element = element,
        .timer = timer,
        .clear = gone,
        .merge = join,
    },
};

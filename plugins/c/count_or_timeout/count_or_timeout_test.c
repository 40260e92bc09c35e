#include <string.h>

#include "twin.h"

#define NONE TM_NULL
#define AT(time) {(time), NULL}
#define TIMES(...) (const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)

static tm_twin *twin(int64_t n, int64_t after, tm_value clock) { return tm_twin_new(&tm_plugin, (tm_value[]){TM_I(n), TM_I(after), clock}); }

/* Shows records at some times, and compares the verdicts: - and F. */
static void elements(tm_window_twin *w, const char *want, const int64_t *times, size_t n)
{
    tm_shown records[8];
    for (size_t i = 0; i < n; i++)
        records[i] = (tm_shown)AT(times[i]);
    const uint8_t *got = tm_twin_elements(w, (tm_records){records, n});
    TM_CHECK(got && strlen(want) == n);
    for (size_t i = 0; got && i < n; i++)
        TM_CHECK(got[i] == (want[i] == 'F' ? TM_FIRED : 0));
}

static void timers(const tm_window_twin *w, tm_domain d, const int64_t *want, size_t n)
{
    tm_times got = tm_twin_timers(w, d);
    TM_CHECK(got.len == n && (n == 0 || memcmp(got.at, want, n * sizeof *want) == 0));
}

/* By event time: the first record and the first behind each firing arm the timeout. */
static void test_firings(void)
{
    tm_twin *t = twin(3, 50, NONE);
    tm_window_twin *w = tm_twin_window(t, 0, 1000);
    elements(w, "--F-", TIMES(100, 110, 120, 130));
    timers(w, TM_EVENT_TIME, TIMES(180, 999)); /* that of 100 is taken back */
    TM_CHECK(tm_twin_timer(w, TM_EVENT_TIME, 150) == 0);
    TM_CHECK(tm_twin_timer(w, TM_EVENT_TIME, 180) == TM_FIRED);
    elements(w, "-", TIMES(949)); /* would time out at the window's end */
    timers(w, TM_EVENT_TIME, TIMES(999));
    /* What is kept: one record, a timeout, at 999. */
    tm_acc kept = tm_twin_state(w);
    TM_CHECK(kept.len == 24 && memcmp(kept.bytes, (const int64_t[]){1, 1, 999}, 24) == 0);
    TM_CHECK(tm_twin_timer(w, TM_EVENT_TIME, 999) == TM_FIRED);
    timers(w, TM_EVENT_TIME, NULL, 0);
    TM_CHECK(tm_twin_state(w).len == 0);
    tm_twin_free(t);
}

static void test_a_late_record_fires_at_once(void)
{
    tm_twin *t = twin(3, 50, NONE);
    tm_twin_present(t, 999, 0, false);
    tm_window_twin *w = tm_twin_window(t, 0, 1000);
    elements(w, "FF", TIMES(1, 2));
    timers(w, TM_EVENT_TIME, NULL, 0);
    tm_twin_free(t);
}

static void test_by_the_clock(void)
{
    tm_twin *t = twin(2, 50, TM_B(true));
    tm_twin_present(t, TM_NO_TIME, 7000, false);
    tm_window_twin *w = tm_twin_window(t, 0, 1000);
    elements(w, "-", TIMES(100));
    timers(w, TM_PROCESSING_TIME, TIMES(7050));
    timers(w, TM_EVENT_TIME, TIMES(999));
    TM_CHECK(tm_twin_timer(w, TM_PROCESSING_TIME, 7050) == TM_FIRED);
    elements(w, "-F", TIMES(101, 102));
    timers(w, TM_PROCESSING_TIME, NULL, 0);
    tm_twin_clear(w);
    TM_CHECK(!tm_twin_error(t));
    timers(w, TM_EVENT_TIME, NULL, 0);
    tm_twin_free(t);
}

/* Two sessions become one: it has the records of both and the earlier timeout. */
static void test_sessions(void)
{
    tm_twin *t = twin(4, 50, NONE);
    tm_window_twin *a = tm_twin_window(t, 100, 200), *b = tm_twin_window(t, 210, 310), *both = tm_twin_window(t, 100, 310);
    elements(a, "-", TIMES(100));
    elements(b, "--", TIMES(210, 211));
    tm_twin_merge_windows(both, b);
    tm_twin_merge_windows(both, a);
    timers(both, TM_EVENT_TIME, TIMES(150, 309));
    TM_CHECK(tm_twin_timer(both, TM_EVENT_TIME, 260) == 0); /* the later one was taken back */
    elements(both, "F", TIMES(205));
    timers(both, TM_EVENT_TIME, TIMES(309));
    tm_twin_free(t);
}

/* At the end of time nothing overflows. */
static void test_the_end_of_time(void)
{
    tm_twin *t = twin(3, INT64_MAX, NONE);
    tm_window_twin *w = tm_twin_window(t, INT64_MIN, INT64_MAX);
    elements(w, "-", TIMES(100));
    timers(w, TM_EVENT_TIME, TIMES(INT64_MAX)); /* the window's end, too */
    tm_twin_free(t);
}

static void refuses(int64_t n, int64_t after, const char *want)
{
    tm_twin *t = twin(n, after, NONE);
    TM_CHECK(tm_twin_error(t) && strcmp(tm_twin_error(t), want) == 0);
    tm_twin_free(t);
}

int main(void)
{
    test_firings();
    test_a_late_record_fires_at_once();
    test_by_the_clock();
    test_sessions();
    test_the_end_of_time();
    refuses(0, 1, "n must be at least 1");
    refuses(1, 0, "after_ms must be at least 1");
    return tm_failures() > 0;
}

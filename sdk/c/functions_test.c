/* Tests of the kinds beside aggregates, called by sdk_test.c. */
#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "items.h"
#include "twin.h"

#define ROW(...) (tm_value[]){__VA_ARGS__}
#define NONE TM_NULL

static bool says(const char *text, const char *part) { return text && strstr(text, part); }

static bool manifest_is(const tm_module *m, const char *want)
{
    size_t n = tm_check(m) ? 0 : tm_write_manifest(m);
    return n == strlen(want) && memcmp(tm_arena, want, n) == 0;
}

/* Whether a test ends the program with a message. */
static bool dies(void (*test)(void), const char *message)
{
    int ends[2], status = 0;
    char said[4096] = {0};
    size_t n = 0;
    if (pipe(ends) != 0)
        return false;
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], 2);
        test();
        _exit(0);
    }
    close(ends[1]);
    for (ssize_t got; n < sizeof said - 1 && (got = read(ends[0], said + n, sizeof said - 1 - n)) > 0;)
        n += (size_t)got;
    close(ends[0]);
    waitpid(child, &status, 0);
    if (!WIFSIGNALED(status) || !says(said, message))
        fprintf(stderr, "ended with status %d, and said: %s\n", status, said);
    return WIFSIGNALED(status) && says(said, message);
}

/* ---- A process function with everything that one can have -------------------------- */

static tm_string_in tag = TM_STRING_IN("tag", .nullable = true);
static tm_int64_in left_number = TM_INT64_IN("left");
static tm_string_in right_text = TM_STRING_IN("right");
static tm_list lefts = TM_LIST(&left_number.in), rights = TM_LIST(&right_text.in);
static tm_int64_out sum = TM_INT64_OUT("sum"), seen = TM_INT64_OUT("seen");
static tm_string_out texts = TM_STRING_OUT("texts"), word = TM_STRING_OUT("word");
static tm_timestamp_out first = TM_TIMESTAMP_OUT("first");
static tm_bool_out is_long = TM_BOOL_OUT("long");
static tm_side words = TM_SIDE("words", &word.out, &is_long.out);
static tm_int64_param limit = TM_INT64_PARAM("limit", TM_DEFAULT(2));
static tm_state of_key, of_window;

typedef struct {
    int64_t n, sum;
} tally;

/* The texts of the key so far, the sum of the window's firings, and a row for each text. */
static tm_error both(const tm_firing *f)
{
    tally t;
    tm_bytes all = {0};
    tm_row w = tm_emit();
    tm_append(&all, tm_state_of(&of_key).at, tm_state_of(&of_key).len);
    tm_get(&of_window, &t);
    t.n++;
    tm_put(&of_window, &t); /* once, and again below: the last one counts */
    for (tm_row r = lefts.from; r < lefts.to; r++) {
        if (tm_int64_of(&left_number, r) < 0)
            return "a value below 0";
        t.sum += tm_int64_of(&left_number, r);
    }
    if (rights.from < rights.to && !tm_null(&rights.time.in, rights.from))
        tm_set_timestamp(&first, w, tm_timestamp_of(&rights.time, rights.from));
    for (tm_row r = rights.from; r < rights.to; r++)
        tm_append(&all, tm_string_of(&right_text, r).at, tm_string_of(&right_text, r).len);
    tm_put(&of_window, &t);
    tm_put_bytes(&of_key, all.at, all.len);
    TM_CHECK(tm_state_of(&of_key).len == all.len && tm_state_of(&of_window).len == sizeof t);
    tm_append(&all, tm_string_of(&tag, f->row).at, tm_string_of(&tag, f->row).len);
    tm_set_string(&texts, w, (tm_text){(const char *)all.at, all.len});
    tm_set_int64(&seen, w, t.n);
    tm_set_int64(&sum, w, t.sum + f->watermark + f->now + (int64_t)f->revision);
    for (tm_row r = rights.from; r < rights.to; r++) {
        tm_row side = tm_emit_side(&words);
        tm_set_string(&word, side, tm_string_of(&right_text, r));
        tm_set_bool(&is_long, side, (int64_t)tm_string_of(&right_text, r).len > tm_int64_value(&limit));
    }
    return TM_OK;
}

static const tm_module sides = {
    .name = "both", .version = "1", .params = {&limit.param},
    .process = &(const tm_process){
        .inputs = {&tag.in}, .left = &lefts, .right = &rights,
        .outputs = {&sum.out, &texts.out, &first.out, &seen.out}, .sides = {&words},
        .key_state = &of_key, .window_state = &of_window, .schema = 3, .each = both,
    },
};

static void test_process_manifest(void)
{
    TM_CHECK(manifest_is(&sides, "{\"name\":\"both\",\"version\":\"1\",\"sdk\":\"c\",\"process\":{\"inputs\":[{\"name\":\"tag\",\"type\":\"string\",\"nullable\":true}],"
                                 "\"left\":[{\"name\":\"left\",\"type\":\"int64\"}],\"right\":[{\"name\":\"right\",\"type\":\"string\"}],"
                                 "\"outputs\":[{\"name\":\"sum\",\"type\":\"int64\"},{\"name\":\"texts\",\"type\":\"string\"},{\"name\":\"first\",\"type\":\"timestamp\"},{\"name\":\"seen\",\"type\":\"int64\"}],"
                                 "\"side\":[{\"name\":\"words\",\"outputs\":[{\"name\":\"word\",\"type\":\"string\"},{\"name\":\"long\",\"type\":\"bool\"}]}],"
                                 "\"params\":[{\"name\":\"limit\",\"type\":\"int64\",\"default\":2}],\"state\":{\"key\":true,\"window\":true,\"schema\":3}}}"));
}

static tm_fired firing(const char *key, int64_t start, const tm_value *tag_of, tm_records left, tm_records right)
{
    return (tm_fired){.key = key, .start = start, .end = start + 10, .inputs = tag_of, .records = left, .right = right};
}

#define L(...) TM_RECORDS(__VA_ARGS__)
#define NO ((tm_records){0})

static void test_firings(void)
{
    tm_twin *t = tm_twin_new(&sides, NULL);
    const tm_fired calls[] = {
        firing("a", 0, ROW(TM_S("!")), L(TM_AT(0, TM_I(1)), TM_AT(0, NONE), TM_AT(5, TM_I(2))), L(TM_AT(7, TM_S("x")), TM_AT(8, TM_S("yyy")))),
        firing("b", 0, ROW(NONE), L(TM_AT(0, TM_I(7))), NO),
        firing("a", 10, ROW(TM_S("?")), NO, L(TM_AT(TM_NO_TIME, TM_S("z")))),
        {.key = "a", .start = 0, .end = 10, .watermark = 1000, .now = 200, .revision = 30, .inputs = ROW(TM_S("")), .records = L(TM_AT(0, TM_I(5)))},
    };
    tm_rows got = tm_twin_fire(t, calls, 4);
    TM_CHECK(got.len == 7 && !tm_twin_error(t));
    TM_CHECK(TM_GAVE(got, 0, 0, 0, TM_I(3), TM_S("xyyy!"), TM_T(7), TM_I(1)));
    TM_CHECK(TM_GAVE(got, 1, 0, 1, TM_S("x"), TM_B(false)));
    TM_CHECK(TM_GAVE(got, 2, 0, 1, TM_S("yyy"), TM_B(true)));
    TM_CHECK(TM_GAVE(got, 3, 1, 0, TM_I(7), TM_S(""), NONE, TM_I(1)));
    TM_CHECK(TM_GAVE(got, 4, 2, 0, TM_I(0), TM_S("xyyyz?"), NONE, TM_I(1)));
    TM_CHECK(TM_GAVE(got, 5, 2, 1, TM_S("z"), TM_B(false)));
    TM_CHECK(TM_GAVE(got, 6, 3, 0, TM_I(1238), TM_S("xyyyz"), NONE, TM_I(2)));
    tm_acc key = tm_twin_key_state(t, "a"), window = tm_twin_window_state(t, "a", 0, 10);
    TM_CHECK(key.len == 5 && memcmp(key.bytes, "xyyyz", 5) == 0);
    TM_CHECK(window.len == 16 && memcmp(window.bytes, (const int64_t[]){2, 8}, 16) == 0);

    /* A refused firing leaves all states of its call alone. */
    const tm_fired bad[] = {firing("a", 10, ROW(NONE), NO, L(TM_AT(0, TM_S("lost")))), firing("a", 10, ROW(NONE), L(TM_AT(0, TM_I(-1))), NO)};
    TM_CHECK(tm_twin_fire(t, bad, 2).len == 0 && says(tm_twin_error(t), "a value below 0") && tm_twin_op(t) == 1);
    key = tm_twin_key_state(t, "a");
    TM_CHECK(key.len == 5 && memcmp(key.bytes, "xyyyz", 5) == 0);
    tm_twin_clean(t, "a", 0, 10);
    tm_twin_expire(t, "a");
    TM_CHECK(TM_GAVE(tm_twin_fire(t, &calls[0], 1), 0, 0, 0, TM_I(3), TM_S("xyyy!"), TM_T(7), TM_I(1)));
    tm_twin_free(t);
}

/* ---- Triggers ----------------------------------------------------------------------- */

static tm_int64_in loud = TM_INT64_IN("loud");
static tm_state bell;

/* Keeps how loud its records were, a byte each; it fires at 9, is emptied at 0 and sets a
 * timer at each time. */
static tm_error ring(const tm_pane *p)
{
    tm_bytes all = {0};
    int64_t v = tm_int64_of(&loud, p->row);
    unsigned char byte = (unsigned char)v;
    tm_append(&all, tm_state_of(&bell).at, tm_state_of(&bell).len);
    tm_append(&all, &byte, 1);
    tm_put_bytes(&bell, all.at, all.len);
    tm_set_timer(TM_EVENT_TIME, p->time);
    if (v > 9)
        return "too loud";
    if (v == 9 || v == 0)
        tm_fire();
    if (v == 0) {
        tm_delete_timer(TM_EVENT_TIME, p->time);
        tm_purge();
    }
    return TM_OK;
}

/* Says how many records came before. */
static tm_error rung(const tm_pane *p)
{
    if (p->domain == TM_PROCESSING_TIME)
        tm_purge();
    else
        tm_set_timer(TM_PROCESSING_TIME, p->now + (int64_t)tm_state_of(&bell).len + (p->ending ? 500 : 0));
    return TM_OK;
}

static tm_error joined(const tm_pane *p)
{
    tm_bytes all = {0};
    tm_text old = tm_merged_state_of(&bell);
    tm_append(&all, tm_state_of(&bell).at, tm_state_of(&bell).len);
    tm_append(&all, old.at, old.len);
    tm_put_bytes(&bell, all.at, all.len);
    if (all.len > 3)
        tm_set_timer(TM_EVENT_TIME, (int64_t)((uint64_t)p->last + all.len));
    return TM_OK;
}

static const tm_module bells = {
    .name = "bells", .version = "3",
    .trigger = &(const tm_trigger){
        .inputs = {&loud.in}, .state = &bell, .schema = 2, .may_purge = true,
        .element = ring, .timer = rung, .merge = joined,
    },
};

static bool timers_are(const tm_window_twin *w, tm_domain d, const int64_t *want, size_t n)
{
    tm_times got = tm_twin_timers(w, d);
    return got.len == n && (n == 0 || memcmp(got.at, want, n * sizeof *want) == 0);
}
#define TIMERS(w, d, ...) timers_are((w), (d), (const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

static void test_triggers(void)
{
    TM_CHECK(manifest_is(&bells, "{\"name\":\"bells\",\"version\":\"3\",\"sdk\":\"c\",\"trigger\":{\"inputs\":[{\"name\":\"loud\",\"type\":\"int64\"}],\"params\":[],"
                                 "\"state\":{\"schema\":2},\"may_purge\":true,\"merges\":true}}"));
    tm_twin *t = tm_twin_new(&bells, NULL);
    tm_twin_present(t, TM_NO_TIME, 1000, false);
    tm_window_twin *w = tm_twin_window(t, 0, 100), *both_of = tm_twin_window(t, 0, 200), *global = tm_twin_window(t, INT64_MIN, INT64_MAX);
    const uint8_t *v = tm_twin_elements(w, TM_RECORDS(TM_AT(0, TM_I(1)), TM_AT(1, TM_I(9)), TM_AT(2, NONE), TM_AT(3, TM_I(0)), TM_AT(4, TM_I(3))));
    TM_CHECK(v && v[0] == 0 && v[1] == TM_FIRED && v[2] == 0 && v[3] == (TM_FIRED | TM_PURGED) && v[4] == 0);
    TM_CHECK(TIMERS(w, TM_EVENT_TIME, 0, 1, 4));
    TM_CHECK(!tm_twin_elements(w, TM_RECORDS(TM_AT(7, TM_I(1)), TM_AT(8, NONE), TM_AT(8, TM_I(10)))) && says(tm_twin_error(t), "too loud") && tm_twin_op(t) == 2);
    /* The refused call has left state and timers alone; the timer counts 4 records. */
    TM_CHECK(tm_twin_timer(w, TM_EVENT_TIME, 1) == 0 && TIMERS(w, TM_PROCESSING_TIME, 1004) && TIMERS(w, TM_EVENT_TIME, 0, 4));
    TM_CHECK(tm_twin_timer(w, TM_PROCESSING_TIME, 1004) == TM_PURGED && timers_are(w, TM_PROCESSING_TIME, NULL, 0));
    tm_twin_merge_windows(both_of, w);
    tm_twin_merge_windows(both_of, w);
    TM_CHECK(TIMERS(both_of, TM_EVENT_TIME, 203, 207));
    TM_CHECK(tm_twin_state(both_of).len == 8 && memcmp(tm_twin_state(both_of).bytes, "\1\11\0\3\1\11\0\3", 8) == 0);
    tm_twin_clear(both_of); /* it has no function for that: the state goes by itself */
    TM_CHECK(!tm_twin_error(t) && tm_twin_state(both_of).len == 0);
    /* A global window holds the end of time. */
    tm_twin_merge_windows(global, w);
    TM_CHECK(TIMERS(global, TM_EVENT_TIME, (int64_t)((uint64_t)INT64_MAX + 4)));
    tm_twin_present(t, 5, 2000, true);
    TM_CHECK(tm_twin_timer(w, TM_EVENT_TIME, 0) == 0 && TIMERS(w, TM_PROCESSING_TIME, 2504));
    tm_twin_free(t);
}

/* ---- Pairs, records, watermarks, windows ---------------------------------------------- */

static tm_string_in left_text = TM_STRING_IN("text");
static tm_int64_out time_out = TM_INT64_OUT("time");
static tm_string_out text_out = TM_STRING_OUT("text");

/* The left text as often as the right number says. */
static tm_error repeat(const tm_pair *p)
{
    for (int64_t i = 0; i < tm_int64_of(&left_number, p->right.row); i++) {
        tm_row w = tm_emit();
        tm_set_string(&text_out, w, tm_string_of(&left_text, p->left.row));
        tm_set_int64(&time_out, w, p->time * 100 + (p->left.timed ? p->left.time : -1) * 10 + p->right.time);
    }
    return tm_int64_of(&left_number, p->right.row) < 0 ? tm_join("not of ", tm_string_of(&left_text, p->left.row)) : TM_OK;
}

static const tm_module pairs = {
    .name = "pairs", .version = "1",
    .pair = &(const tm_pairs){.left = {&left_text.in}, .right = {&left_number.in}, .outputs = {&text_out.out, &time_out.out}, .each = repeat},
};

static void test_pairs(void)
{
    TM_CHECK(manifest_is(&pairs, "{\"name\":\"pairs\",\"version\":\"1\",\"sdk\":\"c\",\"pair\":{\"left\":[{\"name\":\"text\",\"type\":\"string\"}],\"right\":[{\"name\":\"left\",\"type\":\"int64\"}],"
                                 "\"outputs\":[{\"name\":\"text\",\"type\":\"string\"},{\"name\":\"time\",\"type\":\"int64\"}],\"params\":[]}}"));
    tm_twin *t = tm_twin_new(&pairs, NULL);
    tm_rows got = tm_twin_pairs(t, TM_RECORDS(TM_AT(3, TM_S("a")), TM_AT(TM_NO_TIME, TM_S(""))), TM_RECORDS(TM_AT(1, TM_I(2)), TM_AT(2, NONE), TM_AT(4, TM_I(1))));
    TM_CHECK(got.len == 6);
    for (size_t i = 0; i < 2; i++) {
        TM_CHECK(TM_GAVE(got, i, 0, 0, TM_S("a"), TM_I(331)));
        TM_CHECK(TM_GAVE(got, 3 + i, 3, 0, TM_S(""), TM_I(91)));
    }
    TM_CHECK(TM_GAVE(got, 2, 2, 0, TM_S("a"), TM_I(434)) && TM_GAVE(got, 5, 5, 0, TM_S(""), TM_I(394)));
    TM_CHECK(tm_twin_pairs(t, TM_RECORDS(TM_AT(1, TM_S("a")), TM_AT(1, TM_S("b"))), TM_RECORDS(TM_AT(1, NONE), TM_AT(1, TM_I(-1)))).len == 0);
    TM_CHECK(says(tm_twin_error(t), "not of a") && tm_twin_op(t) == 1);
    tm_twin_free(t);
}

static tm_state last_time;

/* Says the time of the record before; and by the clock, that of the last one. */
static tm_error follow(const tm_record *r)
{
    int64_t before;
    if (tm_get(&last_time, &before))
        tm_watermark(before);
    tm_put(&last_time, &r->time);
    return TM_OK;
}
static tm_error tick(int64_t now)
{
    int64_t before;
    if (tm_get(&last_time, &before))
        tm_watermark(before + now);
    tm_clear(&last_time);
    return TM_OK;
}

static const tm_module followed = {.name = "followed", .version = "1", .watermark = &(const tm_generator){.inputs = {&tag.in}, .state = &last_time, .each = follow, .tick = tick}};

static void test_watermarks(void)
{
    TM_CHECK(manifest_is(&followed, "{\"name\":\"followed\",\"version\":\"1\",\"sdk\":\"c\",\"watermark\":{\"inputs\":[{\"name\":\"tag\",\"type\":\"string\",\"nullable\":true}],"
                                    "\"params\":[],\"state\":{\"schema\":1}}}"));
    tm_twin *t = tm_twin_new(&followed, NULL);
    tm_rows got = tm_twin_watermarks(t, TM_RECORDS(TM_AT(5, NONE), TM_AT(9, TM_S("x")), TM_AT(7, NONE)));
    TM_CHECK(got.len == 2 && TM_GAVE(got, 0, 1, 0, TM_T(5)) && TM_GAVE(got, 1, 2, 0, TM_T(9)));
    TM_CHECK(tm_twin_split_state(t).len == 8 && tm_twin_split_state(t).bytes[0] == 7);
    got = tm_twin_tick(t, 100);
    TM_CHECK(got.len == 1 && TM_GAVE(got, 0, 0, 0, TM_T(107)) && tm_twin_split_state(t).len == 0);
    TM_CHECK(tm_twin_tick(t, 100).len == 0 && !tm_twin_error(t));
    tm_twin_free(t);
}

/* As many windows as the record says. */
static tm_error spread(const tm_record *r)
{
    for (int64_t i = 0; i < tm_int64_of(&left_number, r->row); i++)
        tm_window(r->time - i, r->time + 1);
    return TM_OK;
}

static void test_windows(void)
{
    const tm_assigner a = {.inputs = {&left_number.in}, .assign = spread};
    const tm_module m = {.name = "spread", .version = "1", .params = {&limit.param}, .assigner = &a};
    TM_CHECK(manifest_is(&m, "{\"name\":\"spread\",\"version\":\"1\",\"sdk\":\"c\",\"assigner\":{\"inputs\":[{\"name\":\"left\",\"type\":\"int64\"}],"
                             "\"params\":[{\"name\":\"limit\",\"type\":\"int64\",\"default\":2}],\"merges\":false}}"));
    tm_twin *t = tm_twin_new(&m, NULL);
    tm_rows got = tm_twin_assign(t, TM_RECORDS(TM_AT(5, TM_I(2)), TM_AT(6, NONE), TM_AT(7, TM_I(0)), TM_AT(8, TM_I(1))));
    TM_CHECK(got.len == 3 && TM_GAVE(got, 0, 0, 0, TM_T(5), TM_T(6)) && TM_GAVE(got, 1, 0, 0, TM_T(4), TM_T(6)) && TM_GAVE(got, 2, 3, 0, TM_T(8), TM_T(9)));
    tm_twin_free(t);
}

/* A text of n bytes for each record, and a number behind it. */
static tm_int64_in size_in = TM_INT64_IN("size");
static tm_error fill(const tm_record *r)
{
    size_t n = (size_t)tm_int64_of(&size_in, r->row);
    char *text = tm_alloc(n);
    tm_row w = tm_emit();
    memset(text, 'x', n);
    tm_set_string(&text_out, w, (tm_text){text, n});
    tm_set_int64(&time_out, w, r->time);
    return TM_OK;
}

static const tm_module filled = {.name = "filled", .version = "1", .map = &(const tm_map){.inputs = {&size_in.in}, .outputs = {&text_out.out, &time_out.out}, .each = fill}};

static void test_records(void)
{
    tm_twin *t = tm_twin_new(&filled, NULL);
    /* Four times 1 MiB do not fit into one answer: it comes in parts. */
    tm_records large = TM_RECORDS(TM_AT(1, TM_I(1 << 20)), TM_AT(2, TM_I(1 << 20)), TM_AT(3, TM_I(1 << 20)), TM_AT(4, TM_I(1 << 20)));
    tm_rows got = tm_twin_map(t, large);
    TM_CHECK(got.len == 4);
    for (size_t i = 0; i < got.len; i++)
        TM_CHECK(got.at[i].of == i && got.at[i].values[0].s.len == 1 << 20 && tm_same(got.at[i].values[1], TM_I((int64_t)i + 1)));
    TM_CHECK(tm_twin_map(t, TM_RECORDS(TM_AT(1, TM_I(1)), TM_AT(2, TM_I((1 << 20) + 1)))).len == 0);
    TM_CHECK(says(tm_twin_error(t), "texts of a result row are longer than 1 MiB") && tm_twin_op(t) == 1);
    TM_CHECK(tm_twin_map(t, NO).len == 0 && !tm_twin_error(t));
    tm_twin_free(t);
}

/* ---- Mistakes of authors ---------------------------------------------------------------- */

static void (*mistake)(void);
static tm_error err(const tm_record *r)
{
    mistake();
    return r ? TM_OK : "none";
}
static tm_error err_pane(const tm_pane *p)
{
    mistake();
    return p ? TM_OK : "none";
}
static int64_t calls;

static void set_an_old_row(void)
{
    tm_row w = tm_emit();
    tm_emit();
    tm_set_int64(&time_out, w, 1);
}
static void set_an_old_text(void)
{
    tm_row w = tm_emit();
    tm_emit();
    tm_set_string(&text_out, w, TM_TEXT("late"));
}
static tm_row kept_row;
static void set_the_row_of_another_record(void)
{
    if (calls++)
        tm_set_int64(&time_out, kept_row, 1);
    else
        kept_row = tm_emit();
}
static void set_a_row_behind_a_side(void)
{
    tm_row w = tm_emit();
    tm_emit_side(&words);
    tm_set_string(&text_out, w, TM_TEXT("late"));
}
static void say_a_window(void) { tm_window(0, 1); }
static void say_a_watermark(void) { tm_watermark(1); }
static void set_a_timer(void) { tm_set_timer(TM_EVENT_TIME, 1); }
static void take_much(void) { tm_alloc(1 << 20); }
static void set_no_row(void) { tm_set_int64(&time_out, 0, 1); }
static void emit_a_strange_side(void)
{
    static tm_side strange = TM_SIDE("strange", &time_out.out);
    tm_emit_side(&strange);
}
static void read_a_strange_state(void)
{
    static tm_state strange;
    tm_state_of(&strange);
}
static void put_a_large_state(void) { tm_put_bytes(&bell, tm_arena, (1 << 20) + 1); }
static void read_a_merged_state(void) { tm_merged_state_of(&bell); }
static void emit_in_a_trigger(void) { tm_emit(); }
static void count(void) { tm_set_int64(&time_out, tm_emit(), calls++); }

static tm_error err_firing(const tm_firing *f)
{
    mistake();
    return f ? TM_OK : "none";
}

static const tm_module erring_firings = {.name = "erring", .version = "1", .process = &(const tm_process){.outputs = {&text_out.out}, .sides = {&words}, .each = err_firing}};
static const tm_module erring = {.name = "erring", .version = "1", .map = &(const tm_map){.outputs = {&text_out.out, &time_out.out}, .each = err}};
static const tm_module erring_panes = {.name = "erring", .version = "1", .trigger = &(const tm_trigger){.state = &bell, .element = err_pane, .clear = err_pane}};

static void map_it(void) { tm_twin_map(tm_twin_new(&erring, NULL), TM_RECORDS({0, NULL}, {1, NULL})); }
static void fire_it(void) { tm_twin_fire(tm_twin_new(&erring_firings, NULL), &(tm_fired){.end = 1}, 1); }
static void trigger_it(void) { tm_twin_elements(tm_twin_window(tm_twin_new(&erring_panes, NULL), 0, 1), TM_RECORDS({0, NULL})); }
static tm_error err_configure(void)
{
    mistake();
    return TM_OK;
}
static void configure_it(void)
{
    const tm_module m = {.name = "erring", .version = "1", .configure = err_configure, .map = erring.map};
    void (*what)(void) = mistake;
    mistake = take_much;
    tm_twin *t = tm_twin_new(&m, NULL);
    tm_twin_map(t, TM_RECORDS({0, NULL})); /* so that there was a call before */
    mistake = what;
    tm_twin_map(t, TM_RECORDS({0, NULL}));
}
static void clear_it(void) { tm_twin_clear(tm_twin_window(tm_twin_new(&erring_panes, NULL), 0, 1)); }

static void test_mistakes(void)
{
    const struct {
        void (*mistake)(void), (*in)(void);
        const char *message;
    } rows[] = {
        {set_an_old_row, map_it, "panic: a column is set in a row that it does not have, or that is complete: time"},
        {set_an_old_text, map_it, "or that is complete: text"},
        {set_the_row_of_another_record, map_it, "or that is complete: time"},
        {set_a_row_behind_a_side, fire_it, "or that is complete: text"},
        {set_no_row, map_it, "or that is complete: time"},
        {emit_a_strange_side, map_it, "does not name among its sides: strange"},
        {read_a_strange_state, map_it, "the state belongs to no function"},
        {put_a_large_state, trigger_it, "a state is longer than 1 MiB"},
        {read_a_merged_state, trigger_it, "in the merge of a trigger only"},
        {emit_in_a_trigger, trigger_it, "tm_emit is for functions with rows"},
        {emit_in_a_trigger, configure_it, "tm_emit is for functions with rows"},
        {say_a_window, map_it, "tm_window is for window assigners"},
        {say_a_watermark, trigger_it, "tm_watermark is for watermark generators"},
        {set_a_timer, map_it, "tm_set_timer and tm_delete_timer are for triggers"},
        {tm_purge, trigger_it, "erring purges, and does not say .may_purge"},
        {tm_fire, clear_it, "tm_fire and tm_purge are for the functions element and timer"},
        {count, map_it, "erring answers something else where things are shown one by one"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        mistake = rows[i].mistake;
        TM_CHECK(dies(rows[i].in, rows[i].message));
    }
}

/* What a record takes of memory goes with it: there are 64 MiB in all. */
static void test_memory(void)
{
    tm_shown records[70];
    tm_twin *t = tm_twin_new(&erring, NULL);
    for (int i = 0; i < 70; i++)
        records[i] = (tm_shown){i, NULL};
    mistake = take_much;
    TM_CHECK(tm_twin_map(t, (tm_records){records, 70}).len == 0 && !tm_twin_error(t));
    tm_twin_free(t);
}

static void test_declarations(void)
{
    static tm_side late = TM_SIDE("late", &time_out.out), empty = {.name = "empty"};
    const tm_process fine = {.outputs = {&time_out.out}, .each = both};
    const tm_pairs pair = *pairs.pair;
    const tm_trigger trigger = *bells.trigger;
    const tm_generator generator = *followed.watermark;
#define WRONG(type, member, from, text, ...)                                       \
    do {                                                                           \
        type v = from;                                                             \
        const tm_module m = {.name = "x", .version = "1", .member = &v};           \
        TM_CHECK(!tm_check(&m));                                                   \
        __VA_ARGS__;                                                               \
        TM_CHECK(says(tm_check(&m), text));                                        \
    } while (0)
    WRONG(tm_process, process, fine, "process function \"x\": it must have the function each", v.each = NULL);
    WRONG(tm_process, process, fine, "no output column", v.outputs[0] = NULL);
    WRONG(tm_process, process, fine, "one of left and right", v.left = &lefts);
    WRONG(tm_process, process, fine, "records beside left and right", v.left = &lefts; v.right = &rights; v.records = &lefts);
    WRONG(tm_process, process, fine, "are one list", v.left = v.right = &lefts);
    WRONG(tm_process, process, fine, "are one state", v.key_state = v.window_state = &bell);
    WRONG(tm_process, process, fine, "side output \"late\": every step has", v.sides[0] = &late);
    WRONG(tm_process, process, fine, "side output \"empty\": it has no output column", v.sides[0] = &empty);
    WRONG(tm_process, process, fine, "side output \"words\": is declared twice", v.sides[0] = v.sides[1] = &words);
    WRONG(tm_process, process, fine, ".schema counts from 1", v.schema = UINT32_MAX);
    WRONG(tm_pairs, pair, pair, "column \"text\": it stands on both sides", v.right[0] = &left_text.in);
    WRONG(tm_pairs, pair, pair, "pair function \"x\": it must have", v.each = NULL);
    WRONG(tm_map, map, *filled.map, "function of single records \"x\": it must have", v.each = NULL);
    WRONG(tm_trigger, trigger, trigger, "trigger \"x\": it must have the function element", v.element = NULL);
    WRONG(tm_generator, watermark, generator, "watermark generator \"x\": it must have", v.each = NULL);
    tm_module m = filled;
    m.pair = pairs.pair;
    TM_CHECK(says(tm_check(&m), "exactly one of"));
    m.pair = NULL, m.map = NULL;
    TM_CHECK(says(tm_check(&m), "exactly one of"));
}

/* ---- Frames that no host may write -------------------------------------------------------- */

/* A frame of one firing with the states of its key and window, and a record on the left. */
typedef struct {
    tm_header h;
    tm_block b;
    tm_firing_data firing;
    tm_descriptor inputs[1], left[2], right[2];
    uint32_t texts[2];
    uint32_t keys[4], windows[4];
    int64_t numbers[2];
} one_firing;

static tm_status serve(const one_firing *f, tm_op o)
{
    memset(tm_arena, 0, 8192);
    memcpy(tm_arena, f, sizeof *f);
    return tm_call(&sides, o, 0);
}

static void test_bad_frames(void)
{
#define OFF(member) ((uint32_t)offsetof(one_firing, member))
    const one_firing good = {
        .h = {.size = 8192, .rows = 1, .cols = OFF(inputs), .ncols = 1, .out = 4096, .out_cap = 4096, .block = OFF(b)},
        .b = {.items = OFF(firing), .keys = OFF(keys), .nkeys = 1, .windows = OFF(windows), .nwindows = 1,
              .lists = {{1, OFF(left), 2}, {0, OFF(right), 2}}},
        .firing = {.lists = {{0, 1}, {0, 0}}},
        .inputs = {{.kind = TM_STRING, .data = OFF(texts), .blob = OFF(texts)}},
        .left = {{.kind = TM_TIMESTAMP, .data = OFF(numbers)}, {.kind = TM_INT64, .data = OFF(numbers)}},
        .right = {{.kind = TM_TIMESTAMP, .data = OFF(numbers)}, {.kind = TM_STRING, .data = OFF(texts), .blob = OFF(texts)}},
        .keys = {0, 4}, .windows = {0, 0}, .numbers = {6, 7},
    };
    tm_twin *t = tm_twin_new(&sides, NULL); /* configures */
#define FRAME(status, ...)                              \
    do {                                                \
        one_firing f = good;                            \
        __VA_ARGS__;                                    \
        TM_CHECK(serve(&f, PROCESS) == (status));       \
    } while (0)
    FRAME(OK, (void)0);
    /* A row of 8 + 4 x 8 and a text of 4 bytes, the key's state of 4, the window's of 16. */
    TM_CHECK(((tm_header *)(void *)tm_arena)->out_used == 16 + 48 + 16 + 8 + 16 + 16);
    FRAME(OUTPUT_FULL, f.h.out_cap = 16 + 48 + 16 + 8 + 16 + 8);
    TM_CHECK(((tm_header *)(void *)tm_arena)->done == 0 && ((tm_header *)(void *)tm_arena)->out_used == 0);
    FRAME(BAD_FRAME, f.h.block = 8188);
    FRAME(BAD_FRAME, f.h.block = 8192 - 40);
    FRAME(BAD_FRAME, f.h.ncols = 0);
    FRAME(BAD_FRAME, f.h.rows = 1000);
    FRAME(BAD_FRAME, f.b.items = 8192 - 56);
    FRAME(BAD_FRAME, f.b.lists[0].ncols = 1);
    FRAME(BAD_FRAME, f.b.lists[0].ncols = 0);
    FRAME(BAD_FRAME, f.b.lists[0].rows = UINT32_MAX);
    FRAME(BAD_FRAME, f.b.lists[0].cols = 8192 - 32);
    FRAME(BAD_FRAME, f.left[0].kind = TM_INT64);
    FRAME(BAD_FRAME, f.left[1].kind = TM_FLOAT64);
    FRAME(BAD_FRAME, f.firing.lists[0].to = 2);
    FRAME(BAD_FRAME, f.firing.lists[0].from = 2);
    FRAME(BAD_FRAME, f.firing.lists[1].to = 1);
    FRAME(BAD_FRAME, f.firing.key = 1);
    FRAME(BAD_FRAME, f.firing.window = UINT32_MAX);
    FRAME(BAD_FRAME, f.b.nkeys = UINT32_MAX);
    FRAME(BAD_FRAME, f.b.keys = 4);
    FRAME(BAD_FRAME, f.keys[1] = 8192);
    FRAME(BAD_FRAME, f.keys[0] = 5);
    for (int o = CREATE; o <= UPGRADE; o++)
        TM_CHECK(o == PROCESS || serve(&good, (tm_op)o) == BAD_FRAME); /* calls of other kinds */
    tm_twin_free(t);
}

/* Operations name records, slots and what there is. */
static void test_bad_operations(void)
{
    tm_twin *t = tm_twin_new(&bells, NULL);
    for (int k = 0; k <= 5; k++) {
        tm_pane_data op = {.end = 10, .what = k == 1 ? CLEAR_PANE + 1 : k == 4 || k == 5 ? MERGE_PANES : ELEMENT, .slot = k == 2, .row = k == 3, .from = k == 4};
        tm_header h = {.size = 8192, .rows = 1, .out = 4096, .out_cap = 4096, .block = 96};
        tm_block b = {.items = 144, .keys = 208, .nkeys = 1, .lists = {{1, 224, 2}}};
        memset(tm_arena, 0, 8192);
        memcpy(tm_arena, &h, sizeof h);
        memcpy(tm_arena + 96, &b, sizeof b);
        memcpy(tm_arena + 144, &op, sizeof op);
        memcpy(tm_arena + 224, (tm_descriptor[]){{.kind = TM_TIMESTAMP, .data = 288}, {.kind = TM_INT64, .data = 296}}, 64);
        TM_CHECK(tm_call(&bells, TRIGGER, 0) == (k == 0 || k == 5 ? OK : BAD_FRAME));
    }
    tm_twin_free(t);
}

void test_functions(void)
{
    test_process_manifest();
    test_firings();
    test_triggers();
    test_pairs();
    test_watermarks();
    test_windows();
    test_records();
    test_mistakes();
    test_memory();
    test_declarations();
    test_bad_frames();
    test_bad_operations();
}

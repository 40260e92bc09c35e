/* A host in miniature for the tests of a plug-in, without WebAssembly: it writes the
 * frames of abi/SPEC.md and serves them by the same code as the module, each call as
 * on a fresh instance. Any C11 compiler with a C library builds it:
 *
 *     cc -std=c11 -Isdk -o run-tests main.c main_test.c sdk/(all).c
 *
 *     tm_twin *t = tm_twin_new(&tm_plugin, NULL);
 *     tm_acc acc = tm_twin_add(t, TM_FRESH, (tm_value[]){TM_F(1), TM_F(2.5)}, 2);
 *     const tm_value *row = tm_twin_result(t, acc);   // row[0].f == 3.5
 *     tm_twin_free(t);
 *
 * Misuse by a test, such as a value of another type than the column's, ends the
 * program with a message. */
#ifndef TIDEMARK_TWIN_H
#define TIDEMARK_TWIN_H

#include "tidemark.h"

/* A value of a column. */
typedef struct {
    uint32_t kind; /* TM_INT64 and so on; 0: null */
    union {
        int64_t i; /* int64, timestamp */
        double f;
        bool b;
        tm_text s;
    };
} tm_value;

#define TM_NULL ((tm_value){0})
#define TM_I(v) ((tm_value){.kind = TM_INT64, .i = (v)})
#define TM_F(v) ((tm_value){.kind = TM_FLOAT64, .f = (v)})
#define TM_B(v) ((tm_value){.kind = TM_BOOL, .b = (v)})
#define TM_T(v) ((tm_value){.kind = TM_TIMESTAMP, .i = (v)})
#define TM_S(literal) TM_SN(literal, sizeof(literal) - 1)
#define TM_SN(text, n) ((tm_value){.kind = TM_STRING, .s = {(text), (n)}})

/* Whether both are the same: floats by their bits. */
bool tm_same(tm_value a, tm_value b);

/* An accumulator as a host keeps it. The twin owns its bytes. */
typedef struct {
    const unsigned char *bytes; /* NULL: a fresh one, or none after a refusal */
    size_t len;
} tm_acc;

#define TM_FRESH ((tm_acc){0})

typedef struct tm_twin tm_twin;

/* Configures the plug-in with a value for each of its params, in order; TM_NULL
 * stands for an argument that the job leaves out, and args NULL for all of them. The
 * caller asks tm_twin_error whether it was refused. */
tm_twin *tm_twin_new(const tm_module *m, const tm_value *args);
void tm_twin_free(tm_twin *t);

/* What the last call was refused for; NULL: it was not. tm_twin_op is the record, pair or
 * firing, or for merge and result the accumulator, or -1. */
const char *tm_twin_error(const tm_twin *t);
int64_t tm_twin_op(const tm_twin *t);

/* ---- Aggregates -------------------------------------------------------------------- */

/* Folds n records into acc and answers the new one. A record is a value for each of
 * the inputs, in order; one in which a column is null that is not nullable is left
 * out. */
tm_acc tm_twin_add(tm_twin *t, tm_acc acc, const tm_value *records, size_t n);

/* The accumulator of the records behind acc and then those behind from. */
tm_acc tm_twin_merge(tm_twin *t, tm_acc acc, tm_acc from);

/* A value for each of the outputs, in order, which the twin owns; NULL: refused. */
const tm_value *tm_twin_result(tm_twin *t, tm_acc acc);

/* Checks the laws of aggregates (abi/SPEC.md, section 6) on some records: that fresh
 * accumulators are neutral, that parts merged equal the whole however it is cut, that
 * result changes nothing, and, if the aggregate says so, that order does not matter
 * and that equal means equal to the bit. Without .exact, numbers may differ by
 * rounding. NULL: all hold; else which one does not. */
const char *tm_twin_laws(tm_twin *t, const tm_value *records, size_t n);

/* ---- The other kinds ----------------------------------------------------------------
 *
 * Each call is made several times: in one frame, one by one, cut anywhere, and with room
 * for little. A function that answers something else then keeps what it must not keep,
 * and the test ends with a message. After a refusal states and timers are what they were.
 * What a host would leave out, for a null, is left out. */

/* A record with its time, TM_NO_TIME for none, and a value for each column. */
typedef struct {
    int64_t time;
    const tm_value *values; /* NULL: no columns */
} tm_shown;

#define TM_AT(at, ...) {(at), (const tm_value[]){__VA_ARGS__}}

/* Some records: TM_RECORDS(TM_AT(1000, TM_S("a")), TM_AT(1500, TM_NULL)). */
typedef struct {
    const tm_shown *at;
    size_t len;
} tm_records;

#define TM_RECORDS(...) ((tm_records){(const tm_shown[]){__VA_ARGS__}, sizeof((const tm_shown[]){__VA_ARGS__}) / sizeof(tm_shown)})

/* Rows that were given, in order. The twin owns them; len is 0 after a refusal. */
typedef struct {
    size_t of;       /* number of the record, pair or firing */
    uint32_t output; /* 0: the results; k: side output k, from 1 */
    const tm_value *values;
} tm_given;

typedef struct {
    const tm_given *at;
    size_t len;
} tm_rows;

/* Whether a row exists, is of that record, pair or firing, and of that output, and has
 * these values. */
#define TM_GAVE(rows, i, of, output, ...) tm_gave((rows), (i), (of), (output), (const tm_value[]){__VA_ARGS__}, sizeof((const tm_value[]){__VA_ARGS__}) / sizeof(tm_value))
bool tm_gave(tm_rows rows, size_t i, size_t of, uint32_t output, const tm_value *values, size_t n);

/* Functions of single records. */
tm_rows tm_twin_map(tm_twin *t, tm_records records);

/* Window assigners: a row is a window, TM_T(start) and TM_T(end). */
tm_rows tm_twin_assign(tm_twin *t, tm_records records);

/* Pair functions, with all pairs of the records, left one by left one, as a window join
 * has them. The time of a pair is the later one of the two. */
tm_rows tm_twin_pairs(tm_twin *t, tm_records left, tm_records right);

/* Watermark generators: a row is what was said, a timestamp. The twin keeps the state. */
tm_rows tm_twin_watermarks(tm_twin *t, tm_records records);
tm_rows tm_twin_tick(tm_twin *t, int64_t now);
tm_acc tm_twin_split_state(const tm_twin *t);

/* Process functions. */
typedef struct {
    const char *key; /* names the state of the key; the function does not see it */
    int64_t start, end, watermark, now;
    uint32_t revision;
    const tm_value *inputs;    /* NULL: no columns */
    tm_records records, right; /* of the list; of a coGroup the left ones, and the right ones */
} tm_fired;

tm_rows tm_twin_fire(tm_twin *t, const tm_fired *firings, size_t n);

/* The states that the twin keeps, and how they go: at the window's cleanup, and when that
 * of the key expires. */
tm_acc tm_twin_key_state(const tm_twin *t, const char *key);
tm_acc tm_twin_window_state(const tm_twin *t, const char *key, int64_t start, int64_t end);
void tm_twin_clean(tm_twin *t, const char *key, int64_t start, int64_t end);
void tm_twin_expire(tm_twin *t, const char *key);

/* Triggers: what they see from here on. Timers do not come by themselves. */
void tm_twin_present(tm_twin *t, int64_t watermark, int64_t now, bool ending);

/* A window of one key, with what a host keeps of the trigger for it. The twin owns it. */
typedef struct tm_window_twin tm_window_twin;
tm_window_twin *tm_twin_window(tm_twin *t, int64_t start, int64_t end);
tm_acc tm_twin_state(const tm_window_twin *w);

/* The timers that are set, earliest first. */
typedef struct {
    const int64_t *at;
    size_t len;
} tm_times;
tm_times tm_twin_timers(const tm_window_twin *w, tm_domain d);

/* Verdicts: 0, TM_FIRED, TM_PURGED, or both in one. */
enum { TM_FIRED = 1, TM_PURGED = 2 };

/* Shows the trigger records of the window: a verdict for each, which the twin owns; NULL
 * after a refusal. */
const uint8_t *tm_twin_elements(tm_window_twin *w, tm_records records);

/* Lets a time come, whose timer is then no longer set; lets the window go; lets it take
 * over what is kept of another one. After a refusal tm_twin_error says so. */
uint8_t tm_twin_timer(tm_window_twin *w, tm_domain d, int64_t time);
void tm_twin_clear(tm_window_twin *w);
void tm_twin_merge_windows(tm_window_twin *w, const tm_window_twin *old);

/* ---- Upgrades ----------------------------------------------------------------------- */

/* Upgrades n bytes that a plug-in of an older schema kept; bytes are NULL after a refusal.
 * They are upgraded alone and behind others, which must not make a difference. */
tm_acc tm_twin_upgrade(tm_twin *t, uint32_t schema, tm_kept what, const void *old, size_t n);

/* ---- Checks ------------------------------------------------------------------------- */

/* Tests in a few words: TM_CHECK prints what does not hold, and where; main ends with
 * return tm_failures() > 0. */
#define TM_CHECK(holds) ((holds) ? (void)0 : tm_fail(__FILE__, __LINE__, #holds))
void tm_fail(const char *file, int line, const char *what);
int tm_failures(void);

#endif

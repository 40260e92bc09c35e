/* The kinds of plug-ins beside aggregates: functions that are shown one thing after the
 * other, and say something of each. tidemark.h includes this.
 *
 *     static tm_string_in path = TM_STRING_IN("path");
 *     static tm_int64_out length = TM_INT64_OUT("length");
 *
 *     static tm_error measure(const tm_record *r)
 *     {
 *         tm_set_int64(&length, tm_emit(), (int64_t)tm_string_of(&path, r->row).len);
 *         return TM_OK;
 *     }
 *
 *     const tm_module tm_plugin = {
 *         .name = "lengths", .version = "1.0.0",
 *         .map = &(const tm_map){.inputs = {&path.in}, .outputs = {&length.out}, .each = measure},
 *     };
 *
 * What a function does follows from what it is shown and from its states alone: it
 * keeps nothing else, since the host may show each thing to another instance. A text in
 * place of TM_OK refuses the one thing, of which nothing is left then. */
#ifndef TIDEMARK_FUNCTIONS_H
#define TIDEMARK_FUNCTIONS_H

/* ---- Rows -------------------------------------------------------------------------- */

/* Begins a row of the results and answers its number, for tm_set_int64 and so on. The
 * row that was begun before is complete. Process functions, pair functions and functions
 * of single records have rows, as many as they like. */
tm_row tm_emit(void);

/* A further output of a process function, which the job's sinks read as STEP.NAME:
 *
 *     static tm_side calm = TM_SIDE("calm", &lasted.out, &over.out);
 */
typedef struct {
    const char *name;
    tm_output *outputs[TM_MAX_COLUMNS + 1];
    uint32_t number; /* set by the SDK */
} tm_side;

#define TM_SIDE(side, ...) {.name = (side), .outputs = {__VA_ARGS__}}

enum { TM_MAX_SIDES = 16 };

/* Begins a row of it. */
tm_row tm_emit_side(const tm_side *s);

/* ---- States ------------------------------------------------------------------------
 *
 *     static tm_state state;
 *
 *     run r; // a struct without pointers
 *     if (!tm_get(&state, &r)) // none yet, and r is zeros
 *         r.since = f->start;
 *     r.windows++;
 *     tm_put(&state, &r);
 *
 * The bytes are what the host keeps, at most 1 MiB: those of a struct, or what the author
 * writes with tm_append. A struct should have no gaps between its members, whose bytes
 * would be anything. What was put is kept if the function does not refuse; a changed
 * layout needs a new .schema, and .upgrades from the older ones (upgrade.h). */

typedef struct tm_state {
    /* Set by the SDK. */
    uint32_t what;        /* of an entry with a new state; 0: no function's */
    tm_text *now;         /* the states that a frame has, by slot */
    uint32_t slot, other; /* of what is being worked on */
    bool set;             /* it has put a new one */
    tm_bytes next;
} tm_state;

/* The state, of no bytes if there is none. It is valid until the next one is put and
 * until the function returns. */
tm_text tm_state_of(const tm_state *s);

/* Replaces the state with a copy of the bytes; n = 0 removes it. */
void tm_put_bytes(tm_state *s, const void *bytes, size_t n);
static inline void tm_clear(tm_state *s) { tm_put_bytes(s, NULL, 0); }

/* Copies the state to a struct; false: there is none of that size, and it is zeros. */
bool tm_get_bytes(const tm_state *s, void *to, size_t n);
#define tm_get(state, to) tm_get_bytes((state), (to), sizeof *(to))
#define tm_put(state, from) tm_put_bytes((state), (from), sizeof *(from))

/* The same of the window that is merged into the present one, in the merge of a trigger. */
tm_text tm_merged_state_of(const tm_state *s);
bool tm_get_merged_bytes(const tm_state *s, void *to, size_t n);
#define tm_get_merged(state, to) tm_get_merged_bytes((state), (to), sizeof *(to))

/* ---- Functions of single records ----------------------------------------------------
 *
 * Filters, maps and flat-maps: the rows of a record become records with its time. */

/* A record: where its values are, and its event time in milliseconds since 1970. */
typedef struct {
    tm_row row;
    bool timed; /* it has a time */
    int64_t time;
} tm_record;

typedef struct {
    tm_input *inputs[TM_MAX_COLUMNS + 1];
    tm_output *outputs[TM_MAX_COLUMNS + 1];
    tm_error (*each)(const tm_record *r);
} tm_map;

/* ---- Pair functions -----------------------------------------------------------------
 *
 * They make the rows of a join. A column stands on one side. */

typedef struct {
    tm_record left, right;
    /* Of the rows: the later one of the two in an interval join, the last millisecond of
     * the window in a window join. */
    int64_t time;
} tm_pair;

typedef struct {
    tm_input *left[TM_MAX_COLUMNS + 1];
    tm_input *right[TM_MAX_COLUMNS + 1];
    tm_output *outputs[TM_MAX_COLUMNS + 1];
    tm_error (*each)(const tm_pair *p);
} tm_pairs;

/* ---- Process functions --------------------------------------------------------------
 *
 * They look at each firing of a window: at results of aggregates and fields of the key,
 * at the window's records, or at both. */

/* The records of a firing, in order of arrival:
 *
 *     static tm_list orders = TM_LIST(&amount.in, &price.in);
 *
 *     for (tm_row r = orders.from; r < orders.to; r++)
 *         sum += tm_float64_of(&amount, r);
 *
 * The event time of a record is a column too, orders.time, null for one without. If only
 * that and the number of records matter, static tm_list orders; is enough. */
typedef struct {
    tm_input *cols[TM_MAX_COLUMNS + 1];
    /* Set by the SDK. */
    tm_row from, to; /* of the firing that is being worked on */
    tm_timestamp_in time;
} tm_list;

#define TM_LIST(...) {.cols = {__VA_ARGS__}}

/* One firing of a window of a key. The window has times from start up to, not
 * including, end; a global one, -2^63 up to 2^63-1, has all. */
typedef struct {
    tm_row row; /* of .inputs */
    int64_t start, end;
    int64_t watermark; /* how far event time was when the window fired */
    int64_t now;       /* the host's clock: rows that depend on it differ from run to run */
    uint32_t revision; /* earlier firings of the window: above 0 this one is an update */
} tm_firing;

typedef struct {
    tm_input *inputs[TM_MAX_COLUMNS + 1]; /* columns with a value for each firing */
    /* Asks for the records of each firing; or left and right, both, for those of the two
     * sides of a coGroup. */
    tm_list *records, *left, *right;
    tm_output *outputs[TM_MAX_COLUMNS + 1]; /* of the results */
    tm_side *sides[TM_MAX_SIDES + 1];
    /* What is kept of each key, for all of its windows, and of each window; NULL:
     * nothing. Windows that merge have no state. */
    tm_state *key_state, *window_state;
    uint32_t schema; /* version of the states' layout, from 1; 0 means 1 */
    const tm_upgrade *upgrades[TM_MAX_UPGRADES + 1];
    tm_error (*each)(const tm_firing *f);
} tm_process;

/* ---- Watermark generators -----------------------------------------------------------
 *
 * They are shown every record of a split of a source, in order. */

/* Says that no record with that time or a lower one is to come. The last one that is
 * said behind a record counts; the host drops one that falls, and takes one above the
 * highest time for that time. */
void tm_watermark(int64_t time);

typedef struct {
    tm_input *inputs[TM_MAX_COLUMNS + 1]; /* columns beside the records' times */
    tm_state *state;                      /* what is kept of a split; NULL: nothing */
    uint32_t schema;                      /* version of its layout, from 1; 0 means 1 */
    const tm_upgrade *upgrades[TM_MAX_UPGRADES + 1];
    tm_error (*each)(const tm_record *r);
    /* Called by the clock, also when no record comes; may be NULL. There are no ticks
     * where rows must follow from the records alone. */
    tm_error (*tick)(int64_t now);
} tm_generator;

/* ---- Triggers -----------------------------------------------------------------------
 *
 * They decide when a window fires, and when it is emptied. */

typedef enum { TM_EVENT_TIME, TM_PROCESSING_TIME } tm_domain;

/* A window of a key, with a record or a time that has come. */
typedef struct {
    tm_row row; /* of the record, in element */
    /* Of the record, TM_NO_TIME if it has none; in timer the time that has come. */
    int64_t time;
    tm_domain domain;   /* of the time that has come */
    int64_t start, end; /* the window holds times from start up to, not including, end */
    int64_t last;       /* the last one that it holds: at that watermark it is complete */
    int64_t watermark, now;
    bool ending; /* the input has ended, and event time goes on to its end */
} tm_pane;

#define TM_NO_TIME INT64_MIN

/* The verdict of element and timer: a result, and then the contents are dropped. Without
 * either the window stays as it is. */
void tm_fire(void);
void tm_purge(void);

/* Asks for a call of timer at a time, or takes that back. Timers are a set; one that is
 * not later than the present comes when time moves on. */
void tm_set_timer(tm_domain d, int64_t time);
void tm_delete_timer(tm_domain d, int64_t time);

typedef struct {
    tm_input *inputs[TM_MAX_COLUMNS + 1]; /* columns beside the records' times */
    tm_state *state;                      /* what is kept of each window of each key; NULL: nothing */
    uint32_t schema;                      /* version of its layout, from 1; 0 means 1 */
    const tm_upgrade *upgrades[TM_MAX_UPGRADES + 1];
    bool may_purge;                       /* tm_purge is called: hosts must know */

    tm_error (*element)(const tm_pane *p); /* a record has come */
    /* A time has come, also one of the host's own, such as that of the window's cleanup;
     * may be NULL. After a refusal the window fires as if it had no trigger. */
    tm_error (*timer)(const tm_pane *p);
    /* The window goes: timers that are still set are to be deleted; may be NULL. */
    tm_error (*clear)(const tm_pane *p);
    /* Takes over the state of a session that becomes a part of this one, whose timers are
     * gone; NULL: the trigger cannot be used with sessions. */
    tm_error (*merge)(const tm_pane *p);
} tm_trigger;

/* ---- Window assigners ---------------------------------------------------------------
 *
 * They say which windows a record belongs to: a pure function of the record. */

/* Puts the record into the window [start, end), at most 1,000 of a record. */
void tm_window(int64_t start, int64_t end);

typedef struct {
    tm_input *inputs[TM_MAX_COLUMNS + 1]; /* columns beside the records' times */
    /* Windows of a key that overlap or touch become one, as sessions do; a record is then
     * in one window at most. */
    bool merges;
    tm_error (*assign)(const tm_record *r); /* r->timed is always true */
} tm_assigner;

#endif

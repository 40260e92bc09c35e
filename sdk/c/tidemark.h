/* The Tidemark SDK for plug-ins in C: functions of your own over windows, compiled to
 * WebAssembly. C11, no C library.
 *
 * An author declares the columns that the plug-in reads and answers, writes functions
 * of one kind (an aggregate here, the other kinds are in functions.h), and describes it
 * all in tm_plugin:
 *
 *     static tm_float64_in price = TM_FLOAT64_IN("price");
 *     static tm_float64_out total = TM_FLOAT64_OUT("total");
 *
 *     static tm_error add(void *acc, tm_row r)
 *     {
 *         *(double *)acc += tm_float64_of(&price, r);
 *         return TM_OK;
 *     }
 *     static tm_error merge(void *acc, void *from)
 *     {
 *         *(double *)acc += *(double *)from;
 *         return TM_OK;
 *     }
 *     static tm_error result(void *acc, tm_row w)
 *     {
 *         tm_set_float64(&total, w, *(double *)acc);
 *         return TM_OK;
 *     }
 *
 *     const tm_module tm_plugin = {
 *         .name = "sum", .version = "1.0.0",
 *         .aggregate = &(const tm_aggregate){
 *             .inputs = {&price.in}, .outputs = {&total.out},
 *             .size = sizeof(double),
 *             .add = add, .merge = merge, .result = result,
 *             .order_insensitive = true,
 *         },
 *     };
 *
 * The host calls with batches of columns that lie in the guest's memory, the frames of
 * abi/SPEC.md; columns such as price read them in place. Accumulators and states belong
 * to the host between any two calls, so whatever shall survive a call stands there and
 * nowhere else. There is no clock, no randomness and no outside: the same records must
 * give the same answers.
 *
 * Three ways to say no. A text in place of TM_OK refuses what is being worked on, and
 * reaches the job's owner. tm_panic ends the instance, and the host goes on with a
 * fresh one. A mistake in a declaration is an error of `tidemark plugin build`.
 *
 * The same plug-in is driven by twin.h, a host in miniature, in tests that any C
 * compiler builds. raw_wasm32.c is the only file that knows WebAssembly. */
#ifndef TIDEMARK_H
#define TIDEMARK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a function answers: TM_OK, or the text of a refusal, UTF-8 of at most 4,096
 * bytes, which must outlive the function. */
typedef const char *tm_error;
#define TM_OK ((tm_error)0)

/* One record of a call, or one row of its answer. */
typedef uint32_t tm_row;

/* A text: UTF-8, not ended by a zero. */
typedef struct {
    const char *at;
    size_t len;
} tm_text;

/* Bytes in order: below, above or 0. */
int tm_compare(tm_text a, tm_text b);

/* The text what, and more behind it, as a refusal or tm_panic takes it: ended by a
 * zero. It lives as memory from tm_alloc does. */
const char *tm_join(const char *what, tm_text more);

/* Adds a line to the message that the host shows when the instance ends in this call;
 * it keeps the first and the last 2,048 bytes of a call. */
void tm_log(tm_text line);

/* A text that stands in the source. */
#define TM_TEXT(literal) ((tm_text){(literal), sizeof(literal) - 1})

enum { TM_INT64 = 1, TM_FLOAT64 = 2, TM_BOOL = 3, TM_STRING = 4, TM_TIMESTAMP = 5 };

enum { TM_MAX_COLUMNS = 64 }; /* of each of inputs, outputs and params */

/* ---- Input columns ---------------------------------------------------------------
 *
 * Declared with a name that matches [a-z][a-z0-9_]{0,62}:
 *
 *     static tm_string_in user = TM_STRING_IN("user");
 *     static tm_int64_in age = TM_INT64_IN("age", .nullable = true);
 *
 * A nullable column gets records without a value too, which tm_null tells; without it
 * the host leaves them out. */

typedef struct tm_input {
    const char *name;
    uint32_t kind;
    bool nullable;
    /* Set by the SDK for each call. */
    const uint64_t *valid; /* NULL: no row is null */
    const void *data;
    const char *blob;
} tm_input;

typedef struct { tm_input in; } tm_int64_in;
typedef struct { tm_input in; } tm_float64_in;
typedef struct { tm_input in; } tm_bool_in;
typedef struct { tm_input in; } tm_string_in;
typedef struct { tm_input in; } tm_timestamp_in; /* milliseconds since 1970-01-01 UTC */

#define TM_INT64_IN(...) {{.kind = TM_INT64, .name = __VA_ARGS__}}
#define TM_FLOAT64_IN(...) {{.kind = TM_FLOAT64, .name = __VA_ARGS__}}
#define TM_BOOL_IN(...) {{.kind = TM_BOOL, .name = __VA_ARGS__}}
#define TM_STRING_IN(...) {{.kind = TM_STRING, .name = __VA_ARGS__}}
#define TM_TIMESTAMP_IN(...) {{.kind = TM_TIMESTAMP, .name = __VA_ARGS__}}

/* Whether the record has no value in the column; the functions below then give 0 or
 * the empty text. */
static inline bool tm_null(const tm_input *c, tm_row r)
{
    return c->valid && !(c->valid[r >> 6] >> (r & 63) & 1);
}

static inline int64_t tm_int64_of(const tm_int64_in *c, tm_row r) { return ((const int64_t *)c->in.data)[r]; }
static inline double tm_float64_of(const tm_float64_in *c, tm_row r) { return ((const double *)c->in.data)[r]; }
static inline bool tm_bool_of(const tm_bool_in *c, tm_row r) { return ((const uint8_t *)c->in.data)[r] != 0; }
static inline int64_t tm_timestamp_of(const tm_timestamp_in *c, tm_row r) { return ((const int64_t *)c->in.data)[r]; }

/* The text in place: it is overwritten after the call. */
static inline tm_text tm_string_of(const tm_string_in *c, tm_row r)
{
    const uint32_t *at = (const uint32_t *)c->in.data + r;
    return (tm_text){c->in.blob + at[0], at[1] - at[0]};
}

/* ---- Output columns --------------------------------------------------------------
 *
 *     static tm_int64_out count = TM_INT64_OUT("count");
 *
 * A column that is not set is null. A row that is complete, or that is none of the
 * column's, cannot be set: that is a mistake, which ends the instance. */

typedef struct tm_output {
    const char *name;
    uint32_t kind;
    /* Set by the SDK: the column's rows are first up to first + rows. */
    tm_row first, rows;
    uint64_t *valid;
    uint32_t bit; /* of the first row in valid */
    void *data;
} tm_output;

typedef struct { tm_output out; } tm_int64_out;
typedef struct { tm_output out; } tm_float64_out;
typedef struct { tm_output out; } tm_bool_out;
typedef struct { tm_output out; } tm_string_out;
typedef struct { tm_output out; } tm_timestamp_out;

#define TM_INT64_OUT(column) {{.kind = TM_INT64, .name = (column)}}
#define TM_FLOAT64_OUT(column) {{.kind = TM_FLOAT64, .name = (column)}}
#define TM_BOOL_OUT(column) {{.kind = TM_BOOL, .name = (column)}}
#define TM_STRING_OUT(column) {{.kind = TM_STRING, .name = (column)}}
#define TM_TIMESTAMP_OUT(column) {{.kind = TM_TIMESTAMP, .name = (column)}}

_Noreturn void tm_no_row(const tm_output *c);

/* Says that the column has a value in the row, and where it goes. */
static inline uint32_t tm_valued(tm_output *c, tm_row w)
{
    uint32_t i = w - c->first, bit = c->bit + i;
    if (i >= c->rows)
        tm_no_row(c);
    c->valid[bit >> 6] |= (uint64_t)1 << (bit & 63);
    return i;
}

static inline void tm_set_int64(tm_int64_out *c, tm_row w, int64_t v) { ((int64_t *)c->out.data)[tm_valued(&c->out, w)] = v; }
static inline void tm_set_float64(tm_float64_out *c, tm_row w, double v) { ((double *)c->out.data)[tm_valued(&c->out, w)] = v; }
static inline void tm_set_bool(tm_bool_out *c, tm_row w, bool v) { ((uint8_t *)c->out.data)[tm_valued(&c->out, w)] = v; }
static inline void tm_set_timestamp(tm_timestamp_out *c, tm_row w, int64_t v) { ((int64_t *)c->out.data)[tm_valued(&c->out, w)] = v; }

/* Copies v, which must be UTF-8. The texts of one row may take 1 MiB together. */
void tm_set_string(tm_string_out *c, tm_row w, tm_text v);

/* ---- Parameters ------------------------------------------------------------------
 *
 *     static tm_float64_param limit = TM_FLOAT64_PARAM("limit", TM_DEFAULT(100));
 *     static tm_string_param unit = TM_STRING_PARAM("unit", .required = true);
 *
 * A default is a literal as JSON knows it: 100, 0.5, true, "text". The value stands
 * from the call of configure on, for the life of the instance; where none was given
 * it is 0, false or the empty text. */

typedef struct tm_param {
    const char *name;
    uint32_t kind;
    bool required;
    const char *fallback; /* the default as JSON; NULL: none */
    /* Set by the SDK before configure. */
    bool given; /* the job or a default gave a value */
    int64_t number;
    double real;
    tm_text text;
} tm_param;

typedef struct { tm_param param; } tm_int64_param;
typedef struct { tm_param param; } tm_float64_param;
typedef struct { tm_param param; } tm_bool_param;
typedef struct { tm_param param; } tm_string_param;

#define TM_INT64_PARAM(...) {{.kind = TM_INT64, .name = __VA_ARGS__}}
#define TM_FLOAT64_PARAM(...) {{.kind = TM_FLOAT64, .name = __VA_ARGS__}}
#define TM_BOOL_PARAM(...) {{.kind = TM_BOOL, .name = __VA_ARGS__}}
#define TM_STRING_PARAM(...) {{.kind = TM_STRING, .name = __VA_ARGS__}}
#define TM_DEFAULT(literal) .fallback = #literal

static inline int64_t tm_int64_value(const tm_int64_param *p) { return p->param.number; }
static inline double tm_float64_value(const tm_float64_param *p) { return p->param.real; }
static inline bool tm_bool_value(const tm_bool_param *p) { return p->param.number != 0; }
static inline tm_text tm_string_value(const tm_string_param *p) { return p->param.text; }

/* ---- Memory ----------------------------------------------------------------------
 *
 * There is no malloc and nothing to free. Memory from tm_alloc lasts while something is
 * worked on: in the add of an aggregate with encode until all records of the call are
 * done and their accumulators are answered, elsewhere until the one accumulator, record,
 * pair, firing or operation is. What configure takes lasts as long as the instance. Where
 * the host gives no more, the instance ends: none of these functions fails. */

/* n zeroed bytes, aligned to 8. */
void *tm_alloc(size_t n);

/* The bytes at p, of which there were old, as n of them; those behind old are not
 * defined. p is NULL, or from tm_alloc or tm_grow. */
void *tm_grow(void *p, size_t old, size_t n);

/* Bytes that grow; {0} is none. */
typedef struct {
    unsigned char *at;
    size_t len, room;
} tm_bytes;

void tm_append(tm_bytes *to, const void *bytes, size_t n);

/* A number, 7 bits a byte, the lowest first; the top bit says that more follow. */
void tm_append_uvarint(tm_bytes *to, uint64_t v);

/* Sorts n items of size bytes; equal ones stay in their order. compare answers below,
 * above or 0. */
void tm_sort(void *items, size_t n, size_t size, int (*compare)(const void *a, const void *b));

/* Takes n bytes, or a number, off the beginning of what is left; false: it is too
 * short, or not a number. */
bool tm_take(tm_text *left, size_t n, tm_text *bytes);
bool tm_take_uvarint(tm_text *left, uint64_t *v);

#include "upgrade.h"

/* ---- The aggregate ----------------------------------------------------------------
 *
 * The laws: merging with a fresh accumulator changes nothing; merging the accumulators
 * of two parts equals adding both parts to one, bit for bit if .exact is set; result
 * changes nothing. */

/* The records of one call, for an aggregate that loops over them itself:
 *
 *     for (tm_row r = 0; r < b.len; r++)
 *         *(double *)tm_at(&b, r) += tm_float64_of(&price, r);
 */
typedef struct {
    tm_row len;
    /* For tm_at. */
    unsigned char *accs;
    size_t width;
    const uint32_t *group;
    volatile uint32_t *op;
} tm_batch;

/* The accumulator of record r. Records are taken in order, all of them: it also tells
 * the host which one is being worked on. */
static inline void *tm_at(const tm_batch *b, tm_row r)
{
    *b->op = r;
    return b->accs + b->group[r] * b->width;
}

typedef struct tm_aggregate {
    /* Pointers to the members in and out of the declared columns. */
    tm_input *inputs[TM_MAX_COLUMNS + 1];
    tm_output *outputs[TM_MAX_COLUMNS + 1];

    /* sizeof the accumulator. Without encode its bytes are what the host keeps, in
     * place: at most 4,096, without pointers. */
    size_t size;
    /* Version of what the host keeps, to be raised when its layout changes; 0 means 1. */
    uint32_t schema;
    /* The older layouts that it converts from; all with encode, or all without. */
    const tm_upgrade *upgrades[TM_MAX_UPGRADES + 1];
    /* The result does not depend on the order of records and merges. Hosts need it to
     * share work between overlapping windows. */
    bool order_insensitive;
    /* Merging in any shape gives the same bits as one pass. Sums of floating-point
     * numbers are not exact. */
    bool exact;

    /* Makes an accumulator of zeros a fresh one; may be NULL. */
    void (*init)(void *acc);
    /* Folds a record into the accumulator. In its place, and only where there is no
     * encode, all records of a call in a loop of your own: a text refuses the record
     * reached. Or both, which must do the same: records that come between results, merges
     * and resets of one call are then for add. */
    tm_error (*add)(void *acc, tm_row r);
    tm_error (*add_batch)(tm_batch b);
    /* Folds the records behind from, which came later, into acc; may use up from. */
    tm_error (*merge)(void *acc, void *from);
    /* Writes the row of output columns. */
    tm_error (*result)(void *acc, tm_row w);

    /* For accumulators that vary in size, at most 1 MiB: encode writes one, decode
     * reads it into a fresh one; the bytes stay until the call is done. */
    tm_error (*encode)(void *acc, tm_bytes *to);
    tm_error (*decode)(void *acc, tm_text bytes);
} tm_aggregate;

/* ---- The plug-in ------------------------------------------------------------------ */

#include "functions.h"

typedef struct tm_module {
    const char *name;    /* [a-z][a-z0-9_-]{0,62} */
    const char *version; /* free text of at most 64 bytes */
    /* Pointers to the members param of the declared parameters. */
    tm_param *params[TM_MAX_COLUMNS + 1];
    /* Checks the arguments, once on each instance, before anything else; may be NULL. */
    tm_error (*configure)(void);

    /* What the plug-in is: exactly one of these. */
    const tm_aggregate *aggregate;
    const tm_process *process;
    const tm_pairs *pair;
    const tm_map *map;
    const tm_generator *watermark;
    const tm_trigger *trigger;
    const tm_assigner *assigner;
} tm_module;

/* The module's plug-in, which the author defines. */
extern const tm_module tm_plugin;

/* Ends the instance; the text becomes the host's message. */
_Noreturn void tm_panic(const char *text);

#endif

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

/* Configures the aggregate with a value for each of its params, in order; TM_NULL
 * stands for an argument that the job leaves out, and args NULL for all of them. The
 * caller asks tm_twin_error whether it was refused. */
tm_twin *tm_twin_new(const tm_aggregate *a, const tm_value *args);
void tm_twin_free(tm_twin *t);

/* What the last call was refused for; NULL: it was not. tm_twin_op is the record, or
 * for merge and result the accumulator, or -1. */
const char *tm_twin_error(const tm_twin *t);
int64_t tm_twin_op(const tm_twin *t);

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

/* Tests in a few words: TM_CHECK prints what does not hold, and where; main ends with
 * return tm_failures() > 0. */
#define TM_CHECK(holds) ((holds) ? (void)0 : tm_fail(__FILE__, __LINE__, #holds))
void tm_fail(const char *file, int line, const char *what);
int tm_failures(void);

#endif

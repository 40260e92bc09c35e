/* Tests of the SDK itself, by its twin: cc -std=c11 -o run-tests *.c && ./run-tests */
#include "twin.h"

#include <math.h>
#include <string.h>

#include "frame.h"

#define COUNT(...) (sizeof((tm_value[]){__VA_ARGS__}) / sizeof(tm_value))
#define ROW(...) (tm_value[]){__VA_ARGS__}

/* A plug-in that is this aggregate. */
#define MODULE(a) (&(tm_module){.name = "sum", .version = "1", .aggregate = &(a)})

static bool says(const char *text, const char *part) { return text && strstr(text, part); }

/* ---- An aggregate that answers what it has read last ------------------------------- */

static tm_int64_in int_in = TM_INT64_IN("i", .nullable = true);
static tm_float64_in float_in = TM_FLOAT64_IN("f", .nullable = true);
static tm_bool_in bool_in = TM_BOOL_IN("b", .nullable = true);
static tm_string_in string_in = TM_STRING_IN("s", .nullable = true);
static tm_timestamp_in time_in = TM_TIMESTAMP_IN("t", .nullable = true);
static tm_int64_out int_out = TM_INT64_OUT("i");
static tm_float64_out float_out = TM_FLOAT64_OUT("f");
static tm_bool_out bool_out = TM_BOOL_OUT("b");
static tm_string_out string_out = TM_STRING_OUT("s");
static tm_timestamp_out time_out = TM_TIMESTAMP_OUT("t");
static tm_int64_param int_param = TM_INT64_PARAM("i", TM_DEFAULT(-9223372036854775808));
static tm_float64_param float_param = TM_FLOAT64_PARAM("f", TM_DEFAULT(1.5e-3));
static tm_bool_param bool_param = TM_BOOL_PARAM("b", TM_DEFAULT(true));
static tm_string_param string_param = TM_STRING_PARAM("s", TM_DEFAULT("a\n\"\\"));
static tm_string_param needed = TM_STRING_PARAM("needed", .required = true);
static tm_int64_param spare = TM_INT64_PARAM("spare");

typedef struct {
    uint8_t has[5], b;
    int64_t i, t;
    double f;
    char s[8];
    size_t len;
} last;

static tm_error last_add(void *acc, tm_row r)
{
    last *l = acc;
    const tm_input *cols[] = {&int_in.in, &float_in.in, &bool_in.in, &string_in.in, &time_in.in};
    for (int c = 0; c < 5; c++)
        l->has[c] = !tm_null(cols[c], r);
    l->i = tm_int64_of(&int_in, r);
    l->f = tm_float64_of(&float_in, r);
    l->b = tm_bool_of(&bool_in, r);
    l->t = tm_timestamp_of(&time_in, r);
    tm_text s = tm_string_of(&string_in, r);
    memcpy(l->s, s.at, l->len = s.len);
    return TM_OK;
}

static tm_error last_merge(void *acc, void *from)
{
    *(last *)acc = *(last *)from;
    return TM_OK;
}

static tm_error last_result(void *acc, tm_row w)
{
    last *l = acc;
    if (l->has[0])
        tm_set_int64(&int_out, w, l->i);
    if (l->has[1])
        tm_set_float64(&float_out, w, l->f);
    if (l->has[2])
        tm_set_bool(&bool_out, w, l->b);
    if (l->has[3])
        tm_set_string(&string_out, w, (tm_text){l->s, l->len});
    if (l->has[4])
        tm_set_timestamp(&time_out, w, l->t);
    return TM_OK;
}

static tm_error last_configure(void)
{
    tm_text s = tm_string_value(&string_param);
    if (!int_param.param.given || tm_int64_value(&int_param) != INT64_MIN)
        return "the whole number";
    if (tm_float64_value(&float_param) != 1.5e-3)
        return "the number";
    if (!tm_bool_value(&bool_param))
        return "the truth value";
    if (s.len != 4 || memcmp(s.at, "a\n\"\\", 4))
        return "the text";
    if (spare.param.given || tm_int64_value(&spare) != 0)
        return "the one left out";
    return tm_string_value(&needed).len == 3 ? TM_OK : "the required one";
}

static const tm_module every_type = {
    .name = "every-type", .version = "\"1\"\n",
    .params = {&int_param.param, &float_param.param, &bool_param.param, &string_param.param, &needed.param, &spare.param},
    .configure = last_configure,
    .aggregate = &(const tm_aggregate){
        .inputs = {&int_in.in, &float_in.in, &bool_in.in, &string_in.in, &time_in.in},
        .outputs = {&int_out.out, &float_out.out, &bool_out.out, &string_out.out, &time_out.out},
        .size = sizeof(last), .schema = 7,
        .add = last_add, .merge = last_merge, .result = last_result,
    },
};

#define ARGS ROW(TM_NULL, TM_NULL, TM_NULL, TM_NULL, TM_S("yes"), TM_NULL)

static void test_values(void)
{
    const tm_value *rows[] = {
        ROW(TM_I(INT64_MIN), TM_F(-0.0), TM_B(true), TM_S("\xc3\xa4"), TM_T(-1)),
        ROW(TM_NULL, TM_NULL, TM_NULL, TM_NULL, TM_NULL),
        ROW(TM_I(0), TM_NULL, TM_B(false), TM_S(""), TM_NULL),
    };
    for (int k = 0; k < 3; k++) {
        tm_twin *t = tm_twin_new(&every_type, ARGS);
        TM_CHECK(!tm_twin_error(t));
        tm_value both[10]; /* behind another record: rows and bitmaps have an order */
        memcpy(both, rows[(k + 1) % 3], 5 * sizeof *both);
        memcpy(both + 5, rows[k], 5 * sizeof *both);
        const tm_value *got = tm_twin_result(t, tm_twin_add(t, TM_FRESH, both, 2));
        TM_CHECK(got);
        for (int i = 0; got && i < 5; i++)
            TM_CHECK(tm_same(got[i], rows[k][i]));
        tm_twin_free(t);
    }
}

static void test_args(void)
{
    tm_twin *t = tm_twin_new(&every_type, NULL);
    TM_CHECK(says(tm_twin_error(t), "param needed is required"));
    tm_twin_free(t);
    t = tm_twin_new(&every_type, ROW(TM_NULL, TM_NULL, TM_B(false), TM_NULL, TM_S("yes"), TM_NULL));
    TM_CHECK(says(tm_twin_error(t), "the truth value") && tm_twin_op(t) == -1);
    tm_twin_free(t);
}

static void test_manifest(void)
{
    static const char want[] =
        "{\"name\":\"every-type\",\"version\":\"\\\"1\\\"\\u000a\",\"sdk\":\"c\",\"aggregate\":{\"inputs\":["
        "{\"name\":\"i\",\"type\":\"int64\",\"nullable\":true},{\"name\":\"f\",\"type\":\"float64\",\"nullable\":true},"
        "{\"name\":\"b\",\"type\":\"bool\",\"nullable\":true},{\"name\":\"s\",\"type\":\"string\",\"nullable\":true},"
        "{\"name\":\"t\",\"type\":\"timestamp\",\"nullable\":true}],\"outputs\":[{\"name\":\"i\",\"type\":\"int64\"},"
        "{\"name\":\"f\",\"type\":\"float64\"},{\"name\":\"b\",\"type\":\"bool\"},{\"name\":\"s\",\"type\":\"string\"},"
        "{\"name\":\"t\",\"type\":\"timestamp\"}],\"params\":[{\"name\":\"i\",\"type\":\"int64\",\"default\":-9223372036854775808},"
        "{\"name\":\"f\",\"type\":\"float64\",\"default\":1.5e-3},{\"name\":\"b\",\"type\":\"bool\",\"default\":true},"
        "{\"name\":\"s\",\"type\":\"string\",\"default\":\"a\\n\\\"\\\\\"},{\"name\":\"needed\",\"type\":\"string\",\"required\":true},"
        "{\"name\":\"spare\",\"type\":\"int64\"}],\"accumulator\":{\"width\":48,\"schema\":7},\"order_insensitive\":false,\"exact\":false,\"apply\":true}}";
    TM_CHECK(sizeof(last) == 48);
    TM_CHECK(tm_write_manifest(&every_type) == sizeof want - 1 && memcmp(tm_arena, want, sizeof want - 1) == 0);
}

/* ---- Declarations that are wrong in one way each ----------------------------------- */

static tm_error some_add_batch(tm_batch b) { return b.len ? TM_OK : TM_OK; }
static tm_error some_encode(void *acc, tm_bytes *to) { return acc && to ? TM_OK : TM_OK; }
static tm_error some_decode(void *acc, tm_text bytes) { return acc && bytes.len ? TM_OK : TM_OK; }

static void test_declarations(void)
{
    static tm_int64_in capital = TM_INT64_IN("Value");
    static tm_int64_param both = TM_INT64_PARAM("x", .required = true, TM_DEFAULT(1)), octal = TM_INT64_PARAM("x", TM_DEFAULT(010)),
                          macro = TM_INT64_PARAM("x", TM_DEFAULT(INT64_MAX - 1));
    static tm_float64_param dot = TM_FLOAT64_PARAM("x", TM_DEFAULT(1.)), suffix = TM_FLOAT64_PARAM("x", TM_DEFAULT(1.0f));
    static tm_bool_param one = TM_BOOL_PARAM("x", TM_DEFAULT(1));
    static tm_string_param bare = TM_STRING_PARAM("x", TM_DEFAULT(x)), hex = TM_STRING_PARAM("x", TM_DEFAULT("\x41"));
    const tm_aggregate good = {.outputs = {&int_out.out}, .size = 8, .add = last_add, .merge = last_merge, .result = last_result};
    TM_CHECK(!tm_check(MODULE(good)));
#define WRONG(text, ...)                    \
    do {                                    \
        tm_aggregate a = good;              \
        tm_module m = *MODULE(a);           \
        __VA_ARGS__;                        \
        TM_CHECK(says(tm_check(&m), text)); \
    } while (0)
    WRONG("aggregate \"Big\": a name matches", m.name = "Big");
    WRONG("aggregate \"\": a name matches", m.name = NULL);
    WRONG("a .version", m.version = NULL);
    WRONG("no output column", a.outputs[0] = NULL);
    WRONG("output \"i\": is declared twice", a.outputs[1] = &int_out.out);
    WRONG("input \"Value\": a name matches", a.inputs[0] = &capital.in);
    WRONG("must have the functions", a.merge = NULL);
    WRONG("must have the functions", a.add = NULL);
    WRONG("add_batch is for accumulators of a fixed size", a.add_batch = some_add_batch, a.encode = some_encode, a.decode = some_decode);
    WRONG("only one of encode and decode", a.encode = some_encode);
    WRONG(".size is 0", a.size = 0);
    WRONG("more than 4096 bytes", a.size = 4097);
    WRONG("param \"x\": is required and has a default", m.params[0] = &both.param);
    WRONG("a plain whole number", m.params[0] = &octal.param);
    WRONG("a plain whole number", m.params[0] = &macro.param);
    WRONG("a plain number", m.params[0] = &dot.param);
    WRONG("a plain number", m.params[0] = &suffix.param);
    WRONG("not true or false", m.params[0] = &one.param);
    WRONG("not one text in quotes", m.params[0] = &bare.param);
    WRONG("not one text in quotes", m.params[0] = &hex.param);
    static tm_int64_in many[65];
    static char names[65][4];
    tm_aggregate a = good;
    tm_module m = *MODULE(a);
    for (int i = 0; i < 65; i++) {
        names[i][0] = 'c';
        names[i][1] = (char)('a' + i / 8);
        names[i][2] = (char)('0' + i % 8);
        many[i] = (tm_int64_in)TM_INT64_IN(names[i]);
        TM_CHECK(!tm_check(&m));
        a.inputs[i] = &many[i].in;
    }
    TM_CHECK(says(tm_check(&m), "more than 64"));
}

/* ---- Laws, broken in one way each -------------------------------------------------- */

static tm_int64_in number = TM_INT64_IN("number");
static tm_int64_out total = TM_INT64_OUT("total");

typedef struct {
    int64_t total, n;
} sum;

static tm_error sum_add(void *acc, tm_row r)
{
    ((sum *)acc)->total += tm_int64_of(&number, r);
    ((sum *)acc)->n++;
    return TM_OK;
}
static tm_error twice_add(void *acc, tm_row r)
{
    sum_add(acc, r);
    return sum_add(acc, r);
}
static tm_error sum_batch(tm_batch b)
{
    for (tm_row r = 0; r < b.len; r++) {
        if (tm_int64_of(&number, r) < 0) {
            tm_at(&b, r);
            return "negative";
        }
        sum_add(tm_at(&b, r), r);
    }
    return TM_OK;
}
static tm_error sum_merge(void *acc, void *from)
{
    ((sum *)acc)->total += ((sum *)from)->total;
    ((sum *)acc)->n += ((sum *)from)->n;
    return TM_OK;
}
static tm_error sum_result(void *acc, tm_row w)
{
    tm_set_int64(&total, w, ((sum *)acc)->total);
    return TM_OK;
}
static tm_error forgetful_merge(void *acc, void *from)
{
    *(sum *)acc = *(sum *)from;
    return TM_OK;
}
static tm_error greedy_result(void *acc, tm_row w)
{
    ((sum *)acc)->n++;
    return sum_result(acc, w);
}
static tm_error first_add(void *acc, tm_row r)
{
    if (((sum *)acc)->n++ == 0)
        ((sum *)acc)->total = tm_int64_of(&number, r);
    return TM_OK;
}
static tm_error first_merge(void *acc, void *from)
{
    if (((sum *)acc)->n == 0)
        ((sum *)acc)->total = ((sum *)from)->total;
    ((sum *)acc)->n += ((sum *)from)->n;
    return TM_OK;
}
static void early_init(void *acc) { ((sum *)acc)->total = 100; }
static tm_error sorry_merge(void *acc, void *from) { return acc && from ? "cannot" : TM_OK; }
static tm_error sum_encode(void *acc, tm_bytes *to)
{
    if (((sum *)acc)->n)
        tm_append(to, acc, sizeof(sum));
    return TM_OK;
}
static tm_error sum_decode(void *acc, tm_text bytes)
{
    if (bytes.len != sizeof(sum))
        return "damaged";
    memcpy(acc, bytes.at, bytes.len);
    return TM_OK;
}

static const char *laws_of(tm_aggregate a)
{
    static char text[512];
    tm_twin *t = tm_twin_new(MODULE(a), NULL);
    const char *bad = tm_twin_laws(t, ROW(TM_I(1), TM_I(2), TM_I(4)), 3);
    text[0] = 0;
    if (bad)
        strncat(text, bad, sizeof text - 1);
    tm_twin_free(t);
    return bad ? text : NULL;
}

static const tm_aggregate lawful = {
    .inputs = {&number.in}, .outputs = {&total.out}, .size = sizeof(sum),
    .order_insensitive = true, .exact = true, .add = sum_add, .merge = sum_merge, .result = sum_result,
};

static void test_laws(void)
{
    tm_aggregate a = lawful;
    TM_CHECK(!laws_of(a));
    a.encode = sum_encode, a.decode = sum_decode;
    TM_CHECK(!laws_of(a));
    a = lawful, a.add = NULL, a.add_batch = sum_batch;
    TM_CHECK(!laws_of(a));
    a.add = sum_add;
    TM_CHECK(!laws_of(a));
    a.add = twice_add; /* not what add_batch does */
    TM_CHECK(says(laws_of(a), "in one call: "));
    a = lawful, a.merge = forgetful_merge;
    TM_CHECK(says(laws_of(a), "merged at record 0 of 3, the parts exchanged: "));
    a = lawful, a.result = greedy_result;
    TM_CHECK(says(laws_of(a), "result changed the accumulator"));
    a = lawful, a.add = first_add, a.merge = first_merge;
    TM_CHECK(says(laws_of(a), "the parts exchanged: "));
    a.order_insensitive = false;
    TM_CHECK(!laws_of(a));
    a = lawful, a.init = early_init;
    TM_CHECK(says(laws_of(a), "merged at record 0 of 3: "));
    a = lawful, a.merge = sorry_merge;
    TM_CHECK(says(laws_of(a), "merged at record 0 of 3: cannot"));
}

static void test_refusals(void)
{
    tm_aggregate a = lawful;
    a.add = NULL, a.add_batch = sum_batch;
    tm_twin *t = tm_twin_new(MODULE(a), NULL);
    TM_CHECK(!tm_twin_add(t, TM_FRESH, ROW(TM_I(1), TM_I(-1), TM_I(4)), 3).bytes);
    TM_CHECK(says(tm_twin_error(t), "negative") && tm_twin_op(t) == 1);
    TM_CHECK(tm_twin_add(t, TM_FRESH, ROW(TM_I(1), TM_NULL, TM_I(4)), 3).bytes && !tm_twin_error(t));
    tm_twin_free(t);

    a = lawful, a.encode = sum_encode, a.decode = sum_decode;
    t = tm_twin_new(MODULE(a), NULL);
    TM_CHECK(!tm_twin_result(t, (tm_acc){(const unsigned char *)"short", 5}) && says(tm_twin_error(t), "damaged") && tm_twin_op(t) == 0);
    tm_twin_free(t);
}

/* ---- Frames that no host may write ------------------------------------------------- */

static void test_bad_frames(void)
{
    tm_header *h = (tm_header *)(void *)tm_arena;
    tm_header good = {.size = 8192, .rows = 1, .groups = 1, .cols = 96, .ncols = 1, .group = 128, .acc = 136, .out = 4096, .out_cap = 4096};
    tm_twin *t = tm_twin_new(MODULE(lawful), NULL); /* configures */
    tm_descriptor d = {.kind = TM_INT64, .data = 160};
#define FRAME(status, ...)                                   \
    do {                                                     \
        memset(tm_arena, 0, 8192);                           \
        *h = good;                                           \
        __VA_ARGS__;                                         \
        memcpy(tm_arena + 96, &d, sizeof d);                 \
        TM_CHECK(tm_call(MODULE(lawful), ADD, 0) == (status));      \
    } while (0)
    FRAME(OK, (void)0);
    FRAME(BAD_FRAME, h->size = ARENA_BYTES + 8);
    FRAME(BAD_FRAME, h->size = 8);
    FRAME(BAD_FRAME, h->rows = UINT32_MAX);
    FRAME(BAD_FRAME, h->rows = 2000);
    FRAME(BAD_FRAME, h->ncols = 2);
    FRAME(BAD_FRAME, h->cols = 97);
    FRAME(BAD_FRAME, h->group = 8192);
    FRAME(BAD_FRAME, tm_arena[128] = 1);
    FRAME(BAD_FRAME, h->acc = 8184);
    FRAME(BAD_FRAME, h->out_cap = 4104);
    TM_CHECK(tm_call(MODULE(lawful), ADD, 4) == BAD_FRAME && tm_call(MODULE(lawful), ADD, ARENA_BYTES) == BAD_FRAME);
    d.kind = TM_FLOAT64;
    FRAME(BAD_FRAME, (void)0);
    d.kind = TM_INT64;
    d.data = 8188;
    FRAME(BAD_FRAME, (void)0);
    tm_twin_free(t);
}

/* Texts whose offsets go backwards would reach out of the frame. */
static void test_bad_texts(void)
{
    static tm_string_in text = TM_STRING_IN("text");
    tm_aggregate a = lawful;
    a.inputs[0] = &text.in;
    tm_twin *t = tm_twin_new(MODULE(a), NULL);
    for (int k = 0; k < 3; k++) {
        tm_header h = {.size = 8192, .rows = 2, .groups = 1, .cols = 96, .ncols = 1, .group = 128, .acc = 136, .out = 4096, .out_cap = 4096};
        tm_descriptor d = {.kind = TM_STRING, .data = 160, .blob = 176, .blob_size = 8};
        uint32_t off[3][3] = {{0, 4, 9}, {0, 5, 4}, {9, 4, 4}};
        memset(tm_arena, 0, 8192);
        memcpy(tm_arena, &h, sizeof h);
        memcpy(tm_arena + 96, &d, sizeof d);
        memcpy(tm_arena + 160, off[k], 12);
        TM_CHECK(tm_call(MODULE(a), ADD, 0) == BAD_FRAME);
    }
    tm_twin_free(t);
}

/* Answers that do not fit come in parts. */
static void test_output_full(void)
{
    tm_aggregate a = lawful;
    a.encode = sum_encode, a.decode = sum_decode;
    tm_twin *t = tm_twin_new(MODULE(a), NULL);
    tm_header *h = (tm_header *)(void *)tm_arena;
    memset(tm_arena, 0, 8192);
    *h = (tm_header){.size = 8192, .rows = 3, .groups = 3, .cols = 96, .ncols = 1, .group = 128, .out = 4096, .out_cap = 50};
    memcpy(tm_arena + 96, &(tm_descriptor){.kind = TM_INT64, .data = 160}, 32);
    memcpy(tm_arena + 128, (uint32_t[]){0, 1, 2}, 12);
    /* Each takes 4 + 16 bytes of 50. */
    TM_CHECK(tm_call(MODULE(a), ADD, 0) == OUTPUT_FULL && h->done == 2 && h->out_used == 40 && h->op == 3);
    tm_twin_free(t);
}

/* ---- Helpers ----------------------------------------------------------------------- */

static int by_tens(const void *a, const void *b) { return *(const int *)a / 10 - *(const int *)b / 10; }

static void test_helpers(void)
{
    tm_twin *t = tm_twin_new(MODULE(lawful), NULL); /* gives the memory a beginning */
    for (int n = 0; n < 40; n++) {
        int items[40];
        for (int i = 0; i < n; i++)
            items[i] = i * 17 % 4 * 10 + i / 4; /* equal tens come in ascending order */
        tm_sort(items, (size_t)n, sizeof *items, by_tens);
        for (int i = 1; i < n; i++)
            TM_CHECK(items[i - 1] < items[i]);
    }
    uint64_t numbers[] = {0, 127, 128, 300, UINT64_MAX}, v;
    tm_bytes b = {0};
    for (int i = 0; i < 5; i++)
        tm_append_uvarint(&b, numbers[i]);
    TM_CHECK(b.len == 1 + 1 + 2 + 2 + 10 && memcmp(b.at, "\x00\x7f\x80\x01\xac\x02", 6) == 0);
    tm_text left = {(const char *)b.at, b.len}, piece;
    for (int i = 0; i < 5; i++)
        TM_CHECK(tm_take_uvarint(&left, &v) && v == numbers[i]);
    TM_CHECK(left.len == 0 && !tm_take_uvarint(&left, &v) && !tm_take(&left, 1, &piece));
    left = (tm_text){"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10}; /* more than 64 bits */
    TM_CHECK(!tm_take_uvarint(&left, &v));
    left = (tm_text){"\x80", 1};
    TM_CHECK(!tm_take_uvarint(&left, &v) && left.len == 1);

    const char *ascending[] = {"", "a", "ab", "b", "\xc3"};
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < 5; j++)
            TM_CHECK(tm_compare((tm_text){ascending[i], strlen(ascending[i])}, (tm_text){ascending[j], strlen(ascending[j])}) == (i > j) - (i < j));

    /* Memory that grows keeps what it held, in place or not. */
    char *p = tm_alloc(8), *q;
    memcpy(p, "12345678", 8);
    p = tm_grow(p, 8, 16);
    q = tm_alloc(8);
    p = tm_grow(p, 16, 32);
    TM_CHECK(p != q && memcmp(p, "12345678", 8) == 0 && memcmp(q, "\0\0\0\0\0\0\0", 8) == 0);
    tm_twin_free(t);
}

void test_functions(void); /* functions_test.c */
void test_apply(void);     /* apply_test.c */
void test_upgrades(void);  /* upgrade_test.c */

int main(void)
{
    test_functions();
    test_apply();
    test_upgrades();
    test_values();
    test_args();
    test_manifest();
    test_declarations();
    test_laws();
    test_refusals();
    test_bad_frames();
    test_bad_texts();
    test_output_full();
    test_helpers();
    return tm_failures() > 0;
}

/* Tests of many operations in one call, called by sdk_test.c. */
#include <string.h>

#include "twin_frame.h"

/* An aggregate that mixes whatever a record has into a hash, and answers a text as long
 * as the last one that it was given, behind an eighth of it. */
static tm_int64_in int_in = TM_INT64_IN("i", .nullable = true);
static tm_float64_in float_in = TM_FLOAT64_IN("f", .nullable = true);
static tm_bool_in bool_in = TM_BOOL_IN("b", .nullable = true);
static tm_string_in string_in = TM_STRING_IN("s", .nullable = true);
static tm_timestamp_in time_in = TM_TIMESTAMP_IN("t", .nullable = true);

static tm_int64_out seen_out = TM_INT64_OUT("seen");
static tm_float64_out float_out = TM_FLOAT64_OUT("f");
static tm_bool_out bool_out = TM_BOOL_OUT("b");
static tm_string_out eighth_out = TM_STRING_OUT("eighth");
static tm_string_out last_out = TM_STRING_OUT("last");
static tm_timestamp_out time_out = TM_TIMESTAMP_OUT("t");

typedef struct {
    uint64_t hash;
    int64_t n;
    uint64_t size; /* of the last text */
} mixed;

static void mix(mixed *m, uint64_t v) { m->hash = (m->hash ^ v) * 1099511628211u; }

static void mixed_init(void *acc) { ((mixed *)acc)->hash = 14695981039346656037u; }

static tm_error mixed_add(void *acc, tm_row r)
{
    mixed *m = acc;
    const tm_input *cols[] = {&int_in.in, &float_in.in, &bool_in.in, &string_in.in, &time_in.in};
    double f = tm_float64_of(&float_in, r);
    tm_text s = tm_string_of(&string_in, r);
    uint64_t bits;
    if (!tm_null(&int_in.in, r) && tm_int64_of(&int_in, r) < 0)
        return "i is negative";
    m->n++;
    for (int c = 0; c < 5; c++)
        mix(m, tm_null(cols[c], r));
    mix(m, (uint64_t)tm_int64_of(&int_in, r));
    memcpy(&bits, &f, sizeof bits);
    mix(m, bits);
    mix(m, tm_bool_of(&bool_in, r));
    mix(m, (uint64_t)tm_timestamp_of(&time_in, r));
    for (size_t i = 0; i < s.len; i++)
        mix(m, (unsigned char)s.at[i]);
    m->size = s.len;
    return TM_OK;
}

static tm_error mixed_merge(void *acc, void *from)
{
    mixed *m = acc, *o = from;
    mix(m, o->hash);
    m->n += o->n;
    m->size = o->size;
    return o->n == 13 ? "thirteen" : TM_OK;
}

static tm_error mixed_result(void *acc, tm_row w)
{
    mixed *m = acc;
    char *text = tm_alloc(m->size);
    memset(text, 'a' + (int)(m->n % 26), m->size); /* not that of another result */
    tm_set_int64(&seen_out, w, (int64_t)m->hash);
    if (m->n % 3)
        tm_set_float64(&float_out, w, (double)m->n);
    if (m->n % 5)
        tm_set_bool(&bool_out, w, m->n % 2);
    if (m->n % 7)
        tm_set_timestamp(&time_out, w, m->n);
    if (m->size / 8)
        tm_set_string(&eighth_out, w, (tm_text){text, m->size / 8});
    if (m->n % 4 || m->size > 20)
        tm_set_string(&last_out, w, (tm_text){text, m->size});
    return TM_OK;
}

static const tm_module mixing = {
    .name = "mixing", .version = "1",
    .aggregate = &(const tm_aggregate){
        .inputs = {&int_in.in, &float_in.in, &bool_in.in, &string_in.in, &time_in.in},
        .outputs = {&seen_out.out, &float_out.out, &bool_out.out, &eighth_out.out, &last_out.out, &time_out.out},
        .size = sizeof(mixed), .init = mixed_init, .add = mixed_add, .merge = mixed_merge, .result = mixed_result,
    },
};

enum { COLUMNS = 5, OUTPUTS = 6 };

/* A record with a text, and nothing else. */
#define TEXT(v, n) TM_NULL, TM_NULL, TM_NULL, TM_SN(v, n), TM_NULL

static uint64_t state;

static uint64_t below(uint64_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % n;
}

static void test_single_calls(void)
{
    static tm_value records[400 * COLUMNS];
    static const char text[] = "\xc3\xa4\xc3\xb6\xc3\xbc\xc3\x9f\xc3\xa4\xc3\xb6\xc3\xbc\xc3\x9f\xc3\xa4\xc3\xb6\xc3\xbc\xc3\x9f\xc3\xa4\xc3\xb6\xc3\xbc";
    for (uint64_t seed = 1; seed < 4; seed++) {
        state = seed;
        for (int i = 0; i < 400; i++) {
            const tm_value v[] = {TM_I((int64_t)below(1000)), TM_F((double)below(1000) / 8), TM_B(below(2)), TM_SN(text, 2 * below(16)), TM_T((int64_t)below(1000000) - 500000)};
            for (int c = 0; c < COLUMNS; c++)
                records[i * COLUMNS + c] = below(4) ? v[c] : TM_NULL;
        }
        tm_twin *t = tm_twin_new(&mixing, NULL);
        TM_CHECK(!tm_in_one_call(t, records, 400));
        TM_CHECK(!tm_in_one_call(t, NULL, 0));
        tm_twin_free(t);
    }
}

/* What does not fit stops the call at its operation; the accumulators are as those before
 * it have left them. */
static void test_does_not_fit(void)
{
    static char text[3000];
    memset(text, 'a', sizeof text);
    tm_twin *t = tm_twin_new(&mixing, NULL);
    const tm_value records[] = {TEXT(text, 3000), TEXT(text, 2000)};
    const tm_operation ops[] = {{APPLY_RECORD, 0, 0, 0}, {APPLY_RESULT, 0, 0, 0}, {APPLY_RECORD, 0, 1, 0}, {APPLY_RESULT, 0, 1, 0}, {APPLY_RESET, 0, 0, 0}};
    tm_acc fresh = tm_twin_add(t, TM_FRESH, NULL, 0), acc = fresh, want = tm_twin_add(t, TM_FRESH, records, 2);
    tm_agenda a = {.ops = ops, .nops = 5, .records = records, .nrecords = 2, .accs = &acc, .naccs = 1, .room = 4096};
    TM_CHECK(tm_twin_apply(t, &a) && a.done == 3 && a.nrows == 1 && a.rows[0][4].s.len == 3000 && tm_frame->out_used == 375 + 3000); /* there is room for another 250 */
    TM_CHECK(acc.len == want.len && memcmp(acc.bytes, want.bytes, want.len) == 0);
    acc = fresh; /* with room, the last one is carried out too */
    a.room = 375 + 3000 + 250 + 2000;
    TM_CHECK(tm_twin_apply(t, &a) && a.done == 5 && a.nrows == 2 && a.rows[1][4].s.len == 2000 && tm_frame->out_used == a.room);
    TM_CHECK(memcmp(acc.bytes, fresh.bytes, fresh.len) == 0);
    tm_twin_free(t);
}

static void test_refusals_by_operation(void)
{
    static char text[(1 << 20) + 1];
    tm_twin *t = tm_twin_new(&mixing, NULL);
    const tm_value records[] = {TEXT("", 0), TM_I(-1), TM_NULL, TM_NULL, TM_NULL, TM_NULL, TEXT(text, sizeof text)};
    const tm_operation negative[] = {{APPLY_RECORD, 0, 0, 0}, {APPLY_RESULT, 0, 0, 0}, {APPLY_RECORD, 1, 1, 0}},
                       large[] = {{APPLY_RECORD, 0, 2, 0}, {APPLY_RESULT, 0, 0, 0}};
    tm_operation merged[14] = {{0}};
    tm_acc fresh = tm_twin_add(t, TM_FRESH, NULL, 0), accs[] = {fresh, fresh};
    tm_agenda a = {.ops = negative, .nops = 3, .records = records, .nrecords = 3, .accs = accs, .naccs = 2};
    TM_CHECK(!tm_twin_apply(t, &a) && tm_twin_op(t) == 2 && strcmp(tm_twin_error(t), "i is negative") == 0);
    a.ops = large, a.nops = 2;
    TM_CHECK(!tm_twin_apply(t, &a) && tm_twin_op(t) == 1 && strcmp(tm_twin_error(t), "the texts of a result row are longer than 1 MiB") == 0);
    merged[13] = (tm_operation){APPLY_MERGE, 1, 0, 0};
    a.ops = merged, a.nops = 14;
    TM_CHECK(!tm_twin_apply(t, &a) && tm_twin_op(t) == 13 && strcmp(tm_twin_error(t), "thirteen") == 0);
    tm_twin_free(t);
}

/* Frames that no host may write: nothing is carried out. */
static void test_bad_operations(void)
{
    enum { BLOCK = 96, OPS = 144, COLS = 176, DATA = 336, ACC = 400, OUTCOLS = 424, OUT = 4096 };
    const tm_header good = {.size = 8192, .rows = 2, .groups = 1, .acc = ACC, .outcols = OUTCOLS, .noutcols = OUTPUTS, .out = OUT, .out_cap = 4096, .block = BLOCK};
    const uint32_t kinds[] = {TM_INT64, TM_FLOAT64, TM_BOOL, TM_STRING, TM_TIMESTAMP};
    const uint32_t out_kinds[] = {TM_INT64, TM_FLOAT64, TM_BOOL, TM_STRING, TM_STRING, TM_TIMESTAMP};
    tm_header *h = (tm_header *)(void *)tm_arena;
    tm_block *b = (tm_block *)(void *)(tm_arena + BLOCK);
    tm_operation *ops = (tm_operation *)(void *)(tm_arena + OPS);
    tm_descriptor *in = (tm_descriptor *)(void *)(tm_arena + COLS), *out = (tm_descriptor *)(void *)(tm_arena + OUTCOLS);
    tm_twin *t = tm_twin_new(&mixing, NULL); /* configures */
#define FRAME(status, of, ...)                                                                        \
    do {                                                                                              \
        memset(tm_arena, 0, 8192);                                                                    \
        *h = good;                                                                                    \
        *b = (tm_block){.items = OPS, .results = 1, .lists = {{1, COLS, COLUMNS}}};                   \
        for (int c = 0; c < COLUMNS; c++)                                                             \
            in[c] = (tm_descriptor){.kind = kinds[c], .data = DATA};                                  \
        for (int c = 0; c < OUTPUTS; c++)                                                             \
            out[c] = (tm_descriptor){.kind = out_kinds[c], .validity = 1024, .data = 1032};           \
        __VA_ARGS__;                                                                                  \
        TM_CHECK(tm_call((of), APPLY, 0) == (status));                                                \
        TM_CHECK((status) == OK || ((mixed *)(void *)(tm_arena + ACC))->n == 0);                      \
    } while (0)
    FRAME(OK, &mixing, (void)0);
    TM_CHECK(((mixed *)(void *)(tm_arena + ACC))->n == 2);
    FRAME(OK, &mixing, ops[1] = (tm_operation){APPLY_RESULT, 0, 0, 0});
    FRAME(BAD_FRAME, &mixing, ops[1].what = 4);
    FRAME(BAD_FRAME, &mixing, ops[1].acc = 1);
    FRAME(BAD_FRAME, &mixing, ops[1].arg = 1);
    FRAME(BAD_FRAME, &mixing, ops[1] = (tm_operation){APPLY_RESULT, 0, 1, 0});
    FRAME(BAD_FRAME, &mixing, ops[1] = (tm_operation){APPLY_RESET, 0, 1, 0});
    FRAME(BAD_FRAME, &mixing, ops[1] = (tm_operation){APPLY_MERGE, 0, 1, 0});
    FRAME(BAD_FRAME, &mixing, h->block = 8192 - 40);
    FRAME(BAD_FRAME, &mixing, h->block = BLOCK + 4);
    FRAME(BAD_FRAME, &mixing, b->items = 8192 - 16);
    FRAME(BAD_FRAME, &mixing, b->items = OPS + 4);
    FRAME(BAD_FRAME, &mixing, h->acc = 8192 - 16);
    FRAME(BAD_FRAME, &mixing, h->groups = 400);
    FRAME(BAD_FRAME, &mixing, b->results = UINT32_MAX);
    FRAME(BAD_FRAME, &mixing, b->results = 1000);
    FRAME(BAD_FRAME, &mixing, b->lists[0].rows = UINT32_MAX);
    FRAME(BAD_FRAME, &mixing, b->lists[0].rows = 1000);
    FRAME(BAD_FRAME, &mixing, b->lists[0].ncols = COLUMNS + 1);
    FRAME(BAD_FRAME, &mixing, b->lists[0].cols = 8192 - 32);
    FRAME(BAD_FRAME, &mixing, in[0].kind = TM_FLOAT64);
    FRAME(BAD_FRAME, &mixing, in[4].data = 8192);
    FRAME(BAD_FRAME, &mixing, h->noutcols = OUTPUTS - 1);
    FRAME(BAD_FRAME, &mixing, h->outcols = 8192 - 32);
    FRAME(BAD_FRAME, &mixing, out[0].kind = TM_BOOL);
    FRAME(BAD_FRAME, &mixing, out[5].data = 8192);

    /* Nor is anything where the manifest does not offer the call. */
    tm_aggregate a = *mixing.aggregate;
    tm_module m = mixing;
    m.aggregate = &a;
    a.add = NULL;
    FRAME(BAD_FRAME, &m, (void)0);
    tm_twin_free(t);
}

/* The manifest offers the call where the accumulators are of fixed size and there is an
 * add. */
static tm_error some_batch(tm_batch b) { return b.len ? TM_OK : TM_OK; }
static tm_error some_encode(void *acc, tm_bytes *to) { return acc && to ? TM_OK : TM_OK; }
static tm_error some_decode(void *acc, tm_text bytes) { return acc && bytes.len ? TM_OK : TM_OK; }

static bool offers(tm_aggregate a)
{
    tm_module m = mixing;
    m.aggregate = &a;
    TM_CHECK(!tm_check(&m));
    tm_arena[tm_write_manifest(&m)] = 0;
    return strstr((const char *)tm_arena, "\"exact\":false,\"apply\":true}}");
}

static void test_offers(void)
{
    tm_aggregate a = *mixing.aggregate;
    TM_CHECK(offers(a));
    a.add_batch = some_batch;
    TM_CHECK(offers(a));
    a.add = NULL;
    TM_CHECK(!offers(a));
    a = *mixing.aggregate;
    a.encode = some_encode, a.decode = some_decode;
    TM_CHECK(!offers(a) && !strstr((const char *)tm_arena, "apply"));
}

void test_apply(void)
{
    test_single_calls();
    test_does_not_fit();
    test_refusals_by_operation();
    test_bad_operations();
    test_offers();
}

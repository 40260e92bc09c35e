/* Tests of upgrades, called by sdk_test.c. */
#include <string.h>

#include "items.h"
#include "twin.h"

static bool says(const char *text, const char *part) { return text && strstr(text, part); }

/* ---- Accumulators of a fixed size, which were narrower and wider ------------------- */

static tm_int64_out n = TM_INT64_OUT("n"), upgraded = TM_INT64_OUT("upgraded");

typedef struct { int32_t n; } first; /* 8 bytes in the host's keeping, 4 of them zeros */
typedef struct { int64_t unused, n, more; } second;
typedef struct { int64_t upgraded, n; } third;

static tm_error add(void *acc, tm_row r)
{
    (void)r;
    ((third *)acc)->n++;
    return TM_OK;
}
static tm_error merge(void *acc, void *from)
{
    ((third *)acc)->n += ((third *)from)->n;
    ((third *)acc)->upgraded += ((third *)from)->upgraded;
    return TM_OK;
}
static tm_error result(void *acc, tm_row w)
{
    tm_set_int64(&n, w, ((third *)acc)->n);
    tm_set_int64(&upgraded, w, ((third *)acc)->upgraded);
    return TM_OK;
}

static tm_error from_first(const void *old, void *now)
{
    const first *o = old;
    third *t = now;
    if (o->n < 0)
        return "a count is below 0";
    if (t->n || t->upgraded)
        return "an accumulator that is not zeros";
    t->n = o->n;
    t->upgraded = 1;
    return TM_OK;
}
static tm_error from_second(const void *old, void *now)
{
    const second *o = old;
    *(third *)now = (third){2, o->n + o->more};
    return TM_OK;
}

static const tm_upgrade one = {.schema = 1, .size = sizeof(first), .convert = from_first},
                        two = {.schema = 2, .size = sizeof(second), .convert = from_second};

static const tm_aggregate counting = {
    .outputs = {&n.out, &upgraded.out}, .size = sizeof(third), .schema = 3, .upgrades = {&one, &two},
    .add = add, .merge = merge, .result = result, .order_insensitive = true, .exact = true,
};
static const tm_module fixed = {.name = "fixed", .version = "3", .aggregate = &counting};

static void test_fixed(void)
{
    tm_twin *t = tm_twin_new(&fixed, NULL);
    tm_acc a = tm_twin_upgrade(t, 1, TM_KEPT_ACCUMULATOR, (const int32_t[]){41, 0}, 8);
    TM_CHECK(a.len == 16 && memcmp(a.bytes, (const int64_t[]){1, 41}, 16) == 0);
    a = tm_twin_merge(t, tm_twin_upgrade(t, 2, TM_KEPT_ACCUMULATOR, (const int64_t[]){9, 4, 5}, 24), a);
    const tm_value *row = tm_twin_result(t, tm_twin_add(t, a, &TM_NULL, 1)); /* as those of today */
    TM_CHECK(row && row[0].i == 51 && row[1].i == 3);

    TM_CHECK(!tm_twin_upgrade(t, 1, TM_KEPT_ACCUMULATOR, (const int32_t[]){-1, 0}, 8).bytes && says(tm_twin_error(t), "a count is below 0") && tm_twin_op(t) == 0);
    TM_CHECK(!tm_twin_upgrade(t, 1, TM_KEPT_ACCUMULATOR, "abc", 3).bytes && says(tm_twin_error(t), "another size than its type"));
    TM_CHECK(!tm_twin_upgrade(t, 3, TM_KEPT_ACCUMULATOR, (const int64_t[]){1, 2}, 16).bytes && says(tm_twin_error(t), "an upgrade that the plug-in does not have"));
    tm_twin_free(t);
}

/* ---- What varies in size ------------------------------------------------------------ */

/* Doubles the bytes, behind what they are; a refusal for none, and nothing for "-". */
static tm_error twice(tm_kept what, tm_text old, tm_bytes *now)
{
    const char kind = (char)('0' + what);
    if (!old.len)
        return "nothing was kept";
    if (*old.at == '-')
        return TM_OK;
    tm_append(now, &kind, 1);
    tm_append(now, old.at, old.len);
    tm_append(now, old.at, old.len);
    return TM_OK;
}
static const tm_upgrade bytes = {.schema = 4, .rewrite = twice};

static tm_error encode(void *acc, tm_bytes *to)
{
    tm_append(to, acc, 1);
    return TM_OK;
}
static tm_error decode(void *acc, tm_text b)
{
    *(char *)acc = *b.at;
    return TM_OK;
}
static const tm_aggregate varying = {
    .outputs = {&n.out}, .size = 1, .schema = 5, .upgrades = {&bytes},
    .add = add, .merge = merge, .result = result, .encode = encode, .decode = decode,
};
static const tm_module varies = {.name = "varies", .version = "5", .aggregate = &varying};

static tm_state of_key, of_window;
static tm_error fired(const tm_firing *f) { return f ? TM_OK : TM_OK; }
static tm_error seen(const tm_record *r) { return r ? TM_OK : TM_OK; }
static tm_error shown(const tm_pane *p) { return p ? TM_OK : TM_OK; }

static const tm_process process = {.outputs = {&n.out}, .key_state = &of_key, .window_state = &of_window, .schema = 5, .upgrades = {&bytes}, .each = fired};
static const tm_generator generator = {.state = &of_key, .schema = 5, .upgrades = {&bytes}, .each = seen};
static const tm_trigger trigger = {.state = &of_key, .schema = 5, .upgrades = {&bytes}, .element = shown};
static const tm_module kinds[] = {
    {.name = "varies", .version = "5", .aggregate = &varying},
    {.name = "process", .version = "5", .process = &process},
    {.name = "generator", .version = "5", .watermark = &generator},
    {.name = "trigger", .version = "5", .trigger = &trigger},
};

static void test_bytes(void)
{
    const char *want[] = {"0abab", "1abab", "2abab", "3abab"};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        tm_twin *t = tm_twin_new(&kinds[k], NULL);
        for (int what = TM_KEPT_ACCUMULATOR; what <= TM_KEPT_OF_SPLIT; what++) {
            tm_acc a = tm_twin_upgrade(t, 4, (tm_kept)what, "ab", 2);
            TM_CHECK(a.len == 5 && memcmp(a.bytes, want[what], 5) == 0);
        }
        tm_acc none = tm_twin_upgrade(t, 4, TM_KEPT_ACCUMULATOR, "-", 1);
        TM_CHECK(none.bytes && none.len == 0);
        TM_CHECK(!tm_twin_upgrade(t, 4, TM_KEPT_OF_KEY, "", 0).bytes && says(tm_twin_error(t), "nothing was kept"));
        TM_CHECK(!tm_twin_upgrade(t, 5, TM_KEPT_OF_KEY, "ab", 2).bytes && says(tm_twin_error(t), "does not have"));
        tm_twin_free(t);
    }
}

/* ---- Frames ------------------------------------------------------------------------- */

typedef struct {
    tm_header h;
    tm_block b;
    uint32_t off[4];
    char data[16];
    unsigned char rest[8192];
} three_states;

static tm_status serve(const tm_module *m, const three_states *f)
{
    memcpy(tm_arena, f, sizeof *f);
    return tm_call(m, UPGRADE, 0);
}

static void test_frames(void)
{
#define OFF(member) ((uint32_t)offsetof(three_states, member))
    const three_states good = {
        .h = {.size = 8192, .groups = 3, .acc = OFF(off), .out = 4096, .out_cap = 4096, .block = OFF(b)},
        .b = {.items = 4, .keys = TM_KEPT_OF_KEY}, .off = {0, 3, 4, 6}, .data = "abcdef",
    };
    const tm_header *h = (const tm_header *)(const void *)tm_arena;
    tm_twin *t = tm_twin_new(&varies, NULL); /* configures */
#define FRAME(status, ...)                     \
    do {                                       \
        three_states f = good;                 \
        __VA_ARGS__;                           \
        TM_CHECK(serve(&varies, &f) == (status)); \
    } while (0)
    /* 7, 3 and 5 bytes, each behind its length and padded to 4. */
    FRAME(OK, (void)0);
    TM_CHECK(h->op == 2 && h->out_used == 12 + 8 + 12 &&
             memcmp(tm_arena + 4096, "\7\0\0\0" "1abcabc\0" "\3\0\0\0" "1dd\0" "\5\0\0\0" "1efef\0\0\0", 32) == 0);
    FRAME(OUTPUT_FULL, f.h.out_cap = 31);
    TM_CHECK(h->done == 2 && h->out_used == 20);
    FRAME(OUTPUT_FULL, f.h.out_cap = 11);
    TM_CHECK(h->done == 0 && h->out_used == 0);
    FRAME(REFUSED, f.off[2] = 3);
    TM_CHECK(h->op == 1);
    FRAME(REFUSED, f.b.items = 3);
    TM_CHECK(h->op == 0);
    FRAME(OK, f.h.groups = 0);
    FRAME(BAD_FRAME, f.h.block = 8192 - 40);
    FRAME(BAD_FRAME, f.h.acc = 8192 - 8);
    FRAME(BAD_FRAME, f.h.groups = 1 << 20);
    FRAME(BAD_FRAME, f.off[3] = 8192);
    FRAME(BAD_FRAME, f.off[1] = 5);
    const tm_aggregate without = {.outputs = {&n.out}, .size = 8, .add = add, .merge = merge, .result = result};
    const tm_module none = {.name = "none", .version = "1", .aggregate = &without};
    TM_CHECK(serve(&none, &good) == BAD_FRAME);
    tm_twin_free(t);
}

/* ---- Declarations ------------------------------------------------------------------- */

static bool manifest_has(const tm_module *m, const char *part)
{
    if (tm_check(m))
        return false;
    size_t len = tm_write_manifest(m);
    tm_arena[len] = 0;
    return strstr((const char *)tm_arena, part);
}

static void test_declarations(void)
{
    TM_CHECK(manifest_has(&fixed, "\"accumulator\":{\"width\":16,\"schema\":3,\"upgrades\":[{\"schema\":1,\"width\":8},{\"schema\":2,\"width\":24}]},"));
    TM_CHECK(manifest_has(&varies, "\"accumulator\":{\"width\":0,\"schema\":5,\"upgrades\":[{\"schema\":4,\"width\":0}]},"));
    TM_CHECK(manifest_has(&kinds[1], "\"state\":{\"key\":true,\"window\":true,\"schema\":5,\"upgrades\":[{\"schema\":4}]}}"));
    TM_CHECK(manifest_has(&kinds[2], "\"state\":{\"schema\":5,\"upgrades\":[{\"schema\":4}]}}"));
    TM_CHECK(manifest_has(&kinds[3], "\"state\":{\"schema\":5,\"upgrades\":[{\"schema\":4}]},\"may_purge\""));
#define WRONG(of, member, text, ...)                        \
    do {                                                    \
        of = good;                                          \
        tm_module m = {.name = "a", .version = "", .member = &a}; \
        __VA_ARGS__;                                        \
        TM_CHECK(says(tm_check(&m), text));                 \
    } while (0)
    const tm_upgrade zero = {.size = 8, .convert = from_first}, small = {.schema = 1, .convert = from_first},
                     large = {.schema = 1, .size = 4097, .convert = from_first}, neither = {.schema = 1, .size = 8};
    {
        const tm_aggregate good = counting;
        WRONG(tm_aggregate a, aggregate, "upgrade of \"a\": its .schema must be at least 1 and below", a.schema = 2);
        WRONG(tm_aggregate a, aggregate, "below that of today", a.schema = 0);
        WRONG(tm_aggregate a, aggregate, "at least 1", a.upgrades[0] = &zero);
        WRONG(tm_aggregate a, aggregate, "two from one schema", a.upgrades[1] = &one);
        WRONG(tm_aggregate a, aggregate, "by convert alone", a.upgrades[0] = &bytes, a.schema = 9);
        WRONG(tm_aggregate a, aggregate, "by convert alone", a.upgrades[0] = &small);
        WRONG(tm_aggregate a, aggregate, "from 1 to 4096", a.upgrades[0] = &large);
        WRONG(tm_aggregate a, aggregate, "by convert alone", a.upgrades[0] = &neither);
        WRONG(tm_aggregate a, aggregate, "by rewrite alone", a.encode = encode, a.decode = decode);
        static tm_upgrade many[TM_MAX_UPGRADES + 1];
        WRONG(tm_aggregate a, aggregate, "more than 64", a.schema = 99; for (uint32_t i = 0; i < 65; i++) {
            many[i] = one;
            many[i].schema = i + 1;
            a.upgrades[i] = &many[i];
            if (i < 64)
                TM_CHECK(!tm_check(&m));
        });
    }
    {
        const tm_process good = process;
        WRONG(tm_process a, process, "it keeps no state, and has upgrades", a.key_state = a.window_state = NULL);
        WRONG(tm_process a, process, "by rewrite alone", a.upgrades[0] = &one);
    }
    {
        const tm_generator good = generator;
        WRONG(tm_generator a, watermark, "it keeps no state, and has upgrades", a.state = NULL);
    }
    {
        const tm_trigger good = trigger;
        WRONG(tm_trigger a, trigger, "below that of today", a.schema = 4);
    }
}

void test_upgrades(void)
{
    test_fixed();
    test_bytes();
    test_frames();
    test_declarations();
}

/* The twins of functions of single records, window assigners, pair functions, watermark
 * generators and process functions. */
#include "twin_items.h"

#ifndef __wasm__

#include <string.h>

/* Ends a test of another kind of plug-in. */
static void is(const tm_twin *t, const void *kind, const char *what)
{
    if (!kind)
        tm_misuse("%s is no %s", t->of->name, what);
}

/* Shows records, and counts a refused one as the caller does. */
static tm_rows show(tm_twin *t, tm_items *w, const size_t *place, tm_output *const *(*cols)(const tm_twin *t, uint32_t output))
{
    tm_answer a = {0};
    if (tm_show_items(t, w, &a))
        return tm_rows_of(t, &a, place, cols);
    if (t->op >= 0)
        t->op = (int64_t)place[t->op];
    return (tm_rows){0};
}

/* ---- Single records ------------------------------------------------------------------ */

typedef struct {
    tm_input *const *cols;
    const tm_shown *records;
} some_records;

static void write_records(tm_twin *t, const tm_items *w, uint32_t block, size_t from, size_t n)
{
    const some_records *s = w->of;
    tm_write_list(t, block, 0, s->cols, s->records + from, n);
}

static tm_rows show_records(tm_twin *t, tm_op o, tm_input *const *cols, tm_records records, tm_acc *state, tm_output *const *(*outputs)(const tm_twin *t, uint32_t output))
{
    tm_chosen k = tm_keep(t, cols, records);
    some_records s = {cols, k.at};
    tm_items w = {o, k.len, write_records, &s, {state ? tm_own(t, (k.len + 1) * sizeof(uint32_t)) : NULL}, {state}, {state ? 1 : 0}};
    return show(t, &w, k.place, outputs);
}

static tm_output *const *map_outputs(const tm_twin *t, uint32_t output)
{
    if (output)
        tm_misuse("BUG: a row of side output %u", output);
    return t->of->map->outputs;
}

tm_rows tm_twin_map(tm_twin *t, tm_records records)
{
    is(t, t->of->map, "function of single records");
    return show_records(t, MAP, t->of->map->inputs, records, NULL, map_outputs);
}

tm_rows tm_twin_assign(tm_twin *t, tm_records records)
{
    is(t, t->of->assigner, "window assigner");
    tm_chosen k = tm_keep(t, t->of->assigner->inputs, records);
    some_records s = {t->of->assigner->inputs, k.at};
    tm_items w = {.op = ASSIGN, .n = k.len, .write = write_records, .of = &s};
    tm_answer a = {0};
    if (!tm_show_items(t, &w, &a)) {
        if (t->op >= 0)
            t->op = (int64_t)k.place[t->op];
        return (tm_rows){0};
    }
    tm_given *rows = tm_own(t, (a.len + 1) * sizeof *rows);
    for (size_t i = 0; i < a.len; i++) { /* the body of a window is no row's */
        int64_t bounds[2];
        tm_value *values = tm_own(t, 2 * sizeof *values);
        if (a.at[i].body.len != sizeof bounds)
            tm_misuse("a window assigner answered something else than a window");
        memcpy(bounds, a.at[i].body.at, sizeof bounds);
        values[0] = TM_T(bounds[0]);
        values[1] = TM_T(bounds[1]);
        rows[i] = (tm_given){k.place[a.at[i].item], 0, values};
    }
    return (tm_rows){rows, a.len};
}

/* ---- Pairs --------------------------------------------------------------------------- */

typedef struct {
    tm_chosen left, right;
} both_sides;

static void write_pairs(tm_twin *t, const tm_items *w, uint32_t block, size_t from, size_t n)
{
    const both_sides *s = w->of;
    uint32_t items = tm_area(n * sizeof(tm_pair_data));
    tm_block_at(block)->items = items;
    for (size_t i = 0; i < n; i++) {
        size_t l = (from + i) / s->right.len, r = (from + i) % s->right.len;
        int64_t a = s->left.at[l].time, b = s->right.at[r].time;
        tm_pair_data d = {(uint32_t)l, (uint32_t)r, a > b ? a : b};
        memcpy(tm_arena + items + i * sizeof d, &d, sizeof d);
    }
    tm_write_list(t, block, 0, t->of->pair->left, s->left.at, s->left.len);
    tm_write_list(t, block, 1, t->of->pair->right, s->right.at, s->right.len);
}

static tm_output *const *pair_outputs(const tm_twin *t, uint32_t output)
{
    if (output)
        tm_misuse("BUG: a row of side output %u", output);
    return t->of->pair->outputs;
}

tm_rows tm_twin_pairs(tm_twin *t, tm_records left, tm_records right)
{
    is(t, t->of->pair, "pair function");
    both_sides s = {tm_keep(t, t->of->pair->left, left), tm_keep(t, t->of->pair->right, right)};
    tm_items w = {.op = PAIR, .n = s.left.len * s.right.len, .write = write_pairs, .of = &s};
    size_t *place = tm_own(t, (w.n + 1) * sizeof *place);
    for (size_t i = 0; i < w.n; i++)
        place[i] = s.left.place[i / s.right.len] * right.len + s.right.place[i % s.right.len];
    return show(t, &w, place, pair_outputs);
}

/* ---- States that a twin keeps -------------------------------------------------------- */

/* The state of a key, or of a window of it. */
struct kept {
    struct kept *next;
    uint32_t what;
    const char *key;
    int64_t start, end; /* 0 of a key */
    tm_acc state;
};

static struct kept *find(const tm_twin *t, uint32_t what, const char *key, int64_t start, int64_t end)
{
    for (struct kept *k = t->kept; k; k = k->next)
        if (k->what == what && strcmp(k->key, key) == 0 && k->start == start && k->end == end)
            return k;
    return NULL;
}

static struct kept *find_or_make(tm_twin *t, uint32_t what, const char *key, int64_t start, int64_t end)
{
    struct kept *k = find(t, what, key, start, end);
    if (!k) {
        k = tm_own(t, sizeof *k);
        *k = (struct kept){t->kept, what, strcpy(tm_own(t, strlen(key) + 1), key), start, end, TM_FRESH};
        t->kept = k;
    }
    return k;
}

static tm_acc state_of(const tm_twin *t, uint32_t what, const char *key, int64_t start, int64_t end)
{
    const struct kept *k = find(t, what, key, start, end);
    return k && k->state.len ? k->state : TM_FRESH;
}

tm_acc tm_twin_key_state(const tm_twin *t, const char *key) { return state_of(t, KEY_STATE, key, 0, 0); }
tm_acc tm_twin_window_state(const tm_twin *t, const char *key, int64_t start, int64_t end) { return state_of(t, WINDOW_STATE, key, start, end); }
void tm_twin_clean(tm_twin *t, const char *key, int64_t start, int64_t end) { find_or_make(t, WINDOW_STATE, key, start, end)->state = TM_FRESH; }
void tm_twin_expire(tm_twin *t, const char *key) { find_or_make(t, KEY_STATE, key, 0, 0)->state = TM_FRESH; }

/* ---- Watermark generators ------------------------------------------------------------ */

static tm_output *const *watermark_output(const tm_twin *t, uint32_t output)
{
    static tm_output column = {.name = "watermark", .kind = TM_TIMESTAMP};
    static tm_output *const one[] = {&column, NULL};
    if (output)
        tm_misuse("BUG: %s answered a row of side output %u", t->of->name, output);
    return one;
}

static tm_acc *split_state(tm_twin *t) { return t->of->watermark->state ? &find_or_make(t, KEY_STATE, "", 0, 0)->state : NULL; }

tm_rows tm_twin_watermarks(tm_twin *t, tm_records records)
{
    is(t, t->of->watermark, "watermark generator");
    return show_records(t, WATERMARK, t->of->watermark->inputs, records, split_state(t), watermark_output);
}

tm_rows tm_twin_tick(tm_twin *t, int64_t now)
{
    static tm_input *const none[] = {NULL};
    is(t, t->of->watermark, "watermark generator");
    return show_records(t, TICK, none, (tm_records){&(tm_shown){now, NULL}, 1}, split_state(t), watermark_output);
}

tm_acc tm_twin_split_state(const tm_twin *t) { return tm_twin_key_state(t, ""); }

/* ---- Process functions --------------------------------------------------------------- */

typedef struct {
    const tm_fired *at;
    const uint32_t *slots[2];
} some_firings;

static void write_firings(tm_twin *t, const tm_items *w, uint32_t block, size_t from, size_t n)
{
    const tm_process *p = t->of->process;
    const some_firings *s = w->of;
    const tm_fired *firings = s->at + from;
    tm_list *const lists[] = {p->left ? p->left : p->records, p->right};
    uint32_t width = 0, items = tm_area(n * sizeof(tm_firing_data));
    tm_block_at(block)->items = items;
    tm_firing_data *data = tm_own(t, (n + 1) * sizeof *data);
    for (size_t i = 0; i < n; i++) {
        const tm_fired *f = &firings[i];
        data[i] = (tm_firing_data){.start = f->start, .end = f->end, .watermark = f->watermark, .now = f->now, .revision = f->revision};
        data[i].key = s->slots[0] ? s->slots[0][from + i] : UINT32_MAX;
        data[i].window = s->slots[1] ? s->slots[1][from + i] : UINT32_MAX;
    }
    for (int k = 0; k < 2; k++) {
        size_t all = 0, len = 0;
        for (size_t i = 0; i < n; i++)
            all += (k ? firings[i].right : firings[i].records).len;
        tm_shown *records = tm_own(t, (all + 1) * sizeof *records);
        for (size_t i = 0; lists[k] && i < n; i++) {
            tm_chosen kept = tm_keep(t, lists[k]->cols, k ? firings[i].right : firings[i].records);
            data[i].lists[k].from = (uint32_t)len;
            memcpy(records + len, kept.at, kept.len * sizeof *records);
            data[i].lists[k].to = (uint32_t)(len += kept.len);
        }
        if (lists[k])
            tm_write_list(t, block, k, lists[k]->cols, records, len);
    }
    memcpy(tm_arena + items, data, n * sizeof *data);
    while (p->inputs[width])
        width++;
    tm_value *values = tm_own(t, (n * width + 1) * sizeof *values);
    for (size_t i = 0; width && i < n; i++)
        memcpy(values + i * width, firings[i].inputs, width * sizeof *values);
    tm_frame->ncols = width;
    tm_frame->cols = tm_area(sizeof(tm_descriptor) * width);
    for (uint32_t i = 0; i < width; i++) {
        tm_descriptor d = tm_column(p->inputs[i]->name, p->inputs[i]->kind, p->inputs[i]->nullable, values + i, width, n);
        memcpy(tm_arena + tm_frame->cols + i * sizeof d, &d, sizeof d);
    }
}

static tm_output *const *process_outputs(const tm_twin *t, uint32_t output)
{
    return output ? t->of->process->sides[output - 1]->outputs : t->of->process->outputs;
}

/* The slots of a sort of states, and the states in them. */
static void slots_of(tm_twin *t, uint32_t what, const tm_fired *firings, size_t n, tm_items *w, struct kept **slots)
{
    uint32_t sort = what - KEY_STATE, *slot = tm_own(t, (n + 1) * sizeof *slot);
    w->states[sort] = tm_own(t, (n + 1) * sizeof **w->states);
    for (size_t i = 0; i < n; i++) {
        const tm_fired *f = &firings[i];
        struct kept *k = what == KEY_STATE ? find_or_make(t, what, f->key, 0, 0) : find_or_make(t, what, f->key, f->start, f->end);
        uint32_t at = 0;
        while (at < w->nstates[sort] && slots[at] != k)
            at++;
        if (at == w->nstates[sort]) {
            slots[at] = k;
            w->states[sort][at] = k->state;
            w->nstates[sort]++;
        }
        slot[i] = at;
    }
    w->slots[sort] = slot;
}

tm_rows tm_twin_fire(tm_twin *t, const tm_fired *firings, size_t n)
{
    const tm_process *p = t->of->process;
    is(t, p, "process function");
    tm_fired *shown = tm_own(t, (n + 1) * sizeof *shown);
    size_t *place = tm_own(t, (n + 1) * sizeof *place), len = 0;
    for (size_t i = 0; i < n; i++) {
        if (p->inputs[0] && !firings[i].inputs)
            tm_misuse("firing %zu has no values, and there are columns", i);
        if (p->inputs[0] && tm_lacks(p->inputs, firings[i].inputs))
            continue;
        shown[len] = firings[i];
        if (!shown[len].key)
            shown[len].key = "";
        place[len++] = i;
    }
    tm_items w = {.op = PROCESS, .n = len, .write = write_firings};
    struct kept **slots[2] = {tm_own(t, (len + 1) * sizeof **slots), tm_own(t, (len + 1) * sizeof **slots)};
    if (p->key_state)
        slots_of(t, KEY_STATE, shown, len, &w, slots[0]);
    if (p->window_state)
        slots_of(t, WINDOW_STATE, shown, len, &w, slots[1]);
    some_firings s = {shown, {w.slots[0], w.slots[1]}};
    w.of = &s;
    tm_rows rows = show(t, &w, place, process_outputs);
    for (int sort = 0; sort < 2; sort++)
        for (uint32_t i = 0; i < w.nstates[sort]; i++)
            slots[sort][i]->state = w.states[sort][i];
    return rows;
}

#endif

/* The manifest of abi/SPEC.md, section 2, and its limits, so that a module that builds
 * is a module that hosts take. */
#include "frame.h"

enum { MAX_NAME = 63, MAX_VERSION = 64, MAX_DEFAULT = 4096 };

static struct {
    char *at;
    size_t len, room;
} text; /* what is being written; what does not fit is left out and shows in len */

static void begin(void *at, size_t room)
{
    text.at = at;
    text.len = 0;
    text.room = room;
}

static void put(const char *s)
{
    for (; *s; s++, text.len++)
        if (text.len < text.room)
            text.at[text.len] = *s;
}

static void put_number(uint64_t v)
{
    char digits[21];
    size_t n = 20;
    digits[n] = 0;
    do
        digits[--n] = (char)('0' + v % 10);
    while (v /= 10);
    put(digits + n);
}

static void put_quoted(const char *s)
{
    put("\"");
    for (; *s; s++) {
        char c[7] = {*s};
        if (*s == '"' || *s == '\\') {
            c[0] = '\\';
            c[1] = *s;
        } else if ((unsigned char)*s < 0x20) {
            const char *hex = "0123456789abcdef";
            tm_copy(c, "\\u00", 4);
            c[4] = hex[*s >> 4];
            c[5] = hex[*s & 15];
        }
        put(c);
    }
    put("\"");
}

/* ---- What is checked --------------------------------------------------------------- */

/* A lower-case letter, then letters, digits, _ and the mark. */
static bool good_name(const char *name, char mark)
{
    size_t n = 0;
    for (; name && name[n]; n++) {
        char c = name[n];
        bool inner = (c >= '0' && c <= '9') || c == '_' || c == mark;
        if (!(c >= 'a' && c <= 'z') && !(inner && n > 0))
            return false;
    }
    return n > 0 && n <= MAX_NAME;
}

static bool same(const char *a, const char *b)
{
    while (*a && *a == *b)
        a++, b++;
    return *a == *b;
}

static const char *digits(const char *s)
{
    while (*s >= '0' && *s <= '9')
        s++;
    return s;
}

/* Whether s is a number of JSON; whole: without fraction and exponent. */
static bool good_number(const char *s, bool whole)
{
    if (*s == '-')
        s++;
    const char *end = digits(s);
    if (end == s || (*s == '0' && end > s + 1))
        return false;
    if (!whole && *end == '.') {
        s = end + 1;
        if ((end = digits(s)) == s)
            return false;
    }
    if (!whole && (*end == 'e' || *end == 'E')) {
        s = end + 1;
        if (*s == '-' || *s == '+')
            s++;
        if ((end = digits(s)) == s)
            return false;
    }
    return *end == 0;
}

/* Whether s is one text in quotes whose escapes are those of C and of JSON. */
static bool good_text(const char *s)
{
    if (*s++ != '"')
        return false;
    for (; *s && *s != '"'; s++)
        if (*s == '\\') {
            s++;
            if (*s != '"' && *s != '\\' && *s != 'n' && *s != 't' && *s != 'r' && *s != 'b' && *s != 'f')
                return false;
        }
    return *s == '"' && s[1] == 0;
}

static const char *bad_default(const tm_param *p)
{
    const char *s = p->fallback;
    if (p->required)
        return "is required and has a default";
    switch (p->kind) {
    case TM_INT64:
        return good_number(s, true) ? NULL : "has a default that is not a plain whole number, such as -10";
    case TM_FLOAT64:
        return good_number(s, false) ? NULL : "has a default that is not a plain number, such as 0.5 or 1e-3";
    case TM_BOOL:
        return same(s, "true") || same(s, "false") ? NULL : "has a default that is not true or false";
    }
    if (!good_text(s))
        return "has a default that is not one text in quotes";
    return tm_length(s) > MAX_DEFAULT ? "has a default of more than 4096 bytes" : NULL;
}

static char problem[256];

/* Makes a text of the parts; nothing is written after the end of problem. */
static const char *say(const char *what, const char *name, const char *how)
{
    begin(problem, sizeof problem - 1);
    put("tidemark: ");
    put(what);
    if (name) {
        put(" ");
        put_quoted(name);
    }
    put(": ");
    put(how);
    problem[text.len < text.room ? text.len : text.room] = 0;
    return problem;
}

/* Checks a list's names, the last of which was added at n. */
static const char *check_name(const char *what, const char *const *names, uint32_t n)
{
    if (n == TM_MAX_COLUMNS)
        return say(what, NULL, "there are more than 64");
    if (!good_name(names[n], '_'))
        return say(what, names[n] ? names[n] : "", "a name matches [a-z][a-z0-9_]{0,62}");
    for (uint32_t i = 0; i < n; i++)
        if (same(names[i], names[n]))
            return say(what, names[n], "is declared twice");
    return NULL;
}

static const char *check_inputs(const char *what, tm_input *const *cols)
{
    const char *names[TM_MAX_COLUMNS], *bad;
    for (uint32_t i = 0; cols[i]; i++) {
        if (i < TM_MAX_COLUMNS)
            names[i] = cols[i]->name;
        if ((bad = check_name(what, names, i)))
            return bad;
    }
    return NULL;
}

static const char *check_outputs(const char *of, const char *name, tm_output *const *cols)
{
    const char *names[TM_MAX_COLUMNS], *bad;
    if (!cols[0])
        return say(of, name, "it has no output column");
    for (uint32_t i = 0; cols[i]; i++) {
        if (i < TM_MAX_COLUMNS)
            names[i] = cols[i]->name;
        if ((bad = check_name("output", names, i)))
            return bad;
    }
    return NULL;
}

static const char *check_params(tm_param *const *params)
{
    const char *names[TM_MAX_COLUMNS], *bad;
    for (uint32_t i = 0; params[i]; i++) {
        if (i < TM_MAX_COLUMNS)
            names[i] = params[i]->name;
        if ((bad = check_name("param", names, i)))
            return bad;
        if (params[i]->fallback && (bad = bad_default(params[i])))
            return say("param", names[i], bad);
    }
    return NULL;
}

static const char *check_sides(tm_side *const *sides)
{
    static const char *const taken[] = {"results", "late", "failed", "bad"};
    const char *names[TM_MAX_SIDES], *bad;
    for (uint32_t i = 0; sides[i]; i++) {
        if (i == TM_MAX_SIDES)
            return say("side output", NULL, "there are more than 16");
        names[i] = sides[i]->name;
        if ((bad = check_name("side output", names, i)) || (bad = check_outputs("side output", names[i], sides[i]->outputs)))
            return bad;
        for (uint32_t k = 0; k < sizeof taken / sizeof *taken; k++)
            if (same(names[i], taken[k]))
                return say("side output", names[i], "every step has an output of that name");
    }
    return NULL;
}

/* ---- Kinds ------------------------------------------------------------------------- */

/* What the kind of a plug-in is called, in texts for people. */
static const char *kind_of(const tm_module *m)
{
    return m->aggregate   ? "aggregate"
           : m->process   ? "process function"
           : m->pair      ? "pair function"
           : m->map       ? "function of single records"
           : m->watermark ? "watermark generator"
           : m->trigger   ? "trigger"
           : m->assigner  ? "window assigner"
                          : "plug-in";
}

/* Of accumulators that vary in size, and of states (varies), or of a fixed one. */
static const char *check_upgrades(const char *name, uint32_t schema, const tm_upgrade *const *upgrades, bool varies)
{
    const char *what = "upgrade of";
    for (uint32_t i = 0; upgrades[i]; i++) {
        const tm_upgrade *u = upgrades[i];
        if (i == TM_MAX_UPGRADES)
            return say(what, name, "there are more than 64");
        if (u->schema < 1 || u->schema >= (schema ? schema : 1))
            return say(what, name, "its .schema must be at least 1 and below that of today");
        if (varies && (!u->rewrite || u->convert || u->size))
            return say(what, name, "what varies in size, and states, are upgraded by rewrite alone");
        if (!varies && (u->rewrite || !u->convert || u->size == 0 || u->size > MAX_WIDTH))
            return say(what, name, "accumulators of a fixed size are upgraded by convert alone, with the .size that they had, from 1 to 4096");
        for (uint32_t k = 0; k < i; k++)
            if (upgrades[k]->schema == u->schema)
                return say(what, name, "there are two from one schema");
    }
    return NULL;
}

static const char *check_aggregate(const char *name, const tm_aggregate *a)
{
    const char *what = "aggregate", *bad;
    if (a->schema > INT32_MAX)
        return say(what, name, "its .schema counts from 1");
    if (!a->merge || !a->result || (!a->add && !a->add_batch))
        return say(what, name, "it must have the functions add (or add_batch), merge and result");
    if (!a->encode != !a->decode)
        return say(what, name, "it has only one of encode and decode");
    if (a->encode && a->add_batch)
        return say(what, name, "add_batch is for accumulators of a fixed size, this one has encode: use add");
    if (a->size == 0)
        return say(what, name, "its .size is 0: it is the sizeof the accumulator");
    if (!a->encode && a->size > MAX_WIDTH)
        return say(what, name, "its accumulator has more than 4096 bytes: write it with encode and decode");
    if ((bad = check_upgrades(name, a->schema, a->upgrades, a->encode)) || (bad = check_inputs("input", a->inputs)))
        return bad;
    return check_outputs(what, name, a->outputs);
}

/* What a kind with states says of them. */
static const char *check_state(const char *what, const char *name, bool has, uint32_t schema, const tm_upgrade *const *upgrades)
{
    if (schema > INT32_MAX)
        return say(what, name, "its .schema counts from 1");
    if (!has && upgrades[0])
        return say(what, name, "it keeps no state, and has upgrades");
    return check_upgrades(name, schema, upgrades, true);
}

static const char *check_process(const char *name, const tm_process *p)
{
    const char *what = "process function", *bad;
    tm_list *const lists[] = {p->records, p->left, p->right};
    if (!p->each)
        return say(what, name, "it must have the function each");
    if (!p->left != !p->right)
        return say(what, name, "it has one of left and right: a function of both sides has both");
    if (p->left && (p->records || p->left == p->right))
        return say(what, name, p->records ? "it has records beside left and right" : "its left and right are one list");
    if (p->key_state && p->key_state == p->window_state)
        return say(what, name, "its key_state and window_state are one state");
    if ((bad = check_state(what, name, p->key_state || p->window_state, p->schema, p->upgrades)))
        return bad;
    for (int k = 0; k < 3; k++)
        if (lists[k] && (bad = check_inputs("record column", lists[k]->cols)))
            return bad;
    if ((bad = check_inputs("input", p->inputs)) || (bad = check_outputs(what, name, p->outputs)))
        return bad;
    return check_sides(p->sides);
}

static const char *check_pairs(const char *name, const tm_pairs *p)
{
    const char *what = "pair function", *bad;
    if (!p->each)
        return say(what, name, "it must have the function each");
    for (uint32_t l = 0; p->left[l]; l++)
        for (uint32_t r = 0; p->right[r]; r++)
            if (p->left[l] == p->right[r])
                return say("column", p->left[l]->name, "it stands on both sides: declare one for each");
    if ((bad = check_inputs("left column", p->left)) || (bad = check_inputs("right column", p->right)))
        return bad;
    return check_outputs(what, name, p->outputs);
}

static const char *check_map(const char *name, const tm_map *p)
{
    const char *what = "function of single records", *bad;
    if (!p->each)
        return say(what, name, "it must have the function each");
    return (bad = check_inputs("input", p->inputs)) ? bad : check_outputs(what, name, p->outputs);
}

/* A function that answers no columns. */
static const char *check_decider(const char *what, const char *name, const char *needs, bool has, tm_input *const *inputs)
{
    return has ? check_inputs("input", inputs) : say(what, name, needs);
}

const char *tm_check(const tm_module *m)
{
    const char *what = kind_of(m), *bad;
    if (!good_name(m->name, '-'))
        return say(what, m->name ? m->name : "", "a name matches [a-z][a-z0-9_-]{0,62}");
    if (!m->version || tm_length(m->version) > MAX_VERSION)
        return say(what, m->name, "it needs a .version of at most 64 bytes");
    if (!m->aggregate + !m->process + !m->pair + !m->map + !m->watermark + !m->trigger + !m->assigner != 6)
        return say("plug-in", m->name, "it is exactly one of aggregate, process, pair, map, watermark, trigger and assigner");
    if ((bad = check_params(m->params)))
        return bad;
    if (m->aggregate)
        return check_aggregate(m->name, m->aggregate);
    if (m->process)
        return check_process(m->name, m->process);
    if (m->pair)
        return check_pairs(m->name, m->pair);
    if (m->map)
        return check_map(m->name, m->map);
    if (m->watermark) {
        bad = check_state(what, m->name, m->watermark->state, m->watermark->schema, m->watermark->upgrades);
        return bad ? bad : check_decider(what, m->name, "it must have the function each", m->watermark->each, m->watermark->inputs);
    }
    if (m->trigger) {
        bad = check_state(what, m->name, m->trigger->state, m->trigger->schema, m->trigger->upgrades);
        return bad ? bad : check_decider(what, m->name, "it must have the function element", m->trigger->element, m->trigger->inputs);
    }
    return check_decider(what, m->name, "it must have the function assign", m->assigner->assign, m->assigner->inputs);
}

/* ---- What is written --------------------------------------------------------------- */

/* Opens the object of a column; the caller closes it. */
static void put_column(uint32_t i, const char *name, uint32_t kind)
{
    static const char *const kinds[] = {"", "int64", "float64", "bool", "string", "timestamp"};
    put(i ? ",{\"name\":" : "{\"name\":");
    put_quoted(name);
    put(",\"type\":");
    put_quoted(kinds[kind]);
}

static void put_flag(const char *name, bool v)
{
    put(name);
    put(v ? "true" : "false");
}

/* Begins a list, or the object of a member. */
static void put_member(const char *before, const char *name, const char *open)
{
    put(before);
    put_quoted(name);
    put(":");
    put(open);
}

static void put_inputs(const char *before, const char *name, tm_input *const *cols)
{
    put_member(before, name, "[");
    for (uint32_t i = 0; cols[i]; i++) {
        put_column(i, cols[i]->name, cols[i]->kind);
        if (cols[i]->nullable)
            put_flag(",\"nullable\":", true);
        put("}");
    }
    put("]");
}

static void put_list(const char *name, const tm_list *l)
{
    if (l)
        put_inputs(",", name, l->cols);
}

static void put_outputs(tm_output *const *cols)
{
    put(",\"outputs\":[");
    for (uint32_t i = 0; cols[i]; i++) {
        put_column(i, cols[i]->name, cols[i]->kind);
        put("}");
    }
    put("]");
}

static void put_sides(tm_side *const *sides)
{
    put(",\"side\":[");
    for (uint32_t i = 0; sides[i]; i++) {
        put(i ? ",{\"name\":" : "{\"name\":");
        put_quoted(sides[i]->name);
        put_outputs(sides[i]->outputs);
        put("}");
    }
    put("]");
}

static void put_params(tm_param *const *params)
{
    put(",\"params\":[");
    for (uint32_t i = 0; params[i]; i++) {
        const tm_param *p = params[i];
        put_column(i, p->name, p->kind);
        if (p->required)
            put_flag(",\"required\":", true);
        if (p->fallback) {
            put(",\"default\":");
            put(p->fallback);
        }
        put("}");
    }
    put("]");
}

/* Closes the object of what is kept. sized: of accumulators, which had a width. */
static void put_schema(uint32_t schema, const tm_upgrade *const *upgrades, bool sized)
{
    put("\"schema\":");
    put_number(schema ? schema : 1);
    for (uint32_t i = 0; upgrades[i]; i++) {
        put(i ? ",{\"schema\":" : ",\"upgrades\":[{\"schema\":");
        put_number(upgrades[i]->schema);
        if (sized) {
            put(",\"width\":");
            put_number((upgrades[i]->size + 7) & ~(size_t)7);
        }
        put("}");
    }
    put(upgrades[0] ? "]}" : "}");
}

static void put_aggregate(const tm_module *m, const tm_aggregate *a)
{
    put_inputs("{", "inputs", a->inputs);
    put_outputs(a->outputs);
    put_params(m->params);
    put(",\"accumulator\":{\"width\":");
    put_number(tm_width(a));
    put(",");
    put_schema(a->schema, a->upgrades, true);
    put_flag(",\"order_insensitive\":", a->order_insensitive);
    put_flag(",\"exact\":", a->exact);
    if (tm_applies(a))
        put_flag(",\"apply\":", true);
}

static void put_process(const tm_module *m, const tm_process *p)
{
    put_inputs("{", "inputs", p->inputs);
    put_list("records", p->records);
    put_list("left", p->left);
    put_list("right", p->right);
    put_outputs(p->outputs);
    put_sides(p->sides);
    put_params(m->params);
    if (!p->key_state && !p->window_state)
        return;
    put_flag(",\"state\":{\"key\":", p->key_state);
    put_flag(",\"window\":", p->window_state);
    put(",");
    put_schema(p->schema, p->upgrades, false);
}

/* A kind with one list of inputs. */
static void put_inputs_params(const tm_module *m, tm_input *const *inputs, tm_output *const *outputs)
{
    put_inputs("{", "inputs", inputs);
    if (outputs)
        put_outputs(outputs);
    put_params(m->params);
}

static void put_state(const tm_state *s, uint32_t schema, const tm_upgrade *const *upgrades)
{
    if (s) {
        put(",\"state\":{");
        put_schema(schema, upgrades, false);
    }
}

size_t tm_write_manifest(const tm_module *m)
{
    begin(tm_arena, ARENA_BYTES);
    put("{\"name\":");
    put_quoted(m->name);
    put(",\"version\":");
    put_quoted(m->version);
    put(",\"sdk\":\"c\",");
    if (m->aggregate) {
        put("\"aggregate\":");
        put_aggregate(m, m->aggregate);
    } else if (m->process) {
        put("\"process\":");
        put_process(m, m->process);
    } else if (m->pair) {
        put("\"pair\":");
        put_inputs("{", "left", m->pair->left);
        put_inputs(",", "right", m->pair->right);
        put_outputs(m->pair->outputs);
        put_params(m->params);
    } else if (m->map) {
        put("\"map\":");
        put_inputs_params(m, m->map->inputs, m->map->outputs);
    } else if (m->watermark) {
        put("\"watermark\":");
        put_inputs_params(m, m->watermark->inputs, NULL);
        put_state(m->watermark->state, m->watermark->schema, m->watermark->upgrades);
    } else if (m->trigger) {
        put("\"trigger\":");
        put_inputs_params(m, m->trigger->inputs, NULL);
        put_state(m->trigger->state, m->trigger->schema, m->trigger->upgrades);
        put_flag(",\"may_purge\":", m->trigger->may_purge);
        put_flag(",\"merges\":", m->trigger->merge);
    } else {
        put("\"assigner\":");
        put_inputs_params(m, m->assigner->inputs, NULL);
        put_flag(",\"merges\":", m->assigner->merges);
    }
    put("}}");
    return text.len;
}

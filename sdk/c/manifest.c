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

static const char *check_functions(const tm_aggregate *a)
{
    const char *what = "aggregate";
    if (!a->merge || !a->result || (!a->add && !a->add_batch))
        return say(what, a->name, "it must have the functions add (or add_batch), merge and result");
    if (a->add && a->add_batch)
        return say(what, a->name, "it has both add and add_batch");
    if (!a->encode != !a->decode)
        return say(what, a->name, "it has only one of encode and decode");
    if (a->encode && a->add_batch)
        return say(what, a->name, "add_batch is for accumulators of a fixed size, this one has encode: use add");
    if (a->size == 0)
        return say(what, a->name, "its .size is 0: it is the sizeof the accumulator");
    if (!a->encode && a->size > MAX_WIDTH)
        return say(what, a->name, "its accumulator has more than 4096 bytes: write it with encode and decode");
    return NULL;
}

const char *tm_check(const tm_aggregate *a)
{
    const char *names[TM_MAX_COLUMNS], *bad;
    if (!good_name(a->name, '-'))
        return say("aggregate", a->name ? a->name : "", "a name matches [a-z][a-z0-9_-]{0,62}");
    if (!a->version || tm_length(a->version) > MAX_VERSION)
        return say("aggregate", a->name, "it needs a .version of at most 64 bytes");
    if (a->schema > INT32_MAX)
        return say("aggregate", a->name, "its .schema counts from 1");
    if (!a->outputs[0])
        return say("aggregate", a->name, "it has no output column");
    if ((bad = check_functions(a)))
        return bad;
    for (uint32_t i = 0; a->inputs[i]; i++) {
        if (i < TM_MAX_COLUMNS)
            names[i] = a->inputs[i]->name;
        if ((bad = check_name("input", names, i)))
            return bad;
    }
    for (uint32_t i = 0; a->outputs[i]; i++) {
        if (i < TM_MAX_COLUMNS)
            names[i] = a->outputs[i]->name;
        if ((bad = check_name("output", names, i)))
            return bad;
    }
    for (uint32_t i = 0; a->params[i]; i++) {
        if (i < TM_MAX_COLUMNS)
            names[i] = a->params[i]->name;
        if ((bad = check_name("param", names, i)))
            return bad;
        if (a->params[i]->fallback && (bad = bad_default(a->params[i])))
            return say("param", names[i], bad);
    }
    return NULL;
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

size_t tm_write_manifest(const tm_aggregate *a)
{
    begin(tm_arena, ARENA_BYTES);
    put("{\"name\":");
    put_quoted(a->name);
    put(",\"version\":");
    put_quoted(a->version);
    put(",\"sdk\":\"c\",\"aggregate\":{\"inputs\":[");
    for (uint32_t i = 0; a->inputs[i]; i++) {
        put_column(i, a->inputs[i]->name, a->inputs[i]->kind);
        if (a->inputs[i]->nullable)
            put_flag(",\"nullable\":", true);
        put("}");
    }
    put("],\"outputs\":[");
    for (uint32_t i = 0; a->outputs[i]; i++) {
        put_column(i, a->outputs[i]->name, a->outputs[i]->kind);
        put("}");
    }
    put("],\"params\":[");
    for (uint32_t i = 0; a->params[i]; i++) {
        const tm_param *p = a->params[i];
        put_column(i, p->name, p->kind);
        if (p->required)
            put_flag(",\"required\":", true);
        if (p->fallback) {
            put(",\"default\":");
            put(p->fallback);
        }
        put("}");
    }
    put("],\"accumulator\":{\"width\":");
    put_number(tm_width(a));
    put(",\"schema\":");
    put_number(a->schema ? a->schema : 1);
    put_flag("},\"order_insensitive\":", a->order_insensitive);
    put_flag(",\"exact\":", a->exact);
    put("}}");
    return text.len;
}

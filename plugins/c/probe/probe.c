/* A function of single records for tests of hosts and SDKs: it reads and writes every
 * type, refuses, ends the instance, and goes on for ever, as its record says. */
#include "tidemark.h"

static tm_string_in what = TM_STRING_IN("what", .nullable = true);
static tm_int64_in i = TM_INT64_IN("i", .nullable = true);
static tm_float64_in f = TM_FLOAT64_IN("f", .nullable = true);
static tm_bool_in b = TM_BOOL_IN("b", .nullable = true);
static tm_string_in s = TM_STRING_IN("s", .nullable = true);
static tm_timestamp_in t = TM_TIMESTAMP_IN("t", .nullable = true);

static tm_int64_out out_i = TM_INT64_OUT("i");
static tm_float64_out out_f = TM_FLOAT64_OUT("f");
static tm_bool_out out_b = TM_BOOL_OUT("b");
static tm_string_out out_s = TM_STRING_OUT("s");
static tm_timestamp_out out_t = TM_TIMESTAMP_OUT("t");
static tm_int64_out out_row = TM_INT64_OUT("row");

static tm_int64_param times = TM_INT64_PARAM("times", TM_DEFAULT(1));
static tm_string_param prefix = TM_STRING_PARAM("prefix");
static tm_float64_param scale = TM_FLOAT64_PARAM("scale", TM_DEFAULT(1));
static tm_bool_param on = TM_BOOL_PARAM("on", TM_DEFAULT(true));

/* Gives the record back, as often as the job says. */
static void echo(tm_row r)
{
    for (int64_t n = 0; tm_bool_value(&on) && n < tm_int64_value(&times); n++) {
        tm_row w = tm_emit();
        if (!tm_null(&i.in, r))
            tm_set_int64(&out_i, w, tm_int64_of(&i, r));
        if (!tm_null(&f.in, r))
            tm_set_float64(&out_f, w, tm_float64_of(&f, r) * tm_float64_value(&scale));
        if (!tm_null(&b.in, r))
            tm_set_bool(&out_b, w, tm_bool_of(&b, r));
        if (!tm_null(&s.in, r)) {
            tm_bytes text = {0};
            tm_append(&text, tm_string_value(&prefix).at, tm_string_value(&prefix).len);
            tm_append(&text, tm_string_of(&s, r).at, tm_string_of(&s, r).len);
            tm_set_string(&out_s, w, (tm_text){(const char *)text.at, text.len});
        }
        if (!tm_null(&t.in, r))
            tm_set_timestamp(&out_t, w, tm_timestamp_of(&t, r));
        tm_set_int64(&out_row, w, n);
    }
}

/* One row with the text, over and over. */
static void big(tm_row r)
{
    tm_text piece = tm_string_of(&s, r);
    tm_bytes text = {0};
    for (int64_t n = 0; n < tm_int64_of(&i, r); n++)
        tm_append(&text, piece.at, piece.len);
    tm_row w = tm_emit();
    tm_set_string(&out_s, w, (tm_text){(const char *)text.at, text.len});
    tm_set_int64(&out_row, w, 0);
}

static bool is(tm_text word, tm_text other) { return tm_compare(word, other) == 0; }

static tm_error each(const tm_record *r)
{
    tm_text word = tm_string_of(&what, r->row), text = tm_string_of(&s, r->row);
    if (word.len == 0)
        echo(r->row);
    else if (is(word, TM_TEXT("refuse")))
        return tm_join("refused: ", text);
    else if (is(word, TM_TEXT("trap")))
        tm_panic(tm_null(&s.in, r->row) ? "trap" : tm_join("", text));
    else if (is(word, TM_TEXT("fuel")))
        for (volatile bool ever = true; ever;)
            ;
    else if (is(word, TM_TEXT("big")))
        big(r->row);
    else if (is(word, TM_TEXT("log")))
        tm_log(text);
    else if (!is(word, TM_TEXT("none")))
        return tm_join("unknown: ", word);
    return TM_OK;
}

static tm_error configure(void)
{
    int64_t n = tm_int64_value(&times);
    return n < 0 || n > 1000 ? "times must be from 0 to 1000" : TM_OK;
}

const tm_module tm_plugin = {
    .name = "probe",
    .version = "1.0.0",
    .params = {&times.param, &prefix.param, &scale.param, &on.param},
    .configure = configure,
    .map = &(const tm_map){
        .inputs = {&what.in, &i.in, &f.in, &b.in, &s.in, &t.in},
        .outputs = {&out_i.out, &out_f.out, &out_b.out, &out_s.out, &out_t.out, &out_row.out},
        .each = each,
    },
};

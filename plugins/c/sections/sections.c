/* A function of single records: of a record with the path of a URL it makes one for each
 * section that the path lies in, so that counts of sections include what is below them.
 * "/blog/2015/cats.html" lies in "/", "/blog" and "/blog/2015". Paths that do not begin
 * with a slash are not of this server, and give none. */
#include "tidemark.h"

static tm_string_in path = TM_STRING_IN("path");
static tm_int64_param depth = TM_INT64_PARAM("depth", TM_DEFAULT(3));
static tm_string_out section = TM_STRING_OUT("section");
static tm_int64_out level = TM_INT64_OUT("level");

static void emit(tm_text name, int64_t n)
{
    tm_row w = tm_emit();
    tm_set_string(&section, w, name);
    tm_set_int64(&level, w, n);
}

static tm_error split(const tm_record *r)
{
    tm_text p = tm_string_of(&path, r->row);
    int64_t n = 0;
    if (p.len == 0 || p.at[0] != '/')
        return TM_OK;
    emit((tm_text){p.at, 1}, n);
    for (size_t i = 1; i < p.len && p.at[i] != '?' && p.at[i] != '#' && n + 1 < tm_int64_value(&depth); i++)
        if (p.at[i] == '/' && p.at[i - 1] != '/') /* two slashes are one */
            emit((tm_text){p.at, i}, ++n);
    return TM_OK;
}

static tm_error configure(void)
{
    int64_t d = tm_int64_value(&depth);
    return d < 1 || d > 100 ? "depth must be from 1 to 100" : TM_OK;
}

const tm_module tm_plugin = {
    .name = "sections",
    .version = "1.0.0",
    .params = {&depth.param},
    .configure = configure,
    .map = &(const tm_map){
        .inputs = {&path.in},
        .outputs = {&section.out, &level.out},
        .each = split,
    },
};

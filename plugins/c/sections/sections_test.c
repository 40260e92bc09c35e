#include <string.h>

#include "twin.h"

static void gives(tm_value depth, const char *path, const char *const *want)
{
    tm_twin *t = tm_twin_new(&tm_plugin, &depth);
    /* Behind a record of another server, which gives nothing. */
    tm_rows got = tm_twin_map(t, TM_RECORDS(TM_AT(1000, TM_S("http://elsewhere/")), TM_AT(2000, TM_SN(path, strlen(path))), TM_AT(3000, TM_NULL)));
    size_t n = 0;
    for (; want[n]; n++)
        TM_CHECK(TM_GAVE(got, n, 1, 0, TM_SN(want[n], strlen(want[n])), TM_I((int64_t)n)));
    TM_CHECK(got.len == n && !tm_twin_error(t));
    tm_twin_free(t);
}

#define GIVES(depth, path, ...) gives(depth, path, (const char *const[]){__VA_ARGS__})

static void refuses(int64_t depth)
{
    tm_twin *t = tm_twin_new(&tm_plugin, (tm_value[]){TM_I(depth)});
    TM_CHECK(tm_twin_error(t) && strcmp(tm_twin_error(t), "depth must be from 1 to 100") == 0);
    tm_twin_free(t);
}

int main(void)
{
    GIVES(TM_NULL, "/", "/", NULL);
    GIVES(TM_NULL, "/index.html", "/", NULL);
    GIVES(TM_NULL, "/blog/2015/cats.html", "/", "/blog", "/blog/2015", NULL);
    GIVES(TM_NULL, "/blog/2015/05/cats.html", "/", "/blog", "/blog/2015", NULL);
    GIVES(TM_I(1), "/blog/2015/05/cats.html", "/", NULL);
    GIVES(TM_I(3), "/blog//2015/cats.html", "/", "/blog", "/blog//2015", NULL);
    GIVES(TM_I(100), "//a///b", "/", "//a", NULL);
    GIVES(TM_I(5), "/blog/?next=/a/b/c", "/", "/blog", NULL);
    GIVES(TM_I(5), "/blog/#/a/b/c", "/", "/blog", NULL);
    GIVES(TM_NULL, "", NULL);
    refuses(0);
    refuses(101);
    return tm_failures() > 0;
}

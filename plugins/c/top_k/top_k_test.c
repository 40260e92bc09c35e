#include <string.h>

#include "twin.h"

#define V(...) (tm_value[]){__VA_ARGS__}, sizeof((tm_value[]){__VA_ARGS__}) / sizeof(tm_value)

static void gives(tm_value limit, const tm_value *in, size_t n, const char *want)
{
    tm_twin *t = tm_twin_new(&tm_plugin, &limit);
    const tm_value *got = tm_twin_result(t, tm_twin_add(t, TM_FRESH, in, n));
    TM_CHECK(got && tm_same(got[0], TM_SN(want, strlen(want))));
    TM_CHECK(!tm_twin_laws(t, in, n));
    tm_twin_free(t);
}

static void refuses(int64_t limit)
{
    tm_twin *t = tm_twin_new(&tm_plugin, (tm_value[]){TM_I(limit)});
    TM_CHECK(tm_twin_error(t) && strcmp(tm_twin_error(t), "k is not from 1 to 1000") == 0 && tm_twin_op(t) == -1);
    tm_twin_free(t);
}

int main(void)
{
    gives(TM_NULL, NULL, 0, "[]");
    gives(TM_NULL, V(TM_S("b"), TM_S("a"), TM_S("b")), "[{\"value\":\"b\",\"count\":2},{\"value\":\"a\",\"count\":1}]");
    /* Of equally frequent texts the lower comes first. */
    gives(TM_I(2), V(TM_S("c"), TM_S("b"), TM_S("a"), TM_NULL), "[{\"value\":\"a\",\"count\":1},{\"value\":\"b\",\"count\":1}]");
    gives(TM_I(1000), V(TM_S("a\"\\\n\x1f\xc3\xa4")), "[{\"value\":\"a\\\"\\\\\\u000a\\u001f\xc3\xa4\",\"count\":1}]");
    gives(TM_I(1), V(TM_S("k"), TM_S("j"), TM_S("k"), TM_S("j"), TM_S("k")), "[{\"value\":\"k\",\"count\":3}]");
    refuses(0);
    refuses(1001);

    tm_twin *t = tm_twin_new(&tm_plugin, NULL);
    tm_acc acc = tm_twin_add(t, TM_FRESH, V(TM_S("b"), TM_S("a"), TM_S("b")));
    TM_CHECK(acc.len == 6 && memcmp(acc.bytes, "\x01" "a" "\x01" "\x01" "b" "\x02", 6) == 0);
    tm_acc damaged = {(const unsigned char *)"\x05" "a", 2};
    TM_CHECK(!tm_twin_merge(t, acc, damaged).bytes && strstr(tm_twin_error(t), "damaged"));
    tm_twin_free(t);
    return tm_failures() > 0;
}

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "twin.h"

#define V(...) (tm_value[]){__VA_ARGS__}, sizeof((tm_value[]){__VA_ARGS__}) / sizeof(tm_value)

static void counts(const tm_value *in, size_t n, int64_t want)
{
    tm_twin *t = tm_twin_new(&tm_plugin, NULL);
    const tm_value *got = tm_twin_result(t, tm_twin_add(t, TM_FRESH, in, n));
    TM_CHECK(got && tm_same(got[0], TM_I(want)));
    TM_CHECK(!tm_twin_laws(t, in, n < 40 ? n : 40));
    tm_twin_free(t);
}

int main(void)
{
    counts(NULL, 0, 0);
    counts(V(TM_S("a")), 1);
    counts(V(TM_S("a"), TM_S("b"), TM_S("a"), TM_S("a"), TM_S("b")), 2);
    counts(V(TM_S(""), TM_S("a"), TM_S("")), 2); /* the empty text is a text */
    counts(V(TM_S("a"), TM_NULL), 1);
    counts(V(TM_S("ab"), TM_S("abc"), TM_S("a"), TM_S("ab\0"), TM_S("\xc3\xa4")), 5);

    static tm_value alike[1000];
    static char names[1000][16];
    for (int i = 0; i < 1000; i++) {
        int len = snprintf(names[i], sizeof names[i], "visitor-%04d", i * 7919 % 1000);
        alike[i] = TM_SN(names[i], (size_t)len);
    }
    counts(alike, 1000, 1000);

    /* One set is one sequence of bytes. */
    tm_twin *t = tm_twin_new(&tm_plugin, NULL);
    tm_acc acc = tm_twin_add(t, TM_FRESH, V(TM_S("b"), TM_S(""), TM_S("ab"), TM_S("b")));
    TM_CHECK(acc.len == 7 && memcmp(acc.bytes, "\x03" "\x00" "\x02" "ab" "\x01" "b", 7) == 0);

    /* More than an accumulator holds is refused. */
    static char text[11][100000];
    tm_value large[11];
    for (int i = 0; i < 11; i++) {
        memset(text[i], 'a' + i, sizeof text[i]);
        large[i] = TM_SN(text[i], sizeof text[i]);
    }
    TM_CHECK(!tm_twin_add(t, TM_FRESH, large, 11).bytes);
    TM_CHECK(strcmp(tm_twin_error(t), "accumulator is longer than 1 MiB") == 0);

    /* Damaged bytes are refused. */
    const char *bad[] = {"\x80", "\x01\x05" "ab", "\x01\xff"};
    for (int i = 0; i < 3; i++) {
        tm_acc damaged = {(const unsigned char *)bad[i], strlen(bad[i])};
        TM_CHECK(!tm_twin_merge(t, damaged, acc).bytes && strstr(tm_twin_error(t), "damaged"));
    }
    tm_twin_free(t);
    return tm_failures() > 0;
}

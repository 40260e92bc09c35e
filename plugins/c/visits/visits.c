/* A plug-in, a process function that counts the firings of each key and of each of its
 * windows. It shows how states are upgraded. */
#include "tidemark.h"

static tm_int64_out of_key = TM_INT64_OUT("of_key"), of_window = TM_INT64_OUT("of_window");
static tm_state keys, windows; /* an int64_t each */

static tm_error count(const tm_firing *f)
{
    int64_t k, w;
    (void)f;
    tm_get(&keys, &k);
    tm_get(&windows, &w);
    k++, w++;
    tm_put(&keys, &k);
    tm_put(&windows, &w);
    tm_row row = tm_emit();
    tm_set_int64(&of_key, row, k);
    tm_set_int64(&of_window, row, w);
    return TM_OK;
}

/* Schema 1 counted keys in 4 bytes and windows in one. */
static tm_error from_small(tm_kept what, tm_text old, tm_bytes *now)
{
    int64_t n = 0;
    size_t size = what == TM_KEPT_OF_KEY ? 4 : 1;
    if (old.len != size)
        return what == TM_KEPT_OF_KEY ? "the count of a key has 4 bytes" : "the count of a window has 1 byte";
    while (size--)
        n = n << 8 | (unsigned char)old.at[size];
    tm_append(now, &n, sizeof n);
    return TM_OK;
}

const tm_module tm_plugin = {
    .name = "visits",
    .version = "2.0.0",
    .process = &(const tm_process){
        .outputs = {&of_key.out, &of_window.out},
        .key_state = &keys,
        .window_state = &windows,
        .schema = 2,
        .upgrades = {&(const tm_upgrade){.schema = 1, .rewrite = from_small}},
        .each = count,
    },
};

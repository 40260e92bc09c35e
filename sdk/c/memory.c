/* Memory that nobody frees, and what sets and lists are made of: bytes that grow,
 * numbers of 7 bits a byte, sorting, comparing. */
#include "frame.h"

static void *take(size_t n)
{
    n = (n + 7) & ~(size_t)7;
    if (!tm_raw_heap_has(tm_now.used + n))
        tm_panic("out of memory");
    tm_now.last = tm_now.used;
    tm_now.used += n;
    return tm_raw_heap() + tm_now.last;
}

void *tm_alloc(size_t n) { return tm_fill(take(n), 0, n); }

void *tm_grow(void *p, size_t old, size_t n)
{
    if (p && (unsigned char *)p == tm_raw_heap() + tm_now.last) { /* grows where it is */
        tm_now.used = tm_now.last;
        return take(n);
    }
    void *q = take(n);
    if (p && old)
        tm_copy(q, p, old < n ? old : n);
    return q;
}

void tm_append(tm_bytes *to, const void *bytes, size_t n)
{
    if (n > to->room - to->len) {
        size_t room = to->room * 2 > to->len + n ? to->room * 2 : to->len + n + 64;
        to->at = tm_grow(to->at, to->len, room);
        to->room = room;
    }
    if (n)
        tm_copy(to->at + to->len, bytes, n);
    to->len += n;
}

void tm_append_uvarint(tm_bytes *to, uint64_t v)
{
    unsigned char b[10];
    size_t n = 0;
    for (; v >= 0x80; v >>= 7)
        b[n++] = (unsigned char)(v | 0x80);
    b[n++] = (unsigned char)v;
    tm_append(to, b, n);
}

bool tm_take(tm_text *left, size_t n, tm_text *bytes)
{
    if (n > left->len)
        return false;
    *bytes = (tm_text){left->at, n};
    *left = (tm_text){left->at + n, left->len - n};
    return true;
}

bool tm_take_uvarint(tm_text *left, uint64_t *v)
{
    *v = 0;
    for (size_t n = 0; n < left->len && n < 10; n++) {
        unsigned char b = (unsigned char)left->at[n];
        if (n == 9 && b > 1) /* more than 64 bits */
            return false;
        *v |= (uint64_t)(b & 0x7f) << (7 * n);
        if (b < 0x80) {
            *left = (tm_text){left->at + n + 1, left->len - n - 1};
            return true;
        }
    }
    return false;
}

int tm_compare(tm_text a, tm_text b)
{
    size_t n = a.len < b.len ? a.len : b.len;
    for (size_t i = 0; i < n; i++)
        if (a.at[i] != b.at[i])
            return (unsigned char)a.at[i] < (unsigned char)b.at[i] ? -1 : 1;
    return a.len < b.len ? -1 : a.len > b.len;
}

/* Merges runs of growing length, from one half of the memory to the other. */
void tm_sort(void *items, size_t n, size_t size, int (*compare)(const void *a, const void *b))
{
    unsigned char *from = items, *to = take(n * size);
    for (size_t run = 1; run < n; run *= 2) {
        for (size_t start = 0; start < n; start += 2 * run) {
            size_t a = start, middle = start + run < n ? start + run : n, b = middle;
            size_t stop = middle + run < n ? middle + run : n;
            for (size_t i = start; i < stop; i++) {
                bool left = a < middle && (b == stop || compare(from + a * size, from + b * size) <= 0);
                tm_copy(to + i * size, from + (left ? a++ : b++) * size, size);
            }
        }
        unsigned char *other = from;
        from = to;
        to = other;
    }
    if (from != items && n)
        tm_copy(items, from, n * size);
}

const char *tm_join(const char *what, tm_text more)
{
    size_t n = tm_length(what);
    char *text = tm_alloc(n + more.len + 1);
    tm_copy(text, what, n);
    if (more.len)
        tm_copy(text + n, more.at, more.len);
    return text;
}

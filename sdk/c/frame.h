/* What the SDK's own files share: frames as abi/SPEC.md, section 3 lays them out, and
 * the line between tidemark.c and the two files that call it. Plug-ins do not include
 * it. */
#ifndef TIDEMARK_FRAME_H
#define TIDEMARK_FRAME_H

#include "tidemark.h"

/* What a call answers (section 5). */
typedef enum { OK = 0, REFUSED = 1, OUTPUT_FULL = 2, BAD_FRAME = 3 } tm_status;

typedef enum { CONFIGURE, CREATE, ADD, MERGE, RESULT } tm_op;

enum {
    HEADER_BYTES = 96,
    MESSAGE_BYTES = 4096, /* longest text of a refusal (section 5) */
    MAX_WIDTH = 4096,     /* of an accumulator of a fixed size (section 2) */
    MAX_ACC = 1 << 20,    /* longest accumulator that varies in size (section 2) */
    MAX_TEXTS = 1 << 20,  /* of one result row, as every result is bounded */
    /* Holds the largest call that must work: a merge of two accumulators of 1 MiB into
     * a third, or one record of 1 MiB, with room to spare. */
    ARENA_BYTES = 4 << 20,
    /* Bounds rows and groups before they are multiplied: no frame in this arena can
     * hold more, since each row and each group needs at least 4 bytes. */
    MAX_COUNT = ARENA_BYTES / 4,
    HAS_VALIDITY = 1, /* bit of tm_descriptor.flags */
};

/* The head of a frame as it lies in memory. */
typedef struct {
    uint32_t size, rows, groups;
    uint32_t cols, ncols;
    uint32_t group;
    uint32_t acc, from;
    uint32_t outcols, noutcols;
    uint32_t out, out_cap;
    volatile uint32_t op; /* must be in memory when the guest traps */
    uint32_t done, out_used;
    uint32_t reserved[9];
} tm_header;

/* One column of a frame. */
typedef struct {
    uint32_t kind, flags, validity, data, blob, blob_size, reserved[2];
} tm_descriptor;

/* The place of a text in the output area. */
typedef struct {
    uint32_t off, len;
} tm_place;

_Static_assert(sizeof(tm_header) == HEADER_BYTES, "the header of SPEC section 3");
_Static_assert(sizeof(tm_descriptor) == 32, "the column descriptor of SPEC section 3");

/* Where the host writes frames. */
extern unsigned char tm_arena[ARENA_BYTES];

/* Serves one call on the frame at an offset into the arena. */
tm_status tm_call(const tm_aggregate *a, tm_op o, uint32_t at);

/* What is wrong with a declaration; NULL: nothing. The text lasts until the next call. */
const char *tm_check(const tm_aggregate *a);

/* Writes the manifest of section 2 to the arena and answers its length. The
 * declaration has passed tm_check. */
size_t tm_write_manifest(const tm_aggregate *a);

/* Bytes of an accumulator of a fixed size; 0: it varies. */
static inline size_t tm_width(const tm_aggregate *a) { return a->encode ? 0 : (a->size + 7) & ~(size_t)7; }

/* The memory behind tm_alloc, which raw_wasm32.c and twin.c give: where it begins,
 * and whether it has n bytes. */
unsigned char *tm_raw_heap(void);
bool tm_raw_heap_has(size_t n);

/* Copying without a C library: compilers make instructions or calls of these. */
#define tm_copy __builtin_memcpy
#define tm_fill __builtin_memset

static inline size_t tm_length(const char *text)
{
    size_t n = 0;
    while (text[n])
        n++;
    return n;
}

#endif

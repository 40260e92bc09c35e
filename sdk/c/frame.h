/* What the SDK's own files share: frames as abi/SPEC.md, section 3 lays them out, the
 * call that is being served, and the line between the files. Plug-ins do not include
 * it. */
#ifndef TIDEMARK_FRAME_H
#define TIDEMARK_FRAME_H

#include "tidemark.h"

/* What a call answers (section 5). */
typedef enum { OK = 0, REFUSED = 1, OUTPUT_FULL = 2, BAD_FRAME = 3 } tm_status;

/* The calls of section 4. */
typedef enum { CONFIGURE, CREATE, ADD, MERGE, RESULT, APPLY, PROCESS, PAIR, MAP, WATERMARK, TICK, TRIGGER, ASSIGN, UPGRADE } tm_op;

enum {
    HEADER_BYTES = 96,
    MESSAGE_BYTES = 4096, /* longest text of a refusal (section 5) */
    MAX_WIDTH = 4096,     /* of an accumulator of a fixed size (section 2) */
    MAX_ACC = 1 << 20,    /* longest accumulator that varies in size (section 2) */
    MAX_STATE = 1 << 20,  /* longest state (section 2) */
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
    uint32_t block;
    uint32_t reserved[8];
} tm_header;

/* One column of a frame. */
typedef struct {
    uint32_t kind, flags, validity, data, blob, blob_size, reserved[2];
} tm_descriptor;

/* The place of a text in the output area. */
typedef struct {
    uint32_t off, len;
} tm_place;

/* What a frame has of firings, pairs, records and operations, beside its columns. */
typedef struct {
    uint32_t rows, cols, ncols;
} tm_list_block;

typedef struct {
    uint32_t items;
    uint32_t keys, nkeys, windows, nwindows; /* tables of states; of UPGRADE items is the schema, and keys a tm_kept */
    uint32_t results; /* rows of the output columns, of APPLY */
    tm_list_block lists[2];
} tm_block;

typedef struct {
    uint32_t what, acc, arg, reserved;
} tm_operation;

enum { APPLY_RECORD, APPLY_RESULT, APPLY_RESET, APPLY_MERGE }; /* tm_operation.what */

typedef struct {
    int64_t start, end, watermark, now;
    uint32_t key, window; /* slots */
    uint32_t revision, reserved;
    struct {
        uint32_t from, to;
    } lists[2];
} tm_firing_data;

typedef struct {
    uint32_t left, right;
    int64_t time;
} tm_pair_data;

typedef struct {
    int64_t start, end, watermark, now, time;
    uint32_t what, slot, row, from, flags, reserved;
} tm_pane_data;

enum { ELEMENT, EVENT_TIMER, PROCESSING_TIMER, MERGE_PANES, CLEAR_PANE }; /* tm_pane_data.what */
enum { ENDING = 1 };                                                     /* bit of tm_pane_data.flags */

/* The head of an entry of an answer, and what it is beside a row of an output. */
typedef struct {
    uint32_t item, what, size, reserved;
} tm_entry;

#define KEY_STATE 0x80000000u
#define WINDOW_STATE 0x80000001u
enum { VERDICT = 0, SET_TIMER = 1, DELETE_TIMER = 3 }; /* of triggers; timers + their domain */
enum { FIRE = 1, PURGE = 2 };                          /* bits of a verdict */

_Static_assert(sizeof(tm_header) == HEADER_BYTES, "the header of SPEC section 3");
_Static_assert(sizeof(tm_descriptor) == 32, "the column descriptor of SPEC section 3");
_Static_assert(sizeof(tm_block) == 48 && sizeof(tm_operation) == 16 && sizeof(tm_firing_data) == 64 && sizeof(tm_pair_data) == 16 && sizeof(tm_pane_data) == 64,
               "the block of SPEC section 3 and what is in it");
_Static_assert(sizeof(tm_entry) == 16, "the entry of SPEC section 3");

/* Where the host writes frames. */
extern unsigned char tm_arena[ARENA_BYTES];

/* Serves one call on the frame at an offset into the arena. */
tm_status tm_call(const tm_module *m, tm_op o, uint32_t at);

/* What is wrong with a declaration; NULL: nothing. The text lasts until the next call. */
const char *tm_check(const tm_module *m);

/* Writes the manifest of section 2 to the arena and answers its length. The
 * declaration has passed tm_check. */
size_t tm_write_manifest(const tm_module *m);

/* Bytes of an accumulator of a fixed size; 0: it varies. */
static inline size_t tm_width(const tm_aggregate *a) { return a->encode ? 0 : (a->size + 7) & ~(size_t)7; }

/* Whether it takes many operations in one call. */
static inline bool tm_applies(const tm_aggregate *a) { return a->add && tm_width(a); }

/* ---- The call that is being served ------------------------------------------------- */

/* A guest is single-threaded, and between two calls nothing of this has a meaning, but
 * kept and ready. */
extern struct tm_now {
    tm_header *h;
    tm_op serving;
    bool ready;       /* configured */
    size_t kept;      /* bytes of the heap that configure took, which stay */
    size_t base;      /* those that stay for the call */
    size_t used;      /* bytes of the heap that are taken */
    size_t last;      /* where the piece that was taken last begins */
    uint32_t row_out; /* out_used before the texts of the current row */
    uint32_t texts;   /* what the places of its texts count from, in the output area */
    bool full, large; /* something did not fit into the output area; into any */

    /* Of an answer in entries. */
    uint32_t item;            /* that is being worked on */
    tm_output *const *outputs; /* of the results; NULL: there are none */
    tm_output *const *open;    /* columns of the row that is open; NULL: none is */
    tm_row row;                /* number of the row that was begun last */
    uint32_t body;             /* where it begins in the output area; 0: it did not fit */
    tm_state *states[2];       /* of keys and windows; NULL: none are kept */
    uint32_t verdict;
    bool decides; /* a verdict can be given */
} tm_now;

static inline void *tm_here(uint32_t off) { return (unsigned char *)tm_now.h + off; }

/* Whether n values of size bytes lie aligned inside the frame. */
static inline bool tm_holds(uint32_t off, uint64_t n, uint64_t size)
{
    return off % 8 == 0 && off <= tm_now.h->size && n * size <= tm_now.h->size - off;
}

/* Opens the frame at an offset into the arena; false: the header, or an area that it
 * names, lies outside. */
bool tm_open_frame(uint32_t off);

/* Points columns at n rows of the frame, whose descriptors are at an offset; or
 * parameters at their values. false: the frame is not of these columns. */
bool tm_bind_inputs(tm_input *const *cols, uint32_t at, uint32_t ncols, uint32_t rows);
bool tm_bind_outputs(tm_output *const *cols, uint32_t rows);
bool tm_bind_params(tm_param *const *params);

tm_status tm_refuse(tm_error text);
tm_status tm_full(uint32_t done);

/* A table of n pieces of bytes: accumulators or states. */
typedef struct {
    const uint32_t *off;
    const char *data;
} tm_table;

bool tm_open_table(uint32_t off, uint32_t n, tm_table *t);

/* Serves the calls of a kind, all but CONFIGURE. */
tm_status tm_serve_aggregate(const tm_aggregate *a, tm_op o);
tm_status tm_serve_operations(const tm_aggregate *a); /* of one that tm_applies */
tm_status tm_serve_process(const tm_process *p);
tm_status tm_serve_pairs(const tm_pairs *p);
tm_status tm_serve_map(const tm_map *m);
tm_status tm_serve_generator(const tm_generator *g, tm_op o);
tm_status tm_serve_trigger(const tm_trigger *t);
tm_status tm_serve_assigner(const tm_assigner *a);

/* Upgrades what is kept; width is that of accumulators of a fixed size, 0 of all else. */
tm_status tm_serve_upgrades(const tm_upgrade *const *upgrades, size_t width);

/* What a plug-in upgrades from; NULL: its kind keeps nothing. */
static inline const tm_upgrade *const *tm_upgrades_of(const tm_module *m)
{
    return m->aggregate   ? m->aggregate->upgrades
           : m->process   ? m->process->upgrades
           : m->watermark ? m->watermark->upgrades
           : m->trigger   ? m->trigger->upgrades
                          : NULL;
}

/* Appends an accumulator, or an upgraded state, to the output area; fits is false when it
 * must wait for the next call. */
tm_error tm_answer_piece(const tm_bytes *b, bool *fits);

/* Makes an accumulator of a fixed size a fresh one. */
void tm_renew(const tm_aggregate *a, void *acc, size_t width);

/* Writes row w of the results, as the operation that is being worked on. */
tm_status tm_write_result(const tm_aggregate *a, void *acc, tm_row w);

/* ---- Memory ------------------------------------------------------------------------- */

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

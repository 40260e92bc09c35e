/* How the twins of all kinds but aggregates call: items in frames, cut anywhere. */
#ifndef TIDEMARK_TWIN_ITEMS_H
#define TIDEMARK_TWIN_ITEMS_H

#include "twin_frame.h"

#ifndef __wasm__

/* A call about n items. */
typedef struct tm_items {
    tm_op op;
    size_t n;
    /* Writes items from up to from + n into the frame whose block is at an offset: all
     * that is not a state. */
    void (*write)(tm_twin *t, const struct tm_items *w, uint32_t block, size_t from, size_t n);
    const void *of;
    /* The slots of the items' states, and the states: before the call, then behind it;
     * by sort, keys and windows. */
    const uint32_t *slots[2];
    tm_acc *states[2];
    uint32_t nstates[2];
} tm_items;

/* One entry of an answer. */
typedef struct {
    size_t item;
    uint32_t what;
    tm_text body;
} tm_said;

typedef struct {
    tm_said *at;
    size_t len, room;
} tm_answer;

/* Makes the call in all the ways that must not make a difference. What was answered is
 * the twin's; false: it was refused, and states are what they were. */
bool tm_show_items(tm_twin *t, tm_items *w, tm_answer *a);

/* The rows of an answer. place has the caller's numbers of the items. */
tm_rows tm_rows_of(tm_twin *t, const tm_answer *a, const size_t *place, tm_output *const *(*cols)(const tm_twin *t, uint32_t output));

/* Writes a list of a block: records with their times. */
void tm_write_list(tm_twin *t, uint32_t block, int list, tm_input *const *cols, const tm_shown *records, size_t n);

/* The records that a host would show, and where they stood. */
typedef struct {
    tm_shown *at;
    size_t *place;
    size_t len;
} tm_chosen;

tm_chosen tm_keep(tm_twin *t, tm_input *const *cols, tm_records records);

/* Writes into the block. */
static inline tm_block *tm_block_at(uint32_t block) { return (tm_block *)(void *)(tm_arena + block); }

#endif
#endif

/* The loop of all kinds but aggregates: items, which are records, pairs, firings or
 * operations, are shown one after the other, and each is answered in entries. */
#ifndef TIDEMARK_ITEMS_H
#define TIDEMARK_ITEMS_H

#include "frame.h"

/* The block of the frame; NULL: the frame is bad. */
const tm_block *tm_open_block(void);

/* The items of the frame, of size bytes each; NULL: the frame is bad. */
const void *tm_open_items(const tm_block *b, size_t size);

/* Points the columns of a list at the frame, and time at the records' own times. */
bool tm_open_list(const tm_list_block *b, tm_timestamp_in *time, tm_input *const *cols);

/* Takes the states that a frame has; they count as what. s may be NULL: none are kept. */
bool tm_open_states(tm_state *s, uint32_t what, uint32_t at, uint32_t n);

/* Whether a slot is one of n; any will do where no states are kept. */
static inline bool tm_has_slot(const tm_state *s, uint32_t slot, uint32_t n) { return !s || slot < n; }

/* Answers the state that was put, if one was, where later items find it. */
void tm_leave_state(tm_state *s);

/* Opens an entry of the present item with a body of size bytes, which begins where it
 * answers in the output area (0: there is no room), and pads it. */
uint32_t tm_open_entry(uint32_t what, size_t size);
void tm_close_entry(void);

/* Completes the row that is open, if one is. */
void tm_finish_row(void);

/* Puts words into an entry of the present item. */
void tm_put_words(uint32_t what, const uint64_t *words, uint32_t n);

/* Begins the answer of an item; and ends it, where the output area was used up to start.
 * Everything is fine with OK, else the call ends with the status. */
void tm_begin_item(uint32_t item);
tm_status tm_end_item(uint32_t start, tm_error e);

/* The record in a row of a list. */
static inline tm_record tm_record_at(const tm_timestamp_in *time, tm_row r)
{
    return (tm_record){r, !tm_null(&time->in, r), tm_timestamp_of(time, r)};
}

/* Shows a function n items. of and items are what show needs. */
static inline tm_status tm_show(uint32_t n, tm_error (*show)(const void *of, const void *items, uint32_t i), const void *of, const void *items)
{
    tm_now.base = tm_now.used; /* what the frame has been opened with stays */
    for (uint32_t i = 0; i < n; i++) {
        tm_now.h->op = i;
        tm_now.used = tm_now.base;
        uint32_t start = tm_now.h->out_used;
        tm_begin_item(i);
        tm_status s = tm_end_item(start, show(of, items, i));
        if (s != OK)
            return s;
    }
    return OK;
}

#endif

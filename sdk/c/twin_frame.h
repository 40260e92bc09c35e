/* What the files of the twin share; tests include twin.h. */
#ifndef TIDEMARK_TWIN_FRAME_H
#define TIDEMARK_TWIN_FRAME_H

#include "frame.h"
#include "twin.h"

#ifndef __wasm__

struct tm_twin {
    const tm_module *of;
    uint32_t nparams;
    tm_value args[TM_MAX_COLUMNS];
    bool refused;
    int64_t op;
    char message[MESSAGE_BYTES + 1], law[MESSAGE_BYTES + 512];
    struct piece *owned;
    struct kept *kept; /* states of keys and windows */
    int64_t watermark, now;
    bool ending; /* what triggers see */
};

/* Ends a test that does what no host does. */
_Noreturn void tm_misuse(const char *format, ...);

/* n zeroed bytes that live as long as the twin. */
void *tm_own(tm_twin *t, size_t n);

/* The frame that is being written: it begins, and takes areas of n bytes, which are
 * zeroed or hold what is given. */
#define tm_frame ((tm_header *)(void *)tm_arena)
void tm_begin_frame(void);
uint32_t tm_area(size_t n);
uint32_t tm_area_of(const void *bytes, size_t n);
void tm_put32(uint32_t off, size_t i, uint32_t v);
uint32_t tm_get32(uint32_t off, size_t i);
bool tm_bit(uint32_t off, size_t i);

/* Writes a column of n rows, whose values lie width apart. */
tm_descriptor tm_column(const char *name, uint32_t kind, bool nullable, const tm_value *v, size_t width, size_t n);

static inline uint32_t tm_count_inputs(tm_input *const *cols)
{
    uint32_t n = 0;
    while (cols[n])
        n++;
    return n;
}

static inline uint32_t tm_count_outputs(tm_output *const *cols)
{
    uint32_t n = 0;
    while (cols[n])
        n++;
    return n;
}

/* Writes the columns of n records, one behind the other in v, and answers where their
 * descriptors are. */
uint32_t tm_write_inputs(tm_input *const *cols, const tm_value *v, size_t n);

/* Gives the frame output columns of n rows; and reads one, which the twin owns. */
void tm_write_outputs(tm_output *const *cols, size_t n);
const tm_value *tm_read_row(tm_twin *t, size_t row);

/* Configures the plug-in anew; false: it refuses the arguments. */
bool tm_fresh_instance(tm_twin *t);

/* Calls with the frame; the answer may take room bytes, 0: all that is left. */
tm_status tm_serve(tm_twin *t, tm_op o, uint32_t room);

/* The name of a law that does not hold, and how. */
const char *tm_broken(tm_twin *t, const char *format, ...);

/* Many operations in one call: what it carries, and what it came to. */
typedef struct {
    const tm_operation *ops;
    size_t nops;
    const tm_value *records; /* without those that a host leaves out */
    size_t nrecords;
    tm_acc *accs; /* before the call, then behind it */
    size_t naccs;
    uint32_t room; /* bytes that the answer may take; 0: all that is left */
    size_t done;   /* operations */
    const tm_value **rows;
    size_t nrows; /* results of the operations that are done */
} tm_agenda;

/* Makes the call; false: it was refused. The twin owns what is answered. */
bool tm_twin_apply(tm_twin *t, tm_agenda *a);

/* Checks that one call does what single calls do, if the aggregate takes several
 * operations. */
const char *tm_in_one_call(tm_twin *t, const tm_value *records, size_t n);

/* Whether a host would leave these values out. */
bool tm_lacks(tm_input *const *cols, const tm_value *values);

#endif
#endif

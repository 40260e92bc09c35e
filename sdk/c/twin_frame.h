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

/* Configures the plug-in anew; false: it refuses the arguments. */
bool tm_fresh_instance(tm_twin *t);

/* Calls with the frame; the answer may take room bytes, 0: all that is left. */
tm_status tm_serve(tm_twin *t, tm_op o, uint32_t room);

/* Whether a host would leave these values out. */
bool tm_lacks(tm_input *const *cols, const tm_value *values);

#endif
#endif

/* Upgrades: what a plug-in has kept in a layout that it had once, in that of today. A job
 * goes on from a checkpoint that an older version of the plug-in has written; without it a
 * changed layout, which has another .schema, means that such a state is given up.
 * tidemark.h includes this.
 *
 *     typedef struct { double sum; } tally_v1; // as it was with .schema = 1
 *
 *     static tm_error from_v1(const void *old, void *now)
 *     {
 *         ((tally *)now)->sum = ((const tally_v1 *)old)->sum;
 *         ((tally *)now)->count = -1; // nobody has counted them
 *         return TM_OK;
 *     }
 *
 *         .schema = 2,
 *         .upgrades = {&(const tm_upgrade){.schema = 1, .size = sizeof(tally_v1), .convert = from_v1}},
 *
 * Each names one older schema, and they are not chained: to go from 1 to 3 takes one from 1.
 * A text in place of TM_OK ends the start of the job, whose checkpoint stays as it is. */
#ifndef TIDEMARK_UPGRADE_H
#define TIDEMARK_UPGRADE_H

enum { TM_MAX_UPGRADES = 64 };

/* What a state is that is upgraded. */
typedef enum {
    TM_KEPT_ACCUMULATOR = 0,
    TM_KEPT_OF_KEY = 1,    /* of a process function */
    TM_KEPT_OF_WINDOW = 2, /* of a process function or a trigger */
    TM_KEPT_OF_SPLIT = 3,  /* of a watermark generator */
} tm_kept;

typedef struct {
    uint32_t schema; /* the older one, from 1 and below that of today */

    /* Of accumulators without encode: the sizeof the old one, and what makes one of today
     * of it, which is zeros before. */
    size_t size;
    tm_error (*convert)(const void *old, void *now);

    /* Of all else, which is bytes: accumulators with encode, and states. Appends those of
     * today to now; of a state at least one. */
    tm_error (*rewrite)(tm_kept what, tm_text old, tm_bytes *now);
} tm_upgrade;

#endif

/* Who sees the numbers that calls move: hangs on the slot MPIX_SLOT_WATCH of ranks that are recorded.
 *
 * For each operation: begins once, then a block for every piece of memory that holds doubles (or
 * floats: `single`; complex numbers are two each) which the call sends or will have received, in the order in which they cross, or `opaque` where such
 * numbers move in a way that is not followed (strided types, windows, types per peer); then
 * `done` when it is complete: what was received is there, and may be changed. `record` is the
 * operation's identity throughout; its fields may still gain what was matched. */
#ifndef RECORDER_WATCH_H
#define RECORDER_WATCH_H

#include "recorder/record.h"

#include <stdbool.h>
#include <stddef.h>

struct record_watch {
    void (*begins)(struct record_watch *watch, const struct record_op *record, uint32_t number,
                   uint64_t comm);
    void (*block)(struct record_watch *watch, const struct record_op *record, bool receives,
                  bool single, void *values, size_t count);
    void (*opaque)(struct record_watch *watch, const struct record_op *record);
    void (*done)(struct record_watch *watch, const struct record_op *record);
    /* By whoever ran the ranks, when they are over and the records are still there. */
    void (*over)(struct record_watch *watch);
};

#endif

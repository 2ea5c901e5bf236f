/* How far a long step is: reported by whoever does it, shown by whoever asked for it. NULL: nobody
 * did.
 *
 * Tellers call it every few thousand rows; how often something is shown is the other side's affair.
 */
#ifndef TRACES_BASE_PROGRESS_H
#define TRACES_BASE_PROGRESS_H

#include <stdint.h>

struct progress {
    /* `step` and `unit` are words that live for ever ("storing", "operations"); total 0: unknown.
     */
    void (*tell)(struct progress *progress, const char *step, uint64_t done, uint64_t total,
                 const char *unit);
};

enum { PROGRESS_ROWS = 1 << 14 }; /* between two calls */

static inline void progress_report(struct progress *progress, const char *step, uint64_t done,
                                   uint64_t total, const char *unit)
{
    if (progress)
        progress->tell(progress, step, done, total, unit);
}

#endif

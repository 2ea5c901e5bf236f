/* What is left of the time for a run: see time_limit.h. */
#include "cli/processes/time_limit.h"

#include "cli/processes/interrupt.h"
#include "cli/processes/stopwatch.h"

#include <math.h>

static const uint64_t least_ns = 2000000000;

void time_limit_begin(struct time_limit *limit, double timeout, uint64_t began_ns)
{
    *limit = (struct time_limit){0};
    if (timeout > 0 && timeout < 1e9)
        limit->until = began_ns + (uint64_t)(timeout * 1e9);
    time_limit_step(limit);
}

void time_limit_step(struct time_limit *limit)
{
    uint64_t least = stopwatch_now() + least_ns;
    if (limit->until && limit->until < least)
        limit->until = least;
}

/* An interruption shortens the time that is left. */
static void look(struct time_limit *limit)
{
    uint64_t soon = stopwatch_now() + least_ns;
    if (interrupt_signal() && (!limit->until || limit->until > soon))
        limit->until = soon;
}

bool time_limit_passed(void *context)
{
    struct time_limit *limit = context;
    look(limit);
    bool over = limit->until && stopwatch_now() >= limit->until;
    limit->passed |= over;
    return over;
}

double time_limit_left(struct time_limit *limit)
{
    look(limit);
    uint64_t now = stopwatch_now();
    return !limit->until ? INFINITY : limit->until > now ? (double)(limit->until - now) * 1e-9 : 0;
}

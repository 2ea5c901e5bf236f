/* The abstract machine of a device: what ranks issue runs on streams, each in issue order, and a
 * rank goes on at once. So libraries of GPUs run sends, receives and collectives; where they stand
 * on one stream they wait for each other though no rank waits.
 *
 * Rules:
 *  1. A stream belongs to a rank, or to a rank and a communicator. It begins an operation when all
 * before it are complete; operations of one batch are one item, begun together.
 *  2. A message is complete when both ends have begun, a collective when all calls have.
 *  3. The rank itself waits in waits, in blocking barriers, and in calls that make or free
 * communicators and windows; at its end for all it has issued. Probes and tests do not wait here.
 *  4. What meets what is as planned (plan.h): issue order decides. Linear time. */
#ifndef CHECKER_REPLAY_DEVICE_H
#define CHECKER_REPLAY_DEVICE_H

#include "checker/replay/plan.h"

struct device_step {
    uint32_t stands; /* begun, or waited in by its rank, and never complete */
    uint32_t lacks;  /* what it waits for; TRACE_NO: nobody has it */
    uint32_t before; /* what stands before that: on its stream, or the wait in which its rank is;
                        TRACE_NO */
};

/* A way to hang: each step's `before` waits, at once or through what it waits for, for the next
 * step; the last for the first, or the last one lacks what nobody has. */
struct device_hang {
    struct device_step *steps;
    size_t count; /* 0: it runs to its end */
};

void check_device_run(const struct check_plan *plan, enum device_streams streams,
                      struct device_hang *hang);
void check_device_release(struct device_hang *hang);

#endif

/* inbox.h: the messages that a wildcard receive could take, of each sender the first that is still
 * there.
 *
 * Receives of a rank must ask in their order: what an earlier one took is passed over for good, so
 * that asking for all of them takes no longer than there are messages and senders. */
#ifndef CHECKER_REPLAY_INBOX_H
#define CHECKER_REPLAY_INBOX_H

#include "traces/trace/trace.h"

#include <stdbool.h>

struct candidate_message {
    int32_t to, tag;
    uint32_t comm, from, op;
};

/* All messages, sorted; a stack is those to one rank on one communicator from one sender, with one
 * tag if `tagged`. */
struct inbox {
    const struct trace *trace;
    bool tagged;
    struct candidate_message *letters;
    struct inbox_stack {
        size_t next, end;
    } * stacks;
    size_t letter_count, stack_count;
};

/* Messages to ranks for which `wanted` (by rank) is not TRACE_NO. */
void inbox_init(struct inbox *inbox, const struct trace *trace, const uint32_t *wanted,
                bool tagged);
void inbox_release(struct inbox *inbox);

/* First stack that this receive can look at; SIZE_MAX: none. The next one. */
size_t inbox_first(const struct inbox *inbox, uint32_t receive);
size_t inbox_next(const struct inbox *inbox, size_t stack);
/* The first message of a stack that no receive before this one took; TRACE_NO: none is left. */
uint32_t inbox_head(struct inbox *inbox, size_t stack, uint32_t receive);

#endif

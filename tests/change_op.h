/* Another value of one field of an operation that is already in a trace, for tests: some fields stand
 * in its form, which it shares with others. */
#ifndef TESTS_CHANGE_OP_H
#define TESTS_CHANGE_OP_H

#include "traces/trace/trace.h"

#define CHANGE_OP(trace, index, field, value)                                                      \
    do {                                                                                           \
        struct trace_plain_op changed_op = trace_op_plain((trace), (uint32_t)(index));             \
        changed_op.field = (value);                                                                \
        trace_op_change((trace), (uint32_t)(index), &changed_op);                                  \
    } while (0)

#endif

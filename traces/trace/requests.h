/* The requests of a wait one by one. */
#ifndef TRACES_TRACE_REQUESTS_H
#define TRACES_TRACE_REQUESTS_H

#include "traces/trace/trace.h"

/* Of those that trace_op_requests counts the one with this number, from 0; TRACE_NO past the last. */
uint32_t trace_op_request(const struct trace *trace, uint32_t op, size_t index);

#endif

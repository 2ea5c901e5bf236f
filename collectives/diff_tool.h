/* diff_tool.h: for tools that differentiate by overloading, which keep the arithmetic on tapes of
 * their own: the calls of MPI between, forward and back.
 *
 * A tool's binding (diff_adolc.hpp and diff_rad.hpp are two) turns a call of MPI on active numbers into one of these on
 * doubles and keeps its number; when its reverse sweep comes to that place, it gives the cotangents
 * of the results and gets those of what was sent. Adjoint messages travel on a duplicate of the
 * communicator. Every rank's sweep must come to the same calls in the reverse order, as sweeps do.
 * Under simrun the program's gradients are checked with marks (diff.h), and the call that is wrong
 * is named. Misuse ends the rank with a finding, as in diff.h. */
#ifndef DIFF_TOOL_H
#define DIFF_TOOL_H

#include <diff.h>

#ifdef __cplusplus
extern "C" {
#endif

struct diff_tool;

/* For calls on `comm` and, if they are collective, others; collective. Freed likewise. */
struct diff_tool *diff_tool_new(MPI_Comm comm);
void diff_tool_free(struct diff_tool *tool);
/* Forgets all calls, for the next evaluation; their numbers begin again. */
void diff_tool_clear(struct diff_tool *tool);

/* What a call sends and what it gives; `site`: a return address in the program's function, NULL: the
 * binding's. */
struct diff_tool_data {
    const double *x;
    size_t x_count;
    double *y;
    size_t y_count;
    const void *site;
};

/* A collective as diff_call says (its x is ignored); gives the call's number. y_count must be what the
 * collective gives here (0 where it gives nothing). */
size_t diff_tool_collective(struct diff_tool *tool, const struct diff_call *call,
                            const struct diff_tool_data *data);
/* A message to `destination`, and one from `source`; MPI_PROC_NULL: none. */
size_t diff_tool_message(struct diff_tool *tool, const struct diff_tool_data *data, int destination,
                         int send_tag, int source, int receive_tag, MPI_Comm comm);
/* The adjoint of a call: x_bar (of x_count values) from y_bar (of y_count). */
void diff_tool_reverse(struct diff_tool *tool, size_t number, const double *y_bar, double *x_bar);

#ifdef __cplusplus
}
#endif
#endif

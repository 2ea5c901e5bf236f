/* Why collectives on a communicator have failed, for the calls of its owner that are still within: threads of a rank may each be in one.
 * The communicator keeps it, since a call may never come back to take it. Everything here is called in the monitor. */
#ifndef SIM_COMMUNICATORS_COMPLAINTS_H
#define SIM_COMMUNICATORS_COMPLAINTS_H

#include <stdbool.h>

enum { SIM_COMPLAINT_MAX = 160 };

struct sim_complaint;

/* NULL is the call that came the short way: a rank has one at a time. What was said of the call before is replaced. */
void sim_complaint_add(struct sim_complaint **complaints, const void *call, const char *text);
/* What was said of this call, for the last time; false: nothing was. */
bool sim_complaint_take(struct sim_complaint **complaints, const void *call,
                        char text[SIM_COMPLAINT_MAX]);
void sim_complaints_drop(struct sim_complaint **complaints);

#endif

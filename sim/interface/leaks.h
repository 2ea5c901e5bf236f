/* Leaks: handles that a rank still holds, as one note for each place that made them. Info objects, error handlers and sessions may be
 * freed after Finalize: they are told when the rank is over. */
#ifndef SIM_INTERFACE_LEAKS_H
#define SIM_INTERFACE_LEAKS_H

struct sim_rank;

/* Notes what the calling rank still holds: at Finalize, and where its program has returned or called exit. */
void sim_leaks_report(struct sim_rank *rank);
void sim_leaks_report_end(struct sim_rank *rank);

#endif

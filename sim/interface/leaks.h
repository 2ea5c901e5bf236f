/* Leaks: handles that a rank still holds at Finalize, as one note for each place that made them. */
#ifndef SIM_INTERFACE_LEAKS_H
#define SIM_INTERFACE_LEAKS_H

struct sim_rank;

/* Notes what the calling rank still holds. */
void sim_leaks_report(struct sim_rank *rank);

#endif

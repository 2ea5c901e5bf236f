/* One table of names for each enum that files, JSON and people see, in the enum's order; NULL ends
 * a table. Files keep these names: they never change. */
#ifndef TRACES_TRACE_NAMES_H
#define TRACES_TRACE_NAMES_H

extern const char *const trace_outcome_names[];    /* enum trace_outcome */
extern const char *const trace_rank_state_names[]; /* enum rank_state */
extern const char *const trace_severity_names[];   /* enum severity */
extern const char *const trace_model_names[];      /* progress models; enum sim_send_model */
extern const char *const trace_method_names[];     /* how a gradient was compared */

/* The name with this number, "?" where the table has none; and back, -1 for an unknown name. */
const char *trace_name(const char *const *names, unsigned number);
int trace_name_number(const char *const *names, const char *name);

#endif

/* Names of enums: see names.h. */
#include "traces/trace/names.h"

#include <stddef.h>
#include <string.h>

const char *const trace_outcome_names[] = {"finished",    "deadlock", "livelock",
                                           "aborted",     "crashed",  "timeout",
                                           "interrupted", "imported", NULL};
const char *const trace_rank_state_names[] = {"finished", "blocked", "aborted", "crashed",
                                              "polling",  "running", NULL};
const char *const trace_severity_names[] = {"note", "warning", "error", NULL};
const char *const trace_model_names[] = {"eager", "rendezvous", "batch", NULL};
const char *const trace_method_names[] = {"central",   "complex", "dot", "tangent",
                                          "one-sided", "value",   NULL};

const char *trace_name(const char *const *names, unsigned number)
{
    for (unsigned i = 0; names[i]; i++)
        if (i == number)
            return names[i];
    return "?";
}

int trace_name_number(const char *const *names, const char *name)
{
    for (int i = 0; name && names[i]; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return -1;
}

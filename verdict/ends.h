/* Every run that ended badly has a finding: where no check named the cause, the end itself is one.
 */
#ifndef VERDICT_ENDS_H
#define VERDICT_ENDS_H

#include "traces/trace/finding.h"

/* `crash`: how the process of the ranks ended, "" when as it should. `trace` may be NULL. */
void verdict_end(struct findings *findings, const struct trace *trace, enum trace_outcome outcome,
                 const char *crash);

#endif

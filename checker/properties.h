/* The properties: one function per file, all of one shape. The table that uses them is in check.c.
 */
#ifndef CHECKER_PROPERTIES_H
#define CHECKER_PROPERTIES_H

#include "checker/context.h"

void check_notes(const struct check_context *context, struct findings *findings);
void check_crash(const struct check_context *context, struct findings *findings);
void check_deadlock(const struct check_context *context, struct findings *findings);
void check_collective(const struct check_context *context, struct findings *findings);
/* What the machine noted of data that do not fit: the end of check_collective. */
void check_mismatches(const struct check_context *context, struct findings *findings);
void check_p2p(const struct check_context *context, struct findings *findings);
void check_gradient(const struct check_context *context, struct findings *findings);
void check_activity(const struct check_context *context, struct findings *findings);
void check_leaks(const struct check_context *context, struct findings *findings);
void check_models(const struct check_context *context, struct findings *findings);
void check_device(const struct check_context *context, struct findings *findings);
void check_order(const struct check_context *context, struct findings *findings);
void check_matches(const struct check_context *context, struct findings *findings);
void check_threads(const struct check_context *context, struct findings *findings);
void check_transpose(const struct check_context *context, struct findings *findings);
void check_race(const struct check_context *context, struct findings *findings);
void check_staleness(const struct check_context *context, struct findings *findings);
void check_updates(const struct check_context *context, struct findings *findings);
void check_replicas(const struct check_context *context, struct findings *findings);
void check_remote(const struct check_context *context, struct findings *findings);
void check_windows(const struct check_context *context, struct findings *findings);
void check_buffers(const struct check_context *context, struct findings *findings);

#endif

/* What --allow names: a known finding is reported and does not fail. It silences only itself: what
 * follows from it is judged as if it stood alone.
 *
 * A rule is CODE, CODE:SITE ("D001:ring.c:41"; folders before the file may be left out),
 * CODE:FINGERPRINT, a fingerprint alone, or @FILE: a baseline, one rule a line; '#' begins a
 * comment. */
#ifndef VERDICT_ALLOW_H
#define VERDICT_ALLOW_H

#include "traces/base/failure.h"
#include "traces/trace/finding.h"

/* Whether a rule can be read; a baseline's lines as well. FAILURE_USAGE, or FAILURE_INPUT for a
 * file, with a sentence. */
bool allow_rule_valid(const char *rule, struct failure *failure);
bool allow_matches(const char *rule, const struct finding *finding, const struct trace *trace);
/* Marks what the rules name and frees its consequences; these fold again under what is left. */
void allow_mark(struct findings *findings, const struct trace *trace, const char *const *rules,
                int count);

#endif

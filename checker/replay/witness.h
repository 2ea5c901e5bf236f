/* Witnesses: schedules that show a finding, as text (docs/witness.md) and as something to replay.
 *
 * A witness names a trace's operations by rank and seq, so it fits the same program run again as
 * well as the stored trace. */
#ifndef CHECKER_REPLAY_WITNESS_H
#define CHECKER_REPLAY_WITNESS_H

#include "checker/replay/plan.h"

struct check_witness {
    char code[8];
    enum check_model model;
    uint32_t ranks;
    uint32_t *order; /* as check_plan's: op at each position; NULL: as recorded. Owned */
    struct plan_choice *choices;
    size_t choice_count;
};

enum witness_outcome { WITNESS_COMPLETES, WITNESS_STUCK, WITNESS_CROSSES };

/* The text; `order` may be NULL. Caller frees. */
char *check_witness_text(const struct trace *trace, const char *code, enum check_model model,
                         const uint32_t *order, const struct plan_choice *choices,
                         size_t choice_count);
/* Reads a witness for this trace. FAILURE_INPUT with line number for anything that is not one;
 * nothing to release then. */
int check_witness_parse(const char *text, const struct trace *trace, struct check_witness *witness,
                        struct failure *failure);
void check_witness_release(struct check_witness *witness);
/* Executes it on the abstract machine. `text` (may be NULL) receives sentences about where it
 * stands or what crosses; caller frees. */
enum witness_outcome check_witness_replay(const struct trace *trace,
                                          const struct check_witness *witness, char **text);

#endif

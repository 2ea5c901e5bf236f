/* The mutants' suite: small programs that together use every adjoint, run under every mutant and
 * judged by the gradient check. A mutant that no program notices has survived, which is a fault of
 * the checks. */
#ifndef COLLECTIVES_GRADCHECK_MUTANT_SUITE_H
#define COLLECTIVES_GRADCHECK_MUTANT_SUITE_H

#include "collectives/experiment/mutant.h"
#include "collectives/experiment/probe.h"

/* How to run `body` as every rank of a fresh world, between MPI_Init and MPI_Finalize, with this
 * probe in every rank's MPIX_SLOT_PROBE. `seed` 0: default choices. Returns how the
 * world ended, an enum trace_outcome: 0 when all ranks finished. */
struct mutant_world {
    int (*run)(void *context, int ranks, uint64_t seed, struct diff_probe *probe,
               void (*body)(void *body_context), void *body_context, int worker);
    void *context;
    int workers;
};

struct mutant_verdict {
    int mutant; /* an enum diff_mutant */
    bool killed;
    char program[32];
    char oracle[96]; /* all that objected: "central+identity+forward", "deadlock", "ended itself" */
    char blamed[64]; /* the first wrong adjoint, of worlds that did not finish the one they were in;
                        "" when none was named */
    int ranks;       /* the smallest world that killed it */
    int trials;      /* programs run until then */
};

/* One mutant against the programs, until one of them notices. */
void mutant_judge(const struct mutant_world *world, int mutant, struct mutant_verdict *verdict);
/* Fills one verdict per mutant; [MUTANT_NONE] is the control: killed there means the right adjoints
 * failed. */
void mutants_judge(const struct mutant_world *world,
                   struct mutant_verdict verdicts[DIFF_MUTANT_COUNT]);
/* The table as text; returns how many survived (the control counts when it failed). */
int mutants_print(const struct mutant_verdict verdicts[DIFF_MUTANT_COUNT], char *text, size_t size);

#endif

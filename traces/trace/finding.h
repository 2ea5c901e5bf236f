/* Findings: what is wrong with the program under test. Data, the product of this system.
 *
 * Produced by checker/, stored by traces/, drawn by viz/, printed by cli/. Codes are stable (docs,
 * `simrun explain`). */
#ifndef TRACES_TRACE_FINDING_H
#define TRACES_TRACE_FINDING_H

#include "traces/trace/trace.h"

enum severity { SEVERITY_NOTE, SEVERITY_WARNING, SEVERITY_ERROR };
enum confirmation {
    CONFIRM_NONE,
    CONFIRM_HAPPENED,
    CONFIRM_ABSTRACT,
    CONFIRM_REAL,
    CONFIRM_REFUTED
};

struct finding_op {
    uint32_t op;   /* index into trace->ops, or TRACE_NO when it is about a node */
    uint32_t node; /* index into trace->nodes or TRACE_NO */
    char role[24]; /* "culprit", "partner", "core", "waits", "unmatched", "never" */
};

struct finding {
    char code[8];
    enum severity severity;
    char fingerprint[24]; /* hex of a hash of code, sites and kinds; holds no ranks and no numbers
                             that vary */
    char *title;          /* one line: "cycle of 3 blocked ranks: Send at ring.c:41" */
    char *detail;         /* the cause in a sentence or a few, plain text with newlines */
    uint32_t site;
    struct finding_op *ops;
    size_t op_count;
    char *witness;                   /* schedule in witness format (docs/witness.md), or NULL */
    char *repair;                    /* text: joins at file:line, or NULL */
    struct trace_edge *repair_edges; /* node indices, for the picture */
    size_t repair_count;
    enum confirmation confirmation;
    char models[32]; /* progress models under which it occurs: "eager rendezvous batch", "" when not
                        applicable */
    bool inherited;  /* the forward pass has the same fault */
    bool allowed;    /* named by --allow */
    bool has_consequences; /* set by findings_sort */
    bool summary; /* of many comparisons, without a place: another finding may name the cause */
    /* What it follows from: code and fingerprint of the root; "" where it is a root itself, or was
     * freed of one that is allowed (then only the code). */
    char because[8], root[24];
};

/* Roots stand first, items[0 .. count): what a verdict counts and everybody shows. Behind them
 * stand the consequences that were folded under a root, items[count .. count + folded): shown on
 * demand, counted apart. */
struct findings {
    struct finding *items;
    size_t count, room, folded;
};

void findings_init(struct findings *findings);
void findings_release(struct findings *findings);
/* Takes one out that turned out to be none; before they are sorted. */
void findings_remove(struct findings *findings, size_t index);
/* Appends an empty finding with code and severity by code (table in finding.c) and returns it;
 * valid until the next add. `title` is formatted. */
struct finding *findings_add(struct findings *findings, const char *code, const char *title, ...)
    __attribute__((format(printf, 3, 4)));
void finding_detail(struct finding *finding, const char *format, ...)
    __attribute__((format(printf, 2, 3))); /* appends */
/* Of what another run showed than the first: the command that repeats that run, as a sentence. */
void finding_repeated_by(struct finding *finding, const char *command);
/* The command that shows it again, into `text`: that of the sentence, where it fits; else `run`, which
 * repeats the first run, of a run that is `kept` with the witness of finding `number`. */
char *finding_replay(const struct finding *finding, size_t number, const char *run, bool kept,
                     char *text, size_t size);
/* A sentence of its own, ended by a newline, unless it is there already. */
void finding_sentence(struct finding *finding, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void finding_op_add(struct finding *finding, uint32_t op, const char *role);
void finding_node_add(struct finding *finding, uint32_t node, const char *role);
/* Computes the fingerprint from code, op kinds and sites; call once the ops are in. */
void finding_seal(struct finding *finding, const struct trace *trace);
/* Sorts roots by severity, those with consequences first, then by code and fingerprint, and merges
 * equal fingerprints of one code (keeping the first, counting the rest in its detail); consequences
 * in the order of their roots. Deterministic. */
void findings_sort(struct findings *findings);
/* Folds root `index` under root `root` (another one). Indices of the roots behind it change. */
void findings_fold(struct findings *findings, size_t index, const struct finding *root);
/* Makes the consequences of a root roots again, marked with its code. */
void findings_unfold(struct findings *findings, const char *fingerprint);
/* How many consequences a root has. */
size_t findings_consequences(const struct findings *findings, size_t root);

/* The table of codes: short name ("deadlock"), severity, one-line meaning, cause, example, usual
 * remedy (for `simrun explain`). NULL for an unknown code; finding_code_at enumerates, NULL past
 * the end. */
struct finding_code {
    const char *code, *name;
    enum severity severity;
    const char *meaning, *cause, *example, *remedy;
};
const struct finding_code *finding_code(const char *code);
const struct finding_code *finding_code_at(size_t index);

#endif

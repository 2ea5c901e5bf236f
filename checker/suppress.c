#include "checker/suppress.h"

#include "checker/memory.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* What an end in the middle leaves behind; L010 is a cause, not a remainder. */
#define LEFT_OVER "L001 L002 L003 L004 L005 L006 L007 L008 L009"

static const struct suppress_rule rules[] = {
    {"X004", "X001", SUPPRESS_RANK, "a stack overflow ends in a signal; the overflow is the cause"},
    {"X005", "X001 X002 D001 G* M009", SUPPRESS_RUN,
     "after a freed communicator was used nothing the program does is meaningful"},
    {"X001", "D001 D005 X002 X003 X006 M010 L* G001 G002 G003 G004", SUPPRESS_RUN,
     "peers of a crashed rank wait for it, and what it would have released or received stays open"},
    {"M*", "X002 D001 D005 G001 G002 G004 " LEFT_OVER " X006 R001 R002", SUPPRESS_RUN,
     "a wrong argument or a mismatch ends or derails the run; everything after it follows from it"},
    {"A013", "A001 A002 A005 A006 A007 A010", SUPPRESS_RUN,
     "where an id stands for two things, what is said about it is said about neither"},
    {"A005", "A006", SUPPRESS_RUN, "the root believes the answer that came too early"},
    {"A*", "G001 D001 D005 X002 L* X006", SUPPRESS_RUN,
     "a broken protocol makes gradients wrong and leaves workers waiting"},
    {"S004", "X002 D001 D005 M010 L* X006 G001 G002 G003 G004", SUPPRESS_RUN,
     "the library ends the rank that cannot decode"},
    {"M001 M002 M003 M004 M005 M006", "M009", SUPPRESS_OP,
     "a collective that does not fit is refused by who comes second"},
    {"M001 M002 M003 M004 M005 M006", "M007 M009", SUPPRESS_WAIT,
     "a nonblocking collective that does not fit says so in its wait"},
    {"X002", "D001 D005 M010 " LEFT_OVER " X003 X006 G001 G002 G003 G004", SUPPRESS_RUN,
     "an aborted run leaves everything open"},
    {"D001", "D002 D003 D004 R001 L* X003 X006 M010 G001 G002 G004 S*", SUPPRESS_RUN,
     "the run itself hangs: what is missing is missing because of that, and other orders are "
     "judged once it is mended"},
    {"D005", "D002 D003 D004 X003 L* X006 M010 G001 G002 G004 S*", SUPPRESS_RUN,
     "the same for a run that only polls"},
    {"G005", "X002", SUPPRESS_RANK, "a broken invariant is why the rank ended itself"},
    {"X003", "L* X006 M010 G001 G002 G003 G004", SUPPRESS_RUN, "the run was cut off"},
    {"B001", "G001 G007 G008", SUPPRESS_RUN,
     "a buffer changed under a pending operation makes the values wrong"},
    {"B002", "G001 G007", SUPPRESS_RUN,
     "two pending operations on one buffer make the values wrong"},
    {"G008", "G001", SUPPRESS_RUN, "a saved value that changed makes the gradient wrong"},
    {"G006", "G001", SUPPRESS_RUN, "a gradient that is no number fails every comparison"},
    {"R004", "G001", SUPPRESS_RUN,
     "cotangents that go to the wrong message make the gradient wrong"},
    {"R005", "R002 M*", SUPPRESS_OP,
     "the crossing is one of adjoint with forward traffic, which says more"},
    {"G003", "G002 G004", SUPPRESS_OP,
     "one collective's node is live on some ranks and dead on others: the divergence says both"},
    {"G004", "G002 L002", SUPPRESS_OP,
     "the message without a partner is the adjoint of the pruned node"},
    {"M010", "L001 L008 G003", SUPPRESS_OP, "the request is open because a participant is missing"},
    {"X006", "L001 L008", SUPPRESS_OP, "finalizing with the request pending says it"},
    {"L010", "M009", SUPPRESS_RANK, "the second start is refused"},
    {"L008", "L001", SUPPRESS_OP, "a start nobody waits for is the leak"},
    {"B002", "B001", SUPPRESS_RANK, "the other pending operation is who changed the buffer"},
    {"G003", "G001", SUPPRESS_RUN, "an adjoint that some ranks leave out makes the gradient wrong"},
    {"D002", "M010", SUPPRESS_OP, "who waits for the missing participant is named already"},
    {"D002", "D003 D004", SUPPRESS_OP,
     "the same operations hang in another order too: the missing order is the cause"},
    {"R002", "R004", SUPPRESS_OP,
     "nothing orders the two messages: that they crossed in this run is chance"},
    {"R001", "R002", SUPPRESS_OP, "one pair crosses; the loud form of it is the verdict"},
};

const struct suppress_rule *suppress_rule_at(size_t index)
{
    return index < sizeof rules / sizeof *rules ? &rules[index] : NULL;
}

static bool names_code(const char *list, const char *code)
{
    for (const char *word = list; *word;) {
        size_t length = strcspn(word, " ");
        if (word[length - 1] == '*' ? strncmp(word, code, length - 1) == 0
                                    : length == strlen(code) && strncmp(word, code, length) == 0)
            return true;
        word += length;
        word += strspn(word, " ");
    }
    return false;
}

static uint32_t rank_of(const struct finding_op *op, const struct trace *trace)
{
    if (op->op != TRACE_NO)
        return trace->ops[op->op].rank;
    return op->node != TRACE_NO ? trace->nodes[op->node].rank : TRACE_NO;
}

static bool same_thing(const struct finding_op *a, const struct finding_op *b,
                       enum suppress_scope scope, const struct trace *trace)
{
    if (scope == SUPPRESS_RANK)
        return rank_of(a, trace) != TRACE_NO && rank_of(a, trace) == rank_of(b, trace);
    return (a->op != TRACE_NO && a->op == b->op) || (a->node != TRACE_NO && a->node == b->node);
}

/* It is about a wait for a nonblocking collective. */
static bool waits_for_collective(const struct finding *effect, const struct trace *trace)
{
    for (size_t i = 0; i < effect->op_count; i++) {
        uint32_t starts[8], op = effect->ops[i].op;
        if (op == TRACE_NO || op_kind_class(trace->ops[op].kind) != CLASS_WAIT)
            continue;
        size_t count = trace_op_requests(trace, op, starts, 8);
        for (size_t k = 0; k < count && k < 8; k++)
            if (starts[k] < trace->op_count &&
                op_kind_class(trace->ops[starts[k]].kind) == CLASS_COLLECTIVE)
                return true;
    }
    return false;
}

static bool related(const struct finding *cause, const struct finding *effect,
                    enum suppress_scope scope, const struct trace *trace)
{
    if (scope == SUPPRESS_WAIT)
        return waits_for_collective(effect, trace);
    if (scope == SUPPRESS_RUN)
        return true;
    for (size_t i = 0; i < cause->op_count; i++)
        for (size_t j = 0; j < effect->op_count; j++)
            if (same_thing(&cause->ops[i], &effect->ops[j], scope, trace))
                return true;
    return false;
}

static bool is_silenced(const struct findings *findings, size_t first, size_t which,
                        const struct suppress_rule *rule, const struct trace *trace)
{
    const struct finding *effect = &findings->items[which];
    if (!names_code(rule->effects, effect->code))
        return false;
    /* An exit code after a complete run leaves nothing open: it is no cause, often a consequence.
     */
    if (strcmp(rule->cause, "X002") == 0 && trace->outcome == OUTCOME_FINISHED)
        return false;
    for (size_t i = first; i < findings->count; i++) {
        const struct finding *cause = &findings->items[i];
        if (i != which && names_code(rule->cause, cause->code) &&
            strcmp(cause->code, effect->code) != 0 && related(cause, effect, rule->scope, trace))
            return true;
    }
    return false;
}

/* Causes are looked up among all that was found, also among the already silenced: a chain of
 * consequences goes at once. */
void suppress_consequences(struct findings *findings, size_t first, const struct trace *trace)
{
    bool *silenced = check_new(findings->count, sizeof *silenced);
    for (const struct suppress_rule *rule = rules; rule < rules + sizeof rules / sizeof *rules;
         rule++)
        for (size_t i = first; i < findings->count; i++)
            silenced[i] = silenced[i] || is_silenced(findings, first, i, rule, trace);
    struct findings removed;
    findings_init(&removed);
    removed.items = check_new(findings->count, sizeof *removed.items);
    removed.room = findings->count ? findings->count : 1;
    size_t kept = first;
    for (size_t i = first; i < findings->count; i++) {
        if (silenced[i])
            removed.items[removed.count++] = findings->items[i];
        else
            findings->items[kept++] = findings->items[i];
    }
    findings->count = kept;
    findings_release(&removed);
    free(silenced);
}

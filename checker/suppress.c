#include "checker/suppress.h"

#include "checker/memory.h"
#include "traces/trace/requests.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* What an end in the middle leaves behind; L010 is a cause, not a remainder. */
#define LEFT_OVER "L001 L002 L003 L004 L005 L006 L007 L008 L009"

static const struct suppress_rule rules[] = {
    {"X004", "X001", SUPPRESS_RANK, "a stack overflow ends in a signal; the overflow is the cause"},
    {"X005", "X001 X002 D001 G* M009", SUPPRESS_RUN,
     "after a freed communicator was used nothing the program does is meaningful"},
    {"X010",
     "X001 X002 X003 X004 X007 X008 D001 D005 B001 M* L* X006 G001 G002 G003 G004 G007 G008 S* A*",
     SUPPRESS_RUN, "what happens after an injected fault is what the fault does"},
    {"X011", "X001 X002 X008 D001 D005 X003 X006 M010 L* G001 G002 G003 G004", SUPPRESS_RUN,
     "a program that is refused something may fail for it"},
    {"X007", "X001 X002 X003 X008 D001 D005 X006 M010 L* G001 G002 G003 G004", SUPPRESS_RUN,
     "a run that was killed leaves everything open"},
    {"X008", "D001 D005 X003 X006 M010 L* G001 G002 G003 G004", SUPPRESS_RUN,
     "who waits for a rank that left waits because of that"},
    {"X001", "X008", SUPPRESS_RUN, "after a crash the others end as they can"},
    {"X001", "D001 D005 X002 X003 X006 M010 L* G001 G002 G003 G004", SUPPRESS_RUN,
     "peers of a crashed rank wait for it, and what it would have released or received stays open"},
    {"M001 M002 M003 M004 M005 M006 M007 M008 M009 M010",
     "X002 D001 D002 D003 D005 G001 G002 G004 " LEFT_OVER " X006 R001 R002", SUPPRESS_RUN,
     "a wrong argument or a mismatch ends or derails the run; everything after it follows from it"},
    {"A013", "A001 A002 A005 A006 A007 A010", SUPPRESS_ALWAYS,
     "where an id stands for two things, what is said about it is said about neither"},
    {"A005", "A006", SUPPRESS_ALWAYS, "the root believes the answer that came too early"},
    {"A*", "G001 D001 D005 X002 L* X006", SUPPRESS_RUN,
     "a broken protocol makes gradients wrong and leaves workers waiting"},
    {"S004", "X002 D001 D005 M010 L* X006 G001 G002 G003 G004", SUPPRESS_RUN,
     "the library ends the rank that cannot decode"},
    {"M006", "M001 M002 M003 M004 M005", SUPPRESS_BESIDE,
     "collectives of a rank's threads on one communicator come in any order, and do not fit then"},
    {"M001 M002 M003 M004 M005 M006", "M009", SUPPRESS_COLLECTIVE,
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
    {"B004 B005 B006", "X002 D001 D005 M010 " LEFT_OVER " X003 X006 G001 G002 G003 G004",
     SUPPRESS_RUN, "the window's error handler ends the run"},
    {"M008", "M009", SUPPRESS_OP, "the call is refused for that"},
    {"M007 M008", "M009", SUPPRESS_STATUS,
     "a wait for several says that one of them failed, and its status, which"},
    {"M009", "N001", SUPPRESS_RUN, "the error ends the job, wherever its other ranks are"},
    {"B003", "X002", SUPPRESS_OP, "an epoch that has no derivative ends the rank"},
    {"M004 M008", "M011", SUPPRESS_OP,
     "the sides of an exchange differ; one of them differs from its buffer, too"},
    {"M011", "X001 G001 G007", SUPPRESS_RUN, "numbers of another type mean something else"},
    {"B006", "X001 D003 G001 G007", SUPPRESS_RUN, "what lies behind the object is overwritten"},
    {"G008", "G001", SUPPRESS_RUN, "a saved value that changed makes the gradient wrong"},
    {"G006", "G001", SUPPRESS_RUN, "a gradient that is no number fails every comparison"},
    {"R004", "G001", SUPPRESS_RUN,
     "cotangents that go to the wrong message make the gradient wrong"},
    {"R005", "R002 M*", SUPPRESS_OP,
     "the crossing is one of adjoint with forward traffic, which says more"},
    {"G003", "G002 G004", SUPPRESS_OP,
     "one collective's node is live on some ranks and dead on others: the divergence says both"},
    {"G004", "G002 L002 D003", SUPPRESS_OP,
     "the message without a partner is the adjoint of the pruned node"},
    {"M010", "L001 L008 G003", SUPPRESS_OP, "the request is open because a participant is missing"},
    {"X006", "L001 L008", SUPPRESS_OP, "finalizing with the request pending says it"},
    {"L010", "M009", SUPPRESS_RANK, "the second start is refused"},
    {"L010", "X002", SUPPRESS_RUN, "and ends the rank"},
    {"L008", "L001", SUPPRESS_OP, "a start nobody waits for is the leak"},
    {"B002", "B001", SUPPRESS_RANK, "the other pending operation is who changed the buffer"},
    {"U001 U002", "X002 M009 D001 D005 X006 " LEFT_OVER, SUPPRESS_RUN,
     "the program could not do what it wanted; what follows is not its fault"},
    {"X006", "B001 B002", SUPPRESS_OP, "what is never completed owns its buffer for ever"},
    {"B001", "L001", SUPPRESS_OP,
     "the freed request is why nobody could know when it was complete"},
    {"B001", "X001", SUPPRESS_REQUEST,
     "what completes writes memory that is something else by then"},
    {"M007 M008", "R003", SUPPRESS_OP, "the wildcard took a message that does not fit"},
    {"B002", "M009", SUPPRESS_OP, "MPI refuses the call whose two buffers overlap"},
    {"B002", "X002", SUPPRESS_RUN, "and ends the rank"},
    {"G003", "G001", SUPPRESS_RUN, "an adjoint that some ranks leave out makes the gradient wrong"},
    {"D002", "M006", SUPPRESS_OP, "all make both calls: only their order differs"},
    {"D002", "M010", SUPPRESS_OP, "who waits for the missing participant is named already"},
    {"M010", "D002", SUPPRESS_REQUEST, "the wait for a collective ends when all take part"},
    {"D003 D004", "L002", SUPPRESS_OP,
     "the message that is never received is the one that the send waits for"},
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
        if (strncmp(word, code, length - (word[length - 1] == '*')) == 0)
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

/* A Sendrecv is recorded as three operations. */
static bool are_one_call(uint32_t a, uint32_t b, const struct trace *trace)
{
    if (a == TRACE_NO || b == TRACE_NO)
        return false;
    const struct trace_op *one = &trace->ops[a], *other = &trace->ops[b];
    uint32_t apart = a < b ? b - a : a - b;
    return one->flags & other->flags & OP_COMPOUND && one->rank == other->rank &&
           one->form->site == other->form->site && apart <= 2;
}

/* One collective, by two of its ranks. */
static bool are_one_collective(uint32_t a, uint32_t b, const struct trace *trace)
{
    return a != TRACE_NO && b != TRACE_NO && trace->ops[a].form->comm == trace->ops[b].form->comm &&
           op_kind_class(trace->ops[a].kind) == CLASS_COLLECTIVE &&
           op_kind_class(trace->ops[b].kind) == CLASS_COLLECTIVE &&
           trace_collective_number(trace, a) == trace_collective_number(trace, b);
}

static bool same_thing(const struct finding_op *a, const struct finding_op *b,
                       enum suppress_scope scope, const struct trace *trace)
{
    if (scope == SUPPRESS_RANK)
        return rank_of(a, trace) != TRACE_NO && rank_of(a, trace) == rank_of(b, trace);
    if (scope == SUPPRESS_COLLECTIVE && are_one_collective(a->op, b->op, trace))
        return true;
    return (a->op != TRACE_NO && (a->op == b->op || are_one_call(a->op, b->op, trace))) ||
           (a->node != TRACE_NO && a->node == b->node);
}

/* It is about a wait for a nonblocking collective. */
static bool waits_for_collective(const struct finding *effect, const struct trace *trace)
{
    for (size_t i = 0; i < effect->op_count; i++) {
        uint32_t start, op = effect->ops[i].op;
        if (op == TRACE_NO || op_kind_class(trace->ops[op].kind) != CLASS_WAIT)
            continue;
        for (size_t k = 0; (start = trace_op_request(trace, op, k)) != TRACE_NO; k++)
            if (op_kind_class(trace->ops[start].kind) == CLASS_COLLECTIVE)
                return true;
    }
    return false;
}

static bool share(const struct finding *cause, const struct finding *effect,
                  enum suppress_scope scope, const struct trace *trace)
{
    for (size_t i = 0; i < cause->op_count; i++)
        for (size_t j = 0; j < effect->op_count; j++)
            if (same_thing(&cause->ops[i], &effect->ops[j], scope, trace))
                return true;
    return false;
}

static bool is_cut_short(const struct trace *trace)
{
    return trace->outcome != OUTCOME_FINISHED && trace->outcome != OUTCOME_IMPORTED;
}

/* Whether what the finding is about takes part in differentiation: one of its operations belongs to
 * a node. Where the program has no tape (an adjoint written by hand) nobody knows. */
static bool touches_gradients(const struct finding *finding, const struct trace *trace)
{
    if (!trace->node_count || !finding->op_count)
        return true;
    for (size_t i = 0; i < finding->op_count; i++) {
        const struct finding_op *place = &finding->ops[i];
        if (place->node != TRACE_NO ||
            (place->op != TRACE_NO &&
             (trace->ops[place->op].node != TRACE_NO || trace->ops[place->op].form->pass ||
              trace->ops[place->op].flags & OP_ADJOINT)))
            return true;
    }
    return false;
}

/* Whether an operation of the cause may have led to one of the effect: on the same rank or the same
 * communicator, and not after it. */
static bool may_lead(const struct finding *cause, const struct finding *effect,
                     const struct trace *trace)
{
    for (size_t i = 0; i < cause->op_count; i++)
        for (size_t j = 0; j < effect->op_count; j++) {
            uint32_t a = cause->ops[i].op, b = effect->ops[j].op;
            if (a == TRACE_NO || b == TRACE_NO)
                continue;
            const struct trace_op *from = &trace->ops[a], *to = &trace->ops[b];
            bool before = from->rank == to->rank ? a <= b : from->begin <= to->begin;
            if (before && (from->rank == to->rank || from->form->comm == to->form->comm))
                return true;
        }
    return false;
}

/* Whether the operation is a wait that this one may end in. */
static bool waits_for(uint32_t wait, uint32_t start, const struct trace *trace)
{
    uint32_t one;
    if (wait == TRACE_NO || op_kind_class(trace->ops[wait].kind) != CLASS_WAIT)
        return false;
    for (size_t i = 0; (one = trace_op_request(trace, wait, i)) != TRACE_NO; i++)
        if (one == start)
            return true;
    return false;
}

/* Whether the refused call would have taken what the effect says was left: the request of a wait,
 * the message of a receive. */
static bool left_by(uint32_t refused, uint32_t left, const struct trace *trace)
{
    if (refused == TRACE_NO || left == TRACE_NO)
        return false;
    const struct trace_op *call = &trace->ops[refused], *open = &trace->ops[left];
    enum op_class class = op_kind_class(call->kind), other = op_kind_class(open->kind);
    if (!call->form->error)
        return false;
    if (waits_for(refused, left, trace))
        return true;
    return call->form->comm == open->form->comm &&
           ((class == CLASS_COLLECTIVE && other == CLASS_COLLECTIVE) ||
            (class == CLASS_RECEIVE && other == CLASS_SEND && open->peer == (int32_t)call->rank));
}

static bool leaves(const struct finding *cause, const struct finding *effect,
                   const struct trace *trace)
{
    for (size_t i = 0; i < cause->op_count; i++)
        for (size_t j = 0; j < effect->op_count; j++)
            if (left_by(cause->ops[i].op, effect->ops[j].op, trace))
                return true;
    return false;
}

/* The effect is a call that completed several operations, an operation of the cause among them, and
 * said that not all of them were well: MPI_ERR_IN_STATUS. */
static bool in_status(const struct finding *cause, const struct finding *effect,
                      const struct trace *trace)
{
    for (size_t i = 0; i < effect->op_count; i++) {
        uint32_t wait = effect->ops[i].op;
        if (wait == TRACE_NO || trace->ops[wait].form->error != MPI_ERR_IN_STATUS)
            continue;
        for (size_t j = 0; j < cause->op_count; j++)
            if (waits_for(wait, cause->ops[j].op, trace))
                return true;
    }
    return false;
}

/* One is about an operation, the other about waiting for it. */
static bool share_request(const struct finding *cause, const struct finding *effect,
                          const struct trace *trace)
{
    for (size_t i = 0; i < cause->op_count; i++)
        for (size_t j = 0; j < effect->op_count; j++) {
            uint32_t a = cause->ops[i].op, b = effect->ops[j].op;
            if (waits_for(a, b, trace) || waits_for(b, a, trace))
                return true;
        }
    return share(cause, effect, SUPPRESS_OP, trace);
}

/* A path from cause to effect: a place they share; for gradients, that the cause touches what is
 * differentiated; for a race between two orders, that the mismatch is about these operations; for
 * what is left over, that the cause would have taken it; else that the run ended of it, or that it
 * came before on the rank or the communicator. */
static bool has_path(const struct finding *cause, const struct finding *effect,
                     const struct trace *trace)
{
    if (cause->code[0] == 'M' && (!strcmp(effect->code, "D002") || !strcmp(effect->code, "D003")))
        return leaves(cause, effect, trace);
    if (share(cause, effect, SUPPRESS_OP, trace))
        return true;
    if (effect->code[0] == 'R')
        return is_cut_short(trace) && may_lead(cause, effect, trace);
    if (is_cut_short(trace))
        return true;
    if (effect->code[0] == 'G')
        return touches_gradients(cause, trace);
    if (strchr("MB", cause->code[0]) && (effect->code[0] == 'L' || !strcmp(effect->code, "X006")))
        return leaves(cause, effect, trace); /* a run that went on could have closed the rest */
    return !cause->op_count || !effect->op_count || may_lead(cause, effect, trace);
}

/* Whether a collective stands beside one that another thread of its rank made on the communicator. */
static bool is_beside(uint32_t op, const struct trace *trace)
{
    enum { NEAR = 16 };
    const struct trace_op *one = &trace->ops[op];
    size_t first = trace->rank_begin[one->rank], end = trace->rank_begin[one->rank + 1];
    for (size_t i = op > first + NEAR ? op - NEAR : first; i < end && i < (size_t)op + NEAR; i++) {
        const struct trace_op *other = &trace->ops[i];
        if (op_kind_class(other->kind) == CLASS_COLLECTIVE &&
            other->form->comm == one->form->comm && other->form->thread != one->form->thread)
            return true;
    }
    return false;
}

/* What the threads of one rank mix up does not fit on the others. */
static bool mixes_up(const struct finding *cause, const struct finding *effect,
                     const struct trace *trace)
{
    for (size_t i = 0; i < cause->op_count; i++) {
        uint32_t a = cause->ops[i].op;
        if (a == TRACE_NO || !is_beside(a, trace))
            continue;
        for (size_t j = 0; j < effect->op_count; j++) {
            uint32_t b = effect->ops[j].op;
            if (b != TRACE_NO && trace->ops[a].form->comm == trace->ops[b].form->comm)
                return true;
        }
    }
    return false;
}

static bool related(const struct finding *cause, const struct finding *effect,
                    enum suppress_scope scope, const struct trace *trace)
{
    if (scope == SUPPRESS_BESIDE)
        return mixes_up(cause, effect, trace);
    if (scope == SUPPRESS_WAIT)
        return waits_for_collective(effect, trace);
    if (scope == SUPPRESS_REQUEST)
        return share_request(cause, effect, trace);
    if (scope == SUPPRESS_STATUS)
        return in_status(cause, effect, trace);
    if (scope == SUPPRESS_ALWAYS)
        return true;
    return scope == SUPPRESS_RUN ? has_path(cause, effect, trace)
                                 : share(cause, effect, scope, trace);
}

/* What may be a cause under a rule, in the order of the findings. */
struct candidates {
    size_t count;
    size_t *of;
    size_t *other; /* the next candidate with another code: many findings may have one */
};

static void candidates_find(struct candidates *candidates, const struct findings *findings,
                            size_t first, const struct suppress_rule *rule,
                            const struct trace *trace)
{
    candidates->count = 0;
    /* An exit code after a complete run leaves nothing open: it is no cause, often a consequence.
     */
    if (strcmp(rule->cause, "X002") == 0 && trace->outcome == OUTCOME_FINISHED)
        return;
    for (size_t i = first; i < findings->count; i++)
        if (!findings->items[i].allowed && names_code(rule->cause, findings->items[i].code))
            candidates->of[candidates->count++] = i;
    for (size_t k = candidates->count; k-- > 0;) {
        bool last = k + 1 == candidates->count;
        const struct finding *one = &findings->items[candidates->of[k]];
        const struct finding *next = last ? NULL : &findings->items[candidates->of[k + 1]];
        candidates->other[k] =
            last || strcmp(one->code, next->code) != 0 ? k + 1 : candidates->other[k + 1];
    }
}

/* The cause of finding `which` under a rule, `count` where there is none. */
static size_t cause_under(const struct findings *findings, const struct candidates *candidates,
                          size_t which, const struct suppress_rule *rule, const struct trace *trace)
{
    const struct finding *effect = &findings->items[which];
    if (effect->allowed || !names_code(rule->effects, effect->code))
        return findings->count;
    for (size_t k = 0; k < candidates->count;) {
        const struct finding *cause = &findings->items[candidates->of[k]];
        bool same = strcmp(cause->code, effect->code) == 0;
        if (!same && related(cause, effect, rule->scope, trace))
            return candidates->of[k];
        k = same ? candidates->other[k] : k + 1;
    }
    return findings->count;
}

static size_t root_of(const size_t *causes, size_t which)
{
    while (causes[which] != which)
        which = causes[which];
    return which;
}

/* The wrong gradient of a variable, or along a direction, is a sum of many comparisons: it follows
 * from the operation that was found to be wrong; where none was, what is said of directions follows
 * from what is said of a variable. What is allowed, and what is not, each for itself. */
static void fold_summaries(const struct findings *findings, size_t first, bool allowed,
                           size_t *causes)
{
    size_t culprit = findings->count, variable = findings->count;
    for (size_t i = first; i < findings->count; i++) {
        const struct finding *finding = &findings->items[i];
        if (finding->code[0] != 'G' || finding->severity != SEVERITY_ERROR ||
            finding->allowed != allowed || root_of(causes, i) != i)
            continue;
        bool names = !strcmp(finding->code, "G001") || !strcmp(finding->code, "G006");
        if (!finding->summary && culprit == findings->count && names)
            culprit = i;
        if (finding->summary && variable == findings->count &&
            strstr(finding->title, "the gradient of "))
            variable = i;
    }
    for (size_t i = first; i < findings->count; i++) {
        const struct finding *finding = &findings->items[i];
        bool of_variable = strstr(finding->title, "the gradient of ") != NULL;
        if (!finding->summary || finding->allowed != allowed || causes[i] != i)
            continue;
        if (culprit < findings->count)
            causes[i] = culprit;
        else if (!of_variable && variable < findings->count)
            causes[i] = variable;
    }
}

/* Threads that call collectives on one communicator side by side are one mistake, however many calls of theirs meet: one communicator for
 * each thread mends them all. */
static void fold_beside(const struct findings *findings, size_t first, size_t *causes,
                        const struct trace *trace)
{
    size_t begin = first;
    while (begin < findings->count && strcmp(findings->items[begin].code, "M006") != 0)
        begin++;
    for (size_t i = begin + 1; i < findings->count; i++)
        for (size_t j = begin; j < i && causes[i] == i; j++) {
            const struct finding *effect = &findings->items[i], *cause = &findings->items[j];
            if (!strcmp(effect->code, "M006") && !strcmp(cause->code, "M006") && causes[j] == j &&
                effect->allowed == cause->allowed && mixes_up(cause, effect, trace) &&
                mixes_up(effect, cause, trace))
                causes[i] = j;
        }
}

/* Causes are looked up among all that was found, also among consequences: a chain has one root.
 * What would follow from itself is none. */
void suppress_consequences(struct findings *findings, size_t first, const struct trace *trace)
{
    size_t count = findings->count;
    size_t *causes = check_new(count, sizeof *causes);
    for (size_t i = 0; i < count; i++)
        causes[i] = i;
    struct candidates candidates = {.of = check_new(count, sizeof *candidates.of),
                                    .other = check_new(count, sizeof *candidates.other)};
    for (const struct suppress_rule *rule = rules; rule < rules + sizeof rules / sizeof *rules;
         rule++) {
        candidates_find(&candidates, findings, first, rule, trace);
        for (size_t i = first; candidates.count && i < count; i++) {
            size_t cause =
                causes[i] == i ? cause_under(findings, &candidates, i, rule, trace) : count;
            if (cause < count && root_of(causes, cause) != i)
                causes[i] = cause;
        }
    }
    free(candidates.of);
    free(candidates.other);
    fold_beside(findings, first, causes, trace);
    fold_summaries(findings, first, false, causes);
    fold_summaries(findings, first, true, causes);
    struct finding *root = check_new(count, sizeof *root);
    for (size_t i = 0; i < count; i++)
        root[i] = findings->items[root_of(causes, i)];
    for (size_t i = count; i-- > first;)
        if (causes[i] != i)
            findings_fold(findings, i, &root[i]);
    free(root);
    free(causes);
}

/* Random programs, and two findings about some of their operations: whether one follows from the other is what the scope of the rule
 * between them says (checker/suppress.h), asked of each pair of operations by itself. */
#include "checker/suppress.h"
#include "tests/change_op.h"
#include "tests/checker/check_program.h"

#include <mpi.h>

enum { PROGRAMS = 120, PAIRS = 60, RANKS = 3, EACH = 14, OPS = RANKS * EACH, MOST = 2, FAR = 40 };

static uint64_t dice;
static const struct trace *trace;

static uint32_t below(uint32_t limit)
{
    return dice_below(&dice, limit);
}

/* ---- programs ---- */

static struct program draw(void)
{
    static const uint8_t kinds[] = {OP_SEND,    OP_ISEND,     OP_RECV,    OP_IRECV, OP_BARRIER,
                                    OP_BARRIER, OP_ALLREDUCE, OP_COMPUTE, OP_WAIT,  OP_WAITALL};
    struct program program = program_new(RANKS);
    uint32_t other = program_comm(&program, RANKS, (int32_t[]){2, 1, 0});
    uint32_t nodes[RANKS];
    bool taped = below(2);
    for (uint32_t rank = 0; rank < RANKS; rank++)
        if (taped)
            nodes[rank] =
                trace_add_node(program.trace, &(struct trace_node){.rank = rank,
                                                                   .id = 1,
                                                                   .kind = OP_COMPUTE,
                                                                   .state = STATE_COMPLETE,
                                                                   .forward = TRACE_NO,
                                                                   .site = TRACE_NO,
                                                                   .name = TRACE_NO});
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        uint32_t starts[EACH], count = 0, numbers[2] = {0, 0};
        for (uint32_t i = 0; i < EACH; i++) {
            struct trace_plain_op op =
                program_op(&program, rank, kinds[below(sizeof kinds)], (int)(1 + below(3)));
            enum op_class class = op_kind_class(op.kind);
            bool aside = below(3) == 0;
            op.comm = aside ? other : program.world;
            op.comm_seq = class == CLASS_COLLECTIVE ? numbers[aside]++ : 0;
            op.peer =
                class == CLASS_SEND || class == CLASS_RECEIVE ? (int32_t)below(RANKS) : TRACE_NONE;
            op.tag = op.peer == TRACE_NONE ? TRACE_NONE : 0;
            op.thread = below(2);
            op.error = below(3) ? 0 : below(2) ? MPI_ERR_IN_STATUS : MPI_ERR_OTHER;
            op.flags = (uint16_t)((below(3) ? 0 : OP_COMPOUND) |
                                  (class == CLASS_COLLECTIVE && below(2) ? OP_NONBLOCKING : 0) |
                                  (below(9) ? 0 : OP_ADJOINT));
            op.pass = below(9) ? 0 : 1;
            op.node = taped && !below(5) ? nodes[rank] : TRACE_NO;
            op.begin = below(30);
            op.end = op.begin + below(5);
            if (class == CLASS_WAIT)
                op.comm = TRACE_NO;
            uint32_t index = trace_add_op(program.trace, &op);
            if (class != CLASS_WAIT)
                starts[count++] = index;
            for (uint32_t k = 0;
                 class == CLASS_WAIT && count && k < (op.kind == OP_WAIT ? 1 : below(3)); k++)
                trace_add_wait(program.trace, index, starts[below(count)], below(2));
        }
    }
    program_finish(&program);
    program.trace->outcome = below(2)   ? OUTCOME_FINISHED
                             : below(2) ? OUTCOME_DEADLOCK
                                        : OUTCOME_IMPORTED;
    return program;
}

/* ---- scopes, of one operation and another ---- */

static const struct trace_op *at(uint32_t op)
{
    return &trace->ops[op];
}

static bool is(uint32_t op, enum op_class class)
{
    return op_kind_class(at(op)->kind) == class;
}

static bool waits_for(uint32_t wait, uint32_t start)
{
    for (size_t i = 0; i < trace->wait_count; i++)
        if (trace->waits[i].wait == wait && trace->waits[i].start == start)
            return true;
    return is(wait, CLASS_WAIT) && at(wait)->request == start;
}

static bool same(uint32_t a, uint32_t b)
{
    uint32_t apart = a < b ? b - a : a - b;
    return a == b ||
           (at(a)->flags & OP_COMPOUND && at(b)->flags & OP_COMPOUND &&
            at(a)->rank == at(b)->rank && at(a)->form->site == at(b)->form->site && apart < 3);
}

static bool of_one_rank(uint32_t a, uint32_t b)
{
    return at(a)->rank == at(b)->rank;
}

static bool waited(uint32_t a, uint32_t b)
{
    return same(a, b) || waits_for(a, b) || waits_for(b, a);
}

static bool in_status(uint32_t a, uint32_t b)
{
    return at(b)->form->error == MPI_ERR_IN_STATUS && is(b, CLASS_WAIT) && waits_for(b, a);
}

static bool for_collective(uint32_t a, uint32_t b)
{
    (void)a;
    for (uint32_t start = 0; start < trace->op_count; start++)
        if (is(b, CLASS_WAIT) && is(start, CLASS_COLLECTIVE) && waits_for(b, start))
            return true;
    return false;
}

static bool beside(uint32_t a, uint32_t b)
{
    for (uint32_t k = 0; k < trace->op_count; k++)
        if (of_one_rank(k, a) && is(k, CLASS_COLLECTIVE) &&
            at(k)->form->comm == at(a)->form->comm && at(k)->form->thread != at(a)->form->thread)
            return at(a)->form->comm == at(b)->form->comm;
    return false;
}

static bool would_have_taken(uint32_t a, uint32_t b)
{
    bool shared = at(a)->form->comm == at(b)->form->comm;
    if (!at(a)->form->error)
        return false;
    return (is(a, CLASS_WAIT) && waits_for(a, b)) ||
           (shared && is(a, CLASS_COLLECTIVE) && is(b, CLASS_COLLECTIVE)) ||
           (shared && is(a, CLASS_RECEIVE) && is(b, CLASS_SEND) &&
            at(b)->peer == (int32_t)at(a)->rank);
}

static bool may_lead(uint32_t a, uint32_t b)
{
    return of_one_rank(a, b)
               ? a <= b
               : at(a)->begin <= at(b)->begin && at(a)->form->comm == at(b)->form->comm;
}

static bool cut_short(void)
{
    return trace->outcome == OUTCOME_DEADLOCK;
}

static bool leads_if_cut(uint32_t a, uint32_t b)
{
    return same(a, b) || (cut_short() && may_lead(a, b));
}

static bool is_differentiated(uint32_t a)
{
    return !trace->node_count || at(a)->node != TRACE_NO || at(a)->form->pass ||
           at(a)->flags & OP_ADJOINT;
}

static bool to_gradient(uint32_t a, uint32_t b)
{
    return same(a, b) || cut_short() || is_differentiated(a);
}

static bool to_left_over(uint32_t a, uint32_t b)
{
    return same(a, b) || cut_short() || would_have_taken(a, b);
}

static bool to_end(uint32_t a, uint32_t b)
{
    return same(a, b) || cut_short() || may_lead(a, b);
}

static bool always(uint32_t a, uint32_t b)
{
    return (void)a, (void)b, true;
}

/* Codes between which one rule alone stands. `nothing`: whether it holds where one of them names no operation. */
static const struct rule {
    const char *cause, *effect, *says;
    bool (*follows)(uint32_t a, uint32_t b);
    enum { NO, YES, IF_CUT } nothing;
} rules[] = {
    {"M008", "R003", "the same operation", same, NO},
    {"X004", "X001", "one rank", of_one_rank, NO},
    {"B001", "X001", "a wait for it", waited, NO},
    {"M007", "M009", "a status", in_status, NO},
    {"M001", "M007", "a wait for a collective", for_collective, NO},
    {"M006", "M001", "threads beside each other", beside, NO},
    {"M001", "D002", "what was left to be taken", would_have_taken, NO},
    {"M004", "D003", "what was left to be taken", would_have_taken, NO},
    {"M001", "R001", "what came before in a run cut short", leads_if_cut, NO},
    {"M001", "L001", "what is left over", to_left_over, IF_CUT},
    {"B004", "X006", "what is left over", to_left_over, IF_CUT},
    {"B001", "G008", "values", to_gradient, YES},
    {"B002", "X002", "the end", to_end, YES},
    {"A013", "A001", "one protocol", always, YES},
};

static struct finding *say(struct findings *findings, const char *code, const uint32_t *ops,
                           uint32_t count)
{
    struct finding *finding = findings_add(findings, code, "%s %u", code, count);
    for (uint32_t i = 0; i < count; i++)
        finding_op_add(finding, ops[i], "culprit");
    finding_seal(finding, trace);
    return finding;
}

static bool must_follow(const struct rule *rule, const uint32_t *causes, uint32_t cause_count,
                        const uint32_t *effects, uint32_t effect_count)
{
    if (rule->follows == for_collective && !cause_count)
        causes = effects, cause_count = effect_count; /* the cause may be any */
    for (uint32_t i = 0; i < cause_count; i++)
        for (uint32_t k = 0; k < effect_count; k++)
            if (rule->follows(causes[i], effects[k]))
                return true;
    if (cause_count && effect_count)
        return false;
    if (rule->follows == to_gradient && cause_count) { /* the effect need not name anything */
        bool any = cut_short();
        for (uint32_t i = 0; i < cause_count; i++)
            any = any || is_differentiated(causes[i]);
        return any;
    }
    return rule->nothing == YES || (rule->nothing == IF_CUT && cut_short());
}

static unsigned wrong, followed, stood;

static void ask(const struct rule *rule)
{
    uint32_t causes[MOST], effects[MOST], cause_count = 1 + below(MOST),
                                          effect_count = 1 + below(MOST);
    bool allowed = !below(12), other_allowed = !below(12), ahead = !below(8);
    for (uint32_t i = 0; i < MOST; i++) {
        causes[i] = below(OPS);
        effects[i] = below(3) ? below(OPS) : causes[i];
        if (!below(4))
            effects[i] = causes[i] + 1 < OPS ? causes[i] + 1 : 0;
    }
    cause_count = below(12) ? cause_count : 0;
    effect_count = below(12) ? effect_count : 0;
    struct findings findings;
    findings_init(&findings);
    say(&findings, rule->cause, causes, cause_count)->allowed = allowed;
    if (!ahead && below(3) == 0)
        say(&findings, "B003", NULL, 0);
    say(&findings, rule->effect, effects, effect_count)->allowed = other_allowed;
    size_t before = findings.count;
    suppress_consequences(&findings, ahead, trace); /* the cause is the caller's, then */
    bool must = !allowed && !other_allowed && !ahead &&
                must_follow(rule, causes, cause_count, effects, effect_count);
    bool follows = findings.folded == 1 && findings.count == before - 1 &&
                   !strcmp(findings.items[findings.count].code, rule->effect) &&
                   !strcmp(findings.items[findings.count].because, rule->cause);
    if ((must ? !follows : findings.folded != 0) && !wrong++)
        tap_note("%s of %u operations (%u, %u), %s of %u (%u, %u), outcome %d: %s by %s",
                 rule->cause, cause_count, causes[0], causes[1], rule->effect, effect_count,
                 effects[0], effects[1], (int)trace->outcome, must ? "follows" : "does not follow",
                 rule->says);
    followed += must;
    stood += !must;
    findings_release(&findings);
}

/* Threads of one rank, however many of their calls meet: each is folded under the first that it is beside. */
static unsigned beside_wrong, beside_folded;

static void ask_beside(void)
{
    enum { FINDINGS = 6 };
    uint32_t ops[FINDINGS];
    bool of_threads[FINDINGS], allowed[FINDINGS], folds[FINDINGS] = {0};
    struct findings findings;
    findings_init(&findings);
    size_t expected = 0, count = 1 + below(FINDINGS);
    for (size_t i = 0; i < count; i++) {
        ops[i] = below(OPS);
        of_threads[i] = below(4);
        allowed[i] = !below(5);
        say(&findings, of_threads[i] ? "M006" : "B003", &ops[i], 1)->allowed = allowed[i];
        for (size_t k = 0; k < i && of_threads[i]; k++)
            folds[i] = folds[i] || (of_threads[k] && !folds[k] && allowed[k] == allowed[i] &&
                                    beside(ops[i], ops[k]) && beside(ops[k], ops[i]));
        expected += folds[i];
    }
    suppress_consequences(&findings, 0, trace);
    if ((findings.folded != expected || findings.count != count - expected) && !beside_wrong++)
        tap_note("%zu of %zu are folded, not %zu", findings.folded, count, expected);
    beside_folded += (unsigned)expected;
    findings_release(&findings);
}

/* Only calls near each other are made side by side. */
static void test_far(void)
{
    for (int apart = 1; apart <= FAR; apart += FAR - 1) {
        struct program program = program_new(1);
        for (int i = 0; i <= apart; i++) {
            bool end = i == 0 || i == apart;
            struct trace_plain_op op = program_op(&program, 0, end ? OP_BARRIER : OP_COMPUTE, 1);
            op.comm_seq = i > 0;
            op.thread = i == 0;
            trace_add_op(program.trace, &op);
        }
        program_finish(&program);
        trace = program.trace;
        struct findings findings;
        findings_init(&findings);
        say(&findings, "M006", (uint32_t[]){0}, 1);
        say(&findings, "M006", (uint32_t[]){(uint32_t)apart}, 1);
        suppress_consequences(&findings, 0, trace);
        tap_is_int(findings.folded, apart < FAR, "two threads' calls with %d between them",
                   apart - 1);
        findings_release(&findings);
        trace_free(program.trace);
    }
}

int main(void)
{
    struct dice_seeds seeds = dice_seeds(PROGRAMS);
    for (unsigned long long i = 0; i < seeds.count; i++) {
        dice = seeds.first + i;
        struct program program = draw();
        trace = program.trace;
        for (int pair = 0; pair < PAIRS; pair++) {
            ask(&rules[below(sizeof rules / sizeof *rules)]);
            ask_beside();
        }
        trace_free(program.trace);
    }
    tap_is_int(wrong, 0, "%u findings follow from another, %u do not, as scopes say", followed,
               stood);
    tap_is_int(beside_wrong, 0, "%u are about calls beside those of others", beside_folded);
    tap_ok(followed > stood / 20 && beside_folded, "there are many of both");
    test_far();
    return tap_done();
}

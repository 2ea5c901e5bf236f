/* What the members of a collective call must agree on, as MPI's chapter on collectives says it, one row
 * a kind; against what the checker says of calls in which one member gives one thing differently.
 *
 * Every kind, on all or on some ranks in another order, with every root, blocking or started; one
 * member has another kind, form, root, operation, type, count, one other count of its vector, another
 * tensor or meaning, or never comes. The oracle knows the row and which member was changed, nothing of
 * the checker: which code there is, who is the culprit, who the partner, their lines and values. */
#include "tests/checker/check_program.h"
#include "tests/dice.h"

#include <stdlib.h>
#include <string.h>

enum { RANKS = 4, ROUNDS = 3 };

/* Who gives how much: everybody the same; a vector of the root's, that of the sums, or of all pairs. */
enum counts { SAME, NOTHING, OF_ROOT, OF_ALL, OF_PAIRS };

static const struct {
    enum op_kind kind;
    bool rooted, reduces;
    enum counts counts;
} kinds[] = {
    {OP_BARRIER, false, false, NOTHING},    {OP_BCAST, true, false, SAME},
    {OP_REDUCE, true, true, SAME},          {OP_ALLREDUCE, false, true, SAME},
    {OP_GATHER, true, false, SAME},         {OP_GATHERV, true, false, OF_ROOT},
    {OP_SCATTER, true, false, SAME},        {OP_SCATTERV, true, false, OF_ROOT},
    {OP_ALLGATHER, false, false, SAME},     {OP_ALLGATHERV, false, false, OF_ALL},
    {OP_ALLTOALL, false, false, SAME},      {OP_ALLTOALLV, false, false, OF_PAIRS},
    {OP_ALLTOALLW, false, false, OF_PAIRS}, {OP_REDUCE_SCATTER, false, true, OF_ALL},
    {OP_SCAN, false, true, SAME},           {OP_REDUCE_SCATTER_BLOCK, false, true, SAME},
    {OP_EXSCAN, false, true, SAME},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

enum change {
    NO_CHANGE,
    OTHER_KIND,
    OTHER_FORM,
    OTHER_ROOT,
    OTHER_OP,
    OTHER_TYPE,
    OTHER_COUNT,
    OTHER_IN_VECTOR,
    OTHER_TENSOR,
    NO_TENSOR,
    ADJOINT,
    ABSENT,
    CHANGES
};

static const char *const change_names[] = {"nothing",   "kind",      "form",    "root",
                                           "operation", "type",      "count",   "one of the counts",
                                           "tensor",    "no tensor", "adjoint", "absent"};

/* One call of `size` members (world ranks in `members`), one of whom is changed. */
struct call {
    size_t row;
    uint32_t size;
    int32_t members[RANKS];
    uint32_t root, who, place; /* places in the communicator; place: in a vector of counts */
    bool starts, across;
    enum change change;
    int64_t counts[RANKS][RANKS]; /* of pairs; of others the first row */
    uint32_t ops[RANKS];          /* as recorded, TRACE_NO: never came */
};

/* What must be said of it. */
struct answer {
    const char *code;          /* NULL: nothing */
    uint32_t partner;          /* a place; RANKS: anybody */
    char mine[40], theirs[40]; /* what both gave: a sentence has them */
};

static uint64_t dice;

static uint32_t below(uint32_t n)
{
    return dice_below(&dice, n);
}

static int line_of(uint32_t place)
{
    return 100 + 10 * (int)place;
}

static int64_t total(const struct call *call, uint32_t place)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < call->size; i++)
        sum += call->counts[kinds[call->row].counts == OF_PAIRS ? place : 0][i];
    return sum;
}

static void give_counts(const struct call *call, struct trace *trace, uint32_t place, uint32_t op)
{
    bool gathers = kinds[call->row].kind == OP_GATHERV,
         changed = call->change == OTHER_IN_VECTOR && call->who == place;
    int64_t one[RANKS], other[RANKS];
    for (uint32_t i = 0; i < call->size; i++) {
        one[i] = call->counts[kinds[call->row].counts == OF_PAIRS ? place : 0][i];
        other[i] = call->counts[i][place];
    }
    one[call->place] += changed;
    if (kinds[call->row].counts == OF_PAIRS)
        trace_add_counts(trace, op, call->size, one, other);
    else if (kinds[call->row].counts == OF_ALL)
        trace_add_counts(trace, op, call->size, NULL, one);
    else if (kinds[call->row].counts == OF_ROOT && place == call->root)
        trace_add_counts(trace, op, call->size, gathers ? NULL : one, gathers ? one : NULL);
}

static int64_t count_of(const struct call *call, uint32_t place)
{
    if (kinds[call->row].counts == OF_ROOT && place != call->root)
        return call->counts[0][place];
    return kinds[call->row].counts == SAME      ? call->counts[0][0]
           : kinds[call->row].counts == NOTHING ? 0
                                                : total(call, place);
}

static void make_call(struct call *call, struct program *p, uint32_t comm, uint32_t place)
{
    bool changed = call->who == place;
    enum change change = changed ? call->change : NO_CHANGE;
    struct trace_plain_op op =
        program_op(p, (uint32_t)call->members[place], kinds[call->row].kind, line_of(place));
    op.comm = comm;
    op.comm_seq = 1;
    op.peer = kinds[call->row].rooted ? call->members[call->root] : TRACE_NONE;
    op.reduce_op = kinds[call->row].reduces ? 0x21 : 0;
    op.flags = (uint16_t)((call->starts != (change == OTHER_FORM) ? OP_NONBLOCKING : 0) |
                          (call->across ? OP_INTERCOMM : 0) | (change == ADJOINT ? OP_ADJOINT : 0));
    op.count = count_of(call, place) + (change == OTHER_COUNT);
    op.signature = change == OTHER_TYPE ? 2 : 1;
    op.type = PROGRAM_DOUBLE + (change == OTHER_TYPE);
    op.identity = change == NO_TENSOR ? 0 : change == OTHER_TENSOR ? 8 : 7;
    if (change == OTHER_KIND)
        op.kind = (uint8_t)kinds[(call->row + 1 + call->place) % KINDS].kind;
    if (change == OTHER_ROOT)
        op.peer = call->members[(call->root + 1 + call->place) % call->size];
    if (change == OTHER_OP)
        op.reduce_op = 0x22;
    call->ops[place] = trace_add_op(p->trace, &op);
    give_counts(call, p->trace, place, call->ops[place]);
    if (op.flags & OP_NONBLOCKING)
        program_wait(p, op.rank, call->ops[place], 3);
}

/* A barrier of all, then the call. */
static struct program program_of(struct call *call)
{
    struct program p = program_new(RANKS);
    bool world = call->size == RANKS;
    for (int32_t i = 0; world && i < RANKS; i++)
        world = call->members[i] == i;
    uint32_t comm = world ? p.world : program_comm(&p, call->size, call->members);
    for (uint32_t place = 0; place < call->size; place++) {
        call->ops[place] = TRACE_NO;
        program_collective(&p, (uint32_t)call->members[place], OP_BARRIER, comm, 0, 2);
        if (call->change != ABSENT || call->who != place)
            make_call(call, &p, comm, place);
    }
    p.trace->outcome = OUTCOME_FINISHED;
    for (uint32_t rank = 0; rank < RANKS; rank++)
        p.trace->rank_info[rank].state = RANK_FINISHED;
    return p;
}

/* ---- the oracle ---- */

/* With whom the changed member is compared: the root's word counts where only the root has it, else
 * that of the lowest rank; anybody where it is that member, or has become the root or of another kind. */
static uint32_t partner_of(const struct call *call)
{
    uint32_t judge = 0;
    for (uint32_t i = 1; i < call->size; i++)
        if (call->members[i] < call->members[judge])
            judge = i;
    if (kinds[call->row].counts == OF_ROOT)
        judge = call->change == OTHER_ROOT || call->change == OTHER_KIND ? call->who : call->root;
    return call->who == judge ? RANKS : judge;
}

static struct answer differing(const char *code, const struct call *call)
{
    return (struct answer){.code = code, .partner = partner_of(call)};
}

static struct answer counts_answer(const struct call *call)
{
    enum counts counts = kinds[call->row].counts;
    uint32_t who = call->who, place = call->place;
    const int64_t *row = call->counts[counts == OF_PAIRS ? who : 0];
    struct answer answer = differing("M005", call);
    if (call->across ||
        (call->change == OTHER_COUNT && counts != SAME && (counts != OF_ROOT || who == call->root)))
        return (struct answer){
            .code = NULL}; /* sides differ as they like; a sum is nobody's argument */
    if (call->change == OTHER_COUNT && counts == SAME) {
        snprintf(answer.mine, sizeof answer.mine, "(%lld)", (long long)row[0] + 1);
        snprintf(answer.theirs, sizeof answer.theirs, "(%lld)", (long long)row[0]);
    } else if (call->change == OTHER_COUNT) {
        bool gathers = kinds[call->row].kind == OP_GATHERV;
        snprintf(answer.mine, sizeof answer.mine, "(%s %lld)", gathers ? "sends" : "expects",
                 (long long)row[who] + 1);
        snprintf(answer.theirs, sizeof answer.theirs, "(%s %lld)", gathers ? "expects" : "sends it",
                 (long long)row[who]);
    } else if (counts == OF_ALL) {
        snprintf(answer.mine, sizeof answer.mine, "(%lld", (long long)row[place] + 1);
        snprintf(answer.theirs, sizeof answer.theirs, "for rank %u of the communicator", place);
    } else {
        if ((counts != OF_PAIRS && (counts != OF_ROOT || who != call->root)) || place == who)
            return (struct answer){.code = NULL};
        bool gathers = kinds[call->row].kind == OP_GATHERV;
        answer.partner = place;
        snprintf(answer.mine, sizeof answer.mine, "(%s %lld)",
                 gathers             ? "expects"
                 : counts == OF_ROOT ? "sends it"
                                     : "sends",
                 (long long)row[place] + 1);
        snprintf(answer.theirs, sizeof answer.theirs, "(%s %lld)", gathers ? "sends" : "expects",
                 (long long)row[place]);
    }
    return answer;
}

static struct answer answer_to(const struct call *call)
{
    struct answer answer = {.code = NULL};
    bool counted = kinds[call->row].counts == SAME;
    switch (call->change) {
    case OTHER_KIND:
        return differing("M001", call);
    case OTHER_FORM:
        return differing("M001", call);
    case OTHER_ROOT:
        answer = differing(kinds[call->row].rooted ? "M002" : NULL, call);
        snprintf(answer.mine, sizeof answer.mine, "(root %d)",
                 call->members[(call->root + 1 + call->place) % call->size]);
        snprintf(answer.theirs, sizeof answer.theirs, "(root %d)", call->members[call->root]);
        return answer;
    case OTHER_OP:
        return differing(kinds[call->row].reduces ? "M003" : NULL, call);
    case OTHER_TYPE: /* no element has no type */
        return differing(counted && !call->across && call->counts[0][0] > 0 ? "M004" : NULL, call);
    case OTHER_COUNT:
    case OTHER_IN_VECTOR:
        return counts_answer(call);
    case OTHER_TENSOR:
        return differing("R002", call);
    case ADJOINT:
        return differing("R005", call);
    case ABSENT:
        answer = differing("M010", call);
        answer.partner = RANKS;
        snprintf(answer.mine, sizeof answer.mine, "Rank %d never called it",
                 call->members[call->who]);
        snprintf(answer.theirs, sizeof answer.theirs, "%u of %u ranks took part", call->size - 1,
                 call->size);
        return answer;
    default:
        return answer;
    }
}

/* The others are more than half and say the same: who differs from them is the culprit. */
static bool has_majority(const struct call *call)
{
    enum counts counts = kinds[call->row].counts;
    bool own = (call->change == OTHER_COUNT && counts != SAME) ||
               (call->change == OTHER_IN_VECTOR && counts != OF_ALL);
    return call->size > 2 && !own && !call->across;
}

static bool has(const struct finding *finding, uint32_t op, const char *role)
{
    for (size_t i = 0; i < finding->op_count; i++)
        if (finding->ops[i].op == op && (!role || strcmp(finding->ops[i].role, role) == 0))
            return true;
    return false;
}

/* The two that differ are the changed member and its partner, and the place is the culprit's. */
static bool names_both(const struct call *call, const struct trace *trace,
                       const struct answer *answer, const struct finding *finding)
{
    char culprit[40], other[40];
    if (strcmp(answer->code, "M010") == 0) {
        for (uint32_t i = 0; i < call->size; i++)
            if (i != call->who && !has(finding, call->ops[i], "partner"))
                return false;
        return finding->op_count == call->size - 1;
    }
    uint32_t partner = answer->partner;
    for (uint32_t i = 0; partner == RANKS && i < call->size; i++)
        if (i != call->who && has(finding, call->ops[i], NULL))
            partner = i;
    if (partner == RANKS || finding->op_count != 2 || !has(finding, call->ops[call->who], NULL) ||
        !has(finding, call->ops[partner], NULL) || !has(finding, finding->ops[0].op, "culprit") ||
        !has(finding, finding->ops[1].op, "partner"))
        return false;
    bool mine = finding->ops[0].op == call->ops[call->who];
    if (!mine && has_majority(call))
        return false;
    snprintf(culprit, sizeof culprit, "p.c:%d", line_of(mine ? call->who : partner));
    snprintf(other, sizeof other, "p.c:%d", line_of(mine ? partner : call->who));
    return strstr(finding->title, culprit) && strstr(finding->title, other) &&
           finding->site < trace->site_count &&
           trace->sites[finding->site].line == line_of(mine ? call->who : partner);
}

static bool is_right(struct call *call)
{
    static const char ours[] = "M001 M002 M003 M004 M005 M006 M010 R002 R005";
    struct answer answer = answer_to(call);
    struct program p = program_of(call);
    struct check_options options;
    struct findings findings;
    const struct finding *found = NULL;
    size_t count = 0;
    program_finish(&p);
    for (uint32_t i = 0; i < call->size; i++) /* finishing numbers anew */
        for (uint32_t op = 0; op < p.trace->op_count; op++)
            if (call->ops[i] != TRACE_NO && p.trace->ops[op].rank == (uint32_t)call->members[i] &&
                p.trace->ops[op].comm_seq == 1 &&
                op_kind_class(p.trace->ops[op].kind) == CLASS_COLLECTIVE)
                call->ops[i] = op;
    check_options_init(&options);
    findings_init(&findings);
    check_trace(p.trace, &options, &findings);
    for (size_t i = 0; i < findings.count + findings.folded; i++)
        if (strstr(ours, findings.items[i].code)) {
            found = &findings.items[i];
            count++;
        }
    bool right = answer.code ? count == 1 && strcmp(found->code, answer.code) == 0 &&
                                   found->confirmation == CONFIRM_HAPPENED &&
                                   names_both(call, p.trace, &answer, found) &&
                                   strstr(found->detail, answer.mine) &&
                                   strstr(found->detail, answer.theirs)
                             : count == 0;
    if (!right)
        tap_note(
            "%s of %u, root %u, place %u of member %u%s%s: asked %s (%s, %s), got %zu: %s %s %s",
            op_kind_name((int)kinds[call->row].kind), call->size, call->root, call->place,
            call->who, call->starts ? ", started" : "", call->across ? ", across" : "",
            answer.code ? answer.code : "nothing", answer.mine, answer.theirs, count,
            count ? found->code : "", count ? found->title : "", count ? found->detail : "");
    findings_release(&findings);
    trace_free(p.trace);
    return right;
}

/* ---- all of them ---- */

static void choose(struct call *call, size_t row, enum change change)
{
    *call = (struct call){.row = row, .change = change};
    call->size = 2 + below(RANKS - 1);
    for (int32_t i = 0; i < RANKS; i++)
        call->members[i] = i;
    for (uint32_t i = RANKS; below(3) && i > 1; i--) {
        uint32_t at = below(i);
        int32_t kept = call->members[at];
        call->members[at] = call->members[i - 1];
        call->members[i - 1] = kept;
    }
    for (uint32_t i = 0; i < RANKS * RANKS; i++)
        call->counts[i / RANKS][i % RANKS] = below(4);
    call->root = below(call->size);
    call->who = below(call->size);
    call->place = below(call->size - (change == OTHER_ROOT));
    call->starts = below(2);
    call->across = !kinds[row].rooted && !below(5);
}

int main(void)
{
    struct dice_seeds seeds = dice_seeds(60);
    dice = seeds.first;
    for (int change = 0; change < CHANGES; change++) {
        unsigned wrong = 0;
        for (size_t row = 0; row < KINDS; row++)
            for (unsigned long long i = 0; i < seeds.count && wrong < 5; i++) {
                struct call call;
                choose(&call, row, (enum change)change);
                wrong += !is_right(&call);
            }
        tap_ok(!wrong, "a member that differs in this is told, it and its partner: %s",
               change_names[change]);
    }
    return tap_done();
}

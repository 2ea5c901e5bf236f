/* Where a checker names kinds of operations: every kind, in every form and from every root, and who
 * stands at the borders of its rules. */
#include "tests/change_op.h"
#include "tests/checker/check_program.h"

#include <string.h>

/* ---- R003 across collectives ---- */

enum flow { FLOW_ALL, FLOW_FROM_ROOT, FLOW_TO_ROOT, FLOW_UPWARDS };

static const struct {
    enum op_kind kind;
    enum flow flow;
} collectives[] = {
    {OP_BARRIER, FLOW_ALL},       {OP_BCAST, FLOW_FROM_ROOT},
    {OP_REDUCE, FLOW_TO_ROOT},    {OP_ALLREDUCE, FLOW_ALL},
    {OP_GATHER, FLOW_TO_ROOT},    {OP_GATHERV, FLOW_TO_ROOT},
    {OP_SCATTER, FLOW_FROM_ROOT}, {OP_SCATTERV, FLOW_FROM_ROOT},
    {OP_ALLGATHER, FLOW_ALL},     {OP_ALLGATHERV, FLOW_ALL},
    {OP_ALLTOALL, FLOW_ALL},      {OP_ALLTOALLV, FLOW_ALL},
    {OP_ALLTOALLW, FLOW_ALL},     {OP_REDUCE_SCATTER, FLOW_ALL},
    {OP_SCAN, FLOW_UPWARDS},      {OP_REDUCE_SCATTER_BLOCK, FLOW_ALL},
    {OP_EXSCAN, FLOW_UPWARDS},
};

static bool is_rooted(enum flow flow)
{
    return flow == FLOW_FROM_ROOT || flow == FLOW_TO_ROOT;
}

static bool brings(enum flow flow, int root, int from, int to)
{
    return flow == FLOW_ALL || (flow == FLOW_FROM_ROOT && root == from) ||
           (flow == FLOW_TO_ROOT && root == to) || (flow == FLOW_UPWARDS && from < to);
}

static void call(struct program *p, uint32_t rank, size_t row, int root, bool starts)
{
    struct trace_plain_op op = program_op(p, rank, collectives[row].kind, 2);
    op.comm = p->world;
    op.peer = is_rooted(collectives[row].flow) ? root : TRACE_NONE;
    op.reduce_op = 3;
    op.flags = starts ? OP_NONBLOCKING : 0;
    uint32_t started = trace_add_op(p->trace, &op);
    if (starts)
        program_wait(p, rank, started, 3);
}

/* `taker` receives from anybody, all call the collective, `taker` receives again; `late` sends only
 * behind the call, so that its message cannot be the first one where the call tells it so. */
static bool races(size_t row, int root, int taker, int late, bool starts)
{
    struct program p = program_new(3);
    int early = 3 - taker - late;
    char codes[64];
    for (int rank = 0; rank < 3; rank++) {
        uint32_t first =
            rank != taker ? TRACE_NO : program_p2p(&p, (uint32_t)rank, OP_RECV, TRACE_ANY, 0, 1);
        if (rank == early)
            program_p2p(&p, (uint32_t)rank, OP_SEND, taker, 0, 5);
        call(&p, (uint32_t)rank, row, root, starts);
        uint32_t second =
            rank != taker ? TRACE_NO : program_p2p(&p, (uint32_t)rank, OP_RECV, late, 0, 4);
        if (rank == late)
            program_p2p(&p, (uint32_t)rank, OP_SEND, taker, 0, 6);
        if (first != TRACE_NO) {
            trace_op_set_matched(p.trace, first, early, 0);
            trace_op_set_matched(p.trace, second, late, 0);
        }
    }
    p.trace->outcome = OUTCOME_FINISHED;
    for (int rank = 0; rank < 3; rank++)
        p.trace->rank_info[rank].state = RANK_FINISHED;
    program_finish(&p);
    program_codes(&p, NULL, codes, sizeof codes);
    trace_free(p.trace);
    return strstr(codes, "R003");
}

static void race_across(size_t row)
{
    const char *name = op_kind_name((int)collectives[row].kind);
    int wrong = 0;
    for (int starts = 0; starts < 2; starts++)
        for (int root = 0; root < 3; root++)
            for (int taker = 0; taker < 3; taker++)
                for (int late = 0; late < 3; late++) {
                    bool told = taker != late && brings(collectives[row].flow, root, taker, late);
                    if (taker == late || races(row, root, taker, late, starts) == !told)
                        continue;
                    if (!wrong++)
                        tap_note("%s with root %d: rank %d took, rank %d sends behind it", name,
                                 root, taker, late);
                }
    tap_ok(!wrong, "a race across %s is one where no data says that the receive is over", name);
}

/* ---- which message a wildcard may take when the recorded one does not come ---- */

/* With sends that wait, rank 2's message for the wildcard comes only when rank 0 has gone on. Rank
 * 1's message is there: for a named receive posted before or after the wildcard. */
static bool hangs_without(bool named_first)
{
    struct program p = program_new(4);
    struct check_options options;
    char codes[64];
    uint32_t starts[2];
    for (int i = 0; i < 2; i++) {
        bool named = (i == 0) == named_first;
        starts[i] = program_p2p(&p, 0, OP_IRECV, named ? 1 : TRACE_ANY, 0, 1 + i);
        trace_op_set_matched(p.trace, starts[i], named ? 1 : 2, 0);
    }
    program_wait(&p, 0, starts[named_first], 3);
    program_p2p(&p, 0, OP_SEND, 3, 0, 4);
    program_wait(&p, 0, starts[!named_first], 5);
    program_p2p(&p, 1, OP_SEND, 0, 0, 6);
    program_p2p(&p, 2, OP_SEND, 3, 7, 7);
    program_p2p(&p, 2, OP_SEND, 0, 0, 8);
    program_p2p(&p, 3, OP_RECV, 0, 0, 9);
    program_p2p(&p, 3, OP_RECV, 2, 7, 10);
    p.trace->outcome = OUTCOME_FINISHED;
    program_finish(&p);
    check_options_init(&options);
    check_options_parse(&options, "models", NULL);
    program_codes(&p, &options, codes, sizeof codes);
    trace_free(p.trace);
    return !strcmp(codes, "D003");
}

/* ---- which models a hang is said of ---- */

static const char *models_said(unsigned asked, bool batches, char *text, size_t size)
{
    struct program p = program_new(2);
    struct check_options options;
    struct findings findings;
    for (uint32_t rank = 0; rank < 2; rank++) {
        p.batch = batches ? rank + 1 : 0;
        program_p2p(&p, rank, OP_SEND, 1 - (int)rank, 0, 1);
        program_p2p(&p, rank, OP_RECV, 1 - (int)rank, 0, 2);
    }
    p.trace->outcome = OUTCOME_FINISHED;
    program_finish(&p);
    check_options_init(&options);
    check_options_parse(&options, "models", NULL);
    options.models = asked;
    findings_init(&findings);
    check_trace(p.trace, &options, &findings);
    said_trace(p.trace, &options, &findings);
    snprintf(text, size, "%s %s", findings.count ? findings.items[0].code : "none",
             findings.count ? findings.items[0].models : "");
    findings_release(&findings);
    trace_free(p.trace);
    return text;
}

static void models_of_a_hang(void)
{
    static const struct {
        unsigned asked;
        const char *said;
    } rows[] = {
        {CHECK_EAGER, "none "},
        {CHECK_RENDEZVOUS, "D003 rendezvous"},
        {CHECK_RENDEZVOUS | CHECK_BATCH, "D003 rendezvous batch"},
        {CHECK_EAGER | CHECK_RENDEZVOUS, "D003 rendezvous"},
        {CHECK_ALL_MODELS, "D003 rendezvous batch"},
    };
    char text[128];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        tap_is_str(models_said(rows[i].asked, false, text, sizeof text), rows[i].said,
                   "a hang is said of the models asked for (%u)", rows[i].asked);
}

/* ---- the nearest partner ---- */

enum { OTHER_TAG, OTHER_COMM, OTHER_BOTH };

/* Rank 0 stands in a receive with tag 0; rank 1 sent messages that nearly fit, in this order. */
static bool nearest(const int *sent, size_t count, int line)
{
    struct program p = program_new(2);
    struct check_options options;
    struct findings findings;
    char wanted[64];
    uint32_t other = program_comm(&p, 2, (const int32_t[]){0, 1});
    uint32_t blocked = program_p2p(&p, 0, OP_RECV, 1, 0, 1);
    for (size_t i = 0; i < count; i++) {
        uint32_t op = program_p2p(&p, 1, OP_SEND, 0, sent[i] == OTHER_COMM ? 0 : 5, 10 + (int)i);
        if (sent[i] != OTHER_TAG)
            CHANGE_OP(p.trace, op, comm, other);
    }
    p.trace->outcome = OUTCOME_DEADLOCK;
    p.trace->rank_info[0].state = RANK_BLOCKED;
    p.trace->rank_info[1].state = RANK_FINISHED;
    p.trace->ops[blocked].state = STATE_BLOCKED;
    program_finish(&p);
    check_options_init(&options);
    check_options_parse(&options, "deadlock", NULL);
    findings_init(&findings);
    check_trace(p.trace, &options, &findings);
    said_trace(p.trace, &options, &findings);
    snprintf(wanted, sizeof wanted, "p.c:%d,", line);
    const char *told =
        findings.count ? strstr(findings.items[0].detail, "Nearest partner: ") : NULL;
    bool found = told && strstr(told, wanted) && strstr(told, wanted) < strchr(told, '\n');
    if (!found)
        tap_note("wanted %s: %s", wanted, findings.count ? findings.items[0].detail : "nothing");
    findings_release(&findings);
    trace_free(p.trace);
    return found;
}

static void nearest_partner(void)
{
    tap_ok(nearest((int[]){OTHER_TAG, OTHER_TAG}, 2, 10), "of two equally near, the first");
    tap_ok(nearest((int[]){OTHER_COMM, OTHER_COMM}, 2, 10), "also on another communicator");
    tap_ok(nearest((int[]){OTHER_COMM, OTHER_TAG}, 2, 11), "another tag is nearer than another "
                                                           "communicator");
    tap_ok(nearest((int[]){OTHER_TAG, OTHER_COMM}, 2, 10), "in whichever order");
    tap_ok(nearest((int[]){OTHER_BOTH, OTHER_COMM, OTHER_BOTH}, 3, 11),
           "and both together are furthest");
    tap_ok(nearest((int[]){OTHER_BOTH, OTHER_BOTH}, 2, 10), "but still a partner");
}

/* ---- what is left at the end, in every state of an operation, a rank and a run ---- */

static const char *left_codes(enum op_kind kind, enum op_state state, enum rank_state rank_state,
                              enum trace_outcome outcome, char *codes, size_t size)
{
    struct program p = program_new(2);
    struct check_options options;
    uint32_t op = program_p2p(&p, 0, kind, 1, 0, 1);
    p.trace->ops[op].state = (uint8_t)state;
    p.trace->outcome = outcome;
    for (int rank = 0; rank < 2; rank++)
        p.trace->rank_info[rank].state = RANK_FINISHED;
    p.trace->rank_info[1].state = rank_state;
    program_finish(&p);
    check_options_init(&options);
    check_options_parse(&options, "leaks", NULL);
    program_codes(&p, &options, codes, size);
    trace_free(p.trace);
    return codes;
}

static void leaks(void)
{
    static const enum op_kind kinds[] = {OP_SEND, OP_ISEND, OP_ISSEND, OP_RECV, OP_IRECV};
    static const enum trace_outcome outcomes[] = {OUTCOME_FINISHED, OUTCOME_IMPORTED,
                                                  OUTCOME_CRASHED, OUTCOME_TIMEOUT};
    int wrong = 0;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (int state = STATE_NEVER; state <= STATE_CANCELLED; state++)
            for (int rank = RANK_FINISHED; rank <= RANK_RUNNING; rank++)
                for (size_t o = 0; o < sizeof outcomes / sizeof *outcomes; o++) {
                    char got[64], wanted[64] = "";
                    bool over = state == STATE_COMPLETE || state == STATE_POSTED;
                    bool whole = o < 2 && rank != RANK_CRASHED && rank != RANK_ABORTED &&
                                 state != STATE_BLOCKED;
                    if (whole && over && kinds[k] != OP_SEND && kinds[k] != OP_RECV)
                        strcat(wanted, "L001");
                    if (whole && over && op_kind_class((int)kinds[k]) == CLASS_SEND)
                        strcat(wanted, *wanted ? " L002" : "L002");
                    left_codes(kinds[k], (enum op_state)state, (enum rank_state)rank, outcomes[o],
                               got, sizeof got);
                    bool same = !strcmp(got, wanted) || (!strcmp(got, "L002 L001"));
                    if (!same && !wrong++)
                        tap_note("%s, state %d, rank %d, outcome %d: '%s', not '%s'",
                                 op_kind_name((int)kinds[k]), state, rank, outcomes[o], got,
                                 wanted);
                }
    tap_is_int(wrong, 0, "what nobody receives or waits for is told where the run was whole");
}

/* ---- what another message first leads to ---- */

enum { TAKES_MAX = 5, SENDERS = 2 };

/* Receives of rank 0 in their order, of which those from SENDERS ranks are all taken. */
struct takes {
    int count, from[TAKES_MAX]; /* 0: from anybody */
    int took[TAKES_MAX];
};

/* The receives from this one on, with so many messages left of each sender; `first`: what this one takes. */
static bool can_end(const struct takes *takes, int at, const int left[], int first)
{
    if (at == takes->count)
        return true;
    for (int sender = 1; sender <= SENDERS; sender++) {
        int rest[SENDERS + 1];
        memcpy(rest, left, sizeof rest);
        bool fits = first ? sender == first : !takes->from[at] || takes->from[at] == sender;
        if (fits && rest[sender]-- > 0 && can_end(takes, at + 1, rest, 0))
            return true;
    }
    return false;
}

static bool chooses_behind(const struct takes *takes, int at)
{
    for (int i = at + 1; i < takes->count; i++)
        if (!takes->from[i])
            return true;
    return false;
}

/* What is said of a receive is so; where no other one may choose, it is said. */
static bool is_told(const struct takes *takes)
{
    struct program p = program_new(SENDERS + 1);
    struct check_options options;
    struct findings findings;
    bool right = true;
    for (int i = 0; i < takes->count; i++) {
        int from = takes->from[i] ? takes->from[i] : TRACE_ANY;
        uint32_t op = program_p2p(&p, 0, OP_RECV, from, 0, i + 1);
        trace_op_set_matched(p.trace, op, takes->took[i], 0);
    }
    for (uint32_t rank = 1; rank <= SENDERS; rank++)
        for (int i = 0; i < takes->count; i++)
            if (takes->took[i] == (int)rank)
                program_p2p(&p, rank, OP_SEND, 0, 0, 10 * (int)rank + i);
    p.trace->outcome = OUTCOME_FINISHED;
    for (int rank = 0; rank <= SENDERS; rank++)
        p.trace->rank_info[rank].state = RANK_FINISHED;
    program_finish(&p);
    check_options_init(&options);
    findings_init(&findings);
    check_trace(p.trace, &options, &findings);
    for (size_t i = 0; i < findings.count; i++) {
        if (strcmp(findings.items[i].code, "R003"))
            continue;
        int at = (int)(findings.items[i].ops[0].op - p.trace->rank_begin[0]);
        int left[SENDERS + 1] = {0};
        for (int k = at; k < takes->count; k++)
            left[takes->took[k]]++;
        bool ends = can_end(takes, at, left, (int)p.trace->ops[findings.items[i].ops[2].op].rank);
        bool said = strstr(findings.items[i].detail, "would hang (D002)");
        right &= said ? !ends : ends || chooses_behind(takes, at);
    }
    findings_release(&findings);
    trace_free(p.trace);
    return right;
}

static void another_first(void)
{
    int wrong = 0, asked = 0;
    for (int count = 2; count <= TAKES_MAX; count++)
        for (int bits = 0; bits < 1 << (2 * count); bits++) {
            struct takes takes = {.count = count};
            for (int i = 0; i < count; i++) {
                takes.took[i] = 1 + (bits >> (2 * i) & 1);
                takes.from[i] = bits >> (2 * i + 1) & 1 ? 0 : takes.took[i];
            }
            asked++;
            if (!is_told(&takes) && !wrong++)
                tap_note("%d receives, %x", count, bits);
        }
    tap_is_int(wrong, 0,
               "%d recorded runs: where another message first leaves one without, that is said",
               asked);
}

int main(void)
{
    said_open("check_families", 4);
    leaks();
    for (size_t row = 0; row < sizeof collectives / sizeof *collectives; row++)
        race_across(row);
    tap_ok(hangs_without(true), "a wildcard does not take what an earlier receive is owed");
    tap_ok(!hangs_without(false), "it takes what a later receive got");
    models_of_a_hang();
    nearest_partner();
    said_close();
    another_first();
    return tap_done();
}

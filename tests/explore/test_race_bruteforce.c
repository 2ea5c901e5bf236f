/* Which wildcard receives have more than one possible message, by brute force: random programs are run by a few lines that know MPI's rules of
 * matching, so that what happened before what is a graph of calls, searched for each pair of a receive and a message. Named and wildcard
 * receives, blocking or not, tags, communicators, and collective calls whose data goes one way or all ways. */
#include "checker/properties.h"
#include "tests/checker/check_program.h"
#include "tests/dice.h"

enum { PROGRAMS = 4000, RANKS_MOST = 4, CALLS_MOST = 160, STEPS_MOST = 26, COMMS = 4, NONE = -1 };

struct call {
    enum op_kind kind;
    int rank, comm, peer, tag, count, line; /* a collective call's root is its peer */
    int match;                              /* of messages: the other call */
    int request;                            /* of a wait: the call that started */
    int waited;                             /* of an Irecv: the wait */
    int group;                              /* calls of one collective have one number */
    uint32_t op, seq;
};

struct run {
    int ranks, count, groups;
    struct call calls[CALLS_MOST];
    int members[COMMS]; /* a bit each */
    uint32_t seqs[COMMS];
};

static bool has(const struct run *run, int comm, int rank)
{
    return run->members[comm] >> rank & 1;
}

static int add(struct run *run, struct call call)
{
    call.match = call.request = call.waited = NONE;
    run->calls[run->count] = call;
    return run->count++;
}

static bool is_receive(const struct call *call)
{
    return call->kind == OP_RECV || call->kind == OP_IRECV;
}

static bool is_collective(const struct call *call)
{
    return call->kind != OP_SEND && call->kind != OP_WAIT && !is_receive(call);
}

static bool fits(const struct call *receive, const struct call *send)
{
    return receive->rank == send->peer && receive->comm == send->comm &&
           (receive->peer == TRACE_ANY || receive->peer == send->rank) &&
           (receive->tag == TRACE_ANY || receive->tag == send->tag);
}

static void meet(struct run *run, int receive, int send)
{
    run->calls[receive].match = send;
    run->calls[send].match = receive;
}

/* The receive that was posted first gets the message. */
static void send_to(struct run *run, int rank, int to, int comm, uint64_t *dice)
{
    int send = add(run, (struct call){.kind = OP_SEND,
                                      .rank = rank,
                                      .comm = comm,
                                      .peer = to,
                                      .tag = dice_below(dice, 4) == 0,
                                      .count = 1 + (int)(dice_below(dice, 5) == 0),
                                      .line = 100 + (int)dice_below(dice, 50)});
    for (int i = 0; i < send; i++)
        if (run->calls[i].kind == OP_IRECV && run->calls[i].match == NONE &&
            fits(&run->calls[i], &run->calls[send])) {
            meet(run, i, send);
            return;
        }
}

static int find_comm(const struct run *run, int one, int other, uint64_t *dice)
{
    for (int i = 0; i < 2; i++) {
        int comm = (int)dice_below(dice, 2 * COMMS) % (COMMS + 1) % COMMS; /* often the first */
        if (has(run, comm, one) && has(run, comm, other))
            return comm;
    }
    return 0;
}

/* A message that is there, and from its sender the first that fits. */
static void receive(struct run *run, int rank, uint64_t *dice)
{
    bool starts = dice_below(dice, 3) == 0, waits = starts && dice_below(dice, 2);
    struct call call = {.kind = starts ? OP_IRECV : OP_RECV,
                        .rank = rank,
                        .peer = TRACE_ANY,
                        .count = 2,
                        .tag = dice_below(dice, 2) ? dice_below(dice, 4) == 0 : TRACE_ANY,
                        .line = (int)dice_below(dice, 8)};
    int from = (int)dice_below(dice, (uint32_t)run->ranks);
    for (int i = 0, there = 0; i < run->count; i++) /* from whom a message is there */
        if (run->calls[i].kind == OP_SEND && run->calls[i].match == NONE &&
            run->calls[i].peer == rank && dice_below(dice, (uint32_t)++there) == 0)
            from = run->calls[i].rank;
    call.comm = find_comm(run, rank, from, dice);
    if (dice_below(dice, 4) == 0)
        call.peer = from;
    if (waits && from != rank) { /* nothing need be there */
        for (int i = 0; i < run->count; i++)
            if (run->calls[i].kind == OP_SEND && run->calls[i].match == NONE &&
                fits(&call, &run->calls[i]))
                return;
        add(run, call);
        return;
    }
    struct call named = call;
    named.peer = from;
    for (int i = 0; i < run->count; i++)
        if (run->calls[i].kind == OP_SEND && run->calls[i].match == NONE &&
            fits(&named, &run->calls[i])) {
            meet(run, add(run, call), i);
            return;
        }
}

static void wait_for(struct run *run, int start)
{
    int wait =
        add(run, (struct call){.kind = OP_WAIT, .rank = run->calls[start].rank, .line = 200});
    run->calls[wait].request = start;
    run->calls[start].waited = wait;
}

static void collect(struct run *run, uint64_t *dice)
{
    static const enum op_kind kinds[] = {OP_BARRIER, OP_ALLREDUCE, OP_ALLTOALL, OP_BCAST,
                                         OP_SCATTER, OP_SCATTERV,  OP_REDUCE,   OP_GATHER,
                                         OP_GATHERV, OP_SCAN,      OP_EXSCAN};
    int comm = (int)dice_below(dice, COMMS), root = (int)dice_below(dice, (uint32_t)run->ranks);
    enum op_kind kind = kinds[dice_below(dice, 11)];
    if (!has(run, comm, root))
        return;
    for (int rank = 0; rank < run->ranks; rank++)
        if (has(run, comm, rank))
            add(run, (struct call){.kind = kind,
                                   .rank = rank,
                                   .comm = comm,
                                   .peer = root,
                                   .count = 1,
                                   .line = 300,
                                   .group = run->groups,
                                   .seq = run->seqs[comm]});
    run->groups++;
    run->seqs[comm]++;
}

static void finish(struct run *run, uint64_t *dice)
{
    for (int i = 0; i < run->count; i++) { /* what is still waited for comes */
        const struct call *call = &run->calls[i];
        int from = call->peer == TRACE_ANY ? (call->rank + 1) % run->ranks : call->peer;
        for (int tries = 0; call->kind == OP_IRECV && call->match == NONE && tries < 20; tries++)
            if (has(run, call->comm, from))
                send_to(run, from, call->rank, call->comm, dice);
            else
                from = (from + 1) % run->ranks;
    }
    for (int i = 0; i < run->count; i++)
        if (run->calls[i].kind == OP_IRECV && run->calls[i].waited == NONE &&
            run->calls[i].match != NONE)
            wait_for(run, i);
}

static void draw(struct run *run, uint64_t seed)
{
    uint64_t dice = seed;
    *run = (struct run){.ranks = 2 + (int)dice_below(&dice, RANKS_MOST - 1)};
    for (int comm = 0; comm < COMMS; comm++)
        do
            run->members[comm] = (int)dice_below(&dice, 1u << run->ranks);
        while (!(run->members[comm] & (run->members[comm] - 1)));
    run->members[0] = (1 << run->ranks) - 1;
    int steps = 8 + (int)dice_below(&dice, STEPS_MOST);
    for (int step = 0; step < steps; step++) {
        int rank = (int)dice_below(&dice, (uint32_t)run->ranks);
        int to = (rank + 1 + (int)dice_below(&dice, (uint32_t)run->ranks - 1)) % run->ranks;
        uint32_t what = dice_below(&dice, 14);
        if (what < 5)
            send_to(run, rank, to, find_comm(run, rank, to, &dice), &dice);
        else if (what < 11)
            receive(run, rank, &dice);
        else if (what < 12)
            collect(run, &dice);
        else
            for (int i = 0; i < run->count; i++)
                if (run->calls[i].kind == OP_IRECV && run->calls[i].rank == rank &&
                    run->calls[i].match != NONE && run->calls[i].waited == NONE &&
                    dice_below(&dice, 2)) {
                    wait_for(run, i);
                    break;
                }
    }
    finish(run, &dice);
}

/* ---- as a trace ---- */

static void write_run(struct run *run, struct program *p)
{
    uint32_t comms[COMMS] = {p->world};
    for (int comm = 1; comm < COMMS; comm++) {
        int32_t list[RANKS_MOST];
        uint32_t size = 0;
        for (int rank = 0; rank < run->ranks; rank++)
            if (has(run, comm, rank))
                list[size++] = rank;
        comms[comm] = program_comm(p, size, list);
    }
    static const char *const names[COMMS] = {"x", ": any order?", "results: any order",
                                             ": any order"};
    for (int comm = 0; comm < COMMS; comm++)
        snprintf(p->trace->comms[comms[comm]].name, sizeof p->trace->comms[0].name, "%s",
                 names[comm]);
    for (int rank = 0; rank < run->ranks; rank++)
        for (int i = 0; i < run->count; i++) {
            struct call *call = &run->calls[i];
            if (call->rank != rank)
                continue;
            if (call->kind == OP_WAIT) {
                call->op =
                    program_wait(p, (uint32_t)rank, run->calls[call->request].op, call->line);
                continue;
            }
            struct trace_plain_op op = program_op(p, (uint32_t)rank, call->kind, call->line);
            op.comm = comms[call->comm];
            op.peer = call->peer;
            op.tag = call->tag;
            op.count = call->count;
            op.comm_seq = is_collective(call) ? call->seq : op.comm_seq;
            if (call->kind == OP_IRECV)
                op.flags = OP_NONBLOCKING;
            if (call->kind == OP_IRECV && call->match == NONE)
                op.state = STATE_POSTED;
            call->op = trace_add_op(p->trace, &op);
            if (is_receive(call) && call->match != NONE)
                trace_op_set_matched(p->trace, call->op, run->calls[call->match].rank,
                                     run->calls[call->match].tag);
        }
    for (int i = 0; i < run->count; i++)
        if (run->calls[i].waited != NONE)
            p->trace->ops[run->calls[i].op].request = run->calls[run->calls[i].waited].op;
    for (int rank = 0; rank < run->ranks; rank++)
        p->trace->rank_info[rank].state = RANK_FINISHED;
    p->trace->outcome = OUTCOME_FINISHED;
    program_finish(p);
}

/* ---- what happened before what ---- */

static bool goes_to(const struct call *from, const struct call *to)
{
    switch (from->kind) {
    case OP_BCAST:
    case OP_SCATTER:
    case OP_SCATTERV:
        return from->rank == from->peer;
    case OP_REDUCE:
    case OP_GATHER:
    case OP_GATHERV:
        return to->rank == to->peer;
    case OP_SCAN:
    case OP_EXSCAN:
        return from->rank < to->rank;
    default:
        return true;
    }
}

/* Whether the end of call `from` comes before the beginning of call `to`: from each end to the next call of its rank; from the beginning of a
 * call to its own end, to where its message is known, and to the ends of the calls that its data reaches. */
static bool is_before(const struct run *run, int from, int to)
{
    bool ended[CALLS_MOST] = {false}, begun[CALLS_MOST] = {false}, more = true;
    ended[from] = true;
    while (more) {
        more = false;
        for (int a = 0; a < run->count; a++) {
            const struct call *one = &run->calls[a];
            for (int b = 0; b < run->count; b++) {
                const struct call *two = &run->calls[b];
                bool next = ended[a] && one->rank == two->rank && a < b;
                int known = two->kind == OP_WAIT   ? run->calls[two->request].match
                            : two->kind == OP_RECV ? two->match
                                                   : NONE;
                bool told = begun[a] && (a == b || (one->kind == OP_SEND && known == a) ||
                                         (is_collective(one) && is_collective(two) &&
                                          one->group == two->group && goes_to(one, two)));
                more = more || (next && !begun[b]) || (told && !ended[b]);
                begun[b] = begun[b] || next;
                ended[b] = ended[b] || told;
            }
        }
    }
    return begun[to];
}

/* The first message of this sender that the receive could take: no receive posted before has it. */
static int first_of(const struct run *run, int receive, int sender)
{
    const struct call *at = &run->calls[receive];
    for (int i = 0; i < run->count; i++) {
        const struct call *send = &run->calls[i];
        if (send->kind == OP_SEND && send->rank == sender && fits(at, send) &&
            (send->match == NONE || send->match >= receive))
            return i;
    }
    return NONE;
}

static int rival_of(const struct run *run, int receive)
{
    const struct call *at = &run->calls[receive];
    if (!is_receive(at) || at->peer != TRACE_ANY || at->match == NONE || at->comm >= 2)
        return NONE;
    int known = at->kind == OP_RECV ? receive : at->waited;
    for (int sender = 0; sender < run->ranks; sender++) {
        int send = sender == run->calls[at->match].rank ? NONE : first_of(run, receive, sender);
        if (send != NONE && !is_before(run, known, send))
            return send;
    }
    return NONE;
}

/* ---- together ---- */

struct tally {
    unsigned matched_otherwise, wrong, races, none, ordered, folded;
};

static int call_of(const struct run *run, uint32_t op)
{
    for (int i = 0; i < run->count; i++)
        if (run->calls[i].op == op)
            return i;
    return NONE;
}

static void compare(const struct run *run, const struct trace *trace,
                    const struct findings *findings, struct tally *tally)
{
    size_t told = 0;
    for (uint32_t op = 0; op < trace->op_count; op++) {
        int receive = call_of(run, op);
        const struct call *at = &run->calls[receive];
        int rival = rival_of(run, receive);
        bool known = false;
        for (size_t i = 0; i < told; i++) {
            const struct call *before = &run->calls[call_of(run, findings->items[i].ops[0].op)];
            known = known || (before->kind == at->kind && before->line == at->line);
        }
        tally->folded += known && rival != NONE;
        tally->ordered += is_receive(at) && at->peer == TRACE_ANY && rival == NONE;
        if (rival == NONE || known)
            continue;
        tally->races++;
        if (told == findings->count) {
            tally->wrong++;
            return;
        }
        const struct finding *finding = &findings->items[told++];
        bool alike = run->calls[at->match].count == run->calls[rival].count;
        tally->wrong += strcmp(finding->code, "R003") != 0 || finding->op_count != 3 ||
                        finding->ops[0].op != op ||
                        finding->ops[1].op != run->calls[at->match].op ||
                        finding->ops[2].op != run->calls[rival].op ||
                        !strstr(finding->detail, alike ? "only their values" : "differ in size");
    }
    tally->wrong += told != findings->count;
    tally->none += told == 0;
}

static void ask(uint64_t seed, struct tally *tally)
{
    static struct run run;
    struct check_options options;
    struct check_context context;
    struct findings findings;
    draw(&run, seed);
    struct program p = program_new((uint32_t)run.ranks);
    write_run(&run, &p);
    for (int i = 0; i < run.count; i++)
        if (run.calls[i].kind == OP_SEND || is_receive(&run.calls[i])) {
            uint32_t match = p.trace->ops[run.calls[i].op].match;
            tally->matched_otherwise +=
                match != (run.calls[i].match == NONE ? TRACE_NO : run.calls[run.calls[i].match].op);
        }
    check_options_init(&options);
    check_context_init(&context, p.trace, &options);
    findings_init(&findings);
    check_race(&context, &findings);
    compare(&run, p.trace, &findings, tally);
    findings_release(&findings);
    check_context_release(&context);
    trace_free(p.trace);
}

int main(void)
{
    struct tally tally = {0};
    unsigned long long first = 0;
    struct dice_seeds seeds = dice_seeds(PROGRAMS);
    for (unsigned long long seed = seeds.first; seed < seeds.first + seeds.count; seed++) {
        ask(seed, &tally);
        first = tally.wrong && !first ? seed : first;
    }
    tap_is_int(tally.matched_otherwise, 0, "messages are matched as they were");
    tap_is_int(tally.wrong, 0, "races: which receive, what it took, what else could have come");
    tap_is_int((long long)first, 0, "in the first program that differs");
    if (seeds.count >= PROGRAMS)
        tap_ok(tally.races > 100 && tally.none > 50 && tally.ordered > 100 && tally.folded > 5,
               "%u races, %u programs without, %u wildcards without, %u at a place that is known",
               tally.races, tally.none, tally.ordered, tally.folded);
    return tap_done();
}

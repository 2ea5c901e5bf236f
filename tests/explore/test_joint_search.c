/* All orders and matches of small plans (checker/orders/joint.h), against a machine that delivers: messages are in channels, arrive one by one in
 * any order, and are taken by the first receive that fits, as MPI has it. The ranks' items come in every order that their edges leave. Both say
 * whether something can hang, where it then stands, and what each receive can take. */
#include "checker/orders/joint.h"
#include "checker/orders/partial_order.h"
#include "checker/replay/plan.h"
#include "checker/replay/replay.h"
#include "tests/checker/check_program.h"
#include "tests/dice.h"

#include <stdlib.h>
#include <string.h>

enum {
    RANKS = 3,
    OPS = 16,
    ITEMS = 3,
    STATES = 500,
    SLOTS = 8192,
    PLANS = 1000,
    HANGS = 64,
    NONE = 255,
    ANY = -1
};

static uint64_t dice;

static uint32_t below(uint32_t n)
{
    return dice_below(&dice, n);
}

/* ---- plans ---- */

struct plain_op {
    uint8_t kind, rank, item,
        start;        /* start: of a wait, its request; `item` counts through all ranks */
    int8_t peer, tag; /* -1: any; of a Bcast the root */
    uint8_t number;   /* of a collective: which one of its rank */
};

struct plain {
    struct plain_op ops[OPS]; /* rank by rank */
    uint32_t count, begin[RANKS + 1];
    uint32_t items, item_begin[RANKS * ITEMS + 1];
    bool edge[RANKS * ITEMS][RANKS * ITEMS];
};

/* What a rank has to do, in no order yet. */
struct tasks {
    struct plain_op ops[ITEMS * 2];
    uint32_t count;
};

static void add_task(struct tasks *tasks, uint8_t kind, int peer, int tag)
{
    if (tasks->count < ITEMS * 2)
        tasks->ops[tasks->count++] = (struct plain_op){
            .kind = kind, .start = NONE, .peer = (int8_t)peer, .tag = (int8_t)tag};
}

/* A send and a receive for it; now and then one of the two is missing. */
static void draw_message(struct tasks tasks[RANKS])
{
    static const uint8_t sends[] = {OP_SEND, OP_SEND, OP_ISEND, OP_SSEND, OP_BSEND};
    static const uint8_t receives[] = {OP_RECV, OP_IRECV};
    uint32_t from = below(RANKS), to = (from + 1 + below(RANKS - 1)) % RANKS;
    int tag = below(4) == 0, sender = (int)from;
    if (below(20))
        add_task(&tasks[from], sends[below(5)], (int)to, tag);
    if (below(20))
        add_task(&tasks[to], receives[below(2)], below(2) ? sender : ANY, below(4) ? tag : ANY);
}

/* One rank's receives, or sends, want the same: which comes first decides who gets what. */
static void draw_rivals(struct tasks tasks[RANKS])
{
    static const uint8_t sends[] = {OP_ISEND, OP_SEND, OP_BSEND};
    static const uint8_t receives[] = {OP_RECV, OP_IRECV};
    bool receiver = below(2); /* rank 0 receives */
    for (uint32_t i = 2 + below(2); i-- > 0;) {
        uint32_t other = 1 + below(RANKS - 1);
        int tag = (int)below(3) - 1, source = receiver ? (int)other : 0;
        add_task(&tasks[receiver ? 0 : other], receives[below(2)], below(2) ? source : ANY, tag);
    }
    for (uint32_t i = 2 + below(2); i-- > 0;) {
        uint32_t other = 1 + below(RANKS - 1);
        add_task(&tasks[receiver ? other : 0], sends[below(3)], receiver ? 0 : (int)other,
                 (int)below(2));
    }
}

/* The item's operations as issued; who waits for its request does so at the item's end, some never do. */
static void add_item(struct plain *plain, uint32_t rank, struct tasks *tasks, uint32_t ops)
{
    uint32_t first = plain->count, end;
    plain->item_begin[plain->items] = first;
    while (ops-- > 0) {
        uint32_t which = below(tasks->count);
        plain->ops[plain->count++] = tasks->ops[which];
        tasks->ops[which] = tasks->ops[--tasks->count];
    }
    end = plain->count;
    for (uint32_t i = first; i < end; i++) {
        bool starts = plain->ops[i].kind == OP_ISEND || plain->ops[i].kind == OP_IRECV;
        if (starts && below(3) && plain->count < OPS)
            plain->ops[plain->count++] = (struct plain_op){.kind = OP_WAIT, .start = (uint8_t)i};
    }
    for (uint32_t i = first; i < plain->count; i++) {
        plain->ops[i].rank = (uint8_t)rank;
        plain->ops[i].item = (uint8_t)plain->items;
    }
}

/* All ranks have the same collectives, in this order. */
static void number_collectives(struct plain *plain, uint32_t rank)
{
    uint8_t number = 0;
    for (uint32_t i = plain->begin[rank]; i < plain->count; i++)
        if (plain->ops[i].kind == OP_BARRIER || plain->ops[i].kind == OP_BCAST)
            plain->ops[i].number = number++;
}

static void plain_draw(struct plain *plain)
{
    static const uint8_t kinds[] = {OP_BARRIER, OP_BCAST};
    struct tasks tasks[RANKS] = {0};
    uint32_t collectives = below(3) == 0 ? 1 + below(2) : 0, root = below(RANKS);
    uint8_t kind = kinds[below(2)];
    bool rivals = below(2);
    if (rivals)
        draw_rivals(tasks);
    for (uint32_t messages = 1 + below(4 - collectives); messages-- > 0 && !rivals;)
        draw_message(tasks);
    for (uint32_t rank = 0; rank < RANKS; rank++)
        for (uint32_t i = 0; i < collectives; i++)
            add_task(&tasks[rank], kind, (int)root, 0);
    *plain = (struct plain){0};
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        uint32_t first = plain->items;
        plain->begin[rank] = plain->count;
        for (uint32_t k = 0; k < ITEMS && tasks[rank].count; k++, plain->items++) {
            bool last = k == ITEMS - 1, two = tasks[rank].count > 1 && below(3) == 0;
            add_item(plain, rank, &tasks[rank], last ? tasks[rank].count : two ? 2 : 1);
            for (uint32_t before = first; before < plain->items; before++)
                plain->edge[before][plain->items] = below(rivals ? 6 : 2) == 0;
        }
        number_collectives(plain, rank);
    }
    plain->begin[RANKS] = plain->item_begin[plain->items] = plain->count;
}

/* ---- the machine that delivers ---- */

enum { TO_COME, POSTED, PASSED };

struct state {
    uint8_t stage[OPS], met[OPS];              /* met: who, NONE */
    uint8_t at[RANKS], inside[RANKS];          /* the op it stands in; its open item; NONE */
    uint8_t waiting[RANKS][OPS], waits[RANKS]; /* receives as posted */
    uint8_t arrived[RANKS][OPS], came[RANKS];  /* messages as they came */
    uint8_t channel[RANKS][RANKS][OPS], on[RANKS][RANKS];
};

struct machine {
    const struct plain *plain;
    bool eager, minimal;
    struct state *seen;
    uint16_t *slots; /* 1 + where it is among them */
    uint32_t seen_count;
    bool over, crossed;
    uint16_t hangs[HANGS]; /* ops in which ranks stand for ever, a bit each */
    uint32_t hang_count;
    uint16_t takes[OPS]; /* sends, a bit each */
};

static bool is_receive(const struct plain_op *op)
{
    return op->kind == OP_RECV || op->kind == OP_IRECV;
}

static bool is_collective(const struct plain_op *op)
{
    return op->kind == OP_BARRIER || op->kind == OP_BCAST;
}

static bool is_send(const struct plain_op *op)
{
    return !is_receive(op) && !is_collective(op) && op->kind != OP_WAIT;
}

static bool takes(const struct plain_op *receive, const struct plain_op *send)
{
    return (receive->peer < 0 || receive->peer == (int8_t)send->rank) &&
           (receive->tag < 0 || receive->tag == send->tag);
}

static void take_out(uint8_t *list, uint8_t *count, uint32_t at)
{
    memmove(list + at, list + at + 1, (size_t)(*count - at - 1));
    list[--*count] = 0;
}

static void meet(struct machine *machine, struct state *state, uint32_t receive, uint32_t send)
{
    state->met[receive] = (uint8_t)send;
    state->met[send] = (uint8_t)receive;
    machine->takes[receive] |= (uint16_t)(1u << send);
}

static void deliver(struct machine *machine, struct state *state, uint32_t from, uint32_t to)
{
    const struct plain_op *ops = machine->plain->ops;
    uint32_t send = state->channel[from][to][0];
    take_out(state->channel[from][to], &state->on[from][to], 0);
    for (uint32_t i = 0; i < state->waits[to]; i++)
        if (takes(&ops[state->waiting[to][i]], &ops[send])) {
            meet(machine, state, state->waiting[to][i], send);
            take_out(state->waiting[to], &state->waits[to], i);
            return;
        }
    state->arrived[to][state->came[to]++] = (uint8_t)send;
}

static bool is_complete(const struct machine *machine, const struct state *state, uint32_t index)
{
    const struct plain *plain = machine->plain;
    const struct plain_op *op = &plain->ops[index];
    if (op->kind == OP_WAIT)
        return is_complete(machine, state, op->start);
    if (op->kind == OP_BSEND || (is_send(op) && op->kind != OP_SSEND && machine->eager))
        return true;
    if (!is_collective(op))
        return state->met[index] != NONE;
    bool alone = machine->minimal && op->kind == OP_BCAST;
    if (alone && op->rank == op->peer)
        return true;
    for (uint32_t i = 0; i < plain->count; i++) /* a Bcast lacks the root, a barrier anybody */
        if (is_collective(&plain->ops[i]) && plain->ops[i].number == op->number &&
            (!alone || plain->ops[i].rank == op->peer) && state->stage[i] == TO_COME)
            return false;
    return true;
}

static bool item_is_done(const struct plain *plain, const struct state *state, uint32_t item)
{
    for (uint32_t i = plain->item_begin[item]; i < plain->item_begin[item + 1]; i++)
        if (state->stage[i] != PASSED)
            return false;
    return true;
}

/* The first that is left of its item; the item is open, or none is and what it needs is done. */
static bool is_next(const struct machine *machine, const struct state *state, uint32_t index)
{
    const struct plain *plain = machine->plain;
    uint32_t item = plain->ops[index].item, inside = state->inside[plain->ops[index].rank];
    if (state->stage[index] != TO_COME ||
        (index > plain->item_begin[item] && state->stage[index - 1] != PASSED))
        return false;
    bool open = inside != NONE && !item_is_done(plain, state, inside);
    for (uint32_t before = 0; before < plain->items; before++)
        if (plain->edge[before][item] && !item_is_done(plain, state, before))
            return false;
    return !open || inside == item;
}

/* Its rank has had as many of the collectives as in the plan. */
static bool comes_in_turn(const struct machine *machine, const struct state *state, uint32_t index)
{
    const struct plain *plain = machine->plain;
    uint32_t had = 0;
    for (uint32_t i = plain->begin[plain->ops[index].rank]; i < plain->count; i++)
        had += plain->ops[i].rank == plain->ops[index].rank && is_collective(&plain->ops[i]) &&
               state->stage[i] != TO_COME;
    return !is_collective(&plain->ops[index]) || had == plain->ops[index].number;
}

/* Of what came from that rank the first that fits: its place, NONE. */
static uint32_t first_from(const struct machine *machine, const struct state *state,
                           uint32_t receive, uint32_t source)
{
    const struct plain_op *ops = machine->plain->ops;
    uint32_t rank = ops[receive].rank;
    for (uint32_t i = 0; i < state->came[rank]; i++)
        if (ops[state->arrived[rank][i]].rank == source &&
            takes(&ops[receive], &ops[state->arrived[rank][i]]))
            return i;
    return NONE;
}

/* `came`: what a receive takes of what came, NONE: it waits. */
static void post(struct machine *machine, struct state *state, uint32_t index, uint32_t came)
{
    const struct plain_op *op = &machine->plain->ops[index];
    uint32_t rank = op->rank;
    bool goes_on = op->kind == OP_ISEND || op->kind == OP_IRECV;
    state->inside[rank] = op->item;
    state->stage[index] = goes_on ? PASSED : POSTED;
    state->at[rank] = goes_on ? NONE : (uint8_t)index;
    if (is_send(op))
        state->channel[rank][op->peer][state->on[rank][op->peer]++] = (uint8_t)index;
    if (!is_receive(op))
        return;
    if (came == NONE) {
        state->waiting[rank][state->waits[rank]++] = (uint8_t)index;
        return;
    }
    meet(machine, state, index, state->arrived[rank][came]);
    take_out(state->arrived[rank], &state->came[rank], came);
}

static void note_hang(struct machine *machine, const struct state *state)
{
    uint16_t stands = 0;
    for (uint32_t rank = 0; rank < RANKS; rank++)
        if (state->at[rank] != NONE)
            stands |= (uint16_t)(1u << state->at[rank]);
    for (uint32_t i = 0; i < machine->hang_count; i++)
        if (machine->hangs[i] == stands)
            return;
    if (stands && machine->hang_count < HANGS)
        machine->hangs[machine->hang_count++] = stands;
}

/* Kept whole, found by a hash. Too many: over. */
static bool was_seen(struct machine *machine, const struct state *state)
{
    const unsigned char *bytes = (const unsigned char *)state;
    uint32_t hash = 2166136261u, slot;
    for (size_t i = 0; i < sizeof *state; i++)
        hash = (hash ^ bytes[i]) * 16777619u;
    for (slot = hash % SLOTS; machine->slots[slot]; slot = (slot + 1) % SLOTS)
        if (memcmp(&machine->seen[machine->slots[slot] - 1], state, sizeof *state) == 0)
            return true;
    machine->over = machine->seen_count == STATES;
    if (!machine->over) {
        machine->seen[machine->seen_count++] = *state;
        machine->slots[slot] = (uint16_t)machine->seen_count;
    }
    return false;
}

static void visit(struct machine *machine, const struct state *state);

/* MPI orders the messages of one rank only: of those that several ranks sent a receive may take any. */
static void visit_posted(struct machine *machine, const struct state *state, uint32_t index)
{
    bool takes_one = false;
    for (uint32_t source = 0; source <= RANKS; source++) {
        bool receives = is_receive(&machine->plain->ops[index]) && source < RANKS;
        uint32_t came = receives ? first_from(machine, state, index, source) : NONE;
        struct state next = *state;
        if ((came == NONE && source < RANKS) || (source == RANKS && takes_one))
            continue;
        takes_one = true;
        post(machine, &next, index, came);
        visit(machine, &next);
    }
}

static void visit(struct machine *machine, const struct state *state)
{
    bool moved = false;
    if (machine->over || was_seen(machine, state))
        return;
    for (uint32_t rank = 0; rank < RANKS; rank++)
        if (state->at[rank] != NONE && is_complete(machine, state, state->at[rank])) {
            struct state next = *state;
            next.stage[state->at[rank]] = PASSED;
            next.at[rank] = NONE;
            visit(machine, &next);
            return; /* nobody else's doing depends on when */
        }
    for (uint32_t from = 0; from < RANKS; from++)
        for (uint32_t to = 0; to < RANKS; to++)
            if (state->on[from][to]) {
                struct state next = *state;
                deliver(machine, &next, from, to);
                visit(machine, &next);
                moved = true;
            }
    for (uint32_t op = 0; op < machine->plain->count; op++)
        if (state->at[machine->plain->ops[op].rank] == NONE && is_next(machine, state, op)) {
            moved = true;
            if (comes_in_turn(machine, state, op))
                visit_posted(machine, state, op);
            else
                machine->crossed = true; /* told elsewhere */
        }
    if (!moved)
        note_hang(machine, state);
}

/* ---- the same plan as a trace ---- */

static struct trace *trace_of(const struct plain *plain)
{
    struct program p = program_new(RANKS);
    uint32_t nodes[RANKS * ITEMS], index[OPS];
    p.pass = 1;
    for (uint32_t item = 0; item < plain->items; item++)
        nodes[item] = trace_add_node(
            p.trace, &(struct trace_node){.rank = plain->ops[plain->item_begin[item]].rank,
                                          .id = item + 1,
                                          .pass = 1,
                                          .kind = OP_ALLREDUCE,
                                          .state = STATE_NEVER,
                                          .forward = TRACE_NO,
                                          .site = TRACE_NO,
                                          .name = TRACE_NO});
    for (uint32_t a = 0; a < plain->items; a++)
        for (uint32_t b = 0; b < plain->items; b++)
            if (plain->edge[a][b])
                trace_add_edge(p.trace, nodes[a], nodes[b], EDGE_DATA);
    for (uint32_t i = 0; i < plain->count; i++) {
        const struct plain_op *op = &plain->ops[i];
        p.node = nodes[op->item];
        struct trace_plain_op row = program_op(&p, op->rank, (enum op_kind)op->kind, (int)i + 1);
        row.state = STATE_NEVER;
        row.peer = op->peer < 0 ? TRACE_ANY : op->peer;
        row.tag = op->tag < 0 ? TRACE_ANY : op->tag;
        row.comm_seq = op->number;
        index[i] = trace_add_op(p.trace, &row);
        if (op->kind == OP_WAIT)
            trace_add_wait(p.trace, index[i], index[op->start], true);
    }
    for (uint32_t rank = 0; rank < RANKS; rank++)
        trace_add_pass(p.trace, &(struct trace_pass){.rank = rank, .pass = 1, .mode = PASS_DATA});
    p.trace->outcome = OUTCOME_IMPORTED;
    struct failure failure = {0};
    if (trace_finish(p.trace, &failure))
        return p.trace;
    tap_ok(false, "a plan is a trace: %s", failure.text);
    trace_free(p.trace);
    return NULL;
}

/* ---- both ---- */

/* Every rank's part has its operations, what an edge has first comes first, and items are not interrupted. */
static bool is_legal(const struct plain *plain, const uint32_t *order)
{
    uint32_t at[OPS];
    for (uint32_t i = 0; i < plain->count; i++)
        at[order[i]] = i;
    for (uint32_t a = 0; a < plain->count; a++)
        for (uint32_t b = 0; b < plain->count; b++)
            if ((plain->edge[plain->ops[a].item][plain->ops[b].item] && at[a] > at[b]) ||
                (plain->ops[a].item == plain->ops[b].item && a < b && at[a] > at[b]) ||
                (plain->ops[a].rank < plain->ops[b].rank && at[a] > at[b]))
                return false;
    return true;
}

static const char *hang_differs(const struct machine *machine, const struct joint_hang *hang)
{
    uint16_t stands = 0;
    bool known = false;
    for (size_t i = 0; i < hang->stand_count; i++)
        stands |= (uint16_t)(1u << hang->stands[i]);
    for (uint32_t i = 0; i < machine->hang_count; i++)
        known = known || machine->hangs[i] == stands;
    if (!known && machine->hang_count < HANGS)
        return "where it hangs";
    for (size_t i = 0; i < hang->choice_count; i++) {
        const struct plan_choice *choice = &hang->choices[i];
        bool can = false;
        for (uint32_t send = 0; send < machine->plain->count; send++)
            can = can || (machine->takes[choice->receive] >> send & 1 &&
                          machine->plain->ops[send].rank == choice->source);
        if (!can)
            return "what a wildcard takes there";
    }
    return is_legal(machine->plain, hang->order) ? NULL : "the order that leads there";
}

/* What was seen to be taken can be; where all was seen, it is all that can be. */
static const char *takes_differ(const struct machine *machine, const struct joint_hang *hang,
                                bool all)
{
    const struct plain_op *ops = machine->plain->ops;
    for (uint32_t op = 0; op < machine->plain->count; op++) {
        uint32_t one = hang->takes[op], other = hang->or_else[op], first = NONE;
        bool several = false;
        for (uint32_t send = 0; send < machine->plain->count; send++) {
            if (!(machine->takes[op] >> send & 1))
                continue;
            several = several ||
                      (first != NONE && (ops[op].peer >= 0 || ops[send].rank != ops[first].rank));
            first = first == NONE ? send : first;
        }
        if ((one != TRACE_NO && !(machine->takes[op] >> one & 1)) ||
            (other != TRACE_NO && !(machine->takes[op] >> other & 1)))
            return "what cannot be taken";
        if (other != TRACE_NO && (one == TRACE_NO || one == other))
            return "another one that is none";
        if (all && ((one != TRACE_NO) != (first != NONE) || (other != TRACE_NO) != several))
            return "all that can be taken";
    }
    return NULL;
}

/* What an operation that stands can lack: the other members of its collective, or the other side of a message. */
static bool can_lack(const struct plain *plain, uint32_t stands, uint32_t lacks)
{
    const struct plain_op *op = &plain->ops[stands], *other = &plain->ops[lacks];
    op = op->kind == OP_WAIT ? &plain->ops[op->start] : op;
    if (is_collective(op))
        return is_collective(other) && other->number == op->number;
    return is_send(op) ? is_receive(other) : is_send(other);
}

/* The order in which it hangs, replayed: who stands waits for what the next one's rank comes to later, and so on round. */
static const char *cycle_differs(const struct plain *plain, const struct check_context *context,
                                 enum check_model model, bool minimal,
                                 const struct joint_hang *hang, unsigned long long *replayed)
{
    struct check_plan plan;
    struct check_replay replay;
    uint32_t at[OPS];
    const char *what = NULL;
    check_plan_init(&plan, context,
                    &(struct plan_options){.order = hang->order,
                                           .choices = hang->choices,
                                           .choice_count = hang->choice_count,
                                           .minimal = minimal});
    check_replay_run(&plan, model, &replay);
    for (uint32_t i = 0; i < plain->count; i++)
        at[hang->order[i]] = i;
    for (size_t i = 0; replay.stuck && i < replay.cycle_count && !what; i++) {
        uint32_t stands = replay.cycle[i], lacks = replay.lacks[i];
        uint32_t next = replay.cycle[(i + 1) % replay.cycle_count];
        bool alone = replay.cycle_count == 1;
        if (replay.at[plain->ops[stands].rank] != stands)
            what = "a cycle of what does not stand";
        else if (lacks == TRACE_NO ? !alone : !can_lack(plain, stands, lacks))
            what = "a lack of something else";
        else if (!alone &&
                 (plain->ops[lacks].rank != plain->ops[next].rank || at[lacks] < at[next]))
            what = "a lack that the next one is not before";
    }
    for (size_t rank = 0, k = 0; rank < RANKS && !what; rank++)
        if (replay.at[rank] != TRACE_NO)
            what =
                k < hang->stand_count && replay.at[rank] == hang->stands[k++] ? NULL : "who stands";
    if (!what && (!replay.stuck || replay.cycle_count == 0))
        what = "that it is stuck";
    *replayed += replay.cycle_count > 1;
    check_replay_release(&replay);
    check_plan_release(&plan);
    return what;
}

struct tally {
    unsigned long long plans, hangs, replayed, wrong;
};

static void compare(const struct plain *plain, const struct check_context *context,
                    unsigned long long seed, struct tally *tally)
{
    static struct state seen[STATES];
    static uint16_t slots[SLOTS];
    struct check_partial_order reach;
    check_partial_order_init(&reach, context);
    for (int way = 0; way < 4; way++) {
        bool eager = way % 2, minimal = way / 2;
        struct machine machine = {
            .plain = plain, .eager = eager, .minimal = minimal, .seen = seen, .slots = slots};
        struct state first;
        struct check_plan plan;
        struct joint_hang hang;
        memset(slots, 0, sizeof slots);
        memset(&first, 0, sizeof first);
        memset(first.met, NONE, sizeof first.met);
        memset(first.at, NONE, sizeof first.at);
        memset(first.inside, NONE, sizeof first.inside);
        visit(&machine, &first);
        if (machine.over)
            continue;
        check_plan_init(&plan, context, &(struct plan_options){.minimal = minimal});
        enum joint_answer answer = check_joint_search(
            &plan, &reach, eager ? CHECK_EAGER : CHECK_RENDEZVOUS, minimal, &hang);
        bool hangs = machine.hang_count > 0;
        const char *what = !check_joint_fits(&plan)                       ? "that it fits"
                           : answer != (hangs ? JOINT_HANGS : JOINT_SAFE) ? "whether it hangs"
                           : hangs ? hang_differs(&machine, &hang)
                                   : NULL;
        if (!what && hangs)
            what = cycle_differs(plain, context, eager ? CHECK_EAGER : CHECK_RENDEZVOUS, minimal,
                                 &hang, &tally->replayed);
        what = what ? what : takes_differ(&machine, &hang, !hangs && !machine.crossed);
        if (what && !tally->wrong++)
            tap_note("seed %llu, %s, %s: %s", seed, eager ? "eager" : "rendezvous",
                     minimal ? "minimal" : "synchronizing", what);
        tally->plans++;
        tally->hangs += hangs;
        check_joint_release(&hang);
        check_plan_release(&plan);
    }
    check_partial_order_release(&reach);
}

/* Plans with one operation of these, or so many, are not for the search. */
static void what_fits(void)
{
    static const struct {
        enum op_kind kind;
        uint32_t thread, batch, times;
        bool fits;
    } rows[] = {
        {OP_SEND, 0, 0, 1, true},     {OP_SEND, 1, 0, 1, false},   {OP_SEND, 0, 1, 1, false},
        {OP_PROBE, 0, 0, 1, false},   {OP_IPROBE, 0, 0, 1, false}, {OP_MRECV, 0, 0, 1, false},
        {OP_IMRECV, 0, 0, 1, false},  {OP_MPROBE, 0, 0, 1, false}, {OP_IRECV, 0, 0, 1, true},
        {OP_RECV, 0, 0, 1, true},     {OP_BARRIER, 0, 0, 1, true}, {OP_BSEND, 0, 0, 255, true},
        {OP_BSEND, 0, 0, 256, false}, {OP_IMPROBE, 0, 0, 1, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct program p = program_new(2);
        struct failure failure = {0};
        struct check_options options;
        struct check_context context;
        struct check_plan plan;
        p.batch = rows[i].batch;
        program_p2p(&p, 1, OP_BSEND, 0, 0, 1);
        for (uint32_t k = 0; k < rows[i].times; k++) {
            struct trace_plain_op op = program_op(&p, 0, rows[i].kind, 1);
            op.thread = rows[i].thread;
            op.batch = rows[i].batch;
            op.peer = 1;
            op.tag = 0;
            trace_add_op(p.trace, &op);
        }
        p.trace->outcome = OUTCOME_IMPORTED;
        if (trace_finish(p.trace, &failure)) {
            check_options_init(&options);
            check_context_init(&context, p.trace, &options);
            check_plan_init(&plan, &context, &(struct plan_options){0});
            tap_is_int(check_joint_fits(&plan), rows[i].fits, "%u %s, thread %u, batch %u",
                       rows[i].times, op_kind_name((int)rows[i].kind), rows[i].thread,
                       rows[i].batch);
            check_plan_release(&plan);
            check_context_release(&context);
        }
        trace_free(p.trace);
    }
}

int main(void)
{
    what_fits();
    struct dice_seeds seeds = dice_seeds(PLANS);
    struct tally tally = {0};
    for (unsigned long long seed = seeds.first; seed < seeds.first + seeds.count; seed++) {
        struct plain plain;
        struct check_options options;
        struct check_context context;
        dice = seed * 12345;
        plain_draw(&plain);
        struct trace *trace = trace_of(&plain);
        if (!trace)
            break;
        check_options_init(&options);
        check_context_init(&context, trace, &options);
        compare(&plain, &context, seed, &tally);
        check_context_release(&context);
        trace_free(trace);
    }
    tap_ok(tally.plans > 2 * seeds.count && tally.hangs * 8 > tally.plans &&
               tally.hangs * 8 < 7 * tally.plans,
           "%llu runs of plans, of which %llu hang", tally.plans, tally.hangs);
    tap_ok(tally.replayed * 8 > tally.hangs, "%llu of them in a circle", tally.replayed);
    tap_is_int(tally.wrong, 0, "both machines say the same of each");
    return tap_done();
}

/* What ranks learn of each other through windows (checker/replay/syncs.h), of random programs, against
 * a plain list: found by the operation that learns, and by the one it learns of. And a replay that is told of it: of random
 * programs in which all came in some order, none begins before what it has learnt of has begun; where what is said to have been learnt
 * is in no order, everybody ends all the same. */
#include "checker/replay/replay.h"
#include "checker/replay/syncs.h"
#include "tests/checker/check_program.h"
#include "tests/dice.h"

enum { RANKS = 3, OPS = 9, SYNCS = 60, PROGRAMS = 200 };

static const enum op_kind kinds[] = {OP_WIN_START, OP_WIN_WAIT, OP_WIN_POST, OP_WIN_COMPLETE,
                                     OP_WIN_LOCK};

struct told {
    struct check_sync items[SYNCS];
    size_t count;
};

/* Learned before the op `sync` names, that is, by the start or wait before it. */
static void tell(struct told *told, const struct trace *trace, const struct trace_sync *sync)
{
    size_t mine = trace->rank_begin[sync->rank + 1] - trace->rank_begin[sync->rank];
    size_t theirs = trace->rank_begin[sync->peer + 1] - trace->rank_begin[sync->peer];
    if (sync->op == 0 || sync->op >= mine || sync->peer_op >= theirs)
        return;
    uint32_t op = (uint32_t)trace->rank_begin[sync->rank] + sync->op;
    if (trace->ops[op - 1].kind == OP_WIN_START || trace->ops[op - 1].kind == OP_WIN_WAIT)
        told->items[told->count++] = (struct check_sync){
            op, sync->peer, (uint32_t)trace->rank_begin[sync->peer] + sync->peer_op};
}

static size_t before(const struct told *told, uint32_t op, bool of_source)
{
    size_t count = 0;
    for (size_t i = 0; i < told->count; i++)
        count += (of_source ? told->items[i].source : told->items[i].op) < op;
    return count;
}

static size_t times(const struct check_sync *items, size_t count, const struct check_sync *item)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        found += items[i].op == item->op && items[i].peer == item->peer &&
                 items[i].source == item->source;
    return found;
}

static bool same(const struct check_syncs *syncs, const struct told *told, uint32_t ops)
{
    bool seen[SYNCS] = {false};
    if (syncs->count != told->count)
        return false;
    for (size_t i = 0; i < told->count; i++) {
        const struct check_sync *item = &syncs->items[i];
        uint32_t at = syncs->by_source[i];
        if (at >= told->count || seen[at] || (i > 0 && item[-1].op > item->op) ||
            (i > 0 && syncs->items[syncs->by_source[i - 1]].source > syncs->items[at].source) ||
            times(syncs->items, told->count, item) != times(told->items, told->count, item))
            return false;
        seen[at] = true;
    }
    for (uint32_t op = 0; op <= ops; op++)
        if (check_syncs_first(syncs, op) != before(told, op, false) ||
            check_syncs_first_of(syncs, op) != before(told, op, true))
            return false;
    return true;
}

/* ---- in a replay ---- */

enum { CALLS = 24, LEARNT = 12 };

struct seen {
    uint32_t begun[CALLS + 1], passed[CALLS + 1], count; /* as the n-th event of all, 0: never */
};

static void note(void *context, uint32_t op, bool passed)
{
    struct seen *seen = context;
    seen->count++;
    seen->begun[op] = seen->begun[op] ? seen->begun[op] : seen->count;
    seen->passed[op] = passed ? seen->count : seen->passed[op];
}

/* Calls come in one order; a rank that started or waited may then have learnt of what others had begun, or, `wild`, of anything. Eager
 * messages go from earlier to later ones. */
static struct program program_learning(uint64_t *state, bool wild)
{
    struct program p = program_new(RANKS);
    uint32_t count[RANKS] = {0}, mail[RANKS][RANKS] = {{0}};
    enum op_kind last[RANKS] = {OP_NONE};
    for (uint32_t i = 0; i < CALLS; i++) {
        uint32_t rank = dice_below(state, RANKS), peer = (rank + 1 + dice_below(state, 2)) % RANKS;
        uint32_t what = dice_below(state, 6);
        enum op_kind kind = what == 0                          ? OP_SEND
                            : what < 3 && mail[peer][rank] > 0 ? OP_RECV
                                                               : kinds[dice_below(state, 5)];
        bool learns = last[rank] == OP_WIN_START || last[rank] == OP_WIN_WAIT;
        struct trace_sync sync = {.rank = rank, .op = count[rank], .peer = peer};
        for (uint32_t k = dice_below(state, 3); learns && k > 0; k--) {
            if (!wild && !count[sync.peer])
                continue;
            sync.peer_op = dice_below(state, wild ? OPS : count[sync.peer]);
            trace_add_sync(p.trace, &sync);
            sync.peer = RANKS - rank - peer; /* the third */
        }
        if (kind == OP_SEND || kind == OP_RECV)
            program_p2p(&p, rank, kind, (int)peer, 0, (int)i + 1);
        else
            program_collective(&p, rank, kind, p.world, 0, (int)i + 1);
        mail[rank][peer] += kind == OP_SEND;
        mail[peer][rank] -= kind == OP_RECV;
        last[rank] = kind;
        count[rank]++;
    }
    program_finish(&p);
    return p;
}

static void replays(bool wild)
{
    unsigned early = 0, stuck = 0, missed = 0, learnt = 0;
    for (uint64_t seed = 1; seed <= PROGRAMS; seed++) {
        uint64_t state = seed;
        struct program p = program_learning(&state, wild);
        struct check_options options;
        struct check_context context;
        struct check_plan plan;
        struct check_replay replay;
        struct check_syncs syncs;
        struct seen seen = {.count = 0};
        check_options_init(&options);
        check_context_init(&context, p.trace, &options);
        check_plan_init(&plan, &context, &(struct plan_options){0});
        check_syncs_init(&syncs, p.trace);
        check_replay_watch(&plan, CHECK_EAGER,
                           &(struct replay_watch){.event = note, .context = &seen, .syncs = &syncs},
                           &replay);
        for (uint32_t op = 0; op < p.trace->op_count; op++)
            missed += !seen.passed[op] || seen.passed[op] < seen.begun[op];
        for (size_t i = 0; i < syncs.count && !wild; i++)
            early += seen.begun[syncs.items[i].op] < seen.begun[syncs.items[i].source];
        stuck += replay.stuck;
        learnt += (unsigned)syncs.count;
        check_replay_release(&replay);
        check_syncs_release(&syncs);
        check_plan_release(&plan);
        check_context_release(&context);
        trace_free(p.trace);
    }
    tap_is_int(early, 0, "none begins before what it has learnt of has begun");
    tap_is_int(stuck + missed, 0, "and everybody ends%s", wild ? ", though it is in no order" : "");
    tap_ok(learnt > PROGRAMS, "%u were learnt", learnt);
}

int main(void)
{
    unsigned wrong = 0, most = 0;
    for (uint64_t seed = 1; seed <= PROGRAMS; seed++) {
        uint64_t state = seed;
        struct program program = program_new(RANKS);
        struct told told = {.count = 0};
        struct check_syncs syncs;
        for (uint32_t i = 0, ops = dice_below(&state, OPS * RANKS) + 1; i < ops; i++) {
            uint32_t rank = dice_below(&state, RANKS);
            struct trace_plain_op op =
                program_op(&program, rank, kinds[dice_below(&state, 5)], (int)i + 1);
            trace_add_op(program.trace, &op);
        }
        program_finish(&program);
        for (uint32_t i = dice_below(&state, SYNCS); i > 0; i--) {
            struct trace_sync sync = {.rank = dice_below(&state, RANKS),
                                      .op = dice_below(&state, OPS),
                                      .peer = dice_below(&state, RANKS),
                                      .peer_op = dice_below(&state, OPS)};
            trace_add_sync(program.trace, &sync);
            tell(&told, program.trace, &sync);
        }
        check_syncs_init(&syncs, program.trace);
        wrong += !same(&syncs, &told, (uint32_t)program.trace->op_count);
        most = told.count > most ? (unsigned)told.count : most;
        check_syncs_release(&syncs);
        trace_free(program.trace);
    }
    tap_is_int(wrong, 0, "what is learned through windows is found by either side");
    tap_ok(most > 8, "and there is enough of it (%u)", most);
    replays(false);
    replays(true);
    return tap_done();
}

/* What ranks learn of each other through windows (checker/replay/syncs.h), of random programs, against
 * a plain list: found by the operation that learns, and by the one it learns of. */
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
    return tap_done();
}

/* Iterations that were left out (struct trace_fold) are counted all the same: each operation that is left says the number, the place among
 * the collectives of its communicator and the iteration that it has in the whole run. The whole run is a list of random loops, written down
 * one operation after the other; some rounds of it are then left out. */
#include "tests/dice.h"
#include "tests/tap.h"
#include "traces/trace/trace.h"

#include <string.h>

enum { RANKS = 3, LOOPS = 4, BODY = 4, OPS = 400, FOLDS = 8, COMMS = 2, PROGRAMS = 150 };

struct one {
    uint32_t kind, comm, site;
    uint32_t loop;                            /* LOOPS: in none */
    uint64_t number, collectives, at, length; /* before it; where in its loop, of which length */
    uint32_t here;                            /* in the trace; TRACE_NO: left out */
};

static struct one whole[RANKS][OPS];
static uint32_t counts[RANKS];
static uint64_t dice;

static uint32_t below(uint32_t n)
{
    return dice_below(&dice, n);
}

static struct one draw(uint32_t site)
{
    static const uint32_t kinds[] = {OP_ALLREDUCE, OP_BARRIER, OP_SEND};
    return (struct one){.kind = kinds[below(3)], .comm = below(COMMS), .site = site, .loop = LOOPS};
}

/* The next one of the rank. */
static struct one *add(uint32_t rank, struct one op)
{
    struct one *at = &whole[rank][counts[rank]];
    *at = op;
    at->number = counts[rank]++;
    at->collectives = 0;
    for (const struct one *other = whole[rank]; other < at; other++)
        at->collectives += other->kind != OP_SEND && other->comm == at->comm;
    return at;
}

static uint32_t trace_add(struct trace *trace, uint32_t rank, const struct one *op, uint32_t *seqs)
{
    struct trace_plain_op plain = trace_op_none(rank, (enum op_kind)op->kind);
    plain.comm = op->comm;
    plain.site = op->site;
    if (op->kind == OP_SEND) {
        plain.peer = (int32_t)((rank + 1) % RANKS);
        plain.tag = 1;
    } else {
        plain.comm_seq = seqs[op->comm]++;
    }
    return trace_add_op(trace, &plain);
}

/* One rank's run: operations, a loop, operations, the next loop. Of a loop rounds are left out once or twice, each time after at least one. */
static void write_rank(struct trace *trace, uint32_t rank, uint32_t *site, uint64_t *left_out)
{
    uint32_t seqs[COMMS] = {0}, loops = 1 + below(LOOPS - 1);
    counts[rank] = 0;
    for (uint32_t loop = 0; loop < loops; loop++) {
        for (uint32_t alone = below(3); alone-- > 0;) {
            struct one *op = add(rank, draw((*site)++));
            op->here = trace_add(trace, rank, op, seqs);
        }
        struct one body[BODY];
        uint32_t length = 1 + below(BODY), at = 0, parts = 1 + below(2);
        for (uint32_t i = 0; i < length; i++)
            body[i] = draw((*site)++);
        for (uint32_t part = 0; part <= parts; part++) {
            uint32_t kept = length + below(2 * length + 1), last = TRACE_NO;
            uint32_t times = part < parts ? 1 + below(5) : 0;
            for (uint32_t i = 0; i < kept + times * length; i++, at++) {
                struct one *op = add(rank, body[at % length]);
                op->loop = loop;
                op->at = at;
                op->length = length;
                op->here = i < kept ? trace_add(trace, rank, op, seqs) : TRACE_NO;
                last = i < kept ? op->here : last;
            }
            const struct trace_fold fold = {last, length, times, at - times * length};
            if (times)
                trace_add_fold(trace, &fold);
            *left_out += times * length;
        }
    }
    for (uint32_t alone = below(3); alone-- > 0;) {
        struct one *op = add(rank, draw((*site)++));
        op->here = trace_add(trace, rank, op, seqs);
    }
}

/* Which iteration it is of, from 1 on: of those behind a fold of its loop. What follows a loop at once may be what its next iteration came
 * to: it counts as of it. */
static uint64_t iteration(uint32_t rank, uint32_t i)
{
    const struct one *op = &whole[rank][i];
    bool folded = false;
    if (op->loop < LOOPS) {
        for (uint32_t k = 0; k < i; k++)
            folded = folded || (whole[rank][k].loop == op->loop && whole[rank][k].here == TRACE_NO);
        return folded ? op->at / op->length + 1 : 0;
    }
    const struct one *last = i ? op - 1 : NULL;
    return last && last->loop < LOOPS ? (last->at + 1) / last->length + 1 : 0;
}

/* What is the first of a loop right behind another one is of both, and is not asked. */
static bool is_between(uint32_t rank, uint32_t i)
{
    const struct one *op = &whole[rank][i];
    return i && op->loop < LOOPS && op->at == 0 && op[-1].loop < LOOPS;
}

static void check(const struct trace *trace, unsigned long long seed, uint64_t left_out)
{
    unsigned numbers = 0, found = 0, collectives = 0, iterations = 0;
    for (uint32_t rank = 0; rank < RANKS; rank++)
        for (uint32_t i = 0, at = (uint32_t)trace->rank_begin[rank]; i <= counts[rank]; i++) {
            const struct one *op = &whole[rank][i];
            bool is_here = i < counts[rank] && op->here != TRACE_NO;
            found += trace_op_by_number(trace, rank, i) != (is_here ? at : TRACE_NO);
            if (!is_here)
                continue;
            numbers += trace_op_number(trace, at) != i;
            collectives +=
                op->kind != OP_SEND && trace_collective_number(trace, at) != op->collectives;
            if (!is_between(rank, i) && trace_op_iteration(trace, at) != iteration(rank, i) &&
                !iterations++)
                tap_note("seed %llu, rank %u, operation %u: iteration %llu, not %llu", seed, rank,
                         i, (unsigned long long)trace_op_iteration(trace, at),
                         (unsigned long long)iteration(rank, i));
            at++;
        }
    if (numbers || found || collectives || iterations || trace_folded_ops(trace) != left_out)
        tap_ok(false, "seed %llu: %u numbers, %u by number, %u collectives, %u iterations", seed,
               numbers, found, collectives, iterations);
}

static void random_loops(void)
{
    struct dice_seeds seeds = dice_seeds(PROGRAMS);
    uint64_t all = 0;
    int failed = tap_state.failed;
    for (unsigned long long seed = seeds.first; seed < seeds.first + seeds.count; seed++) {
        struct failure failure = {0};
        struct trace *trace = trace_new(RANKS);
        uint32_t site = 0, sites = 0;
        uint64_t left_out = 0;
        dice = seed;
        for (uint32_t c = 0; c < COMMS; c++) {
            int32_t members[RANKS] = {0, 1, 2};
            struct trace_comm comm = {.id = c + 1,
                                      .size = RANKS,
                                      .members = members,
                                      .parent = TRACE_NO,
                                      .adjoint_of = TRACE_NO};
            trace_add_comm(trace, &comm);
        }
        for (; sites < RANKS * LOOPS * (BODY + 4); sites++)
            trace_add_site(trace, "loops.c", (int)sites + 1, "main");
        for (uint32_t rank = 0; rank < RANKS; rank++)
            write_rank(trace, rank, &site, &left_out);
        if (site > sites || !trace_finish(trace, &failure) || !trace_check(trace, &failure))
            tap_ok(false, "seed %llu: %s", seed, failure.text);
        else
            check(trace, seed, left_out);
        all += left_out;
        trace_free(trace);
    }
    tap_is_int(
        tap_state.failed, failed,
        "what is left says what it is in the whole run, of which %llu operations are left out",
        (unsigned long long)all);
}

/* How long it goes on behind what was left out is asked for 100,000 operations; behind, nothing is said. */
static void long_rest(void)
{
    enum { REST = 100002 };
    struct failure failure = {0};
    struct trace *trace = trace_new(1);
    int32_t members[] = {0};
    struct trace_comm comm = {
        .id = 1, .size = 1, .members = members, .parent = TRACE_NO, .adjoint_of = TRACE_NO};
    trace_add_comm(trace, &comm);
    uint32_t site = trace_add_site(trace, "loops.c", 1, "main");
    for (uint32_t i = 0; i < REST; i++) {
        struct trace_plain_op op = trace_op_none(0, OP_BARRIER);
        op.comm = 0;
        op.site = site;
        op.comm_seq = i;
        trace_add_op(trace, &op);
    }
    const struct trace_fold fold = {0, 1, 7, 1};
    trace_add_fold(trace, &fold);
    tap_ok(trace_finish(trace, &failure), "a long trace is built");
    tap_is_int(trace_op_iteration(trace, 100000), 100008, "so far a loop is followed");
    tap_is_int(trace_op_iteration(trace, 100001), 0, "and no farther");
    trace_free(trace);
}

int main(void)
{
    random_loops();
    long_rest();
    return tap_done();
}

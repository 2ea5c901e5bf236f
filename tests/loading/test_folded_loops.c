/* Loops that are recorded once: a run is recorded with all its iterations and once more without those
 * that are alike. What is left must be the same operations as those of the full record that stand
 * where it says they stood, with partners of the same lines; and together with what was left out as
 * many.
 *
 * Programs are made of random pieces: messages, collectives, requests of all kinds, on two
 * communicators, between ranks that do as much or not, in loops that are broken now and then.
 *
 * What was left out is alike, in all that a trace tells, to what it is left out for: also where one iteration in the middle of a loop
 * has one call that is another, in one thing only, on all ranks or, where the others need not know, on one.
 *
 * What ranks did is also one number (recording_conduct): the same for the same, another for anything else. */
#include "tests/dice.h"
#include "tests/tap.h"

#include "recorder/recorder.h"
#include "recorder/recording.h"
#include "sim/worlds/world.h"

#include <mpi.h>
#include <mpix.h>
#include <stdlib.h>

enum { RANKS = 3, PIECES = 17, LONGEST = 6, WORDS = 64 };

struct loop {
    int pieces[LONGEST], count, times;
    int broken; /* this iteration has one operation more on one rank; -1: none */
    int odd;    /* or, if it is not 0, one that is another: enum odd */
};

struct program {
    struct loop loops[3];
    int count;
};

/* One call at the end that is another, with the last `seed` that choices are made by. */
enum variant {
    USUAL,
    TAG,
    COUNT,
    TYPE,
    PEER,
    KIND,
    ROOT,
    REDUCTION,
    COMM,
    ONCE_MORE,
    SHARES,
    NOTE,
    CODE,
    TEXT,
    NODE,
    NODE_KIND,
    NODE_PASS,
    NODE_FORWARD,
    NAMED,
    NAMED_ELSE,
    BATCH,
    VARIANTS,
    ALIKE = VARIANTS, /* a wildcard takes messages that are alike */
    UNLIKE,           /* or not */
    UNLIKE_TYPE,
    UNLIKE_NAME,
    UNLIKE_LAST = UNLIKE_NAME
};

/* In which thing one iteration is another. */
enum odd {
    ODD_NOT,
    ODD_TAG,
    ODD_COUNT,
    ODD_TYPE,
    ODD_PEER,
    ODD_COMM,
    ODD_NOBODY,
    ODD_ROOT,
    ODD_REDUCTION,
    ODD_SHARES,
    ODD_COMPLETED,
    ODD_ALONE, /* from here on on one rank only */
    ODD_KIND = ODD_ALONE,
    ODD_ROOM,
    ODD_WILD,
    ODD_ANY_TAG,
    ODD_ORDER,
    ODD_WAITED,
    ODD_OVERLAP,
    ODD_MOVED,
    ODD_CASES
};

static struct program program;
static enum variant variant;
static uint64_t choices; /* 0: the default ones */
static struct recording *recording;

struct here {
    int rank, right, left;
    MPI_Comm other;
    MPI_Request kept[2];
    int out[WORDS], in[WORDS];
};

static void exchange(struct here *at, int kind)
{
    MPI_Request requests[2];
    int index, flag = 0;
    MPI_Irecv(at->in, 3, MPI_INT, at->left, kind, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(at->out, 3, MPI_INT, at->right, kind, MPI_COMM_WORLD, &requests[1]);
    if (kind == 1)
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 2 && kind == 2; i++)
        MPI_Wait(&requests[1 - i], MPI_STATUS_IGNORE);
    for (int i = 0; i < 2 && kind == 3; i++)
        MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
    while (kind == 4 && !flag)
        MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE);
}

static void to_the_first(struct here *at, bool wild, bool probed)
{
    MPI_Status status;
    if (at->rank)
        MPI_Send(at->out, at->rank, MPI_INT, 0, 20, MPI_COMM_WORLD);
    for (int i = 1; i < RANKS && !at->rank; i++) {
        int from = wild ? MPI_ANY_SOURCE : i;
        if (probed)
            MPI_Probe(from, 20, MPI_COMM_WORLD, &status);
        MPI_Recv(at->in, WORDS, MPI_INT, probed ? status.MPI_SOURCE : from, 20, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    }
}

static void uneven(struct here *at, bool all)
{
    int counts[RANKS], places[RANKS], back[RANKS];
    for (int r = 0; r < RANKS; r++) {
        counts[r] = all ? 1 + (at->rank + r) % 2 : r;
        places[r] = back[r] = 2 * r;
    }
    if (all)
        MPI_Alltoallv(at->out, counts, places, MPI_INT, at->in, counts, back, MPI_INT,
                      MPI_COMM_WORLD);
    else
        MPI_Gatherv(at->out, at->rank, MPI_INT, at->in, counts, places, MPI_INT, 1, at->other);
}

static void piece_run(struct here *at, int piece)
{
    MPI_Request request;
    int *block;
    switch (piece) {
    case 0:
        MPI_Sendrecv(at->out, 2, MPI_INT, at->right, 0, at->in, 2, MPI_INT, at->left, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        break;
    case 5:
        MPI_Allreduce(at->out, at->in, 2, MPI_INT, MPI_SUM, at->other);
        break;
    case 6:
        MPI_Bcast(at->in, 4, MPI_INT, 2, MPI_COMM_WORLD);
        break;
    case 7:
        MPI_Ibarrier(at->other, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        break;
    case 8:
    case 9:
        uneven(at, piece == 8);
        break;
    case 10:
        MPI_Startall(2, at->kept);
        MPI_Waitall(2, at->kept, MPI_STATUSES_IGNORE);
        break;
    case 11:
    case 12:
    case 13:
        to_the_first(at, piece == 12, piece == 13);
        break;
    case 14: /* two of them alone */
        if (at->rank < 2)
            MPI_Sendrecv_replace(at->in, 1, MPI_INT, 1 - at->rank, 3, 1 - at->rank, 3,
                                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        break;
    case 15: /* each time elsewhere */
        block = calloc(WORDS, sizeof *block);
        MPI_Allgather(at->out, 2, MPI_INT, block, 2, MPI_INT, MPI_COMM_WORLD);
        free(block);
        break;
    case 16: /* nobody else knows of it */
        if (at->rank == 1)
            MPI_Barrier(MPI_COMM_SELF);
        break;
    default:
        exchange(at, piece);
    }
}

/* What is told beside calls of MPI. */
static void tell_run(void)
{
    if (variant == NOTE || variant == CODE || variant == TEXT)
        record_note(variant == CODE ? "G007" : "G005", "a note%s", variant == TEXT ? "." : "");
    if (variant >= NODE && variant <= NODE_FORWARD)
        record_node("node", variant == NODE_KIND ? OP_IRECV : OP_ISEND, variant == NODE_PASS,
                    variant == NODE_FORWARD, NULL);
    if (variant == BATCH)
        record_batch_begin();
    if (variant == NAMED || variant == NAMED_ELSE)
        record_identity(variant == NAMED ? "one" : "other");
}

static void variant_run(struct here *at)
{
    int shares[RANKS] = {1 + (variant == SHARES), 2 - (variant == SHARES), 1},
        places[RANKS] = {0, 4, 8};
    int own[RANKS], back[RANKS] = {0, 4, 8};
    for (int i = 0; i < RANKS; i++)
        own[i] = shares[at->rank];
    MPI_Request request;
    int to = variant == PEER ? at->left : at->right, from = variant == PEER ? at->right : at->left;
    int count = 1 + (variant == COUNT), tag = variant == TAG;
    MPI_Datatype type = variant == TYPE ? MPI_FLOAT : MPI_INT;
    MPI_Comm comm = variant == COMM ? at->other : MPI_COMM_WORLD;
    if (variant == KIND)
        MPI_Issend(at->out, count, type, to, tag, comm, &request);
    else
        MPI_Isend(at->out, count, type, to, tag, comm, &request);
    MPI_Recv(at->in, WORDS, type, from, tag, comm, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Reduce(at->out, at->in, 1, MPI_INT, variant == REDUCTION ? MPI_MAX : MPI_SUM,
               variant == ROOT, MPI_COMM_WORLD);
    if (variant == ONCE_MORE && at->rank == 2)
        MPI_Barrier(MPI_COMM_SELF);
    tell_run();
    MPI_Alltoallv(at->out, shares, places, MPI_INT, at->in, own, back, MPI_INT, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 1; i < RANKS && variant >= ALIKE && !at->rank; i++)
        MPI_Recv(at->in, WORDS, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (variant == UNLIKE_NAME)
        record_identity(at->rank == 1 ? "one" : "other");
    if (variant >= ALIKE && at->rank)
        MPI_Send(at->out, variant == UNLIKE ? at->rank : 1,
                 variant == UNLIKE_TYPE && at->rank == 1 ? MPI_FLOAT : MPI_INT, 0, 1,
                 MPI_COMM_WORLD);
}

/* Calls of which one is another: in which thing. */
static void odd_run(struct here *at, enum odd odd)
{
    MPI_Request pair[2], more[2];
    int to = odd == ODD_PEER ? at->left : at->right, from = odd == ODD_PEER ? at->right : at->left;
    int count = 2 + (odd == ODD_COUNT), tag = 7 + (odd == ODD_TAG), ignored;
    int shares[RANKS] = {1 + (odd == ODD_SHARES), 2 - (odd == ODD_SHARES), 1},
        places[RANKS] = {0, 4, 8};
    int own[RANKS], back[RANKS] = {0, 4, 8};
    MPI_Datatype type = odd == ODD_TYPE ? MPI_FLOAT : MPI_INT;
    MPI_Comm comm = odd == ODD_COMM ? at->other : MPI_COMM_WORLD;
    for (int i = 0; i < RANKS; i++)
        own[i] = shares[at->rank];
    to = odd == ODD_NOBODY ? MPI_PROC_NULL : to;
    from = odd == ODD_NOBODY ? MPI_PROC_NULL : from;
    MPI_Irecv(at->in, count + (odd == ODD_ROOM), type, odd == ODD_WILD ? MPI_ANY_SOURCE : from,
              odd == ODD_ANY_TAG ? MPI_ANY_TAG : tag, comm, &pair[0]);
    if (odd == ODD_KIND)
        MPI_Issend(at->out, count, type, to, tag, comm, &pair[1]);
    else
        MPI_Isend(at->out, count, type, to, tag, comm, &pair[1]);
    for (int i = 0; i < 2; i++)
        MPI_Wait(&pair[odd == ODD_ORDER ? 1 - i : i], MPI_STATUS_IGNORE);
    bool turned = odd == ODD_WAITED;
    MPI_Irecv(at->in, 2, MPI_INT, at->left, 9, MPI_COMM_WORLD, &pair[turned]);
    MPI_Isend(at->out + 8 * (odd == ODD_MOVED), 2, MPI_INT, at->right, 9, MPI_COMM_WORLD,
              &pair[!turned]);
    MPI_Waitall(2, pair, MPI_STATUSES_IGNORE);
    MPI_Irecv(at->in + 16, 2, MPI_INT, at->left, 10, MPI_COMM_WORLD, &more[0]);
    MPI_Irecv(at->in + 32, 2, MPI_INT, at->left, 11, MPI_COMM_WORLD, &more[1]);
    for (int i = 0; i < 2; i++) { /* one message each time, so that nothing is chosen */
        MPI_Send(at->out + (i && odd == ODD_OVERLAP ? 1 : 4 * i), 2, MPI_INT, at->right,
                 10 + (odd == ODD_COMPLETED ? 1 - i : i), MPI_COMM_WORLD);
        MPI_Waitany(2, more, &ignored, MPI_STATUS_IGNORE);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Alltoallv(at->out, shares, places, MPI_INT, at->in, own, back, MPI_INT, MPI_COMM_WORLD);
    MPI_Reduce(at->out, at->in, 1, MPI_INT, odd == ODD_REDUCTION ? MPI_MAX : MPI_SUM,
               odd == ODD_ROOT, MPI_COMM_WORLD);
}

static void body(int rank)
{
    struct here at = {
        .rank = rank, .right = (rank + 1) % RANKS, .left = (rank + RANKS - 1) % RANKS};
    MPI_Comm_dup(MPI_COMM_WORLD, &at.other);
    MPI_Recv_init(at.in, 5, MPI_INT, at.left, 9, at.other, &at.kept[0]);
    MPI_Send_init(at.out, 4, MPI_INT, at.right, 9, at.other, &at.kept[1]);
    for (int i = 0; i < program.count; i++)
        for (int k = 0; k < program.loops[i].times; k++) {
            const struct loop *loop = &program.loops[i];
            bool here =
                k == loop->broken && (rank == i % RANKS || (loop->odd && loop->odd < ODD_ALONE));
            for (int p = 0; p < loop->count; p++)
                piece_run(&at, loop->pieces[p]);
            if (loop->odd)
                odd_run(&at, here ? (enum odd)loop->odd : ODD_NOT);
            else if (here)
                MPI_Barrier(MPI_COMM_SELF);
        }
    variant_run(&at);
    MPI_Request_free(&at.kept[0]);
    MPI_Request_free(&at.kept[1]);
    MPI_Comm_free(&at.other);
}

static int enter(void *context, int rank)
{
    (void)context;
    recording_rank_begin(recording);
    MPI_Init(NULL, NULL);
    body(rank);
    MPI_Finalize();
    return 0;
}

static struct trace *run(bool folded, uint64_t *conduct)
{
    struct failure failure = {0};
    struct sim_world_options options;
    sim_world_options_init(&options);
    options.ranks = RANKS;
    options.driver = choices ? SIM_CHOOSE_SEED : options.driver;
    options.seed = choices;
    recording = recording_new(RANKS, RECORD_LEVEL_OPS, &failure);
    if (folded)
        recording_fold(recording);
    struct sim_world *world = sim_world_new(&options, NULL);
    struct recording_result result = {.program = "test", .model = "eager"};
    result.outcome = sim_world_run(world, enter, NULL);
    for (uint32_t r = 0; r < RANKS; r++)
        recording_rank_end(recording, r, sim_world_rank_state(world, (int)r), 0, NULL);
    sim_world_free(world);
    *conduct = recording_conduct(recording);
    struct trace *trace = recording_load(recording, &result, &failure);
    recording_free(recording);
    if (trace && trace_check(trace, &failure))
        return trace;
    tap_note("%s", failure.text);
    return NULL;
}

static struct program program_random(uint64_t seed)
{
    struct program made = {.count = 1 + (int)dice_below(&seed, 3)};
    for (int i = 0; i < made.count; i++) {
        struct loop *loop = &made.loops[i];
        loop->count = 1 + (int)dice_below(&seed, LONGEST);
        loop->times = 60 + (int)dice_below(&seed, 200);
        loop->broken = dice_below(&seed, 2) ? (int)dice_below(&seed, (uint32_t)loop->times) : -1;
        for (int p = 0; p < loop->count; p++)
            loop->pieces[p] = (int)dice_below(&seed, PIECES);
    }
    return made;
}

/* The operation of the full record that this one was. */
static const struct trace_op *original(const struct trace *folded, const struct trace *whole,
                                       uint32_t op)
{
    size_t at = whole->rank_begin[folded->ops[op].rank] + trace_op_number(folded, op);
    return at < whole->op_count ? &whole->ops[at] : NULL;
}

/* Ranks may have left out other iterations than their partners: it is one of the same line. */
static bool same_partner(const struct trace *folded, const struct trace *whole, uint32_t at)
{
    const struct trace_op *one = &folded->ops[at], *other = original(folded, whole, at);
    if (one->match == TRACE_NO || other->match == TRACE_NO)
        return one->match == other->match;
    const struct trace_op *partner = original(folded, whole, one->match);
    const struct trace_op *due = &whole->ops[other->match];
    return partner && partner->rank == due->rank && partner->kind == due->kind &&
           partner->tag == due->tag && partner->count == due->count &&
           partner->form->comm == due->form->comm && folded->ops[one->match].match == at;
}

static bool same_request(const struct trace *folded, const struct trace *whole, uint32_t one,
                         uint32_t other)
{
    if (one == TRACE_NO || other == TRACE_NO)
        return one == other;
    return original(folded, whole, one) == &whole->ops[other];
}

static uint64_t comm_id(const struct trace *trace, const struct trace_op *op)
{
    return op->form->comm < trace->comm_count ? trace->comms[op->form->comm].id : UINT64_MAX;
}

static bool same_op(const struct trace *folded, const struct trace *whole, uint32_t at)
{
    const struct trace_op *one = &folded->ops[at], *other = original(folded, whole, at);
    return other && one->rank == other->rank && one->kind == other->kind &&
           one->state == other->state && one->peer == other->peer && one->tag == other->tag &&
           trace_op_peer_matched(one) == trace_op_peer_matched(other) &&
           trace_op_tag_matched(one) == trace_op_tag_matched(other) && one->count == other->count &&
           trace_op_count_matched(one) == trace_op_count_matched(other) &&
           one->form->type == other->form->type && one->form->signature == other->form->signature &&
           comm_id(folded, one) == comm_id(whole, other) && same_partner(folded, whole, at) &&
           same_request(folded, whole, one->request, other->request) &&
           (op_kind_class(one->kind) != CLASS_COLLECTIVE ||
            trace_collective_number(folded, at) ==
                trace_collective_number(whole, (uint32_t)(other - whole->ops)));
}

/* ---- what was left out ---- */

static const struct trace_wait *first_wait(const struct trace *trace, uint32_t op)
{
    size_t low = 0, high = trace->wait_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (trace->waits[middle].wait < op)
            low = middle + 1;
        else
            high = middle;
    }
    return &trace->waits[low];
}

static bool same_waits(const struct trace *whole, uint32_t one, uint32_t other)
{
    const struct trace_wait *a = first_wait(whole, one), *b = first_wait(whole, other),
                            *end = whole->waits + whole->wait_count;
    for (; a < end && a->wait == one; a++, b++)
        if (b >= end || b->wait != other || a->start - one + other != b->start ||
            a->completed != b->completed)
            return false;
    return b >= end || b->wait != other;
}

static bool same_shares(const int64_t *one, const int64_t *other, uint32_t n)
{
    return !one == !other && (!one || memcmp(one, other, n * sizeof *one) == 0);
}

static bool same_counts(const struct trace *whole, uint32_t one, uint32_t other)
{
    const struct trace_counts *a = trace_op_counts(whole, one), *b = trace_op_counts(whole, other);
    return !a == !b && (!a || (a->n == b->n && same_shares(a->send, b->send, a->n) &&
                               same_shares(a->receive, b->receive, a->n)));
}

static bool overlap(const struct trace *whole, uint32_t one, uint32_t other)
{
    struct trace_place a = trace_op_place(whole, &whole->ops[one]),
                       b = trace_op_place(whole, &whole->ops[other]);
    return a.extent && b.extent && a.buffer < b.buffer + b.extent && b.buffer < a.buffer + a.extent;
}

static bool same_partners(const struct trace *whole, uint32_t one, uint32_t other)
{
    if (one == TRACE_NO || other == TRACE_NO)
        return one == other;
    const struct trace_op *a = &whole->ops[one], *b = &whole->ops[other];
    return a->rank == b->rank && a->kind == b->kind && a->count == b->count;
}

/* Both are the k-th of an iteration of `body` operations: nothing a trace tells of them but when they ran is another. */
static bool alike(const struct trace *whole, uint32_t one, uint32_t other, uint32_t k)
{
    const struct trace_op *a = &whole->ops[one], *b = &whole->ops[other];
    const struct trace_form *f = a->form, *g = b->form;
    bool good = a->rank == b->rank && a->kind == b->kind && a->state == b->state &&
                a->flags == b->flags && a->peer == b->peer && a->tag == b->tag &&
                a->count == b->count && f->comm == g->comm && f->type == g->type &&
                f->signature == g->signature && f->reduce_op == g->reduce_op &&
                f->site == g->site && f->error == g->error && f->thread == g->thread &&
                trace_op_peer_matched(a) == trace_op_peer_matched(b) &&
                trace_op_tag_matched(a) == trace_op_tag_matched(b) &&
                trace_op_count_matched(a) == trace_op_count_matched(b) &&
                same_partners(whole, a->match, b->match) && same_waits(whole, one, other) &&
                same_counts(whole, one, other);
    if (a->request == TRACE_NO || b->request == TRACE_NO)
        good = good && a->request == b->request;
    else
        good = good && a->request - one == b->request - other;
    for (uint32_t i = 1; i <= k; i++)
        good = good && overlap(whole, one, one - i) == overlap(whole, other, other - i);
    return good;
}

static int count_unlike(const struct trace *folded, const struct trace *whole)
{
    int unlike = 0;
    for (size_t i = 0; i < folded->fold_count; i++) {
        const struct trace_fold *fold = &folded->folds[i];
        uint64_t last =
            whole->rank_begin[folded->ops[fold->op].rank] + trace_op_number(folded, fold->op);
        for (uint64_t n = 0; n < fold->times * fold->body; n++) {
            uint64_t of = n % fold->body;
            unlike += !alike(whole, (uint32_t)(last + 1 + n),
                             (uint32_t)(last - fold->body + 1 + of), (uint32_t)of);
        }
    }
    return unlike;
}

static void compare(int number, const struct trace *folded, const struct trace *whole)
{
    tap_is_int(count_unlike(folded, whole), 0, "program %d: what was left out is alike", number);
    uint32_t wrong = 0, first = 0;
    for (uint32_t i = 0; i < folded->op_count; i++)
        if (!same_op(folded, whole, i) && !wrong++)
            first = i;
    uint32_t here = 0, astray = 0; /* each is the next one that is left, or was left out */
    for (uint32_t i = 0; i < whole->op_count; i++) {
        uint32_t rank = whole->ops[i].rank;
        uint32_t at = trace_op_by_number(folded, rank, i - whole->rank_begin[rank]);
        astray += at != TRACE_NO && at != here;
        here += at == here;
    }
    astray += here != folded->op_count;
    tap_is_int(astray, 0, "program %d: and each is found by its number", number);
    for (uint32_t r = 0; r < RANKS; r++)
        tap_ok(trace_op_by_number(folded, r, whole->rank_begin[r + 1] - whole->rank_begin[r]) ==
                   TRACE_NO,
               "program %d: rank %u has no more", number, r);
    if (wrong)
        tap_note("program %d: operation %u of rank %u, the %llu-th", number, first,
                 folded->ops[first].rank, (unsigned long long)trace_op_number(folded, first));
    tap_is_int(wrong, 0, "program %d: what is left are operations of the whole run", number);
    bool sums = true;
    for (uint32_t r = 0; r < RANKS; r++)
        sums = sums && folded->rank_info[r].messages_sent == whole->rank_info[r].messages_sent &&
               folded->rank_info[r].bytes_sent == whole->rank_info[r].bytes_sent;
    tap_ok(folded->op_count + trace_folded_ops(folded) == whole->op_count && sums,
           "program %d: and with those left out as many, %zu + %llu", number, folded->op_count,
           (unsigned long long)trace_folded_ops(folded));
}

static uint64_t conduct_of(enum variant which, uint64_t seed)
{
    uint64_t conduct;
    variant = which;
    choices = seed;
    trace_free(run(true, &conduct));
    variant = USUAL;
    choices = 0;
    return conduct;
}

static void conducts_differ(void)
{
    uint64_t conducts[VARIANTS];
    bool alike = true, unlike[UNLIKE_LAST - UNLIKE + 1] = {false};
    program = (struct program){.count = 1, .loops = {{{0, 5, 6}, 3, 100, -1, 0}}};
    for (int i = 0; i < VARIANTS; i++) {
        conducts[i] = conduct_of((enum variant)i, 0);
        for (int k = 0; k < i; k++)
            tap_ok(conducts[i] != conducts[k], "changes %d and %d are two conducts", k, i);
        tap_ok(conduct_of((enum variant)i, 0) == conducts[i], "change %d is one", i);
    }
    program.count = 0; /* whose messages to the first rank are longer */
    uint64_t first[UNLIKE_LAST + 1 - ALIKE];
    for (uint64_t seed = 1; seed < 9; seed++)
        for (int i = ALIKE; i <= UNLIKE_LAST; i++) {
            uint64_t conduct = conduct_of((enum variant)i, seed);
            if (seed == 1)
                first[i - ALIKE] = conduct;
            else if (i == ALIKE)
                alike = alike && conduct == first[0];
            else
                unlike[i - UNLIKE] |= conduct != first[i - ALIKE];
        }
    tap_ok(alike, "whose message a wildcard took is no part of it, where messages are alike");
    for (int i = UNLIKE; i <= UNLIKE_LAST; i++)
        tap_ok(unlike[i - UNLIKE], "where they are not it is: case %d", i - UNLIKE);
    program.count = 1;
    program.loops[0].times++;
    tap_ok(conduct_of(USUAL, 0) != conducts[USUAL], "nor is one iteration more the same");
}

/* A loop with one iteration that is another stays as two, with that one between them. */
static void odd_ones(void)
{
    for (int odd = 1; odd < ODD_CASES; odd++) {
        uint64_t conduct;
        if (!dice_takes((unsigned long long)odd))
            continue;
        program = (struct program){.count = 2,
                                   .loops = {{{15}, 1, 90, 70, odd}, {{5, 15}, 2, 70, 50, odd}}};
        struct trace *whole = run(false, &conduct), *folded = run(true, &conduct);
        if (tap_ok(whole && folded && folded->fold_count, "change %d is recorded", odd))
            compare(odd, folded, whole);
        trace_free(whole);
        trace_free(folded);
    }
}

int main(void)
{
    enum { PROGRAMS = 40 };
    size_t left_out = 0, ops = 0;
    for (int number = 0; number < PROGRAMS; number++) {
        uint64_t one, again, other;
        if (!dice_takes((unsigned long long)number))
            continue;
        program = program_random((uint64_t)number * 7919 + 1);
        struct trace *whole = run(false, &other), *folded = run(true, &one);
        trace_free(run(true, &again));
        if (tap_ok(whole && folded && !whole->fold_count, "program %d is recorded", number))
            compare(number, folded, whole);
        tap_ok(one == again, "program %d: two runs are the same conduct", number);
        left_out += folded ? trace_folded_ops(folded) : 0;
        ops += whole ? whole->op_count : 0;
        trace_free(whole);
        trace_free(folded);
    }
    odd_ones();
    if (dice_takes(PROGRAMS))
        conducts_differ();
    tap_ok(10 * left_out > 7 * ops || dice_part().of > 1, "much is left out: %zu of %zu operations",
           left_out, ops);
    return tap_done();
}

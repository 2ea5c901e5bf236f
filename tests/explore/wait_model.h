/* Random hangs, and a second reading of who waits for whom in them: ranks send, or receive from one rank or from any of a communicator,
 * wait for one or for all of several such requests, of which some are over or two halves of one, stand in a collective call or in Finalize,
 * stand in a call of a window for one rank or for those who have its lock, have ended or still run. A table of who may release whom is closed by brute force. */
#ifndef TESTS_EXPLORE_WAIT_MODEL_H
#define TESTS_EXPLORE_WAIT_MODEL_H

#include "tests/checker/check_program.h"

enum { RANKS_MOST = 9, REQUESTS_MOST = 4, COMMS = 4, FAR = 1 << 20 };
enum { ALWAYS = 1 << 30 }; /* among ranks: somebody who serves at once */

static unsigned seed;

static inline unsigned draw(unsigned n)
{
    seed = seed * 1103515245u + 12345u;
    return (seed >> 16) % n;
}

enum stance { RUNS, ENDED, STUCK, RECEIVES, COLLECTS, FINALIZES, WAITS_ALL, WAITS_ANY };

/* What one rank does: each need is of any of a set of ranks, a bit each, and of one more where two halves are one request. */
struct model_rank {
    enum stance stance;
    unsigned count, sets[RANKS_MOST], second[RANKS_MOST];
    int far[RANKS_MOST], second_far[RANKS_MOST]; /* steps to one of them */
    unsigned comm, root;                         /* of a collective call, or a lock's */
    bool from_root, ahead; /* it stands in the next but one call: the next did not wait for all */
    enum op_kind window;   /* the call of a window in which it stands; OP_NONE */
};

struct model {
    uint32_t ranks;
    unsigned members[COMMS]; /* a bit each */
    uint32_t comms[COMMS];
    unsigned before[COMMS];  /* collective calls that all of them have made */
    unsigned holders[COMMS]; /* of its one lock */
    struct model_rank of[RANKS_MOST];
    bool alike;   /* collective calls are of one communicator, kind and place */
    bool at_work; /* time ran out while one of them ran: what stands for no reason may go on */
};

static inline void add_comms(struct model *model, struct program *p)
{
    uint32_t *comms = model->comms;
    comms[0] = p->world;
    model->members[0] = (1u << model->ranks) - 1;
    for (unsigned i = 1; i < COMMS; i++) {
        int32_t list[RANKS_MOST];
        uint32_t size = 0;
        model->members[i] = 0;
        for (uint32_t rank = 0; rank < model->ranks; rank++)
            if (draw(3) || (size == 0 && rank + 1 == model->ranks)) {
                list[size++] = (int32_t)rank;
                model->members[i] |= 1u << rank;
            }
        comms[i] = program_comm(p, size, list);
    }
    for (unsigned i = 0; i < COMMS; i++)
        model->before[i] = draw(3);
}

/* A send or receive, and whom it waits for. */
static inline uint32_t add_message(struct model *model, struct program *p, const uint32_t *comms,
                                   uint32_t rank, enum op_kind kind, unsigned *set, int *far)
{
    struct model_rank *me = &model->of[rank];
    bool request = kind == OP_IRECV || kind == OP_ISEND;
    struct trace_plain_op op = program_op(p, rank, kind, 1 + 9 * (int)draw(2));
    unsigned comm = draw(COMMS);
    while (!(model->members[comm] >> rank & 1))
        comm = draw(COMMS);
    bool any = kind != OP_ISEND && kind != OP_SEND && draw(3) > 0;
    op.comm = comms[comm];
    op.tag = 1 + (int)comm; /* of sends; on its communicator none is met, on another one some fit */
    if (kind != OP_ISEND && kind != OP_SEND)
        op.tag = draw(2) ? 0 : 1 + (int)((comm + 1 + draw(COMMS - 1)) % COMMS);
    op.state = request ? STATE_POSTED : STATE_BLOCKED;
    op.peer = TRACE_ANY;
    *far = 1 + request + any;
    *set = model->members[comm] & ~(1u << rank);
    if (!*set) /* who is alone waits for itself */
        *set = 1u << rank;
    if (!any) {
        unsigned peer = draw(model->ranks);
        op.peer = (int)peer;
        *set = 1u << peer;
    }
    if (!any && request && draw(6) == 0) { /* to or from nobody */
        op.peer = TRACE_NONE;
        *set = ALWAYS;
    }
    if (me->stance == RECEIVES && !any &&
        draw(12) == 0) { /* such a call stands for no reason that one sees */
        op.peer = TRACE_NONE;
        me->stance = STUCK;
    }
    return trace_add_op(p->trace, &op);
}

/* Somebody's call, or a lock that others have: see need_holders. */
static inline void add_window_call(struct model *model, struct program *p, uint32_t rank)
{
    static const enum op_kind kinds[] = {OP_WIN_START, OP_WIN_WAIT, OP_WIN_LOCK, OP_WIN_LOCK_ALL};
    struct model_rank *me = &model->of[rank];
    me->window = kinds[draw(4)];
    do
        me->comm = draw(COMMS);
    while (!(model->members[me->comm] >> rank & 1));
    struct trace_plain_op op = program_op(p, rank, me->window, 6);
    unsigned peer = me->window == OP_WIN_LOCK ? 0 : draw(model->ranks);
    op.comm = model->comms[me->comm];
    op.peer = me->window == OP_WIN_LOCK_ALL ? TRACE_NONE : (int)peer;
    op.state = STATE_BLOCKED;
    me->count = 1;
    me->sets[0] = 1u << peer;
    me->far[0] = 1;
    trace_add_op(p->trace, &op);
}

/* Requests of a wait: some are complete, some are two halves. */
static inline size_t add_requests(struct model *model, struct program *p, const uint32_t *comms,
                                  uint32_t rank, uint32_t *starts)
{
    struct model_rank *me = &model->of[rank];
    unsigned wanted = 1 + draw(REQUESTS_MOST);
    size_t count = 0;
    me->count = 0;
    for (unsigned i = 0; i < wanted; i++) {
        unsigned set[2] = {0}, halves = draw(5) == 0 ? 2 : 1;
        int far[2] = {0};
        bool over = draw(6) == 0;
        for (unsigned half = 0; half < halves; half++) {
            bool sends = halves == 2 ? !half : draw(3) == 0;
            uint32_t start = add_message(model, p, comms, rank, sends ? OP_ISEND : OP_IRECV,
                                         &set[half], &far[half]);
            p->trace->ops[start].flags |=
                halves == 2 ? OP_COMPOUND | OP_NONBLOCKING : OP_NONBLOCKING;
            if (over)
                p->trace->ops[start].state = STATE_COMPLETE;
            starts[count++] = start;
        }
        if (over)
            continue;
        me->sets[me->count] = set[0];
        me->far[me->count] = far[0];
        me->second[me->count] = 0;
        if (halves == 2 && me->stance == WAITS_ALL) { /* both are needed: no more than that */
            me->sets[++me->count] = set[1];
            me->far[me->count] = far[1];
            me->second[me->count] = 0;
        } else if (halves == 2) { /* one request, which both of them are behind */
            me->second[me->count] = set[1];
            me->far[me->count] = far[0] + 1;
            me->second_far[me->count] = far[1] + 1;
        }
        me->count++;
    }
    if (me->stance == WAITS_ANY && count == 2 && me->second[0]) { /* alone it is no choice */
        me->far[0]--;
        me->second_far[0]--;
    }
    if (!me->count) /* what is complete does not say why it stands */
        me->stance = STUCK;
    return count;
}

static inline void add_rank(struct model *model, struct program *p, uint32_t rank)
{
    static const enum stance stances[] = {RUNS,      ENDED,     ENDED,     RECEIVES,  RECEIVES,
                                          RECEIVES,  RECEIVES,  COLLECTS,  COLLECTS,  COLLECTS,
                                          WAITS_ALL, WAITS_ALL, WAITS_ALL, WAITS_ANY, WAITS_ANY};
    static const enum op_kind calls[] = {OP_RECV, OP_RECV, OP_SEND, OP_PROBE};
    static const enum op_kind collectives[] = {OP_BARRIER, OP_ALLREDUCE, OP_REDUCE, OP_BCAST,
                                               OP_SCATTER};
    const uint32_t *comms = model->comms;
    struct model_rank *me = &model->of[rank];
    uint32_t starts[2 * REQUESTS_MOST];
    for (unsigned i = 0; i < COMMS; i++)
        for (unsigned call = 0; model->members[i] >> rank & 1 && call < model->before[i]; call++)
            program_collective(p, rank, OP_BARRIER, comms[i], call, 2);
    for (unsigned i = 0; i < COMMS; i++) {
        struct trace_plain_op lock =
            program_op(p, rank, draw(2) ? OP_WIN_LOCK : OP_WIN_LOCK_ALL, 8);
        lock.comm = comms[i];
        lock.peer = lock.kind == OP_WIN_LOCK ? 0 : TRACE_NONE;
        if (!(model->members[i] >> rank & 1) || draw(4))
            continue;
        model->holders[i] |= 1u << rank;
        trace_add_op(p->trace, &lock);
    }
    static const enum rank_state ends[] = {RANK_FINISHED, RANK_CRASHED, RANK_ABORTED};
    me->stance = draw(14) ? stances[draw(15)] : FINALIZES;
    enum rank_state *state = &p->trace->rank_info[rank].state;
    *state = me->stance == RUNS ? RANK_RUNNING : me->stance == ENDED ? ends[draw(3)] : RANK_BLOCKED;
    if ((*state == RANK_ABORTED || *state == RANK_CRASHED) && draw(2)) {
        uint32_t op = program_p2p(p, rank, OP_RECV, TRACE_ANY, 0, 5); /* which it never left */
        p->trace->ops[op].state = STATE_BLOCKED;
    }
    if (me->stance == RECEIVES && draw(6) == 0) {
        add_window_call(model, p, rank);
    } else if (me->stance == RECEIVES) {
        me->count = 1;
        add_message(model, p, comms, rank, calls[draw(4)], &me->sets[0], &me->far[0]);
    } else if (me->stance == COLLECTS) {
        enum op_kind kind = collectives[model->alike ? 2 : draw(5)];
        do
            me->comm = model->alike ? 0 : draw(COMMS);
        while (!(model->members[me->comm] >> rank & 1));
        do
            me->root = draw(model->ranks);
        while (!(model->members[me->comm] >> me->root & 1));
        me->from_root = kind == OP_BCAST || kind == OP_SCATTER;
        uint32_t seq = model->before[me->comm];
        me->ahead = draw(3) == 0;
        if (me->ahead)
            program_collective(p, rank, OP_REDUCE, comms[me->comm], seq++, 7);
        uint32_t op = program_collective(p, rank, kind, comms[me->comm], seq,
                                         model->alike ? 3 : 3 + 8 * (int)draw(2));
        p->trace->ops[op].state = STATE_BLOCKED;
        p->trace->ops[op].peer = (int)me->root;
    } else if (me->stance == FINALIZES) {
        uint32_t op = program_collective(p, rank, OP_FINALIZE, comms[0], 0, 4);
        p->trace->ops[op].state = STATE_BLOCKED;
    } else if (me->stance >= WAITS_ALL) {
        enum op_kind kind = me->stance == WAITS_ALL ? OP_WAITALL
                            : draw(2)               ? OP_WAITANY
                                                    : OP_WAITSOME;
        size_t count = add_requests(model, p, comms, rank, starts);
        struct trace_plain_op wait = program_op(p, rank, kind, 9);
        wait.comm = TRACE_NO;
        wait.state = STATE_BLOCKED;
        uint32_t at = trace_add_op(p->trace, &wait);
        for (size_t i = 0; i < count; i++)
            trace_add_wait(p->trace, at, starts[i], false);
    }
}

/* Who stands for a lock waits for all others that have it; where nobody has, for no reason. */
static inline void need_holders(struct model *model)
{
    for (uint32_t rank = 0; rank < model->ranks; rank++) {
        struct model_rank *me = &model->of[rank];
        if (me->window != OP_WIN_LOCK && me->window != OP_WIN_LOCK_ALL)
            continue;
        me->count = 0;
        for (uint32_t other = 0; other < model->ranks; other++)
            if (other != rank && model->holders[me->comm] >> other & 1) {
                me->far[me->count] = 1;
                me->sets[me->count++] = 1u << other;
            }
        if (!me->count)
            me->stance = STUCK;
    }
}

/* Of collective calls: the root that did not come, where its data is what is waited for, else all who did not come. */
static inline void need_absent(struct model *model)
{
    for (uint32_t rank = 0; rank < model->ranks; rank++) {
        struct model_rank *me = &model->of[rank];
        if (me->stance != COLLECTS && me->stance != FINALIZES)
            continue;
        unsigned absent = me->stance == FINALIZES ? model->members[0] : model->members[me->comm];
        for (uint32_t other = 0; other < model->ranks; other++)
            if (model->of[other].stance == me->stance &&
                (me->stance == FINALIZES ||
                 (model->of[other].comm == me->comm && model->of[other].ahead >= me->ahead)))
                absent &= ~(1u << other);
        me->count = 0;
        bool root_missing = me->stance == COLLECTS && me->from_root && absent >> me->root & 1;
        for (uint32_t other = 0; other < model->ranks; other++)
            if (absent >> other & 1 && (!root_missing || other == me->root)) {
                me->far[me->count] = root_missing ? 1 : 2;
                me->sets[me->count++] = 1u << other;
            }
        if (!me->count) /* all are there: the call itself stands */
            me->sets[me->count++] = 0;
    }
}

/* ---- the second reading ---- */

static inline bool may_go(const struct model_rank *me, unsigned going)
{
    unsigned served = 0;
    for (unsigned i = 0; i < me->count; i++)
        served += (me->sets[i] & going) && (!me->second[i] || me->second[i] & going);
    return me->stance == WAITS_ANY ? served > 0 : served == me->count;
}

static inline unsigned who_goes(const struct model *model)
{
    unsigned going = ALWAYS, before;
    for (uint32_t rank = 0; rank < model->ranks; rank++)
        if (model->of[rank].stance == RUNS || (model->of[rank].stance == STUCK && model->at_work))
            going |= 1u << rank;
    do {
        before = going;
        for (uint32_t rank = 0; rank < model->ranks; rank++)
            if (model->of[rank].stance >= RECEIVES && may_go(&model->of[rank], going))
                going |= 1u << rank;
    } while (going != before);
    return going;
}

/* In steps of the graph: the request of a wait is one of its own, and so is a receive from any source. */
static inline int steps(const struct model_rank *me, uint32_t to)
{
    int best = FAR;
    for (unsigned i = 0; me->stance >= RECEIVES && i < me->count; i++) {
        if (me->sets[i] >> to & 1 && me->far[i] < best)
            best = me->far[i];
        if (me->second[i] >> to & 1 && me->second_far[i] < best)
            best = me->second_far[i];
    }
    return best;
}

struct reading {
    unsigned goes;
    int distance[RANKS_MOST][RANKS_MOST]; /* among those that stand; of one to itself: a cycle */
};

/* What will be served is not what somebody stands for. */
static inline void forget_served(struct model *model, unsigned going)
{
    for (uint32_t rank = 0; rank < model->ranks; rank++) {
        struct model_rank *me = &model->of[rank];
        unsigned left = 0;
        for (unsigned i = 0; i < me->count; i++)
            if (!(me->sets[i] & going) || (me->second[i] && !(me->second[i] & going))) {
                bool first = !(me->sets[i] & going); /* else only the other half stands */
                unsigned second = me->second[i] & going ? 0 : me->second[i];
                me->sets[left] = first ? me->sets[i] : second;
                me->far[left] = first ? me->far[i] : me->second_far[i];
                me->second_far[left] = me->second_far[i];
                me->second[left++] = first ? second : 0;
            }
        me->count = left;
    }
}

static inline void read_model(struct model *model, struct reading *reading)
{
    reading->goes = who_goes(model);
    forget_served(model, reading->goes);
    unsigned stands = ~reading->goes;
    for (uint32_t a = 0; a < model->ranks; a++)
        for (uint32_t b = 0; b < model->ranks; b++)
            reading->distance[a][b] = stands >> a & stands >> b & 1 ? steps(&model->of[a], b) : FAR;
    for (uint32_t via = 0; via < model->ranks; via++)
        for (uint32_t a = 0; a < model->ranks; a++)
            for (uint32_t b = 0; b < model->ranks; b++) {
                int length = reading->distance[a][via] + reading->distance[via][b];
                if (length < reading->distance[a][b])
                    reading->distance[a][b] = length;
            }
}

static inline bool is_sink(const struct model *model, const struct reading *reading, uint32_t rank)
{
    for (uint32_t a = 0; a < model->ranks; a++) {
        if (a != rank && reading->distance[rank][a] >= FAR)
            continue;
        for (unsigned i = 0; model->of[a].stance >= RECEIVES && i < model->of[a].count; i++)
            if (!model->of[a].sets[i])
                return false; /* the request itself is what stands for ever */
        if (a != rank && reading->distance[a][rank] >= FAR)
            return false;
    }
    return true;
}

static inline int shortest(const struct model *model, const struct reading *reading, uint32_t rank)
{
    int best = reading->distance[rank][rank];
    for (uint32_t a = 0; a < model->ranks; a++)
        if (reading->distance[rank][a] < FAR && reading->distance[a][rank] < FAR &&
            reading->distance[a][a] < best)
            best = reading->distance[a][a];
    return best < FAR ? best : 0;
}

/* The random hang of this number, and its program so far. */
static inline struct program model_draw(struct model *model, unsigned number)
{
    seed = number * 2654435761u;
    *model = (struct model){.ranks = 1 + draw(RANKS_MOST), .alike = draw(4) == 0};
    struct program p = program_new(model->ranks);
    add_comms(model, &p);
    for (uint32_t rank = 0; rank < model->ranks; rank++)
        add_rank(model, &p, rank);
    need_absent(model);
    need_holders(model);
    return p;
}

#endif

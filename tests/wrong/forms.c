/* forms SEED FORM COLLECTIVES TYPES WORLD SOURCES [told]: a random program of messages, exchanges, groups of them and collectives, with a
 * mistake of one rank in most. The seed says what is called; the other words, by which calls:
 *
 *   FORM         plain, mixed: each message blocking, nonblocking, persistent, by a probe, with large counts, and waited for in some way
 *   COLLECTIVES  plain, started, persistent, big, vector
 *   TYPES        named, contiguous, struct, dup: derived ones that are one element each
 *   WORLD        world, mirror, rotate; idle: one rank more, which does nothing; both: two worlds of half the ranks; twice
 *   SOURCES      shared: a tag for several messages, wildcards; unique: a tag for each; any: the same, received from any source
 *
 * 'told' prints the program. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EVENTS = 8, MESSAGES = 4, RANKS = 5 };
enum {
    MESSAGE,
    RING,
    GROUP,
    BARRIER,
    BCAST,
    REDUCE,
    ALLREDUCE,
    GATHER,
    SCATTER,
    ALLGATHER,
    ALLTOALL,
    SCAN,
    SPREAD,
    KINDS
};
enum { NONE, TAG, TYPE, MORE, DROP, SWAP, ROOT, OP, PEER, TWICE, MISTAKES };
struct message {
    int from, to, tag, any, any_tag;
};
struct event {
    int kind, half, tag, count, type, root, op, mode, messages;
    struct message list[MESSAGES];
};
static struct event events[EVENTS];
static int count_events, size, rank, order[EVENTS], wrong_rank, wrong_event, mistake;
static MPI_Comm world, half;
static unsigned long long state, form_seed;
static const char *form, *collective, *kind_of_type, *sources;
static long long sum;
static int ints[4096];
static double doubles[4096];
static int used;

static int draw(int below)
{
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (int)((state >> 33) % (unsigned)below);
}
/* The form of this call: the one asked for, or another at each call. */
static int choose(int forms)
{
    if (!strcmp(form, "plain"))
        return 0;
    form_seed = form_seed * 6364136223846793005ull + 1442695040888963407ull;
    return (int)((form_seed >> 33) % (unsigned)forms);
}
static void *room(int type, int count)
{
    void *at = type ? (void *)&doubles[used] : (void *)&ints[used];
    used += count;
    if (used > 4096)
        abort();
    return at;
}
static void fill(void *at, int type, int count, int what)
{
    for (int i = 0; i < count; i++)
        if (type)
            ((double *)at)[i] = what + i;
        else
            ((int *)at)[i] = what + i;
}
static void look(const void *at, int type, int count)
{
    for (int i = 0; i < count; i++)
        sum = (sum * 31 + (type ? (long long)((const double *)at)[i] : ((const int *)at)[i])) %
              1000003;
}
static MPI_Datatype made[2];
static MPI_Datatype type_of(int type)
{
    MPI_Datatype base = type ? MPI_DOUBLE : MPI_INT;
    if (!strcmp(kind_of_type, "named"))
        return base;
    if (made[type] == MPI_DATATYPE_NULL) {
        if (!strcmp(kind_of_type, "contiguous"))
            MPI_Type_contiguous(1, base, &made[type]);
        else if (!strcmp(kind_of_type, "struct"))
            MPI_Type_create_struct(1, (int[]){1}, (MPI_Aint[]){0}, (MPI_Datatype[]){base},
                                   &made[type]);
        else
            MPI_Type_dup(base, &made[type]);
        MPI_Type_commit(&made[type]);
    }
    return made[type];
}
static void start_send(int persistent, int mode, void *at, int count, int type, int to, int tag,
                       MPI_Comm comm, MPI_Request *request)
{
    MPI_Datatype t = type_of(type);
    if (persistent && mode)
        MPI_Ssend_init(at, count, t, to, tag, comm, request);
    else if (persistent)
        MPI_Send_init(at, count, t, to, tag, comm, request);
    else if (mode)
        MPI_Issend(at, count, t, to, tag, comm, request);
    else
        MPI_Isend(at, count, t, to, tag, comm, request);
}
static void await(MPI_Request *request)
{
    int index, some;
    switch (choose(4)) {
    case 0:
        MPI_Wait(request, MPI_STATUS_IGNORE);
        break;
    case 1:
        MPI_Waitall(1, request, MPI_STATUSES_IGNORE);
        break;
    case 2:
        MPI_Waitany(1, request, &index, MPI_STATUS_IGNORE);
        break;
    default:
        MPI_Waitsome(1, request, &some, &index, MPI_STATUSES_IGNORE);
    }
}
static void do_send(int mode, void *at, int count, int type, int to, int tag, MPI_Comm comm)
{
    MPI_Request request;
    MPI_Datatype t = type_of(type);
    switch (choose(5)) {
    case 0:
        if (mode)
            MPI_Ssend(at, count, t, to, tag, comm);
        else
            MPI_Send(at, count, t, to, tag, comm);
        break;
    case 1:
        start_send(0, mode, at, count, type, to, tag, comm, &request);
        await(&request);
        break;
    case 2:
        start_send(1, mode, at, count, type, to, tag, comm, &request);
        MPI_Start(&request);
        await(&request);
        MPI_Request_free(&request);
        break;
    case 3:
        if (mode)
            MPI_Ssend_c(at, count, t, to, tag, comm);
        else
            MPI_Sendrecv(at, count, t, to, tag, NULL, 0, MPI_INT, MPI_PROC_NULL, 0, comm,
                         MPI_STATUS_IGNORE);
        break;
    default:
        if (mode)
            MPI_Issend_c(at, count, t, to, tag, comm, &request);
        else
            MPI_Isendrecv(at, count, t, to, tag, NULL, 0, MPI_INT, MPI_PROC_NULL, 0, comm,
                          &request);
        await(&request);
    }
}
static void do_receive(void *at, int count, int type, int from, int tag, MPI_Comm comm)
{
    MPI_Request request;
    MPI_Message message;
    MPI_Status status;
    MPI_Datatype t = type_of(type);
    switch (choose(8)) {
    case 0:
        MPI_Recv(at, count, t, from, tag, comm, &status);
        break;
    case 1:
        MPI_Irecv(at, count, t, from, tag, comm, &request);
        await(&request);
        break;
    case 2:
        MPI_Recv_init(at, count, t, from, tag, comm, &request);
        MPI_Start(&request);
        await(&request);
        MPI_Request_free(&request);
        break;
    case 3:
        MPI_Mprobe(from, tag, comm, &message, &status);
        MPI_Mrecv(at, count, t, &message, &status);
        break;
    case 4:
        MPI_Probe(from, tag, comm, &status);
        MPI_Recv(at, count, t, status.MPI_SOURCE, status.MPI_TAG, comm, &status);
        break;
    case 5:
        MPI_Sendrecv(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, at, count, t, from, tag, comm, &status);
        break;
    case 6:
        MPI_Mprobe(from, tag, comm, &message, &status);
        MPI_Imrecv(at, count, t, &message, &request);
        await(&request);
        break;
    default:
        MPI_Recv_c(at, count, t, from, tag, comm, &status);
    }
}
static void await_all(int count, MPI_Request *requests)
{
    int index = 0, some = 0, indices[2 * MESSAGES];
    switch (choose(5)) {
    case 0:
        MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
        break;
    case 1:
        for (int i = 0; i < count; i++)
            MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        break;
    case 2:
        for (int i = count; i-- > 0;)
            MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        break;
    case 3:
        for (int i = 0; i < count; i++)
            MPI_Waitany(count, requests, &index, MPI_STATUS_IGNORE);
        break;
    default:
        for (int i = 0; i < count; i += some)
            MPI_Waitsome(count, requests, &some, indices, MPI_STATUSES_IGNORE);
    }
}
static void do_exchange(void *out, void *in, int count, int more, int type, int in_type, int to,
                        int from, int tag, int in_tag, MPI_Comm comm)
{
    MPI_Request requests[2];
    MPI_Datatype t = type_of(type), u = type_of(in_type);
    switch (choose(7)) {
    case 0:
        MPI_Sendrecv(out, more, t, to, tag, in, count, u, from, in_tag, comm, MPI_STATUS_IGNORE);
        break;
    case 1:
        MPI_Irecv(in, count, u, from, in_tag, comm, &requests[0]);
        MPI_Isend(out, more, t, to, tag, comm, &requests[1]);
        await_all(2, requests);
        break;
    case 2:
        MPI_Irecv(in, count, u, from, in_tag, comm, &requests[0]);
        MPI_Send(out, more, t, to, tag, comm);
        await(&requests[0]);
        break;
    case 3:
        MPI_Isend(out, more, t, to, tag, comm, &requests[0]);
        MPI_Recv(in, count, u, from, in_tag, comm, MPI_STATUS_IGNORE);
        await(&requests[0]);
        break;
    case 4:
        MPI_Isendrecv(out, more, t, to, tag, in, count, u, from, in_tag, comm, &requests[0]);
        await(&requests[0]);
        break;
    case 5:
        MPI_Recv_init(in, count, u, from, in_tag, comm, &requests[0]);
        MPI_Send_init(out, more, t, to, tag, comm, &requests[1]);
        MPI_Startall(2, requests);
        await_all(2, requests);
        MPI_Request_free(&requests[0]);
        MPI_Request_free(&requests[1]);
        break;
    default:
        MPI_Sendrecv_c(out, more, t, to, tag, in, count, u, from, in_tag, comm, MPI_STATUS_IGNORE);
    }
}
static void finish(MPI_Request *request, int persistent)
{
    if (persistent)
        MPI_Start(request);
    await(request);
    if (persistent)
        MPI_Request_free(request);
}
static void do_collective(int kind, int n, int type, int root, MPI_Op op, MPI_Comm comm, int what)
{
    int me, all,
        how = !strcmp(collective, "started")      ? 1
              : !strcmp(collective, "persistent") ? 2
              : !strcmp(collective, "big")        ? 3
              : !strcmp(collective, "vector")     ? 4
                                                  : 0;
    int same[RANKS], at[RANKS];
    MPI_Request r;
    MPI_Info no = MPI_INFO_NULL;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &all);
    int reduces = kind == REDUCE || kind == ALLREDUCE || kind == SCAN || kind == SPREAD;
    MPI_Datatype t = reduces ? (type ? MPI_DOUBLE : MPI_INT) : type_of(type);
    void *s = room(type, n * RANKS), *d = room(type, n * RANKS);
    for (int i = 0; i < all; i++)
        same[i] = n, at[i] = i * n;
    fill(s, type, n * all, what);
    switch (kind) {
    case BARRIER:
        if (how == 1)
            MPI_Ibarrier(comm, &r);
        else if (how == 2)
            MPI_Barrier_init(comm, no, &r);
        else
            MPI_Barrier(comm);
        break;
    case BCAST:
        if (how == 1)
            MPI_Ibcast(s, n, t, root, comm, &r);
        else if (how == 2)
            MPI_Bcast_init(s, n, t, root, comm, no, &r);
        else if (how == 3)
            MPI_Bcast_c(s, n, t, root, comm);
        else
            MPI_Bcast(s, n, t, root, comm);
        break;
    case REDUCE:
        if (how == 1)
            MPI_Ireduce(s, d, n, t, op, root, comm, &r);
        else if (how == 2)
            MPI_Reduce_init(s, d, n, t, op, root, comm, no, &r);
        else if (how == 3)
            MPI_Reduce_c(s, d, n, t, op, root, comm);
        else
            MPI_Reduce(s, d, n, t, op, root, comm);
        break;
    case ALLREDUCE:
        if (how == 1)
            MPI_Iallreduce(s, d, n, t, op, comm, &r);
        else if (how == 2)
            MPI_Allreduce_init(s, d, n, t, op, comm, no, &r);
        else if (how == 3)
            MPI_Allreduce_c(s, d, n, t, op, comm);
        else
            MPI_Allreduce(s, d, n, t, op, comm);
        break;
    case GATHER:
        if (how == 1)
            MPI_Igather(s, n, t, d, n, t, root, comm, &r);
        else if (how == 2)
            MPI_Gather_init(s, n, t, d, n, t, root, comm, no, &r);
        else if (how == 3)
            MPI_Gather_c(s, n, t, d, n, t, root, comm);
        else if (how == 4)
            MPI_Gatherv(s, n, t, d, same, at, t, root, comm);
        else
            MPI_Gather(s, n, t, d, n, t, root, comm);
        break;
    case SCATTER:
        if (how == 1)
            MPI_Iscatter(s, n, t, d, n, t, root, comm, &r);
        else if (how == 2)
            MPI_Scatter_init(s, n, t, d, n, t, root, comm, no, &r);
        else if (how == 3)
            MPI_Scatter_c(s, n, t, d, n, t, root, comm);
        else if (how == 4)
            MPI_Scatterv(s, same, at, t, d, n, t, root, comm);
        else
            MPI_Scatter(s, n, t, d, n, t, root, comm);
        break;
    case ALLGATHER:
        if (how == 1)
            MPI_Iallgather(s, n, t, d, n, t, comm, &r);
        else if (how == 2)
            MPI_Allgather_init(s, n, t, d, n, t, comm, no, &r);
        else if (how == 3)
            MPI_Allgather_c(s, n, t, d, n, t, comm);
        else if (how == 4)
            MPI_Allgatherv(s, n, t, d, same, at, t, comm);
        else
            MPI_Allgather(s, n, t, d, n, t, comm);
        break;
    case ALLTOALL:
        if (how == 1)
            MPI_Ialltoall(s, n, t, d, n, t, comm, &r);
        else if (how == 2)
            MPI_Alltoall_init(s, n, t, d, n, t, comm, no, &r);
        else if (how == 3)
            MPI_Alltoall_c(s, n, t, d, n, t, comm);
        else if (how == 4)
            MPI_Alltoallv(s, same, at, t, d, same, at, t, comm);
        else
            MPI_Alltoall(s, n, t, d, n, t, comm);
        break;
    case SCAN:
        if (how == 1)
            MPI_Iscan(s, d, n, t, op, comm, &r);
        else if (how == 2)
            MPI_Scan_init(s, d, n, t, op, comm, no, &r);
        else if (how == 3)
            MPI_Scan_c(s, d, n, t, op, comm);
        else
            MPI_Scan(s, d, n, t, op, comm);
        break;
    default:
        if (how == 1)
            MPI_Ireduce_scatter_block(s, d, n, t, op, comm, &r);
        else if (how == 2)
            MPI_Reduce_scatter_block_init(s, d, n, t, op, comm, no, &r);
        else if (how == 3)
            MPI_Reduce_scatter_block_c(s, d, n, t, op, comm);
        else if (how == 4)
            MPI_Reduce_scatter(s, d, same, t, op, comm);
        else
            MPI_Reduce_scatter_block(s, d, n, t, op, comm);
    }
    if (how == 1 || how == 2)
        finish(&r, how == 2);
    look(kind == BCAST ? s : d, type, kind == BARRIER ? 0 : n);
}

static void run_event(int e, int bug)
{
    const struct event *event = &events[e];
    int in_half = event->half;
    MPI_Comm comm = in_half ? half : world;
    int unique = strcmp(sources, "shared") != 0, any = !strcmp(sources, "any");
    int tag = (unique ? 16 * e : event->tag) + (bug == TAG ? unique ? 1000 : 5 : 0),
        type = bug == TYPE ? !event->type : event->type, n = event->count + (bug == MORE);
    int root = bug == ROOT ? event->root + 1 : event->root, shift = bug == PEER && !unique;
    int members;
    MPI_Comm_size(comm, &members);
    root %= members;
    int times = bug == TWICE ? 2 : 1;
    if (bug == DROP)
        return;
    for (int time = 0; time < times; time++) {
        switch (event->kind) {
        case MESSAGE:
            for (int i = 0; i < event->messages; i++) {
                const struct message *m = &event->list[i];
                if (rank == m->from) {
                    void *at = room(type, n);
                    fill(at, type, n, 100 * e + 7 * i + rank);
                    do_send(event->mode, at, n, type, (m->to + shift) % size,
                            tag + (unique ? i : m->tag), world);
                } else if (rank == m->to) {
                    void *at = room(type, n);
                    fill(at, type, n, 0);
                    do_receive(at, n, type,
                               (unique ? any : m->any) ? MPI_ANY_SOURCE : (m->from + shift) % size,
                               m->any_tag && !unique ? MPI_ANY_TAG : tag + (unique ? i : m->tag),
                               world);
                    look(at, type, n);
                }
            }
            break;
        case RING: {
            void *out = room(type, n), *in = room(event->type, event->count);
            fill(out, type, n, 100 * e + rank);
            do_exchange(out, in, event->count, n, type, event->type, (rank + 1 + shift) % size,
                        any ? MPI_ANY_SOURCE : (rank + size - 1) % size, tag,
                        unique ? 16 * e : event->tag, world);
            look(in, event->type, event->count);
            break;
        }
        case GROUP: {
            MPI_Request requests[2 * MESSAGES];
            void *rooms[2 * MESSAGES];
            int count = 0, persistent = choose(2);
            for (int i = 0; i < event->messages; i++) {
                const struct message *m = &event->list[i];
                if (rank == m->to) {
                    void *at = rooms[count] = room(type, n);
                    fill(at, type, n, 0);
                    int from = (unique ? any : m->any) ? MPI_ANY_SOURCE : m->from,
                        own = unique ? i : m->tag;
                    if (persistent)
                        MPI_Recv_init(at, n, type_of(type), from, tag + own, world,
                                      &requests[count++]);
                    else
                        MPI_Irecv(at, n, type_of(type), from, tag + own, world, &requests[count++]);
                }
                if (rank == m->from) {
                    void *at = rooms[count] = room(type, n);
                    fill(at, type, n, 100 * e + 7 * i + rank);
                    start_send(persistent, event->mode, at, n, type, (m->to + shift) % size,
                               tag + (unique ? i : m->tag), world, &requests[count++]);
                }
            }
            if (persistent && count)
                MPI_Startall(count, requests);
            await_all(count, requests);
            for (int i = 0; persistent && i < count; i++)
                MPI_Request_free(&requests[i]);
            for (int i = 0; i < count; i++)
                look(rooms[i], type, n);
            break;
        }
        default:
            do_collective(event->kind, n, type, root, event->op ^ (bug == OP) ? MPI_SUM : MPI_MAX,
                          comm, 100 * e + rank);
        }
    }
}

static void make(unsigned long long seed)
{
    state = seed * 0x9e3779b97f4a7c15ull + 12345;
    draw(2);
    count_events = 2 + draw(EVENTS - 3);
    int wild = draw(2) == 0;
    for (int e = 0; e < count_events; e++) {
        struct event *event = &events[e];
        event->kind = draw(3) ? draw(3) : draw(KINDS);
        event->half = draw(4) == 0;
        event->tag = draw(3);
        event->count = 1 + draw(3);
        event->type = draw(2);
        event->root = draw(size);
        event->op = draw(2);
        event->mode = draw(4) == 0;
        event->messages = 1 + draw(MESSAGES);
        int sink = draw(size);
        for (int i = 0; i < MESSAGES; i++) {
            struct message *m = &event->list[i];
            m->from = draw(size);
            m->to = wild && draw(2) ? sink : draw(size);
            if (m->to == m->from)
                m->to = (m->from + 1) % size;
            m->tag = draw(2);
            m->any = wild && draw(2);
            m->any_tag = wild && draw(6) == 0;
        }
    }
    wrong_rank = draw(size);
    wrong_event = draw(count_events);
    mistake = draw(5) ? draw(MISTAKES) : NONE;
    for (int e = 0; e < EVENTS; e++)
        order[e] = e;
    if (mistake == SWAP && rank == wrong_rank && wrong_event + 1 < count_events) {
        order[wrong_event] = wrong_event + 1;
        order[wrong_event + 1] = wrong_event;
    }
}
static void body(void)
{
    used = 0;
    sum = 0;
    made[0] = made[1] = MPI_DATATYPE_NULL;
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    MPI_Comm_split(world, rank % 2, rank, &half);
    for (int i = 0; i < count_events; i++)
        run_event(order[i], rank == wrong_rank && order[i] == wrong_event ? mistake : NONE);
    for (int i = 0; i < 2; i++)
        if (made[i] != MPI_DATATYPE_NULL)
            MPI_Type_free(&made[i]);
    MPI_Comm_free(&half);
    printf("%d: %lld\n", rank, sum);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int me, all, idle = 0;
    form = argv[2];
    collective = argv[3];
    kind_of_type = argv[4];
    const char *view = argv[5];
    sources = argv[6];
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &all);
    form_seed = (strtoull(argv[1], NULL, 10) + (unsigned)me) * 0x9e3779b97f4a7c15ull;
    if (!strcmp(view, "world") || !strcmp(view, "twice"))
        MPI_Comm_dup(MPI_COMM_WORLD, &world);
    else if (!strcmp(view, "mirror"))
        MPI_Comm_split(MPI_COMM_WORLD, 0, -me, &world);
    else if (!strcmp(view, "rotate"))
        MPI_Comm_split(MPI_COMM_WORLD, 0, (me + 1) % all, &world);
    else if (!strcmp(view, "idle")) {
        MPI_Comm_split(MPI_COMM_WORLD, me > 0, me, &world);
        idle = me == 0;
    } else if (!strcmp(view, "both"))
        MPI_Comm_split(MPI_COMM_WORLD, me % 2, me, &world);
    else
        abort();
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    make(strtoull(argv[1], NULL, 10));
    if (argc > 7 && !me) {
        printf("%d events, mistake %d by %d at %d\n", count_events, mistake, wrong_rank,
               wrong_event);
        for (int e = 0; e < count_events; e++) {
            printf(" %d: kind %d half %d tag %d count %d type %d root %d op %d mode %d:", e,
                   events[e].kind, events[e].half, events[e].tag, events[e].count, events[e].type,
                   events[e].root, events[e].op, events[e].mode);
            for (int i = 0;
                 events[e].kind != RING && events[e].kind < BARRIER && i < events[e].messages; i++)
                printf(" %d->%d tag %d%s%s", events[e].list[i].from, events[e].list[i].to,
                       events[e].list[i].tag, events[e].list[i].any ? " any" : "",
                       events[e].list[i].any_tag ? " any tag" : "");
            printf("\n");
        }
    }
    for (int turn = 0; !idle && turn < 1 + !strcmp(view, "twice"); turn++)
        body();
    MPI_Comm_free(&world);
    MPI_Finalize();
    return 0;
}

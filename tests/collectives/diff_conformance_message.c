/* Conformance suite: messages. Every rank sends its x to the next one and receives into a buffer.
 *
 * Blocking sends go along a line, whose ends talk to MPI_PROC_NULL, all others round a ring. A
 * case's `root` says what the receiver knows: source and tag, the tag only, or nothing;
 * `nonblocking` how it receives or waits. Unequal counts leave the tail of the buffer. */
#include "tests/collectives/diff_conformance_internal.h"

#include "collectives/tape/tensor.h"

enum { TAG = 20, BUFFER = 4 };

static bool is_line(int kind)
{
    return kind <= CONF_BSEND;
}

bool conf_is_message(int kind)
{
    return kind >= DIFF_COLLECTIVES;
}

int conf_message_from(const struct conf_world *world, int rank)
{
    if (world->at->comm == CONF_INTER) {
        bool gets = conf_inter_base(world->size, rank) > 0 || !is_line(world->at->kind);
        return gets ? conf_inter_partner(world, rank) : -1;
    }
    if (rank > 0 || !is_line(world->at->kind))
        return (rank + world->size - 1) % world->size;
    return -1;
}

static int message_to(const struct conf_world *world)
{
    if (world->at->comm == CONF_INTER) {
        int to = conf_inter_partner(world, world->rank);
        bool sends = to >= 0 && conf_message_from(world, to) == world->rank;
        return sends ? to - conf_inter_base(world->size, to) : MPI_PROC_NULL;
    }
    if (world->rank + 1 < world->size || !is_line(world->at->kind))
        return (world->rank + 1) % world->size;
    return MPI_PROC_NULL;
}

void conf_message_sides(struct conf_world *world)
{
    const struct conf_case *at = world->at;
    for (int r = 0; r < world->size; r++) {
        int from = conf_message_from(world, r);
        size_t sent = (size_t)conf_block(at, r, 0);
        size_t got = from < 0 ? 0 : (size_t)conf_block(at, from, 0);
        world->send[r] = conf_side_dense(sent);
        world->receive[r] = conf_side_dense(got);
        world->receive[r].full = at->counts == CONF_UNEQUAL ? BUFFER : sent;
    }
}

void conf_message_reference(const struct reference_case *all, const struct conf_world *world)
{
    for (int r = 0; r < world->size; r++) {
        int from = conf_message_from(world, r);
        if (from >= 0)
            reference_copy(all, all->y[r].values, 0, all->x[from].values, 0, all->x[from].count);
    }
}

/* What both sides of the own exchange know. */
struct exchange {
    struct diff_tensor *x, *buffer;
    MPI_Comm comm;
    int to, send_tag, from, tag;
};

static struct diff_tensor *blocking(const struct exchange *e, int kind, bool nonblocking)
{
    struct diff_tensor *y = nonblocking ? diff_irecv(e->buffer, e->from, e->tag, e->comm)
                                        : diff_recv(e->buffer, e->from, e->tag, e->comm);
    if (kind == CONF_SSEND)
        diff_ssend(e->x, e->to, e->send_tag, e->comm);
    else if (kind == CONF_BSEND)
        diff_bsend(e->x, e->to, e->send_tag, e->comm);
    else
        diff_send(e->x, e->to, e->send_tag, e->comm);
    return nonblocking ? diff_wait(y) : y;
}

static struct diff_tensor *waited(struct diff_tensor *receive, struct diff_tensor *send, bool any)
{
    struct diff_tensor *handles[] = {receive, send}, *results[2], *got, *y = NULL;
    size_t index;
    if (!any) {
        diff_waitall(2, handles, results);
        return results[0];
    }
    while ((got = diff_waitany(2, handles, &index)) != NULL)
        if (index == 0)
            y = got;
    return y;
}

static struct diff_tensor *nonblocking(const struct exchange *e, int kind, bool other)
{
    struct diff_tensor *receive = diff_irecv(e->buffer, e->from, e->tag, e->comm), *send, *y = NULL;
    if (kind == CONF_ISEND)
        return waited(receive, diff_isend(e->x, e->to, e->send_tag, e->comm), other);
    if (kind == CONF_IBSEND)
        return waited(receive, diff_ibsend(e->x, e->to, e->send_tag, e->comm), other);
    send = diff_issend(e->x, e->to, e->send_tag, e->comm);
    while (!other && !(y = diff_test(receive)))
        ;
    if (!y)
        y = diff_wait(receive);
    diff_wait(send);
    return y;
}

/* A ready send needs its receive to be posted. */
static struct diff_tensor *ready(const struct exchange *e, int kind, bool other)
{
    struct diff_tensor *receive = diff_irecv(e->buffer, e->from, e->tag, e->comm);
    MPI_Barrier(e->comm);
    if (kind == CONF_IRSEND)
        return waited(receive, diff_irsend(e->x, e->to, e->send_tag, e->comm), other);
    diff_rsend(e->x, e->to, e->send_tag, e->comm);
    return diff_wait(receive);
}

static struct diff_tensor *persistent(const struct exchange *e, struct diff_tape *tape, bool other)
{
    enum diff_type type = diff_type_of(e->x);
    struct diff_persistent *in =
        diff_recv_init(tape, type, diff_count(e->buffer), e->from, e->tag, e->comm);
    struct diff_persistent *out =
        diff_send_init(tape, type, diff_count(e->x), e->to, e->send_tag, e->comm);
    struct diff_persistent *both[] = {in, out};
    struct diff_tensor *handles[2];
    if (other) {
        diff_startall(2, both, (struct diff_tensor *[]){e->buffer, e->x}, handles);
    } else {
        handles[0] = diff_start(in, e->buffer);
        handles[1] = diff_start(out, e->x);
    }
    struct diff_tensor *y = waited(handles[0], handles[1], other);
    diff_persistent_free(in);
    diff_persistent_free(out);
    return y;
}

static struct diff_tensor *probed(const struct exchange *e, bool other)
{
    struct diff_tensor *send = diff_isend(e->x, e->to, e->send_tag, e->comm), *y;
    MPI_Status status;
    MPI_Message message;
    if (other) {
        MPI_Probe(e->from, e->tag, e->comm, &status);
        y = diff_recv(e->buffer, status.MPI_SOURCE, status.MPI_TAG, e->comm);
    } else {
        MPI_Mprobe(e->from, e->tag, e->comm, &message, &status);
        y = diff_mrecv(e->buffer, &message, e->comm);
    }
    diff_wait(send);
    return y;
}

static struct diff_tensor *exchanged(const struct exchange *e, const struct conf_case *at,
                                     struct diff_tape *tape)
{
    switch (at->kind) {
    case CONF_SEND:
    case CONF_SSEND:
    case CONF_BSEND:
        return blocking(e, at->kind, at->nonblocking);
    case CONF_RSEND:
    case CONF_IRSEND:
        return ready(e, at->kind, at->nonblocking);
    case CONF_SENDRECV:
        return diff_sendrecv(e->x, e->to, e->send_tag, e->buffer, e->from, e->tag, e->comm);
    case CONF_SENDRECV_REPLACE:
        return diff_sendrecv_replace(e->x, e->to, e->send_tag, e->from, e->tag, e->comm);
    case CONF_PERSISTENT:
        return persistent(e, tape, at->nonblocking);
    case CONF_PROBE:
        return probed(e, at->nonblocking);
    default:
        return nonblocking(e, at->kind, at->nonblocking);
    }
}

struct diff_tensor *conf_message_run(const struct conf_world *world, struct conf_run *run,
                                     MPI_Comm comm)
{
    const struct conf_case *at = world->at;
    int from = conf_message_from(world, world->rank);
    const struct conf_side *receive = &world->receive[world->rank];
    struct exchange e = {.x = conf_packed(run, run->x, &world->send[world->rank], false),
                         .comm = comm,
                         .to = message_to(world),
                         .send_tag = TAG + world->rank,
                         .from = from < 0       ? MPI_PROC_NULL
                                 : at->root > 0 ? MPI_ANY_SOURCE
                                 : at->comm == CONF_INTER
                                     ? from - conf_inter_base(world->size, from)
                                     : from,
                         .tag = at->root > 1 ? MPI_ANY_TAG : TAG + from};
    if (at->kind != CONF_SENDRECV_REPLACE || receive->elements)
        run->into =
            conf_tensor(run->tape, at->type, world->into[world->rank], receive->full, "into");
    if (at->kind != CONF_SENDRECV_REPLACE)
        e.buffer = conf_packed(run, run->into, receive, true);
    return conf_unpacked(run, exchanged(&e, at, run->tape), receive);
}

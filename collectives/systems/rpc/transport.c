/* Messages over MPI: numbered per pair of workers, cut into pieces, kept until MPI has them.
 *
 * Rules:
 *  1. Sends are nonblocking and receives take any source: no two workers ever wait for each other's
 *     buffers, under any progress model.
 *  2. A message whose number was seen before is a duplicate and dropped.
 *  3. Closing: a token goes round twice. A worker passes BYE on when its program is done and it
 *     asks nothing; from then on it only works for workers the token has not seen. So when BYE is
 *     back at worker 0 nothing is asked anywhere. END is passed on at once; then everybody takes
 *     what is still under way to it, by name and number.
 *  4. A dead worker sends nothing but tokens, and drops what it receives. */
#include "collectives/systems/rpc/worker.h"

#include <mpix.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE = 8192, HEAD = 48, OUTGOING_REAP = 16, TAG = 0, TAG_END = 1 };

static const uint64_t DOWN_MARK = 0x72706320646f776e;

struct rpc_packet_out {
    struct wire wire;
};

/* ---- sending ---- */

static void outgoing_reap(struct rpc_worker *worker)
{
    int *indices = rpc_take(worker->outgoing_count * sizeof *indices), done = 0;
    MPI_Testsome((int)worker->outgoing_count, worker->outgoing_requests, &done, indices,
                 MPI_STATUSES_IGNORE);
    free(indices);
    size_t kept = 0;
    for (size_t i = 0; i < worker->outgoing_count; i++) {
        if (worker->outgoing_requests[i] != MPI_REQUEST_NULL) {
            worker->outgoing_requests[kept] = worker->outgoing_requests[i];
            worker->outgoing[kept++] = worker->outgoing[i];
        } else if (worker->spare_count < sizeof worker->spare / sizeof *worker->spare) {
            worker->spare[worker->spare_count++] = worker->outgoing[i].wire;
        } else {
            wire_release(&worker->outgoing[i].wire);
        }
    }
    worker->outgoing_count = kept;
}

static struct wire outgoing_buffer(struct rpc_worker *worker)
{
    struct wire wire = {0};
    if (worker->spare_count)
        wire = worker->spare[--worker->spare_count];
    wire_clear(&wire);
    return wire;
}

/* MPI gets the first `size` bytes in pieces; the buffer belongs to the last piece's request. */
static void outgoing_start(struct rpc_worker *worker, int to, struct wire *wire, size_t size)
{
    for (size_t at = 0; at < size || at == 0; at += PIECE) {
        size_t piece = size - at < PIECE ? size - at : PIECE, count = worker->outgoing_count;
        size_t room = worker->outgoing_room;
        worker->outgoing = rpc_grow(worker->outgoing, count, &room, sizeof *worker->outgoing);
        worker->outgoing_requests =
            rpc_grow(worker->outgoing_requests, count, &worker->outgoing_room,
                     sizeof *worker->outgoing_requests);
        bool last = at + piece >= size;
        struct wire own = {0};
        if (last) {
            own = *wire;
        } else { /* freed on its own, whichever completes first */
            own = outgoing_buffer(worker);
            memcpy(wire_add(&own, piece), wire->data + at, piece);
        }
        worker->outgoing[count].wire = own;
        MPI_Isend(last ? own.data + at : own.data, (int)piece, MPI_BYTE, to, TAG, worker->comm,
                  &worker->outgoing_requests[count]);
        worker->peers[to].pieces_sent++;
        worker->outgoing_count = count + 1;
    }
    *wire = (struct wire){0};
    if (worker->outgoing_count >= OUTGOING_REAP)
        outgoing_reap(worker);
}

struct wire *packet_begin(struct rpc_worker *worker)
{
    if (worker->building_busy)
        worker_misuse(worker, "a message was begun inside another");
    worker->building_busy = true;
    worker->building = outgoing_buffer(worker);
    memset(wire_add(&worker->building, HEAD), 0, HEAD);
    return &worker->building;
}

static void head_fill(struct wire *wire, enum rpc_kind kind, uint64_t number, uint64_t request,
                      uint64_t context)
{
    uint64_t head[HEAD / 8] = {wire->size, (uint64_t)kind, number,
                               request,    context,        kind == RPC_DOWN ? DOWN_MARK : 0};
    memcpy(wire->data, head, sizeof head);
}

static struct wire wire_copy(struct rpc_worker *worker, const struct wire *wire)
{
    struct wire copy = outgoing_buffer(worker);
    memcpy(wire_add(&copy, wire->size), wire->data, wire->size);
    return copy;
}

/* The rule of the fault driver that this message meets, -1 for none. */
static int fault_met(struct rpc_worker *worker, enum rpc_kind kind)
{
    unsigned of_kind = ++worker->sent_of_kind[kind], of_any = ++worker->sent_of_any;
    for (struct rpc_fault_rule *rule = worker->faults; rule; rule = rule->next)
        if (rule->kind < 0 ? rule->number == of_any
                           : rule->kind == (int)kind && rule->number == of_kind)
            return (int)rule->fault;
    return -1;
}

void packet_send(struct rpc_worker *worker, int to, enum rpc_kind kind, uint64_t request,
                 uint64_t context)
{
    struct wire wire = worker->building;
    struct rpc_peer *peer = &worker->peers[to];
    bool closing = kind == RPC_BYE || kind == RPC_END || kind == RPC_DOWN;
    worker->building_busy = false;
    int fault = worker->dead && !closing ? RPC_FAULT_LOSE : closing ? -1 : fault_met(worker, kind);
    if (fault == RPC_FAULT_CRASH_BEFORE)
        worker_die(worker);
    uint64_t number = ++peer->sent;
    if (fault != RPC_FAULT_CRASH_BEFORE && !(fault == RPC_FAULT_LOSE && worker->dead))
        rpc_event(worker, "out to=%d w=%llu kind=%s%s", worker->ranks[to],
                  (unsigned long long)number, rpc_kind_names[kind],
                  fault == RPC_FAULT_LOSE ? " lost=1" : "");
    head_fill(&wire, kind, number, request, context);
    if (fault == RPC_FAULT_LOSE || fault == RPC_FAULT_CRASH_BEFORE) {
        wire_release(&wire);
        return;
    }
    if (fault == RPC_FAULT_DUPLICATE) {
        struct wire copy = wire_copy(worker, &wire);
        outgoing_start(worker, to, &copy, copy.size);
    }
    size_t half = wire.size / 16 * 8;
    outgoing_start(worker, to, &wire,
                   fault != RPC_FAULT_CRASH_DURING ? wire.size
                   : half > HEAD                   ? half
                                                   : HEAD);
    if (fault == RPC_FAULT_CRASH_DURING || fault == RPC_FAULT_CRASH_AFTER)
        worker_die(worker);
}

static void packet_to_all(struct rpc_worker *worker, enum rpc_kind kind)
{
    for (int i = 0; i < worker->count; i++) {
        if (i == worker->me)
            continue;
        packet_begin(worker);
        packet_send(worker, i, kind, 0, 0);
    }
}

void worker_die(struct rpc_worker *worker)
{
    bool busy = worker->building_busy;
    struct wire building = worker->building;
    worker->building_busy = false;
    worker->dead = true;
    packet_to_all(worker, RPC_DOWN);
    worker->building_busy = busy;
    worker->building = building;
    rpc_event(worker, "died");
    for (int i = 0; i < worker->count; i++)
        futures_peer_died(worker, i);
}

/* ---- receiving ---- */

static void packet_handle(struct rpc_worker *worker, struct rpc_packet *packet)
{
    struct rpc_peer *peer = &worker->peers[packet->source];
    switch (packet->kind) {
    case RPC_CALL:
        call_handle(worker, packet);
        break;
    case RPC_GRADIENT:
        gradient_handle(worker, packet);
        break;
    case RPC_MARK:
        mark_handle(worker, packet);
        break;
    case RPC_RELEASE:
        release_handle(worker, packet);
        break;
    case RPC_ROLLBACK:
        rollback_handle(worker, packet);
        break;
    case RPC_ABORT:
        abort_handle(worker, packet);
        break;
    case RPC_FORK:
        fork_handle(worker, packet);
        break;
    case RPC_DROP:
        drop_handle(worker, packet);
        break;
    case RPC_JOIN:
        join_handle(worker, packet);
        break;
    case RPC_BYE:
        worker->bye = true;
        break;
    case RPC_END:
        worker->end = true;
        break;
    case RPC_DOWN:
        peer->dead = true;
        rpc_event(worker, "down peer=%d", worker->ranks[packet->source]);
        futures_peer_died(worker, packet->source);
        contexts_peer_died(worker, packet->source);
        break;
    default:
        future_answer(worker, packet);
    }
}

static void whole_message(struct rpc_worker *worker, int source, struct wire *wire)
{
    struct rpc_peer *peer = &worker->peers[source];
    uint64_t head[HEAD / 8];
    memcpy(head, wire->data, sizeof head);
    struct rpc_packet packet = {.source = source,
                                .kind = (enum rpc_kind)head[1],
                                .number = head[2],
                                .request = head[3],
                                .context = head[4],
                                .body = *wire};
    packet.body.at = HEAD;
    bool closing = packet.kind == RPC_BYE || packet.kind == RPC_END || packet.kind == RPC_DOWN;
    if (packet.kind >= RPC_KIND_COUNT || packet.number <= peer->seen)
        return; /* a duplicate */
    peer->seen = packet.number;
    if (worker->dead && !closing)
        return;
    rpc_event(worker, "in from=%d w=%llu kind=%s", worker->ranks[source],
              (unsigned long long)packet.number, rpc_kind_names[packet.kind]);
    packet_handle(worker, &packet);
}

/* A first piece begins a message; the connection may have broken within the one before. */
static void piece_take(struct rpc_worker *worker, int source, const unsigned char *piece,
                       size_t size)
{
    struct rpc_peer *peer = &worker->peers[source];
    peer->pieces_taken++;
    if (!peer->partial.size && size >= HEAD) {
        uint64_t whole;
        memcpy(&whole, piece, sizeof whole);
        peer->expected = whole;
    }
    struct wire wire = peer->partial;
    memcpy(wire_add(&wire, size), piece, size);
    peer->partial = wire;
    if (wire.size < peer->expected) {
        /* A message broken off is followed by the sender's DOWN and nothing else. */
        struct wire tail = {.data = wire.data + wire.size - size, .size = size};
        uint64_t head[HEAD / 8] = {0};
        if (size == HEAD && wire.size > size)
            memcpy(head, tail.data, sizeof head);
        if (!(head[1] == RPC_DOWN && head[5] == DOWN_MARK))
            return;
        memmove(wire.data, tail.data, size);
        wire.size = size;
    }
    peer->partial = (struct wire){0};
    whole_message(worker, source, &wire);
    if (worker->spare_count < sizeof worker->spare / sizeof *worker->spare)
        worker->spare[worker->spare_count++] = wire;
    else
        wire_release(&wire);
}

static bool arrived(struct rpc_worker *worker, int *source)
{
    int flag;
    MPI_Status status;
    MPIX_Probe_patient(TAG, worker->comm, worker->patience, &flag, &status);
    *source = flag ? status.MPI_SOURCE : MPI_ANY_SOURCE;
    return flag;
}

bool worker_serve(struct rpc_worker *worker)
{
    unsigned char piece[PIECE];
    MPI_Status status;
    int source = MPI_ANY_SOURCE, size;
    if (worker->dead && worker->futures) { /* asked after it had died */
        futures_peer_died(worker, worker->me);
        return true;
    }
    /* Who asks for nothing waits for others as long as they like. */
    bool asks = worker->futures || worker->roots;
    if (worker->patience && asks && !arrived(worker, &source))
        return false;
    MPI_Recv(piece, PIECE, MPI_BYTE, source, TAG, worker->comm, &status);
    MPI_Get_count(&status, MPI_BYTE, &size);
    piece_take(worker, status.MPI_SOURCE, piece, (size_t)size);
    return true;
}

/* ---- the end ---- */

static void token_pass(struct rpc_worker *worker, enum rpc_kind kind)
{
    packet_begin(worker);
    packet_send(worker, (worker->me + 1) % worker->count, kind, 0, 0);
}

static void token_wait(struct rpc_worker *worker, const bool *seen)
{
    while (!*seen || worker->futures)
        if (!worker_serve(worker))
            futures_expire(worker);
}

/* Says how many pieces went to each worker, and takes what is still under way from each. */
static void channels_drain(struct rpc_worker *worker)
{
    unsigned char piece[PIECE];
    MPI_Request *requests = rpc_take((size_t)worker->count * sizeof *requests);
    for (int i = 0; i < worker->count; i++)
        MPI_Isend(&worker->peers[i].pieces_sent, 1, MPI_UINT64_T, i, TAG_END, worker->comm,
                  &requests[i]);
    for (int i = 0; i < worker->count; i++) {
        uint64_t count;
        MPI_Status status;
        int size;
        MPI_Recv(&count, 1, MPI_UINT64_T, i, TAG_END, worker->comm, MPI_STATUS_IGNORE);
        while (worker->peers[i].pieces_taken < count) {
            MPI_Recv(piece, PIECE, MPI_BYTE, i, TAG, worker->comm, &status);
            MPI_Get_count(&status, MPI_BYTE, &size);
            piece_take(worker, i, piece, (size_t)size);
        }
    }
    MPI_Waitall(worker->count, requests, MPI_STATUSES_IGNORE);
    free(requests);
}

void transport_close(struct rpc_worker *worker)
{
    if (worker->me == 0) {
        token_wait(worker, &(bool){true});
        token_pass(worker, RPC_BYE);
        token_wait(worker, &worker->bye);
        token_pass(worker, RPC_END);
    } else {
        token_wait(worker, &worker->bye);
        token_pass(worker, RPC_BYE);
    }
    token_wait(worker, &worker->end);
    if (worker->me != 0)
        token_pass(worker, RPC_END);
    channels_drain(worker);
    MPI_Waitall((int)worker->outgoing_count, worker->outgoing_requests, MPI_STATUSES_IGNORE);
}

void transport_release(struct rpc_worker *worker)
{
    for (size_t i = 0; i < worker->outgoing_count; i++)
        wire_release(&worker->outgoing[i].wire);
    for (size_t i = 0; i < worker->spare_count; i++)
        wire_release(&worker->spare[i]);
    for (int i = 0; i < worker->count; i++)
        wire_release(&worker->peers[i].partial);
    while (worker->faults) {
        struct rpc_fault_rule *rule = worker->faults;
        worker->faults = rule->next;
        free(rule);
    }
    for (size_t i = 0; i < worker->waiting_count; i++) {
        wire_release(&worker->waiting[i]->body);
        free(worker->waiting[i]);
    }
    free(worker->waiting);
    free(worker->outgoing);
    free(worker->outgoing_requests);
    free(worker->peers);
}

void rpc_fault(enum rpc_fault fault, const char *kind, unsigned number)
{
    struct rpc_worker *worker = worker_get("rpc_fault");
    ENTER(worker->state);
    int found = strcmp(kind, "any") == 0 ? -1 : -2;
    for (int i = 0; i < RPC_BYE; i++)
        if (strcmp(kind, rpc_kind_names[i]) == 0)
            found = i;
    if (found == -2)
        worker_misuse(worker, "rpc_fault: no message is of kind '%s'", kind);
    struct rpc_fault_rule *rule = rpc_take(sizeof *rule);
    *rule = (struct rpc_fault_rule){worker->faults, fault, found, number};
    worker->faults = rule;
    state_leave(worker->state);
}

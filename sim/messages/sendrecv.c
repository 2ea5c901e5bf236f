/* Sendrecv and Sendrecv_replace: a send and a receive under way together. The blocking forms have
 * both on their stack; the nonblocking ones are a request of two parts. */
#include "sim/memory/pending.h"
#include "sim/messages/failures.h"
#include "sim/messages/point.h"
#include "sim/worlds/error.h"

#include <stdlib.h>

int sim_sendrecv_truncated(MPI_Comm comm, const char *function, const struct sim_request *receive)
{
    const char *failure = sim_failure_sentence(receive->error);
    if (failure)
        return sim_error_raise(comm, receive->error, function, "%s", failure);
    return sim_error_raise(comm, MPI_ERR_TRUNCATE, function,
                           "the message from %d with tag %d is longer than the receive buffer",
                           receive->source_matched, receive->tag_matched);
}

/* Both are checked; runs them to completion. The data of the send are `send->buffer`. */
static int exchange(struct sim_request *send, struct sim_request *receive, const char *function,
                    MPI_Comm comm, MPI_Status *status)
{
    struct sim_world *world = send->owner->world;
    sim_world_enter(world);
    sim_point_start(receive);
    sim_point_start(send);
    sim_rank_starts_end(send->owner);
    bool waited = sim_request_wait(send);
    if (!sim_request_wait(receive) && !waited)
        sim_rank_give_way(send->owner);
    sim_world_leave(world);
    sim_request_status(receive, status);
    const struct sim_request *failed = send->error ? send : receive;
    return failed->error ? sim_sendrecv_truncated(comm, function, failed) : MPI_SUCCESS;
}

static int sendrecv(const struct sim_point *to, const struct sim_point *from, MPI_Status *status)
{
    struct sim_request send = {.on_stack = true}, receive = {.on_stack = true};
    int error = sim_point_send_check(to, &send, SIM_STANDARD);
    if (!error)
        error = sim_point_receive_check(from, &receive);
    return error ? error : exchange(&send, &receive, to->function, to->comm, status);
}

int sim_sendrecv_long(const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest,
                      int sendtag, void *recvbuf, int recvcount, MPI_Datatype recvtype, int source,
                      int recvtag, MPI_Comm comm, MPI_Status *status)
{
    return sendrecv(
        &(struct sim_point){"Sendrecv", sendbuf, sendcount, sendtype, dest, sendtag, comm},
        &(struct sim_point){"Sendrecv", recvbuf, recvcount, recvtype, source, recvtag, comm},
        status);
}

int PMPI_Sendrecv_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest,
                    int sendtag, void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                    int source, int recvtag, MPI_Comm comm, MPI_Status *status)
{
    return sendrecv(
        &(struct sim_point){"Sendrecv", sendbuf, sendcount, sendtype, dest, sendtag, comm},
        &(struct sim_point){"Sendrecv", recvbuf, recvcount, recvtype, source, recvtag, comm},
        status);
}

/* The outgoing data are copied aside, as bytes; the caller frees the copy. */
static int check_replace(const struct sim_point *to, const struct sim_point *from,
                         struct sim_request *send, struct sim_request *receive, char **aside)
{
    int error = sim_point_send_check(to, send, SIM_STANDARD);
    if (!error)
        error = sim_point_receive_check(from, receive);
    if (error)
        return error;
    size_t bytes = send->count * send->type->size;
    *aside = malloc(bytes ? bytes : 1);
    if (!*aside)
        return sim_error_raise(to->comm, MPI_ERR_NO_MEM, to->function,
                               "out of memory for %zu bytes", bytes);
    if (bytes)
        sim_datatype_copy_out(send->type, to->buffer, send->count, *aside);
    send->buffer = *aside;
    send->type = sim_datatype_get(MPI_BYTE);
    send->count = bytes;
    return MPI_SUCCESS;
}

static int replace(void *buffer, MPI_Count count, MPI_Datatype type, int dest, int sendtag,
                   int source, int recvtag, MPI_Comm comm, MPI_Status *status)
{
    struct sim_request send = {.on_stack = true}, receive = {.on_stack = true};
    char *aside;
    int error = check_replace(
        &(struct sim_point){"Sendrecv_replace", buffer, count, type, dest, sendtag, comm},
        &(struct sim_point){"Sendrecv_replace", buffer, count, type, source, recvtag, comm}, &send,
        &receive, &aside);
    if (error)
        return error;
    error = exchange(&send, &receive, "Sendrecv_replace", comm, status);
    free(aside);
    return error;
}

int PMPI_Sendrecv_replace(void *buffer, int count, MPI_Datatype type, int dest, int sendtag,
                          int source, int recvtag, MPI_Comm comm, MPI_Status *status)
{
    return replace(buffer, count, type, dest, sendtag, source, recvtag, comm, status);
}

int PMPI_Sendrecv_replace_c(void *buffer, MPI_Count count, MPI_Datatype type, int dest, int sendtag,
                            int source, int recvtag, MPI_Comm comm, MPI_Status *status)
{
    return replace(buffer, count, type, dest, sendtag, source, recvtag, comm, status);
}

/* ---- nonblocking ---- */

static struct sim_request *part_new(struct sim_request *whole, const struct sim_request *checked)
{
    struct sim_request *part = sim_request_new_as(checked);
    part->whole = whole;
    whole->part[whole->parts++] = part;
    return part;
}

/* Both are checked. The handle stands for a receive nobody can cancel. */
static int exchange_later(const struct sim_request *send_checked,
                          const struct sim_request *receive_checked, void *aside, const char *name,
                          MPI_Request *handle)
{
    struct sim_world *world = send_checked->owner->world;
    const struct sim_request *sides[] = {send_checked, receive_checked};
    struct sim_region regions[2];
    size_t used = 0;
    for (int i = aside != NULL; i < 2; i++) /* what was put aside may change */
        if (sides[i]->peer != MPI_PROC_NULL)
            regions[used++] = (struct sim_region){(uintptr_t)sides[i]->buffer, sides[i]->type,
                                                  sides[i]->count, i == 1,
                                                  aside ? "buffer"
                                                  : i   ? "receive buffer"
                                                        : "send buffer"};
    sim_world_enter(world);
    struct sim_request *whole = sim_request_new(send_checked->owner, SIM_REQUEST_RECEIVE);
    whole->comm = send_checked->comm;
    whole->peer = MPI_PROC_NULL;
    struct sim_request *receive = part_new(whole, receive_checked),
                       *send = part_new(whole, send_checked);
    send->aside = aside;
    sim_pending_add(whole->owner, regions, used, name, whole);
    sim_request_watch(receive);
    if (!aside)
        sim_request_watch(send);
    sim_request_hold(receive);
    sim_point_start(receive);
    sim_point_start(send);
    sim_world_leave(world);
    *handle = (MPI_Request)(void *)whole;
    return MPI_SUCCESS;
}

static int isendrecv(const struct sim_point *to, const struct sim_point *from, MPI_Request *request)
{
    struct sim_request send = {0}, receive = {0};
    int error = sim_point_send_check(to, &send, SIM_STANDARD);
    if (!error)
        error = sim_point_receive_check(from, &receive);
    return error ? error : exchange_later(&send, &receive, NULL, to->function, request);
}

int PMPI_Isendrecv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag,
                   void *recvbuf, int recvcount, MPI_Datatype recvtype, int source, int recvtag,
                   MPI_Comm comm, MPI_Request *request)
{
    return isendrecv(
        &(struct sim_point){"Isendrecv", sendbuf, sendcount, sendtype, dest, sendtag, comm},
        &(struct sim_point){"Isendrecv", recvbuf, recvcount, recvtype, source, recvtag, comm},
        request);
}

int PMPI_Isendrecv_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest,
                     int sendtag, void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                     int source, int recvtag, MPI_Comm comm, MPI_Request *request)
{
    return isendrecv(
        &(struct sim_point){"Isendrecv", sendbuf, sendcount, sendtype, dest, sendtag, comm},
        &(struct sim_point){"Isendrecv", recvbuf, recvcount, recvtype, source, recvtag, comm},
        request);
}

static int replace_later(void *buffer, MPI_Count count, MPI_Datatype type, int dest, int sendtag,
                         int source, int recvtag, MPI_Comm comm, MPI_Request *request)
{
    struct sim_request send = {0}, receive = {0};
    char *aside;
    int error = check_replace(
        &(struct sim_point){"Isendrecv_replace", buffer, count, type, dest, sendtag, comm},
        &(struct sim_point){"Isendrecv_replace", buffer, count, type, source, recvtag, comm}, &send,
        &receive, &aside);
    return error ? error : exchange_later(&send, &receive, aside, "Isendrecv_replace", request);
}

int PMPI_Isendrecv_replace(void *buffer, int count, MPI_Datatype type, int dest, int sendtag,
                           int source, int recvtag, MPI_Comm comm, MPI_Request *request)
{
    return replace_later(buffer, count, type, dest, sendtag, source, recvtag, comm, request);
}

int PMPI_Isendrecv_replace_c(void *buffer, MPI_Count count, MPI_Datatype type, int dest,
                             int sendtag, int source, int recvtag, MPI_Comm comm,
                             MPI_Request *request)
{
    return replace_later(buffer, count, type, dest, sendtag, source, recvtag, comm, request);
}

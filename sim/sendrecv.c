/* Sendrecv and Sendrecv_replace: a send and a receive under way together. The nonblocking forms are a request of their own kind and not
 * provided. */
#include "sim/error.h"
#include "sim/point.h"

#include <stdlib.h>

/* Both are checked; runs them to completion. The data of the send are `send->buffer`. */
static int exchange(struct sim_request *send, struct sim_request *receive, const char *function, MPI_Comm comm, MPI_Status *status)
{
    struct sim_world *world = send->owner->world;
    sim_world_enter(world);
    if (receive->peer == MPI_PROC_NULL)
        sim_point_complete_null(receive);
    else
        sim_point_start_receive(receive);
    if (send->peer == MPI_PROC_NULL)
        sim_point_complete_null(send);
    else
        sim_point_start_send(send);
    sim_request_wait(send);
    sim_request_wait(receive);
    sim_world_leave(world);
    sim_request_status(receive, status);
    if (!receive->error)
        return MPI_SUCCESS;
    return sim_error_raise(comm, MPI_ERR_TRUNCATE, function, "the message from %d with tag %d is longer than the receive buffer",
                           receive->source_matched, receive->tag_matched);
}

static int sendrecv(const struct sim_point *to, const struct sim_point *from, MPI_Status *status)
{
    struct sim_request send = {.on_stack = true}, receive = {.on_stack = true};
    int error = sim_point_send_check(to, &send, SIM_STANDARD);
    if (!error)
        error = sim_point_receive_check(from, &receive);
    return error ? error : exchange(&send, &receive, to->function, to->comm, status);
}

int PMPI_Sendrecv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag, void *recvbuf, int recvcount,
                  MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm, MPI_Status *status)
{
    return sendrecv(&(struct sim_point){"Sendrecv", sendbuf, sendcount, sendtype, dest, sendtag, comm},
                    &(struct sim_point){"Sendrecv", recvbuf, recvcount, recvtype, source, recvtag, comm}, status);
}

int PMPI_Sendrecv_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest, int sendtag, void *recvbuf,
                    MPI_Count recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm, MPI_Status *status)
{
    return sendrecv(&(struct sim_point){"Sendrecv", sendbuf, sendcount, sendtype, dest, sendtag, comm},
                    &(struct sim_point){"Sendrecv", recvbuf, recvcount, recvtype, source, recvtag, comm}, status);
}

/* The outgoing data are copied aside first; the copy keeps the type's layout. */
static int replace(void *buffer, MPI_Count count, MPI_Datatype type, int dest, int sendtag, int source, int recvtag, MPI_Comm comm,
                   MPI_Status *status)
{
    struct sim_request send = {.on_stack = true}, receive = {.on_stack = true};
    int error = sim_point_send_check(&(struct sim_point){"Sendrecv_replace", buffer, count, type, dest, sendtag, comm}, &send, SIM_STANDARD);
    if (!error)
        error = sim_point_receive_check(&(struct sim_point){"Sendrecv_replace", buffer, count, type, source, recvtag, comm}, &receive);
    if (error)
        return error;
    size_t bytes = send.count * send.type->size;
    char *aside = malloc(bytes ? bytes : 1);
    if (!aside)
        return sim_error_raise(comm, MPI_ERR_NO_MEM, "Sendrecv_replace", "out of memory for %zu bytes", bytes);
    sim_datatype_copy_out(send.type, buffer, send.count, aside);
    send.buffer = aside;
    send.type = sim_datatype_get(MPI_BYTE);
    send.count = bytes;
    error = exchange(&send, &receive, "Sendrecv_replace", comm, status);
    free(aside);
    return error;
}

int PMPI_Sendrecv_replace(void *buffer, int count, MPI_Datatype type, int dest, int sendtag, int source, int recvtag, MPI_Comm comm,
                          MPI_Status *status)
{
    return replace(buffer, count, type, dest, sendtag, source, recvtag, comm, status);
}

int PMPI_Sendrecv_replace_c(void *buffer, MPI_Count count, MPI_Datatype type, int dest, int sendtag, int source, int recvtag, MPI_Comm comm,
                            MPI_Status *status)
{
    return replace(buffer, count, type, dest, sendtag, source, recvtag, comm, status);
}

/* What MPI refuses is one finding, which names the function and stands at its own line, whether or not the call is an operation.
 *
 * CASE 2 send_init : 1 M009 ~ MPI_Send_init: MPI_ERR_RANK
 * CASE 2 recv_init : 1 M009 ~ MPI_Recv_init: MPI_ERR_RANK
 * CASE 2 bcast_init : 1 M009 ~ MPI_Bcast_init: MPI_ERR_ROOT
 * CASE 2 ibcast : 1 M009 ~ MPI_Ibcast: MPI_ERR_ROOT
 * CASE 2 comm_rank : 1 M009 ~ MPI_Comm_rank: MPI_ERR_COMM
 * CASE 2 vector : 1 M009 ~ MPI_Type_vector: MPI_ERR_COUNT
 * CASE 2 cart_get : 1 M009 ~ MPI_Cart_get: MPI_ERR_TOPOLOGY
 * CASE 2 cart_create : 1 M009 ~ MPI_Cart_create: MPI_ERR_DIMS
 * CASE 2 op_free : 1 M009 ~ MPI_Op_free: MPI_ERR_OP
 * CASE 2 iprobe : 1 M009 ~ MPI_Iprobe: MPI_ERR_RANK
 * CASE 2 pack : 1 M009 ~ MPI_Pack: MPI_ERR_TYPE
 * CASE 2 sendrecv : 1 M009 ~ MPI_Sendrecv: MPI_ERR_RANK
 * CASE 2 null_rank : 1 M009 ~ MPI_Comm_rank: MPI_ERR_ARG: an argument is NULL
 * CASE 2 null_request : 1 M009 ~ MPI_Irecv: MPI_ERR_ARG: an argument is NULL
 * CASE 2 null_flag : 1 M009 ~ MPI_Iprobe: MPI_ERR_ARG: an argument is NULL
 * CASE 2 null_wait : 1 M009 ~ MPI_Wait: MPI_ERR_ARG: an argument is NULL
 * CASE 2 file : 3 U001 ~ is not provided by this simulator; keep it out of what is checked ('simrun doctor --unsupported' names all such)
 * CASE 2 unstarted : 1 D001 ~ MPI_Start is missing
 * CASE 2 lost : 1 D003
 * CASE 2 cancelled : 0
 * CASE 2 group : 1 D001 ~ Comm_create
 * CASE 2 groups : 0
 * CASE 2 general : 0
 * CASE 2 unfinished : 0 L001 ~ a generalised request is never freed
 * CASE 2 overlap : 1 B002 ~ MPI_Gather: MPI_ERR_BUFFER
 * CASE 2 beside : 0
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

static int rank, other, x[8], y[8];
static MPI_Request request;

static int nothing(void *state)
{
    (void)state;
    return MPI_SUCCESS;
}

static int query(void *state, MPI_Status *status)
{
    (void)state;
    MPI_Status_set_elements(status, MPI_INT, 0);
    MPI_Status_set_cancelled(status, 0);
    return MPI_SUCCESS;
}

static int cancel(void *state, int complete)
{
    (void)state, (void)complete;
    return MPI_SUCCESS;
}

static void refused(const char *word)
{
    int n = 0, one = 1;
    MPI_Datatype type;
    MPI_Comm comm;
    MPI_Op op = MPI_SUM;
#define IF(name, call)                                                                             \
    if (!strcmp(word, #name))                                                                      \
    call
    IF(send_init, MPI_Send_init(x, 1, MPI_INT, 99, 0, MPI_COMM_WORLD, &request));
    IF(recv_init, MPI_Recv_init(x, 1, MPI_INT, 99, 0, MPI_COMM_WORLD, &request));
    IF(bcast_init, MPI_Bcast_init(x, 1, MPI_INT, 99, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
    IF(ibcast, MPI_Ibcast(x, 1, MPI_INT, 99, MPI_COMM_WORLD, &request));
    IF(comm_rank, MPI_Comm_rank(MPI_COMM_NULL, &n));
    IF(vector, MPI_Type_vector(-1, 1, 1, MPI_INT, &type));
    IF(cart_get, MPI_Cart_get(MPI_COMM_WORLD, 1, x, y, y + 1));
    IF(cart_create, MPI_Cart_create(MPI_COMM_WORLD, 1, (int[]){-2}, (int[]){0}, 0, &comm));
    IF(op_free, MPI_Op_free(&op));
    IF(iprobe, MPI_Iprobe(99, 0, MPI_COMM_WORLD, &n, MPI_STATUS_IGNORE));
    IF(pack, MPI_Pack(x, 1, MPI_DATATYPE_NULL, y, 8, &n, MPI_COMM_WORLD));
    IF(sendrecv,
       MPI_Sendrecv(x, 1, MPI_INT, 99, 0, y, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    IF(null_rank, MPI_Comm_rank(MPI_COMM_WORLD, NULL));
    IF(null_request, MPI_Irecv(x, 1, MPI_INT, other, 0, MPI_COMM_WORLD, NULL));
    IF(null_flag, MPI_Iprobe(other, 0, MPI_COMM_WORLD, NULL, MPI_STATUS_IGNORE));
    IF(null_wait, MPI_Wait(NULL, MPI_STATUS_IGNORE));
    IF(overlap, MPI_Gather(x, 2, MPI_INT, rank ? y : x, 2, MPI_INT, 0, MPI_COMM_WORLD));
    IF(beside,
       MPI_Gatherv(x, 2, MPI_INT, x, (int[]){2, 2}, (int[]){2, 4}, MPI_INT, 0, MPI_COMM_WORLD));
    if (!strcmp(word, "file")) {
        MPI_File file;
        MPI_File_open(MPI_COMM_WORLD, "none", MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
    }
    (void)one;
}

static void waited(const char *word)
{
    if (!strcmp(word, "unstarted")) {
        MPI_Request send;
        MPI_Send_init(x, 1, MPI_INT, other, 0, MPI_COMM_WORLD, &send);
        MPI_Irecv(y, 1, MPI_INT, other, 0, MPI_COMM_WORLD, &request);
        MPI_Wait(&send, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Request_free(&send);
    }
    if (!strcmp(word, "lost") && rank == 0)
        MPI_Send(x, 1, MPI_INT, other, 0, MPI_COMM_WORLD);
    if (!strcmp(word, "general") || !strcmp(word, "unfinished")) {
        MPI_Grequest_start(query, nothing, cancel, NULL, &request);
        if (!strcmp(word, "unfinished"))
            return;
        MPI_Grequest_complete(request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (!strcmp(word, "cancelled") && rank == 0) {
        int done;
        MPI_Status status;
        MPI_Isend(x, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, &request);
        MPI_Cancel(&request);
        MPI_Wait(&request, &status);
        MPI_Test_cancelled(&status, &done);
        MPI_Send(&done, 1, MPI_INT, 1, 3, MPI_COMM_WORLD);
    } else if (!strcmp(word, "cancelled")) {
        MPI_Recv(y, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (!y[0])
            MPI_Recv(x, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void grouped(const char *word)
{
    MPI_Group all;
    MPI_Comm made;
    int often = !strcmp(word, "groups") ? 3 : 1;
    if (strncmp(word, "group", 5) != 0)
        return;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    for (int i = 0; i < often && (often > 1 || rank == 0); i++) {
        MPI_Comm_create_group(MPI_COMM_WORLD, all, i % 2, &made);
        MPI_Comm_free(&made);
    }
    MPI_Group_free(&all);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    other = 1 - rank;
    MPI_Barrier(MPI_COMM_WORLD);
    refused(argv[1]);
    waited(argv[1]);
    grouped(argv[1]);
    MPI_Finalize();
}

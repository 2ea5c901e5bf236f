/* The rules of going on after a failure (ULFM), one a word: rank 1 dies by its own hand, the others
 * look at what they get. Each prints what it saw; ulfm.t knows what it must be. */
#include "ulfm.h"

static void point(void)
{
    int value = 7, got = 0;
    MPI_Request request;
    die_here();
    say("receives:", MPI_Recv(&value, 1, MPI_INT, DEAD, 0, world, MPI_STATUS_IGNORE));
    say("sends:", MPI_Send(&value, 1, MPI_INT, DEAD, 0, world));
    say("synchronous:", MPI_Ssend(&value, 1, MPI_INT, DEAD, 0, world));
    say("starts:", MPI_Isend(&value, 1, MPI_INT, DEAD, 0, world, &request));
    say("waits:", MPI_Wait(&request, MPI_STATUS_IGNORE));
    say("probes:", MPI_Probe(DEAD, 0, world, MPI_STATUS_IGNORE));
    say("exchanges:", MPI_Sendrecv(&value, 1, MPI_INT, DEAD, 0, &got, 1, MPI_INT, DEAD, 0, world,
                                   MPI_STATUS_IGNORE));
}

/* What it had sent before is there; among the living nothing has changed. */
static void before(void)
{
    int value = rank, got = -1;
    if (rank == DEAD)
        MPI_Send(&value, 1, MPI_INT, 0, 0, world);
    die_here();
    if (rank == 0)
        say("has what was sent:", MPI_Recv(&got, 1, MPI_INT, DEAD, 0, world, MPI_STATUS_IGNORE));
    if (rank == 0)
        say("and no more:", MPI_Recv(&got, 1, MPI_INT, DEAD, 0, world, MPI_STATUS_IGNORE));
    if (rank == 2)
        say("sends to the living:", MPI_Send(&value, 1, MPI_INT, 3, 0, world));
    if (rank == 3)
        say("hears the living:", MPI_Recv(&got, 1, MPI_INT, 2, 0, world, MPI_STATUS_IGNORE));
}

static void wildcard(void)
{
    int value = -1, flag = 0, index = -1, go = 1;
    MPI_Request request;
    MPI_Status status;
    die_here();
    if (rank == 0) {
        say("blocks:", MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, world, MPI_STATUS_IGNORE));
        MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, world, &request);
        say("waits:", MPI_Wait(&request, &status));
        say("tests:", MPI_Test(&request, &flag, &status));
        say("waits for any:", MPI_Waitany(1, &request, &index, &status));
        say("waits for all:", MPI_Waitall(1, &request, &status));
        say("of which:", status.MPI_ERROR);
        say("probes:", MPI_Probe(MPI_ANY_SOURCE, 0, world, &status));
        say("acknowledges:", MPIX_Comm_failure_ack(world));
        MPI_Send(&go, 1, MPI_INT, 2, 1, world);
        say("waits again:", MPI_Wait(&request, &status));
        printf("rank 0 has %d of %d, handle %s\n", value, status.MPI_SOURCE,
               request == MPI_REQUEST_NULL ? "gone" : "kept");
    }
    if (rank == 2) {
        MPI_Recv(&value, 1, MPI_INT, 0, 1, world, MPI_STATUS_IGNORE);
        value = 42;
        MPI_Send(&value, 1, MPI_INT, 0, 0, world);
    }
}

static void collectives(void)
{
    int in = rank, out = -1, all[8] = {0};
    MPI_Request request;
    MPI_Comm copy;
    die_here();
    say("barrier:", MPI_Barrier(world));
    say("allreduce:", MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, world));
    say("reduce:", MPI_Reduce(&in, &out, 1, MPI_INT, MPI_SUM, 0, world));
    say("bcast:", MPI_Bcast(&in, 1, MPI_INT, 0, world));
    say("bcast of the dead:", MPI_Bcast(&in, 1, MPI_INT, DEAD, world));
    say("scan:", MPI_Scan(&in, &out, 1, MPI_INT, MPI_SUM, world));
    say("allgather:", MPI_Allgather(&in, 1, MPI_INT, all, 1, MPI_INT, world));
    MPI_Ibarrier(world, &request);
    say("ibarrier:", MPI_Wait(&request, MPI_STATUS_IGNORE));
    say("dup:", MPI_Comm_dup(world, &copy));
}

static int handled;
static void handler(MPI_Comm *comm, int *code, ...)
{
    int failed = -1;
    MPI_Group group;
    MPIX_Comm_get_failed(*comm, &group);
    MPI_Group_size(group, &failed);
    MPI_Group_free(&group);
    handled = failed * 10 + (*code == MPIX_ERR_PROC_FAILED);
}

static void handlers(void)
{
    MPI_Comm other;
    MPI_Errhandler mine;
    MPI_Comm_dup(world, &other);
    MPI_Comm_create_errhandler(handler, &mine);
    MPI_Comm_set_errhandler(other, mine);
    die_here();
    say("returns:", MPI_Barrier(world));
    printf("rank %d handled %d\n", rank, handled);
    say("handles:", MPI_Barrier(other));
    printf("rank %d handled %d\n", rank, handled);
    MPI_Errhandler_free(&mine);
    MPI_Comm_free(&other);
}

static void revoke(void)
{
    int value = rank, flag = -1;
    MPI_Comm other;
    MPI_Request request;
    MPI_Comm_dup(world, &other);
    MPI_Irecv(&value, 1, MPI_INT, (rank + 1) % size, 5, other, &request);
    MPI_Barrier(world);
    if (rank == 2)
        say("revokes:", MPIX_Comm_revoke(other));
    say("waits:", MPI_Wait(&request, MPI_STATUS_IGNORE));
    MPIX_Comm_is_revoked(other, &flag);
    printf("rank %d revoked: %d\n", rank, flag);
    say("sends:", MPI_Send(&value, 1, MPI_INT, (rank + 1) % size, 0, other));
    say("receives:", MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, other, MPI_STATUS_IGNORE));
    say("barrier:", MPI_Barrier(other));
    flag = 3;
    say("agrees:", MPIX_Comm_agree(other, &flag));
    say("elsewhere:", MPI_Barrier(world));
    MPIX_Comm_is_revoked(world, &flag);
    printf("rank %d revoked elsewhere: %d\n", rank, flag);
    MPI_Comm_free(&other);
}

static void shrink(void)
{
    int sum = 0, mine = rank, left, place;
    MPI_Comm small;
    after_death();
    MPIX_Comm_revoke(world);
    say("shrinks:", MPIX_Comm_shrink(world, &small));
    MPI_Comm_size(small, &left);
    MPI_Comm_rank(small, &place);
    say("sums:", MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, small));
    printf("rank %d is %d of %d, sum %d\n", rank, place, left, sum);
    MPI_Comm_free(&small);
}

static void later(void)
{
    int sum = 0, mine = rank, left, flag = 6 | rank;
    MPI_Comm small;
    MPI_Request requests[2];
    if (rank != DEAD)
        after_death();
    MPIX_Comm_ishrink(world, &small, &requests[0]);
    die_here(); /* it has come, and is no member all the same */
    say("shrinks:", MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    MPIX_Comm_iagree(small, &flag, &requests[1]);
    say("agrees:", MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
    MPI_Comm_size(small, &left);
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, small);
    printf("rank %d of %d, sum %d, flag %d\n", rank, left, sum, flag);
    MPI_Comm_free(&small);
}

static void agree(void)
{
    int flag = rank == 3 ? 5 : 7, number = 0;
    MPI_Group group;
    after_death();
    if (rank != 2)
        MPIX_Comm_failure_ack(world);
    say("agrees:", MPIX_Comm_agree(world, &flag));
    printf("rank %d flag %d\n", rank, flag);
    MPIX_Comm_ack_failed(world, 1, &number);
    MPIX_Comm_failure_get_acked(world, &group);
    flag = rank == 2 ? 9 : 13;
    say("agrees again:", MPIX_Comm_agree(world, &flag));
    int members, of_world = DEAD, in_group = -1;
    MPI_Group everybody;
    MPI_Comm_group(world, &everybody);
    MPI_Group_size(group, &members);
    MPI_Group_translate_ranks(everybody, 1, &of_world, group, &in_group);
    printf("rank %d flag %d, %d acknowledged, %d of them, at %d\n", rank, flag, number, members,
           in_group);
    MPI_Group_free(&group);
    MPI_Group_free(&everybody);
}

/* A communicator without the dead goes on as before. */
static void apart(void)
{
    int sum, one = 1;
    MPI_Comm half;
    MPI_Comm_split(world, rank == DEAD, 0, &half);
    after_death();
    say("without it:", MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, half));
    printf("rank %d sum %d\n", rank, sum);
    MPI_Comm_free(&half);
}

static void across(void)
{
    int flag = rank, side, left = -1, remote = -1;
    MPI_Comm half, both, small;
    side = rank < 2;
    MPI_Comm_split(world, side, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, side ? 2 : 0, 3, &both);
    MPI_Comm_set_errhandler(both, MPI_ERRORS_RETURN);
    after_death();
    if (!side)
        say("receives across:", MPI_Recv(&flag, 1, MPI_INT, 1, 0, both, MPI_STATUS_IGNORE));
    say("barrier across:", MPI_Barrier(both));
    say("shrinks across:", MPIX_Comm_shrink(both, &small));
    MPI_Comm_size(small, &left);
    MPI_Comm_remote_size(small, &remote);
    printf("rank %d of %d with %d\n", rank, left, remote);
    say("barrier again:", MPI_Barrier(small));
    MPI_Comm_free(&small);
    MPI_Comm_free(&both);
    MPI_Comm_free(&half);
}

int main(int argc, char **argv)
{
    static const struct rule rules[] = {{"point", point},       {"before", before},
                                        {"wildcard", wildcard}, {"collectives", collectives},
                                        {"handlers", handlers}, {"revoke", revoke},
                                        {"shrink", shrink},     {"later", later},
                                        {"agree", agree},       {"apart", apart},
                                        {"across", across}};
    return run_rule(argc, argv, rules, sizeof rules / sizeof rules[0]);
}

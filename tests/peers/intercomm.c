/* Intercommunicators: made, duplicated, split, created out of each other; what goes across.
 * ranks: 2 3 5 8 */
#include "peer.h"
#include <stdint.h>

static MPI_Comm across, local;
static int odd, own, mine, far;

static void say_across(const char *what, MPI_Comm comm)
{
    if (comm == MPI_COMM_NULL) {
        say("%s: null", what);
        return;
    }
    int inter, here, there, at, all[16], sum;
    MPI_Comm_test_inter(comm, &inter);
    MPI_Comm_rank(comm, &at);
    MPI_Comm_size(comm, &here);
    MPI_Comm_remote_size(comm, &there);
    MPI_Allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, comm);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    say("%s: %s, %d of %d, across %s, sum %d", what, inter ? "inter" : "intra", at, here,
        numbers(all, there), sum);
}

static void splits(void)
{
    MPI_Comm made;
    MPI_Comm_split(across, mine % 2, -rank, &made);
    say_across("by parity, backwards", made);
    if (made != MPI_COMM_NULL)
        MPI_Comm_free(&made);
    MPI_Comm_split(across, mine == 0 ? 3 : MPI_UNDEFINED, 0, &made);
    say_across("the first ones", made);
    if (made != MPI_COMM_NULL)
        MPI_Comm_free(&made);
}

/* In the old order: Open MPI 4.1 hangs on another. */
static void creates(void)
{
    MPI_Comm made;
    MPI_Group all, part;
    int ranks[16], n = own > 1 ? own - 1 : 1;
    for (int i = 0; i < n; i++)
        ranks[i] = i;
    MPI_Comm_group(across, &all);
    MPI_Group_incl(all, n, ranks, &part);
    MPI_Comm_create(across, part, &made);
    say_across("all but the last", made);
    if (made != MPI_COMM_NULL)
        MPI_Comm_free(&made);
    MPI_Group_free(&part);
    MPI_Group_free(&all);
}

static int copy_more(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag)
{
    *(void **)out = (char *)in + 1;
    *flag = 1;
    return MPI_SUCCESS;
}

static void duplicates(void)
{
    MPI_Comm now, later;
    MPI_Request request;
    int keyval, flag, order;
    void *value;
    MPI_Comm_create_keyval(copy_more, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);
    MPI_Comm_set_attr(across, keyval, (void *)(intptr_t)rank);
    MPI_Comm_dup(across, &now);
    MPI_Comm_idup(across, &later, &request);
    MPI_Comm_delete_attr(across, keyval);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_compare(now, later, &order);
    say_across("duplicate", now);
    say_across("later duplicate", later);
    say("they are %s", order == MPI_CONGRUENT ? "congruent" : "something else");
    MPI_Comm_get_attr(now, keyval, &value, &flag);
    say("attribute %d %d", flag, (int)(intptr_t)value);
    MPI_Comm_get_attr(later, keyval, &value, &flag);
    say("attribute of the later one %d %d", flag, (int)(intptr_t)value);
    MPI_Comm_free(&now);
    MPI_Comm_free(&later);
    MPI_Comm_free_keyval(&keyval);
}

/* Both sides give as much in all: each rank gets as many elements as there are across. */
static void scatters_sums(void)
{
    int counts[16], send[64], got[16] = {0};
    for (int i = 0; i < own; i++)
        counts[i] = far;
    for (int i = 0; i < own * far; i++)
        send[i] = 100 * rank + i;
    MPI_Reduce_scatter(send, got, counts, MPI_INT, MPI_SUM, across);
    say("scattered sums %s", numbers(got, far));
}

static void roots(void)
{
    for (int turn = 0; turn < 2; turn++) {
        int root = odd != turn ? 0 : mine == 0 ? MPI_ROOT : MPI_PROC_NULL;
        int value = rank + 50, all[16] = {0};
        MPI_Bcast(&value, 1, MPI_INT, root, across);
        MPI_Gather(&rank, 1, MPI_INT, all, 1, MPI_INT, root, across);
        say("turn %d: %d, gathered %s", turn, value, numbers(all, root == MPI_ROOT ? far : 0));
        MPI_Barrier(across);
    }
}

int main(int argc, char **argv)
{
    MPI_Comm merged;
    begin(argc, argv);
    odd = rank % 2;
    MPI_Comm_split(MPI_COMM_WORLD, odd, 0, &local);
    MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, !odd, 5, &across);
    MPI_Comm_size(local, &own);
    MPI_Comm_rank(local, &mine);
    MPI_Comm_remote_size(across, &far);
    say_across("made", across);
    duplicates();
    scatters_sums();
    roots();
    creates();
    splits();
    MPI_Intercomm_merge(across, odd, &merged);
    int at, all[16];
    MPI_Comm_rank(merged, &at);
    MPI_Allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, merged);
    say("merged: %d of %s", at, numbers(all, size));
    MPI_Comm_free(&merged);
    MPI_Comm_free(&across);
    MPI_Comm_free(&local);
    return told();
}

/* about: ranks of a process group send right and receive from the left: one message after the other, or as one batch
 * ranks: 3,4
 * arguments: one-by-one
 * expect: eager=D003 rendezvous=D001 batch=D001
 * variant: batched; arguments: batched; expect: eager=OK rendezvous=OK batch=OK
 * variant: batched-data; arguments: batched; options: --order data; expect: eager=OK rendezvous=OK batch=OK
 * variant: started; arguments: started; expect: eager=OK rendezvous=OK batch=OK
 * variant: any-source; arguments: any-source; expect: eager=R003 rendezvous=R003 batch=R003
 *
 * Messages of a batch start together and are all waited for, and so do their adjoints. A receive from any source is
 * differentiated too, towards whoever it was; which one comes first is not determined. */
#include <data_channel.h>
#include <diff.h>
#include <mpi.h>
#include <process_group.h>
#include <words.h>

static struct diff_tensor *pass_on(struct process_group *group, struct diff_tensor *x, const char *how)
{
    int size = process_group_size(group), rank = process_group_rank(group);
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    struct diff_tensor *results[2];
    if (!strcmp(how, "batched")) {
        struct process_message messages[] = {{true, x, left, 0}, {false, x, right, 0}};
        process_group_batch(group, 2, messages, results);
        return results[0];
    }
    if (!strcmp(how, "started")) {
        struct diff_tensor *sent = process_group_isend(group, x, right, 0);
        results[0] = process_group_receive(group, x, left, 0);
        process_group_wait(group, sent);
        return results[0];
    }
    process_group_send(group, x, right, 0);
    return process_group_receive(group, x, left, 0);
}

/* Rank 0 takes what comes, and adds it with falling weights. */
static struct diff_tensor *collect(struct process_group *group, struct diff_tensor *x)
{
    struct diff_tensor *sum = x;
    if (process_group_rank(group) > 0)
        process_group_send(group, x, 0, 0);
    for (int i = 1; process_group_rank(group) == 0 && i < process_group_size(group); i++)
        sum = diff_add(sum, diff_scale(process_group_receive(group, x, PROCESS_ANY, 0), 1.0 / i));
    return sum;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    const char *how = word_alone(argc, argv, "form", "batched", "batched one-by-one started any-source");
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double values[2] = {0.5 + rank, 1.5}, weights[2] = {1.0 + rank, -2.0};
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct data_channel *channel = data_channel_mpi(MPI_COMM_WORLD);
    struct process_group *world = process_group_world(tape, channel);
    struct diff_tensor *x = diff_input(tape, "x", DIFF_DOUBLE, 1, (size_t[]){2}, values);
    struct diff_tensor *y = !strcmp(how, "any-source") ? collect(world, x) : pass_on(world, x, how);
    diff_backward(diff_dot(y, diff_constant(tape, DIFF_DOUBLE, 1, (size_t[]){2}, weights)));
    process_group_free(world);
    data_channel_free(channel);
    diff_tape_free(tape);
    MPI_Finalize();
    return 0;
}

/* about: one collective of a process group whose ranks are turned round, under a weighted loss
 * ranks: 2,3,5
 * arguments: all-reduce
 * expect: OK
 * variant: avg; arguments: avg; expect: OK
 * variant: product; arguments: product; expect: OK
 * variant: min; arguments: min; expect: OK
 * variant: max; arguments: max; expect: OK
 * variant: premul; arguments: premul; expect: OK
 * variant: reduce; arguments: reduce; expect: OK
 * variant: broadcast; arguments: broadcast; expect: OK
 * variant: gather; arguments: gather; expect: OK
 * variant: all-gather; arguments: all-gather; expect: OK
 * variant: scatter; arguments: scatter; expect: OK
 * variant: reduce-scatter; arguments: reduce-scatter; expect: OK
 * variant: all-to-all; arguments: all-to-all; expect: OK
 * variant: coalesced; arguments: coalesced; expect: OK
 * variant: sized; arguments: sized; expect: OK
 * variant: all-reduce-channel; arguments: all-reduce channel; expect: OK
 * variant: product-channel; arguments: product channel; expect: OK
 * variant: gather-channel; arguments: gather channel; expect: OK
 * variant: reduce-scatter-channel; arguments: reduce-scatter channel; expect: OK
 * variant: sized-channel; arguments: sized channel; expect: OK
 *
 * Weights differ on every rank. The factor of premul is a variable too. The channel variants take the operations of
 * process groups where there is no MPI. */
#include <data_channel.h>
#include <diff.h>
#include <mpi.h>
#include <process_group.h>
#include <words.h>

enum { RANKS_MAX = 8, VALUES = 8 };

static struct process_op op_of(const char *name, struct diff_tensor *factor)
{
    return !strcmp(name, "avg")       ? PROCESS_AVG
           : !strcmp(name, "product") ? PROCESS_PRODUCT
           : !strcmp(name, "min")     ? PROCESS_MIN
           : !strcmp(name, "max")     ? PROCESS_MAX
           : !strcmp(name, "premul")  ? PROCESS_PREMUL_TENSOR(factor)
                                      : PROCESS_SUM;
}

static struct diff_tensor *apply(struct process_group *group, const char *name,
                                 struct diff_tensor *x)
{
    size_t size = (size_t)process_group_size(group), rank = (size_t)process_group_rank(group);
    struct diff_tensor *some = diff_slice(x, 0, size),
                       *parts[2] = {diff_slice(x, 0, 2), diff_slice(x, 3, 3)}, *sums[2];
    if (!strcmp(name, "reduce"))
        return process_group_reduce(group, x, PROCESS_SUM, 1);
    if (!strcmp(name, "broadcast"))
        return process_group_broadcast(group, x, 1);
    if (!strcmp(name, "gather"))
        return process_group_gather(group, some, 1);
    if (!strcmp(name, "all-gather"))
        return process_group_all_gather(group, some);
    if (!strcmp(name, "scatter"))
        return process_group_scatter(group, some, 1, 1);
    if (!strcmp(name, "reduce-scatter"))
        return process_group_reduce_scatter(group, some, NULL, PROCESS_MAX);
    if (!strcmp(name, "all-to-all"))
        return process_group_all_to_all(group, some, NULL, NULL);
    if (!strcmp(name, "sized")) /* nobody knows the others' sizes */
        return process_group_all_gather_sized(group, diff_slice(x, 0, rank), NULL);
    if (strcmp(name, "coalesced"))
        return process_group_all_reduce(group, x, op_of(name, diff_slice(x, 7, 1)));
    process_group_all_reduce_coalesced(group, 2, parts, PROCESS_SUM, sums);
    return diff_concat(2, sums);
}

static struct diff_tensor *weighted(struct diff_tape *tape, struct diff_tensor *y, int rank)
{
    double weights[RANKS_MAX * VALUES];
    size_t count = diff_count(y);
    for (size_t i = 0; i < count; i++)
        weights[i] = 1.0 / (1 + (double)i) - 0.3 * rank;
    return diff_dot(y, diff_constant(tape, DIFF_DOUBLE, 1, &count, weights));
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    const char *name =
        word_of(argc, argv, 1, "collective", "all-reduce",
                "all-reduce avg product min max premul reduce broadcast gather all-gather scatter "
                "reduce-scatter all-to-all coalesced sized");
    bool plain = switch_of(argc, argv, 2, "way", "group", "channel");
    words_end(argc, argv, 2);
    int rank, size, turned[RANKS_MAX];
    double values[VALUES];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    ranks_at_most(size, RANKS_MAX);
    for (int i = 0; i < size; i++)
        turned[i] = size - 1 - i;
    for (int i = 0; i < VALUES; i++)
        values[i] = 0.5 + 0.2 * i + (i % 2 ? -0.3 : 0.4) * rank;
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct data_channel *channel = data_channel_mpi(MPI_COMM_WORLD);
    struct process_group *world =
        plain ? process_group_plain(tape, channel) : process_group_world(tape, channel);
    struct process_group *group = process_group_new(world, size, turned);
    struct diff_tensor *x = diff_input(tape, "x", DIFF_DOUBLE, 1, (size_t[]){VALUES}, values);
    diff_backward(weighted(tape, apply(group, name, x), rank));
    process_group_free(group);
    process_group_free(world);
    data_channel_free(channel);
    diff_tape_free(tape);
    MPI_Finalize();
    return 0;
}

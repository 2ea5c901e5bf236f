/* Communicators, groups, attributes, topologies. */
#include "peer.h"

static const char *comparison(int result)
{
    return result == MPI_IDENT       ? "the same"
           : result == MPI_CONGRUENT ? "congruent"
           : result == MPI_SIMILAR   ? "similar"
           : result == MPI_UNEQUAL   ? "unequal"
                                     : "nonsense";
}

static void say_comm(const char *what, MPI_Comm comm)
{
    if (comm == MPI_COMM_NULL) {
        say("%s: null", what);
        return;
    }
    int own, count, result, all[16];
    MPI_Comm_rank(comm, &own);
    MPI_Comm_size(comm, &count);
    MPI_Comm_compare(comm, MPI_COMM_WORLD, &result);
    MPI_Allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, comm);
    say("%s: %d of %d, %s, members %s", what, own, count, comparison(result), numbers(all, count));
}

static void splits(void)
{
    MPI_Comm made;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &made);
    say_comm("by parity", made);
    MPI_Comm_free(&made);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2 ? MPI_UNDEFINED : 1, -rank, &made);
    say_comm("even, backwards", made);
    if (made != MPI_COMM_NULL)
        MPI_Comm_free(&made);
    MPI_Comm_dup(MPI_COMM_WORLD, &made);
    say_comm("copy", made);
    MPI_Comm_free(&made);
}

static void say_group(const char *what, MPI_Group group)
{
    int own, count, ranks[16], places[16];
    MPI_Group all;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_rank(group, &own);
    MPI_Group_size(group, &count);
    for (int i = 0; i < count; i++)
        ranks[i] = i;
    MPI_Group_translate_ranks(group, count, ranks, all, places);
    say("%s: own rank %s, members %s", what, count_name(own), numbers(places, count));
    MPI_Group_free(&all);
}

static void groups(void)
{
    MPI_Group all, low, odd, result;
    int half[16], odds[16], n = 0, order;
    for (int r = 0; r < size; r++) {
        half[r] = size / 2 - r;
        if (r % 2)
            odds[n++] = r;
    }
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, size / 2 + 1, half, &low);
    MPI_Group_incl(all, n, odds, &odd);
    say_group("low, backwards", low);
    MPI_Group_union(low, odd, &result);
    say_group("union", result);
    MPI_Group_intersection(low, odd, &result);
    say_group("intersection", result);
    MPI_Group_difference(low, odd, &result);
    say_group("difference", result);
    MPI_Group_excl(all, n, odds, &result);
    say_group("without odd", result);
    int range[1][3] = {{size - 1, 0, -2}};
    MPI_Group_range_incl(all, 1, range, &result);
    say_group("every second from the end", result);
    MPI_Group_compare(low, all, &order);
    say("low and all: %s", comparison(order));
    MPI_Comm made;
    MPI_Comm_create(MPI_COMM_WORLD, low, &made);
    say_comm("of low", made);
}

/* What was copied and dropped of a and b; in which order is left to the library. */
static char of_name[2][128];

static void note(const char *what, const char *name, int value)
{
    char *calls = of_name[name[0] - 'a'];
    size_t used = strlen(calls);
    snprintf(calls + used, sizeof of_name[0] - used, " %s %s %d", what, name, value);
}

static void say_calls(const char *when)
{
    say("%s:%s,%s", when, of_name[0], of_name[1]);
    of_name[0][0] = of_name[1][0] = 0;
}

static int copy(MPI_Comm comm, int keyval, void *extra, void *value, void *copied, int *flag)
{
    (void)comm, (void)keyval;
    note("copy", extra, *(int *)value);
    *(void **)copied = value;
    *flag = *(int *)value != 13;
    return MPI_SUCCESS;
}

static int drop(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm, (void)keyval;
    note("drop", extra, *(int *)value);
    return MPI_SUCCESS;
}

static void attributes(void)
{
    static int values[3] = {1, 13, 3};
    static char names[2][4] = {"a", "b"};
    int keyvals[2], flag;
    MPI_Comm first, second;
    int *value;
    MPI_Comm_dup(MPI_COMM_WORLD, &first);
    MPI_Comm_create_keyval(copy, drop, &keyvals[0], names[0]);
    MPI_Comm_create_keyval(copy, drop, &keyvals[1], names[1]);
    MPI_Comm_set_attr(first, keyvals[0], &values[0]);
    MPI_Comm_set_attr(first, keyvals[1], &values[1]);
    MPI_Comm_dup(first, &second);
    say_calls("duplicate");
    MPI_Comm_get_attr(second, keyvals[0], &value, &flag);
    say("first attribute there %d: %d", flag, flag ? *value : -1);
    MPI_Comm_get_attr(second, keyvals[1], &value, &flag);
    say("second attribute there %d", flag);
    MPI_Comm_set_attr(first, keyvals[0], &values[2]);
    say_calls("replaced");
    MPI_Comm_delete_attr(first, keyvals[1]);
    MPI_Comm_free(&second);
    MPI_Comm_free(&first);
    say_calls("freed");
    MPI_Comm_free_keyval(&keyvals[0]);
    MPI_Comm_free_keyval(&keyvals[1]);
    say("keyval invalid %d", keyvals[0] == MPI_KEYVAL_INVALID);
}

static void grids(void)
{
    int extents[3] = {0, 0, 0}, periods[3] = {0, 1, 0}, at[3], source, target;
    MPI_Comm grid, part;
    MPI_Dims_create(size, 3, extents);
    say("extents %s", numbers(extents, 3));
    MPI_Cart_create(MPI_COMM_WORLD, 3, extents, periods, 0, &grid);
    MPI_Cart_coords(grid, rank, 3, at);
    say("at %s", numbers(at, 3));
    for (int d = 0; d < 3; d++)
        for (int by = -2; by <= 2; by++) {
            MPI_Cart_shift(grid, d, by, &source, &target);
            if (by)
                say("dimension %d by %d: from %s to %s", d, by, peer_name(source),
                    peer_name(target));
        }
    for (int keep = 1; keep < 8; keep++) { /* keeping nothing, MPICH 4.0 gives a null handle */
        int remain[3] = {keep & 1, keep >> 1 & 1, keep >> 2}, count;
        MPI_Cart_sub(grid, remain, &part);
        MPI_Cartdim_get(part, &count);
        say("keeping %s: %d dimensions", numbers(remain, 3), count);
        say_comm("part", part);
        MPI_Comm_free(&part);
    }
    MPI_Comm_free(&grid);
    for (int n = 1; n <= 64; n += 7)
        for (int d = 1; d <= 4; d++) {
            int dims[4] = {0, 0, 0, 0};
            MPI_Dims_create(n, d, dims);
            int product = 1;
            for (int i = 0; i < d; i++)
                product *= dims[i];
            say("%d in %d dimensions: product %d, falling %d", n, d, product,
                d < 2 || dims[0] >= dims[d - 1]);
        }
}

static void graphs(void)
{
    int index[16], edges[32], n = 0, count, near[32];
    for (int r = 0; r < size; r++) {
        edges[n++] = (r + 1) % size;
        edges[n++] = (r + size - 1) % size;
        index[r] = n;
    }
    MPI_Comm ring, directed;
    MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &ring);
    MPI_Graph_neighbors_count(ring, rank, &count);
    MPI_Graph_neighbors(ring, rank, 32, near);
    say("ring neighbours %s", numbers(near, count));
    MPI_Comm_free(&ring);
    int in[2] = {(rank + 1) % size, (rank + 2) % size}, in_weights[2] = {rank, rank + 5};
    int out[2] = {(rank + size - 1) % size, (rank + 2 * size - 2) % size};
    int out_weights[2] = {out[0], out[1] + 5}, weighted, ins, outs, got[4], send[2];
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, in, in_weights, 2, out, out_weights,
                                   MPI_INFO_NULL, 0, &directed);
    MPI_Dist_graph_neighbors_count(directed, &ins, &outs, &weighted);
    say("%d in, %d out, weighted %d", ins, outs, weighted != 0);
    send[0] = rank * 10 + 1;
    send[1] = rank * 10 + 2;
    if (size > 2) { /* with fewer ranks edges are parallel, where libraries differ */
        MPI_Neighbor_alltoall(send, 1, MPI_INT, got, 1, MPI_INT, directed);
        say("alltoall %s", numbers(got, 2));
    }
    MPI_Neighbor_allgather(send, 1, MPI_INT, got, 1, MPI_INT, directed);
    say("allgather %s", numbers(got, 2));
    MPI_Comm_free(&directed);
}

/* Even ranks on one side, odd ones on the other. */
static void across(void)
{
    MPI_Comm local, inter, merged;
    int own, far, value, all[16], inter_flag;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &local);
    MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, rank % 2 ? 0 : 1, 5, &inter);
    MPI_Comm_rank(inter, &own);
    MPI_Comm_remote_size(inter, &far);
    MPI_Comm_test_inter(inter, &inter_flag);
    say("across: inter %d, own %d, remote %d", inter_flag, own, far);
    MPI_Allreduce(&rank, &value, 1, MPI_INT, MPI_SUM, inter);
    say("the others sum to %d", value);
    MPI_Allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, inter);
    say("the others are %s", numbers(all, far));
    value = rank * 7;
    int root = rank % 2 ? 0 : own == 0 ? MPI_ROOT : MPI_PROC_NULL;
    MPI_Bcast(&value, 1, MPI_INT, root, inter);
    say("bcast from the even: %d", value);
    if (own == 0) {
        MPI_Sendrecv(&rank, 1, MPI_INT, 0, 1, &value, 1, MPI_INT, 0, 1, inter, MPI_STATUS_IGNORE);
        say("the other leader is %d", value);
    }
    MPI_Intercomm_merge(inter, rank % 2 == 0, &merged);
    say_comm("merged, odd first", merged);
    MPI_Comm_free(&merged);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&local);
}

int main(int argc, char **argv)
{
    begin(argc, argv);
    if (size > 1)
        across();
    splits();
    groups();
    attributes();
    grids();
    graphs();
    return told();
}

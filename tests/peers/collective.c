/* Collectives: what lies where afterwards, with derived types, in place, with every root. */
#include "peer.h"

enum { PEERS = 16 };

static int send[PEERS * 4], got[PEERS * 8];

static void fresh(void)
{
    for (int i = 0; i < PEERS * 4; i++)
        send[i] = rank * 100 + i;
    for (int i = 0; i < PEERS * 8; i++)
        got[i] = -1;
}

static MPI_Datatype spread(void)
{
    MPI_Datatype vector, type;
    MPI_Type_vector(2, 1, 2, MPI_INT, &vector);
    MPI_Type_create_resized(vector, 0, 4 * (MPI_Aint)sizeof(int), &type);
    MPI_Type_commit(&type);
    MPI_Type_free(&vector);
    return type;
}

static void moving(void)
{
    MPI_Datatype wide = spread();
    for (int root = 0; root < size; root++) {
        fresh();
        MPI_Bcast(rank == root ? send : got, rank == root ? 2 : 1, rank == root ? MPI_INT : wide,
                  root, MPI_COMM_WORLD);
        say("bcast from %d: %s", root, numbers(got, 4));
        fresh();
        MPI_Gather(send, 2, MPI_INT, got, 1, wide, root, MPI_COMM_WORLD);
        say("gather to %d: %s", root, numbers(got, 4 * size));
        fresh();
        MPI_Scatter(send, 1, wide, rank == root ? MPI_IN_PLACE : (void *)got, 2, MPI_INT, root,
                    MPI_COMM_WORLD);
        say("scatter from %d: %s", root, numbers(got, 3));
    }
    fresh();
    MPI_Allgather(send, 2, MPI_INT, got, 1, wide, MPI_COMM_WORLD);
    say("allgather: %s", numbers(got, 4 * size));
    fresh();
    got[rank] = rank * 3;
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, got, 1, MPI_INT, MPI_COMM_WORLD);
    say("allgather in place: %s", numbers(got, size));
    fresh();
    MPI_Alltoall(send, 2, MPI_INT, got, 1, wide, MPI_COMM_WORLD);
    say("alltoall: %s", numbers(got, 4 * size));
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, send, 2, MPI_INT, MPI_COMM_WORLD);
    say("alltoall in place: %s", numbers(send, 2 * size));
    MPI_Type_free(&wide);
}

static void vectors(void)
{
    int counts[PEERS], at[PEERS], out_counts[PEERS], out_at[PEERS], bytes[PEERS], out_bytes[PEERS];
    MPI_Datatype types[PEERS];
    for (int r = 0, in = 1, out = 0; r < size; r++) {
        counts[r] = (r + rank) % 3;
        at[r] = in;
        bytes[r] = in * (int)sizeof(int);
        in += counts[r] + 1;
        out_counts[r] = counts[r];
        out_at[r] = out;
        out_bytes[r] = out * (int)sizeof(int);
        out += counts[r];
        types[r] = MPI_INT;
    }
    fresh();
    MPI_Alltoallv(send, out_counts, out_at, MPI_INT, got, counts, at, MPI_INT, MPI_COMM_WORLD);
    say("alltoallv: %s", numbers(got, 3 * size));
    fresh();
    MPI_Alltoallw(send, out_counts, out_bytes, types, got, counts, bytes, types, MPI_COMM_WORLD);
    say("alltoallw: %s", numbers(got, 3 * size));
    for (int r = 0; r < size; r++) {
        counts[r] = r % 3;
        at[r] = 3 * (size - 1 - r);
    }
    fresh();
    MPI_Allgatherv(send, rank % 3, MPI_INT, got, counts, at, MPI_INT, MPI_COMM_WORLD);
    say("allgatherv: %s", numbers(got, 3 * size));
    fresh();
    MPI_Gatherv(send, rank % 3, MPI_INT, got, counts, at, MPI_INT, size - 1, MPI_COMM_WORLD);
    say("gatherv: %s", numbers(got, 3 * size));
    fresh();
    MPI_Scatterv(send, counts, at, MPI_INT, got, rank % 3, MPI_INT, size - 1, MPI_COMM_WORLD);
    say("scatterv: %s", numbers(got, 3));
}

/* Associative, not commutative: x then y is 2x2 matrices' product modulo a prime. */
static void multiply(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    const int *x = in;
    int *y = inout;
    for (int i = 0; i < *count; i++, x += 4, y += 4) {
        int product[4] = {(x[0] * y[0] + x[1] * y[2]) % 10007, (x[0] * y[1] + x[1] * y[3]) % 10007,
                          (x[2] * y[0] + x[3] * y[2]) % 10007, (x[2] * y[1] + x[3] * y[3]) % 10007};
        memcpy(y, product, sizeof product);
    }
}

static void reductions(void)
{
    MPI_Datatype matrix;
    MPI_Op op;
    int counts[PEERS];
    MPI_Type_contiguous(4, MPI_INT, &matrix);
    MPI_Type_commit(&matrix);
    MPI_Op_create(multiply, 0, &op);
    for (int r = 0; r < size; r++)
        counts[r] = r == 1 ? 0 : 1;
    fresh();
    MPI_Reduce(send, got, 2, matrix, op, size - 1, MPI_COMM_WORLD);
    say("reduce: %s", numbers(got, 8));
    fresh();
    MPI_Allreduce(send, got, 2, matrix, op, MPI_COMM_WORLD);
    say("allreduce: %s", numbers(got, 8));
    fresh();
    MPI_Allreduce(MPI_IN_PLACE, send, 1, matrix, op, MPI_COMM_WORLD);
    say("allreduce in place: %s", numbers(send, 4));
    fresh();
    MPI_Scan(send, got, 2, matrix, op, MPI_COMM_WORLD);
    say("scan: %s", numbers(got, 8));
    fresh();
    MPI_Exscan(send, got, 2, matrix, op, MPI_COMM_WORLD);
    say("exscan: %s", rank ? numbers(got, 8) : "undefined");
    fresh();
    MPI_Reduce_scatter_block(send, got, 1, matrix, op, MPI_COMM_WORLD);
    say("reduce_scatter_block: %s", numbers(got, 4));
    fresh();
    MPI_Reduce_scatter(send, got, counts, matrix, op, MPI_COMM_WORLD);
    say("reduce_scatter: %s", numbers(got, 4));
    MPI_Op_free(&op);
    MPI_Type_free(&matrix);
    struct {
        int value, place;
    } mine = {(rank * 5) % 3, rank}, least = {-1, -1}, most = {-1, -1};
    MPI_Allreduce(&mine, &least, 1, MPI_2INT, MPI_MINLOC, MPI_COMM_WORLD);
    MPI_Allreduce(&mine, &most, 1, MPI_2INT, MPI_MAXLOC, MPI_COMM_WORLD);
    say("least %d at %d, most %d at %d", least.value, least.place, most.value, most.place);
}

/* Bytes stay below 128: MPICH 4.0 compares unsigned ones as signed. */
static void predefined(void)
{
    static const struct {
        const char *name;
        MPI_Op op;
    } ops[] = {{"max", MPI_MAX},   {"min", MPI_MIN},  {"sum", MPI_SUM},   {"prod", MPI_PROD},
               {"land", MPI_LAND}, {"lor", MPI_LOR},  {"lxor", MPI_LXOR}, {"band", MPI_BAND},
               {"bor", MPI_BOR},   {"bxor", MPI_BXOR}};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        int in[3] = {rank + 1, (rank * 7) % 4, -rank}, out[3];
        unsigned char small_in = (unsigned char)(rank * 20 + 3), small_out = 0;
        MPI_Allreduce(in, out, 3, MPI_INT, ops[i].op, MPI_COMM_WORLD);
        MPI_Allreduce(&small_in, &small_out, 1, MPI_UNSIGNED_CHAR, ops[i].op, MPI_COMM_WORLD);
        say("%s: %s, of bytes %d", ops[i].name, numbers(out, 3), small_out);
    }
}

static void nonblocking(void)
{
    int sum = -1, all[PEERS], value = rank ? -1 : 42;
    MPI_Request requests[4];
    MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
    MPI_Ibcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Iallgather(&rank, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD, &requests[2]);
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    say("later: %d %d %s", sum, value, numbers(all, size));
}

int main(int argc, char **argv)
{
    begin(argc, argv);
    moving();
    vectors();
    reductions();
    predefined();
    nonblocking();
    return told();
}

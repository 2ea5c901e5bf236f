/* A struct type with gaps and a user's operation on it: a reduction that does not commute (products
 * of matrices carried with a label), with MINLOC beside it. ranks: 2 3 5 16 */
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct item {
    char label[3];
    double m[2][2];
    short count;
    long key;
};

static void multiply(void *in, void *inout, int *n, MPI_Datatype *type)
{
    struct item *a = in, *b = inout;
    MPI_Aint lower, extent;
    MPI_Type_get_extent(*type, &lower, &extent);
    for (int i = 0; i < *n; i++) {
        double m[2][2];
        for (int r = 0; r < 2; r++)
            for (int c = 0; c < 2; c++)
                m[r][c] = a[i].m[r][0] * b[i].m[0][c] + a[i].m[r][1] * b[i].m[1][c];
        memcpy(b[i].m, m, sizeof m);
        b[i].count = (short)(a[i].count + b[i].count);
        b[i].key += a[i].key;
        b[i].label[0] = a[i].label[0];
        b[i].label[2] = extent == sizeof(struct item) ? b[i].label[2] : '!';
    }
}

static void show(const char *what, int rank, const struct item *item)
{
    printf("= %s on %d: %c%c%c %g %g %g %g, %d, %ld\n", what, rank, item->label[0], item->label[1],
           item->label[2], item->m[0][0], item->m[0][1], item->m[1][0], item->m[1][1], item->count,
           item->key);
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Datatype packed, type;
    MPI_Aint places[] = {offsetof(struct item, label), offsetof(struct item, m),
                         offsetof(struct item, count), offsetof(struct item, key)};
    MPI_Type_create_struct(4, (int[]){3, 4, 1, 1}, places,
                           (MPI_Datatype[]){MPI_CHAR, MPI_DOUBLE, MPI_SHORT, MPI_LONG}, &packed);
    MPI_Type_create_resized(packed, 0, sizeof(struct item), &type);
    MPI_Type_commit(&type);
    MPI_Op op;
    MPI_Op_create(multiply, 0, &op);
    struct item mine[3], reduced[3], scanned[3];
    for (int i = 0; i < 3; i++) {
        memset(&mine[i], 0, sizeof mine[i]);
        mine[i].label[0] = (char)('a' + rank), mine[i].label[1] = (char)('0' + i);
        mine[i].label[2] = (char)('A' + rank);
        mine[i].m[0][0] = 1, mine[i].m[0][1] = (rank + i) % 3, mine[i].m[1][0] = rank % 2;
        mine[i].m[1][1] = 1, mine[i].count = (short)(i + 1), mine[i].key = rank + 1;
    }
    memset(reduced, 0, sizeof reduced);
    memset(scanned, 0, sizeof scanned);
    MPI_Reduce(mine, reduced, 3, type, op, size - 1, MPI_COMM_WORLD);
    MPI_Scan(mine, scanned, 3, type, op, MPI_COMM_WORLD);
    if (rank == size - 1)
        MPI_Send(reduced, 3, type, 0, 1, MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Recv(reduced, 3, type, size - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < 3; i++)
            show("reduced", i, &reduced[i]);
    }
    struct item all[16];
    MPI_Gather(&scanned[1], 1, type, all, 1, type, 0, MPI_COMM_WORLD);
    for (int i = 0; rank == 0 && i < size; i++)
        show("scanned", i, &all[i]);
    MPI_Allreduce(MPI_IN_PLACE, mine, 3, type, op, MPI_COMM_WORLD);
    if (rank == size / 2)
        MPI_Send(mine, 1, type, 0, 2, MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Recv(reduced, 1, type, size / 2, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        show("everywhere", size / 2, &reduced[0]);
    }
    struct {
        double value;
        int place;
    } own = {(rank * 7 + 3) % 5, rank}, least, most;
    MPI_Allreduce(&own, &least, 1, MPI_DOUBLE_INT, MPI_MINLOC, MPI_COMM_WORLD);
    MPI_Reduce(&own, &most, 1, MPI_DOUBLE_INT, MPI_MAXLOC, 0, MPI_COMM_WORLD);
    int commutes = -1;
    MPI_Op_commutative(op, &commutes);
    if (rank == 0)
        printf("= least %g at %d, most %g at %d, commutes %d\n", least.value, least.place,
               most.value, most.place, commutes);
    MPI_Op_free(&op);
    MPI_Type_free(&packed);
    MPI_Type_free(&type);
    MPI_Finalize();
    return 0;
}

/* about: a buffer that holds other numbers than the call says, or fewer
 * ranks: 2,3
 * arguments: right
 * expect: OK
 * variant: int; arguments: int; expect: M011
 * variant: allocated; arguments: allocated; expect: M011
 * variant: static; arguments: static; expect: M011
 * variant: padding; arguments: padding; expect: M011
 * variant: short; arguments: short; expect: B006
 * variant: bytes; arguments: bytes; expect: OK
 *
 * As many bytes arrive as were sent, and they are of one type on both sides: only the buffer's own type tells that the numbers mean
 * something else. A struct has padding before its double; two ints and a double without it are another type map. MPI_BYTE moves
 * anything. */
#include <mpi.h>
#include <stddef.h>
#include <stdlib.h>
#include <words.h>

struct sample {
    int step;
    double value;
};

static double field[8];

static void share(void *buffer, int count, MPI_Datatype type)
{
    MPI_Bcast(buffer, count, type, 0, MPI_COMM_WORLD);
}

static void share_samples(struct sample *samples, MPI_Aint place)
{
    MPI_Datatype type;
    MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, place},
                           (MPI_Datatype[]){MPI_INT, MPI_DOUBLE}, &type);
    MPI_Type_commit(&type);
    share(samples, 1, type);
    MPI_Type_free(&type);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    const char *how =
        word_alone(argc, argv, "buffer", "right", "right int allocated static padding short bytes");
    int numbers[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    struct sample samples[2] = {{1, 0.5}, {2, 0.25}};
    double *values = calloc(8, sizeof *values);
    share(numbers, strcmp(how, "short") ? 8 : 9, MPI_INT);
    share(values, 8, strcmp(how, "allocated") ? MPI_DOUBLE : MPI_LONG);
    share(field, 8, strcmp(how, "static") ? MPI_DOUBLE : MPI_INT64_T);
    share_samples(samples, strcmp(how, "padding") ? (MPI_Aint)offsetof(struct sample, value) : 4);
    if (!strcmp(how, "int"))
        share(numbers, 4, MPI_DOUBLE);
    if (!strcmp(how, "bytes"))
        share(samples, (int)sizeof samples, MPI_BYTE);
    free(values);
    MPI_Finalize();
    return 0;
}

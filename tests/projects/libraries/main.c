/* Each rank adds its number plus one three times, with barriers between; what differs from three
 * times that is another rank's. */
#include "kinds.h"

#include <mpi.h>
#include <stdio.h>

int overridden, interposed;

#define KIND(name, factor)                                                                         \
    {                                                                                              \
#name, name##_add, factor                                                                  \
    }
static const struct {
    const char *name;
    int (*add)(int);
    int factor;
} kinds[] = {KIND(plain, 3),      KIND(hidden, 3),       KIND(local, 3),           KIND(built, 3),
             KIND(chosen, 3),     KIND(weak, 3),         KIND(common, 3),          KIND(guarded, 3),
             KIND(interposed, 3), KIND(inline_first, 3), KIND(function_static, 3), KIND(heap, 3)};
enum { KINDS = sizeof kinds / sizeof *kinds };

int main(int argc, char **argv)
{
    int rank, size, last[KINDS] = {0}, wrong[KINDS + 4] = {0}, all[KINDS + 4];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int mine = rank + 1;
    for (int round = 0; round < 3; round++) {
        for (int k = 0; k < KINDS; k++)
            last[k] = kinds[k].add(mine);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    for (int k = 0; k < KINDS; k++)
        wrong[k] = last[k] != kinds[k].factor * mine;
    wrong[KINDS] = plain != 3 * mine || common != 3 * mine || interposed != 3 * mine;
    wrong[KINDS + 1] = overridden != 3 * mine;
    wrong[KINDS + 2] = pointed_add(1) != 3 * mine + 1;
    wrong[KINDS + 3] = inline_second_add(1) != 6 * mine + 1;
    MPI_Reduce(wrong, all, KINDS + 4, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    for (int k = 0; rank == 0 && k < KINDS; k++)
        printf("%s %s\n", kinds[k].name, all[k] ? "wrong" : "right");
    if (rank == 0)
        printf("seen by the program %s\noverridden %s\npointed %s\ninline over libraries %s\n",
               all[KINDS] ? "wrong" : "right", all[KINDS + 1] ? "wrong" : "right",
               all[KINDS + 2] ? "wrong" : "right", all[KINDS + 3] ? "wrong" : "right");
    MPI_Finalize();
    return 0;
}

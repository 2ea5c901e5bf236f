/* test_integers.c: handles as integers and back. */
#include <mpi.h>

#include "sim/base/integers.h"
#include "tests/tap.h"

enum { MANY = 100 };

int main(void)
{
    struct sim_integers integers = {0};
    int objects[MANY], numbers[MANY], null, wrong = 0;
    tap_is_int(PMPI_Comm_toint(MPI_COMM_WORLD), 0x101, "a predefined handle is its own number");
    tap_ok(PMPI_Type_fromint(0x214) == MPI_DOUBLE, "a small number is a predefined handle");
    tap_ok(PMPI_Win_fromint(-5) == MPI_WIN_NULL, "a negative number is the null handle");
    tap_ok(PMPI_Group_fromint(4096) == MPI_GROUP_NULL, "a number nobody has is the null handle");
    tap_is_int(sim_integers_number(NULL, &null), -1, "without a table an object has no number");
    for (int i = 0; i < MANY; i++)
        numbers[i] = sim_integers_number(&integers, &objects[i]);
    for (int i = 0; i < MANY; i++)
        wrong += sim_integers_handle(&integers, numbers[i], NULL) != &objects[i] ||
                 sim_integers_number(&integers, &objects[i]) != numbers[i] || numbers[i] < 4096;
    tap_is_int(wrong, 0, "every object has a number of its own and keeps it");
    tap_ok(sim_integers_handle(&integers, numbers[MANY - 1] + 1, &null) == &null,
           "the number after the last is nobody's");
    sim_integers_release(&integers);
    return tap_done();
}

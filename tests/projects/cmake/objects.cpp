// Objects made before main, an inline variable, a static of a function, and an exception that waits while other ranks run.
#include "counter.h"

#include <iostream>
#include <map>
#include <mpi.h>
#include <stdexcept>
#include <string>

inline int shared_by_units = 0;

struct table {
    std::map<std::string, int> entries;
    table() { entries["start"] = 1; }
};
static table known;

static int &calls()
{
    static int count;
    return count;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size, sum;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    known.entries["rank"] = rank;
    calls() += counter_add(rank + 1);
    try {
        throw std::runtime_error(std::to_string(rank));
    } catch (const std::exception &error) {
        MPI_Barrier(MPI_COMM_WORLD);
        shared_by_units += std::stoi(error.what()) + 1;
        try {
            throw;
        } catch (const std::exception &again) {
            shared_by_units += std::stoi(again.what()) - rank;
        }
    }
    int mine = calls() + shared_by_units + known.entries["rank"] - rank + known.entries["start"] - 1;
    MPI_Reduce(&mine, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        std::cout << "sum " << sum << " of " << size << std::endl;
    MPI_Finalize();
}

// ranks: 2..2
// freed: B001
// array: B001
// scalar: B001
// nothrow: B001
// aligned: B001
// longer: B006
// lists: B006
// assigned: B001
// Objects of new and of the library's containers: where they end, and who takes them away while an operation uses them.
#include <cstdlib>
#include <mpi.h>
#include <new>
#include <string>
#include <vector>
struct alignas(128) wide { double v[16]; };
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank;
    double *base;
    MPI_Win win;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_allocate(800, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    base[0] = 0;
    double *plain = (double *)std::malloc(64), *many = new double[8], *one = new double(3), *quiet = new (std::nothrow) double[2];
    wide *aligned = new wide();
    std::vector<double> list(8, 1.0);
    std::string text(100, 'x');
    MPI_Win_fence(0, win);
    if (rank == 0) {
        MPI_Get(plain, 1, MPI_DOUBLE, 1, 0, 1, MPI_DOUBLE, win); // @freed
        MPI_Get(many, 8, MPI_DOUBLE, 1, 0, 8, MPI_DOUBLE, win); // -longer @array
        MPI_Get(many, 9, MPI_DOUBLE, 1, 0, 9, MPI_DOUBLE, win); // +longer @longer
        MPI_Get(one, 1, MPI_DOUBLE, 1, 0, 1, MPI_DOUBLE, win); // @scalar
        MPI_Get(quiet, 2, MPI_DOUBLE, 1, 0, 2, MPI_DOUBLE, win); // @nothrow
        MPI_Get(aligned->v, 16, MPI_DOUBLE, 1, 0, 16, MPI_DOUBLE, win); // @aligned
        MPI_Get(list.data(), 8, MPI_DOUBLE, 1, 0, 8, MPI_DOUBLE, win); // -lists
        MPI_Get(list.data(), 10, MPI_DOUBLE, 1, 0, 10, MPI_DOUBLE, win); // +lists @lists
        MPI_Put(text.data(), 100, MPI_CHAR, 1, 80, 100, MPI_CHAR, win); // @assigned
    }
    std::free(plain); // +freed @freed
    delete[] many; // +array @array
    delete one; // +scalar @scalar
    operator delete[](quiet, std::nothrow); // +nothrow @nothrow
    delete aligned; // +aligned @aligned
    text.assign(1000, 'y'); // +assigned =assigned
    MPI_Win_fence(0, win);
    std::free(plain); // -freed
    delete[] many; // -array
    delete one; // -scalar
    operator delete[](quiet, std::nothrow); // -nothrow
    delete aligned; // -aligned
    MPI_Win_free(&win);
    MPI_Finalize();
}

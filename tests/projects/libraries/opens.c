/* Every rank opens the first plugin, odd ranks the second; each keeps its own sums. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "kinds.h"

typedef int adder(int);

static adder *open_one(const char *path)
{
    void *handle = dlopen(path, RTLD_NOW);
    adder *found = handle ? (adder *)dlsym(handle, "plugin_add") : NULL;
    if (!found)
        printf("%s\n", dlerror());
    return found;
}

int main(int argc, char **argv)
{
    int rank, size, wrong = 0, all, sum = 0;
    Dl_info info;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    adder *first = open_one("./plugin1.so"), *second = rank % 2 ? open_one("./plugin2.so") : NULL;
    wrong += !first || (rank % 2 && !second) || first == second;
    hidden_add(rank);
    for (int i = 1; i <= 3 && !wrong; i++) {
        wrong += first(rank + 1) != 3 * i * (rank + 1) + 1 + rank;
        MPI_Barrier(MPI_COMM_WORLD);
        wrong += second && second(rank + 1) != 6 * i * (rank + 1) + 1 + rank;
    }
    wrong += open_one("./plugin1.so") != first;
    wrong += dlopen("./absent.so", RTLD_NOW) != NULL || !dlerror() || dlerror();
    wrong += dlsym(RTLD_DEFAULT, "plugin_add") != NULL ||
             dlsym(RTLD_DEFAULT, "hidden_add") != (void *)hidden_add;
    wrong += !dladdr((void *)first, &info) || !strstr(info.dli_fname, "plugin1.so") ||
             !info.dli_sname || strcmp(info.dli_sname, "plugin_add");
    double (*cosine)(double) = (double (*)(double))dlsym(dlopen("libm.so.6", RTLD_NOW), "cos");
    wrong += !cosine || cosine(0) != 1;
    MPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&rank, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("plugins %s\n", all ? "wrong" : "right");
    MPI_Finalize();
    return 0;
}

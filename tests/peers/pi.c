/* The first MPI program of most people: pi by Bcast and Reduce, with globals and statics that every
 * process has for itself. ranks: 1 2 7 16 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int intervals;
static double own_sum;
static char name[64] = "unnamed";
static int *table;
double history[8];

static int calls(void)
{
    static int count = 100;
    return ++count;
}

static double area(int rank, int size)
{
    static int rounds;
    double width = 1.0 / intervals, sum = 0;
    rounds++;
    for (int i = rank; i < intervals; i += size) {
        double x = width * (i + 0.5);
        sum += 4.0 / (1.0 + x * x);
        if (i % (rank + 1) == 0)
            calls();
    }
    history[rounds % 8] = sum * width;
    return sum * width;
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    snprintf(name, sizeof name, "rank %d", rank);
    table = malloc(4 * sizeof *table);
    for (int i = 0; i < 4; i++)
        table[i] = rank * 100 + i;
    srand((unsigned)rank + 1);
    int lottery = rand() % 1000, rank_of_word = 0;
    char words[] = "one,two,three";
    for (char *word = strtok(words, ","); word; word = strtok(NULL, ",")) {
        MPI_Barrier(MPI_COMM_WORLD);
        rank_of_word += (int)strlen(word);
    }
    for (int n = 10; n <= 100000; n *= 10) {
        double pi;
        if (rank == 0)
            intervals = n;
        MPI_Bcast(&intervals, 1, MPI_INT, 0, MPI_COMM_WORLD);
        own_sum = area(rank, size);
        MPI_Reduce(&own_sum, &pi, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
        if (rank == 0)
            printf("= pi with %d intervals: %.10f, error %.2e\n", intervals, pi, fabs(pi - M_PI));
    }
    char line[256], *all = malloc((size_t)size * sizeof line);
    snprintf(line, sizeof line, "= %s: %d calls, table %d, lottery %d, words %d, history %.6f %.6f",
             name, calls(), table[3], lottery, rank_of_word, history[1], history[5]);
    MPI_Gather(line, sizeof line, MPI_CHAR, all, sizeof line, MPI_CHAR, 0, MPI_COMM_WORLD);
    for (int i = 0; rank == 0 && i < size; i++)
        puts(all + i * (int)sizeof line);
    free(all);
    free(table);
    MPI_Finalize();
    return 0;
}

/* An OpenMP team within a rank: threadprivate variables are each thread's own, and the master's are
 * the rank's. */
#include <omp.h>

static int counter = 10;
#pragma omp threadprivate(counter)

int main(int argc, char **argv)
{
    int wrong = 0, sum = 0;
    (void)argv;
    counter += argc;
    for (int round = 0; round < 3; round++) {
#pragma omp parallel num_threads(4) reduction(+ : wrong, sum)
        {
            int master = omp_get_thread_num() == 0;
            if (counter != 10 + round + (master ? argc : 0))
                wrong++;
            counter++;
            sum += omp_get_num_threads() == 4;
        }
    }
    return wrong || sum != 12 || counter != 13 + argc;
}

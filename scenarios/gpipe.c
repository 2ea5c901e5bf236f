/* about: a GPipe schedule: all microbatches forward, then all backward
 * ranks: 4
 * arguments: 8
 * expect: eager=OK rendezvous=OK batch=OK
 * variant: one; arguments: 1; ranks: 2,4,7; expect: eager=OK rendezvous=OK batch=OK
 *
 * Every stage has one weight and computes tanh(weight * input). Blocking messages suffice: the two phases never overlap. */
#include <diff.h>
#include <math.h>
#include <mpi.h>
#include <words.h>

enum { MICROBATCHES_MAX = 32 };

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int stage, stages, microbatches = (int)number_alone(argc, argv, "microbatches", 8, 1, 64);
    MPI_Comm_rank(MPI_COMM_WORLD, &stage);
    MPI_Comm_size(MPI_COMM_WORLD, &stages);
    double weight = 0.7 + 0.1 * stage, gradient = 0, objective = 0;
    double input[MICROBATCHES_MAX], output[MICROBATCHES_MAX];
    diff_mark_input("weight", &weight, 1);
    for (int m = 0; m < microbatches; m++) {
        input[m] = 0.5 + 0.1 * m;
        if (stage > 0)
            MPI_Recv(&input[m], 1, MPI_DOUBLE, stage - 1, m, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        output[m] = tanh(weight * input[m]);
        if (stage < stages - 1)
            MPI_Send(&output[m], 1, MPI_DOUBLE, stage + 1, m, MPI_COMM_WORLD);
        else
            objective += output[m] * output[m];
    }
    diff_mark_objective(objective);
    for (int m = microbatches - 1; m >= 0; m--) {
        double cotangent = 2 * output[m];
        if (stage < stages - 1)
            MPI_Recv(&cotangent, 1, MPI_DOUBLE, stage + 1, m, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        cotangent *= 1 - output[m] * output[m];
        gradient += cotangent * input[m];
        cotangent *= weight;
        if (stage > 0)
            MPI_Send(&cotangent, 1, MPI_DOUBLE, stage - 1, m, MPI_COMM_WORLD);
    }
    diff_mark_gradient("weight", &gradient, 1);
    MPI_Finalize();
    return 0;
}

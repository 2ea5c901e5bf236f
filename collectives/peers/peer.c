/* On a real MPI (Open MPI, MPICH): the extensions of mpix.h as their sensible nothing, but for those
 * of recorder/preload/machine_absent.c. Empty under the simulator, which has the real ones. */
#include <mpi.h>

#if defined(OPEN_MPI) || defined(MPICH)

#include <mpix.h>
#include <stdio.h>
#include <stdlib.h>

static int initialized(void)
{
    int before = 0, after = 0;
    MPI_Initialized(&before);
    MPI_Finalized(&after);
    return before && !after;
}

int MPIX_World_rank(void)
{
    int rank = -1;
    if (initialized())
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

int MPIX_World_size(void)
{
    int size = 0;
    if (initialized())
        MPI_Comm_size(MPI_COMM_WORLD, &size);
    return size;
}

uint64_t MPIX_Steps(void)
{
    return 0;
}

int MPIX_Choose(int kind, int n)
{
    (void)kind, (void)n;
    return 0;
}

int MPIX_Choose_named(int kind, int n, const unsigned *names)
{
    (void)kind, (void)n, (void)names;
    return 0;
}

int MPIX_Probe_patient(int tag, MPI_Comm comm, uint64_t ticks, int *flag, MPI_Status *status)
{
    int error = MPI_SUCCESS;
    *flag = 0;
    for (uint64_t i = 0; i < ticks && !*flag && error == MPI_SUCCESS; i++)
        error = MPI_Iprobe(MPI_ANY_SOURCE, tag, comm, flag, status);
    return error;
}

void MPIX_Yield(void)
{
}

void MPIX_Fail(const char *code, const char *text)
{
    fprintf(stderr, "rank %d: %s: %s\n", MPIX_World_rank(), code, text);
    fflush(stderr);
    if (initialized())
        MPI_Abort(MPI_COMM_WORLD, 1);
    abort();
}

void SIM_Usage(const char *text)
{
    fprintf(stderr, "%s\n", text);
    fflush(stderr);
    if (initialized())
        MPI_Abort(MPI_COMM_WORLD, 2);
    exit(2);
}

void SIM_Batch_begin(void)
{
}

void SIM_Batch_end(void)
{
}

void SIM_Tensor_name(const char *name)
{
    (void)name;
}

void SIM_Metric(const char *name, double step, double value)
{
    (void)name, (void)step, (void)value;
}

#else

typedef int peer_is_empty_under_the_simulator;

#endif

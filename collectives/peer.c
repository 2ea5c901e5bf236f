/* On a real MPI (Open MPI, MPICH): the extensions of mpix.h and the recorder's calls as their
 * sensible nothing. Empty under the simulator, which has the real ones. */
#include <mpi.h>

#if defined(OPEN_MPI) || defined(MPICH)

#include "traces/recorder.h"

#include <mpix.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static void *slots[MPIX_SLOTS]; /* a process is one rank here */

void **MPIX_Rank_slots(void)
{
    return slots;
}

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

void SIM_Batch_begin(void)
{
}

void SIM_Batch_end(void)
{
}

bool record_active(void)
{
    return false;
}

uint32_t record_node(const char *name, enum op_kind kind, uint32_t pass, uint32_t forward,
                     const void *site)
{
    (void)name, (void)kind, (void)pass, (void)forward, (void)site;
    return 0;
}

void record_edge(uint32_t from, uint32_t to, enum edge_type type)
{
    (void)from, (void)to, (void)type;
}

void record_node_enter(uint32_t node)
{
    (void)node;
}

void record_node_leave(uint32_t node)
{
    (void)node;
}

uint32_t record_pass_begin(enum pass_mode mode)
{
    static uint32_t passes;
    (void)mode;
    return ++passes;
}

void record_pass_end(uint32_t pass)
{
    (void)pass;
}

void record_site_enter(const void *site)
{
    (void)site;
}

void record_site_leave(void)
{
}

void record_identity(const char *name)
{
    (void)name;
}

void record_adjoint_comm(const void *comm, const void *original)
{
    (void)comm, (void)original;
}

void record_input(const char *name, uint32_t type, int64_t count)
{
    (void)name, (void)type, (void)count;
}

void record_objective(double value)
{
    (void)value;
}

void record_gradient_check(const struct trace_gradient *row, const char *variable)
{
    (void)row, (void)variable;
}

void record_metric(const char *name, double value, const char *unit)
{
    (void)name, (void)value, (void)unit;
}

void record_note(const char *code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "rank %d: %s: ", MPIX_World_rank(), code);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
}

#else

typedef int peer_is_empty_under_the_simulator;

#endif

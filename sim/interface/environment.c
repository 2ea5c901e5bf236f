/* Init, Finalize, Abort, time, names, memory, the attached buffer. */
#include "recorder/recorder.h"
#include "sim/communicators/comm.h"
#include "sim/communicators/info.h"
#include "sim/interface/leaks.h"
#include "sim/memory/memory.h"
#include "sim/memory/objects.h"
#include "sim/memory/pending.h"
#include "sim/messages/bsend.h"
#include "sim/messages/point.h"
#include "sim/worlds/error.h"
#include "sim/worlds/interrupt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int init_as(int required, int *provided, const char *function)
{
    struct sim_rank *rank = sim_current_rank;
    if (!rank) {
        fprintf(stderr, "MPI_%s called outside a rank: run the program under simrun\n", function);
        exit(2);
    }
    if (rank->initialized)
        return sim_error_raise(MPI_COMM_NULL, MPI_ERR_OTHER, function,
                               "MPI is initialised already");
    int most = rank->world->multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED;
    rank->thread_level = required < most ? required : most;
    if (required > most && rank->world->options.first_failure)
        rank->world->options.first_failure->threads_denied++;
    rank->begun_elsewhere = sim_libc_place() == SIM_LIBC_THREAD;
    rank->initialized = true;
    rank->plain = sim_rank_plain(rank);
    if (record_active() && !rank->world->options.unwatched)
        sim_pending_watch(rank);
    if (provided)
        *provided = rank->thread_level;
    return MPI_SUCCESS;
}

int PMPI_Init(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    return init_as(MPI_THREAD_SINGLE, NULL, "Init");
}

int PMPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    (void)argc, (void)argv;
    return init_as(required, provided, "Init_thread");
}

/* The rank of the calling thread, whichever of its threads that is. */
static const struct sim_rank *any_thread_rank(void)
{
    return sim_current_rank ? sim_current_rank : sim_thread_parent;
}

int PMPI_Initialized(int *flag)
{
    const struct sim_rank *rank = any_thread_rank();
    *flag = rank && rank->initialized;
    return MPI_SUCCESS;
}

int PMPI_Finalized(int *flag)
{
    const struct sim_rank *rank = any_thread_rank();
    *flag = rank && rank->finalized;
    return MPI_SUCCESS;
}

int PMPI_Query_thread(int *provided)
{
    const struct sim_rank *rank = any_thread_rank();
    if (!rank || !rank->initialized)
        return sim_error_raise(MPI_COMM_NULL, MPI_ERR_OTHER, "Query_thread",
                               "called before MPI_Init");
    *provided = rank->thread_level;
    return MPI_SUCCESS;
}

int PMPI_Is_thread_main(int *flag)
{
    *flag = sim_libc_place() != SIM_LIBC_THREAD;
    return MPI_SUCCESS;
}

int PMPI_Finalize(void)
{
    struct sim_rank *rank = sim_point_caller("Finalize");
    if (!rank)
        return MPI_ERR_OTHER;
    sim_rank_stray_check(rank);
    if (rank->comm_self)
        sim_comm_attributes_delete(
            rank->comm_self); /* the standard's hook for code to run at Finalize */
    sim_comm_attributes_delete(rank->comm_world);
    sim_leaks_report(rank);
    sim_bsend_finish(rank);
    sim_pending_finish(rank);
    rank->finalized = true;
    rank->plain = false;
    return MPI_SUCCESS;
}

int PMPI_Abort(MPI_Comm comm, int code)
{
    (void)comm;
    sim_interrupt_over();
    if (!sim_current_rank) {
        fprintf(stderr, "MPI_Abort(%d) called outside a rank\n", code);
        exit(code);
    }
    fprintf(stderr, "rank %d: MPI_Abort(%d)\n", sim_current_rank->id, code);
    sim_rank_abort(sim_current_rank, code);
}

double PMPI_Wtime(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (sim_current_rank)
        sim_current_rank->libc.reads_clock = true;
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

double PMPI_Wtick(void)
{
    return 1e-9;
}

int PMPI_Get_processor_name(char *name, int *length)
{
    if (sim_point_outside("Get_processor_name"))
        return MPI_ERR_OTHER;
    if (gethostname(name, MPI_MAX_PROCESSOR_NAME))
        strcpy(name, "localhost");
    name[MPI_MAX_PROCESSOR_NAME - 1] = '\0';
    *length = (int)strlen(name);
    return MPI_SUCCESS;
}

int PMPI_Get_version(int *version, int *subversion)
{
    *version = MPI_VERSION;
    *subversion = MPI_SUBVERSION;
    return MPI_SUCCESS;
}

int PMPI_Abi_get_version(int *major, int *minor)
{
    *major = MPI_ABI_VERSION;
    *minor = MPI_ABI_SUBVERSION;
    return MPI_SUCCESS;
}

int PMPI_Get_library_version(char *version, int *length)
{
    strcpy(version, "simrun: ranks are threads of one process, over memory");
    *length = (int)strlen(version);
    return MPI_SUCCESS;
}

int PMPI_Pcontrol(const int level, ...)
{
    (void)level;
    return MPI_SUCCESS;
}

int PMPI_Alloc_mem(MPI_Aint size, MPI_Info info, void *base)
{
    if (sim_point_outside("Alloc_mem"))
        return MPI_ERR_OTHER;
    if (!sim_info_handle_valid(info))
        return sim_error_raise(MPI_COMM_NULL, MPI_ERR_INFO, "Alloc_mem",
                               "info is not a valid handle");
    void *memory = size < 0 ? NULL : malloc(size ? (size_t)size : 1);
    if (!memory)
        return sim_error_raise(MPI_COMM_NULL, size < 0 ? MPI_ERR_ARG : MPI_ERR_NO_MEM, "Alloc_mem",
                               "cannot allocate %lld bytes", (long long)size);
    sim_objects_add(memory, (size_t)size, NULL);
    memcpy(base, &memory, sizeof memory);
    return MPI_SUCCESS;
}

int PMPI_Free_mem(void *base)
{
    if (sim_point_outside("Free_mem"))
        return MPI_ERR_OTHER;
    sim_memory_free(base, sim_libc_call_site());
    return MPI_SUCCESS;
}

/* Nobody has spawned these ranks. */
int PMPI_Comm_get_parent(MPI_Comm *parent)
{
    if (!sim_point_caller("Comm_get_parent"))
        return MPI_ERR_OTHER;
    *parent = MPI_COMM_NULL;
    return MPI_SUCCESS;
}

/* The recorder inside a process of a real MPI: libsimrecord.so, preloaded.
 *
 *     mpirun -n 4 -x LD_PRELOAD=build/peers/openmpi/libsimrecord.so ./program          (Open MPI)
 *     mpirun -n 4 -genv LD_PRELOAD build/peers/mpich/libsimrecord.so ./program         (MPICH)
 *
 * Each process writes $SIMRUN_TRACE_DIR/rank-N.simrec (default: the working directory), a mapped
 * file, so that what was recorded survives a crash; `simrun import DIR` merges them. How the
 * process ended is noted where it can be (preload_ends.h). SIMRUN_RECORD=events adds wall times.
 *
 * A process is one rank, and all its threads are recorded; an operation tells which one issued it.
 * Never part of simrun itself; compiled against the real MPI's header with RECORDER_PRELOADED. */
#include "recorder/rank.h"
#include "recorder/recorder.h"

#ifdef RECORDER_PRELOADED

#include "recorder/preload/preload_ends.h"
#include "recorder/recording_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static struct recording recording = {.buffers = {.file = -1}};
static struct recorder_rank *recorder;
static struct recording_end end;
static uint64_t steps; /* touched within the recorder only */
static int world_rank = -1, world_size;

int MPIX_World_rank(void)
{
    return world_rank;
}

int MPIX_World_size(void)
{
    return world_size;
}

/* Logical time is local here: one step per look at the clock. */
uint64_t MPIX_Steps(void)
{
    return steps++;
}

static void complain(const char *what)
{
    fprintf(stderr, "libsimrecord: rank %d: %s; this rank is not recorded\n", world_rank, what);
}

static void start(void)
{
    const char *folder = getenv("SIMRUN_TRACE_DIR"), *level = getenv("SIMRUN_RECORD");
    char path[4096];
    struct failure failure;
    PMPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &world_size);
    if (folder && mkdir(folder, 0777) != 0 && errno != EEXIST)
        complain(strerror(errno));
    snprintf(path, sizeof path, "%s/rank-%06d.simrec", folder ? folder : ".", world_rank);
    if (buffers_init_file(&recording.buffers, path, &failure)) {
        complain(failure.text);
        return;
    }
    recording.ranks = (uint32_t)world_size;
    recording.level =
        level && strcmp(level, "events") == 0 ? RECORD_LEVEL_EVENTS : RECORD_LEVEL_OPS;
    recording.buffers.header->ranks = (uint32_t)world_size;
    recording.recorders = calloc((size_t)world_size, sizeof *recording.recorders);
    recording.ends = &end;
    recording_images_scan(&recording);
    if (recording.recorders &&
        recording_rank_begin_as(&recording, (uint32_t)world_rank, (uint32_t)world_size))
        recorder = MPIX_Rank_slots()[MPIX_SLOT_RECORDER];
    if (recorder)
        preload_ends_begin(recorder->info, path,
                           (size_t)((char *)recorder->info - (char *)recording.buffers.header));
}

static void initialised(int error, int provided, const void *site)
{
    if (error != MPI_SUCCESS)
        return;
    start();
    record_threads(provided);
    struct recorder_rank *me = recorder_enter();
    struct record_op *op = me ? recorder_op(me, OP_INIT, STATE_BLOCKED, site) : NULL;
    if (op)
        recorder_op_complete(me, op);
    recorder_leave(me);
}

int MPI_Init(int *count, char ***arguments)
{
    int error = PMPI_Init(count, arguments);
    initialised(error, MPI_THREAD_SINGLE, __builtin_return_address(0));
    return error;
}

int MPI_Init_thread(int *count, char ***arguments, int required, int *provided)
{
    int error = PMPI_Init_thread(count, arguments, required, provided);
    initialised(error, error == MPI_SUCCESS ? *provided : MPI_THREAD_SINGLE,
                __builtin_return_address(0));
    return error;
}

int MPI_Finalize(void)
{
    struct recorder_rank *me = recorder_enter();
    struct record_op *op =
        me ? recorder_op(me, OP_FINALIZE, STATE_BLOCKED, __builtin_return_address(0)) : NULL;
    struct recorder_comm *world = op ? recorder_comm(me, MPI_COMM_WORLD) : NULL;
    if (world) {
        op->comm = world->number;
        op->comm_seq = world->collectives++;
    }
    recorder_leave(me);
    int error = PMPI_Finalize();
    if (!recorder)
        return error;
    recorder_reenter(recorder); /* no other thread is in MPI any more */
    if (op)
        recorder_op_complete(recorder, op);
    recorder_leave(recorder);
    recorder->info->finalized = 1;
    recorder->info->ended = 1 + RANK_FINISHED;
    preload_ends_finalized();
    MPIX_Rank_slots()[MPIX_SLOT_RECORDER] = NULL;
    recorder_rank_free(recorder);
    recorder = NULL;
    free(recording.recorders);
    buffers_close_file(&recording.buffers);
    return error;
}

#endif

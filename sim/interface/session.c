/* Sessions: see session.h. */
#include "sim/interface/session.h"

#include "sim/communicators/comm.h"
#include "sim/communicators/info.h"
#include "sim/worlds/error.h"
#include "sim/worlds/open_handles.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const psets[] = {"mpi://WORLD", "mpi://SELF"};
enum { WORLD_SET, SELF_SET, PSET_COUNT };

static _Atomic uint32_t made_so_far;

/* An error goes to the session's handler; of no session, to the world's. */
static int fail(const struct sim_session *session, int error, const char *function,
                const char *sentence)
{
    if (!session)
        return sim_error_raise(MPI_COMM_NULL, error, function, "%s", sentence);
    const struct sim_error_session raising = {(MPI_Session)(uintptr_t)session,
                                              &session->errhandler};
    return sim_error_raise_session(&raising, error, function, sentence, "M009");
}

static struct sim_session *check(MPI_Session handle, const char *function, int *error)
{
    struct sim_session *session = sim_handle_object((void *)handle, SIM_MAGIC_SESSION);
    *error = session ? MPI_SUCCESS
                     : fail(NULL, MPI_ERR_SESSION, function, "session is not a valid handle");
    return session;
}

int PMPI_Session_init(MPI_Info info, MPI_Errhandler errhandler, MPI_Session *handle)
{
    struct sim_rank *rank = sim_current_rank;
    if (!rank) {
        fprintf(stderr, "MPI_Session_init called outside a rank: run the program under simrun\n");
        exit(2);
    }
    if (!sim_info_handle_valid(info))
        return sim_error_raise(MPI_COMM_NULL, MPI_ERR_INFO, "Session_init",
                               "info is not a valid handle");
    const char *unfit = sim_errhandler_unfit(errhandler, SIM_ERRHANDLER_SESSION);
    if (unfit)
        return sim_error_raise(MPI_COMM_NULL, MPI_ERR_ERRHANDLER, "Session_init", "%s", unfit);
    struct sim_session *session = malloc(sizeof *session);
    if (!session)
        return sim_error_raise(MPI_COMM_NULL, MPI_ERR_NO_MEM, "Session_init", "out of memory");
    *session = (struct sim_session){.magic = SIM_MAGIC_SESSION,
                                    .thread_level = rank->world->multiple ? MPI_THREAD_MULTIPLE
                                                                          : MPI_THREAD_FUNNELED,
                                    .errhandler = errhandler,
                                    .number = ++made_so_far};
    sim_errhandler_retain(errhandler);
    sim_open_handles_add(SIM_LIVE_SESSION, (uint64_t)(uintptr_t)session);
    rank->sessions++;
    rank->used_session = true;
    *handle = (MPI_Session)(void *)session;
    return MPI_SUCCESS;
}

int PMPI_Session_finalize(MPI_Session *handle)
{
    int error;
    struct sim_session *session = check(*handle, "Session_finalize", &error);
    if (!session)
        return error;
    sim_errhandler_release(session->errhandler);
    session->magic = SIM_MAGIC_FREED;
    sim_open_handles_remove(SIM_LIVE_SESSION, (uint64_t)(uintptr_t)session);
    free(session);
    sim_current_rank->sessions--;
    *handle = MPI_SESSION_NULL;
    return MPI_SUCCESS;
}

int PMPI_Session_set_errhandler(MPI_Session handle, MPI_Errhandler errhandler)
{
    int error;
    struct sim_session *session = check(handle, "Session_set_errhandler", &error);
    if (!session)
        return error;
    const char *unfit = sim_errhandler_unfit(errhandler, SIM_ERRHANDLER_SESSION);
    if (unfit)
        return fail(session, MPI_ERR_ERRHANDLER, "Session_set_errhandler", unfit);
    sim_errhandler_retain(errhandler);
    sim_errhandler_release(session->errhandler);
    session->errhandler = errhandler;
    return MPI_SUCCESS;
}

int PMPI_Session_get_errhandler(MPI_Session handle, MPI_Errhandler *errhandler)
{
    int error;
    struct sim_session *session = check(handle, "Session_get_errhandler", &error);
    if (!session)
        return error;
    sim_errhandler_retain(session->errhandler);
    *errhandler = session->errhandler;
    if (sim_errhandler_made(*errhandler)) /* one more to free */
        sim_open_handles_add(SIM_LIVE_ERRHANDLER, (uint64_t)(uintptr_t)*errhandler);
    return MPI_SUCCESS;
}

int PMPI_Session_call_errhandler(MPI_Session handle, int error_code)
{
    int error;
    const struct sim_session *session = check(handle, "Session_call_errhandler", &error);
    if (!session)
        return error;
    const struct sim_error_session raising = {handle, &session->errhandler};
    sim_error_raise_session(&raising, error_code, "Session_call_errhandler",
                            "the program called the error handler", "X002");
    return MPI_SUCCESS;
}

static int make_info(const struct sim_session *session, const char *function, const char *key,
                     const char *value, MPI_Info *info)
{
    struct sim_info *made = sim_info_new();
    if (!made || !sim_info_set(made, key, value)) {
        sim_info_free(made);
        return fail(session, MPI_ERR_NO_MEM, function, "out of memory");
    }
    *info = (MPI_Info)(void *)made;
    sim_open_handles_add(SIM_LIVE_INFO, (uint64_t)(uintptr_t)made);
    return MPI_SUCCESS;
}

int PMPI_Session_get_info(MPI_Session handle, MPI_Info *used)
{
    int error;
    const struct sim_session *session = check(handle, "Session_get_info", &error);
    if (!session)
        return error;
    const char *level = session->thread_level == MPI_THREAD_MULTIPLE ? "MPI_THREAD_MULTIPLE"
                                                                     : "MPI_THREAD_FUNNELED";
    return make_info(session, "Session_get_info", "thread_level", level, used);
}

int PMPI_Session_get_num_psets(MPI_Session handle, MPI_Info info, int *count)
{
    int error;
    const struct sim_session *session = check(handle, "Session_get_num_psets", &error);
    if (!session)
        return error;
    if (!sim_info_handle_valid(info))
        return fail(session, MPI_ERR_INFO, "Session_get_num_psets", "info is not a valid handle");
    *count = PSET_COUNT;
    return MPI_SUCCESS;
}

int PMPI_Session_get_nth_pset(MPI_Session handle, MPI_Info info, int n, int *length, char *name)
{
    int error;
    const struct sim_session *session = check(handle, "Session_get_nth_pset", &error);
    if (!session)
        return error;
    if (!sim_info_handle_valid(info))
        return fail(session, MPI_ERR_INFO, "Session_get_nth_pset", "info is not a valid handle");
    if (n < 0 || n >= PSET_COUNT)
        return fail(session, MPI_ERR_ARG, "Session_get_nth_pset", "there are two process sets");
    if (*length > 0)
        snprintf(name, (size_t)*length, "%s", psets[n]);
    *length = (int)strlen(psets[n]) + 1;
    return MPI_SUCCESS;
}

/* Number of the set of this name; -1 with the error that was raised. */
static int find_pset(const struct sim_session *session, const char *name, const char *function,
                     int *error)
{
    for (int i = 0; i < PSET_COUNT; i++)
        if (strcasecmp(name, psets[i]) == 0) /* as MPICH has it; no set differs only there */
            return i;
    *error = fail(session, MPI_ERR_ARG, function, "there is no process set of this name");
    return -1;
}

int PMPI_Session_get_pset_info(MPI_Session handle, const char *name, MPI_Info *info)
{
    int error;
    const struct sim_session *session = check(handle, "Session_get_pset_info", &error);
    int set = session ? find_pset(session, name, "Session_get_pset_info", &error) : -1;
    if (set < 0)
        return error;
    char size[16];
    snprintf(size, sizeof size, "%d", set == WORLD_SET ? sim_current_rank->world->size : 1);
    return make_info(session, "Session_get_pset_info", "mpi_size", size, info);
}

int PMPI_Group_from_session_pset(MPI_Session handle, const char *name, MPI_Group *group)
{
    int error;
    const struct sim_session *session = check(handle, "Group_from_session_pset", &error);
    int set = session ? find_pset(session, name, "Group_from_session_pset", &error) : -1;
    if (set < 0)
        return error;
    struct sim_group *made = set == WORLD_SET
                                 ? sim_group_new_sequence(sim_current_rank->world->size, 0, 1)
                                 : sim_group_new_sequence(1, sim_current_rank->id, 1);
    if (!made)
        return fail(session, MPI_ERR_NO_MEM, "Group_from_session_pset", "out of memory");
    made->session = session->number;
    *group = sim_group_hand_out(made);
    return MPI_SUCCESS;
}

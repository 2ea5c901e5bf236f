/* What a program hangs on windows: attributes, names, info, error handlers, and their group. */
#include "sim/communicators/info.h"
#include "sim/windows/window.h"
#include "sim/worlds/error.h"

#include <string.h>

static struct sim_win *win_of(void *handle)
{
    struct sim_win *win = sim_handle_object(handle, SIM_MAGIC_WIN);
    return win && win->owner == sim_current_rank ? win : NULL;
}

struct sim_attributes *sim_win_attributes(void *handle)
{
    struct sim_win *win = win_of(handle);
    return win ? &win->comm->attributes : NULL;
}

bool sim_win_predefined(void *handle, int number, void **value)
{
    struct sim_win *win = win_of(handle);
    if (!win)
        return false;
    switch (number) {
    case MPI_WIN_BASE:
        *value = win->flavor == MPI_WIN_FLAVOR_DYNAMIC ? NULL : win->window->parts[win->rank].base;
        return true;
    case MPI_WIN_SIZE:
        *value = &win->size;
        return true;
    case MPI_WIN_DISP_UNIT:
        *value = &win->unit;
        return true;
    case MPI_WIN_CREATE_FLAVOR:
        *value = &win->flavor;
        return true;
    case MPI_WIN_MODEL:
        *value = &win->model;
        return true;
    default:
        return false;
    }
}

int PMPI_Win_get_group(MPI_Win handle, MPI_Group *group)
{
    int error;
    struct sim_win *win = sim_win_check(handle, "Win_get_group", &error);
    if (win)
        *group = sim_comm_hand_out_group(win->comm, win->comm->context->group);
    return error;
}

/* The hidden communicator's functions do the work. */
#define ON_COMM(name, parameters, call)                                                            \
    int PMPI_Win_##name parameters                                                                 \
    {                                                                                              \
        int error;                                                                                 \
        struct sim_win *win = sim_win_check(handle, "Win_" #name, &error);                         \
        return win ? (call) : error;                                                               \
    }
#define COMM sim_comm_handle(win->comm)
/* clang-format off */
ON_COMM(set_name, (MPI_Win handle, const char *name), PMPI_Comm_set_name(COMM, name))
ON_COMM(get_name, (MPI_Win handle, char *name, int *length), PMPI_Comm_get_name(COMM, name, length))
ON_COMM(get_info, (MPI_Win handle, MPI_Info *info), PMPI_Comm_get_info(COMM, info))
ON_COMM(set_errhandler, (MPI_Win handle, MPI_Errhandler handler), PMPI_Comm_set_errhandler(COMM, handler))
ON_COMM(get_errhandler, (MPI_Win handle, MPI_Errhandler *handler), PMPI_Comm_get_errhandler(COMM, handler))
ON_COMM(call_errhandler, (MPI_Win handle, int code), PMPI_Comm_call_errhandler(COMM, code))
/* clang-format on */

/* ---- hints ---- */

void sim_win_hints(struct sim_win *win)
{
    static const char *const defaults[][2] = {{"accumulate_ordering", "rar,raw,war,waw"},
                                              {"accumulate_ops", "same_op_no_op"}};
    static const char *const orders[] = {"rar", "raw", "war", "waw"};
    struct sim_info *info = sim_info_from_handle(win->comm->info);
    if (!info)
        return;
    for (size_t i = 0; i < sizeof defaults / sizeof *defaults; i++)
        if (!sim_info_get(info, defaults[i][0]))
            sim_info_set(info, defaults[i][0], defaults[i][1]);
    const char *ordering = sim_info_get(info, "accumulate_ordering");
    win->unlocked = sim_info_says(info, "no_locks", "true");
    win->keeps_order = sim_info_says(info, "simrun_keeps_order", "true");
    win->same_op = sim_info_says(info, "accumulate_ops", "same_op");
    win->unordered = false;
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        win->unordered = win->unordered || (ordering && !strstr(ordering, orders[i]));
}

int PMPI_Win_set_info(MPI_Win handle, MPI_Info info)
{
    int error;
    struct sim_win *win = sim_win_check(handle, "Win_set_info", &error);
    if (win)
        error = PMPI_Comm_set_info(COMM, info);
    if (win && !error)
        sim_win_hints(win);
    return error;
}

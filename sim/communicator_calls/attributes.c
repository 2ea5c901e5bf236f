/* attributes.c: the keyval and attribute functions of communicators, datatypes and windows,
 * and the deprecated ones of MPI 1, which are those of communicators under other names.
 *
 * The three families differ in the type of the handle only, so each function is one line that hands
 * its arguments to the function for all kinds.
 */
#include "sim/worlds/rank_lock.h"
#include <stddef.h>

#include <mpi.h>

#include "sim/communicator_calls/attribute_lists.h"
#include "sim/worlds/error.h"
#include "sim/worlds/open_handles.h"

/* What identifies a call in errors: its name, what it is about, and the handle. */
struct call {
    const char *function;
    enum sim_attribute_kind kind;
    void *handle;
};

static MPI_Comm comm_of(const struct call *call)
{
    return call->kind == SIM_ATTRIBUTE_COMM && call->handle ? (MPI_Comm)call->handle
                                                            : MPI_COMM_NULL;
}

static int refuse(const struct call *call, int error_class, const char *sentence)
{
    return sim_error_raise(comm_of(call), error_class, call->function, "%s", sentence);
}

static int refuse_handle(const struct call *call)
{
    static const int classes[] = {MPI_ERR_COMM, MPI_ERR_TYPE, MPI_ERR_WIN};
    return sim_error_raise(MPI_COMM_NULL, classes[call->kind], call->function,
                           "the handle is not valid");
}

static int refuse_keyval(const struct call *call)
{
    return refuse(call, MPI_ERR_KEYVAL,
                  "the keyval is predefined, was freed, or is not of this kind");
}

/* Passes on what a program's own copy or delete function said. */
static int finish(const struct call *call, int error)
{
    if (error == MPI_SUCCESS)
        return error;
    if (error == MPI_ERR_NO_MEM)
        return refuse(call, error, "no memory for the attribute");
    return sim_error_raise_callback(comm_of(call), error, call->function,
                                    "the attribute's delete function returned an error");
}

static int create(struct call call, sim_attribute_function *copy,
                  sim_attribute_function *delete_value, int *keyval, void *extra_state)
{
    if (sim_point_outside(call.function))
        return MPI_ERR_OTHER;
    WITH_RANK_LOCK;
    struct sim_keyvals *keyvals = sim_attributes_keyvals();
    struct sim_keyval model = {
        .kind = call.kind, .copy = copy, .delete_value = delete_value, .extra_state = extra_state};
    if (!keyval)
        return refuse(&call, MPI_ERR_ARG, "the address for the keyval is null");
    if (!keyvals)
        return refuse(&call, MPI_ERR_OTHER, "called outside a rank");
    *keyval = sim_keyvals_create(keyvals, &model);
    if (*keyval == MPI_KEYVAL_INVALID)
        return refuse(&call, MPI_ERR_NO_MEM, "no memory for the keyval");
    sim_open_handles_add(SIM_LIVE_KEYVAL, (uint64_t)(uint32_t)*keyval);
    return MPI_SUCCESS;
}

static int free_keyval(struct call call, int *keyval)
{
    if (sim_point_outside(call.function))
        return MPI_ERR_OTHER;
    WITH_RANK_LOCK;
    struct sim_keyvals *keyvals = sim_attributes_keyvals();
    if (!keyval || !keyvals || !sim_keyvals_free(keyvals, call.kind, *keyval))
        return refuse_keyval(&call);
    sim_open_handles_remove(SIM_LIVE_KEYVAL, (uint64_t)(uint32_t)*keyval);
    *keyval = MPI_KEYVAL_INVALID;
    return MPI_SUCCESS;
}

static int set(struct call call, int keyval, void *value)
{
    if (sim_point_outside(call.function))
        return MPI_ERR_OTHER;
    WITH_RANK_LOCK;
    struct sim_keyvals *keyvals = sim_attributes_keyvals();
    struct sim_attributes *list = sim_attributes_of(call.kind, call.handle);
    if (!list)
        return refuse_handle(&call);
    struct sim_keyval *key = keyvals ? sim_keyvals_find(keyvals, call.kind, keyval) : NULL;
    if (!key)
        return refuse_keyval(&call);
    return finish(&call, sim_attributes_set(list, key, call.handle, value));
}

/* A keyval that was freed lives on in the attributes that have it, until they are deleted. */
static bool is_known(const struct sim_keyvals *keyvals, const struct sim_attributes *list,
                     enum sim_attribute_kind kind, int keyval)
{
    void *value;
    return keyvals &&
           (sim_keyvals_find(keyvals, kind, keyval) || sim_attributes_get(list, keyval, &value));
}

static int get(struct call call, int keyval, void *value, int *flag)
{
    if (sim_point_outside(call.function))
        return MPI_ERR_OTHER;
    WITH_RANK_LOCK;
    struct sim_keyvals *keyvals = sim_attributes_keyvals();
    struct sim_attributes *list = sim_attributes_of(call.kind, call.handle);
    if (!list)
        return refuse_handle(&call);
    if (!value || !flag)
        return refuse(&call, MPI_ERR_ARG, "an address for a result is null");
    *flag = sim_attributes_predefined(call.kind, call.handle, keyval, value);
    if (*flag)
        return MPI_SUCCESS;
    if (!is_known(keyvals, list, call.kind, keyval))
        return refuse_keyval(&call);
    *flag = sim_attributes_get(list, keyval, value);
    return MPI_SUCCESS;
}

static int remove_value(struct call call, int keyval)
{
    if (sim_point_outside(call.function))
        return MPI_ERR_OTHER;
    WITH_RANK_LOCK;
    struct sim_keyvals *keyvals = sim_attributes_keyvals();
    struct sim_attributes *list = sim_attributes_of(call.kind, call.handle);
    if (!list)
        return refuse_handle(&call);
    if (!is_known(keyvals, list, call.kind, keyval))
        return refuse_keyval(&call);
    return finish(&call, sim_attributes_delete(list, keyval, call.handle));
}

#define COMM(function, comm) ((struct call){function, SIM_ATTRIBUTE_COMM, comm})
#define TYPE(function, type) ((struct call){function, SIM_ATTRIBUTE_TYPE, type})
#define WIN(function, win)   ((struct call){function, SIM_ATTRIBUTE_WIN, win})
#define FUNCTION(pointer)    ((sim_attribute_function *)(pointer))

int PMPI_Comm_create_keyval(MPI_Comm_copy_attr_function *comm_copy_attr_fn,
                            MPI_Comm_delete_attr_function *comm_delete_attr_fn, int *comm_keyval,
                            void *extra_state)
{
    return create(COMM("Comm_create_keyval", NULL), FUNCTION(comm_copy_attr_fn),
                  FUNCTION(comm_delete_attr_fn), comm_keyval, extra_state);
}

int PMPI_Comm_free_keyval(int *comm_keyval)
{
    return free_keyval(COMM("Comm_free_keyval", NULL), comm_keyval);
}

int PMPI_Comm_set_attr(MPI_Comm comm, int comm_keyval, void *attribute_val)
{
    return set(COMM("Comm_set_attr", comm), comm_keyval, attribute_val);
}

int PMPI_Comm_get_attr(MPI_Comm comm, int comm_keyval, void *attribute_val, int *flag)
{
    return get(COMM("Comm_get_attr", comm), comm_keyval, attribute_val, flag);
}

int PMPI_Comm_delete_attr(MPI_Comm comm, int comm_keyval)
{
    return remove_value(COMM("Comm_delete_attr", comm), comm_keyval);
}

int PMPI_Type_create_keyval(MPI_Type_copy_attr_function *type_copy_attr_fn,
                            MPI_Type_delete_attr_function *type_delete_attr_fn, int *type_keyval,
                            void *extra_state)
{
    return create(TYPE("Type_create_keyval", NULL), FUNCTION(type_copy_attr_fn),
                  FUNCTION(type_delete_attr_fn), type_keyval, extra_state);
}

int PMPI_Type_free_keyval(int *type_keyval)
{
    return free_keyval(TYPE("Type_free_keyval", NULL), type_keyval);
}

int PMPI_Type_set_attr(MPI_Datatype datatype, int type_keyval, void *attribute_val)
{
    return set(TYPE("Type_set_attr", datatype), type_keyval, attribute_val);
}

int PMPI_Type_get_attr(MPI_Datatype datatype, int type_keyval, void *attribute_val, int *flag)
{
    return get(TYPE("Type_get_attr", datatype), type_keyval, attribute_val, flag);
}

int PMPI_Type_delete_attr(MPI_Datatype datatype, int type_keyval)
{
    return remove_value(TYPE("Type_delete_attr", datatype), type_keyval);
}

int PMPI_Win_create_keyval(MPI_Win_copy_attr_function *win_copy_attr_fn,
                           MPI_Win_delete_attr_function *win_delete_attr_fn, int *win_keyval,
                           void *extra_state)
{
    return create(WIN("Win_create_keyval", NULL), FUNCTION(win_copy_attr_fn),
                  FUNCTION(win_delete_attr_fn), win_keyval, extra_state);
}

int PMPI_Win_free_keyval(int *win_keyval)
{
    return free_keyval(WIN("Win_free_keyval", NULL), win_keyval);
}

int PMPI_Win_set_attr(MPI_Win win, int win_keyval, void *attribute_val)
{
    return set(WIN("Win_set_attr", win), win_keyval, attribute_val);
}

int PMPI_Win_get_attr(MPI_Win win, int win_keyval, void *attribute_val, int *flag)
{
    return get(WIN("Win_get_attr", win), win_keyval, attribute_val, flag);
}

int PMPI_Win_delete_attr(MPI_Win win, int win_keyval)
{
    return remove_value(WIN("Win_delete_attr", win), win_keyval);
}

int PMPI_Keyval_create(MPI_Copy_function *copy_fn, MPI_Delete_function *delete_fn, int *keyval,
                       void *extra_state)
{
    return create(COMM("Keyval_create", NULL), FUNCTION(copy_fn), FUNCTION(delete_fn), keyval,
                  extra_state);
}

int PMPI_Keyval_free(int *keyval)
{
    return free_keyval(COMM("Keyval_free", NULL), keyval);
}

int PMPI_Attr_put(MPI_Comm comm, int keyval, void *attribute_val)
{
    return set(COMM("Attr_put", comm), keyval, attribute_val);
}

int PMPI_Attr_get(MPI_Comm comm, int keyval, void *attribute_val, int *flag)
{
    return get(COMM("Attr_get", comm), keyval, attribute_val, flag);
}

int PMPI_Attr_delete(MPI_Comm comm, int keyval)
{
    return remove_value(COMM("Attr_delete", comm), keyval);
}

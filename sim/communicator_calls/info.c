/* info.c: the MPI_Info_* functions.
 *
 * MPI_INFO_ENV can be read, not changed: it is made anew for each call that looks into it, so no
 * process-wide object is needed. Errors go to the world's error handler: an info object has none.
 */
#include "sim/worlds/rank_lock.h"
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <mpi.h>

#include "sim/communicators/info.h"
#include "sim/worlds/error.h"
#include "sim/worlds/open_handles.h"

static int raise_info(const char *function)
{
    return sim_error_raise(MPI_COMM_NULL, MPI_ERR_INFO, function,
                           "the info object is not valid, or may only be read");
}

static int raise_memory(const char *function)
{
    return sim_error_raise(MPI_COMM_NULL, MPI_ERR_NO_MEM, function,
                           "no memory for the info object");
}

static int raise_result(const char *function)
{
    return sim_error_raise(MPI_COMM_NULL, MPI_ERR_ARG, function, "an address for a result is null");
}

/* MPI_SUCCESS, or what to return because of the key. */
static int check_key(const char *function, const char *key)
{
    size_t length = key ? strnlen(key, MPI_MAX_INFO_KEY) : 0;
    if (length > 0 && length < MPI_MAX_INFO_KEY)
        return MPI_SUCCESS;
    return sim_error_raise(MPI_COMM_NULL, MPI_ERR_INFO_KEY, function,
                           "the key is null, empty or longer than %d characters",
                           MPI_MAX_INFO_KEY - 1);
}

/* An object to read: the program's own, or the environment's, which *temporary then owns. */
static const struct sim_info *info_to_read(MPI_Info handle, struct sim_info **temporary)
{
    *temporary = NULL;
    if (handle != MPI_INFO_ENV)
        return sim_info_from_handle(handle);
    *temporary = sim_info_new();
    if (*temporary)
        sim_info_set_environment(*temporary, 0, NULL);
    return *temporary;
}

/* Gives the program its new object. */
static int hand_out(const char *function, struct sim_info *info, MPI_Info *newinfo)
{
    if (!info)
        return raise_memory(function);
    *newinfo = (MPI_Info)(void *)info;
    sim_open_handles_add(SIM_LIVE_INFO, (uint64_t)(uintptr_t)info);
    return MPI_SUCCESS;
}

int PMPI_Info_create(MPI_Info *info)
{
    WITH_RANK_LOCK;
    return info ? hand_out("Info_create", sim_info_new(), info) : raise_result("Info_create");
}

int PMPI_Info_create_env(int argc, char *argv[], MPI_Info *info)
{
    WITH_RANK_LOCK;
    if (!info)
        return raise_result("Info_create_env");
    struct sim_info *environment = sim_info_new();
    if (environment && !sim_info_set_environment(environment, argc, argv)) {
        sim_info_free(environment);
        environment = NULL;
    }
    return hand_out("Info_create_env", environment, info);
}

int PMPI_Info_dup(MPI_Info info, MPI_Info *newinfo)
{
    WITH_RANK_LOCK;
    struct sim_info *temporary;
    const struct sim_info *original = info_to_read(info, &temporary);
    if (original && newinfo) {
        struct sim_info *copy = sim_info_copy(original);
        sim_info_free(temporary);
        return hand_out("Info_dup", copy, newinfo);
    }
    sim_info_free(temporary);
    return original ? raise_result("Info_dup") : raise_info("Info_dup");
}

int PMPI_Info_free(MPI_Info *info)
{
    WITH_RANK_LOCK;
    struct sim_info *object = info ? sim_info_from_handle(*info) : NULL;
    if (!object)
        return raise_info("Info_free");
    sim_open_handles_remove(SIM_LIVE_INFO, (uint64_t)(uintptr_t)*info);
    sim_info_free(object);
    *info = MPI_INFO_NULL;
    return MPI_SUCCESS;
}

int PMPI_Info_set(MPI_Info info, const char *key, const char *value)
{
    WITH_RANK_LOCK;
    struct sim_info *object = sim_info_from_handle(info);
    if (!object)
        return raise_info("Info_set");
    int error = check_key("Info_set", key);
    if (error != MPI_SUCCESS)
        return error;
    if (!value || strnlen(value, MPI_MAX_INFO_VAL) == MPI_MAX_INFO_VAL)
        return sim_error_raise(MPI_COMM_NULL, MPI_ERR_INFO_VALUE, "Info_set",
                               "the value of \"%s\" is null or longer than %d characters", key,
                               MPI_MAX_INFO_VAL - 1);
    return sim_info_set(object, key, value) ? MPI_SUCCESS : raise_memory("Info_set");
}

int PMPI_Info_delete(MPI_Info info, const char *key)
{
    WITH_RANK_LOCK;
    struct sim_info *object = sim_info_from_handle(info);
    if (!object)
        return raise_info("Info_delete");
    int error = check_key("Info_delete", key);
    if (error != MPI_SUCCESS)
        return error;
    if (!sim_info_delete(object, key))
        return sim_error_raise(MPI_COMM_NULL, MPI_ERR_INFO_NOKEY, "Info_delete",
                               "the info object has no key \"%s\"", key);
    return MPI_SUCCESS;
}

/* What the three functions that look up a key share: whether it is there, how long its value is
 * (without the final null), and the value cut to `size` bytes with the null (0: not wanted). */
struct lookup {
    const char *function;
    MPI_Info info;
    const char *key;
    char *value;
    int size;
    int length;
    bool found;
};

static int look_up(struct lookup *lookup)
{
    struct sim_info *temporary;
    int error = MPI_SUCCESS;
    const struct sim_info *object = info_to_read(lookup->info, &temporary);
    if (!object)
        return raise_info(lookup->function);
    error = check_key(lookup->function, lookup->key);
    const char *value = error == MPI_SUCCESS ? sim_info_get(object, lookup->key) : NULL;
    lookup->found = value != NULL;
    if (value) {
        lookup->length = (int)strlen(value);
        if (lookup->size > 0)
            snprintf(lookup->value, (size_t)lookup->size, "%s", value);
    }
    sim_info_free(temporary);
    return error;
}

int PMPI_Info_get(MPI_Info info, const char *key, int valuelen, char *value, int *flag)
{
    WITH_RANK_LOCK;
    if (!value || !flag || valuelen < 0)
        return sim_error_raise(MPI_COMM_NULL, MPI_ERR_ARG, "Info_get",
                               "an address for a result is null, or the length %d is negative",
                               valuelen);
    /* No value is longer than that, and many programs give the size of such an array. */
    int length = valuelen < MPI_MAX_INFO_VAL ? valuelen : MPI_MAX_INFO_VAL - 1;
    struct lookup lookup = {"Info_get", info, key, value, length + 1, 0, false};
    int error = look_up(&lookup);
    *flag = lookup.found;
    return error;
}

int PMPI_Info_get_string(MPI_Info info, const char *key, int *buflen, char *value, int *flag)
{
    WITH_RANK_LOCK;
    if (!buflen || !flag || *buflen < 0 || (*buflen > 0 && !value))
        return sim_error_raise(MPI_COMM_NULL, MPI_ERR_ARG, "Info_get_string",
                               "an address for a result is null, or the length is negative");
    struct lookup lookup = {"Info_get_string", info, key, value, *buflen, 0, false};
    int error = look_up(&lookup);
    *flag = lookup.found;
    if (lookup.found)
        *buflen = lookup.length + 1;
    return error;
}

int PMPI_Info_get_valuelen(MPI_Info info, const char *key, int *valuelen, int *flag)
{
    WITH_RANK_LOCK;
    if (!valuelen || !flag)
        return raise_result("Info_get_valuelen");
    struct lookup lookup = {"Info_get_valuelen", info, key, NULL, 0, 0, false};
    int error = look_up(&lookup);
    *flag = lookup.found;
    if (lookup.found)
        *valuelen = lookup.length;
    return error;
}

int PMPI_Info_get_nkeys(MPI_Info info, int *nkeys)
{
    WITH_RANK_LOCK;
    struct sim_info *temporary;
    if (!nkeys)
        return raise_result("Info_get_nkeys");
    const struct sim_info *object = info_to_read(info, &temporary);
    if (!object)
        return raise_info("Info_get_nkeys");
    *nkeys = object->count;
    sim_info_free(temporary);
    return MPI_SUCCESS;
}

int PMPI_Info_get_nthkey(MPI_Info info, int n, char *key)
{
    WITH_RANK_LOCK;
    struct sim_info *temporary;
    if (!key)
        return raise_result("Info_get_nthkey");
    const struct sim_info *object = info_to_read(info, &temporary);
    if (!object)
        return raise_info("Info_get_nthkey");
    int count = object->count;
    if (n >= 0 && n < count)
        snprintf(key, MPI_MAX_INFO_KEY, "%s", object->entries[n].key);
    sim_info_free(temporary);
    if (n < 0 || n >= count)
        return sim_error_raise(MPI_COMM_NULL, MPI_ERR_ARG, "Info_get_nthkey",
                               "there is no key number %d among %d", n, count);
    return MPI_SUCCESS;
}

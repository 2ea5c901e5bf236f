/* info.c: info objects as growing arrays; they hold a handful of keys, so search is linear. */
#include "sim/communicators/info.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <mpix.h>

#include "sim/base/handle.h"

struct sim_info *sim_info_new(void)
{
    struct sim_info *info = calloc(1, sizeof *info);
    if (info)
        info->magic = SIM_MAGIC_INFO;
    return info;
}

void sim_info_free(struct sim_info *info)
{
    if (!info)
        return;
    for (int i = 0; i < info->count; i++) {
        free(info->entries[i].key);
        free(info->entries[i].value);
    }
    free(info->entries);
    info->magic = SIM_MAGIC_FREED;
    free(info);
}

struct sim_info *sim_info_copy(const struct sim_info *info)
{
    struct sim_info *copy = info ? sim_info_new() : NULL;
    for (int i = 0; copy && i < info->count; i++)
        if (!sim_info_set(copy, info->entries[i].key, info->entries[i].value)) {
            sim_info_free(copy);
            copy = NULL;
        }
    return copy;
}

static struct sim_info_entry *entry_find(const struct sim_info *info, const char *key)
{
    for (int i = 0; i < info->count; i++)
        if (strcmp(info->entries[i].key, key) == 0)
            return &info->entries[i];
    return NULL;
}

/* Makes room for one entry more; false: no memory. */
static bool entries_grow(struct sim_info *info)
{
    if (info->count < info->capacity)
        return true;
    int capacity = info->capacity ? 2 * info->capacity : 4;
    struct sim_info_entry *entries =
        realloc(info->entries, (size_t)capacity * sizeof *info->entries);
    if (!entries)
        return false;
    info->entries = entries;
    info->capacity = capacity;
    return true;
}

bool sim_info_set(struct sim_info *info, const char *key, const char *value)
{
    struct sim_info_entry *entry = entry_find(info, key);
    char *new_value = strdup(value), *new_key = entry ? NULL : strdup(key);
    if (!new_value || (!entry && (!new_key || !entries_grow(info)))) {
        free(new_value);
        free(new_key);
        return false;
    }
    if (entry) {
        free(entry->value);
        entry->value = new_value;
    } else {
        info->entries[info->count++] = (struct sim_info_entry){new_key, new_value};
    }
    return true;
}

const char *sim_info_get(const struct sim_info *info, const char *key)
{
    const struct sim_info_entry *entry = info ? entry_find(info, key) : NULL;
    return entry ? entry->value : NULL;
}

bool sim_info_says(const struct sim_info *info, const char *key, const char *value)
{
    const char *said = sim_info_get(info, key);
    return said && !strcmp(said, value);
}

bool sim_info_delete(struct sim_info *info, const char *key)
{
    struct sim_info_entry *entry = entry_find(info, key);
    if (!entry)
        return false;
    free(entry->key);
    free(entry->value);
    info->count--;
    memmove(entry, entry + 1,
            (size_t)(info->entries + info->count - entry) * sizeof *info->entries);
    return true;
}

/* Joins argv[1...] with blanks, cut to what a value may hold. */
static void arguments_join(char *text, size_t size, int argc, char *const argv[])
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = 1; i < argc && argv[i] && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", i > 1 ? " " : "", argv[i]);
}

bool sim_info_set_environment(struct sim_info *info, int argc, char *const argv[])
{
    struct utsname system;
    char text[MPI_MAX_INFO_VAL], folder[PATH_MAX];
    bool done = true;
    if (argv && argc > 0 && argv[0]) {
        snprintf(text, sizeof text, "%s", argv[0]);
        done = sim_info_set(info, "command", text);
        arguments_join(text, sizeof text, argc, argv);
        done = done && sim_info_set(info, "argv", text);
    }
    if (MPIX_World_size() > 0) {
        snprintf(text, sizeof text, "%d", MPIX_World_size());
        done = done && sim_info_set(info, "maxprocs", text);
    }
    if (uname(&system) == 0)
        done = done && sim_info_set(info, "host", system.nodename) &&
               sim_info_set(info, "arch", system.machine);
    if (getcwd(folder, sizeof folder) && strlen(folder) < MPI_MAX_INFO_VAL)
        done = done && sim_info_set(info, "wdir", folder);
    return done;
}

struct sim_info *sim_info_from_handle(MPI_Info handle)
{
    return sim_handle_object(handle, SIM_MAGIC_INFO);
}

bool sim_info_handle_valid(MPI_Info handle)
{
    return handle == MPI_INFO_NULL || handle == MPI_INFO_ENV || sim_info_from_handle(handle);
}

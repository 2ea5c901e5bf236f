/* The folder of compiled programs: see cache_folder.h. */
#include "sim/compile/cache_folder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *setting(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

bool cache_folder_writable(const struct cache_folder *folder)
{
    char path[PATH_MAX];
    memcpy(path, folder->path, sizeof path);
    while (access(path, F_OK)) {
        char *slash = strrchr(path, '/');
        if (!slash)
            return !access(".", W_OK | X_OK);
        slash[slash == path] = '\0';
    }
    return !access(path, W_OK | X_OK);
}

/* Whoever can write it can have us run what he likes: another user's home (sudo), or a folder that
 * everybody writes. One that is not there yet will be ours. */
static bool is_safe(const struct cache_folder *folder)
{
    struct stat status;
    return stat(folder->path, &status) != 0 ||
           (status.st_uid == geteuid() && !(status.st_mode & S_IWOTH));
}

/* Where everybody may make folders, it must be one of ours that nobody else can write; before it is
 * made there may be none. */
static int check_temporary(const struct cache_folder *folder, struct failure *failure)
{
    struct stat status;
    if (lstat(folder->path, &status) != 0 && errno == ENOENT)
        return 0;
    if (S_ISDIR(status.st_mode) && status.st_uid == geteuid() && !(status.st_mode & 022))
        return 0;
    return failure_set(failure, FAILURE_INTERNAL,
                       "others can write the compile cache %s; set SIMRUN_CACHE to a folder of "
                       "your own",
                       folder->path);
}

int cache_folder_find(struct cache_folder *folder, struct failure *failure)
{
    const char *own = setting("SIMRUN_CACHE"), *shared = setting("XDG_CACHE_HOME"),
               *home = setting("HOME"), *temporary = setting("TMPDIR");
    size_t size = sizeof folder->path;
    if (shared && *shared != '/')
        shared = NULL; /* the convention: such a value is none */
    int used = own      ? snprintf(folder->path, size, "%s", own)
               : shared ? snprintf(folder->path, size, "%s/simrun", shared)
               : home   ? snprintf(folder->path, size, "%s/.cache/simrun", home)
                        : 0;
    folder->is_temporary =
        used == 0 || (!own && (!cache_folder_writable(folder) || !is_safe(folder)));
    if (folder->is_temporary)
        used = snprintf(folder->path, size, "%s/simrun-cache-%ld", temporary ? temporary : "/tmp",
                        (long)geteuid());
    if (used + 128 >= (int)size) /* room for the names of files in it */
        return failure_set(failure, FAILURE_INTERNAL,
                           "the path of the cache is too long; set SIMRUN_CACHE");
    return folder->is_temporary ? check_temporary(folder, failure) : 0;
}

int cache_folder_refuse(const struct cache_folder *folder, struct failure *failure)
{
    return failure_set(
        failure, FAILURE_INTERNAL,
        "cannot write the compile cache %s: %s; set SIMRUN_CACHE to a folder that can be written",
        folder->path, strerror(errno));
}

int cache_folder_make(const struct cache_folder *folder, struct failure *failure)
{
    char path[PATH_MAX];
    memcpy(path, folder->path, sizeof path);
    for (char *slash = strchr(path + 1, '/');; slash = strchr(slash + 1, '/')) {
        if (slash)
            *slash = 0;
        mode_t mode = folder->is_temporary ? 0700 : 0777;
        if (mkdir(path, mode) && errno != EEXIST && (!slash || access(path, F_OK)))
            return cache_folder_refuse(folder, failure);
        if (!slash)
            break;
        *slash = '/';
    }
    if (access(folder->path, W_OK | X_OK))
        return cache_folder_refuse(folder, failure);
    return folder->is_temporary ? check_temporary(folder, failure) : 0;
}

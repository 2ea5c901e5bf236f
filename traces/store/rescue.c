/* A database that is no longer at its path, while this process still has it open: see store.h, rule 6. */
#include "traces/store/internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool has_moved(struct store *store)
{
    int moved = 0;
    return sqlite3_file_control(store->db, "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK &&
           moved;
}

/* The folders of a path, where somebody removed them. */
static void make_folders(const char *path)
{
    char folder[4096];
    if (snprintf(folder, sizeof folder, "%s", path) >= (int)sizeof folder)
        return;
    for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(folder, 0777); /* one that is there stays */
        *slash = '/';
    }
}

/* Where the copy goes: what stands at the path now is somebody else's, and stays. */
static char *place_for_copy(const struct store *store)
{
    char *place = NULL;
    struct stat status;
    if (lstat(store->path, &status) != 0 && errno == ENOENT)
        return strdup(store->path);
    return asprintf(&place, "%s.rescued-%ld", store->path, (long)getpid()) < 0 ? NULL : place;
}

static int copy_to(struct store *store, const char *place, struct failure *failure)
{
    sqlite3_stmt *copy = store_prepare(store, "VACUUM INTO ?", failure);
    if (!copy)
        return FAILURE_INTERNAL;
    sqlite3_bind_text(copy, 1, place, -1, SQLITE_STATIC);
    int code = store_step(store, copy, failure);
    sqlite3_finalize(copy);
    return code;
}

static int rescue_to(struct store *store, char *place, struct failure *failure)
{
    struct store found = *store;
    make_folders(place);
    int code = copy_to(store, place, failure);
    if (code) { /* the next call tries again */
        free(place);
        return failure_prefix(failure,
                              "%s was removed or moved while the program ran, with the runs in it, "
                              "and could not be made anew",
                              store->path);
    }
    found.path = place;
    code = store_connect(&found, failure);
    if (code) {
        sqlite3_close_v2(found.db);
        free(place);
        return code;
    }
    free(store->rescue);
    if (asprintf(&store->rescue,
                 "%s was removed or moved while the program ran: the runs in it and this one are "
                 "in %s; --sandbox keeps programs from the database",
                 store->path, strcmp(place, store->path) ? place : "a file made anew there") < 0)
        store->rescue = NULL;
    sqlite3_close_v2(store->db);
    free(store->path);
    store->db = found.db;
    store->path = place;
    return 0;
}

int store_rescue(struct store *store, struct failure *failure)
{
    if (store->mode != STORE_WRITE || !has_moved(store))
        return 0;
    char *place = place_for_copy(store);
    return place ? rescue_to(store, place, failure)
                 : failure_set(failure, FAILURE_INTERNAL, "%s: out of memory", store->path);
}

const char *store_rescued(const struct store *store)
{
    return store->rescue;
}

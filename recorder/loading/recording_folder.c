/* A folder of rank files: see recording.h. */
#include "recorder/recording.h"

#include "traces/formats/format.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int is_rank_file(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);
    return length > 7 && strcmp(entry->d_name + length - 7, ".simrec") == 0;
}

static char *join(const char *folder, const char *name)
{
    char *path = NULL;
    return asprintf(&path, "%s/%s", folder, name) < 0 ? NULL : path;
}

struct trace *recording_load_folder(const char *folder, struct failure *failure)
{
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, is_rank_file, alphasort);
    if (count <= 0) {
        failure_set(failure, FAILURE_INPUT, "%s: %s", folder,
                    count < 0 ? strerror(errno) : "no rank files (*.simrec) in this folder");
        free(entries);
        return NULL;
    }
    char **paths = calloc((size_t)count, sizeof *paths);
    bool room = paths != NULL;
    for (int i = 0; i < count; i++) {
        if (paths)
            paths[i] = join(folder, entries[i]->d_name);
        room = room && paths[i];
        free(entries[i]);
    }
    free(entries);
    struct trace *trace = NULL;
    if (room)
        trace = recording_load_files((const char *const *)paths, (size_t)count, failure);
    else
        failure_set(failure, FAILURE_INTERNAL, "%s: out of memory", folder);
    for (int i = 0; paths && i < count; i++)
        free(paths[i]);
    free(paths);
    return trace;
}

static bool folder_has_rank_files(const char *folder)
{
    DIR *directory = opendir(folder);
    bool found = false;
    for (const struct dirent *entry; directory && !found && (entry = readdir(directory)) != NULL;)
        found = is_rank_file(entry);
    if (directory)
        closedir(directory);
    return found;
}

bool recording_recognised(const char *path)
{
    struct stat status;
    char start[8] = "";
    if (stat(path, &status) != 0)
        return false;
    if (S_ISDIR(status.st_mode))
        return folder_has_rank_files(path);
    int file = S_ISREG(status.st_mode) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    ssize_t got = file < 0 ? 0 : read(file, start, sizeof start);
    if (file >= 0)
        close(file);
    return got == (ssize_t)sizeof start && memcmp(start, "SIMREC01", sizeof start) == 0;
}

struct trace *recording_load_path(const char *path, struct failure *failure)
{
    struct stat status;
    if (stat(path, &status) == 0 && S_ISDIR(status.st_mode))
        return recording_load_folder(path, failure);
    return recording_load_files(&path, 1, failure);
}

struct trace *recording_read(const char *path, struct progress *progress, struct failure *failure)
{
    if (strcmp(path, "-") != 0 && recording_recognised(path))
        return recording_load_path(path, failure);
    return format_read_slowly(path, progress, failure);
}

/* A file that is written whole or not at all: under a temporary name beside it, renamed at the end.
 *
 * Rules:
 *  1. What is no regular file (a device, a pipe) is written as it is: renaming would replace it. A
 *     link is followed: what it leads to is replaced.
 *  2. Who is interrupted while it is written leaves nothing behind: SIGINT, SIGTERM and SIGHUP take
 *     the temporary file away first, unless the program handles them itself. One file at a time. */
#ifndef TRACES_BASE_ATOMIC_FILE_H
#define TRACES_BASE_ATOMIC_FILE_H

#include "traces/base/failure.h"

#include <stdbool.h>
#include <stdio.h>

struct whole_file {
    FILE *file;               /* to write to */
    const char *name;         /* as given, for messages */
    char *target, *temporary; /* NULL: written as it is */
};

/* `path` must live until the end; "-" is standard output. False: FAILURE_INTERNAL with the path. */
bool whole_file_begin(struct whole_file *whole, const char *path, struct failure *failure);
/* Once after each begin that was true; `good` false gives it up. False: it is not there, and why
 * not, unless it was given up. */
bool whole_file_finish(struct whole_file *whole, bool good, struct failure *failure);

#endif

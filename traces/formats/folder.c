/* A folder as several inputs, one file for each rank: see input.h. */
#include "traces/input/input.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILES_MAX = 1 << 17 };

static bool no_memory(const char *path, struct failure *failure)
{
    failure_set(failure, FAILURE_INTERNAL, "%s: out of memory while reading", path);
    return false;
}

static int wanted(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && entry->d_type != DT_DIR;
}

static bool open_all(const char *path, struct dirent **names, size_t count,
                     struct format_input *inputs, struct failure *failure)
{
    for (size_t i = 0; i < count; i++) {
        char *name;
        if (asprintf(&name, "%s/%s", path, names[i]->d_name) < 0)
            return no_memory(path, failure);
        bool done = format_input_open(&inputs[i], name, failure);
        inputs[i].name = name;
        if (!done)
            return false;
    }
    return true;
}

bool format_folder_open(const char *path, struct format_input **inputs, size_t *count,
                        struct failure *failure)
{
    struct dirent **names = NULL;
    int found = scandir(path, &names, wanted, alphasort);
    bool done = found > 0 && found <= FILES_MAX;
    if (found < 0)
        failure_set(failure, FAILURE_INPUT, "%s: %s", path, strerror(errno));
    else if (!done)
        failure_set(failure, FAILURE_INPUT,
                    found ? "%s: a folder of more than %d files" : "%s: an empty folder", path,
                    FILES_MAX);
    if (done) {
        *inputs = calloc((size_t)found, sizeof **inputs);
        *count = *inputs ? (size_t)found : 0;
        done = *inputs ? open_all(path, names, *count, *inputs, failure) : no_memory(path, failure);
    }
    for (int i = 0; i < found; i++)
        free(names[i]);
    free(names);
    return done;
}

bool format_folder_one(const char *path, struct format_input **inputs, size_t *count,
                       struct failure *failure)
{
    *inputs = calloc(1, sizeof **inputs);
    char *name = strdup(path);
    if (!*inputs || !name) {
        free(name);
        return no_memory(path, failure);
    }
    *count = 1;
    bool done = format_input_open(*inputs, name, failure);
    return done;
}

void format_folder_release(struct format_input *inputs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        union {
            const char *read_only;
            void *owned;
        } name = {.read_only = inputs[i].name};
        format_input_release(&inputs[i]);
        free(name.owned);
    }
    free(inputs);
}

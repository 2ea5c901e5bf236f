/* The files of a folder, in the order of their names. */
#ifndef TESTS_FOLDER_H
#define TESTS_FOLDER_H

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int folder_order(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

static bool folder_ends_with(const char *name, const char *ending)
{
    size_t length = strlen(name), end = strlen(ending);
    return length >= end && strcmp(name + length - end, ending) == 0;
}

/* Those whose names have the ending, to be freed, behind one another in `names`; how many. More than there is room for end the test. */
static size_t folder_list(const char *path, const char *ending, char *names[], size_t room)
{
    size_t count = 0;
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        if (entry->d_name[0] == '.' || !folder_ends_with(entry->d_name, ending))
            continue;
        if (count == room) {
            printf("Bail out! %s: more than %zu files\n", path, room);
            exit(1);
        }
        names[count++] = strdup(entry->d_name);
    }
    if (folder)
        closedir(folder);
    qsort(names, count, sizeof *names, folder_order);
    return count;
}

#endif

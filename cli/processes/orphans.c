/* Orphans: see orphans.h. */
#include "cli/processes/orphans.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>

/* Ending one may make orphans of its children. */
enum { GENERATIONS_MAX = 1000 };

void orphans_adopt(void)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1);
}

/* Those of one thread; how many there were. */
static int end_children(const char *thread)
{
    char path[300];
    int child, count = 0;
    snprintf(path, sizeof path, "/proc/self/task/%s/children", thread);
    FILE *file = fopen(path, "re");
    while (file && fscanf(file, "%d", &child) == 1) {
        kill(child, SIGKILL);
        if (waitpid(child, NULL, 0) == child)
            count++;
    }
    if (file)
        fclose(file);
    return count;
}

static int end_all(void)
{
    int count = 0;
    DIR *threads = opendir("/proc/self/task");
    for (struct dirent *entry; threads && (entry = readdir(threads)) != NULL;)
        if (entry->d_name[0] != '.')
            count += end_children(entry->d_name);
    if (threads)
        closedir(threads);
    return count;
}

void orphans_end(void)
{
    for (int i = 0; i < GENERATIONS_MAX && end_all(); i++)
        ;
}

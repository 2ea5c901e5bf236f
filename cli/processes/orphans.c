/* Orphans: see orphans.h. */
#include "cli/processes/orphans.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Ending one may make orphans of its children; a look every millisecond where none is ready. */
enum { LOOKS_MAX = 5000 };

void orphans_adopt(void)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1);
}

/* Those of one thread, but for `spared`. */
static void kill_children(const char *thread, pid_t spared)
{
    char path[300];
    int child;
    snprintf(path, sizeof path, "/proc/self/task/%s/children", thread);
    FILE *file = fopen(path, "re");
    while (file && fscanf(file, "%d", &child) == 1)
        if (child != spared)
            kill(child, SIGKILL);
    if (file)
        fclose(file);
}

static void kill_all(pid_t spared)
{
    DIR *threads = opendir("/proc/self/task");
    for (struct dirent *entry; threads && (entry = readdir(threads)) != NULL;)
        if (entry->d_name[0] != '.')
            kill_children(entry->d_name, spared);
    if (threads)
        closedir(threads);
}

/* A program may have asked to be traced (PTRACE_TRACEME): each such thread is waited for by itself,
 * and only then is its process over. What another process traces is that one's to wait for until it
 * ends, and it may be a child of the program's that has outlived it. */
int orphans_wait(pid_t child)
{
    struct pollfd entry = {.fd = (int)syscall(SYS_pidfd_open, child, 0), .events = POLLIN};
    int status = 0;
    for (;;) {
        pid_t found = waitpid(-1, &status, __WALL | WNOHANG);
        if (found == child && !WIFSTOPPED(status))
            break;
        if (found < 0 && errno != EINTR) {
            status = 0;
            break;
        }
        if (found > 0 && WIFSTOPPED(status))
            kill(child, SIGKILL);
        if (found == 0 && poll(&entry, 1, 10) > 0) {
            kill_all(child);
            poll(NULL, 0, 1);
        }
    }
    close(entry.fd);
    return status;
}

/* One may trace another: all are killed before any is waited for. */
void orphans_end(void)
{
    for (int i = 0; i < LOOKS_MAX; i++) {
        pid_t found;
        kill_all(0);
        while ((found = waitpid(-1, NULL, __WALL | WNOHANG)) > 0)
            ;
        if (found < 0 && errno == ECHILD)
            return;
        poll(NULL, 0, 1);
    }
}

/* What a rank starts gets the rank's environment: see hooks.h. Its working directory and umask are the thread's. */
#include "sim/libc/common.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* libc's own popen reads `environ`, which is one for all. */
FILE *popen(const char *command, const char *mode)
{
    LIBC_REAL(popen);
    static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
    char **own = libc_process_environment(libc_rank(LIBC_CALLER));
    if (!own)
        return real(command, mode);
    pthread_mutex_lock(&one_at_a_time);
    char **all = environ;
    environ = own;
    FILE *stream = real(command, mode);
    environ = all;
    pthread_mutex_unlock(&one_at_a_time);
    return stream;
}

int posix_spawn(pid_t *restrict child, const char *restrict path,
                const posix_spawn_file_actions_t *actions,
                const posix_spawnattr_t *restrict attributes, char *const words[restrict],
                char *const variables[restrict])
{
    LIBC_REAL(posix_spawn);
    char **own = libc_process_environment(libc_rank(LIBC_CALLER));
    return real(child, path, actions, attributes, words,
                own && variables == environ ? own : variables);
}

int posix_spawnp(pid_t *restrict child, const char *restrict file,
                 const posix_spawn_file_actions_t *actions,
                 const posix_spawnattr_t *restrict attributes, char *const words[restrict],
                 char *const variables[restrict])
{
    LIBC_REAL(posix_spawnp);
    char **own = libc_process_environment(libc_rank(LIBC_CALLER));
    return real(child, file, actions, attributes, words,
                own && variables == environ ? own : variables);
}

/* As libc's, which ignores both signals in the parent meanwhile: here they are not the rank's. */
int system(const char *command)
{
    LIBC_REAL(system);
    char **own = libc_process_environment(libc_rank(LIBC_CALLER));
    if (!own || !command)
        return real(command);
    char *words[] = {(char[]){"sh"}, (char[]){"-c"}, (char *)(uintptr_t)command, NULL};
    pid_t child;
    int status = 0;
    if (posix_spawn(&child, "/bin/sh", NULL, NULL, words, own))
        return W_EXITCODE(127, 0);
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return status;
}

/* Running Graphviz: see render.h.
 *
 * The child reads the DOT text from an unlinked temporary file, writes a temporary name beside the
 * target, and is killed with its whole process group when its time is over. The target appears by
 * rename, whole or not at all. */
#include "viz/render.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { PATH_ROOM = 4096, REASON_ROOM = 200 };

static bool write_whole(int fd, const char *bytes, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t n = write(fd, bytes + done, size - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        done += (size_t)n;
    }
    return true;
}

/* An unlinked file holding the text, at its start; -1 on failure. */
static int text_as_file(const char *text, size_t size)
{
    char name[] = "/tmp/simrun-dot-XXXXXX";
    int fd = mkstemp(name);
    if (fd < 0)
        return -1;
    unlink(name);
    if (write_whole(fd, text, size) && lseek(fd, 0, SEEK_SET) == 0)
        return fd;
    close(fd);
    return -1;
}

static int spawn_graphviz(pid_t *child, int input, int alive, const char *format,
                          const char *output)
{
    char format_option[16], neato[] = "neato", positions[] = "-n2", quiet[] = "-q",
                            output_option[] = "-o";
    char output_copy[PATH_ROOM];
    snprintf(format_option, sizeof format_option, "-T%s", format);
    snprintf(output_copy, sizeof output_copy, "%s", output);
    char *arguments[] = {neato, positions, quiet, format_option, output_option, output_copy, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, alive, 3);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    int error = posix_spawnp(child, neato, &actions, &attributes, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return error;
}

static long long now_ms(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000LL + time.tv_nsec / 1000000;
}

/* Waits until the other end of `alive`, which only the child holds, is closed: the child is gone.
 * When the time is over, kills its process group. False when it had to. */
static bool wait_limited(pid_t child, int alive, unsigned seconds, int *status)
{
    long long end = now_ms() + seconds * 1000LL;
    struct pollfd ends = {.fd = alive, .events = POLLIN};
    bool gone = false;
    for (long long left = end - now_ms(); left > 0 && !gone; left = end - now_ms())
        gone = poll(&ends, 1, left < 60000 ? (int)left : 60000) > 0;
    if (!gone)
        kill(-child, SIGKILL);
    while (waitpid(child, status, 0) < 0 && errno == EINTR)
        ;
    return gone;
}

/* Why Graphviz made no picture, in `reason`; true if it made one. */
static bool run_graphviz(int input, const char *format, const char *output, unsigned seconds,
                         char reason[REASON_ROOM])
{
    pid_t child = 0;
    int status = 0, alive[2];
    if (pipe2(alive, O_CLOEXEC) != 0) {
        snprintf(reason, REASON_ROOM, "no pipe to Graphviz: %s", strerror(errno));
        return false;
    }
    int error = spawn_graphviz(&child, input, alive[1], format, output);
    close(alive[1]);
    bool in_time = error != 0 || wait_limited(child, alive[0], seconds, &status);
    close(alive[0]);
    if (error == ENOENT)
        snprintf(reason, REASON_ROOM, "Graphviz's neato is not installed (package graphviz)");
    else if (error)
        snprintf(reason, REASON_ROOM, "Graphviz's neato cannot be run: %s", strerror(error));
    else if (!in_time)
        snprintf(reason, REASON_ROOM, "Graphviz was not done after %u s", seconds);
    else if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
        snprintf(reason, REASON_ROOM, "Graphviz's neato is not installed (package graphviz)");
    else if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || access(output, R_OK) != 0)
        snprintf(reason, REASON_ROOM, "Graphviz failed");
    else
        return true;
    return false;
}

/* "a/b.svg" -> "a/b.dot". */
static void dot_path(char *out, size_t size, const char *path, const char *format)
{
    size_t length = strlen(path), suffix = strlen(format);
    bool has = length > suffix + 1 && path[length - suffix - 1] == '.' &&
               strcmp(path + length - suffix, format) == 0;
    snprintf(out, size, "%.*s.dot", (int)(has ? length - suffix - 1 : length), path);
}

static bool keep_dot(const char *dot, size_t size, const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return false;
    bool written = write_whole(fd, dot, size);
    return close(fd) == 0 && written;
}

bool viz_render(const char *dot, size_t size, const char *format, const char *path,
                unsigned seconds, struct failure *failure)
{
    char reason[REASON_ROOM] = "", temporary[PATH_ROOM], kept[PATH_ROOM];
    snprintf(temporary, sizeof temporary, "%s.%ld.part", path, (long)getpid());
    int input = text_as_file(dot, size);
    bool rendered = false;
    if (input < 0) {
        snprintf(reason, sizeof reason, "no temporary file in /tmp: %s", strerror(errno));
    } else {
        rendered = run_graphviz(input, format, temporary, seconds, reason);
        close(input);
    }
    if (rendered && rename(temporary, path) != 0) {
        rendered = false;
        snprintf(reason, sizeof reason, "%.120s cannot be written: %s", path, strerror(errno));
    }
    if (rendered)
        return true;
    unlink(temporary);
    dot_path(kept, sizeof kept, path, format);
    if (keep_dot(dot, size, kept))
        failure_set(failure, FAILURE_REQUIREMENT, "no picture: %s; its DOT text is in %.200s",
                    reason, kept);
    else
        failure_set(failure, FAILURE_INTERNAL, "no picture: %s; nor could %.200s be written",
                    reason, kept);
    return false;
}

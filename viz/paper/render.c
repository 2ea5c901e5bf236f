/* Running Graphviz: see render.h.
 *
 * The child reads the DOT text from a file in memory and writes the picture into another, so that
 * nothing is left over whoever is killed; it is killed with its whole process group when its time
 * is over, and dies with us. The target appears by rename, whole or not at all. */
#include "viz/paper/render.h"

#include "traces/base/atomic_file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

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

/* A file in memory holding the text, at its start; -1 on failure. */
static int text_as_file(const char *text, size_t size)
{
    int fd = memfd_create("simrun-dot", MFD_CLOEXEC);
    if (fd >= 0 && write_whole(fd, text, size) && lseek(fd, 0, SEEK_SET) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* What Graphviz gets: its ends are the child's standard streams. */
struct streams {
    int input, output;
    int alive; /* open as long as the child or one of its own is there */
    int told;  /* why it could not be run: an errno; nothing when it runs */
};

static void nowhere(int fd)
{
    int null = open("/dev/null", O_WRONLY);
    dup2(null, fd);
}

/* Becomes Graphviz, which dies with us. */
static _Noreturn void become_graphviz(pid_t parent, const struct streams *streams,
                                      const char *format)
{
    char format_option[16], neato[] = "neato", positions[] = "-n2", quiet[] = "-q";
    char *arguments[] = {neato, positions, quiet, format_option, NULL};
    snprintf(format_option, sizeof format_option, "-T%s", format);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    dup2(streams->input, STDIN_FILENO);
    dup2(streams->output, STDOUT_FILENO);
    nowhere(STDERR_FILENO);
    fcntl(streams->alive, F_SETFD, 0);
    execvp(neato, arguments);
    int error = errno;
    _exit(write(streams->told, &error, sizeof error) == sizeof error ? 127 : 126);
}

/* 0, or why Graphviz cannot be run. */
static int start_graphviz(pid_t *child, const struct streams *streams, int told, const char *format)
{
    pid_t parent = getpid();
    int error = 0;
    *child = fork();
    if (*child == 0)
        become_graphviz(parent, streams, format);
    close(streams->told);
    if (*child < 0)
        return errno;
    if (read(told, &error, sizeof error) == sizeof error)
        waitpid(*child, NULL, 0);
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

/* Why Graphviz put no picture into `output`, in `reason`; true if it did. */
static bool run_graphviz(int input, const char *format, int output, unsigned seconds,
                         char reason[REASON_ROOM])
{
    pid_t child = 0;
    int status = 0, alive[2] = {-1, -1}, told[2] = {-1, -1};
    if (pipe2(alive, O_CLOEXEC) || pipe2(told, O_CLOEXEC)) {
        snprintf(reason, REASON_ROOM, "no pipe to Graphviz: %s", strerror(errno));
        close(alive[0]);
        close(alive[1]);
        return false;
    }
    int error = start_graphviz(&child, &(struct streams){input, output, alive[1], told[1]}, told[0],
                               format);
    close(alive[1]);
    close(told[0]);
    bool in_time = error != 0 || wait_limited(child, alive[0], seconds, &status);
    close(alive[0]);
    if (error == ENOENT)
        snprintf(reason, REASON_ROOM, "Graphviz's neato is not installed (package graphviz)");
    else if (error)
        snprintf(reason, REASON_ROOM, "Graphviz's neato cannot be run: %s", strerror(error));
    else if (!in_time)
        snprintf(reason, REASON_ROOM, "Graphviz was not done after %u s", seconds);
    else if (!WIFEXITED(status) || WEXITSTATUS(status) || lseek(output, 0, SEEK_END) <= 0)
        snprintf(reason, REASON_ROOM, "Graphviz failed");
    else
        return true;
    return false;
}

static bool keep_picture(int picture, const char *path, char reason[REASON_ROOM])
{
    struct whole_file whole;
    struct failure failure = {0};
    char bytes[1 << 14];
    ssize_t n = 1;
    bool good = whole_file_begin(&whole, path, &failure);
    if (good) {
        good = lseek(picture, 0, SEEK_SET) == 0;
        while (good && (n = read(picture, bytes, sizeof bytes)) > 0)
            good = fwrite(bytes, 1, (size_t)n, whole.file) == (size_t)n;
        good = whole_file_finish(&whole, n == 0 || ferror(whole.file), &failure);
    }
    snprintf(reason, REASON_ROOM, "%.*s", REASON_ROOM - 1, failure.text);
    return good;
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
    char reason[REASON_ROOM] = "", kept[PATH_ROOM];
    int input = text_as_file(dot, size), output = memfd_create("simrun-picture", MFD_CLOEXEC);
    bool rendered = false;
    if (input < 0 || output < 0)
        snprintf(reason, sizeof reason, "no memory for a picture: %s", strerror(errno));
    else
        rendered = run_graphviz(input, format, output, seconds, reason) &&
                   keep_picture(output, path, reason);
    if (input >= 0)
        close(input);
    if (output >= 0)
        close(output);
    if (rendered)
        return true;
    dot_path(kept, sizeof kept, path, format);
    if (keep_dot(dot, size, kept))
        failure_set(failure, FAILURE_REQUIREMENT, "no picture: %s; its DOT text is in %.200s",
                    reason, kept);
    else
        failure_set(failure, FAILURE_INTERNAL, "no picture: %s; nor could %.200s be written",
                    reason, kept);
    return false;
}

/* Files are there whole or not at all, whatever the target is and whoever is interrupted. */
#include "tests/tap.h"
#include "traces/base/atomic_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/simrun-whole-XXXXXX";

static bool write_to(const char *path, const char *text, bool good, struct failure *failure)
{
    struct whole_file whole;
    *failure = (struct failure){0};
    if (!whole_file_begin(&whole, path, failure))
        return false;
    fputs(text, whole.file);
    return whole_file_finish(&whole, good, failure);
}

static bool holds(const char *path, const char *text)
{
    char got[64] = "";
    FILE *file = fopen(path, "r");
    if (!file)
        return false;
    size_t length = fread(got, 1, sizeof got - 1, file);
    fclose(file);
    return length == strlen(text) && !memcmp(got, text, length);
}

static unsigned files(void)
{
    unsigned count = 0;
    DIR *dir = opendir(".");
    while (readdir(dir))
        count++;
    closedir(dir);
    return count - 2;
}

static void test_regular(void)
{
    struct failure failure;
    tap_ok(write_to("a", "one", true, &failure) && holds("a", "one"), "a new file is written");
    tap_ok(write_to("a", "two", true, &failure) && holds("a", "two"), "another replaces it");
    tap_ok(!write_to("a", "three", false, &failure) && holds("a", "two") && !failure.text[0],
           "what is given up leaves it as it was");
    tap_ok(!symlink("a", "link") && write_to("link", "four", true, &failure) && holds("a", "four"),
           "a link is followed");
    struct stat status;
    tap_ok(!lstat("link", &status) && S_ISLNK(status.st_mode), "and stays one");
    tap_is_int(files(), 2, "nothing else is left");
}

static void test_refusals(void)
{
    struct failure failure;
    tap_ok(!write_to("no/such", "x", true, &failure) && strstr(failure.text, "no/such"),
           "a folder that is not there is refused by name: %s", failure.text);
    tap_ok(!mkdir("d", 0700) && !write_to("d", "x", true, &failure) && strstr(failure.text, "d:"),
           "and so is a folder: %s", failure.text);
    rmdir("d");
    /* A disk that is full, for this process: a file may not grow. */
    struct rlimit before, none;
    getrlimit(RLIMIT_FSIZE, &before);
    none = before;
    none.rlim_cur = 0;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &none);
    bool written = write_to("a", "five", true, &failure);
    setrlimit(RLIMIT_FSIZE, &before);
    tap_ok(!written && strstr(failure.text, "cannot write a: ") && holds("a", "four") &&
               files() == 2,
           "a full disk is refused, and the file is as it was: %s", failure.text);
}

/* A device must not be replaced by a file: here a pipe stands for it. */
static void test_pipe(void)
{
    struct failure failure;
    struct stat status;
    char got[8] = "";
    bool made = !mkfifo("pipe", 0600);
    int end = open("pipe", O_RDONLY | O_NONBLOCK);
    tap_ok(made && write_to("pipe", "five", true, &failure), "a pipe is written to");
    tap_ok(read(end, got, sizeof got - 1) == 4 && !strcmp(got, "five"), "and read from");
    tap_ok(!stat("pipe", &status) && S_ISFIFO(status.st_mode), "and still is one");
    close(end);
    unlink("pipe");
}

static void test_interrupted(int number)
{
    struct whole_file whole;
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        signal(number, SIG_DFL);
        if (whole_file_begin(&whole, "a", NULL)) {
            fputs("half", whole.file);
            fflush(whole.file);
            raise(number);
        }
        _exit(0);
    }
    waitpid(child, &status, 0);
    tap_ok(WIFSIGNALED(status) && WTERMSIG(status) == number, "signal %d ends who writes", number);
    tap_ok(holds("a", "four") && files() == 2, "and neither a half nor a temporary file is left");
}

/* What else may happen until the end: an error that has been, the name taken by a folder. */
static void test_late(void)
{
    struct failure failure = {0};
    struct whole_file whole;
    struct rlimit before, none;
    bool begun = whole_file_begin(&whole, "a", &failure);
    getrlimit(RLIMIT_FSIZE, &before);
    none = before;
    none.rlim_cur = 0;
    setrlimit(RLIMIT_FSIZE, &none);
    fputs("six", whole.file);
    bool failed = fflush(whole.file) != 0;
    setrlimit(RLIMIT_FSIZE, &before);
    tap_ok(begun && failed && !whole_file_finish(&whole, true, &failure) &&
               !strcmp(failure.text, "cannot write a: Input/output error") && holds("a", "four") &&
               files() == 2,
           "a write that failed before the end is told: %s", failure.text);
    failure = (struct failure){0};
    begun = whole_file_begin(&whole, "late", &failure) && !mkdir("late", 0700);
    tap_ok(begun && !whole_file_finish(&whole, true, &failure) &&
               !strcmp(failure.text, "cannot write late: Is a directory") && files() == 3,
           "and so is a name that is a folder by now: %s", failure.text);
    rmdir("late");
    failure = (struct failure){0};
    tap_ok(!write_to("/dev/full", "x", true, &failure) &&
               !strcmp(failure.text, "cannot write /dev/full: No space left on device"),
           "a device that is full is named: %s", failure.text);
    tap_ok(!write_to("/dev/full", "x", false, &failure) && !failure.text[0],
           "what is given up anyway has no further reason");
}

/* Standard output is written to, and stays open. */
static void test_output(const char *path, bool good, const char *reason)
{
    struct failure failure;
    fflush(stdout);
    int before = dup(STDOUT_FILENO), other = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    dup2(other, STDOUT_FILENO);
    bool written = write_to("-", "out", true, &failure);
    bool open_still = fcntl(STDOUT_FILENO, F_GETFD) >= 0;
    __fpurge(stdout);
    clearerr(stdout);
    dup2(before, STDOUT_FILENO);
    close(before);
    close(other);
    tap_ok(written == good && open_still && !strcmp(failure.text, reason), "to %s as output: %s",
           path, failure.text);
}

static void caught(int number)
{
    (void)number;
}

static void caught_with_more(int number, siginfo_t *more, void *context)
{
    (void)number, (void)more, (void)context;
}

static bool is_handled_by(int number, void (*handler)(int))
{
    struct sigaction action;
    return !sigaction(number, NULL, &action) && !(action.sa_flags & SA_SIGINFO) &&
           action.sa_handler == handler;
}

/* Who has decided about a signal keeps it; who has not has it back as it was, however it ends. */
static void test_signals(int number)
{
    struct sigaction before, more = {.sa_sigaction = caught_with_more, .sa_flags = SA_SIGINFO}, now;
    void (*const handlers[])(int) = {SIG_DFL, SIG_IGN, caught};
    struct failure failure = {0};
    struct whole_file whole;
    sigaction(number, NULL, &before);
    for (int i = 0; i < 3; i++) {
        signal(number, handlers[i]);
        bool begun = whole_file_begin(&whole, "s", &failure);
        bool within = is_handled_by(number, handlers[i]);
        bool ended = whole_file_finish(&whole, i % 2, &failure);
        tap_ok(begun && ended == i % 2 && within == (i > 0) && is_handled_by(number, handlers[i]),
               "signal %d is as it was, handler %d", number, i);
        whole_file_begin(&whole, "no/such", &failure);
        tap_ok(is_handled_by(number, handlers[i]), "and after a refusal");
        write_to("/dev/null", "x", true, &failure);
        tap_ok(is_handled_by(number, handlers[i]), "and after a device");
    }
    sigaction(number, &more, NULL);
    write_to("s", "x", true, &failure);
    sigaction(number, NULL, &now);
    tap_ok(now.sa_flags & SA_SIGINFO && now.sa_sigaction == caught_with_more,
           "signal %d stays with who wants to know more", number);
    sigaction(number, &before, NULL);
    unlink("s");
}

int main(void)
{
    if (!mkdtemp(folder) || chdir(folder))
        return 1;
    test_regular();
    test_refusals();
    test_pipe();
    test_interrupted(SIGINT);
    test_interrupted(SIGTERM);
    test_interrupted(SIGHUP);
    test_late();
    test_output("out", true, "");
    unlink("out");
    test_output("/dev/full", false, "cannot write to standard output: No space left on device");
    test_signals(SIGINT);
    test_signals(SIGTERM);
    test_signals(SIGHUP);
    unlink("a");
    unlink("link");
    tap_ok(!chdir("/") && !rmdir(folder), "nothing is left over");
    return tap_done();
}

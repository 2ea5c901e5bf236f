/* Graphviz absent, hanging, failing, present: there is a picture or the DOT text and a sentence. */
#include "tests/tap.h"
#include "viz/paper/render.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Seconds: what is waited for comes long before. */
enum { PATIENT = 300 };

static char folder[] = "/tmp/simrun-render-XXXXXX";
static const char text[] = "digraph g { a [pos=\"0,0!\"]; b [pos=\"90,0!\"]; a -> b; }\n";

static char *in_folder(const char *name)
{
    static char path[4][256];
    static int next;
    next = (next + 1) % 4;
    snprintf(path[next], sizeof path[next], "%s/%s", folder, name);
    return path[next];
}

/* A neato of our own, first and alone in PATH. */
static void fake_neato(const char *script)
{
    FILE *file = fopen(in_folder("neato"), "w");
    fprintf(file, "#!/bin/sh\n%s\n", script);
    fclose(file);
    chmod(in_folder("neato"), 0755);
    setenv("PATH", folder, 1);
}

static void test_without(const char *name, const char *expected, unsigned seconds)
{
    struct failure failure = {0};
    bool rendered =
        viz_render(text, sizeof text - 1, "svg", in_folder("out.svg"), seconds, &failure);
    tap_ok(!rendered && strstr(failure.text, expected), "%s: the sentence says so", name);
    tap_ok(strstr(failure.text, "out.dot") && access(in_folder("out.dot"), R_OK) == 0,
           "%s: the DOT text is kept, and where is said", name);
    tap_ok(access(in_folder("out.svg"), F_OK) != 0, "%s: no half picture is left", name);
    unlink(in_folder("out.dot"));
}

/* Whoever draws is killed: so is Graphviz, which holds the other end of a pipe. */
static void test_killed(void)
{
    struct failure failure = {0};
    char *fifo = in_folder("fifo"), byte;
    fake_neato("exec 9>\"${0%/*}/fifo\"\necho here >&9\nwhile :; do :; done");
    bool made = mkfifo(fifo, 0600) == 0;
    pid_t drawer = made ? fork() : -1;
    if (drawer == 0)
        _exit(viz_render(text, sizeof text - 1, "svg", in_folder("out.svg"), 600, &failure));
    int end = open(fifo, O_RDONLY), again = open(fifo, O_RDONLY | O_NONBLOCK);
    bool runs = read(end, &byte, 1) == 1 && byte == 'h';
    while (read(end, &byte, 1) == 1 && byte != '\n')
        ;
    kill(drawer, SIGKILL);
    waitpid(drawer, NULL, 0);
    struct pollfd ends = {.fd = again, .events = POLLIN};
    int told = poll(&ends, 1, PATIENT * 1000);
    tap_ok(runs && told == 1 && (ends.revents & POLLHUP),
           "Graphviz does not outlive the one that draws");
    tap_ok(access(in_folder("out.svg"), F_OK) != 0, "and no half picture is left");
    close(end);
    close(again);
    unlink(fifo);
    unlink(in_folder("neato"));
}

int main(void)
{
    struct failure failure = {0};
    char path[4096];
    tap_plan(17);
    snprintf(path, sizeof path, "%s", getenv("PATH") ? getenv("PATH") : "/usr/bin:/bin");
    if (!mkdtemp(folder))
        return 1;
    setenv("PATH", folder, 1);
    test_without("Graphviz is absent", "not installed", PATIENT);
    fake_neato("while :; do :; done");
    test_without("Graphviz hangs", "not done after", 1);
    fake_neato("echo half; exit 1");
    test_without("Graphviz fails half way", "failed", PATIENT);
    fake_neato("exit 0");
    test_without("Graphviz ends well without a picture", "failed", PATIENT);
    setenv("PATH", path, 1);
    test_killed();
    setenv("PATH", path, 1);
    if (viz_render(text, sizeof text - 1, "svg", in_folder("out.svg"), PATIENT, &failure)) {
        tap_ok(access(in_folder("out.svg"), R_OK) == 0,
               "Graphviz is there: the picture is written");
        tap_ok(access(in_folder("out.dot"), F_OK) != 0,
               "Graphviz is there: no DOT file is left over");
    } else if (!strstr(failure.text, "not installed")) {
        tap_ok(false, "Graphviz is there: the picture is written: %s", failure.text);
        tap_ok(false, "Graphviz is there: no DOT file is left over");
    } else {
        tap_skip(2, "%s", failure.text);
    }
    unlink(in_folder("out.svg"));
    unlink(in_folder("out.dot"));
    tap_ok(rmdir(folder) == 0, "nothing else is left over");
    return tap_done();
}

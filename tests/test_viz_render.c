/* Graphviz absent, hanging, failing, present: there is a picture or the DOT text and a sentence. */
#include "tests/tap.h"
#include "viz/render.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/simrun-render-XXXXXX";
static const char text[] = "digraph g { a -> b; }\n";

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

int main(void)
{
    struct failure failure = {0};
    char path[4096];
    tap_plan(15);
    snprintf(path, sizeof path, "%s", getenv("PATH") ? getenv("PATH") : "/usr/bin:/bin");
    if (!mkdtemp(folder))
        return 1;
    setenv("PATH", folder, 1);
    test_without("Graphviz is absent", "not installed", 5);
    fake_neato("while :; do :; done");
    test_without("Graphviz hangs", "not done after", 1);
    fake_neato("echo half >\"$5\"; exit 1");
    test_without("Graphviz fails half way", "failed", 5);
    fake_neato("exit 0");
    test_without("Graphviz ends well without a picture", "failed", 5);
    unlink(in_folder("neato"));
    setenv("PATH", path, 1);
    if (viz_render(text, sizeof text - 1, "svg", in_folder("out.svg"), 20, &failure)) {
        tap_ok(access(in_folder("out.svg"), R_OK) == 0,
               "Graphviz is there: the picture is written");
        tap_ok(access(in_folder("out.dot"), F_OK) != 0,
               "Graphviz is there: no DOT file is left over");
    } else {
        tap_skip(2, "%s", failure.text);
    }
    unlink(in_folder("out.svg"));
    unlink(in_folder("out.dot"));
    tap_ok(rmdir(folder) == 0, "nothing else is left over");
    return tap_done();
}

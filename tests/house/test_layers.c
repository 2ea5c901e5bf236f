/* Layering as a test: includes point one way, and the machine's only nondeterminism is choose().
 *
 * The folders stand in order; a file may include its own folder and those listed for it. <mpi.h>,
 * <mpix.h> and <diff.h> are public interfaces that anyone may use. Exceptions are listed with their
 * reason, and a stale exception fails the test. */
#include "tests/tap.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *folder, *may_see;
} layers[] = {
    {"traces", "traces"},
    {"recorder", "traces recorder"},
    {"sim", "traces recorder sim"},
    {"collectives", "traces recorder collectives"},
    {"checker", "traces checker"},
    {"viz", "traces checker viz"},
    {"verdict", "traces checker verdict"},
    {"cli", "traces sim recorder collectives checker viz verdict cli"},
};

static struct {
    const char *file, *sees, *why;
    bool used;
} exceptions[] = {
    {"traces/formats/format.c", "recorder", "reads what the preloaded recorder wrote", false},
    {"checker/explore/explore.h", "sim", "exploring runs worlds", false},
    {"checker/replay/rerun.h", "sim", "confirming a finding runs the program again", false},
};

static bool word_in(const char *list, const char *word, size_t length)
{
    for (const char *at = list; (at = strstr(at, word)); at += length)
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || !at[length]))
            return true;
    return false;
}

static bool is_layer(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
        if (strlen(layers[i].folder) == length && !strncmp(layers[i].folder, name, length))
            return true;
    return false;
}

static bool excepted(const char *file, const char *folder)
{
    for (size_t i = 0; i < sizeof exceptions / sizeof *exceptions; i++)
        if (!strcmp(exceptions[i].file, file) && !strcmp(exceptions[i].sees, folder))
            return exceptions[i].used = true;
    return false;
}

static int problems;

static void complain(const char *file, int line, const char *what, const char *detail)
{
    printf("# %s:%d: %s %s\n", file, line, what, detail);
    problems++;
}

static void check_include(const char *file, int line, const char *text, const char *may_see)
{
    const char *quote = strchr(text, '"');
    const char *slash = quote ? strchr(quote, '/') : NULL;
    if (!slash)
        return;
    char folder[64];
    snprintf(folder, sizeof folder, "%.*s", (int)(slash - quote - 1), quote + 1);
    if (is_layer(folder, strlen(folder)) && !word_in(may_see, folder, strlen(folder)) &&
        !excepted(file, folder))
        complain(file, line, "may not include", folder);
}

/* Calls that would make a run depend on more than its seed. */
static void check_machine(const char *file, int line, const char *text)
{
    static const char *const banned[] = {" rand(",  "(rand(",  " time(",
                                         "usleep(", " sleep(", "nanosleep("};
    if (strstr(file, "sim/libc/") == file)
        return; /* defines these very functions for the ranks */
    for (size_t i = 0; i < sizeof banned / sizeof *banned; i++)
        if (strstr(text, banned[i]) && !strstr(text, " * "))
            complain(file, line, "the machine may not call", banned[i]);
}

static void check_file(const char *file, const char *folder, const char *may_see)
{
    FILE *stream = fopen(file, "r");
    char text[2048];
    for (int line = 1; stream && fgets(text, sizeof text, stream); line++) {
        if (!strncmp(text, "#include", 8))
            check_include(file, line, text, may_see);
        else if (!strcmp(folder, "sim"))
            check_machine(file, line, text);
    }
    if (stream)
        fclose(stream);
    else
        complain(file, 0, "cannot be read", "");
}

static int check_folder(const char *path, const char *folder, const char *may_see)
{
    DIR *directory = opendir(path);
    int files = 0;
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        char file[512];
        snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
        size_t length = strlen(entry->d_name);
        if (entry->d_name[0] == '.')
            continue;
        if (entry->d_type == DT_DIR) {
            files += check_folder(file, folder, may_see);
        } else if (length > 2 && (!strcmp(entry->d_name + length - 2, ".c") ||
                                  !strcmp(entry->d_name + length - 2, ".h"))) {
            check_file(file, folder, may_see);
            files++;
        }
    }
    if (directory)
        closedir(directory);
    return files;
}

int main(void)
{
    size_t count = sizeof layers / sizeof *layers;
    tap_plan((int)count + 1);
    for (size_t i = 0; i < count; i++) {
        problems = 0;
        int files = check_folder(layers[i].folder, layers[i].folder, layers[i].may_see);
        tap_ok(files > 0 && problems == 0, "%s includes only what lies below it", layers[i].folder);
    }
    bool stale = false;
    for (size_t i = 0; i < sizeof exceptions / sizeof *exceptions; i++) {
        FILE *file = fopen(exceptions[i].file, "r");
        if (file && !exceptions[i].used) {
            printf("# the exception for %s is not needed any more\n", exceptions[i].file);
            stale = true;
        }
        if (file)
            fclose(file);
    }
    tap_ok(!stale, "every exception is still needed");
    return tap_done();
}

/* simrun doctor: whether this machine has what simrun needs, and what it supports. */
#include "cli/command.h"
#include "cli/options/catalogue.h"
#include "cli/telling/present.h"
#include "sim/compile/cache_folder.h"
#include "sim/compile/compile.h"
#include "sim/compile/compiler.h"
#include "sim/interface/unsupported.h"

#include <elfutils/version.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

struct doctor {
    bool unsupported;
    int wrong; /* things without which nothing runs */
};

static bool set_unsupported(void *target, const char *value)
{
    (void)value;
    ((struct doctor *)target)->unsupported = true;
    return true;
}

const struct option_row doctor_option_rows[] = {
    {"unsupported", 0, NULL, "name the MPI functions that are not implemented", set_unsupported},
    {NULL, 0, NULL, NULL, NULL},
};

/* One line of the table; what does not fit beside its name, a long path say, goes below it. */
static void say(const char *what, const char *state, const char *text)
{
    enum { BESIDE = 24, BELOW = 4 };
    struct present present;
    present_init(&present, stdout, "never");
    bool fits = BESIDE + strcspn(text, " ") <= (size_t)present.width;
    printf("%-14s ", what);
    if (fits) {
        printf("%-8s ", state);
        present_hanging(&present, BESIDE, BESIDE, text);
    } else {
        puts(state);
        present_wrapped(&present, BELOW, text);
    }
}

/* Finds a program on the PATH; a folder of that name is none. */
static bool on_path(const char *name, char *found, size_t size)
{
    const char *path = getenv("PATH");
    while (path && *path) {
        size_t length = strcspn(path, ":");
        snprintf(found, size, "%.*s/%s", (int)length, path, name);
        struct stat status;
        if (length && !access(found, X_OK) && !stat(found, &status) && S_ISREG(status.st_mode))
            return true;
        path += length + (path[length] == ':');
    }
    return false;
}

/* The first line with a number in it that `program --version` prints, without its blanks at both
 * ends. False when it cannot be run. */
static bool version_of(const char *program, const char *option, char *text, size_t size)
{
    char line[600];
    *text = '\0';
    snprintf(line, sizeof line, "'%s' %s 2>&1 </dev/null", program, option);
    FILE *pipe = popen(line, "re");
    if (!pipe)
        return false;
    while (fgets(line, sizeof line, pipe)) {
        char *start = line + strspn(line, " \t");
        if (!strncmp(start, "Version:", 8))
            start += 8 + strspn(start + 8, " \t");
        if (!*text && strpbrk(start, "0123456789"))
            snprintf(text, size, "%.*s", (int)strcspn(start, "\r\n"), start);
    }
    return pclose(pipe) == 0;
}

static bool report_program(const char *what, const char *name, const char *option,
                           const char *absent)
{
    char path[400], version[66];
    if (!on_path(name, path, sizeof path)) {
        say(what, "absent", absent);
        return false;
    }
    bool runs = version_of(path, option, version, sizeof version);
    say(what, runs ? "ok" : "broken", runs && version[0] ? version : path);
    return runs;
}

static void report_versions(void)
{
    char text[256];
    struct utsname system;
    uname(&system);
    snprintf(text, sizeof text, "%s %s, %s, %ld cores", system.sysname, system.release,
             system.machine, sysconf(_SC_NPROCESSORS_ONLN));
    say("simrun", "ok", SIMRUN_VERSION);
    say("system", "ok", text);
    say("sqlite", sqlite3_libversion_number() >= 3040000 ? "ok" : "old", sqlite3_libversion());
    snprintf(text, sizeof text, "0.%d", _ELFUTILS_VERSION);
    say("elfutils", "ok", text);
}

static void report_compilers(struct doctor *doctor)
{
    const char *own = compiler_words("CC", "cc");
    bool any = report_program("cc", !strchr(own, ' ') ? own : "cc", "--version",
                              "programs given as .c cannot be compiled: apt install gcc");
    doctor->wrong += !any;
    report_program("gcc", "gcc", "--version", "apt install gcc");
    report_program("clang", "clang", "--version", "optional: apt install clang");
    const char *include = sim_compile_include();
    doctor->wrong += !include;
    say("headers", include ? "ok" : "absent",
        include ? include + 2 : "mpi.h is not beside this simrun: run make, or install again");
}

static long number_in(const char *path)
{
    long number = -1;
    FILE *file = fopen(path, "re");
    if (!file)
        return -1;
    if (fscanf(file, "%ld", &number) != 1)
        number = -1;
    fclose(file);
    return number;
}

/* Every rank's stack and image are maps: the kernel's limit on maps bounds the ranks. */
static void report_limits(void)
{
    char text[256];
    long maps = number_in("/proc/sys/vm/max_map_count");
    if (maps < 0)
        snprintf(text, sizeof text, "/proc/sys/vm/max_map_count cannot be read");
    else
        snprintf(text, sizeof text, "enough for about %ld ranks (vm.max_map_count %ld)", maps / 4,
                 maps);
    say("memory maps", maps < 0 ? "unknown" : "ok", text);
    FILE *memory = fopen("/proc/meminfo", "re");
    long total = 0, available = 0;
    char line[128];
    while (memory && fgets(line, sizeof line, memory)) {
        sscanf(line, "MemTotal: %ld", &total);
        sscanf(line, "MemAvailable: %ld", &available);
    }
    if (memory)
        fclose(memory);
    snprintf(text, sizeof text, "%.1f of %.1f GiB free", (double)available / 1048576,
             (double)total / 1048576);
    say("memory", "ok", text);
}

static void report_cache(struct doctor *doctor)
{
    struct cache_folder cache;
    struct failure failure = {0};
    char text[PATH_MAX + 64];
    bool good = cache_folder_find(&cache, &failure) == 0;
    bool writable = good && cache_folder_writable(&cache);
    doctor->wrong += !writable;
    snprintf(text, sizeof text, "%s%s", good ? cache.path : failure.text,
             good && !writable ? " cannot be written; set SIMRUN_CACHE to a folder that can" : "");
    say("compile cache", writable ? "ok" : "wrong", text);
    good = !access(".", W_OK | X_OK);
    say("results", good ? "ok" : "wrong",
        good ? "./simrun.db" : "this folder cannot be written: use --db FILE or --db none");
}

static void report_catalogue(void)
{
    struct catalogue catalogue;
    struct failure failure = {0};
    char text[640];
    bool good = catalogue_read(&catalogue, &failure);
    size_t count = 0;
    for (size_t i = 0; i < catalogue.count; i++)
        count += !catalogue.entries[i].variant[0];
    snprintf(text, sizeof text, "%zu scenarios in %s", count, catalogue_folder());
    say("catalogue", good ? "ok" : "absent", good ? text : failure.text);
    catalogue_release(&catalogue);
}

static void report_functions(const struct doctor *doctor)
{
    char text[128];
    snprintf(text, sizeof text, "%zu of %zu functions of the standard",
             sim_function_count() - sim_unsupported_count(), sim_function_count());
    say("MPI", "ok", text);
    if (!doctor->unsupported)
        return;
    puts("\nnot implemented (each raises MPI_ERR_UNSUPPORTED_OPERATION):");
    const char *name;
    for (size_t i = 0; (name = sim_unsupported_name(i)); i++)
        printf("  %s\n", name);
}

int command_doctor(int argc, char **argv)
{
    struct doctor doctor = {0};
    struct command_words words = {0};
    int status = command_parse("doctor", &doctor, argc, argv, &words);
    if (status >= 0)
        return status;
    report_versions();
    report_compilers(&doctor);
    report_limits();
    report_cache(&doctor);
    report_catalogue();
    report_program("graphviz", "neato", "-V", "no .svg and .png pictures: apt install graphviz");
    report_program("open mpi", "mpirun.openmpi", "--version",
                   "optional, to run scenarios on a real MPI: apt install openmpi-bin");
    report_program("mpich", "mpirun.mpich", "--version", "optional: apt install mpich");
    report_program("gdb", "gdb", "--version", "optional, for --gdb: apt install gdb");
    report_functions(&doctor);
    return doctor.wrong ? EXIT_REQUIREMENT : EXIT_PASSED;
}

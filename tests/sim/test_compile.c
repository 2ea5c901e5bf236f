/* Compiling programs into the cache: what sim/compile/compile.h promises. */
#include "sim/compile/compile.h"

#include "sim/programs/loader.h"
#include "tests/tap.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[64];
static struct failure failure;

static const char *in_folder(const char *name)
{
    static char paths[4][128];
    static int turn;
    char *path = paths[turn++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static void write_text(const char *name, const char *text)
{
    FILE *file = fopen(in_folder(name), "w");
    if (file) {
        fputs(text, file);
        fclose(file);
    }
}

/* Compiles, loads one image and calls its main; -1 if that fails. */
static int run(const char *name)
{
    char object[PATH_MAX], program_name[] = "program";
    char *arguments[] = {program_name, NULL};
    if (sim_compile(in_folder(name), object, sizeof object, &failure))
        return -1;
    struct sim_program *program = sim_program_open(object, SIM_LOADER_CLONE, 1, &failure);
    int result = program && !sim_program_image(program, 0, &failure)
                     ? sim_program_main(program, 0)(1, arguments, environ)
                     : -1;
    sim_program_close(program);
    return result;
}

static void test_reuse(void)
{
    write_text("five.h", "#define VALUE 5\n");
    write_text("value.c", "#include \"five.h\"\nint main(void) { return VALUE; }\n");
    tap_is_int(run("value.c"), 5, "a source is compiled and runs");
    tap_ok(sim_compile_was_run(), "the first time by the compiler");
    tap_ok(run("value.c") == 5 && !sim_compile_was_run(), "the second time from the cache");
    write_text("five.h", "#define VALUE 6\n");
    tap_ok(run("value.c") == 6 && sim_compile_was_run(), "a changed header is noticed");
    write_text("five.h", "#define VALUE 5\n");
    tap_ok(run("value.c") == 5 && !sim_compile_was_run(),
           "changing it back finds the first object again");
    write_text("six words.h", "#define INNER 8\n");
    write_text("five.h", "#include \"six words.h\"\n#define VALUE INNER\n");
    tap_ok(run("value.c") == 8 && sim_compile_was_run(), "a header may include another");
    write_text("six words.h", "#define INNER 9\n");
    tap_ok(run("value.c") == 9 && sim_compile_was_run(), "whose change is noticed, too");
    write_text("five.h", "#define VALUE 5\n");
    write_text("value.c", "#include \"five.h\"\nint main(void) { return VALUE + 2; }\n");
    tap_ok(run("value.c") == 7 && sim_compile_was_run(), "a changed source is noticed");
    unlink(in_folder("five.h"));
    int keep = dup(2), nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, 2);
    tap_is_int(run("value.c"), -1, "a header that went is noticed");
    dup2(keep, 2);
    close(keep), close(nowhere);
    mkdir(in_folder("my own #1 $x"), 0755);
    write_text("my own #1 $x/a b.h", "#define VALUE 9\n");
    write_text("my own #1 $x/an odd name.c",
               "#include \"a b.h\"\nint main(void) { return VALUE; }\n");
    tap_is_int(run("my own #1 $x/an odd name.c"), 9, "names may have spaces, # and $");
}

static void test_flags(void)
{
    write_text("team.c",
               "#include <omp.h>\nint main(void)\n{\n    int sum = 0;\n"
               "#  pragma  omp parallel for reduction(+ : sum)\n"
               "    for (int i = 0; i < 9; i++)\n        sum += i;\n    return sum;\n}\n");
    tap_is_int(run("team.c"), 36, "a source with OpenMP pragmas is compiled for it");
    write_text(
        "flags.c",
        "/* simrun: cflags: -DVALUE=11 -DOTHER=2 */\nint main(void) { return VALUE + OTHER; }\n");
    tap_is_int(run("flags.c"), 13, "a source's own options are used");
    write_text("root.c",
               "#include <math.h>\n#include <stdlib.h>\n"
               "int main(int argc, char **argv) { (void)argv; return (int)sqrt(48 + argc); }\n");
    tap_is_int(run("root.c"), 7, "mathematics is linked");
    write_text("mpi.c", "#include <mpi.h>\n#include <mpix.h>\nint main(void) { return "
                        "MPI_ANY_SOURCE < 0 ? 3 : 4; }\n");
    tap_is_int(run("mpi.c"), 3, "mpi.h is found without being told where");
    write_text("privacy.c",
               "static _Thread_local int value = 3;\nint main(void) { return value++; }\n");
    tap_is_int(run("privacy.c"), 3, "thread-locals are compiled so that ranks can have them");
}

/* What goes to file descriptor 2 while a source is compiled. */
static void compile_heard(const char *name, char *heard, size_t size)
{
    int keep = dup(2), file = open(in_folder("heard"), O_RDWR | O_CREAT | O_TRUNC, 0600);
    dup2(file, 2);
    int status = run(name);
    dup2(keep, 2);
    ssize_t length = pread(file, heard, size - 1, 0);
    heard[length > 0 && status == -1 ? length : 0] = 0;
    close(keep), close(file);
}

static void test_refusals(void)
{
    char heard[4096], object[PATH_MAX], small[4];
    write_text("broken.c", "int main(void) { return nonsense; }\n");
    compile_heard("broken.c", heard, sizeof heard);
    tap_ok(strstr(heard, "broken.c:1:") && strstr(heard, "nonsense"),
           "the compiler's message is shown as it is");
    tap_ok(failure.code == FAILURE_INPUT && strstr(failure.text, "broken.c: does not compile"),
           "and the source is refused");
    tap_ok(sim_compile("no/such.c", object, sizeof object, &failure) == FAILURE_INPUT &&
               strstr(failure.text, "no/such.c: No such file"),
           "a source that is not there is refused by name");
    tap_ok(!sim_compile("some/program.so", object, sizeof object, &failure) &&
               !strcmp(object, "some/program.so"),
           "what is not a source is passed on");
    tap_ok(sim_compile("some/program.so", small, sizeof small, &failure) == FAILURE_INTERNAL,
           "unless there is no room for it");
    setenv("CC", "no-such-compiler", 1);
    tap_ok(run("value.c") == -1 && strstr(failure.text, "no-such-compiler is not found"),
           "a missing compiler is named");
    unsetenv("CC");
    setenv("SIMRUN_CACHE", "/proc/self/nowhere", 1);
    tap_ok(run("flags.c") == -1 && failure.code == FAILURE_INTERNAL &&
               strstr(failure.text, "/proc/self/nowhere") && strstr(failure.text, "SIMRUN_CACHE"),
           "a cache that cannot be written is named, with the remedy");
    setenv("SIMRUN_CACHE", in_folder("cache"), 1);
}

/* The folder of this build, where simcc is. */
static const char *build_folder(void)
{
    static char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    path[length > 0 ? length : 0] = 0;
    for (int i = 0; i < 3 && strrchr(path, '/'); i++)
        *strrchr(path, '/') = 0;
    return path;
}

/* Runs simcc in the test's folder; its status, and what it said in the file "said". */
static int simcc(const char *arguments)
{
    char command[PATH_MAX + 300];
    snprintf(command, sizeof command, "cd %s && '%s/simcc' %s >said 2>&1", folder, build_folder(),
             arguments);
    int status = system(command);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool said(const char *text)
{
    char heard[4096];
    FILE *file = fopen(in_folder("said"), "r");
    size_t length = file ? fread(heard, 1, sizeof heard - 1, file) : 0;
    heard[length] = 0;
    if (file)
        fclose(file);
    return strstr(heard, text);
}

/* Loads what simcc made and calls its main. */
static int load(const char *name)
{
    char program_name[] = "program", *arguments[] = {program_name, NULL};
    struct sim_program *program = sim_program_open(in_folder(name), SIM_LOADER_CLONE, 2, &failure);
    int result = program && !sim_program_image(program, 1, &failure)
                     ? sim_program_main(program, 1)(1, arguments, environ)
                     : -1;
    sim_program_close(program);
    return result;
}

static void test_wrapper(void)
{
    write_text("part.c",
               "#include <mpi.h>\nint part(void);\nint part(void) { return MPI_VERSION; }\n");
    write_text("whole.c", "#include <mpi.h>\n#include <mpix.h>\nint part(void);\n"
                          "static _Thread_local int four = 4;\n"
                          "int main(void) { return MPI_Initialized == 0 ? 9 : part() + four; }\n");
    tap_ok(simcc("-c -O1 part.c") == 0 && simcc("-o whole whole.c part.o") == 0,
           "simcc compiles and links");
    tap_is_int(load("whole"), 9, "and what it made can be loaded, with thread-locals");
    write_text("plain.c", "#include <mpi.h>\nint main(void) { return MPI_SUCCESS + 6; }\n");
    tap_ok(simcc("-pie -o plain plain.c") == 0 && load("plain") == 6, "also an executable");
    tap_ok(simcc("-o wrong wrong.c") != 0 && said("wrong.c"),
           "a missing source is told by the compiler");
    write_text("typo.c", "int MPI_Finalise(void);\nint main(void) { return MPI_Finalise(); }\n");
    tap_ok(simcc("-o typo typo.c") != 0 && said("MPI_Finalise"),
           "an MPI function that does not exist when linking");
    tap_ok(simcc("-static -o plain plain.c") == 2 && said("static"),
           "a static program is refused at once");
    tap_ok(simcc("-show -c plain.c") == 0 && said("include/simrun") && said("-c plain.c"),
           "simcc shows its command");
    tap_ok(simcc("--version") == 0, "and passes questions on to the compiler");
}

/* A file of the cache, so many KiB large, last used `hours` before `now`. */
static const char *cached(const char *name, long kib, time_t now, int hours)
{
    char relative[PATH_MAX];
    snprintf(relative, sizeof relative, "cache/%s", name);
    const char *path = in_folder(relative);
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    struct timespec used[2] = {{.tv_sec = now - 3600 * hours}, {.tv_sec = now - 3600 * hours}};
    if (file >= 0 && (ftruncate(file, kib << 10) || futimens(file, used)))
        tap_ok(false, "the cache's files are laid out");
    close(file);
    return path;
}

static bool is_there(const char *name)
{
    char relative[PATH_MAX];
    snprintf(relative, sizeof relative, "cache/%s", name);
    return !access(in_folder(relative), F_OK);
}

static time_t now_of_files(void)
{
    struct stat status;
    write_text("clock", "");
    return stat(in_folder("clock"), &status) ? 0 : status.st_mtim.tv_sec;
}

static void test_bound(void)
{
    static const char oldest[] = "00000000000000000000000000000001.so",
                      older[] = "00000000000000000000000000000002.headers",
                      old[] = "00000000000000000000000000000003.77-5f.d",
                      young[] = "00000000000000000000000000000004.so", foreign[] = "notes.so";
    time_t now = now_of_files();
    mkdir(in_folder("cache"), 0777);
    write_text("first.c", "int main(void) { return 1; }\n");
    write_text("second.c", "int main(void) { return 2; }\n");
    write_text("third.c", "int main(void) { return 3; }\n");
    cached(foreign, 4096, now, 9);
    cached(oldest, 500, now, 5);
    cached(older, 500, now, 4);
    cached(old, 500, now, 3);
    setenv("SIMRUN_CACHE_SIZE", "2", 1);
    tap_ok(run("first.c") == 1 && is_there(oldest), "a cache within its bound keeps all");
    cached(young, 1024, now, 0);
    tap_ok(run("second.c") == 2 && !is_there(oldest) && is_there(old),
           "one over its bound loses what was not used for longest, and no more");
    setenv("SIMRUN_CACHE_SIZE", "1", 1);
    tap_ok(run("third.c") == 3 && !is_there(older) && !is_there(old) && is_there(young),
           "what was used within the hour stays though the bound is passed");
    tap_ok(is_there(foreign), "and so do files of others");
    tap_ok(run("third.c") == 3 && !sim_compile_was_run(), "what was just added stays, too");
    unlink(cached(young, 1, now, 0));
    setenv("SIMRUN_CACHE_SIZE", "0", 1);
    cached(oldest, 4096, now, 9);
    write_text("third.c", "int main(void) { return 4; }\n");
    tap_ok(run("third.c") == 4 && is_there(oldest), "0 is no bound");
    unsetenv("SIMRUN_CACHE_SIZE");
    unlink(cached(oldest, 1, now, 0));
    unlink(cached(foreign, 1, now, 0));
}

/* Every object of the cache as if it had been made long ago. */
static void age_all(time_t now)
{
    DIR *directory = opendir(in_folder("cache"));
    struct timespec used[2] = {{.tv_sec = now - 36000}, {.tv_sec = now - 36000}};
    for (struct dirent *file; directory && (file = readdir(directory));)
        utimensat(dirfd(directory), file->d_name, used, 0);
    if (directory)
        closedir(directory);
}

static void test_use_is_remembered(void)
{
    static const char large[] = "00000000000000000000000000000005.so";
    time_t now = now_of_files();
    write_text("used.c", "int main(void) { return 5; }\n");
    write_text("unused.c", "int main(void) { return 6; }\n");
    write_text("new.c", "int main(void) { return 7; }\n");
    run("used.c");
    run("unused.c");
    age_all(now);
    run("used.c");
    cached(large, 1024, now, 0);
    setenv("SIMRUN_CACHE_SIZE", "1", 1);
    tap_is_int(run("new.c"), 7, "an object that takes the cache over its bound is made");
    tap_ok(run("used.c") == 5 && !sim_compile_was_run(), "one that was used again stays");
    tap_ok(run("unused.c") == 6 && sim_compile_was_run(), "one that was not is made again");
    unsetenv("SIMRUN_CACHE_SIZE");
}

static void test_parallel(void)
{
    pid_t children[4];
    int good = 0, status;
    write_text("busy.c", "int main(void) { return 21; }\n");
    fflush(stdout);
    for (int i = 0; i < 4; i++)
        if ((children[i] = fork()) == 0)
            _exit(run("busy.c"));
    for (int i = 0; i < 4; i++)
        good += waitpid(children[i], &status, 0) == children[i] && WIFEXITED(status) &&
                WEXITSTATUS(status) == 21;
    tap_is_int(good, 4, "jobs that compile the same at once all get it");
    tap_ok(run("busy.c") == 21 && !sim_compile_was_run(), "and leave it in the cache");
    char command[160];
    snprintf(command, sizeof command,
             "test -z \"$(ls %s/cache | grep -v -e '^[0-9a-f]*.so$' -e '.headers$')\"", folder);
    tap_is_int(system(command), 0, "with nothing left lying about");
}

int main(void)
{
    snprintf(folder, sizeof folder, "/tmp/test_compile.XXXXXX");
    if (!mkdtemp(folder))
        return 1;
    unsetenv("CC");
    setenv("SIMRUN_CACHE", in_folder("cache"), 1);
    test_bound();
    test_use_is_remembered();
    test_reuse();
    test_flags();
    test_refusals();
    test_parallel();
    test_wrapper();
    char command[80];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return tap_done() | (system(command) != 0);
}

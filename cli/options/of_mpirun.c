/* Words of another MPI's mpirun: see of_mpirun.h. */
#include "cli/options/of_mpirun.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char places[] =
    "it says where mpirun puts ranks, and those of simrun are threads of one process: "
    "leave it out";
static const char variables[] =
    "every rank has the environment that simrun has: set it there, NAME=VALUE simrun ...";
static const char settings[] = "it sets up another MPI, of which nothing is used: leave it out";
static const char folders[] = "ranks begin in the folder that simrun is started in: cd there first";

static const struct {
    const char *words; /* without their hyphens, between blanks */
    const char *remedy;
} options[] = {
    {" hostfile machinefile machine f host hosts H ppn N npernode perhost npersocket map-by "
     "bind-to "
     "rank-by oversubscribe nooversubscribe use-hwthread-cpus allow-run-as-root report-bindings "
     "display-map bynode bycore bind-to-core cpu-set cpus-per-proc cpu-bind launcher ",
     places},
    {" x genv env envall genvall envlist genvlist export ", variables},
    {" mca gmca prefix tune am pmixmca prtemca iface ", settings},
    {" wd wdir chdir ", folders},
};

const char *of_mpirun_option(const char *word)
{
    char name[40];
    word += strspn(word, "-");
    int length = (int)strcspn(word, "=");
    if (length == 0 || (size_t)length > sizeof name - 3)
        return NULL;
    snprintf(name, sizeof name, " %.*s ", length, word);
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (strstr(options[i].words, name))
            return options[i].remedy;
    return NULL;
}

static bool is_one_of(const char *word, const char *const *names)
{
    for (; *names; names++)
        if (!strncmp(word, *names, strlen(*names)) && strchr(".", word[strlen(*names)]))
            return true;
    return false;
}

static bool tell_program(const char *word)
{
    static const char *const launchers[] = {"mpirun", "mpiexec", "orterun", "prterun",
                                            "srun",   "aprun",   "jsrun",   NULL};
    static const char *const tools[] = {"valgrind", "perf",    "strace",  "ltrace",  "time",
                                        "nice",     "taskset", "numactl", "timeout", NULL};
    static const char *const debuggers[] = {"gdb", "lldb", "ddd", "xterm", NULL};
    if (is_one_of(word, launchers))
        fprintf(stderr,
                "simrun: simrun itself stands in the place of %s: simrun -n RANKS PROGRAM\n", word);
    else if (is_one_of(word, debuggers))
        fprintf(stderr, "simrun: ranks are threads of one process, so one debugger sees them all: "
                        "simrun --gdb -n RANKS PROGRAM\n");
    else if (is_one_of(word, tools))
        fprintf(stderr,
                "simrun: ranks are threads of one process, so %s runs around all of them: "
                "simrun --wrapper %s -n RANKS PROGRAM\n",
                word, word);
    else
        return false;
    return true;
}

bool of_mpirun_tell(int count, char **words, int at)
{
    for (int i = at + 1; i + 1 < count; i++) {
        bool again = !strcmp(words[i + 1], "-n") || !strcmp(words[i + 1], "-np") ||
                     (strchr(words[i + 1], '/') && !access(words[i + 1], X_OK));
        if (strcmp(words[i], ":") || !again)
            continue;
        fputs("simrun: ':' starts a second program under mpirun, and simrun runs one: let one "
              "program "
              "do either's work by its rank\n",
              stderr);
        return true;
    }
    return access(words[at], F_OK) && tell_program(words[at]);
}

/* What is read ahead of a rank's turn: the word its image calls through, found from how the ranks
 * before it called. The programs are compiled here into a folder of this run. */
#include "sim/programs/run_program.h"
#include "sim/worlds/prefetch.h"
#include "tests/tap.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined __x86_64__
enum { RANKS = SIM_AHEAD_RANKS, KNOWN = RANKS };
#else
enum { RANKS = SIM_AHEAD_RANKS, KNOWN = -1 }; /* nobody reads the calls there */
#endif

static const char barriers[] = "#include <mpi.h>\n"
                               "int own = 1;\n"
                               "int main(void)\n"
                               "{\n"
                               "    MPI_Init(0, 0);\n"
                               "    for (int i = 0; i < 4; i++)\n"
                               "        MPI_Barrier(MPI_COMM_WORLD);\n"
                               "    MPI_Finalize();\n"
                               "    return own - 1;\n"
                               "}\n";

static char folder[64];

static bool build(const char *flags)
{
    char command[512];
    snprintf(command, sizeof command,
             "cd %s && cc -O2 -fPIC -shared -Wl,-Bsymbolic -I%s/sim %s -o program.so program.c",
             folder, getcwd((char[256]){0}, 256), flags);
    return system(command) == 0;
}

static struct sim_program *open_program(void)
{
    char path[128];
    struct failure failure = {0};
    snprintf(path, sizeof path, "%s/program.so", folder);
    struct sim_program *program = sim_program_open(path, SIM_LOADER_CLONE, RANKS + 1, &failure);
    if (!program)
        printf("# %s\n", failure.text);
    return program;
}

/* How many ranks' words hold MPI_Barrier after a run of so many ranks, which use images 1 and up;
 * -1: nothing was learnt. */
static int words_right(int ranks)
{
    struct sim_program *program = open_program();
    struct sim_world_options options;
    struct failure failure = {0};
    sim_world_options_init(&options);
    options.ranks = ranks;
    struct sim_world *world = program ? sim_world_new(&options, &failure) : NULL;
    int right = -2;
    if (world) {
        char name[] = "program", *arguments[] = {name, NULL};
        struct sim_run run = {.program = program, .first_image = 1, .argc = 1, .argv = arguments};
        bool finished = sim_world_run(world, sim_run_body, &run) == OUTCOME_FINISHED;
        int (*barrier)(MPI_Comm) = MPI_Barrier;
        right = finished ? -1 : -2;
        for (int r = 0; finished && world->ahead.word && r < ranks; r++)
            right += !memcmp(world->ahead.word + (size_t)(r + 1) * world->ahead.stride, &barrier,
                             sizeof barrier) +
                     (r == 0);
    }
    sim_world_free(world);
    sim_program_close(program);
    return right;
}

int main(void)
{
    tap_plan(5);
    snprintf(folder, sizeof folder, "%s", "/tmp/simrun-ahead-XXXXXX");
    if (!mkdtemp(folder))
        return 1;
    char path[128];
    snprintf(path, sizeof path, "%s/program.c", folder);
    FILE *file = fopen(path, "w");
    tap_ok(file && fputs(barriers, file) >= 0 && !fclose(file), "the program is written");
    tap_ok(build("-fno-plt"), "and compiled");
    tap_is_int(words_right(RANKS), KNOWN, "the word that ranks call through is known");
    tap_is_int(words_right(RANKS - 1), -1, "small worlds do without");
    build("-fplt -fcf-protection=full -Wl,-z,now");
    tap_is_int(words_right(RANKS), KNOWN, "the same where calls go through a stub");
    unlink(path);
    path[strlen(path) - 1] = '\0';
    strcat(path, "so");
    unlink(path);
    rmdir(folder);
    return tap_done();
}

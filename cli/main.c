/* simrun: finds the command and runs it. */
#include "cli/command.h"
#include "cli/processes/begin_again.h"
#include "cli/processes/other_launcher.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void print_commands(FILE *out)
{
    fputs("simrun runs MPI programs with ranks as threads of one process, checks their\n"
          "gradients and finds deadlocks and ordering races in every order their\n"
          "operations may take.\n\n"
          "  simrun -n 16 ring            run a scenario of the catalogue on 16 ranks\n"
          "  simrun -n 4 ./prog.c         compile and run a program of your own\n"
          "  simrun show findings         what the last run found\n\n",
          out);
    for (const struct command *command = commands; command->name; command++)
        fprintf(out, "  %-12s %s\n", command->name, command->summary);
    fputs("\n'simrun help COMMAND' tells more.\n"
          "Exit: 0 passed, 1 findings, 2 usage, 3 unusable input.\n",
          out);
}

static int help(int argc, char **argv)
{
    if (argc < 2) {
        print_commands(stdout);
        return EXIT_PASSED;
    }
    const struct command *command = command_find(argv[1]);
    if (command) {
        command_help(command);
        return EXIT_PASSED;
    }
    const char *near = command_near(argv[1]);
    fprintf(stderr, "simrun help: no command '%s'%s%s%s\n", argv[1], near ? "; did you mean '" : "",
            near ? near : "", near ? "'?" : "");
    return EXIT_USAGE;
}

static int run(int argc, char **argv)
{
    if (argc < 2) {
        print_commands(stderr);
        return EXIT_USAGE;
    }
    if (!strcmp(argv[1], "help") || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
        return help(argc - 1, argv + 1);
    if (!strcmp(argv[1], "--version")) {
        puts("simrun " SIMRUN_VERSION);
        return EXIT_PASSED;
    }
    const struct command *command = command_find(argv[1]);
    int starts = other_launcher_starts();
    if (starts && (!command || command->run != command_alone)) /* that one has more to say */
        fprintf(stderr,
                "simrun: started %d times by an mpiexec of another MPI; each time it is all ranks, "
                "which are threads of its own: start it without mpiexec, with -n %d\n",
                starts, starts);
    if (command)
        return command->run(argc - 1, argv + 1);
    return command_run(argc, argv); /* the default command: argv[0] stands for its name */
}

/* A result that could not be written was not reported. */
static int with_output(int status)
{
    if (!fflush(stdout) && !ferror(stdout))
        return status;
    if (status != EXIT_INTERNAL)
        fputs("simrun: cannot write to standard output\n", stderr);
    return EXIT_INTERNAL;
}

/* A standard stream that the caller closed ("simrun ring >&-") would be the next file that is
 * opened here, and what is said would go into it. Opened the wrong way round, using it fails as it
 * did. */
static void keep_standard_streams(void)
{
    for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; stream++)
        if (fcntl(stream, F_GETFD) < 0 &&
            open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY) != stream)
            _exit(EXIT_INTERNAL);
}

int main(int argc, char **argv)
{
    keep_standard_streams();
    begin_again(argv);
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is a write error, as a full disk is */
    return with_output(run(argc, argv));
}

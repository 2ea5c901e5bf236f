/* Commands: one file per subcommand, listed in one table (main.c). */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

/* Exit statuses of every command; findings never leave as anything but 1, ranks' own codes never at
 * all. */
enum {
    EXIT_PASSED = 0,
    EXIT_FINDINGS = 1,
    EXIT_USAGE = 2,
    EXIT_INPUT = 3,
    EXIT_NOTHING = 4,
    EXIT_INTERNAL = 5,
    EXIT_REQUIREMENT = 77,
    EXIT_TIMEOUT = 124,
    EXIT_INTERRUPTED = 130,
    EXIT_TERMINATED = 143
};

struct command {
    const char *name, *summary;
    /* argv[0] is the command's name. Returns the exit status. */
    int (*run)(int argc, char **argv);
    const char *help; /* the whole text of `simrun help NAME` */
};

extern const struct command commands[]; /* ends with a NULL name */
const struct command *command_find(const char *name);
/* The name in a list (ends with NULL) that was probably meant, NULL when none is near. */
const char *command_did_you_mean(const char *word, const char *const *names);

int command_run(int argc, char **argv);
int command_list(int argc, char **argv);
int command_catalogue(int argc, char **argv);

#endif

/* Commands: one file per subcommand, listed in one table (commands.c). */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include "cli/options/options.h"
#include "traces/base/failure.h"

/* Exit statuses of every command; findings never leave as anything but 1, ranks' own codes never at
 * all. */
enum {
    EXIT_PASSED = 0,
    EXIT_FINDINGS = 1,
    EXIT_USAGE = 2,
    EXIT_INPUT = 3,
    EXIT_NOTHING = 4,
    EXIT_INTERNAL = 5,
    EXIT_UNCOVERED = 6,
    EXIT_REQUIREMENT = 77,
    EXIT_TIMEOUT = 124,
    EXIT_INTERRUPTED = 130,
    EXIT_TERMINATED = 143
};

struct command {
    const char *name, *usage, *summary;
    /* argv[0] is the command's name. Returns the exit status. */
    int (*run)(int argc, char **argv);
    const struct option_row *options; /* NULL: none but --help */
    const char *more;                 /* paragraphs of its help, NULL: none */
};

extern const struct command commands[]; /* ends with a NULL name */
const struct command *command_find(const char *name);
/* The name in a list (ends with NULL) that was probably meant, NULL when none is near. */
const char *command_did_you_mean(const char *word, const char *const *names);
/* The command that was probably meant, NULL when none is near. */
const char *command_near(const char *word);
/* Prints "simrun NAME: sentence" and returns the failure's exit status. */
int command_fail(const char *name, const struct failure *failure);
/* The whole help text, on stdout. */
void command_help(const struct command *command);

/* The words of a command line that are no options. */
enum { COMMAND_WORDS = 256, COMMAND_ANY = 1 << 30 /* as many as there are */ };
struct command_words {
    int least, most; /* how many there may be: the caller's */
    int count;
    char **words; /* argv, without its options */
};
/* For commands whose options may stand anywhere: parses all of argv. -1: go on; otherwise the exit
 * status: help was asked for and printed, or one sentence says what is wrong. */
int command_parse(const char *name, void *target, int argc, char **argv,
                  struct command_words *words);

/* The worse of two exit statuses, for sessions of several runs: interrupted, internal error,
 * unusable input, findings, timeout, requirement absent, nothing selected, passed. */
int command_worse(int left, int right);

int command_prove(int argc, char **argv);
int command_run(int argc, char **argv);
int command_list(int argc, char **argv);
int command_catalogue(int argc, char **argv);
int command_prove(int argc, char **argv);
int command_explore(int argc, char **argv);
int command_check(int argc, char **argv);
int command_explain(int argc, char **argv);
int command_alone(int argc, char **argv);
int command_doctor(int argc, char **argv);
int command_mutants(int argc, char **argv);
int command_export(int argc, char **argv);
int command_import(int argc, char **argv);
int command_completion(int argc, char **argv);
int command_show(int argc, char **argv);
int command_log(int argc, char **argv);
int command_query(int argc, char **argv);
int command_graph(int argc, char **argv);
int command_report(int argc, char **argv);
int command_diff(int argc, char **argv);
int command_replay(int argc, char **argv);
int command_db(int argc, char **argv);

extern const struct option_row catalogue_option_rows[], doctor_option_rows[];

#endif

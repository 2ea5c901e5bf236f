/* Commands: one file per subcommand, listed in one table (commands.c). */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include "cli/options/options.h"
#include "cli/processes/exit_status.h"
#include "traces/base/failure.h"

struct command {
    const char *name, *usage, *summary;
    /* argv[0] is the command's name. Returns the exit status. */
    int (*run)(int argc, char **argv);
    const struct option_row *options; /* NULL: none but --help */
    const char *more;                 /* paragraphs of its help, NULL: none */
};

extern const struct command commands[]; /* ends with a NULL name */
const struct command *command_find(const char *name);
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

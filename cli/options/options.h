/* Options of a command, described by a table; the parser knows nothing else.
 *
 * Long options take "--name value" or "--name=value", short ones "-n 4" or "-n4". Parsing stops at
 * the first word that is no option, or at "--".
 *
 * Room: sees checker, collectives, recorder, sim, traces, verdict, viz. Seen by cli,
 * cli/commands, cli/running, cli/telling. */
#ifndef CLI_OPTIONS_OPTIONS_H
#define CLI_OPTIONS_OPTIONS_H

#include <stdbool.h>

struct option_row {
    const char *name;     /* without dashes */
    char letter;          /* 0: none */
    const char *argument; /* name of its argument for the help, NULL: a switch */
    const char *help;
    /* Stores the value; false after printing one sentence about it. `value` is NULL for a switch.
     */
    bool (*set)(void *target, const char *value);
};

/* Parses argv[1..); returns the index of the first word that is no option, or -1 after one sentence
 * on stderr (exit 2). */
int options_parse(const char *command, const struct option_row *rows, void *target, int argc,
                  char **argv);
/* Handles argv[at]; returns how many words it took, 0 after one sentence on stderr. */
int options_one(const char *command, const struct option_row *rows, void *target, int argc,
                char **argv, int at);
/* Prints the rows as help, at most 80 columns wide. */
void options_help(const struct option_row *rows);

#endif

/* The table of commands. */
#include "cli/command.h"

#include <stddef.h>

const struct command commands[] = {
    {"run", "run a program, check its gradients and its order (the default)", command_run, NULL},
    {"list", "the scenarios of the catalogue", command_list, NULL},
    {NULL, NULL, NULL, NULL},
};

/* The table of commands. */
#include "cli/command.h"

#include <stddef.h>

const struct command commands[] = {
    {"run", "run a program, check its gradients and its order (the default)", command_run, NULL},
    {"list", "the scenarios of the catalogue", command_list, NULL},
    {"catalogue", "run the whole catalogue and assert its verdicts (TAP)", command_catalogue, NULL},
    {NULL, NULL, NULL, NULL},
};

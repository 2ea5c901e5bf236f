/* The table of commands. */
#include "cli/command.h"
#include "cli/run_options.h"

#include <stddef.h>

const struct command commands[] = {
    {"run", "[run] [options] SCENARIO [arguments]",
     "run a program, check its gradients and its order (the default)", command_run, run_option_rows,
     "SCENARIO is a name of 'simrun list', a C source or an object that simcc made. Options stand\n"
     "before it; everything after it is the program's. Every failure names the command that\n"
     "replays it and the one that draws it.\n"},
    {"list", "list [PATTERN]", "the scenarios of the catalogue", command_list, NULL,
     "With purpose, variants and expected findings; only those whose name or purpose contains\n"
     "PATTERN.\n"},
    {"check", "check [options] FILE...", "judge trace, schedule and dump files ('-': stdin)",
     command_check, check_option_rows,
     "The format is recognised by content. Dangers are looked for under every progress model.\n"},
    {"export", "export [options] FILE", "write a trace file in another format", command_export,
     export_option_rows, NULL},
    {"explain", "explain [CODE...]", "what a finding's code means", command_explain, NULL, NULL},
    {"mutants", "mutants", "the known wrong adjoints for --mutant", command_mutants, NULL, NULL},
    {"catalogue", "catalogue [-v] [PATTERN]", "run the catalogue and assert its verdicts (TAP)",
     command_catalogue, catalogue_option_rows, NULL},
    {"doctor", "doctor [--unsupported]", "whether this machine has what simrun needs",
     command_doctor, doctor_option_rows, NULL},
    {"completion", "completion bash", "a completion script on stdout", command_completion, NULL,
     "  simrun completion bash >~/.local/share/bash-completion/completions/simrun\n"},
    {NULL, NULL, NULL, NULL, NULL, NULL},
};

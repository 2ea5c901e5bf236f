/* simrun mutants: the known wrong adjoints that --mutant switches on. */
#include "collectives/mutant.h"

#include "cli/command.h"
#include "cli/present.h"

#include <stdio.h>

int command_mutants(int argc, char **argv)
{
    struct command_words words = {0};
    int status = command_parse("mutants", NULL, argc, argv, &words);
    if (status >= 0)
        return status;
    struct present present;
    present_init(&present, stdout, NULL);
    for (int i = 1; i < DIFF_MUTANT_COUNT; i++) {
        puts(diff_mutants[i].name);
        present_wrapped(&present, 4, diff_mutants[i].text);
    }
    puts(
        "\nA mutant is a mistake made before: 'simrun -n 4 --mutant NAME SCENARIO' shows that the\n"
        "checks notice it.");
    return EXIT_PASSED;
}

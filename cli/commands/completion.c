/* simrun completion: a script for bash, made from the tables that the parser reads. */
#include "cli/command.h"
#include "cli/options/run_options.h"

#include <stdio.h>
#include <string.h>

static void print_options(const struct option_row *rows)
{
    for (; rows && rows->name; rows++) {
        printf(" --%s", rows->name);
        if (rows->letter)
            printf(" -%c", rows->letter);
    }
}

/* What stands after an option: its words, or files. */
static const struct {
    const char *option, *words;
} values[] = {
    {"send", "eager rendezvous batch all"},
    {"streams", "communicator device"},
    {"order", "program data"},
    {"loader", "clone dlopen shared"},
    {"reduce-order", "linear tree ring seed"},
    {"record", "none findings ops events"},
    {"fail-on", "error warning note"},
    {"color", "auto always never"},
    {"format", "jsonl chrome csv ti"},
    {"vary", "order choices all"},
    {"axes", "auto linear logx logy loglog"},
    {"view", "auto forward backward both timeline wall schedule passes gradients metrics"},
};

static void print_values(void)
{
    puts("    case $before in");
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        printf("    --%s) COMPREPLY=($(compgen -W '%s' -- \"$word\")); return ;;\n",
               values[i].option, values[i].words);
    puts("    --mutant) COMPREPLY=($(compgen -W \"$(simrun mutants 2>/dev/null | grep "
         "'^[a-z]')\" -- \"$word\")); return ;;\n"
         "    --html | --junit | --dot | --chrome | --db | --output | -o) compopt -o filenames; "
         "mapfile -t COMPREPLY < <(compgen -f -- \"$word\"); return ;;\n"
         "    esac");
}

static void print_commands(void)
{
    puts("    case $command in");
    for (const struct command *command = commands; command->name; command++) {
        printf("    %s) options='", command->name);
        print_options(command->options);
        puts(" --help' ;;");
    }
    fputs("    *) options='", stdout);
    print_options(run_option_rows);
    puts("' ;;\n    esac");
}

static int bash(void)
{
    puts("# bash completion of simrun: simrun completion bash >/etc/bash_completion.d/simrun\n"
         "_simrun() {\n"
         "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} "
         "command=${COMP_WORDS[1]} options");
    print_values();
    print_commands();
    puts("    if [[ $word == -* ]]; then\n"
         "        COMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n"
         "        return\n"
         "    fi");
    fputs("    local words=''\n    [[ $COMP_CWORD == 1 ]] && words='help", stdout);
    for (const struct command *command = commands; command->name; command++)
        printf(" %s", command->name);
    puts(
        "'\n"
        "    case $command in\n"
        "    help) words=$(simrun completion words) ;;\n"
        "    explain) words=$(simrun explain | sed -n 's/^\\([A-Z][0-9]*\\) .*/\\1/p') ;;\n"
        "    show) words='findings gradients ops ranks metrics' ;;\n"
        "    db) words='info migrate gc unpack' ;;\n"
        "    completion) words=bash ;;\n"
        "    check | log | query | diff | replay | graph | report | export | import | mutants | "
        "doctor) "
        ";;\n"
        "    *) words+=\" $(simrun list 2>/dev/null | sed -n 's/^\\([a-z][^ ]*\\) .*/\\1/p')\" ;;\n"
        "    esac\n"
        "    compopt -o filenames\n"
        "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\"; compgen -f -- "
        "\"$word\")\n"
        "}\n"
        "complete -F _simrun simrun");
    return EXIT_PASSED;
}

int command_completion(int argc, char **argv)
{
    struct command_words words = {.least = 1, .most = 1};
    int status = command_parse("completion", NULL, argc, argv, &words);
    if (status >= 0)
        return status;
    if (!strcmp(words.words[0], "bash"))
        return bash();
    if (!strcmp(words.words[0], "words")) {
        for (const struct command *command = commands; command->name; command++)
            puts(command->name);
        return EXIT_PASSED;
    }
    fprintf(stderr, "simrun completion: no shell '%s'; there is: bash\n", words.words[0]);
    return EXIT_USAGE;
}

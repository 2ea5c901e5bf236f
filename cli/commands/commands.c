/* The table of commands. */
#include "cli/command.h"
#include "cli/options/run_options.h"
#include "cli/options/show_options.h"

#include <stddef.h>

const struct command commands[] = {
    {"run", "[run] [options] SCENARIO [arguments]",
     "run a program, check its gradients and its order (the default)", command_run, run_option_rows,
     "SCENARIO is a name of 'simrun list', a C source or an object that simcc made. Options stand "
     "before it; everything after it is the program's. Every failure names the command that "
     "replays it and the one that draws it.\n"},
    {"prove", "prove [-n LIST] [--budget 60s] [options] PROGRAM",
     "everything at once, one verdict: models, matches, gradients", command_prove,
     prove_option_rows,
     "simrun runs the program as 'simrun run' does, and then under every progress model and with "
     "collectives that synchronise. After that it explores matches, probes and completions. "
     "PROVEN means that nothing was left out. PASS is followed by what was left out. FAIL tells "
     "each defect once: its cause first, then the models that show it. --budget bounds the time "
     "for each number of ranks.\n"},
    {"list", "list [PATTERN]", "the scenarios of the catalogue", command_list, NULL,
     "With purpose, variants and expected findings; only those whose name or purpose contains "
     "PATTERN.\n"},
    {"check", "check [options] FILE...", "judge trace, schedule and dump files ('-': stdin)",
     command_check, check_option_rows,
     "The content of a file tells its format. simrun looks for dangers under every progress "
     "model.\n"},
    {"show", "show [RUN] [findings|gradients|ops|ranks|metrics]",
     "a stored run: its verdict, or a part of it", command_show, show_option_rows,
     "RUN is a number of 'simrun log' (default: the newest run).\n"},
    {"log", "log [-n N]", "the stored runs, newest first", command_log, log_option_rows, NULL},
    {"query", "query 'SQL'", "ask the database of results (read-only)", command_query,
     query_option_rows,
     "  simrun query 'select * from v_runs'\n"
     "  simrun query 'select op, count(*) from v_ops where run_id=1 group by op'\n"
     "simrun-db(5) describes tables and views.\n"},
    {"diff", "diff RUN RUN", "what changed from one run to another", command_diff, diff_option_rows,
     "Each finding is new, fixed or the same, by its fingerprint. The exit status is 1 if one is "
     "new.\n"},
    {"replay", "replay [RUN] [--witness F]", "the same run again, or a finding's witness",
     command_replay, replay_option_rows,
     "simrun says whether the trace is the same. The exit status is that of the run, or 1 if the "
     "trace differs. Of a witness it is 1 if the run shows what the finding says.\n"},
    {"graph", "graph [RUN] [options]", "draw a run, or one finding of it", command_graph,
     graph_option_rows, NULL},
    {"report", "report [RUN...] [-o FILE]", "an HTML page of one or more runs", command_report,
     report_option_rows, NULL},
    {"export", "export [RUN|FILE] [options]", "write a stored run or a trace file in a format",
     command_export, export_option_rows,
     "Formats: see docs/formats.md; an unknown --format lists them.\n"},
    {"import", "import FILE...", "keep trace files in the database", command_import,
     import_option_rows, "The traces are judged at once: see 'simrun show findings'.\n"},
    {"db", "db info|migrate|gc|unpack [RUN]",
     "look at the database, bring it up to date, make room", command_db, db_option_rows,
     "The operations of a run with more than 100000 of them lie in compressed pages: every command "
     "reads them, but no SELECT. unpack makes rows of them: of RUN's, or of the newest run's.\n"},
    {"explore", "explore [--runs MOST] [options] SCENARIO",
     "every relevant interleaving of a program", command_explore, explore_option_rows,
     "Every wildcard receive and probe takes each possible sender, Waitany each of its requests, a "
     "lock of a window each rank that waits for it, a backward pass each of its ready nodes. Runs "
     "that differ in no such choice count as one. The "
     "verdict says 'complete' only when nothing is left, else the bound: --runs MOST (a million; "
     "0: "
     "none) or --timeout. Each way to fail, and one run of each result, is run once more, judged "
     "like any run and printed with the command that makes the same choices. A rank's error, or "
     "different results (R003), is a failure. --send all explores under each progress model."},
    {"explain", "explain [CODE...]", "what a finding's code means", command_explain, NULL, NULL},
    {"mutants", "mutants", "known wrong adjoints, and what notices each", command_mutants, NULL,
     NULL},
    {"catalogue", "catalogue [-v] [-t] [PATTERN]",
     "run the catalogue and assert its verdicts (TAP)", command_catalogue, catalogue_option_rows,
     NULL},
    {"alone", "alone PROGRAM [arguments]", "a program as one rank, without a verdict",
     command_alone, NULL,
     "A program that simcc built does the same when it is started by itself. Nothing is "
     "recorded. The exit status is the program's.\n"},
    {"doctor", "doctor [--unsupported]", "whether this machine has what simrun needs",
     command_doctor, doctor_option_rows, NULL},
    {"completion", "completion bash", "a completion script on stdout", command_completion, NULL,
     "  simrun completion bash >~/.local/share/bash-completion/completions/simrun\n"},
    {NULL, NULL, NULL, NULL, NULL, NULL},
};

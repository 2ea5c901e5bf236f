/* simrun replay: a stored run once more, or the witness of one of its findings.
 *
 * A run is deterministic: the same program, options and seed give the same trace, so a different
 * hash means that the program, or something it reads, has changed. A witness is a schedule; it is
 * executed on the abstract machine of checker/witness.h. */
#include "checker/witness.h"

#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/keep.h"
#include "cli/present.h"
#include "cli/shell_words.h"
#include "cli/show_options.h"
#include "cli/stored.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *const outcomes[] = {
    [WITNESS_COMPLETES] = "the schedule completes: nothing goes wrong",
    [WITNESS_STUCK] = "the schedule stands still",
    [WITNESS_CROSSES] = "operations meet that did not meet in the recorded run"};

static int replay_witness(const struct show_options *options, const struct stored *stored,
                          struct failure *failure)
{
    const struct trace *trace = stored->result.verdict.result.trace;
    struct check_witness witness;
    struct present present;
    int index;
    char *text = NULL;
    if (!stored_finding(stored, options->finding, &index, failure))
        return command_fail("replay", failure);
    const struct finding *finding = &stored->result.verdict.findings.items[index];
    if (!finding->witness) {
        failure_set(failure, FAILURE_NOTHING,
                    "finding %d (%s) has no witness; 'simrun replay %lld' repeats the run",
                    index + 1, finding->code, (long long)stored->result.run);
        return command_fail("replay", failure);
    }
    if (check_witness_parse(finding->witness, trace, &witness, failure))
        return command_fail("replay", failure);
    enum witness_outcome outcome = check_witness_replay(trace, &witness, &text);
    present_init(&present, stdout, NULL);
    char line[700];
    snprintf(line, sizeof line, "%s %s\nwitness of finding %d, %s model: %s", finding->code,
             finding->title, index + 1, check_model_name(witness.model), outcomes[outcome]);
    char *head = present_short(line);
    present_wrapped(&present, 0, head);
    free(head);
    char *shown = present_short(text);
    present_wrapped(&present, 2, shown);
    free(shown);
    if (options->verbose)
        printf("\n%s", finding->witness);
    free(text);
    check_witness_release(&witness);
    return outcome == WITNESS_COMPLETES ? EXIT_PASSED : EXIT_FINDINGS;
}

/* Runs the words of a stored command line; -1: they are no run's. */
static int run_again(int argc, char **argv, const struct show_options *show,
                     const struct stored *stored, uint64_t *hash, struct failure *failure)
{
    struct run_options options;
    struct results results;
    struct store *store = NULL;
    struct job job;
    int ranks[64], count;
    run_options_init(&options);
    int at = options_parse("replay", run_option_rows, &options, argc, argv);
    if (at < 0 || at >= argc || options.rank_count != 1) {
        failure_set(failure, FAILURE_INPUT, "run %lld does not say what was run: '%s'",
                    (long long)stored->result.run, stored->result.command);
        return command_fail("replay", failure);
    }
    options.database = show->database;
    if (!session_prepare(argv[at], argc - at, argv + at, &options, &job, ranks, 64, &count,
                         failure) ||
        !keep_open(options.database, &store, failure))
        return command_fail("replay", failure);
    interrupt_install();
    job.world.ranks = options.ranks[0];
    results_begin(&results, &options, 1);
    results.store = store;
    results.parent = stored->result.run;
    results.keep_traces = true;
    if (results_run(&results, &job) && results.items[0].verdict.result.trace)
        *hash = trace_hash(results.items[0].verdict.result.trace);
    return results_end(&results);
}

static int replay_run(const struct show_options *options, const struct stored *stored,
                      struct failure *failure)
{
    char line[RESULT_COMMAND], before[24], after[24], *words[COMMAND_WORDS];
    uint64_t hash = 0;
    snprintf(line, sizeof line, "%s", stored->result.command);
    int count = stored->result.file ? -1 : shell_words_split(line, words, COMMAND_WORDS);
    if (count < 2) {
        failure_set(failure, FAILURE_INPUT, "run %lld came from a file; 'simrun check' judges it",
                    (long long)stored->result.run);
        return command_fail("replay", failure);
    }
    int status = run_again(count, words, options, stored, &hash, failure);
    if (!hash)
        return status;
    snprintf(before, sizeof before, "%.23s", stored->hash);
    snprintf(after, sizeof after, "%016" PRIx64, hash);
    bool same = !strcmp(before, after);
    if (same)
        printf("replay of run %lld: the same trace (%s)\n", (long long)stored->result.run, after);
    else
        printf("replay of run %lld: a DIFFERENT trace (%s, was %s): the program, what it\n"
               "reads or simrun itself has changed since\n",
               (long long)stored->result.run, after, before);
    return same ? status : command_worse(status, EXIT_FINDINGS);
}

int command_replay(int argc, char **argv)
{
    struct show_options options;
    struct stored stored;
    struct command_words words = {.most = 1};
    struct failure failure = {0};
    show_options_init(&options);
    int status = command_parse("replay", &options, argc, argv, &words);
    if (status >= 0)
        return status;
    if (!stored_open(&stored, options.database, words.count ? words.words[0] : NULL, &failure))
        status = command_fail("replay", &failure);
    else
        status = options.finding ? replay_witness(&options, &stored, &failure)
                                 : replay_run(&options, &stored, &failure);
    stored_release(&stored);
    return status;
}

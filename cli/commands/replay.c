/* simrun replay: a stored run once more, or the witness of one of its findings.
 *
 * A run is deterministic: the same program, options and seed give the same trace, so a different
 * hash means that the program, or something it reads, has changed. A witness is a schedule; it is
 * executed on the abstract machine of checker/replay/witness.h, and by running the program under
 * it. */
#include "checker/replay/witness.h"

#include "cli/command.h"
#include "cli/options/shell_words.h"
#include "cli/options/show_options.h"
#include "cli/processes/interrupt.h"
#include "cli/running/confirm.h"
#include "cli/telling/present.h"
#include "cli/telling/results.h"
#include "cli/telling/run_store_load.h"
#include "cli/telling/run_store_write.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { WITNESS_MAX = 1 << 26 };

static const char *const outcomes[] = {
    [WITNESS_COMPLETES] = "the schedule completes: nothing goes wrong",
    [WITNESS_STUCK] = "the schedule stands still",
    [WITNESS_CROSSES] = "operations meet that did not meet in the recorded run"};

/* What is longer is kept as far as there is room: no command to run again. */
static bool is_cut(const struct stored *stored)
{
    return strlen(stored->result.command) >= RESULT_COMMAND - 1;
}

/* The job of a stored command line; false: it came from a file, or does not say what was run. */
static bool job_of(const struct stored *stored, char *line, size_t size, struct job *job,
                   struct run_options *options, struct failure *failure)
{
    static char *words[COMMAND_WORDS];
    int ranks[64], count;
    snprintf(line, size, "%s", stored->result.command);
    int words_count =
        stored->result.file || is_cut(stored) ? -1 : shell_words_split(line, words, COMMAND_WORDS);
    run_options_init(options);
    int at = words_count < 2
                 ? -1
                 : options_parse("replay", run_option_rows, options, words_count, words);
    if (at < 0 || at >= words_count || options->rank_count != 1 ||
        !session_prepare(words[at], words_count - at, words + at, options, job, ranks, 64, &count,
                         failure))
        return false;
    return session_ranks(job, options, options->ranks[0], failure);
}

/* The witness once more, by running the program. */
static void replay_for_real(const struct stored *stored, const struct finding *finding,
                            const struct present *present)
{
    char command[RESULT_COMMAND], line[1200];
    struct run_options options;
    struct job job;
    struct failure failure = {0};
    char *seen = NULL;
    if (!job_of(stored, command, sizeof command, &job, &options, &failure)) {
        snprintf(line, sizeof line, "confirmed on the trace only: %s",
                 failure.text[0] ? failure.text : "there is no program to run");
    } else if (confirm_finding(&job, stored->result.verdict.result.trace, finding, &seen)) {
        snprintf(line, sizeof line, "a real run of the witness: %s: the verdict was reached", seen);
    } else {
        snprintf(
            line, sizeof line,
            "a real run of the witness did not reach the verdict: confirmed on the trace only");
    }
    char *shown = present_short(line);
    present_wrapped(present, 0, shown);
    free(shown);
    free(seen);
}

/* A witness from a file instead of a finding's own. */
static char *read_witness(const char *path, struct failure *failure)
{
    char *text = NULL;
    size_t size = 0, room = 0;
    FILE *file = fopen(path, "re");
    if (!file) {
        failure_set(failure, FAILURE_INPUT,
                    "--witness '%s': neither the number of a finding nor a file that can be read",
                    path);
        return NULL;
    }
    for (int c; (c = getc(file)) != EOF && size < WITNESS_MAX;) {
        if (size + 2 > room) {
            room = room ? room * 2 : 1024;
            text = realloc(text, room);
            if (!text)
                abort();
        }
        text[size++] = (char)c;
        text[size] = '\0';
    }
    fclose(file);
    if (!text)
        failure_set(failure, FAILURE_INPUT, "%s: empty: a witness begins with 'simrun-witness 1'",
                    path);
    return text;
}

/* What is to be replayed: a finding of the run, or for a file a finding made of it (`own`). */
static const struct finding *finding_of(const struct show_options *options,
                                        const struct stored *stored, struct finding *own,
                                        struct failure *failure)
{
    const struct findings *findings = &stored->result.verdict.findings;
    struct check_witness witness;
    int index;
    if (stored_is_number(options->finding))
        return stored_finding(stored, options->finding, &index, failure) ? &findings->items[index]
                                                                         : NULL;
    *own = (struct finding){.witness = read_witness(options->finding, failure), .site = TRACE_NO};
    if (!own->witness ||
        check_witness_parse(own->witness, stored->result.verdict.result.trace, &witness, failure))
        return NULL;
    memcpy(own->code, witness.code, sizeof own->code);
    check_witness_release(&witness);
    /* Where it is that of a finding of the run, what that finding names is looked for. */
    for (size_t i = 0; i < findings->count; i++)
        if (findings->items[i].witness && !strcmp(findings->items[i].code, own->code)) {
            own->title = findings->items[i].title;
            own->ops = findings->items[i].ops;
            own->op_count = findings->items[i].op_count;
            break;
        }
    return own;
}

static int replay_witness(const struct show_options *options, const struct stored *stored,
                          struct failure *failure)
{
    const struct trace *trace = stored->result.verdict.result.trace;
    struct check_witness witness;
    struct present present;
    struct finding own = {.witness = NULL};
    char *text = NULL;
    const struct finding *finding = finding_of(options, stored, &own, failure);
    if (finding && !finding->witness)
        failure_set(failure, FAILURE_NOTHING,
                    "finding %s (%s) has no witness; 'simrun replay %lld' repeats the run",
                    options->finding, finding->code, (long long)stored->result.run);
    if (!finding || failure->code) {
        free(own.witness);
        return command_fail("replay", failure);
    }
    if (check_witness_parse(finding->witness, trace, &witness, failure))
        return command_fail("replay", failure);
    enum witness_outcome outcome = check_witness_replay(trace, &witness, &text);
    present_init(&present, stdout, NULL);
    char line[700];
    snprintf(line, sizeof line, "%s %s\nwitness of %s%s, %s model: %s", finding->code,
             finding->title ? finding->title : "", own.witness ? "" : "finding ", options->finding,
             check_model_name(witness.model), outcomes[outcome]);
    char *head = present_short(line);
    present_wrapped(&present, 0, head);
    free(head);
    char *shown = present_short(text);
    present_wrapped(&present, 2, shown);
    free(shown);
    replay_for_real(stored, finding, &present);
    if (options->verbose)
        printf("\n%s", finding->witness);
    free(text);
    free(own.witness);
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
    /* A stored command line may be a stranger's: it says what runs, not which files are written. */
    options.html = options.junit = options.dot = options.chrome = options.sarif = NULL;
    options.github = false;
    if (!session_prepare(argv[at], argc - at, argv + at, &options, &job, ranks, 64, &count,
                         failure) ||
        !session_ranks(&job, &options, options.ranks[0], failure) ||
        !keep_open(options.database, &store, failure))
        return command_fail("replay", failure);
    interrupt_install();
    snprintf(job.name, sizeof job.name, "%s", stored->result.job.name);
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
    if (stored->result.file) {
        failure_set(failure, FAILURE_INPUT, "run %lld came from a file; 'simrun check' judges it",
                    (long long)stored->result.run);
        return command_fail("replay", failure);
    }
    if (count < 2 || is_cut(stored)) {
        failure_set(failure, FAILURE_INPUT,
                    "run %lld: its command line was too long to be kept (%d bytes, %d words)",
                    (long long)stored->result.run, RESULT_COMMAND - 2, COMMAND_WORDS - 1);
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
    return same ? status : exit_status_worse(status, EXIT_FINDINGS);
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

/* Small traces in the store, quickly: each one of tests/golden/traces comes out of rows and out of
 * pages as it went in, with its findings; what is said of runs is what was said of them; artifacts
 * have their bytes back. test_store.c asks what happens to the writer and the file. */
#include "checker/check.h"
#include "tests/folder.h"
#include "tests/formats/format_samples.h"
#include "tests/traces/store_files.h"

#include <sys/stat.h>
#include <unistd.h>

enum { FILES_MAX = 200, BYTES_MAX = 20000, RUNS = 6 };

static char data[BYTES_MAX];

static struct trace *load_file(const char *name)
{
    struct failure failure = {0};
    char path[400];
    snprintf(path, sizeof path, "tests/golden/traces/%.300s", name);
    FILE *in = fopen(path, "r");
    size_t size = in ? fread(data, 1, sizeof data, in) : 0;
    if (in)
        fclose(in);
    return size && size < sizeof data ? format_read_memory(name, data, size, &failure) : NULL;
}

/* All that a file says of the trace, with places as words: numbers of sites are the file's own, and
 * strings that nothing names are not stored. Free it. */
static char *told(const struct trace *trace)
{
    char *text = NULL, place[TRACE_SITE_TEXT];
    size_t size, written;
    char *lines = sample_write(trace, "jsonl", &written);
    FILE *out = open_memstream(&text, &size);
    for (char *line = strtok(lines, "\n"); line; line = strtok(NULL, "\n")) {
        char *site = strstr(line, "\"site\":");
        if (site == line + 1 || !strncmp(line, "{\"strings\"", 10))
            continue;
        size_t digits = site ? strspn(site + 7, "0123456789") : 0;
        if (site)
            memmove(site + 7, site + 7 + digits, strlen(site + 7 + digits) + 1);
        fprintf(out, "%s\n", line);
    }
    for (uint32_t op = 0; op < trace->op_count; op++)
        fprintf(out, "%s\n", trace_at_text(trace, trace->ops[op].form->site, place, sizeof place));
    for (uint32_t rank = 0; rank < trace->ranks; rank++)
        fprintf(out, "%s\n",
                trace_at_text(trace, trace->rank_info[rank].site, place, sizeof place));
    for (size_t note = 0; note < trace->note_count; note++)
        fprintf(out, "%s\n", trace_at_text(trace, trace->notes[note].site, place, sizeof place));
    for (size_t node = 0; node < trace->node_count; node++)
        fprintf(out, "%s\n", trace_at_text(trace, trace->nodes[node].site, place, sizeof place));
    fclose(out);
    free(lines);
    return text;
}

static bool same_findings(const struct findings *a, const struct findings *b)
{
    bool same = a->count == b->count && a->folded == b->folded;
    for (size_t i = 0; same && i < a->count + a->folded; i++) {
        const struct finding *one = &a->items[i], *other = &b->items[i];
        same = !strcmp(one->code, other->code) && same_text(one->title, other->title) &&
               same_text(one->detail, other->detail) && !strcmp(one->models, other->models) &&
               !strcmp(one->fingerprint, other->fingerprint) && one->op_count == other->op_count;
        for (size_t k = 0; same && k < one->op_count; k++)
            same = one->ops[k].op == other->ops[k].op && one->ops[k].node == other->ops[k].node &&
                   !strcmp(one->ops[k].role, other->ops[k].role);
    }
    return same;
}

static const char *stored_otherwise(struct store *store, const struct trace *trace,
                                    const struct findings *findings, struct failure *failure)
{
    const struct store_run about = {.scenario = trace->program,
                                    .ranks = trace->ranks,
                                    .seed = trace->seed,
                                    .schedule = "",
                                    .argv = ""};
    const struct store_result result = {.outcome = "pass", .trace = trace, .findings = findings};
    int64_t run = store_run_begin(store, &about, failure);
    if (!run || store_run_finish(store, run, &result, failure))
        return failure->text;
    struct trace *again = store_load_trace(store, run, failure);
    char *now = again ? told(again) : NULL, *then = told(trace);
    const char *different = !again ? failure->text : strcmp(now, then) ? "the rows" : NULL;
    free(now);
    free(then);
    if (again && !different && trace_hash(again) != trace_hash(trace))
        different = "the hash";
    struct findings known;
    findings_init(&known);
    if (again && !different &&
        (store_load_findings(store, run, again, &known, failure) ||
         !same_findings(&known, findings)))
        different = "the findings";
    findings_release(&known);
    trace_free(again);
    return different;
}

static void traces_are_kept(struct store *store)
{
    char *names[FILES_MAX];
    unsigned tried = 0, other[2] = {0, 0};
    size_t count = folder_list("tests/golden/traces", ".jsonl", names, FILES_MAX);
    for (size_t i = 0; i < count; i++) {
        struct trace *trace = dice_takes(i) ? load_file(names[i]) : NULL;
        struct check_options options;
        struct findings findings;
        check_options_init(&options);
        findings_init(&findings);
        if (trace)
            check_trace(trace, &options, &findings);
        for (int pages = 0; trace && pages < 2; pages++) {
            struct failure failure = {0};
            store_keep_rows(store, pages ? 0 : STORE_ROWS_MOST);
            const char *different = stored_otherwise(store, trace, &findings, &failure);
            if (different && !other[pages]++)
                tap_note("%s, %s: %s", names[i], pages ? "pages" : "rows", different);
            tried++;
        }
        findings_release(&findings);
        trace_free(trace);
        free(names[i]);
    }
    tap_ok(tried > 60 || dice_part().of > 1, "%u small traces are stored", tried);
    tap_is_int(other[0], 0, "each comes out of rows as it went in, with its findings");
    tap_is_int(other[1], 0, "and out of pages");
    tap_ok(number(store, "SELECT count(*) FROM pages") > 0, "of which there are some");
    struct failure failure = {0};
    tap_is_int(store_verify(store, &failure), 0, "the file is whole: %s", failure.text);
}

/* ---- what is said of runs ---- */

static const struct {
    struct store_run run;
    const char *outcome;
    int exit_code;
} runs[RUNS] = {
    {{"a", "one", "{\"n\":1}", 1, 7, "default", "simrun a", "1", NULL, NULL, 0}, "pass", 0},
    {{"a", NULL, NULL, 2, UINT64_MAX, "seed", "simrun -n 2 a", "1", NULL, NULL, 0}, "fail", 1},
    {{"b", "it's", "{}", 3, 0, "recorded", "simrun b", "2", "cc", "-O2", 1}, "error", 5},
    {{"c", "", NULL, 5, 1, "seed", "", "2", NULL, NULL, 2}, "timeout", 124},
    {{"d", NULL, NULL, 8, 2, "default", "x y", NULL, NULL, NULL, 0}, "pass", 77},
    {{"e", NULL, NULL, 1 << 20, 3, "default", "z", NULL, NULL, NULL, 0}, NULL, 0}};

struct seen {
    unsigned rows, stop_after;
    int64_t ids[RUNS + 1];
    int wrong;
    int64_t first; /* id of runs[0] */
    uint64_t hash;
};

static bool see(void *context, const struct store_run_row *row)
{
    struct seen *seen = context;
    int64_t at = row->run - seen->first;
    seen->ids[seen->rows++ % (RUNS + 1)] = row->run;
    if (at < 0 || at >= RUNS) {
        seen->wrong++;
        return true;
    }
    const struct store_run *run = &runs[at].run;
    char hash[20];
    snprintf(hash, sizeof hash, "%016llx", (unsigned long long)seen->hash);
    seen->wrong += !same_text(row->scenario, run->scenario) +
                   !same_text(row->variant, run->variant ? run->variant : "") +
                   !same_text(row->params, run->params ? run->params : "{}") +
                   !same_text(row->argv, run->argv) + !same_text(row->schedule, run->schedule) +
                   !same_text(row->outcome, runs[at].outcome ? runs[at].outcome : "running") +
                   !same_text(row->trace_hash, at == 1 ? hash : "");
    seen->wrong += (row->ranks != run->ranks) + (row->seed != run->seed) +
                   (row->exit_code != runs[at].exit_code) + (row->errors != (at == 1)) +
                   !(row->milliseconds >= 0) + (strlen(row->started) != 19);
    return seen->rows != seen->stop_after;
}

static void runs_are_told(void)
{
    struct failure failure = {0};
    struct store *store = store_open(file("runs.db"), STORE_WRITE, &failure);
    struct trace *trace = load_file("wildcard-hang.jsonl");
    struct findings findings;
    struct seen seen = {0};
    findings_init(&findings);
    findings_add(&findings, "D001", "an error");
    findings_add(&findings, "D001", "an error that is allowed")->allowed = true;
    findings_add(&findings, "N001", "a note");
    seen.hash = trace ? trace_hash(trace) : 0;
    for (size_t i = 0; store && i < RUNS; i++) {
        struct store_result result = {.outcome = runs[i].outcome, .exit_code = runs[i].exit_code};
        int64_t id = store_run_begin(store, &runs[i].run, &failure);
        seen.first = i ? seen.first : id;
        if (i == 1) {
            result.trace = trace;
            result.findings = &findings;
        }
        tap_ok(id == seen.first + (int64_t)i && store_run_last(store, &failure) == id,
               "run %zu has the next number", i);
        if (runs[i].outcome)
            tap_is_int(store_run_finish(store, id, &result, &failure), 0, "and ends");
    }
    tap_ok(!store_runs(store, see, &seen, &failure) && seen.rows == RUNS, "all are told: %s",
           failure.text);
    for (int64_t i = 0; i < RUNS; i++)
        tap_is_int(seen.ids[i], seen.first + RUNS - 1 - i, "the newest first");
    tap_is_int(seen.wrong, 0, "as they were");
    seen.rows = 0;
    seen.stop_after = 2;
    tap_ok(!store_runs(store, see, &seen, &failure) && seen.rows == 2, "so many as are wanted");
    seen.rows = seen.stop_after = 0;
    tap_ok(!store_run_get(store, seen.first + 1, see, &seen, &failure) && seen.rows == 1 &&
               seen.ids[0] == seen.first + 1,
           "and one alone");
    tap_is_int(seen.wrong, 0, "as it was");
    int code = store_run_get(store, seen.first + RUNS, see, &seen, &failure);
    tap_ok(code == FAILURE_NOTHING && seen.rows == 1 && strstr(failure.text, "no run "),
           "one that is not there is not told: %s", failure.text);
    findings_release(&findings);
    trace_free(trace);
    store_close(store);
}

static void artifacts_are_kept(struct store *store)
{
    static const size_t sizes[] = {0, 1, 2, 4096, 70000};
    struct failure failure = {0};
    int64_t run = store_run_last(store, &failure);
    uint64_t state = 1;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char name[20];
        unsigned char *bytes = malloc(sizes[i] + 1);
        void *again = NULL;
        size_t size = 77;
        for (size_t k = 0; k < sizes[i]; k++)
            bytes[k] = (unsigned char)dice_next(&state);
        snprintf(name, sizeof name, "part %zu", i);
        tap_is_int(store_artifact_put(store, run, name, "x/y", bytes, sizes[i], &failure), 0,
                   "%zu bytes are kept", sizes[i]);
        tap_ok(!store_artifact_get(store, run, name, &again, &size, &failure) && size == sizes[i] &&
                   again && memcmp(again, bytes, size) == 0,
               "and come back");
        free(again);
        again = bytes;
        failure = (struct failure){0};
        int code = store_artifact_get(store, run - 1, name, &again, &size, &failure);
        tap_ok(code == FAILURE_NOTHING && !again && !size && failure.code == code &&
                   strstr(failure.text, name),
               "another run has none: %s", failure.text);
        tap_is_int(store_artifact_get(store, run - 1, name, &again, &size, NULL), code,
                   "nobody need ask why");
        free(bytes);
    }
}

/* A database whose table is gone has no last run, and says so. */
static void no_runs_are_told(void)
{
    struct failure failure = {0};
    struct store *store = store_open(file("none.db"), STORE_WRITE, &failure);
    tap_ok(store && store_run_last(store, &failure) == 0 && !failure.code,
           "a new database has no last run");
    sqlite3_exec(store_handle(store), "PRAGMA foreign_keys=OFF; DROP TABLE runs", NULL, NULL, NULL);
    tap_ok(store_run_last(store, &failure) == 0 && failure.code == FAILURE_INTERNAL &&
               strstr(failure.text, "no such table"),
           "one without its table has none either: %s", failure.text);
    store_close(store);
}

/* ---- files that go while they are open ---- */

enum loss { STAYS, REMOVED, MOVED, ITS_FOLDERS, REPLACED, SHUT_OUT, LOSSES };

static bool put_text(const char *path)
{
    FILE *out = fopen(path, "w");
    return out && fputs("mine", out) >= 0 && fclose(out) == 0;
}

/* The file and its folders deep in `folder`; those that are there. */
static void clear(void)
{
    static const char *const names[] = {"a/b/c/lost.db", "a/b/c/lost.db-wal", "a/b/c/lost.db-shm",
                                        "a/b/c/lost.db-journal", "moved.db"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unlink(file(names[i]));
    rmdir(file("a/b/c"));
    rmdir(file("a/b"));
    rmdir(file("a"));
}

static void lose(enum loss loss, const char *path)
{
    if (loss == MOVED)
        rename(path, file("moved.db"));
    else if (loss != STAYS)
        unlink(path);
    if (loss == ITS_FOLDERS || loss == SHUT_OUT)
        clear();
    if (loss == SHUT_OUT) /* something else stands where a folder was */
        put_text(file("a"));
    if (loss == REPLACED)
        put_text(path);
}

static int64_t runs_in(const char *path)
{
    struct failure failure = {0};
    struct store *store = store_open(path, STORE_READ, &failure);
    int64_t count = store ? number(store, "SELECT count(*) FROM runs") : -1;
    store_close(store);
    return count;
}

/* The runs that were in the file and those that follow are in one at the same path; beside it, where somebody else's stands there now. */
static void files_are_made_anew(void)
{
    static const char *const names[] = {"stays",       "is removed",
                                        "is moved",    "goes with its folders",
                                        "is replaced", "cannot be made"};
    for (int loss = 0; loss < LOSSES; loss++) {
        const struct store_run run = {.scenario = "x", .ranks = 1};
        struct failure failure = {0};
        char path[128], beside[200];
        mkdir(file("a"), 0777);
        mkdir(file("a/b"), 0777);
        mkdir(file("a/b/c"), 0777);
        snprintf(path, sizeof path, "%s", file("a/b/c/lost.db"));
        snprintf(beside, sizeof beside, "%s.rescued-%ld", path, (long)getpid());
        struct store *store = store_open(path, STORE_WRITE, &failure);
        bool good = store && store_run_begin(store, &run, &failure);
        lose((enum loss)loss, path);
        if (loss == SHUT_OUT) {
            good = good && !store_run_begin(store, &run, &failure) &&
                   strstr(failure.text, "could not be made anew");
            unlink(file("a"));
        }
        good = good && store_run_begin(store, &run, &failure);
        const char *told = store ? store_rescued(store) : NULL;
        good = good && (loss == STAYS ? told == NULL
                                      : told && strstr(told, loss == REPLACED ? beside : "anew"));
        store_close(store);
        tap_ok(good, "a file that %s: %s", names[loss], failure.text);
        tap_is_int(runs_in(loss == REPLACED ? beside : path), 2, "both runs are in one file");
        if (loss == REPLACED)
            tap_is_int(runs_in(path), -1, "what stands there now stays");
        unlink(beside);
        clear();
    }
}

int main(void)
{
    struct failure failure = {0};
    snprintf(folder, sizeof folder, "/tmp/simrun-small.XXXXXX");
    if (!tap_ok(mkdtemp(folder) != NULL, "a folder for databases is made"))
        return tap_done();
    struct store *store = store_open(file("small.db"), STORE_WRITE, &failure);
    if (!tap_ok(store != NULL, "a database is made: %s", failure.text))
        return tap_done();
    sqlite3_exec(store_handle(store), "PRAGMA synchronous=OFF", NULL, NULL, NULL);
    traces_are_kept(store);
    artifacts_are_kept(store);
    store_close(store);
    runs_are_told();
    no_runs_are_told();
    files_are_made_anew();
    static const char *const names[] = {"small.db", "runs.db", "none.db"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unlink(file(names[i]));
    rmdir(folder);
    return tap_done();
}

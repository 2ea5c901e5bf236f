/* What stands in the database of recordings (tests/golden/traces, tests/examination/order) and of small changes of them, with all that
 * was found in them, is what stood there when somebody looked: every column that is the same twice, in rows and in pages. What is read
 * back is what was stored. tests/golden/stored.tsv */
#include "checker/check.h"
#include "tests/fences/fence.h"
#include "tests/folder.h"
#include "tests/golden_changes.h"
#include "tests/golden_trace.h"
#include "tests/traces/store_files.h"
#include "traces/formats/format.h"

#include <unistd.h>

enum { FILES_MAX = 100, CHANGED = 2 };

static const char *const folders[] = {"golden/traces", "examination/order"};

/* Of one run, ?1. Left out: what is random or of the clock and the machine. */
static const char *const selects[] = {
    "SELECT "
    "run_id,parent_run_id,scenario,variant,params,ranks,seed,schedule,argv,outcome,exit_code,ended,"
    "model,trace_hash,objective,"
    "first_op_id,op_count,first_node_id,node_count,word FROM runs WHERE run_id=?1",
    "SELECT * FROM ranks WHERE run_id=?1",
    "SELECT * FROM comms WHERE run_id=?1",
    "SELECT * FROM ops WHERE run_id=?1 ORDER BY op_id",
    "SELECT * FROM waits WHERE run_id=?1",
    "SELECT * FROM counts WHERE run_id=?1",
    "SELECT * FROM nodes WHERE run_id=?1 ORDER BY node_id",
    "SELECT * FROM edges WHERE run_id=?1",
    "SELECT * FROM passes WHERE run_id=?1",
    "SELECT * FROM events WHERE run_id=?1 ORDER BY event_id",
    "SELECT * FROM matches WHERE run_id=?1",
    "SELECT * FROM notes WHERE run_id=?1",
    "SELECT * FROM findings WHERE run_id=?1 ORDER BY finding_id",
    ("SELECT o.* FROM finding_ops o JOIN findings USING(finding_id) WHERE run_id=?1 "
     "ORDER BY o.finding_id,o.ord"),
    "SELECT * FROM gradients WHERE run_id=?1 ORDER BY grad_id",
    "SELECT * FROM metrics WHERE run_id=?1",
    "SELECT * FROM coverage WHERE run_id=?1",
    "SELECT * FROM folds WHERE run_id=?1",
    "SELECT run_id,content,first,count FROM pages WHERE run_id=?1 ORDER BY content,first",
    "SELECT * FROM v_ops WHERE run_id=?1 ORDER BY op_id",
    "SELECT * FROM v_nodes WHERE run_id=?1 ORDER BY node_id",
    "SELECT * FROM v_matches WHERE run_id=?1 ORDER BY sender,send_seq",
    "SELECT * FROM v_findings WHERE run_id=?1 ORDER BY fingerprint,title",
    "SELECT * FROM v_consequences WHERE run_id=?1 ORDER BY fingerprint,title",
};
static const char *const whole_selects[] = {
    "SELECT * FROM strings ORDER BY id", "SELECT * FROM sites ORDER BY site_id",
    "SELECT * FROM op_kinds ORDER BY kind", "SELECT name,sql FROM sqlite_schema ORDER BY name",
    "SELECT count(*),min(run_id),max(run_id) FROM runs"};

static char data[CHANGES_SIZE], changed[CHANGES_SIZE], rows_ahead[4096];
static struct changes_text text;
static unsigned stored, other_trace, other_findings, unpacked_otherwise;

static uint64_t mix_select(uint64_t hash, struct store *store, const char *sql, int64_t run)
{
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(store_handle(store), sql, -1, &statement, NULL) != SQLITE_OK) {
        tap_ok(false, "%s: %s", sql, sqlite3_errmsg(store_handle(store)));
        return hash;
    }
    sqlite3_bind_int64(statement, 1, run);
    while (sqlite3_step(statement) == SQLITE_ROW)
        for (int i = 0; i < sqlite3_column_count(statement); i++) {
            hash = golden_mix(hash, (uint64_t)sqlite3_column_type(statement, i));
            hash = golden_mix_text(hash, (const char *)sqlite3_column_text(statement, i));
        }
    sqlite3_finalize(statement);
    return hash;
}

static uint64_t mix_run(struct store *store, int64_t run)
{
    uint64_t hash = 1;
    for (size_t i = 0; i < sizeof selects / sizeof *selects; i++)
        hash = mix_select(hash, store, selects[i], run);
    return hash;
}

static uint64_t mix_trace(const struct trace *trace)
{
    struct failure failure = {0};
    char *bytes = NULL, place[TRACE_SITE_TEXT];
    size_t size = 0;
    FILE *out = open_memstream(&bytes, &size);
    format_write(trace, NULL, "jsonl", out, &failure);
    fclose(out);
    uint64_t hash = golden_mix(golden_trace(trace), trace_hash(trace));
    for (char *line = strtok(bytes, "\n"); line; line = strtok(NULL, "\n")) {
        char *site = strstr(line, "\"site\":");
        if (site == line + 1 || !strncmp(line, "{\"strings\"", 10))
            continue; /* numbers of sites are the file's, and strings that nothing names are not stored */
        size_t digits = site ? strspn(site + 7, "0123456789") : 0;
        if (site)
            memmove(site + 7, site + 7 + digits, strlen(site + 7 + digits) + 1);
        hash = golden_mix_text(hash, line);
    }
    for (uint32_t op = 0; op < trace->op_count; op++)
        hash = golden_mix_text(
            hash, trace_at_text(trace, trace->ops[op].form->site, place, sizeof place));
    for (uint32_t rank = 0; rank < trace->ranks; rank++)
        hash = golden_mix_text(
            hash, trace_at_text(trace, trace->rank_info[rank].site, place, sizeof place));
    for (size_t note = 0; note < trace->note_count; note++)
        hash = golden_mix_text(hash,
                               trace_at_text(trace, trace->notes[note].site, place, sizeof place));
    free(bytes);
    return hash;
}

static uint64_t mix_findings(const struct trace *trace, const struct findings *findings)
{
    char words[400] = "";
    uint64_t hash = golden_findings(trace, findings, words, sizeof words);
    for (size_t i = 0; i < findings->count + findings->folded; i++) {
        const struct finding *finding = &findings->items[i];
        hash = golden_mix_text(golden_mix_text(hash, finding->title), finding->detail);
        hash = golden_mix(golden_mix_text(hash, finding->repair), finding->allowed);
    }
    return hash;
}

static void read_back(struct store *store, int64_t run, const struct trace *trace,
                      const struct findings *findings)
{
    struct failure failure = {0};
    struct findings again;
    findings_init(&again);
    struct trace *loaded = store_load_trace(store, run, &failure);
    if (!loaded || mix_trace(loaded) != mix_trace(trace)) {
        if (!other_trace++)
            tap_note("run %lld: %s", (long long)run, loaded ? "another trace" : failure.text);
    }
    if (loaded && (store_load_findings(store, run, loaded, &again, &failure) != 0 ||
                   mix_findings(loaded, &again) != mix_findings(trace, findings)))
        if (!other_findings++)
            tap_note("run %lld: other findings %s", (long long)run, failure.text);
    findings_release(&again);
    trace_free(loaded);
}

/* Returns what stands there. */
static uint64_t put(struct store *store, const char *name, unsigned variant,
                    const struct trace *trace, const struct findings *findings)
{
    static const char *const outcomes[] = {"pass", "fail", "error", "timeout"}, *const words[] = {
                                                                                    "PROVEN", NULL,
                                                                                    "PASS"};
    struct failure failure = {0};
    struct store_run run = {.scenario = trace->program,
                            .variant = variant ? "changed" : NULL,
                            .params = variant ? NULL : "{\"a\":1}",
                            .ranks = trace->ranks,
                            .seed = trace->seed,
                            .schedule = variant == 2 ? "seed" : "default",
                            .argv = "simrun it",
                            .version = "1",
                            .parent = variant ? store_run_last(store, &failure) : 0};
    int64_t id = store_run_begin(store, &run, &failure);
    struct store_result result = {.outcome = outcomes[stored % 4],
                                  .exit_code = (int)stored % 3,
                                  .trace = trace,
                                  .findings = findings,
                                  .word = words[stored % 3]};
    if (!id || (variant == 1 && store_run_trace(store, id, trace, false, &failure) != 0) ||
        store_run_finish(store, id, &result, &failure) != 0) {
        tap_ok(false, "%s is stored: %s", name, failure.text);
        return 0;
    }
    read_back(store, id, trace, findings);
    return mix_run(store, id);
}

static uint64_t put_both(struct store *rows, struct store *pages, const char *name,
                         unsigned variant, const struct trace *trace)
{
    struct check_options options;
    struct findings findings;
    struct failure failure = {0};
    check_options_init(&options);
    findings_init(&findings);
    check_trace(trace, &options, &findings);
    if (findings.count)
        findings.items[0].allowed = variant == 2;
    for (size_t i = 0; i < findings.count + findings.folded; i++)
        findings.items[i].summary = false; /* for who folds, and not stored */
    uint64_t hash = put(rows, name, variant, trace, &findings);
    hash = golden_mix(hash, put(pages, name, variant, trace, &findings));
    stored++;
    if (stored % 8 == 0) {
        int64_t run = store_run_last(pages, &failure);
        unpacked_otherwise +=
            store_unpack(pages, run, &failure) != 0 || mix_run(pages, run) != mix_run(rows, run);
        read_back(pages, run, trace, &findings);
    }
    findings_release(&findings);
    return hash;
}

static void take_file(struct golden *golden, struct store *rows, struct store *pages,
                      const char *path, const char *name)
{
    struct failure failure = {0};
    char key[120], words[60];
    FILE *in = fopen(path, "r");
    size_t size = in ? fread(data, 1, sizeof data - 1, in) : 0;
    uint64_t hash = 1, state = size;
    unsigned good = 0;
    if (in)
        fclose(in);
    changes_find(&text, data, size);
    for (unsigned variant = 0, tries = 0; variant <= CHANGED && tries < 40; tries++) {
        size_t length = size;
        memcpy(changed, data, size);
        if (variant)
            length = changes_make(&text, &state, changed);
        struct trace *trace = format_read_memory(name, changed, length, &failure);
        if (!trace)
            continue;
        trace->seed = variant;
        hash = golden_mix(hash, put_both(rows, pages, name, variant++, trace));
        good++;
        trace_free(trace);
    }
    snprintf(key, sizeof key, "%.100s", name);
    snprintf(words, sizeof words, "%u stored", good);
    golden_row(golden, key, words, hash);
}

static void take_folder(struct golden *golden, struct store *rows, struct store *pages,
                        const char *folder_name)
{
    char *names[FILES_MAX], path[400];
    snprintf(path, sizeof path, "tests/%s", folder_name);
    size_t count = folder_list(path, ".jsonl", names, FILES_MAX);
    for (size_t i = 0; i < count; i++) {
        snprintf(path, sizeof path, "tests/%s/%.200s", folder_name, names[i]);
        if (strcmp(names[i], "any100.jsonl") != 0)
            take_file(golden, rows, pages, path, names[i]);
        free(names[i]);
    }
}

static bool see(void *context, const struct store_run_row *row)
{
    const char *const texts[] = {row->scenario, row->variant,    row->outcome, row->argv,
                                 row->schedule, row->trace_hash, row->params};
    const int64_t numbers[] = {row->run, row->ranks, (int64_t)row->seed, row->errors,
                               row->exit_code};
    uint64_t *hash = context;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        *hash = golden_mix_text(*hash, texts[i]);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        *hash = golden_mix(*hash, (uint64_t)numbers[i]);
    return true;
}

static void take_whole(struct golden *golden, struct store *store, const char *name)
{
    struct failure failure = {0};
    uint64_t hash = 1;
    char words[60];
    int64_t removed = 0;
    for (int again = 0; again < 2; again++) {
        for (size_t i = 0; i < sizeof whole_selects / sizeof *whole_selects; i++)
            hash = mix_select(hash, store, whole_selects[i], 0);
        store_runs(store, see, &hash, &failure);
        store_run_get(store, store_run_last(store, &failure), see, &hash, &failure);
        if (!again)
            store_gc(store, 5, &removed, &failure);
    }
    for (int64_t run = 1; run <= store_run_last(store, &failure); run++)
        hash = golden_mix(hash, mix_run(store, run));
    snprintf(words, sizeof words, "%lld removed, %.30s", (long long)removed,
             store_verify(store, &failure) ? failure.text : "sound");
    golden_row(golden, name, words, hash);
}

int main(void)
{
    struct failure failure = {0};
    struct golden golden = golden_open("tests/golden/stored.tsv");
    snprintf(folder, sizeof folder, "/tmp/simrun-stored.XXXXXX");
    if (!tap_ok(mkdtemp(folder) != NULL, "a folder for databases is made"))
        return tap_done();
    store_close(
        store_open(file("rows.db"), STORE_WRITE, &failure)); /* what SQLite keeps is there */
    setvbuf(stdout, NULL, _IONBF, 0);
    if (golden.now || golden.then)
        setvbuf(golden.now ? golden.now : golden.then, rows_ahead, _IOFBF, sizeof rows_ahead);
    long before = fence_live();
    struct store *rows = store_open(file("rows.db"), STORE_WRITE, &failure);
    struct store *pages = store_open(file("pages.db"), STORE_WRITE, &failure);
    if (!tap_ok(rows && pages, "databases are made %s", failure.text))
        return tap_done();
    store_keep_rows(pages, 0);
    sqlite3_exec(store_handle(rows), "PRAGMA synchronous=OFF", NULL, NULL, NULL);
    sqlite3_exec(store_handle(pages), "PRAGMA synchronous=OFF", NULL, NULL, NULL);
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        take_folder(&golden, rows, pages, folders[i]);
    take_whole(&golden, rows, "rows");
    take_whole(&golden, pages, "pages");
    store_close(rows);
    store_close(pages);
    tap_is_int(fence_live() - before, 0, "databases give their memory back");
    golden_close(&golden, "databases hold what they held");
    tap_ok(stored > 100, "many traces were stored");
    tap_is_int(other_trace, 0, "each is read as it was stored");
    tap_is_int(other_findings, 0, "so are its findings");
    tap_is_int(unpacked_otherwise, 0, "and pages, made rows, are the rows");
    static const char *const names[] = {"rows.db", "pages.db"};
    for (size_t i = 0; i < 2; i++)
        unlink(file(names[i]));
    rmdir(folder);
    return tap_done();
}

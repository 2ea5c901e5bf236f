/* The store: runs, traces, findings and gradients in one SQLite file. traces/store/schema.sql is
 * the schema, docs/database.md the reader's view.
 *
 * Rules:
 *  1. A run is written in two steps: store_run_begin commits a row without an outcome before the
 *     program starts, store_run_finish adds everything in one transaction. A run whose writer died
 *     in between is marked "interrupted" by the next store_open for writing.
 *  2. Nothing is ever half there: a failing write is rolled back, the file stays as it was.
 *  3. Several processes may use one file; a writer waits for the other (busy timeout), a reader
 *     sees whole runs.
 *  4. Files of a newer version and files of others are refused (FAILURE_INPUT) and not touched; an
 *     older version is migrated with a backup beside it (FILE.v1.bak), on opening for writing.
 *  5. The operations of a run are rows that any SELECT reads, or, of a long run, compressed pages
 *     that only store_load_trace reads; store_unpack makes rows of them. The trace is the same.
 *  6. A file that was removed or moved from its path while a store for writing has it open is copied
 *     back there before the next run is written to it, or beside what stands there now; store_rescued
 *     says so. What somebody writes into the file itself cannot be undone: it is refused as damaged.
 *
 * Room: sees traces/base, traces/trace. Seen by cli. */
#ifndef TRACES_STORE_STORE_H
#define TRACES_STORE_STORE_H

#include "traces/base/progress.h"
#include "traces/trace/finding.h"
#include "traces/trace/trace.h"

enum { STORE_VERSION = 5, STORE_APPLICATION = 0x53494d52 };

struct store;
struct sqlite3;

enum store_mode {
    STORE_READ,  /* the file must exist; an older version is refused with the command that migrates
                    it */
    STORE_WRITE, /* created if absent, migrated if old */
};

/* NULL with a sentence that names the path. One thread at a time may use a store. */
struct store *store_open(const char *path, enum store_mode mode, struct failure *failure);
void store_close(struct store *store); /* NULL is fine */
/* What became of a file that was removed under the store's hands, as a sentence; NULL: it was not. */
const char *store_rescued(const struct store *store);
/* Operations written and read from now on are reported to `progress`, which must outlive the store.
 * */
void store_show_progress(struct store *store, struct progress *progress);
/* For SELECTs of the command line. */
struct sqlite3 *store_handle(struct store *store);
/* Runs of more operations than this are written as pages from now on; STORE_ROWS_MOST at first. */
enum { STORE_ROWS_MOST = 100000 };
void store_keep_rows(struct store *store, uint64_t most);
/* Makes rows of the pages of a run: what is already rows stays. */
int store_unpack(struct store *store, int64_t run, struct failure *failure);

/* What is known before the run. NULL texts are stored as empty. */
struct store_run {
    const char *scenario, *variant, *params; /* params: a JSON object, NULL for {} */
    uint32_t ranks;
    uint64_t seed;
    const char *schedule; /* "default", "seed", "recorded" ... */
    const char *argv, *version, *compiler, *cflags;
    int64_t parent; /* run it repeats, 0 */
};
/* Commits the run without an outcome; its id, or 0 with a sentence. */
int64_t store_run_begin(struct store *store, const struct store_run *run, struct failure *failure);

/* What is known after it. `trace` and `findings` may be NULL. */
struct store_result {
    const char *outcome; /* "pass", "fail", "error", "timeout", "interrupted" */
    int exit_code;
    const struct trace *trace;
    const struct findings *findings;
    const struct coverage *coverage; /* NULL: that of the trace */
    const char *word;                /* "PROVEN", "PASS", ...; NULL: by the outcome */
    bool without_ops;                /* level findings: the operations are left out */
};
/* Commits the trace alone, before anybody judges it: whatever becomes of the judge, the run is kept,
 * and marked interrupted where nobody finishes it. */
int store_run_trace(struct store *store, int64_t run, const struct trace *trace, bool without_ops,
                    struct failure *failure);
int store_run_finish(struct store *store, int64_t run, const struct store_result *result,
                     struct failure *failure);

/* The newest run's id, 0 if there is none (or on failure, with a sentence). */
int64_t store_run_last(struct store *store, struct failure *failure);
/* One row per run, newest first; return false from `see` to stop. */
struct store_run_row {
    int64_t run;
    const char *scenario, *variant, *outcome, *started, *argv, *schedule, *trace_hash,
        *params; /* valid during the call */
    uint32_t ranks;
    uint64_t seed;
    int64_t errors, exit_code;
    double milliseconds;
};
typedef bool store_run_see(void *context, const struct store_run_row *row);
int store_runs(struct store *store, store_run_see *see, void *context, struct failure *failure);
int store_run_get(struct store *store, int64_t run, store_run_see *see, void *context,
                  struct failure *failure);

/* The trace of a run; NULL with a sentence. */
struct trace *store_load_trace(struct store *store, int64_t run, struct failure *failure);
/* Its findings, their operations as indices into that trace (sites too). */
int store_load_findings(struct store *store, int64_t run, const struct trace *trace,
                        struct findings *findings, struct failure *failure);

int store_artifact_put(struct store *store, int64_t run, const char *name, const char *media,
                       const void *data, size_t size, struct failure *failure);
/* Copies the data; free() it. */
int store_artifact_get(struct store *store, int64_t run, const char *name, void **data,
                       size_t *size, struct failure *failure);

/* Brings an older file to STORE_VERSION, after copying it to PATH.vN.bak; does nothing to a current
 * one. */
int store_migrate(const char *path, struct failure *failure);
/* Keeps the newest `keep` runs (and all that are still running), gives the rest's room back. Tells
 * how many went. */
int store_gc(struct store *store, int64_t keep, int64_t *removed, struct failure *failure);
/* Full integrity and foreign key check: 0, or FAILURE_INPUT with the first complaint. */
int store_verify(struct store *store, struct failure *failure);

#endif

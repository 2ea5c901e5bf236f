/* The store: opening, versions, the life of a run. See store.h; tables are written by
 * write.c, read by read.c. */
#include "traces/store/store.h"

#include "traces/store/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

enum { BUSY_MS = 60000 };

int store_failed(struct store *store, struct failure *failure)
{
    int error = sqlite3_extended_errcode(store->db), base = error & 0xff;
    int code = base == SQLITE_CORRUPT || base == SQLITE_NOTADB ? FAILURE_INPUT : FAILURE_INTERNAL;
    if (error == SQLITE_READONLY_DBMOVED)
        return failure_set(failure, code,
                           "%s was removed or moved while the program ran, with the runs in it; "
                           "keep it where the program does not tidy up (--db FILE)",
                           store->path);
    return failure_set(failure, code, "%s: %s", store->path, sqlite3_errmsg(store->db));
}

int store_exec(struct store *store, const char *sql, struct failure *failure)
{
    if (sqlite3_exec(store->db, sql, NULL, NULL, NULL) == SQLITE_OK)
        return 0;
    return store_failed(store, failure);
}

sqlite3_stmt *store_prepare(struct store *store, const char *sql, struct failure *failure)
{
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL) != SQLITE_OK) {
        store_failed(store, failure);
        return NULL;
    }
    return statement;
}

int store_step(struct store *store, sqlite3_stmt *statement, struct failure *failure)
{
    int code;
    while ((code = sqlite3_step(statement)) == SQLITE_ROW)
        ;
    if (code != SQLITE_DONE) {
        code = store_failed(store, failure);
        sqlite3_reset(statement);
        return code;
    }
    sqlite3_reset(statement);
    return 0;
}

static int number(struct store *store, const char *sql, int64_t *value, struct failure *failure)
{
    sqlite3_stmt *statement = store_prepare(store, sql, failure);
    if (!statement)
        return failure ? failure->code : FAILURE_INTERNAL;
    int step = sqlite3_step(statement), code = 0;
    if (step == SQLITE_ROW)
        *value = sqlite3_column_int64(statement, 0);
    else
        code = store_failed(store, failure);
    sqlite3_finalize(statement);
    return code;
}

/* A process as "boot:start:pid", so that a reused pid is another process. */
static void process_name(long pid, char *name, size_t size)
{
    char path[64], text[1024] = "", boot[40] = "";
    unsigned long long start = 0;
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    FILE *file = fopen(path, "re");
    size_t got = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file)
        fclose(file);
    text[got] = 0;
    char *after = strrchr(text, ')');
    if (after)
        sscanf(after + 1,
               " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu",
               &start);
    file = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (file) {
        if (fscanf(file, "%36s", boot) != 1)
            boot[0] = 0;
        fclose(file);
    }
    snprintf(name, size, "%s:%llu:%ld", boot, start, pid);
}

/* True when the process that began a run lives; also when it was on another machine. */
static bool process_lives(const char *process)
{
    char now[128], own[128];
    process_name((long)getpid(), own, sizeof own);
    const char *pid = strrchr(process, ':'), *boot = strchr(process, ':');
    if (!pid || !boot)
        return false;
    if (strncmp(process, own, (size_t)(boot - process) + 1) != 0)
        return false; /* before this machine's last start, or another machine: see mark_interrupted
                       */
    process_name(strtol(pid + 1, NULL, 10), now, sizeof now);
    return strcmp(now, process) == 0;
}

static void sql_lives(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)count;
    const char *process = (const char *)sqlite3_value_text(values[0]);
    sqlite3_result_int(context, process && process_lives(process));
}

/* Runs whose writer is gone. One on another machine is left alone for a day: a shared file cannot
 * ask it. */
static int mark_interrupted(struct store *store, struct failure *failure)
{
    return store_exec(store,
                      "UPDATE runs SET outcome='interrupted' WHERE outcome IS NULL AND NOT "
                      "lives(coalesce(process,'')) AND (env_id IN (SELECT env_id FROM env WHERE "
                      "host=this_host()) OR started_ns < unixepoch()*1000000000-86400000000000)",
                      failure);
}

static void sql_host(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)count, (void)values;
    struct utsname name;
    uname(&name);
    sqlite3_result_text(context, name.nodename, -1, SQLITE_TRANSIENT);
}

static int fill_kinds(struct store *store, struct failure *failure)
{
    sqlite3_stmt *insert = store_prepare(
        store, "INSERT OR IGNORE INTO op_kinds(kind,name,class) VALUES(?,?,?)", failure);
    if (!insert)
        return FAILURE_INTERNAL;
    int code = 0;
    for (int kind = 0; kind < OP_KIND_LIMIT && !code; kind++) {
        const char *name = op_kind_name(kind);
        if (name[0] == '?')
            continue;
        sqlite3_bind_int(insert, 1, kind);
        sqlite3_bind_text(insert, 2, name, -1, SQLITE_STATIC);
        sqlite3_bind_text(insert, 3, op_class_name(op_kind_class(kind)), -1, SQLITE_STATIC);
        code = store_step(store, insert, failure);
    }
    sqlite3_finalize(insert);
    return code;
}

static int make_tables(struct store *store, struct failure *failure)
{
    char stamp[128];
    snprintf(stamp, sizeof stamp, "PRAGMA application_id=%d; PRAGMA user_version=%d;",
             STORE_APPLICATION, STORE_VERSION);
    int code = store_exec(store, store_schema, failure);
    if (!code)
        code = fill_kinds(store, failure);
    return code ? code : store_exec(store, stamp, failure);
}

static int rolled_back(struct store *store, int code)
{
    if (code)
        sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    return code;
}

/* A new file; another process may have been faster. */
static int create(struct store *store, struct failure *failure)
{
    int64_t tables = 0;
    int code = store_exec(store, "BEGIN IMMEDIATE", failure);
    if (code)
        return code;
    code = number(store, "SELECT count(*) FROM sqlite_master", &tables, failure);
    if (!code && tables == 0)
        code = make_tables(store, failure);
    if (!code)
        code = store_exec(store, "COMMIT", failure);
    return rolled_back(store, code);
}

static int back_up(struct store *store, int64_t version, struct failure *failure)
{
    char target[4096];
    snprintf(target, sizeof target, "%s.v%lld.bak", store->path, (long long)version);
    unlink(target);
    sqlite3_stmt *copy = store_prepare(store, "VACUUM INTO ?", failure);
    if (!copy)
        return FAILURE_INTERNAL;
    sqlite3_bind_text(copy, 1, target, -1, SQLITE_STATIC);
    int code = store_step(store, copy, failure);
    sqlite3_finalize(copy);
    if (code)
        failure_prefix(failure, "backup to %s before the migration", target);
    return code;
}

static int migrate_from_1(struct store *store, struct failure *failure)
{
    int code = store_exec(store, store_migrate_1, failure);
    if (!code)
        code = make_tables(store, failure);
    return code ? code : store_exec(store, store_migrate_1_copy, failure);
}

/* One process migrates, the others wait: a lock on the database's folder, since closing the file
 * itself would give back what SQLite has locked in it. -1: the file system has no locks. */
static int migration_lock(const char *path)
{
    char folder[4096];
    const char *end = strrchr(path, '/');
    snprintf(folder, sizeof folder, "%.*s", end ? (int)(end - path) + 1 : 1, end ? path : ".");
    int lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lock >= 0 && flock(lock, LOCK_EX) == 0)
        return lock;
    if (lock >= 0)
        close(lock);
    return -1;
}

static int migrate_alone(struct store *store, int64_t version, struct failure *failure)
{
    int64_t found = version; /* another process may have been faster */
    int code = number(store, "PRAGMA user_version", &found, failure);
    if (code || found != version)
        return code;
    code = back_up(store, version, failure);
    if (code)
        return code;
    code = store_exec(
        store, "PRAGMA foreign_keys=OFF; PRAGMA legacy_alter_table=ON; BEGIN IMMEDIATE", failure);
    if (code)
        return code;
    int64_t now = 0; /* another process may have been faster */
    code = number(store, "PRAGMA user_version", &now, failure);
    if (!code && now == 1)
        code = migrate_from_1(store, failure);
    for (int64_t at = now == 1 ? STORE_VERSION : now; !code && at < STORE_VERSION; at++)
        code = store_exec(store, store_migrations[at], failure);
    if (!code)
        code = store_exec(store, "COMMIT", failure);
    rolled_back(store, code);
    if (!code)
        code = store_exec(store, "PRAGMA legacy_alter_table=OFF; PRAGMA foreign_keys=ON", failure);
    return code ? failure_prefix(failure, "migration from version %lld", (long long)version) : 0;
}

static int migrate(struct store *store, int64_t version, struct failure *failure)
{
    int lock = migration_lock(store->path);
    int code = migrate_alone(store, version, failure);
    if (lock >= 0)
        close(lock);
    return code;
}

static int read_stamps(struct store *store, int64_t *application, int64_t *version, int64_t *tables,
                       struct failure *failure)
{
    int code = number(store, "PRAGMA application_id", application, failure);
    if (!code)
        code = number(store, "PRAGMA user_version", version, failure);
    return code ? code : number(store, "SELECT count(*) FROM sqlite_master", tables, failure);
}

/* Decides what to do with a file by its stamps. */
static int look(struct store *store, struct failure *failure)
{
    int64_t application = 0, version = 0, tables = 0;
    int code = read_stamps(store, &application, &version, &tables, failure);
    if (!code && application == 0 && (version || tables))
        /* Another process may have made the tables between two of these readings. */
        code = read_stamps(store, &application, &version, &tables, failure);
    if (code)
        return code;
    if (application == 0 && version == 0 && tables == 0)
        return store->mode == STORE_WRITE
                   ? create(store, failure)
                   : failure_set(failure, FAILURE_INPUT, "%s: no database of results", store->path);
    if (application != STORE_APPLICATION)
        return failure_set(failure, FAILURE_INPUT, "%s: a database of another program",
                           store->path);
    if (version > STORE_VERSION)
        return failure_set(failure, FAILURE_INPUT,
                           "%s: written by a newer simrun (version %lld, this one knows %d)",
                           store->path, (long long)version, STORE_VERSION);
    if (version == STORE_VERSION)
        return 0;
    if (version < 1)
        return failure_set(failure, FAILURE_INPUT, "%s: unknown version %lld", store->path,
                           (long long)version);
    if (store->mode == STORE_WRITE)
        return migrate(store, version, failure);
    return failure_set(failure, FAILURE_INPUT,
                       "%s: an older version %lld; run: simrun --db %s db migrate", store->path,
                       (long long)version, store->path);
}

int store_connect(struct store *store, struct failure *failure)
{
    struct stat status;
    if (stat(store->path, &status) == 0 && !S_ISREG(status.st_mode))
        return failure_set(failure, FAILURE_INPUT, "%s: %s, no database", store->path,
                           S_ISDIR(status.st_mode) ? "a folder" : "a pipe or a device");
    int flags = store->mode == STORE_WRITE ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
                                           : SQLITE_OPEN_READWRITE;
    int code = sqlite3_open_v2(store->path, &store->db, flags | SQLITE_OPEN_NOMUTEX, NULL);
    if (code != SQLITE_OK && store->mode == STORE_READ) { /* a read-only place */
        sqlite3_close(store->db);
        code = sqlite3_open_v2(store->path, &store->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX,
                               NULL);
    }
    if (!store->db)
        return failure_set(failure, FAILURE_INTERNAL, "%s: out of memory", store->path);
    if (code != SQLITE_OK) {
        bool absent = store->mode == STORE_READ && access(store->path, F_OK) != 0;
        store_failed(store, failure);
        return absent ? failure_set(failure, FAILURE_INPUT, "%s: no such database", store->path)
                      : FAILURE_INTERNAL;
    }
    sqlite3_busy_timeout(store->db, BUSY_MS);
    sqlite3_create_function(store->db, "lives", 1, SQLITE_UTF8, NULL, sql_lives, NULL, NULL);
    sqlite3_create_function(store->db, "this_host", 0, SQLITE_UTF8, NULL, sql_host, NULL, NULL);
    return store_exec(
        store, "PRAGMA foreign_keys=ON; PRAGMA page_size=8192; PRAGMA cache_size=-65536", failure);
}

struct store *store_open(const char *path, enum store_mode mode, struct failure *failure)
{
    struct store *store = calloc(1, sizeof *store);
    if (!store || !(store->path = strdup(path))) {
        free(store);
        failure_set(failure, FAILURE_INTERNAL, "%s: out of memory", path);
        return NULL;
    }
    store->mode = mode;
    store->rows_most = STORE_ROWS_MOST;
    int code = store_connect(store, failure);
    if (!code)
        code = look(store, failure);
    if (!code && mode == STORE_WRITE)
        code = mark_interrupted(store, failure);
    if (!code)
        return store;
    store_close(store);
    return NULL;
}

void store_close(struct store *store)
{
    if (!store)
        return;
    sqlite3_close_v2(store->db);
    free(store->path);
    free(store->rescue);
    free(store);
}

void store_show_progress(struct store *store, struct progress *progress)
{
    store->progress = progress;
}

void store_keep_rows(struct store *store, uint64_t most)
{
    store->rows_most = most;
}

struct sqlite3 *store_handle(struct store *store)
{
    return store->db;
}

static int64_t wall_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void cpu_name(char *name, size_t size)
{
    char line[256];
    snprintf(name, size, "?");
    FILE *file = fopen("/proc/cpuinfo", "re");
    while (file && fgets(line, sizeof line, file)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) == 0 && colon) {
            line[strcspn(line, "\n")] = 0;
            snprintf(name, size, "%s", colon + 2);
            break;
        }
    }
    if (file)
        fclose(file);
}

/* The id of this machine's environment, made known if it is new. */
static int environment(struct store *store, const struct store_run *run, int64_t *id,
                       struct failure *failure)
{
    struct utsname name;
    char cpu[128], all[1200], hash[32];
    const char *threads = getenv("OMP_NUM_THREADS");
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    uname(&name);
    cpu_name(cpu, sizeof cpu);
    snprintf(all, sizeof all, "%s|%s|%s|%s|%ld|%s|%s|%s", name.nodename, name.release, name.machine,
             cpu, processors, run->compiler ? run->compiler : "", run->cflags ? run->cflags : "",
             threads ? threads : "");
    uint64_t value = 0xcbf29ce484222325u;
    for (const char *c = all; *c; c++)
        value = (value ^ (unsigned char)*c) * 0x100000001b3u;
    snprintf(hash, sizeof hash, "%016llx", (unsigned long long)value);
    sqlite3_stmt *insert =
        store_prepare(store,
                      "INSERT INTO env(hash,host,os,arch,cpu,ncpu,compiler,cflags,omp_num_threads) "
                      "VALUES(?,?,?,?,?,?,?,?,?) "
                      "ON CONFLICT(hash) DO UPDATE SET hash=excluded.hash RETURNING env_id",
                      failure);
    if (!insert)
        return FAILURE_INTERNAL;
    const char *texts[] = {hash, name.nodename, name.release, name.machine, cpu};
    for (int i = 0; i < 5; i++)
        sqlite3_bind_text(insert, i + 1, texts[i], -1, SQLITE_STATIC);
    sqlite3_bind_int64(insert, 6, processors);
    sqlite3_bind_text(insert, 7, run->compiler, -1, SQLITE_STATIC);
    sqlite3_bind_text(insert, 8, run->cflags, -1, SQLITE_STATIC);
    if (threads)
        sqlite3_bind_int(insert, 9, (int)strtol(threads, NULL, 10));
    int code = 0;
    if (sqlite3_step(insert) == SQLITE_ROW)
        *id = sqlite3_column_int64(insert, 0);
    else
        code = store_failed(store, failure);
    sqlite3_finalize(insert);
    return code;
}

static void uuid_make(char uuid[37])
{
    unsigned char b[16] = {0};
    if (getrandom(b, sizeof b, 0) != (ssize_t)sizeof b)
        snprintf((char *)b, sizeof b, "%lx", (long)wall_ns());
    b[6] = (unsigned char)((b[6] & 0x0f) | 0x40);
    b[8] = (unsigned char)((b[8] & 0x3f) | 0x80);
    for (int i = 0, at = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            uuid[at++] = '-';
        snprintf(uuid + at, 3, "%02x", b[i]);
        at += 2;
    }
}

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

static int insert_run(struct store *store, const struct store_run *run, int64_t env, int64_t *id,
                      struct failure *failure)
{
    char uuid[37], process[128];
    uuid_make(uuid);
    process_name((long)getpid(), process, sizeof process);
    sqlite3_stmt *insert = store_prepare(
        store,
        "INSERT INTO "
        "runs(uuid,parent_run_id,env_id,scenario,variant,params,ranks,seed,schedule,argv,version,"
        "started_ns,process) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)",
        failure);
    if (!insert)
        return FAILURE_INTERNAL;
    sqlite3_bind_text(insert, 1, uuid, -1, SQLITE_STATIC);
    if (run->parent)
        sqlite3_bind_int64(insert, 2, run->parent);
    sqlite3_bind_int64(insert, 3, env);
    sqlite3_bind_text(insert, 4, or_empty(run->scenario), -1, SQLITE_STATIC);
    sqlite3_bind_text(insert, 5, or_empty(run->variant), -1, SQLITE_STATIC);
    sqlite3_bind_text(insert, 6, run->params ? run->params : "{}", -1, SQLITE_STATIC);
    sqlite3_bind_int64(insert, 7, run->ranks);
    sqlite3_bind_int64(insert, 8, (int64_t)run->seed);
    sqlite3_bind_text(insert, 9, or_empty(run->schedule), -1, SQLITE_STATIC);
    sqlite3_bind_text(insert, 10, or_empty(run->argv), -1, SQLITE_STATIC);
    sqlite3_bind_text(insert, 11, or_empty(run->version), -1, SQLITE_STATIC);
    sqlite3_bind_int64(insert, 12, wall_ns());
    sqlite3_bind_text(insert, 13, process, -1, SQLITE_STATIC);
    int code = store_step(store, insert, failure);
    sqlite3_finalize(insert);
    *id = sqlite3_last_insert_rowid(store->db);
    return code;
}

int64_t store_run_begin(struct store *store, const struct store_run *run, struct failure *failure)
{
    int64_t env = 0, id = 0;
    if (store_rescue(store, failure) || store_exec(store, "BEGIN IMMEDIATE", failure))
        return 0;
    int code = environment(store, run, &env, failure);
    if (!code)
        code = insert_run(store, run, env, &id, failure);
    if (!code)
        code = store_exec(store, "COMMIT", failure);
    rolled_back(store, code);
    return code ? 0 : id;
}

int64_t store_run_last(struct store *store, struct failure *failure)
{
    int64_t run = 0;
    number(store, "SELECT coalesce(max(run_id),0) FROM runs", &run, failure);
    return run;
}

int store_migrate(const char *path, struct failure *failure)
{
    if (access(path, F_OK) != 0)
        return failure_set(failure, FAILURE_INPUT, "%s: %s", path, strerror(errno));
    struct store *store = store_open(path, STORE_WRITE, failure);
    if (!store)
        return failure ? failure->code : FAILURE_INTERNAL;
    store_close(store);
    return 0;
}

int store_gc(struct store *store, int64_t keep, int64_t *removed, struct failure *failure)
{
    static const char *const tables[] = {
        "finding_ops", "ops",     "waits",     "counts",   "nodes", "edges", "passes",
        "events",      "matches", "notes",     "coverage", "folds", "pages", "findings",
        "gradients",   "metrics", "artifacts", "comms",    "ranks"};
    char sql[512];
    int code = store_exec(store, "BEGIN IMMEDIATE", failure);
    if (code)
        return code;
    snprintf(sql, sizeof sql,
             "CREATE TEMP TABLE gone AS SELECT run_id FROM runs WHERE outcome IS NOT NULL ORDER BY "
             "run_id "
             "DESC LIMIT -1 OFFSET %lld",
             (long long)(keep < 0 ? 0 : keep));
    code = store_exec(store, sql, failure);
    for (size_t i = 0; !code && i < sizeof tables / sizeof *tables; i++) {
        snprintf(sql, sizeof sql,
                 i == 0 ? "DELETE FROM %s WHERE finding_id IN (SELECT finding_id FROM findings "
                          "WHERE run_id IN (SELECT run_id FROM gone))"
                        : "DELETE FROM %s WHERE run_id IN (SELECT run_id FROM gone)",
                 tables[i]);
        code = store_exec(store, sql, failure);
    }
    if (!code)
        code = store_exec(
            store,
            "UPDATE runs SET parent_run_id=NULL WHERE parent_run_id IN (SELECT run_id FROM gone);"
            "DELETE FROM runs WHERE run_id IN (SELECT run_id FROM gone)",
            failure);
    if (!code)
        code = number(store, "SELECT count(*) FROM gone", removed, failure);
    if (!code)
        code = store_exec(store, "DROP TABLE gone; COMMIT", failure);
    if (code)
        return rolled_back(store, code);
    return *removed ? store_exec(store, "VACUUM", failure) : 0;
}

int store_verify(struct store *store, struct failure *failure)
{
    static const char *const checks[] = {"PRAGMA integrity_check(1)", "PRAGMA foreign_key_check"};
    for (int i = 0; i < 2; i++) {
        sqlite3_stmt *check = store_prepare(store, checks[i], failure);
        if (!check)
            return FAILURE_INTERNAL;
        int code = 0, step = sqlite3_step(check);
        const char *text = step == SQLITE_ROW ? (const char *)sqlite3_column_text(check, 0) : "ok";
        if (step != SQLITE_ROW && step != SQLITE_DONE)
            code = store_failed(store, failure);
        else if (!text || strcmp(text, "ok") != 0)
            code = failure_set(failure, FAILURE_INPUT, "%s: %s %s", store->path,
                               i ? "foreign key of table" : "integrity:", text ? text : "?");
        sqlite3_finalize(check);
        if (code)
            return code;
    }
    return 0;
}

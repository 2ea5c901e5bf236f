/* The store when its surroundings fail: every call SQLite makes to the file, every allocation, one
 * after the other.
 *
 * The same body is repeated with the n-th call failing, n growing, until it passes untouched. After
 * each failure the file must open, be whole, and hold the runs that were there before. */
#include "tests/tap.h"
#include "tests/traces/store_files.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Counts down to the call that fails; 0: none will. */
static long countdown, failed;

static bool fails(void)
{
    if (countdown == 0 || --countdown > 0)
        return false;
    failed++;
    return true;
}

/* A file system that passes everything on to the default one, except what fails. */
struct shim {
    sqlite3_file base;
    sqlite3_file *real;
};

static int shim_close(sqlite3_file *file)
{
    sqlite3_file *real = ((struct shim *)file)->real;
    int code = real->pMethods ? real->pMethods->xClose(real) : SQLITE_OK;
    sqlite3_free(real);
    return code;
}

#define REAL(file)          (((struct shim *)(file))->real)
#define PASS(call, ...)     REAL(file)->pMethods->call(REAL(file), __VA_ARGS__)
#define FAILING(code, pass) return fails() ? (code) : (pass)

static int shim_read(sqlite3_file *file, void *data, int size, sqlite3_int64 at)
{
    FAILING(SQLITE_IOERR_READ, PASS(xRead, data, size, at));
}

static int shim_write(sqlite3_file *file, const void *data, int size, sqlite3_int64 at)
{
    FAILING(SQLITE_FULL, PASS(xWrite, data, size, at));
}

static int shim_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    FAILING(SQLITE_IOERR_TRUNCATE, PASS(xTruncate, size));
}

static int shim_sync(sqlite3_file *file, int flags)
{
    FAILING(SQLITE_IOERR_FSYNC, PASS(xSync, flags));
}

static int shim_size(sqlite3_file *file, sqlite3_int64 *size)
{
    FAILING(SQLITE_IOERR_FSTAT, PASS(xFileSize, size));
}

static int shim_lock(sqlite3_file *file, int level)
{
    FAILING(SQLITE_IOERR_LOCK, PASS(xLock, level));
}

static int shim_unlock(sqlite3_file *file, int level)
{
    return PASS(xUnlock, level);
}

static int shim_reserved(sqlite3_file *file, int *out)
{
    return PASS(xCheckReservedLock, out);
}

static int shim_control(sqlite3_file *file, int what, void *value)
{
    return PASS(xFileControl, what, value);
}

static int shim_sector(sqlite3_file *file)
{
    return REAL(file)->pMethods->xSectorSize(REAL(file));
}

static int shim_device(sqlite3_file *file)
{
    return REAL(file)->pMethods->xDeviceCharacteristics(REAL(file));
}

static const sqlite3_io_methods shim_methods = {
    .iVersion = 1,
    .xClose = shim_close,
    .xRead = shim_read,
    .xWrite = shim_write,
    .xTruncate = shim_truncate,
    .xSync = shim_sync,
    .xFileSize = shim_size,
    .xLock = shim_lock,
    .xUnlock = shim_unlock,
    .xCheckReservedLock = shim_reserved,
    .xFileControl = shim_control,
    .xSectorSize = shim_sector,
    .xDeviceCharacteristics = shim_device,
};

static sqlite3_vfs shim_vfs;
static sqlite3_vfs *real_vfs;

static int shim_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out)
{
    (void)vfs;
    struct shim *shim = (struct shim *)file;
    file->pMethods = NULL;
    if (fails())
        return SQLITE_CANTOPEN;
    shim->real = sqlite3_malloc(real_vfs->szOsFile);
    if (!shim->real)
        return SQLITE_NOMEM;
    memset(shim->real, 0, (size_t)real_vfs->szOsFile);
    int code = real_vfs->xOpen(real_vfs, name, shim->real, flags, out);
    if (code == SQLITE_OK)
        file->pMethods = &shim_methods;
    else
        sqlite3_free(shim->real);
    return code;
}

static int shim_delete(sqlite3_vfs *vfs, const char *name, int sync)
{
    (void)vfs;
    FAILING(SQLITE_IOERR_DELETE, real_vfs->xDelete(real_vfs, name, sync));
}

static void shim_install(void)
{
    real_vfs = sqlite3_vfs_find(NULL);
    shim_vfs = *real_vfs;
    shim_vfs.zName = "shim";
    shim_vfs.szOsFile = sizeof(struct shim);
    shim_vfs.xOpen = shim_open;
    shim_vfs.xDelete = shim_delete;
    shim_vfs.pNext = NULL;
    sqlite3_vfs_register(&shim_vfs, 1);
}

/* SQLite's allocations, through its own configuration. */
static sqlite3_mem_methods real_memory;
static bool allocations;

static void *memory_take(int size)
{
    return allocations && fails() ? NULL : real_memory.xMalloc(size);
}

static void *memory_more(void *old, int size)
{
    return allocations && fails() ? NULL : real_memory.xRealloc(old, size);
}

static void memory_install(void)
{
    sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real_memory);
    sqlite3_mem_methods own = real_memory;
    own.xMalloc = memory_take;
    own.xRealloc = memory_more;
    sqlite3_config(SQLITE_CONFIG_MALLOC, &own);
    sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0);
}

static struct trace *sample(void)
{
    struct trace *trace = trace_new(2);
    trace_add_comm(trace, &(struct trace_comm){.id = 1,
                                               .size = 2,
                                               .members = (int32_t[]){0, 1},
                                               .parent = TRACE_NO,
                                               .adjoint_of = TRACE_NO,
                                               .name = "world"});
    uint32_t site = trace_add_site(trace, "ring.c", 41, "main");
    for (uint32_t rank = 0; rank < 2; rank++)
        for (int i = 0; i < 40; i++) {
            struct trace_plain_op op = trace_op_none(rank, rank ? OP_RECV : OP_SEND);
            op.peer = 1 - (int)rank;
            op.tag = i;
            op.comm = 0;
            op.site = site;
            trace_add_op(trace, &op);
        }
    struct failure failure;
    if (!trace_finish(trace, &failure))
        tap_note("%s", failure.text);
    return trace;
}

static const struct trace *trace;
static char path[128];

/* What fails: everything a run does with the store. Returns 0 or the code of the failure. */
static int body(struct failure *failure)
{
    struct store *store = store_open(path, STORE_WRITE, failure);
    if (!store)
        return failure->code;
    struct store_run run = {
        .scenario = "ring", .ranks = 2, .schedule = "", .argv = "", .version = ""};
    int64_t id = store_run_begin(store, &run, failure);
    int code =
        id ? store_run_finish(store, id, &(struct store_result){.outcome = "pass", .trace = trace},
                              failure)
           : failure->code;
    store_close(store);
    return code;
}

static void repeat(const char *what, bool with_allocations)
{
    struct failure failure = {0};
    unlink(path);
    countdown = 0;
    int broken = 0, unnamed = 0, half = 0, lost = 0;
    long rounds = 0, passed = 0;
    if (body(&failure) != 0) /* the run that must survive everything */
        tap_note("%s", failure.text);
    for (long n = 1;; n += 1 + n / 12, rounds++) {
        failed = 0;
        allocations = with_allocations;
        countdown = n;
        failure = (struct failure){0};
        int code = body(&failure);
        bool untouched = failed == 0;
        countdown = 0;
        allocations = false;
        passed += code == 0;
        if (code != 0 && !strstr(failure.text, path))
            unnamed++;
        struct store *store = store_open(path, STORE_READ, &failure);
        broken += !store || store_verify(store, &failure) != 0;
        half += store &&
                number(store, "SELECT count(*) FROM runs r WHERE outcome='pass' AND 80<>(SELECT "
                              "count(*) FROM v_ops o WHERE o.run_id=r.run_id)") != 0;
        lost +=
            store && number(store, "SELECT count(*) FROM runs WHERE outcome='pass'") != 1 + passed;
        store_close(store);
        if (untouched)
            break;
    }
    tap_ok(rounds > 20, "%s: the body was disturbed often enough", what);
    tap_is_int(broken, 0, "%s: the file opens and is whole after each failure", what);
    tap_is_int(half, 0, "%s: no run is half there", what);
    tap_is_int(lost, 0, "%s: exactly the runs that were reported as stored are there", what);
    tap_is_int(unnamed, 0, "%s: every failure names the file", what);
}

static void read_only(void)
{
    const char *shut = file("shut"), *inside = file("shut/x.db");
    struct failure failure = {0};
    mkdir(shut, 0500);
    if (geteuid() == 0) {
        tap_skip(1, "root may write everywhere");
    } else {
        struct store *store = store_open(inside, STORE_WRITE, &failure);
        tap_ok(!store && failure.code == FAILURE_INTERNAL && strstr(failure.text, inside),
               "a read-only folder is an error with the path: %s", failure.text);
        store_close(store);
    }
    rmdir(shut);
}

int main(void)
{
    memory_install();
    sqlite3_initialize();
    shim_install();
    snprintf(folder, sizeof folder, "/tmp/simrun-faults.XXXXXX");
    if (!tap_ok(mkdtemp(folder) != NULL, "a folder for databases is made"))
        return tap_done();
    snprintf(path, sizeof path, "%s", file("faults.db"));
    struct trace *made = sample();
    trace = made;
    repeat("a failing file", false);
    repeat("a failing allocation", true);
    read_only();
    trace_free(made);
    unlink(path);
    rmdir(folder);
    return tap_done();
}

/* Pages of the store: the trace that comes out of them is the one that comes out of rows, and a page
 * that was changed, exchanged or left out is refused by name. */
#include "tests/formats/format_samples.h"
#include "tests/tap.h"
#include "tests/traces/store_files.h"

#include <stdlib.h>
#include <unistd.h>
#include <zstd.h>

enum { RANKS = 3, ROWS_OF_A_PAGE = 4096 };

/* Mostly what the row before had, so that each way of telling a value is taken. */
static uint64_t drawn(uint64_t *state, uint64_t before)
{
    switch (dice_below(state, 8)) {
    case 0:
        return dice_next(state);
    case 1:
        return before + dice_below(state, 5) - 2;
    case 2:
        return dice_below(state, 2) ? 0 : UINT64_MAX;
    default:
        return before;
    }
}

/* `own`: the first operation of its rank. */
static void draw_op(uint64_t *state, struct trace_whole_op *whole, uint32_t own, uint32_t count,
                    uint32_t sites)
{
    struct trace_plain_op *op = &whole->op;
    static const uint8_t kinds[] = {OP_SEND, OP_ISEND, OP_IRECV, OP_RECV, OP_WAITALL, OP_COMPUTE};
    op->kind = kinds[dice_below(state, sizeof kinds)];
    op->state = dice_below(state, 9) ? STATE_COMPLETE : (uint8_t)dice_below(state, 6);
    op->flags = (uint16_t)drawn(state, op->flags);
    op->peer = (int32_t)dice_below(state, RANKS + 1) - 1;
    op->tag = (int32_t)drawn(state, (uint64_t)op->tag);
    op->peer_matched = dice_below(state, 4) ? TRACE_NONE : (int32_t)dice_below(state, RANKS);
    op->tag_matched = dice_below(state, 4) ? op->tag : (int32_t)drawn(state, 0);
    op->comm = dice_below(state, 9) ? 0 : TRACE_NO;
    op->count = (int64_t)drawn(state, (uint64_t)op->count);
    op->count_matched = dice_below(state, 4) ? op->count : (int64_t)drawn(state, 0);
    op->type = dice_below(state, 4) ? 0x214 : (uint32_t)drawn(state, op->type);
    uint64_t *extent = &whole->at.extent;
    *extent = dice_below(state, 4) ? 8 * (uint64_t)op->count : drawn(state, *extent);
    uint32_t *const numbers[] = {&op->comm_seq, &op->signature, &op->reduce_op,
                                 &op->batch,    &op->identity,  &op->thread};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        *numbers[i] = (uint32_t)drawn(state, *numbers[i]);
    op->error = (int32_t)drawn(state, (uint64_t)op->error);
    uint64_t *const wide[] = {&op->begin, &op->end, &whole->times.begin_ns, &whole->times.end_ns,
                              &whole->at.buffer};
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++)
        *wide[i] = drawn(state, *wide[i]);
    op->site = dice_below(state, 5) ? op->site : dice_below(state, sites);
    op->node = dice_below(state, 7) ? TRACE_NO : dice_below(state, 2);
    op->adjoint_of = dice_below(state, 7) ? TRACE_NO : own + dice_below(state, count);
    op->request = dice_below(state, 3) ? TRACE_NO : own + dice_below(state, count);
    if (op->kind == OP_WAITALL) /* that may be a wait, for which none waits */
        op->request = TRACE_NO;
}

/* Operations that no program makes, for the columns' sake; as many on each rank. */
static struct trace *sample(uint64_t seed, uint32_t each, struct failure *failure)
{
    uint64_t state = seed;
    struct trace *trace = trace_new(RANKS);
    enum { SITES = 3 };
    snprintf(trace->program, sizeof trace->program, "pages");
    trace_add_comm(trace, &(struct trace_comm){.id = 1,
                                               .size = RANKS,
                                               .members = (int32_t[]){0, 1, 2},
                                               .parent = TRACE_NO,
                                               .adjoint_of = TRACE_NO});
    for (int i = 0; i < SITES; i++)
        trace_add_site(trace, "pages.c", 10 + i, "main");
    for (uint32_t i = 0; i < 2; i++)
        trace_add_node(trace, &(struct trace_node){
                                  .id = i + 1, .forward = TRACE_NO, .site = 0, .name = TRACE_NO});
    for (uint32_t i = 0; i < RANKS; i++)
        trace->rank_info[i].site = i; /* so that the file has all of them */
    struct trace_whole_op whole = {.op = trace_op_none(0, OP_COMPUTE)};
    struct trace_plain_op *op = &whole.op;
    op->site = 0;
    for (uint32_t i = 0; i < RANKS * each; i++) {
        draw_op(&state, &whole, i / each * each, each, SITES);
        op->rank = i / each;
        op->node = op->rank ? TRACE_NO : op->node;
        uint32_t wait = trace_add_whole_op(trace, &whole);
        for (uint32_t k = 0; op->kind == OP_WAITALL && k < 2 && i % each; k++) {
            uint32_t start = wait - 1 - dice_below(&state, i % each),
                     completed = dice_below(&state, 2);
            if (trace->ops[start].kind != OP_WAITALL)
                trace_add_wait(trace, wait, start, completed);
        }
    }
    if (trace_finish(trace, failure) && trace_check(trace, failure))
        return trace;
    tap_note("seed %llu: %s", (unsigned long long)seed, failure->text);
    trace_free(trace);
    return NULL;
}

/* Stored as pages or as rows; 0 when that failed. */
static int64_t put(struct store *store, const struct trace *trace, bool pages,
                   struct failure *failure)
{
    int64_t run = store_run_begin(
        store, &(struct store_run){.scenario = "pages", .ranks = RANKS, .schedule = "", .argv = ""},
        failure);
    store_keep_rows(store, pages ? trace->op_count - 1 : trace->op_count);
    const struct store_result result = {.outcome = "pass", .trace = trace};
    return run && !store_run_finish(store, run, &result, failure) ? run : 0;
}

static bool loads_as(struct store *store, int64_t run, const struct trace *expected)
{
    struct failure failure = {0};
    struct trace *again = run ? store_load_trace(store, run, &failure) : NULL;
    const char *different = again ? sample_difference(again, expected) : failure.text;
    if (!again || different)
        tap_note("run %lld: %s", (long long)run, different);
    trace_free(again);
    return again && !different;
}

static void round_trips(void)
{
    static const uint32_t sizes[] = {1, 2, 7, 100, ROWS_OF_A_PAGE, 3000};
    struct failure failure = {0};
    struct store *store = store_open(file("round.db"), STORE_WRITE, &failure);
    struct dice_seeds seeds = dice_seeds(18);
    int tried = 0, paged = 0, same = 0;
    for (unsigned long long i = 0; store && i < seeds.count; i++) {
        struct trace *trace = sample(seeds.first + i, sizes[(seeds.first + i) % 6], &failure);
        if (!trace)
            break;
        tried++;
        int64_t rows = put(store, trace, false, &failure),
                pages = put(store, trace, true, &failure);
        struct trace *other = rows && pages ? store_load_trace(store, rows, &failure) : NULL;
        same += other && loads_as(store, pages, other);
        trace_free(other);
        paged += number(store, "SELECT count(*) FROM pages WHERE run_id=(SELECT max(run_id) FROM "
                               "runs)") > 0 &&
                 number(store, "SELECT count(*) FROM ops WHERE run_id=(SELECT max(run_id) FROM "
                               "runs)") == 0;
        trace_free(trace);
    }
    tap_ok(tried > 0 && (unsigned long long)tried == seeds.count, "random traces are made");
    tap_is_int(paged, tried, "and kept in pages, without a row");
    tap_is_int(same, tried, "what is read from pages is what is read from rows");
    tap_is_int(store ? store_verify(store, &failure) : 1, 0, "the file is whole");
    int64_t removed = 0;
    tap_ok(!store_gc(store, 0, &removed, &failure) && removed > 0 &&
               number(store, "SELECT count(*) FROM pages") == 0,
           "runs that are given up take their pages along");
    store_close(store);
}

/* Rows of pages are those that are written at once. */
static void unpacked(void)
{
    static const char *const tables[] = {"ops", "waits", "matches", "events"};
#define COLUMNS                                                                                    \
    "rank,seq,kind,state,phase,site_id,peer,tag,comm,dtype,count,redop,coll_seq,flags,"            \
    "peer_matched,tag_matched,count_matched,signature,batch,error,identity,step_begin,step_end,"   \
    "buffer,extent,thread"
    const char *different = "SELECT count(*) FROM (SELECT " COLUMNS " FROM ops WHERE run_id=1 "
                            "EXCEPT SELECT " COLUMNS " FROM ops WHERE run_id=2)";
    struct failure failure = {0};
    struct store *store = store_open(file("rows.db"), STORE_WRITE, &failure);
    struct trace *drawn_one = sample(77, 2000, &failure);
    put(store, drawn_one, false, &failure);
    struct trace *trace = store_load_trace(store, 1, &failure); /* matched as readers match */
    trace_free(drawn_one);
    store_gc(store, 0, &(int64_t){0}, &failure);
    put(store, trace, false, &failure);
    int64_t run = put(store, trace, true, &failure);
    tap_is_int(number(store, "SELECT count(*) FROM v_ops WHERE run_id=2"), 0,
               "what lies in pages is no row");
    tap_is_int(store_unpack(store, run, &failure), 0, "rows are made of them: %s", failure.text);
    tap_is_int(number(store, "SELECT count(*) FROM pages"), 0, "and the pages are gone");
    tap_is_int(number(store, different), 0,
               "each operation is there as if it had been stored as a row");
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        char sql[2][100];
        for (int k = 0; k < 2; k++)
            snprintf(sql[k], sizeof sql[k], "SELECT count(*) FROM %s WHERE run_id=%d", tables[i],
                     k + 1);
        int64_t rows = number(store, sql[0]);
        tap_ok(rows > 0 && rows == number(store, sql[1]), "and as many %s", tables[i]);
    }
    tap_ok(loads_as(store, run, trace), "the run is read as before");
    tap_is_int(store_unpack(store, run, &failure), 0, "what is rows stays: %s", failure.text);
    tap_ok(loads_as(store, run, trace), "as it is");
    tap_is_int(store_unpack(store, 99, &failure), FAILURE_NOTHING, "no run 99: %s", failure.text);
    trace_free(trace);
    store_close(store);
}

/* The sentence of reading run 1 after the statement; "" when it is read. */
static const char *sentence_after(const char *sql, const void *blob, int size)
{
    static struct failure failure;
    failure = (struct failure){0};
    struct store *store = store_open(file("changed.db"), STORE_WRITE, &failure);
    sqlite3_stmt *statement = NULL;
    struct trace *trace = NULL;
    sqlite3_exec(store_handle(store), "PRAGMA synchronous=OFF; PRAGMA journal_mode=MEMORY", NULL,
                 NULL, NULL);
    if (sqlite3_prepare_v2(store_handle(store), sql, -1, &statement, NULL) != SQLITE_OK)
        tap_ok(false, "%s", sqlite3_errmsg(store_handle(store)));
    if (blob)
        sqlite3_bind_blob(statement, 1, blob, size, SQLITE_STATIC);
    if (sqlite3_step(statement) != SQLITE_DONE || sqlite3_changes(store_handle(store)) == 0)
        tap_ok(false, "nothing was changed by %s: %s", sql, sqlite3_errmsg(store_handle(store)));
    sqlite3_finalize(statement);
    trace = store_load_trace(store, 1, &failure);
    if (trace)
        failure.text[0] = '\0';
    trace_free(trace);
    store_close(store);
    return failure.text;
}

static void restore(void)
{
    char command[400];
    snprintf(command, sizeof command, "cp %s %s", file("good.db"), file("changed.db"));
    if (system(command) != 0)
        tap_ok(false, "cp failed");
}

static bool names_file_and_run(const char *sentence)
{
    return strstr(sentence, "changed.db") && strstr(sentence, "run 1:") &&
           strstr(sentence, "broken or missing");
}

static void changed_tables(void)
{
    static const char *const changes[] = {
        "DELETE FROM pages WHERE content='ops' AND first=0",
        "DELETE FROM pages WHERE content='ops' AND first=4096",
        "DELETE FROM pages WHERE content='ops' AND first=8192",
        "DELETE FROM pages WHERE content='waits'",
        "DELETE FROM pages WHERE content='ops'",
        "UPDATE pages SET first=-first WHERE content='ops'",
        "UPDATE pages SET data=(SELECT data FROM pages WHERE content='ops' AND first=0) WHERE "
        "content='ops' AND first=4096",
        "UPDATE pages SET data=(SELECT data FROM pages WHERE content='waits' AND first=0) WHERE "
        "content='ops' AND first=0",
        "UPDATE pages SET data=(SELECT data FROM pages WHERE run_id=2 AND content='ops' AND "
        "first=4096) WHERE run_id=1 AND content='ops' AND first=4096",
        "UPDATE pages SET data=(SELECT data FROM pages WHERE run_id=3 AND content='ops' AND "
        "first=0) WHERE run_id=1 AND content='ops' AND first=0",
        "UPDATE pages SET count=count-1",
        "UPDATE pages SET count=count+1",
        "UPDATE pages SET count=1000000",
        "UPDATE pages SET count=-1",
        "UPDATE pages SET data=x''",
        "UPDATE pages SET data=substr(data,1,length(data)-1)",
        "UPDATE pages SET data=CAST(data||x'00' AS BLOB) WHERE first=0",
        "UPDATE runs SET op_count=op_count-1",
        "UPDATE runs SET op_count=op_count+1"};
    int wrong = 0, tried = 0;
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++, tried++) {
        restore();
        const char *sentence = sentence_after(changes[i], NULL, 0);
        if (!names_file_and_run(sentence)) {
            wrong++;
            tap_note("%s: '%s'", changes[i], sentence);
        }
    }
    tap_is_int(tried, 19, "pages that are left out, exchanged or said to be others");
    tap_is_int(wrong, 0, "are refused with the names of file and run");
}

/* One byte of one page, wherever it is. */
static void changed_bytes(void)
{
    struct failure failure = {0};
    uint64_t state = 5;
    unsigned char page[400000];
    struct store *store = store_open(file("good.db"), STORE_READ, &failure);
    sqlite3_stmt *select = NULL;
    sqlite3_prepare_v2(store_handle(store),
                       "SELECT data FROM pages ORDER BY run_id,content,first LIMIT 1", -1, &select,
                       NULL);
    sqlite3_step(select);
    int size = sqlite3_column_bytes(select, 0);
    if (size > 0 && size <= (int)sizeof page)
        memcpy(page, sqlite3_column_blob(select, 0), (size_t)size);
    sqlite3_finalize(select);
    store_close(store);
    restore();
    int wrong = 0;
    for (int i = 0; i < 80; i++) {
        int at = i < 20 ? i : (int)dice_below(&state, (uint32_t)size);
        unsigned char bits = (unsigned char)(1 + dice_below(&state, 255));
        page[at] ^= bits;
        const char *sentence =
            sentence_after("UPDATE pages SET data=? WHERE content='ops' AND first=0", page, size);
        page[at] ^= bits;
        if (!names_file_and_run(sentence)) {
            wrong++;
            tap_note("byte %d: '%s'", at, sentence);
        }
    }
    tap_ok(size > 100, "a page has %d bytes", size);
    tap_is_int(wrong, 0, "a changed byte of it is noticed, and file and run are named");
    const char *sentence =
        sentence_after("UPDATE pages SET data=? WHERE content='ops' AND first=0", page, size);
    tap_is_str(sentence, "", "the unchanged page is read");
}

/* The page with `changes` bytes of what is compressed in it changed, and a right checksum again. */
static int forged(uint64_t *state, const void *page, size_t size, int changes, void *forgery,
                  size_t room)
{
    static unsigned char plain[4 << 20];
    size_t length = ZSTD_decompress(plain, sizeof plain, page, size);
    ZSTD_CCtx *context = ZSTD_createCCtx();
    for (int i = 0; i < changes; i++) /* mostly in the first columns, or where they begin */
        plain[dice_below(state, dice_below(state, 2) ? 64 : (uint32_t)length)] =
            (unsigned char)dice_next(state);
    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
    size_t made = ZSTD_compress2(context, forgery, room, plain, length);
    ZSTD_freeCCtx(context);
    return ZSTD_isError(length) || ZSTD_isError(made) ? 0 : (int)made;
}

/* What somebody wrote who knows the format: a trace that keeps the rules of traces, or a refusal. */
static void forgeries(void)
{
    static unsigned char page[1 << 20], forgery[4 << 20];
    struct failure failure = {0};
    uint64_t state = 11;
    int size, refused_ones = 0, made = 0, nameless = 0;
    struct store *store = store_open(file("good.db"), STORE_READ, &failure);
    sqlite3_stmt *select = NULL;
    sqlite3_prepare_v2(store_handle(store),
                       "SELECT data FROM pages WHERE run_id=1 AND content='ops' AND first=0", -1,
                       &select, NULL);
    sqlite3_step(select);
    size = sqlite3_column_bytes(select, 0);
    if (size > 0 && size <= (int)sizeof page)
        memcpy(page, sqlite3_column_blob(select, 0), (size_t)size);
    sqlite3_finalize(select);
    store_close(store);
    restore();
    struct dice_seeds seeds = dice_seeds(60);
    for (unsigned long long i = 0; i < seeds.count; i++) {
        int length = forged(&state, page, (size_t)size, (int)(i % 4), forgery, sizeof forgery);
        const char *sentence = sentence_after(
            "UPDATE pages SET data=? WHERE content='ops' AND first=0", forgery, length);
        made += length > 0;
        refused_ones += *sentence != '\0';
        nameless += *sentence && !(strstr(sentence, "changed.db") && strstr(sentence, "run 1"));
        if (i % 4 == 0 && *sentence)
            tap_ok(false, "an unchanged page that was packed again is read: %s", sentence);
    }
    tap_ok(made > 0 && (unsigned long long)made == seeds.count, "pages are forged");
    tap_ok(refused_ones > made / 10 && refused_ones < made,
           "some are refused (%d of %d), the others are traces", refused_ones, made);
    tap_is_int(nameless, 0, "refusals name file and run");
}

static void refusals(void)
{
    struct failure failure = {0};
    struct store *store = store_open(file("good.db"), STORE_WRITE, &failure);
    struct trace *trace = sample(3, 3000, &failure);
    struct trace *longer = sample(3, 3001, &failure);
    tap_ok(put(store, trace, true, &failure) == 1 && put(store, longer, true, &failure) == 2 &&
               put(store, trace, true, &failure) == 3,
           "a run of three pages, a longer one, the same again: %s", failure.text);
    trace_free(longer);
    trace_free(trace);
    store_close(store);
    if (dice_takes_group(2))
        changed_tables();
    if (dice_takes_group(3))
        changed_bytes();
    if (dice_takes_group(4))
        forgeries();
}

int main(void)
{
    snprintf(folder, sizeof folder, "/tmp/simrun-pages-XXXXXX");
    if (!mkdtemp(folder))
        return 1;
    round_trips();
    if (dice_takes_group(1))
        unpacked();
    if (dice_takes_group(2) || dice_takes_group(3) || dice_takes_group(4))
        refusals();
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    if (system(command) != 0)
        tap_note("could not remove %s", folder);
    return tap_done();
}

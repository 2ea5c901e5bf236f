/* Recording memory: what many ranks write at once is read back, whatever pages the kernel gives,
 * and also after the writer was killed. */
#include "tests/tap.h"

#include "recorder/buffers.h"
#include "recorder/feeder.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RANKS = 4, RECORDS = 60000, SIZE = 64 };

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

/* What the kernel is able to: stands before the C library's. */
static enum kernel { OF_TODAY, WITHOUT_LARGE_PAGES, OF_LONG_AGO } kernel;
static _Atomic int large_pages;

int madvise(void *start, size_t size, int advice)
{
    bool refused = (kernel == OF_LONG_AGO && advice >= MADV_POPULATE_READ) ||
                   (kernel == WITHOUT_LARGE_PAGES && advice == MADV_COLLAPSE);
    if (refused) {
        errno = EINVAL;
        return -1;
    }
    int code = (int)syscall(SYS_madvise, start, size, advice);
    if (advice == MADV_COLLAPSE && code == 0)
        large_pages++;
    return code;
}

struct numbered {
    struct record_head head;
    uint32_t rank;
    uint64_t number, rest[6];
};
_Static_assert(sizeof(struct numbered) == SIZE, "a record of this test");

struct rank {
    struct buffers *buffers;
    uint32_t rank;
    pthread_t thread;
};

static void *write_records(void *context)
{
    const struct rank *rank = context;
    struct buffers_writer writer = {.rank = rank->rank};
    for (uint64_t i = 0; i < RECORDS; i++) {
        if (writer.end - writer.next < SIZE && !buffers_more(rank->buffers, &writer, SIZE))
            return NULL;
        struct numbered *record = (struct numbered *)(void *)writer.next;
        record->rank = rank->rank;
        record->number = i;
        record->rest[5] = ~i;
        record->head.type = RECORD_EDGE;
        __atomic_store_n(&record->head.size, SIZE, __ATOMIC_RELEASE);
        writer.next += SIZE;
    }
    return NULL;
}

static void write_all(struct buffers *buffers)
{
    struct rank ranks[RANKS];
    for (uint32_t i = 0; i < RANKS; i++) {
        ranks[i] = (struct rank){.buffers = buffers, .rank = i};
        pthread_create(&ranks[i].thread, NULL, write_records, &ranks[i]);
    }
    for (uint32_t i = 0; i < RANKS; i++)
        pthread_join(ranks[i].thread, NULL);
}

/* Records that are whole and follow the one before of their rank; chunks of a rank stand in the
 * order in which they were taken. */
static uint64_t count_good(const struct buffers *buffers)
{
    uint64_t good = 0, next[RANKS] = {0};
    for (const struct chunk *chunk = buffers_next_chunk(buffers, NULL); chunk;
         chunk = buffers_next_chunk(buffers, chunk))
        for (const struct record_head *head = buffers_next_record(chunk, NULL); head;
             head = buffers_next_record(chunk, head)) {
            const struct numbered *record = (const void *)head;
            bool right = head->size == SIZE && chunk->rank < RANKS && record->rank == chunk->rank &&
                         record->number == next[chunk->rank] && record->rest[5] == ~record->number;
            good += right;
            next[chunk->rank] += right;
        }
    return good;
}

static void written(enum kernel of, bool fed, const char *name)
{
    struct buffers buffers;
    struct feeder feeder;
    struct failure failure = {0};
    kernel = of;
    if (buffers_init(&buffers, RANKS, 0, &failure))
        tap_note("%s", failure.text);
    if (fed)
        feeder_start(&feeder, &buffers, NULL);
    write_all(&buffers);
    for (int i = 0; i < 2 && fed; i++) /* once more is nothing */
        feeder_stop(&feeder);
    if (fed)
        tap_is_int(feeder.owner, 0, "%s: who prepared it has stopped", name);
    tap_is_int(count_good(&buffers), RANKS * RECORDS, "%s: all records are there, in order%s", name,
               fed ? ", with memory prepared ahead" : "");
    tap_is_int(atomic_load(&buffers.header->lost), 0, "%s: none is lost", name);
    buffers_release(&buffers);
}

static void killed(enum kernel of, const char *name)
{
    struct buffers buffers;
    struct failure failure = {0};
    kernel = of;
    if (buffers_init(&buffers, RANKS, 0, &failure))
        tap_note("%s", failure.text);
    pid_t child = fork();
    if (child == 0) {
        write_all(&buffers);
        kill(getpid(), SIGKILL);
    }
    waitpid(child, NULL, 0);
    tap_is_int(count_good(&buffers), RANKS * RECORDS, "%s: what a killed process wrote is there",
               name);
    buffers_release(&buffers);
}

/* Room for less than is written: what did not fit is counted, the rest is whole. */
static void full(void)
{
    struct buffers buffers;
    struct failure failure = {0};
    kernel = OF_TODAY;
    if (buffers_init(&buffers, RANKS, (size_t)1 << 24, &failure))
        tap_note("%s", failure.text);
    struct rank rank = {.buffers = &buffers};
    for (rank.rank = 0; rank.rank < RANKS; rank.rank++)
        for (int i = 0; i < 4; i++) /* four times the same numbers: only the first are in order */
            write_records(&rank);
    uint64_t good = count_good(&buffers);
    tap_ok(good > 0 && good <= RANKS * RECORDS, "a full memory keeps what fitted");
    tap_ok(atomic_load(&buffers.header->lost) > 0, "and counts what did not");
    buffers_release(&buffers);
}

/* A program under test wrote its own number over where ranks are: no memory is taken for it. */
static void jumped(void)
{
    struct buffers buffers;
    struct failure failure = {0};
    struct feeder feeder;
    uint64_t prepared;
    kernel = OF_TODAY;
    if (buffers_init(&buffers, RANKS, (size_t)1 << 32, &failure)) {
        tap_note("%s", failure.text);
        return;
    }
    atomic_store(&buffers.header->next_unit, buffers.size / BUFFERS_UNIT - BUFFERS_BLOCK);
    feeder_start(&feeder, &buffers, NULL);
    feeder_stop(&feeder);
    prepared = atomic_load(&buffers.header->prepared);
    tap_ok(prepared <= BUFFERS_JUMP, "a number that no recorder wrote takes no memory");
    buffers_release(&buffers);
}

/* The first byte of a gap before a chunk, behind the gap's label; NULL: there is no gap. */
static char *gap_before(const struct chunk *before, const struct chunk *chunk)
{
    char *from = (char *)(uintptr_t)before + (size_t)before->units * BUFFERS_UNIT;
    return from < (const char *)chunk ? from + sizeof *chunk : NULL;
}

/* Ranks that write by turns. */
static void write_much(struct buffers *buffers)
{
    struct buffers_writer writers[RANKS] = {{.rank = 0}, {.rank = 1}, {.rank = 2}, {.rank = 3}};
    for (int i = 0; i < 4 * RECORDS; i++)
        for (uint32_t rank = 0; rank < RANKS; rank++) {
            struct buffers_writer *writer = &writers[rank];
            if (writer->end - writer->next < SIZE && !buffers_more(buffers, writer, SIZE))
                return;
            struct record_head *head = (struct record_head *)(void *)writer->next;
            *head = (struct record_head){.size = SIZE, .type = RECORD_EDGE};
            writer->next += SIZE;
        }
}

static void blocks(void)
{
    struct buffers buffers;
    struct failure failure = {0};
    char text[160] = "", *gap = NULL;
    size_t whole = 0, shared = 0, records = 0;
    if (buffers_init(&buffers, RANKS, (size_t)1 << 30, &failure)) {
        tap_note("%s", failure.text);
        return;
    }
    write_much(&buffers);
    const struct chunk *before = NULL, *behind = NULL;
    for (const struct chunk *chunk = buffers_next_chunk(&buffers, NULL); chunk;
         before = chunk, chunk = buffers_next_chunk(&buffers, chunk)) {
        size_t unit = (size_t)((const char *)chunk - (const char *)buffers.header) / BUFFERS_UNIT;
        whole += chunk->units == BUFFERS_BLOCK && unit % BUFFERS_BLOCK == 0;
        shared += chunk->units == BUFFERS_BLOCK && unit % BUFFERS_BLOCK != 0;
        gap = !gap && before ? gap_before(before, chunk) : gap;
        behind = buffers_chunk_behind(&buffers, behind);
        if (chunk != behind)
            break;
        for (const struct record_head *head = buffers_next_record(chunk, NULL); head;
             head = buffers_next_record(chunk, head))
            records++;
    }
    tap_ok(whole >= 5 * RANKS && shared == 0,
           "ranks that write much have large pages of their own");
    tap_is_int((long long)records, 4 * RECORDS * RANKS,
               "all of it is read, before the end of the run too");
    tap_ok(!buffers_damaged(&buffers, RANKS, true, text, sizeof text), "and is what it must be: %s",
           text);
    tap_ok(gap != NULL, "something lies between them");
    if (gap) {
        gap[BUFFERS_UNIT] = 1;
        tap_ok(buffers_damaged(&buffers, RANKS, true, text, sizeof text),
               "who writes there is noticed: %s", text);
    }
    buffers_release(&buffers);
}

int main(void)
{
    static const char *const names[] = {"a kernel of today", "one without large pages",
                                        "one of long ago"};
    for (int of = OF_TODAY; of <= OF_LONG_AGO; of++) {
        written((enum kernel)of, true, names[of]);
        written((enum kernel)of, false, names[of]);
        killed((enum kernel)of, names[of]);
    }
    full();
    jumped();
    blocks();
    tap_note("%d large pages", large_pages);
    return tap_done();
}

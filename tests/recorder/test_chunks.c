/* Where chunks of recording memory lie, against sums: writers that ask for room of any size, in memory and in files, with all limits;
 * what iterates over chunks meets those and no others, whatever is labelled wrong or given back. */
#include "tests/dice.h"
#include "tests/tap.h"

#include "recorder/buffers.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RANKS = 3, UNIT = 4096, BLOCK = 512, CHUNKS = 600, HEAD = 16 };

struct place {
    uint64_t unit;
    uint32_t rank, sequence, units; /* rank UINT32_MAX: nobody's */
};

struct model {
    struct place places[2 * CHUNKS];
    int count;
    uint64_t next, total, lost, settled, freed, limit;
    uint32_t units[RANKS], sequence[RANKS];
};

static char *base_of(const struct buffers *buffers)
{
    return (char *)buffers->header;
}

static struct chunk *chunk_of(const struct buffers *buffers, uint64_t unit)
{
    return (struct chunk *)(void *)(base_of(buffers) + unit * UNIT);
}

static bool model_more(struct model *model, uint32_t rank, uint32_t most, bool on_disk, size_t size,
                       uint64_t *unit)
{
    uint32_t largest = most ? most : BLOCK, units = 1;
    if (model->units[rank])
        units = model->units[rank] >= (largest + 1) / 2 ? largest : 2 * model->units[rank];
    while (units * (uint64_t)UNIT - HEAD < size)
        units += units;
    uint64_t in_use = model->next < model->total ? model->next : model->total;
    in_use = in_use > model->freed ? in_use - model->freed : 0;
    if (model->limit && in_use + units > model->limit) {
        model->lost++;
        return false;
    }
    *unit = model->next;
    if (units == BLOCK && !on_disk && *unit % BLOCK) {
        uint32_t gap = (uint32_t)(BLOCK - *unit % BLOCK);
        *unit += gap;
        model->settled += gap;
        if (*unit <= model->total)
            model->places[model->count++] = (struct place){model->next, UINT32_MAX, 0, gap};
    }
    model->next = *unit + units;
    if (model->next > model->total) {
        model->lost++;
        return false;
    }
    model->units[rank] = units;
    model->places[model->count++] = (struct place){*unit, rank, model->sequence[rank]++, units};
    return true;
}

static int iterated(const struct buffers *buffers, const struct model *model)
{
    const struct chunk *one = NULL, *other = NULL;
    int wrong = 0;
    bool beyond = model->next > model->total; /* who looks while ranks run asks no further */
    for (int i = 0; i < model->count; i++) {
        const struct place *place = &model->places[i];
        const struct chunk *due = chunk_of(buffers, place->unit);
        if (place->rank == UINT32_MAX) {
            wrong += buffers_nobodys_units(due) != place->units;
            continue;
        }
        wrong += buffers_nobodys_units(due) != 0;
        one = buffers_next_chunk(buffers, one);
        if (!beyond)
            other = buffers_chunk_behind(buffers, other);
        if (one != due || (!beyond && other != due))
            return wrong + 1;
        wrong += due->rank != place->rank || due->sequence != place->sequence ||
                 due->units != place->units;
    }
    return wrong + (buffers_next_chunk(buffers, one) != NULL) +
           (buffers_chunk_behind(buffers, other) != NULL);
}

static int numbers(const struct buffers *buffers, const struct model *model)
{
    const struct buffers_header *header = buffers->header;
    uint64_t used = model->next < model->total ? model->next : model->total;
    return (atomic_load(&header->next_unit) != model->next) +
           (atomic_load(&header->lost) != model->lost) +
           (atomic_load(&header->settled) != model->settled) +
           (buffers_used(buffers) != used * UNIT) +
           (buffers_kept(buffers) != (used > model->freed ? used - model->freed : 0)) +
           (buffers_full(buffers) != (model->lost > 0));
}

static void model_begin(struct model *model, const struct buffers *buffers)
{
    uint64_t limit = buffers->limit;
    *model = (struct model){.next = (sizeof(struct buffers_header) + UNIT - 1) / UNIT,
                            .total = buffers->size / UNIT,
                            .limit = limit};
}

static struct model model;

/* Asks for room again and again; how often it was not where it is due. */
static int ask(struct buffers *buffers, uint64_t *dice, uint32_t most, int times)
{
    struct buffers_writer writers[RANKS] = {{.rank = 0}, {.rank = 1}, {.rank = 2}};
    int wrong = 0;
    model_begin(&model, buffers);
    for (int i = 0; i < times; i++) {
        uint32_t rank = dice_below(dice, RANKS);
        uint64_t unit = 0;
        size_t sizes[] = {8, UNIT - HEAD, UNIT - HEAD + 8, 60000,
                          (size_t)UNIT * dice_below(dice, 40)};
        size_t size = sizes[dice_below(dice, 3) ? 0 : dice_below(dice, 5)];
        struct buffers_writer *writer = &writers[rank];
        bool due = model_more(&model, rank, most, buffers->on_disk, size, &unit);
        bool got = buffers_more(buffers, writer, size);
        const char *at = base_of(buffers) + unit * UNIT;
        wrong += got != due || (got && (writer->next != at + HEAD ||
                                        writer->end != at + (size_t)writer->units * UNIT));
        wrong += !got && (writer->next || writer->end);
        wrong += got && writer->units != model.units[rank];
        if (got) /* to its last byte */
            writer->next[size - !!size] = writer->end[-1] = 1;
        if (dice_below(dice, 9) == 0 && !buffers->on_disk) {
            model.freed += dice_below(dice, 5);
            atomic_store(&buffers->header->freed, model.freed);
        }
        wrong += numbers(buffers, &model);
        if (i % 8 == 7 || i + 1 == times)
            wrong += iterated(buffers, &model);
    }
    return wrong;
}

static bool is_clear(const struct buffers *buffers)
{
    const char *from = base_of(buffers) + buffers_first_unit() * UNIT,
               *end = base_of(buffers) + buffers->size;
    const struct buffers_header *header = buffers->header;
    return *from == 0 && memcmp(from, from + 1, (size_t)(end - from) - 1) == 0 &&
           header->next_unit == buffers_first_unit() && !header->lost && !header->freed &&
           !header->settled && !buffers_next_chunk(buffers, NULL);
}

static void in_memory(void)
{
    static const uint32_t mosts[] = {0, 1, 2, 3, 16, 33, 512, 700};
    uint64_t dice = 3;
    struct failure failure = {0};
    for (unsigned i = 0; i < sizeof mosts / sizeof *mosts; i++)
        for (int limited = 0; limited < 2; limited++) {
            struct buffers buffers;
            if (buffers_init(&buffers, RANKS, (size_t)1 << 24, &failure))
                abort();
            buffers.most = mosts[i];
            buffers.limit = limited ? 200 + 300 * i : 0;
            int wrong = ask(&buffers, &dice, mosts[i], 70);
            wrong += atomic_load(&buffers.header->freed) != model.freed;
            buffers_clear(&buffers);
            wrong += !is_clear(&buffers);
            wrong += ask(&buffers, &dice, mosts[i], 20);
            tap_is_int(wrong, 0,
                       "chunks of %u units at most%s lie where they are due, and once more after "
                       "all were taken back",
                       mosts[i], limited ? " in less memory" : "");
            buffers_release(&buffers);
        }
}

/* A chunk of a block, wherever the one before it ended. */
static void after_any(void)
{
    static const uint64_t ends[] = {0, 1, 2, BLOCK / 2, BLOCK - 1};
    struct buffers buffers;
    struct failure failure = {0};
    if (buffers_init(&buffers, RANKS, (size_t)1 << 24, &failure))
        abort();
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        struct buffers_writer writer = {.units = BLOCK};
        uint64_t begin = 2 * BLOCK + ends[i], due = ends[i] ? 3 * BLOCK : 2 * BLOCK;
        atomic_store(&buffers.header->next_unit, begin);
        atomic_store(&buffers.header->settled, 0);
        memset(chunk_of(&buffers, begin), 0, HEAD);
        bool given = buffers_more(&buffers, &writer, 8);
        tap_ok(given && writer.next == chunk_of(&buffers, due)->records &&
                   atomic_load(&buffers.header->settled) == due - begin &&
                   buffers_nobodys_units(chunk_of(&buffers, begin)) == due - begin,
               "behind unit %d of a block", (int)ends[i]);
    }
    buffers_release(&buffers);
}

/* ---- what is labelled wrong ---- */

static const struct place few[] = {
    {0, 0, 0, 1}, {1, 1, 0, 2}, {3, 0, 1, 1}, {4, 2, 0, 3}, {7, 1, 1, 1}};
enum { FEW = sizeof few / sizeof *few, UNITS = 8 };

/* What is met behind chunk `last` by both ways to ask, as the number of one of the few, FEW: none. */
static void meets(const struct buffers *buffers, int last, int next, int behind, const char *what)
{
    uint64_t first = buffers_first_unit();
    const struct chunk *of[FEW + 1] = {NULL};
    for (int i = 0; i < FEW; i++)
        of[i] = chunk_of(buffers, first + few[i].unit);
    const struct chunk *from = last < 0 ? NULL : of[last];
    tap_ok(buffers_next_chunk(buffers, from) == of[next] &&
               buffers_chunk_behind(buffers, from) == of[behind],
           "%s", what);
}

static void few_again(struct buffers *buffers)
{
    buffers_clear(buffers);
    struct buffers_writer writer;
    for (int i = 0; i < FEW; i++) {
        writer = (struct buffers_writer){
            .rank = few[i].rank, .sequence = few[i].sequence, .units = few[i].units};
        buffers->most = few[i].units;
        if (!buffers_more(buffers, &writer, 8))
            abort();
        memset(writer.next, 7, 8);
    }
}

static void labelled(void)
{
    struct buffers buffers;
    struct failure failure = {0};
    if (buffers_init(&buffers, RANKS, (size_t)1 << 24, &failure))
        abort();
    tap_ok(fcntl(buffers.file, F_GET_SEALS) == (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) &&
               fcntl(buffers.file, F_GETFD) == FD_CLOEXEC,
           "nobody else makes the memory smaller, or inherits it");
    tap_ok((uintptr_t)buffers.header % ((uintptr_t)BLOCK * UNIT) == 0,
           "it begins where a large page may");
    uint64_t first = buffers_first_unit(), total = buffers.size / UNIT;
    struct chunk *third = chunk_of(&buffers, first + 3), *last = chunk_of(&buffers, first + 7);
    few_again(&buffers);
    meets(&buffers, -1, 0, 0, "the first chunk is met first");
    meets(&buffers, 1, 2, 2, "and each behind the one before");
    meets(&buffers, 4, FEW, FEW, "none behind the last");
    third->magic++;
    meets(&buffers, 1, 3, FEW, "a chunk without a label is passed over, or not yet labelled");
    few_again(&buffers);
    third->units = 0;
    meets(&buffers, 1, 3, FEW, "one of no unit is none");
    few_again(&buffers);
    third->units = UNITS - 3;
    meets(&buffers, 1, 2, 2, "one that reaches to the end is one");
    third->units++;
    meets(&buffers, 1, 3, FEW, "one that reaches further is none");
    few_again(&buffers);
    last->units = 2;
    meets(&buffers, 3, FEW, FEW, "nor is the last one then");
    few_again(&buffers);
    third->rank = UINT32_MAX;
    meets(&buffers, 1, 3, 3, "one of nobody is passed over");
    few_again(&buffers);
    chunk_of(&buffers, first + 1)->magic = 0;
    memset(chunk_of(&buffers, first + 2), 0, UNIT);
    buffers_give_back(&buffers, first + 1, 2);
    atomic_store(&buffers.header->freed, 2);
    meets(&buffers, 0, 2, FEW, "what was given back is passed over");
    buffers_give_back(&buffers, first + 4, 4);
    meets(&buffers, 2, FEW, FEW, "to the end");
    tap_ok(*(char *)third->records == 7, "nothing else is");
    few_again(&buffers);
    atomic_store(&buffers.header->next_unit, total + 9);
    meets(&buffers, 1, 2, FEW, "more units than there are are no recorder's, while ranks run");
    atomic_store(&buffers.header->next_unit, total);
    meets(&buffers, 4, FEW, FEW, "as many as there are may be");
    meets(&buffers, 1, 2, 2, "and chunks are met");
    buffers_release(&buffers);
    tap_ok(buffers.file == -1 && !buffers.header, "released, it has neither file nor memory");
}

/* ---- records ---- */

static void records(void)
{
    union {
        struct chunk chunk;
        struct record_head heads[2 * UNIT / sizeof(struct record_head)];
    } memory;
    int wrong = 0;
    for (uint32_t size = 0; size <= 2 * UNIT; size++)
        for (uint32_t units = 1; units <= 2; units++) {
            memset(&memory, 0, sizeof memory);
            memory.chunk.units = units;
            struct record_head *first = &memory.heads[HEAD / sizeof(struct record_head)];
            first->size = (uint16_t)size;
            bool good = size && size % 8 == 0 && size <= units * UNIT - HEAD;
            const struct record_head *found = buffers_next_record(&memory.chunk, NULL),
                                     *next = NULL;
            wrong += found != (good ? first : NULL);
            if (!good)
                continue;
            bool more = size + 8 <= units * UNIT - HEAD;
            struct record_head *second = first + size / sizeof(struct record_head);
            if (more)
                second->size = 8;
            next = buffers_next_record(&memory.chunk, found);
            wrong += next != (more ? second : NULL);
            wrong += buffers_record_within(&memory.chunk, 3 - units, NULL) !=
                     (size <= (3 - units) * UNIT - HEAD ? first : NULL);
        }
    tap_is_int(wrong, 0, "a record is of eights of bytes, and within its chunk");
}

/* ---- files ---- */

static bool refused(const char *path, const char *with)
{
    struct buffers buffers;
    struct failure failure = {0};
    bool no = buffers_open_file(&buffers, path, &failure) != 0;
    if (!no)
        buffers_release(&buffers);
    return no && failure.code == FAILURE_INPUT && strstr(failure.text, path) &&
           strstr(failure.text, with) && !buffers.header && buffers.file == -1;
}

static void put_head(const char *path, const struct buffers_header *header, size_t size)
{
    FILE *file = fopen(path, "r+");
    if (!file || fwrite(header, 1, size, file) != size || fclose(file))
        abort();
}

static void in_files(void)
{
    char path[64];
    static struct buffers_header header;
    struct buffers buffers;
    struct failure failure = {0};
    struct stat status;
    uint64_t dice = 4;
    snprintf(path, sizeof path, "/tmp/simrun-chunks-%ld", (long)getpid());
    if (buffers_init_file(&buffers, path, &failure))
        abort();
    int wrong = ask(&buffers, &dice, 0, 30);
    tap_is_int(wrong, 0, "in a file chunks follow each other without anything between");
    tap_ok(buffers.on_disk && buffers.header->ranks == 1, "which is of one rank");
    tap_ok(!atomic_load(&buffers.header->prepared), "no blocks are prepared in it");
    buffers_close_file(&buffers);
    tap_ok(stat(path, &status) == 0 && (uint64_t)status.st_size == model.next * UNIT,
           "the file ends where they end");
    tap_ok(!buffers_open_file(&buffers, path, &failure), "it is read again: %s", failure.text);
    tap_is_int(iterated(&buffers, &model), 0, "and has the same chunks");
    header = *buffers.header;
    header.image_count = BUFFERS_IMAGES;
    put_head(path, &header, sizeof header);
    buffers_release(&buffers);
    tap_ok(!refused(path, ""), "as many images as fit are right");
    header.image_count++;
    put_head(path, &header, sizeof header);
    tap_ok(refused(path, "rank file"), "one more is not");
    header.image_count = 0;
    header.version++;
    put_head(path, &header, sizeof header);
    tap_ok(refused(path, "rank file"), "nor is another version");
    header.version--;
    header.magic ^= 1;
    put_head(path, &header, sizeof header);
    tap_ok(refused(path, "rank file"), "nor what is no rank file");
    header.magic ^= 1;
    put_head(path, &header, sizeof header);
    tap_ok(truncate(path, sizeof header) == 0 && !refused(path, ""), "a head alone is one");
    tap_ok(truncate(path, sizeof header - 1) == 0 && refused(path, "rank file"), "less is not");
    unlink(path);
    tap_ok(refused(path, strerror(ENOENT)), "what is not there says so");
    tap_ok(buffers_init_file(&buffers, "/tmp/simrun-none/there", &failure) &&
               strstr(failure.text, "/tmp/simrun-none/there") &&
               strstr(failure.text, strerror(ENOENT)),
           "and where none can be made: %s", failure.text);
}

/* ---- who waits for room ---- */

static struct buffers shared;
static struct buffers_writer waiter;
static bool was_given;

static void *wait_for_room(void *context)
{
    (void)context;
    errno = 77;
    was_given = buffers_more(&shared, &waiter, 8) && errno == 77;
    return NULL;
}

static void interrupted(int number)
{
    (void)number;
}

static void let_go(uint32_t rank, _Atomic uint64_t *what, uint64_t units, bool given,
                   const char *name)
{
    pthread_t thread;
    struct buffers_header *header = shared.header;
    uint64_t lost = atomic_load(&header->lost);
    waiter = (struct buffers_writer){.rank = rank};
    atomic_store(&header->relieved, 1);
    char *beyond = base_of(&shared) + offsetof(struct buffers_header, waiting) + BUFFERS_WAITERS;
    *beyond = 9;
    if (pthread_create(&thread, NULL, wait_for_room, NULL))
        abort();
    while (rank < BUFFERS_WAITERS && !atomic_load(&header->waiting[rank]))
        sched_yield();
    for (int i = 0; i < 200; i++) { /* which interrupt its waiting: no fault of the program's */
        pthread_kill(thread, SIGUSR1);
        sched_yield();
    }
    bool waited = atomic_load(&header->lost) == lost;
    if (what)
        atomic_fetch_add(what, units);
    else
        atomic_store(&header->relieved, 0);
    pthread_join(thread, NULL);
    waited = waited && *beyond == 9;
    tap_ok(waited && was_given == given && atomic_load(&header->lost) == lost + !given &&
               (rank >= BUFFERS_WAITERS || !atomic_load(&header->waiting[rank])),
           "%s", name);
}

static bool is_given_at_once(void)
{
    waiter = (struct buffers_writer){.rank = 1};
    atomic_store(&shared.header->relieved, 1);
    wait_for_room(NULL);
    return was_given;
}

/* A number that no recorder wrote is far away, and nothing is prepared up to there. */
static void far_away(void)
{
    struct buffers_header *header = shared.header;
    struct buffers_writer writer = {.units = 8};
    atomic_store(&header->next_unit, BUFFERS_JUMP + 100);
    tap_ok(buffers_more(&shared, &writer, 8) && !atomic_load(&header->prepared),
           "what is far away is not prepared");
    atomic_store(&header->prepared, BUFFERS_JUMP);
    tap_ok(buffers_more(&shared, &writer, 8) &&
               atomic_load(&header->prepared) == BUFFERS_JUMP + BLOCK,
           "what is near is");
}

static void who_waits(void)
{
    struct failure failure = {0};
    struct sigaction action = {.sa_handler = interrupted};
    sigaction(SIGUSR1, &action, NULL);
    if (buffers_init(&shared, RANKS, 0, &failure))
        abort();
    struct buffers_header *header = shared.header;
    uint64_t first = buffers_first_unit();
    shared.limit = first + 2;
    tap_ok(is_given_at_once() && is_given_at_once(), "what there is is given at once");
    let_go(1, &header->freed, 1, true, "a rank waits until something is dropped");
    let_go(BUFFERS_WAITERS - 1, &header->freed, 1, true, "the last of which it is told, too");
    let_go(BUFFERS_WAITERS, &header->freed, 1, true, "further ones wait untold");
    let_go(1, NULL, 0, false, "or until nobody drops anything any more: then there is none");
    shared.limit = 0;
    /* So much may be unpacked: 128 MiB, and 32 MiB for each rank. */
    uint64_t most = ((uint64_t)128 + 32 * RANKS) << 20;
    atomic_store(&header->next_unit, most / UNIT);
    atomic_store(&header->settled, 0);
    tap_ok(is_given_at_once(), "what is not yet packed may be so much");
    let_go(1, &header->settled, 1, true, "with more a rank waits until something is packed");
    let_go(1, NULL, 0, true, "or until nobody packs any more: there is room");
    far_away();
    buffers_release(&shared);
}

/* ---- what is prepared ahead ---- */

static void prepared(void)
{
    struct buffers buffers;
    struct failure failure = {0};
    if (buffers_init(&buffers, RANKS, (size_t)1 << 24, &failure))
        abort();
    uint64_t total = buffers.size / UNIT, blocks = 0;
    while (blocks < 2 * total && buffers_prepare(&buffers))
        blocks++;
    tap_is_int((long long)blocks, (long long)(total / BLOCK),
               "all blocks are prepared, one after the other, and no more");
    tap_is_int((long long)atomic_load(&buffers.header->prepared), (long long)total, "to the end");
    atomic_store(&buffers.header->prepared, total + 1);
    tap_ok(!buffers_prepare(&buffers), "nothing is where the number is not what it was");
    buffers_release(&buffers);
    tap_ok(!buffers_init(&buffers, RANKS, ((size_t)1 << 24) + UNIT * (BLOCK - 1), &failure),
           "memory that ends within a block");
    for (blocks = 0; blocks < 2 * total && buffers_prepare(&buffers);)
        blocks++;
    tap_is_int((long long)blocks, (long long)(total / BLOCK), "has a part that is not");
    buffers_release(&buffers);
    tap_ok(buffers_init(&buffers, RANKS, UNIT, &failure) && buffers.file == -1,
           "too little memory is none: %s", failure.text);
}

int main(void)
{
    void (*const all[])(void) = {in_memory, after_any, labelled, records,
                                 in_files,  who_waits, prepared};
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        all[i]();
    return tap_done();
}

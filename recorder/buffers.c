/* Memory in which ranks append records: see buffers.h. */
#include "recorder/buffers.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define HEADER_MAGIC 0x31304345524d4953u /* "SIMREC01" */
#define CHUNK_MAGIC  0x4b484353u
#define NOBODY       UINT32_MAX

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

enum { WAIT_NS = 50000, PREPARE_UNITS = 8, FORMAT = 5 }; /* 5: order of an operation's fields */

uint64_t buffers_first_unit(void)
{
    return (sizeof(struct buffers_header) + BUFFERS_UNIT - 1) / BUFFERS_UNIT;
}

/* Maps the file to an address that large pages may begin at. */
static void *map_aligned(int file, size_t size)
{
    size_t block = (size_t)BUFFERS_BLOCK * BUFFERS_UNIT;
    char *room =
        mmap(NULL, size + block, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED)
        return MAP_FAILED;
    size_t before = (block - (uintptr_t)room % block) % block;
    char *memory = mmap(room + before, size, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_NORESERVE | MAP_FIXED, file, 0);
    if (memory == MAP_FAILED) {
        munmap(room, size + block);
        return MAP_FAILED;
    }
    if (before)
        munmap(room, before);
    munmap(memory + size, block - before);
    return memory;
}

static int map(struct buffers *buffers, size_t size, struct failure *failure)
{
    void *memory = MAP_FAILED;
    for (; memory == MAP_FAILED && size >= ((size_t)1 << 24); size /= 2) {
        if (ftruncate(buffers->file, (off_t)size) != 0)
            continue;
        memory = map_aligned(buffers->file, size);
        buffers->size = size;
    }
    if (memory == MAP_FAILED)
        return failure_set(failure, FAILURE_INTERNAL, "no memory for recording: %s",
                           strerror(errno));
    buffers->header = memory;
    return 0;
}

static void header_fill(struct buffers *buffers, uint32_t ranks)
{
    struct buffers_header *header = buffers->header;
    header->version = FORMAT;
    header->ranks = ranks;
    header->units = buffers->size / BUFFERS_UNIT;
    atomic_store(&header->next_unit, buffers_first_unit());
    header->magic = HEADER_MAGIC;
}

int buffers_init(struct buffers *buffers, uint32_t ranks, size_t size, struct failure *failure)
{
    *buffers =
        (struct buffers){.file = memfd_create("simrun-records", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
    if (buffers->file < 0)
        return failure_set(failure, FAILURE_INTERNAL, "memfd_create: %s", strerror(errno));
    int code = map(buffers, size ? size : (size_t)1 << 36, failure);
    if (code) {
        buffers_release(buffers);
        return code;
    }
    header_fill(buffers, ranks);
    /* Nobody makes it shorter under our eyes; without seals it is what it is. */
    (void)fcntl(buffers->file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
    return 0;
}

void buffers_release(struct buffers *buffers)
{
    if (buffers->header)
        munmap(buffers->header, buffers->size);
    if (buffers->file >= 0)
        close(buffers->file);
    *buffers = (struct buffers){.file = -1};
}

void buffers_clear(struct buffers *buffers)
{
    struct buffers_header *header = buffers->header;
    uint64_t first = buffers_first_unit(), used = atomic_load(&header->next_unit);
    used = used < header->units ? used : header->units;
    memset((char *)header + first * BUFFERS_UNIT, 0, (used - first) * BUFFERS_UNIT);
    atomic_store(&header->next_unit, first);
    atomic_store(&header->lost, 0);
    atomic_store(&header->freed, 0);
    atomic_store(&header->settled, 0);
}

int buffers_init_file(struct buffers *buffers, const char *path, struct failure *failure)
{
    *buffers = (struct buffers){.file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)};
    if (buffers->file < 0)
        return failure_set(failure, FAILURE_INTERNAL, "%s: %s", path, strerror(errno));
    int code = map(buffers, (size_t)1 << 33, failure);
    if (code) {
        buffers_release(buffers);
        return failure_prefix(failure, "%s", path);
    }
    header_fill(buffers, 1);
    buffers->on_disk = true;
    return 0;
}

void buffers_close_file(struct buffers *buffers)
{
    off_t used = (off_t)(atomic_load(&buffers->header->next_unit) * BUFFERS_UNIT);
    if (ftruncate(buffers->file, used) != 0)
        used = 0; /* the file stays sparse, which costs nothing but its apparent size */
    buffers_release(buffers);
}

bool buffers_header_known(const struct buffers *buffers)
{
    return buffers->header->magic == HEADER_MAGIC && buffers->header->version == FORMAT;
}

int buffers_open_file(struct buffers *buffers, const char *path, struct failure *failure)
{
    struct stat status;
    *buffers = (struct buffers){.file = open(path, O_RDONLY | O_CLOEXEC)};
    if (buffers->file < 0 || fstat(buffers->file, &status) != 0) {
        int code = failure_set(failure, FAILURE_INPUT, "%s: %s", path, strerror(errno));
        buffers_release(buffers);
        return code;
    }
    buffers->size = (size_t)status.st_size;
    void *memory = buffers->size >= sizeof(struct buffers_header)
                       ? mmap(NULL, buffers->size, PROT_READ, MAP_SHARED, buffers->file, 0)
                       : MAP_FAILED;
    buffers->header = memory == MAP_FAILED ? NULL : memory;
    if (!buffers->header || !buffers_header_known(buffers) ||
        buffers->header->image_count > BUFFERS_IMAGES) {
        buffers_release(buffers);
        return failure_set(failure, FAILURE_INPUT, "%s: not a rank file of this version", path);
    }
    return 0;
}

/* One large page if the kernel (6.1 and later) gives one now, whatever it is told to do by itself;
 * else its small pages one by one, which takes ten times as long. */
static bool prepare_block(struct buffers_header *header, uint64_t unit)
{
    char *start = (char *)header + unit * BUFFERS_UNIT;
    size_t size = (size_t)BUFFERS_BLOCK * BUFFERS_UNIT;
    if (madvise(start, BUFFERS_UNIT, MADV_POPULATE_WRITE) != 0)
        return false; /* an older kernel, or no memory: ranks touch for themselves */
    if (madvise(start, size, MADV_COLLAPSE) == 0)
        return true;
    atomic_store(&header->small_pages, 1);
    return madvise(start, size, MADV_POPULATE_WRITE) == 0;
}

bool buffers_prepare(struct buffers *buffers)
{
    struct buffers_header *header = buffers->header;
    uint64_t unit = atomic_load(&header->prepared), units = buffers->size / BUFFERS_UNIT;
    do
        if (unit >= units || units - unit < BUFFERS_BLOCK)
            return false;
    while (!atomic_compare_exchange_weak(&header->prepared, &unit, unit + BUFFERS_BLOCK));
    return prepare_block(header, unit);
}

/* A rank that writes much does not wait for the kernel page by page. */
static void touch(struct buffers *buffers, void *chunk, uint64_t end, size_t size)
{
    const struct buffers_header *header = buffers->header;
    if (buffers->on_disk) {
        madvise(chunk, size, MADV_POPULATE_WRITE);
        return;
    }
    for (uint64_t at; (at = atomic_load(&header->prepared)) < end;)
        if (end - at > BUFFERS_JUMP || !buffers_prepare(buffers))
            break;
    if (atomic_load(&header->small_pages))
        madvise(chunk, size, MADV_POPULATE_READ); /* several at a time, and they can be written */
}

/* What is not packed at once: some, and what a rank writes to, with what lies between. */
enum { UNPACKED_UNITS = 1 << 15, UNPACKED_OF_RANK = 1 << 13 };

/* Waits while somebody else has much to pack, or makes room; false when nobody does. */
static bool is_room(const struct buffers *buffers, uint32_t rank, uint64_t wanted)
{
    struct buffers_header *header = buffers->header;
    int before = errno;
    bool room, late, waits = false;
    uint64_t unpacked = UNPACKED_UNITS + (uint64_t)header->ranks * UNPACKED_OF_RANK;
    while ((room = !buffers->limit || buffers_kept(buffers) + wanted <= buffers->limit,
            late = buffers_used(buffers) / BUFFERS_UNIT > atomic_load(&header->settled) + unpacked,
            !room || late) &&
           atomic_load(&header->relieved)) {
        if (!waits && rank < BUFFERS_WAITERS)
            atomic_store(&header->waiting[rank], 1);
        waits = true;
        nanosleep(&(struct timespec){.tv_nsec = WAIT_NS}, NULL);
    }
    if (waits && rank < BUFFERS_WAITERS)
        atomic_store(&header->waiting[rank], 0);
    errno = before;
    return room;
}

static struct chunk *chunk_at(const struct buffers *buffers, uint64_t unit)
{
    return (struct chunk *)(void *)((char *)buffers->header + unit * BUFFERS_UNIT);
}

static void label(struct chunk *chunk, uint32_t rank, uint32_t sequence, uint32_t units)
{
    chunk->rank = rank;
    chunk->sequence = sequence;
    chunk->units = units;
    atomic_thread_fence(memory_order_release);
    chunk->magic = CHUNK_MAGIC;
}

/* The first of so many units. A chunk of a block's size is a block: given back, it is a large page
 * again, whatever else is kept. What lies before it is nobody's. */
static uint64_t take_units(struct buffers *buffers, uint32_t wanted)
{
    struct buffers_header *header = buffers->header;
    if (wanted != BUFFERS_BLOCK || buffers->on_disk)
        return atomic_fetch_add(&header->next_unit, wanted);
    uint64_t before = atomic_load(&header->next_unit), unit;
    do
        unit = (before + BUFFERS_BLOCK - 1) / BUFFERS_BLOCK * BUFFERS_BLOCK;
    while (!atomic_compare_exchange_weak(&header->next_unit, &before, unit + wanted));
    atomic_fetch_add(&header->settled, unit - before);
    if (unit > before && unit <= buffers->size / BUFFERS_UNIT)
        label(chunk_at(buffers, before), NOBODY, 0, (uint32_t)(unit - before));
    return unit;
}

bool buffers_more(struct buffers *buffers, struct buffers_writer *writer, size_t size)
{
    struct buffers_header *header = buffers->header;
    uint32_t most = buffers->most ? buffers->most : BUFFERS_BLOCK;
    uint32_t wanted = writer->units == 0 ? 1 : writer->units * 2 < most ? writer->units * 2 : most;
    while ((size_t)wanted * BUFFERS_UNIT < size + sizeof(struct chunk))
        wanted *= 2;
    bool room = is_room(buffers, writer->rank, wanted);
    uint64_t unit = room ? take_units(buffers, wanted) : 0;
    if (!room || unit + wanted > buffers->size / BUFFERS_UNIT) {
        atomic_fetch_add(&header->lost, 1);
        writer->next = writer->end = NULL;
        return false;
    }
    struct chunk *chunk = chunk_at(buffers, unit);
    if (wanted >= PREPARE_UNITS)
        touch(buffers, chunk, unit + wanted, (size_t)wanted * BUFFERS_UNIT);
    /* The fault of the first write is over before the number is taken: with it comes whatever signal
     * waits, and its handler may need a chunk, too. */
    *(volatile uint32_t *)&chunk->magic = 0;
    label(chunk, writer->rank, writer->sequence++, wanted);
    writer->units = wanted;
    writer->next = chunk->records;
    writer->end = (char *)chunk + (size_t)wanted * BUFFERS_UNIT;
    return true;
}

/* The first unit from `unit` on that is memory. A number in the header that is no longer the
 * recorder's must not make us read, and thereby take, gigabytes that nobody has written; nor those
 * that were given back. */
static uint64_t next_touched(const struct buffers *buffers, uint64_t unit, uint64_t end)
{
    if (atomic_load(&buffers->header->freed) == 0 && chunk_at(buffers, unit)->magic == CHUNK_MAGIC)
        return unit;
    off_t at = lseek(buffers->file, (off_t)(unit * BUFFERS_UNIT), SEEK_DATA);
    if (at < 0)
        return errno == ENXIO ? end : unit; /* nothing more; or a file system that cannot tell */
    return (uint64_t)at / BUFFERS_UNIT > unit ? (uint64_t)at / BUFFERS_UNIT : unit;
}

const struct chunk *buffers_next_chunk(const struct buffers *buffers, const struct chunk *chunk)
{
    const char *base = (const char *)buffers->header;
    uint64_t unit = buffers_first_unit(), end = atomic_load(&buffers->header->next_unit);
    if (end > buffers->size / BUFFERS_UNIT)
        end = buffers->size / BUFFERS_UNIT;
    if (chunk)
        unit = (uint64_t)((const char *)chunk - base) / BUFFERS_UNIT + chunk->units;
    /* A chunk taken but not yet labelled when its owner died is all zero. */
    while (unit < end && (unit = next_touched(buffers, unit, end)) < end) {
        const struct chunk *next = chunk_at(buffers, unit);
        bool known = next->magic == CHUNK_MAGIC && next->units > 0 && next->units <= end - unit;
        if (known && next->rank != NOBODY)
            return next;
        unit += known ? next->units : 1;
    }
    return NULL;
}

const struct chunk *buffers_chunk_behind(const struct buffers *buffers, const struct chunk *chunk)
{
    const char *base = (const char *)buffers->header;
    uint64_t unit = buffers_first_unit(), end = atomic_load(&buffers->header->next_unit);
    if (chunk)
        unit = (uint64_t)((const char *)chunk - base) / BUFFERS_UNIT + chunk->units;
    while (unit < end && end <= buffers->size / BUFFERS_UNIT) {
        const struct chunk *next = chunk_at(buffers, unit);
        if (__atomic_load_n(&next->magic, __ATOMIC_ACQUIRE) != CHUNK_MAGIC)
            return NULL;
        uint32_t units = *(const volatile uint32_t *)&next->units; /* once: ranks still run */
        if (!units || units > end - unit)
            return NULL;
        if (next->rank != NOBODY)
            return next;
        unit += units;
    }
    return NULL;
}

uint32_t buffers_nobodys_units(const struct chunk *chunk)
{
    return chunk->magic == CHUNK_MAGIC && chunk->rank == NOBODY ? chunk->units : 0;
}

void buffers_give_back(const struct buffers *buffers, uint64_t unit, uint64_t units)
{
    fallocate(buffers->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
              (off_t)(unit * BUFFERS_UNIT), (off_t)(units * BUFFERS_UNIT));
}

uint64_t buffers_used(const struct buffers *buffers)
{
    uint64_t used = atomic_load(&buffers->header->next_unit);
    uint64_t most = buffers->size / BUFFERS_UNIT;
    return (used < most ? used : most) * BUFFERS_UNIT;
}

uint64_t buffers_kept(const struct buffers *buffers)
{
    uint64_t freed = atomic_load(&buffers->header->freed);
    uint64_t used = buffers_used(buffers) / BUFFERS_UNIT;
    return used > freed ? used - freed : 0;
}

bool buffers_full(const struct buffers *buffers)
{
    return atomic_load(&buffers->header->lost) > 0;
}

const struct record_head *buffers_next_record(const struct chunk *chunk,
                                              const struct record_head *record)
{
    return buffers_record_within(chunk, chunk->units, record);
}

const struct record_head *buffers_record_within(const struct chunk *chunk, uint32_t units,
                                                const struct record_head *record)
{
    const char *end = (const char *)chunk + (size_t)units * BUFFERS_UNIT;
    const char *next = record ? (const char *)record + record->size : chunk->records;
    if (next + sizeof *record > end)
        return NULL;
    const struct record_head *found = (const void *)next;
    if (found->size < sizeof *found || found->size % 8 || found->size > end - next)
        return NULL;
    return found;
}

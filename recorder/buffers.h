/* Memory in which ranks append records and from which a parent process reads them, also after the
 * child was killed.
 *
 * One sparse memory file, mapped shared. Ranks take chunks by one atomic addition and own them;
 * there is no lock. A rank's chunks are numbered. The first chunk is a page, later ones double up
 * to a large page, so that many idle ranks stay cheap. From then on each is a large page of its
 * own: who loads one rank after the other gives back whole ones, and they serve again at once,
 * while parts of large pages would lie idle until the last rank. What lies between such a chunk and
 * the one before it is nobody's.
 *
 * Memory is prepared ahead in blocks of the size of a large page: finding, clearing and mapping its
 * small pages one by one costs more than all the rest of recording. */
#ifndef RECORDER_BUFFERS_H
#define RECORDER_BUFFERS_H

#include "recorder/record.h"
#include "traces/base/failure.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

enum { BUFFERS_UNIT = 4096, BUFFERS_BLOCK = 512, BUFFERS_IMAGES = 64, BUFFERS_PATHS = 32768 };
/* Ranks of which it is told that they wait for room; records of others are not packed. */
enum { BUFFERS_WAITERS = 4096 };
/* Units by which the header's numbers never change at once: whatever goes further was written by
 * somebody else, and no memory is taken for it. */
enum { BUFFERS_JUMP = 1 << 18 };

/* Code that a recorded return address may lie in. */
struct buffers_image {
    uint64_t path;             /* where it begins in the header's paths */
    uint64_t start, end, bias; /* address - bias is the linker's */
};

struct buffers_header {
    uint64_t magic;
    uint32_t version, ranks, level, image_count;
    uint64_t units;             /* of the whole */
    _Atomic uint64_t next_unit; /* first that no chunk has taken */
    _Atomic uint64_t lost;      /* records that found no room */
    _Atomic uint64_t freed;     /* units whose records were dropped */
    _Atomic uint64_t settled;   /* units that were packed, or are not to be */
    _Atomic uint32_t relieved;  /* somebody packs records, and drops them where there is no room */
    struct buffers_image images[BUFFERS_IMAGES];
    uint64_t paths_used;
    char paths[BUFFERS_PATHS];    /* those of the images, each with its end */
    _Atomic uint64_t prepared;    /* first unit whose block nobody has prepared, or is about to */
    _Atomic uint32_t small_pages; /* the kernel refused a large page */
    _Atomic uint8_t waiting[BUFFERS_WAITERS]; /* the rank wants a chunk, and is not given one yet */
};

struct chunk {
    uint32_t magic, rank, sequence, units;
    char records[];
};

struct buffers {
    int file;
    struct buffers_header *header; /* start of the mapping */
    size_t size;
    bool on_disk;   /* a rank file: its pages are the file system's */
    uint64_t limit; /* units that may be in use; 0: all there are */
    uint32_t most;  /* units of one chunk; 0: what is best */
};

/* A rank's place in the memory. */
struct buffers_writer {
    char *next, *end;
    uint32_t rank, sequence, units;
};

/* Reserves `size` bytes of addresses (0: 64 GiB, less where that is refused); memory is taken as
 * ranks write. */
int buffers_init(struct buffers *buffers, uint32_t ranks, size_t size, struct failure *failure);
void buffers_release(struct buffers *buffers);
/* Takes back all chunks; images stay. No writer may be left. */
void buffers_clear(struct buffers *buffers);
/* The same in a file of its own, for one process of a real MPI; trimmed to what was used by
 * buffers_close_file. */
int buffers_init_file(struct buffers *buffers, const char *path, struct failure *failure);
void buffers_close_file(struct buffers *buffers);
int buffers_open_file(struct buffers *buffers, const char *path, struct failure *failure);

/* Room for a record of `size` bytes at writer->next, taking a new chunk; false when the memory is
 * used up. */
bool buffers_more(struct buffers *buffers, struct buffers_writer *writer, size_t size);

/* Units whose records nobody needs any more: their memory is the system's again. */
void buffers_give_back(const struct buffers *buffers, uint64_t unit, uint64_t units);

/* Bytes taken so far, those that found no room not counted; units in use, without those dropped. */
uint64_t buffers_used(const struct buffers *buffers);
uint64_t buffers_kept(const struct buffers *buffers);
/* A record found no room: the limit is reached, or the machine's memory. */
bool buffers_full(const struct buffers *buffers);

/* The first unit that may be a chunk's; whether the head is one of this version. */
uint64_t buffers_first_unit(void);
bool buffers_header_known(const struct buffers *buffers);
/* The bytes that a record of this type has at least; SIZE_MAX: there is no such type. */
size_t record_least_size(int type);

/* Whether something else than a recorder wrote here: ranks share their process with the program
 * under test, and it may write anywhere. `ended_well`: no rank was killed in the middle of a
 * record. Says what, in `text`. */
bool buffers_damaged(const struct buffers *buffers, uint32_t ranks, bool ended_well, char *text,
                     size_t size);

/* Takes and clears memory for the block after those already prepared, by whoever comes first; false
 * when that is not possible: then pages are taken as they are touched. */
bool buffers_prepare(struct buffers *buffers);

/* Chunks in the order in which they were taken: pass NULL first; NULL after the last. */
const struct chunk *buffers_next_chunk(const struct buffers *buffers, const struct chunk *chunk);
/* The next chunk, or the first; NULL: not taken, or not labelled yet. While ranks write. */
const struct chunk *buffers_chunk_behind(const struct buffers *buffers, const struct chunk *chunk);
/* Units that were left out here before a block; 0: these are not. */
uint32_t buffers_nobodys_units(const struct chunk *chunk);
/* Records of a chunk: NULL first; NULL after the last. Never reads past the chunk. */
const struct record_head *buffers_next_record(const struct chunk *chunk,
                                              const struct record_head *record);
/* The same where the chunk's own word on its units is not to be asked again: ranks still run. */
const struct record_head *buffers_record_within(const struct chunk *chunk, uint32_t units,
                                                const struct record_head *record);

#endif

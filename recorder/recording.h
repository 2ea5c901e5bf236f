/* A recording: the buffers of one run's ranks, from before the run to the trace made of them.
 *
 * The process that will own the trace makes it, forks, and the child runs the world:
 *
 *     parent   recording_new -> fork -> recording_feed -> wait for the child -> recording_load ->
 * recording_free child    each rank, on its own stack: recording_rank_begin ... program ...
 * recording_rank_end
 *
 * Whatever kills the child, the parent loads what was written. Fork is not needed: one process may
 * do both. */
#ifndef RECORDER_RECORDING_H
#define RECORDER_RECORDING_H

#include "traces/base/progress.h"
#include "traces/trace/trace.h"

enum record_level {
    RECORD_LEVEL_NONE,
    RECORD_LEVEL_FINDINGS,
    RECORD_LEVEL_OPS,
    RECORD_LEVEL_EVENTS
};

struct recording;

/* NULL with a sentence when there is no memory. */
struct recording *recording_new(uint32_t ranks, enum record_level level, struct failure *failure);
void recording_free(struct recording *recording);
/* Iterations of loops that leave the same operations are kept once, with their number. To be called
 * before ranks begin; without effect at level events, which keeps the time of each. */
void recording_fold(struct recording *recording);
/* Starts the thread that touches memory before ranks need it; without it recording is only slower.
 * To be called by the owner after it has forked: a process with threads must not fork, since the
 * child inherits their locks but not them. */
void recording_feed(struct recording *recording);

/* What the records and the trace made of them may take of the memory, in bytes (0: a quarter of what
 * is free, at least 1 GiB). What is more is not kept, the oldest first, and reported as not judged.
 * To be called before ranks begin; needs recording_feed. */
void recording_bound(struct recording *recording, uint64_t bytes);
/* Ends that thread, before the recording is looked at. */
void recording_settle(struct recording *recording);

/* Names code that return addresses may lie in: [start, end) came from `path`, address - bias is the
 * linker's address. */
void recording_image_add(struct recording *recording, const char *path, uint64_t start,
                         uint64_t end, uint64_t bias);
/* Adds every module the dynamic linker has loaded in the calling process. */
void recording_images_scan(struct recording *recording);

/* Called by a rank on its own stack: from here on what it does is recorded. False when there is no
 * memory. */
bool recording_rank_begin(struct recording *recording);
/* The world has ended, in the process that ran it. What a rank did ahead of a turn that it still waits
 * for has not happened. */
void recording_ahead(struct recording *recording, uint32_t rank, bool waits);
/* Says how a rank ended; by whoever knows, in the process of the ranks or in the one that loads.
 * `site` is a return address or NULL. */
void recording_rank_end(struct recording *recording, uint32_t rank, enum rank_state state,
                        int exit_code, const void *site);
/* Bytes written so far; may be asked while ranks write. */
uint64_t recording_size(const struct recording *recording);
/* Of those, bytes that were not dropped since. */
uint64_t recording_kept(const struct recording *recording);
/* It has no more room: what ranks do from then on is lost. */
bool recording_is_full(const struct recording *recording);
/* Whether the program under test wrote into the memory of its own record, which cannot be believed
 * then; says what was seen. After the end of its process, `ended_well`: by itself. */
bool recording_is_damaged(const struct recording *recording, bool ended_well, char *text,
                          size_t size);
/* Frees what a rank's recorder holds in this process; the buffers stay. */
void recording_ranks_release(struct recording *recording);

/* As after recording_new, for another run in this process. */
void recording_clear(struct recording *recording);
/* A hash of what each rank did, one after the other, and of what was noted about it. Not of when
 * ranks did it, nor of whose messages wildcards got; that only where messages to a rank differ in
 * type, size or purpose. Runs with one hash show the same findings. */
uint64_t recording_conduct(const struct recording *recording);

/* Where `pc` of `rank` lies, when the images above do not know it: the file and the linker's
 * address. */
typedef bool recording_locate(void *context, uint32_t rank, uint64_t pc, const char **file,
                              uint64_t *address);
struct recording_result {
    enum trace_outcome outcome;
    uint64_t seed;
    const char *program, *model;
    recording_locate *locate; /* may be NULL */
    void *locate_context;
    struct progress *progress; /* may be NULL */
    size_t ops_max;            /* so many operations at most, the first of each rank; 0: all */
    /* Asked now and then, if it is there: true ends the loading. Of the ranks that were not loaded
     * by then the trace has their ends only. */
    bool (*over)(void *context);
    void *over_context;
};
/* The trace of everything written so far; NULL with a sentence. Ranks that never said how they
 * ended are RANK_BLOCKED when they stand in a call, else RANK_RUNNING. */
struct trace *recording_load(const struct recording *recording,
                             const struct recording_result *result, struct failure *failure);
/* The same from rank files that libsimrecord.so wrote. */
struct trace *recording_load_files(const char *const *paths, size_t count, struct failure *failure);

/* The same from all rank files (*.simrec) of a folder. */
struct trace *recording_load_folder(const char *folder, struct failure *failure);

/* True for a rank file and for a folder that holds some; and the trace of either. */
bool recording_recognised(const char *path);
struct trace *recording_load_path(const char *path, struct failure *failure);
/* The trace of either, or of any file or folder that traces/formats/format.h reads; `progress` may
 * be NULL. */
struct trace *recording_read(const char *path, struct progress *progress, struct failure *failure);

#endif

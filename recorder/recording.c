/* A recording: see recording.h. Making a trace of it is loading/recording_load.c. */
#include "recorder/recording.h"

#include "recorder/rank.h"
#include "recorder/recording_internal.h"

#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHUNKS_OF_RANK = 8, RANK_BYTES = 32768 };

/* What is used on any machine. */
static uint64_t least_bound(uint32_t ranks)
{
    uint64_t least = (uint64_t)1 << 30, all = (uint64_t)ranks * RANK_BYTES;
    return least > all ? least : all;
}

static uint64_t usual_bound(uint32_t ranks)
{
    long pages = sysconf(_SC_AVPHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    uint64_t bytes = pages >= 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : (uint64_t)8 << 30;
    uint64_t least = least_bound(ranks);
    return bytes / 4 > least ? bytes / 4 : least;
}

void recording_bound(struct recording *recording, uint64_t bytes)
{
    struct buffers *buffers = &recording->buffers;
    /* The size of a chunk must not depend on what memory is free: loops begin to be folded at its
     * ends, and equal runs are recorded as equal. The trace and its checks take three fifths. */
    uint64_t sure = bytes ? bytes : least_bound(recording->ranks);
    buffers->limit = (bytes ? bytes : usual_bound(recording->ranks)) / 5 * 2 / BUFFERS_UNIT;
    uint64_t most = sure / 5 * 2 / BUFFERS_UNIT / CHUNKS_OF_RANK / recording->ranks;
    buffers->most = most >= BUFFERS_BLOCK ? 0 : most ? (uint32_t)most : 1;
}

struct recording *recording_new(uint32_t ranks, enum record_level level, struct failure *failure)
{
    struct recording *recording = calloc(1, sizeof *recording);
    if (!recording) {
        failure_set(failure, FAILURE_INTERNAL, "out of memory for a recording");
        return NULL;
    }
    recording->buffers.file = -1;
    recording->recorders = calloc(ranks, sizeof *recording->recorders);
    recording->ends = calloc(ranks, sizeof *recording->ends);
    bool room = recording->recorders && recording->ends;
    if (!room)
        failure_set(failure, FAILURE_INTERNAL, "out of memory for a recording");
    if (!room || buffers_init(&recording->buffers, ranks, 0, failure)) {
        recording_free(recording);
        return NULL;
    }
    recording->ranks = ranks;
    recording->level = level;
    recording->buffers.header->level = level;
    recording_bound(recording, 0);
    recording_images_scan(recording);
    return recording;
}

void recording_fold(struct recording *recording)
{
    recording->folds = recording->level == RECORD_LEVEL_OPS;
}

void recording_feed(struct recording *recording)
{
    if (recording->level == RECORD_LEVEL_NONE)
        return;
    drops_init(&recording->drops, &recording->buffers, recording->ranks);
    feeder_start(&recording->feeder, &recording->buffers, &recording->drops);
}

void recording_settle(struct recording *recording)
{
    feeder_stop(&recording->feeder);
    drops_settle(&recording->drops);
}

uint64_t recording_kept(const struct recording *recording)
{
    return buffers_kept(&recording->buffers) * BUFFERS_UNIT;
}

uint64_t recording_size(const struct recording *recording)
{
    return buffers_used(&recording->buffers);
}

bool recording_is_full(const struct recording *recording)
{
    return buffers_full(&recording->buffers);
}

bool recording_is_damaged(const struct recording *recording, bool ended_well, char *text,
                          size_t size)
{
    if (drops_damaged(&recording->drops)) {
        snprintf(text, size, "the head of a part of the record is not what it was");
        return true;
    }
    return buffers_damaged(&recording->buffers, recording->ranks, ended_well, text, size);
}

void recording_ranks_release(struct recording *recording)
{
    for (uint32_t rank = 0; rank < recording->ranks; rank++) {
        if (recording->recorders[rank])
            recorder_rank_free(recording->recorders[rank]);
        recording->recorders[rank] = NULL;
    }
}

void recording_clear(struct recording *recording)
{
    recording_ranks_release(recording);
    buffers_clear(&recording->buffers);
    memset(recording->ends, 0, recording->ranks * sizeof *recording->ends);
}

void recording_free(struct recording *recording)
{
    if (!recording)
        return;
    if (recording->recorders)
        recording_ranks_release(recording);
    feeder_stop(&recording->feeder);
    drops_release(&recording->drops);
    buffers_release(&recording->buffers);
    free(recording->recorders);
    free(recording->ends);
    free(recording);
}

void recording_image_add(struct recording *recording, const char *path, uint64_t start,
                         uint64_t end, uint64_t bias)
{
    struct buffers_header *header = recording->buffers.header;
    for (uint32_t i = 0; i < header->image_count; i++)
        if (header->images[i].start == start && header->images[i].end == end)
            return;
    size_t size = strlen(path) + 1;
    if (header->image_count >= BUFFERS_IMAGES || size > BUFFERS_PATHS - header->paths_used)
        return; /* its sites stay unknown */
    header->images[header->image_count] = (struct buffers_image){
        .path = header->paths_used, .start = start, .end = end, .bias = bias};
    memcpy(header->paths + header->paths_used, path, size);
    header->paths_used += size;
    header->image_count++;
}

static int add_module(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    char own[PATH_MAX] = "";
    const char *path = info->dlpi_name;
    if (!path[0]) {
        ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
        path = length > 0 ? own : "";
    }
    if (path[0] != '/')
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X))
            continue;
        uint64_t start = info->dlpi_addr + segment->p_vaddr;
        recording_image_add(context, path, start, start + segment->p_memsz, info->dlpi_addr);
    }
    return 0;
}

void recording_images_scan(struct recording *recording)
{
    dl_iterate_phdr(add_module, recording);
}

atomic_bool recorder_used;

static struct recorder_rank *rank_new(struct recording *recording, uint32_t rank, uint32_t ranks)
{
    struct recorder_rank *me = calloc(1, sizeof *me);
    if (!me)
        return NULL;
    me->recording = recording;
    me->buffers = &recording->buffers;
    me->level = recording->level;
    me->rank = me->writer.rank = rank;
    me->ranks = ranks;
    recorder_threads_init(me);
    struct record_rank *info = recorder_record(me, sizeof *info);
    if (!info) {
        free(me);
        return NULL;
    }
    info->rank = rank;
    info->ranks = ranks;
    info->level = recording->level;
    recorder_commit(me, info, RECORD_RANK, 0, sizeof *info);
    me->info = info;
    me->look_at = recording->folds ? RECORDER_LOOK : UINT32_MAX;
    atomic_store_explicit(&recorder_used, true, memory_order_relaxed);
    return me;
}

bool recording_rank_begin_as(struct recording *recording, uint32_t rank, uint32_t ranks)
{
    void **slots = MPIX_Rank_slots();
    if (!slots || rank >= recording->ranks)
        return false;
    if (recording->level == RECORD_LEVEL_NONE)
        return true;
    struct recorder_rank *me = rank_new(recording, rank, ranks);
    if (!me)
        return false;
    if (recording->recorders[rank]) /* a rank that begins twice starts over */
        recorder_rank_free(recording->recorders[rank]);
    recording->recorders[rank] = me;
    me->watch = slots[MPIX_SLOT_WATCH];
    if (me->watch)
        me->look_at = UINT32_MAX; /* who watches is told every operation */
    me->paced = MPIX_Pace(&me->pace);
    slots[MPIX_SLOT_RECORDER] = me;
    return true;
}

bool recording_rank_begin(struct recording *recording)
{
    return recording_rank_begin_as(recording, (uint32_t)MPIX_World_rank(),
                                   (uint32_t)MPIX_World_size());
}

void recording_ahead(struct recording *recording, uint32_t rank, bool waits)
{
    struct recorder_rank *me = recording->recorders[rank];
    if (me && waits)
        recorder_ahead_undo(me);
    else if (me)
        recorder_ahead_over(me);
}

void recording_rank_end(struct recording *recording, uint32_t rank, enum rank_state state,
                        int exit_code, const void *site)
{
    if (rank >= recording->ranks)
        return;
    recording->ends[rank] = (struct recording_end){.known = true,
                                                   .has_site = site != NULL,
                                                   .state = state,
                                                   .exit_code = exit_code,
                                                   .site = (uint64_t)(uintptr_t)site};
    struct recorder_rank *me = recording->recorders[rank];
    if (!me)
        return;
    me->info->exit_code = exit_code;
    me->info->has_crash_site = site != NULL;
    me->info->crash_site = (uint64_t)(uintptr_t)site;
    me->info->ended = (uint8_t)(1 + state);
}

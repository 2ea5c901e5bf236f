/* What a recording may take of the memory of machines of all sizes, which code its addresses may lie in, and what it says of itself before,
 * while and after ranks write. */
#include "tests/tap.h"

#include "recorder/recording_internal.h"
#include "sim/worlds/world.h"

#include <dlfcn.h>
#include <limits.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { UNIT = 4096, BLOCK = 512 };

/* What of the machine's memory is free: stands before the C library's. */
static long free_pages = 1 << 20;

long __sysconf(int name);

long sysconf(int name)
{
    return name == _SC_AVPHYS_PAGES ? free_pages : __sysconf(name);
}

/* Two fifths of what is allowed; a chunk is at most an eighth of what is a rank's of that, and of what any machine has. */
static void bounds(void)
{
    static const struct {
        uint32_t ranks;
        uint64_t bytes, of; /* allowed; 0: of what the machine has */
        uint64_t limit, most;
    } cases[] = {
        /* 1 GiB: 429496729 bytes of records, 104857 units; of two ranks 6553 units each chunk, more than a block */
        {2, 1ULL << 30, 0, 104857, 0},
        {25, 1ULL << 30, 0, 104857, 524},
        {26, 1ULL << 30, 0, 104857, 504},
        {1000, 1ULL << 30, 0, 104857, 13},
        {1, 16ULL << 20, 0, 1638, 204},
        {100, 1ULL << 20, 0, 102, 0},
        /* a quarter of 64 GiB; what any machine has: 1 GiB, or 32 KiB of each rank where that is more */
        {1, 0, 64ULL << 30, 1677721, 0},
        {40000, 0, 64ULL << 30, 1677721, 0},
        {40000, 0, 1ULL << 30, 128000, 0},
        {1000, 0, 64ULL << 30, 1677721, 0},
        {1000, 0, 1ULL << 20, 104857, 0},
        {1, 0, 1ULL << 20, 104857, 0},
        {1, 0, 1, 104857, 0},  /* not a page is free */
        {16, 0, 0, 209715, 0}, /* nobody knows: a quarter of 8 GiB */
    };
    struct failure failure = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        free_pages = cases[i].of ? (long)(cases[i].of / UNIT) : -1;
        struct recording *recording = recording_new(cases[i].ranks, RECORD_LEVEL_OPS, &failure);
        if (!recording)
            abort();
        recording_bound(recording, cases[i].bytes);
        uint64_t sure = cases[i].bytes, ranks = cases[i].ranks;
        if (!sure)
            sure = ranks * 32768 > 1ULL << 30 ? ranks * 32768 : 1ULL << 30;
        double most = (double)sure * 2 / 5 / UNIT / 8 / (double)ranks;
        uint32_t got = recording->buffers.most;
        bool right = most >= BLOCK + 1 ? got == 0
                     : most < 1        ? got == 1
                     : got             ? got <= most && got > most - 2
                                       : most >= BLOCK;
        tap_ok(right && recording->buffers.limit == cases[i].limit &&
                   (!cases[i].most || got == cases[i].most || (cases[i].most >= BLOCK && !got)),
               "%u ranks, %llu bytes of %llu: %llu units, in chunks of %u", cases[i].ranks,
               (unsigned long long)cases[i].bytes, (unsigned long long)cases[i].of,
               (unsigned long long)recording->buffers.limit, got);
        recording_free(recording);
    }
    free_pages = 1 << 20;
}

static void levels(void)
{
    struct failure failure = {0};
    for (int level = RECORD_LEVEL_NONE; level <= RECORD_LEVEL_EVENTS; level++) {
        struct recording *recording = recording_new(1, (enum record_level)level, &failure);
        tap_ok(recording && recording->buffers.header->level == (uint32_t)level &&
                   !recording->folds,
               "a recording of level %d", level);
        recording_fold(recording);
        tap_ok(recording->folds == (level == RECORD_LEVEL_OPS), "loops %s",
               level == RECORD_LEVEL_OPS ? "are folded" : "are not folded");
        recording_free(recording);
    }
    recording_free(NULL);
}

/* ---- images ---- */

static bool image_is(const struct recording *recording, uint32_t number, const char *path,
                     uint64_t start, uint64_t end, uint64_t bias)
{
    const struct buffers_header *header = recording->buffers.header;
    const struct buffers_image *image = &header->images[number];
    return number < header->image_count && !strcmp(header->paths + image->path, path) &&
           image->start == start && image->end == end && image->bias == bias;
}

static void images(void)
{
    struct failure failure = {0};
    struct recording *recording = recording_new(1, RECORD_LEVEL_OPS, &failure);
    struct buffers_header *header = recording->buffers.header;
    uint32_t loaded = header->image_count;
    bool own = false, libc = false;
    char path[PATH_MAX] = "";
    Dl_info here, there;
    if (readlink("/proc/self/exe", path, sizeof path - 1) < 0 ||
        !dladdr((void *)(uintptr_t)images, &here) || !dladdr(dlsym(RTLD_DEFAULT, "qsort"), &there))
        abort();
    for (uint32_t i = 0; i < loaded; i++) {
        const struct buffers_image *image = &header->images[i];
        const char *name = header->paths + image->path;
        uint64_t mine = (uint64_t)(uintptr_t)images,
                 sort = (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, "qsort");
        own |= !strcmp(name, path) && image->start <= mine && mine < image->end &&
               image->bias == (uint64_t)(uintptr_t)here.dli_fbase;
        libc |= image->start <= sort && sort < image->end &&
                image->bias == (uint64_t)(uintptr_t)there.dli_fbase && name[0] == '/';
    }
    tap_ok(own, "this program is known by its path, and where it lies");
    tap_ok(libc, "so is a library");
    recording_images_scan(recording);
    tap_is_int(header->image_count, loaded, "each once");

    memset(header->images, 0, sizeof header->images);
    header->image_count = 0;
    header->paths_used = 0;
    recording_image_add(recording, "/a", 1000, 2000, 100);
    recording_image_add(recording, "/b", 1000, 2001, 200);
    recording_image_add(recording, "/c", 999, 2000, 300);
    recording_image_add(recording, "/other", 1000, 2000, 400);
    tap_ok(header->image_count == 3 && image_is(recording, 0, "/a", 1000, 2000, 100) &&
               image_is(recording, 1, "/b", 1000, 2001, 200) &&
               image_is(recording, 2, "/c", 999, 2000, 300) && header->paths_used == 9,
           "an image is one by where it begins and ends");
    for (uint64_t i = 0; i < 2 * BUFFERS_IMAGES; i++)
        recording_image_add(recording, "/d", 10000 * i, 10000 * i + 1, 5);
    tap_is_int(header->image_count, BUFFERS_IMAGES, "there are so many at most");
    tap_ok(image_is(recording, BUFFERS_IMAGES - 1, "/d", 10000ULL * (BUFFERS_IMAGES - 4),
                    10000ULL * (BUFFERS_IMAGES - 4) + 1, 5),
           "the first ones");

    static char longest[BUFFERS_PATHS + 1];
    for (int more = 0; more < 2; more++) {
        header->image_count = 0;
        header->paths_used = 0;
        recording_image_add(recording, "/abc", 1, 2, 3);
        memset(longest, 'x', sizeof longest);
        longest[BUFFERS_PATHS - 6 + more] =
            0; /* with their ends as many as there is room for, or one more */
        recording_image_add(recording, longest, 5, 6, 7);
        tap_is_int(header->image_count, 2 - more, "%s",
                   more ? "a path that has no room is left out" : "a path that just fits is kept");
    }
    tap_ok(image_is(recording, 0, "/abc", 1, 2, 3), "and nothing is written over");
    recording_free(recording);
}

/* ---- ranks ---- */

static int refused;

static int enter(void *context, int rank)
{
    int in = 0;
    if (!recording_rank_begin(context)) {
        refused++;
        return 1;
    }
    MPI_Init(NULL, NULL);
    MPI_Sendrecv(&rank, 1, MPI_INT, 1 - rank, 0, &in, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}

static void run(struct recording *recording)
{
    struct sim_world_options options;
    sim_world_options_init(&options);
    options.ranks = 2;
    struct sim_world *world = sim_world_new(&options, NULL);
    sim_world_run(world, enter, recording);
    sim_world_free(world);
}

static void ends(void)
{
    struct failure failure = {0};
    char text[200] = "";
    struct recording *recording = recording_new(2, RECORD_LEVEL_OPS, &failure);
    uint64_t none = recording_size(recording);
    tap_ok(none == buffers_first_unit() * UNIT && recording_kept(recording) == none &&
               !recording_is_full(recording),
           "nothing is written");
    run(recording);
    uint64_t size = recording_size(recording);
    tap_ok(size >= none + 2 * UNIT && recording_kept(recording) == size,
           "two ranks write a page each at least");
    recording->buffers.header->freed = 1;
    tap_ok(recording_kept(recording) == size - UNIT && recording_size(recording) == size,
           "of which one is dropped");
    recording->buffers.header->freed = 0;
    recording->buffers.header->lost = 1;
    tap_ok(recording_is_full(recording), "what is lost had no room");
    recording->buffers.header->lost = 0;
    tap_ok(!recording_is_damaged(recording, true, text, sizeof text), "nobody wrote over it");
    recording_rank_end(recording, 1, RANK_ABORTED, 7, (void *)(uintptr_t)images);
    recording_rank_end(recording, 2, RANK_CRASHED, 9, NULL); /* there is none */
    struct recording_result result = {
        .program = "test", .model = "eager", .outcome = OUTCOME_ABORTED};
    for (int again = 0; again < 3; again++) {
        if (again == 1) /* in the process that loads nobody has recorders */
            recording_ranks_release(recording);
        if (again == 1) /* nor knows what was told to another */
            recording->ends[1] = (struct recording_end){0};
        if (again == 2)
            recording_rank_end(recording, 1, RANK_FINISHED, 0, NULL);
        struct trace *trace = recording_load(recording, &result, &failure);
        const struct trace_rank *one = trace ? &trace->rank_info[1] : NULL;
        const char *function = one && one->site != TRACE_NO ? trace->sites[one->site].function : "";
        tap_ok(one && one->state == (again == 2 ? RANK_FINISHED : RANK_ABORTED) &&
                   one->exit_code == (again == 2 ? 0 : 7) &&
                   (again == 2 ? one->site == TRACE_NO : one->site != TRACE_NO),
               "how a rank ended is told: %s", function);
        tap_ok(trace && trace->rank_info[0].state != RANK_ABORTED && trace->rank_info[0].finalized,
               "of that one only");
        trace_free(trace);
    }
    recording_clear(recording);
    tap_ok(recording_size(recording) == none && !recording->recorders[0] &&
               !recording->ends[1].known,
           "another run begins with nothing");
    run(recording);
    tap_ok(recording_size(recording) == size, "and writes as much");
    ((struct chunk *)(uintptr_t)buffers_next_chunk(&recording->buffers, NULL))->rank = 2;
    tap_ok(recording_is_damaged(recording, true, text, sizeof text) && text[0],
           "what is written over is told: %s", text);
    recording_free(recording);
    recording = recording_new(1, RECORD_LEVEL_OPS, &failure);
    run(recording);
    tap_ok(refused == 1 && recording->recorders[0] && recording->buffers.header->ranks == 1,
           "a rank that the recording does not know is not recorded");
    recording_free(recording);
    recording = recording_new(2, RECORD_LEVEL_NONE, &failure);
    run(recording);
    tap_ok(refused == 1 && recording_size(recording) == none && !recording->recorders[0],
           "nor is any at the least level");
    recording_feed(recording); /* nothing to feed */
    tap_ok(!recording->drops.of && !atomic_load(&recording->buffers.header->prepared),
           "no memory is prepared for it");
    recording_free(recording);
}

int main(void)
{
    bounds();
    levels();
    images();
    ends();
    return tap_done();
}

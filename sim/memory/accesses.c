/* The callbacks of instrumented programs: every load and store calls one of these.
 *
 * A program compiled with -fsanitize=thread, and linked without that sanitizer's runtime, finds
 * these names in the launcher. An access within the rank's safe stretch costs two loads and a
 * branch; while nothing is pending everything is safe. The return address is the place in the
 * program. */
#include "sim/memory/accesses.h"
#include "sim/memory/frames.h"
#include "sim/memory/pending.h"
#include "sim/worlds/rank.h"

#define CALLER __builtin_return_address(0)

static __attribute__((noinline, cold)) void look(struct sim_rank *rank, const void *address,
                                                 size_t size, bool write, const void *site)
{
    sim_pending_access(rank, (uintptr_t)address, size, write, site);
}

/* By a thread that a rank has started, and which may not call MPI. */
static __attribute__((noinline, cold)) void look_for_parent(const void *address, size_t size,
                                                            bool write, const void *site)
{
    struct sim_rank *rank = sim_thread_parent;
    if (rank && size && rank->pending && (rank->pending->count || rank->history))
        sim_pending_access(rank, (uintptr_t)address, size, write, site);
}

static inline __attribute__((always_inline)) void access_at(const void *address, size_t size,
                                                            bool write, const void *site)
{
    struct sim_rank *rank = sim_current_rank;
    if (__builtin_expect(!rank, 0)) {
        look_for_parent(address, size, write, site);
        return;
    }
    if (__builtin_expect((uintptr_t)address - rank->safe_low < rank->safe_size, 1))
        return;
    look(rank, address, size, write, site);
}

bool sim_access_matters(void)
{
    const struct sim_rank *rank = sim_current_rank;
    return !rank || (rank->pending && (rank->pending->count || rank->history));
}

void sim_access_range(const void *address, size_t size, bool write, const void *site)
{
    struct sim_rank *rank = sim_current_rank;
    if (!rank)
        look_for_parent(address, size, write, site);
    else if (size && rank->pending && (rank->pending->count || rank->history))
        look(rank, address, size, write, site);
}

#define ACCESS(name, size, write)                                                                  \
    void name(void *address);                                                                      \
    void name(void *address)                                                                       \
    {                                                                                              \
        access_at(address, size, write, CALLER);                                                   \
    }
#define SIZED(size)                                                                                \
    ACCESS(__tsan_read##size, size, false)                                                         \
    ACCESS(__tsan_write##size, size, true)                                                         \
    ACCESS(__tsan_read_write##size, size, true)                                                    \
    ACCESS(__tsan_volatile_read##size, size, false)                                                \
    ACCESS(__tsan_volatile_write##size, size, true)
#define UNALIGNED(size)                                                                            \
    ACCESS(__tsan_unaligned_read##size, size, false)                                               \
    ACCESS(__tsan_unaligned_write##size, size, true)                                               \
    ACCESS(__tsan_unaligned_read_write##size, size, true)                                          \
    ACCESS(__tsan_unaligned_volatile_read##size, size, false)                                      \
    ACCESS(__tsan_unaligned_volatile_write##size, size, true)
/* clang-format off */
SIZED(1)
SIZED(2)
SIZED(4)
SIZED(8)
SIZED(16)
UNALIGNED(2)
UNALIGNED(4)
UNALIGNED(8)
UNALIGNED(16)
ACCESS(__tsan_vptr_read, 8, false)
/* clang-format on */

#define RANGE(name, write)                                                                         \
    void name(void *address, size_t size);                                                         \
    void name(void *address, size_t size)                                                          \
    {                                                                                              \
        sim_access_range(address, size, write, CALLER);                                            \
    }
/* clang-format off */
RANGE(__tsan_read_range, false)
RANGE(__tsan_write_range, true)
/* clang-format on */

/* The same by a library that touches memory for a program, at this place of it. */
void __simrun_range(const void *address, size_t size, int write, const void *site);
void __simrun_range(const void *address, size_t size, int write, const void *site)
{
    sim_access_range(address, size, write, site);
}

void __tsan_vptr_update(void *address, void *value);
void __tsan_vptr_update(void *address, void *value)
{
    (void)value;
    access_at(address, 8, true, CALLER);
}

void __tsan_init(void);
void __tsan_init(void)
{
}

void __tsan_func_entry(void *site);
void __tsan_func_entry(void *site)
{
    (void)site;
}

/* A function returns while something is pending, and its frame may hold the buffer. The saved frame
 * pointer bounds the frame from above, and is asked first; where the function keeps none, nothing is
 * found. A finding names the frame that the unwinder knows. */
static __attribute__((noinline, cold)) void leave(struct sim_rank *rank, const uintptr_t *frame,
                                                  const void *site)
{
    enum { RECORD = 2 * sizeof(uintptr_t) };
    uintptr_t low = (uintptr_t)frame, high = *frame + RECORD;
#ifdef __aarch64__ /* there, it is the lower end */
    enum { LARGEST = 1 << 16 };
    high += LARGEST;
#endif
    if (high <= low ||
        (low - rank->safe_low < rank->safe_size && high < rank->safe_low + rank->safe_size))
        return;
    if (!sim_pending_within(rank, low, high))
        return;
    struct sim_frames frames;
    sim_frames_find(&frames);
    if (frames.count && frames.frames[0].cfa > low)
        sim_pending_lose(rank, low, frames.frames[0].cfa - low, SIM_LOST_RETURN, site);
}

void __tsan_func_exit(void);
void __tsan_func_exit(void)
{
    struct sim_rank *rank = sim_current_rank;
    if (rank && rank->pending && (rank->pending->count || rank->history))
        leave(rank, __builtin_frame_address(0), CALLER);
}

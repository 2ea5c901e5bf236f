/* What happens to the memory of windows: see history.h. */
#include "sim/windows/history.h"

#include "recorder/recorder.h"
#include "sim/memory/frames.h"
#include "sim/windows/lock_order.h"
#include "sim/windows/window.h"

#include <stdatomic.h>
#include <stdlib.h>

/* Blocks of one access that are told apart; loads and stores kept at once; recorded at all. */
enum { BLOCKS_MAX = 1024, TOUCHES = 64, RECORDED_MAX = 100000 };

struct touch {
    struct trace_access access;
    const void *site;
};

struct exposed {
    struct sim_win *win;
    struct exposed *next;
};

/* Of a rank. */
struct sim_history {
    struct exposed *windows;
    /* Touches are made by all threads of the rank, also by those that have no recorder, and recorded
     * by those that have: touches and their count are used by one at a time. */
    struct touch touches[TOUCHES];
    size_t touch_count;
    atomic_flag busy;
    _Atomic size_t recorded, unseen, atomics;
    const uint32_t *_Atomic operations; /* see record_count; NULL: the rank is over */
};

/* The recorder's lock comes first: see memory/pending.c. */
static void *lock(struct sim_history *history)
{
    void *held = record_hold();
    while (atomic_flag_test_and_set_explicit(&history->busy, memory_order_acquire)) {
    }
    return held;
}

static void unlock(struct sim_history *history, void *held)
{
    atomic_flag_clear_explicit(&history->busy, memory_order_release);
    record_let_go(held);
}

static void add_row(struct sim_win *win, const struct trace_access *access)
{
    if (win->access_count == win->access_room) {
        size_t room = win->access_room ? 2 * win->access_room : 16;
        struct sim_win_access *rows = realloc(win->accesses, room * sizeof *rows);
        if (!rows)
            return;
        win->accesses = rows;
        win->access_room = room;
    }
    win->accesses[win->access_count++] = (struct sim_win_access){*access, NULL};
}

static uint32_t lock_of(const struct sim_win *win, int target)
{
    const struct sim_epoch_lock *lock = sim_epoch_lock_of(&win->epoch, target);
    if (win->epoch.state == SIM_EPOCH_LOCK_ALL)
        return win->epoch.unchecked ? ACCESS_UNLOCKED : ACCESS_SHARED;
    if (!lock || lock->unchecked)
        return ACCESS_UNLOCKED;
    return lock->type == MPI_LOCK_EXCLUSIVE ? ACCESS_EXCLUSIVE : ACCESS_SHARED;
}

static uint32_t world_rank(const struct sim_win *win, int rank)
{
    return (uint32_t)sim_context_world_rank(win->comm->context, rank);
}

void sim_history_begin(struct sim_win *win)
{
    struct sim_rank *rank = win->owner;
    struct exposed *exposed = rank->pending ? malloc(sizeof *exposed) : NULL;
    if (exposed && !rank->history)
        rank->history = calloc(1, sizeof *rank->history);
    if (!exposed || !rank->history) {
        free(exposed);
        return;
    }
    rank->history->operations = record_count();
    *exposed = (struct exposed){win, rank->history->windows};
    rank->history->windows = exposed;
    rank->safe_low = rank->safe_size = 0;
}

void sim_history_end(struct sim_win *win)
{
    struct sim_history *history = win->owner->history;
    struct exposed **link = history ? &history->windows : NULL;
    if (!history)
        return;
    sim_history_flush(win->owner);
    sim_history_complete(win, -1);
    free(win->accesses);
    while (*link && (*link)->win != win)
        link = &(*link)->next;
    struct exposed *found = *link;
    if (found)
        *link = found->next;
    free(found);
}

typedef void visit_block(void *context, uint64_t begin, uint64_t end);

/* The blocks of a region; false where there are too many. */
static bool each_block(const struct sim_region *region, visit_block *visit, void *context)
{
    const struct sim_datatype *type = region->type;
    size_t blocks = 0;
    if (type->contiguous) {
        visit(context, region->base, region->base + region->count * type->size);
        return true;
    }
    for (size_t i = 0; i < region->count; i++)
        for (size_t r = 0; r < type->run_count; r++) {
            const struct sim_run *run = &type->runs[r];
            for (size_t k = 0; k < run->count; k++) {
                if (++blocks > BLOCKS_MAX)
                    return false;
                uint64_t begin = (uint64_t)((intptr_t)region->base + (intptr_t)i * type->extent +
                                            run->offset + (intptr_t)k * run->stride);
                visit(context, begin, begin + run->length);
            }
        }
    return true;
}

struct begun {
    struct sim_win *win;
    struct trace_access row;
};

static void add_block(void *context, uint64_t begin, uint64_t end)
{
    struct begun *begun = context;
    begun->row.begin = begin;
    begun->row.end = end;
    add_row(begun->win, &begun->row);
}

void sim_history_access(struct sim_win *win, int target, const struct sim_region *region,
                        const struct trace_access *access)
{
    struct sim_history *history = win->owner->history;
    if (!history || !region->count || !region->type->size)
        return;
    struct begun begun = {win, *access};
    begun.row.op = record_position() - 1;
    begun.row.target = world_rank(win, target);
    begun.row.lock = lock_of(win, target);
    if (!each_block(region, add_block, &begun))
        history->unseen++;
}

void sim_history_requested(struct sim_win *win, size_t first, const void *request)
{
    for (size_t i = first; i < win->access_count; i++)
        win->accesses[i].request = request;
}

static void emit(struct sim_history *history, const struct trace_access *access, const void *site)
{
    if (history->recorded++ < RECORDED_MAX)
        record_access(access, site);
    else
        history->unseen++;
}

static bool only_reads(const struct trace_access *access)
{
    return access->kind == ACCESS_GET ||
           (access->kind == ACCESS_ACCUMULATE && access->reduction == ACCESS_NO_REDUCTION);
}

/* What completes accesses: those to a target (-1: any), only reading ones, only of a request. */
struct completion {
    int target;
    bool locally;
    const void *request;
};

static bool completes(const struct sim_win *win, const struct completion *completion,
                      const struct sim_win_access *access)
{
    if (completion->target >= 0 && access->row.target != world_rank(win, completion->target))
        return false;
    if (completion->request && access->request != completion->request)
        return false;
    return !completion->locally || only_reads(&access->row);
}

static void complete(struct sim_win *win, const struct completion *completion)
{
    struct sim_history *history = win->owner->history;
    if (!history || !win->access_count)
        return;
    uint32_t done = record_position() - 1;
    size_t kept = 0;
    for (size_t i = 0; i < win->access_count; i++) {
        struct sim_win_access *access = &win->accesses[i];
        if (!completes(win, completion, access)) {
            win->accesses[kept++] = *access;
            continue;
        }
        access->row.done = done;
        emit(history, &access->row, NULL);
    }
    win->access_count = kept;
}

void sim_history_complete(struct sim_win *win, int target)
{
    complete(win, &(struct completion){.target = target});
}

void sim_history_complete_locally(struct sim_win *win, int target)
{
    complete(win, &(struct completion){.target = target, .locally = true});
}

void sim_history_waited(struct sim_rank *rank, const void *request)
{
    for (struct exposed *at = rank->history ? rank->history->windows : NULL; at; at = at->next) {
        complete(at->win, &(struct completion){.target = -1, .locally = true, .request = request});
        for (size_t i = 0; i < at->win->access_count; i++)
            if (at->win->accesses[i].request == request)
                at->win->accesses[i].request = NULL;
    }
}

/* ---- atomic elements ---- */

enum { ATOMICS = 256 };

static struct sim_last_atomic *last_atomic(const struct sim_win *win, int target,
                                           const void *element)
{
    struct sim_window_part *part = &win->window->parts[target];
    if (!win->owner->history)
        return NULL;
    if (!part->atomics)
        part->atomics = calloc(ATOMICS, sizeof *part->atomics);
    return part->atomics ? &part->atomics[((uintptr_t)element >> 2) % ATOMICS] : NULL;
}

void sim_history_atomic_written(struct sim_win *win, int target, const void *element)
{
    struct sim_last_atomic *last = last_atomic(win, target, element);
    if (last)
        *last = (struct sim_last_atomic){(uintptr_t)element, world_rank(win, win->rank),
                                         record_position() - 1};
}

void sim_history_atomic_read(struct sim_win *win, int target, const void *element)
{
    const struct sim_last_atomic *last = last_atomic(win, target, element);
    if (last && last->element == (uintptr_t)element && last->rank != world_rank(win, win->rank))
        record_sync(last->rank, last->op, false);
}

/* ---- loads and stores ---- */

/* Cuts [*low, *high) down to what is outside of a stretch; true: the address lies within. */
static bool within(const void *memory, MPI_Aint size, uintptr_t address, uintptr_t *low,
                   uintptr_t *high)
{
    uintptr_t begin = (uintptr_t)memory, end = begin + (size_t)size;
    if (begin == end || !begin)
        return false;
    if (address >= begin && address < end) {
        *low = begin;
        *high = end;
        return true;
    }
    if (begin > address && begin < *high)
        *high = begin;
    if (end <= address && end > *low)
        *low = end;
    return false;
}

static bool within_part(const struct sim_window_part *part, uintptr_t address, uintptr_t *low,
                        uintptr_t *high)
{
    if (within(part->base, part->size, address, low, high))
        return true;
    for (const struct sim_attached *at = part->attached; at; at = at->next)
        if (within(at->base, at->size, address, low, high))
            return true;
    return false;
}

/* The member of a window whose memory holds an address and whom this rank can reach; -1: none.
 * [*low, *high): the stretch around the address that lies in that memory, or outside of all. */
static int member_at(const struct sim_win *win, uintptr_t address, uintptr_t *low, uintptr_t *high)
{
    const struct sim_window *window = win->window;
    bool shared = win->flavor == MPI_WIN_FLAVOR_SHARED;
    for (int i = shared ? 0 : win->rank; i < (shared ? window->size : win->rank + 1); i++)
        if (within_part(&window->parts[i], address, low, high))
            return i;
    return -1;
}

bool sim_history_outside(const struct sim_rank *rank, uintptr_t address, uintptr_t *low,
                         uintptr_t *high)
{
    const struct exposed *at = rank->history ? rank->history->windows : NULL;
    for (; at; at = at->next)
        if (member_at(at->win, address, low, high) >= 0)
            return false;
    return true;
}

static bool joins(const struct touch *touch, const struct trace_access *access, const void *site)
{
    return touch->site == site && touch->access.op == access->op &&
           touch->access.kind == access->kind && touch->access.target == access->target &&
           touch->access.lock == access->lock && access->begin <= touch->access.end &&
           access->end >= touch->access.begin;
}

static void emit_touches(struct sim_history *history)
{
    for (size_t i = 0; i < history->touch_count; i++)
        emit(history, &history->touches[i].access, history->touches[i].site);
    history->touch_count = 0;
}

static void keep(struct sim_history *history, const struct trace_access *access, const void *site)
{
    for (size_t i = history->touch_count; i-- > 0;) {
        struct touch *touch = &history->touches[i];
        if (!joins(touch, access, site))
            continue;
        touch->access.begin =
            access->begin < touch->access.begin ? access->begin : touch->access.begin;
        touch->access.end = access->end > touch->access.end ? access->end : touch->access.end;
        return;
    }
    if (history->touch_count == TOUCHES && !sim_current_rank) {
        history->unseen++;
        return;
    }
    if (history->touch_count == TOUCHES)
        emit_touches(history);
    history->touches[history->touch_count++] = (struct touch){*access, site};
}

void sim_history_touch(struct sim_rank *rank, uintptr_t low, uintptr_t high, bool write,
                       const void *site)
{
    struct sim_history *history = rank->history;
    const uint32_t *operations = history->operations;
    for (const struct exposed *at = operations ? history->windows : NULL; at; at = at->next) {
        uintptr_t first = 0, last = UINTPTR_MAX;
        int member = member_at(at->win, low, &first, &last);
        if (member < 0)
            continue;
        if (write && member == at->win->rank)
            at->win->stored = true;
        if (at->win->window->atomics)
            continue;
        if (!sim_current_rank)
            at->win->helped = true;
        else if (rank->world->exploring)
            sim_lock_order_touch(at->win, member, write ? SIM_LOCK_WRITTEN : SIM_LOCK_READ, low,
                                 high);
        const struct trace_access access = {.op = __atomic_load_n(operations, __ATOMIC_RELAXED),
                                            .done = UINT32_MAX,
                                            .target = world_rank(at->win, member),
                                            .lock = lock_of(at->win, member),
                                            .kind = write ? ACCESS_STORE : ACCESS_LOAD,
                                            .begin = low,
                                            .end = high < last ? high : last};
        const void *own = sim_frames_own(site, NULL);
        void *held = lock(history);
        keep(history, &access, own);
        unlock(history, held);
    }
}

void sim_history_touch_atomically(struct sim_rank *rank, uintptr_t low, uintptr_t high, bool write,
                                  const void *site)
{
    struct sim_history *history = rank->history;
    for (const struct exposed *at = history->windows; at; at = at->next) {
        uintptr_t first = 0, last = UINTPTR_MAX;
        if (member_at(at->win, low, &first, &last) < 0)
            continue;
        history->atomics++;
        if (at->win->flavor == MPI_WIN_FLAVOR_SHARED)
            at->win->window->atomics = true;
        else if (write) /* a load may wait for what another rank puts */
            sim_history_touch(rank, low, high, true, site);
        return;
    }
}

void sim_history_detached(struct sim_win *win, const void *memory, MPI_Aint size, const void *site)
{
    struct sim_history *history = win->owner->history;
    if (!history || !size)
        return;
    sim_history_flush(win->owner);
    const struct trace_access access = {.op = record_position(),
                                        .done = UINT32_MAX,
                                        .target = world_rank(win, win->rank),
                                        .kind = ACCESS_STORE,
                                        .begin = (uintptr_t)memory,
                                        .end = (uintptr_t)memory + (size_t)size};
    emit(history, &access, site);
}

struct used {
    struct sim_rank *rank;
    struct trace_access row;
};

static void use_block(void *context, uint64_t begin, uint64_t end)
{
    const struct used *used = context;
    struct sim_history *history = used->rank->history;
    for (const struct exposed *at = history->windows; at; at = at->next) {
        uintptr_t first = 0, last = UINTPTR_MAX;
        int member = member_at(at->win, begin, &first, &last);
        if (member < 0)
            continue;
        struct trace_access row = used->row;
        row.begin = begin;
        row.end = end < last ? end : last;
        row.target = world_rank(at->win, member);
        row.lock = lock_of(at->win, member);
        at->win->stored = at->win->stored || (row.kind == ACCESS_STORE && member == at->win->rank);
        emit(history, &row, NULL);
    }
}

struct touched {
    struct sim_rank *rank;
    const void *site;
    bool write;
};

static void touch_block(void *context, uint64_t begin, uint64_t end)
{
    const struct touched *touched = context;
    sim_history_touch(touched->rank, begin, end, touched->write, touched->site);
}

void sim_history_used(struct sim_rank *rank, const struct sim_region *region, uint32_t operation,
                      const void *site)
{
    struct sim_history *history = rank->history;
    uint32_t position = record_position();
    if (history && history->windows && !operation && site) {
        if (!each_block(region, touch_block, &(struct touched){rank, site, region->written}))
            history->unseen++;
        return;
    }
    if (!history || !history->windows || !operation || !position)
        return;
    struct used used = {rank,
                        {.op = operation - 1,
                         .done = position - 1,
                         .kind = region->written ? ACCESS_STORE : ACCESS_LOAD}};
    if (!each_block(region, use_block, &used))
        history->unseen++;
}

void sim_history_flush(struct sim_rank *rank)
{
    struct sim_history *history = rank->history;
    if (!history)
        return;
    void *held = lock(history);
    emit_touches(history);
    unlock(history, held);
    if (history->unseen)
        record_gap("windows", history->unseen, "accesses to windows beyond the number kept (B003)");
    history->unseen = 0;
    record_gap("windows", history->atomics,
               "atomic operations of the program itself on memory of windows: what they order, and "
               "loads and stores of shared windows behind them (B003)");
    history->atomics = 0;
}

void sim_history_release(struct sim_rank *rank)
{
    struct sim_history *history = rank->history;
    for (struct exposed *at = history ? history->windows : NULL, *next; at; at = next) {
        next = at->next;
        free(at);
    }
    free(history);
    rank->history = NULL;
}

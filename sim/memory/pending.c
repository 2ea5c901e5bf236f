/* Pending regions: see pending.h. */
#include "sim/memory/pending.h"
#include "sim/worlds/rank.h"

#include "recorder/recorder.h"
#include "sim/debug/lines.h"
#include "sim/libc/hooks.h"
#include "sim/memory/frames.h"
#include "sim/memory/objects.h"
#include "sim/memory/typed.h"
#include "sim/worlds/told.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

/* Regions of one operation that are looked at. */
enum { REGIONS_MAX = 1024 };

/* The recorder's lock comes first, everywhere: a blocking call is watched while it is held, and what
 * is found here is recorded. */
static void lock(struct sim_pending *pending)
{
    void *held = record_hold();
    while (atomic_flag_test_and_set_explicit(&pending->busy, memory_order_acquire)) {
    }
    pending->held = held;
}

static void unlock(struct sim_pending *pending)
{
    void *held = pending->held;
    atomic_flag_clear_explicit(&pending->busy, memory_order_release);
    record_let_go(held);
}

void sim_pending_watch(struct sim_rank *rank)
{
    if (rank->pending)
        return;
    rank->pending = calloc(1, sizeof *rank->pending);
    assert(rank->pending && "out of memory for pending regions");
    rank->pending->instrumented = rank->world->options.memory;
    atomic_store_explicit(&rank->world->watching, true, memory_order_relaxed);
}

void sim_pending_threads(void)
{
    record_threads(MPI_THREAD_MULTIPLE);
}

bool sim_pending_any(const struct sim_rank *rank)
{
    return rank->pending && rank->pending->count;
}

void sim_pending_release(struct sim_rank *rank)
{
    struct sim_pending *pending = rank->pending;
    for (size_t i = 0; pending && i < pending->count; i++)
        sim_datatype_release(pending->entries[i].region.type);
    if (pending) {
        free(pending->entries);
        free(pending->strays);
    }
    free(pending);
    rank->pending = NULL;
}

static void tell_strays(struct sim_pending *pending)
{
    for (; pending->stray_count; pending->stray_count--) {
        const struct sim_pending_stray *stray = &pending->strays[pending->stray_count - 1];
        record_note_of(stray->operation, stray->site, "B001", stray->text);
    }
}

void sim_pending_finish(struct sim_rank *rank)
{
    struct sim_pending *pending = rank->pending;
    rank->world->rooms->window_flush(rank);
    if (!pending)
        return;
    lock(pending);
    tell_strays(pending);
    unlock(pending);
    if (rank->history && !pending->instrumented)
        record_gap("windows", 1, "loads and stores of window memory (B003; --memory sees them)");
    if (rank->company.threads)
        sim_company_leaves(rank);
    if (pending->instrumented && rank->company.beside)
        record_gap("threads", rank->company.beside,
                   "calls of MPI beside other threads of the rank, whose loads and stores came "
                   "before and after them in one order only (B001, B003)");
    if (rank->world->options.memory_unseen && pending->kept)
        record_gap(
            "memory", pending->kept,
            "buffers of operations under way in a program that was built before, whose loads "
            "and stores are not seen (B001, B003; give its sources)");
    if (pending->unseen_large)
        record_gap("buffers", pending->unseen_large,
                   "pending buffers above %d bytes (B001; --memory sees them)", SIM_REGION_GUARDED);
    if (pending->untyped)
        record_gap("types", pending->untyped,
                   "buffers of a program without debug information, whose types are not known "
                   "(M011, B006; compile it with -g)");
    if (rank->unpacked)
        record_gap("types", rank->unpacked,
                   "what was unpacked: whether it was packed as data of these types (M004)");
    if (pending->untold)
        record_gap("types", pending->untold,
                   "buffers whose type no variable tells: reached by void pointers, or by no "
                   "variable in scope (M011)");
    if (pending->unbounded)
        record_gap("bounds", pending->unbounded,
                   "buffers of which nothing says where they end: no variable of known length, and "
                   "not from malloc and its kin (B006)");
    if (pending->unseen_collectives)
        record_gap("buffers", pending->unseen_collectives,
                   "buffers of nonblocking collectives (B001; --memory sees them)");
}

/* The first entry that may reach beyond `low`. */
static size_t first_reaching(const struct sim_pending *pending, uintptr_t low)
{
    uintptr_t from = low > pending->longest ? low - pending->longest : 0;
    size_t begin = 0, end = pending->count;
    while (begin < end) {
        size_t middle = begin + (end - begin) / 2;
        if (pending->entries[middle].hull.low < from)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

/* Others only look whether there are any: no operation of the bus is needed. */
static void set_count(struct sim_pending *pending, size_t count)
{
    atomic_store_explicit(&pending->count, count, memory_order_release);
}

/* Where an entry of this hull belongs. */
static struct sim_pending_entry *insert(struct sim_pending *pending, struct sim_hull hull)
{
    size_t at = pending->count;
    if (at == pending->room) {
        size_t room = pending->room ? 2 * pending->room : 16;
        struct sim_pending_entry *entries = realloc(pending->entries, room * sizeof *entries);
        assert(entries && "out of memory for pending regions");
        pending->entries = entries;
        pending->room = room;
    }
    set_count(pending, at + 1);
    for (; at > 0 && pending->entries[at - 1].hull.low > hull.low; at--)
        pending->entries[at] = pending->entries[at - 1];
    uintptr_t length = hull.high - hull.low;
    if (length > pending->longest)
        pending->longest = length;
    return &pending->entries[at];
}

static void everything_unsafe(struct sim_rank *rank)
{
    rank->safe_low = rank->safe_size = 0;
}

/* What one operation brings, compared with what is there. */
struct start {
    struct sim_rank *rank;
    const char *name;
    const void *owner, *site;
    uint32_t operation, group;
    size_t regions;
    bool told;
};

static void tell_overlap(struct start *start, struct sim_pending_entry *earlier,
                         const struct sim_region *later, uintptr_t at)
{
    char text[256];
    start->told = true;
    if (!earlier->orphan && later->written)
        earlier->checksum = 0; /* what changes is told here */
    if (earlier->group == start->group && earlier->region.written && later->written)
        snprintf(text, sizeof text,
                 "two blocks of the %s of one %s overlap, %zu bytes into the later", later->side,
                 start->name, (size_t)(at - sim_region_hull(later).low));
    else if (earlier->group == start->group)
        snprintf(text, sizeof text, "the %s and the %s of one %s overlap, %zu bytes into the %s",
                 earlier->region.side, later->side, start->name,
                 (size_t)(at - sim_region_hull(later).low), later->side);
    else
        snprintf(text, sizeof text, "%s %s the %s of a pending %s, at byte %zu of it", start->name,
                 later->written ? "writes" : "reads", earlier->region.side, earlier->name,
                 (size_t)(at - earlier->hull.low));
    if (start->site && earlier->group != start->group) { /* as if the program did it itself */
        record_note_of(earlier->operation, start->site, "B001", text);
        return;
    }
    record_note_of(start->operation, start->site, "B002", text);
    if (earlier->group != start->group)
        record_note_of(earlier->operation, NULL, "B002", "this one was under way");
}

static void tell_own_overlap(struct start *start, const struct sim_region *region)
{
    char text[256];
    if (start->told)
        return;
    start->told = true;
    snprintf(text, sizeof text,
             "blocks of the %s of one %s overlap: elements of its datatype lie closer together "
             "than their bytes reach",
             region->side, start->name);
    record_note_of(start->operation, start->site, "B002", text);
}

static void compare(struct start *start, const struct sim_region *region, struct sim_hull hull)
{
    struct sim_pending *pending = start->rank->pending;
    if (!region->written && !pending->writes)
        return; /* an epoch may send one variable many thousand times */
    for (size_t i = first_reaching(pending, hull.low);
         i < pending->count && pending->entries[i].hull.low < hull.high && !start->told; i++) {
        struct sim_pending_entry *entry = &pending->entries[i];
        uintptr_t at;
        if (entry->hull.high <= hull.low || (!entry->region.written && !region->written))
            continue;
        if (sim_regions_share(&entry->region, region, &at) == SIM_SHARED)
            tell_overlap(start, entry, region, at);
    }
}

/* A region that displacements put altogether behind the variable or object that was given as the
 * buffer: no other is known there. */
static bool is_astray(const struct start *start, const struct sim_region *region,
                      struct sim_hull hull, const char *verb)
{
    enum { NEAR = 1 << 16 }; /* what a datatype leads to from farther away lies elsewhere */
    uintptr_t anchor = start->rank->pending->anchor;
    if (!anchor && hull.low - region->base <= NEAR)
        anchor = region->base;
    struct sim_object_found found;
    struct sim_scope scope;
    if (!anchor || hull.low <= anchor || sim_objects_holding(start->rank, hull.low, &found))
        return false;
    const struct sim_region whole = {anchor, sim_datatype_get(MPI_BYTE), hull.high - anchor,
                                     region->written, region->side};
    if (sim_objects_holding(start->rank, anchor, &found))
        return sim_objects_bound(start->rank, &whole, sim_region_hull(&whole), start->name, verb);
    return sim_typed_check(start->rank, &whole, start->name, verb, &scope) == SIM_TYPED_WRONG;
}

static void begin_region(void *context, const struct sim_region *region)
{
    struct start *start = context;
    struct sim_hull hull = sim_region_hull(region);
    if (hull.low == hull.high || start->regions++ >= REGIONS_MAX)
        return;
    const char *verb = region->written ? "writes" : "reads";
    struct sim_scope scope = {.file = NULL};
    bool freed = sim_objects_freed(start->rank, region, hull, start->name, verb);
    enum sim_typed typed =
        freed ? SIM_TYPED_WRONG : sim_typed_check(start->rank, region, start->name, verb, &scope);
    bool bounded = typed == SIM_TYPED_WRONG ||
                   !sim_objects_bound(start->rank, region, hull, start->name, verb);
    if (bounded && (typed == SIM_TYPED_UNBOUNDED || typed == SIM_TYPED_UNTOLD) &&
        is_astray(start, region, hull, verb)) {
        bounded = false;
        typed = SIM_TYPED_WRONG;
    }
    if (!bounded || typed >= SIM_TYPED_WRONG)
        start->rank->pending->misfits++;
    start->rank->pending->untyped += typed == SIM_TYPED_NO_DEBUG;
    start->rank->pending->untold += typed == SIM_TYPED_UNTOLD;
    start->rank->pending->unbounded += typed == SIM_TYPED_UNBOUNDED;
    compare(start, region, hull);
    if (region->written && sim_datatype_overlaps(region->type, region->count))
        tell_own_overlap(start, region);
    sim_datatype_retain(region->type);
    struct sim_pending_entry *entry = insert(start->rank->pending, hull);
    start->rank->pending->writes += region->written;
    entry->hull = hull; /* in place: it is too large to be built and copied */
    entry->region = *region;
    entry->owner = start->owner;
    entry->also = NULL;
    entry->name = start->name;
    entry->operation = start->operation;
    entry->group = start->group;
    entry->orphan = entry->read_told = entry->write_told = false;
    entry->scope = scope;
    entry->checksum = 0;
}

static bool owns(const struct sim_pending_entry *entry, const void *owner)
{
    return entry->owner == owner || entry->also == owner;
}

static void remove_of(struct sim_rank *rank, const void *owner, uint32_t group)
{
    struct sim_pending *pending = rank->pending;
    size_t kept = 0;
    for (size_t i = 0; i < pending->count; i++) {
        struct sim_pending_entry *entry = &pending->entries[i];
        if (owner ? owns(entry, owner) : entry->group == group) {
            if (rank->history)
                rank->world->rooms->window_used(rank, &entry->region, entry->operation,
                                                sim_told_site());
            pending->writes -= entry->region.written;
            sim_datatype_release(entry->region.type);
        } else {
            pending->entries[kept++] = *entry;
        }
    }
    set_count(pending, kept);
    if (!kept)
        pending->longest = 0;
}

static struct start start_begin(struct sim_rank *rank, const char *name, const void *owner)
{
    lock(rank->pending);
    return (struct start){.rank = rank,
                          .name = name,
                          .owner = owner,
                          .operation = record_position(),
                          .group = ++rank->pending->groups};
}

static void start_end(struct start *start)
{
    start->rank->pending->kept += start->owner != NULL;
    if (start->told)
        start->rank->pending->misfits++;
    if (!start->owner)
        remove_of(start->rank, NULL, start->group);
    sim_told_set(NULL);
    everything_unsafe(start->rank);
    unlock(start->rank->pending);
}

void sim_pending_begin(struct sim_rank *rank, const char *name, const void *owner,
                       sim_region_source *source, const void *operation)
{
    if (!rank->pending)
        return;
    struct start start = start_begin(rank, name, owner);
    source(operation, begin_region, &start);
    start_end(&start);
}

void sim_pending_used(const char *name, const struct sim_used *sides, size_t count,
                      const void *site)
{
    struct sim_rank *rank = sim_current_rank;
    if (!rank || !rank->pending || rank->within_op)
        return;
    struct start start = start_begin(rank, name, NULL);
    start.site = site;
    sim_told_set(site);
    start.operation = 0;
    for (size_t i = 0; i < count; i++)
        if (sides[i].buffer && sides[i].type && sides[i].count)
            begin_region(&start,
                         &(struct sim_region){(uintptr_t)sides[i].buffer, sides[i].type,
                                              sides[i].count, sides[i].written, sides[i].side});
    start_end(&start);
}

struct listed {
    const struct sim_region *regions;
    size_t count;
};

static void visit_listed(const void *operation, sim_region_visit *visit, void *context)
{
    const struct listed *list = operation;
    for (size_t i = 0; i < list->count; i++)
        visit(context, &list->regions[i]);
}

void sim_pending_add(struct sim_rank *rank, const struct sim_region *regions, size_t count,
                     const char *name, const void *owner)
{
    sim_pending_begin(rank, name, owner, visit_listed, &(struct listed){regions, count});
}

void sim_pending_also(struct sim_rank *rank, const void *owner, const void *request)
{
    struct sim_pending *pending = rank->pending;
    for (size_t i = 0; pending && i < pending->count; i++)
        if (pending->entries[i].owner == owner && pending->entries[i].group == pending->groups)
            pending->entries[i].also = request;
}

void sim_pending_operation(struct sim_rank *rank, const void *owner, uint32_t operation)
{
    struct sim_pending *pending = rank->pending;
    for (size_t i = 0; pending && i < pending->count; i++)
        if (pending->entries[i].owner == owner &&
            (pending->entries[i].read_told || pending->entries[i].write_told))
            operation = 0; /* a second report is as the first */
    for (size_t i = 0; pending && i < pending->count; i++)
        if (pending->entries[i].owner == owner)
            pending->entries[i].operation = operation;
}

/* Of code that is instrumented alone: it was compiled so that no call is another block's, too. */
static void tell_scope_left(struct sim_rank *rank, struct sim_pending_entry *entry)
{
    char text[256];
    if (!entry->scope.file || entry->write_told || rank != sim_current_rank ||
        !rank->pending->instrumented || !sim_scope_left(&entry->scope))
        return;
    entry->write_told = true;
    snprintf(text, sizeof text,
             "the %s of %s %s lay in variable %s, whose block of the program ended before it "
             "completed",
             entry->region.side, entry->orphan ? "a freed" : "a pending", entry->name,
             entry->scope.variable);
    record_note_of(entry->operation, NULL, "B001", text);
}

void sim_pending_guard(struct sim_rank *rank, const struct sim_region *region, const void *owner)
{
    struct sim_pending *pending = rank->pending;
    size_t bytes = region->count * region->type->size;
    if (bytes > SIM_REGION_GUARDED) {
        pending->unseen_large++;
        return;
    }
    uintptr_t low = sim_region_hull(region).low;
    lock(pending);
    size_t begin = 0, end = pending->count;
    while (begin < end) {
        size_t middle = begin + (end - begin) / 2;
        if (pending->entries[middle].hull.low <= low)
            begin = middle + 1;
        else
            end = middle;
    }
    for (; begin > 0 && pending->entries[begin - 1].hull.low == low;
         begin--) { /* the last comes last */
        struct sim_pending_entry *entry = &pending->entries[begin - 1];
        if (entry->owner != owner || entry->group != pending->groups)
            break;
        if (entry->region.side == region->side && bytes)
            entry->checksum = sim_region_checksum(region);
    }
    unlock(pending);
}

static void look_at(struct sim_pending_entry *entry)
{
    char text[128];
    bool changed = entry->checksum && !entry->orphan && !entry->write_told &&
                   entry->checksum != sim_region_checksum(&entry->region);
    if (!entry->orphan)
        entry->checksum = 0;
    if (!changed)
        return;
    entry->write_told = true;
    snprintf(text, sizeof text, "the %s of a pending %s was changed before it completed",
             entry->region.side, entry->name);
    record_note_of(entry->operation, NULL, "B001", text);
}

static bool between(const void *owner, const void *first, const void *last)
{
    return (uintptr_t)owner >= (uintptr_t)first && (uintptr_t)owner <= (uintptr_t)last;
}

void sim_pending_look(struct sim_rank *rank, const void *first, const void *last)
{
    struct sim_pending *pending = rank->pending;
    if (pending->instrumented)
        return;
    lock(pending);
    for (size_t i = 0; i < pending->count; i++) {
        struct sim_pending_entry *entry = &pending->entries[i];
        if (between(entry->owner, first, last) || between(entry->also, first, last))
            look_at(entry);
    }
    unlock(pending);
}

bool sim_pending_end(struct sim_rank *rank, const void *owner)
{
    struct sim_pending *pending = rank->pending;
    if (rank->history)
        rank->world->rooms->window_waited(rank, owner);
    if (!pending || !pending->count)
        return false;
    lock(pending);
    tell_strays(pending);
    bool told = false;
    for (size_t i = 0; i < pending->count; i++)
        if (owns(&pending->entries[i], owner)) {
            tell_scope_left(rank, &pending->entries[i]);
            look_at(&pending->entries[i]);
            told |= pending->entries[i].read_told || pending->entries[i].write_told;
        }
    remove_of(rank, owner, 0);
    everything_unsafe(rank);
    unlock(pending);
    return told;
}

void sim_pending_freed(struct sim_rank *rank, const void *owner)
{
    struct sim_pending *pending = rank->pending;
    if (!pending)
        return;
    lock(pending);
    for (size_t i = 0; i < pending->count; i++) {
        struct sim_pending_entry *entry = &pending->entries[i];
        if (entry->also == owner)
            entry->also = NULL;
        if (entry->owner != owner)
            continue;
        entry->owner = pending;
        entry->orphan = true;
        pending->orphans++;
        if (!pending->instrumented && !entry->region.written) /* what comes changes it */
            entry->checksum = sim_region_checksum(&entry->region);
    }
    unlock(pending);
}

void sim_pending_heard(struct sim_rank *rank)
{
    struct sim_pending *pending = rank->pending;
    if (!pending || !pending->orphans)
        return;
    lock(pending);
    tell_strays(pending);
    for (size_t i = 0; i < pending->count; i++) {
        const struct sim_pending_entry *entry = &pending->entries[i];
        if (entry->orphan && entry->checksum &&
            entry->checksum != sim_region_checksum(&entry->region))
            record_note_of(entry->operation, NULL, "B001",
                           "the buffer of a send was changed after its request was freed, before "
                           "anything told that the send was complete, as seen");
    }
    remove_of(rank, pending, 0);
    pending->orphans = 0;
    unlock(pending);
}

/* Owned by the rank, which tells it when something of its is over. */
static void keep_stray(struct sim_pending *pending, uint32_t operation, const void *site,
                       const char *text)
{
    if (!pending->strays)
        pending->strays = calloc(SIM_PENDING_STRAYS, sizeof *pending->strays);
    if (!pending->strays || pending->stray_count == SIM_PENDING_STRAYS)
        return;
    struct sim_pending_stray *stray = &pending->strays[pending->stray_count++];
    stray->operation = operation;
    stray->site = site;
    snprintf(stray->text, sizeof stray->text, "%s", text);
}

static void tell_access(struct sim_pending *pending, struct sim_pending_entry *entry,
                        uintptr_t address, size_t size, bool write, const void *site)
{
    bool *told = write ? &entry->write_told : &entry->read_told;
    char text[256 + DEBUG_LINE_MAX], within[DEBUG_LINE_MAX];
    if (*told)
        return;
    *told = true;
    const void *own = sim_frames_own(site, within);
    snprintf(text, sizeof text,
             "the %s of %s %s was %s before it completed; %zu bytes, %td from its beginning%s%s",
             entry->region.side, entry->orphan ? "a freed" : "a pending", entry->name,
             write ? "written" : "read", size, (ptrdiff_t)(address - entry->hull.low),
             *within ? ", within " : "", within);
    if (sim_current_rank)
        record_note_of(entry->operation, own, "B001", text);
    else
        keep_stray(pending, entry->operation, own, text);
}

bool sim_pending_within(struct sim_rank *rank, uintptr_t low, uintptr_t high)
{
    struct sim_pending *pending = rank->pending;
    bool found = false;
    lock(pending);
    for (size_t i = first_reaching(pending, low);
         i < pending->count && pending->entries[i].hull.low < high && !found; i++)
        found = pending->entries[i].hull.low >= low && !pending->entries[i].write_told;
    unlock(pending);
    uintptr_t first = 0, last = UINTPTR_MAX;
    found |= rank->history && !pending->window_lost &&
             (!rank->world->rooms->window_outside(rank, low, &first, &last) || last < high);
    return found && !rank->within_op && !rank->finalized;
}

bool sim_pending_allows(struct sim_rank *rank, uintptr_t low, uintptr_t high, bool write)
{
    struct sim_pending *pending = rank->pending;
    uintptr_t first = 0, last = UINTPTR_MAX;
    if (!rank->world->rooms->window_outside(rank, low, &first, &last) || high > last)
        return false;
    bool allowed = true;
    lock(pending);
    for (size_t i = first_reaching(pending, low);
         i < pending->count && pending->entries[i].hull.low < high && allowed; i++)
        allowed =
            pending->entries[i].hull.high <= low || !(write || pending->entries[i].region.written);
    unlock(pending);
    return allowed;
}

static const char *const ways_to_lose[] = {[SIM_LOST_FREE] = "was freed",
                                           [SIM_LOST_RETURN] =
                                               "lay on the stack of a function that returned"};

/* A window's memory must stay until MPI_Win_free, or MPI_Win_detach, whoever accesses it. On the stack
 * other functions come and go there afterwards: that is told once. */
static bool tell_window_lost(struct sim_rank *rank, uintptr_t low, uintptr_t high,
                             enum sim_lost how, const void *site)
{
    uintptr_t first = 0, last = UINTPTR_MAX;
    bool outside = rank->world->rooms->window_outside(rank, low, &first, &last);
    if (rank != sim_current_rank || (outside && last >= high) ||
        (how == SIM_LOST_RETURN && rank->pending->window_lost))
        return false;
    char text[256];
    snprintf(
        text, sizeof text,
        "memory of a window %s while it is the window's: MPI_Win_free (or MPI_Win_detach) must "
        "come first",
        ways_to_lose[how]);
    rank->pending->window_lost |= how == SIM_LOST_RETURN;
    record_note_of(0, sim_frames_own(site, NULL), "B001", text);
    return true;
}

void sim_pending_window_used(struct sim_rank *rank, uintptr_t base)
{
    const void *site = sim_libc_call_site();
    if (!rank->pending || rank->pending->window_lost)
        return;
    uintptr_t stack = sim_frames_stack_of(__builtin_frame_address(0), site);
    if (sim_frames_gone(stack, base))
        tell_window_lost(rank, base, base + 1, SIM_LOST_RETURN, site);
}

bool sim_pending_lose(struct sim_rank *rank, uintptr_t address, size_t size, enum sim_lost how,
                      const void *site)
{
    struct sim_pending *pending = rank->pending;
    bool told = false;
    if (!pending || rank->within_op)
        return false;
    if (rank->history) {
        if (how == SIM_LOST_FREE)
            rank->world->rooms->window_touch(rank, address, address + size, true, site);
        told = tell_window_lost(rank, address, address + size, how, site);
    }
    if (!pending->count)
        return told;
    lock(pending);
    for (size_t i = first_reaching(pending, address);
         i < pending->count && pending->entries[i].hull.low < address + size; i++) {
        struct sim_pending_entry *entry = &pending->entries[i];
        char text[256];
        if (entry->write_told || !sim_region_touches(&entry->region, address, address + size))
            continue;
        told = true;
        entry->write_told = true;
        snprintf(text, sizeof text, "the memory of the %s of %s %s %s before it completed",
                 entry->region.side, entry->orphan ? "a freed" : "a pending", entry->name,
                 ways_to_lose[how]);
        record_note_of(entry->operation, sim_frames_own(site, NULL), "B001", text);
    }
    unlock(pending);
    return told;
}

/* The stretch without a pending byte around an address that is none itself. */
static void set_safe(struct sim_rank *rank, uintptr_t address)
{
    const struct sim_pending *pending = rank->pending;
    enum { WIDEST = 16 }; /* an access that begins in the stretch may end behind it */
    size_t first = first_reaching(pending, address);
    uintptr_t high = UINTPTR_MAX; /* whoever begins before `first` ends within `longest` of that */
    uintptr_t low = first ? pending->entries[first - 1].hull.low + pending->longest : 0;
    for (size_t i = first; i < pending->count; i++) {
        const struct sim_hull *hull = &pending->entries[i].hull;
        if (hull->low > address) {
            high = hull->low;
            break;
        }
        low = hull->high > low ? hull->high : low;
    }
    if (!rank->world->rooms->window_outside(rank, address, &low, &high))
        return;
    rank->safe_low = low;
    rank->safe_size = high - low > WIDEST ? high - low - WIDEST : 0;
}

/* True: nothing is pending there. */
static bool look(struct sim_rank *rank, uintptr_t address, size_t size, bool write,
                 const void *site)
{
    struct sim_pending *pending = rank->pending;
    bool inside = false;
    for (size_t i = first_reaching(pending, address);
         i < pending->count && pending->entries[i].hull.low < address + size; i++) {
        struct sim_pending_entry *entry = &pending->entries[i];
        if (entry->hull.high <= address)
            continue;
        inside = true;
        if ((write || entry->region.written) &&
            sim_region_touches(&entry->region, address, address + size))
            tell_access(pending, entry, address, size, write, site);
    }
    return !inside;
}

void sim_pending_atomic(struct sim_rank *rank, uintptr_t address, size_t size, bool write,
                        const void *site)
{
    if (rank->within_op)
        return;
    lock(rank->pending);
    look(rank, address, size, write, site);
    unlock(rank->pending);
}

void sim_pending_access(struct sim_rank *rank, uintptr_t address, size_t size, bool write,
                        const void *site)
{
    struct sim_pending *pending = rank->pending;
    if (!pending || rank->within_op) {
        if (!pending && rank == sim_current_rank) {
            rank->safe_low = 0;
            rank->safe_size = UINTPTR_MAX;
        }
        return;
    }
    if (rank->history)
        rank->world->rooms->window_touch(rank, address, address + size, write, site);
    if (!pending->count && rank != sim_current_rank)
        return;
    lock(pending);
    if (look(rank, address, size, write, site) && rank == sim_current_rank)
        set_safe(rank, address);
    unlock(pending);
}

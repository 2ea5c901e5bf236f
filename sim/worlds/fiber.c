/* Ranks as user-level threads: one OS thread runs a whole world, a switch costs a few nanoseconds.
 *
 * A fiber runs until it blocks or yields; who is next is the head of the world's ready queue.
 * Deadlock is the instant at which the queue is empty: control returns to the host, that is
 * sim_world_run's stack. errno is kept per rank across switches. The switch saves what the ABI says
 * a callee keeps; elsewhere than x86-64 and aarch64 ucontext does it. */
#include "sim/libc/process.h"
#include "sim/worlds/wide.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined __SANITIZE_ADDRESS__
#define FIBER_ASAN 1
#elif defined __SANITIZE_THREAD__
#define FIBER_TSAN 1
#elif defined __has_feature
#if __has_feature(address_sanitizer)
#define FIBER_ASAN 1
#elif __has_feature(thread_sanitizer)
#define FIBER_TSAN 1
#endif
#endif
#ifndef FIBER_ASAN
#define FIBER_ASAN 0
#endif
#ifndef FIBER_TSAN
#define FIBER_TSAN 0
#endif

#if FIBER_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#elif FIBER_TSAN
#include <sanitizer/tsan_interface.h>
#endif

static void fiber_main(void);

#if defined __x86_64__
/* Saves the callee-saved registers and the two control words on the stack, stores it in *from,
 * continues on `to`. Control words are loaded only where they differ: loading them takes longer
 * than all the rest. */
__asm__(".text\n"
        ".p2align 4\n"
        ".globl sim_fiber_switch\n"
        ".hidden sim_fiber_switch\n"
        ".type sim_fiber_switch,@function\n"
        "sim_fiber_switch:\n"
        ".cfi_startproc\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    subq $8, %rsp\n"
        "    stmxcsr (%rsp)\n"
        "    fnstcw 4(%rsp)\n"
        "    movl (%rsp), %eax\n"
        "    movzwl 4(%rsp), %ecx\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    cmpl (%rsp), %eax\n"
        "    jne 1f\n"
        "    cmpw 4(%rsp), %cx\n"
        "    jne 1f\n"
        "0:  addq $8, %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    ret\n"
        "1:  ldmxcsr (%rsp)\n"
        "    fldcw 4(%rsp)\n"
        "    jmp 0b\n"
        ".cfi_endproc\n"
        ".size sim_fiber_switch,.-sim_fiber_switch\n");

static void *fiber_prepare(char *top)
{
    uint64_t *sp = (uint64_t *)(void *)top;
    *--sp = 0; /* where fiber_main would return to; keeps the stack aligned as at any function's
                  entry */
    *--sp = (uint64_t)(uintptr_t)fiber_main;
    for (int i = 0; i < 6; i++)
        *--sp = 0;
    *--sp = 0x0000037f00001f80u; /* x87 control word above, MXCSR below: the ABI's defaults */
    return sp;
}
#elif defined __aarch64__
__asm__(".text\n"
        ".p2align 4\n"
        ".globl sim_fiber_switch\n"
        ".hidden sim_fiber_switch\n"
        ".type sim_fiber_switch,%function\n"
        "sim_fiber_switch:\n"
        "    sub sp, sp, #176\n"
        "    stp x19, x20, [sp, #0]\n"
        "    stp x21, x22, [sp, #16]\n"
        "    stp x23, x24, [sp, #32]\n"
        "    stp x25, x26, [sp, #48]\n"
        "    stp x27, x28, [sp, #64]\n"
        "    stp x29, x30, [sp, #80]\n"
        "    stp d8, d9, [sp, #96]\n"
        "    stp d10, d11, [sp, #112]\n"
        "    stp d12, d13, [sp, #128]\n"
        "    stp d14, d15, [sp, #144]\n"
        "    mrs x9, fpcr\n"
        "    str x9, [sp, #160]\n"
        "    mov x9, sp\n"
        "    str x9, [x0]\n"
        "    mov sp, x1\n"
        "    ldr x9, [sp, #160]\n"
        "    msr fpcr, x9\n"
        "    ldp x19, x20, [sp, #0]\n"
        "    ldp x21, x22, [sp, #16]\n"
        "    ldp x23, x24, [sp, #32]\n"
        "    ldp x25, x26, [sp, #48]\n"
        "    ldp x27, x28, [sp, #64]\n"
        "    ldp x29, x30, [sp, #80]\n"
        "    ldp d8, d9, [sp, #96]\n"
        "    ldp d10, d11, [sp, #112]\n"
        "    ldp d12, d13, [sp, #128]\n"
        "    ldp d14, d15, [sp, #144]\n"
        "    add sp, sp, #176\n"
        "    ret\n"
        ".size sim_fiber_switch,.-sim_fiber_switch\n");

static void *fiber_prepare(char *top)
{
    uint64_t *sp = (uint64_t *)(void *)(top - 176);
    memset(sp, 0, 176);
    sp[11] = (uint64_t)(uintptr_t)fiber_main; /* x30 */
    return sp;
}
#else
#include <ucontext.h>

struct fiber_context {
    ucontext_t context;
};

void sim_fiber_switch(void **from, void *to)
{
    struct fiber_context here;
    *from = &here;
    swapcontext(&here.context, &((struct fiber_context *)to)->context);
}

static void *fiber_prepare(char *top)
{
    struct fiber_context *made = (struct fiber_context *)(void *)(top - sizeof *made - 64);
    getcontext(&made->context);
    made->context.uc_stack.ss_sp = top - 65536;
    made->context.uc_stack.ss_size = 65536 - sizeof *made - 128;
    makecontext(&made->context, fiber_main, 0);
    return made;
}
#endif

static inline struct sim_rank *dequeue(struct sim_world *world)
{
    struct sim_rank *rank = world->ready_head;
    if (!rank)
        return NULL;
    world->ready_head = rank->next_ready;
    if (!world->ready_head)
        world->ready_tail = &world->ready_head;
    return rank;
}

/* With choose_run the next rank is any of the ready ones, not the first. */
static struct sim_rank *dequeue_chosen(struct sim_world *world)
{
    uint32_t ready = 0;
    for (struct sim_rank *rank = world->ready_head; rank && ready < 64; rank = rank->next_ready)
        ready++;
    if (ready < 2)
        return dequeue(world);
    uint32_t pick = sim_choose(&world->chooser, MPIX_CHOOSE_RUN, UINT32_MAX, ready, NULL);
    struct sim_rank **link = &world->ready_head;
    while (pick--)
        link = &(*link)->next_ready;
    struct sim_rank *rank = *link;
    *link = rank->next_ready;
    if (world->ready_tail == &rank->next_ready)
        world->ready_tail = link;
    return rank;
}

static inline void announce_switch(struct sim_rank *from, struct sim_rank *to, bool from_ends)
{
#if FIBER_ASAN
    struct sim_world *world = from ? from->world : to->world;
    const void *bottom = to ? to->stack_base : world->host_stack_bottom;
    size_t size = to ? world->stack_stride - world->guard : world->host_stack_size;
    static _Thread_local void *host_fake;
    void **save = from ? &from->sanitizer : &host_fake;
    __sanitizer_start_switch_fiber(from_ends ? NULL : save, bottom, size);
#elif FIBER_TSAN
    static _Thread_local void *host_fiber;
    (void)from_ends;
    if (!from)
        host_fiber = __tsan_get_current_fiber();
    if (to && !to->sanitizer)
        to->sanitizer = __tsan_create_fiber(0);
    __tsan_switch_to_fiber(to ? to->sanitizer : host_fiber, 0);
#else
    (void)from, (void)to, (void)from_ends;
#endif
}

static inline void announce_arrival(struct sim_rank *rank, struct sim_world *world)
{
#if FIBER_ASAN
    const void *bottom;
    size_t size;
    __sanitizer_finish_switch_fiber(rank ? rank->sanitizer : NULL, &bottom, &size);
    if (world && !world->host_stack_bottom) {
        world->host_stack_bottom = bottom;
        world->host_stack_size = size;
    }
#else
    (void)rank, (void)world;
#endif
}

void sim_fiber_announce_switch(struct sim_rank *from, struct sim_rank *to, bool from_ends)
{
    announce_switch(from, to, from_ends);
}

void sim_fiber_announce_arrival(struct sim_rank *rank, struct sim_world *world)
{
    announce_arrival(rank, world);
}

bool sim_fiber_may_move(void)
{
    /* The one wants to know the stack of each host, the other takes fibers for threads, which give back
     * the mutexes that they took. */
    return !FIBER_ASAN && !FIBER_TSAN;
}

enum { PREFETCHED_LINES = 4 }; /* of a suspended rank's stack; there are always so many */

/* In a large world the stack of the rank after the next has left the caches: one switch is over before
 * the memory answers, so it is fetched two switches ahead. Prefetching holds nothing up; loads
 * made a barrier of 4,096 ranks a third slower.
 *
 * For gcc a function that only prefetches has no effect, and its calls go: the empty statement is one. */
static inline void prefetch_behind(const struct sim_rank *running)
{
    __asm__ volatile("");
    const struct sim_rank *next = running->next_ready, *second = next ? next->next_ready : NULL;
    if (!second)
        return;
    for (int line = 0; line < PREFETCHED_LINES; line++)
        __builtin_prefetch((const char *)second->stack_pointer + (ptrdiff_t)line * 64);
    __builtin_prefetch(second->comm_world);
    if (second->next_ready)
        __builtin_prefetch(second->next_ready);
}

static inline void become(struct sim_rank *rank)
{
    struct sim_world *world = rank->world;
    prefetch_behind(rank);
    sim_current_rank = rank;
    atomic_store_explicit(world->running, rank->id, memory_order_relaxed);
    sim_rank_move(rank, SIM_RUNNING);
    world->switches++;
}

/* Who runs next; NULL when nobody can. */
__attribute__((noinline)) struct sim_rank *sim_fiber_next(struct sim_world *world)
{
    if (world->over)
        return NULL;
    if (!world->ready_head && (!world->live || !sim_world_quiescent(world)))
        return NULL;
    return world->options.choose_run ? dequeue_chosen(world) : dequeue(world);
}

static inline void switch_away(struct sim_rank *rank, bool ends)
{
    struct sim_world *world = rank->world;
    bool in_turn = world->ready_head && !world->out_of_turn;
    struct sim_rank *next = in_turn ? dequeue(world) : sim_fiber_next(world);
    if (next == rank) {
        sim_rank_move(rank, SIM_RUNNING);
        return;
    }
    rank->saved_errno = *world->errno_address;
    announce_switch(rank, next, ends);
    if (next) {
        become(next);
        sim_fiber_switch(&rank->stack_pointer, next->stack_pointer);
    } else {
        sim_current_rank = NULL;
        sim_fiber_switch(&rank->stack_pointer, world->host_stack_pointer);
    }
    announce_arrival(rank, NULL);
    if (__builtin_expect(!world->threaded, 1)) /* else who carries it did */
        *world->errno_address = rank->saved_errno;
}

/* What the OpenMP runtime knows of this thread is of the rank's region: the rank takes it along. */
__attribute__((noinline, cold)) static void switch_in_region(struct sim_rank *rank)
{
    struct sim_team_state team;
    sim_libc_team_aside(&team);
    switch_away(rank, false);
    sim_libc_team_back(&team);
}

/* What the rank changed of the process goes with it, too. */
__attribute__((noinline, cold)) static void switch_apart(struct sim_rank *rank)
{
    if (rank->libc.process)
        sim_libc_process_aside(&rank->libc);
    if (rank->libc.regions)
        switch_in_region(rank);
    else
        switch_away(rank, false);
    if (rank->libc.process)
        sim_libc_process_back(&rank->libc);
}

void sim_fiber_block(struct sim_rank *rank)
{
    if (__builtin_expect(rank->libc.regions || rank->libc.apart, 0))
        switch_apart(rank);
    else
        switch_away(rank, false);
}

static void fiber_wake(struct sim_rank *rank)
{
    sim_fiber_enqueue(rank->world, rank);
}

static void fiber_yield(struct sim_rank *rank)
{
    sim_rank_move(rank, SIM_READY);
    sim_fiber_enqueue(rank->world, rank);
    sim_fiber_block(rank);
}

static _Noreturn void fiber_leave(struct sim_rank *rank)
{
    if (rank->libc.regions) {
        sim_libc_regions_abandon(&rank->libc);
        sim_libc_team_drop();
    }
    if (rank->libc.process)
        sim_libc_process_aside(&rank->libc);
    switch_away(rank, true);
    abort(); /* a rank that has left is never resumed */
}

static void fiber_main(void)
{
    struct sim_rank *rank = sim_current_rank;
    announce_arrival(NULL, rank->world);
    rank->fresh = false;
    sim_world_leave(rank->world); /* wide: it is resumed in the monitor */
    int code = rank->world->body(rank->world->context, rank->id);
    sim_rank_leave(rank, SIM_DONE, code);
}

/* Wide, so that a large frame does not step over it into the next rank's stack. */
enum { DEFAULT_STACK = 256 * 1024, GUARD_PAGES = 16 };

/* Programs for processes put whole matrices on their stack, of which Linux gives 8 MiB: so do we
 * while that is a small part of the address space. Only what is touched is memory. The sanitizer
 * marks all of it in every world, touched or not. */
enum { ROOMY_STACK = 8 << 20, ROOMY_RANKS = 256 };

static size_t default_stack(const struct sim_world *world)
{
    return world->size <= ROOMY_RANKS && !FIBER_ASAN ? ROOMY_STACK : DEFAULT_STACK;
}

/* Worlds this small fit under any limit; counting the mappings would cost them more than their run.
 */
enum { FEW_RANKS = 256 };

/* How many more mappings this process may have. */
static long maps_left(void)
{
    long limit = 65530;
    FILE *file = fopen("/proc/sys/vm/max_map_count", "re");
    if (file) {
        if (fscanf(file, "%ld", &limit) != 1)
            limit = 65530;
        fclose(file);
    }
    file = fopen("/proc/self/maps", "re");
    if (!file)
        return 0;
    for (int c; (c = getc(file)) != EOF;)
        limit -= c == '\n';
    fclose(file);
    return limit;
}

/* The stacks of this thread's last world, for its next one of the same size: making and dropping
 * the mapping, its guards and its pages costs many times what a small world does, and threads get
 * in each other's way there. What was used is zeroed, so that every world starts alike; only behind
 * a hole of untouched pages something may stay, for programs that read what they never wrote. */
struct spare_stacks {
    char *stacks;
    size_t size, stride, guard;
};
static _Thread_local struct spare_stacks spare;
/* What a spare may hold in memory; and in mappings, of which every thread that runs worlds has its
 * own. */
enum { SPARE_PAGES = 8192, SPARE_RANKS = 1024 };

static bool take_spare(struct sim_world *world, size_t stride)
{
    if (!spare.stacks || spare.stride != stride || spare.size != stride * (size_t)world->size)
        return false;
    world->stacks = spare.stacks;
    world->stacks_size = spare.size;
    world->guard = spare.guard;
    spare = (struct spare_stacks){0};
    return true;
}

/* From the top down to two pages in a row that nobody touched; how many were touched. */
static size_t stack_zero(char *bottom, char *top)
{
    enum { PAGE = 4096, HOLE = 2 };
    static const char zeros[PAGE];
    int untouched = 0;
    size_t touched = 0;
    for (char *page = top - PAGE; page >= bottom && untouched < HOLE; page -= PAGE)
        if (memcmp(page, zeros, PAGE) == 0) {
            untouched++;
        } else {
            memset(page, 0, PAGE);
            untouched = 0;
            touched++;
        }
    return touched;
}

/* Keeps the world's stacks when they are small, instead of those kept so far. */
static bool become_spare(const struct sim_world *world)
{
    if (FIBER_ASAN || world->size > SPARE_RANKS)
        return false;
    size_t touched = 0;
    for (int i = 0; i < world->size; i++) {
        char *bottom = world->stacks + (size_t)i * world->stack_stride;
        touched += stack_zero(bottom + world->guard, bottom + world->stack_stride);
        if (touched > SPARE_PAGES)
            return false;
    }
    if (spare.stacks)
        munmap(spare.stacks, spare.size);
    spare =
        (struct spare_stacks){world->stacks, world->stacks_size, world->stack_stride, world->guard};
    return true;
}

/* One mapping for all stacks; a guard below each while half the map limit allows it. */
static bool map_stacks(struct sim_world *world, struct failure *failure)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t stack = world->options.stack_size ? world->options.stack_size : default_stack(world);
    stack = (stack + page - 1) / page * page;
    size_t guard = GUARD_PAGES * page;
    world->stack_stride = stack + guard;
    world->stacks_size = world->stack_stride * (size_t)world->size;
    if (take_spare(world, world->stack_stride))
        return true;
    world->stacks = mmap(NULL, world->stacks_size, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (world->stacks == MAP_FAILED) {
        world->stacks = NULL;
        failure_set(failure, FAILURE_INTERNAL,
                    "cannot reserve %zu MiB of stacks for %d ranks: %s; try a smaller --stack-size",
                    world->stacks_size >> 20, world->size, strerror(errno));
        return false;
    }
    madvise(world->stacks, world->stacks_size, MADV_NOHUGEPAGE);
    world->guard = guard;
    if (world->size > FEW_RANKS && 2L * world->size > maps_left() / 2)
        return true; /* too many ranks for guard pages */
    for (int i = 0; i < world->size; i++)
        mprotect(world->stacks + (size_t)i * world->stack_stride, guard, PROT_NONE);
    return true;
}

static bool fibers_run(struct sim_world *world, struct failure *failure)
{
    if (!map_stacks(world, failure))
        return false;
    for (int i = 0; i < world->size; i++) {
        struct sim_rank *rank = &world->ranks[i];
        char *bottom = world->stacks + (size_t)i * world->stack_stride;
        rank->stack_base = bottom + world->guard;
        /* Tops differ by a few cache lines from rank to rank, so that a thousand stacks do not
         * fight for one cache set; above is what may be read ahead. */
        rank->stack_pointer = fiber_prepare(bottom + world->stack_stride - PREFETCHED_LINES * 64 -
                                            (size_t)(i % 16) * 192);
        rank->fresh = true;
        sim_fiber_enqueue(world, rank);
    }
    struct sim_team_state team; /* of the caller, who may be in a region of its own */
    sim_libc_team_aside(&team);
    world->errno_address = &errno;
    sim_wide_watch(world);
    bool wide = world->options.wide == SIM_WIDE_AT_ONCE && sim_wide_begin(world);
    struct sim_rank *next = wide ? sim_wide_host(world) : sim_fiber_next(world);
    while (next) {
        announce_switch(NULL, next, false);
        become(next);
        sim_fiber_switch(&world->host_stack_pointer, next->stack_pointer);
        announce_arrival(NULL, NULL);
        sim_current_rank = NULL;
        next = world->wide ? sim_wide_host(world) : NULL;
    }
    sim_wide_unwatch(world);
    sim_libc_team_back(&team);
    return true;
}

void sim_fibers_release(struct sim_world *world)
{
#if FIBER_TSAN
    for (int i = 0; world->ranks && i < world->size; i++)
        if (world->ranks[i].sanitizer)
            __tsan_destroy_fiber(world->ranks[i].sanitizer);
#endif
    if (!world->stacks || become_spare(world))
        return;
#if FIBER_ASAN
    /* Frames that never returned left their marks, and anything may be mapped there next. */
    __asan_unpoison_memory_region(world->stacks, world->stacks_size);
#endif
    munmap(world->stacks, world->stacks_size);
}

const struct sim_executor sim_fibers = {fibers_run,  sim_fiber_block, fiber_wake,
                                        fiber_yield, fiber_yield,     fiber_leave};

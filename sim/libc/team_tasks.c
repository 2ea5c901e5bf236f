/* OpenMP tasks of a rank, as gcc's code makes them: the machine is told when one is made, begins and
 * ends (SIM_TEAM_TASK and what follows it in hooks.h).
 *
 * A task may be run by any thread of its team, also after the body of the region, where that thread
 * is nobody's any more: for so long it is the rank's again. When the world ends, a thread of a team leaves
 * its task, so that the rank's own comes back from the runtime. */
#include "sim/libc/common.h"

#include <setjmp.h>
#include <stdalign.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { WITH_REDUCTIONS = 1 << 12, DETACHED = 1 << 13 }; /* of the flags that gcc passes */

/* The runtime writes into the beginning of what a task gets: the event that completes it, or the
 * iterations of a taskloop, behind which it may look for its reductions. */
struct head {
    union {
        void *event;
        long iterations[2];
    } written;
    void *reductions;
};

/* In front of what the task gets. */
struct task {
    struct head head;
    enum { PLAIN, WITH_EVENT, OF_LOOP } kind;
    void (*body)(void *);
    void (*copy)(void *, void *);
    void *data; /* only of the one that is copied from */
    long size;
    size_t unit;   /* to which it is aligned */
    size_t behind; /* from here to what it gets */
    struct libc_region *region;
};

static _Thread_local int depth;        /* tasks that the thread is in, one within the other */
static _Thread_local jmp_buf *way_out; /* of the outermost */
static _Thread_local bool left;        /* it has gone that way: it does no more tasks */

void libc_tasks_begin(void)
{
    left = false;
}

void sim_libc_task_leave(void)
{
    if (way_out)
        longjmp(*way_out, 1);
}

static void task_copy(void *to, void *from)
{
    const struct task *made = from;
    memcpy(to, made, sizeof *made);
    if (made->kind == OF_LOOP)
        libc_team_tell(made->region, SIM_TEAM_TASK, 0);
    if (made->kind == WITH_EVENT && made->data)
        memcpy(made->data, &made->head.written.event, sizeof made->head.written.event);
    if (made->copy)
        made->copy((char *)to + made->behind, made->data);
    else if (made->size)
        memcpy((char *)to + made->behind, made->data, (size_t)made->size);
}

static SIM_INTO_PROGRAM void body_call(struct task *task)
{
    task->body((char *)task + task->behind);
    SIM_INTO_PROGRAM_END;
}

static void task_do(struct task *task)
{
    if (task->kind == OF_LOOP)
        memcpy((char *)task + task->behind, &task->head.written, sizeof task->head.written);
    struct sim_team_task told = {.within = depth++ > 0};
    libc_team_tell(task->region, SIM_TEAM_TASK_BEGIN, (uintptr_t)&told);
    body_call(task);
    depth--;
    libc_team_tell(task->region, SIM_TEAM_TASK_END, (uintptr_t)&told);
}

/* Whoever leaves the outermost task says nothing more of it: its rank is gone, or soon will be. */
static void task_run(void *argument)
{
    struct task *task = argument;
    jmp_buf here;
    if (left || libc_team_is_abandoned(task->region))
        return;
    bool lent = libc_team_lend(task->region);
    if (way_out || !libc_thread_started) {
        task_do(task);
        return;
    }
    way_out = &here;
    if (!setjmp(here)) {
        task_do(task);
    } else {
        left = true;
        depth = 0;
    }
    way_out = NULL;
    if (lent)
        libc_team_give_back(task->region);
}

typedef void task_copier(void *, void *);

static struct task task_made(void (*body)(void *), void *data, task_copier *copy, long size,
                             long align, struct libc_region *region)
{
    size_t unit = (size_t)align > alignof(max_align_t) ? (size_t)align : alignof(max_align_t);
    return (struct task){.body = body,
                         .copy = copy,
                         .data = data,
                         .size = size,
                         .unit = unit,
                         .behind = (sizeof(struct task) + unit - 1) / unit * unit,
                         .region = region};
}

typedef void task_maker(void (*body)(void *), void *data, task_copier *copy, long size, long align,
                        bool deferred, unsigned flags, void **depend, int priority, void *detach);
task_maker GOMP_task;
void GOMP_task(void (*body)(void *), void *data, task_copier *copy, long size, long align,
               bool deferred, unsigned flags, void **depend, int priority, void *detach)
{
    LIBC_REAL(GOMP_task);
    struct libc_region *region = libc_team_direct(LIBC_CALLER);
    if (!region) {
        real(body, data, copy, size, align, deferred, flags, depend, priority, detach);
        return;
    }
    struct task made = task_made(body, data, copy, size, align, region);
    made.kind = flags & DETACHED ? WITH_EVENT : PLAIN;
    libc_team_tell(region, SIM_TEAM_TASK, 0);
    real(task_run, &made, task_copy, (long)made.behind + size, (long)made.unit, deferred, flags,
         depend, priority, detach);
}

#define TASKLOOP(name, number)                                                                     \
    void name(void (*body)(void *), void *data, task_copier *copy, long size, long align,          \
              unsigned flags, unsigned long tasks, int priority, number start, number end,         \
              number step);                                                                        \
    void name(void (*body)(void *), void *data, task_copier *copy, long size, long align,          \
              unsigned flags, unsigned long tasks, int priority, number start, number end,         \
              number step)                                                                         \
    {                                                                                              \
        LIBC_REAL(name);                                                                           \
        struct libc_region *region = libc_team_direct(LIBC_CALLER);                                \
        if (!region) {                                                                             \
            real(body, data, copy, size, align, flags, tasks, priority, start, end, step);         \
            return;                                                                                \
        }                                                                                          \
        struct task made = task_made(body, data, copy, size, align, region);                       \
        made.kind = OF_LOOP;                                                                       \
        if (flags & WITH_REDUCTIONS)                                                               \
            made.head.reductions = ((const struct head *)data)->reductions;                        \
        real(task_run, &made, task_copy, (long)made.behind + size, (long)made.unit, flags, tasks,  \
             priority, start, end, step);                                                          \
    }

TASKLOOP(GOMP_taskloop, long)
TASKLOOP(GOMP_taskloop_ull, unsigned long long)

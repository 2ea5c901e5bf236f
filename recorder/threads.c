/* The threads of a rank in its recorder: whose turn it is, and what is each one's own. See
 * rank.h.
 *
 * The lock is taken once MPI provides more than MPI_THREAD_FUNNELED, or a second thread is seen.
 * The same thread may enter again (an error handler within a call), and a thread that died in the
 * recorder gives the lock back. */
#include "recorder/rank.h"
#include "recorder/recorder.h"

#include <stdlib.h>

/* Threads are told apart by where their own copy of this lies. */
_Thread_local char recorder_thread_mark;

_Thread_local uint8_t recorder_task; /* RECORD_TASK_NONE, RECORD_TASK_NEW, or its number */

uint8_t record_task(uint8_t task)
{
    uint8_t before = recorder_task;
    recorder_task = task;
    return before;
}

/* Tasks have the numbers behind those of threads: when there are no more, again from the first. */
uint8_t recorder_task_number(struct recorder_rank *me)
{
    if (recorder_task == RECORD_TASK_NEW)
        recorder_task =
            (uint8_t)(RECORDER_THREADS + me->tasks++ % (UINT8_MAX + 1 - RECORDER_THREADS));
    return recorder_task;
}

void recorder_threads_init(struct recorder_rank *me)
{
    pthread_mutex_init(&me->lock, NULL);
    me->first.mark = &recorder_thread_mark;
    me->self = me->threads[0] = &me->first;
    me->thread_count = 1;
}

static void release(struct recorder_thread *thread)
{
    free(thread->statuses);
    free(thread->pending);
    free(thread->keys);
}

void recorder_threads_release(struct recorder_rank *me)
{
    release(&me->first);
    for (uint32_t i = 1; i < me->thread_count; i++) {
        release(me->threads[i]);
        free(me->threads[i]);
    }
    pthread_mutex_destroy(&me->lock);
}

/* Those beyond the last number share it, and so do those for which there is no memory. */
static struct recorder_thread *thread_new(struct recorder_rank *me)
{
    struct recorder_thread *thread =
        me->thread_count < RECORDER_THREADS ? calloc(1, sizeof *thread) : NULL;
    if (!thread)
        return me->threads[me->thread_count - 1];
    thread->mark = &recorder_thread_mark;
    thread->number = (uint8_t)me->thread_count;
    me->threads[me->thread_count++] = thread;
    return thread;
}

static struct recorder_thread *thread_find(struct recorder_rank *me)
{
    for (uint32_t i = 0; i < me->thread_count; i++)
        if (me->threads[i]->mark == &recorder_thread_mark)
            return me->threads[i];
    return thread_new(me);
}

void recorder_lock(struct recorder_rank *me)
{
    if (MPIX_Alone()) { /* another thread carries the rank now */
        me->first.mark = &recorder_thread_mark;
        if (!atomic_load_explicit(&me->shared, memory_order_relaxed))
            return;
    }
    if (atomic_load_explicit(&me->owner, memory_order_relaxed) == &recorder_thread_mark) {
        me->depth++;
        return;
    }
    pthread_mutex_lock(&me->lock);
    atomic_store_explicit(&me->owner, &recorder_thread_mark, memory_order_relaxed);
    atomic_store_explicit(&me->shared, true, memory_order_relaxed);
    me->depth = 1;
    me->self = thread_find(me);
}

void recorder_unlock(struct recorder_rank *me)
{
    if (atomic_load_explicit(&me->owner, memory_order_relaxed) != &recorder_thread_mark ||
        --me->depth > 0)
        return;
    atomic_store_explicit(&me->owner, NULL, memory_order_relaxed);
    pthread_mutex_unlock(&me->lock);
}

void record_threads(int provided)
{
    struct recorder_rank *me = recorder_me();
    if (me && provided > MPI_THREAD_FUNNELED)
        atomic_store_explicit(&me->shared, true, memory_order_relaxed);
}

void record_abandon(void)
{
    struct recorder_rank *me = recorder_me();
    if (!me || atomic_load_explicit(&me->owner, memory_order_relaxed) != &recorder_thread_mark)
        return;
    me->depth = 1;
    recorder_unlock(me);
}

/* Threads of a team that come late to each other: see sim_libc_team_pause in hooks.h.
 *
 * Whether a thread of a rank comes before another's call of MPI or after it is chance where nothing
 * orders them. Here they meet it on purpose: all but the rank's own thread begin a region, and go on
 * from where all met, when somebody of the team has started an operation or everybody else waits, and
 * so does every task but the first;
 * and who has started one lets the others go on as far as they can before its next call. These are
 * orders in which the threads may come anyway, so who waits for too long goes on, whatever
 * the others do. */
#include "sim/libc/common.h"

#include <time.h>

enum { PATIENCE_MS = 100, WAITS_IN_VAIN = 20, NAP_NS = 20000 };

static _Atomic int in_vain; /* waits that ended with the patience, of all ranks */

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* What a thread waits for: others that paused, or that all the others have met or wait, too; a task
 * that begins: that no other task is left. */
static bool may_go(const struct libc_pace *pace, unsigned paused, bool held)
{
    int met = (int)(atomic_load(&pace->arrived) % (unsigned)pace->size);
    int tasks = atomic_load(&pace->tasks), others = atomic_load(&pace->held);
    if (held)
        return atomic_load(&pace->paused) != paused || met + others >= pace->size ||
               (tasks > 0 && tasks <= others);
    return met >= pace->size - 1 && tasks <= 0;
}

static void wait_for_others(const struct libc_pace *pace, unsigned paused, bool held)
{
    int64_t until = now_ns() + PATIENCE_MS * 1000000LL;
    while (!may_go(pace, paused, held)) {
        if (now_ns() > until) {
            in_vain++;
            return;
        }
        nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
    }
}

static void hold_back(struct libc_pace *pace)
{
    unsigned paused = atomic_load(&pace->paused);
    pace->held++;
    wait_for_others(pace, paused, true);
    pace->held--;
}

static bool may_wait(const struct libc_pace *pace)
{
    return pace->late && pace->size > 1 && in_vain < WAITS_IN_VAIN;
}

void libc_pace_tell(struct libc_pace *pace, enum sim_team_event event, uintptr_t what)
{
    switch (event) {
    case SIM_TEAM_BEGIN:
        pace->size = (int)what;
        break;
    case SIM_TEAM_MEET:
        pace->arrived++;
        return;
    case SIM_TEAM_TASK:
        pace->tasks++;
        return;
    case SIM_TEAM_TASK_BEGIN:
        if (pace->begun++ && may_wait(pace))
            hold_back(pace);
        return;
    case SIM_TEAM_TASK_END:
        pace->tasks--;
        return;
    case SIM_TEAM_MET:
        break;
    default:
        return;
    }
    if (libc_thread_started && may_wait(pace))
        hold_back(pace);
}

void libc_pace_pause(struct libc_pace *pace)
{
    if (!may_wait(pace))
        return;
    pace->paused++;
    wait_for_others(pace, 0, false);
}

/* Signals of ranks: each has dispositions of its own, as a process has. See signal.h.
 *
 * Handlers are functions of one rank's image, and change that rank's variables. So the process
 * keeps handlers of the launcher, and they ask here whose handler to call: the rank's that runs,
 * else that of any rank which has one. */
#include "sim/libc/signal.h"

#include "sim/libc/common.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct libc_signals {
    struct sigaction actions[NSIG];
    struct sim_libc_state *owner; /* whose they are; NULL: nobody's any more */
    struct libc_signals *next;
};

/* All there are, for signals that come while a rank runs which did not ask for them. Blocks stay on
 * the list when their rank has gone, since a handler may be walking it. */
static struct libc_signals *_Atomic all;
static struct libc_signals *spare;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool is_handler(const struct sigaction *action)
{
    return action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN;
}

static SIM_INTO_PROGRAM void handler_call(const struct sigaction *action, int number,
                                          siginfo_t *info, void *context)
{
    if (action->sa_flags & SA_SIGINFO)
        action->sa_sigaction(number, info, context);
    else
        action->sa_handler(number);
    SIM_INTO_PROGRAM_END;
}

static void call_now(struct sigaction *action, int number, siginfo_t *info, void *context)
{
    struct sigaction now = *action;
    libc_handler_called();
    if (now.sa_flags & (int)SA_RESETHAND)
        action->sa_handler = SIG_DFL;
    handler_call(&now, number, info, context);
}

/* A signal that came from without, and so anywhere. */
static void call(struct libc_signals *signals, int number, siginfo_t *info, void *context)
{
    struct sim_libc_interrupted interrupted;
    if (!signals->owner || !libc_hooks->handler_begin(signals->owner, number, &interrupted))
        return;
    call_now(&signals->actions[number], number, info, context);
    libc_hooks->handler_end(&interrupted);
}

bool sim_libc_signal(int number, siginfo_t *info, void *context)
{
    struct sim_libc_state *state = libc_hooks->current();
    bool asynchronous = !info || info->si_code <= 0 || number == SIGALRM;
    if (state && state->signals) {
        struct sigaction *own = &state->signals->actions[number];
        if (own->sa_handler == SIG_IGN && asynchronous)
            return true;
        if (is_handler(own)) {
            if (asynchronous)
                call(state->signals, number, info, context);
            else
                call_now(own, number, info, context);
            return true;
        }
    }
    for (struct libc_signals *other = all; other && asynchronous; other = other->next)
        if (is_handler(&other->actions[number])) {
            call(other, number, info, context);
            return true;
        }
    return false;
}

static void dispatch(int number, siginfo_t *info, void *context)
{
    int before = errno;
    sim_libc_signal(number, info, context);
    errno = before;
}

static struct libc_signals *signals_of(struct sim_libc_state *state)
{
    if (state->signals)
        return state->signals;
    if (libc_hooks->apart) /* a signal of the process comes to its first thread */
        libc_hooks->apart();
    pthread_mutex_lock(&lock);
    struct libc_signals *made = spare;
    if (made) {
        spare = NULL;
    } else if ((made = calloc(1, sizeof *made)) != NULL) {
        made->next = all;
        all = made;
    }
    if (made)
        made->owner = state;
    pthread_mutex_unlock(&lock);
    return state->signals = made;
}

void libc_signals_release(struct libc_signals *signals)
{
    if (!signals)
        return;
    pthread_mutex_lock(&lock);
    memset(signals->actions, 0, sizeof signals->actions);
    signals->owner = NULL;
    spare = signals;
    pthread_mutex_unlock(&lock);
}

/* The process listens to a signal that nobody cared for yet; and lets it end calls as soon as one
 * of its ranks wants that. */
static void listen_to(int number, int flags,
                      int (*real)(int, const struct sigaction *, struct sigaction *))
{
    struct sigaction now,
        wanted = {.sa_sigaction = dispatch, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
    if (real(number, NULL, &now))
        return;
    bool listens = is_handler(&now);
    if (listens)
        wanted = now;
    wanted.sa_flags &= flags | ~SA_RESTART;
    if (!listens || wanted.sa_flags != now.sa_flags)
        real(number, &wanted, NULL);
}

int sigaction(int number, const struct sigaction *restrict action, struct sigaction *restrict old)
{
    LIBC_REAL(sigaction);
    struct sim_libc_state *state = libc_rank(LIBC_CALLER);
    if (!state || number <= 0 || number >= NSIG || number == SIGKILL || number == SIGSTOP)
        return real(number, action, old);
    struct libc_signals *signals = signals_of(state);
    if (!signals) {
        errno = ENOMEM;
        return -1;
    }
    if (old)
        *old = signals->actions[number];
    if (!action)
        return 0;
    signals->actions[number] = *action;
    if (is_handler(action))
        listen_to(number, action->sa_flags, real);
    return 0;
}

/* What signal does, in the flavour of BSD and that of System V. */
static void (*signal_set(struct sim_libc_state *state, int number, void (*handler)(int),
                         int flags))(int)
{
    void *_Atomic cache = NULL;
    struct libc_signals *signals =
        number > 0 && number < NSIG && number != SIGKILL && number != SIGSTOP ? signals_of(state)
                                                                              : NULL;
    if (!signals) {
        errno = EINVAL;
        return SIG_ERR;
    }
    void (*before)(int) = signals->actions[number].sa_handler;
    signals->actions[number] = (struct sigaction){.sa_handler = handler, .sa_flags = flags};
    if (is_handler(&signals->actions[number]))
        listen_to(number, flags,
                  (int (*)(int, const struct sigaction *, struct sigaction *))(uintptr_t)libc_next(
                      &cache, "sigaction"));
    return before;
}

void (*signal(int number, void (*handler)(int)))(int)
{
    LIBC_REAL(signal);
    struct sim_libc_state *state = libc_rank(LIBC_CALLER);
    return state ? signal_set(state, number, handler, SA_RESTART) : real(number, handler);
}

void (*__sysv_signal(int number, void (*handler)(int)))(int)
{
    LIBC_REAL(__sysv_signal);
    struct sim_libc_state *state = libc_rank(LIBC_CALLER);
    return state ? signal_set(state, number, handler, (int)SA_RESETHAND) : real(number, handler);
}

int raise(int number)
{
    LIBC_REAL(raise);
    struct sim_libc_state *state = libc_rank(LIBC_CALLER);
    if (state && number == SIGKILL)
        libc_hooks->exit(number, SIM_EXIT_KILLED);
    if (!state || !state->signals || number <= 0 || number >= NSIG)
        return real(number);
    struct sigaction *own = &state->signals->actions[number];
    if (own->sa_handler == SIG_IGN)
        return 0;
    if (!is_handler(own))
        return real(number);
    call_now(own, number, &(siginfo_t){.si_signo = number, .si_code = SI_TKILL}, NULL);
    return 0;
}

void sim_libc_handler_left(void)
{
    libc_hooks->handler_left();
}

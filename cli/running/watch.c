/* The parent's watch over a run: see watch.h. */
#include "cli/running/watch.h"

#include "cli/processes/interrupt.h"
#include "cli/processes/orphans.h"
#include "recorder/loading/sites.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Seconds between two questions. A rank that answers both from the same logical time has computed
 * for that long; the second notice comes after twice the time of the first, and so on. */
static const double question_seconds = 2, progress_seconds = 0.2;
/* After a rank's failure the others have so long to end, or to come to where they wait for it: in
 * processor time, which a busy machine does not shorten, but no longer than `sleep_seconds` where
 * they use none. */
static const double stop_seconds = 1, sleep_seconds = 10, look_seconds = 0.5;
/* So long a child whose time is over may take to say where it is. */
static const int answer_milliseconds = 5000, interrupted_milliseconds = 500,
                 between_milliseconds = 20;
/* Where nothing happens it is asked this often, whoever listens: a rank whose thread is gone is found so. */
static const double still_seconds = 10;
/* A child that was stopped has so long to be continued: a shell stops and continues us with it. */
static const double stopped_seconds = 3;

static double clock_seconds(clockid_t clock)
{
    struct timespec now;
    if (clock_gettime(clock, &now) != 0)
        return HUGE_VAL; /* of a process that is gone */
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static double now_seconds(void)
{
    return clock_seconds(CLOCK_MONOTONIC);
}

static double processor_seconds(pid_t process)
{
    clockid_t clock;
    return clock_getcpuclockid(process, &clock) == 0 ? clock_seconds(clock) : HUGE_VAL;
}

enum event { ENDED, INTERRUPTED, NOTHING };

/* Waits until the child has ended or we are interrupted, at most so long. */
static enum event wait_for(int pidfd, double seconds)
{
    int milliseconds = isinf(seconds) ? -1 : (int)fmin(ceil(fmax(seconds, 0) * 1000), 1e9);
    struct pollfd entries[] = {{.fd = pidfd, .events = POLLIN},
                               {.fd = interrupt_descriptor(), .events = POLLIN}};
    int ready;
    do
        ready = poll(entries, 2, milliseconds);
    while (ready < 0 && errno == EINTR);
    return ready > 0 && entries[0].revents ? ENDED : ready > 0 ? INTERRUPTED : NOTHING;
}

/* One question, and a moment to answer it; false: nobody has. Whoever answers the next from another logical time calls
 * MPI all the time. */
static bool ask(const struct watch *watch, struct pollfd *entry)
{
    unsigned before = watch->board->answers;
    double limit = now_seconds() + answer_milliseconds * 1e-3;
    kill(watch->child, BOARD_QUESTION);
    while (watch->board->answers == before && now_seconds() < limit && poll(entry, 1, 1) == 0)
        ;
    bool answered = watch->board->answers != before;
    watch->board->standing.rank = answered ? watch->board->computing.rank : -1;
    watch->board->standing.place = watch->board->computing.place;
    poll(entry, 1, between_milliseconds);
    return answered;
}

/* Asks the child where it is, then ends it. */
static void end_child(const struct watch *watch, int pidfd, enum watch_end end)
{
    struct pollfd entry = {.fd = pidfd, .events = POLLIN};
    bool late = end == WATCH_TIMEOUT || end == WATCH_FULL;
    if (end == WATCH_STOPPED) {
        kill(watch->child, SIGKILL);
        return;
    }
    if (!watch->board->image_size) { /* it is being loaded, and hears nothing */
        kill(watch->child, SIGKILL);
        return;
    }
    bool deaf = late && !ask(watch, &entry);
    watch->board->out_of_time = late;
    watch->board->impatient = true;
    kill(watch->child, BOARD_QUESTION);
    if (poll(&entry, 1,
             deaf || interrupt_signal() ? interrupted_milliseconds : answer_milliseconds) <= 0)
        kill(watch->child, SIGKILL);
}

/* "prog.c:17", "" when it is not known. */
static void place_text(const struct watch *watch, char *text, size_t size)
{
    const struct board *board = watch->board;
    struct board_locate locate = {board, watch->job->world.ranks, watch->job->object};
    struct trace *trace = trace_new(1);
    struct sites *sites = trace ? sites_new(trace) : NULL;
    const char *file;
    uint64_t address;
    text[0] = '\0';
    if (sites && board_locate(&locate, (uint32_t)board->computing.rank, board->computing.place,
                              &file, &address))
        trace_site_text(trace, sites_find(sites, file, address + 1), text, size);
    sites_free(sites);
    trace_free(trace);
}

/* What is known of the rank that computes. */
struct patience {
    double since;   /* when it was first met at this logical time */
    double told_at; /* seconds of computing at which it is told next */
    uint64_t steps;
    int rank;
};

static void look(const struct watch *watch, struct patience *patience)
{
    const struct board *board = watch->board;
    bool same = board->answers && board->computing.rank == patience->rank &&
                board->computing.steps == patience->steps;
    if (!same) {
        *patience = (struct patience){now_seconds(), question_seconds, board->computing.steps,
                                      board->computing.rank};
        return;
    }
    double seconds = now_seconds() - patience->since;
    if (patience->rank < 0 || !board->computing.place || seconds < patience->told_at)
        return;
    char place[TRACE_SITE_TEXT];
    place_text(watch, place, sizeof place);
    fprintf(stderr, "simrun: rank %d has computed for %.0f s without an MPI call%s%s%s\n",
            patience->rank, seconds, place[0] ? ", now at " : "", place,
            watch->job->world.executor == SIM_THREADS
                ? " (--timeout SECONDS ends a run)"
                : "; the others wait for it (--os-threads lets them run, --timeout SECONDS ends a "
                  "run)");
    patience->told_at = 2 * seconds;
}

/* When a rank's failure was first seen, by both clocks. */
struct failed_at {
    bool seen;
    double time, processor;
};

/* A rank has failed, and others have gone on for so long that they would never stop by themselves.
 */
static bool goes_on_too_long(const struct watch *watch, struct failed_at *failed)
{
    if (watch->board->outcome >= 0 || watch->board->first_failure.rank < 0)
        return false;
    double processor = processor_seconds(watch->child);
    if (!failed->seen)
        *failed = (struct failed_at){true, now_seconds(), processor};
    double passed = now_seconds() - failed->time;
    return passed >= sleep_seconds ||
           (passed >= stop_seconds && processor - failed->processor >= stop_seconds);
}

/* Since when nothing has happened: no rank has called MPI, nothing was recorded. */
struct stall {
    double since, asked;
    uint64_t size, steps;
    int rank;
};

/* Asks now and then, not often: the question interrupts what a rank sleeps in. */
static bool is_stalled(const struct watch *watch, struct stall *stall)
{
    const struct board *board = watch->board;
    double limit = watch->job->stall, now = now_seconds();
    uint64_t size = watch->recording ? recording_size(watch->recording) : 0;
    if (!(limit > 0))
        return false;
    if (stall->since == 0 || size != stall->size || board->computing.steps != stall->steps ||
        board->computing.rank != stall->rank)
        *stall =
            (struct stall){now, stall->asked, size, board->computing.steps, board->computing.rank};
    if (now - fmax(stall->asked, stall->since) >= fmin(limit / 4, still_seconds)) {
        stall->asked = now;
        kill(watch->child, BOARD_QUESTION);
    }
    return now - stall->since >= limit;
}

/* A child that stands still because of SIGSTOP or its like, and that nobody continues. */
static bool is_stopped(int pidfd, double *since)
{
    siginfo_t info = {0};
    bool stopped =
        waitid(P_PIDFD, (id_t)pidfd, &info, WSTOPPED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0;
    if (!stopped || *since == 0)
        *since = stopped ? now_seconds() : 0;
    return stopped && now_seconds() - *since >= stopped_seconds;
}

/* Why the child shall not go on; WATCH_ENDED: it may. */
static enum watch_end reason_to_end(const struct watch *watch, int pidfd, struct stall *stall,
                                    double *stopped)
{
    if (watch->recording && recording_is_full(watch->recording))
        return WATCH_FULL;
    if (is_stopped(pidfd, stopped))
        return WATCH_STOPPED;
    return is_stalled(watch, stall) ? WATCH_TIMEOUT : WATCH_ENDED;
}

static enum watch_end watch_until(const struct watch *watch, int pidfd, double deadline)
{
    struct patience patience = {.rank = -1};
    struct failed_at failed = {0};
    struct stall stall = {.rank = -1};
    double stopped = 0;
    double question = watch->job->notices ? now_seconds() + question_seconds : HUGE_VAL;
    for (;;) {
        double pause = fmin(deadline, question) - now_seconds();
        enum event event =
            wait_for(pidfd, fmin(pause, watch->job->progress ? progress_seconds : look_seconds));
        if (event != NOTHING)
            return event == ENDED ? WATCH_ENDED : WATCH_INTERRUPTED;
        if (now_seconds() >= deadline)
            return WATCH_TIMEOUT;
        if (goes_on_too_long(watch, &failed))
            return WATCH_FAILED;
        enum watch_end reason = reason_to_end(watch, pidfd, &stall, &stopped);
        if (reason != WATCH_ENDED)
            return reason;
        progress_report(
            watch->job->progress, watch->board->outcome < 0 ? "running" : "checking gradients",
            watch->recording ? recording_size(watch->recording) : 0, 0, "bytes recorded");
        if (now_seconds() < question)
            continue;
        look(watch, &patience);
        kill(watch->child, BOARD_QUESTION);
        question = now_seconds() + question_seconds;
    }
}

int watch_child(const struct watch *watch, enum watch_end *end)
{
    int pidfd = (int)syscall(SYS_pidfd_open, watch->child, 0);
    double timeout = watch->job->timeout;
    *end = watch_until(watch, pidfd, timeout > 0 ? now_seconds() + timeout : HUGE_VAL);
    if (*end != WATCH_ENDED)
        end_child(watch, pidfd, *end);
    int status = orphans_wait(watch->child);
    if (*end == WATCH_TIMEOUT && watch->board->vanished) /* the question was what it ended by */
        *end = WATCH_ENDED;
    close(pidfd);
    return status;
}

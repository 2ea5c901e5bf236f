/* Waits of libc under the launcher's questions: each line says what was asked, and right or wrong.
 *
 *   waits FOLDER
 *
 * A timer asks every 0.3 ms, with the signal of the launcher's own questions. No wait may be cut
 * short by it; one that a handler of the program interrupts says so. A rank that waits for a file
 * lets the one run which writes it. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { WAIT_MS = 8, ROUNDS = 5 };

static int rank, file = -1, queue, messages, semaphores;
static volatile sig_atomic_t handled;

static void say(const char *what, int right)
{
    printf("%d %s %s\n", rank, what, right ? "right" : "wrong");
}

static timer_t timer_of(int number, long nanoseconds, int again)
{
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = number};
    struct timespec next = {0, nanoseconds};
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) ||
        timer_settime(timer, 0, &(struct itimerspec){again ? next : (struct timespec){0}, next},
                      NULL))
        MPI_Abort(MPI_COMM_WORLD, 3);
    return timer;
}

static double now_ms(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

static int wait_poll(int ms)
{
    return poll(&(struct pollfd){.fd = file, .events = POLLIN}, 1, ms);
}

static int wait_ppoll(int ms)
{
    struct timespec time = {0, ms * 1000000L};
    return ppoll(&(struct pollfd){.fd = file, .events = POLLIN}, 1, ms < 0 ? NULL : &time, NULL);
}

static int wait_select(int ms)
{
    struct timeval time = {0, ms * 1000};
    fd_set set;
    FD_ZERO(&set);
    FD_SET(file, &set);
    int result = select(file + 1, &set, NULL, NULL, ms < 0 ? NULL : &time);
    return result > 0 && !FD_ISSET(file, &set) ? -2 : result;
}

static int wait_pselect(int ms)
{
    struct timespec time = {0, ms * 1000000L};
    fd_set set;
    FD_ZERO(&set);
    FD_SET(file, &set);
    int result = pselect(file + 1, &set, NULL, NULL, ms < 0 ? NULL : &time, NULL);
    return result > 0 && !FD_ISSET(file, &set) ? -2 : result;
}

static int wait_epoll(int ms)
{
    struct epoll_event event;
    return epoll_wait(queue, &event, 1, ms);
}

static int wait_epoll_masked(int ms)
{
    struct epoll_event event;
    return epoll_pwait(queue, &event, 1, ms, NULL);
}

static int wait_semaphore(int ms)
{
    sem_t semaphore;
    struct timespec end;
    sem_init(&semaphore, 0, 0);
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_nsec += ms * 1000000L;
    end.tv_sec += end.tv_nsec / 1000000000;
    end.tv_nsec %= 1000000000;
    int result = sem_timedwait(&semaphore, &end);
    return result && errno == ETIMEDOUT ? 0 : result;
}

static int wait_semaphores(int ms)
{
    struct timespec time = {0, ms * 1000000L};
    int result = semtimedop(semaphores, &(struct sembuf){.sem_op = -1}, 1, &time);
    return result && errno == EAGAIN ? 0 : result;
}

static int wait_signal(int ms)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMAX);
    struct timespec time = {0, ms * 1000000L};
    int result = sigtimedwait(&set, NULL, &time);
    return result < 0 && errno == EAGAIN ? 0 : result;
}

static const struct wait {
    const char *name;
    int (*wait)(int ms);
    int files;
} waits[] = {{"poll", wait_poll, 1},
             {"ppoll", wait_ppoll, 1},
             {"select", wait_select, 1},
             {"pselect", wait_pselect, 1},
             {"epoll_wait", wait_epoll, 1},
             {"epoll_pwait", wait_epoll_masked, 1},
             {"sem_timedwait", wait_semaphore, 0},
             {"semtimedop", wait_semaphores, 0},
             {"sigtimedwait", wait_signal, 0}};
enum { WAITS = sizeof waits / sizeof *waits };

/* As long as was asked, and no error. */
static void time_out(const struct wait *wait)
{
    int right = 1;
    for (int i = 0; i < ROUNDS; i++) {
        double before = now_ms(CLOCK_MONOTONIC);
        int result = wait->wait(WAIT_MS);
        right &= result == 0 && now_ms(CLOCK_MONOTONIC) - before >= WAIT_MS - 0.5;
    }
    say(wait->name, right);
}

static void on_signal(int number)
{
    (void)number;
    handled = 1;
}

/* A handler of the program's comes in between: the call ends. */
static void interrupted(const struct wait *wait)
{
    handled = 0;
    timer_t timer = timer_of(SIGUSR1, 12000000, 1);
    errno = 0;
    int result = wait->wait(900);
    char name[64];
    snprintf(name, sizeof name, "%s interrupted", wait->name);
    say(name, result == -1 && errno == EINTR && handled);
    timer_delete(timer);
}

/* read is begun again or ends, as the program wished. */
static void reads(void)
{
    char byte;
    timer_t timer = timer_of(SIGUSR1, 12000000, 1);
    errno = 0;
    say("read interrupted", read(file, &byte, 1) == -1 && errno == EINTR);
    timer_delete(timer);
}

/* Ends by a handler of the program, and not before. */
static void pauses(void)
{
    sigset_t none;
    sigemptyset(&none);
    for (int i = 0; i < 2; i++) {
        handled = 0;
        timer_t timer = timer_of(SIGUSR1, 12000000, 1);
        int result = i ? sigsuspend(&none) : pause();
        say(i ? "sigsuspend" : "pause", result == -1 && errno == EINTR && handled);
        timer_delete(timer);
    }
}

static volatile sig_atomic_t begun, ended;

/* The launcher asks while a handler of the program runs: the handler goes on. */
static void on_signal_asked(int number)
{
    (void)number;
    begun++;
    kill(getpid(), SIGURG);
    ended++;
}

/* A signal of an earlier timer may come late, and this one's before the wait: it waits again. */
static void asked_within(void)
{
    int right = 1;
    sigaction(SIGUSR2, &(struct sigaction){.sa_handler = on_signal_asked}, NULL);
    timer_t timer = timer_of(SIGUSR2, 12000000, 1);
    while (!ended)
        right &= pause() == -1 && errno == EINTR;
    timer_delete(timer);
    say("asked within a handler", right && begun == ended);
}

static void queues(void)
{
    struct {
        long type;
        char text[8];
    } message = {1, "text"};
    handled = 0;
    timer_t timer = timer_of(SIGUSR1, 12000000, 1);
    errno = 0;
    ssize_t result = msgrcv(messages, &message, sizeof message.text, 7, 0);
    say("msgrcv", result == -1 && errno == EINTR && handled);
    timer_delete(timer);
}

/* Rank 0 waits for a byte that the last rank writes; each way once. */
static void pass_bytes(const char *folder, int last)
{
    char path[4096], byte = 0;
    snprintf(path, sizeof path, "%s/fifo", folder);
    for (int i = 0; i < WAITS; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (!waits[i].files)
            continue;
        if (rank == last) {
            int end = open(path, O_WRONLY | O_NONBLOCK);
            if (end < 0 || write(end, "x", 1) != 1 || close(end))
                MPI_Abort(MPI_COMM_WORLD, 4);
        }
        if (rank)
            continue;
        int result = waits[i].wait(-1);
        char name[64];
        snprintf(name, sizeof name, "%s of what a rank writes", waits[i].name);
        say(name, result == 1 && read(file, &byte, 1) == 1 && byte == 'x');
    }
}

int main(int argc, char **argv)
{
    int size;
    char path[4096];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    snprintf(path, sizeof path, "%s/fifo", argc > 1 ? argv[1] : ".");
    if (!rank) {
        queue = epoll_create1(0);
        messages = msgget(IPC_PRIVATE, 0600);
        semaphores = semget(IPC_PRIVATE, 1, 0600);
        if (mkfifo(path, 0600) || (file = open(path, O_RDWR)) < 0 || queue < 0 || messages < 0 ||
            semaphores < 0 ||
            epoll_ctl(queue, EPOLL_CTL_ADD, file, &(struct epoll_event){.events = EPOLLIN}))
            MPI_Abort(MPI_COMM_WORLD, 2);
    }
    pass_bytes(argc > 1 ? argv[1] : ".", size - 1);
    if (!rank) {
        timer_t questions = timer_of(SIGURG, 300000, 1);
        struct sigaction action = {.sa_handler = on_signal}; /* without SA_RESTART */
        sigaction(SIGUSR1, &action, NULL);
        for (int i = 0; i < WAITS; i++)
            time_out(&waits[i]);
        for (int i = 0; i < WAITS; i++)
            interrupted(&waits[i]);
        reads();
        pauses();
        asked_within();
        queues();
        timer_delete(questions);
        msgctl(messages, IPC_RMID, NULL);
        semctl(semaphores, 0, IPC_RMID);
    }
    MPI_Finalize();
    return 0;
}

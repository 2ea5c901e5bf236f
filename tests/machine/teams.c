/* Threads of a rank that call MPI, of OpenMP's and of their own: programs that the test draws, and single ones. Compiled by
 * test_teams.c, so that the machine takes it for a program. */
#include "teams.h"

#include <mpi.h>
#include <mpix.h>
#include <omp.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stddef.h>

static void send_to(int rank, int tag)
{
    int value = tag;
    MPI_Send(&value, 1, MPI_INT, rank, tag, MPI_COMM_WORLD);
}

static void receive(int tag)
{
    int value;
    MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void run(const struct team_step *step, int count);

static void step_do(const struct team_step *step)
{
    int flag;
    switch (step->action) {
    case TEAM_SEND:
        send_to(0, step->what);
        break;
    case TEAM_RECEIVE:
        receive(step->what);
        break;
    case TEAM_CRITICAL:
        if (step->what == 0) {
#pragma omp critical
            run(step + 1, step->length);
        } else if (step->what == 1) {
#pragma omp critical(first)
            run(step + 1, step->length);
        } else {
#pragma omp critical(second)
            run(step + 1, step->length);
        }
        break;
    case TEAM_BARRIER: {
#pragma omp barrier
        break;
    }
    default:
        MPI_Iprobe(0, TEAM_TAGS + 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    }
}

static void run(const struct team_step *step, int count)
{
    for (int i = 0; i < count; i++) {
        step_do(&step[i]);
        if (step[i].action == TEAM_CRITICAL)
            i += step[i].length;
    }
}

void teams_run(const struct team_program *program)
{
#pragma omp parallel num_threads(program->threads)
    {
        int thread = omp_get_thread_num();
        run(program->steps[thread], program->count[thread]);
    }
}

/* ---- single programs ---- */

static bool stuck;
/* What is waited for. */
static void wait_for(int tag)
{
    receive(tag);
}
static void bring(int tag)
{
    if (!stuck)
        send_to(0, tag);
}

static void
ordered_within(void) /* the message comes from a later turn's ordered part, or from before it */
{
#pragma omp parallel for ordered schedule(static, 1) num_threads(2)
    for (int i = 0; i < 2; i++) {
        if (i == 1 && !stuck)
            send_to(0, 1);
#pragma omp ordered
        {
            if (i == 0)
                wait_for(1);
            if (i == 1 && stuck)
                send_to(0, 1);
        }
    }
}

static void ordered_many(void)
{
#pragma omp parallel for ordered schedule(static, 1) num_threads(3)
    for (int i = 0; i < 12; i++) {
#pragma omp ordered
        {
            if (i == 7)
                bring(1);
            if (i == 8)
                wait_for(1);
        }
    }
}

static void ordered_dynamic(void)
{
#pragma omp parallel for ordered schedule(dynamic, 2) num_threads(3)
    for (int i = 0; i < 14; i++) {
#pragma omp ordered
        {
            if (i == 5)
                bring(1);
            if (i == 11)
                wait_for(1);
        }
    }
}

static void task_waits(void)
{
#pragma omp parallel num_threads(3)
#pragma omp single
    {
#pragma omp task
        wait_for(1);
        bring(1);
#pragma omp taskwait
    }
}

static void task_brings(void)
{
#pragma omp parallel num_threads(3)
#pragma omp single
    {
#pragma omp task
        bring(1);
#pragma omp task
        wait_for(1);
    }
}

static void tasks_many(void)
{
#pragma omp parallel num_threads(2)
#pragma omp single
    for (int i = 0; i < 6; i++) {
#pragma omp task firstprivate(i)
        {
            if (i == 2)
                bring(1);
            if (i == 5)
                wait_for(1);
        }
    }
}

static void second_region(void)
{
#pragma omp parallel num_threads(4)
    {
#pragma omp critical
        send_to(0, 5);
    }
    for (int i = 0; i < 4; i++)
        receive(5);
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() == 1)
            wait_for(1);
        else
            bring(1);
    }
}

static void after_region(void)
{
#pragma omp parallel num_threads(3)
    {
        if (omp_get_thread_num() == 2)
            bring(1);
    }
    wait_for(1);
}

static void nested(void) /* inner teams may have one thread each */
{
    int members = 0;
#pragma omp parallel num_threads(2)
    {
#pragma omp parallel num_threads(2)
        {
#pragma omp critical
            {
                send_to(0, 1);
                members++;
            }
        }
    }
    for (int i = 0; i < members + stuck; i++)
        receive(1);
}

static void all_receive(void)
{
#pragma omp parallel num_threads(3)
    wait_for(omp_get_thread_num());
}

static void *thread_waits(void *tag)
{
    wait_for((int)(size_t)tag);
    return NULL;
}
static void *thread_brings(void *tag)
{
    bring((int)(size_t)tag);
    return NULL;
}

static void joins(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, thread_waits, (void *)1);
    bring(1);
    pthread_join(thread, NULL);
}

static void waits_beside(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, thread_brings, (void *)1);
    wait_for(1);
    pthread_join(thread, NULL);
}

static void both_wait(void)
{
    pthread_t threads[3];
    for (size_t i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, i == 1 ? thread_brings : thread_waits,
                       (void *)(i ? 1 : (size_t)2));
    send_to(0, 2);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
}

static void *thread_of_threads(void *none)
{
    pthread_t inner;
    pthread_create(&inner, NULL, thread_waits, (void *)1);
    pthread_join(inner, NULL);
    return none;
}
static void joins_of_joins(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, thread_of_threads, NULL);
    bring(1);
    pthread_join(thread, NULL);
}

static void one_after_the_other(void)
{
    pthread_t thread;
    for (int i = 0; i < 3; i++) {
        pthread_create(&thread, NULL, thread_brings, (void *)1);
        pthread_join(thread, NULL);
    }
    for (int i = 0; i < 3; i++)
        receive(1);
}

static void critical_names(
    void) /* more than the machine keeps: left to the runtime, where none waits for ever */
{
#pragma omp parallel num_threads(3)
    {
#pragma omp critical(a)
#pragma omp critical(b)
#pragma omp critical(c)
#pragma omp critical(d)
#pragma omp critical(e)
#pragma omp critical(f)
#pragma omp critical(g)
#pragma omp critical(h)
#pragma omp critical(i)
#pragma omp critical(j)
        send_to(0, 3);
    }
    for (int i = 0; i < 3; i++)
        receive(3);
    if (stuck)
        receive(3);
}

/* ---- what the runtime makes threads wait for ---- */

static void maker_waits(void) /* whoever waits where the region ends runs the task */
{
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp task
        bring(1);
        wait_for(1);
    }
}

static void maker_goes_on(void)
{
#pragma omp parallel num_threads(3)
    {
#pragma omp single nowait
        {
#pragma omp task
            bring(1);
            wait_for(1);
        }
#pragma omp barrier
#pragma omp master
        send_to(0, 2);
    }
    receive(2);
}

static void maker_alone(void) /* nobody else runs it */
{
#pragma omp parallel num_threads(1)
    {
#pragma omp task
        send_to(0, 1);
        if (!stuck) {
#pragma omp taskwait
        }
        receive(1);
    }
}

static void two_for_taskwait(void) /* each by a thread of its own, whichever comes first */
{
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp task
        {
            bring(1);
            wait_for(2);
        }
#pragma omp task
        {
            wait_for(1);
            send_to(0, 2);
        }
#pragma omp taskwait
        send_to(0, 3);
        receive(3);
    }
}

static void two_for_taskgroup(void)
{
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp taskgroup
        {
#pragma omp task
            {
                wait_for(1);
                send_to(0, 2);
            }
#pragma omp task
            {
                bring(1);
                wait_for(2);
            }
        }
        send_to(0, 3);
        receive(3);
    }
}

static void by_dependence(void)
{
    int order = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp task depend(out : order)
        if (stuck)
            receive(1);
        else
            send_to(0, 1);
#pragma omp task depend(in : order)
        if (stuck)
            send_to(0, 1);
        else
            receive(1);
    }
}

static void by_dependence_waited(void)
{
    int order = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp task depend(out : order)
        if (stuck)
            receive(1);
        else
            send_to(0, 1);
#pragma omp task depend(in : order)
        if (stuck)
            send_to(0, 1);
        else
            receive(1);
#pragma omp taskwait
    }
}

static void task_of_task(void)
{
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp task
        {
#pragma omp task
            bring(1);
            wait_for(1);
        }
    } /* whoever waits here runs the one, or the other */
}

static void taskloop(void)
{
#pragma omp parallel num_threads(2)
#pragma omp single
#pragma omp taskloop grainsize(1)
    for (int i = 0; i < 2; i++) {
        if (i == 0) {
            bring(1);
            wait_for(2);
        } else {
            wait_for(1);
            send_to(0, 2);
        }
    }
}

static void with_an_event(void)
{
#pragma omp parallel num_threads(2)
#pragma omp single
    {
        omp_event_handle_t event;
#pragma omp task detach(event)
        bring(1);
        wait_for(1);
        omp_fulfill_event(event);
    }
}

static void more_than_threads(void) /* they are run whenever a thread has nothing else */
{
#pragma omp parallel num_threads(3)
#pragma omp single
    {
        for (int i = 0; i < 200; i++) {
#pragma omp task firstprivate(i)
            if (i < 199)
                send_to(0, 2);
            else
                bring(2);
        }
        for (int i = 0; i < 200; i++)
            receive(2);
    }
}

static void single_of_all(void) /* the others wait for what one of them copies */
{
    int value = 0;
#pragma omp parallel num_threads(3) firstprivate(value)
    {
#pragma omp single copyprivate(value)
        {
#pragma omp task
            bring(1);
            wait_for(1);
            value = 1;
        }
#pragma omp critical
        send_to(0, 2 + value);
    }
    for (int i = 0; i < 3; i++)
        receive(3);
}

static void teams_of_teams(void)
{
    int level = omp_get_max_active_levels();
    omp_set_max_active_levels(omp_get_level() + 3);
#pragma omp parallel num_threads(2)
    {
        int of = omp_get_thread_num();
#pragma omp parallel num_threads(2)
        if (omp_get_thread_num() == 0)
            send_to(0, stuck && of ? 7 : of);
        else
            receive(of);
    }
    omp_set_max_active_levels(level);
}

static void sections(void)
{
#pragma omp parallel sections num_threads(2)
    {
#pragma omp section
        {
            wait_for(1);
            send_to(0, 2);
        }
#pragma omp section
        {
            bring(1);
            wait_for(2);
        }
    }
}

static void lock_held(void)
{
    omp_lock_t lock;
    omp_init_lock(&lock);
    send_to(0, 2);
#pragma omp parallel num_threads(2)
    {
        omp_set_lock(&lock);
        send_to(0, 1);
        receive(stuck ? 2 : 1);
        omp_unset_lock(&lock);
    }
    receive(2);
    omp_destroy_lock(&lock);
}

static void nest_lock_held(void)
{
    omp_nest_lock_t lock;
    omp_init_nest_lock(&lock);
    send_to(0, 2);
#pragma omp parallel num_threads(2)
    {
        omp_set_nest_lock(&lock);
        omp_set_nest_lock(&lock);
        send_to(0, 1);
        receive(stuck ? 2 : 1);
        omp_unset_nest_lock(&lock);
        omp_unset_nest_lock(&lock);
    }
    receive(2);
    omp_destroy_nest_lock(&lock);
}

static void looks_for_its_task(void)
{
    int done = 0, seen = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp task shared(done)
        {
            bring(1);
#pragma omp atomic write
            done = 1;
        }
        while (!seen) {
#pragma omp taskyield
#pragma omp atomic read
            seen = done;
        }
        wait_for(1);
    }
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int signalled;
static void *thread_signals(void *tag)
{
    wait_for((int)(size_t)tag);
    pthread_mutex_lock(&mutex);
    signalled = 1;
    pthread_cond_signal(&condition);
    pthread_mutex_unlock(&mutex);
    return NULL;
}
static void waits_for_a_signal(void)
{
    pthread_t other;
    signalled = 0;
    pthread_create(&other, NULL, thread_signals, (void *)1);
    bring(1);
    pthread_mutex_lock(&mutex);
    while (!signalled)
        pthread_cond_wait(&condition, &mutex);
    pthread_mutex_unlock(&mutex);
    pthread_join(other, NULL);
}

bool teams_single(int number, bool is_stuck, const char **what)
{
#define ONE(name)                                                                                  \
    {                                                                                              \
#name, name                                                                                \
    }
    static const struct {
        const char *name;
        void (*run)(void);
    } all[] = {ONE(ordered_within),
               ONE(ordered_many),
               ONE(ordered_dynamic),
               ONE(task_waits),
               ONE(task_brings),
               ONE(tasks_many),
               ONE(second_region),
               ONE(after_region),
               ONE(nested),
               ONE(all_receive),
               ONE(joins),
               ONE(waits_beside),
               ONE(both_wait),
               ONE(joins_of_joins),
               ONE(one_after_the_other),
               ONE(critical_names),
               ONE(maker_waits),
               ONE(maker_goes_on),
               ONE(maker_alone),
               ONE(two_for_taskwait),
               ONE(two_for_taskgroup),
               ONE(by_dependence),
               ONE(by_dependence_waited),
               ONE(task_of_task),
               ONE(taskloop),
               ONE(with_an_event),
               ONE(more_than_threads),
               ONE(single_of_all),
               ONE(teams_of_teams),
               ONE(sections),
               ONE(lock_held),
               ONE(nest_lock_held),
               ONE(looks_for_its_task),
               ONE(waits_for_a_signal)};
    if ((size_t)number >= sizeof all / sizeof *all)
        return false;
    *what = all[number].name;
    stuck = is_stuck;
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        if (all[number].run == all_receive)
            for (int i = 0; i < 3 - stuck; i++)
                send_to(0, i);
        all[number].run();
        send_to(1, 9);
    } else {
        receive(9);
    }
    return true;
}

/* ---- levels ---- */

static void call(void)
{
    int flag;
    MPI_Iprobe(0, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
}
static void call_other(void)
{
    int rank;
    MPI_Barrier(MPI_COMM_SELF);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
}
static void *call_as_thread(void *none)
{
    call();
    return none;
}

static void own(void)
{
    call();
    call_other();
}
static void master(void)
{
#pragma omp parallel num_threads(2)
#pragma omp master
    call();
}
static void member(void)
{
#pragma omp parallel num_threads(2)
    if (omp_get_thread_num() == 1)
        call();
}
static void member_often(void)
{
#pragma omp parallel num_threads(2)
    if (omp_get_thread_num() == 1)
        for (int i = 0; i < 3; i++)
            call();
}
static void member_twice(void)
{
#pragma omp parallel num_threads(2)
    if (omp_get_thread_num() == 1) {
        call();
        MPI_Barrier(MPI_COMM_SELF);
    }
}
static void thread(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, call_as_thread, NULL);
    pthread_join(thread, NULL);
}
static void both(void)
{
#pragma omp parallel num_threads(2)
    call();
}
static void both_often(void)
{
#pragma omp parallel num_threads(2)
    for (int i = 0; i < 3; i++)
        call();
}
static void both_in_turn(void)
{
#pragma omp parallel num_threads(2)
#pragma omp critical
    call();
}
static void one_in_turn(void)
{
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() == 1) {
#pragma omp critical
            call();
        } else {
            call();
        }
    }
}
static void between_barriers(void)
{
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() == 1)
            call();
#pragma omp barrier
        if (omp_get_thread_num() == 0)
            call();
    }
}
static void without_barrier(void)
{
#pragma omp parallel num_threads(2)
    {
#pragma omp barrier
        if (omp_get_thread_num() == 1)
            call();
        if (omp_get_thread_num() == 0)
            call();
    }
}
static void ordered_turns(void)
{
#pragma omp parallel for ordered num_threads(2) schedule(static, 1)
    for (int i = 0; i < 4; i++) {
#pragma omp ordered
        call();
    }
}
static void one_of_them(void)
{
#pragma omp parallel num_threads(3)
#pragma omp single
    call();
}
static void regions(void)
{
    member();
    master();
    call();
}
static void alone(void)
{
#pragma omp parallel num_threads(1)
    call();
    call();
}
static void under_lock(void)
{
    static omp_lock_t lock;
    omp_init_lock(&lock);
#pragma omp parallel num_threads(2)
    {
        omp_set_lock(&lock);
        call();
        omp_unset_lock(&lock);
    }
    omp_destroy_lock(&lock);
}
static void tasks(void)
{
#pragma omp parallel num_threads(2)
#pragma omp single
    for (int i = 0; i < 4; i++) {
#pragma omp task
        call();
    }
}

static void *begin_as_thread(void *none)
{
    int provided;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided);
    call();
    return none;
}
static void begun_elsewhere(void) /* that thread is the main one then */
{
    pthread_t thread;
    pthread_create(&thread, NULL, begin_as_thread, NULL);
    pthread_join(thread, NULL);
}
static void with_session(void) /* which has a level of its own */
{
    MPI_Session session;
    int provided;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided);
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    thread();
    MPI_Session_finalize(&session);
}

static void after_end(void) /* which is another mistake */
{
    int provided;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided);
    MPI_Finalize();
    thread();
}

/* ---- collectives ---- */

static void meet(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}
static void *meet_as_thread(void *none)
{
    meet();
    return none;
}
static void meet_both(void)
{
#pragma omp parallel num_threads(2)
    meet();
}
static void meet_often(void)
{
#pragma omp parallel num_threads(2)
    for (int i = 0; i < 3; i++)
        meet();
}
static void meet_in_turn(void)
{
#pragma omp parallel num_threads(2)
#pragma omp critical
    meet();
}
static void meet_one_in_turn(void)
{
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() == 1) {
#pragma omp critical
            meet();
        } else {
            meet();
        }
    }
}
static void meet_between_barriers(void)
{
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() == 1)
            meet();
#pragma omp barrier
        if (omp_get_thread_num() == 0)
            meet();
    }
}
static void meet_own(void) /* each thread has a communicator of its own */
{
    MPI_Comm comms[2];
    for (int i = 0; i < 2; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
#pragma omp parallel num_threads(2)
    for (int i = 0; i < 2; i++)
        MPI_Barrier(comms[omp_get_thread_num()]);
    for (int i = 0; i < 2; i++)
        MPI_Comm_free(&comms[i]);
}
static void meet_one(void)
{
#pragma omp parallel num_threads(2)
    if (omp_get_thread_num() == 1)
        for (int i = 0; i < 2; i++)
            meet();
}
static void meet_alone(void)
{
#pragma omp parallel num_threads(1)
    meet();
    meet();
}
static void meet_later(void)
{
#pragma omp parallel num_threads(2)
    {
        MPI_Request request;
        MPI_Ibarrier(MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}
static void meet_in_tasks(void)
{
#pragma omp parallel num_threads(2)
#pragma omp single
    for (int i = 0; i < 4; i++) {
#pragma omp task
        meet();
    }
}
static void meet_nested(void) /* what threads of inner teams do is not known */
{
#pragma omp parallel num_threads(1)
    {
#pragma omp parallel num_threads(2)
        meet();
    }
}
static void meet_joined(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, meet_as_thread, NULL);
    pthread_join(thread, NULL);
    meet();
}
/* Rank 1 comes when nobody else can go on: both threads of rank 0 are in the collective by then. */
static void meet_inside(void)
{
    pthread_t thread;
    MPI_Status status;
    int rank, flag = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        pthread_create(&thread, NULL, meet_as_thread, NULL);
    else
        MPIX_Probe_patient(0, MPI_COMM_SELF, 1, &flag, &status);
    meet();
    if (rank == 0)
        pthread_join(thread, NULL);
    else
        meet();
}

const struct team_level *teams_level(int number)
{
#define MAIN(call, level)                                                                          \
    "MPI_" call ": called by a thread that is not the rank's main one: MPI_THREAD_" level          \
    " allows that one alone\n"
#define SERIAL                                                                                     \
    "MPI_Iprobe: called by a thread while another thread of its team may be in MPI: "              \
    "MPI_THREAD_SERIALIZED allows one at a time\n"
#define AT_ONCE(how)                                                                               \
    "MPI_Barrier while another thread of the rank " how " in a collective on the same "            \
    "communicator: their order is by chance; give each thread its own\n"
#define LEVEL(level, name, said)                                                                   \
    {                                                                                              \
#name, MPI_THREAD_##level, name, said, 1,                                                  \
            MPI_THREAD_##level == MPI_THREAD_SERIALIZED && sizeof(said)> 1                         \
    }
#define COLLECTIVES(name, said)                                                                    \
    {                                                                                              \
#name, MPI_THREAD_MULTIPLE, name, said, 1, sizeof(said)> 1                                 \
    }
    static const struct team_level all[] = {
        LEVEL(SINGLE, own, ""),
        LEVEL(SINGLE, thread, MAIN("Iprobe", "SINGLE")),
        LEVEL(SINGLE, master, ""),
        LEVEL(SINGLE, member, MAIN("Iprobe", "SINGLE")),
        LEVEL(FUNNELED, own, ""),
        LEVEL(FUNNELED, master, ""),
        LEVEL(FUNNELED, member, MAIN("Iprobe", "FUNNELED")),
        LEVEL(FUNNELED, member_often, MAIN("Iprobe", "FUNNELED")),
        LEVEL(FUNNELED, member_twice, MAIN("Iprobe", "FUNNELED") MAIN("Barrier", "FUNNELED")),
        LEVEL(FUNNELED, thread, MAIN("Iprobe", "FUNNELED")),
        LEVEL(SERIALIZED, own, ""),
        LEVEL(SERIALIZED, master, ""),
        LEVEL(SERIALIZED, member, ""),
        LEVEL(SERIALIZED, member_often, ""),
        LEVEL(SERIALIZED, thread, ""),
        LEVEL(SERIALIZED, both, SERIAL),
        LEVEL(SERIALIZED, both_often, SERIAL),
        LEVEL(SERIALIZED, both_in_turn, ""),
        LEVEL(SERIALIZED, one_in_turn, SERIAL),
        LEVEL(SERIALIZED, between_barriers, ""),
        LEVEL(SERIALIZED, without_barrier, SERIAL),
        LEVEL(SERIALIZED, ordered_turns, ""),
        LEVEL(SERIALIZED, one_of_them, ""),
        LEVEL(SERIALIZED, regions, ""),
        LEVEL(SERIALIZED, alone, ""),
        LEVEL(SERIALIZED, under_lock, ""),
        LEVEL(SERIALIZED, tasks, ""),
        LEVEL(MULTIPLE, both, ""),
        LEVEL(MULTIPLE, thread, ""),
        LEVEL(MULTIPLE, both_often, ""),
        {"begun_elsewhere", -1, begun_elsewhere, "", 1, 0},
        {"with_session", -1, with_session, "", 1, 0},
        {"after_end", -1, after_end,
         "MPI_Iprobe: MPI_ERR_OTHER: called after MPI_Finalize\n"
         "MPI_Barrier: MPI_ERR_OTHER: called after MPI_Finalize\n",
         1, 0},
        COLLECTIVES(meet_both, AT_ONCE("may be")),
        COLLECTIVES(meet_often, AT_ONCE("may be")),
        COLLECTIVES(meet_in_turn, ""),
        COLLECTIVES(meet_one_in_turn, AT_ONCE("may be")),
        COLLECTIVES(meet_between_barriers, ""),
        COLLECTIVES(meet_own, ""),
        COLLECTIVES(meet_one, ""),
        COLLECTIVES(meet_alone, ""),
        COLLECTIVES(meet_later, AT_ONCE("may be")),
        COLLECTIVES(meet_in_tasks, ""),
        COLLECTIVES(meet_nested, ""),
        COLLECTIVES(meet_joined, ""),
        {"meet_inside", MPI_THREAD_MULTIPLE, meet_inside, AT_ONCE("was"), 2, 0},
    };
    return (size_t)number < sizeof all / sizeof *all ? &all[number] : NULL;
}

/* ---- company ---- */

static void calls(int count)
{
    for (int i = 0; i < count; i++)
        MPI_Barrier(MPI_COMM_SELF);
}
static void *calls_as_thread(void *count)
{
    calls((int)(size_t)count);
    return NULL;
}
/* Threads that are there until they are let go. */
static sem_t let_go[2];
static void *stays(void *which)
{
    sem_wait(&let_go[(size_t)which]);
    return NULL;
}
static pthread_t comes(size_t which)
{
    pthread_t thread;
    sem_init(&let_go[which], 0, 0);
    pthread_create(&thread, NULL, stays, (void *)which);
    return thread;
}
static void goes(pthread_t thread, size_t which)
{
    sem_post(&let_go[which]);
    pthread_join(thread, NULL);
}

static void nobody(void)
{
    calls(3);
}
static void beside_one(void)
{
    calls(2);
    pthread_t thread = comes(0);
    calls(3);
    goes(thread, 0);
    calls(4);
}
static void by_the_other(void)
{
    pthread_t thread;
    calls(1);
    pthread_create(&thread, NULL, calls_as_thread, (void *)2);
    pthread_join(thread, NULL);
    calls(5);
}
static void in_a_row(void)
{
    for (int i = 1; i < 4; i++) {
        pthread_t thread = comes(0);
        calls(i);
        goes(thread, 0);
        calls(10);
    }
}
static void overlapping(void)
{
    pthread_t first = comes(0);
    calls(1);
    pthread_t second = comes(1);
    calls(2);
    goes(first, 0);
    calls(3);
    goes(second, 1);
    calls(4);
}
static void in_region(void)
{
    calls(1);
#pragma omp parallel num_threads(2)
    {
#pragma omp master
        calls(3);
#pragma omp barrier
    }
    calls(2);
}
static void in_region_of_one(void)
{
#pragma omp parallel num_threads(1)
    calls(3);
}
static void in_regions(void)
{
    for (int i = 1; i < 4; i++) {
        calls(5);
#pragma omp parallel num_threads(2)
        {
#pragma omp master
            calls(i);
        }
#pragma omp parallel num_threads(1)
        calls(7);
    }
}
static void region_beside(void)
{
    calls(1);
    pthread_t thread = comes(0);
    calls(1);
#pragma omp parallel num_threads(2)
    {
#pragma omp master
        calls(2);
    }
    calls(1);
    goes(thread, 0);
    calls(9);
}

const struct team_company *teams_company(int number)
{
#define COMPANY(name, calls)                                                                       \
    {                                                                                              \
#name, name, calls                                                                         \
    }
    static const struct team_company all[] = {
        COMPANY(nobody, 0),           COMPANY(beside_one, 3),  COMPANY(by_the_other, 2),
        COMPANY(in_a_row, 1 + 2 + 3), COMPANY(overlapping, 6), COMPANY(in_region, 3),
        COMPANY(in_region_of_one, 0), COMPANY(in_regions, 6),  COMPANY(region_beside, 4),
    };
    return (size_t)number < sizeof all / sizeof *all ? &all[number] : NULL;
}

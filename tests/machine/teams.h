/* What the threads of a team of a rank do: see teams.c. */
#ifndef TESTS_MACHINE_TEAMS_H
#define TESTS_MACHINE_TEAMS_H

enum { TEAM_THREADS = 4, TEAM_STEPS = 12, TEAM_TAGS = 6, TEAM_SINGLES = 34 };

enum team_action {
    TEAM_SEND,     /* to the own rank; never waits */
    TEAM_RECEIVE,  /* from the own rank */
    TEAM_BARRIER,  /* of the team */
    TEAM_CRITICAL, /* the next `length` steps are in the critical section `what` */
    TEAM_WORK,     /* a call of MPI that never waits */
    TEAM_ACTIONS
};

struct team_step {
    enum team_action action;
    int what; /* a tag, or a section: 0 has no name */
    int length;
};

struct team_program {
    int threads, count[TEAM_THREADS];
    struct team_step steps[TEAM_THREADS][TEAM_STEPS];
};

void teams_run(const struct team_program *program);
/* Single programs, by number: others wait for what is never sent, where `stuck`; false: there is no such. */
_Bool teams_single(int number, _Bool stuck, const char **what);

/* Which thread calls, by the level of threads, and collectives of two threads: `said` M009 and M006, in order, or nothing. */
struct team_level {
    const char *what;
    int level; /* MPI_THREAD_SINGLE and so on; -1: it initializes MPI by itself */
    void (*run)(void);
    const char *said;
    int ranks;
    _Bool
        perhaps; /* told as a gap where the program may order its threads in ways that are not seen */
};
const struct team_level *teams_level(int number);

/* So many calls of a rank are made while others of its threads are at work. */
struct team_company {
    const char *what;
    void (*run)(void);
    int calls;
};
const struct team_company *teams_company(int number);

#endif

/* What the threads of a team of a rank do: see teams.c. */
#ifndef TESTS_MACHINE_TEAMS_H
#define TESTS_MACHINE_TEAMS_H

enum { TEAM_THREADS = 4, TEAM_STEPS = 12, TEAM_TAGS = 6 };

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

/* Which thread calls, by the level of threads: `said` M009, in order, or nothing; where only the machine's own account of teams tells
 * them apart. */
struct team_level {
    const char *what;
    int level; /* MPI_THREAD_SINGLE and so on */
    void (*run)(void);
    const char *said;
};
const struct team_level *teams_level(int number);

#endif

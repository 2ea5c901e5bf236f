/* Ranks whose threads call MPI: whether the program comes to its end or stands for ever, against every order in which the threads may
 * take their steps. Threads send and receive, meet at barriers and take critical sections; programs that end in one order and not in
 * another are not asked, nor those that stand without a call of MPI. And single programs, each beside one that stands.
 * SIMRUN_SOAK=N tries N programs, from SIMRUN_SEED on. */
#include "recorder/recording.h"
#include "sim/worlds/world.h"
#include "tests/dice.h"
#include "tests/machine/compiled.h"
#include "tests/machine/teams.h"
#include "tests/sanitized.h"
#include "tests/tap.h"
#include "traces/trace/coverage.h"

#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __clang__
#define COMPILED_BY_CLANG 1
#else
#define COMPILED_BY_CLANG 0
#endif

static uint64_t state;
static struct team_program program;
static int chosen = -1; /* of the single ones */
static bool chosen_stuck;
static void (*run_program)(const struct team_program *);
static _Bool (*run_single)(int, _Bool, const char **);

static int below(int n)
{
    return (int)dice_below(&state, (uint32_t)n);
}

/* ---- programs ---- */

static void add(int thread, enum team_action action, int what, int length)
{
    program.steps[thread][program.count[thread]++] = (struct team_step){action, what, length};
}

/* Barriers cut it into phases. */
static void draw(void)
{
    memset(&program, 0, sizeof program);
    program.threads = 2 + below(3);
    int phases = 1 + below(3), tag = 0;
    for (int phase = 0; phase < phases; phase++) {
        for (int thread = 0; thread < program.threads; thread++)
            for (int i = below(3); i > 0 && program.count[thread] < TEAM_STEPS - 4; i--) {
                int length = 1 + below(2);
                if (below(3) == 0 && program.count[thread] + length < TEAM_STEPS - 4)
                    add(thread, TEAM_CRITICAL, below(3), length);
                else
                    length = 1;
                for (int k = 0; k < length; k++) {
                    int kind = below(5);
                    tag = below(TEAM_TAGS);
                    add(thread, kind < 2 ? TEAM_SEND : kind < 4 ? TEAM_RECEIVE : TEAM_WORK, tag, 0);
                }
            }
        for (int thread = 0; thread < program.threads && phase + 1 < phases; thread++)
            add(thread, TEAM_BARRIER, 0, 0);
    }
}

/* ---- all orders ---- */

struct moment {
    signed char at[TEAM_THREADS], inside[TEAM_THREADS][2], ends[TEAM_THREADS];
    signed char messages[TEAM_TAGS], holder[3], sections[TEAM_THREADS];
};
enum { MOMENTS = 60000 };
static struct moment moments[MOMENTS];
static int moment_count;
static bool may_end, may_stand, may_stand_silently, too_many;

static void reach(const struct moment *moment)
{
    for (int i = moment_count; i-- > 0;)
        if (!memcmp(&moments[i], moment, sizeof *moment))
            return;
    too_many |= moment_count == MOMENTS;
    if (!too_many)
        moments[moment_count++] = *moment;
}

/* A section ends behind its last step. */
static void leave_sections(struct moment *moment, int thread)
{
    if (moment->sections[thread] && moment->at[thread] == moment->ends[thread]) {
        moment->sections[thread] = 0;
        for (int k = 0; k < 3; k++)
            if (moment->holder[k] == thread + 1)
                moment->holder[k] = 0;
    }
}

static bool stands_at_barrier(const struct moment *moment, int thread)
{
    int at = moment->at[thread];
    return at < program.count[thread] && program.steps[thread][at].action == TEAM_BARRIER;
}

static void look_from(const struct moment *from)
{
    bool moved = false, done = true, waits = false, all_meet = true;
    for (int thread = 0; thread < program.threads; thread++) {
        struct moment next = *from;
        int at = from->at[thread];
        all_meet &= stands_at_barrier(from, thread);
        if (at == program.count[thread])
            continue;
        done = false;
        const struct team_step *step = &program.steps[thread][at];
        bool can = step->action != TEAM_BARRIER;
        if (step->action == TEAM_SEND)
            next.messages[step->what]++;
        if (step->action == TEAM_RECEIVE) {
            can = from->messages[step->what] > 0;
            waits |= !can;
            next.messages[step->what]--;
        }
        if (step->action == TEAM_CRITICAL) {
            can = !from->holder[step->what];
            next.holder[step->what] = (signed char)(thread + 1);
            next.sections[thread] = 1;
            next.ends[thread] = (signed char)(at + 1 + step->length);
        }
        if (!can)
            continue;
        moved = true;
        next.at[thread]++;
        leave_sections(&next, thread);
        reach(&next);
    }
    if (all_meet) {
        struct moment next = *from;
        for (int thread = 0; thread < program.threads; thread++)
            next.at[thread]++;
        reach(&next);
        return;
    }
    may_end |= done;
    may_stand |= !done && !moved && waits;
    may_stand_silently |= !done && !moved && !waits;
}

/* False: it is no question. */
static bool stands(bool *answer)
{
    may_end = may_stand = may_stand_silently = too_many = false;
    moment_count = 0;
    reach(&(struct moment){.at = {0}});
    for (int i = 0; i < moment_count; i++)
        look_from(&moments[i]);
    *answer = may_stand;
    return !too_many && !may_stand_silently && may_end != may_stand;
}

/* ---- worlds ---- */

static struct recording *recording;
static const struct team_level *level;
static const struct team_company *company;
/* What a child tells. */
static struct told {
    char text[4000];
    int gaps, beside;
} * told;

static int body(void *context, int rank)
{
    int provided;
    const char *what;
    (void)context;
    recording_rank_begin(recording);
    if (!level || level->level >= 0)
        MPI_Init_thread(NULL, NULL, level ? level->level : MPI_THREAD_MULTIPLE, &provided);
    if (level)
        level->run();
    else if (company)
        company->run();
    else if (chosen >= 0)
        run_single(chosen, chosen_stuck, &what);
    else if (rank == 0)
        run_program(&program);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}

static void on_signal(int number)
{
    (void)number;
    sim_world_called_out();
}

static int run_world(enum sim_wide_when wide)
{
    struct sim_world_options options;
    struct failure failure = {0};
    sim_world_options_init(&options);
    options.ranks = level ? level->ranks : company ? 1 : 2;
    options.memory = company;
    options.executor = SIM_THREADS;
    options.wide = wide;
    options.wide_signal = SIGURG;
    signal(SIGURG, on_signal);
    recording = recording_new((uint32_t)options.ranks, RECORD_LEVEL_OPS, &failure);
    struct sim_world *world = sim_world_new(&options, &failure);
    struct recording_result result = {
        .outcome = sim_world_run(world, body, NULL), .program = "teams", .model = "eager"};
    if (!level && !company)
        return (int)result.outcome;
    struct trace *trace = recording_load(recording, &result, &failure);
    for (size_t i = 0; trace && i < trace->note_count; i++) {
        size_t used = strlen(told->text);
        if (!strcmp(trace->notes[i].code, "M009") || !strcmp(trace->notes[i].code, "M006"))
            snprintf(told->text + used, sizeof told->text - used, "%s\n", trace->notes[i].text);
    }
    for (size_t i = 0; trace && i < trace->coverage->count; i++) {
        const struct coverage_gap *gap = &trace->coverage->gaps[i];
        told->gaps += strstr(gap->text, "(M00") != NULL;
        if (strstr(gap->text, "beside other threads"))
            told->beside += (int)gap->count;
    }
    return (int)result.outcome;
}

/* In a process of its own: threads of a team that stands sleep until that ends. */
static int outcome_of(enum sim_wide_when wide)
{
    fflush(stdout);
    memset(told, 0, sizeof *told);
    pid_t child = fork();
    if (child == 0)
        _exit(run_world(wide));
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 101;
}

static void drawn(void)
{
    int wrong = 0, asked = 0, standing = 0;
    struct dice_seeds seeds = dice_seeds(400);
    for (unsigned long long i = 0; i < seeds.count && asked < 60; i++) {
        bool stand;
        state = (seeds.first + i) * 0x9e3779b97f4a7c15u + 1;
        draw();
        if (!stands(&stand) || (stand && standing > asked / 2))
            continue;
        asked++;
        standing += stand;
        int outcome = outcome_of(SIM_WIDE_AUTO);
        if (outcome != (stand ? OUTCOME_DEADLOCK : OUTCOME_FINISHED) && wrong++ < 5)
            tap_note("seed %llu: outcome %d, and it %s", seeds.first + i, outcome,
                     stand ? "stands" : "ends");
    }
    tap_is_int(wrong, 0,
               "%d teams, of which %d stand, come to the end that they have in every order", asked,
               standing);
}

static void singles(void)
{
    const char *what = "";
    for (chosen = 0; chosen < TEAM_SINGLES; chosen++)
        for (int i = 0; i < 2; i++) {
            chosen_stuck = i;
            int outcome = outcome_of(SIM_WIDE_AUTO);
            tap_is_int(outcome, i ? OUTCOME_DEADLOCK : OUTCOME_FINISHED, "single %d%s%s", chosen,
                       what, i ? ", where it stands" : "");
        }
}

/* Two threads that may be in a collective at once sometimes were: that is said then, and nothing else. */
static bool says_they_were(const struct team_level *of)
{
    static const char may[] = " may be in";
    char were[sizeof told->text];
    const char *text = told->text, *place = strstr(of->said, may);
    if (!of->perhaps || !place || !*text)
        return false;
    int length = snprintf(were, sizeof were, "%.*s was in%s", (int)(place - of->said), of->said,
                          place + strlen(may));
    size_t perhaps = strlen(of->said);
    bool any = false;
    while (*text) {
        bool they_were = !strncmp(text, were, (size_t)length);
        if (!they_were && strncmp(text, of->said, perhaps) != 0)
            return false;
        text += they_were ? (size_t)length : perhaps;
        any = any || they_were;
    }
    return any;
}

static void levels(const struct team_level *(*level_of)(int))
{
    for (int number = 0; (level = level_of(number)); number++)
        for (int i = 0; i < 2; i++) {
            int outcome = outcome_of(i ? SIM_WIDE_NEVER : SIM_WIDE_AUTO);
            bool ends =
                !strstr(level->said, "after MPI_Finalize"); /* which MPI does not let pass */
            bool were = says_they_were(level);
            tap_ok(outcome == (ends ? OUTCOME_FINISHED : OUTCOME_ABORTED) &&
                       (were || told->gaps == (i && level->perhaps)),
                   "%s with level %d: outcome %d, %d gaps", level->what, level->level, outcome,
                   told->gaps);
            if (!were)
                tap_is_str(told->text, i && level->perhaps ? "" : level->said,
                           "%s with level %d: what is said", level->what, level->level);
        }
}

static void companies(const struct team_company *(*company_of)(int))
{
    for (int number = 0; (company = company_of(number)); number++) {
        int outcome = outcome_of(SIM_WIDE_AUTO);
        tap_ok(outcome == OUTCOME_FINISHED && told->beside == company->calls,
               "%s: outcome %d, %d calls beside other threads, not %d", company->what, outcome,
               told->beside, company->calls);
    }
}

int main(void)
{
    told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    /* The sanitizer's runtime does not see OpenMP's barriers; clang's OpenMP is none of gcc's. */
    bool blind = SANITIZED_THREAD || COMPILED_BY_CLANG;
    void *library = blind ? NULL : compiled("teams", "teams", "-g -O0 -fopenmp", 0);
    if (library) {
        *(void **)&run_program = dlsym(library, "teams_run");
        *(void **)&run_single = dlsym(library, "teams_single");
        drawn();
        singles();
        const struct team_level *(*level_of)(int);
        *(void **)&level_of = dlsym(library, "teams_level");
        levels(level_of);
        const struct team_company *(*company_of)(int);
        *(void **)&company_of = dlsym(library, "teams_company");
        companies(company_of);
    } else {
        tap_skip(1, "gcc is not there, or its OpenMP is not the launcher's, or a sanitizer is");
    }
    return tap_done();
}

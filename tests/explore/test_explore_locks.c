/* Exploration of locks of windows, against every interleaving of a naive model that shares nothing
 * with the machine: small random programs of locks, shared ones and exclusive ones, nested or not,
 * and of messages by name and from anybody. An exploration must come to every ending of the model
 * and to no other, as if MPI_Win_lock waited for the lock; where it need not, which may show, that is
 * said, and nowhere else: who had each lock alone before, what was received, how far each rank came.
 * SIMRUN_SOAK=N tries N programs, from SIMRUN_SEED on. */
#include "checker/explore/explore.h"
#include "recorder/recording.h"
#include "tests/dice.h"
#include "tests/tap.h"

#include <mpi.h>
#include <mpix.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS_MAX = 4, STEPS_MAX = 6, TARGETS = 2, PLACES = 2, STATES_MAX = 1 << 16 };
enum verb { LOCK, SHARE, UNLOCK, SEND, RECEIVE, PUT, ADD, GET, REPLACE, FETCH, LOOK };

struct step {
    uint8_t verb;
    int8_t where; /* target, or peer; -1: anybody */
    uint8_t place;
};

struct program {
    bool accesses; /* to what is locked: then it counts what they find, and not who had the lock */
    uint8_t usual; /* change */
    uint32_t ranks, length[RANKS_MAX];
    struct step steps[RANKS_MAX][STEPS_MAX];
};

/* Per step what it followed or took, 0 for none yet. */
struct ending {
    uint8_t at[RANKS_MAX], picks[RANKS_MAX][STEPS_MAX];
    int32_t memory[TARGETS][PLACES];
};
enum { NOBODY_BEFORE = 255 };

/* A holder's step, as a pick. */
static uint8_t name_of(uint32_t rank, uint32_t step)
{
    return (uint8_t)(1 + rank * STEPS_MAX + step);
}

/* ---- programs ---- */

static uint64_t dice;

static const uint8_t changes[] = {PUT, ADD, REPLACE, FETCH};

/* Those who share a lock only look. Many do what is usual in the program. */
static struct step access_new(const struct program *program, uint32_t target, bool shared)
{
    uint8_t verb = dice_below(&dice, 2) ? GET : LOOK;
    if (!shared && dice_below(&dice, 3))
        verb = dice_below(&dice, 3) ? program->usual : changes[dice_below(&dice, 4)];
    return (struct step){verb, (int8_t)target, (uint8_t)dice_below(&dice, PLACES)};
}

static void rank_fill(struct program *program, uint32_t rank)
{
    bool held[TARGETS] = {false}, shared[TARGETS] = {false};
    uint32_t length = 0, wanted = 2 + dice_below(&dice, STEPS_MAX - 1);
    while (length < wanted) {
        uint32_t target = dice_below(&dice, TARGETS), open = 0, kind = dice_below(&dice, 8);
        struct step *step = &program->steps[rank][length];
        for (int t = 0; t < TARGETS; t++)
            open += held[t];
        uint32_t ends = program->accesses ? 2 : 6;
        if (open && (open + length >= wanted || (held[target] && kind < ends))) {
            while (!held[target])
                target = (target + 1) % TARGETS;
            held[target] = false;
            *step = (struct step){UNLOCK, (int8_t)target, 0};
        } else if (program->accesses && held[target] && open + length < wanted) {
            *step = access_new(program, target, shared[target]);
        } else if (!held[target] && kind < 6 && open + length + 2 <= wanted) {
            held[target] = true;
            shared[target] = kind >= 4;
            *step = (struct step){kind < 4 ? LOCK : SHARE, (int8_t)target, 0};
        } else if (open + length < wanted) {
            uint32_t peer = (rank + 1 + dice_below(&dice, program->ranks - 1)) % program->ranks;
            *step = (struct step){kind % 2 ? SEND : RECEIVE, (int8_t)peer, 0};
            if (step->verb == RECEIVE && dice_below(&dice, 3) == 0)
                step->where = -1;
        } else {
            break;
        }
        length++;
    }
    program->length[rank] = length;
}

static struct program program_new(bool accesses)
{
    struct program program = {.accesses = accesses, .ranks = 2 + dice_below(&dice, RANKS_MAX - 1)};
    program.usual = changes[dice_below(&dice, 4)];
    for (uint32_t rank = 0; rank < program.ranks; rank++)
        rank_fill(&program, rank);
    return program;
}

/* ---- the model: every order of steps, each of which is one move ---- */

struct state {
    struct ending ending;
    uint8_t alone[TARGETS], sharing[TARGETS], last[TARGETS]; /* holder + 1, count, name */
    uint8_t sent[RANKS_MAX][RANKS_MAX], got[RANKS_MAX][RANKS_MAX];
};

struct set {
    uint64_t items[2 * STATES_MAX];
    size_t count;
};

struct model {
    const struct program *program;
    struct set states, endings;
};

static bool set_has(const struct set *set, uint64_t item)
{
    size_t at = item % (2 * STATES_MAX);
    while (set->items[at] && set->items[at] != item)
        at = (at + 1) % (2 * STATES_MAX);
    return set->items[at] == item;
}

static bool set_add(struct set *set, uint64_t item)
{
    size_t at = item % (2 * STATES_MAX);
    while (set->items[at] && set->items[at] != item)
        at = (at + 1) % (2 * STATES_MAX);
    if (set->items[at])
        return false;
    set->items[at] = item;
    set->count++;
    return true;
}

static uint64_t name(const void *data, size_t size)
{
    const unsigned char *bytes = data;
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3u;
    hash ^= hash >> 29;
    return hash ? hash : 1;
}

/* The step of a rank, in the state; false: it cannot go. `from`: the sender of a wildcard. */
static bool go(const struct program *program, struct state *state, uint32_t rank, uint32_t from)
{
    uint8_t *at = &state->ending.at[rank];
    const struct step *step = &program->steps[rank][*at];
    uint8_t *pick = &state->ending.picks[rank][*at], own = name_of(rank, *at);
    uint32_t where = (uint32_t)step->where;
    switch ((enum verb)step->verb) {
    case LOCK:
        if (state->alone[where] || state->sharing[where])
            return false;
        state->alone[where] = (uint8_t)(rank + 1);
        if (program->accesses)
            break;
        *pick = state->last[where] ? state->last[where] : NOBODY_BEFORE;
        state->last[where] = own;
        break;
    case SHARE:
        if (state->alone[where])
            return false;
        state->sharing[where]++;
        if (!program->accesses)
            *pick = state->last[where] ? state->last[where] : NOBODY_BEFORE;
        break;
    case UNLOCK:
        if (state->alone[where] == rank + 1)
            state->alone[where] = 0;
        else
            state->sharing[where]--;
        break;
    case SEND:
        state->sent[rank][where]++;
        break;
    case RECEIVE:
        if (state->got[from][rank] == state->sent[from][rank])
            return false;
        state->got[from][rank]++;
        *pick = (uint8_t)(from + 1);
        break;
    case PUT:
    case REPLACE:
        state->ending.memory[where][step->place] = own;
        break;
    case ADD:
        state->ending.memory[where][step->place] += 7 * own;
        break;
    case FETCH:
        *pick = (uint8_t)state->ending.memory[where][step->place];
        state->ending.memory[where][step->place] += 7 * own;
        break;
    case GET:
    case LOOK:
        *pick = (uint8_t)state->ending.memory[where][step->place];
        break;
    }
    ++*at;
    return true;
}

static void visit(struct model *model, const struct state *state)
{
    const struct program *program = model->program;
    bool moved = false;
    if (model->states.count >= STATES_MAX || !set_add(&model->states, name(state, sizeof *state)))
        return;
    for (uint32_t rank = 0; rank < program->ranks; rank++) {
        uint32_t at = state->ending.at[rank];
        if (at == program->length[rank])
            continue;
        int where = program->steps[rank][at].where;
        for (uint32_t from = 0; from < program->ranks; from++) {
            struct state next = *state;
            if (where >= 0 && from != (uint32_t)where % program->ranks)
                continue; /* once */
            if (!go(program, &next, rank, from))
                continue;
            moved = true;
            visit(model, &next);
        }
    }
    if (!moved)
        set_add(&model->endings, name(&state->ending, sizeof state->ending));
}

/* ---- the same on the machine ---- */

struct scene {
    const struct program *program;
    const struct model *model;
    uint64_t strange;
};

struct seen {
    const struct program *program;
    struct recording *recording;
    struct ending ending;
    uint8_t last[TARGETS];
};

static void run_step(struct seen *seen, uint32_t rank, uint32_t at, MPI_Win win)
{
    const struct step *step = &seen->program->steps[rank][at];
    uint8_t *pick = &seen->ending.picks[rank][at];
    int where = step->where, value = 0, one;
    MPI_Status status;
    switch ((enum verb)step->verb) {
    case LOCK:
    case SHARE:
        MPI_Win_lock(step->verb == LOCK ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, where, 0, win);
        if (!seen->program->accesses)
            *pick = seen->last[where] ? seen->last[where] : NOBODY_BEFORE;
        if (step->verb == LOCK)
            seen->last[where] = name_of(rank, at);
        break;
    case UNLOCK:
        MPI_Win_unlock(where, win);
        break;
    case SEND:
        MPI_Send(&value, 1, MPI_INT, where, 0, MPI_COMM_WORLD);
        break;
    case RECEIVE:
        MPI_Recv(&value, 1, MPI_INT, where < 0 ? MPI_ANY_SOURCE : where, 0, MPI_COMM_WORLD,
                 &status);
        *pick = (uint8_t)(status.MPI_SOURCE + 1);
        break;
    case PUT:
        value = name_of(rank, at);
        MPI_Put(&value, 1, MPI_INT, where, step->place, 1, MPI_INT, win);
        break;
    case ADD:
        value = 7 * name_of(rank, at);
        MPI_Accumulate(&value, 1, MPI_INT, where, step->place, 1, MPI_INT, MPI_SUM, win);
        break;
    case REPLACE:
        value = name_of(rank, at);
        MPI_Accumulate(&value, 1, MPI_INT, where, step->place, 1, MPI_INT, MPI_REPLACE, win);
        break;
    case FETCH:
    case LOOK:
        one = 7 * name_of(rank, at);
        MPI_Fetch_and_op(&one, &value, MPI_INT, where, step->place,
                         step->verb == FETCH ? MPI_SUM : MPI_NO_OP, win);
        MPI_Win_flush(where, win);
        *pick = (uint8_t)value;
        break;
    case GET:
        MPI_Get(&value, 1, MPI_INT, where, step->place, 1, MPI_INT, win);
        MPI_Win_flush(where, win);
        *pick = (uint8_t)value;
        break;
    }
}

static int run_rank(void *context, int rank)
{
    struct seen *seen = context;
    int none[PLACES], *memory = rank < TARGETS ? seen->ending.memory[rank] : none;
    MPI_Win win;
    if (seen->program->accesses) /* the record tells what is done under a lock */
        recording_rank_begin(seen->recording);
    MPI_Init(NULL, NULL);
    MPI_Win_create(memory, sizeof none, sizeof *none, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    for (uint32_t at = 0; at < seen->program->length[rank]; at++) {
        run_step(seen, (uint32_t)rank, at, win);
        seen->ending.at[rank]++;
    }
    return 0; /* without freeing, which would hang where a rank hangs */
}

static bool run_world(void *context, unsigned worker, struct explore_steer *steer,
                      struct explore_run *run)
{
    struct scene *scene = context;
    struct seen seen = {.program = scene->program};
    struct sim_world_options options;
    struct failure failure;
    (void)worker;
    sim_world_options_init(&options);
    options.ranks = (int)scene->program->ranks;
    explore_steer_world(steer, &options);
    struct sim_world *world = sim_world_new(&options, &failure);
    seen.recording = recording_new(scene->program->ranks, RECORD_LEVEL_OPS, &failure);
    if (!world || !seen.recording)
        return false;
    run->outcome = sim_world_run(world, run_rank, &seen);
    run->fingerprint = name(&seen.ending, sizeof seen.ending);
    if (!steer->blocked)
        scene->strange += !set_has(&scene->model->endings, run->fingerprint);
    explore_run_take(run, sim_world_choices(world));
    sim_world_free(world);
    recording_free(seen.recording);
    return true;
}

/* ---- the comparison ---- */

struct tally {
    unsigned programs, wrong, strange, diverged, hanging, late;
    unsigned long long endings, runs, redundant, most;
};

static void show(const struct program *program)
{
    static const char *const verbs[] = {"lock", "share", "unlock",  "send",  "receive", "put",
                                        "add",  "get",   "replace", "fetch", "look"};
    for (uint32_t rank = 0; rank < program->ranks; rank++) {
        char line[300] = "";
        for (uint32_t i = 0; i < program->length[rank]; i++)
            snprintf(line + strlen(line), sizeof line - strlen(line), " %s %d",
                     verbs[program->steps[rank][i].verb], program->steps[rank][i].where);
        tap_note("  rank %u:%s", rank, line);
    }
}

/* Whether a message comes between a lock of another's memory and the first flush or the unlock, and
 * somebody else asks for that lock. */
static bool may_be_late(const struct program *program)
{
    bool alone[RANKS_MAX][TARGETS] = {{false}}, any[RANKS_MAX][TARGETS] = {{false}},
         late[RANKS_MAX][TARGETS] = {{false}};
    for (uint32_t rank = 0; rank < program->ranks; rank++) {
        bool open[TARGETS] = {false};
        for (uint32_t at = 0; at < program->length[rank]; at++) {
            const struct step *step = &program->steps[rank][at];
            switch ((enum verb)step->verb) {
            case LOCK:
            case SHARE:
                alone[rank][step->where] |= step->verb == LOCK;
                any[rank][step->where] = true;
                open[step->where] = step->where != (int)rank;
                break;
            case SEND:
            case RECEIVE:
                for (int target = 0; target < TARGETS; target++)
                    late[rank][target] |= open[target];
                break;
            case PUT:
            case ADD:
            case REPLACE:
                break;
            default:
                open[step->where] = false;
            }
        }
    }
    for (uint32_t one = 0; one < program->ranks; one++)
        for (uint32_t other = 0; other < program->ranks; other++)
            for (int target = 0; target < TARGETS; target++)
                if (one != other && late[one][target] && any[other][target] &&
                    (alone[one][target] || alone[other][target]))
                    return true;
    return false;
}

static void compare(unsigned long long seed, struct program program, struct tally *tally)
{
    static struct model model;
    struct state first;
    memset(&first, 0, sizeof first);
    memset(&model, 0, sizeof model);
    model.program = &program;
    visit(&model, &first);
    if (model.states.count >= STATES_MAX || model.endings.count > 2000)
        return;
    struct explore_options options;
    struct explore_report report;
    struct scene scene = {.program = &program, .model = &model};
    explore_options_init(&options);
    options.failures_max = 1000000;
    options.workers = 1;
    explore(&options, run_world, &scene, &report);
    bool late = !report.complete && report.gaps == SIM_GAP_LAZY && may_be_late(&program);
    tally->late += late;
    bool right = (report.complete || late) && !scene.strange &&
                 report.results + report.failure_count == model.endings.count;
    tally->programs++;
    tally->endings += model.endings.count;
    tally->runs += report.runs;
    tally->redundant += report.redundant;
    tally->most = report.runs > tally->most ? report.runs : tally->most;
    tally->hanging += report.by_outcome[OUTCOME_DEADLOCK] > 0;
    tally->wrong += !right;
    tally->strange += scene.strange > 0;
    tally->diverged += report.diverged;
    if (!right) {
        tap_note("seed %llu: %zu endings, %llu runs, %llu results, %zu failures%s%s", seed,
                 model.endings.count, (unsigned long long)report.runs,
                 (unsigned long long)report.results, report.failure_count,
                 report.complete ? "" : ", not complete", report.diverged ? ", diverged" : "");
        show(&program);
    }
    explore_report_release(&report);
}

static void compare_all(bool accesses, const char *what)
{
    struct dice_seeds seeds = dice_seeds(400);
    struct tally tally = {0};
    for (unsigned long long i = 0; i < seeds.count; i++) {
        dice = seeds.first + i;
        compare(seeds.first + i, program_new(accesses), &tally);
    }
    tap_note("%s, seeds %llu to %llu: %u programs (%u can hang), %llu endings, %llu runs and %llu "
             "redundant ones, at most %llu of one program",
             what, seeds.first, seeds.first + seeds.count - 1, tally.programs, tally.hanging,
             tally.endings, tally.runs, tally.redundant, tally.most);
    tap_is_int(tally.wrong, 0, "%s: every way in which a program can end is explored", what);
    tap_is_int(tally.strange, 0, "%s: and every run ends in one of those ways", what);
    tap_is_int(tally.diverged, 0, "%s: every run does what it is forced to", what);
    tap_ok(tally.runs < 3 * tally.endings, "%s: few endings are come to several times", what);
    tap_ok(tally.programs * 2 > seeds.count && tally.hanging && tally.endings > tally.programs,
           "%s: most programs are small enough, and have freedom", what);
}

/* Two ranks access a third's memory, each under its lock; after a message of the first, or not. */
static struct program pair(uint8_t first, uint8_t second, uint8_t place, bool told)
{
    struct program program = {.accesses = true, .ranks = 3};
    const struct step steps[2][4] = {
        {{LOCK, 0, 0}, {SEND, 2, 0}, {first, 0, 0}, {UNLOCK, 0, 0}},
        {{RECEIVE, 1, 0}, {LOCK, 0, 0}, {second, 0, place}, {UNLOCK, 0, 0}}};
    for (uint32_t r = 0; r < 2; r++)
        for (uint32_t i = 0; i < 4; i++)
            if (told || (steps[r][i].verb != SEND && steps[r][i].verb != RECEIVE))
                program.steps[r + 1][program.length[r + 1]++] = steps[r][i];
    return program;
}

static void compare_pairs(void)
{
    static const uint8_t verbs[] = {PUT, ADD, GET, REPLACE, FETCH, LOOK};
    struct tally tally = {0};
    unsigned shown = 0, late = 0, misjudged = 0;
    for (uint32_t i = 0; i < 2 * 2 * 36; i++) {
        uint8_t first = verbs[i / 4 / 6], second = verbs[i / 4 % 6], place = i % 2;
        bool told = i / 2 % 2,
             look = (first == GET || first == LOOK) && (second == GET || second == LOOK),
             show = !place && !look && !(first == ADD && second == ADD);
        unsigned before = tally.late;
        compare(i, pair(first, second, place, told), &tally);
        shown += show;
        late += tally.late - before;
        misjudged += (tally.late > before) != (told && show);
    }
    tap_is_int(tally.wrong, 0, "any two accesses under locks: both orders are explored");
    tap_ok(tally.programs == 144 && shown == 62 && late == 31, "of %u pairs %u show their order",
           tally.programs, shown);
    tap_is_int(misjudged, 0, "a lock that may be had later is told just where that shows");
}

int main(void)
{
    compare_all(false, "who has the lock before");
    compare_all(true, "what accesses find");
    compare_pairs();
    return tap_done();
}

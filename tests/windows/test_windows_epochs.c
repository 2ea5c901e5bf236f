/* Epochs of windows, against the standard's rules said once more: one rank of three makes random calls, right and wrong, on a window;
 * the others do what must be done for it to go on. What a call returns, which remark it leaves (B004, B005), what that says and which
 * call it names as the one that opened the epoch are known beforehand. All is run with a record and without (the short way).
 * SIMRUN_SOAK=N tries N walks, from SIMRUN_SEED on. */
#include "recorder/recorder.h"
#include "recorder/recording.h"
#include "sim/memory/pending.h"
#include "sim/worlds/rank.h"
#include "sim/worlds/world.h"
#include "tests/dice.h"
#include "tests/tap.h"

#include <mpi.h>

enum { RANKS = 3, ACTOR = 1, N = 4, STEPS = 40, TOLD_MAX = 8 * STEPS };
enum state { NONE, FENCED, USED, STARTED, LOCKED, ALL };
enum verb {
    PUT,
    GET,
    ADD,
    FETCH,
    SWAP,
    RPUT,
    RGET,
    FLUSH,
    FLUSH_LOCAL,
    FLUSH_ALL,
    FLUSH_LOCAL_ALL,
    FENCE,
    START,
    COMPLETE,
    LOCK,
    UNLOCK,
    LOCK_ALL,
    UNLOCK_ALL,
    POST,
    WAIT,
    TEST,
    SYNC,
    VERBS
};

/* A step of the walk: of a group the bits of its ranks, an assertion of each rank. */
struct step {
    enum verb verb;
    int target, group, assertion[RANKS];
    bool only_reads; /* what fetches: by MPI_NO_OP */
};

struct model {
    enum state state;
    int group, held; /* bits of ranks */
    int no_put,
        posted_no_put;     /* the ranks that asserted it in the last fence, in their last post */
    bool posted, unlocked; /* unlocked: the window's info says so */
    int owned[RANKS];      /* regions that accesses to each rank own of the actor's memory */
    int opened, exposed;   /* the steps that did */
    int since[RANKS];      /* the step of each lock */
    int order[RANKS], lock_count; /* of the locks, the latest last */
};

/* A remark that must be there: part of its words, and the step of the call that it is about (-1: whatever). */
struct told {
    int rank, step;
    const char *code, *words;
};

struct scene {
    unsigned long long seed;
    struct recording *recording;
    struct told told[TOLD_MAX];
    int told_count, wrong_count, refused;
    uint32_t operation[RANKS][STEPS + 1];
    char text[200];
};

static const char *const names[] = {"Put",
                                    "Get",
                                    "Accumulate",
                                    "Fetch_and_op",
                                    "Compare_and_swap",
                                    "Rput",
                                    "Rget",
                                    "Win_flush",
                                    "Win_flush_local",
                                    "Win_flush_all",
                                    "Win_flush_local_all",
                                    "Win_fence",
                                    "Win_start",
                                    "Win_complete",
                                    "Win_lock",
                                    "Win_unlock",
                                    "Win_lock_all",
                                    "Win_unlock_all",
                                    "Win_post",
                                    "Win_wait",
                                    "Win_test",
                                    "Win_sync"};

/* ---- the rules ---- */

static bool is_access(enum verb verb)
{
    return verb <= RGET;
}

static bool is_flush(enum verb verb)
{
    return verb >= FLUSH && verb <= FLUSH_LOCAL_ALL;
}

static bool has_target(enum verb verb)
{
    return verb <= FLUSH_LOCAL || verb == LOCK || verb == UNLOCK;
}

/* Who must close the access epoch that is open. */
static const char *closer(enum state state)
{
    static const char *const words[] = {NULL,
                                        NULL,
                                        "the last MPI_Win_fence is open: another fence must",
                                        "MPI_Win_start is open: MPI_Win_complete must",
                                        "a lock is held: MPI_Win_unlock must",
                                        "all targets are locked: MPI_Win_unlock_all must"};
    return words[state];
}

static const char exposed[] = "exposure epoch of MPI_Win_post is open: MPI_Win_wait must";
static const char not_exposed[] = "no exposure epoch is open: MPI_Win_post is missing";
static const char never_locked[] = "the window's info says no_locks";
static const char not_locked[] = "no lock of this target is held";

/* Why the call is wrong; NULL: it is right. */
static const char *wrong(const struct model *model, const struct step *step)
{
    enum state state = model->state;
    bool held = step->target >= 0 && (model->held >> step->target & 1);
    switch (step->verb) {
    case RPUT:
    case RGET:
        if (state != LOCKED && state != ALL)
            return "no lock is held: only passive target epochs are flushed";
        return state == LOCKED && !held ? not_locked : NULL;
    case FLUSH:
    case FLUSH_LOCAL:
    case FLUSH_ALL:
    case FLUSH_LOCAL_ALL:
        if (state != LOCKED && state != ALL)
            return "no lock is held: only passive target epochs are flushed";
        return state == LOCKED && has_target(step->verb) && !held ? not_locked : NULL;
    case FENCE:
        return state >= STARTED ? closer(state) : model->posted ? exposed : NULL;
    case START:
        return closer(state);
    case LOCK_ALL:
        return closer(state) ? closer(state) : model->unlocked ? never_locked : NULL;
    case COMPLETE:
        return state == STARTED ? NULL : "no MPI_Win_start is open";
    case LOCK:
        if (state == LOCKED && held)
            return "this target is locked already";
        if (state != LOCKED && closer(state))
            return closer(state);
        return model->unlocked ? never_locked : NULL;
    case UNLOCK:
        return state == LOCKED && held ? NULL : not_locked;
    case UNLOCK_ALL:
        return state == ALL ? NULL : "no MPI_Win_lock_all is open";
    case POST:
        return state == USED ? closer(state) : model->posted ? exposed : NULL;
    case WAIT:
    case TEST:
        return model->posted ? NULL : not_exposed;
    case SYNC:
        return NULL;
    default:
        if (state == NONE)
            return "no access epoch is open";
        if (state == STARTED && !(model->group >> step->target & 1))
            return "not in the group of MPI_Win_start";
        return state == LOCKED && !held ? not_locked : NULL;
    }
}

/* The step that opened the epoch that `words` are about, -1: there is none. */
static int opener(const struct model *model, const char *words)
{
    if (words == exposed)
        return model->exposed;
    if (words == not_exposed || model->state == NONE)
        return -1;
    if (model->state == LOCKED)
        return model->since[model->order[model->lock_count - 1]];
    return model->opened;
}

static void lock_had(struct model *model, int target, int at)
{
    model->held |= 1 << target;
    model->since[target] = at;
    model->order[model->lock_count++] = target;
}

static void lock_gone(struct model *model, int target)
{
    int left = 0;
    model->held &= ~(1 << target);
    for (int i = 0; i < model->lock_count; i++)
        if (model->order[i] != target)
            model->order[left++] = model->order[i];
    model->lock_count = left;
    model->state = left ? LOCKED : NONE;
}

static int who_asserts(const struct step *step, int mode)
{
    int who = 0;
    for (int r = 0; r < RANKS; r++)
        who |= (step->assertion[r] & mode) ? 1 << r : 0;
    return who;
}

/* Who completes an access gives its memory back; -1: of all. */
static void free_owned(struct model *model, int target)
{
    for (int r = 0; r < RANKS; r++)
        if (target < 0 || r == target)
            model->owned[r] = 0;
}

static void move_owned(struct model *model, const struct step *step)
{
    static const int regions[] = {[PUT] = 1, [GET] = 1, [ADD] = 1, [FETCH] = 2, [SWAP] = 3};
    if (step->verb <= SWAP)
        model->owned[step->target] +=
            regions[step->verb] - (step->verb == FETCH && step->only_reads);
    else if (step->verb == FLUSH || step->verb == FLUSH_LOCAL || step->verb == UNLOCK)
        free_owned(model, step->target);
    else if (is_flush(step->verb) || step->verb == FENCE || step->verb == COMPLETE ||
             step->verb == UNLOCK_ALL)
        free_owned(model, -1);
}

static void move(struct model *model, const struct step *step, int at)
{
    switch (step->verb) {
    case FENCE:
        model->state = step->assertion[ACTOR] & MPI_MODE_NOSUCCEED ? NONE : FENCED;
        model->no_put = who_asserts(step, MPI_MODE_NOPUT);
        model->opened = at;
        break;
    case START:
        model->state = STARTED;
        model->group = step->group;
        model->posted_no_put &= ~step->group;
        model->posted_no_put |= step->group & who_asserts(step, MPI_MODE_NOPUT);
        model->opened = at;
        break;
    case LOCK:
        model->state = LOCKED;
        lock_had(model, step->target, at);
        break;
    case LOCK_ALL:
        model->state = ALL;
        model->opened = at;
        break;
    case UNLOCK:
        lock_gone(model, step->target);
        break;
    case COMPLETE:
    case UNLOCK_ALL:
        model->state = NONE;
        break;
    case POST:
        model->posted = true;
        model->exposed = at;
        break;
    case WAIT:
    case TEST:
        model->posted = false;
        break;
    default:
        if (is_access(step->verb) && model->state == FENCED)
            model->state = USED;
    }
}

/* ---- walks: the same on every rank ---- */

static struct step step_new(uint64_t *dice, const struct model *model)
{
    struct step step = {.verb = (enum verb)dice_below(dice, VERBS)};
    uint32_t odd = dice_below(dice, 12);
    if (model->state == NONE && odd < 4) /* to get on */
        step.verb = odd < 2 ? LOCK : FENCE;
    odd = dice_below(dice, 12);
    step.target = (int)dice_below(dice, RANKS);
    step.only_reads = dice_below(dice, 3) == 0;
    step.group = (int)dice_below(dice, 1 << RANKS) & ~(1 << ACTOR);
    if (has_target(step.verb) && odd == 0)
        step.target = MPI_PROC_NULL;
    else if (has_target(step.verb) && step.verb != RPUT && step.verb != RGET && odd < 3)
        step.target = odd == 1 ? RANKS : -7;
    for (int r = 0; r < RANKS; r++) {
        static const int fence[] = {0,
                                    0,
                                    MPI_MODE_NOPRECEDE,
                                    MPI_MODE_NOSUCCEED,
                                    MPI_MODE_NOPUT,
                                    MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED};
        static const int post[] = {0, MPI_MODE_NOCHECK, MPI_MODE_NOPUT};
        uint32_t which = dice_below(dice, 6);
        if (step.verb == FENCE)
            step.assertion[r] = fence[which];
        else if (step.verb == START || step.verb == POST)
            step.assertion[r] = post[which % 3];
    }
    if (step.verb == START)
        step.assertion[ACTOR] &= MPI_MODE_NOCHECK;
    return step;
}

/* Ends whatever is open, so that the window can be freed. */
static bool step_to_end(const struct model *model, struct step *step)
{
    *step = (struct step){.verb = FENCE};
    if (model->state == STARTED)
        step->verb = COMPLETE;
    else if (model->state == ALL)
        step->verb = UNLOCK_ALL;
    else if (model->state == LOCKED)
        *step = (struct step){.verb = UNLOCK, .target = model->order[0]};
    else if (model->posted)
        step->verb = WAIT;
    else if (model->state == USED)
        step->assertion[0] = step->assertion[1] = step->assertion[2] = MPI_MODE_NOSUCCEED;
    else
        return false;
    return true;
}

/* ---- what is to be told ---- */

static void tell(struct scene *scene, int rank, int step, const char *code, const char *words)
{
    if (scene->told_count < TOLD_MAX)
        scene->told[scene->told_count++] = (struct told){rank, step, code, words};
}

static void tell_fence(struct scene *scene, const struct model *model, const struct step *step,
                       int at)
{
    if ((step->assertion[ACTOR] & MPI_MODE_NOPRECEDE) && model->state == USED)
        tell(scene, ACTOR, at, "B005", "MPI_MODE_NOPRECEDE, but accesses since the last fence");
    for (int r = 0; r < RANKS; r++) {
        int theirs = step->assertion[(r + 1) % RANKS] | step->assertion[(r + 2) % RANKS];
        int missing = theirs & ~step->assertion[r];
        if (missing & MPI_MODE_NOPRECEDE)
            tell(scene, r, at, "B005", "does not assert MPI_MODE_NOPRECEDE, but other");
        if (missing & MPI_MODE_NOSUCCEED)
            tell(scene, r, at, "B005", "does not assert MPI_MODE_NOSUCCEED, but other");
    }
}

static void tell_right(struct scene *scene, const struct model *model, const struct step *step,
                       int at)
{
    bool mine = step->assertion[ACTOR] & MPI_MODE_NOCHECK;
    bool changes = is_access(step->verb) && step->verb != GET && step->verb != RGET &&
                   !(step->verb == FETCH && step->only_reads);
    int at_target = 1 << (step->target >= 0 ? step->target : 0);
    bool locked = model->state == ALL || (model->state == LOCKED && (model->held >> ACTOR & 1));
    if (step->verb == POST && locked)
        tell(scene, ACTOR, at, "B005", "MPI_Win_post exposes a window that is locked");
    if (step->verb == FENCE)
        tell_fence(scene, model, step, at);
    for (int r = 0; r < RANKS && step->verb == START; r++)
        if ((step->group >> r & 1) && mine != !!(step->assertion[r] & MPI_MODE_NOCHECK))
            tell(scene, ACTOR, at, "B005",
                 mine ? "asserts MPI_MODE_NOCHECK, but the matching MPI_Win_post does not"
                      : "does not assert MPI_MODE_NOCHECK, but the matching MPI_Win_post does");
    bool fenced = (model->state == FENCED || model->state == USED) && (model->no_put & at_target);
    if (changes && (fenced || (model->state == STARTED && (model->posted_no_put & at_target))))
        tell(scene, ACTOR, at, "B005", "asserted MPI_MODE_NOPUT until the next");
}

/* ---- the calls ---- */

static MPI_Group group_of(MPI_Group all, int bits)
{
    int ranks[RANKS], count = 0;
    MPI_Group made;
    for (int r = 0; r < RANKS; r++)
        if (bits >> r & 1)
            ranks[count++] = r;
    MPI_Group_incl(all, count, ranks, &made);
    return made;
}

static void group_free(MPI_Group *group)
{
    if (*group != MPI_GROUP_EMPTY)
        MPI_Group_free(group);
}

static int call(const struct step *step, MPI_Group all, MPI_Win win)
{
    static int one[RANKS], other[RANKS];
    int *v = &one[ACTOR], *got = &other[ACTOR], t = step->target, flag = 0,
        assertion = step->assertion[ACTOR], error;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Group group = MPI_GROUP_EMPTY;
    switch (step->verb) {
    case PUT:
        return MPI_Put(v, 1, MPI_INT, t, 1, 1, MPI_INT, win);
    case GET:
        return MPI_Get(got, 1, MPI_INT, t, 1, 1, MPI_INT, win);
    case ADD:
        return MPI_Accumulate(v, 1, MPI_INT, t, 1, 1, MPI_INT, MPI_SUM, win);
    case FETCH:
        return MPI_Fetch_and_op(v, got, MPI_INT, t, 1, step->only_reads ? MPI_NO_OP : MPI_SUM, win);
    case SWAP:
        return MPI_Compare_and_swap(v, v, got, MPI_INT, t, 1, win);
    case RPUT:
    case RGET:
        error = step->verb == RPUT ? MPI_Rput(v, 1, MPI_INT, t, 1, 1, MPI_INT, win, &request)
                                   : MPI_Rget(got, 1, MPI_INT, t, 1, 1, MPI_INT, win, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        return error;
    case FLUSH:
        return MPI_Win_flush(t, win);
    case FLUSH_LOCAL:
        return MPI_Win_flush_local(t, win);
    case FLUSH_ALL:
        return MPI_Win_flush_all(win);
    case FLUSH_LOCAL_ALL:
        return MPI_Win_flush_local_all(win);
    case FENCE:
        return MPI_Win_fence(assertion, win);
    case COMPLETE:
        return MPI_Win_complete(win);
    case LOCK:
        return MPI_Win_lock(step->group ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, t, 0, win);
    case UNLOCK:
        return MPI_Win_unlock(t, win);
    case LOCK_ALL:
        return MPI_Win_lock_all(0, win);
    case UNLOCK_ALL:
        return MPI_Win_unlock_all(win);
    case WAIT:
        return MPI_Win_wait(win);
    case TEST:
        do
            error = MPI_Win_test(win, &flag);
        while (!error && !flag);
        return error;
    case SYNC:
        return MPI_Win_sync(win);
    default:
        group = group_of(all, step->group);
        error = step->verb == START ? MPI_Win_start(group, assertion, win)
                                    : MPI_Win_post(group, assertion, win);
        group_free(&group);
        return error;
    }
}

/* What the others do so that a right call goes on. `started`: the group of the access epoch. */
static void assist(int rank, const struct step *step, int started, MPI_Group all, MPI_Win win)
{
    MPI_Group actor = group_of(all, 1 << ACTOR);
    bool mine = step->group >> rank & 1;
    if (step->verb == FENCE)
        MPI_Win_fence(step->assertion[rank], win);
    if (step->verb == START) /* the actor has unlocked what it did */
        MPI_Barrier(MPI_COMM_WORLD);
    if (step->verb == START && mine)
        MPI_Win_post(actor, step->assertion[rank], win);
    if (step->verb == START)
        MPI_Barrier(MPI_COMM_WORLD);
    if (step->verb == COMPLETE && (started >> rank & 1))
        MPI_Win_wait(win);
    if (step->verb == POST)
        MPI_Barrier(MPI_COMM_WORLD);
    if (step->verb == POST && mine) {
        MPI_Win_start(actor, step->assertion[ACTOR] & MPI_MODE_NOCHECK, win);
        MPI_Win_complete(win);
    }
    if (step->verb == POST) /* what the actor locks then is in nobody's use */
        MPI_Barrier(MPI_COMM_WORLD);
    group_free(&actor);
}

static bool one_step(struct scene *scene, int rank, struct model *model, const struct step *step,
                     int at, MPI_Group all, MPI_Win win)
{
    bool ranked = has_target(step->verb);
    bool outside = ranked && (step->target == RANKS || step->target == -7);
    bool nobody = ranked && step->target == MPI_PROC_NULL;
    const char *words = outside || nobody ? NULL : wrong(model, step);
    int expected = outside ? MPI_ERR_RANK : words ? MPI_ERR_RMA_SYNC : MPI_SUCCESS;
    scene->operation[rank][at] = record_position();
    if (rank != ACTOR) {
        if (!expected && !nobody)
            assist(rank, step, model->group, all, win);
    } else {
        for (int i = 0; i < 2 && !expected && step->verb == START; i++)
            MPI_Barrier(MPI_COMM_WORLD);
        scene->operation[rank][at] = record_position();
        int got = call(step, all, win), class = MPI_SUCCESS;
        MPI_Error_class(got, &class);
        for (int i = 0; i < 2 && !expected && step->verb == POST; i++)
            MPI_Barrier(MPI_COMM_WORLD);
        if (class != expected && !scene->wrong_count++)
            snprintf(scene->text, sizeof scene->text,
                     "step %d: %s of %d in state %d: class %d, not %d", at, names[step->verb],
                     step->target, (int)model->state, class, expected);
        scene->refused += expected != MPI_SUCCESS;
        const char *code = is_access(step->verb) || is_flush(step->verb) ? "B004" : "B005";
        if (words) {
            int opened = opener(model, words);
            tell(scene, ACTOR, step->verb == TEST ? -1 : at, code,
                 words); /* none that failed is recorded */
            if (opened >= 0)
                tell(scene, ACTOR, opened, code, "this opened the epoch");
        } else if (!expected && !nobody) {
            tell_right(scene, model, step, at);
        }
    }
    if (!expected && !nobody) {
        move_owned(model, step);
        move(model, step, at);
    }
    int owned = model->owned[0] + model->owned[1] + model->owned[2];
    if (rank == ACTOR && scene->recording && (int)sim_current_rank->pending->count != owned &&
        !scene->wrong_count++)
        snprintf(scene->text, sizeof scene->text, "step %d: %s of %d: %d regions are owned, not %d",
                 at, names[step->verb], step->target, (int)sim_current_rank->pending->count, owned);
    return expected == MPI_SUCCESS;
}

static int run_rank(void *context, int rank)
{
    struct scene *scene = context;
    struct model model = {.state = NONE};
    uint64_t dice = scene->seed;
    int memory[N] = {0}, at = 0;
    MPI_Win win;
    MPI_Group all;
    MPI_Info info;
    struct step step;
    if (scene->recording)
        recording_rank_begin(scene->recording);
    MPI_Init(NULL, NULL);
    model.unlocked = scene->seed % 4 == 0;
    MPI_Info_create(&info);
    MPI_Info_set(info, "no_locks", model.unlocked ? "true" : "false");
    MPI_Win_create(memory, sizeof memory, sizeof *memory, info, MPI_COMM_WORLD, &win);
    MPI_Info_free(&info);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Win_get_group(win, &all);
    for (; at < STEPS - 12; at++) {
        step = step_new(&dice, &model);
        one_step(scene, rank, &model, &step, at, all, win);
    }
    for (; step_to_end(&model, &step) && at < STEPS; at++)
        one_step(scene, rank, &model, &step, at, all, win);
    MPI_Group_free(&all);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}

/* ---- the comparison ---- */

static bool nowhere(void *context, uint32_t rank, uint64_t pc, const char **file, uint64_t *address)
{
    (void)context, (void)rank, (void)pc, (void)address;
    *file = NULL;
    return true;
}

static bool is_told(const struct scene *scene, const struct trace *trace, const struct told *told,
                    const struct trace_note *note)
{
    uint32_t op = told->step < 0 ? TRACE_NO
                                 : (uint32_t)trace->rank_begin[told->rank] +
                                       scene->operation[told->rank][told->step];
    return note->rank == (uint32_t)told->rank && !strcmp(note->code, told->code) &&
           strstr(note->text, told->words) && (told->step < 0 || note->op == op);
}

/* Each remark is one of those that must be there, and each of them is there. */
static void compare(struct scene *scene, const struct trace *trace)
{
    bool seen[TOLD_MAX] = {false};
    for (size_t i = 0; i < trace->note_count; i++) {
        const struct trace_note *note = &trace->notes[i];
        int at = 0;
        if (strcmp(note->code, "B004") && strcmp(note->code, "B005"))
            continue;
        while (at < scene->told_count &&
               (seen[at] || !is_told(scene, trace, &scene->told[at], note)))
            at++;
        if (at < scene->told_count)
            seen[at] = true;
        else if (!scene->wrong_count++)
            snprintf(scene->text, sizeof scene->text, "rank %u, operation %d: %s: %.90s",
                     note->rank, (int)(note->op - trace->rank_begin[note->rank]), note->code,
                     note->text);
    }
    for (int at = 0; at < scene->told_count; at++)
        if (!seen[at] && !scene->wrong_count++)
            snprintf(scene->text, sizeof scene->text, "rank %d, step %d: missing: %.90s",
                     scene->told[at].rank, scene->told[at].step, scene->told[at].words);
}

static void walk(unsigned long long seed, bool recorded, struct scene *scene)
{
    struct failure failure = {0};
    struct sim_world_options options;
    sim_world_options_init(&options);
    options.ranks = RANKS;
    *scene = (struct scene){.seed = seed};
    if (recorded)
        scene->recording = recording_new(RANKS, RECORD_LEVEL_OPS, &failure);
    struct sim_world *world = sim_world_new(&options, &failure);
    enum trace_outcome outcome = sim_world_run(world, run_rank, scene);
    if (outcome != OUTCOME_FINISHED && !scene->wrong_count++)
        snprintf(scene->text, sizeof scene->text, "it ends by outcome %d", (int)outcome);
    for (uint32_t r = 0; recorded && r < RANKS; r++)
        recording_rank_end(scene->recording, r, sim_world_rank_state(world, (int)r), 0, NULL);
    struct trace *trace = recorded ? recording_load(scene->recording,
                                                    &(struct recording_result){.outcome = outcome,
                                                                               .program = "epochs",
                                                                               .model = "eager",
                                                                               .locate = nowhere},
                                                    &failure)
                                   : NULL;
    sim_world_free(world);
    if (trace && !scene->wrong_count)
        compare(scene, trace);
    if (trace)
        trace_free(trace);
    if (recorded) {
        recording_ranks_release(scene->recording);
        recording_free(scene->recording);
    }
}

int main(void)
{
    struct dice_seeds seeds = dice_seeds(120);
    int wrong_walks = 0, refused = 0, told = 0;
    for (unsigned long long i = 0; i < 2 * seeds.count; i++) {
        static struct scene scene;
        walk(seeds.first + i / 2, i % 2 == 0, &scene);
        if (scene.wrong_count && wrong_walks++ < 5)
            tap_note("seed %llu%s: %s", scene.seed, i % 2 ? ", without a record" : "", scene.text);
        refused += scene.refused;
        told += scene.told_count;
    }
    tap_is_int(wrong_walks, 0, "calls are refused, and remarks made, as the rules of epochs say");
    tap_ok(refused > (int)seeds.count && told > refused,
           "many calls are refused: %d, of %d remarks", refused, told);
    return tap_done();
}

/* Late accesses to windows against a model: random accesses of one rank to several targets, with completions of one target or of all, local
 * or remote. Nothing moves before a completion; then everything has moved that it is to bring, in the order of the calls, and no more; and
 * what the origin writes over afterwards does not arrive.
 * SIMRUN_SOAK=N tries N sequences, from SIMRUN_SEED on. */
#include "sim/worlds/world.h"
#include "tests/dice.h"
#include "tests/tap.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 4, N = 10, STEPS = 40, UNTOUCHED = -77 };
enum verb { PUT, ADD, RPUT, RADD, GET, GET_ADD, FETCH, SWAP, RGET, VERBS };
enum completion { FLUSH, FLUSH_ALL, LOCAL, LOCAL_ALL, COMPLETIONS };

struct access {
    enum verb verb;
    bool apart; /* every other number of the target */
    int target, disp, count;
    int values[2], compared; /* as they were at the call */
    int origin[2], result[2];
    int brought[2]; /* what `result` must be by now */
    bool moved;
};

struct scene {
    unsigned long long seed;
    int *memory[RANKS], model[RANKS][N];
    struct access accesses[STEPS];
    int count, wrong, looked_at;
    char text[200];
};

static bool fetches(enum verb verb)
{
    return verb >= GET;
}

static void apply(struct scene *scene, struct access *a)
{
    for (int k = 0; k < a->count; k++) {
        int *at = &scene->model[a->target][a->disp + k * (1 + a->apart)];
        if (fetches(a->verb))
            a->brought[k] = *at;
        if (a->verb == PUT || a->verb == RPUT)
            *at = a->values[k];
        else if (a->verb == SWAP)
            *at = *at == a->compared ? a->values[k] : *at;
        else if (a->verb != GET && a->verb != RGET)
            *at += a->values[k];
    }
    a->moved = true;
}

/* Those to a target (-1: all) before number `end`. */
static void move(struct scene *scene, int target, int end)
{
    for (int i = 0; i < end; i++)
        if (!scene->accesses[i].moved && (target < 0 || scene->accesses[i].target == target))
            apply(scene, &scene->accesses[i]);
}

static void look(struct scene *scene, const char *when)
{
    int wrong = 0;
    for (int r = 0; r < RANKS; r++)
        wrong += memcmp(scene->memory[r], scene->model[r], sizeof scene->model[r]) != 0;
    for (int i = 0; i < scene->count; i++)
        wrong += memcmp(scene->accesses[i].result, scene->accesses[i].brought,
                        sizeof scene->accesses[i].result) != 0;
    scene->looked_at++;
    if (wrong && !scene->wrong)
        snprintf(scene->text, sizeof scene->text, "seed %llu, after %d accesses, %s", scene->seed,
                 scene->count, when);
    scene->wrong += wrong;
}

/* Of a request: the origin is free; what it fetches is there. */
static void finish(struct scene *scene, struct access *a, MPI_Request request)
{
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (a->verb == RGET)
        move(scene, a->target, scene->count);
    else
        a->origin[0] = a->origin[1] = UNTOUCHED;
}

static void begin(struct scene *scene, uint64_t *dice, MPI_Datatype apart, MPI_Win win)
{
    struct access *a = &scene->accesses[scene->count++];
    MPI_Request request = MPI_REQUEST_NULL;
    *a = (struct access){.verb = (enum verb)dice_below(dice, VERBS)};
    a->target = (int)dice_below(dice, RANKS);
    a->disp = (int)dice_below(dice, N - 3);
    bool single = a->verb == FETCH || a->verb == SWAP;
    a->count = single ? 1 : 1 + (int)dice_below(dice, 2);
    a->apart = a->count == 2 && dice_below(dice, 2);
    a->compared = (int)dice_below(dice, 3);
    for (int k = 0; k < 2; k++) {
        a->origin[k] = a->values[k] = (int)dice_below(dice, 3);
        a->result[k] = a->brought[k] = UNTOUCHED;
    }
    int n = a->count, t = a->target, m = a->apart ? 1 : n;
    MPI_Datatype type = a->apart ? apart : MPI_INT;
    if (a->verb == PUT)
        MPI_Put(a->origin, n, MPI_INT, t, a->disp, m, type, win);
    else if (a->verb == ADD)
        MPI_Accumulate(a->origin, n, MPI_INT, t, a->disp, m, type, MPI_SUM, win);
    else if (a->verb == RPUT)
        MPI_Rput(a->origin, n, MPI_INT, t, a->disp, m, type, win, &request);
    else if (a->verb == RADD)
        MPI_Raccumulate(a->origin, n, MPI_INT, t, a->disp, m, type, MPI_SUM, win, &request);
    else if (a->verb == GET)
        MPI_Get(a->result, n, MPI_INT, t, a->disp, m, type, win);
    else if (a->verb == GET_ADD)
        MPI_Get_accumulate(a->origin, n, MPI_INT, a->result, n, MPI_INT, t, a->disp, m, type,
                           MPI_SUM, win);
    else if (a->verb == FETCH)
        MPI_Fetch_and_op(a->origin, a->result, MPI_INT, t, a->disp, MPI_SUM, win);
    else if (a->verb == SWAP)
        MPI_Compare_and_swap(a->origin, &a->compared, a->result, MPI_INT, t, a->disp, win);
    else
        MPI_Rget(a->result, n, MPI_INT, t, a->disp, m, type, win, &request);
    if (request != MPI_REQUEST_NULL)
        finish(scene, a, request);
    look(scene, "at an access");
}

/* A local one brings what is fetched, and what was called before it; the origins are free. */
static void complete(struct scene *scene, uint64_t *dice, MPI_Win win)
{
    enum completion how = (enum completion)dice_below(dice, COMPLETIONS);
    int target = (int)dice_below(dice, RANKS), end = scene->count;
    if (how == FLUSH)
        MPI_Win_flush(target, win);
    else if (how == FLUSH_ALL)
        MPI_Win_flush_all(win);
    else if (how == LOCAL)
        MPI_Win_flush_local(target, win);
    else
        MPI_Win_flush_local_all(win);
    if (how == FLUSH_ALL || how == LOCAL_ALL)
        target = -1;
    if (how >= LOCAL)
        for (end = scene->count; end > 0; end--) {
            const struct access *a = &scene->accesses[end - 1];
            if (!a->moved && fetches(a->verb) && (target < 0 || a->target == target))
                break;
        }
    move(scene, target, end);
    for (int i = 0; i < scene->count; i++)
        if (target < 0 || scene->accesses[i].target == target)
            scene->accesses[i].origin[0] = scene->accesses[i].origin[1] = UNTOUCHED;
    look(scene, how >= LOCAL ? "at a local completion" : "at a completion");
}

static int body(void *context, int rank)
{
    struct scene *scene = context;
    MPI_Datatype apart;
    MPI_Win win;
    MPI_Init(NULL, NULL);
    MPI_Win_allocate(N * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD,
                     &scene->memory[rank], &win);
    MPI_Type_vector(2, 1, 2, MPI_INT, &apart);
    MPI_Type_commit(&apart);
    for (int i = 0; i < N; i++)
        scene->model[rank][i] = scene->memory[rank][i] = (rank + i) % 3;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        uint64_t dice = scene->seed;
        MPI_Win_lock_all(0, win);
        while (scene->count < STEPS)
            if (dice_below(&dice, 3))
                begin(scene, &dice, apart, win);
            else
                complete(scene, &dice, win);
        MPI_Win_unlock_all(win);
        move(scene, -1, scene->count);
        look(scene, "at the end");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Type_free(&apart);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}

int main(void)
{
    struct dice_seeds seeds = dice_seeds(400);
    int wrong = 0, looked_at = 0, ended = 0;
    char text[200] = "";
    for (unsigned long long seed = seeds.first; seed < seeds.first + seeds.count; seed++) {
        struct scene scene = {.seed = seed};
        struct sim_world_options options;
        sim_world_options_init(&options);
        options.ranks = RANKS;
        options.late_receives = true;
        struct sim_world *world = sim_world_new(&options, NULL);
        ended += world && sim_world_run(world, body, &scene) == OUTCOME_FINISHED;
        sim_world_free(world);
        if (scene.wrong && !wrong)
            memcpy(text, scene.text, sizeof text);
        wrong += scene.wrong;
        looked_at += scene.looked_at;
    }
    tap_is_int(ended, (int)seeds.count, "all sequences come to their end");
    tap_is_int(wrong, 0, "memory and results are as late as can be, and no later: %d looks%s%s",
               looked_at, wrong ? "; " : "", text);
    return tap_done();
}

/* Communicators as sets: random programs that split, duplicate, choose, connect and merge them, each against
 * lists of world ranks that follow the sentences of the standard; and the same communicators in the recording. */
#include "recorder/recording.h"
#include "tests/fences/fence.h"
#include "tests/world_harness.h"

#include <stdio.h>

enum { MOST = 6, POOL = 10, STEPS = 14, MADE_MOST = STEPS * MOST + 1, NOBODY = -1 };

struct side {
    int n, at[MOST]; /* world ranks */
};

/* sides[1] is empty in an intracommunicator. */
struct model {
    struct side sides[2];
    int number;     /* of all that were made; 0: none is here */
    int parents[2]; /* numbers of what each side came from, NOBODY: none */
};

struct script {
    uint64_t dice;
    int size, steps;
    unsigned long long seed;
    struct model pool[POOL];
    struct model made[MADE_MOST];
    int made_count;
};

static struct recording *recording; /* NULL: not recorded */
static unsigned long long seed_now;
static pthread_mutex_t made_lock = PTHREAD_MUTEX_INITIALIZER;
static struct model made_last[MADE_MOST];

/* ---- what the standard says ---- */

static int place_in(const struct side *side, int world_rank)
{
    for (int i = 0; i < side->n; i++)
        if (side->at[i] == world_rank)
            return i;
    return NOBODY;
}

static bool across(const struct model *model)
{
    return model->sides[1].n > 0;
}

static int side_of(const struct model *model, int world_rank)
{
    return place_in(&model->sides[0], world_rank) >= 0   ? 0
           : place_in(&model->sides[1], world_rank) >= 0 ? 1
                                                         : NOBODY;
}

static int draw(struct script *script, int n)
{
    return (int)dice_below(&script->dice, (uint32_t)n);
}

/* Members of one color, by key, equal keys by rank. */
static struct side of_color(const struct side *from, const int *colors, const int *keys, int color)
{
    struct side made = {0};
    int taken[MOST];
    for (int i = 0; i < from->n; i++) {
        if (colors[i] != color)
            continue;
        int at = made.n++;
        for (; at > 0 && keys[taken[at - 1]] > keys[i]; at--)
            taken[at] = taken[at - 1];
        taken[at] = i;
    }
    for (int i = 0; i < made.n; i++)
        made.at[i] = from->at[taken[i]];
    return made;
}

/* Some of a side, in some order; maybe none. */
static struct side some_of(struct script *script, const struct side *from)
{
    int colors[MOST], keys[MOST];
    for (int i = 0; i < from->n; i++) {
        colors[i] = draw(script, 3) > 0;
        keys[i] = draw(script, 100);
    }
    return of_color(from, colors, keys, 1);
}

static bool sides_are_same(const struct side *a, const struct side *b, bool in_order)
{
    bool same = a->n == b->n;
    for (int i = 0; i < a->n && same; i++)
        same = in_order ? a->at[i] == b->at[i] : place_in(b, a->at[i]) >= 0;
    return same;
}

static int compared(const struct model *a, const struct model *b, int me)
{
    int mine = side_of(a, me), other = side_of(b, me);
    if (a->number == b->number)
        return MPI_IDENT;
    for (int in_order = 1; in_order >= 0; in_order--)
        if (sides_are_same(&a->sides[mine], &b->sides[other], in_order) &&
            sides_are_same(&a->sides[1 - mine], &b->sides[1 - other], in_order))
            return in_order ? MPI_CONGRUENT : MPI_SIMILAR;
    return MPI_UNEQUAL;
}

/* ---- what a communicator is, and what goes through it ---- */

static void group_is(MPI_Group group, const struct side *side, int number, const char *what)
{
    MPI_Group world_group;
    int size = -1, ranks[MOST] = {0}, got[MOST] = {0};
    expect_ok(MPI_Group_size(group, &size));
    if (!expect(size == side->n, "communicator %d, seed %llu: the %s group has %d, not %d", number,
                seed_now, what, size, side->n))
        return;
    for (int i = 0; i < size; i++)
        ranks[i] = i;
    MPI_Comm_group(MPI_COMM_WORLD, &world_group);
    expect_ok(MPI_Group_translate_ranks(group, size, ranks, world_group, got));
    for (int i = 0; i < size; i++)
        expect(got[i] == side->at[i], "communicator %d, seed %llu: %s rank %d is rank %d, not %d",
               number, seed_now, what, i, got[i], side->at[i]);
    MPI_Group_free(&world_group);
}

static void members_are(MPI_Comm comm, const struct model *model, int me)
{
    MPI_Group group;
    int mine = side_of(model, me), rank = -1, size = -1, inter = -1, far = -1;
    expect_ok(MPI_Comm_rank(comm, &rank));
    expect_ok(MPI_Comm_size(comm, &size));
    expect_ok(MPI_Comm_test_inter(comm, &inter));
    expect(rank == place_in(&model->sides[mine], me), "seed %llu: rank %d", seed_now, rank);
    expect(size == model->sides[mine].n, "seed %llu: size %d", seed_now, size);
    expect(inter == across(model), "seed %llu: it is an intercommunicator: %d", seed_now, inter);
    expect_ok(MPI_Comm_group(comm, &group));
    group_is(group, &model->sides[mine], model->number, "own");
    MPI_Group_free(&group);
    if (!across(model))
        return;
    expect_ok(MPI_Comm_remote_size(comm, &far));
    expect(far == model->sides[1 - mine].n, "seed %llu: remote size %d", seed_now, far);
    expect_ok(MPI_Comm_remote_group(comm, &group));
    group_is(group, &model->sides[1 - mine], model->number, "remote");
    MPI_Group_free(&group);
}

/* Everybody sends to everybody it can name. */
static void messages_arrive(MPI_Comm comm, const struct model *model, int me)
{
    int mine = side_of(model, me), rank = place_in(&model->sides[mine], me);
    const struct side *peers = &model->sides[across(model) ? 1 - mine : mine];
    int sent[MOST], got[MOST], gathered[MOST];
    MPI_Request requests[2 * MOST];
    for (int i = 0; i < peers->n; i++) {
        sent[i] = 1000 * model->number + 10 * me + i;
        got[i] = gathered[i] = -1;
        MPI_Irecv(&got[i], 1, MPI_INT, i, 5, comm, &requests[i]);
        MPI_Isend(&sent[i], 1, MPI_INT, i, 5, comm, &requests[peers->n + i]);
    }
    expect_ok(MPI_Waitall(2 * peers->n, requests, MPI_STATUSES_IGNORE));
    expect_ok(MPI_Allgather(&me, 1, MPI_INT, gathered, 1, MPI_INT, comm));
    for (int i = 0; i < peers->n; i++) {
        expect(got[i] == 1000 * model->number + 10 * peers->at[i] + rank,
               "communicator %d, seed %llu: from %d came %d", model->number, seed_now, i, got[i]);
        expect(gathered[i] == peers->at[i], "communicator %d, seed %llu: %d gave %d", model->number,
               seed_now, i, gathered[i]);
    }
}

/* ---- steps ---- */

/* Everybody knows what was made, also who is not in it. */
static struct model *keep(struct script *script, struct side first, struct side second, int parent,
                          int other)
{
    struct model model = {.sides = {first, second}, .parents = {parent, other}};
    int at = 1;
    while (at < POOL && script->pool[at].number)
        at++;
    if (at == POOL)
        at = 1 + draw(script, POOL - 1);
    model.number = ++script->made_count;
    script->made[model.number] = model;
    script->pool[at] = model;
    return &script->pool[at];
}

/* Puts a new handle where its model is, and asks it. */
static void take(struct script *script, MPI_Comm *handles, const struct model *model,
                 struct model old, MPI_Comm made, int me)
{
    size_t at = (size_t)(model - script->pool);
    char name[24];
    if (old.number && side_of(&old, me) >= 0)
        expect_ok(MPI_Comm_free(&handles[at]));
    handles[at] = made;
    if (side_of(model, me) < 0)
        return;
    if (!expect(made != MPI_COMM_NULL, "seed %llu: nothing was made", seed_now))
        return;
    snprintf(name, sizeof name, "made %d", model->number);
    MPI_Comm_set_name(made, name);
    members_are(made, model, me);
    messages_arrive(made, model, me);
}

struct step {
    struct script *script;
    MPI_Comm *handles;
    int me, from; /* of the pool */
    struct model parent;
    int mine; /* the caller's side of it */
};

static void add(struct step *step, struct side first, struct side second, int other, MPI_Comm made)
{
    struct script *script = step->script;
    struct model before[POOL];
    memcpy(before, script->pool, sizeof before);
    const struct model *model = keep(script, first, second, step->parent.number, other);
    take(script, step->handles, model, before[model - script->pool],
         side_of(model, step->me) >= 0 ? made : MPI_COMM_NULL, step->me);
}

static MPI_Group group_of(const struct side *side)
{
    MPI_Group all, group;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, side->n, side->at, &group);
    MPI_Group_free(&all);
    return group;
}

static void split(struct step *step)
{
    static const int color_words[] = {MPI_UNDEFINED, 0, 7, INT32_MAX};
    int colors[2][MOST] = {{0}}, keys[2][MOST] = {{0}};
    MPI_Comm made = MPI_COMM_NULL;
    for (int s = 0; s < 2; s++)
        for (int i = 0; i < step->parent.sides[s].n; i++) {
            colors[s][i] = color_words[draw(step->script, 4)];
            keys[s][i] = draw(step->script, 3) - 1;
        }
    if (step->mine >= 0) {
        int at = place_in(&step->parent.sides[step->mine], step->me);
        expect_ok(MPI_Comm_split(step->handles[step->from], colors[step->mine][at],
                                 keys[step->mine][at], &made));
    }
    bool got = false;
    for (int c = 1; c < 4; c++) {
        struct side sides[2];
        for (int s = 0; s < 2; s++)
            sides[s] = of_color(&step->parent.sides[s], colors[s], keys[s], color_words[c]);
        if (!sides[0].n || (across(&step->parent) && !sides[1].n))
            continue;
        got |= place_in(&sides[0], step->me) >= 0 || place_in(&sides[1], step->me) >= 0;
        add(step, sides[0], sides[1], step->parent.number, made);
    }
    expect(got == (made != MPI_COMM_NULL), "seed %llu: a split gives somebody without a side one",
           seed_now);
}

static void duplicate(struct step *step)
{
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Request request;
    bool later = draw(step->script, 2);
    if (step->mine >= 0 && !later)
        expect_ok(MPI_Comm_dup(step->handles[step->from], &made));
    if (step->mine >= 0 && later) {
        expect_ok(MPI_Comm_idup(step->handles[step->from], &made, &request));
        expect_ok(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    add(step, step->parent.sides[0], step->parent.sides[1], step->parent.number, made);
}

/* Disjoint groups of an intracommunicator, or one for each side of an intercommunicator. */
static void create(struct step *step)
{
    bool inter = across(&step->parent);
    struct side chosen[2];
    chosen[0] = some_of(step->script, &step->parent.sides[0]);
    if (inter) {
        chosen[1] = some_of(step->script, &step->parent.sides[1]);
    } else {
        struct side rest = {0};
        for (int i = 0; i < step->parent.sides[0].n; i++)
            if (place_in(&chosen[0], step->parent.sides[0].at[i]) < 0)
                rest.at[rest.n++] = step->parent.sides[0].at[i];
        chosen[1] = some_of(step->script, &rest);
    }
    int number = inter ? step->mine : place_in(&chosen[0], step->me) >= 0 ? 0 : 1;
    MPI_Comm made = MPI_COMM_NULL;
    if (step->mine >= 0) {
        MPI_Group group = group_of(&chosen[number]);
        if (!inter && place_in(&chosen[number], step->me) < 0) {
            MPI_Group_free(&group);
            group = MPI_GROUP_EMPTY;
        }
        expect_ok(MPI_Comm_create(step->handles[step->from], group, &made));
        if (group != MPI_GROUP_EMPTY)
            MPI_Group_free(&group);
    }
    struct side none = {0};
    bool in = step->mine >= 0 && place_in(&chosen[number], step->me) >= 0 &&
              (!inter || (chosen[0].n && chosen[1].n));
    expect(in == (made != MPI_COMM_NULL), "seed %llu: %s", seed_now,
           in ? "a member got nothing" : "who is in no group got one");
    if (inter && chosen[0].n && chosen[1].n)
        add(step, chosen[0], chosen[1], step->parent.number, made);
    for (int i = 0; i < 2 && !inter; i++)
        if (chosen[i].n)
            add(step, chosen[i], none, NOBODY, made);
}

/* Only the members call. */
static void gather_group(struct step *step)
{
    struct side chosen = some_of(step->script, &step->parent.sides[0]), none = {0};
    bool by_name = draw(step->script, 2);
    MPI_Comm made = MPI_COMM_NULL;
    if (across(&step->parent) || !chosen.n)
        return;
    if (place_in(&chosen, step->me) >= 0) {
        MPI_Group group = group_of(&chosen);
        if (by_name)
            expect_ok(MPI_Comm_create_from_group(group, "org.simrun.tests", MPI_INFO_NULL,
                                                 MPI_ERRORS_ARE_FATAL, &made));
        else
            expect_ok(MPI_Comm_create_group(step->handles[step->from], group, 3, &made));
        MPI_Group_free(&group);
    }
    add(step, chosen, none, NOBODY, made);
    if (by_name)
        step->script->made[step->script->made_count].parents[0] = NOBODY;
}

static bool are_apart(const struct model *a, const struct model *b)
{
    bool apart = !across(a) && !across(b) && b->number;
    for (int i = 0; i < a->sides[0].n; i++)
        apart &= place_in(&b->sides[0], a->sides[0].at[i]) < 0;
    return apart;
}

/* Where two leaders can name each other: in one intracommunicator, or on two sides; and as what the second is known. */
static int meeting_place(struct script *script, const int leaders[2], int as[2])
{
    int start = draw(script, POOL);
    for (int i = 0; i < POOL; i++) {
        const struct model *place = &script->pool[(start + i) % POOL];
        if (!place->number || side_of(place, leaders[0]) < 0 || side_of(place, leaders[1]) < 0 ||
            (across(place) && side_of(place, leaders[0]) == side_of(place, leaders[1])))
            continue;
        for (int s = 0; s < 2; s++)
            as[s] = place_in(&place->sides[side_of(place, leaders[s])], leaders[s]);
        return (start + i) % POOL;
    }
    return NOBODY; /* never: all are in the world */
}

/* Two communicators without a common member; their leaders meet in another one, or all by a name. */
static void connect(struct step *step)
{
    struct script *script = step->script;
    int leaders[2], start = draw(script, POOL), tag = draw(script, 3), with = 0;
    bool by_name = draw(script, 2);
    for (int i = 0; i < POOL && !are_apart(&step->parent, &script->pool[with]); i++)
        with = (start + i) % POOL;
    const struct model *other = &script->pool[with];
    if (!are_apart(&step->parent, other))
        return;
    struct side sides[2] = {step->parent.sides[0], other->sides[0]};
    int numbers[2] = {step->parent.number, other->number}, at[2] = {step->from, with};
    int named[2], as[2] = {0, 0};
    for (int s = 0; s < 2; s++) {
        leaders[s] = draw(script, sides[s].n);
        named[s] = sides[s].at[leaders[s]];
    }
    int place = meeting_place(script, named, as);
    MPI_Comm made = MPI_COMM_NULL;
    for (int s = 0; s < 2; s++) {
        if (place_in(&sides[s], step->me) < 0)
            continue;
        MPI_Group mine = group_of(&sides[s]), far = group_of(&sides[1 - s]);
        if (by_name)
            expect_ok(MPI_Intercomm_create_from_groups(mine, leaders[s], far, leaders[1 - s],
                                                       "org.simrun.pair", MPI_INFO_NULL,
                                                       MPI_ERRORS_ARE_FATAL, &made));
        else
            /* the others' peer and far leader count for nothing */
            expect_ok(
                MPI_Intercomm_create(step->handles[at[s]], leaders[s],
                                     step->me == named[s] ? step->handles[place] : MPI_COMM_NULL,
                                     step->me == named[s] ? as[1 - s] : -7, tag, &made));
        MPI_Group_free(&mine);
        MPI_Group_free(&far);
    }
    add(step, sides[0], sides[1], numbers[1], made);
    for (int s = 0; s < 2; s++)
        if (by_name)
            script->made[script->made_count].parents[s] = NOBODY;
}

static struct side joined(const struct side *low, const struct side *high)
{
    struct side both = *low;
    for (int i = 0; i < high->n; i++)
        both.at[both.n++] = high->at[i];
    return both;
}

/* The side that says high comes second. Where both say the same, any side may come first; all agree. */
static void merge(struct step *step)
{
    struct script *script = step->script;
    static const int words[] = {0, 1, -3};
    int high[2] = {words[draw(script, 3)], words[draw(script, 3)]};
    bool equal = !high[0] == !high[1];
    const struct side *sides = step->parent.sides;
    struct side both, none = {0};
    MPI_Comm made = MPI_COMM_NULL;
    if (!across(&step->parent))
        return;
    if (step->mine >= 0)
        expect_ok(MPI_Intercomm_merge(step->handles[step->from], high[step->mine], &made));
    both = high[0] ? joined(&sides[1], &sides[0]) : joined(&sides[0], &sides[1]);
    if (equal) {
        int rank = 0, all[MOST];
        for (int i = 0; i < MOST; i++)
            all[i] = NOBODY;
        if (step->mine >= 0)
            MPI_Comm_rank(made, &rank);
        MPI_Allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
        if (all[sides[0].at[0]] != 0)
            both = joined(&sides[1], &sides[0]);
        else
            both = joined(&sides[0], &sides[1]);
    }
    add(step, both, none, step->parent.number, made);
}

/* Where a step starts: at one between two groups rather than within one. */
static int start_of(struct script *script)
{
    int from = draw(script, POOL);
    bool inter = draw(script, 2);
    for (int i = 0; i < POOL && inter; i++)
        if (across(&script->pool[(from + i) % POOL]))
            return (from + i) % POOL;
    return script->pool[from].number ? from : 0;
}

static void program(int rank, int size)
{
    static void (*const steps[])(struct step *) = {split,   duplicate, create, gather_group,
                                                   connect, connect,   merge,  split};
    struct script *script = calloc(1, sizeof *script);
    MPI_Comm handles[POOL] = {MPI_COMM_WORLD};

    script->dice = seed_now;
    script->pool[0].sides[0].n = size;
    for (int i = 0; i < size; i++)
        script->pool[0].sides[0].at[i] = i;
    script->pool[0].number = ++script->made_count;
    for (int i = 0; i < STEPS; i++) {
        struct step step = {.script = script, .handles = handles, .me = rank};
        step.from = start_of(script);
        step.parent = script->pool[step.from];
        step.mine = side_of(&step.parent, rank);
        steps[draw(script, 8)](&step);
    }
    for (int i = 0; i < POOL; i++)
        for (int k = 0; k < POOL; k++) {
            const struct model *a = &script->pool[i], *b = &script->pool[k];
            int result = -1;
            if (!a->number || !b->number || side_of(a, rank) < 0 || side_of(b, rank) < 0)
                continue;
            expect_ok(MPI_Comm_compare(handles[i], handles[k], &result));
            expect(result == compared(a, b, rank), "seed %llu: %d and %d compare as %d, not %d",
                   seed_now, a->number, b->number, result, compared(a, b, rank));
        }
    for (int i = 1; i < POOL; i++)
        if (script->pool[i].number && side_of(&script->pool[i], rank) >= 0)
            expect_ok(MPI_Comm_free(&handles[i]));
    pthread_mutex_lock(&made_lock);
    memcpy(made_last, script->made, sizeof made_last); /* the same on all ranks */
    pthread_mutex_unlock(&made_lock);
    free(script);
}

/* ---- who never meets ---- */

static int unlike; /* which argument differs on one rank; 0: none */

static MPI_Group pair_of(int first, int second)
{
    struct side pair = {2, {first, second}};
    return group_of(&pair);
}

/* A group's members meet who give the same communicator, the same group in the same order and the same tag. */
static void gather_twice(int rank, int size)
{
    MPI_Comm other, made = MPI_COMM_NULL;
    bool differs = rank == 1;
    int result = -1, far = rank < 2 ? 1 - rank : -1;
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    MPI_Group group = unlike == 1 && differs ? pair_of(1, 0) : pair_of(0, 1);
    for (int i = 0; i < 3 && rank < 2 && size; i++) {
        if (unlike < 4)
            expect_ok(MPI_Comm_create_group(unlike == 2 && differs ? other : MPI_COMM_WORLD, group,
                                            unlike == 3 && differs ? 6 : 5, &made));
        else
            expect_ok(MPI_Comm_create_from_group(
                group, unlike == 4 && differs ? "simrun.one" : "simrun.two", MPI_INFO_NULL,
                MPI_ERRORS_ARE_FATAL, &made));
        expect_ok(MPI_Allreduce(&far, &result, 1, MPI_INT, MPI_MAX, made));
        expect(result == 1, "the maximum is %d", result);
        MPI_Comm_free(&made);
    }
    MPI_Group_free(&group);
    MPI_Comm_free(&other);
}

/* Leaders meet who name each other in one communicator under one tag, or in one pair of groups under one name. */
static void connect_thrice(int rank, int size)
{
    MPI_Comm other, made[3];
    bool differs = rank == 1;
    int far = unlike == 3 ? (rank + 1) % 3 : 1 - rank, got = -1;
    if (rank == 2 && unlike != 3)
        far = rank;
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    struct side own = {1, {rank}}, theirs = {1, {far}};
    MPI_Group mine = group_of(&own), across_it = group_of(&theirs);
    for (int i = 0; i < 3 && far != rank && size; i++)
        if (unlike < 4)
            expect_ok(MPI_Intercomm_create(MPI_COMM_SELF, 0,
                                           unlike == 1 && differs ? other : MPI_COMM_WORLD, far,
                                           unlike == 2 && differs ? 6 : 5, &made[i]));
        else
            expect_ok(MPI_Intercomm_create_from_groups(
                mine, 0, across_it, 0, unlike == 4 && differs ? "simrun.one" : "simrun.two",
                MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &made[i]));
    for (int i = 0; i < 3 && far != rank; i++) {
        int sent = 10 * rank + i;
        expect_ok(MPI_Allgather(&sent, 1, MPI_INT, &got, 1, MPI_INT, made[i]));
        expect(got == 10 * far + i, "communicator %d of the other is %d", i, got);
        MPI_Comm_free(&made[i]);
    }
    MPI_Group_free(&mine);
    MPI_Group_free(&across_it);
    MPI_Comm_free(&other);
}

static void strangers_never_meet(void)
{
    static const struct {
        const char *what;
        world_body *body;
        int unlike;
    } rows[] = {{"a group gathers again and again", gather_twice, 0},
                {"another order of the group is another group", gather_twice, 1},
                {"in another communicator a group does not gather", gather_twice, 2},
                {"under another tag a group does not gather", gather_twice, 3},
                {"under another name a group does not gather", gather_twice, 4},
                {"under one name it gathers again and again", gather_twice, 5},
                {"two leaders meet again and again", connect_thrice, 0},
                {"in another communicator leaders do not meet", connect_thrice, 1},
                {"under another tag leaders do not meet", connect_thrice, 2},
                {"three leaders that name each other round about do not meet", connect_thrice, 3},
                {"under another name leaders do not meet", connect_thrice, 4},
                {"under one name they meet again and again", connect_thrice, 5}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        unlike = rows[i].unlike;
        world_outcome_is(rows[i].what, world_options(3), rows[i].body,
                         unlike % 5 ? OUTCOME_DEADLOCK : OUTCOME_FINISHED);
        long before = fence_live();
        world_try(world_options(3), rows[i].body);
        tap_is_int(fence_live() - before, 0, "and nothing of it stays behind");
    }
}

/* What is refused makes nothing, and is refused on the caller's rank alone. */
static void borders_of_leaders(int rank, int size)
{
    struct side own = {1, {rank}}, other = {1, {(rank + 1) % size}};
    MPI_Group mine = group_of(&own), far = group_of(&other), none = MPI_GROUP_NULL;
    MPI_Info gone = MPI_INFO_NULL;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    const struct {
        MPI_Group mine, far;
        int leader, far_leader, wanted;
    } rows[] = {{none, far, 0, 0, MPI_ERR_GROUP}, {mine, none, 0, 0, MPI_ERR_GROUP},
                {mine, far, -1, 0, MPI_ERR_RANK}, {mine, far, 1, 0, MPI_ERR_RANK},
                {mine, far, 0, -1, MPI_ERR_RANK}, {mine, far, 0, 1, MPI_ERR_RANK},
                {mine, far, 1, 1, MPI_ERR_RANK},  {MPI_GROUP_EMPTY, far, 0, 0, MPI_ERR_RANK},
                {far, mine, 0, 0, MPI_ERR_GROUP}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        MPI_Comm made = MPI_COMM_WORLD;
        expect_class(MPI_Intercomm_create_from_groups(rows[i].mine, rows[i].leader, rows[i].far,
                                                      rows[i].far_leader, "simrun.one", gone,
                                                      MPI_ERRORS_RETURN, &made),
                     rows[i].wanted);
        expect(made == MPI_COMM_NULL, "row %zu: something was made", i);
    }
    for (int leader = -1; leader <= size; leader += 1 + size) {
        MPI_Comm made = MPI_COMM_WORLD;
        expect_class(MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, leader, 1, &made),
                     MPI_ERR_RANK);
        expect_class(MPI_Intercomm_create(MPI_COMM_WORLD, leader, MPI_COMM_WORLD, 0, 1, &made),
                     MPI_ERR_RANK);
    }
    MPI_Group_free(&mine);
    MPI_Group_free(&far);
}

/* All of a side say the same, low or high; else nobody gets a communicator. */
static void sides_say_one_thing(int rank, int size)
{
    MPI_Comm local, inter, made;
    int first = (size + 1) / 2, low = rank < first;
    MPI_Comm_split(MPI_COMM_WORLD, low, rank, &local);
    MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, low ? first : 0, 3, &inter);
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    for (int says = 0; says < 1 << size; says++) {
        int mine = says & ((1 << first) - 1), theirs = says >> first;
        bool fits = (mine == 0 || mine == (1 << first) - 1) &&
                    (theirs == 0 || theirs == (1 << (size - first)) - 1);
        made = MPI_COMM_NULL;
        int error = MPI_Intercomm_merge(inter, says >> rank & 1, &made), position = -1;
        expect(fits == !error, "of %d, saying %x: error %d", size, (unsigned)says, error);
        expect(fits == (made != MPI_COMM_NULL), "of %d, saying %x: made", size, (unsigned)says);
        if (error)
            continue;
        MPI_Comm_rank(made, &position);
        bool turned = mine && !theirs;
        if (!mine != !theirs)
            expect(position == (turned ? (rank + size - first) % size : rank),
                   "saying %x: at place %d", (unsigned)says, position);
        MPI_Comm_free(&made);
    }
    MPI_Comm_free(&inter);
    MPI_Comm_free(&local);
}

/* ---- worlds ---- */

static int enter(void *context, int rank)
{
    recording_rank_begin(recording);
    return world_enter(context, rank);
}

static const struct trace_comm *named(const struct trace *trace, int number, int *count)
{
    char name[24];
    const struct trace_comm *found = NULL;
    snprintf(name, sizeof name, "made %d", number);
    for (size_t i = 0; i < trace->comm_count; i++)
        if (strcmp(trace->comms[i].name, name) == 0) {
            found = &trace->comms[i];
            ++*count;
        }
    return found;
}

static bool lists(const struct trace_comm *comm, const struct model *model, int first)
{
    struct side all = joined(&model->sides[first], &model->sides[1 - first]);
    return comm->members && comm->size == (uint32_t)all.n &&
           memcmp(comm->members, all.at, sizeof(int) * (size_t)all.n) == 0;
}

static bool is_named(const struct trace *trace, uint32_t comm, int number)
{
    char name[24];
    snprintf(name, sizeof name, number > 1 ? "made %d" : "world", number);
    return comm != TRACE_NO && strcmp(trace->comms[comm].name, name) == 0;
}

static bool comes_from(const struct trace *trace, const struct trace_comm *comm,
                       const struct model *model)
{
    return model->parents[0] == NOBODY
               ? comm->parent == TRACE_NO
               : is_named(trace, comm->parent, model->parents[0]) ||
                     (across(model) && is_named(trace, comm->parent, model->parents[1]));
}

static int sends_on(const struct trace *trace, const struct trace_comm *comm)
{
    int sends = 0;
    for (size_t i = 0; i < trace->op_count; i++)
        sends += trace->ops[i].kind == OP_ISEND &&
                 trace->ops[i].form->comm == (uint32_t)(comm - trace->comms);
    return sends;
}

/* What is wrong with the recording; NULL: nothing. */
static const char *recorded_wrongly(const struct trace *trace, const struct model *model)
{
    int count = 0;
    const struct trace_comm *comm = named(trace, model->number, &count);
    int members = model->sides[0].n, far = model->sides[1].n;
    if (count != 1)
        return count ? "its members call it differently" : "it is missing";
    if (!lists(comm, model, 0) && !(far && lists(comm, model, 1)))
        return "other members";
    if (!comes_from(trace, comm, model))
        return "another parent";
    if (sends_on(trace, comm) != (far ? 2 * members * far : members * members))
        return "other messages";
    return NULL;
}

struct totals {
    int made, inter, wrong;
};

static void world_of(unsigned long long seed, struct totals *totals)
{
    static const int sizes[] = {6, 5, 2, 6, 3, 4};
    struct sim_world_options options = world_options(sizes[seed % 6]);
    struct failure failure = {0};
    struct world_report report = {.body = program, .size = options.ranks};
    options.executor = seed % 8 == 3 ? SIM_THREADS : seed % 8 == 6 ? SIM_TURNS : SIM_FIBERS;
    options.send_model = seed % 3 == 0 ? SIM_SEND_RENDEZVOUS : SIM_SEND_EAGER;
    options.driver = seed % 2 ? SIM_CHOOSE_SEED : SIM_CHOOSE_DEFAULT;
    options.seed = seed;
    seed_now = seed;
    memset(made_last, 0, sizeof made_last);
    pthread_mutex_init(&report.lock, NULL);
    options.slots[MPIX_SLOT_SPARE1] = &report;
    recording = recording_new((uint32_t)options.ranks, RECORD_LEVEL_OPS, &failure);
    struct sim_world *world = sim_world_new(&options, &failure);
    struct recording_result result = {.outcome = sim_world_run(world, enter, &report)};
    for (int i = 0; i < options.ranks; i++)
        recording_rank_end(recording, (uint32_t)i, sim_world_rank_state(world, i), 0, NULL);
    sim_world_free(world);
    struct trace *trace = recording_load(recording, &result, &failure);
    bool wrong = result.outcome != OUTCOME_FINISHED || report.failed || !trace;
    if (wrong)
        tap_note("seed %llu: %s; %s %s", seed, world_outcomes[result.outcome], report.text,
                 failure.text);
    for (int i = 2; i < MADE_MOST && made_last[i].number && !wrong; i++) {
        const char *why = recorded_wrongly(trace, &made_last[i]);
        totals->made++;
        totals->inter += across(&made_last[i]);
        if (why)
            tap_note("seed %llu, communicator %d in the recording: %s", seed, i, why);
        wrong = why;
    }
    totals->wrong += wrong;
    trace_free(trace);
    recording_ranks_release(recording);
    recording_free(recording);
    pthread_mutex_destroy(&report.lock);
}

int main(void)
{
    struct dice_seeds seeds = dice_seeds(120);
    struct totals totals = {0};
    for (unsigned long long i = 0; i < seeds.count; i++)
        world_of(seeds.first + i, &totals);
    tap_is_int(totals.wrong, 0,
               "random communicators are the sets the standard says, on every rank "
               "and in the recording");
    tap_ok((unsigned long long)totals.made >= seeds.count && totals.inter > 0,
           "%d were made, %d of them between two groups", totals.made, totals.inter);
    strangers_never_meet();
    world_test_sizes("leaders are members", borders_of_leaders, WORLD_FIBERS, WORLD_SIZES(2, 3));
    world_test_sizes("a merge needs one word of each side", sides_say_one_thing, WORLD_FIBERS,
                     WORLD_SIZES(2, 3, 5));
    return tap_done();
}

/* How a run is steered: which of random alternatives the guide of an exploration takes, held against the rules said plainly, over lists
 * of choices as texts. What is forced is taken as soon as it is there; what is excluded never; what stands in the way of something forced
 * that is still to come only where nothing else is left. */
#include "checker/explore/guided_run.h"
#include "sim/worlds/world.h"
#include "tests/dice.h"
#include "tests/tap.h"

#include <mpix.h>
#include <string.h>

enum { WORLDS = 4000, CALLS = 6, MOST = 5, LIST = 8, RANKS = 3, TEXT = 80, NO_RULE = -1 };

static uint64_t dice;

static uint32_t below(uint32_t n)
{
    return dice_below(&dice, n);
}

/* ---- the rules ---- */

struct list {
    struct explore_choice items[LIST];
    bool gone[LIST];
    uint32_t count;
};

struct rules {
    struct list forced, excluded;
    uint32_t own[RANKS]; /* choices that a rank has made */
    unsigned kinds;
    bool blocked;
};

static const char *text_of(const struct explore_choice *choice, char text[TEXT])
{
    snprintf(text, TEXT, "%u of %u.%u: %u.%u in %u", choice->kind, choice->rank, choice->object,
             choice->source, choice->number, choice->box);
    return text;
}

static int find(const struct list *list, const struct explore_choice *choice)
{
    char one[TEXT], other[TEXT];
    text_of(choice, one);
    for (uint32_t i = 0; i < list->count; i++)
        if (!list->gone[i] && strcmp(text_of(&list->items[i], other), one) == 0)
            return (int)i;
    return NO_RULE;
}

/* Where the one is taken, the other cannot be. */
static bool contradict(const struct explore_choice *a, const struct explore_choice *b)
{
    bool message = a->source == b->source && a->number == b->number && a->box == b->box;
    if (a->kind != b->kind)
        return false;
    if (a->kind == SIM_TAKER_LOCK && message)
        return true; /* both right after the same */
    if (a->rank != b->rank)
        return false;
    return a->object == b->object ||
           (a->kind == SIM_TAKER_RECEIVE && message && a->source != SIM_NOTHING);
}

/* 0: never, 1: where nothing else is left, 2: gladly. */
static int welcome(const struct rules *rules, const struct explore_choice *choice)
{
    if (find(&rules->excluded, choice) != NO_RULE)
        return 0;
    for (uint32_t i = 0; i < rules->forced.count; i++)
        if (!rules->forced.gone[i] && contradict(&rules->forced.items[i], choice))
            return 1;
    return 2;
}

static struct explore_choice own_choice(const struct rules *rules, uint32_t rank, uint32_t pick)
{
    return (struct explore_choice){
        .kind = EXPLORE_LOCAL, .rank = rank, .object = rules->own[rank], .source = pick};
}

/* Which picks are right: a bit each; 0: the run must end. */
static uint32_t right_picks(struct rules *rules, uint32_t kind, uint32_t rank, uint32_t n,
                            const struct sim_alternative *alternatives)
{
    bool local = !alternatives || alternatives[0].taker == SIM_TAKER_NAMED;
    uint32_t picks[3] = {0};
    for (uint32_t i = 0; alternatives && i < n; i++)
        if (alternatives[i].taker == SIM_TAKER_NAMED && alternatives[i].object == 0)
            return 1u << i;
    if (!(rules->kinds >> kind & 1) || (local && n < 2))
        return 1;
    for (uint32_t i = 0; i < n; i++) {
        struct explore_choice choice =
            local ? own_choice(rules, rank, i)
                  : (struct explore_choice){alternatives[i].taker,  alternatives[i].rank,
                                            alternatives[i].object, alternatives[i].source,
                                            alternatives[i].number, alternatives[i].box};
        int forced = find(&rules->forced, &choice);
        if (forced != NO_RULE) {
            rules->forced.gone[forced] = true;
            rules->own[rank] += local;
            return 1u << i;
        }
        int how = welcome(rules, &choice);
        how = local && how ? 2 : how; /* its own choices stand in nobody's way */
        picks[how] |= 1u << i;
    }
    rules->own[rank] += local;
    uint32_t right = picks[2] ? picks[2] : picks[1];
    rules->blocked = !right;
    return local ? right & ~(right - 1) : right;
}

/* ---- random worlds ---- */

struct call {
    uint32_t kind, rank, n;
    bool without; /* alternatives by name */
    struct sim_alternative alternatives[MOST];
};

static struct sim_alternative alternative_new(void)
{
    static const uint32_t takers[] = {SIM_TAKER_RECEIVE, SIM_TAKER_RECEIVE, SIM_TAKER_PROBE,
                                      SIM_TAKER_WAITANY, SIM_TAKER_LOCK,    SIM_TAKER_LOCK};
    struct sim_alternative one = {0};
    one.taker = takers[below(6)];
    one.rank = below(2);
    one.object = below(2);
    one.source = below(4) ? below(2) : SIM_NOTHING;
    one.number = below(2);
    one.box = below(2);
    return one;
}

static struct call call_new(void)
{
    struct call call = {0};
    call.kind = below(3);
    call.rank = below(RANKS);
    call.n = 1 + below(MOST);
    call.without = below(4) == 0;
    bool named = below(6) == 0;
    for (uint32_t i = 0; i < call.n; i++) {
        call.alternatives[i] = alternative_new();
        if (named)
            call.alternatives[i].taker = SIM_TAKER_NAMED;
        if (named && below(8))
            call.alternatives[i].object = 1 + below(2);
    }
    return call;
}

/* Something of a call, as it is or with another field. */
static struct explore_choice choice_like(const struct call *call)
{
    const struct sim_alternative *like = &call->alternatives[below(call->n)];
    struct explore_choice choice = {like->taker,  like->rank,   like->object,
                                    like->source, like->number, like->box};
    uint32_t *const fields[] = {&choice.rank, &choice.object, &choice.source, &choice.number,
                                &choice.box};
    if (call->without || like->taker == SIM_TAKER_NAMED) {
        choice = (struct explore_choice){.kind = EXPLORE_LOCAL, .rank = call->rank};
        choice.object = below(2);
        choice.source = below(3);
    } else if (below(2)) {
        uint32_t field = below(5), value = below(2);
        *fields[field] = value;
    } else if (below(4) == 0) {
        choice.kind = SIM_TAKER_RECEIVE + below(3);
    }
    return choice;
}

struct tally {
    unsigned wrong, blocked, forced, open, picked[3], done_wrong, others;
};

static uint32_t ask(const struct sim_world_options *options, const struct call *call)
{
    return options->guide(options->guide_context, call->kind, call->rank, call->n,
                          call->without ? NULL : call->alternatives);
}

/* Three that are all right: each should have its turn. */
static void count_open(struct tally *tally, uint32_t right, uint32_t pick)
{
    uint32_t before = 0;
    if (__builtin_popcount(right) != 3)
        return;
    for (uint32_t i = 0; i < pick; i++)
        before += right >> i & 1;
    tally->open++;
    tally->picked[before]++;
}

static void run_world(struct explore_steer *steer, struct rules rules, const struct call *calls,
                      struct tally *tally, uint32_t picks[CALLS])
{
    struct sim_world_options options;
    sim_world_options_init(&options);
    explore_steer_world(steer, &options);
    for (uint32_t c = 0; c < CALLS; c++) {
        const struct call *call = &calls[c];
        rules.blocked = false;
        uint32_t right = right_picks(&rules, call->kind, call->rank, call->n,
                                     call->without ? NULL : call->alternatives);
        uint32_t pick = picks[c] = ask(&options, call);
        if (steer->seed == 0)
            right &= ~(right - 1); /* the first */
        bool good = right ? pick < call->n && right >> pick & 1 : pick == SIM_GUIDE_STOP;
        tally->wrong += !good || steer->blocked != rules.blocked;
        tally->blocked += rules.blocked;
        if (steer->seed && good && right)
            count_open(tally, right, pick);
        if (rules.blocked)
            break;
    }
    size_t done = 0;
    for (uint32_t i = 0; i < rules.forced.count; i++)
        done += rules.forced.gone[i];
    tally->forced += (unsigned)done;
    tally->done_wrong += explore_steer_done(steer) != done;
}

static void one_world(uint64_t seed, struct tally *tally)
{
    struct call calls[CALLS];
    struct rules rules = {.kinds = 0};
    struct explore_steer steer = {0};
    dice = seed;
    rules.kinds = steer.kinds = below(8) ? 7 : below(8);
    steer.seed = below(2) ? 1 + below(1000) : 0;
    for (uint32_t c = 0; c < CALLS; c++)
        calls[c] = call_new();
    for (uint32_t i = below(LIST); i > 0; i--) {
        struct explore_choice choice = choice_like(&calls[below(CALLS)]);
        if (find(&rules.forced, &choice) != NO_RULE)
            continue;
        rules.forced.items[rules.forced.count++] = choice;
        explore_steer_force(&steer, &choice);
    }
    for (uint32_t i = below(LIST); i > 0; i--) {
        struct explore_choice choice = choice_like(&calls[below(CALLS)]);
        rules.excluded.items[rules.excluded.count++] = choice;
        explore_steer_exclude(&steer, &choice);
    }
    uint32_t first[CALLS] = {0}, again[CALLS] = {0};
    run_world(&steer, rules, calls, tally, first);
    run_world(&steer, rules, calls, tally, again); /* a fresh world, by the same steer */
    tally->others += memcmp(first, again, sizeof first) != 0;
    explore_steer_release(&steer);
    tally->done_wrong += steer.forced || steer.excluded || steer.forced_count || steer.kinds;
}

static void follows_rules(void)
{
    struct tally tally = {0};
    for (uint64_t seed = 1; seed <= WORLDS; seed++)
        one_world(seed, &tally);
    tap_is_int(tally.wrong, 0, "the guide takes what the rules say");
    tap_is_int(tally.done_wrong, 0, "and counts what was forced and done");
    tap_is_int(tally.others, 0, "a fresh world by the same steer picks the same");
    tap_ok(tally.blocked > 200 && tally.forced > 1000, "some end (%u), and some is forced (%u)",
           tally.blocked, tally.forced);
    unsigned least = tally.open / 3 - tally.open / 12;
    tap_ok(tally.open > 500 && tally.picked[0] > least && tally.picked[1] > least &&
               tally.picked[2] > least,
           "by chance each of three has its turn: %u, %u, %u of %u", tally.picked[0],
           tally.picked[1], tally.picked[2], tally.open);
}

/* A run of old is forced, with its receives delayed. */
static void repeats_a_run(void)
{
    const struct explore_choice choices[] = {{SIM_TAKER_PROBE, 1, 2, 0, 1, 0},
                                             {SIM_TAKER_RECEIVE, 2, 7, 1, 0, 0},
                                             {EXPLORE_LOCAL, 0, 0, 2, 0, 0},
                                             {SIM_TAKER_RECEIVE, 0, 4, 1, 3, 2}};
    struct sim_world_options options;
    struct explore_steer *steer = explore_steer_new(choices, 4);
    sim_world_options_init(&options);
    explore_steer_world(steer, &options);
    tap_ok(steer->forced_count == 4 && steer->kinds == UINT32_MAX && !steer->excluded_count &&
               memcmp(steer->forced, choices, sizeof choices) == 0,
           "all that a run chose is forced");
    tap_ok(options.late_count == 2 && options.late[0].rank == 2 && options.late[0].receive == 7 &&
               options.late[1].rank == 0 && options.late[1].receive == 4,
           "and its receives, which may be by name, are delayed");
    tap_ok(options.driver == SIM_CHOOSE_GUIDED && options.delay_wildcards && options.log_choices,
           "in a world that is guided, delays wildcards and writes down what it chose");
    tap_is_int(explore_steer_done(steer), 0, "nothing of it is done");
    explore_steer_free(steer);
}

int main(void)
{
    follows_rules();
    repeats_a_run();
    return tap_done();
}

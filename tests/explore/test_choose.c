/* The one function that chooses, against its header read as a list: random sessions of each driver, with forced picks
 * that fit or not, guides that stop, alternatives or none, logging or not. */
#include "sim/worlds/choose.h"
#include "tests/dice.h"
#include "tests/tap.h"

enum { SESSIONS = 400, CALLS_MOST = 150, N_MOST = 5, MANY = 300, FORCED_MOST = 100, EVENTS = 200 };

struct call {
    uint32_t kind, rank, n;
    bool named;
    struct sim_alternative alternatives[MANY];
};

struct session {
    enum sim_choose_driver driver;
    uint64_t state;
    uint32_t forced[FORCED_MOST];
    size_t forced_count;
    bool logging;
    size_t count;
    struct call calls[CALLS_MOST];
};

/* What the guide was asked, and what it says. */
struct guide {
    uint64_t state;
    size_t asked;
    const struct call *now;
    unsigned wrong;
    bool stops, stopped;
};

static uint32_t say(void *context, uint32_t kind, uint32_t rank, uint32_t n,
                    const struct sim_alternative *alternatives)
{
    struct guide *guide = context;
    const struct call *now = guide->now;
    guide->asked++;
    guide->wrong += kind != now->kind || rank != now->rank || n != now->n ||
                    alternatives != (now->named ? now->alternatives : NULL);
    if (guide->stops && dice_below(&guide->state, 40) == 0) {
        guide->stopped = true;
        return SIM_GUIDE_STOP;
    }
    return dice_below(&guide->state, n + 1); /* n: one too far */
}

static void session_draw(struct session *session, uint64_t *dice)
{
    *session = (struct session){.driver = (enum sim_choose_driver)dice_below(dice, 5),
                                .forced_count = dice_below(dice, FORCED_MOST + 1),
                                .logging = dice_below(dice, 4) > 0,
                                .count = dice_below(dice, CALLS_MOST + 1)};
    uint32_t far = dice_below(dice, 3) ? 1 : N_MOST; /* some have a pick that does not fit */
    for (size_t i = 0; i < session->forced_count; i++)
        session->forced[i] = dice_below(dice, 50) ? dice_below(dice, 2) : dice_below(dice, far + 1);
    for (size_t i = 0; i < session->count; i++) {
        struct call *call = &session->calls[i];
        *call = (struct call){.kind = dice_below(dice, 6),
                              .rank = dice_below(dice, 9),
                              .n = 1 + dice_below(dice, dice_below(dice, 99) ? N_MOST : MANY),
                              .named = dice_below(dice, 2)};
        for (uint32_t k = 0; k < call->n; k++)
            call->alternatives[k] = (struct sim_alternative){.rank = dice_below(dice, 9),
                                                             .object = dice_below(dice, 99),
                                                             .source = k,
                                                             .number = dice_below(dice, 99),
                                                             .taker = dice_below(dice, 5),
                                                             .box = dice_below(dice, 99)};
    }
}

/* What came of the sessions, so that none of the cases is missing. */
struct tally {
    unsigned picks, logged, fits, guided, refused, stopped, diverged;
};

/* A second list of what is logged. */
struct expected {
    size_t choices, alternatives, position, guided;
    bool diverged;
};

static uint32_t pick_expected(const struct session *session, const struct call *call,
                              struct expected *to, uint64_t *stream, uint64_t *guide)
{
    uint32_t pick;
    bool stops = false;
    switch (session->driver) {
    case SIM_CHOOSE_SEED:
        return (uint32_t)(dice_next(stream) % call->n);
    case SIM_CHOOSE_RECORDED:
    case SIM_CHOOSE_ENUMERATE:
        pick = to->position < session->forced_count ? session->forced[to->position] : 0;
        to->diverged = to->diverged || pick >= call->n;
        return to->diverged ? 0 : pick;
    case SIM_CHOOSE_GUIDED:
        stops = guide[1] && dice_below(guide, 40) == 0;
        pick = stops ? 0 : dice_below(guide, call->n + 1);
        to->guided++;
        return pick < call->n ? pick : 0;
    default:
        return 0;
    }
}

static bool is_logged(const struct sim_choice_log *log, const struct expected *to,
                      const struct call *call, uint32_t pick)
{
    const struct sim_choice *choice = &log->choices[to->choices];
    if (log->count != to->choices + 1 || choice->kind != call->kind || choice->rank != call->rank ||
        choice->n != call->n || choice->picked != pick || choice->taker != UINT32_MAX)
        return false;
    for (int i = 0; i < SIM_CAUSE_WORDS; i++)
        if (choice->past.bits[i])
            return false;
    if (!call->named)
        return choice->first_alternative == SIZE_MAX && log->alternative_count == to->alternatives;
    return choice->first_alternative == to->alternatives &&
           log->alternative_count == to->alternatives + call->n &&
           memcmp(log->alternatives + to->alternatives, call->alternatives,
                  call->n * sizeof *call->alternatives) == 0;
}

/* Whether all that was logged is still there at the end, where it was. */
static bool is_kept(const struct sim_choice_log *log, const struct session *session)
{
    size_t at = 0, alternatives = 0;
    for (size_t i = 0; i < session->count; i++) {
        const struct call *call = &session->calls[i];
        bool single = call->named && session->driver >= SIM_CHOOSE_ENUMERATE;
        if (call->n == 1 && !single)
            continue;
        if (at >= log->count || log->choices[at].n != call->n ||
            log->choices[at].rank != call->rank)
            return false;
        if (call->named && memcmp(log->alternatives + alternatives, call->alternatives,
                                  call->n * sizeof *call->alternatives) != 0)
            return false;
        alternatives += call->named ? call->n : 0;
        at++;
    }
    return at == log->count && alternatives == log->alternative_count;
}

static bool has_little_room(size_t room, size_t count)
{
    return room >= count && (room < 2 * count || room == 64 || !count) && !room == !count;
}

static unsigned session_ask(struct session *session, uint64_t seed, struct tally *tally)
{
    struct sim_chooser chooser;
    struct guide guide = {.state = seed, .stops = seed % 2};
    struct expected to = {0};
    uint64_t said[2] = {seed, seed % 2};
    unsigned wrong = 0;
    sim_chooser_init(&chooser, session->driver, seed);
    uint64_t stream = chooser.state;
    uint32_t *forced = calloc(session->forced_count, sizeof *forced); /* ends where they end */
    memcpy(forced, session->forced, session->forced_count * sizeof *forced);
    chooser.forced = forced;
    chooser.forced_count = session->forced_count;
    chooser.guide = say;
    chooser.guide_context = &guide;
    chooser.logging = session->logging;
    for (size_t i = 0; i < session->count; i++) {
        const struct call *call = &session->calls[i];
        bool choice = call->n > 1;
        bool looked_at = choice || (call->named && session->driver >= SIM_CHOOSE_ENUMERATE);
        guide.now = call;
        uint32_t pick = sim_choose(&chooser, call->kind, call->rank, call->n,
                                   call->named ? call->alternatives : NULL);
        uint32_t expected = 0;
        if (choice || (looked_at && session->driver == SIM_CHOOSE_GUIDED))
            expected = pick_expected(session, call, &to, &stream, said);
        wrong += pick != expected;
        if (looked_at && session->logging) {
            wrong += !is_logged(&chooser.log, &to, call, pick);
            to.choices++;
            to.alternatives += call->named ? call->n : 0;
        }
        to.position += choice;
        wrong += chooser.position != to.position || chooser.diverged != to.diverged ||
                 chooser.stopped != guide.stopped || guide.asked != to.guided;
        wrong += !has_little_room(chooser.log.room, chooser.log.count);
        wrong += !has_little_room(chooser.log.alternative_room, chooser.log.alternative_count);
        tally->picks += pick > 0;
    }
    const struct sim_choice_log *log = &chooser.log;
    wrong += guide.wrong + (log->count != to.choices) + (log->alternative_count != to.alternatives);
    wrong += session->logging && !is_kept(log, session);
    wrong += log->event_count || log->gaps;
    tally->logged += (unsigned)log->count;
    tally->guided += (unsigned)guide.asked;
    tally->stopped += chooser.stopped;
    tally->diverged += chooser.diverged;
    tally->fits +=
        session->forced_count && !chooser.diverged &&
        (session->driver == SIM_CHOOSE_RECORDED || session->driver == SIM_CHOOSE_ENUMERATE);
    sim_chooser_release(&chooser);
    free(forced);
    wrong += log->choices || log->alternatives || log->events || log->count || log->room;
    return wrong;
}

static void random_sessions(void)
{
    struct tally tally = {0};
    static struct session session;
    unsigned wrong = 0, first = 0;
    for (uint64_t seed = 1; seed <= SESSIONS; seed++) {
        uint64_t dice = seed;
        session_draw(&session, &dice);
        wrong += session_ask(&session, seed, &tally);
        first = wrong && !first ? (unsigned)seed : first;
    }
    tap_is_int(wrong, 0, "every pick, and what is logged of it, is as the header says");
    tap_is_int(first, 0, "in the first session that differs");
    tap_ok(tally.picks > 1000 && tally.logged > 1000 && tally.guided > 1000,
           "many picks other than 0 (%u), many logged (%u), many asked of a guide (%u)",
           tally.picks, tally.logged, tally.guided);
    tap_ok(tally.stopped > 10 && tally.diverged > 10 && tally.fits > 10,
           "guides that stop (%u), picks that fit everywhere (%u), and that do not (%u)",
           tally.stopped, tally.fits, tally.diverged);
}

/* The numbers of splitmix64, as its authors publish them. */
static void streams(void)
{
    static const uint64_t published[] = {6457827717110365317u, 3203168211198807973u,
                                         9817491932198370423u, 4593380528125082431u,
                                         16408922859458223821u};
    unsigned wrong = 0;
    for (uint64_t i = 0; i < 5; i++)
        wrong += sim_random(1234567, i) != published[i];
    tap_is_int(wrong, 0, "the stream of a seed is splitmix64's");
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct sim_chooser chooser, other;
        uint64_t state = seed * 977;
        for (uint64_t i = 0; i < 20; i++)
            wrong += sim_random(seed * 977, i) != dice_next(&state);
        sim_chooser_init(&chooser, SIM_CHOOSE_SEED, seed);
        sim_chooser_init(&other, SIM_CHOOSE_SEED, seed + 1);
        state = chooser.state;
        for (uint64_t i = 0; i < 20; i++) {
            uint64_t next = sim_chooser_random(&chooser);
            wrong += next != dice_next(&state) || next == sim_chooser_random(&other);
        }
    }
    tap_is_int(wrong, 0, "drawn one by one it is the same, and of each seed another");
}

static void events(void)
{
    struct sim_chooser chooser;
    unsigned wrong = 0;
    sim_chooser_init(&chooser, SIM_CHOOSE_GUIDED, 1);
    for (uint32_t i = 0; i < EVENTS; i++) {
        uint32_t at = 7;
        struct sim_event *event = sim_log_event(&chooser, &at);
        wrong += at != i || event != &chooser.log.events[i];
        wrong += event->next != UINT32_MAX || event->source != SIM_NOTHING;
        wrong += event->rank || event->object || event->number || event->kind || event->complete ||
                 event->order || event->box || event->high || event->causes.bits[0];
        event->rank = i;
        wrong += chooser.log.event_count != i + 1 ||
                 !has_little_room(chooser.log.event_room, chooser.log.event_count);
    }
    for (uint32_t i = 0; i < EVENTS; i++)
        wrong += chooser.log.events[i].rank != i;
    tap_is_int(wrong, 0, "events are numbered as they come, new, and stay");
    sim_chooser_release(&chooser);
}

int main(void)
{
    random_sessions();
    streams();
    events();
    return tap_done();
}

/* The one source of nondeterminism of a world, behind one function with five drivers.
 *
 *  default    always 0: the machine's natural order
 *  seed       a pseudo-random stream that depends on nothing but the seed
 *  recorded   the picks of an earlier run; a pick that does not fit is `diverged`, and the rest is
 * default
 *  enumerate  a forced prefix, then 0
 *  guided     a function decides, which is asked about every named alternative, also a single one
 *
 * Every call with more than one alternative is appended to the log when logging is on; the
 * enumerating driver also logs calls with a single named alternative (n == 1), which take no
 * position of the forced prefix. */
#ifndef SIM_WORLDS_CHOOSE_H
#define SIM_WORLDS_CHOOSE_H

#include "sim/base/dependence_sets.h"

enum sim_choose_driver {
    SIM_CHOOSE_DEFAULT,
    SIM_CHOOSE_SEED,
    SIM_CHOOSE_RECORDED,
    SIM_CHOOSE_ENUMERATE,
    SIM_CHOOSE_GUIDED
};

/* The source of an alternative that is nothing at all: the receive is cancelled, the poll is
 * answered "not yet". */
#define SIM_NOTHING UINT32_MAX

/* The holder before the first one of a lock: `number` is the target then. */
#define SIM_NOBODY (UINT32_MAX - 1)

/* Who takes an alternative. */
enum sim_taker {
    SIM_TAKER_RECEIVE, /* a wildcard receive takes a message, or one that may be cancelled */
    SIM_TAKER_PROBE,   /* a probe for any source, or an Iprobe, sees one */
    SIM_TAKER_WAITANY, /* Waitany, Waitsome, a Test report one of the requests: `source` is its
                          index */
    SIM_TAKER_NAMED,   /* a rank picks one of several things that have a number: `object` */
    SIM_TAKER_LOCK     /* a lock of a window's part (call `object` of `rank`) is had next after the
                          one that was call `number` of `source` */
};

/* One alternative, in terms that do not change when unrelated choices do: a wildcard's alternative
 * is "the n-th posted receive of `rank` takes the k-th message of `source`"; a ready-queue pick is
 * the node's id. */
struct sim_alternative {
    uint32_t rank;
    uint32_t object; /* number of the receive, node or request on its rank */
    uint32_t source; /* world rank of the sender; 0 where it does not apply */
    uint32_t number; /* number of the message of that sender to this rank */
    uint32_t taker;  /* enum sim_taker */
    uint32_t box;    /* the communicator context in which message numbers count */
};

struct sim_choice {
    uint32_t kind; /* MPIX_CHOOSE_* */
    uint32_t rank; /* who chose; UINT32_MAX: the machine at quiescence */
    uint32_t n, picked;
    size_t first_alternative;    /* into the log's alternatives, n of them; SIZE_MAX when none were
                                    given */
    uint32_t taker;              /* event of who took the pick, UINT32_MAX: a rank's own choice */
    struct sim_dependences past; /* choices that led to this one */
};

struct sim_choice_log {
    struct sim_choice *choices;
    size_t count, room;
    struct sim_alternative *alternatives;
    size_t alternative_count, alternative_room;
    struct sim_event *events; /* only of worlds that delay wildcards */
    size_t event_count, event_room;
    unsigned gaps; /* enum sim_gap: what was taken as it came */
};

/* Decides in a guided world: an index below n, or SIM_GUIDE_STOP to end the world here. */
typedef uint32_t sim_guide(void *context, uint32_t kind, uint32_t rank, uint32_t n,
                           const struct sim_alternative *alternatives);
#define SIM_GUIDE_STOP UINT32_MAX

struct sim_chooser {
    enum sim_choose_driver driver;
    uint64_t state;         /* of the seeded stream */
    const uint32_t *forced; /* recorded or enumerated prefix; not owned */
    size_t forced_count;
    size_t position;
    sim_guide *guide;
    void *guide_context;
    bool stopped; /* by the guide */
    bool diverged;
    bool logging;
    struct sim_choice_log log;
};

void sim_chooser_init(struct sim_chooser *chooser, enum sim_choose_driver driver, uint64_t seed);
void sim_chooser_release(struct sim_chooser *chooser);
/* An index below n. `alternatives` may be NULL; n == 1 costs nothing and is not logged. */
uint32_t sim_choose(struct sim_chooser *chooser, uint32_t kind, uint32_t rank, uint32_t n,
                    const struct sim_alternative *alternatives);
/* A new event of the log, zeroed (`next` and `source` are nothing); its number into `*at`. Valid
 * until the next. */
struct sim_event *sim_log_event(struct sim_chooser *chooser, uint32_t *at);
/* The next number of the seeded stream (splitmix64): for faults and reduction orders that a seed
 * decides. */
uint64_t sim_chooser_random(struct sim_chooser *chooser);
/* The number `index` of the stream of `seed`, with no state at all. */
uint64_t sim_random(uint64_t seed, uint64_t index);

#endif

/* The conformance suite's values on the simulator against those of other MPIs.
 *
 * PEERS names the folder of `make peers`, where tests/peers/conformance.sh has left their values;
 * without it only the comparison itself is tested: against another run of the simulator. */
#include "collectives/experiment/probe.h"
#include "collectives/tape/state.h"
#include "tests/collectives/diff_conformance.h"
#include "tests/world_harness.h"

#include <math.h>
#include <unistd.h>

enum { RANKS = 4 };

struct context {
    struct conf_options options;
    struct conf_kept kept[RANKS];
    struct conf_result results[RANKS];
};

static int body(void *context, int rank)
{
    struct context *world = context;
    struct conf_options options = world->options;
    options.kept = &world->kept[rank];
    MPI_Init(NULL, NULL);
    conformance_run(&options, &world->results[rank]);
    MPI_Finalize();
    return 0;
}

static bool world_pass(struct context *context, unsigned thin, enum sim_send_model model)
{
    struct sim_world_options options = world_options(RANKS);
    struct failure failure = {0};
    options.stack_size = 0;
    options.send_model = model;
    *context = (struct context){.options = {.thin = thin}}; /* as on the peers */
    struct sim_world *world = sim_world_new(&options, &failure);
    if (!world)
        return false;
    enum trace_outcome outcome = sim_world_run(world, body, context);
    for (int rank = 0; rank < RANKS; rank++)
        diff_state_release(sim_world_slots(world, rank)[MPIX_SLOT_DIFF]);
    sim_world_free(world);
    return outcome == OUTCOME_FINISHED;
}

static void context_release(struct context *context)
{
    for (int r = 0; r < RANKS; r++)
        conf_kept_release(&context->kept[r]);
}

static double *values_of(const struct conf_kept *kept)
{
    double *values = calloc(kept->count + 1, sizeof *values);
    for (size_t i = 0; values && i < kept->count; i++)
        values[i] = kept->values[i].value;
    return values;
}

/* The first value of this kind that has a bound, or has none. */
static size_t value_find(const struct conf_kept *kept, enum conf_what what, bool bounded)
{
    size_t i = 0;
    while (i < kept->count && !(kept->values[i].what == what && kept->values[i].value != 0 &&
                                (kept->values[i].bound > 0) == bounded))
        i++;
    return i;
}

static void flip_lowest_bit(double *value)
{
    uint64_t bits;
    memcpy(&bits, value, sizeof bits);
    bits ^= 1;
    memcpy(value, &bits, sizeof bits);
}

/* ---- the comparison sees what it must see, and nothing else ---- */

static struct conf_comparison changed(const struct conf_kept *kept, size_t at, double by)
{
    struct conf_comparison comparison = {0};
    double *values = values_of(kept);
    if (by == 0)
        flip_lowest_bit(&values[at]);
    else
        values[at] += by * kept->values[at].bound;
    conf_kept_compare(kept, values, &comparison);
    free(values);
    return comparison;
}

static void comparison_test(void)
{
    struct context ours, again;
    bool ran = world_pass(&ours, 50, SIM_SEND_EAGER) && world_pass(&again, 50, SIM_SEND_RENDEZVOUS);
    const struct conf_kept *kept = &ours.kept[2];
    struct conf_comparison same = {0};
    for (int r = 0; ran && r < RANKS; r++) {
        double *values = values_of(&again.kept[r]);
        conf_kept_compare(&ours.kept[r], values, &same);
        free(values);
    }
    tap_ok(ran && same.different == 0 && same.exact > 5000 && same.bounded > 500 &&
               same.same == same.exact + same.bounded,
           "two runs of the simulator have the same %zu values", same.same);
    static const enum conf_what whats[] = {CONF_RESULT, CONF_GRADIENT, CONF_TANGENT, CONF_SECOND_W};
    for (size_t k = 0; k < sizeof whats / sizeof *whats; k++) {
        size_t exact = value_find(kept, whats[k], false),
               bounded = value_find(kept, whats[k], true);
        struct conf_comparison flipped = changed(kept, exact, 0);
        char text[500], wanted[80];
        conf_kept_text(kept, &flipped, 2, text, sizeof text);
        snprintf(wanted, sizeof wanted,
                 "rank 2, element %u: ", (unsigned)kept->values[exact].element);
        tap_test_ok(flipped.different == 1 && flipped.at == exact && strstr(text, wanted), TAP_HERE,
                    text, "one bit of a value (kind %d) that is only moved is a difference",
                    (int)whats[k]);
        tap_ok(changed(kept, bounded, 0.9).different == 0 &&
                   changed(kept, bounded, 1.1).different == 1 &&
                   changed(kept, bounded, -1.1).different == 1 &&
                   changed(kept, bounded, NAN).different == 1,
               "another order's rounding is none, more than its bound is (kind %d)", (int)whats[k]);
    }
    context_release(&ours);
    context_release(&again);
}

/* ---- the peers ---- */

static void peer_test(const struct context *ours, const char *folder, const char *peer)
{
    struct conf_comparison all = {0};
    char path[4096], text[600] = "";
    for (int r = 0; r < RANKS && !text[0]; r++) {
        struct conf_comparison comparison = {0};
        snprintf(path, sizeof path, "%s/%s/conformance.%d", folder, peer, r);
        double *values = conf_kept_read(&ours->kept[r], path, text, sizeof text);
        if (!values)
            break;
        conf_kept_compare(&ours->kept[r], values, &comparison);
        if (comparison.different > 0)
            conf_kept_text(&ours->kept[r], &comparison, r, text, sizeof text);
        free(values);
        all.exact += comparison.exact;
        all.bounded += comparison.bounded;
        all.same += comparison.same;
        all.worst = fmax(all.worst, comparison.worst);
    }
    tap_test_ok(text[0] == '\0' && all.exact > 0 && all.bounded > 0, TAP_HERE, text,
                "%s and the simulator agree in all %zu cases on %d ranks", peer,
                ours->kept[0].case_count, (int)RANKS);
    tap_note("%s: %zu values have the same bits, as they must; of %zu whose order is the MPI's %zu "
             "do, the others differ by at most %.2g of their bounds",
             peer, all.exact, all.bounded, all.same - all.exact, all.worst);
}

int main(void)
{
    comparison_test();
    const char *folder = getenv("PEERS");
    static const char *const peers[] = {"openmpi", "mpich"};
    struct context ours;
    bool ran = folder && world_pass(&ours, 1, SIM_SEND_EAGER);
    for (size_t i = 0; folder && i < sizeof peers / sizeof *peers; i++) {
        char program[4096];
        snprintf(program, sizeof program, "%s/%s/tests/diff_conformance", folder, peers[i]);
        if (access(program, X_OK) != 0)
            continue;
        if (ran)
            peer_test(&ours, folder, peers[i]);
        else
            tap_ok(false, "the simulator runs the suite for %s", peers[i]);
    }
    if (folder)
        context_release(&ours);
    return tap_done();
}

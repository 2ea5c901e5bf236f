/* Which messages belong together, as a traced tape has it: both ends of a message have the same place, and no other message has it.
 * Random messages among up to three ranks on some communicators, of which every second counts the ranks the other way round: many tags,
 * any tag, messages to oneself, all begun in one order and waited for in another. The standard says who matches whom: messages
 * between two ranks do not overtake, so that the n-th of a tag meets the n-th. Gradients tell that the values went there, too. */
#include "tests/diff_world.h"

enum { RANKS = 3, MESSAGES = 24, COMMS = 5, TAGS = 9, PROGRAMS = 80 };

static struct message {
    int from, to, comm, tag; /* ranks of the world */
    bool any;                /* the receive takes any tag */
} messages[MESSAGES];
static int ranks, turns[RANKS][2 * MESSAGES];
static double brought[MESSAGES], gradients[MESSAGES];

static double weight_of(int m)
{
    return 1 + 0.5 * m;
}

static void draw(uint64_t seed)
{
    uint64_t dice = seed * 31 + 7;
    ranks = 1 + (int)dice_below(&dice, RANKS);
    uint32_t tags = 1 + dice_below(&dice, TAGS);
    for (int m = 0; m < MESSAGES; m++)
        messages[m] = (struct message){.from = (int)dice_below(&dice, (uint32_t)ranks),
                                       .to = (int)dice_below(&dice, (uint32_t)ranks),
                                       .comm = (int)dice_below(&dice, COMMS),
                                       .tag = (int)dice_below(&dice, tags),
                                       .any = dice_below(&dice, 4) == 0};
    for (int r = 0; r < ranks; r++)
        for (int i = 0; i < 2 * MESSAGES; i++) {
            int k = (int)dice_below(&dice, (uint32_t)i + 1);
            turns[r][i] = turns[r][k];
            turns[r][k] = i;
        }
}

static int rank_in(int comm, int rank)
{
    return comm % 2 ? ranks - 1 - rank : rank;
}

static void program(void)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct diff_tensor *x[MESSAGES] = {NULL}, *handles[2 * MESSAGES] = {NULL}, *loss = NULL, *got;
    MPI_Comm comms[COMMS] = {MPI_COMM_WORLD};
    for (int c = 1; c < COMMS; c++) {
        MPI_Comm_split(MPI_COMM_WORLD, 0, rank_in(c, rank), &comms[c]);
        diff_comm_register(tape, comms[c]);
    }
    for (int m = 0; m < MESSAGES; m++) {
        const struct message *at = &messages[m];
        MPI_Comm comm = comms[at->comm];
        if (at->to == rank)
            handles[2 * m] =
                diff_irecv(diff_leaf(tape, DIFF_DOUBLE, 1, (size_t[]){1}, (double[]){0}),
                           rank_in(at->comm, at->from), at->any ? MPI_ANY_TAG : at->tag, comm);
        if (at->from != rank)
            continue;
        x[m] = diff_leaf(tape, DIFF_DOUBLE, 1, (size_t[]){1}, (double[]){m});
        handles[2 * m + 1] = diff_isend(x[m], rank_in(at->comm, at->to), at->tag, comm);
    }
    for (int i = 0; i < 2 * MESSAGES; i++) {
        int which = turns[rank][i];
        if (!handles[which])
            continue;
        got = diff_wait(handles[which]);
        if (which % 2)
            continue;
        brought[which / 2] = diff_scalar(got);
        got = diff_scale(got, weight_of(which / 2));
        loss = loss ? diff_add(loss, got) : got;
    }
    if (loss)
        diff_backward(loss);
    else
        diff_backward_none(tape);
    for (int m = 0; m < MESSAGES; m++)
        if (x[m])
            gradients[m] = *(const double *)diff_gradient(x[m]);
    diff_tape_free(tape);
    for (int c = 1; c < COMMS; c++)
        MPI_Comm_free(&comms[c]);
}

static unsigned ordinal_of(int m)
{
    unsigned before = 0;
    for (int i = 0; i < m; i++)
        before += messages[i].from == messages[m].from && messages[i].to == messages[m].to &&
                  messages[i].comm == messages[m].comm && messages[i].tag == messages[m].tag;
    return before;
}

/* The number-th node of that name on the rank. */
static const struct probe_node *node_of(const struct diff_probe *probe, int rank, const char *name,
                                        int number)
{
    for (size_t i = 0; i < probe->rows[rank].node_count; i++)
        if (strcmp(probe->rows[rank].nodes[i].name, name) == 0 && number-- == 0)
            return &probe->rows[rank].nodes[i];
    return NULL;
}

static const char *end_difference(const struct diff_probe *probe, int m, bool receives,
                                  uint64_t channels[COMMS])
{
    const struct message *at = &messages[m];
    int rank = receives ? at->to : at->from, number = 0;
    for (int i = 0; i < m; i++)
        number += (receives ? messages[i].to : messages[i].from) == rank;
    const struct probe_node *node = node_of(probe, rank, receives ? "Irecv" : "Isend", number);
    if (!node)
        return "a node is missing";
    const struct probe_place *place = &node->places[0];
    if (!place->channel || node->places[1].channel)
        return "it is on no channel, or on two";
    if (!channels[at->comm])
        channels[at->comm] = place->channel;
    for (int c = 0; c < COMMS; c++)
        if ((place->channel == channels[c]) != (c == at->comm))
            return "the channel";
    if (place->source != at->from || place->target != at->to || place->tag != at->tag)
        return "the ends, or the tag";
    return place->ordinal == ordinal_of(m) ? NULL : "the place among those of its kind";
}

static const char *difference_of(const struct diff_probe *probe)
{
    uint64_t channels[COMMS] = {0};
    for (int m = 0; m < MESSAGES; m++) {
        const char *difference = end_difference(probe, m, false, channels);
        if (!difference)
            difference = end_difference(probe, m, true, channels);
        if (difference)
            return difference;
        if (brought[m] != m || gradients[m] != weight_of(m))
            return "a value, or its gradient";
    }
    return "";
}

int main(void)
{
    for (uint64_t seed = 0; seed < PROGRAMS; seed++) {
        struct diff_probe probe;
        if (!dice_takes(seed))
            continue;
        draw(seed);
        diff_probe_init(&probe, ranks);
        probe.trace = true;
        struct diff_world world = {ranks, program, SIM_SEND_EAGER, 0};
        int outcome = diff_world_run(&world, &probe, 0);
        tap_is_str(outcome == OUTCOME_FINISHED ? difference_of(&probe) : "it does not finish", "",
                   "program %d: %d ranks", (int)seed, ranks);
        diff_probe_release(&probe);
    }
    return tap_done();
}

/* A witness that is run for real: how the run is steered, and whether it shows what the finding says. Random traces, orders, choices and
 * loops with left out iterations, held against the rules said plainly: loops are written out, operations have a name of rank, node and
 * place in the node. */
#include "checker/explore/rerun.h"

#include "checker/places.h"
#include "tests/checker/check_program.h"
#include "tests/dice.h"

#include <math.h>
#include <mpix.h>

enum { RANKS = 3, MOST = 10, TOTAL = RANKS * MOST, WRITTEN_OUT = 400, CALLS = 8, NODES = 4 };

static uint64_t dice;

static uint32_t below(uint32_t n)
{
    return dice_below(&dice, n);
}

static void shuffle(uint32_t *numbers, uint32_t n)
{
    for (uint32_t i = n; i > 1; i--) {
        uint32_t k = below(i), kept = numbers[i - 1];
        numbers[i - 1] = numbers[k];
        numbers[k] = kept;
    }
}

/* ---- random traces ---- */

struct sample {
    struct program program;
    uint32_t ids[TOTAL]; /* of each operation's node, 0: none */
    bool posts[TOTAL];   /* a receive that has a number */
    int wanted[TOTAL];   /* whom it took from, or shall; -1: from anybody */
    uint32_t begin[RANKS + 1];
};

/* Nodes come in an order of their own; a trace may lack some of them. */
static void add_nodes(struct program *program, uint32_t nodes[RANKS][NODES + 1])
{
    for (uint32_t rank = 0; rank < program->trace->ranks; rank++) {
        uint32_t ids[NODES];
        for (uint32_t i = 0; i < NODES; i++)
            ids[i] = i + 1;
        shuffle(ids, NODES);
        nodes[rank][0] = TRACE_NO;
        for (uint32_t i = 0; i < NODES; i++) {
            struct trace_node node = {.rank = rank,
                                      .id = ids[i],
                                      .kind = OP_COMPUTE,
                                      .state = STATE_COMPLETE,
                                      .forward = TRACE_NO,
                                      .site = TRACE_NO,
                                      .name = TRACE_NO};
            nodes[rank][ids[i]] = trace_add_node(program->trace, &node);
        }
    }
}

/* Where it is `changed`, some operations are missing, and some are of another kind. */
static void sample_make(struct sample *sample, uint32_t ranks, const uint8_t *kinds, uint32_t count,
                        bool changed)
{
    uint32_t nodes[RANKS][NODES + 1], all = 0;
    uint64_t changes = dice + 1;
    struct program *program = &sample->program;
    *program = program_new(ranks);
    struct trace *trace = program->trace;
    uint32_t copy = program_comm(program, ranks, (int32_t[]){0, 1, 2});
    add_nodes(program, nodes);
    for (uint32_t rank = 0; rank < ranks; rank++) {
        uint32_t seq[2] = {0, 0};
        sample->begin[rank] = all;
        for (uint32_t left = 1 + below(MOST); left > 0; left--) {
            uint8_t kind = kinds[below(count)];
            uint32_t change = changed ? dice_below(&changes, 20) : 20;
            kind = change == 1 ? kinds[dice_below(&changes, count)] : kind;
            struct trace_plain_op op = program_op(program, rank, kind, 1 + (int)below(3));
            uint32_t node = below(NODES + 1), which = below(2);
            op.node = nodes[rank][node];
            op.comm = which ? copy : program->world;
            op.peer = below(2) ? TRACE_ANY : (int)below(ranks);
            op.tag = 0;
            if (change == 0)
                continue;
            if (op_kind_class(kind) == CLASS_COLLECTIVE) {
                op.comm_seq = seq[which]++;
                op.peer = TRACE_NONE;
            }
            sample->ids[all] = node;
            sample->posts[all++] = kind == OP_RECV || kind == OP_IRECV;
            trace_add_op(trace, &op);
        }
    }
    sample->begin[ranks] = all;
    program_finish(program);
    for (uint32_t i = 0; i < all; i++) {
        const struct trace_op *op = &trace->ops[i];
        int took = below(3) ? (int)below(ranks) : TRACE_NONE;
        trace_op_set_matched(trace, i, took, 0);
        sample->wanted[i] = op->peer == TRACE_ANY && took >= 0 ? took : -1;
    }
}

/* ---- steering ---- */

struct wish {
    int source; /* -1: none */
    bool chosen;
};

struct steered {
    struct wish wishes[RANKS][WRITTEN_OUT]; /* of receives, all iterations written out */
    uint32_t count[RANKS], order[TOTAL], choice_count;
    struct plan_choice choices[TOTAL];
    struct trace_fold folds[TOTAL];
    bool folded;
};

static void choose_some(struct steered *steered, struct sample *sample, uint32_t ranks)
{
    for (uint32_t i = 0; i < sample->begin[ranks]; i++)
        if (sample->posts[i] && below(3) == 0)
            steered->choices[steered->choice_count++] = (struct plan_choice){i, below(ranks)};
}

/* Loops behind each other; of the last iteration all operations are there. */
static void fold_some(struct steered *steered, struct trace *trace, const struct sample *sample)
{
    for (uint32_t rank = 0; rank < trace->ranks; rank++)
        for (uint32_t at = sample->begin[rank]; at < sample->begin[rank + 1];) {
            uint32_t body = 1 + below(4), end = at + body;
            if (end <= sample->begin[rank + 1] && below(2)) {
                struct trace_fold fold = {.op = end - 1, .body = body, .times = 1 + below(4)};
                trace_add_fold(trace, &fold);
                steered->folds[end - 1] = fold;
                at = end;
            } else {
                at++;
            }
        }
}

static struct wish wish_of(const struct steered *steered, const struct sample *sample, uint32_t op)
{
    for (uint32_t i = 0; i < steered->choice_count; i++)
        if (steered->choices[i].receive == op)
            return (struct wish){(int)steered->choices[i].source, true};
    return (struct wish){sample->wanted[op], false};
}

static void write_out(struct steered *steered, const struct sample *sample, uint32_t rank)
{
    for (uint32_t at = sample->begin[rank]; at < sample->begin[rank + 1]; at++) {
        const struct trace_fold *fold = &steered->folds[steered->order[at]];
        uint32_t *count = &steered->count[rank];
        if (sample->posts[steered->order[at]])
            steered->wishes[rank][(*count)++] = wish_of(steered, sample, steered->order[at]);
        for (uint64_t times = fold->times; times > 0; times--)
            for (uint32_t op = at + 1 - fold->body; op <= at; op++)
                if (sample->posts[op])
                    steered->wishes[rank][(*count)++] =
                        (struct wish){wish_of(steered, sample, op).source, false};
    }
}

/* A receive that was chosen for is the best one to serve, then one that takes as it took, then what
 * nobody wants otherwise, last what takes a message from the wrong one. */
static int worth(const struct steered *steered, const struct sim_alternative *one)
{
    if (one->taker != SIM_TAKER_RECEIVE || one->object >= steered->count[one->rank])
        return 1;
    struct wish wish = steered->wishes[one->rank][one->object];
    return wish.source < 0 ? 1 : wish.source != (int)one->source ? 0 : wish.chosen ? 3 : 2;
}

static bool wildcards_right(const struct sim_world_options *options, const struct steered *steered,
                            uint32_t ranks)
{
    struct sim_alternative some[5];
    uint32_t n = 1 + below(5), best = 0, rank = below(ranks);
    uint32_t more = steered->folded ? 0 : 2; /* the rounds of the last loop may be more */
    for (uint32_t i = 0; i < n; i++) {
        uint32_t of = below(4) ? rank : below(ranks);
        uint32_t objects = steered->count[of] + more;
        some[i] = (struct sim_alternative){.rank = of,
                                           .object = objects ? below(objects) : 0,
                                           .source = below(ranks),
                                           .number = below(3),
                                           .taker = below(5) ? SIM_TAKER_RECEIVE : SIM_TAKER_PROBE};
        if (worth(steered, &some[i]) > worth(steered, &some[best]))
            best = i;
    }
    return options->guide(options->guide_context, MPIX_CHOOSE_WILDCARD, rank, n, some) == best;
}

/* The place of a node among the nodes, in the order of the witness; what is in none comes first, what
 * is not known last. */
static uint32_t turn_of(const struct steered *steered, const struct sample *sample, uint32_t rank,
                        uint32_t id)
{
    if (id == 0)
        return 0;
    for (uint32_t at = sample->begin[rank]; at < sample->begin[rank + 1]; at++)
        if (sample->ids[steered->order[at]] == id)
            return at + 1;
    return UINT32_MAX;
}

static bool nodes_right(const struct sim_world_options *options, const struct steered *steered,
                        const struct sample *sample, uint32_t ranks)
{
    struct sim_alternative some[5] = {{0}};
    uint32_t ids[2 * NODES + 4], n = 1 + below(5), best = 0, rank = below(ranks);
    for (uint32_t i = 0; i < 2 * NODES + 4; i++)
        ids[i] = i;
    shuffle(ids, 2 * NODES + 4);
    for (uint32_t i = 0; i < n; i++) {
        some[i].rank = rank;
        some[i].object = ids[i];
        if (turn_of(steered, sample, rank, ids[i]) < turn_of(steered, sample, rank, ids[best]))
            best = i;
    }
    return options->guide(options->guide_context, MPIX_CHOOSE_READY, rank, n, some) == best;
}

static bool options_right(const struct sim_world_options *options, enum check_model model,
                          const struct sample *sample)
{
    static const enum sim_send_model sends[] = {[CHECK_EAGER] = SIM_SEND_EAGER,
                                                [CHECK_RENDEZVOUS] = SIM_SEND_RENDEZVOUS,
                                                [CHECK_BATCH] = SIM_SEND_BATCH};
    bool any = false;
    for (uint32_t i = 0; i < sample->program.trace->op_count; i++)
        any = any || (sample->posts[i] && sample->program.trace->ops[i].peer == TRACE_ANY);
    return options->driver == SIM_CHOOSE_GUIDED && !options->choose_run &&
           options->strict_collectives && options->eager_limit == SIZE_MAX &&
           options->delay_wildcards == any && options->send_model == sends[model];
}

static int steers(uint64_t seed)
{
    static const uint8_t kinds[] = {OP_RECV,  OP_IRECV, OP_RECV, OP_MRECV,  OP_IMRECV,
                                    OP_ISEND, OP_PROBE, OP_SEND, OP_BARRIER};
    static const enum check_model models[] = {CHECK_EAGER, CHECK_RENDEZVOUS, CHECK_BATCH};
    struct sample sample;
    struct steered steered = {0};
    struct sim_world_options options;
    struct check_rerun rerun;
    int wrong = 0;
    dice = seed;
    uint32_t ranks = 1 + below(RANKS), few = below(3) ? sizeof kinds : 6;
    sample_make(&sample, ranks, few == 6 ? kinds + 3 : kinds, few, false);
    struct trace *trace = sample.program.trace;
    struct check_witness witness = {.model = models[below(3)], .choices = steered.choices};
    for (uint32_t i = 0; i < sample.begin[ranks]; i++)
        steered.order[i] = i;
    if (below(2)) {
        steered.folded = true;
        fold_some(&steered, trace, &sample);
    } else if (below(4)) {
        witness.order = steered.order;
        for (uint32_t rank = 0; rank < ranks; rank++)
            shuffle(steered.order + sample.begin[rank],
                    sample.begin[rank + 1] - sample.begin[rank]);
    }
    choose_some(&steered, &sample, ranks);
    witness.choice_count = steered.choice_count;
    for (uint32_t rank = 0; rank < ranks; rank++)
        write_out(&steered, &sample, rank);
    sim_world_options_init(&options);
    options.choose_run = true;
    options.delay_wildcards = below(2);
    check_rerun_init(&rerun, trace, &witness);
    check_rerun_world(&rerun, &witness, &options);
    wrong += !options_right(&options, witness.model, &sample);
    for (int i = 0; i < CALLS; i++) {
        wrong += !wildcards_right(&options, &steered, ranks);
        wrong += !nodes_right(&options, &steered, &sample, ranks);
    }
    struct sim_alternative two[2] = {{.object = 1}, {.object = 0}};
    wrong += options.guide(options.guide_context, MPIX_CHOOSE_WILDCARD, 0, 2, NULL) != 0;
    wrong += options.guide(options.guide_context, MPIX_CHOOSE_READY, 0, 2, NULL) != 0;
    wrong += options.guide(options.guide_context, MPIX_CHOOSE_READY, 0, 2, two) != 1;
    wrong += options.guide(options.guide_context, MPIX_CHOOSE_OTHER, 0, 2, two) != 0;
    check_rerun_release(&rerun);
    check_rerun_release(&rerun); /* nothing is left to give back */
    wrong += rerun.ranks || rerun.trace;
    trace_free(trace);
    return wrong;
}

/* ---- what came of it ---- */

/* Rank, node and place in the node: a run that is steered otherwise gives an operation the same. */
static void name_of(const struct sample *sample, uint32_t op, char name[40])
{
    uint32_t rank = 0, place = 0;
    while (op >= sample->begin[rank + 1])
        rank++;
    for (uint32_t i = sample->begin[rank]; i < op; i++)
        place += sample->ids[i] == sample->ids[op];
    snprintf(name, 40, "%u %u %u %s", rank, sample->ids[op], place,
             op_kind_name(sample->program.trace->ops[op].kind));
}

static uint32_t named(const struct sample *sample, const char *name)
{
    char other[40];
    for (uint32_t i = 0; i < sample->program.trace->op_count; i++) {
        name_of(sample, i, other);
        if (strcmp(name, other) == 0)
            return i;
    }
    return TRACE_NO;
}

/* Whom it meets in the other run, and did not meet in this one. */
static uint32_t new_partner(const struct sample *one, const struct sample *again, uint32_t op,
                            uint32_t mine)
{
    const struct trace_op *ops = one->program.trace->ops, *others = again->program.trace->ops;
    bool collective = op_kind_class(ops[op].kind) == CLASS_COLLECTIVE;
    char name[40];
    for (uint32_t i = 0; i < again->program.trace->op_count; i++) {
        if (collective ? op_kind_class(others[i].kind) != CLASS_COLLECTIVE ||
                             others[i].rank == ops[op].rank ||
                             others[i].form->comm != others[mine].form->comm ||
                             others[i].comm_seq != others[mine].comm_seq
                       : others[mine].match != i)
            continue;
        name_of(again, i, name);
        uint32_t before = named(one, name);
        if (before != TRACE_NO &&
            (collective ? ops[before].comm_seq != ops[op].comm_seq : ops[op].match != before))
            return i;
    }
    return TRACE_NO;
}

static bool crosses(const struct sample *one, const struct sample *again,
                    const struct finding *finding, char *text, size_t size)
{
    for (size_t i = 0; i < finding->op_count; i++) {
        uint32_t op = finding->ops[i].op;
        char name[40], first[PLACE_TEXT], second[PLACE_TEXT];
        if (op == TRACE_NO || strcmp(finding->ops[i].role, "culprit") != 0)
            continue;
        name_of(one, op, name);
        uint32_t mine = named(again, name);
        uint32_t met = mine == TRACE_NO ? TRACE_NO : new_partner(one, again, op, mine);
        if (met == TRACE_NO)
            continue;
        snprintf(text, size, "%s met %s",
                 check_place(again->program.trace, mine, first, sizeof first),
                 check_place(again->program.trace, met, second, sizeof second));
        return true;
    }
    return false;
}

static bool same_place(const struct trace_op *one, const struct trace_op *other,
                       const struct sample *a, const struct sample *b)
{
    return one->kind == other->kind && a->program.trace->sites[one->form->site].line ==
                                           b->program.trace->sites[other->form->site].line;
}

static bool hangs(const struct sample *one, const struct sample *again,
                  const struct finding *finding, char *text, size_t size)
{
    const struct trace *trace = again->program.trace;
    bool shown = false, all = true;
    char place[PLACE_TEXT];
    for (size_t i = 0; i < finding->op_count; i++) {
        uint32_t op = finding->ops[i].op;
        if (op == TRACE_NO || strcmp(finding->ops[i].role, "core") != 0)
            continue;
        uint32_t rank = one->program.trace->ops[op].rank, last = TRACE_NO;
        for (uint32_t at = again->begin[rank]; at < again->begin[rank + 1]; at++)
            if (trace->ops[at].state == STATE_BLOCKED)
                last = at;
        all = all && last != TRACE_NO;
        if (last != TRACE_NO &&
            same_place(&one->program.trace->ops[op], &trace->ops[last], one, again)) {
            shown = true;
            snprintf(text, size, "it hung, %s standing",
                     check_place(trace, last, place, sizeof place));
        }
    }
    return shown && all &&
           (trace->outcome == OUTCOME_DEADLOCK || trace->outcome == OUTCOME_LIVELOCK);
}

/* Any two operations may be partners here, and any may stand. */
static void join_some(struct sample *sample, bool changed)
{
    uint64_t changes = dice + 1;
    struct trace *trace = sample->program.trace;
    static const enum trace_outcome outcomes[] = {
        OUTCOME_DEADLOCK, OUTCOME_LIVELOCK, OUTCOME_DEADLOCK, OUTCOME_FINISHED, OUTCOME_ABORTED};
    trace->outcome = outcomes[below(5)];
    for (uint32_t i = 0; i < trace->op_count; i++) {
        bool collective = op_kind_class(trace->ops[i].kind) == CLASS_COLLECTIVE;
        uint32_t other = below((uint32_t)trace->op_count);
        if (changed && dice_below(&changes, 4) == 0)
            other = dice_below(&changes, (uint32_t)trace->op_count);
        trace->ops[i].match = collective || other == i || below(4) == 0 ? TRACE_NO : other;
        trace->ops[i].state = below(3) ? STATE_COMPLETE : STATE_BLOCKED;
    }
}

static int shows(uint64_t seed, int *seen)
{
    static const uint8_t kinds[] = {OP_SEND, OP_RECV, OP_ALLREDUCE, OP_BARRIER};
    static const char *const roles[] = {"culprit", "core", "core", "partner"};
    struct sample one, again;
    struct findings findings;
    struct check_witness witness = {.code = "R001"};
    char expected[2 * PLACE_TEXT + 20] = "", before[] = "?", *text = before;
    dice = seed + 1000000;
    sample_make(&one, RANKS, kinds, 4, false);
    join_some(&one, false);
    dice = seed + 1000000;
    bool fewer = seed % 5 == 0, crossing = seed % 2 == 0;
    sample_make(&again, fewer ? 2 : RANKS, kinds, 4, true);
    join_some(&again, true);
    findings_init(&findings);
    struct finding *finding = findings_add(&findings, crossing ? "R001" : "D002", "?");
    for (uint32_t count = below(5); count > 0; count--) {
        uint32_t op = below(6) ? below(one.begin[fewer && !crossing ? 2 : RANKS]) : TRACE_NO;
        finding_op_add(finding, op, roles[below(4)]);
    }
    bool right = crossing ? crosses(&one, &again, finding, expected, sizeof expected)
                          : hangs(&one, &again, finding, expected, sizeof expected);
    bool got = check_rerun_shows(one.program.trace, finding, &witness, again.program.trace, &text);
    bool wrong = got != right || (got ? !text || strcmp(text, expected) != 0 : text != NULL);
    if (wrong)
        tap_note("seed %llu: '%s', not '%s'", (unsigned long long)seed, text ? text : "nothing",
                 right ? expected : "nothing");
    seen[2 * crossing + right]++;
    free(text);
    findings_release(&findings);
    trace_free(one.program.trace);
    trace_free(again.program.trace);
    return wrong;
}

/* A receive of rank 0 behind a loop: `kept` of its `all` iterations are in the trace. */
static struct program race_behind(uint32_t kept, uint32_t all, int peer, int took)
{
    struct program program = program_new(RANKS);
    for (uint32_t i = 0; i < kept; i++) {
        program_p2p(&program, 0, OP_SEND, 0, 1, 1);
        program_p2p(&program, 0, OP_RECV, 0, 1, 2);
    }
    program_p2p(&program, 0, OP_RECV, peer, 0, 3);
    program_p2p(&program, 1, OP_SEND, 0, 0, 4);
    program_p2p(&program, 2, OP_SEND, 0, 0, 4);
    program_finish(&program);
    if (kept < all)
        trace_add_fold(program.trace, &(struct trace_fold){2 * kept - 1, 2, all - kept, 0});
    trace_op_set_matched(program.trace, 2 * kept, took, 0);
    return program;
}

static void races(void)
{
    static const struct {
        const char *code;
        enum trace_outcome outcome;
        double before, now;
        int peer, took;
        uint32_t all;
        const char *says; /* NULL: it shows nothing */
    } rows[] = {
        {"R003", OUTCOME_DEADLOCK, 1, 1, TRACE_ANY, 2, 7, "with the other message first it hangs"},
        {"R003", OUTCOME_LIVELOCK, 1, 1, TRACE_ANY, 2, 7, "with the other message first it hangs"},
        {"R003", OUTCOME_ABORTED, 1, 1, TRACE_ANY, 2, 7,
         "with the other message first it does not finish"},
        {"R003", OUTCOME_CRASHED, 1, 2, TRACE_ANY, 2, 7,
         "with the other message first it does not finish"},
        {"R003", OUTCOME_FINISHED, 1, 2.5, TRACE_ANY, 2, 7,
         "with the other message first the objective is 2.5 instead of 1"},
        {"R003", OUTCOME_FINISHED, 1, NAN, TRACE_ANY, 2, 7,
         "with the other message first the objective is nan instead of 1"},
        {"R003", OUTCOME_FINISHED, 3, 3, TRACE_ANY, 2, 7,
         "with the other message first the objective is the same; that is one other order, "
         "'simrun explore' judges all of them"},
        {"R003", OUTCOME_FINISHED, NAN, NAN, TRACE_ANY, 2, 7,
         "with the other message first it finishes, too; that is one other order, 'simrun explore' "
         "judges all of them"},
        {"R003", OUTCOME_FINISHED, NAN, 2, TRACE_ANY, 2, 7,
         "with the other message first the objective is 2 instead of nan"},
        {"R003", OUTCOME_DEADLOCK, 1, 1, TRACE_ANY, 2, 8, NULL}, /* there the loop is longer */
        {"R003", OUTCOME_DEADLOCK, 1, 1, TRACE_ANY, 2, 3, NULL}, /* it is not so long */
        {"R003", OUTCOME_DEADLOCK, 1, 1, TRACE_ANY, 1, 7, NULL}, /* the same message */
        {"R003", OUTCOME_DEADLOCK, 1, 1, 2, 2, 7, NULL},         /* no wildcard */
        {"R003", OUTCOME_DEADLOCK, 1, 1, TRACE_ANY, TRACE_NONE, 7, NULL},
        {"D002", OUTCOME_DEADLOCK, 1, 1, TRACE_ANY, 2, 7, "with the other message first it hangs"},
        {"D002", OUTCOME_LIVELOCK, 1, 1, TRACE_ANY, 2, 7, "with the other message first it hangs"},
        {"D002", OUTCOME_FINISHED, 1, 2, TRACE_ANY, 2, 7, NULL},
        {"D002", OUTCOME_ABORTED, 1, 1, TRACE_ANY, 2, 7, NULL},
        {"B003", OUTCOME_FINISHED, 1, 2, TRACE_ANY, 2, 7,
         "with the other message first the objective is 2 instead of 1"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t choices = 0; choices < 2; choices++) {
            struct program one = race_behind(2, 7, TRACE_ANY, 1);
            struct program again =
                race_behind(rows[i].all, rows[i].all, rows[i].peer, rows[i].took);
            struct plan_choice choice = {4, 2};
            struct check_witness witness = {
                .code = "R003", .choices = &choice, .choice_count = choices};
            struct findings findings;
            char before[] = "?", *text = before;
            one.trace->objective = rows[i].before;
            again.trace->objective = rows[i].now;
            again.trace->outcome = rows[i].outcome;
            findings_init(&findings);
            struct finding *finding = findings_add(&findings, rows[i].code, "?");
            bool got = check_rerun_shows(one.trace, finding, &witness, again.trace, &text);
            tap_is_str(text, choices ? rows[i].says : NULL, "race %zu with %zu choices", i,
                       choices);
            tap_is_int(got, text != NULL, "  and whether it shows it");
            free(text);
            findings_release(&findings);
            trace_free(one.trace);
            trace_free(again.trace);
        }
}

int main(void)
{
    struct dice_seeds seeds = dice_seeds(4000);
    int wrong = 0, seen[4] = {0};
    for (unsigned long long i = 0; i < seeds.count; i++) {
        int here = steers(seeds.first + i);
        if (here && !wrong)
            tap_note("seed %llu", seeds.first + i);
        wrong += here;
    }
    tap_is_int(wrong, 0, "a run is steered as its witness says");
    wrong = 0;
    for (unsigned long long i = 0; i < seeds.count; i++)
        wrong += shows(seeds.first + i, seen);
    tap_is_int(wrong, 0, "a run shows who met somebody else, or who stands where it was said");
    if (dice_usual() && dice_part().of == 1)
        for (int i = 0; i < 4; i++)
            tap_ok(seen[i] > 50, "%s of them %s (%d)", i < 2 ? "hangs" : "crossings",
                   i % 2 ? "are shown" : "are not", seen[i]);
    races();
    return tap_done();
}

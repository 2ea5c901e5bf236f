/* Buffers of operations under way, of random calls of two ranks: sends, receives, collectives of one group or of two, partitioned receives,
 * starts that are waited for or freed. Two calls meet where the earlier one is a start that is not complete, they share a byte and one of them
 * writes; what a call does with its buffer is in a table, by the standard's sentence. Here each call is compared with each before it. */
#include "checker/places.h"
#include "checker/properties.h"
#include "tests/change_op.h"
#include "tests/checker/check_program.h"
#include "tests/dice.h"

#include <string.h>

enum root { NO_ROOT, MINE, ANOTHER, NOBODY };
enum touch { NOT, READS, WRITES };

/* Of two groups: the member that gives MPI_ROOT has the root's buffer of the call alone; who gives MPI_PROC_NULL takes no part, and MPI looks
 * at none of its buffers (6.2.2). An exclusive scan has no result on the first member, whose receive buffer is not significant (6.11.2); in
 * place, what the first gives is there. */
static const struct {
    enum op_kind kind;
    enum root root;
    bool across, in_place, first, in_pieces;
    enum touch touch;
} uses[] = {
    {OP_ISEND, NO_ROOT, false, false, false, false, READS},
    {OP_SEND, NO_ROOT, false, false, false, false, READS},
    {OP_ISSEND, NO_ROOT, false, false, false, false, READS},
    {OP_IRECV, NO_ROOT, false, false, false, false, WRITES},
    {OP_RECV, NO_ROOT, false, false, false, false, WRITES},
    {OP_IRECV, NO_ROOT, false, false, false, true, WRITES},
    {OP_ISSEND, NO_ROOT, false, false, false, true, READS}, /* all its parts are ready */
    {OP_BCAST, MINE, false, false, false, false, READS},
    {OP_BCAST, ANOTHER, false, false, false, false, WRITES},
    {OP_BCAST, MINE, true, false, false, false, READS},
    {OP_BCAST, ANOTHER, true, false, false, false, WRITES},
    {OP_BCAST, NOBODY, true, false, false, false, NOT},
    {OP_REDUCE, MINE, true, false, false, false, WRITES},
    {OP_REDUCE, ANOTHER, true, false, false, false, READS},
    {OP_REDUCE, NOBODY, true, false, false, false, NOT},
    {OP_GATHER, MINE, true, false, false, false, WRITES},
    {OP_GATHER, ANOTHER, false, false, false, false, READS},
    {OP_GATHER, NOBODY, true, false, false, false, NOT},
    {OP_GATHERV, NOBODY, true, false, false, false, NOT},
    {OP_SCATTER, MINE, false, true, false, false, READS},
    {OP_SCATTER, MINE, false, false, false, false, WRITES},
    {OP_SCATTER, MINE, true, false, false, false, NOT},
    {OP_SCATTER, ANOTHER, true, false, false, false, WRITES},
    {OP_SCATTER, NOBODY, true, false, false, false, NOT},
    {OP_SCATTERV, MINE, true, false, false, false, NOT},
    {OP_SCATTERV, ANOTHER, false, false, false, false, WRITES},
    {OP_EXSCAN, NO_ROOT, false, false, true, false, NOT},
    {OP_EXSCAN, NO_ROOT, false, true, true, false, READS},
    {OP_EXSCAN, NO_ROOT, false, false, false, false, WRITES},
    {OP_EXSCAN, NO_ROOT, false, true, false, false, WRITES},
    {OP_SCAN, NO_ROOT, false, false, true, false, WRITES},
    {OP_ALLREDUCE, NO_ROOT, true, false, false, false, WRITES},
    {OP_ALLGATHER, NO_ROOT, false, false, true, false, WRITES},
};
enum { USES = sizeof uses / sizeof *uses, CALLS_MAX = 80, PARTNERS = 16 };

/* Other calls, and whether one that has returned may have told the rank of what others did. */
static const struct {
    enum op_kind kind;
    bool tells;
} others[] = {
    {OP_PROBE, true},   {OP_BARRIER, true},  {OP_SSEND, true},
    {OP_SEND, false},   {OP_BSEND, false},   {OP_WIN_UNLOCK, true},
    {OP_CANCEL, false}, {OP_COMPUTE, false}, {OP_RECV, false}, /* of nobody */
};
enum { OTHERS = sizeof others / sizeof *others };

struct call {
    uint32_t op, done, freed; /* the calls that completed it and freed its request, TRACE_NO */
    uint64_t begin, end;
    enum touch touch;
    int line;
    enum op_kind kind;
    bool starts, sends, in_pieces, tells, noted, changed, changed_noted, matched;
};

struct scene {
    struct program p;
    struct call calls[2 * CALLS_MAX];
    size_t count;
    uint32_t comms[2], lane; /* comms[first]: whether rank 0 or 1 is the first depends on it */
    bool imported, crowded;
};

struct meeting {
    size_t earlier, later;
};

static uint64_t dice;

static uint32_t below(uint32_t n)
{
    return dice_below(&dice, n);
}

static struct call *add(struct scene *scene, const struct trace_plain_op *op)
{
    struct call *call = &scene->calls[scene->count++];
    *call = (struct call){.op = trace_add_op(scene->p.trace, op),
                          .done = TRACE_NO,
                          .freed = TRACE_NO,
                          .line = (int)op->site,
                          .kind = (enum op_kind)op->kind};
    return call;
}

static void add_use(struct scene *scene, uint32_t rank)
{
    size_t row = scene->crowded && below(2) ? 3 * below(2) : below(USES);
    struct trace_plain_op op =
        program_op(&scene->p, rank, uses[row].kind, 1 + (int)below(scene->crowded ? 1 : 6));
    bool directed = op_kind_class((int)uses[row].kind) != CLASS_COLLECTIVE,
         starts = !directed && below(4);
    int64_t count = below(4);
    uint64_t begin = 1000 + 8 * below(scene->crowded ? 2 : 12);
    op.peer = directed || uses[row].root == ANOTHER ? 1 - (int32_t)rank
              : uses[row].root == MINE              ? (int32_t)rank
                                                    : TRACE_NONE;
    op.tag = directed ? 100 + (int)scene->count : 0; /* nothing matches by itself */
    op.comm = uses[row].in_pieces ? scene->lane : scene->comms[uses[row].first ? rank : 1 - rank];
    if (directed && !uses[row].in_pieces && !below(16))
        op.comm = TRACE_NO; /* of a file that does not say it */
    op.count = count;
    op.place = trace_add_place(scene->p.trace, begin, 8 * (uint64_t)count);
    op.flags = (uint16_t)((starts ? OP_NONBLOCKING : 0) | (uses[row].across ? OP_INTERCOMM : 0) |
                          (uses[row].in_place ? OP_IN_PLACE : 0));
    struct call *call = add(scene, &op);
    call->begin = begin;
    call->end = begin + 8 * (uint64_t)count;
    call->touch = count ? uses[row].touch : NOT;
    call->starts = starts || uses[row].kind == OP_ISEND || uses[row].kind == OP_ISSEND ||
                   uses[row].kind == OP_IRECV;
    call->sends = op_kind_class((int)uses[row].kind) == CLASS_SEND;
    call->in_pieces = uses[row].in_pieces && !call->sends;
    call->tells = !call->starts && !call->sends;
}

/* One of the rank's starts that are under way, NULL for none. */
static struct call *open_start(struct scene *scene, size_t first)
{
    struct call *found = NULL;
    uint32_t seen = 0;
    for (size_t i = first; i < scene->count; i++)
        if (scene->calls[i].starts && scene->calls[i].done == TRACE_NO &&
            scene->calls[i].freed == TRACE_NO && !below(++seen))
            found = &scene->calls[i];
    return found;
}

static void add_other(struct scene *scene, uint32_t rank, size_t first)
{
    const struct call *start = open_start(scene, first);
    size_t row = below(OTHERS);
    struct trace_plain_op op = program_op(&scene->p, rank, others[row].kind, 9);
    op.peer = 1 - (int32_t)rank;
    op.tag = 100 + (int)scene->count;
    op.comm = scene->comms[0];
    if (others[row].kind == OP_RECV || others[row].kind == OP_BARRIER)
        op.peer = TRACE_NONE;
    if (others[row].kind == OP_CANCEL && start)
        op.request = start->op;
    add(scene, &op)->tells = others[row].tells;
}

static void add_wait(struct scene *scene, uint32_t rank, size_t first)
{
    struct call *one = open_start(scene, first), *other;
    uint32_t starts[2], wait;
    if (!one)
        return;
    starts[0] = one->op;
    one->done = 0;
    other = below(2) ? open_start(scene, first) : NULL;
    if (other)
        starts[1] = other->op;
    wait = other ? program_waitall(&scene->p, rank, starts, 2, 8)
                 : program_wait(&scene->p, rank, one->op, 8);
    one->done = wait;
    if (other)
        other->done = wait;
    scene->calls[scene->count++] = (struct call){.op = wait,
                                                 .done = TRACE_NO,
                                                 .freed = TRACE_NO,
                                                 .kind = other ? OP_WAITALL : OP_WAIT,
                                                 .tells = true};
}

static void add_free(struct scene *scene, uint32_t rank, size_t first)
{
    struct call *start = open_start(scene, first);
    struct trace_plain_op op = program_op(&scene->p, rank, OP_REQUEST_FREE, 7);
    op.comm = TRACE_NO;
    op.request = start ? start->op : TRACE_NO; /* an inactive one */
    struct call *call = add(scene, &op);
    if (start)
        start->freed = call->op;
}

static void note(struct scene *scene, const char *code, struct call *call)
{
    char text[] = "noted";
    struct trace_note note = {.op = call->op, .node = TRACE_NO, .site = TRACE_NO, .text = text};
    snprintf(note.code, sizeof note.code, "%s", code);
    trace_add_note(scene->p.trace, &note);
}

static void make(struct scene *scene)
{
    static const int32_t orders[2][2] = {{0, 1}, {1, 0}};
    *scene = (struct scene){.p = program_new(2), .imported = !below(3), .crowded = !below(4)};
    for (size_t i = 0; i < 2; i++)
        scene->comms[i] = program_comm(&scene->p, 2, orders[i]);
    snprintf(scene->p.trace->comms[scene->comms[1]].name, sizeof scene->p.trace->comms[0].name,
             "partitioned message");
    scene->lane = program_comm(&scene->p, 2, orders[0]);
    snprintf(scene->p.trace->comms[scene->lane].name, sizeof scene->p.trace->comms[0].name,
             "partitioned messages 1 of world");
    for (uint32_t rank = 0; rank < 2; rank++) {
        size_t first = scene->count, calls = 4 + below(CALLS_MAX - 8);
        uint32_t ends = 1 + below(6);
        while (scene->count < first + calls) {
            uint32_t what = below(12);
            if (what < 7)
                add_use(scene, rank);
            else if (what == 7)
                add_other(scene, rank, first);
            else if (what == 8)
                add_free(scene, rank, first);
            else if (!scene->crowded && !below(ends))
                add_wait(scene, rank, first);
        }
    }
    scene->p.trace->outcome = scene->imported ? OUTCOME_IMPORTED : OUTCOME_FINISHED;
    program_finish(&scene->p);
    for (size_t i = 0; i < scene->count; i++) {
        struct call *call = &scene->calls[i];
        call->matched = (call->sends || call->kind == OP_IRECV) && below(3);
        call->changed =
            call->sends && call->touch != NOT && below(2); /* only those are looked at */
        call->noted = !below(12);
        call->changed_noted = !below(12);
        if (call->matched)
            scene->p.trace->ops[call->op].match = 0; /* whoever */
        if (call->changed)
            scene->p.trace->ops[call->op].flags |= OP_BUFFER_CHANGED;
        if (call->noted)
            note(scene, "B002", call);
        if (call->changed_noted)
            note(scene, "B001", call);
    }
}

/* ---- the rule ---- */

static uint32_t rank_of(const struct scene *scene, size_t call)
{
    return scene->p.trace->ops[scene->calls[call].op].rank;
}

/* The earlier is freed and was received, and the rank may have heard of it: nobody can say. */
static bool is_unknown(const struct scene *scene, size_t earlier, size_t later)
{
    const struct call *a = &scene->calls[earlier], *b = &scene->calls[later];
    bool heard = false;
    for (size_t i = earlier + 1; i < later; i++)
        heard = heard || scene->calls[i].tells;
    return a->sends && a->matched && a->freed != TRACE_NO && a->freed < b->op && heard;
}

static bool may_meet(const struct scene *scene, size_t earlier, size_t later)
{
    const struct call *a = &scene->calls[earlier], *b = &scene->calls[later];
    return rank_of(scene, earlier) == rank_of(scene, later) && a->starts && a->touch != NOT &&
           b->touch != NOT && (a->touch == WRITES || b->touch == WRITES) && a->begin < b->end &&
           b->begin < a->end && (a->done == TRACE_NO || a->done > b->op) && !a->noted && !b->noted;
}

struct rule {
    struct meeting met[2 * CALLS_MAX * PARTNERS];
    size_t count;
    uint64_t unknown, in_pieces;
    bool cut; /* with one so many that others may have been left out */
};

static void judge(const struct scene *scene, struct rule *rule)
{
    *rule = (struct rule){.count = 0};
    for (size_t later = 0; later < scene->count; later++) {
        size_t before = rule->count;
        for (size_t earlier = 0; earlier < later; earlier++) {
            if (!may_meet(scene, earlier, later))
                continue;
            if (is_unknown(scene, earlier, later))
                rule->unknown++;
            else if (scene->calls[earlier].in_pieces)
                rule->in_pieces += scene->imported;
            else if (rule->count - before < PARTNERS)
                rule->met[rule->count++] = (struct meeting){earlier, later};
        }
        rule->cut = rule->cut || rule->count - before == PARTNERS;
    }
}

/* ---- what is said ---- */

static size_t lines_of(const char *text, const char *word)
{
    size_t lines = 0;
    for (; (text = strstr(text, word)); text++)
        lines++;
    return lines;
}

static size_t call_of(const struct scene *scene, uint32_t op)
{
    size_t i = 0;
    while (i < scene->count && scene->calls[i].op != op)
        i++;
    return i;
}

/* The places of the calls that have a property: kinds and lines. */
static size_t places(const struct scene *scene, const bool *has)
{
    size_t count = 0;
    for (size_t i = 0; i < scene->count; i++) {
        bool new = has[i];
        for (size_t j = 0; j < i && new; j++)
            new = !has[j] || scene->calls[j].line != scene->calls[i].line ||
                  scene->calls[j].kind != scene->calls[i].kind;
        count += new;
    }
    return count;
}

static bool is_told(const struct scene *scene, const struct rule *rule,
                    const struct finding *finding, size_t pair)
{
    size_t later = call_of(scene, finding->ops[pair].op),
           earlier = call_of(scene, finding->ops[pair + 1].op);
    for (size_t i = 0; i < rule->count && !rule->cut; i++)
        if (rule->met[i].later == later && rule->met[i].earlier == earlier)
            return !strcmp(finding->ops[pair].role, "culprit") &&
                   !strcmp(finding->ops[pair + 1].role, "partner");
    return rule->cut && may_meet(scene, earlier, later) && !is_unknown(scene, earlier, later) &&
           !scene->calls[earlier].in_pieces;
}

static bool overlaps_are_right(const struct scene *scene, const struct rule *rule,
                               const struct findings *findings)
{
    size_t pairs = 0, told = 0;
    bool later[2 * CALLS_MAX] = {false}, right = true;
    for (size_t i = 0; i < rule->count; i++)
        later[rule->met[i].later] = true;
    for (size_t f = 0; f < findings->count; f++) {
        const struct finding *finding = &findings->items[f];
        size_t all = finding->op_count / 2, most = PLACES_LISTED_MAX / 2;
        if (strcmp(finding->code, "B002") != 0)
            continue;
        told++;
        pairs += all;
        for (size_t k = 0; k + 1 < finding->op_count; k += 2)
            right = right && is_told(scene, rule, finding, k);
        bool writes = scene->calls[call_of(scene, finding->ops[0].op)].touch == WRITES;
        const char *end = strchr(finding->detail, '\n'),
                   *said = strstr(finding->detail,
                                  writes ? "the later one writes" : "the earlier one writes");
        right = right && said && said < end && finding->op_count % 2 == 0 &&
                lines_of(finding->detail, "was still under way") == (all < most ? all : most);
    }
    return right && pairs == rule->count && told == places(scene, later);
}

static bool changes_are_right(const struct scene *scene, const struct findings *findings)
{
    bool is[2 * CALLS_MAX] = {false}, right = true;
    size_t all = 0, told = 0, count = 0;
    for (size_t i = 0; i < scene->count; i++)
        count += is[i] = scene->calls[i].changed && !scene->calls[i].changed_noted;
    for (size_t f = 0; f < findings->count; f++) {
        const struct finding *finding = &findings->items[f];
        size_t completed = 0, listed = finding->op_count < PLACES_LISTED_MAX ? finding->op_count
                                                                             : PLACES_LISTED_MAX;
        if (strcmp(finding->code, "B001") != 0)
            continue;
        told++;
        all += finding->op_count;
        for (size_t k = 0; k < finding->op_count; k++) {
            size_t call = call_of(scene, finding->ops[k].op);
            right = right && is[call];
            completed += k < PLACES_LISTED_MAX && scene->calls[call].done != TRACE_NO;
        }
        right = right && lines_of(finding->detail, "\n") == listed &&
                lines_of(finding->detail, ", completed by Wait") == completed;
    }
    return right && all == count && told == places(scene, is);
}

static uint64_t gap_of(const struct trace *trace, const char *words)
{
    const struct coverage *coverage = trace_coverage(trace);
    for (size_t i = 0; coverage && i < coverage->count; i++)
        if (!strcmp(coverage->gaps[i].check, "buffers") && strstr(coverage->gaps[i].text, words))
            return coverage->gaps[i].count;
    return 0;
}

int main(void)
{
    static struct scene scene;
    static struct rule rule;
    struct dice_seeds seeds = dice_seeds(1200);
    unsigned wrong[4] = {0};
    uint64_t met = 0, unknown = 0, in_pieces = 0, cut = 0;
    for (unsigned long long seed = seeds.first; seed < seeds.first + seeds.count; seed++) {
        struct check_options options;
        struct check_context context;
        struct findings findings;
        dice = seed;
        make(&scene);
        judge(&scene, &rule);
        check_options_init(&options);
        findings_init(&findings);
        check_context_init(&context, scene.p.trace, &options);
        check_buffers(&context, &findings);
        const bool bad[4] = {
            !overlaps_are_right(&scene, &rule, &findings), !changes_are_right(&scene, &findings),
            !rule.cut && gap_of(scene.p.trace, "was freed") != rule.unknown,
            !rule.cut && gap_of(scene.p.trace, "partitioned receives") != rule.in_pieces};
        for (size_t i = 0; i < 4; i++)
            if (bad[i] && !wrong[i]++)
                tap_note("seed %llu", seed);
        met += rule.count;
        unknown += rule.unknown;
        in_pieces += rule.in_pieces;
        cut += rule.cut;
        check_context_release(&context);
        findings_release(&findings);
        trace_free(scene.p.trace);
    }
    tap_is_int(wrong[0], 0, "the pairs that meet are named, and no others: %llu",
               (unsigned long long)met);
    tap_is_int(wrong[1], 0, "buffers that were changed are named with who completed them");
    tap_is_int(wrong[2], 0,
               "of sends that may be over after their requests were freed: a gap, %llu",
               (unsigned long long)unknown);
    tap_is_int(wrong[3], 0, "of partitioned receives recorded elsewhere: a gap, %llu",
               (unsigned long long)in_pieces);
    tap_ok(!dice_usual() || dice_part().of > 1 || (met && unknown && in_pieces && cut),
           "there are all of them, and calls that meet many: %llu", (unsigned long long)cut);
    return tap_done();
}

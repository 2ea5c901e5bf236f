/* Communication whose adjoint a backward pass leaves out, of random programs, against the three sentences: left out on some ranks of
 * a collective (G003), on one side of a message (G004), everywhere (G002); who is named in which role. */
#include "checker/places.h"
#include "checker/properties.h"
#include "tests/checker/check_program.h"
#include "tests/dice.h"

#include <string.h>

enum { RANKS_MOST = 4, NODES_MOST = 200, PROGRAMS = 600, TEXT = 8000 };

static uint64_t state;

static uint32_t below(uint32_t n)
{
    return dice_below(&state, n);
}

struct program_built {
    struct program p;
    uint32_t ranks, ids[RANKS_MOST], passes[RANKS_MOST], calls[RANKS_MOST];
};

static uint32_t add_node(struct program_built *b, uint32_t rank, enum op_kind kind, int line,
                         uint32_t pass, uint32_t forward)
{
    struct trace_node node = {.rank = rank,
                              .id = ++b->ids[rank],
                              .pass = pass,
                              .kind = (uint8_t)kind,
                              .state = STATE_COMPLETE,
                              .forward = forward,
                              .site = trace_add_site(b->p.trace, "p.c", line, "main"),
                              .name = TRACE_NO};
    b->p.pass = pass;
    return b->p.node = trace_add_node(b->p.trace, &node);
}

static void no_node(struct program_built *b)
{
    b->p.node = TRACE_NO;
    b->p.pass = 0;
}

/* One side of a message: in a node, or in none; a start may have its wait in a node of its own. */
static void add_side(struct program_built *b, uint32_t rank, uint32_t other, bool sends, int line)
{
    uint32_t how = below(8);
    no_node(b);
    if (how)
        add_node(b, rank, sends ? OP_SEND : OP_RECV, line, 0, TRACE_NO);
    bool starts = how >= 5;
    enum op_kind kind = sends ? (starts ? OP_ISEND : OP_SEND) : starts ? OP_IRECV : OP_RECV;
    uint32_t start = program_p2p(&b->p, rank, kind, (int)other, 0, line);
    if (how == 6)
        add_node(b, rank, OP_WAIT, line + 20, 0, TRACE_NO);
    if (starts)
        program_wait(&b->p, rank, start, line + 20);
}

static void add_thing(struct program_built *b)
{
    int line = 1 + (int)below(4);
    uint32_t one = below(b->ranks), other = (one + 1 + below(b->ranks - 1)) % b->ranks;
    if (below(6) == 0) {
        add_node(b, one, OP_COMPUTE, line, 0, TRACE_NO);
    } else if (below(2)) {
        add_side(b, one, other, true, line);
        add_side(b, other, one, false, line + 10);
    } else {
        for (uint32_t rank = 0; rank < b->ranks; rank++) {
            no_node(b);
            if (below(8))
                add_node(b, rank, OP_ALLREDUCE, line, 0, TRACE_NO);
            program_collective(&b->p, rank, OP_ALLREDUCE, b->p.world, b->calls[rank]++, line);
        }
    }
}

static void add_pass(struct program_built *b)
{
    struct trace *trace = b->p.trace;
    uint32_t rank = below(b->ranks), pass = ++b->passes[rank], keep = 1 + below(3);
    uint32_t count = (uint32_t)trace->node_count;
    for (uint32_t n = 0; n < count; n++)
        if (trace->nodes[n].rank == rank && trace->nodes[n].pass == 0 && below(4) < keep) {
            add_node(b, rank, trace->nodes[n].kind, 60, pass, n);
            for (uint32_t ops = below(3); ops > 0; ops--)
                program_p2p(&b->p, rank, OP_ISEND, (int)rank, 9, 61);
        }
    trace_add_pass(trace, &(struct trace_pass){.rank = rank,
                                               .pass = pass,
                                               .mode = below(6) ? PASS_DATA : PASS_PROGRAM,
                                               .complete = below(8) > 0});
}

/* ---- the sentences ---- */

enum life { UNKNOWN, LIVE, DEAD };

static bool has_adjoint(const struct trace *trace, uint32_t node)
{
    for (size_t n = 0; n < trace->node_count; n++)
        if (trace->nodes[n].pass && trace->nodes[n].forward == node)
            return true;
    return false;
}

/* Nodes are numbered as they are made; of a pass without any nobody knows, and it counts as one behind all. */
static bool began_after(const struct trace *trace, const struct trace_pass *pass, uint32_t node)
{
    for (uint32_t n = 0; n < trace->node_count; n++)
        if (trace->nodes[n].rank == pass->rank && trace->nodes[n].pass == pass->pass)
            return trace->nodes[n].id > trace->nodes[node].id;
    return true;
}

/* Left out by every pass that began after it, where each of these prunes and has ended. */
static enum life life_of(const struct trace *trace, uint32_t node)
{
    const struct trace_node *of = &trace->nodes[node];
    uint32_t passes = 0;
    if (of->pass || of->kind == OP_COMPUTE)
        return UNKNOWN;
    if (has_adjoint(trace, node))
        return LIVE;
    for (size_t i = 0; i < trace->pass_count; i++) {
        const struct trace_pass *pass = &trace->passes[i];
        if (pass->rank != of->rank || !began_after(trace, pass, node))
            continue;
        if (pass->mode != PASS_DATA || !pass->complete)
            return UNKNOWN;
        passes++;
    }
    return passes ? DEAD : UNKNOWN;
}

struct told {
    char text[TEXT];
    bool named[NODES_MOST];
};

/* A node and what its adjoint is. */
static void name(struct told *told, const struct trace *trace, uint32_t node, const char *role)
{
    size_t used = strlen(told->text);
    snprintf(told->text + used, TEXT - used, " %s %u", role, node);
    told->named[node] = true;
    for (uint32_t n = (uint32_t)trace->node_count; n-- > 0;)
        if (trace->nodes[n].pass && trace->nodes[n].forward == node) {
            used = strlen(told->text);
            snprintf(told->text + used, TEXT - used, " %s %u", role, n);
            return;
        }
}

static void name_side(struct told *told, const struct trace *trace, uint32_t op, const char *role)
{
    uint32_t node = trace->ops[op].node;
    bool starts = trace->ops[op].kind == OP_ISEND || trace->ops[op].kind == OP_IRECV;
    uint32_t wait = starts ? trace->ops[trace->ops[op].request].node : TRACE_NO;
    name(told, trace, node, role);
    if (wait != TRACE_NO && wait != node && life_of(trace, wait) == life_of(trace, node))
        name(told, trace, wait, role);
}

static void begin(struct told *told, const char *code)
{
    size_t used = strlen(told->text);
    snprintf(told->text + used, TEXT - used, "\n%s", code);
}

static void tell_collectives(struct told *told, const struct trace *trace, uint32_t calls)
{
    for (uint32_t call = 0; call < calls; call++) {
        uint32_t nodes[RANKS_MOST], count = 0, live = 0, dead = 0;
        for (uint32_t i = 0; i < trace->op_count; i++)
            if (trace->ops[i].kind == OP_ALLREDUCE && trace->ops[i].comm_seq == call &&
                trace->ops[i].node != TRACE_NO)
                nodes[count++] = trace->ops[i].node;
        for (uint32_t i = 0; i < count; i++) {
            live += life_of(trace, nodes[i]) == LIVE;
            dead += life_of(trace, nodes[i]) == DEAD;
        }
        if (!live || !dead)
            continue;
        begin(told, "G003");
        for (uint32_t i = 0; i < count; i++)
            if (life_of(trace, nodes[i]) != UNKNOWN)
                name(told, trace, nodes[i],
                     life_of(trace, nodes[i]) == DEAD ? "culprit" : "partner");
        for (uint32_t i = 0; i < count; i++)
            told->named[nodes[i]] = true;
    }
}

static void tell_messages(struct told *told, const struct trace *trace)
{
    for (uint32_t i = 0; i < trace->op_count; i++) {
        uint32_t send = trace->ops[i].match, receive = i;
        if ((trace->ops[i].kind != OP_RECV && trace->ops[i].kind != OP_IRECV) || send == TRACE_NO ||
            trace->ops[send].node == TRACE_NO || trace->ops[receive].node == TRACE_NO)
            continue;
        enum life sent = life_of(trace, trace->ops[send].node),
                  received = life_of(trace, trace->ops[receive].node);
        if (sent == UNKNOWN || received == UNKNOWN || sent == received)
            continue;
        uint32_t dead = sent == DEAD ? send : receive, live = sent == DEAD ? receive : send;
        begin(told, "G004");
        name_side(told, trace, dead, "culprit");
        name_side(told, trace, live, "partner");
        uint32_t adjoint = TRACE_NO;
        for (uint32_t n = 0; n < trace->node_count; n++)
            if (trace->nodes[n].pass && trace->nodes[n].forward == trace->ops[live].node)
                adjoint = n;
        for (uint32_t k = 0; k < trace->op_count; k++)
            if (trace->ops[k].node == adjoint) {
                size_t used = strlen(told->text);
                snprintf(told->text + used, TEXT - used, " partner op %u", k);
            }
    }
}

static void tell_dead(struct told *told, const struct trace *trace)
{
    for (uint32_t n = 0; n < trace->node_count; n++) {
        if (life_of(trace, n) != DEAD || told->named[n])
            continue;
        begin(told, "G002");
        for (uint32_t k = n; k < trace->node_count; k++)
            if (life_of(trace, k) == DEAD && !told->named[k] &&
                trace->nodes[k].site == trace->nodes[n].site &&
                trace->nodes[k].kind == trace->nodes[n].kind)
                name(told, trace, k, "culprit");
    }
}

/* ---- the comparison ---- */

static void ask(const struct trace *trace, char *text)
{
    struct check_options options;
    struct check_context context;
    struct findings findings;
    check_options_init(&options);
    findings_init(&findings);
    check_context_init(&context, trace, &options);
    check_activity(&context, &findings);
    text[0] = 0;
    for (size_t i = 0; i < findings.count; i++) {
        const struct finding *finding = &findings.items[i];
        size_t used = strlen(text);
        snprintf(text + used, TEXT - used, "\n%s", finding->code);
        for (size_t k = 0; k < finding->op_count; k++) {
            const struct finding_op *place = &finding->ops[k];
            used = strlen(text);
            snprintf(text + used, TEXT - used, " %s%s %u", place->role,
                     place->node == TRACE_NO ? " op" : "",
                     place->node == TRACE_NO ? place->op : place->node);
        }
    }
    findings_release(&findings);
    check_context_release(&context);
}

int main(void)
{
    static char text[TEXT];
    unsigned wrong = 0, codes[3] = {0};
    said_open("activity", 8);
    for (unsigned seed = 1; seed <= PROGRAMS; seed++) {
        static struct told told;
        memset(&told, 0, sizeof told);
        state = seed;
        struct program_built b = {.ranks = 2 + below(RANKS_MOST - 1)};
        b.p = program_new(b.ranks);
        for (uint32_t i = 3 + below(6); i > 0; i--) {
            if (below(2))
                add_thing(&b);
            else
                add_pass(&b);
        }
        program_finish_said(&b.p);
        ask(b.p.trace, text);
        tell_collectives(&told, b.p.trace, b.calls[0]);
        tell_messages(&told, b.p.trace);
        tell_dead(&told, b.p.trace);
        if (b.p.trace->node_count > NODES_MOST || strcmp(text, told.text) != 0) {
            wrong++;
            tap_note("seed %u: found%s, expected%s", seed, text, told.text);
        }
        for (int code = 0; code < 3; code++)
            codes[code] += strstr(text, code == 0 ? "G002" : code == 1 ? "G003" : "G004") != NULL;
        trace_free(b.p.trace);
    }
    tap_is_int(wrong, 0, "what a backward pass leaves out is found, and who is named");
    tap_ok(codes[0] > 100 && codes[1] > 30 && codes[2] > 30, "there is enough of each: %u, %u, %u",
           codes[0], codes[1], codes[2]);
    said_close();
    return tap_done();
}

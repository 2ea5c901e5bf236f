/* Which operations could, in some legal orders, wait for each other (checker/orders/components.h): in random passes, under each model,
 * against the closure of who holds back whom. */
#include "checker/orders/components.h"
#include "tests/verdict/random_pass.h"

enum { PROGRAMS = 300, VERTICES = 2 * OPS, WORDS = (VERTICES + 63) / 64 };

/* Vertex 2 * op: the operation stands; 2 * op + 1: it is posted. */
static uint64_t leads[VERTICES][WORDS];
static bool stands[OPS], serves[OPS];
static unsigned wrong, numbered, vertices;

static bool reaches(uint32_t from, uint32_t to)
{
    return leads[from][to / 64] >> (to % 64) & 1;
}

static void lead(uint32_t from, uint32_t to)
{
    leads[from][to / 64] |= UINT64_C(1) << (to % 64);
}

static bool is_member(const struct check_needs *needs, uint32_t key, uint32_t op)
{
    uint32_t single;
    size_t count;
    const uint32_t *members = check_needs_members(needs, key, &single, &count);
    for (size_t i = 0; i < count; i++)
        if (members[i] == op)
            return true;
    return false;
}

static void draw_graph(const struct check_needs *needs, const struct check_partial_order *reach)
{
    uint32_t ops = (uint32_t)trace->op_count;
    memset(leads, 0, sizeof leads);
    memset(stands, 0, sizeof stands);
    memset(serves, 0, sizeof serves);
    for (uint32_t waiter = 0; waiter < ops; waiter++)
        for (uint32_t i = needs->need_begin[waiter]; i < needs->need_begin[waiter + 1]; i++) {
            stands[waiter] = true;
            for (uint32_t op = 0; op < ops; op++)
                if (is_member(needs, needs->needs[i], op)) {
                    serves[op] = true;
                    lead(2 * op + 1, 2 * waiter);
                }
        }
    for (uint32_t op = 0; op < ops; op++)
        for (uint32_t held = 0; held < ops && stands[op]; held++)
            if (serves[held] && held != op && trace->ops[held].rank == trace->ops[op].rank &&
                !check_partial_order_before(reach, held, op))
                lead(2 * op, 2 * held + 1);
    for (uint32_t over = 0; over < 2 * ops; over++)
        for (uint32_t from = 0; from < 2 * ops; from++)
            for (uint32_t w = 0; w < WORDS && reaches(from, over); w++)
                leads[from][w] |= leads[over][w];
}

static uint32_t component_of(const struct check_components *components, uint32_t vertex)
{
    return vertex % 2 ? components->posting[vertex / 2] : components->standing[vertex / 2];
}

/* The members of each component, ascending, and no other. */
static bool is_listed(const struct check_components *components, uint32_t vertex)
{
    const uint32_t *begin = vertex % 2 ? components->posted_begin : components->standing_begin,
                   *list = vertex % 2 ? components->posted_ops : components->standing_ops;
    unsigned found = 0;
    for (uint32_t c = 0; c < components->count; c++)
        for (uint32_t i = begin[c]; i < begin[c + 1]; i++) {
            if (i > begin[c] && list[i - 1] >= list[i])
                return false;
            found += list[i] == vertex / 2 && c == component_of(components, vertex);
        }
    return found == (component_of(components, vertex) != TRACE_NO);
}

/* Posted before anything of its rank stands: in no circle, whatever its number. */
static bool is_free(uint32_t vertex)
{
    for (uint32_t v = 0; v < 2 * trace->op_count; v++)
        if (reaches(v, vertex))
            return false;
    return vertex % 2;
}

/* What stands in no circle may have a number of its own, where it waits for what is free. */
static bool is_alone(const struct check_components *components, uint32_t vertex)
{
    bool waits = false;
    for (uint32_t v = 0; v < 2 * trace->op_count; v++) {
        bool alike = v != vertex && component_of(components, v) == component_of(components, vertex);
        if (alike && !is_free(v))
            return false;
        waits = waits || (alike && reaches(v, vertex));
    }
    return waits;
}

static const char *different(const struct check_components *components)
{
    uint32_t ops = (uint32_t)trace->op_count;
    for (uint32_t v = 0; v < 2 * ops; v++) {
        bool is = v % 2 ? serves[v / 2] : stands[v / 2], circles = is && reaches(v, v);
        uint32_t component = component_of(components, v);
        vertices += is;
        numbered += circles;
        if (component != TRACE_NO && (!is || component >= components->count))
            return "numbers";
        if (!is_listed(components, v))
            return "lists";
        if (is_free(v))
            continue;
        if (circles ? component == TRACE_NO : component != TRACE_NO && !is_alone(components, v))
            return "what waits for itself has a number";
        for (uint32_t other = 0; other < v; other++)
            if (circles && !is_free(other) && component_of(components, other) != TRACE_NO &&
                (component == component_of(components, other)) !=
                    (reaches(v, other) && reaches(other, v)))
                return "two that wait for each other have one number";
    }
    return NULL;
}

static void ask(const struct check_context *context, const struct check_partial_order *reach,
                enum check_model model, unsigned long long seed)
{
    struct check_plan plan;
    struct check_needs needs;
    struct check_components components;
    check_plan_init(&plan, context, &(struct plan_options){0});
    check_needs_init(&needs, &plan, model);
    check_components_init(&components, &needs, reach);
    draw_graph(&needs, reach);
    const char *what = different(&components);
    if (what && !wrong++)
        tap_note("program %llu, %s: %s", seed, check_model_name(model), what);
    check_components_release(&components);
    check_needs_release(&needs);
    check_plan_release(&plan);
}

int main(void)
{
    struct dice_seeds seeds = dice_seeds(PROGRAMS);
    for (unsigned long long i = 0; i < seeds.count; i++) {
        struct check_context context;
        struct check_partial_order reach;
        dice = seeds.first + i;
        struct program program = pass_draw();
        trace = program.trace;
        check_context_init(&context, trace, NULL);
        check_partial_order_init(&reach, &context);
        ask(&context, &reach, CHECK_EAGER, seeds.first + i);
        ask(&context, &reach, CHECK_RENDEZVOUS, seeds.first + i);
        check_partial_order_release(&reach);
        check_context_release(&context);
        trace_free(program.trace);
    }
    tap_is_int(wrong, 0, "%u of %u ends wait for themselves", numbered, vertices);
    tap_ok(numbered > vertices / 20 && numbered < vertices, "some, not all");
    return tap_done();
}

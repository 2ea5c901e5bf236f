/* SMART's two designs against each other and against a search over the whole graph: the lineage
 * that tensors carry, the mark phase, and a mirror of all values and messages kept by this test, on
 * 1,000 random programs of calls that call others. */
#include "collectives/systems/rpc/needed.h"
#include "tests/world_harness.h"

#include <rpc.h>

enum { GRAPHS = 1000, RANKS = 4, VALUES = 4096, MESSAGES = 2048, POOL = 12, DEPTH = 3 };

/* The mirror. Ranks are fibers of this process and take turns, so one copy does for all; calls are
 * waited for at once, so that the order of everything is known. */
static struct value {
    struct diff_tensor *tensor;
    int parents[2], parent_count;
    int message; /* it came with this one, -1 */
} values[VALUES];
static struct message {
    uint64_t id;
    int contents[POOL], count;
} messages[MESSAGES];
static int value_count, message_count, arriving;
static uint64_t sent_by[RANKS];
static uint64_t random_state;

static int pick(int below)
{
    random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (int)((random_state >> 33) % (uint64_t)below);
}

static int value_new(struct diff_tensor *tensor, int message)
{
    values[value_count] = (struct value){.tensor = tensor, .message = message};
    return value_count++;
}

static int value_of_two(struct diff_tensor *tensor, int a, int b)
{
    int value = value_new(tensor, -1);
    values[value].parents[0] = a;
    values[value].parents[1] = b;
    values[value].parent_count = 2;
    return value;
}

static bool needs(int value)
{
    return diff_requires_gradient(values[value].tensor);
}

/* Mirrors a message with these values: its number, -1 when it leaves no record. */
static int message_new(int count, const int *contents)
{
    struct message message = {0};
    for (int i = 0; i < count; i++)
        if (needs(contents[i]))
            message.contents[message.count++] = contents[i];
    if (!message.count)
        return -1;
    message.id = id_make(rpc_worker(), ++sent_by[rpc_worker()]);
    messages[message_count] = message;
    return message_count++;
}

static void random_work(int *pool, int *count, int depth);

static int random_subset(const int *pool, int count, int *chosen, int most)
{
    int number = 1 + pick(most);
    for (int i = 0; i < number; i++)
        chosen[i] = pool[pick(count)];
    return number;
}

static void step(struct rpc_call *call)
{
    int pool[POOL], count = 0, chosen[3], message = arriving;
    size_t size;
    int depth = *(const int *)rpc_argument_bytes(call, &size);
    for (size_t i = 0; i < rpc_argument_count(call); i++) {
        struct diff_tensor *argument = rpc_argument(call, i);
        pool[count++] = value_new(argument, diff_requires_gradient(argument) ? message : -1);
    }
    random_work(pool, &count, depth);
    int number = random_subset(pool, count, chosen, 3);
    struct diff_tensor *results[3];
    for (int i = 0; i < number; i++)
        results[i] = values[chosen[i]].tensor;
    arriving = message_new(number, chosen);
    rpc_reply(call, (size_t)number, results);
}

static void random_call(int *pool, int *count, int depth)
{
    int chosen[3], number = random_subset(pool, *count, chosen, 3);
    struct diff_tensor *arguments[3];
    for (int i = 0; i < number; i++)
        arguments[i] = values[chosen[i]].tensor;
    arriving = message_new(number, chosen);
    struct rpc_future *future = rpc_async_with(
        pick(RANKS), "step",
        &(struct rpc_arguments){
            .count = (size_t)number, .tensors = arguments, .size = sizeof depth, .bytes = &depth});
    rpc_wait(future);
    int message = arriving;
    for (size_t i = 0; i < rpc_result_count(future) && *count < POOL; i++) {
        struct diff_tensor *result = rpc_result(future, i);
        pool[(*count)++] = value_new(result, diff_requires_gradient(result) ? message : -1);
    }
}

/* Leaves, sums and products, detached values and calls, at random. */
static void random_work(int *pool, int *count, int depth)
{
    for (int i = 0; i < 4 && *count < POOL; i++) {
        int a = *count ? pool[pick(*count)] : -1, b = *count ? pool[pick(*count)] : -1;
        int what = a < 0 ? 0 : pick(8);
        if (what == 0)
            pool[(*count)++] = value_new(
                rpc_variable(DIFF_DOUBLE, 1, (size_t[]){1}, &(double){0.5 + pick(100) / 100.0}),
                -1);
        else if (what == 1)
            pool[(*count)++] = value_new(diff_detach(values[a].tensor), -1);
        else if (what < 5 || depth == 0)
            pool[(*count)++] =
                value_of_two(what % 2 ? diff_add(values[a].tensor, diff_tanh(values[b].tensor))
                                      : diff_sub(values[a].tensor, values[b].tensor),
                             a, b);
        else
            random_call(pool, count, depth - 1);
    }
}

static void search(int value, bool *seen, struct id_set *needed)
{
    if (seen[value] || !needs(value))
        return;
    seen[value] = true;
    for (int i = 0; i < values[value].parent_count; i++)
        search(values[value].parents[i], seen, needed);
    if (values[value].message < 0)
        return;
    const struct message *message = &messages[values[value].message];
    id_set_add(needed, message->id);
    for (int i = 0; i < message->count; i++)
        search(message->contents[i], seen, needed);
}

static bool same(const struct id_set *a, const struct id_set *b)
{
    return a->count == b->count &&
           (!a->count || !memcmp(a->ids, b->ids, a->count * sizeof *a->ids));
}

static struct totals {
    int graphs, needed_some, unneeded_some;
    size_t sends, needed;
} totals;

static void drive(void)
{
    static bool seen[VALUES];
    int pool[POOL], count = 0;
    uint64_t id = dist_context_new(DIST_SMART_LINEAGE);
    for (int i = 0; i < 3; i++)
        random_work(pool, &count, DEPTH);
    int root = pool[pick(count)];
    for (int i = 0; i < count && !needs(root); i++)
        root = pool[i];
    struct diff_tensor *loss = diff_sum(values[root].tensor);
    struct rpc_worker *worker = worker_get("drive");
    struct id_set lineage = {0}, marked = {0}, searched = {0};
    memset(seen, 0, sizeof seen);
    search(root, seen, &searched);
    lineage_collect(1, &loss, &lineage);
    bool done =
        mark_phase(worker, context_find(worker, id), id_make(0, 1 << 20), 1, &loss, &marked);
    expect(done, "%s", dist_error());
    expect(same(&lineage, &searched), "lineage has %zu sends, the search %zu", lineage.count,
           searched.count);
    expect(same(&marked, &searched), "the mark phase has %zu sends, the search %zu", marked.count,
           searched.count);
    expect(!needs(root) || dist_backward(id, 1, &loss, 0), "%s", dist_error());
    totals.graphs++;
    totals.sends += (size_t)message_count;
    totals.needed += searched.count;
    totals.needed_some += searched.count > 0;
    totals.unneeded_some += searched.count < (size_t)message_count;
    id_set_release(&lineage);
    id_set_release(&marked);
    id_set_release(&searched);
    dist_context_leave();
    expect(dist_context_release(id), "%s", dist_error());
}

static void body(int rank, int size)
{
    rpc_init(MPI_COMM_WORLD);
    rpc_register("step", step);
    if (rank == 0)
        drive();
    (void)size;
    rpc_shutdown();
}

int main(void)
{
    int finished = 0, failed = 0, looked_at = 0;
    char text[400] = "";
    for (int graph = 0; graph < GRAPHS; graph++) {
        random_state = (uint64_t)graph * 7919 + 1;
        value_count = message_count = 0;
        memset(sent_by, 0, sizeof sent_by);
        struct sim_world_options options = world_options(RANKS);
        options.stack_size = 1 << 20;
        struct world_result result = world_try(options, body);
        finished += result.outcome == OUTCOME_FINISHED;
        failed += result.failed > 0;
        looked_at += result.looked_at;
        if ((result.failed || result.outcome != OUTCOME_FINISHED) && !text[0])
            snprintf(text, sizeof text, "graph %d, %s: %.300s", graph,
                     world_outcomes[result.outcome], result.text);
    }
    tap_plan(4);
    tap_ok(finished == GRAPHS && looked_at >= 4 * GRAPHS, "%d random graphs run to their end",
           GRAPHS);
    tap_ok(failed == 0, "lineage, mark phase and search agree on what is needed %s", text);
    tap_ok(totals.needed_some > GRAPHS / 2, "most graphs need some sends (%d do)",
           totals.needed_some);
    tap_ok(totals.unneeded_some > GRAPHS / 4, "many have sends that are not needed (%d do)",
           totals.unneeded_some);
    printf("# %zu sends, %zu needed\n", totals.sends, totals.needed);
    return tap_done();
}

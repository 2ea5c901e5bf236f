/* Collectives that combine data: results, places, orders, and operations of the program's own. */
#include "tests/world_harness.h"

enum { COUNT = 3, PEERS = 16 };

/* A 2x2 matrix modulo a prime: multiplication is associative and not commutative, so that any wrong
 * order or place shows. */
enum { PRIME = 10007 };

struct matrix {
    int a, b, c, d;
};

static struct matrix multiply(struct matrix x, struct matrix y)
{
    return (struct matrix){(x.a * y.a + x.b * y.c) % PRIME, (x.a * y.b + x.b * y.d) % PRIME,
                           (x.c * y.a + x.d * y.c) % PRIME, (x.c * y.b + x.d * y.d) % PRIME};
}

static void multiply_all(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    const struct matrix *x = in;
    struct matrix *y = inout;
    for (int i = 0; i < *count; i++)
        y[i] = multiply(x[i], y[i]);
}

static struct matrix matrix_of(int rank, int i)
{
    return (struct matrix){rank + 2, i + 3, rank * i + 1, 5 + rank % 3};
}

static bool same(struct matrix x, struct matrix y)
{
    return x.a == y.a && x.b == y.b && x.c == y.c && x.d == y.d;
}

/* The product of ranks from..to-1. */
static struct matrix product(int from, int to, int i)
{
    struct matrix result = matrix_of(from, i);
    for (int r = from + 1; r < to; r++)
        result = multiply(result, matrix_of(r, i));
    return result;
}

struct matrices {
    MPI_Datatype type;
    MPI_Op op;
};

static struct matrices matrices_make(void)
{
    struct matrices made;
    MPI_Type_contiguous(4, MPI_INT, &made.type);
    MPI_Type_commit(&made.type);
    MPI_Op_create(multiply_all, 0, &made.op);
    return made;
}

static void matrices_free(struct matrices *made)
{
    MPI_Type_free(&made->type);
    MPI_Op_free(&made->op);
}

static void expect_products(const struct matrix *got, int from, int to, int first, const char *what)
{
    for (int i = 0; i < COUNT; i++)
        expect(same(got[i], product(from, to, first + i)),
               "%s: product %d of %d..%d is %d %d %d %d", what, i, from, to, got[i].a, got[i].b,
               got[i].c, got[i].d);
}

enum { BLOCKING, NONBLOCKING, PERSISTENT, LARGE, FORMS };

static void finish(int form, MPI_Request *request)
{
    if (form == NONBLOCKING)
        expect_ok(MPI_Wait(request, MPI_STATUS_IGNORE));
    if (form != PERSISTENT)
        return;
    expect_ok(MPI_Start(request));
    expect_ok(MPI_Wait(request, MPI_STATUS_IGNORE));
    expect_ok(MPI_Request_free(request));
}

#define IN_FORM(form, name, iname, ...)                                                            \
    do {                                                                                           \
        MPI_Request request_ = MPI_REQUEST_NULL;                                                   \
        if ((form) == BLOCKING)                                                                    \
            expect_ok(MPI_##name(__VA_ARGS__));                                                    \
        else if ((form) == NONBLOCKING)                                                            \
            expect_ok(MPI_##iname(__VA_ARGS__, &request_));                                        \
        else if ((form) == PERSISTENT)                                                             \
            expect_ok(MPI_##name##_init(__VA_ARGS__, MPI_INFO_NULL, &request_));                   \
        else                                                                                       \
            expect_ok(MPI_##name##_c(__VA_ARGS__));                                                \
        finish(form, &request_);                                                                   \
    } while (0)

static void fill(struct matrix *matrices, int rank, int count)
{
    for (int i = 0; i < count; i++)
        matrices[i] = matrix_of(rank, i);
}

static void reduce_combines_in_rank_order(int rank, int size)
{
    struct matrices own = matrices_make();
    struct matrix send[COUNT], got[COUNT];
    for (int root = 0; root < size; root++)
        for (int form = 0; form < 2 * FORMS; form++) {
            bool in_place = form >= FORMS;
            fill(send, rank, COUNT);
            memset(got, 0, sizeof got);
            fill(got, rank, in_place ? COUNT : 0);
            IN_FORM(form % FORMS, Reduce, Ireduce, in_place && rank == root ? MPI_IN_PLACE : send,
                    got, COUNT, own.type, own.op, root, MPI_COMM_WORLD);
            if (rank == root)
                expect_products(got, 0, size, 0, in_place ? "reduce in place" : "reduce");
            expect(same(send[0], matrix_of(rank, 0)), "the send buffer was changed");
        }
    matrices_free(&own);
}

static void allreduce_gives_all_the_same(int rank, int size)
{
    struct matrices own = matrices_make();
    struct matrix send[COUNT], got[COUNT];
    for (int form = 0; form < 2 * FORMS; form++) {
        bool in_place = form >= FORMS;
        fill(send, rank, COUNT);
        fill(got, rank, COUNT);
        IN_FORM(form % FORMS, Allreduce, Iallreduce, in_place ? MPI_IN_PLACE : send, got, COUNT,
                own.type, own.op, MPI_COMM_WORLD);
        expect_products(got, 0, size, 0, in_place ? "allreduce in place" : "allreduce");
    }
    matrices_free(&own);
}

static void scans_combine_what_lies_before(int rank, int size)
{
    struct matrices own = matrices_make();
    struct matrix send[COUNT], got[COUNT];
    (void)size;
    for (int form = 0; form < 2 * FORMS; form++) {
        bool in_place = form >= FORMS;
        fill(send, rank, COUNT);
        fill(got, rank, COUNT);
        IN_FORM(form % FORMS, Scan, Iscan, in_place ? MPI_IN_PLACE : send, got, COUNT, own.type,
                own.op, MPI_COMM_WORLD);
        expect_products(got, 0, rank + 1, 0, in_place ? "scan in place" : "scan");
        fill(send, rank, COUNT);
        fill(got, rank, COUNT);
        IN_FORM(form % FORMS, Exscan, Iexscan, in_place ? MPI_IN_PLACE : send, got, COUNT, own.type,
                own.op, MPI_COMM_WORLD);
        if (rank)
            expect_products(got, 0, rank, 0, in_place ? "exscan in place" : "exscan");
        else
            expect(same(got[0], matrix_of(0, 0)), "rank 0's receive buffer was touched");
    }
    matrices_free(&own);
}

static void reduce_scatter_gives_each_its_part(int rank, int size)
{
    struct matrices own = matrices_make();
    struct matrix send[PEERS * COUNT], got[PEERS * COUNT];
    int counts[PEERS], before = 0;
    for (int r = 0; r < size; r++)
        counts[r] = r % 3; /* none for some */
    for (int r = 0; r < rank; r++)
        before += counts[r];
    for (int form = 0; form < 2 * FORMS; form++) {
        bool in_place = form >= FORMS;
        fill(send, rank, PEERS * COUNT);
        fill(got, rank, PEERS * COUNT);
        IN_FORM(form % FORMS, Reduce_scatter_block, Ireduce_scatter_block,
                in_place ? MPI_IN_PLACE : send, got, COUNT, own.type, own.op, MPI_COMM_WORLD);
        expect_products(got, 0, size, rank * COUNT, in_place ? "block in place" : "block");
        if (form % FORMS == LARGE)
            continue;
        fill(got, rank, PEERS * COUNT);
        MPI_Request request = MPI_REQUEST_NULL;
        const void *from = in_place ? MPI_IN_PLACE : (const void *)send;
        if (form % FORMS == BLOCKING)
            expect_ok(MPI_Reduce_scatter(from, got, counts, own.type, own.op, MPI_COMM_WORLD));
        else
            expect_ok(
                MPI_Ireduce_scatter(from, got, counts, own.type, own.op, MPI_COMM_WORLD, &request));
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        for (int i = 0; i < counts[rank]; i++)
            expect(same(got[i], product(0, size, before + i)), "part %d of %d is %d %d %d %d", i,
                   rank, got[i].a, got[i].b, got[i].c, got[i].d);
    }
    matrices_free(&own);
}

static void predefined_ops_work_together(int rank, int size)
{
    struct {
        double value;
        int place;
    } mine = {(rank * 7) % 5, rank}, least, most;
    MPI_Allreduce(&mine, &least, 1, MPI_DOUBLE_INT, MPI_MINLOC, MPI_COMM_WORLD);
    MPI_Allreduce(&mine, &most, 1, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
    int first_most = 0;
    for (int r = 1; r < size; r++)
        if ((r * 7) % 5 > (first_most * 7) % 5)
            first_most = r;
    expect(least.value == 0 && least.place == 0, "least %g at %d", least.value, least.place);
    expect(most.value == (first_most * 7) % 5 && most.place == first_most, "most %g at %d",
           most.value, most.place);
    int bits = 1 << rank, all = -1, every = -1, yes = rank != 0;
    MPI_Allreduce(&bits, &all, 1, MPI_INT, MPI_BOR, MPI_COMM_WORLD);
    MPI_Allreduce(&yes, &every, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    expect(all == (1 << size) - 1 && every == 0, "bits %x, every %d", (unsigned)all, every);
    long long wide = rank + 1, factorial = 0, wanted = 1;
    for (int r = 2; r <= size; r++)
        wanted *= r;
    MPI_Allreduce(&wide, &factorial, 1, MPI_LONG_LONG, MPI_PROD, MPI_COMM_WORLD);
    expect(factorial == wanted, "factorial %lld", factorial);
}

/* Values whose sum depends on the order of addition. */
static float rough(int rank)
{
    return (rank % 2 ? 1e8f : 1.0f) / (float)(rank + 3);
}

static void linear_sums_are_those_of_a_loop(int rank, int size)
{
    float mine = rough(rank), sum = 0, wanted = rough(0);
    for (int r = 1; r < size; r++)
        wanted += rough(r);
    MPI_Allreduce(&mine, &sum, 1, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    expect(sum == wanted, "the sum is %.9g, the loop's %.9g", (double)sum, (double)wanted);
    float root = -1;
    MPI_Reduce(&mine, &root, 1, MPI_FLOAT, MPI_SUM, size - 1, MPI_COMM_WORLD);
    expect(rank != size - 1 || root == sum, "the root's sum is %.9g", (double)root);
}

/* Everybody keeps its sum where the test can look at it after the world has ended. */
static float order_sums[PEERS];
static bool order_failed;

static void sum_in_any_order(int rank, int size)
{
    float mine = rough(rank);
    struct matrices own = matrices_make();
    struct matrix factor = matrix_of(rank, 1), all;
    MPI_Allreduce(&mine, &order_sums[rank], 1, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    expect_ok(MPI_Allreduce(&factor, &all, 1, own.type, own.op, MPI_COMM_WORLD));
    expect(same(all, product(0, size, 1)), "the product depends on the association");
    matrices_free(&own);
}

static float sum_with(enum sim_reduce_order order, uint64_t seed)
{
    struct sim_world_options options = world_options(PEERS);
    options.reduce_order = order;
    options.seed = seed;
    struct world_result result = world_try(options, sum_in_any_order);
    order_failed |= result.outcome != OUTCOME_FINISHED || result.failed || !result.looked_at;
    if (result.failed)
        tap_note("%s", result.text);
    for (int r = 1; r < PEERS; r++)
        order_failed |= order_sums[r] != order_sums[0];
    return order_sums[0];
}

static void associations_differ_as_asked(void)
{
    float linear = sum_with(SIM_REDUCE_LINEAR, 1), tree = sum_with(SIM_REDUCE_TREE, 1);
    float ring = sum_with(SIM_REDUCE_RING, 1), exact = 0;
    double wide = 0;
    for (int r = 0; r < PEERS; r++) {
        exact += rough(r);
        wide += (double)rough(r);
    }
    int distinct = 0;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        float once = sum_with(SIM_REDUCE_SEED, seed), again = sum_with(SIM_REDUCE_SEED, seed);
        order_failed |= once != again;
        distinct += once != linear;
        order_failed |= !((double)once <= wide * 1.00001 && (double)once >= wide * 0.99999);
    }
    tap_ok(linear == exact, "the linear order is the loop's");
    tap_ok((tree != linear || ring != linear) && distinct > 0,
           "another association gives another rounding");
    tap_ok(!order_failed,
           "under every association all ranks have the same sum, again with the same "
           "seed, and the same product");
}

/* ---- which expression a reduction is ---- */

/* Of five members, by an operation that is neither commutative nor associative, so that each order has a result of
 * its own; the machine is told that it commutes, or that it does not. */
enum { FIVE = 5, ALL_ORDERS = 120, MUCH = 3000 };
enum element { FLOATS, HASHES, SPACED, FIXED, ELEMENTS };

static struct {
    enum sim_reduce_order order;
    int distinct, seen[ALL_ORDERS]; /* permutations that results showed */
} expressions;

static uint32_t hash_two(uint32_t x, uint32_t y)
{
    return (x * 2654435761u + y * 40503u + 77u) % 65521u;
}

static void hash_all(void *in, void *inout, int *count, MPI_Datatype *type)
{
    MPI_Aint lower, extent;
    MPI_Type_get_extent(*type, &lower, &extent);
    for (int i = 0; i < *count; i++) {
        uint32_t x, y;
        memcpy(&x, (char *)in + i * extent, sizeof x);
        memcpy(&y, (char *)inout + i * extent, sizeof y);
        y = hash_two(x, y);
        memcpy((char *)inout + i * extent, &y, sizeof y);
    }
}

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static uint32_t value_of(enum element element, int rank, int i)
{
    uint64_t dice = 64 * (uint64_t)rank + (uint64_t)i % 61;
    return element == FLOATS ? bits_of((float)(1 << dice_below(&dice, 28)) / 3)
                             : dice_below(&dice, 65521);
}

static uint32_t combine_two(enum element element, uint32_t x, uint32_t y)
{
    float one, two;
    memcpy(&one, &x, sizeof one);
    memcpy(&two, &y, sizeof two);
    return element == FLOATS ? bits_of(one + two) : hash_two(x, y);
}

static uint32_t line_of(enum element element, const int *ranks, int n, int i)
{
    uint32_t all = value_of(element, ranks[0], i);
    for (int k = 1; k < n; k++)
        all = combine_two(element, all, value_of(element, ranks[k], i));
    return all;
}

/* Neighbours in pairs; an odd one is a pair's first. */
static uint32_t tree_of(enum element element, int from, int to, int i)
{
    int half = (to - from + 1) / 2;
    return to - from == 1 ? value_of(element, from, i)
                          : combine_two(element, tree_of(element, from, from + half, i),
                                        tree_of(element, from + half, to, i));
}

static void permutation(int number, int *ranks)
{
    for (int i = 0; i < FIVE; i++)
        ranks[i] = i;
    for (int i = FIVE - 1; i > 0; number /= i + 1, i--) {
        int other = number % (i + 1), kept = ranks[i];
        ranks[i] = ranks[other];
        ranks[other] = kept;
    }
}

/* Whether this is element i of an expression that the order allows. */
static bool is_expression(enum element element, uint32_t got, int i)
{
    static const int in_line[FIVE] = {0, 1, 2, 3, 4}, ring[FIVE] = {1, 2, 3, 4, 0};
    if (expressions.order == SIM_REDUCE_TREE)
        return got == tree_of(element, 0, FIVE, i);
    if (expressions.order == SIM_REDUCE_LINEAR || element == FIXED)
        return got == line_of(element, in_line, FIVE, i);
    if (expressions.order == SIM_REDUCE_RING)
        return got == line_of(element, ring, FIVE, i);
    for (int number = 0; number < ALL_ORDERS; number++) {
        int ranks[FIVE];
        permutation(number, ranks);
        if (got != line_of(element, ranks, FIVE, i))
            continue;
        if (element != FLOATS)
            expressions.seen[number] = 1;
        return true;
    }
    return false;
}

static void expressions_are_as_asked(int rank, int size)
{
    static const char *const names[] = {"Allreduce", "Reduce", "Reduce_scatter_block",
                                        "Reduce_scatter", "Scan"};
    MPI_Datatype spaced;
    MPI_Op commutes, fixed;
    MPI_Type_create_resized(MPI_UINT32_T, 0, 12, &spaced);
    MPI_Type_commit(&spaced);
    MPI_Op_create(hash_all, 1, &commutes);
    MPI_Op_create(hash_all, 0, &fixed);
    uint32_t *send = calloc(FIVE * MUCH * 3, 4), *got = calloc(FIVE * MUCH * 3, 4);
    for (int number = 0; number < ELEMENTS * 5 * 2 && size == FIVE; number++) {
        enum element element = (enum element)(number % ELEMENTS);
        int kind = number / ELEMENTS % 5, own = number / ELEMENTS / 5 ? MUCH : 3;
        size_t step = element == SPACED ? 3 : 1;
        int all = kind == 2 || kind == 3 ? FIVE * own : own, first = all > own ? rank * own : 0;
        int shares[FIVE] = {own, own, own, own, own};
        MPI_Datatype type = element == FLOATS   ? MPI_FLOAT
                            : element == SPACED ? spaced
                                                : MPI_UINT32_T;
        MPI_Op op = element == FLOATS ? MPI_SUM : element == FIXED ? fixed : commutes;
        for (int i = 0; i < all; i++)
            send[(size_t)i * step] = value_of(element, rank, i);
        if (kind == 0)
            expect_ok(MPI_Allreduce(send, got, own, type, op, MPI_COMM_WORLD));
        else if (kind == 1)
            expect_ok(MPI_Reduce(send, got, own, type, op, 3, MPI_COMM_WORLD));
        else if (kind == 2)
            expect_ok(MPI_Reduce_scatter_block(send, got, own, type, op, MPI_COMM_WORLD));
        else if (kind == 3)
            expect_ok(MPI_Reduce_scatter(send, got, shares, type, op, MPI_COMM_WORLD));
        else
            expect_ok(MPI_Scan(send, got, own, type, op, MPI_COMM_WORLD));
        static const int in_line[FIVE] = {0, 1, 2, 3, 4};
        int wrong = 0, at = 0;
        for (int i = 0; i < own && (kind != 1 || rank == 3); i += own > 3 ? 97 : 1) {
            uint32_t value = got[(size_t)i * step];
            bool right = kind == 4 ? value == line_of(element, in_line, rank + 1, i)
                                   : is_expression(element, value, first + i);
            if (!right && !wrong++)
                at = i;
        }
        expect(!wrong, "%s of %d, order %d, elements %d: element %d of %d that are wrong",
               names[kind], own, (int)expressions.order, (int)element, at, wrong);
    }
    free(send);
    free(got);
    MPI_Op_free(&commutes);
    MPI_Op_free(&fixed);
    MPI_Type_free(&spaced);
}

static void every_kind_combines_in_the_order_asked(void)
{
    static const char *const names[] = {"a line", "a tree", "a ring", "some order"};
    for (int order = SIM_REDUCE_LINEAR; order <= SIM_REDUCE_SEED; order++) {
        char text[500] = "";
        for (uint64_t seed = 1; seed <= (order == SIM_REDUCE_SEED ? 6 : 1); seed++) {
            struct sim_world_options options = world_options(FIVE);
            options.reduce_order = expressions.order = (enum sim_reduce_order)order;
            options.seed = seed;
            struct world_result result = world_try(options, expressions_are_as_asked);
            if (result.outcome != OUTCOME_FINISHED || result.failed)
                snprintf(text, sizeof text, "seed %d: %s %s", (int)seed,
                         world_outcomes[result.outcome], result.text);
        }
        tap_test_str(text, "", TAP_HERE, "every kind combines in %s", names[order]);
    }
    for (int i = 0; i < ALL_ORDERS; i++)
        expressions.distinct += expressions.seen[i];
    tap_ok(expressions.distinct > ALL_ORDERS / 4, "of %d orders seeds gave %d", ALL_ORDERS,
           expressions.distinct);
}

static void wrong_reductions_are_refused(int rank, int size)
{
    int in = rank, out = -1;
    double real = 1;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    expect_class(MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_OP_NULL, MPI_COMM_WORLD), MPI_ERR_OP);
    expect_class(MPI_Allreduce(&real, &out, 1, MPI_DOUBLE, MPI_BAND, MPI_COMM_WORLD), MPI_ERR_OP);
    expect_class(MPI_Allreduce(&in, &in, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    expect_class(MPI_Allreduce(&in, &out, -1, MPI_INT, MPI_SUM, MPI_COMM_WORLD), MPI_ERR_COUNT);
    expect_class(MPI_Allreduce(&in, &out, 1, MPI_DATATYPE_NULL, MPI_SUM, MPI_COMM_WORLD),
                 MPI_ERR_TYPE);
    expect_class(MPI_Reduce(&in, &out, 1, MPI_INT, MPI_SUM, size, MPI_COMM_WORLD), MPI_ERR_ROOT);
    expect_ok(MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    expect(out == size * (size - 1) / 2, "afterwards the sum is %d", out);
}

static void add_local(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++)
        ((int *)inout)[i] += 1000 * ((int *)in)[i];
}

static void local_reductions_need_nobody(int rank, int size)
{
    (void)size;
    int in[2] = {rank, 2}, out[2] = {5, 7}, commutes = -1;
    MPI_Op op;
    expect_ok(MPI_Reduce_local(in, out, 2, MPI_INT, MPI_SUM));
    expect(out[0] == rank + 5 && out[1] == 9, "%d and %d", out[0], out[1]);
    expect_ok(MPI_Op_create(add_local, 1, &op));
    expect_ok(MPI_Op_commutative(op, &commutes));
    expect(commutes == 1, "the op commutes: %d", commutes);
    expect_ok(MPI_Reduce_local(in, out, 2, MPI_INT, op));
    expect(out[0] == 1001 * rank + 5 && out[1] == 2009, "%d and %d", out[0], out[1]);
    expect_ok(MPI_Op_free(&op));
    expect(op == MPI_OP_NULL, "the freed op is null");
}

/* The machine has a way of its own for small values; members that come by another meet those. */
static void small_values_meet_whatever_the_form(int rank, int size)
{
    MPI_Comm others;
    MPI_Comm_split(MPI_COMM_WORLD, 0, size - rank, &others);
    for (int round = 0; round < 8; round++) {
        MPI_Comm comm = round % 2 ? others : MPI_COMM_WORLD;
        int in[2] = {rank + round, 7 * rank}, out[2] = {-1, -1}, sum = size * (size - 1) / 2;
        MPI_Request request;
        switch ((rank + round) % 5) {
        case 0:
            expect_ok(MPI_Allreduce_c(in, out, 2, MPI_INT, MPI_SUM, comm));
            break;
        case 1:
            memcpy(out, in, sizeof out);
            expect_ok(MPI_Allreduce(MPI_IN_PLACE, out, 2, MPI_INT, MPI_SUM, comm));
            break;
        case 2:
            expect_ok(MPI_Iallreduce(in, out, 2, MPI_INT, MPI_SUM, comm, &request));
            expect_ok(MPI_Wait(&request, MPI_STATUS_IGNORE));
            break;
        default:
            expect_ok(MPI_Allreduce(in, out, 2, MPI_INT, MPI_SUM, comm));
        }
        expect(out[0] == sum + size * round && out[1] == 7 * sum, "round %d: %d and %d", round,
               out[0], out[1]);
        if ((rank + round) % 3) {
            expect_ok(MPI_Barrier(comm));
        } else {
            expect_ok(MPI_Ibarrier(comm, &request));
            expect_ok(MPI_Wait(&request, MPI_STATUS_IGNORE));
        }
        signed char small = (signed char)(rank == round), most = 0;
        expect_ok(MPI_Allreduce(&small, &most, 1, MPI_SIGNED_CHAR, MPI_MAX, comm));
        expect(most == (round < size), "the largest is %d", most);
    }
    MPI_Comm_free(&others);
}

static int class_of(int error)
{
    int class = -1;
    MPI_Error_class(error, &class);
    return class;
}

/* One member does something else than the others, which all learn of it. */
static void small_values_that_do_not_agree_are_refused(int rank, int size)
{
    expect_ok(MPI_Barrier(MPI_COMM_WORLD));
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int odd = 0; size > 1 && odd < size && odd < 4; odd++) {
        double in[3] = {1, 2, 3}, out[3] = {0};
        int error = rank == odd ? MPI_Allreduce(in, out, 3, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD)
                                : MPI_Barrier(MPI_COMM_WORLD);
        expect(class_of(error) == MPI_ERR_OTHER, "a barrier and a sum: %d", class_of(error));
        error =
            MPI_Allreduce(in, out, 1, MPI_DOUBLE, rank == odd ? MPI_MAX : MPI_SUM, MPI_COMM_WORLD);
        expect(class_of(error) == MPI_ERR_OP, "a maximum and a sum: %d", class_of(error));
        error = MPI_Allreduce(in, out, 1, rank == odd ? MPI_FLOAT : MPI_DOUBLE, MPI_SUM,
                              MPI_COMM_WORLD);
        expect(class_of(error) == MPI_ERR_TRUNCATE, "four bytes and eight: %d", class_of(error));
        error = MPI_Allreduce(in, out, rank == odd ? 2 : 1, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        expect(class_of(error) == MPI_ERR_TRUNCATE, "one value and two: %d", class_of(error));
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

int main(void)
{
    tap_plan(18);
    world_test("Reduce combines in rank order at every root", reduce_combines_in_rank_order,
               WORLD_ANY);
    world_test("Allreduce gives everybody the same", allreduce_gives_all_the_same, WORLD_ANY);
    world_test("Scan and Exscan combine what lies before", scans_combine_what_lies_before,
               WORLD_ANY);
    world_test("Reduce_scatter gives each rank its part", reduce_scatter_gives_each_its_part,
               WORLD_ANY);
    world_test("predefined operations find places, bits and products", predefined_ops_work_together,
               WORLD_ANY);
    world_test("a sum is by default, to the bit, that of a loop over the ranks",
               linear_sums_are_those_of_a_loop, WORLD_ANY);
    associations_differ_as_asked();
    every_kind_combines_in_the_order_asked();
    world_test("wrong reductions have their error classes and do no harm",
               wrong_reductions_are_refused, WORLD_ANY);
    world_test("small values meet whatever form each member uses",
               small_values_meet_whatever_the_form, WORLD_ANY);
    world_test("small values that do not agree are refused by every member",
               small_values_that_do_not_agree_are_refused, WORLD_ANY);
    world_test("local reductions need nobody else", local_reductions_need_nobody, WORLD_ANY);
    return tap_done();
}

/* Which arguments of rooted collectives count where: those that do not are not looked at, whatever
 * they are, and those that do are refused when they are wrong; on intracommunicators and, with
 * MPI_ROOT and MPI_PROC_NULL, on intercommunicators. And which requests may be started. */
#include "tests/world_harness.h"

enum { FORMS = 3, CALLS = 7, BYTES = 64 };

static const char *const names[CALLS] = {"Bcast",   "Gather",   "Scatter", "Reduce",
                                         "Gatherv", "Scatterv", "Barrier"};

/* What is not significant. */
#define WRONG_TYPE  MPI_DATATYPE_NULL
#define WRONG_COUNT (-5)

struct arguments {
    int call, form, root;
    bool sends, receives; /* its arguments are right there; else they are wrong */
    MPI_Comm comm;
    MPI_Datatype type;
    int *data, *out, *counts, *displacements;
};

#define RUN(name, small, ...)                                                                      \
    (a->form == 0   ? MPI_##name(__VA_ARGS__, a->comm)                                             \
     : a->form == 1 ? MPI_I##small(__VA_ARGS__, a->comm, &request)                                 \
                    : MPI_##name##_init(__VA_ARGS__, a->comm, MPI_INFO_NULL, &request))

/* One collective with one integer for each member; waits for it where it began. */
static int call_it(const struct arguments *a)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int in = a->sends ? 1 : WRONG_COUNT, out = a->receives ? 1 : WRONG_COUNT, error = 0;
    MPI_Datatype from = a->sends ? a->type : WRONG_TYPE, to = a->receives ? a->type : WRONG_TYPE;
    void *data = a->sends ? a->data : NULL, *results = a->receives ? a->out : NULL;
    int *in_counts = a->sends ? a->counts : NULL, *out_counts = a->receives ? a->counts : NULL;
    int *in_at = a->sends ? a->displacements : NULL;
    int *out_at = a->receives ? a->displacements : NULL;
    switch (a->call) {
    case 0: /* both ends have one buffer */
        error = RUN(Bcast, bcast, a->sends || a->receives ? a->data : NULL,
                    a->sends || a->receives ? 1 : WRONG_COUNT,
                    a->sends || a->receives ? a->type : WRONG_TYPE, a->root);
        break;
    case 1:
        error = RUN(Gather, gather, data, in, from, results, out, to, a->root);
        break;
    case 2:
        error = RUN(Scatter, scatter, data, in, from, results, out, to, a->root);
        break;
    case 3:
        error = RUN(Reduce, reduce, a->data, a->out, 1, a->type, MPI_SUM, a->root);
        break;
    case 4:
        error = RUN(Gatherv, gatherv, data, in, from, results, out_counts, out_at, to, a->root);
        break;
    case 5:
        error = RUN(Scatterv, scatterv, data, in_counts, in_at, from, results, out, to, a->root);
        break;
    default:
        error = a->form == 0   ? MPI_Barrier(a->comm)
                : a->form == 1 ? MPI_Ibarrier(a->comm, &request)
                               : MPI_Barrier_init(a->comm, MPI_INFO_NULL, &request);
    }
    if (!error && a->form == 2)
        error = MPI_Start(&request);
    if (!error && a->form)
        error = MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (a->form == 2 && request != MPI_REQUEST_NULL)
        MPI_Request_free(&request);
    return error;
}

static struct arguments arguments_of(int call, int form, int root, MPI_Comm comm)
{
    static const struct arguments none;
    struct arguments a = none;
    a.call = call;
    a.form = form;
    a.root = root;
    a.comm = comm;
    a.type = MPI_INT;
    a.sends = a.receives = true;
    a.data = calloc(4 * BYTES, sizeof *a.data);
    a.out = a.data + BYTES;
    a.counts = a.out + BYTES;
    a.displacements = a.counts + BYTES;
    for (int i = 0; i < BYTES; i++) {
        a.counts[i] = 1;
        a.displacements[i] = i;
        a.out[i] = -1;
    }
    return a;
}

/* Gathers send everywhere and receive at the root; scatters the other way round. */
static bool is_gather(int call)
{
    return call == 1 || call == 4;
}

static bool is_scatter(int call)
{
    return call == 2 || call == 5;
}

static void what_does_not_count_is_not_looked_at(int rank, int size)
{
    for (int call = 0; call < CALLS; call++)
        for (int form = 0; form < FORMS; form++) {
            int root = (call + form) % size;
            struct arguments a = arguments_of(call, form, root, MPI_COMM_WORLD);
            a.receives = !is_gather(call) || rank == root;
            a.sends = !is_scatter(call) || rank == root;
            for (int i = 0; i < BYTES; i++)
                a.data[i] = 100 * rank + i;
            int error = call_it(&a);
            expect(!error, "%s, form %d: error %d", names[call], form, error);
            for (int r = 0; is_gather(call) && rank == root && r < size; r++)
                expect(a.out[r] == 100 * r, "%s, form %d: %d from %d", names[call], form, a.out[r],
                       r);
            if (is_scatter(call))
                expect(a.out[0] == 100 * root + rank, "%s: %d", names[call], a.out[0]);
            if (call == 0)
                expect(a.data[0] == 100 * root, "%s: %d", names[call], a.data[0]);
            if (call == 3 && rank == root)
                expect(a.out[0] == 100 * (size * (size - 1) / 2), "%s: %d", names[call], a.out[0]);
            free(a.data);
        }
}

/* Everybody makes the same mistake, so that nobody waits. */
static void what_counts_is_looked_at(int rank, int size)
{
    const int roots[] = {-1, MPI_ROOT, MPI_PROC_NULL, MPI_ANY_SOURCE, size, size + 7};
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    for (int call = 0; call < CALLS - 1; call++)
        for (int form = 0; form < FORMS; form++) {
            for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
                struct arguments a = arguments_of(call, form, roots[i], comm);
                int class = -1, error = call_it(&a);
                MPI_Error_class(error, &class);
                expect(class == MPI_ERR_ROOT, "%s, form %d, root %d: class %d", names[call], form,
                       roots[i], class);
                free(a.data);
            }
            struct arguments a = arguments_of(call, form, 0, comm);
            int class = -1;
            a.type = MPI_DATATYPE_NULL;
            MPI_Error_class(call_it(&a), &class);
            expect(class == MPI_ERR_TYPE, "%s, form %d, no type: class %d", names[call], form,
                   class);
            free(a.data);
        }
    /* Afterwards all is well. */
    struct arguments a = arguments_of(0, 0, size - 1, comm);
    a.data[0] = rank;
    expect(!call_it(&a) && a.data[0] == size - 1, "afterwards: %d", a.data[0]);
    free(a.data);
    MPI_Comm_free(&comm);
}

/* The even ranks against the odd ones; the root is an even one, which only it says. */
static void nor_across(int rank, int size)
{
    MPI_Comm side, across;
    int own, group = rank % 2;
    MPI_Comm_split(MPI_COMM_WORLD, group, rank, &side);
    MPI_Intercomm_create(side, 0, MPI_COMM_WORLD, 1 - group, 3, &across);
    MPI_Comm_rank(side, &own);
    int others = (size + group) / 2; /* ranks of the other group */
    for (int call = 0; call < CALLS; call++)
        for (int form = 0; form < 2; form++) {
            int root = (call + form) % ((size + 1) / 2), me = group         ? root
                                                              : own == root ? MPI_ROOT
                                                                            : MPI_PROC_NULL;
            struct arguments a = arguments_of(call, form, me, across);
            bool is_root = me == MPI_ROOT, member = group;
            a.sends = is_scatter(call) || call == 0 ? is_root : member;
            a.receives = is_scatter(call) || call == 0 ? member : is_root;
            for (int i = 0; i < BYTES; i++)
                a.data[i] = 100 * rank + i;
            int error = call_it(&a), root_rank = 2 * root;
            expect(!error, "%s across, form %d: error %d", names[call], form, error);
            for (int r = 0; is_gather(call) && is_root && r < others; r++)
                expect(a.out[r] == 100 * (2 * r + 1), "%s across: %d from %d", names[call],
                       a.out[r], r);
            if (is_scatter(call) && member)
                expect(a.out[0] == 100 * root_rank + own, "%s across: %d", names[call], a.out[0]);
            if (call == 0 && member)
                expect(a.data[0] == 100 * root_rank, "%s across: %d", names[call], a.data[0]);
            free(a.data);
        }
    /* Errors of its collectives are its own, also when its handler is changed between two. */
    for (int twice = 0; twice < 2; twice++) {
        MPI_Comm_set_errhandler(across, MPI_ERRORS_RETURN);
        struct arguments a = arguments_of(0, 0, others + 3, across);
        int class = -1;
        MPI_Error_class(call_it(&a), &class);
        expect(class == MPI_ERR_ROOT, "a root that is not there: class %d", class);
        a.root = 0;
        a.type = MPI_DATATYPE_NULL;
        MPI_Error_class(call_it(&a), &class);
        expect(class == MPI_ERR_TYPE, "a type that is none: class %d", class);
        free(a.data);
    }
    MPI_Comm_free(&across);
    MPI_Comm_free(&side);
}

static void only_what_is_persistent_and_inactive_is_started(int rank, int size)
{
    int value = rank, got = -1, class = -1;
    (void)size;
    MPI_Request plain, again, send;
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Irecv(&got, 1, MPI_INT, 0, 1, comm, &plain);
    MPI_Error_class(MPI_Start(&plain), &class);
    expect(class == MPI_ERR_REQUEST, "a request that is not persistent: class %d", class);
    MPI_Send(&value, 1, MPI_INT, 0, 1, comm);
    MPI_Wait(&plain, MPI_STATUS_IGNORE);
    expect(got == rank, "it still receives %d", got);
    MPI_Error_class(MPI_Start(&plain), &class);
    expect(class == MPI_ERR_REQUEST, "no request: class %d", class);
    MPI_Recv_init(&got, 1, MPI_INT, 0, 2, comm, &again);
    MPI_Start(&again);
    MPI_Error_class(MPI_Start(&again), &class);
    expect(class == MPI_ERR_REQUEST, "one that is active: class %d", class);
    value = rank + 1;
    MPI_Send(&value, 1, MPI_INT, 0, 2, comm);
    MPI_Wait(&again, MPI_STATUS_IGNORE);
    expect(got == rank + 1, "which goes on: %d", got);
    /* A ready send without a receive is not started, with one it is. */
    MPI_Rsend_init(&value, 1, MPI_INT, 0, 3, comm, &send);
    MPI_Error_class(MPI_Start(&send), &class);
    expect(class != MPI_SUCCESS, "a ready send for which nobody is ready");
    int flag = 1;
    MPI_Iprobe(0, 3, comm, &flag, MPI_STATUS_IGNORE);
    expect(!flag, "and nothing was sent");
    value = rank + 2;
    MPI_Irecv(&got, 1, MPI_INT, 0, 3, comm, &plain);
    expect_ok(MPI_Start(&send));
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    MPI_Wait(&plain, MPI_STATUS_IGNORE);
    expect(got == rank + 2, "the ready send arrives: %d", got);
    MPI_Request_free(&send);
    MPI_Request_free(&again);
    MPI_Comm_free(&comm);
}

int main(void)
{
    world_test_sizes("arguments that do not count are not looked at",
                     what_does_not_count_is_not_looked_at, WORLD_ANY, WORLD_SIZES(1, 2, 3, 5));
    world_test_sizes("those that count are", what_counts_is_looked_at, WORLD_ANY,
                     WORLD_SIZES(1, 2, 3));
    world_test_sizes("on intercommunicators the root's group sends or receives at the root only",
                     nor_across, WORLD_ANY, WORLD_SIZES(2, 3, 5));
    world_test_sizes("only what is persistent and inactive is started",
                     only_what_is_persistent_and_inactive_is_started, WORLD_ANY, WORLD_SIZES(1, 2));
    return tap_done();
}

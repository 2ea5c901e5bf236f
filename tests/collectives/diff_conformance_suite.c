/* Conformance suite: all cases one after the other. See diff_conformance.h. */
#include "tests/collectives/diff_conformance_internal.h"

#include "collectives/tape/tensor.h"

#include <stdlib.h>

static void case_run(struct conf_checker *checker, const struct conf_shared *shared,
                     struct diff_tape *tape)
{
    const struct conf_case *at = checker->at;
    MPI_Comm comm = shared->comms[at->comm];
    struct conf_world world;
    struct conf_run run;
    if (comm == MPI_COMM_NULL)
        return;
    conf_world_make(&world, at, shared, comm);
    checker->rank = world.rank;
    if (checker->options->kept)
        conf_keep_case(checker->options->kept, at);
    conf_run_make(&world, shared, comm, tape, &run);
    conf_check_forward(checker, &world, &run);
    struct diff_tensor *w =
        conf_tensor(tape, at->type, world.w[world.rank], world.receive[world.rank].full, NULL);
    diff_backward_from(tape, 1, &run.y, &w, DIFF_RETAIN);
    conf_check_gradient(checker, &world, &run);
    conf_check_dot(checker, &world, &run, comm);
    conf_check_dense(checker, &world, &run);
    conf_run_free(&run);
    if (at->values < CONF_TIES_2)
        conf_check_second(checker, &world, shared, comm, tape);
    conf_world_free(&world);
    checker->result->cases++;
}

static MPI_Comm graph_comm(const int *steps)
{
    int rank, size, sources[3], destinations[3], weights[3] = {1, 1, 1};
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < 3; i++) {
        destinations[i] = (rank + steps[i]) % size;
        sources[i] = (rank + 2 * size - steps[i]) % size;
    }
    MPI_Comm comm;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 3, sources, weights, 3, destinations, weights,
                                   MPI_INFO_NULL, 0, &comm);
    return comm;
}

static void shared_make(struct conf_shared *shared, bool multiple)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    shared->comms[CONF_WORLD] = MPI_COMM_WORLD;
    shared->steps[0] = 1;
    shared->steps[1] = 2;
    shared->steps[2] = multiple ? 1 : 3; /* an edge twice, which not every MPI pairs in order */
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &shared->comms[CONF_REVERSED]);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank * 7 % 5, &shared->comms[CONF_HALVES]);
    shared->comms[CONF_INTER] = conf_inter_make();
    shared->comms[CONF_GRAPH] = graph_comm(shared->steps);
    MPI_Op_create(conf_user_mpi, 0, &shared->user);
    diff_op_register(shared->user, &conf_user_rules);
    enum { BUFFERED = 1 << 16 };
    MPI_Buffer_attach(conf_memory(BUFFERED, 1), BUFFERED);
}

static void shared_free(struct conf_shared *shared)
{
    for (int i = CONF_REVERSED; i < CONF_COMMS; i++)
        if (shared->comms[i] != MPI_COMM_NULL)
            MPI_Comm_free(&shared->comms[i]);
    MPI_Op_free(&shared->user);
    void *buffered;
    int size;
    MPI_Buffer_detach(&buffered, &size);
    free(buffered);
}

static struct diff_tape *tape_make(const struct conf_shared *shared)
{
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    diff_comm_register(tape, shared->comms[CONF_REVERSED]);
    diff_comm_register(tape, shared->comms[CONF_HALVES]);
    if (shared->comms[CONF_INTER] != MPI_COMM_NULL)
        diff_comm_register(tape, shared->comms[CONF_INTER]);
    return tape;
}

struct visitor {
    struct conf_checker checker;
    struct conf_shared shared;
    struct diff_tape *tape;
    unsigned long number;
};

static void visit(const struct conf_case *at, void *context)
{
    struct visitor *visitor = context;
    const struct conf_options *options = visitor->checker.options;
    if (conf_mixed(visitor->number++, 5, 5) % options->thin != options->part)
        return;
    visitor->checker.at = at;
    if (getenv("CONFORMANCE_VERBOSE")) {
        char text[200];
        conformance_text(at, text, sizeof text);
        fprintf(stderr, "case %lu: %s\n", visitor->number, text);
    }
    if (!at->persistent || conf_is_message(at->kind)) {
        case_run(&visitor->checker, &visitor->shared, visitor->tape);
        return;
    }
    /* Its channels live as long as the tape, and some MPIs have 2,048 communicators. */
    struct diff_tape *own = tape_make(&visitor->shared);
    case_run(&visitor->checker, &visitor->shared, own);
    diff_tape_free(own);
}

/* Megatron's pair is no derivative of what it computes, rank by rank, but that of a function of one
 * value of which all hold a copy: here of the sum over ranks of (rank + 1) x. */
static void replicas_check(struct conf_checker *checker, MPI_Comm comm, enum diff_type type,
                           struct diff_tape *tape)
{
    enum { COUNT = 3 };
    struct conf_case at = {.kind = DIFF_ALLREDUCE, .type = type};
    double x[2 * COUNT], w[2 * COUNT];
    int size;
    MPI_Comm_size(comm, &size);
    MPI_Comm_rank(comm, &checker->rank);
    checker->at = &at;
    for (uint64_t i = 0; i < 2 * COUNT; i++) {
        x[i] = conf_number(1, i, 31);
        w[i] = conf_number(1, i, 37);
    }
    struct diff_tensor *theta = conf_tensor(tape, type, x, COUNT, "theta");
    struct diff_tensor *own = diff_scale(diff_replicate(theta, comm), checker->rank + 1);
    struct diff_tensor *y = diff_reduce_invariant(own, comm);
    diff_backward_replicated(diff_dot(y, conf_tensor(tape, type, w, COUNT, NULL)));
    for (size_t i = 0; i < COUNT * diff_type_parts(type); i++) {
        double factor = size * (size + 1) / 2.0, tolerance = 4 * size * conf_epsilon(&at);
        conf_check(checker, "replicas", tensor_part(y, i), factor * x[i], factor * tolerance);
        conf_check(checker, "replicas", conf_gradient_part(theta, i), factor * w[i],
                   factor * tolerance);
    }
    diff_tape_clear(tape);
}

void conformance_run(const struct conf_options *options, struct conf_result *result)
{
    struct visitor visitor = {.checker = {.options = options, .result = result}};
    *result = (struct conf_result){.hash = 0xcbf29ce484222325u};
    shared_make(&visitor.shared, options->exact_forward);
    visitor.tape = tape_make(&visitor.shared);
    conf_cases(visit, &visitor);
    for (int type = 0; type < 2 * DIFF_HANDLE; type++)
        replicas_check(&visitor.checker,
                       visitor.shared.comms[type % 2 ? CONF_REVERSED : CONF_WORLD],
                       (enum diff_type)(type / 2), visitor.tape);
    diff_tape_free(visitor.tape);
    shared_free(&visitor.shared);
}

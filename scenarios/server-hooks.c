/* about: gradients are sent from hooks of the backward pass, which fire as the gradients become ready
 * ranks: 2,4
 * arguments: at-ready swapped equal
 * expect: R002 S003 G001
 * variant: sizes; arguments: at-ready swapped sizes; expect: R002 S004
 * variant: sizes-padded; arguments: at-ready swapped sizes padded; expect: M005
 * variant: shared; arguments: at-ready shared equal padded; expect: D001
 * variant: shared-two-phase; arguments: at-ready shared equal; expect: M001
 * variant: skipped; arguments: at-ready skipped equal padded; expect: D001
 * variant: skipped-two-phase; arguments: at-ready skipped equal; expect: M001
 * variant: same-order; arguments: at-ready plain sizes; expect: OK
 * variant: swapped-at-step; arguments: at-step swapped sizes; expect: OK
 * variant: shared-at-step; arguments: at-step shared equal; expect: OK
 * variant: skipped-at-step; arguments: at-step skipped equal; expect: OK
 *
 * pytorch_ps_mpi starts an exchange in every hook. On the last rank the hooks fire in another order: with equal sizes the
 * gradients of two layers are added and nothing fails, with other sizes the bytes are not what was expected. A parameter
 * that two layers share fires twice there, or one that took no part does not fire: the others wait. Starting all exchanges
 * in the step, in the order of registration, makes all four right: a gradient that comes twice is added, one that never
 * comes is zero. */
#include <diff.h>
#include <mpi.h>
#include <server.h>
#include <stdbool.h>
#include <words.h>

enum { HEAD = 3, BODY_ROOM = 5 };

struct model {
    double head[HEAD], body[BODY_ROOM];
    int body_count;
};

/* The loss is the sum of weight * value^2 / 2, with weights of this rank; `share` of it is seen by one hook. */
static double gradient_of(const double *values, int count, int rank, double share, double *gradient)
{
    double loss = 0;
    for (int i = 0; i < count; i++) {
        double weight = share * (1 + i + 0.5 * rank);
        loss += weight * values[i] * values[i] / 2;
        gradient[i] = weight * values[i];
    }
    return loss;
}

static double hook(struct server *server, size_t parameter, const double *values, int count, int rank, double share)
{
    double gradient[BODY_ROOM];
    double loss = gradient_of(values, count, rank, share, gradient);
    server_ready(server, parameter, gradient);
    return loss;
}

static double backward(struct server *server, struct model *model, int rank, const char *fault)
{
    double loss = 0;
    if (strcmp(fault, "skipped") == 0)
        return hook(server, 0, model->head, HEAD, rank, 1);
    if (strcmp(fault, "swapped") == 0)
        loss += hook(server, 1, model->body, model->body_count, rank, 1);
    loss += hook(server, 0, model->head, HEAD, rank, 1);
    if (strcmp(fault, "swapped") == 0)
        return loss;
    bool shared = strcmp(fault, "shared") == 0;
    loss += hook(server, 1, model->body, model->body_count, rank, shared ? 0.25 : 1);
    if (shared)
        loss += hook(server, 1, model->body, model->body_count, rank, 0.75);
    return loss;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    struct server_options options;
    server_options_init(&options);
    options.launch = switch_of(argc, argv, 1, "time", "at-ready", "at-step") ? SERVER_AT_STEP : SERVER_AT_READY;
    options.framing = switch_of(argc, argv, 4, "framing", "two-phase", "padded") ? SERVER_PADDED : SERVER_TWO_PHASE;
    const char *fault = word_of(argc, argv, 2, "fault", "plain", "plain swapped shared skipped");
    if (rank < size - 1)
        fault = "plain";
    struct model model = {.head = {1, -2, 3}, .body = {0.5, 4, -1, 2, -3}};
    model.body_count = switch_of(argc, argv, 3, "model", "equal", "sizes") ? BODY_ROOM : HEAD;
    words_end(argc, argv, 4);
    struct server *server = server_new(MPI_COMM_WORLD, &options);
    server_parameter(server, "head", model.head, HEAD);
    server_parameter(server, "body", model.body, (size_t)model.body_count);
    if (rank == 0) {
        diff_mark_input("head", model.head, HEAD);
        diff_mark_input("body", model.body, (size_t)model.body_count);
    }
    server_broadcast(server);
    diff_mark_objective(backward(server, &model, rank, fault));
    server_step(server);
    if (rank == 0) {
        diff_mark_gradient("head", server_gradient(server, 0), HEAD);
        diff_mark_gradient("body", server_gradient(server, 1), (size_t)model.body_count);
    }
    server_free(server);
    MPI_Finalize();
    return 0;
}

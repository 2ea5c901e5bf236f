/* about: a small regression trained by all ranks together: gradients are coded, exchanged, decoded and summed
 * ranks: 4,1,2,5
 * arguments: none two-phase
 * expect: eager=OK rendezvous=OK batch=OK
 * variant: padded; arguments: none padded; expect: eager=OK rendezvous=OK batch=OK
 * variant: float16; arguments: float16 two-phase; expect: OK
 * variant: top-k; arguments: top-k:0.5 padded; expect: OK
 * variant: quantised; arguments: quantised:8 two-phase; expect: OK
 * variant: zstd; arguments: zstd:3 two-phase; expect: OK
 * variant: adam; arguments: none two-phase adam; expect: OK
 *
 * Every rank has rows of its own of one data set. Where the coder loses nothing, the sum that the server makes of the first
 * gradients is compared with finite differences: rank 0's parameters are the variables, since all others start as their
 * copies. The loss must fall to a hundredth, and the check of replicas (S003) looks at every step. */
#include <diff.h>
#include <math.h>
#include <mpi.h>
#include <mpix.h>
#include <server.h>
#include <words.h>

enum { ROWS = 6, FEATURES = 4, STEPS = 60 };

struct model {
    double weights[FEATURES], offset;
    double weights_grad[FEATURES], offset_grad;
    double inputs[ROWS][FEATURES], targets[ROWS];
};

/* Rows of the plane with slopes 1, -2, 3, -4 and offset 0.5. */
static void data_make(struct model *model, int rank)
{
    for (int i = 0; i < ROWS; i++) {
        model->targets[i] = 0.5;
        for (int k = 0; k < FEATURES; k++) {
            double x = sin(1 + 1.7 * i + 2.3 * k * (i + 1) + 0.9 * rank * (k + 2));
            model->inputs[i][k] = x;
            model->targets[i] += (k % 2 ? -1 : 1) * (k + 1) * x;
        }
    }
}

/* The mean squared error of this rank's rows over all rows, and its gradient. */
static double loss_of(struct model *model, int size)
{
    double loss = 0, scale = 1.0 / (ROWS * size);
    memset(model->weights_grad, 0, sizeof model->weights_grad);
    model->offset_grad = 0;
    for (int i = 0; i < ROWS; i++) {
        double residual = model->offset - model->targets[i];
        for (int k = 0; k < FEATURES; k++)
            residual += model->weights[k] * model->inputs[i][k];
        loss += residual * residual * scale;
        for (int k = 0; k < FEATURES; k++)
            model->weights_grad[k] += 2 * residual * model->inputs[i][k] * scale;
        model->offset_grad += 2 * residual * scale;
    }
    return loss;
}

static double sum_over(double value, MPI_Comm comm)
{
    double sum;
    MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, comm);
    return sum;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    struct server_options options;
    server_options_init(&options);
    if (argc > 1 && !server_coder_parse(argv[1], &options.coder))
        word_refuse("coder", argv[1], "none float16 bfloat16 top-k:FRACTION quantised:LEVELS zstd:LEVEL");
    options.framing = switch_of(argc, argv, 2, "framing", "two-phase", "padded") ? SERVER_PADDED : SERVER_TWO_PHASE;
    bool adam = switch_of(argc, argv, 3, "optimizer", "sgd", "adam");
    words_end(argc, argv, 3);
    options.optimizer = adam ? server_adam(0.3) : server_sgd(0.2);
    options.optimizer.momentum = 0.8;
    options.optimizer.nesterov = !adam;

    struct model model = {.weights = {0.1, 0.2, -0.1, 0.3}, .offset = -0.2};
    data_make(&model, rank);
    struct server *server = server_new(MPI_COMM_WORLD, &options);
    size_t weights = server_parameter(server, "weights", model.weights, FEATURES);
    size_t offset = server_parameter(server, "offset", &model.offset, 1);
    if (rank == 0 && options.coder.exact) {
        diff_mark_input("weights", model.weights, FEATURES);
        diff_mark_input("offset", &model.offset, 1);
    }
    server_broadcast(server);
    double first = 0, last = 0;
    for (int step = 0; step < STEPS; step++) {
        double loss = loss_of(&model, size);
        server_ready(server, weights, model.weights_grad);
        server_ready(server, offset, &model.offset_grad);
        server_step(server);
        if (step == 0 && options.coder.exact) {
            diff_mark_objective(loss);
            if (rank == 0) {
                diff_mark_gradient("weights", server_gradient(server, weights), FEATURES);
                diff_mark_gradient("offset", server_gradient(server, offset), 1);
            }
        }
        if (step == 0)
            first = sum_over(loss, MPI_COMM_WORLD);
        last = step == STEPS - 1 ? sum_over(loss, MPI_COMM_WORLD) : 0;
        if (rank == 0)
            SIM_Metric("loss", step, loss);
    }
    int right = server_replicas_equal(server) && last < first / 100;
    server_free(server);
    MPI_Finalize();
    return !right;
}

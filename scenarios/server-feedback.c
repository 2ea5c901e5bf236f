/* about: what a lossy coder loses of a gradient is kept and sent later: nothing of all gradients is missing
 * ranks: 3,2,5
 * arguments: top-k:0.2
 * expect: eager=OK rendezvous=OK batch=OK
 * variant: float16; arguments: float16; expect: OK
 * variant: quantised; arguments: quantised:4; expect: OK
 * variant: asynchronous; arguments: top-k:0.2 asynchronous; options: --check=-race; expect: OK
 * variant: without; arguments: top-k:0.2 synchronous without; expect: X002
 * variant: without-asynchronous; arguments: top-k:0.2 asynchronous without; options: --check=-race; expect: X002
 *
 * Every rank has gradients of very different sizes. A sparse coder alone never sends the small ones, although they add up.
 * With feedback the sum of what was sent and of what every rank still keeps is the sum of all gradients, to rounding:
 * what was sent is known from the sums of the steps, or from how far the parameters went. */
#include <math.h>
#include <mpi.h>
#include <server.h>
#include <words.h>

enum { COUNT = 10, STEPS = 25 };

static void gradient_of(int rank, int step, double *gradient)
{
    for (int i = 0; i < COUNT; i++)
        gradient[i] = pow(4, -i) * (1 + sin(1 + rank + 0.7 * step + 2.1 * i));
}

/* How far sent + kept is from all gradients, in units of what was to be sent. */
static double missing(const struct server *server, const double *sent, int first, int size)
{
    double kept[COUNT], worst = 0, gradient[COUNT];
    MPI_Allreduce(server_residual(server, 0), kept, COUNT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < COUNT; i++) {
        double all = 0;
        for (int rank = first; rank < size; rank++)
            for (int step = 0; step < STEPS; step++) {
                gradient_of(rank, step, gradient);
                all += gradient[i];
            }
        worst = fmax(worst, fabs(sent[i] + kept[i] - all) / all);
    }
    return worst;
}

static void synchronous(struct server *server, int rank, double *sent)
{
    double gradient[COUNT];
    for (int step = 0; step < STEPS; step++) {
        gradient_of(rank, step, gradient);
        server_ready(server, 0, gradient);
        server_step(server);
        for (int i = 0; i < COUNT; i++)
            sent[i] += server_gradient(server, 0)[i];
    }
}

/* SGD with rate 1 from 0: the parameters are what was sent, with another sign. */
static void asynchronous(struct server *server, int rank, double *x, double *sent)
{
    double gradient[COUNT];
    for (int step = 0; rank && step < STEPS; step++) {
        server_pull(server);
        gradient_of(rank, step, gradient);
        server_push(server, (const double *[]){gradient});
    }
    if (rank)
        server_done(server);
    else
        server_serve(server);
    MPI_Bcast(x, COUNT, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    for (int i = 0; i < COUNT; i++)
        sent[i] = -x[i];
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    struct server_options options;
    server_options_init(&options);
    options.coder = server_coder_top_k(0.2);
    if (argc > 1 && !server_coder_parse(argv[1], &options.coder))
        word_refuse("coder", argv[1], "none float16 bfloat16 top-k:FRACTION quantised:LEVELS zstd:LEVEL");
    bool is_asynchronous = switch_of(argc, argv, 2, "server", "synchronous", "asynchronous");
    options.feedback = !switch_of(argc, argv, 3, "feedback", "with", "without");
    words_end(argc, argv, 3);
    options.optimizer = server_sgd(1);
    options.gradients = 1;
    double x[COUNT] = {0}, sent[COUNT] = {0};
    struct server *server = server_new(MPI_COMM_WORLD, &options);
    server_parameter(server, "x", x, COUNT);
    if (is_asynchronous)
        asynchronous(server, rank, x, sent);
    else
        synchronous(server, rank, sent);
    double worst = missing(server, sent, is_asynchronous, size);
    if (rank == 0 && !(worst <= 1e-12))
        fprintf(stderr, "server-feedback: %.2g of a parameter's gradients are neither sent nor kept\n", worst);
    server_free(server);
    MPI_Finalize();
    return !(worst <= 1e-12);
}

/* about: one forward, one backward: a pipeline schedule whose messages cross in the middle
 * arguments: unfused 4
 * ranks: 2
 * expect: eager=D003 rendezvous=D001 batch=D001
 * variant: unfused; arguments: unfused 8; ranks: 4; expect: eager=D003 rendezvous=D001 batch=D001
 * variant: fused; arguments: fused 8; ranks: 4; expect: eager=OK rendezvous=OK batch=OK
 * variant: fused-few; arguments: fused 2; ranks: 4; expect: eager=OK rendezvous=OK batch=OK
 * variant: batched; arguments: batched 8; ranks: 4; expect: eager=OK rendezvous=OK batch=OK
 * variant: batched-one; arguments: batched 1; ranks: 4; expect: eager=D004 rendezvous=D004 batch=D001
 * variant: batched-three; arguments: batched 3; ranks: 4; expect: eager=D004 rendezvous=D004 batch=D001
 *
 * After the warmup a stage sends an activation down while the next one sends a cotangent up. As two blocking calls that is
 * a cycle. Fused, each crossing is one Sendrecv. Batched, the last activation of the warmup goes in one batch with the
 * receive of the first cotangent; with fewer microbatches than stages the neighbor needs that activation before it can
 * return anything, and a batch that completes only as a whole never completes. */
#include <diff.h>
#include <math.h>
#include <mpi.h>
#include <mpix.h>
#include <words.h>

enum { MICROBATCHES_MAX = 32, ACTIVATION = 0, COTANGENT = 1 };

static const char *form;
static int stage, stages, microbatches;
static double weight, gradient, objective;
static double input[MICROBATCHES_MAX], output[MICROBATCHES_MAX], cotangent[MICROBATCHES_MAX];

static int neighbor(int step)
{
    return stage + step < 0 || stage + step >= stages ? MPI_PROC_NULL : stage + step;
}

/* Sends one value and receives one, to and from the same neighbor; NULL for what there is not. */
static void cross(double *send, double *receive, int step)
{
    int peer = neighbor(step), out = step > 0 ? ACTIVATION : COTANGENT, in = 1 - out, count = 0;
    MPI_Request requests[2];
    if (!strcmp(form, "unfused")) {
        if (send)
            MPI_Send(send, 1, MPI_DOUBLE, peer, out, MPI_COMM_WORLD);
        if (receive)
            MPI_Recv(receive, 1, MPI_DOUBLE, peer, in, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        return;
    }
    if (peer == MPI_PROC_NULL)
        return;
    if (!strcmp(form, "batched"))
        SIM_Batch_begin();
    if (send)
        MPI_Isend(send, 1, MPI_DOUBLE, peer, out, MPI_COMM_WORLD, &requests[count++]);
    if (receive)
        MPI_Irecv(receive, 1, MPI_DOUBLE, peer, in, MPI_COMM_WORLD, &requests[count++]);
    if (!strcmp(form, "batched"))
        SIM_Batch_end();
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
}

static void forward(int m)
{
    if (stage == 0)
        input[m] = 0.5 + 0.1 * m;
    output[m] = tanh(weight * input[m]);
    if (stage == stages - 1) {
        objective += output[m] * output[m];
        cotangent[m] = 2 * output[m];
    }
}

static void backward(int m)
{
    double inner = cotangent[m] * (1 - output[m] * output[m]);
    gradient += inner * input[m];
    cotangent[m] = inner * weight;
}

/* The first crossing comes after the last activation of the warmup. */
static void run_crossing_early(void)
{
    int forwards = 0, backwards = 0, warmup = stages - stage < microbatches ? stages - stage : microbatches;
    for (; forwards < warmup; forwards++) {
        cross(NULL, &input[forwards], -1);
        forward(forwards);
        if (forwards < warmup - 1)
            cross(&output[forwards], NULL, 1);
    }
    for (;; forwards++) {
        cross(&output[forwards - 1], &cotangent[backwards], 1);
        backward(backwards++);
        if (forwards == microbatches)
            break;
        cross(&cotangent[backwards - 1], &input[forwards], -1);
        forward(forwards);
    }
    cross(&cotangent[backwards - 1], NULL, -1);
    for (; backwards < microbatches; backwards++) {
        cross(NULL, &cotangent[backwards], 1);
        backward(backwards);
        cross(&cotangent[backwards], NULL, -1);
    }
}

/* The warmup is one shorter and entirely forward. */
static void run_crossing_late(void)
{
    int warmup = stages - 1 - stage < microbatches ? stages - 1 - stage : microbatches, steady = microbatches - warmup;
    for (int m = 0; m < warmup; m++) {
        cross(NULL, &input[m], -1);
        forward(m);
        cross(&output[m], NULL, 1);
    }
    if (steady > 0)
        cross(NULL, &input[warmup], -1);
    for (int i = 0; i < steady; i++) {
        forward(warmup + i);
        cross(&output[warmup + i], &cotangent[i], 1);
        backward(i);
        cross(&cotangent[i], i < steady - 1 ? &input[warmup + i + 1] : NULL, -1);
    }
    for (int m = steady; m < microbatches; m++) {
        cross(NULL, &cotangent[m], 1);
        backward(m);
        cross(&cotangent[m], NULL, -1);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    form = word_of(argc, argv, 1, "form", "fused", "fused unfused batched");
    microbatches = (int)number_of(argc, argv, 2, "microbatches", 8, 1, 64);
    words_end(argc, argv, 2);
    MPI_Comm_rank(MPI_COMM_WORLD, &stage);
    MPI_Comm_size(MPI_COMM_WORLD, &stages);
    weight = 0.7 + 0.1 * stage;
    gradient = objective = 0;
    diff_mark_input("weight", &weight, 1);
    if (!strcmp(form, "batched"))
        run_crossing_early();
    else
        run_crossing_late();
    diff_mark_objective(objective);
    diff_mark_gradient("weight", &gradient, 1);
    MPI_Finalize();
    return 0;
}

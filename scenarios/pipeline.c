/* about: pipeline schedules that train a real chain of layers, compared with the serial computation
 * ranks: 4
 * arguments: 1f1b batched 8
 * expect: eager=OK rendezvous=OK batch=OK
 * variant: gpipe; arguments: gpipe separate 8; ranks: 1,2,4,5; expect: eager=OK rendezvous=OK batch=OK
 * variant: 1f1b-few; arguments: 1f1b batched 2; expect: eager=D004 rendezvous=D004 batch=D001
 * variant: 1f1b-separate; arguments: 1f1b separate 8; expect: eager=D003 rendezvous=D001 batch=D001
 * variant: 1f1b-ordered; arguments: 1f1b ordered 8; ranks: 1,3,4,8; expect: eager=OK rendezvous=OK batch=OK
 * variant: interleaved; arguments: interleaved ordered 8 2; ranks: 2,4; expect: eager=OK rendezvous=OK batch=OK
 * variant: interleaved-three; arguments: interleaved ordered 6 3; ranks: 1,2,3; expect: eager=OK rendezvous=OK batch=OK
 * variant: interleaved-separate; arguments: interleaved separate 8 2; expect: eager=D003 rendezvous=D001 batch=D001
 * variant: interleaved-batched; arguments: interleaved batched 8 2; expect: eager=D003 rendezvous=D001 batch=D001
 * variant: zero-bubble; arguments: zero-bubble ordered 8; ranks: 1,2,4,5; expect: eager=OK rendezvous=OK batch=OK
 * variant: zero-bubble-batched; arguments: zero-bubble batched 8; expect: eager=D004 rendezvous=D004 batch=D001
 * variant: zero-bubble-separate; arguments: zero-bubble separate 8; expect: eager=D003 rendezvous=D001 batch=D001
 * variant: v; arguments: v ordered 8; ranks: 1,2,4; expect: eager=OK rendezvous=OK batch=OK
 * variant: v-separate; arguments: v separate 8; expect: eager=D003 rendezvous=D001 batch=D001
 * variant: bidirectional; arguments: bidirectional ordered 8; ranks: 1,2,3,4; expect: eager=OK rendezvous=OK batch=OK
 * variant: bidirectional-separate; arguments: bidirectional separate 8; expect: eager=D003 rendezvous=D001 batch=D001
 * variant: bidirectional-own-first; arguments: bidirectional-own-first ordered 8; ranks: 2,4; expect: R002 G001
 *
 *   pipeline KIND MESSAGES MICROBATCHES [CHUNKS] [-o FILE.csv]
 *   pipeline FILE.csv
 *
 * Kinds and messages are those of schedule.h. Every rank computes its stages; loss and gradients must be those of the
 * serial computation, which rank 0 does afterwards, and those of finite differences. -o writes the schedule, which
 * `simrun check FILE.csv` judges alike without running it.
 *
 * Where each rank sends when a value is made and receives when it needs one, two neighbours send to each other at
 * once: that takes buffers. In 1F1B the two can meet in one batch, if there are as many microbatches as stages, and
 * nothing stands between them on either side, as the weights' half of the backward pass does in a zero-bubble
 * schedule. With two stages a rank they meet in a circle of ranks. A common order of all messages mends all of these.
 * A bidirectional schedule sums each layer over its two copies. Ranks that begin with their own layer add up different
 * layers, of equal size. */
#include <diff.h>
#include <mpi.h>
#include <schedule.h>
#include <stdio.h>
#include <words.h>

static struct schedule *make(int argc, char **argv, int ranks, char *why, size_t room)
{
    if (argc == 2)
        return schedule_read(argv[1], why, room);
    words_end(argc, argv, 4);
    struct schedule_plan plan = {argc > 1 ? argv[1] : "1f1b", argc > 2 ? argv[2] : "batched", ranks,
                                 (int)number_of(argc, argv, 3, "microbatches", 8, 1, 1000),
                                 (int)number_of(argc, argv, 4, "chunks", 2, 1, 16)};
    return schedule_new(&plan, why, room);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, ranks;
    char why[200];
    const char *file = NULL;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc > 2 && !strcmp(argv[argc - 2], "-o")) {
        file = argv[argc - 1];
        argc -= 2;
    }
    struct schedule *schedule = make(argc, argv, ranks, why, sizeof why);
    if (!schedule || (rank == 0 && file && !schedule_write(schedule, file, why, sizeof why)))
        SIM_Usage(why);
    struct chain *chain = chain_new(schedule, MPI_COMM_WORLD);
    double loss = chain_train(chain);
    double difference = chain_compare(chain, loss);
    int wrong = !(difference <= 1e-11) && !strstr(argc > 1 ? argv[1] : "", "own-first"); /* G001 says it */
    if (wrong)
        fprintf(stderr, "pipeline: %.2g away from the serial computation\n", difference);
    chain_free(chain);
    schedule_free(schedule);
    MPI_Finalize();
    return wrong;
}

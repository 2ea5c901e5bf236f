/* about: gradients of unknown size in slots of one size
 * ranks: 2,4,18
 * arguments: sentinel larger
 * expect: M005
 * variant: mark-inside; arguments: sentinel mark; expect: S004
 * variant: exactly-full; arguments: sentinel full; expect: S004
 * variant: sentinel-fits; arguments: sentinel fits; expect: OK
 * variant: larger-with-length; arguments: length larger; expect: OK
 * variant: mark-with-length; arguments: length mark; expect: OK
 * variant: full-with-length; arguments: length full; expect: OK
 *
 * pytorch_ps_mpi ends the bytes of a slot with a mark and searches for it. A gradient that is larger than the slot is sent
 * all the same; bytes that look like the mark cut it short; and a slot that is exactly full has no mark, so that the last
 * byte is taken for nothing. A length in front of the bytes, and slots that grow when one is too small, make all three
 * right. Slots are exchanged by an Iallgather: who gives 48 bytes where 40 are taken moves another amount than the others
 * expect, M005, as in the blocking form. */
#include <mpi.h>
#include <server.h>
#include <stdint.h>
#include <words.h>

enum { COUNT = 6, MARK = 8 };

static double value_of(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    const char *form = word_of(argc, argv, 2, "gradient", "fits", "fits larger mark full");
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    size_t bytes = COUNT * sizeof(double);
    struct server_options options;
    server_options_init(&options);
    options.framing = switch_of(argc, argv, 1, "framing", "length", "sentinel") ? SERVER_SENTINEL : SERVER_PADDED;
    options.slot = !strcmp(form, "larger") ? bytes - 8 : !strcmp(form, "full") ? bytes : bytes + MARK;
    double x[COUNT] = {0}, gradient[COUNT], sum = 0;
    for (int i = 0; i < COUNT; i++)
        gradient[i] = rank + i;
    if (!strcmp(form, "mark"))
        gradient[2] = value_of(UINT64_C(0x2929292929292929)); /* 2.8e-109, as good as any */
    words_end(argc, argv, 2);
    struct server *server = server_new(MPI_COMM_WORLD, &options);
    server_parameter(server, "x", x, COUNT);
    server_ready(server, 0, gradient);
    server_step(server);
    for (int r = 0; r < size; r++)
        sum += r + 1;
    int right = server_gradient(server, 0)[1] == sum;
    server_free(server);
    MPI_Finalize();
    return !right;
}

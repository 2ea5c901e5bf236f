/* about: parameter servers by hand that lose updates
 * ranks: 3,4,18
 * arguments: write-back
 * options: --check -race
 * expect: S002
 * variant: added; arguments: added; expect: OK
 * variant: one-place; arguments: one-place; expect: S002
 * variant: queued; arguments: queued; expect: OK
 * variant: twice; arguments: twice; expect: S002
 *
 * Workers that read, change and write back the parameters overwrite what came in between; sending the change and adding it
 * where the parameters live loses nothing. A server with one place for each worker's gradient loses the first of two; a
 * queue keeps both. One that takes a repeated message for a new one applies it twice. */
#include <mpi.h>
#include <server.h>
#include <stdlib.h>
#include <words.h>

static const char name[] = "by-hand";
enum { READ = 1, UPDATE, GRADIENT };
struct update {
    double value;
    unsigned long long number, version;
};

/* ---- read, change, write ---- */

static void serve_updates(int size, int added)
{
    struct update parameter = {1, 0, 0}, update;
    MPI_Status status;
    for (int messages = 2 * (size - 1); messages > 0; messages--) {
        MPI_Recv(&update, sizeof update, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        if (status.MPI_TAG == READ) {
            MPI_Send(&parameter, sizeof parameter, MPI_BYTE, status.MPI_SOURCE, READ, MPI_COMM_WORLD);
            continue;
        }
        if (added)
            server_note_applied(name, status.MPI_SOURCE, update.number, parameter.version);
        else
            server_note_written(name, status.MPI_SOURCE, update.number, parameter.version);
        parameter.value = added ? parameter.value + update.value : update.value;
        parameter.version++;
    }
}

static void change(int rank, int added)
{
    struct update read = {0}, update;
    MPI_Send(&read, sizeof read, MPI_BYTE, 0, READ, MPI_COMM_WORLD);
    MPI_Recv(&read, sizeof read, MPI_BYTE, 0, READ, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    double delta = -0.1 * rank;
    update = (struct update){added ? delta : read.value + delta, 1, read.version};
    server_note_sent(name, 1, read.version);
    MPI_Send(&update, sizeof update, MPI_BYTE, 0, UPDATE, MPI_COMM_WORLD);
}

/* ---- gradients kept until the step ---- */

static void serve_gradients(int size, const char *form)
{
    int all = 2 * (size - 1), count = 0, queued = strcmp(form, "one-place");
    struct update *kept = calloc((size_t)all, sizeof *kept), update;
    int *from = calloc((size_t)all, sizeof *from);
    if (!kept || !from)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (int messages = all; messages > 0; messages--) {
        MPI_Status status;
        MPI_Recv(&update, sizeof update, MPI_BYTE, MPI_ANY_SOURCE, GRADIENT, MPI_COMM_WORLD, &status);
        int place = queued ? count : status.MPI_SOURCE - 1;
        kept[place] = update;
        from[place] = status.MPI_SOURCE;
        count = queued ? count + 1 : size - 1;
    }
    for (int i = 0; i < count; i++)
        server_note_applied(name, from[i], kept[i].number, 0);
    if (!strcmp(form, "twice")) /* a message that a retry delivered again */
        server_note_applied(name, from[0], kept[0].number, 1);
    server_note_closed(name);
    free(from);
    free(kept);
}

static void send_gradients(int rank)
{
    for (unsigned long long number = 1; number <= 2; number++) {
        struct update update = {0.1 * rank, number, 0};
        server_note_sent(name, number, 0);
        MPI_Send(&update, sizeof update, MPI_BYTE, 0, GRADIENT, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const char *form = word_alone(argc, argv, "form", "added", "added write-back one-place queued twice");
    int added = !strcmp(form, "added");
    if (added || !strcmp(form, "write-back")) {
        if (rank == 0)
            serve_updates(size, added);
        else
            change(rank, added);
    } else if (rank == 0) {
        serve_gradients(size, form);
    } else {
        send_gradients(rank);
    }
    MPI_Finalize();
    return 0;
}

/* about: a worker clears its gradient for the next batch while the last one is still being sent
 * ranks: 2,4
 * arguments: cleared
 * expect: B001
 * variant: copied; arguments: copied; expect: OK
 * variant: waited; arguments: waited; expect: OK
 * variant: live; arguments: live; ranks: 3,4; expect: B001
 * variant: published; arguments: published; ranks: 3,4; expect: OK
 *
 * zero_grad between Isend and Wait changes what is sent. The same happens on the server's side when the parameters are sent
 * out of the place where the next gradient is added: that is no inconsistent read but no read at all. */
#include <mpi.h>
#include <words.h>

enum { COUNT = 4, STEPS = 3, RANKS_MAX = 16 };

static void worker_of_gradients(const char *form)
{
    double gradient[COUNT], copy[COUNT];
    for (int step = 0; step < STEPS; step++) {
        MPI_Request request;
        for (int i = 0; i < COUNT; i++)
            gradient[i] = 1 + step + i;
        memcpy(copy, gradient, sizeof copy);
        MPI_Isend(!strcmp(form, "copied") ? copy : gradient, COUNT, MPI_DOUBLE, 0, 0,
                  MPI_COMM_WORLD, &request);
        if (strcmp(form, "waited"))
            memset(gradient, 0, sizeof gradient); /* zero_grad */
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

static void sum_of_gradients(int size)
{
    double gradient[COUNT];
    for (int step = 0; step < STEPS; step++)
        for (int r = 1; r < size; r++)
            MPI_Recv(gradient, COUNT, MPI_DOUBLE, r, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void server_of_values(const char *form, int size)
{
    double values[COUNT] = {1, 2, 3, 4}, published[COUNT], gradient[COUNT];
    MPI_Request requests[RANKS_MAX];
    for (int step = 0; step < STEPS; step++) {
        memcpy(published, values, sizeof published);
        for (int r = 1; r < size; r++)
            MPI_Isend(!strcmp(form, "live") ? values : published, COUNT, MPI_DOUBLE, r, 1,
                      MPI_COMM_WORLD, &requests[r]);
        for (int r = 1; r < size; r++) {
            MPI_Recv(gradient, COUNT, MPI_DOUBLE, r, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            for (int i = 0; i < COUNT; i++)
                values[i] -= 0.1 * gradient[i];
        }
        MPI_Waitall(size - 1, requests + 1, MPI_STATUSES_IGNORE);
    }
}

static void worker_of_values(void)
{
    double values[COUNT];
    for (int step = 0; step < STEPS; step++) {
        MPI_Recv(values, COUNT, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(values, COUNT, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    const char *form =
        word_alone(argc, argv, "form", "copied", "copied cleared waited live published");
    int rank, size, of_values = !strcmp(form, "live") || !strcmp(form, "published");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    ranks_at_most(size, RANKS_MAX);
    if (of_values && rank == 0)
        server_of_values(form, size);
    else if (of_values)
        worker_of_values();
    else if (rank == 0)
        sum_of_gradients(size);
    else
        worker_of_gradients(form);
    MPI_Finalize();
    return 0;
}

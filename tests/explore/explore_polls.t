#!/bin/sh
# What exploration makes of probes beside pending receives, of polls, of cancelled receives and of threads: right ones beside wrong ones.
. "$(dirname "$0")/../shell.sh"
echo "TAP version 13"

cat >looks.c <<'END'
#include <diff.h>
#include <mpi.h>
#include <pthread.h>
#include <string.h>

static const MPI_Comm world = MPI_COMM_WORLD;
static int rank, size, a, b, flag;
static MPI_Request first;
static MPI_Status status;

static void expect_any(void) { MPI_Irecv(&a, 1, MPI_INT, MPI_ANY_SOURCE, 0, world, &first); }
static void send(int tag, int count)
{
    int values[3] = {rank, rank, rank};
    MPI_Send(values, count, MPI_INT, 0, tag, world);
}
/* What was probed is received into a buffer of exactly its size. */
static void receive_probed(void)
{
    int values[3], count;
    MPI_Get_count(&status, MPI_INT, &count);
    MPI_Recv(values, count, MPI_INT, 1, status.MPI_TAG, world, MPI_STATUS_IGNORE);
    MPI_Wait(&first, MPI_STATUS_IGNORE);
}
static void *receive_one(void *into)
{
    MPI_Recv(into, 1, MPI_INT, 1, 0, world, MPI_STATUS_IGNORE);
    return NULL;
}

int main(int argc, char **argv)
{
    int level, what = argc, result = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    const char *mode = what > 1 ? argv[1] : "";
    if (rank && !strcmp(mode, "tags")) {
        send(0, 1);
        send(1, 1);
    } else if (rank && (strstr(mode, "probe") || !strcmp(mode, "threads"))) {
        send(0, 1);
        send(strstr(mode, "tag") ? 1 : 0, strstr(mode, "size") ? 3 : 1);
    } else if (rank) {
        if (strcmp(mode, "unsent") != 0)
            send(0, 1);
    } else if (!strncmp(mode, "probe", 5)) {
        expect_any();
        MPI_Probe(1, strstr(mode, "tag") ? MPI_ANY_TAG : 0, world, &status);
        receive_probed();
    } else if (!strncmp(mode, "iprobe", 6)) {
        expect_any();
        while (!flag)
            MPI_Iprobe(1, MPI_ANY_TAG, world, &flag, &status);
        receive_probed();
    } else if (!strcmp(mode, "cancel") || !strcmp(mode, "cancel-named") || !strcmp(mode, "unsent")) {
        MPI_Irecv(&a, 1, MPI_INT, strcmp(mode, "cancel-named") ? MPI_ANY_SOURCE : 1, 0, world, &first);
        MPI_Cancel(&first);
        MPI_Wait(&first, &status);
        MPI_Test_cancelled(&status, &result);
        if (result && strcmp(mode, "unsent") != 0)
            MPI_Recv(&a, 1, MPI_INT, 1, 0, world, MPI_STATUS_IGNORE);
    } else if (!strcmp(mode, "test-once")) {
        MPI_Irecv(&a, 1, MPI_INT, 1, 0, world, &first);
        MPI_Test(&first, &result, MPI_STATUS_IGNORE);
        MPI_Wait(&first, MPI_STATUS_IGNORE);
    } else if (!strcmp(mode, "test-loop")) {
        MPI_Request requests[2];
        for (int i = 0; i < 2; i++)
            MPI_Irecv(i ? &a : &b, 1, MPI_INT, i + 1, 0, world, &requests[i]);
        for (int left = 2; left;)
            for (int i = 0; i < 2; i++) {
                if (requests[i] == MPI_REQUEST_NULL)
                    continue;
                MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE);
                if (flag) {
                    result = 10 * result + i;
                    left--;
                }
            }
    } else if (!strcmp(mode, "some")) {
        MPI_Request requests[2];
        int count, which[2];
        for (int i = 0; i < 2; i++)
            MPI_Irecv(i ? &a : &b, 1, MPI_INT, i + 1, 0, world, &requests[i]);
        MPI_Waitsome(2, requests, &count, which, MPI_STATUSES_IGNORE);
        result = 10 * count + which[0];
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    } else if (!strcmp(mode, "threads")) {
        pthread_t thread;
        pthread_create(&thread, NULL, receive_one, &a);
        receive_one(&b);
        pthread_join(thread, NULL);
    }
    diff_mark_objective(result);
    MPI_Finalize();
    return 0;
}
END

# mode, options, ranks, exit status, what the first line says of the runs
while IFS=: read -r mode options ranks status says; do
    # shellcheck disable=SC2086 # the options are words
    timeout 300 "$simrun" explore $options -n "$ranks" ./looks.c "$mode" >out 2>err
    [ $? -eq "$status" ] && grep -qE ": $says" out
    check $? "$mode: $says"
done <<'END'
probe-tag::2:0:1 run explored, complete
probe-size::2:0:1 run explored, complete
iprobe-tag::2:0:2 runs explored, not complete
cancel::2:1:2 runs explored, complete
cancel-named::2:1:2 runs explored, complete
unsent::2:0:1 run explored, complete
test-once::2:1:2 runs explored, complete
test-loop::3:1:4 runs explored, not complete
some::3:1:3 runs explored, complete
threads:--os-threads:2:0:1 run explored, not complete
END

timeout 300 "$simrun" explore -n 2 ./looks.c cancel >out 2>err
command=$(sed -n 's/^  replay  simrun //p' out | grep none)
[ "$command" ] && eval "timeout 300 \"\$simrun\" --db none $command" >out 2>err
check $? "a run in which a receive is cancelled in time is replayed by its command"

# Messages to neighbours whose number nobody knows: probed until a barrier that everybody enters once its own was received. Where the
# send does not wait for its receive the barrier may come first. Each rank looks so often that polls go beyond their bound.
cat >sparse.c <<'END'
#include <mpi.h>
#include <string.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Request send, barrier = MPI_REQUEST_NULL;
    int rank, size, value, done = 0, entered = 0, taken = 0;
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    int early = argc > 1 && strcmp(argv[1], "early") == 0;
    if (early && rank == 0)
        MPI_Isend(&rank, 1, MPI_INT, 1, 0, world, &send);
    else
        MPI_Issend(&rank, 1, MPI_INT, (rank + 1) % size, 0, world, &send);
    while (!done) {
        int found;
        MPI_Status status;
        MPI_Iprobe(MPI_ANY_SOURCE, 0, world, &found, &status);
        if (found) {
            MPI_Recv(&value, 1, MPI_INT, status.MPI_SOURCE, 0, world, MPI_STATUS_IGNORE);
            taken++;
        }
        if (entered) {
            MPI_Test(&barrier, &done, MPI_STATUS_IGNORE);
        } else {
            MPI_Test(&send, &found, MPI_STATUS_IGNORE);
            if (found)
                MPI_Ibarrier(world, &barrier);
            entered = found;
        }
    }
    if (taken != 1)
        MPI_Abort(world, 3);
    MPI_Finalize();
    return 0;
}
END
for ranks in 2 3 4; do
    timeout 300 "$simrun" prove -n "$ranks" ./sparse.c >out 2>err
    [ $? -eq 0 ] && ! tr -s '\n ' ' ' <out | grep -q "did not do the same" && tr -s '\n ' ' ' <out | grep -q "a poll (Test, Iprobe) was told"
    check $? "sparse exchange on $ranks ranks: all runs within the bound of polls"
    timeout 300 "$simrun" prove -n "$ranks" ./sparse.c early >out 2>err
    [ $? -eq 1 ] && grep -q "^X002" out
    check $? "the same whose first send does not wait: some order ends early"
done
echo "1..$count"

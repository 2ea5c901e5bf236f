#!/bin/sh
# What ranks print is a result: an exploration compares it, shows both texts, and says when it cannot be compared. A gradient is one, too, in
# each of its parts.
. "$(dirname "$0")/../shell.sh"
echo "TAP version 13"

cat >sums.c <<'END'
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double sum = 0, x = rank;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (rank)
        MPI_Send(&x, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
    for (int i = 1; !rank && i < size; i++) {
        MPI_Recv(&x, 1, MPI_DOUBLE, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        sum = strcmp(argv[1], "sum") ? sum * 0.5 + x : sum + x;
    }
    FILE *stream = strcmp(argv[1], "stderr") ? stdout : stderr;
    if (!rank && !strcmp(argv[1], "clock"))
        fprintf(stream, "%ld.%09ld s\n", (long)now.tv_sec, now.tv_nsec);
    else if (!rank && strcmp(argv[1], "silent") != 0)
        fprintf(stream, "%g\n", sum);
    MPI_Finalize();
    return 0;
}
END

while IFS=: read -r mode status says; do
    timeout 300 "$simrun" explore -n 3 ./sums.c "$mode" >out 2>err
    [ $? -eq "$status" ] && tr '\n' ' ' <out | grep -qE "$says"
    check $? "a program that prints ($mode): $says"
done <<'END'
weighted:1:2 runs explored, complete.*R003 .*prints +rank 0: 2.5 .*prints +rank 0: 2 
stderr:1:R003 .*prints +rank 0: 2.5 .*prints +rank 0: 2 
sum:0:^PASS .*2 runs explored, complete
silent:0:^PASS .*2 runs explored, complete
clock:0:^PASS .*not complete.*what a rank prints was not compared
END
timeout 300 "$simrun" explore -n 3 --allow R003 ./sums.c weighted >out 2>err
check $? "who allows R003 accepts the difference"

# A factor of one part of x is what came first, or, with part 4, the sum of what came.
cat >parts.c <<'END'
#include <diff.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    int rank, part = atoi(argv[2]), wide = strcmp(argv[1], "complex") == 0;
    double came[2], values[4] = {0}, factors[4] = {1, 1, 1, 1};
    size_t shape = wide ? 2 : 4;
    enum diff_type type = wide ? DIFF_COMPLEX_DOUBLE : DIFF_DOUBLE;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    came[0] = rank;
    if (rank)
        MPI_Send(came, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
    for (int i = 0; !rank && i < 2; i++)
        MPI_Recv(came + i, 1, MPI_DOUBLE, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!rank)
        factors[part % 4] = part < 4 ? came[0] : came[0] + came[1];
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct diff_tensor *x = diff_input(tape, "x", type, 1, &shape, values);
    diff_backward(diff_dot(x, diff_constant(tape, type, 1, &shape, factors)));
    diff_tape_free(tape);
    MPI_Finalize();
    return 0;
}
END

for type in double complex; do
    for part in 0 1 2 3 4; do
        timeout 300 "$simrun" explore -n 3 ./parts.c $type $part >out 2>err
        status=$?
        [ $status -eq $((part < 4)) ] && grep -q '2 runs' out
        check $? "part $part of a $type gradient: $status"
    done
done
echo "1..$count"

#!/bin/sh
# What ranks print is a result: an exploration compares it, shows both texts, and says when it cannot be compared.
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
echo "1..$count"

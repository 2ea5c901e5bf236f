#!/bin/sh
# Worlds of tens of thousands of ranks: they run, their answer is right, and the gradient check that follows finds nothing to look at.
simrun=$(realpath "${SIMRUN:-build/simrun}")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
number=0
check() { number=$((number + 1)); [ "$1" = 0 ] && echo "ok $number - $2" || { echo "not ok $number - $2"; sed 's/^/# /' out err; }; }
cat >sum.c <<'END'
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    long rank, sum;
    int r, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &r);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    rank = r;
    MPI_Allreduce(&rank, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (r == size - 1)
        printf("sum %ld\n", sum);
    MPI_Finalize();
    return 0;
}
END
for ranks in 16384 16385 32768; do
    "$simrun" --db none --record none -n $ranks sum.c >out 2>err
    check $? "$ranks ranks: exit 0"
    grep -q "^PASS sum.c, $ranks ranks: finished, no findings" out
    check $? "... PASS"
    grep -q "^sum $((ranks * (ranks - 1) / 2))$" err
    check $? "... and the right sum"
done
echo "1..$number"

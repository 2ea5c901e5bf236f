#!/bin/sh
# Options that other tests do not use: each does what its line of --help says.
. "$(dirname "$0")/../shell.sh"
echo "TAP version 13"
run() { timeout 300 "$simrun" "$@" >out 2>err; }
says() { grep -qE "$1" out; }

cat >sums.c <<'END'
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double x[] = {1e16, 1, -1e16, 1}, sum;
    MPI_Allreduce(&x[rank], &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("sum %g\n", sum);
    MPI_Finalize();
    return 0;
}
END
run -n 4 --db none --reduce-order linear ./sums.c && grep -q '^sum 1$' err
check $? "--reduce-order linear: ((1e16 + 1) - 1e16) + 1"
run -n 4 --db none --reduce-order tree ./sums.c && grep -q '^sum 0$' err
check $? "--reduce-order tree: (1e16 + 1) + (-1e16 + 1)"
run -n 4 --db none --reduce-order spiral ./sums.c
[ $? -eq 2 ] && grep -q 'linear, tree, ring or seed' err
check $? "another is refused with those there are"

cat >wide.c <<'END'
#include <mpi.h>
#include <string.h>
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    volatile char wide[1 << 20];
    memset((char *)wide, argc, sizeof wide);
    MPI_Finalize();
    return wide[argc] != argc;
}
END
run -n 2 --db none --stack-size 4M ./wide.c
check $? "--stack-size 4M has room for a megabyte"
run -n 2 --db none --stack-size 256K ./wide.c
[ $? -eq 1 ] && says '^X004 '
check $? "--stack-size 256K has not"
run -n 2 --stack-size 1 --db none ./wide.c
[ $? -eq 2 ]
check $? "and too small a one is refused"

# Sizes and numbers that no variable holds are refused as those are that no number is; they are not taken for another number.
for bad in '--stack-size 18446744073709551615' '--stack-size 17179869185G' '--stack-size 256T' '--stack-size 1KK' '--stack-size -1M' \
    '--record-limit 17179869200G' '--send eager:17179869184G' '--seed 18446744073709551616' '--seed -1' '--delivery rank:4294967296' \
    '--delivery rank:' '--delivery rank:1x' '--cores 4294967297' '--cores 2x' '--threads 4294967297' '--points 4294967297' \
    '--timeout nan' '--timeout 0' '--timeout 1x' '--stall -1' '--stall nan'; do
    # shellcheck disable=SC2086
    run -n 2 --db none $bad ./wide.c
    [ $? -eq 2 ] && grep -qF "simrun: ${bad%% *} '${bad#* }': expected " err
    check $? "$bad is refused"
done
for good in '--stack-size 0x400000' '--stack-size 4096K' '--stack-size 4m' '--record-limit 1g' '--seed 18446744073709551615' '--delivery rank:0' \
    '--send eager:0' '--timeout 1e2' '--stall 0' '--stall 2.5'; do
    # shellcheck disable=SC2086
    run -n 2 --db none --stack-size 4M $good ./wide.c
    check $? "$good is taken"
done

cat >count.c <<'END'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    printf("restart %s of %s\n", getenv("SIMRUN_RESTART_COUNT"), getenv("SIMRUN_MAX_RESTARTS"));
    MPI_Finalize();
    return 0;
}
END
run -n 1 --db none --restart-count 3 ./count.c && grep -q '^restart 3 of 3' err
check $? "--restart-count is what the program sees"

run -n 2 --db none --threads 1 --json ring && sed 's/"seconds":[^,]*,"spent":{[^}]*},//; s/"command":[^,]*,//' out >one
run -n 2 --db none --threads 3 --json ring && sed 's/"seconds":[^,]*,"spent":{[^}]*},//; s/"command":[^,]*,//' out >three
[ -s one ] && cmp -s one three
check $? "--threads changes nothing of the result"
run -n 2 --db none --threads 0 ring
[ $? -eq 2 ]
check $? "and none at all is refused"
run -n 2 --db none --check-elements 1 ring && says 'ok x: 6 of 6 right'
check $? "--check-elements 1: one row for each rank's input looks at all its elements"

run -n 2 ring && run show -v metrics && says '^gradient_error .* step 1$' && [ "$(grep -c '^gradient_error' out)" -gt 20 ]
check $? "show -v: every point of a curve"
run show metrics
eval "$(sed -n 's/^curves: simrun \(.*\); -v.*/run \1/p' out)" && [ -s gradients.svg ]
check $? "and the command it names draws them"
run show metrics && [ "$(grep -c '^gradient_error' out)" -eq 1 ]
check $? "without it one line"
run -n 2 head-to-head
run export --output t.jsonl && run check --verbose t.jsonl
[ $? -eq 1 ] && says '^D001 '
check $? "export --output, check --verbose"
run -n 2 two-allreduce
run replay --witness 1 --verbose
[ $? -eq 1 ] && says '^simrun-witness 1$' && says '^end$'
check $? "replay --verbose: the witness itself"
run report --output r.html && grep -q '<html' r.html
check $? "report --output"
run graph --output g.dot && grep -q '^digraph' g.dot
check $? "graph --output"
cat >curve.c <<'END'
#include <mpi.h>
#include <mpix.h>
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    for (int i = 1; i < 9; i++)
        SIM_Metric("cube", i, i * i * i);
    MPI_Finalize();
    return 0;
}
END
run -n 1 ./curve.c
run graph --plot cube --axes linear -o linear.svg && run graph --plot cube --axes loglog -o loglog.svg &&
    [ -s linear.svg ] && [ -s loglog.svg ] && ! cmp -s linear.svg loglog.svg
check $? "graph --axes: another picture"
run graph --plot cube --axes cubic
[ $? -eq 2 ]
check $? "and no other word"

run explore -n 3 --runs 5 dist-orders
says 'bounded: NOT all of them' && says ' [0-9]+ runs explored'
check $? "explore --runs stops there, and says so"
run explore -n 2 --threads 1 --stack-size 1M --reduce-order tree dist-orders && says 'complete: there is no other'
check $? "explore takes threads, stack and reductions"

run catalogue --table ring && says '^ring ' && ! says '^ok '
check $? "catalogue --table"
run catalogue --verbose ring && says '^ok '
check $? "catalogue --verbose"
run catalogue ring- && whole=$(grep -c '^ok ' out)
run catalogue --part 1/2 ring- && one=$(grep -c '^ok ' out) && run catalogue --part 2/2 ring- && [ "$one" -gt 0 ] && [ $((one + $(grep -c '^ok ' out))) -eq "$whole" ]
check $? "catalogue --part: both parts are the whole ($one of $whole)"
for bad in 0/2 3/2 1 1/2x; do run catalogue --part $bad ring-; [ $? -eq 2 ] && grep -qF "'$bad': expected two numbers" err; check $? "--part $bad is refused"; done
run catalogue --findings nowhere/findings ring-; [ $? -eq 2 ] && grep -q "nowhere/findings: No such file" err
check $? "catalogue --findings says what it cannot write"
run doctor --unsupported && says '^  MPI_Abi_get_fortran_info$' && run doctor && ! says '^  MPI_'
check $? "doctor --unsupported names functions"

mkdir path
printf '#!/bin/sh\nfor word; do echo "word $word"; done\n' >path/gdb
chmod +x path/gdb
PATH="$folder/path:$PATH" run --gdb -n 2 --db none ring && says '^word --args$' && says "^word .*simrun$" && says '^word ring$' &&
    ! says '^word --gdb$'
check $? "--gdb: the same command line under gdb"
echo "1..$count"

#!/bin/sh
# One rank fails: all stop, the first failure is named as the root cause, and the group is started again when asked to.
. "$(dirname "$0")/../shell.sh"
cat >again.c <<'C'
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
/* Its last rank dies until the group has been started again as often as the argument says. */
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size, sum = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int count = atoi(getenv("SIMRUN_RESTART_COUNT"));
    if (rank == size - 1 && count < atoi(argv[1]))
        raise(SIGBUS); /* the place */
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("attempt %d of at most %s: sum %d\n", count, getenv("SIMRUN_MAX_RESTARTS"), sum);
    MPI_Finalize();
    return 0;
}
C
cat >hangs.c <<'C'
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
/* Its ranks wait for each other, poll or compute for ever until the group has been started again twice. */
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size, word = 0, flag = 0, sick = atoi(getenv("SIMRUN_RESTART_COUNT")) < 2;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (sick && !strcmp(argv[1], "waits"))
        MPI_Recv(&word, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    while (sick && !strcmp(argv[1], "polls") && !flag)
        MPI_Iprobe(MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    for (volatile long i = 0; sick && !strcmp(argv[1], "computes"); i++)
        ;
    MPI_Finalize();
    return 0;
}
C
cat >fails.c <<'C'
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
/* Rank 2 fails, and then rank 0 because of it; or, with another word, rank 1 computes for ever. */
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, word = 0;
    const char *how = argv[1];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 2) {
        MPI_Send(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        if (!strcmp(how, "crash"))
            raise(SIGSEGV); /* the place */
        if (!strcmp(how, "exit"))
            exit(3);
    }
    for (volatile long i = 0; rank == 1 && argc > 2; i++)
        ;
    if (rank == 0 && argc < 3) {
        MPI_Recv(&word, 1, MPI_INT, 2, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Barrier(MPI_COMM_SELF);
        exit(5);
    }
    MPI_Recv(&word, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
C
run() { timeout 300 "$simrun" --db runs.db "$@" >out 2>err; }
line() { grep -n "$1" "$2" | head -1 | cut -d: -f1; }
place=again.c:$(line 'the place' again.c)
root() { grep -q "^  root cause  $1\$" out; }

echo "TAP version 13"
run -n 4 --max-restarts 3 again.c 2
[ $? -eq 0 ] && grep -q '^PASS again.c, 4 ranks: finished after 2 restarts' out
check $? "a group that comes round after two restarts passes"
[ "$(grep -c "rank 3 failed first: signal 7 (Bus error) at $place; all ranks are stopped: restart [12] of 3" err)" -eq 2 ]
check $? "each restart names its cause: rank, signal and place"
grep -q '^attempt 2 of at most 3: sum 6$' err
check $? "the program sees how often it was started again"
"$simrun" log --db runs.db >out && [ "$(wc -l <out)" -eq 4 ] && sed -n 2p out | grep -q 'pass .* restart 2$' &&
    sed -n 3p out | grep -q 'fail .* restart 1$' && sed -n 4p out | grep -q 'fail' && ! sed -n 4p out | grep -q restart
check $? "every attempt is a run of its own, with its number in the log"
"$simrun" show --db runs.db 2 >out && root "rank 3 failed first: signal 7 (Bus error) at $place" &&
    grep -q 'crashed after 1 restart' out && "$simrun" show --db runs.db 2 metrics | grep -q '^restarts  *1 *$'
check $? "a stored attempt tells its cause and its number"
"$simrun" replay --db runs.db 2 >out 2>err; [ $? -eq 1 ] && grep -q 'replay of run 2: the same trace' out err
check $? "an attempt replays as the attempt it was"
run -n 4 --max-restarts 1 again.c 2
[ $? -eq 1 ] && grep -q '^FAIL again.c, 4 ranks: crashed after 1 restart' out && root "rank 3 failed first: signal 7 (Bus error) at $place"
check $? "when restarts are used up the status is 1 and the cause that of the last attempt"
run -n 4 --tap --max-restarts 2 again.c 2
[ $? -eq 0 ] && grep -q '^ok 1 ' out && ! grep -q '^not ok' out
check $? "under TAP only the last attempt counts"
run -n 3 --max-restarts 2 --send rendezvous fails.c none
[ $? -eq 1 ] && grep -q 'restart 2 of 2' err && root 'rank 0 failed first: exit code 5 at fails.c:24'
check $? "an exit code starts the group again too"
for how in waits polls computes; do
    case $how in
    waits) why='a deadlock: no rank can go on' ;;
    polls) why='a livelock: ranks poll and nothing changes' ;;
    computes) why='the time limit passed' ;;
    esac
    for limit in 0.4 4 40; do # long enough for the attempt that ends
        run -n 2 --timeout $limit --max-restarts 2 hangs.c $how
        [ $? -eq 0 ] && grep -q '^PASS hangs.c, 2 ranks: finished after 2 restarts' out &&
            [ "$(grep -c "hangs.c: $why; all ranks are stopped: restart [12] of 2" err)" -eq 2 ] && break
    done
    check $? "a group of which each $how for ever is started again"
done
run -n 2 --max-restarts 1 hangs.c waits
[ $? -eq 1 ] && grep -q '^FAIL hangs.c, 2 ranks: deadlock after 1 restart' out && grep -q '^D001' out
check $? "when restarts are used up a deadlock is the verdict"
run -n 3 fails.c crash
[ $? -eq 1 ] && root "rank 2 failed first: signal 11 (Segmentation fault) at fails.c:$(line 'the place' fails.c)"
check $? "of two failures the first is the root cause"
run -n 3 fails.c exit
[ $? -eq 1 ] && root 'rank 2 failed first: exit code 3 at fails.c:17'
check $? "an exit code is a failure too"
run -n 3 --os-threads fails.c crash for-ever
[ $? -eq 1 ] && root "rank 2 failed first: signal 11 (Segmentation fault) at fails.c:$(line 'the place' fails.c)" &&
    grep -q '^X001' out
check $? "ranks that would compute for ever are stopped"
run -n 3 --os-threads fails.c exit for-ever
[ $? -eq 1 ] && root 'rank 2 failed first: exit code 3' && grep -q '^X002 abort: exit code 3' out
check $? "also after an exit code"
run -n 3 --json fails.c crash
grep -q '"root_cause":"rank 2 failed first: signal 11' out
check $? "JSON has the root cause"
run -n 4 again.c 0
[ $? -eq 0 ] && ! grep -q 'root cause' out
check $? "a group without failure has none"
run --max-restarts many again.c 0
[ $? -eq 2 ] && grep -q "max-restarts 'many': expected a number from 0 to 1000" err
check $? "nonsense is refused"
echo "1..$count"

#!/bin/sh
# What ranks print: whole lines, tagged when asked for, and not lost whatever ends the run.
. "$(dirname "$0")/../shell.sh"
cat >prints.c <<'C'
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    int rank;
    const char *how = argc > 1 ? argv[1] : "";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    setvbuf(stdout, NULL, _IOFBF, 1 << 16);
    for (int i = 0; i < 40; i++) {
        printf("out of %d: ", rank);
        MPI_Barrier(MPI_COMM_WORLD);
        fprintf(stderr, "err of %d: ", rank);
        fflush(stdout);
        MPI_Barrier(MPI_COMM_WORLD);
        printf("step %d\n", i);
        fprintf(stderr, "step %d\n", i);
    }
    char *wide = malloc(5001);
    memset(wide, 'a' + rank, 5000);
    wide[5000] = '\0';
    printf("%s", wide);
    MPI_Barrier(MPI_COMM_WORLD);
    printf("\n");
    free(wide);
    if (write(STDOUT_FILENO, "wrote ", 6) != 6)
        return 1;
    printf("unfinished of %d", rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0 && !strcmp(how, "crash"))
        raise(SIGSEGV);
    if (rank == 0 && !strcmp(how, "kill"))
        kill(getpid(), SIGKILL);
    if (rank == 0 && !strcmp(how, "loop"))
        for (volatile int i = 0;; i++)
            ;
    if (!strcmp(how, "own")) {
        char name[20];
        snprintf(name, sizeof name, "log.%d", rank);
        if (!freopen(name, "w", stdout))
            return 1;
        MPI_Barrier(MPI_COMM_WORLD);
        printf("rank %d has this file\n", rank);
    }
    MPI_Finalize();
    fclose(stdout);
    return 0;
}
C
run() { timeout 300 "$simrun" --db none --record none "$@" >out 2>err; }
# All lines of 3 ranks, whole: 40 of each stream, one wide, one that the end finished.
whole() { # pattern of a tag
    [ "$(grep -cE "^$1(out|err) of [0-2]: step [0-9]+$" err)" -eq 240 ] &&
        [ "$(grep -cE "^$1(a{5000}|b{5000}|c{5000})$" err)" -eq 3 ] && unfinished "$1"
}
unfinished() { [ "$(grep -cE "^$1wrote unfinished of [0-2]$" err)" -eq 3 ]; }

echo "TAP version 13"
for threads in "" --os-threads; do
    on=${threads:-fibers}
    run -n 3 $threads ./prints.c && whole "" && [ "$(wc -l <err)" -eq 246 ]
    check $? "lines of ranks never mix ($on)"
    run -n 3 $threads --tag-output ./prints.c && whole '\[[0-2]\] ' &&
        ! sed -n 's/^\[\(.\)\] .* of \(.\).*/\1 \2/p' err | grep -qv '^\(.\) \1$'
    check $? "and carry their rank when asked to ($on)"
    ! grep -q ' of ' out
    check $? "nothing of it stands on stdout, which is for the result ($on)"
done
run -n 3 ./prints.c crash
whole ""
check $? "a crash of a rank loses nothing"
run -n 3 ./prints.c kill
whole ""
check $? "nor does the end of the whole process"
for limit in 1 5 25 125; do # the loop comes after all that is printed, if there is time for it
    run -n 3 --timeout $limit ./prints.c loop
    whole "" && break
done
check $? "nor a time limit"
run -n 3 ./prints.c own && grep -q '^rank 0 has' log.0 && grep -q '^rank 1 has' log.1 && grep -q '^rank 2 has' log.2
check $? "a rank that reopens its stdout has that file to itself"
timeout 300 "$simrun" --db none -n 3 ./prints.c >out 2>err
whole "" && [ "$(wc -l <err)" -eq 246 ]
check $? "with gradients checked the first run alone speaks"
echo "1..$count"

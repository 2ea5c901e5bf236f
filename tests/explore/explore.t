#!/bin/sh
# Exploration from the command line: a run in which a rank fails is a failed run, and is replayed by the command that is printed.
. "$(dirname "$0")/../shell.sh"
echo "TAP version 13"
run() { timeout 300 "$simrun" "$@" >out 2>err; }
says() { grep -qE "$1" out; }
# The command behind the n-th "replay", run in a database of its own.
replayed() {
    command=$(sed -n 's/^  replay  simrun //p' out | sed -n "${1}p")
    [ "$command" ] && eval "run --db replay.db $command"
}

# Rank 0 takes two messages from anybody; when that of rank 2 comes first, something happens.
cat >sometimes.c <<'END'
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, x = 0, code = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank) {
        MPI_Send(&x, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    } else {
        int size;
        MPI_Comm_size(MPI_COMM_WORLD, &size);
        for (int i = 1; i < size; i++) {
            MPI_Status status;
            MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &status);
            int wrong = i == 1 && status.MPI_SOURCE == 2;
            if (wrong && !strcmp(argv[1], "abort"))
                MPI_Abort(MPI_COMM_WORLD, 7);
            if (wrong && !strcmp(argv[1], "crash"))
                abort();
            if (wrong && !strcmp(argv[1], "exit"))
                code = 3;
        }
    }
    MPI_Finalize();
    return code;
}
END

run -n 3 --db none ./sometimes.c exit
check $? "a plain run of a program that fails in another order passes"
for case in "exit:X002 abort. exit code 3:  in 1 of them a rank ended with an error" "abort:X002 abort. aborted with code 7:  aborted +1" \
    "crash:X001 crash. Aborted:  crashed +1"; do
    how=${case%%:*} rest=${case#*:}
    run explore -n 3 ./sometimes.c "$how"
    [ $? -eq 1 ] && says '^FAIL .* 2 runs explored, complete' && says "^${rest%%:*}" && says "^${rest#*:}"
    check $? "exploration finds the order in which a rank fails ($how)"
    replayed 1
    [ $? -eq 1 ] && says "^${rest%%:*}"
    check $? "the command it prints makes it fail ($how)"
    run replay --db replay.db
    [ $? -eq 1 ] && says 'the same trace'
    check $? "and so does the stored run ($how)"
done
run explore -n 3 --allow X002 ./sometimes.c exit && says '^PASS '
check $? "what is allowed does not fail"
run explore -n 3 ./sometimes.c nothing && says '^PASS .* 2 runs explored, complete: there is no other'
check $? "where no rank fails in any order, it passes"

run explore -n 2..3 --send all ./sometimes.c exit
[ $? -eq 1 ] && [ "$(grep -c '^PASS .*, 2 ranks' out)" -eq 3 ] && [ "$(grep -c '^FAIL .*, 3 ranks' out)" -eq 3 ]
check $? "every number of ranks under every progress model, if asked for"

run explore -n 3 dist-orders order-matters
[ $? -eq 1 ] && says '^FAIL ' && says 'in 960 of them a rank ended with an error' && says '^X002 abort: exit code 1'
check $? "an error that is the same in every order is one"
replayed 1
[ $? -eq 1 ] && says '^X002 ' && ! grep -q 'never offered' err
check $? "and is replayed, choice by choice"
run explore server-lost-update
[ $? -eq 1 ] && says '^FAIL ' && says '^S002 lost-update'
check $? "what the checker finds in a run fails it"
run explore server-lost-update added
check $? "and what it finds in none does not"

# A run that never ends cannot be waited for.
cat >endless.c <<'END'
#include <mpi.h>
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    double x = 1, y;
    for (;;)
        MPI_Allreduce(&x, &y, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}
END
for limit in 0.2 2 20; do # long enough for the run to begin
    run explore -n 2 --timeout $limit ./endless.c
    [ $? -eq 124 ] && grep -q 'stopped in a run that had not ended' err && break
done
check $? "a time limit ends an exploration whose run does not"
for signal in INT:130 TERM:143; do
    cat >interrupt.pl <<'END'
use POSIX 'WNOHANG';
my ($simrun, $signal) = @ARGV;
my $child = fork() // die;
if (!$child) {
    $SIG{INT} = $SIG{TERM} = 'DEFAULT';
    setpgrp;
    open STDOUT, '>', 'out';
    open STDERR, '>', 'err';
    exec $simrun, qw(-n 2 --db twice.db ./endless.c) or die;
}
until (`'$simrun' query --db twice.db "select count(*) from runs where outcome is null" 2>/dev/null` =~ /^\s*1$/m) {
    exit 99 if waitpid($child, WNOHANG) > 0;
}
kill $signal, $child;
select undef, undef, undef, 0.02; # so that they are two
kill $signal, -$child; # as timeout(1) does
waitpid $child, 0;
exit($? >> 8 ? $? >> 8 : $? & 127);
END
    rm -f twice.db
    perl interrupt.pl "$simrun" "${signal%:*}"
    [ $? -eq "${signal#*:}" ] && run log --db twice.db && says interrupted
    check $? "an interruption that comes twice at once is one: what was there is kept (${signal%:*})"
done

# What is wrong in one order need not show in the result.
run explore wildcard-types
[ $? -eq 1 ] && says 'M008 ' && says '2 runs explored, complete'
check $? "what is wrong only in another order is found, though the results are the same"
replayed 1
[ $? -eq 1 ] && says '^M008 '
check $? "and the command it prints shows it"
run explore wildcard-types tagged && says '1 run explored, complete'
check $? "with a tag for each type there is one order"
cat >leaks.c <<'END'
#include <mpi.h>
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, x = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Status status = {0};
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    if (rank)
        MPI_Send(&x, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    for (int i = 0; rank == 0 && i < 2; i++)
        MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &status);
    if (rank || status.MPI_SOURCE == 2)
        MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}
END
run explore -n 3 --fail-on warning --allow R003 ./leaks.c
[ $? -eq 1 ] && says 'L003 '
check $? "so is what is leaked only in another order, where warnings count"

run -n 3 --db none --schedule r0.0=9.0.1 ./sometimes.c exit && grep -q "1 of the schedule's choices were never offered" err
check $? "a schedule that the program cannot keep to is told"
run -n 3 --schedule r0.0=2, ./sometimes.c exit
[ $? -eq 2 ] && grep -q 'byte 8' err
check $? "one that is none is a wrong command line"
run explore --schedule r0.0=2 -n 3 ./sometimes.c exit
[ $? -eq 2 ] && grep -q 'schedule' err
check $? "exploration makes its own"
echo "1..$count"

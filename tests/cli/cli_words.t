#!/bin/sh
# What is not known is not said: no placeholder stands in anything that is printed, written or drawn.
. "$(dirname "$0")/../shell.sh"
echo "TAP version 13"
# Where a place, a name or a number would stand.
placeholders() { grep -nE '(^|[ (">])(at|on|from|to|of) (\?|\(null\)|-1)([ ,;.)"<]|$)|\(null\)|: -1:|"\?"|>\?<|file: \W?\?|=\?[,:]|[0-9] \?( |$)|4294967295|line(: |=|="|":)0([^0-9]|$)'; }

# Half of the program's calls have no place: it is compiled without debug information, its object is stripped.
cat >aborts.c <<'END'
#include <mpi.h>
#include <string.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, x = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 1 && !strcmp(argv[1], "abort"))
        MPI_Abort(MPI_COMM_WORLD, 7);
    if (rank == 1 && !strcmp(argv[1], "crash"))
        abort();
    if (!strcmp(argv[1], "hang"))
        MPI_Recv(&x, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!strcmp(argv[1], "race") && rank == 0)
        MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!strcmp(argv[1], "race") && rank > 0)
        MPI_Send(&x, 1, MPI_INT, 0, rank, MPI_COMM_WORLD);
    if (!strcmp(argv[1], "exit") && rank == 1)
        return 3;
    if (!strcmp(argv[1], "type"))
        MPI_Bcast(&x, rank ? 4 : 1, rank ? MPI_BYTE : MPI_INT, rank, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
END
"$(dirname "$simrun")/simcc" -shared -fPIC -s -o bare.so aborts.c || echo "# no simcc"
# A trace from elsewhere, whose operations say nothing of places.
cat >foreign.jsonl <<'END'
{"simrun":1,"ranks":3}
{"op":"Send","rank":0,"peer":1,"tag":4}
{"op":"Recv","rank":1,"peer":0,"tag":5,"state":"blocked"}
{"op":"Recv","rank":2,"state":"blocked"}
END
run=0
for how in abort crash hang race exit type; do
    for level in none findings ops events; do
        "$simrun" --db a.db -q -n 3 --record $level ./bare.so $how >out 2>err
        cat out err >>text
    done
    run=$((run + 4))
    for what in findings ops ranks metrics; do "$simrun" show --db a.db $run $what >>text 2>&1; done
    "$simrun" --db none --tap -n 3 ./bare.so $how >>tap 2>/dev/null
    "$simrun" --db none --json -n 3 ./bare.so $how >>json 2>/dev/null
    "$simrun" --db none -q --junit $how.xml --html $how.html --dot $how.dot --chrome $how.json --github -n 3 ./bare.so $how >>github 2>/dev/null
done
"$simrun" check foreign.jsonl --html foreign.html --dot foreign.dot --junit foreign.xml --chrome foreign.json >>text 2>&1
"$simrun" log --db a.db >>text 2>&1
grep -qE 'X002 abort: aborted with code 7$' text && grep -q '^X001 crash: Aborted' text && grep -q '^D001 ' text
check $? 'the program did what it should' text
for file in text tap json github abort.xml hang.xml race.xml foreign.xml hang.html race.html foreign.html hang.dot race.dot foreign.dot \
    race.json foreign.json; do
    [ -s "$file" ] && ! placeholders <"$file" >found
    check $? "nothing in $file stands for what is not known" found
done
echo "1..$count"

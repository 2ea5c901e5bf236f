#!/bin/sh
# MPI within a rank's own OpenMP regions: the master may wait there, others may not call where ranks are fibers.
program=$(realpath "$(dirname "$0")/../programs/hybrid.c")
. "$(dirname "$0")/../shell.sh"
echo "TAP version 13"
case "$BUILD" in
*clang*)
    echo "1..0 # SKIP simrun built by clang comes with LLVM's OpenMP runtime, the program with gcc's"
    exit 0
    ;;
esac
run() { timeout 300 "$simrun" --db none "$@" >out 2>err; }
line=$(grep -n '/\* stray \*/' "$program" | cut -d: -f1)

for threads in "" --os-threads; do
    for ranks in 1 2 5 16; do
        run -n $ranks $threads "$program" && [ "$(grep -c ': 0 wrong, provided 1$' err)" -eq $ranks ]
        check $? "the masters of $ranks teams wait in MPI (${threads:-fibers})"
    done
done
run -n 3 "$program" stray
[ $? -eq 1 ] && grep -q '^rank 1: MPI_Barrier: .*--os-threads' err
check $? "another thread's call is refused with the remedy"
grep -q '^M009 .*MPI_Barrier: called by a thread' out && tr -d '\n' <out | grep -q "hybrid\.c:$line"
check $? "and is a finding that names function and line"
run -n 3 --os-threads "$program" stray
[ $? -eq 1 ] && [ "$(grep -c ': 0 wrong' err)" -eq 3 ]
check $? "on OS threads it does what it should"
[ "$(grep -c '^M0' out)" -eq 1 ] && tr -d '\n' <out | grep -q "MPI_Barrier: called by a thread.*MPI_THREAD_FUNNELED allows that one.*hybrid\.c:$line"
check $? "and is one finding, as the level does not allow it"
echo "1..$count"

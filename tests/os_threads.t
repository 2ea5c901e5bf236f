#!/bin/sh
# Ranks as OS threads that start threads of their own, all of which call MPI.
simrun=${SIMRUN:-build/simrun}
program=$(dirname "$0")/programs/two_threads.c
echo "TAP version 13"
case "$BUILD" in
*clang-*)
    echo "1..0 # SKIP clang's sanitizers keep threads to themselves"
    exit 0
    ;;
esac
echo "1..3"
said=$(timeout 60 "$simrun" -n 3 --os-threads --record none --db none "$program" 2>&1)
[ "$(echo "$said" | grep -c '^round')" -eq 3 ] && echo "ok 1 - two threads of each rank pass numbers round" ||
    echo "not ok 1 - two threads of each rank pass numbers round"
timeout 60 "$simrun" -n 3 --os-threads --record none --db none "$program" >/dev/null 2>&1
[ $? -eq 0 ] && echo "ok 2 - and the run passes" || echo "not ok 2 - and the run passes"
timeout 60 "$simrun" -n 3 --os-threads --record none --db none "$program" stuck >/dev/null 2>&1
[ $? -eq 1 ] && echo "ok 3 - when all threads of all ranks wait for ever it is a deadlock, at once" ||
    echo "not ok 3 - when all threads of all ranks wait for ever it is a deadlock, at once"

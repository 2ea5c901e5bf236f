#!/bin/sh
# Ranks as OS threads that start threads of their own, all of which call MPI.
simrun=${SIMRUN:-build/simrun}
program=$(dirname "$0")/../programs/two_threads.c
echo "TAP version 13"
case "$BUILD" in
*clang-*)
    echo "1..0 # SKIP clang's sanitizers keep threads to themselves"
    exit 0
    ;;
esac
echo "1..10"
said=$(timeout 300 "$simrun" -n 3 --os-threads --record none --db none "$program" 2>&1)
[ "$(echo "$said" | grep -c '^round')" -eq 3 ] && echo "ok 1 - two threads of each rank pass numbers round" ||
    echo "not ok 1 - two threads of each rank pass numbers round"
timeout 300 "$simrun" -n 3 --os-threads --record none --db none "$program" >/dev/null 2>&1
[ $? -eq 0 ] && echo "ok 2 - and the run passes" || echo "not ok 2 - and the run passes"
timeout 300 "$simrun" -n 3 --os-threads --record none --db none "$program" stuck >/dev/null 2>&1
[ $? -eq 1 ] && echo "ok 3 - when all threads of all ranks wait for ever it is a deadlock, at once" ||
    echo "not ok 3 - when all threads of all ranks wait for ever it is a deadlock, at once"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# Each of a rank's two threads issues its own 600 operations, one thread after the other or both at once.
number=4
for how in turns together; do
    said=$(timeout 300 "$simrun" -n 3 --os-threads --db "$folder/db" "$program" $how 2>&1)
    counts=$(timeout 300 "$simrun" query --csv --db "$folder/db" "select rank, coalesce(thread,0) t, count(*) n from ops join op_kinds using(kind)
        where name in ('Isend','Recv','Wait') and run_id=(select max(run_id) from runs) group by 1,2 having n=600" | wc -l)
    [ "$counts" -eq 7 ] && echo "ok $number - each operation tells the thread of its rank that issued it ($how)" ||
        echo "not ok $number - each operation tells the thread of its rank that issued it ($how)"
    number=$((number + 1))
done
echo "$said" | grep -q "^PASS.*no findings" && echo "ok 6 - threads side by side are no fault" || echo "not ok 6 - threads side by side are no fault"
timeout 300 "$simrun" -n 3 --os-threads --record none --db none "$program" joined 2>&1 | grep -q deadlock && echo "ok 7 - so it is when a rank joins a thread that waits for ever" ||
    echo "not ok 7 - so it is when a rank joins a thread that waits for ever"
# What orders threads is not recorded; that they were ordered is.
number=8
for how in join lock race; do
    wanted=0
    [ $how = race ] && wanted=1
    for again in 1 2 3; do
        timeout 300 "$simrun" -n 3 --os-threads --fail-on warning --db none "$(dirname "$0")/../programs/threads_in_order.c" $how >/dev/null 2>&1
        got=$?
        [ $got -eq $wanted ] || break
    done
    [ $got -eq $wanted ] && echo "ok $number - a message that another thread's receive leads to is no race, any other is ($how)" ||
        echo "not ok $number - a message that another thread's receive leads to is no race, any other is ($how): $got"
    number=$((number + 1))
done

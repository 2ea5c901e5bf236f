#!/bin/sh
# How ranks end: each way is a finding at its line, the other ranks go on, what was printed is kept.
program=$(realpath "$(dirname "$0")/../programs/ends.c")
. "$(dirname "$0")/../shell.sh"
echo "TAP version 13"
case "$BUILD" in
*-*)
    echo "1..0 # SKIP the sanitizers catch signals themselves"
    exit 0
    ;;
esac
run() { timeout 300 "$simrun" --db none "$@" >out 2>err; }
line_of() { grep -n "/\* $1 \*/" "$program" | cut -d: -f1; }
at() { grep -qE "ends\.c:$(line_of "$1")( |\$)" out; }
around() { grep -qE "$1ends\.c:($(line_of "$2")|$(($(line_of "$2") - 1)))" "$3"; }
others() { grep -q '^rank 0 went on' err && grep -q '^rank 2 went on' err; }

for threads in "" --os-threads; do
    on=${threads:-fibers}
    for how in segv:Segmentation library:Segmentation fpe:Floating abort:Aborted assert:Aborted term:Terminated alarm:Alarm; do
        words=${how#*:} how=${how%:*}
        run -n 3 $threads "$program" "$how"
        [ $? -eq 1 ] && grep -q "^X001 crash: $words" out && at "$how" && others
        check $? "$how ends one rank, and is found where it happened ($on)"
    done
    for how in stack wide; do
        run -n 3 $threads "$program" "$how"
        [ $? -eq 1 ] && grep -q "^X004 " out && { [ $how = wide ] || grep -qE "ends\.c:[23][0-9]" out; } && others
        check $? "an overflow of the stack is one ($how, $on)"
    done
    run -n 3 $threads "$program" exit
    [ $? -eq 1 ] && grep -q '^X002 abort: exit code 3' out && others
    check $? "an exit code is a finding ($on)"
    run -n 3 $threads "$program" mpiabort
    [ $? -eq 1 ] && grep -q '^X002 abort: aborted with code 7' out && at mpiabort
    check $? "MPI_Abort is one ($on)"
    for limit in 0.2 1 5 25 125; do # long enough for rank 1 to come to its loop
        run -n 3 $threads --timeout $limit "$program" loop
        [ $? -eq 124 ] && grep -q '^X003 .* rank 1 was computing' out && around "" loop out && break
    done
    check $? "a time limit names who computed where ($on)"
    run -n 3 $threads --timeout 0.3 "$program" busy
    [ $? -eq 124 ] && grep -q '^X003 ' out && ! grep -q '^D' out
    check $? "messages that a time limit cuts short are no deadlock ($on)"
    run -n 3 $threads "$program"
    [ $? -eq 0 ] && grep -q '^rank 0 caught 35$' err && grep -q '^rank 1 caught 23$' err && grep -q '^rank 2 caught 23$' err
    check $? "signal handlers are each rank's own ($on)"
    grep -q '^rank 0 forked 20 30, shell 5$' err && grep -q '^rank 2 forked 22 30, shell 5$' err &&
        [ "$(grep -c 'went on' err)" -eq 3 ]
    check $? "what a rank forks is a process of its own ($on)"
done

# Without a time limit a run that computes is only spoken of: with -v, or on a terminal.
"$simrun" --db none -v -n 3 "$program" loop >out 2>err &
child=$!
until grep -q 'has computed' err || ! kill -0 $child; do
    perl -e 'select undef, undef, undef, 0.05'
done
kill -INT $child
wait $child
status=$?
around "^simrun: rank 1 has computed for [0-9]+ s without an MPI call, now at .*" loop err && grep -q 'run.*--os-threads\|--os-threads.*run' err
check $? "who computes for long is named while it does"
[ $status -eq 130 ] && ! grep -q X003 out
check $? "and an interruption is no time limit"
echo "1..$count"

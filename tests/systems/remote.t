#!/bin/sh
# Remote calls and distributed autograd from the command line: what is said of a hang, explored, drawn and explained.
cd "$(dirname "$0")/../.." || exit 1
simrun=${SIMRUN:-build/simrun}
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
count=0
ok() { # status name
    count=$((count + 1))
    if [ "$1" -eq 0 ]; then echo "ok $count - $2"; else echo "not ok $count - $2"; sed 's/^/# /' "$folder/said"; fi
}
run() { timeout 300 "$simrun" "$@" >"$folder/said" 2>&1; }
says() { tr -s ' \n' ' ' <"$folder/said" | grep -q -- "$1"; }

echo "TAP version 13"
run --tap --db none -n 4 dist-autograd && ! says '^not ok' && says 'remote'
ok $? "every case passes every check"

run --db "$folder/hang.db" -n 4 dist-autograd unused-send fast
[ $? -eq 1 ] && says 'D001' && says 'Pass 0.1 counted send 0.1 of worker 0, the call of weigh on worker 1 at .*dist_calls.h'
ok $? "a pass that hangs names the send it counted on"
run --db none -n 4 dist-autograd unused-later fast
[ $? -eq 1 ] && says 'Pass 0.1 counted send 0.2 of worker 0, the call of weigh on worker 1' && ! says 'counted send 0.1'
ok $? "and not one whose gradient only waits for that one's"
run --db none dist-engine nested 3 4
[ $? -eq 1 ] && says 'A gradient of pass 0.4, for message 1.4, waits on worker 1 for a thread of its engine: each of its 3 is held until its pass is over (0.1, 0.2, 0.3)' &&
    ! says 'no gradient will come'
ok $? "an engine whose threads are all held names the passes that hold them, and blames no send"
run --db none dist-faults lose-gradient-impatient
[ $? -eq 1 ] && says 'The gradient of message 3.1 in pass 0.1 was sent by worker 2 and never came to worker 3' && ! says 'no gradient will come'
ok $? "a lost gradient is told from one that nobody will send"
for threads in 1 2 5 11; do
    run --db none dist-engine nested $threads $threads && ! run --db none dist-engine nested $threads $((threads + 1)) && says '^FAIL.*deadlock' || break
done
ok $? "as many nested passes as threads are fine, one more is a deadlock, whatever the number"
for threads in 1 3 7; do
    run --db none dist-engine crossing $threads $((2 * threads - 1)) && ! run --db none dist-engine crossing $threads $((2 * threads)) && says '^FAIL.*deadlock' || break
done
ok $? "passes that cross block from twice as many as threads on, and not before"
run graph --db "$folder/hang.db" --view passes && says 'm0_1 -> p0_0 .*0.1 never came'
ok $? "and the picture shows where its gradient would have come from"

run --db "$folder/good.db" -n 4 dist-autograd nested fast &&
    run graph --db "$folder/good.db" --view passes &&
    says 'p0_0 -> p0_1 .label="1.[0-9]*", penwidth=2' && says 'p0_1 -> p0_2 .label="2.[0-9]*", penwidth=2' && says 'p0_2 -> p0_3 .label="3.[0-9]*", penwidth=2'
ok $? "the first contacts of a chain are a tree from worker to worker"
run --db "$folder/none.db" -n 2 ring && ! run graph --db "$folder/none.db" --view passes && says 'no passes of distributed autograd'
ok $? "a run without such passes is told so"

for ranks in 2 3; do
    run explore -n $ranks dist-orders && says 'complete: there is no other' && ! says 'different results'
    ok $? "every order of arrival among $ranks workers ends well"
done
for fault in crash-before crash-during; do
    run explore -n 4 dist-faults $fault && says 'complete: there is no other' && ! says 'different results'
    ok $? "a worker's $fault a gradient message ends the same in every order"
done
for fault in lose-call lose-reply lose-gradient lose-answer lose-release lose-release-answer twice-gradient; do
    run explore -n 4 dist-faults $fault && says 'complete: there is no other' && ! says 'different results'
    ok $? "$fault ends the same in every order, with nothing left out"
done
for code in A001 A002 A003 A004 A005 A006 A007 A009 A010 A011 A012 A013; do run explain $code && says 'remote-' || break; done
ok $? "every invariant is explained"
echo "1..$count"

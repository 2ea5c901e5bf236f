#!/bin/sh
# What findings of the catalogue and their pictures say, where a verdict alone would not tell.
. "$(dirname "$0")/../shell.sh"
echo "TAP version 13"
run() { timeout 120 "$simrun" --db none "$@" >out 2>err; }
flat() { tr -s ' \n' ' ' <out | grep -qE "$1"; }
# The column of each mark with this name, once each.
columns() { sed -nE "s/.*label=<<B>$1[ <].*pos=\"([0-9]+)[.,].*/\1/p" x.dot | sort -un; }

run in-flight-read
flat 'rank 0: Wait for Irecv .*in-flight-read.c:[0-9]+ \(culprit\) rank 0: Irecv from 1 tag 1 .*in-flight-read.c:[0-9]+ \(partner\)'
check $? "a buffer changed under way: where the operation was started, and where it was seen"
run ring-four
flat 'D002 ' && ! flat 'at least 0 are needed'
check $? "a repair without a lower bound claims none"
for model in eager rendezvous batch; do
    run --send $model -n 4 halo wrong
    flat 'D001 .*rank 2: Sendrecv (to 0 tag 0|from 0 tag 1)'
    check $? "a wrong neighbor is named as what nobody meets ($model)"
done

run --dot x.dot ddp-buckets
[ "$(columns Comm_dup | wc -l)" -eq 1 ] && [ "$(columns Allreduce | wc -l)" -eq 1 ] && [ "$(columns Comm_dup)" -lt "$(columns Allreduce)" ]
check $? "a rank that stands in a collective others have left is drawn with them, before where they stand"
run --dot x.dot -n 4 halo wrong
grep -q 'a receive on 0' x.dot && grep -q 'Sendrecv blocked' x.dot
check $? "the table of a hang lists what was sent for nobody; a Sendrecv is drawn under its name"
run --send rendezvous --dot x.dot -n 4 halo wrong
grep -q 'a receive on 0' x.dot && ! grep -qE ' on -[0-9]' x.dot
check $? "and nothing that needs no partner"
run --dot x.dot mistakes poll
grep -q 'Test polls' x.dot
check $? "who polls is not drawn as blocked"
echo "1..$count"

#!/bin/sh
# Data channels on Open MPI and MPICH answer the conformance suite; process groups give there what they give under simrun; windows
# of the tape have there the gradients that they must have.
# SIMRUN names simrun, PEERS the folder of `make peers`.
here=$(dirname "$0")
simrun=${SIMRUN:-build/simrun}
BUILT=${PEERS:-build/peers}
built=$BUILT
. "$here/settings.sh"
echo "TAP version 13"
count=0
check() { # status name
    count=$((count + 1))
    [ "$1" -eq 0 ] && echo "ok $count - $2" || { echo "not ok $count - $2"; head -8 "$out.said" | cut -c1-300 | sed 's/^/# /'; }
}
for peer in $(installed_peers); do
    for ranks in 1 2 3 5; do
        out=$built/$peer/groups.$ranks
        peer_run $peer 120 $ranks "$built/$peer/tests/systems/channel_peers" >"$out.said" 2>&1 &&
            [ "$(grep -c '^ok ' "$out.said")" -eq 15 ]
        check $? "data channels on $ranks ranks of $peer answer every question"
        if [ "$peer$ranks" != openmpi1 ]; then # Open MPI 4 refuses windows of one rank alone
            peer_run $peer 120 $ranks "$built/$peer/tests/gradients/windows_peers" >"$out.said" 2>&1 &&
                [ "$(grep -c '^ok ' "$out.said")" -eq 5 ]
            check $? "windows of the tape on $ranks ranks of $peer have the gradients of messages, and of their locks' order"
        fi
        timeout 300 "$simrun" --db none --no-gradients -n $ranks "$here/../systems/process_group_peers.c" 2>&1 | grep '^= ' >"$out.ours"
        peer_run $peer 120 $ranks "$built/$peer/tests/systems/process_group_peers" 2>&1 | grep '^= ' >"$out.theirs"
        diff "$out.ours" "$out.theirs" >"$out.said" && [ "$(wc -l <"$out.ours")" -eq $((2 * ranks)) ]
        check $? "process groups on $ranks ranks of $peer give simrun's losses and gradients"
    done
done
[ $count -gt 0 ] && echo "1..$count" || echo "1..0 # SKIP neither openmpi-bin nor mpich is installed"

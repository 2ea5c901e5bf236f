#!/bin/sh
# Every case of the conformance suite of differentiable collectives on 4 ranks of Open MPI and MPICH; then their values
# against the simulator's: the same bits, or within the bound where the order of a reduction is the MPI's.
# PEERS names the folder of `make peers`, COMPARE the program that compares.
BUILT=${PEERS:-build/peers}
compare=${COMPARE:-build/tests/collectives/test_diff_peers}
. "$(dirname "$0")/settings.sh"
echo "TAP version 13"
count=0
for peer in $(installed_peers); do
    rm -f "$BUILT/$peer"/conformance.[0-9]
    count=$((count + 1))
    said=$(peer_run $peer 300 4 "$BUILT/$peer/tests/collectives/diff_conformance" 1 "$BUILT/$peer" 2>&1)
    status=$?
    echo "$said" | grep '^# '
    if [ $status -eq 0 ] && echo "$said" | grep -q '^ok 1 '; then
        echo "ok $count - every case of the conformance suite passes on 4 ranks of $peer"
    else
        echo "not ok $count - every case of the conformance suite passes on 4 ranks of $peer: exit status $status"
        echo "$said" | head -20 | cut -c1-300 | sed 's/^/# /'
    fi
done
if [ $count -eq 0 ]; then
    echo "1..0 # SKIP neither openmpi-bin nor mpich is installed"
    exit 0
fi
count=$((count + 1))
said=$(PEERS=$BUILT "$compare" 2>&1)
status=$?
echo "$said" | grep '^# '
[ $status -eq 0 ] && echo "ok $count - their values are the simulator's" || {
    echo "not ok $count - their values are the simulator's"
    echo "$said" | grep -A7 '^not ok' | sed 's/^/# /'
}
echo "1..$count"

#!/bin/sh
# diff_gradcheck on Open MPI and MPICH (gradients/inside.c): right gradients are called right, a wrong one is, by every rank, and the operation that
# is to blame is named. PEERS names the folder of `make peers`.
BUILT=${PEERS:-build/peers}
built=$BUILT
. "$(dirname "$0")/settings.sh"
echo "TAP version 13"
count=0
for peer in $(installed_peers); do
    while read -r way ranks wrong culprit; do
        count=$((count + 1))
        said=$(peer_run $peer 120 "$ranks" "$built/$peer/tests/peers/gradients/inside" "$way" 2>&1)
        blamed=$(echo "$said" | sed -n 's/^first wrong adjoint: //p' | tr ' ' -)
        if echo "$said" | grep -qx "wrong: $wrong, alike: yes, called again: yes" && [ "$blamed" = "$culprit" ]; then
            echo "ok $count - $way on $ranks ranks of $peer"
        else
            echo "not ok $count - $way on $ranks ranks of $peer"
            echo "$said" | head -12 | sed 's/^/# /'
        fi
    done <<END
right 1 0
right 3 0
twice 2 0
float 3 0
root 3 0
lone 3 0
vjp 3 4 custom-"cube",-node-1-of-rank-2
lone-vjp 2 4 custom-"cube",-node-1-of-rank-1
END
done
echo "1..$count"

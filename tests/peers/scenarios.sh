#!/bin/sh
# Good scenarios that compare themselves with a serial computation, built by `make peers`, on Open MPI and MPICH.
# PEERS names the folder of `make peers`.
BUILT=${PEERS:-build/peers}
built=$BUILT
. "$(dirname "$0")/settings.sh"
echo "TAP version 13"
count=0
for peer in $(installed_peers); do
    while read -r name ranks arguments; do
        count=$((count + 1))
        # shellcheck disable=SC2086
        said=$(peer_run $peer 120 "$ranks" "$built/$peer/scenarios/$name" $arguments 2>&1)
        status=$?
        [ $status -eq 0 ] && echo "ok $count - $name $arguments on $ranks ranks of $peer" || {
            echo "not ok $count - $name $arguments on $ranks ranks of $peer: exit status $status"
            echo "$said" | head -5 | sed 's/^/# /'
        }
    done <<END
ring 4
user 4
process-group 5
process-group 4 channel
worker-gradient 4
worker-order 2 fifo
worker-lock 3 locked
worker-freed 3 told
worker-types 3 complex-float
worker-data 4
pipeline 4 1f1b batched 8
pipeline 3 zero-bubble ordered 6
pipeline 2 interleaved ordered 4 2
pipeline 4 bidirectional ordered 8
tensor-parallel 4 replicated
tensor-parallel 3 sequence
data-parallel 4 rebuild
sharded 4 prefetch
expert-parallel 4 idle
ring-attention 3 overlapped
server-sync 4
server-sync 3 zstd:3 padded
server-sync 4 top-k:0.5 padded
server-sync 4 quantised:8 two-phase adam
server-async 4 consistent
server-async 4 inconsistent
server-async 4 consistent 1 drop
server-central 4 all uneven
server-central 4 two even
dist-autograd 4
dist-derivatives 4
dist-again 4
dist-again 4 halves
dist-orders 2
dist-orders 3
END
done
[ $count -gt 0 ] && echo "1..$count" || echo "1..0 # SKIP neither openmpi-bin nor mpich is installed"

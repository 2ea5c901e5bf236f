#!/bin/sh
# The same MPI programs under simrun and under other MPIs must say the same. Skipped where no other MPI is installed.
# SIMRUN names simrun, PEERS the folder for what is built here.
here=$(dirname "$0")
simrun=${SIMRUN:-build/simrun}
BUILT=${PEERS:-build/peers}
built=$BUILT/programs
. "$here/settings.sh"
export OMPI_MCA_mpi_param_check=1

echo "TAP version 13"
peers=
for peer in openmpi mpich; do
    command -v mpicc.$peer >/dev/null && command -v mpiexec.$peer >/dev/null && peers="$peers $peer"
done
if [ -z "$peers" ]; then
    echo "1..0 # SKIP neither openmpi-bin nor mpich is installed"
    exit 0
fi
mkdir -p "$built"
count=0
for program in "$here"/*.c; do
    name=$(basename "$program" .c)
    for peer in $peers; do
        mpicc.$peer -std=c17 -D_GNU_SOURCE -w -O1 -ffp-contract=off -o "$built/$name.$peer" "$program" -lm || exit 1
    done
    wanted=$(sed -n '1,6s/.*ranks: \([0-9 ]*[0-9]\).*/\1/p' "$program")
    for ranks in ${wanted:-1 2 3 5}; do
        ours=$built/$name.$ranks.simrun.txt
        "$simrun" -n $ranks --db none "$program" 2>&1 | grep '^= ' >"$ours"
        for peer in $peers; do
            theirs=$built/$name.$ranks.$peer.txt
            peer_run $peer 60 $ranks "$built/$name.$peer" 2>/dev/null | grep '^= ' >"$theirs"
            count=$((count + 1))
            if [ -s "$theirs" ] && cmp -s "$ours" "$theirs"; then
                echo "ok $count - $name on $ranks ranks says the same under $peer ($(wc -l <"$ours") lines)"
            else
                echo "not ok $count - $name on $ranks ranks says the same under $peer"
                diff "$ours" "$theirs" | head -12 | sed 's/^/# /'
            fi
        done
    done
done
echo "1..$count"

#!/bin/sh
# make bench: one-sided operations against Open MPI and MPICH on the same source (bench/windows.c) in the same run, medians and
# their ratio to the better peer; puts of 1 MiB against a copy of memory. The least of ROUNDS runs of each, in turn.
#   bench/bench_windows.sh BUILD [MILLISECONDS [RANKS [ROUNDS]]]
build=$1
budget=${2:-100}
rounds=${4:-3}
here=$(dirname "$0")
work=$build/bench
mkdir -p "$work"
peers=
for peer in openmpi mpich; do
    if command -v mpicc.$peer >/dev/null && mpicc.$peer -O2 -o "$work/windows.$peer" "$here/windows.c" 2>/dev/null; then peers="$peers $peer"; fi
done
run() {
    case $1 in
        simrun) "$build/simrun" --db none --record none --no-gradients -n "$2" "$here/windows.c" "$3" "$4" "$budget" 2>&1 ;;
        openmpi) OMPI_MCA_mpi_yield_when_idle=1 timeout 60 mpirun.openmpi --allow-run-as-root --oversubscribe --bind-to none -n "$2" "$work/windows.openmpi" "$3" "$4" "$budget" ;;
        mpich) MPIR_CVAR_POLLS_BEFORE_YIELD=1 UCX_TLS=self,sm timeout 60 mpirun.mpich -n "$2" "$work/windows.mpich" "$3" "$4" "$budget" ;;
    esac 2>/dev/null | sed -n "s/^$3,$2,$4,\([0-9.]*\),ok.*/\1/p"
}
printf '%-10s %6s %9s %12s %12s %12s %8s\n' operation ranks bytes 'simrun us' 'Open MPI us' 'MPICH us' times
row() {
    for _ in $(seq "$rounds"); do
        for one in simrun $peers; do echo "$one $(run "$one" "$@")"; done
    done | awk -v row="$2 $1 $3" '
        NF > 1 && (!($1 in least) || $2 + 0 < least[$1] + 0) { least[$1] = $2 }
        function of(name) { return name in least ? least[name] : "-" }
        END {
            split(row, is, " ")
            best = of("mpich") == "-" || (of("openmpi") != "-" && of("openmpi") + 0 < of("mpich") + 0) ? of("openmpi") : of("mpich")
            printf "%-10s %6d %9d %12s %12s %12s %8s\n", is[1], is[2], is[3], of("simrun"), of("openmpi"), of("mpich"),
                of("simrun") + 0 && best + 0 ? sprintf("%.1f", best / of("simrun")) : "-" }'
}
for ranks in ${3:-2 16}; do
    for bytes in 8 1024 1048576; do row $ranks put $bytes; done
    for bytes in 8 1024; do row $ranks get $bytes; row $ranks accumulate $bytes; done
    for operation in flush lock fence; do row $ranks $operation 8; done
done
awk -v copied="$(run simrun 2 memcpy 1048576)" -v put="$(run simrun 2 put 1048576)" 'BEGIN {
    if (copied && put) printf "a put of 1 MiB runs at %.0f %% of the rate of memcpy\n", 100 * copied / put }'

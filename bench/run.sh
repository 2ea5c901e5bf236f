#!/bin/sh
# make bench: simrun against Open MPI and MPICH on the same source in the same run, as ratios of medians; then what
# only simrun can run, by itself.
#
#   bench/run.sh BUILD [MILLISECONDS [million]]
#
# MILLISECONDS is the time each row may measure. `million` adds a world of 1,048,576 ranks (some GiB, half a minute).
# Peers run with their best settings for more ranks than cores; a peer that is not installed is left out.
# - Open MPI: mpi_yield_when_idle=1, ranks not bound to cores.
# - MPICH (ch4:ucx in Debian): MPIR_CVAR_POLLS_BEFORE_YIELD=1, so that a waiting rank gives way after one look instead
#   of a thousand; shared memory alone.
set -u
build=$1
budget=${2:-200}
extra=${3:-}
here=$(dirname "$0")
work=$build/bench
mkdir -p "$work"
simrun() { "$build/simrun" --db none --record none --no-gradients "$@" 2>&1; }
# The same program with a variable, which each rank has to itself.
own=$work/mpibench_own.c
printf 'int variable = 1;\n#include "%s"\n' "$(cd "$here" && pwd)/mpibench.c" >"$own"
# Compiled beforehand, as for few ranks and as for many.
for source in "$here/mpibench.c" "$own"; do
    simrun -n 1 "$source" memcpy 8 1 >/dev/null
    simrun -n 512 "$source" memcpy 8 1 >/dev/null
done
openmpi=
mpich=
if command -v mpicc.openmpi >/dev/null && mpicc.openmpi -O2 -o "$work/mpibench.openmpi" "$here/mpibench.c" 2>/dev/null; then openmpi=1; fi
if command -v mpicc.mpich >/dev/null && mpicc.mpich -O2 -o "$work/mpibench.mpich" "$here/mpibench.c" 2>/dev/null; then mpich=1; fi
run_openmpi() { OMPI_MCA_mpi_yield_when_idle=1 timeout 60 mpirun.openmpi --allow-run-as-root --oversubscribe --bind-to none "$@" 2>/dev/null; }
run_mpich() { MPIR_CVAR_POLLS_BEFORE_YIELD=1 UCX_TLS=self,sm timeout 60 mpirun.mpich "$@" 2>/dev/null; }

field() { printf '%s' "$1" | tr -d '\n' | sed -n 's/.*,\([0-9.]*\),ok.*/\1/p'; }
# ours RANKS OPERATION BYTES [PROGRAM]: microseconds an operation takes.
ours() { field "$(simrun -n "$1" "${4:-$here/mpibench.c}" "$2" "$3" "$budget" | grep "^$2,")"; }
theirs() {
    peer=$1
    shift
    [ -n "$(eval echo "\$$peer")" ] && field "$("run_$peer" -n "$1" "$work/mpibench.$peer" "$2" "$3" "$budget" | grep "^$2,")"
}

printf '%-10s %6s %9s %12s %12s %12s %10s\n' operation ranks bytes 'simrun us' 'Open MPI us' 'MPICH us' 'times'
row() {
    a=$(ours "$@")
    b=$(theirs openmpi "$@")
    c=$(theirs mpich "$@")
    awk -v op="$2" -v n="$1" -v bytes="$3" -v a="${a:-0}" -v b="${b:-0}" -v c="${c:-0}" 'BEGIN {
        best = b; if (!best || (c && c < best)) best = c
        printf "%-10s %6d %9d %12s %12s %12s %10s\n", op, n, bytes, a ? a : "-", b ? b : "-", c ? c : "-", (a && best) ? sprintf("%.1f", best / a) : "-" }'
}
for n in 2 16; do row $n pingpong 8; done
row 2 pingpong 1048576
row 2 pingpong 16777216
for size in 1048576 16777216; do
    awk -v s=$size -v c="$(ours 1 memcpy $size)" -v m="$(ours 2 pingpong $size)" 'BEGIN {
        printf "%-10s %6d %9d %12s    a message runs at %.0f %% of that rate\n", "memcpy", 1, s, c, m ? 100 * c / m : 0 }'
done
row 16 barrier 0
row 16 allreduce 8
row 16 allreduce 1048576
row 16 alltoall 1024

echo
echo "ping-pong of 8 bytes, one way, other ways to run two ranks, us:"
two() { field "$(simrun "$@" -n 2 "$here/mpibench.c" pingpong 8 "$budget" | grep '^pingpong,')"; }
printf '  --os-threads: %s, --cores 2: %s; Open MPI, whose ranks give way: %s\n' "$(two --os-threads)" "$(two --cores 2)" "$(theirs openmpi 2 pingpong 8)"

echo
echo "large worlds; the last column is for a program with variables:"
printf '%-10s %7s %6s %12s %12s %14s\n' operation ranks bytes 'us' 'ns a rank' 'us, variables'
alone() {
    awk -v op="$2" -v n="$1" -v bytes="$3" -v a="$(ours "$@")" -v b="$(ours "$@" "$own")" 'BEGIN {
        printf "%-10s %7d %6d %12s %12.1f %12s\n", op, n, bytes, a ? a : "-", a * 1000 / n, b ? b : "-" }'
}
for n in 1024 4096; do
    alone $n pingpong 8
    alone $n barrier 0
    alone $n allreduce 8
done
alone 65536 barrier 0

echo
echo "what a switch and a message of 8 bytes cost (ring of Sendrecv), and how that grows:"
printf '%7s %12s %8s %16s %8s\n' ranks 'ns a switch' growth 'messages a second' growth
first=
for n in 2 16 1024 65536; do
    now=$(awk -v n=$n -v s="$(ours $n switch 0)" -v m="$(ours $n ring 8)" 'BEGIN { if (s && m) print s * 1000 / n, m / n }')
    first=${first:-$now}
    echo "$n $now $first" | awk 'NF == 5 { printf "%7d %12.1f %8.1f %16.0f %8.1f\n", $1, $2, $2 / $4, 1e6 / $3, $3 / $5 }'
done

echo
echo "memory of an idle rank (peak of the whole process by ranks, after a barrier), KiB:"
for n in 4096 65536; do
    printf '  %7d ranks: %s, with variables: %s\n' $n "$(ours $n memory 0)" "$(ours $n memory 0 "$own")"
done

echo
echo "start-up, milliseconds of wall time for an empty program (compiled before):"
printf '#include <mpi.h>\nint main(int argc, char **argv)\n{\n    MPI_Init(&argc, &argv);\n    MPI_Finalize();\n    return 0;\n}\n' >"$work/empty.c"
printf 'int variable = 1;\n#include "empty.c"\n' >"$work/empty_own.c"
for program in empty empty_own; do simrun -n 1 "$work/$program.c" >/dev/null; done
elapsed() { s=$(date +%s%N); "$@" >/dev/null 2>&1; e=$(date +%s%N); echo $(((e - s) / 1000000)); }
for n in 16 4096 16384 65536; do
    printf '  simrun %6d ranks: %s, with variables: %s\n' $n "$(elapsed simrun -n $n "$work/empty.c")" "$(elapsed simrun -n $n "$work/empty_own.c")"
done
[ -n "$openmpi" ] && mpicc.openmpi -o "$work/empty.openmpi" "$work/empty.c" && printf '  Open MPI   16 ranks: %s\n' "$(elapsed run_openmpi -n 16 "$work/empty.openmpi")"
[ -n "$mpich" ] && mpicc.mpich -o "$work/empty.mpich" "$work/empty.c" && printf '  MPICH      16 ranks: %s\n' "$(elapsed run_mpich -n 16 "$work/empty.mpich")"

if [ "$extra" = million ]; then
    echo
    s=$(date +%s%N)
    each=$(ours 1048576 memory 0)
    e=$(date +%s%N)
    awk -v k="${each:-0}" -v ns=$((e - s)) 'BEGIN { printf "1,048,576 ranks, init to finalize: %.1f s, %.1f GiB, %.1f KiB a rank\n", ns / 1e9, k, k }'
fi
exit 0

#!/bin/sh
# make bench: simrun against Open MPI and MPICH on the same source in the same run, as ratios of medians.
#
#   bench/run.sh BUILD [MILLISECONDS]
#
# Peers run with their best settings for more ranks than cores; a peer that is not installed is left out.
set -u
build=$1
budget=${2:-400}
here=$(dirname "$0")
work=$build/bench
mkdir -p "$work"
"$build/simrun" --db none --record none -n 1 "$here/mpibench.c" memcpy 8 1 >/dev/null 2>&1
openmpi=
mpich=
if command -v mpicc.openmpi >/dev/null && mpicc.openmpi -O2 -o "$work/mpibench.openmpi" "$here/mpibench.c" 2>/dev/null; then openmpi=1; fi
if command -v mpicc.mpich >/dev/null && mpicc.mpich -O2 -o "$work/mpibench.mpich" "$here/mpibench.c" 2>/dev/null; then mpich=1; fi

field() { printf '%s' "$1" | tr -d '\n' | sed -n 's/.*,\([0-9.]*\),ok.*/\1/p'; }
ours() { "$build/simrun" --db none --record none --no-gradients -n "$1" "$here/mpibench.c" "$2" "$3" "$budget" 2>&1 | grep "^$2,"; }
with_openmpi() {
    [ -n "$openmpi" ] && OMPI_MCA_mpi_yield_when_idle=1 timeout 120 mpirun.openmpi --allow-run-as-root --oversubscribe --bind-to none \
        -n "$1" "$work/mpibench.openmpi" "$2" "$3" "$budget" 2>/dev/null | grep "^$2,"
}
with_mpich() { [ -n "$mpich" ] && timeout 120 mpirun.mpich -n "$1" "$work/mpibench.mpich" "$2" "$3" "$budget" 2>/dev/null | grep "^$2,"; }

printf '%-10s %6s %9s %12s %12s %12s %10s\n' operation ranks bytes 'simrun us' 'Open MPI us' 'MPICH us' 'times'
row() {
    a=$(field "$(ours "$@")")
    b=$(field "$(with_openmpi "$@")")
    c=$(field "$(with_mpich "$@")")
    awk -v op="$2" -v n="$1" -v bytes="$3" -v a="${a:-0}" -v b="${b:-0}" -v c="${c:-0}" 'BEGIN {
        best = b; if (!best || (c && c < best)) best = c
        printf "%-10s %6d %9d %12s %12s %12s %10s\n", op, n, bytes, a ? a : "-", b ? b : "-", c ? c : "-", (a && best) ? sprintf("%.1f", best / a) : "-" }'
}
alone() {
    a=$(field "$(ours "$@")")
    awk -v op="$2" -v n="$1" -v bytes="$3" -v a="${a:-0}" 'BEGIN { printf "%-10s %6d %9d %12s %38.1f ns a rank\n", op, n, bytes, a ? a : "-", a * 1000 / n }'
}

for n in 2 16; do row $n pingpong 8; done
row 2 pingpong 1048576
row 2 pingpong 16777216
for size in 1048576 16777216; do
    copy=$(field "$(ours 1 memcpy $size)")
    message=$(field "$(ours 2 pingpong $size)")
    awk -v s=$size -v c="$copy" -v m="$message" 'BEGIN { printf "%-10s %6d %9d %12s us; a message runs at %.0f%% of that rate\n", "memcpy", 1, s, c, 100 * c / m }'
done
row 16 barrier 0
row 16 allreduce 8
row 16 allreduce 1048576
row 16 alltoall 1024
for n in 1024 4096; do
    alone $n pingpong 8
    alone $n barrier 0
    alone $n allreduce 8
done
alone 65536 barrier 0

echo
echo "start-up, milliseconds of wall time for an empty program (compiled before):"
printf '#include <mpi.h>\nint main(int argc, char **argv)\n{\n    MPI_Init(&argc, &argv);\n    MPI_Finalize();\n    return 0;\n}\n' >"$work/empty.c"
"$build/simrun" --db none --record none --no-gradients -n 1 "$work/empty.c" >/dev/null 2>&1
elapsed() { s=$(date +%s%N); "$@" >/dev/null 2>&1; e=$(date +%s%N); echo $(((e - s) / 1000000)); }
for n in 16 4096 16384 65536; do
    printf '  simrun %6d ranks: %s\n' $n "$(elapsed "$build/simrun" --db none --record none --no-gradients -n $n "$work/empty.c")"
done
[ -n "$openmpi" ] && mpicc.openmpi -o "$work/empty.openmpi" "$work/empty.c" && printf '  Open MPI   16 ranks: %s\n' \
    "$(elapsed mpirun.openmpi --allow-run-as-root --oversubscribe -n 16 "$work/empty.openmpi")"
[ -n "$mpich" ] && mpicc.mpich -o "$work/empty.mpich" "$work/empty.c" && printf '  MPICH      16 ranks: %s\n' \
    "$(elapsed mpirun.mpich -n 16 "$work/empty.mpich")"
exit 0

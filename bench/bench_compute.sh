#!/bin/sh
# make bench: programs that compute between their messages (bench/compute.c), as they come and on one core, against Open MPI and MPICH
# on the same source in turns: medians of seconds, what all cores gain, and the ratio to the better peer.
#   bench/bench_compute.sh BUILD [TURNS]
build=$1
turns=${2:-3}
here=$(dirname "$0")
work=$build/bench
mkdir -p "$work"
for peer in openmpi mpich; do
    command -v mpicc.$peer >/dev/null && mpicc.$peer -O2 -o "$work/compute.$peer" "$here/compute.c" -lm 2>/dev/null
done
once() { # WHO RANKS PROGRAM SIZE STEPS: seconds of its loop
    case $1 in
        all) "$build/simrun" --db none --record none --no-gradients -n "$2" "$here/compute.c" "$3" "$4" "$5" ;;
        one) "$build/simrun" --db none --record none --no-gradients --cores 1 -n "$2" "$here/compute.c" "$3" "$4" "$5" ;;
        openmpi) test -x "$work/compute.openmpi" && OMPI_MCA_mpi_yield_when_idle=1 timeout 60 mpirun.openmpi --allow-run-as-root \
            --oversubscribe --bind-to none -n "$2" "$work/compute.openmpi" "$3" "$4" "$5" ;;
        mpich) test -x "$work/compute.mpich" && MPIR_CVAR_POLLS_BEFORE_YIELD=1 UCX_TLS=self,sm timeout 60 mpirun.mpich -n "$2" \
            "$work/compute.mpich" "$3" "$4" "$5" ;;
    esac 2>&1 | sed -n "s/^$3 $2 ranks: sum .*, \([0-9.]*\) s\$/$1 \1/p" >>"$work/compute.rows"
}
median() { awk -v who="$1" '$1 == who { print $2 }' "$work/compute.rows" | sort -g | awk '{ v[NR] = $1 } END { if (NR) print v[int((NR + 1) / 2)]; else print "-" }'; }
printf '%-8s %5s %9s %9s %9s %9s %6s %6s\n' program ranks seconds 'one core' 'Open MPI' MPICH gain times
for program in "bodies 2048 20" "jacobi 2000 60" "hydro 96 20"; do
    for ranks in 1 2 16 64; do
        : >"$work/compute.rows"
        for turn in $(seq "$turns"); do
            for who in all one openmpi mpich; do
                # shellcheck disable=SC2086
                once $who $ranks $program
            done
        done
        [ "$(median all)" != - ] || { echo "bench_compute.sh: simrun printed no time of $program on $ranks ranks" >&2; exit 1; }
        echo "${program%% *} $ranks $(median all) $(median one) $(median openmpi) $(median mpich)" | awk '{
            best = $5 == "-" || ($6 != "-" && $6 + 0 < $5 + 0) ? $6 : $5
            printf "%-8s %5d %9s %9s %9s %9s %6s %6s\n", $1, $2, $3, $4, $5, $6, $3 + 0 ? sprintf("%.2f", $4 / $3) : "-",
                   $3 + 0 && best + 0 ? sprintf("%.2f", best / $3) : "-" }'
    done
done

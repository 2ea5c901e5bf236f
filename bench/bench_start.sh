#!/bin/sh
# bench_start.sh BUILD [TIMES]: processor time of starting and ending a program that does nothing else, the least of several runs: on its own,
# linked to FFTW's library for MPI, of which each rank has a copy, and calling that library's start (where libfftw3-mpi-dev and Open MPI's
# compiler are there).
build=$(cd "${1:-build}" && pwd) || exit 1
times=${2:-7}
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
cat >empty.c <<'PROGRAM'
#include <mpi.h>
#ifdef LINKED
void fftw_mpi_init(void);
void fftw_mpi_cleanup(void);
#endif
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
#ifdef LINKED
    if (argc > LINKED) {
        fftw_mpi_init();
        fftw_mpi_cleanup();
    }
#endif
    MPI_Finalize();
    return 0;
}
PROGRAM
least() { # ranks, program: milliseconds
    perl -e 'my ($times, @command) = @ARGV; my $least;
        for (1 .. $times) {
            my @before = times; system(@command) == 0 or exit 1; my @after = times;
            my $used = $after[2] + $after[3] - $before[2] - $before[3];
            $least = $used if !defined $least || $used < $least;
        }
        printf "%.0f ms", 1000 * $least' "$times" sh -c "'$build/simrun' --db none -n $1 ./$2 >/dev/null 2>&1" || echo "cannot be run"
}
"$build/simcc" -o empty empty.c || exit 1
programs=empty
if command -v mpicc.openmpi >/dev/null && mpicc.openmpi -DLINKED=1 -o linked empty.c -lfftw3_mpi -lfftw3 2>/dev/null &&
    mpicc.openmpi -DLINKED=0 -o started empty.c -lfftw3_mpi -lfftw3 2>/dev/null; then
    programs="empty linked started"
fi
for program in $programs; do
    for ranks in 2 64 1024; do
        echo "$program, $ranks ranks: $(least $ranks "$program")"
    done
done

#!/bin/sh
# Programs of several sources, and sources in other languages: each runs whole, or is refused with one sentence that names the remedy.
cd "$(dirname "$0")" || exit 1
while [ ! -e Makefile ]; do cd .. || exit 1; done
# shellcheck source=tests/shell.sh
. "$(find tests -name shell.sh | head -1)"
unset CC CXX FC
cat >main.c <<'END'
#include <mpi.h>
#include <stdio.h>
int part(int value);
int main(int argc, char **argv)
{
    int rank, sum;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    part(rank);
    MPI_Barrier(MPI_COMM_WORLD);
    int mine = part(rank);
    MPI_Reduce(&mine, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("sum %d with %d words, last %s\n", sum, argc, argv[argc - 1]);
    MPI_Finalize();
    return 0;
}
END
echo 'static int total; int part(int value) { return total += value; }' >part.c
cat >part.cpp <<'END'
#include <vector>
static std::vector<int> all;
extern "C" int part(int value)
{
    int sum = 0;
    all.push_back(value);
    for (int each : all)
        sum += each;
    return sum;
}
END
echo 'int part_(int *value); int part(int value) { return part_(&value); }' >bridge.c
printf '%s\n' '      integer function part(v)' '      integer v, total' '      save total' '      data total /0/' '      total = total + v' \
    '      part = total' '      end' >part.f
printf '%s\n' 'integer function part(v)' '  integer :: v' '  integer, save :: total = 0' '  total = total + v' '  part = total' 'end function' >part.f90
sed 's/int part(int value);/extern "C" int part(int);/' main.c >main.cc
for module in mpi mpi_f08; do
    printf '%s\n' 'program p' "  use $module" '  integer :: r, s, e' '  call mpi_init(e)' '  call MPI_Comm_rank(MPI_COMM_WORLD, r, e)' \
        '  call MPI_Allreduce(r, s, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, e)' "  if (r == 0) print '(a,i0,a)', 'sum ', 2 * s, ' with 1 words'" \
        '  call MPI_Finalize(e)' 'end program' >calls-$module.f90
done
printf '%s\n' '      include "mpif.h"' '      call MPI_INIT(i)' "      print '(A)', 'sum 12 with 1 words'" '      call MPI_FINALIZE(i)' '      end' >calls.f
printf '%s\n' '      subroutine part(v)' '      include "mpif.h"' '      integer v, s, e' \
    '      call MPI_ALLREDUCE(v, s, 1, MPI_INTEGER, MPI_SUM,' '     +MPI_COMM_WORLD, e)' '      v = s' '      end' >reduces.f
echo 'static int calls; void part_(int *value); int part(int value) { calls++; part_(&value); return calls == 1 ? 0 : value / 2; }' >calling.c

echo "TAP version 13"
while IFS='|' read -r tool arguments words; do
    if ! command -v "$tool" >/dev/null; then
        check 0 "$arguments # SKIP needs $tool"
        continue
    fi
    for again in compiled cached; do
        # shellcheck disable=SC2086
        timeout 120 "$simrun" --db none -n 4 $arguments >out 2>&1 && grep -q "^sum 12 with $words" out
        check $? "$arguments runs, $again"
    done
done <<'END'
cc|main.c part.c|1 words
cc|main.c part.c -- 5|2 words, last 5
cc|main.c part.c -- part.c|2 words, last part.c
cc|main.c part.c 7|2 words, last 7
c++|main.c part.cpp|1 words
c++|main.cc part.c|1 words
gfortran|main.c bridge.c part.f|1 words
gfortran|main.c bridge.c part.f90|1 words
gfortran|calls-mpi.f90|1 words
gfortran|calls-mpi_f08.f90|1 words
gfortran|calls.f|1 words
gfortran|main.c calling.c reduces.f|1 words
END
timeout 60 "$simrun" explore -n 2 main.c part.c >out 2>&1
check $? "explore takes them, too"
# A change of one source is noticed.
echo 'int part(int value) { return value * 0; }' >part.c
timeout 60 "$simrun" --db none -n 4 main.c part.c >out 2>&1 && grep -q '^sum 0 ' out
check $? "a changed source is compiled anew"
# Any byte that a path can have, but the one that ends a line.
for name in "$(printf 't\tb')" 'q"x' "q'x" 'd$x' 'h#x' 'b\ x' "$(printf 'e\033x')"; do
    printf '%s\n' '#include <mpi.h>' '#include "odd header.h"' 'int main(int c, char **v) { MPI_Init(&c, &v); return END; }' >"$name.c"
    echo '#define END MPI_Finalize()' >'odd header.h'
    timeout 60 "$simrun" --db none -n 2 "./$name.c" >out 2>&1
    check $? "a source named $(printf '%s' "$name" | tr '\t\033#' '???').c"
done
refused() { # status words arguments...
    status=$1 words=$2
    shift 2
    timeout 60 "$simrun" --db none -n 2 "$@" >out 2>&1
    [ $? -eq "$status" ] && grep -q "$words" out
    check $? "$*: $words"
}
refused 3 'unresolved symbol: part; give the sources' main.c
CXX=no-such-compiler refused 3 'no compiler: no-such-compiler is not found; install g++, or name one in CXX' main.cc part.c
echo "1..$count"

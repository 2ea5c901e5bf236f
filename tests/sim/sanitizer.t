#!/bin/sh
# Programs compiled with -fsanitize=address start, and what the sanitizer reports is a finding with rank and line.
cd "$(dirname "$0")" || exit 1
while [ ! -e Makefile ]; do cd .. || exit 1; done
bin=$(realpath "${BUILD:-build}")
# shellcheck source=tests/shell.sh
. "$(find tests -name shell.sh | head -1)"
PATH=$bin:$PATH
unset CC
cat >heap.c <<'END'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv)
{
    int rank, size = argc > 1 ? atoi(argv[1]) : 10;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    volatile char *bytes = malloc(10);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1)
        bytes[size] = 1;
    free((void *)bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
END
echo "TAP version 13"
if ! gcc -fsanitize=address -o probe heap.c -I"$(simcc -showme:incdirs)" -L"$bin/lib" -lmpi_abi >probe.log 2>&1 || [ "$(readelf -d "$bin/simrun" | grep -c 'lib[at]san')" -gt 0 ]; then
    echo "1..0 # SKIP no address sanitizer, or simrun is built with one"
    exit 0
fi
simcc -g -fsanitize=address -o heap heap.c >out 2>&1
check $? "simcc builds with the sanitizer"
for ranks in 2 16; do
    timeout 120 simrun --db none -n $ranks ./heap 9 >out 2>&1 && grep -q '^PASS' out
    check $? "a right program passes on $ranks ranks"
    timeout 120 simrun --db none -n $ranks ./heap 10 >out 2>&1
    [ $? -eq 1 ] && grep -q '^X001 crash: AddressSanitizer: heap-buffer-overflow at heap.c:13$' out && grep -q 'where *rank 1' out
    check $? "a report is a finding with rank and line on $ranks ranks"
done
sed '1i/* simrun: cflags: -fsanitize=address */' heap.c >source.c
timeout 120 simrun --db none -n 2 source.c 10 >out 2>&1
[ $? -eq 1 ] && grep -q 'AddressSanitizer: heap-buffer-overflow at source.c:14' out
check $? "also of a source that asks for it"
echo "1..$count"

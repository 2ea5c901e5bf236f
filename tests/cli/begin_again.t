#!/bin/sh
# Large arrays of programs lie in huge pages where the system gives them to those that ask, threads of OpenMP that wait for work let others
# have the processor soon, and nothing of how that is asked for is seen.
cd "$(dirname "$0")" || exit 1
while [ ! -e Makefile ]; do cd .. || exit 1; done
# shellcheck source=tests/shell.sh
. "$(find tests -name shell.sh | head -1)"
echo "TAP version 13"
cat >array.c <<'PROGRAM'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
int main(int argc, char **argv)
{
    enum { SIZE = 64 << 20 };
    struct rusage before, after;
    const char *tunables = getenv("GLIBC_TUNABLES");
    MPI_Init(&argc, &argv);
    char *array = malloc(SIZE);
    getrusage(RUSAGE_SELF, &before);
    memset(array, 1, SIZE);
    getrusage(RUSAGE_SELF, &after);
    printf("faults %ld\ntunables %s\n", after.ru_minflt - before.ru_minflt, tunables ? tunables : "none");
    printf("spins %s\n", getenv("GOMP_SPINCOUNT") ? getenv("GOMP_SPINCOUNT") : "none");
    for (int i = 1; i < argc; i++)
        printf("word %s.\n", argv[i]);
    fflush(stdout);
    int status = system("env | grep -cE 'TUNABLES|SPINCOUNT'");
    printf("last %d, status %d\n", array[SIZE - 1], status != -1);
    free(array);
    MPI_Finalize();
    return 0;
}
PROGRAM
PATH=$(dirname "$simrun"):$PATH
simcc -o array array.c >out 2>&1
check $? "a program with a large array is built"
faults() { sed -n 's/^faults //p' out; }
unset GLIBC_TUNABLES GOMP_SPINCOUNT OMP_WAIT_POLICY
"$simrun" --db none -n 1 ./array 'two words' '' >verdict 2>out
check $? "it runs"
grep -qx 'word two words.' out && grep -qx 'word .' out
check $? "its words are what they were"
grep -qx 'tunables none' out && grep -qx 'spins none' out && grep -qx 0 out
check $? "nothing is in its environment, nor in that of what it starts"
own=$(faults)
GLIBC_TUNABLES=glibc.malloc.hugetlb=0 "$simrun" --db none -n 1 ./array >verdict 2>out &&
    grep -qx 'tunables glibc.malloc.hugetlb=0' out && grep -qx 1 out
check $? "what the user says of them stays"
small=$(faults)
GLIBC_TUNABLES=glibc.malloc.perturb=0 "$simrun" --db none -n 1 ./array >verdict 2>out &&
    grep -qx 'tunables glibc.malloc.perturb=0' out && grep -qx 1 out
check $? "so do other tunables of the user's"
other=$(faults)
GOMP_SPINCOUNT=7 "$simrun" --db none -n 1 ./array >verdict 2>out && grep -qx 'spins 7' out && grep -qx 1 out
check $? "and how long the user says that threads wait"
"$simrun" --db none -n 1 ./array <&- >verdict 2>out && grep -q 'tunables none' out
check $? "with standard input closed, too"
# Whether they can be had at all is what glibc says that was told to ask.
GLIBC_TUNABLES=glibc.malloc.hugetlb=1 "$simrun" --db none -n 1 ./array >verdict 2>out
name="an array of 64 MiB lies in huge pages"
if grep -q '\[madvise\]' /sys/kernel/mm/transparent_hugepage/enabled && [ "$(faults)" -lt 4096 ] && [ "$small" -ge 16384 ]; then
    [ "$own" -lt 4096 ] && [ "$other" -lt 4096 ]
    check $? "$name"
else
    count=$((count + 1))
    echo "ok $count - $name # SKIP the system has none for those that ask"
fi
echo "1..$count"

#!/bin/sh
# Programs given to simrun in every form, and what it says of files it cannot use.
cd "$(dirname "$0")/../.." || exit 1
build=${BUILD:-build}
simrun=${SIMRUN:-$build/simrun}
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
SIMRUN_CACHE=$folder/cache
export SIMRUN_CACHE
count=0
ok() { # status name
    count=$((count + 1))
    if [ "$1" -eq 0 ]; then echo "ok $count - $2"; else echo "not ok $count - $2"; sed 's/^/# /' "$folder/said"; fi
}
run() { # arguments of simrun; what it says is kept
    timeout 300 "$simrun" --db none --record none "$@" >"$folder/said" 2>&1
}
says() { grep -q -- "$1" "$folder/said"; }
refused() { # exit status, words, name, arguments...
    expected=$1 words=$2 name=$3
    shift 3
    run "$@"
    [ $? -eq "$expected" ] && says "$words"
    ok $? "$name"
}

echo "TAP version 13"
cat >"$folder/sum.c" <<'END'
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>
static int mine = 1;
#ifdef THREAD_LOCAL
static _Thread_local int own = 1;
#else
static int own = 1;
#endif
int main(int argc, char **argv)
{
    int rank, sum, size, option;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    while ((option = getopt(argc, argv, "x:")) == 'x')
        MPI_Barrier(MPI_COMM_WORLD);
    mine += rank, own += rank;
    MPI_Barrier(MPI_COMM_WORLD);
    mine = (mine + own) / 2;
    MPI_Reduce(&mine, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("sum %d after %d words\n", sum, optind);
    MPI_Finalize();
    return 0;
}
END
"$build/simcc" -DTHREAD_LOCAL -o "$folder/sum" "$folder/sum.c" &&
    "$build/simcc" -pie -o "$folder/sum-pie" "$folder/sum.c" &&
    "$build/simcc" -pie -s -DTHREAD_LOCAL -o "$folder/sum-local" "$folder/sum.c"
ok $? "simcc builds a program in three forms"
for form in sum.c sum sum-pie; do
    for option in --loader=clone --loader=dlopen --os-threads; do
        run -n 5 $option "$folder/$form" -x 1 -x 2 && says '^sum 15 after 5 words$'
        ok $? "$form runs with $option"
    done
done
run -n 5 --os-threads "$folder/sum-local" && says '^sum 15 after 1 words$'
ok $? "an executable with thread-locals runs on OS threads"
refused 3 '--os-threads' "and is told so on fibers" -n 5 "$folder/sum-local"

# A library of the program has a function by a name that the launcher has, too.
cat >"$folder/own.c" <<'END'
int failure_set(void) { return 41; }
int own(void) { return failure_set() + 1; }
END
cat >"$folder/user.c" <<'END'
#include <stdio.h>
int own(void);
int main(void) { return printf("own %d\n", own()) < 0; }
END
${CC:-cc} -shared -fPIC -fno-inline -o "$folder/libown.so" "$folder/own.c" &&
    "$build/simcc" -o "$folder/user" "$folder/user.c" -L"$folder" -lown -Wl,-rpath,'$ORIGIN'
run -n 2 "$folder/user"
says '^own 42$'
ok $? "a library of the program calls its own functions, whatever the launcher's are called"

echo text >"$folder/text"
echo 'int main(void) { return nonsense; }' >"$folder/broken.c"
echo 'int answer(void) { return 42; }' >"$folder/mainless.c"
head -c 1000 "$folder/sum" >"$folder/cut.so"
refused 3 "text: not an ELF" "a text file is not a program" -n 2 "$folder/text"
refused 3 "truncated" "nor is a part of one" -n 2 "$folder/cut.so"
refused 3 "mainless.c: has no main" "nor is a source without main" -n 2 "$folder/mainless.c"
refused 3 "broken.c:1:.*nonsense" "a compiler's message is passed on" -n 2 "$folder/broken.c"
refused 3 "No such file" "a file that is not there is named" -n 2 "$folder/absent.c"
refused 2 "ranks" "no ranks are no run" -n 0 "$folder/sum.c"
refused 2 "ranks" "nor are ten million" -n 10000000 "$folder/sum.c"
cat >"$folder/nobody.c" <<'END'
#include <mpi.h>
int main(int argc, char **argv)
{
    int rank, size, got;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Send(&rank, 1, MPI_INT, 1 << 28, 0, MPI_COMM_WORLD);
    for (int i = 1; rank == 0 && i < size; i++)
        MPI_Recv(&got, 1, MPI_INT, i == 1 ? MPI_ANY_SOURCE : i, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank)
        MPI_Send(&rank, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    MPI_Finalize();
}
END
timeout 60 "$simrun" --db none -n 3 "$folder/nobody.c" >"$folder/said" 2>&1
[ $? -eq 1 ] && says 'M009' && says 'D002'
ok $? "what is sent to a rank far beyond the last is refused, and all else is judged"
cat >"$folder/subsets.c" <<'END'
#include <mpi.h>
int main(int argc, char **argv)
{
    int rank, size, ranks[16];
    MPI_Group all, some;
    MPI_Comm made;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    for (int set = 1; set < 1 << size; set++) {
        int n = 0;
        for (int r = 0; r < size; r++)
            if (set >> r & 1)
                ranks[n++] = r;
        MPI_Group_incl(all, n, ranks, &some);
        if (set >> rank & 1) {
            MPI_Comm_create_group(MPI_COMM_WORLD, some, 0, &made);
            MPI_Barrier(made);
            MPI_Comm_free(&made);
        }
        MPI_Group_free(&some);
    }
    MPI_Group_free(&all);
    MPI_Finalize();
}
END
timeout 60 "$simrun" --db none -n 8 "$folder/subsets.c" >"$folder/said" 2>&1 && says 'no findings'
ok $? "no two communicators of other members pass for one"
cat >"$folder/idups.c" <<'END'
#include <mpi.h>
int main(int argc, char **argv)
{
    int rank, out = 1, in;
    MPI_Comm a, b;
    MPI_Request made[2], sent;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_idup(MPI_COMM_WORLD, &a, &made[0]);
    MPI_Comm_idup(MPI_COMM_WORLD, &b, &made[1]);
    MPI_Waitall(2, made, MPI_STATUSES_IGNORE);
    MPI_Isend(&out, 1, MPI_INT, !rank, 0, rank ? b : a, &sent);
    MPI_Recv(&in, 1, MPI_INT, !rank, 0, rank ? a : b, MPI_STATUS_IGNORE);
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
    MPI_Comm_free(&a);
    MPI_Comm_free(&b);
    MPI_Finalize();
}
END
timeout 60 "$simrun" --db none -n 2 "$folder/idups.c" >"$folder/said" 2>&1 && says 'no findings'
ok $? "nonblocking duplicates are the same on all ranks, in whatever order they are first used"
timeout 60 "$simrun" --db none -n 5 tests/peers/intercomm.c >"$folder/said" 2>&1 && says 'no findings'
ok $? "the sides of an intercommunicator need not give the same counts"
SIMRUN_CACHE=/dev/null/cache
refused 5 "/dev/null/cache.*SIMRUN_CACHE" "a cache that cannot be written is named, with the remedy" -n 2 "$folder/sum.c"
cat >"$folder/last.c" <<'END'
#include <mpi.h>
__attribute__((noinline)) static void last(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}
int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        last();
    MPI_Finalize();
    return 0;
}
END
SIMRUN_CACHE=$folder/cache timeout 300 "$simrun" --db none -n 2 "$folder/last.c" >"$folder/said" 2>&1
tr -d ' \n' <"$folder/said" | grep -q 'Barrierat[^ ]*last.c:4'
ok $? "a call that is the last of its function stands at its own line"
cat >"$folder/large.c" <<'END'
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* What the system says of the pages around this address: 1 it may make them huge, 0 not */
static int huge(const char *address)
{
    FILE *maps = fopen("/proc/self/smaps", "r");
    char line[512];
    int here = 0, found = 0;
    unsigned long from, to;
    while (maps && fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
            here = (uintptr_t)address >= from && (uintptr_t)address < to;
        if (here && !strncmp(line, "VmFlags:", 8))
            found = strstr(line, " hg") != NULL;
    }
    if (maps)
        fclose(maps);
    return found;
}
int main(int argc, char **argv)
{
    enum { LARGE = 16 << 20 };
    MPI_Init(&argc, &argv);
    char *a = malloc(LARGE), *b = calloc(LARGE, 1);
    printf("huge: malloc %d, calloc %d\n", huge(a + LARGE / 2), huge(b + LARGE / 2));
    free(a), free(b);
    MPI_Finalize();
    return 0;
}
END
if [ -e /sys/kernel/mm/transparent_hugepage/enabled ]; then
    SIMRUN_CACHE=$folder/cache timeout 300 "$simrun" --db none -n 1 "$folder/large.c" >"$folder/said" 2>&1
    says 'huge: malloc 1, calloc 1'
    ok $? "large memory of a program may be of huge pages"
else
    count=$((count + 1))
    echo "ok $count # skip this system has no huge pages"
fi

# Zeroed memory is there before it is read: of the small pages none is the one that all share. Small pieces come as ever.
cat >"$folder/present.c" <<'END'
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
static long present(const char *memory, size_t size)
{
    uintptr_t from = (uintptr_t)memory & -(uintptr_t)4096;
    size_t pages = ((uintptr_t)memory + size - from + 4095) / 4096;
    unsigned char *seen = malloc(pages);
    long count = 0;
    if (!seen || mincore((void *)from, pages * 4096, seen))
        return -1;
    for (size_t i = 0; i < pages; i++)
        count += seen[i] & 1;
    free(seen);
    return count == (long)pages;
}
int main(int argc, char **argv)
{
    static const size_t sizes[] = {1 << 17, (1 << 17) + 1, 1000003, (4 << 20) - 1};
    int rank, all = 1, zero = 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 4; i++) {
        char *memory = calloc(sizes[i], 1);
        all &= present(memory, sizes[i]) == 1;
        for (size_t k = 0; k < sizes[i]; k++)
            zero &= memory[k] == 0;
    }
    enum { LARGE = 64 << 20, END = 100 };
    char *large = calloc(LARGE, 1);
    printf("rank %d: present %d, zero %d, begin %ld, end %ld, all %ld\n", rank, all, zero, present(large, END),
        present(large + LARGE - END, END), present(large, LARGE));
    MPI_Finalize();
    return 0;
}
END
SIMRUN_CACHE=$folder/cache timeout 300 "$simrun" --db none -n 3 "$folder/present.c" >"$folder/said" 2>&1
says 'rank 2: present 1, zero 1, begin 1, end 1, all 0'
ok $? "zeroed memory of a program is there before it is read, its large pages come as they are touched"

# Further runs of a program, for other numbers of ranks and for witnesses, read its input again.
cat >"$folder/input.c" <<'END'
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    int rank, ranks, number = 0, got[2];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (!rank && scanf("%d", &number) != 1)
        MPI_Abort(MPI_COMM_WORLD, 1);
    if (!rank)
        printf("read %d on %d\n", number, ranks);
    int mine[2] = {rank, rank};
    MPI_Request sent[8];
    for (int to = 0; to < ranks; to++)
        MPI_Isend(mine, rank == 1 ? 1 : 2, MPI_INT, to == rank ? MPI_PROC_NULL : to, 0, MPI_COMM_WORLD, &sent[to]);
    for (int i = 1; i < ranks; i++)
        MPI_Recv(got, 2, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Waitall(ranks, sent, MPI_STATUSES_IGNORE);
    MPI_Finalize();
    return 0;
}
END
printf 'first\n%s\n' 77 >"$folder/numbers"
{
    read -r _ # as a shell's, which leaves the file behind the first line
    SIMRUN_CACHE=$folder/cache timeout 300 "$simrun" --db none --record ops -n 2,4 "$folder/input.c" >"$folder/said" 2>&1
} <"$folder/numbers"
[ $? -eq 0 ] && says 'read 77 on 2' && says "read 77 on 4" && says 'confirmed by a real run of the witness'
ok $? "input from a file is read by every run, and by witnesses"
echo "1..$count"

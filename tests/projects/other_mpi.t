#!/bin/sh
# Programs and libraries that were built for another MPI: they say the same as when simcc builds them, or are refused with the remedy.
cd "$(dirname "$0")/../.." || exit 1
build=$(readlink -f "${BUILD:-build}")
simrun=$(readlink -f "${SIMRUN:-$build/simrun}")
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
count=0
ok() { # status name
    count=$((count + 1))
    if [ "$1" -eq 0 ]; then echo "ok $count - $2"; else echo "not ok $count - $2"; sed 's/^/# /' "$folder/said" | head -30; fi
}
skip() { # how many, why
    for _ in $(seq "$1"); do
        count=$((count + 1))
        echo "ok $count - # SKIP $2"
    done
}
run() { COLUMNS=1000 timeout 120 "$simrun" --db none "$@" >"$folder/said" 2>&1; }
says() { grep -q -- "$1" "$folder/said"; }
refused() { # exit status, words, name, arguments...
    expected=$1 words=$2 name=$3
    shift 3
    run "$@"
    [ $? -eq "$expected" ] && says "$words"
    ok $? "$name"
}
told() { # what a run printed, without times and numbers of buffers not looked at, in an order that no run has
    sed "s!$folder/[a-z_.]*!PROGRAM!g; s/([0-9.]* m*s)//; s/ ([0-9]* times)//g" "$folder/said" | sort
}

echo "TAP version 13"
cat >"$folder/wrong.c" <<'END'
#include <mpi.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    int rank, kind = argc > 1 ? atoi(argv[1]) : 0, x = 0;
    MPI_Comm other;
    MPI_File file;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (kind == 1)
        MPI_Recv(&x, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (kind == 2)
        MPI_Send(&x, 1, MPI_DATATYPE_NULL, rank, 0, MPI_COMM_WORLD);
    if (kind == 3)
        MPI_Comm_dup(MPI_COMM_WORLD, &other);
    if (kind == 4)
        MPI_File_open(MPI_COMM_WORLD, "x", MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
    if (kind == 5)
        MPI_Comm_size(MPI_COMM_NULL, &x);
    if (kind == 6)
        MPI_Send(&x, 1, MPI_INT, -7, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
END
"$build/simcc" -g -o "$folder/wrong.simcc" "$folder/wrong.c" && "$build/simcc" -o "$folder/all.simcc" tests/programs/other_mpi.c
ok $? "simcc builds what they are compared with"
run -n 4 --allow M009 "$folder/all.simcc"
told >"$folder/all.expected"
grep -q '^PASS' "$folder/all.expected" && ! grep -q '?' "$folder/all.expected"
ok $? "the program that uses what MPIs do differently passes, and everything in it has a name"

for mpi in openmpi mpich; do
    compiler=mpicc.$mpi
    if ! command -v $compiler >/dev/null || ! $compiler -g -w -o "$folder/wrong" "$folder/wrong.c" 2>/dev/null; then
        skip 19 "no $compiler"
        continue
    fi
    $compiler -w -o "$folder/all" tests/programs/other_mpi.c
    run -n 4 --allow M009 "$folder/all"
    told >"$folder/all.told"
    cmp -s "$folder/all.expected" "$folder/all.told"
    ok $? "constants, statuses, callbacks, attributes and strings of $mpi are translated both ways"
    run -n 4 --allow M009 --os-threads "$folder/all"
    says '^PASS' && says '^generalised 5 3 -1$'
    ok $? "on OS threads, too"
    for program in point communicator intercomm errors collective; do
        $compiler -w -std=c17 -D_GNU_SOURCE -o "$folder/peer" tests/peers/$program.c -lm &&
            "$build/simcc" -w -std=c17 -D_GNU_SOURCE -o "$folder/peer.simcc" tests/peers/$program.c -lm
        run -n 3 --record none "$folder/peer.simcc"
        told | grep '^= ' >"$folder/expected"
        run -n 3 --record none "$folder/peer"
        told | grep '^= ' | cmp -s "$folder/expected" - && [ -s "$folder/expected" ]
        ok $? "$program built for $mpi says the same"
    done
    for kind in 'D001 Recv 11' 'M009 Send 13' 'L003 Finalize 22' 'U001 File_open 17' 'M009 Comm_size 19' 'M009 Send 21'; do
        set -- $kind
        number=$(($3 == 22 ? 3 : $3 / 2 - 4))
        run -n 2 "$folder/wrong.simcc" $number
        theirs=$?
        told >"$folder/expected"
        run -n 2 "$folder/wrong" $number
        [ $? -eq $theirs ] && told | cmp -s "$folder/expected" - && says "^$1" && says "wrong.c:$3"
        ok $? "$1 at the line of $2, as when simcc built it"
    done
    run -n 64 "$folder/wrong"
    says '^PASS'
    ok $? "64 ranks of a program of $mpi"
    refused 3 'only the clone loader' "the other loaders are refused with the remedy" -n 2 --loader dlopen "$folder/wrong"
    refused 3 'only the clone loader' "both of them" -n 2 --loader shared "$folder/wrong"
    echo 'int MPI_Barrier(void *); int in_library(void) { return MPI_Barrier(0); }' >"$folder/part.c"
    $compiler -shared -fPIC -o "$folder/libpart.so" "$folder/part.c" &&
        "$build/simcc" -o "$folder/mixed" "$folder/wrong.c" -Wl,--no-as-needed -L"$folder" -lpart -Wl,-rpath,"$folder"
    refused 3 'libpart.so, which was built for .*build that library with simcc' "a library of $mpi in a program of simcc's" -n 2 "$folder/mixed"
    "$build/simcc" -shared -fPIC -o "$folder/libpart.so" "$folder/part.c" &&
        $compiler -o "$folder/mixed" "$folder/wrong.c" -Wl,--no-as-needed -L"$folder" -lpart -Wl,-rpath,"$folder"
    refused 3 'libpart.so, which was built with simcc.*build both with simcc' "and the reverse" -n 2 "$folder/mixed"
done

# Open MPI's mpicxx names its library for C++ in every program, with the old classes or without.
cat >"$folder/classes.cpp" <<'END'
#include <cstdio>
#include <mpi.h>
#ifdef OMPI_MAJOR_VERSION
static void add(const void *in, void *out, int n, const MPI::Datatype &)
{
    for (int i = 0; i < n; i++)
        ((int *)out)[i] += ((const int *)in)[i];
}
static void multiply(const void *in, void *out, int n, const MPI::Datatype &)
{
    for (int i = 0; i < n; i++)
        ((int *)out)[i] *= ((const int *)in)[i];
}
int main(int argc, char **argv)
{
    MPI::Init(argc, argv);
    int rank = MPI::COMM_WORLD.Get_rank(), ranks = MPI::COMM_WORLD.Get_size(), mine = rank + 1, sum, product, got;
    MPI::Op plus, times;
    plus.Init(add, true);
    times.Init(multiply, true);
    MPI::COMM_WORLD.Allreduce(&mine, &sum, 1, MPI::INT, plus);
    MPI::COMM_WORLD.Allreduce(&mine, &product, 1, MPI::INT, times);
    MPI::Intracomm own = MPI::COMM_WORLD.Dup();
    MPI::Status status;
    own.Sendrecv(&rank, 1, MPI::INT, (rank + 1) % ranks, 0, &got, 1, MPI::INT, MPI::ANY_SOURCE, MPI::ANY_TAG, status);
    if (rank == 0)
        std::printf("sum %d product %d of %d from %d\n", sum, product, ranks, status.Get_source());
    own.Free();
    plus.Free();
    times.Free();
    MPI::Finalize();
}
#endif
END
if command -v mpicxx.openmpi >/dev/null && mpicxx.openmpi -g -w -o "$folder/classes" "$folder/classes.cpp" 2>/dev/null; then
    for executor in '' --os-threads; do
        run -n 4 $executor "$folder/classes"
        says '^PASS' && says '^sum 10 product 24 of 4 from 3$'
        ok $? "a program of Open MPI's C++ classes, with reductions of its own $executor"
    done
else
    skip 2 "no mpicxx.openmpi, or one without classes"
fi

# What there is no library for.
while read -r soname name; do
    rm -f "$folder/$soname"
    echo 'int MPI_Init(int *a, char ***b) { return !a + !b; }' >"$folder/old.c"
    echo 'int MPI_Init(int *a, char ***b); int main(void) { return MPI_Init(0, 0); }' >"$folder/uses.c"
    ${CC:-cc} -shared -fPIC -o "$folder/$soname" "$folder/old.c" -Wl,-soname,"$soname" &&
        ${CC:-cc} -fPIE -pie -o "$folder/uses" "$folder/uses.c" "$folder/$soname"
    refused 3 "built for $name.*build it with sim" "$soname is recognised and refused" -n 2 "$folder/uses"
done <<'END'
libmpi.so.20 Open MPI 2 or 3
libmpi.so.1 Open MPI 1
libmpichfort.so.10 MPICH
libmvapich.so.2 MVAPICH
libmsmpi.so Microsoft MPI
END
echo "1..$count"

#!/bin/sh
# What people do to a program before it runs under simrun, and what simrun says: each mistake is answered by one sentence that names the
# remedy, and the remedy works. A row: name, exit status, words of the sentence, command.
cd "$(dirname "$0")/../.." || exit 1
bin=$(readlink -f "${BUILD:-build}")
# shellcheck source=tests/shell.sh
. "$(find "$PWD/tests" -name shell.sh | head -1)"
PATH=$bin:$PATH
unset CC CXX FC MAKEFLAGS MAKELEVEL
cat >right.c <<'END'
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    int rank, sum;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("sum %d\n", sum);
    MPI_Finalize();
    return 0;
}
END
cp right.c right.cpp
cp right.c right.cu
echo 'int main(void) { return 0; }' >plain.c
echo 'int part(void) { return 1; }' >part.c
printf '%s\n' '#include <no/such.h>' 'int main(void) { return 0; }' >header.c
printf '%s\n' '#!/bin/sh' 'exec mpirun ./right' >script.sh
printf '%s\n' 'print("hello")' >right.py
printf '%s\n' 'program p' '  use mpi' '  call MPI_Init(i)' '  call MPI_Finalize(i)' 'end' >old.f90
: >empty.c
: >empty
printf '%s\n' '#include <unistd.h>' 'int main(void) { return execl("./right", "right", (char *)0); }' >starts.c
mkdir a-folder
cc -c plain.c -o plain.o && cc -o plain plain.c && cc -shared -fPIC -o libpart.so part.c
cc -static -o static plain.c 2>/dev/null || cp plain static
cc -o starts starts.c && ar rc libpart.a plain.o
cp plain bits-32 && printf '\1' | dd of=bits-32 bs=1 seek=4 conv=notrunc 2>/dev/null
cp plain arm && printf '\267' | dd of=arm bs=1 seek=18 conv=notrunc 2>/dev/null
[ "$(uname -m)" = x86_64 ] || printf '\76' | dd of=arm bs=1 seek=18 conv=notrunc 2>/dev/null
has() { command -v "$1" >/dev/null; }

echo "TAP version 13"
sentence() { # name status words command
    if [ "$4" = skipped ]; then
        check 0 "$1 # SKIP $3"
        return
    fi
    COLUMNS=1000 timeout 120 sh -c "$4" >out 2>err
    status=$?
    # The verdict is told on the output of the run, everything else among the errors.
    cat out err | grep -c "$3" >lines
    [ $status -eq "$2" ] && [ "$(cat lines)" -ge 1 ] && ! grep -q 'M009\|X001' out
    check $? "$1: $3"
}
run="'$simrun' --db none -n 2"

# Another MPI's parts.
if has mpicc.openmpi; then
    mpicc.openmpi -o theirs right.c && mpicc.openmpi -c right.c -o theirs.o && mpicc.openmpi -static -o theirs-static right.c 2>/dev/null
    sentence "a program of Open MPI's mpicc runs" 0 '^sum 1' "$run ./theirs"
    sentence "an object left over from Open MPI's mpicc" 1 "simcc: .*compiled with Open MPI's mpi.h: compile all of it with simcc (make clean" 'simcc -o left theirs.o'
    sentence "the remedy" 0 '^sum 1' "simcc -o left right.c && $run ./left"
    if has mpifort.openmpi && mpifort.openmpi -o fortran.theirs old.f90 2>/dev/null; then
        sentence "a program of Open MPI's mpifort runs" 0 '^PASS' "$run ./fortran.theirs"
    fi
else
    sentence "Open MPI's programs" 0 'needs Open MPI' skipped
fi
if has mpicc.mpich; then
    mpicc.mpich -o theirs right.c && mpicc.mpich -c right.c -o theirs.o
    sentence "a program of MPICH's mpicc runs" 0 '^sum 1' "$run ./theirs"
    if has mpifort.mpich && mpifort.mpich -w -o fortran.theirs old.f90 2>/dev/null; then
        sentence "a program of MPICH's mpifort runs" 0 '^PASS' "$run ./fortran.theirs"
    fi
    sentence "an object left over from MPICH's mpicc" 3 "U002.*compiled with MPICH's mpi.h: compile all of it with simcc (make clean" "simcc -o left theirs.o && $run ./left"
    sentence "on OS threads" 3 "U002.*compiled with MPICH's mpi.h" "$run --os-threads ./left"
    sentence "without a record" 1 "MPICH's: compile all of the program with simcc" "$run --record none ./left"
else
    sentence "MPICH's programs" 0 'needs MPICH' skipped
fi

# What is no program, or not yet.
while IFS='|' read -r name status words command; do
    case $command in
    *c++* | *right.cpp*) has c++ || { sentence "$name" 0 'needs c++' skipped; continue; } ;;
    *./theirs*) [ -f theirs ] || { sentence "$name" 0 'needs another MPI' skipped; continue; } ;;
    *simfort*) has gfortran || { sentence "$name" 0 'needs gfortran' skipped; continue; } ;;
    esac
    sentence "$name" "$status" "$words" "$(echo "$command" | sed "s!@!$run!g")"
done <<'END'
CC=simcc in the environment|0|^sum 1|CC=simcc @ right.c
CC=mpicc in the environment|0|^sum 1|CC=mpicc @ right.c
simcc as its own compiler|0|^sum 1|CC=simcc SIMRUN_CC=simcc simcc -o own right.c && @ ./own
C++|0|^sum 1|@ right.cpp
-static|2|link without -static|simcc -static -o fixed right.c
a static program|3|link it dynamically|@ ./static
a program without MPI|3|not an MPI program.*compile it with simcc|@ ./plain
a program of the system|3|not an MPI program.*compile it with simcc|@ /bin/true
an object|3|must be linked first: simcc -o program|@ ./plain.o
a library|3|has no main function; give the source or the object that has it|@ ./libpart.so
a source without main|3|part.c: has no main function; give the source or the object that has it|@ part.c
an empty source|3|empty.c: has no main function|@ empty.c
a header that is not found|3|header.c: does not compile.*simrun: cflags: |@ header.c
a script|3|not an ELF program but a script; give simrun the program that it starts|@ ./script.sh
Python|3|not an ELF program; give a C, C++ or Fortran source, or what simcc built|@ ./right.py
a language that simrun does not compile|3|not an ELF program; give a C, C++ or Fortran source|@ ./right.cu
a folder|3|not a regular file; give a source or a program|@ ./a-folder
options behind the program|2|options stand before|@ right.c --os-threads
another way of linking|3|only the clone loader|@ --loader shared ./theirs
an empty file|3|not an ELF program but an empty file; build it again|@ ./empty
an archive|3|not an ELF program but an archive of objects, which must be linked first|@ ./libpart.a
a program of 32 bits|3|a program of 32 bits, and simrun has 64: build it without -m32|@ ./bits-32
a program of another machine|3|wrong architecture: built for|@ ./arm
a program that starts another|3|exec of ./right: .*give simrun the program that it starts|@ ./starts
mpirun under simrun|2|simrun itself stands in the place of mpirun: simrun -n|@ mpirun -n 2 ./right
MPICH's name of it|2|simrun itself stands in the place of mpiexec.hydra|@ mpiexec.hydra ./right
a debugger|2|one debugger sees them all: simrun --gdb|@ gdb ./right
a tool|2|runs around all of them: simrun --wrapper valgrind|@ valgrind ./right
two programs|2|':' starts a second program under mpirun, and simrun runs one|@ ./plain : -n 1 ./plain
a colon among the arguments|0|^sum 1|@ right.c : x
hosts|2|'--hostfile' is an option of another MPI's mpirun; it says where.*leave it out|@ --hostfile hosts ./right
more ranks than cores|2|'--oversubscribe' is an option of another MPI's mpirun|@ --oversubscribe ./right
a variable|2|'-x' is an option of another MPI's mpirun; every rank has the environment|@ -x NAME=1 ./right
Open MPI's settings|2|'--mca' is an option of another MPI's mpirun; it sets up another MPI|@ --mca btl self ./right
MPICH's variables|2|'-genv' is an option of another MPI's mpirun|@ -genv NAME 1 ./right
a compiler that is not there|3|install gcc, or name one in CC|CC=no-such-compiler @ right.c
END
# mpirun starts every rank as a process of its own, and each is a world.
simcc -o right right.c
sentence "a program started without simrun is one rank" 0 '^sum 0' ./right
sentence "another MPI's launcher is told" 0 'started 3 times by an mpiexec of another MPI.*run it with simrun -n 3' \
    'OMPI_COMM_WORLD_SIZE=3 OMPI_COMM_WORLD_RANK=0 ./right'
sentence "so is that of MPICH" 0 'run it with simrun -n 2' 'PMI_SIZE=2 PMI_RANK=0 ./right'
sentence "and simrun itself below another MPI's launcher" 0 'started 4 times by an mpiexec of another MPI; each time it is all ranks.*with -n 4' \
    "OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_RANK=0 '$simrun' --db none -n 4 ./right"
echo "1..$count"

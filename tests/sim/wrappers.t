#!/bin/sh
# simcc, simc++ and simfort as build systems use them: what they run, what they answer, what they make.
cd "$(dirname "$0")" || exit 1
while [ ! -e Makefile ]; do cd .. || exit 1; done
bin=$(realpath "${BUILD:-build}")
# shellcheck source=tests/shell.sh
. "$(find tests -name shell.sh | head -1)"
PATH=$bin:$PATH
unset CC CXX FC
cat >size.c <<'END'
#include <mpi.h>
#include <stdio.h>
static __thread int local = 1;
int main(int argc, char **argv)
{
    int size;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    printf("size %d local %d argc %d\n", size, ++local, argc);
    MPI_Finalize();
    return argc - 1;
}
END
echo 'int main(void) { return 5; }' >plain.c
echo 'int main(void) { return no_such_function(); }' >missing.c
echo 'static int one[] = {1, 2}; int *where = one; int main(void) { return where[1]; }' >fixed.c

echo "TAP version 13"
# No wrapper runs itself or another, whatever the environment names.
for value in simcc "$bin/simcc" "ccache simcc" mpicc; do
    CC=$value timeout 60 simcc -o size size.c >out 2>&1 && [ -x size ]
    check $? "CC='$value' simcc compiles"
    CC=$value timeout 60 simrun --db none -n 2 size.c >out 2>&1 && grep -qx 'size 2 local 2 argc 1' out
    check $? "CC='$value' simrun compiles"
done
[ "$(CC='cc -O1' simcc -show -c size.c | cut -d' ' -f1,2)" = "cc -O1" ]
check $? "another compiler in CC is used" size.c
[ "$(SIMRUN_CC=gcc CC=cc simcc -showme:command)" = gcc ]
check $? "SIMRUN_CC comes first" size.c

# What a program does by itself.
simcc -o size size.c && ./size a 'b c' >out 2>&1
[ $? -eq 2 ] && grep -qx 'size 1 local 2 argc 3' out
check $? "a program started by itself is one rank, with its arguments and its exit status"
simcc -o plain plain.c && ./plain >out 2>&1
[ $? -eq 5 ] && ! readelf -d plain | grep -q libmpi_abi
check $? "a program without MPI runs as any other"
! simcc -o missing missing.c >out 2>&1 && grep -q no_such_function out
check $? "a function that is nowhere is an error, which configure relies on"
cc -fPIE -fno-pic -fPIE -c fixed.c && simcc -o fixed fixed.o >out 2>&1 && ./fixed
[ $? -eq 2 ]
check $? "objects that another compiler made for executables link, too"

# Each question that build systems ask: the option, words of the answer.
while read -r option words; do
    simcc "$option" >out 2>&1 && grep -q -e "$words" out
    check $? "simcc $option says $words"
done <<'END'
-show -lmpi_abi
-showme -lmpi_abi
-showme:compile -I"*/
-showme:link -lmpi_abi
-showme:incdirs include/simrun
-showme:libdirs ^/
-showme:libs ^mpi_abi$
-showme:command ^cc$
--showme:version [0-9]\.[0-9]\.[0-9]
-compile-info -I"*/
-link-info -lmpi_abi
-compile_info -I"*/
--version [0-9]
-dumpversion [0-9]
END
simcc -showme:nothing >out 2>&1
[ $? -eq 2 ] && grep -q 'there are command' out
check $? "what cannot be shown is refused with what can"
for wrapper in simcc:c simc++:cc; do
    if [ "$wrapper" = simc++:cc ] && ! command -v c++ >/dev/null; then
        count=$((count + 1))
        echo "ok $count # SKIP needs c++"
        continue
    fi
    cp size.c "unit.${wrapper#*:}"
    "${wrapper%:*}" -o unit "unit.${wrapper#*:}" >out 2>&1 && timeout 60 simrun --db none -n 3 ./unit >out 2>&1 && grep -qx 'size 3 local 2 argc 1' out
    check $? "${wrapper%:*} builds a program with thread-locals"
done
sh -c "$(simcc -show -o 'by hand' size.c)" >out 2>&1 && timeout 60 simrun --db none -n 2 './by hand' >out 2>&1
check $? "what -show prints is the command"
# CMake's FindMPI reads -I"a b" and -L"a b", and no other way to write a blank: so does the shell.
mkdir -p "two words/lib" "two words/include"
cp "$bin/simcc" "two words/"
cp -rL "$bin/include/simrun" "two words/include/"
cp -L "$bin"/lib/*.so.1 "$bin/lib/simrun_start.o" "two words/lib/"
for each in mpi_abi simrun_fortran; do ln -s lib$each.so.1 "two words/lib/lib$each.so"; done
here=$(pwd -P)
sh -c "$("two words/simcc" -show -o 'of blanks' size.c)" >out 2>&1 && timeout 60 simrun --db none -n 2 './of blanks' >out 2>&1
check $? "what -show prints is the command, also from a folder with a blank"
"two words/simcc" -show >out && grep -qF -- " -I\"$here/two words/include/simrun\" " out && grep -qF -- " -L\"$here/two words/lib\" " out && grep -qF -- " -Wl,\"-rpath,$here/two words/lib\" " out
check $? "and what CMake looks for in it"
# Guards that programs give headers of their own.
{
    for guard in MPI_H MPI_H_ _MPI_H _MPI_H_ __MPI_H__ MPI_INCLUDED HANDLE_H WORDS_H; do printf '#ifndef %s\n#define %s\n#endif\n' $guard $guard; done
    cat size.c
} >guards.c
simcc -o guards guards.c >out 2>&1
check $? "mpi.h hides behind no header of the program's"
cc -shared -o libmpi.so -x c /dev/null
simcc -o size size.c -L/usr/lib -lmpi ./libmpi.so >out 2>&1 && ! readelf -d size | grep -q 'libmpi\.so'
check $? "another MPI's library on the line is left out"
# Two calls that end alike are two places, also where they are optimised; another linker will do.
cat >two.c <<'END'
#include <mpi.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    int way = atoi(argv[1]), value = 0;
    MPI_Init(&argc, &argv);
    if (way == 1)
        MPI_Send(&value, 1, MPI_INT, 7, 0, MPI_COMM_WORLD);
    else if (way == 2)
        MPI_Send(&value, 1, MPI_INT, 7, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
END
if command -v gcc >/dev/null; then
    SIMRUN_CC=gcc simcc -g -O2 -o two two.c >out 2>&1
    for way in 1 2; do
        timeout 60 "$simrun" --db none -n 1 ./two $way >out 2>err
        grep -q "two.c:$((6 + 2 * way))" out
        check $? "call $way of two alike is named by its own line"
    done
fi
# A cache of compilations stands before the compiler under its name, or takes it as a word.
if command -v clang >/dev/null; then
    mkdir -p masks
    real=$(command -v clang)
    outside=${PATH#"$bin:"} # in a build a folder may have the compiler's name
    printf '#!/bin/sh\nPATH="%s" exec "%s" "$@"\n' "$outside" "$real" >remembers # which may be such a cache itself
    printf '#!/bin/sh\nPATH="%s" exec "$@"\n' "$outside" >masks/words
    chmod +x remembers masks/words
    ln -sf ../remembers masks/clang
    for words in clang "words $real"; do
        PATH="$PWD/masks:$PATH" SIMRUN_CC="$words" simcc -o masked size.c >err 2>&1 &&
            timeout 60 "$simrun" --db none -n 3 ./masked >out 2>&1 && [ "$(grep -c '^size 3 local 2' out)" -eq 3 ]
        check $? "clang behind a cache, ${words%% *}: its own words" err
    done
fi
for linker in gold lld; do
    command -v ld.$linker >/dev/null || continue
    simcc -fuse-ld=$linker -o linked size.c >err 2>&1 && timeout 60 "$simrun" --db none -n 3 ./linked >out 2>&1 && [ "$(grep -c '^size 3 local 2' out)" -eq 3 ]
    check $? "programs that ld.$linker linked run"
done
echo "1..$count"

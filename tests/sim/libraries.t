#!/bin/sh
# Variables of libraries: every kind on 2, 16, 64 and 512 ranks, in a program that simcc linked and in an ordinary executable.
cd "$(dirname "$0")" || exit 1
while [ ! -e Makefile ]; do cd .. || exit 1; done
sources=$PWD/tests/projects/libraries
bin=$(realpath "${BUILD:-build}")
# shellcheck source=tests/shell.sh
. "$(find tests -name shell.sh | head -1)"
PATH=$bin:$PATH
unset CC CXX
cp "$sources"/* .
echo "TAP version 13"
if ! command -v c++ >/dev/null; then
    echo "1..0 # SKIP needs c++"
    exit 0
fi
here="-L. -lsecond -lfirst -lkinds '-Wl,-rpath,\$ORIGIN'"
{
    cc -shared -fPIC -fcommon -O1 -Wl,-soname,libkinds.so -o libkinds.so kinds.c &&
        c++ -shared -fPIC -Wl,-soname,libfirst.so -o libfirst.so first.cpp &&
        c++ -shared -fPIC -Wl,-soname,libsecond.so -o libsecond.so second.cpp -L. -lkinds -lfirst '-Wl,-rpath,$ORIGIN' &&
        eval simcc -o linked main.c "$here" &&
        eval cc -pie -fPIE -o executable main.c "$(simcc -showme:compile | sed 's/-fPIC//')" "$here" "$(simcc -showme:link)"
} >out 2>&1
check $? "libraries of every kind are built"
# What an ordinary process shows must be 16 words "right", too.
./linked >alone 2>&1
check "$([ "$(grep -c right alone)" -eq 16 ] && echo 0 || echo 1)" "one rank alone is right" alone
for program in linked executable; do
    for run in "-n 2" "-n 16" "-n 64" "-n 512" "-n 16 --os-threads" "-n 16 --no-gradients --send rendezvous"; do
        # shellcheck disable=SC2086
        timeout 120 simrun --db none $run "./$program" >out 2>&1 && [ "$(grep -c right out)" -eq 16 ]
        check $? "$program, $run: each rank has its own variables of every kind"
    done
done
# Libraries that are opened while the program runs.
for plugin in 1 2; do
    cc -shared -fPIC -DFACTOR=$((3 * plugin - 1)) -o plugin$plugin.so plugin.c -L. -lkinds '-Wl,-rpath,$ORIGIN' -Wl,-soname,plugin$plugin.so
done >out 2>&1 && eval cc -pie -fPIE -o opens-executable opens.c "$(simcc -showme:compile | sed 's/-fPIC//')" "$here" "$(simcc -showme:link)" >>out 2>&1 &&
    eval simcc -g -o opens opens.c "$here" >>out 2>&1 && ASAN_OPTIONS=detect_leaks=0 ./opens >>out 2>&1 && grep -q 'plugins right' out
check $? "plugins are built, and right alone"
for program in opens opens-executable; do
    for run in "-n 2" "-n 16" "-n 64" "-n 512" "-n 16 --os-threads"; do
        # shellcheck disable=SC2086
        timeout 120 simrun --db none $run "./$program" >out 2>&1 && grep -q 'plugins right' out && ! grep -q 'are shared' out
        check $? "$program, $run: each rank has its own plugins"
    done
done
# A library that cannot be copied is shared, and everybody hears so: here its thread-locals are at a fixed place.
echo 'static __thread int fixed __attribute__((tls_model("initial-exec"))); int counter; int fixed_add(int value) { counter++; return fixed += value; }' >fixed.c
printf '%s\n' '#include <mpi.h>' 'int fixed_add(int);' 'int main(int c, char **v) { MPI_Init(&c, &v); fixed_add(1); MPI_Finalize(); return 0; }' >user.c
cc -shared -fPIC -o libfixed.so fixed.c && simcc -o user user.c -L. -lfixed '-Wl,-rpath,$ORIGIN'
timeout 60 simrun --db none -n 2 ./user >out 2>&1
tr -s '\n ' ' ' <out | grep -q 'the variables of libfixed.so are shared by all ranks: counter .*initial-exec'
check $? "a library that cannot be copied is named with its variables"
printf '%s\n' '#include <dlfcn.h>' '#include <mpi.h>' 'int main(int c, char **v) { MPI_Init(&c, &v); void *p = dlopen("./libfixed.so", RTLD_NOW); MPI_Finalize(); return !p; }' >late.c
timeout 60 simrun --db none -n 2 late.c >out 2>&1 && tr -s '\n ' ' ' <out | grep -q 'not covered: the variables of ./libfixed.so are shared by all ranks .*initial-exec'
check $? "also when it is opened late"
timeout 60 simrun --db none -n 2 --loader dlopen ./linked >out 2>&1
grep -q 'plain wrong' out && tr -s '\n ' ' ' <out | grep -q 'the variables of libkinds.so are shared by all ranks: .*common.* (only the clone loader'
check $? "so is what another loader shares"
timeout 60 simrun --db none -n 2 --share 'libkin*' ./linked >out 2>&1
grep -q 'plain wrong' out && ! grep -q 'are shared' out
check $? "what is declared shared is shared"
echo "1..$count"

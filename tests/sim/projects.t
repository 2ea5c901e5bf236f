#!/bin/sh
# Projects with build systems of their own, built by simcc without a change, run alone and on 4 and 16 ranks (tests/projects/README.md).
# PROJECTS="make cmake ..." takes these only; all: also those that need a packager's tools (cmake, autotools, meson).
cd "$(dirname "$0")/.." || exit 1
while [ ! -e Makefile ]; do cd .. || exit 1; done
projects=$PWD/tests/projects
bin=$(realpath "${BUILD:-build}")
# shellcheck source=tests/shell.sh
. "$(find tests -name shell.sh | head -1)"
PATH=$bin:$PATH
unset MAKEFLAGS MAKELEVEL # of the make that runs the tests
cp -r "$projects" tree && cd tree || exit 1
wanted=${PROJECTS:-make recursive}
[ "$wanted" != all ] || wanted="make recursive cmake findmpi autotools meson"

# The sum that each program prints is right on this many ranks; started by itself it is one.
runs() { # name program...
    project=$1
    shift
    for program; do
        "$program" >out 2>&1 && grep -qx "sum 2 of 1" out
        check $? "$project: $program runs alone"
        for ranks in 4 16; do
            timeout 120 "$simrun" --db none -n $ranks "$program" >out 2>&1 && grep -qx "sum $((ranks * (ranks + 1))) of $ranks" out
            check $? "$project: $program runs on $ranks ranks"
        done
    done
}
build() { # name tool command...
    project=$1 tool=$2
    shift 2
    if ! command -v "$tool" >/dev/null; then
        check 0 "$project # SKIP needs $tool" /dev/null
        return 1
    fi
    timeout 300 "$@" >build.log 2>&1
    status=$?
    check $status "$project builds" build.log
    return $status
}

echo "TAP version 13"
for project in $wanted; do
    case $project in
    make) build "make CC=simcc" make make -C make CC=simcc && runs "make CC=simcc" make/program ;;
    recursive) CC=simcc build "recursive make" make make -C recursive -e && runs "recursive make" recursive/program ;;
    cmake)
        CC=simcc CXX=simc++ build "CMake" cmake sh -c 'cmake -S cmake -B by-cmake && cmake --build by-cmake' &&
            runs "CMake" by-cmake/program by-cmake/objects
        ;;
    findmpi)
        build "find_package(MPI)" cmake sh -c 'cmake -S cmake -B "found here" -DMPI_C_COMPILER=simcc -DMPI_CXX_COMPILER=simc++ \
            -DMPIEXEC_EXECUTABLE='"'$simrun'"' && cmake --build "found here"' &&
            runs "find_package(MPI)" "found here/program" "found here/objects" "found here/unity"
        (cd "found here" && ctest) >out 2>&1
        check $? "find_package(MPI): CTest runs it under simrun"
        ;;
    autotools)
        cp ./*.[ch] autotools
        build "autotools" libtoolize sh -c 'cd autotools && autoreconf -i && ./configure CC=simcc && make' &&
            runs "autotools" autotools/program
        ;;
    meson)
        cp ./*.[ch] meson
        CC=simcc build "meson" meson sh -c 'meson setup by-meson meson && ninja -C by-meson' && runs "meson" by-meson/program
        ;;
    *) check 1 "there is no project $project" /dev/null ;;
    esac
done
echo "1..$count"

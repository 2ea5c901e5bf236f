#!/bin/sh
# apps.sh BUILD [NAME...]: builds and runs the programs of apps.tsv under simrun and under the MPI they are for, compares what they print, and
# prints a table (make apps). Needs what a row says: Debian's package, or apt-get with its mirror for the sources; Open MPI, MPICH; gfortran.
# Everything is kept in BUILD/apps.
here=$(cd "$(dirname "$0")" && pwd)
build=$(readlink -f "$1") || exit 2
shift
work=$build/apps
mkdir -p "$work" && cd "$work" || exit 3
PATH=$build:$PATH
OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM
export here
unset MAKEFLAGS MAKELEVEL
: "${APPS_SECONDS:=120}"

# Upstream's archive of a source package, by apt with lists of its own, so that the system's settings stay as they are.
fetch() { # package
    ls "$1"_*.orig.tar.* >/dev/null 2>&1 && return
    mkdir -p lists/partial
    [ -e sources.list ] || echo "deb-src http://deb.debian.org/debian $(. /etc/os-release && echo "$VERSION_CODENAME") main" >sources.list
    apt="apt-get -q -o Dir::Etc::sourcelist=$work/sources.list -o Dir::Etc::sourceparts=/dev/null -o Dir::State::lists=$work/lists"
    apt="$apt -o Dir::Cache::srcpkgcache= -o Dir::Cache::pkgcache="
    [ -e updated ] || { $apt update >fetch.log 2>&1 </dev/null && touch updated; }
    $apt source --download-only "$1" >>fetch.log 2>&1 </dev/null
    ls "$1"_*.orig.tar.* >/dev/null 2>&1
}

# What is fetched and built reads nothing: the rows still to come are where it would read.

# A folder with the program, built with these compilers for so many ranks; rows of one package share its sources.
prepare() { # folder kind package command row
    [ ! -e "$1/built-$5" ] || return 0
    if [ ! -e "$1/unpacked" ]; then
        rm -rf "$1"
        mkdir -p "$1"
        [ "$2" != source ] || tar xf "$(ls "$3"_*.orig.tar.* | head -1)" -C "$1" --strip-components=1 || return
        touch "$1/unpacked"
    fi
    (cd "$1" && sh -c "$4" >build.log 2>&1 </dev/null) && touch "$1/built-$5"
}

# Runs in the folder, what the program prints (and simrun's verdict) into the files named; what must agree is left in `kept`, the seconds are
# printed. A file `input` there is what the program reads.
measure() { # folder filter verdict command...
    folder=$1 filter=$2 verdict=$3
    shift 3
    before=$(date +%s.%N)
    input=/dev/null
    [ ! -e "$folder/input" ] || input=input
    (cd "$folder" && timeout "$APPS_SECONDS" "$@" >"$verdict" 2>out <$input
        echo $? >status
        [ "$verdict" = verdict ] || cat "$verdict" >>out
        sh -c "$filter" <out 2>/dev/null | sort >kept)
    echo "$before $(date +%s.%N)" | awk '{printf "%.1f", $2 - $1}'
}

echo "| program | from | ranks | built | same output | simrun | the other MPI | findings |"
echo "|---|---|---|---|---|---|---|---|"
grep -v '^#' "$here/apps.tsv" | while IFS='	' read -r name from ranks command program filter; do
    kind=${from%% *} package=${from#* }
    [ "$command" != same ] || command=$before
    before=$command
    case " $* " in "  " | *" $name "*) ;; *) continue ;; esac
    case $package$program in *mpich*) mpiexec=mpiexec.mpich compiler=mpich ;; *) mpiexec="mpiexec.openmpi --oversubscribe" compiler=openmpi ;; esac
    if [ "$kind" = source ] && ! fetch "$package"; then
        echo "| $name | $from | | cannot be fetched | | | | |"
        continue
    fi
    if { [ "$kind" = binary ] && [ ! -x "${program%% *}" ]; } || { [ "$kind" = library ] && ! dpkg-query -W "$package" >/dev/null 2>&1; }; then
        echo "| $name | $from | | $package is not installed | | | | |"
        continue
    fi
    for n in $ranks; do
        P=$(awk "BEGIN { for (i = int(sqrt($n)); $n % i; i--); print i }") Q=$((n / P))
        export P Q
        row=$(echo "$name" | tr -c 'a-zA-Z0-9\n' _)
        ours=$package-simrun theirs=$package-$compiler
        [ "$kind" = source ] || ours=$row-simrun-$n theirs=$row-$compiler-$n
        cc=simcc cxx=simc++ fc=simfort
        [ "$kind" != library ] || cc=mpicc.$compiler cxx=mpicxx.$compiler fc=mpifort.$compiler
        if ! CC=$cc CXX=$cxx FC=$fc prepare "$ours" $kind "$package" "$command" "$row" ||
            ! CC=mpicc.$compiler CXX=mpicxx.$compiler FC=mpifort.$compiler prepare "$theirs" $kind "$package" "$command" "$row"; then
            echo "| $name | $from | $n | no: $work/$ours/build.log | | | | |"
            break
        fi
        # shellcheck disable=SC2086 # several words
        one=$(measure "$ours" "$filter" verdict simrun --db none -n $n $program)
        # shellcheck disable=SC2086
        other=$(measure "$theirs" "$filter" printed $mpiexec -n $n $program)
        found=$(sed -n 's/^\([A-Z][0-9][0-9][0-9]\) [a-z].*/\1/p' "$ours/verdict" | sort | uniq -c | awk '{printf "%s%s ", $2, ($1 > 1 ? " (" $1 ")" : "")}')
        same=no
        [ -s "$ours/kept" ] && cmp -s "$ours/kept" "$theirs/kept" && same="yes ($(wc -l <"$ours/kept"))"
        [ "$(cat "$theirs/status")" != 124 ] || same="the other MPI took too long"
        echo "| $name | $from | $n | yes | $same | $one s | $other s | ${found:-none} |"
    done
done

#!/bin/sh
# Small MPI programs, right ones beside wrong ones, with the verdict each must get.
# A program of tests/mpi/cases/ states its cases in lines of its head comment:
#     CASE RANKS WORDS... : STATUS [CODES...] [~ TEXT]
# the exit status, every code that is found (no other), and a text that the output holds (blanks and line ends count as one blank).
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/tests/shell.sh"
programs=$root/tests/mpi/cases
echo "TAP version 13"

judge() { # program, the case's line
    text=
    case $2 in *" ~ "*) text=${2#* ~ } ;; esac
    line=${2%% ~ *}
    words=${line%% : *}
    expected=${line#* : }
    set -- "$1" $words
    program=$1 ranks=$2
    shift 2
    COLUMNS=1000 timeout 120 "$simrun" --db none -n "$ranks" "$programs/$program.c" "$@" >out 2>err
    found=$?
    codes=$(sed -nE 's/^([A-Z][0-9]{3}) .*/\1/p' out | sort -u | tr '\n' ' ')
    [ "$found $codes" = "$expected " ] && tr -s ' \n' '  ' <out | grep -qF -- "$text"
    check $? "$program $*, $ranks ranks: $expected (found $found $codes)"
}

for file in "$programs"/*.c; do
    sed -n 's/^ \* CASE //p' "$file" >cases
    [ -s cases ] || check 1 "$file states its cases"
    while read -r line; do
        judge "$(basename "$file" .c)" "$line" </dev/null
    done <cases
done
echo "1..$count"

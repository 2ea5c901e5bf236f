#!/bin/sh
# The demonstration: good and bad scenarios on 16 ranks. Ends with 0 although the bad ones fail: it asserts that they fail as expected.
set -u
simrun=$1/simrun
report=$1/demo
mkdir -p "$report"
failed=0

# expect STATUS CODES ARGUMENTS...: runs simrun and compares the exit status and that every code is reported.
expect() {
    status=$1 codes=$2
    shift 2
    printf '\n$ simrun %s\n' "$*"
    "$simrun" "$@" >"$report/out" 2>"$report/err"
    got=$?
    cat "$report/out"
    [ "$got" = "$status" ] || { echo "demo: expected exit status $status, got $got"; cat "$report/err"; failed=1; }
    for code in $codes; do
        grep -q "^$code " "$report/out" || { echo "demo: expected $code"; failed=1; }
    done
}

expect 0 "" --db none -n 16 --dot "$report/ring.dot" --html "$report/report.html" ring
expect 0 "" --db none -n 16 user
expect 1 "D001" --db none -n 16 --dot "$report/head-to-head.dot" head-to-head
expect 1 "G001" --db none -n 16 --mutant identity ring

echo
echo "report:  $report/report.html"
echo "picture: $report/ring.dot (neato -n2 -Tsvg), $report/head-to-head.dot"
[ "$failed" = 0 ] && echo "demo: all as expected"
exit "$failed"

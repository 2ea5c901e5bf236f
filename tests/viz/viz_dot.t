#!/bin/sh
# Graphviz's own tools agree with the golden pictures: they parse, they render, and what is acyclic is acyclic.
cd "$(dirname "$0")/../golden" || exit 1
echo "TAP version 13"
if ! command -v neato >/dev/null || ! command -v acyclic >/dev/null || ! command -v nop >/dev/null; then
    echo "1..0 # SKIP Graphviz is not installed"
    exit 0
fi
count=0
ok() { # status name
    count=$((count + 1))
    if [ "$1" -eq 0 ]; then echo "ok $count - $2"; else echo "not ok $count - $2"; fi
}
for file in *.dot; do
    nop -p "$file" >/dev/null 2>&1
    ok $? "$file is DOT"
    words=$(timeout 300 neato -n2 -Tsvg "$file" 2>&1 >/dev/null)
    [ -z "$words" ]
    ok $? "$file renders without a word from Graphviz"
done
for file in healthy.dot race.dot wrong-adjoint.dot; do
    acyclic -n "$file" >/dev/null 2>&1
    ok $? "$file has no cycle"
done
! acyclic -n deadlock.dot >/dev/null 2>&1
ok $? "deadlock.dot has the cycle of its waiting ranks"
echo "1..$count"

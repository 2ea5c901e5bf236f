#!/bin/sh
# One fault at a time in every collective and every form of it: the code that names it is found, and nothing else; the right twin
# is silent. A sample; FULL=1 (make faults) runs all.
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/tests/shell.sh"
echo "TAP version 13"
for program in "$root"/tests/mpi/faults/*.c; do
    name=$(basename "$program" .c)
    "$simrun" --db none -n 1 "$program" list >list 2>&1
    [ "$(grep -c ' : ' list)" -gt 100 ]
    check $? "$name has its list" list
    grep ' : ' list | awk -v step="${FULL:-41}" 'NR % step == 0' >sample
    while read -r line; do
        expected=${line##* : }
        words=${line% : *}
        # shellcheck disable=SC2086
        timeout 120 "$simrun" --db none -n 3 "$program" $words >out 2>err </dev/null
        codes=$(sed -nE 's/^([A-Z][0-9]{3}) .*/\1/p' out | tr '\n' ' ')
        if [ "$expected" = - ]; then [ -z "$codes" ]; else echo "$codes" | grep -qE "^($expected) $"; fi
        check $? "$name $words: $expected (found ${codes:-nothing})"
    done <sample
done
echo "1..$count"

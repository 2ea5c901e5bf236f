#!/bin/sh
# make bench: what it costs that every load and store of a program is seen: kernels of bench/memory.c with --memory against
# without, CPU time of two ranks, the best of five runs of each, in turn.
build=$1
here=$(dirname "$0")
for turn in 1 2 3 4 5; do
    for options in "" --memory; do
        # shellcheck disable=SC2086 # an option or none
        "$build/simrun" run --db none $options -n 2 "$here/memory.c" 2>&1 | sed -n "s/^kernel/${options:-plain}/p"
    done
done | awk -F '\t' '
    !($2 in plain) { order[++count] = $2; plain[$2] = seen[$2] = 1e9 }
    $1 == "plain" && $3 < plain[$2] { plain[$2] = $3 }
    $1 == "--memory" && $3 < seen[$2] { seen[$2] = $3 }
    END {
        for (i = 1; i <= count; i++)
            printf "%-26s %8.2f ms, with --memory %8.2f ms: %.1f times\n", order[i], 1000 * plain[order[i]], 1000 * seen[order[i]], seen[order[i]] / plain[order[i]]
    }'

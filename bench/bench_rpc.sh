#!/bin/sh
# make bench: a chain of ten remote calls, forward and backward, against Debian's torch.distributed in the same run.
# Needs python3-torch for the comparison; without it only our own figure is printed.
build=$1
here=$(dirname "$0")
python=${PYTHON:-/usr/bin/python3}
ours() { "$build/simrun" -n 4 --db none --record none --no-gradients "$here/bench_rpc.c" 10 1000 2>&1 | sed -n 's/^\([0-9.]*\)$/\1/p'; }
before=$(ours)
theirs=
"$python" -c 'import torch.distributed.rpc' 2>/dev/null &&
    theirs=$(timeout 300 "$python" "$here/bench_rpc.py" 10 2>/dev/null | sed -n 's/^\([0-9.]*\)$/\1/p')
after=$(ours)
awk -v a="$before" -v b="$after" -v t="$theirs" 'BEGIN {
    ours = a > b ? a : b
    printf "ten remote calls forward and backward, 4 workers: simrun %.1f us", ours
    if (t) printf ", torch %.0f us: %.0f times\n", t, t / ours
    else printf "; python3-torch is not installed, nothing to compare with\n" }'

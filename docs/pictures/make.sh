#!/bin/sh
# Draws every picture of this folder again, from runs of the catalogue. From the top of the tree, after `make`:
#   docs/pictures/make.sh
# Needs Graphviz for the pictures, Chromium for the picture of the report.
set -u
cd "$(dirname "$0")/../.." || exit 1
simrun=${SIMRUN:-build/simrun}
pictures=docs/pictures
draw() { # picture options... scenario; exit 1 means findings, which is what most of them are for
    name=$1
    shift
    echo "simrun $* --dot $pictures/$name.png"
    "$simrun" --db none --quiet --dot "$pictures/$name.png" "$@" >/dev/null 2>&1
    status=$?
    [ $status -le 1 ] || { echo "$name: simrun ended with $status" >&2; exit 1; }
}
draw ring -n 4 ring
draw deadlock -n 4 --send rendezvous ring-order
draw may-deadlock -n 4 --order data grid
draw race -n 2 --order data two-allreduce
draw ddp-race -n 2 ddp-buckets order
draw wrong-gradient -n 4 --order data --mutant identity two-allreduce:chained
draw dead-communication -n 4 --order data naive-ring
draw divergence -n 2 --order data --strict bcast-off-root
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
plot() { # picture view options... scenario: SVG, drawn by simrun itself
    name=$1 view=$2
    shift 2
    echo "simrun $* && simrun graph --view $view -o $pictures/$name.svg"
    "$simrun" --db "$scratch/db" --quiet "$@" >/dev/null 2>&1
    "$simrun" graph --db "$scratch/db" --view "$view" -o "$pictures/$name.svg" || exit 1
}
plot schedule schedule -n 4 pipeline
plot check gradients -n 4 ring
plot passes passes -n 4 dist-autograd nested fast
plot passes-hang passes -n 4 dist-autograd unused-send fast
"$simrun" --db none --quiet --html "$pictures/report.html" -n 2 --order data two-allreduce >/dev/null 2>&1
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
if [ -n "$browser" ]; then
    profile=$scratch/profile
    timeout 60 "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$profile" \
        --window-size=1200,1900 --screenshot="$pictures/report.png" "file://$PWD/$pictures/report.html" 2>/dev/null
fi
# Plots of the parameter server's experiments at full size: a minute or two.
experiment() { # picture plot axes ranks arguments...
    name=$1 plot=$2 axes=$3 ranks=$4
    shift 4
    [ -n "$browser" ] || return 0
    folder=$(mktemp -d)
    echo "simrun --record findings --seed 1 --check=-race -n $ranks server-convergence $*; simrun graph --plot $plot --axes $axes"
    "$simrun" --db "$folder/runs.db" --quiet --record findings --seed 1 --check=-race -n "$ranks" server-convergence "$@" &&
        "$simrun" graph --db "$folder/runs.db" --plot "$plot" --axes "$axes" -o "$folder/plot.svg" &&
        timeout 60 "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$folder/profile" \
            --force-device-scale-factor=2 --window-size=484,340 --screenshot="$PWD/$pictures/$name.png" "file://$folder/plot.svg" 2>/dev/null
    rm -rf "$folder"
}
experiment server-slope squared_gradient_over_K loglog 5 slope-both full
experiment server-workers squared_gradient_over_workers loglog 17 workers full
experiment server-staleness squared_gradient_over_T loglog 5 staleness full

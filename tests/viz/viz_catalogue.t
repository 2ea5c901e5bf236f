#!/bin/sh
# Every scenario of the catalogue can be drawn: its DOT parses, renders without a word from Graphviz, and is the same twice (of every
# third one; ALL=1: of all).
# A pipeline that ran is charted with the bubble it has.
cd "$(dirname "$0")/../.." || exit 1
simrun=${SIMRUN:-build/simrun}
echo "TAP version 13"
if [ ! -x "$simrun" ] || ! command -v neato >/dev/null; then
    echo "1..0 # SKIP no $simrun, or Graphviz is not installed"
    exit 0
fi
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
count=0
for source in scenarios/*.c; do
    name=$(basename "$source" .c)
    options=$(sed -n 's/^ \* options: //p' "$source" | head -1)
    ranks=$(sed -n 's/^ \* ranks: *\([0-9]*\).*/\1/p' "$source" | head -1)
    count=$((count + 1))
    times=1
    [ -z "$ALL" ] && [ $((count % 3)) -ne 0 ] || times="1 2"
    for time in $times; do # options is a list of words
        timeout 300 "$simrun" -n "${ranks:-2}" $options --db none --no-gradients --dot "$folder/$name.$time.dot" "$name" >/dev/null 2>&1
        status=$?
    done
    if [ "$status" = 77 ]; then
        echo "ok $count - $name is drawn # SKIP what it requires is not here"
        continue
    fi
    words=$(timeout 300 neato -n2 -Tsvg "$folder/$name.1.dot" 2>&1 >"$folder/$name.svg")
    if [ -s "$folder/$name.svg" ] && [ -z "$words" ] && { [ "$times" = 1 ] || cmp -s "$folder/$name.1.dot" "$folder/$name.2.dot"; }; then
        echo "ok $count - $name is drawn"
    else
        echo "not ok $count - $name is drawn"
        echo "# $words"
    fi
done
# S ranks and M microbatches, a backward as long as two forwards: (S-1)/(M+S-1) idle, (M+S-1) * 3 units.
for form in "1f1b batched" "gpipe separate"; do
    count=$((count + 1))
    timeout 300 "$simrun" --db "$folder/db" --quiet -n 4 pipeline $form 8 >/dev/null 2>&1
    "$simrun" graph --db "$folder/db" --view schedule -o "$folder/schedule.svg" >/dev/null 2>&1
    title=$(sed -n 's/.*<title[^>]*>\([^<]*\).*/\1/p' "$folder/schedule.svg" | head -1)
    if [ "$title" = "Pipeline schedule: 27 % bubble, 33 units" ]; then
        echo "ok $count - the chart of a $form run has the bubble of theory"
    else
        echo "not ok $count - the chart of a $form run has the bubble of theory"
        echo "# $title"
    fi
done
# Two buckets meet that should not: only their names show it.
count=$((count + 1))
timeout 300 "$simrun" --db none --quiet -n 2 --dot "$folder/ddp.dot" ddp-buckets order >/dev/null 2>&1
if [ "$(grep -c 'head ·' "$folder/ddp.dot")" = 2 ] && [ "$(grep -c 'body ·' "$folder/ddp.dot")" = 2 ]; then
    echo "ok $count - boxes name their tensors"
else
    echo "not ok $count - boxes name their tensors"
    grep 'Allreduce' "$folder/ddp.dot" | sed 's/^/# /' | cut -c1-200
fi
echo "1..$count"

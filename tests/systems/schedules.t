#!/bin/sh
# Schedules that run and the files they are written to are judged alike, and a schedule that cannot be is told so.
simrun=${SIMRUN:-build/simrun}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
number=0
check() { # name, what is, what should be
    number=$((number + 1))
    if [ "$2" = "$3" ]; then
        echo "ok $number - $1"
    else
        echo "not ok $number - $1"
        printf '  ---\n  got: %s\n  expected: %s\n  ...\n' "$2" "$3"
    fi
}
codes() { grep -o '^[A-Z][0-9][0-9][0-9]' | sort -u | tr '\n' ' '; }
echo "TAP version 13"

# Kind, messages, microbatches, ranks. A file is judged under every model at once, as an eager run is.
while read -r kind messages microbatches ranks expected; do
    file=$folder/$kind-$messages.csv
    ran=$("$simrun" --db none -n "$ranks" pipeline "$kind" "$messages" "$microbatches" -o "$file" 2>&1 | codes)
    check "$kind, messages $messages: the run" "$ran" "${expected:+$expected }"
    check "$kind, messages $messages: its file" "$("$simrun" check --db none "$file" 2>&1 | codes)" "$ran"
    check "$kind, messages $messages: run from its file" \
        "$("$simrun" --db none -n "$ranks" pipeline "$file" 2>&1 | codes)" "$ran"
    "$simrun" --db "$folder/runs.db" --quiet -n "$ranks" pipeline "$kind" "$messages" "$microbatches" >/dev/null 2>&1
    "$simrun" export --db "$folder/runs.db" --format csv -o "$folder/exported.csv" 2>&1
    check "$kind, messages $messages: the run, exported" "$(cmp "$folder/exported.csv" "$file" 2>&1)" ""
done <<END
gpipe separate 6 3
1f1b separate 6 3 D003
1f1b batched 6 3
interleaved separate 4 2 D003
interleaved ordered 4 2
zero-bubble separate 5 4 D003
zero-bubble ordered 5 4
v separate 4 4 D003
v batched 4 4 D004
v ordered 4 4
END

printf '0F0,0SEND_F0,0RECV_B0,0B0\n1F0,1RECV_F0,1B0,1SEND_B0\n' >"$folder/early.csv"
said=$("$simrun" --db none -n 2 pipeline "$folder/early.csv" 2>&1)
check "a value used before it came" "$(echo "$said" | grep -c '^rank 1: G005: row 2, column 1: stage 1, microbatch 0: F before its input has come$')" 1
printf '0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1SEND_B0,1B0\n' >"$folder/unmade.csv"
said=$("$simrun" --db none -n 2 pipeline "$folder/unmade.csv" 2>&1 | codes)
check "a gradient sent before it is computed" "$said" "G005 "
printf '0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0\n1RECV_F0,1F0,1RECV_F1,1F1,1B0,1SEND_B0\n' >"$folder/forgotten.csv"
said=$("$simrun" --db none -n 2 pipeline "$folder/forgotten.csv" 2>&1)
check "a microbatch that never goes backward ends in a failure" $? 1
check "and the serial computation says by how much" "$(echo "$said" | grep -c '^pipeline: .* away from the serial computation$')" 1
printf '0UNSHARD,0F0,0F1,0B0,0B1,0REDUCE_GRAD,0RESHARD\n1UNSHARD,1F0,(1F1;1B0)OVERLAP_F_B,1B1,1REDUCE_GRAD,1RESHARD\n' >"$folder/sharded.csv"
said=$("$simrun" check --db none "$folder/sharded.csv" 2>&1)
check "shards, reductions and overlaps of PyTorch's files are judged" "$?$(echo "$said" | codes)" 0
said=$("$simrun" --db none -n 2 pipeline "$folder/sharded.csv" 2>&1)
check "and run: of one copy of the layers the sum is its own" "$?$(echo "$said" | codes)" 0

# The file is told what the run is told, with row and column; right twins are not.
judge() { # name, table, what is said of it
    printf "$2" >"$folder/judged.csv"
    said=$("$simrun" check "$folder/judged.csv" 2>&1 | tr -s ' \n' ' ' | grep -oE 'row [0-9]+, column [0-9]+: stage [0-9]+, microbatch [0-9]+: [a-zA-Z ]+( a second time| come| forward| computed| I)' | head -1)
    check "a file in which $1" "$said" "$3"
}
judge "backward comes before forward" '0F0,0B0\n1B0,1F0\n' "row 2, column 1: stage 1, microbatch 0: backward before forward"
judge "F comes twice" '0F0,0F0,0B0\n1F0,1B0\n' "row 1, column 2: stage 0, microbatch 0: F a second time"
judge "W comes before I" '0F0,0W0,0I0\n1F0,1I0,1W0\n' "row 1, column 2: stage 0, microbatch 0: W before I"
judge "W follows I" '0F0,0I0,0W0\n1F0,1I0,1W0\n' ""
judge "a value is sent before it is made" '0SEND_F0,0F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n' "row 1, column 1: stage 0, microbatch 0: a send before its value is computed"
judge "F comes before its input" '0F0,0SEND_F0,0RECV_B0,0B0\n1F0,1RECV_F0,1B0,1SEND_B0\n' "row 2, column 1: stage 1, microbatch 0: F before its input has come"
judge "everything comes in time" '0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n' ""
echo "1..$number"

#!/bin/sh
# Imported plans: what can really meet, over all orders, matches and threads together.
. "$(dirname "$0")/../shell.sh"
echo "TAP version 13"
op() { # KIND RANK PEER TAG [DEPS]
    printf '{"op": "%s", "rank": %s, %s"peer": %s, "tag": %s, "count": 1, "type": "double"}\n' "$1" "$2" "${5:+\"deps\": $5, }" "$3" "$4"
}
plan() { echo "{\"simrun\": 1, \"ranks\": $1}"; }

{ plan 2; op Send 0 1 1; op Send 0 1 0; op Recv 1 '"any"' 1; op Recv 1 0 '"any"'; } >both.jsonl
{ plan 3; op Recv 0 '"any"' 0; op Recv 0 2 0; op Send 1 0 0; op Send 2 0 0; } >stolen.jsonl
{ plan 3; op Recv 0 2 0; op Recv 0 '"any"' 0; op Send 1 0 0; op Send 2 0 0; } >named.jsonl
{ plan 3; op Recv 0 2 0 '[]'; op Recv 0 '"any"' 0 '[]'; op Send 1 0 0 '[]'; op Send 2 0 0 '[]'; } >turned.jsonl
{ plan 3; op Recv 0 '"any"' 0 '[]'; op Recv 0 '"any"' 0 '[]'; op Send 1 0 0 '[]'; op Send 2 0 0 '[]'; } >alike.jsonl
{ plan 3; op Recv 0 '"any"' 0; op Send 1 0 0; i=0
  while [ $i -lt 300 ]; do op Send 1 2 0; op Recv 2 1 0; i=$((i + 1)); done; } >large.jsonl
# A pair of an any-tag channel that stands far apart; sends of two kinds that are alike in what they carry; threads of a rank.
{ plan 2; i=0
  while [ $i -le 100 ]; do op Send 0 1 $i '[]'; op Recv 1 0 "$([ $i = 0 ] && echo '"any"' || echo $i)"; i=$((i + 1)); done; } >far.jsonl
{ plan 2; op Ssend 0 1 0 '[]'; op Send 0 1 0 '[]'; op Recv 1 0 0; op Recv 1 0 0; } >kinds.jsonl
threads() { # whether the second thread has a communicator of its own
    plan 2
    [ -z "$1" ] || printf '{"comm": 1, "members": [0, 1]}\n{"comm": 2, "members": [0, 1]}\n'
    for rank in 0 1; do for thread in 0 1; do
        echo "{\"op\": \"Allreduce\", \"rank\": $rank, \"thread\": $thread, ${1:+\"comm\": $((thread + 1)), }\"count\": 8, \"type\": \"float\", \"reduce\": \"sum\"}"
    done; done
}
threads "" >one-comm.jsonl
threads own >own-comms.jsonl
# A long chain whose last two calls nothing orders.
{ plan 2
  for rank in 0 1; do i=0
  while [ $i -lt 130 ]; do
      echo "{\"op\": \"Allreduce\", \"rank\": $rank, \"id\": $i, \"deps\": [$([ $i -gt 0 ] && echo $((i == 129 ? 127 : i - 1)))], \"count\": 8, \"type\": \"float\", \"reduce\": \"sum\"}"
      i=$((i + 1)); done; done; } >long.jsonl

# A pass so large that its repair is made in one go: a tree of calls, of which hardly any two neighbours are ordered.
awk 'BEGIN { print "{\"simrun\": 1, \"ranks\": 2}"
  for (rank = 0; rank < 2; rank++) for (i = 0; i < 2500; i++)
    printf "{\"op\": \"Allreduce\", \"rank\": %d, \"id\": %d, \"deps\": [%s], \"count\": 8, \"type\": \"float\", \"reduce\": \"sum\"}\n",
           rank, i, i ? int((i - 1) / 2) : "" }' >tree.jsonl

while IFS=: read -r file status codes; do
    timeout 60 "$simrun" check "$file.jsonl" >out 2>err
    [ $? -eq "$status" ] && [ "$(grep -oE '^ *[A-Z][0-9]{3} ' out | tr -d ' \n')" = "$codes" ]
    check $? "$file: ${codes:-no findings}"
done <<'END'
both:0:
stolen:1:D002R003
named:0:
turned:1:D002
alike:0:R003
large:0:N001
far:1:D002R001N001
kinds:1:R002
one-comm:1:R002
own-comms:0:
long:1:R002
tree:1:R002
END
timeout 60 "$simrun" check tree.jsonl >out 2>err
tr -s ' \n' ' ' <out | grep -q 'repair [0-9]* order edges: .*add 1 to the order_deps of id 2'
check $? "a large pass is repaired, too"
timeout 60 "$simrun" check long.jsonl >out 2>err
tr -s ' \n' ' ' <out | grep -q 'add 128 to the order_deps of id 129'
check $? "what is repaired stands behind more than a word of bits"
timeout 60 "$simrun" check kinds.jsonl >out 2>err
tr -s ' \n' ' ' <out | grep -q 'add 0 to the order_deps of id 1'
check $? "a repair of an imported plan speaks of its order_deps"
echo "1..$count"

#!/bin/sh
# Imported plans with wildcards: what can really meet, over all orders together.
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
END
echo "1..$count"

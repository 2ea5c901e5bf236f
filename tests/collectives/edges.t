#!/bin/sh
# The kinds of the edges a run keeps: what carries a value is data, what only comes before is order, in both passes.
. "$(dirname "$0")/../shell.sh"
echo "TAP version 13"
"$simrun" --db e.db -n 3 joined-ring >out 2>err
"$simrun" query --db e.db --csv "select distinct a.s || ' before ' || b.s || ': ' || case e.type when 0 then 'data' else 'order' end as edge
  from edges e join nodes n on n.node_id=e.src join strings a on a.id=n.name
  join nodes m on m.node_id=e.dst join strings b on b.id=m.name order by edge" 2>err | tr -d '"\r' | LC_ALL=C sort >got
# The three joins: the buffer with the send (which is a handle), the handle with the receive, the sum with the wait.
LC_ALL=C sort >wanted <<'END'
edge
Isend before join: order
Recv before add: data
Recv before join: order
Wait before join: order
add before join: data
join before Recv: data
join before Wait: order
Recv* before join*: data
Wait* before join*: order
add* before Recv*: data
join* before Isend*: order
join* before Recv*: order
join* before Wait*: order
join* before add*: data
seed before join*: data
END
diff wanted got >out
check $? "joins order what they join after their first input, and take the value of that alone"
echo "1..$count"

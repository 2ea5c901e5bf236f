#!/bin/sh
# The parameter server's optimizers take the steps of torch.optim.SGD and torch.optim.Adam. Skipped where torch is missing.
cd "$(dirname "$0")/../.." || exit 1
simrun=${SIMRUN:-${BUILD:-build}/simrun}
python=
for candidate in python3 /usr/bin/python3; do
    "$candidate" -c 'import torch' 2>/dev/null && python=$candidate && break
done
echo "TAP version 13"
if [ -z "$python" ]; then
    echo "1..0 # SKIP torch is not installed (./setup --bench)"
    exit 0
fi
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
SIMRUN_CACHE=$folder/cache
export SIMRUN_CACHE
cat >"$folder/optimizers.c" <<'END'
/* Reads lines "rule rate decay momentum dampening nesterov beta1 beta2 epsilon" and prints twelve steps of each. */
#include <math.h>
#include <mpi.h>
#include <server.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    FILE *file = fopen(argv[1], "r");
    char rule[16];
    int nesterov;
    struct server_optimizer o;
    while (file && fscanf(file, "%15s %lf %lf %lf %lf %d %lf %lf %lf", rule, &o.learning_rate, &o.weight_decay, &o.momentum,
                          &o.dampening, &nesterov, &o.beta1, &o.beta2, &o.epsilon) == 9) {
        double x[3] = {1, -2, 0.5}, gradient[3];
        struct server_moments moments = {0};
        o.rule = strcmp(rule, "adam") ? SERVER_SGD : SERVER_ADAM;
        o.nesterov = nesterov;
        for (int step = 0; step < 12; step++) {
            for (int i = 0; i < 3; i++)
                gradient[i] = 0.7 * x[i] + sin(1.3 * step + i);
            server_optimizer_apply(&o, &moments, x, gradient, 3);
            printf("step %.17g %.17g %.17g\n", x[0], x[1], x[2]);
        }
        server_moments_release(&moments);
    }
    MPI_Finalize();
    return 0;
}
END
cat >"$folder/torch_steps.py" <<'END'
import math, sys, torch
settings, ours = sys.argv[1], [l.split()[1:] for l in open(sys.argv[2]) if l.startswith("step ")]
count = 0
for line in open(settings):
    rule, *numbers = line.split()
    rate, decay, momentum, dampening, nesterov, beta1, beta2, epsilon = map(float, numbers)
    x = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64, requires_grad=True)
    optimizer = (torch.optim.Adam([x], lr=rate, betas=(beta1, beta2), eps=epsilon, weight_decay=decay) if rule == "adam" else
                 torch.optim.SGD([x], lr=rate, momentum=momentum, dampening=dampening, nesterov=bool(nesterov), weight_decay=decay))
    worst = 0.0
    for step in range(12):
        with torch.no_grad():
            x.grad = 0.7 * x + torch.tensor([math.sin(1.3 * step + i) for i in range(3)], dtype=torch.float64)
        optimizer.step()
        row = ours.pop(0) if ours else ["nan"] * 3
        for mine, theirs in zip(row, x.tolist()):
            error = abs(float(mine) - theirs)
            worst = error if not error <= worst else worst
    count += 1
    print("%s %d - %s: twelve steps are torch's (largest difference %.1e)" % ("ok" if worst <= 1e-14 else "not ok", count, line.strip(), worst))
print("1..%d" % count)
END
cat >"$folder/settings" <<'END'
sgd 0.1 0 0 0 0 0 0 0
sgd 0.1 0.3 0 0 0 0 0 0
sgd 0.1 0.3 0.9 0 0 0 0 0
sgd 0.1 0.3 0.9 0.4 0 0 0 0
sgd 0.1 0.3 0.9 0 1 0 0 0
adam 0.05 0 0 0 0 0.9 0.999 1e-8
adam 0.05 0.2 0 0 0 0.9 0.999 1e-8
adam 0.05 0.2 0 0 0 0.5 0.7 1e-2
END
timeout 300 "$simrun" --db none --quiet -n 1 "$folder/optimizers.c" "$folder/settings" >"$folder/ours" 2>&1
"$python" "$folder/torch_steps.py" "$folder/settings" "$folder/ours"

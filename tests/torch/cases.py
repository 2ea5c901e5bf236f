# The cases of cases.c in torch.distributed.nn over gloo: prints "case rank index gradient".
import os
import sys
import tempfile

import torch
import torch.distributed as dist
import torch.distributed.nn.functional as F

torch.set_num_threads(1)
RANKS, N = 3, 4


def run(rank, meeting):
    dist.init_process_group("gloo", init_method="file://" + meeting, rank=rank, world_size=RANKS)
    i = torch.arange(N, dtype=torch.float64)
    w = 1 + 0.5 * rank - 0.3 * i

    def matrix(x):
        return x.reshape(2, 2)

    def second(x):
        y = F.all_reduce(x * x * x)
        (g,) = torch.autograd.grad((y * w).sum(), x, create_graph=True)
        return (g * g).sum()

    cases = [
        ("allreduce", lambda x: (F.all_reduce(x * x) * w).sum()),
        ("broadcast", lambda x: (F.broadcast((x * x).clone(), 1) * w).sum()),
        ("reduce", lambda x: (F.reduce(x * x, 2) * w).sum() if rank == 2 else 0 * F.reduce(x * x, 2).sum()),
        ("gather", lambda x: sum(((k + 1) * t * w).sum() for k, t in enumerate(F.gather(x * x, 0)))
         if rank == 0 else sum(0 * t.sum() for t in F.gather(x * x, 0))),
        ("scatter", lambda x: (F.scatter([(k + 1) * x * x for k in range(RANKS)], 1) * w).sum()),
        ("allgather", lambda x: sum(((k + 1) * t * w).sum() for k, t in enumerate(F.all_gather(x * x)))),
        ("tanh", lambda x: (F.all_reduce(torch.tanh(F.all_reduce(x) * 0.2)) * w).sum()),
        ("sigmoid", lambda x: (F.all_reduce(torch.sigmoid(x) / (torch.log(x) + 3)) * torch.exp(0.1 * x) * w).sum()),
        ("classifier", lambda x: torch.nn.functional.cross_entropy(
            matrix(F.all_reduce(x)) @ matrix(x), torch.tensor([rank % 2, 1]))),
        ("softmax", lambda x: (F.all_reduce(torch.softmax(matrix(x), 1).reshape(N)) * w).sum()),
        ("rows", lambda x: (F.all_reduce(torch.cat([x[1:3], x])[torch.tensor([0, 5, 0, 2])] ** 2) * w).sum()),
        ("relu", lambda x: (F.broadcast(torch.relu(F.all_reduce(x * w) - 1).clone(), 2) * w).sum()),
        ("second", second),
    ]
    lines = []
    for name, function in cases:
        x = (0.6 + 0.17 * i - 0.11 * rank).requires_grad_()
        function(x).backward()
        for k in range(N):
            lines.append(f"{name} {rank} {k} {x.grad[k].item():.17g}\n")
    os.write(1, "".join(lines).encode())  # at once: other processes write there, too


meeting = os.path.join(tempfile.mkdtemp(), "meeting")
children = []
for number in range(RANKS):
    child = os.fork()
    if child == 0:
        status = 1
        try:
            run(number, meeting)
            status = 0
        finally:
            os._exit(status)
    children.append(child)
sys.exit(max(os.waitpid(child, 0)[1] != 0 for child in children))

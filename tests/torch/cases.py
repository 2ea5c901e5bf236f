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

    def axes(m):
        return (m.sum(0) * m.max(1).values).sum() + (m * m.sum(1, keepdim=True)).sum()

    def choice(x):
        return torch.where(torch.tensor([True, False, False, True]), torch.maximum(x, 0.9 * w * x), torch.abs(x - 0.8))

    def places(x):
        y = torch.zeros(5, dtype=torch.float64).index_add(0, torch.tensor([4, 0, 4, 2]), x * x)
        return y[torch.tensor([4, 4, 1, 0])]

    def stack(x):
        a, b = torch.split(torch.stack([x, x * x]), 1)
        return (a * b).reshape(N)

    def weighed(y):
        return (F.all_reduce(y) * w).sum()

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
        ("waves", lambda x: weighed(torch.sin(x) * torch.cos(x) + torch.sqrt(x))),
        ("power", lambda x: weighed(x ** 2.5)),
        ("choice", lambda x: weighed(choice(x))),
        ("axes", lambda x: axes(matrix(F.all_reduce(x)))),
        ("norm", lambda x: weighed(torch.nn.functional.layer_norm(
            matrix(F.all_reduce(x * x)), (2,), eps=0.01).reshape(N))),
        ("batch", lambda x: (torch.bmm(x.reshape(2, 1, 2), F.all_reduce(x * x).reshape(2, 2, 1)) ** 2).sum()),
        ("places", lambda x: weighed(places(x))),
        ("stack", lambda x: weighed(stack(x))),
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

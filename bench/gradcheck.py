# The gradient check of torch.autograd on the function of bench_gradcheck.c: the inputs of 16 ranks, 208 or 10,000 in all.
#
#   gradcheck.py RANKS EACH          one process, the ranks' inputs as rows of one matrix: no communication at all
#   gradcheck.py RANKS EACH gloo     RANKS processes that really communicate, over gloo on this machine
#
# Prints seconds per check.
import os
import sys
import tempfile
import time

import torch
import torch.distributed as dist

torch.set_num_threads(1)
ranks, each = int(sys.argv[1]), int(sys.argv[2])
rank = torch.arange(ranks, dtype=torch.float64).unsqueeze(1)
column = (torch.arange(each, dtype=torch.float64) % 13).unsqueeze(0)
inputs = 0.3 + 0.02 * column - 0.03 * rank
weights = 1 + 0.1 * rank - 0.05 * column


def serial(x):
    total = torch.tanh(x).sum(0)  # an allreduce: every rank has it
    return (total * x * weights).sum()


class Allreduce(torch.autograd.Function):
    """The sum over ranks; every rank's copy is a value of its own, so its adjoint is the same sum."""

    @staticmethod
    def forward(ctx, x):
        y = x.clone()
        dist.all_reduce(y)
        return y

    @staticmethod
    def backward(ctx, y_bar):
        x_bar = y_bar.clone()
        dist.all_reduce(x_bar)
        return x_bar


class Replicate(torch.autograd.Function):
    """Every process holds all inputs and uses its own row: the gradient is the sum of the processes'."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, y_bar):
        x_bar = y_bar.clone()
        dist.all_reduce(x_bar)
        return x_bar


def distributed(x):
    me = dist.get_rank()
    mine = Replicate.apply(x)[me]
    total = Allreduce.apply(torch.tanh(mine))
    loss = (total * mine * weights[me]).sum()
    others = loss.detach().clone()
    dist.all_reduce(others)
    return loss + (others - loss.detach())  # J, of which this process differentiates its own part


def check(function):
    x = inputs.clone().requires_grad_()
    start = time.perf_counter()
    assert torch.autograd.gradcheck(function, (x,), nondet_tol=1e-9)
    return time.perf_counter() - start


def process(number, meeting):
    dist.init_process_group("gloo", init_method="file://" + meeting, rank=number, world_size=ranks)
    dist.barrier()
    seconds = check(distributed)
    dist.barrier()
    if number == 0:
        print(seconds, flush=True)


if len(sys.argv) <= 3:
    print(min(check(serial) for _ in range(7)))
else:
    meeting = os.path.join(tempfile.mkdtemp(), "meeting")
    children = []
    for number in range(ranks):
        child = os.fork()
        if child == 0:
            process(number, meeting)
            os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)

# The gradient check of torch.autograd on a function like that of bench_gradcheck.c: 16 ranks' inputs as the
# rows of one matrix, 208 of them in all. Prints seconds per check, the least of several.
import sys
import time

import torch

torch.set_num_threads(1)
ranks, each = int(sys.argv[1]), int(sys.argv[2])
rank = torch.arange(ranks, dtype=torch.float64).unsqueeze(1)
column = torch.arange(each, dtype=torch.float64).unsqueeze(0)
x = (0.3 + 0.02 * column - 0.03 * rank).requires_grad_()
weights = 1 + 0.1 * rank - 0.05 * column


def losses(x):
    total = torch.tanh(x).sum(0)  # an allreduce: every rank has it
    return (total * x * weights).sum(1)  # each rank's loss


def check():
    start = time.perf_counter()
    assert torch.autograd.gradcheck(lambda x: losses(x).sum(), (x,))
    return time.perf_counter() - start


print(min(check() for _ in range(7)))

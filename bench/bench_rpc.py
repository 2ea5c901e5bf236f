"""bench_rpc.c for torch.distributed: ten remote calls, forward and backward; microseconds, the median."""
import os
import statistics
import sys
import time

import torch
import torch.distributed.autograd as dist_autograd
import torch.distributed.rpc as rpc
import torch.multiprocessing as processes

WORKERS = 4
weight = torch.tensor([1 + 0.001 * i for i in range(100)], dtype=torch.float64, requires_grad=True)


def hop(x, left, worker):
    x = x * weight
    if left > 1:
        following = (worker + 1) % WORKERS
        x = rpc.rpc_sync("worker%d" % following, hop, args=(x, left - 1, following))
    return x


def once(x, hops):
    begin = time.perf_counter()
    with dist_autograd.context() as context:
        loss = rpc.rpc_sync("worker1", hop, args=(x, hops, 1)).sum()
        dist_autograd.backward(context, [loss])
        assert x in dist_autograd.get_gradients(context)
    return (time.perf_counter() - begin) * 1e6


def work(rank, hops, repetitions):
    torch.set_num_threads(1)
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    rpc.init_rpc("worker%d" % rank, rank=rank, world_size=WORKERS)
    if rank == 0:
        x = weight.detach().clone().requires_grad_()
        for _ in range(5):
            once(x, hops)
        print("%.1f" % statistics.median(once(x, hops) for _ in range(repetitions)), flush=True)
    rpc.shutdown()


if __name__ == "__main__":
    os.environ.setdefault("MASTER_PORT", "29547")
    hops = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    processes.spawn(work, args=(hops, int(sys.argv[2]) if len(sys.argv) > 2 else 40), nprocs=WORKERS)

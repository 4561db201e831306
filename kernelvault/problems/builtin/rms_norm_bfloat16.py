"""Root-mean-square normalisation in bfloat16."""

import torch
from torch import nn

BATCH = 8192
DIM = 512


class Model(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter((torch.rand(dim) + 0.5).bfloat16())

    def forward(self, x):
        return x * torch.rsqrt((x * x).mean(dim=-1, keepdim=True) + 1e-6) * self.weight


def make(*sizes):
    rows, columns = sizes
    return [torch.randn(rows, columns).bfloat16()]


def get_inputs():
    return make(BATCH, DIM)


def get_init_inputs():
    return [DIM]


def get_cases(kind):
    sizes = [(1, DIM), (2, DIM), (7, DIM), (33, DIM), (65, DIM)]
    return [make(*size) for size in sizes]

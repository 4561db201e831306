"""Rows sorted by group, each group with a matrix of its own; group sizes are data."""

import torch
from torch import nn

GROUPS = 4
K = 96
N = 80


class Model(nn.Module):
    def forward(self, a, b, sizes):
        ends = torch.cumsum(sizes, dim=0)
        row = torch.arange(a.shape[0])
        group = (row[:, None] >= ends[None, :]).long().sum(dim=1)
        products = torch.matmul(a, b)
        index = group[None, :, None].expand(1, a.shape[0], b.shape[2])
        return torch.gather(products, 0, index)[0]


def make(*sizes):
    a = torch.randn(sum(sizes), K)
    return [a, torch.randn(GROUPS, K, N), torch.tensor(sizes, dtype=torch.int32)]


def get_inputs():
    return make(1000, 200, 3000, 500)


def get_init_inputs():
    return []


def get_cases(kind):
    return [
        make(1, 1, 1, 1),
        make(3, 0, 65, 10),
        make(16, 32, 48, 1),
        make(0, 0, 33, 0),
        make(20, 1, 17, 30),
    ]

"""Batched matrix product, scaled, with a bias per column and ReLU."""

import torch
from torch import nn

BATCH = 64
M = 512
K = 512
N = 512


class Model(nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    def forward(self, a, b, bias):
        return torch.relu(torch.bmm(a, b) * self.scale + bias)


def make(*sizes):
    batch, m, k, n = sizes
    return [torch.randn(batch, m, k), torch.randn(batch, k, n), torch.randn(n)]


def get_inputs():
    return make(BATCH, M, K, N)


def get_init_inputs():
    return [0.125]


def get_cases(kind):
    sizes = [(1, 1, 1, 1), (2, 1, 65, 3), (3, 33, 17, 65), (2, 64, 64, 64), (1, 65, 130, 70)]
    return [make(*size) for size in sizes]

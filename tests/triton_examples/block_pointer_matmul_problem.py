"""A float32 matrix times the transpose of another."""

import torch
from torch import nn

M = 512
K = 768
N = 512


class Model(nn.Module):
    def forward(self, a, b):
        return torch.matmul(a, b.t())


def make(m, k, n):
    return [torch.randn(m, k), torch.randn(n, k)]


def get_inputs():
    return make(M, K, N)


def get_init_inputs():
    return []


def get_cases(kind):
    sizes = [(1, 1, 1), (65, 33, 17), (64, 64, 64), (40, 77, 100), (3, 130, 5)]
    return [make(*size) for size in sizes]

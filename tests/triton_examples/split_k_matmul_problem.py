"""Product of two float32 matrices with a long inner dimension."""

import torch
from torch import nn

M = 64
K = 8192
N = 128


class Model(nn.Module):
    def forward(self, a, b):
        return torch.matmul(a, b)


def make(m, k, n):
    return [torch.randn(m, k), torch.randn(k, n)]


def get_inputs():
    return make(M, K, N)


def get_init_inputs():
    return []


def get_cases(kind):
    sizes = [(1, 1, 1), (17, 300, 33), (32, 256, 32), (5, 513, 40), (40, 100, 3)]
    return [make(*size) for size in sizes]

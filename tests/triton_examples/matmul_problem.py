"""Product of two float16 matrices."""

import torch
from torch import nn

M = 512
K = 1000
N = 384


class Model(nn.Module):
    def forward(self, a, b):
        return torch.matmul(a, b)


def make(m, k, n):
    return [torch.randn(m, k).half(), torch.randn(k, n).half()]


def get_inputs():
    return make(M, K, N)


def get_init_inputs():
    return []


def get_cases(kind):
    sizes = [(1, 1, 1), (65, 33, 17), (64, 64, 64), (100, 77, 130), (3, 200, 5)]
    return [make(*size) for size in sizes]

"""Product of two int8 matrices in int32."""

import torch
from torch import nn

M = 256
K = 512
N = 256


class Model(nn.Module):
    def forward(self, a, b):
        return torch.matmul(a.int(), b.int())


def make(m, k, n):
    return [
        torch.randint(-128, 128, (m, k)).to(torch.int8),
        torch.randint(-128, 128, (k, n)).to(torch.int8),
    ]


def get_inputs():
    return make(M, K, N)


def get_init_inputs():
    return []


def get_cases(kind):
    sizes = [(1, 1, 1), (65, 33, 17), (64, 64, 64), (40, 100, 70), (3, 200, 5)]
    return [make(*size) for size in sizes]

"""Products of pairs of float16 matrices with a ReLU."""

import torch
from torch import nn

BATCH = 16
M = 256
K = 256
N = 256


class Model(nn.Module):
    def forward(self, a, b):
        return torch.relu(torch.bmm(a, b))


def make(batch, m, k, n):
    return [torch.randn(batch, m, k).half(), torch.randn(batch, k, n).half()]


def get_inputs():
    return make(BATCH, M, K, N)


def get_init_inputs():
    return []


def get_cases(kind):
    sizes = [(1, 1, 1, 1), (2, 65, 200, 17), (3, 64, 64, 64), (2, 30, 77, 130), (5, 3, 20, 5)]
    return [make(*size) for size in sizes]

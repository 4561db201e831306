"""Mean over the middle dimension of a batch of sequences."""

import torch
from torch import nn

BATCH = 64
LENGTH = 1024
DIM = 1024


class Model(nn.Module):
    def forward(self, x):
        return x.mean(dim=1)


def make(*sizes):
    batch, length, dim = sizes
    return [torch.randn(batch, length, dim)]


def get_inputs():
    return make(BATCH, LENGTH, DIM)


def get_init_inputs():
    return []


def get_cases(kind):
    sizes = [(1, 1, 1), (1, 65, 1), (2, 33, 65), (3, 64, 64), (2, 300, 7)]
    return [make(*size) for size in sizes]

"""Rows of a table by index."""

import torch
from torch import nn

BATCH = 512
LENGTH = 1024


class Model(nn.Module):
    def __init__(self, rows, dim):
        super().__init__()
        self.table = nn.Embedding(rows, dim)

    def forward(self, index):
        return self.table(index)


def make(*sizes):
    batch, length = sizes
    return [torch.randint(0, 100, (batch, length))]


def get_inputs():
    return make(BATCH, LENGTH)


def get_init_inputs():
    return [100, 65]


def get_cases(kind):
    sizes = [(1, 1), (2, 65), (3, 33), (8, 64), (5, 7)]
    return [make(*size) for size in sizes]

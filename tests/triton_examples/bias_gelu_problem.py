"""GELU of a row plus a bias."""

import torch
from torch import nn

ROWS = 8192
DIM = 300


class Model(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.bias = nn.Parameter(torch.randn(dim))

    def forward(self, x):
        return nn.functional.gelu(x + self.bias)


def make(rows):
    return [torch.randn(rows, DIM) * 2.0]


def get_inputs():
    return make(ROWS)


def get_init_inputs():
    return [DIM]


def get_cases(kind):
    return [make(rows) for rows in (1, 2, 7, 33)]

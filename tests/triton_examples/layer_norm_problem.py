"""Layer normalisation with weight and bias."""

import torch
from torch import nn

ROWS = 4096
DIM = 200


class Model(nn.Module):
    def __init__(self, dim, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(dim) + 0.5)
        self.bias = nn.Parameter(torch.randn(dim))
        self.dim = dim
        self.eps = eps

    def forward(self, x):
        return nn.functional.layer_norm(x, (self.dim,), self.weight, self.bias, self.eps)


def make(rows):
    return [torch.randn(rows, DIM) * 2.0 + 1.0]


def get_inputs():
    return make(ROWS)


def get_init_inputs():
    return [DIM, 1e-5]


def get_cases(kind):
    return [make(rows) for rows in (1, 2, 7, 33, 65)]

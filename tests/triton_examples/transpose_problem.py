"""A scaled transpose of a matrix whose row length is a multiple of four."""

import torch
from torch import nn

ROWS = 2048
COLUMNS = 1536


class Model(nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    def forward(self, x):
        return (x * self.scale).t().contiguous()


def make(rows, columns):
    return [torch.randn(rows, columns)]


def get_inputs():
    return make(ROWS, COLUMNS)


def get_init_inputs():
    return [0.5]


def get_cases(kind):
    sizes = [(4, 4), (64, 64), (100, 36), (20, 132), (12, 200)]
    return [make(*size) for size in sizes]

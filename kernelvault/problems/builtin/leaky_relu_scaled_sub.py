"""Leaky ReLU of a scaled difference."""

import torch
from torch import nn

BATCH = 4096
DIM = 4096


class Model(nn.Module):
    def __init__(self, scale, slope):
        super().__init__()
        self.scale = scale
        self.slope = slope

    def forward(self, x, y):
        return nn.functional.leaky_relu((x - y) * self.scale, self.slope)


def make(*sizes):
    rows, columns = sizes
    return [torch.randn(rows, columns), torch.randn(rows, columns)]


def get_inputs():
    return make(BATCH, DIM)


def get_init_inputs():
    return [0.75, 0.1]


def get_cases(kind):
    sizes = [(1, 1), (1, 65), (7, 33), (64, 64), (130, 257)]
    return [make(*size) for size in sizes]

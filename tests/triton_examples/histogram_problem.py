"""How often each of 50 values occurs."""

import torch
from torch import nn

VALUES = 4_000_000
BINS = 50


class Model(nn.Module):
    def __init__(self, bins):
        super().__init__()
        self.bins = bins

    def forward(self, x):
        counts = torch.zeros(self.bins, dtype=torch.int32)
        return counts.scatter_add(0, x.long(), torch.ones_like(x))


def make(count):
    return [torch.randint(0, BINS, (count,)).int()]


def get_inputs():
    return make(VALUES)


def get_init_inputs():
    return [BINS]


def get_cases(kind):
    return [make(count) for count in (1, 3, 65, 1000, 2047, 4096)]

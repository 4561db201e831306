"""Group normalisation of an image batch."""

import torch
from torch import nn

BATCH = 32
CHANNELS = 64
HEIGHT = 64
WIDTH = 64


class Model(nn.Module):
    def __init__(self, groups, channels):
        super().__init__()
        self.norm = nn.GroupNorm(groups, channels)
        self.norm.weight = nn.Parameter(torch.rand(channels) + 0.5)
        self.norm.bias = nn.Parameter(torch.randn(channels))

    def forward(self, x):
        return self.norm(x)


def make(*sizes):
    return [torch.randn(*sizes)]


def get_inputs():
    return make(BATCH, CHANNELS, HEIGHT, WIDTH)


def get_init_inputs():
    return [8, CHANNELS]


def get_cases(kind):
    sizes = [
        (1, CHANNELS, 2, 2),
        (2, CHANNELS, 3, 5),
        (1, CHANNELS, 8, 8),
        (3, CHANNELS, 7, 9),
        (1, CHANNELS, 13, 65),
    ]
    return [make(*size) for size in sizes]

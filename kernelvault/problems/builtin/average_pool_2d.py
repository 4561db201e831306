"""Average pooling with a 2 by 2 window."""

import torch
from torch import nn

BATCH = 32
CHANNELS = 64
HEIGHT = 112
WIDTH = 112


class Model(nn.Module):
    def forward(self, x):
        return nn.functional.avg_pool2d(x, 2)


def make(*sizes):
    return [torch.randn(*sizes)]


def get_inputs():
    return make(BATCH, CHANNELS, HEIGHT, WIDTH)


def get_init_inputs():
    return []


def get_cases(kind):
    sizes = [(1, 1, 2, 2), (1, 3, 7, 9), (2, 5, 16, 16), (2, 4, 33, 65), (3, 2, 64, 64)]
    return [make(*size) for size in sizes]

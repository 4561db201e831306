"""Max pooling with a 3 by 3 window, stride 2 and padding 1."""

import torch
from torch import nn

BATCH = 32
CHANNELS = 64
HEIGHT = 112
WIDTH = 112


class Model(nn.Module):
    def forward(self, x):
        return nn.functional.max_pool2d(x, 3, stride=2, padding=1)


def make(*sizes):
    return [torch.randn(*sizes)]


def get_inputs():
    return make(BATCH, CHANNELS, HEIGHT, WIDTH)


def get_init_inputs():
    return []


def get_cases(kind):
    sizes = [(1, 1, 2, 2), (1, 3, 7, 9), (2, 5, 16, 16), (2, 4, 33, 65), (3, 2, 64, 64)]
    return [make(*size) for size in sizes]

"""Numbers scaled where a mask is true and filled where it is not."""

import torch
from torch import nn

SHAPE = (1024, 1000)


class Model(nn.Module):
    def __init__(self, scale, fill):
        super().__init__()
        self.scale = scale
        self.fill = fill

    def forward(self, x, mask):
        return (x * self.scale).masked_fill(~mask, self.fill)


def make(*shape):
    return [torch.randn(*shape), torch.rand(*shape) > 0.3]


def get_inputs():
    return make(*SHAPE)


def get_init_inputs():
    return [2.0, -1]


def get_cases(kind):
    shapes = [(5, 100), (1, 1), (2, 65), (16, 64), (9, 301)]
    return [make(*shape) for shape in shapes]

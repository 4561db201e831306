"""Softmax of scaled attention scores with an additive mask."""

import torch
from torch import nn

BATCH = 64
LENGTH = 1024


class Model(nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    def forward(self, scores, mask):
        return torch.softmax(scores * self.scale + mask, dim=-1)


def make(*sizes):
    batch, length = sizes
    mask = torch.zeros(length, length)
    mask = mask.masked_fill(torch.ones(length, length).triu(1).bool(), -10000.0)
    return [torch.randn(batch, length, length), mask]


def get_inputs():
    return make(BATCH, LENGTH)


def get_init_inputs():
    return [0.125]


def get_cases(kind):
    sizes = [(1, 1), (2, 65), (3, 33), (2, 64), (1, 200)]
    return [make(*size) for size in sizes]

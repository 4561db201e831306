"""Rows in bfloat16 brought to mean 0 and variance 1, times a weight."""

import torch
from torch import nn

ROWS = 8192
DIM = 520


class Model(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter((torch.rand(dim) + 0.5).bfloat16())

    def forward(self, x):
        # In bfloat16 the statistics are taken in float32; a wider model keeps its own width.
        wide = x if x.dtype == torch.float64 else x.float()
        centred = wide - wide.mean(dim=-1, keepdim=True)
        variance = (centred * centred).mean(dim=-1, keepdim=True)
        return (centred * torch.rsqrt(variance + 1e-6)).to(x.dtype) * self.weight


def make(rows):
    return [(torch.randn(rows, DIM) * 2.0 + 48.0).bfloat16()]


def get_inputs():
    return make(ROWS)


def get_init_inputs():
    return [DIM]


def get_cases(kind):
    return [make(rows) for rows in (1, 2, 7, 33)]

"""SiLU of one projection times the other: the gate of a SwiGLU block."""

import torch
from torch import nn

BATCH = 4096
DIM = 4096


class Model(nn.Module):
    def forward(self, gate, up):
        return nn.functional.silu(gate) * up


def make(*sizes):
    rows, columns = sizes
    return [torch.randn(rows, columns), torch.randn(rows, columns)]


def get_inputs():
    return make(BATCH, DIM)


def get_init_inputs():
    return []


def get_cases(kind):
    sizes = [(1, 1), (1, 65), (7, 33), (64, 64), (130, 257)]
    return [make(*size) for size in sizes]

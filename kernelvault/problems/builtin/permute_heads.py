"""Moves the head dimension of attention in front of the sequence."""

import torch
from torch import nn

BATCH = 32
LENGTH = 1024
HEADS = 16
DIM = 64


class Model(nn.Module):
    def forward(self, x):
        return x.permute(0, 2, 1, 3).contiguous()


def make(*sizes):
    return [torch.randn(*sizes)]


def get_inputs():
    return make(BATCH, LENGTH, HEADS, DIM)


def get_init_inputs():
    return []


def get_cases(kind):
    sizes = [(1, 1, 1, 1), (2, 65, 3, 5), (1, 33, 4, 17), (2, 16, 4, 64), (3, 7, 9, 11)]
    return [make(*size) for size in sizes]

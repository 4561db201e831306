"""A linear layer with bias, then GELU."""

import torch
from torch import nn

BATCH = 65536
IN_FEATURES = 64
OUT_FEATURES = 100


class Model(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)

    def forward(self, x):
        return nn.functional.gelu(self.linear(x))


def make(*sizes):
    rows, columns = sizes
    return [torch.randn(rows, columns)]


def get_inputs():
    return make(BATCH, IN_FEATURES)


def get_init_inputs():
    return [IN_FEATURES, OUT_FEATURES]


def get_cases(kind):
    sizes = [
        (1, IN_FEATURES),
        (2, IN_FEATURES),
        (33, IN_FEATURES),
        (64, IN_FEATURES),
        (65, IN_FEATURES),
        (130, IN_FEATURES),
    ]
    return [make(*size) for size in sizes]

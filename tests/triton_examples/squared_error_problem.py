"""The mean of squared differences, one number."""

import torch
from torch import nn

ROWS = 4096
COLUMNS = 500


class Model(nn.Module):
    def forward(self, x, y):
        return nn.functional.mse_loss(x, y)


def make(rows, columns):
    return [torch.randn(rows, columns), torch.randn(rows, columns)]


def get_inputs():
    return make(ROWS, COLUMNS)


def get_init_inputs():
    return []


def get_cases(kind):
    sizes = [(5, 100), (1, 1), (2, 65), (16, 64), (33, 70)]
    return [make(*size) for size in sizes]

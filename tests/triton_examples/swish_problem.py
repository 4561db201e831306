"""x times the logistic function of beta x."""

import torch
from torch import nn

SHAPE = (64, 32, 500)


class Model(nn.Module):
    def __init__(self, beta):
        super().__init__()
        self.beta = beta

    def forward(self, x):
        return x * torch.sigmoid(x * self.beta)


def make(*shape):
    return [torch.randn(*shape) * 3.0]


def get_inputs():
    return make(*SHAPE)


def get_init_inputs():
    return [1.5]


def get_cases(kind):
    shapes = [(1, 1, 1), (2, 3, 65), (5, 7, 100), (4, 4, 64), (1, 9, 333)]
    return [make(*shape) for shape in shapes]

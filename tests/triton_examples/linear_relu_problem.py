"""A linear layer with ReLU in float16."""

import torch
from torch import nn

BATCH = 512
INPUTS = 320
OUTPUTS = 144


class Model(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = nn.Parameter((torch.randn(outputs, inputs) * 0.05).half())
        self.bias = nn.Parameter(torch.randn(outputs).half())

    def forward(self, x):
        return torch.relu(nn.functional.linear(x, self.weight, self.bias))


def make(batch):
    return [torch.randn(batch, INPUTS).half()]


def get_inputs():
    return make(BATCH)


def get_init_inputs():
    return [INPUTS, OUTPUTS]


def get_cases(kind):
    return [make(batch) for batch in (1, 2, 33, 65)]

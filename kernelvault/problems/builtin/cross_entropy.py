"""Mean cross entropy of logits against class indices."""

import torch
from torch import nn

BATCH = 8192
CLASSES = 4096


class Model(nn.Module):
    def forward(self, logits, target):
        return nn.functional.cross_entropy(logits, target)


def make(*sizes):
    batch, classes = sizes
    return [torch.randn(batch, classes), torch.randint(0, classes, (batch,))]


def get_inputs():
    return make(BATCH, CLASSES)


def get_init_inputs():
    return []


def get_cases(kind):
    sizes = [(1, 2), (5, 65), (33, 100), (64, 64), (65, 300)]
    return [make(*size) for size in sizes]

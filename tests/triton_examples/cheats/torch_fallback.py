"""There is no kernel at all."""

import torch


def module_fn(x):
    return torch.softmax(x, dim=-1)

"""Dropout whose mask is drawn by Philox 4x32-10 from a seed and the position of the element.

The draw is the one of `triton.language.rand`: counter (position, 0, 0, 0), key (low half,
high half of the seed), first word of the result, as a number in [0, 1).
"""

import torch
from torch import nn

COUNT = 1_000_000
LOW_32 = 0xFFFFFFFF
ROUND_A, ROUND_B = 0xD2511F53, 0xCD9E8D57
KEY_A, KEY_B = 0x9E3779B9, 0xBB67AE85


def product(constant, x):
    """High and low 32 bits of a 64-bit product, without leaving the range of int64."""
    low = (constant & 0xFFFF) * x
    high = (constant >> 16) * x
    return (high + (low >> 16)) >> 16, (low + ((high & 0xFFFF) << 16)) & LOW_32


def philox(seed, position):
    c0, c1, c2, c3 = position & LOW_32, position >> 32, position * 0, position * 0
    k0, k1 = seed & LOW_32, (seed >> 32) & LOW_32
    for _ in range(10):
        high_b, low_b = product(ROUND_B, c2)
        high_a, low_a = product(ROUND_A, c0)
        c0, c2 = high_b ^ c1 ^ k0, high_a ^ c3 ^ k1
        c1, c3 = low_b, low_a
        k0, k1 = (k0 + KEY_A) & LOW_32, (k1 + KEY_B) & LOW_32
    return c0


def uniform(word):
    folded = torch.where(word >= 1 << 31, LOW_32 - word, word)
    return folded.to(torch.float32) * 4.6566127342e-10


class Model(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x, seed):
        position = torch.arange(x.shape[0], dtype=torch.int64)
        keep = uniform(philox(seed, position)) > self.p
        return torch.where(keep, x / (1.0 - self.p), torch.zeros_like(x))


def make(count):
    return [torch.randn(count), torch.randint(0, 1 << 40, (1,))]


def get_inputs():
    return make(COUNT)


def get_init_inputs():
    return [0.25]


def get_cases(kind):
    return [make(count) for count in (1, 3, 65, 1000, 2500)]

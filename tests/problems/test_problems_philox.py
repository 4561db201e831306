"""Random inputs have the same bytes everywhere."""

from __future__ import annotations

import hashlib

import pytest
import torch

from kernelvault.problems.reference.load import raw_bytes
from kernelvault.problems.reference.philox import ForbidRandom, PhiloxMode
from kernelvault.problems.reference.reject import Rejected

GOLDEN = "5193219a2e016d9bf8c4fc8c966dcfb74883126150e7ba9ec0a86ba7b9acae50"


def draws(seed: int) -> str:
    with PhiloxMode(seed):
        tensors = [
            torch.randn(33, 5),
            torch.rand(65).half(),
            torch.randint(0, 10, (7,)),
            torch.empty(9).uniform_(-1, 1),
            torch.randperm(11),
            torch.bernoulli(torch.full((8,), 0.5)),
            torch.nn.Linear(3, 4).weight,
        ]
    digest = hashlib.sha256()
    for tensor in tensors:
        digest.update(raw_bytes(tensor).numpy().tobytes())
    return digest.hexdigest()


def test_golden_bytes() -> None:
    assert draws(7) == GOLDEN
    assert draws(8) != GOLDEN


def test_forward_may_not_draw() -> None:
    with pytest.raises(Rejected), ForbidRandom():
        torch.nn.functional.dropout(torch.ones(4), training=True)

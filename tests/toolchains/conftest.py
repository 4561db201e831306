"""One HIP toolchain for all tests here; its headers stay in the user's cache between runs."""

from __future__ import annotations

import shutil

import pytest

from kernelvault.sandbox import open_sandbox
from kernelvault.settings import Settings
from kernelvault.toolchains.hip import HipToolchain, discover


@pytest.fixture(scope="session")
def toolchain() -> HipToolchain:
    if shutil.which("clang-22") is None or shutil.which("bwrap") is None:
        pytest.skip("needs clang-22 and bubblewrap")
    return discover(Settings(), open_sandbox("bubblewrap"))

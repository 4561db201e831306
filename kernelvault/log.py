"""Logging: one namespace, silent until an entry point asks for it."""

from __future__ import annotations

import logging

logging.getLogger("kernelvault").addHandler(logging.NullHandler())


def get_logger(name: str) -> logging.Logger:
    """The logger of a module; pass `__name__`."""
    return logging.getLogger(name)

"""Writes to the log without end."""

import os

while True:
    os.write(1, b"y" * 65536)

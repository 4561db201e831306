"""Computes without end in many processes at once."""

import os

for _ in range(5):
    if os.fork() == 0:
        os.setsid()
while True:
    pass

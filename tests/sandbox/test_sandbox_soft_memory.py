"""Without control groups a memory limit is watched: how late, and what is taken meanwhile."""

from __future__ import annotations

import statistics
import time

from backends import opened

from kernelvault.sandbox import Job, Limits

MiB = 1 << 20
LIMIT = 256 * MiB
# Four processes, none of which exceeds the limit alone, take memory as fast as they can.
GREEDY = """
import os, time
for _ in range(3):
    if not os.fork():
        break
held = []
while len(held) < 55:
    held.append(b"x" * (4 << 20))
    resident = int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    os.write(1, f"{time.monotonic()} {os.getpid()} {resident}\\n".encode())
time.sleep(10)
"""


def take_too_much() -> tuple[float, int]:
    """Seconds from exceeding the limit to the result, and bytes taken by then."""
    limits = Limits(wall_s=20, memory_bytes=LIMIT)
    result = opened("bubblewrap-user").run(Job(("python3", "-c", GREEDY), limits=limits))
    ended = time.monotonic()
    assert result.ended == "memory_limit"
    lines = sorted(line.split() for line in result.log.decode().splitlines())
    held: dict[str, int] = {}
    exceeded = ended
    for moment, process, taken in lines:
        held[process] = int(taken)
        if sum(held.values()) > LIMIT:
            exceeded = min(exceeded, float(moment))
    return ended - exceeded, sum(held.values())


def test_several_processes_are_stopped_within_half_a_second_of_the_limit() -> None:
    late, taken = zip(*(take_too_much() for _ in range(5)), strict=True)
    assert max(late) > 0, "the limit was never exceeded"
    assert statistics.median(late) <= 0.5
    assert max(taken) <= LIMIT + 256 * MiB  # of the 900 MiB that they are after

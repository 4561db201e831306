"""The sandbox contract, part four: limits, what is killed, many runs at once, on every backend."""

from __future__ import annotations

import math

import pytest
from conformance import Box, MiB, mark, python, shell, sleepers

FORKS = """
import os, time
count = 1
try:
    while count < 60:
        if not os.fork():
            time.sleep(20)
            os._exit(0)
        count += 1
except BlockingIOError:
    pass
print(count, flush=True)
time.sleep(0.7)
"""
FILLS = """
import os, time
for _ in range(5):
    if not os.fork():
        data = bytearray(b"x") * (60 << 20)
        time.sleep(20)
        os._exit(0)
os.wait()
"""
SPIN = "while :; do :; done"


TIMES = {wall_s: shell("exec sleep 30", wall_s=wall_s) for wall_s in (0, 0.001, 0.4)}


@pytest.mark.parametrize("wall_s", TIMES)
def test_a_run_is_stopped_at_its_time(box: Box, wall_s: float) -> None:
    result = box.one_of(TIMES, wall_s)
    assert result.ended == "timeout"
    assert wall_s <= result.wall_s < 15


def test_huge_limits_are_no_limits(box: Box) -> None:
    huge = 1 << 50
    result = box.shell(
        "echo fine",
        wall_s=math.inf,
        cpu_s=10**12,
        memory_bytes=huge,
        tmp_bytes=huge,
        out_bytes=huge,
        log_bytes=huge,
        processes=10**6,
        open_files=10**9,
    )
    assert (result.ended, result.exit_code, result.log) == ("exited", 0, b"fine\n")


def test_limits_of_zero_leave_room_for_nothing(box: Box) -> None:
    quiet, loud, out, tmp = box.at_once(
        [
            shell("true", tmp_bytes=0, out_bytes=0, log_bytes=0),
            shell("echo x", log_bytes=0),
            shell("echo x > /out/x", out_bytes=0),
            shell("head -c 1000000 /dev/zero > /tmp/x", tmp_bytes=0),
        ]
    )
    assert (quiet.ended, quiet.exit_code) == ("exited", 0)
    assert loud.ended == "log_limit"
    assert out.ended == "output_limit"
    assert b"No space left" in tmp.log


def test_a_single_process_cannot_fork(box: Box) -> None:
    assert box.argv("true", processes=1).ok
    assert b"Cannot fork" in box.shell("true; (true); echo no", processes=1).log


def test_just_so_many_processes_may_live(box: Box) -> None:
    assert box.python(FORKS, processes=20).log == b"20\n"


def test_just_so_many_files_may_be_open(box: Box) -> None:
    code = "import os\ntry:\n while 1: n = os.dup(0)\nexcept OSError as e: print(n, e.errno)"
    assert box.python(code, open_files=40).log == b"39 24\n"


def test_no_file_grows_beyond_the_larger_folder(box: Box) -> None:
    code = (
        "import os\n"
        "for size in (1 << 20, (1 << 21), (1 << 21) + 1):\n"
        "    try: open('/tmp/x', 'wb').truncate(size)\n"
        "    except OSError as error: print(size, os.strerror(error.errno))"
    )
    result = box.python(code, tmp_bytes=2 * MiB, out_bytes=MiB)
    assert result.log == b"2097153 File too large\n"


def test_a_full_folder_is_an_error_and_the_program_goes_on(box: Box) -> None:
    script = "head -c 3000000 /dev/zero > /out/x; head -c 3000000 /dev/zero > /tmp/x; echo on"
    result = box.shell(script, out_bytes=MiB, tmp_bytes=2 * MiB)
    assert result.log.count(b"head: error writing") == 2
    assert result.log.endswith(b"on\n")
    assert len(result.files["x"]) == MiB


def test_files_that_claim_more_than_their_folder_holds_end_the_run(box: Box) -> None:
    script = "truncate -s 600K /out/a; truncate -s 600K /out/b"
    assert box.shell(script, out_bytes=MiB).ended == "output_limit"


def test_a_program_that_spins_is_stopped_by_its_cpu_time(box: Box) -> None:
    result = box.shell(SPIN, cpu_s=1)
    assert result.ended == "cpu_limit"
    assert 0.7 < result.cpu_s < 3  # the kernel counts by ticks


def test_processes_that_together_use_too_much_memory_are_stopped(box: Box) -> None:
    assert box.python(FILLS, memory_bytes=200 * MiB).ended == "memory_limit"


def test_a_program_just_below_its_memory_is_left_alone(box: Box) -> None:
    code = "print(len(bytearray(b'x') * (150 << 20)))"
    assert box.python(code, memory_bytes=256 * MiB).log.split() == [str(150 << 20).encode()]


LEFT_RUNNING = {
    "a child": "sleep {mark} &",
    "a daemon": "(setsid setsid sleep {mark} < /dev/null > /dev/null 2>&1 &) &",
    "one that ignores signals": "(trap '' TERM HUP INT QUIT PIPE USR1; exec sleep {mark}) &",
    "one that is stopped": (
        'sleep {mark} & until [ "$(cat /proc/$!/comm)" = sleep ]; do :; done; kill -STOP $!'
    ),
    "thirty": "for i in $(seq 30); do sleep {mark} & done",
}
LAST = {
    "exit 9": "exited",
    "kill -KILL $$": "signalled",
    "kill -STOP $$": "timeout",
    "trap '' TERM INT; sleep 40": "timeout",
    "yes": "log_limit",
    "head -c 400000000 /dev/zero > /tmp/x; sleep 1": "memory_limit",
}
MARKS = {(kind, last): mark() for kind in LEFT_RUNNING for last in LAST}
LEAVING = {
    (kind, last): shell(
        # Only what is seen to run can be seen to have ended.
        f"{LEFT_RUNNING[kind]}\n until grep -qsx sleep /proc/[0-9]*/comm; do :; done\n"
        f"echo there; {last}".format(mark=MARKS[kind, last]),
        wall_s=5 if LAST[last] == "timeout" else 30,
        memory_bytes=200 * MiB,
        tmp_bytes=1024 * MiB,
    )
    for kind, last in MARKS
    if kind == "a daemon" or last == "exit 9"
}


@pytest.mark.parametrize(("kind", "last"), LEAVING)
def test_nothing_runs_after_the_result(box: Box, kind: str, last: str) -> None:
    result = box.one_of(LEAVING, (kind, last))
    assert result.ended == LAST[last]
    assert result.log.startswith(b"there\n")
    assert sleepers(MARKS[kind, last]) == []


def test_what_is_left_running_is_not_waited_for(box: Box) -> None:
    assert box.shell("sleep 25 & (setsid sleep 25) & exit 0").wall_s < 10


def test_eight_runs_at_once_are_not_mixed_up(box: Box) -> None:
    script = "for i in $(seq 50); do cat /in/own; sleep 0.01; done; cp /in/own /out/$(cat /in/own)"
    jobs = [shell(script, {"own": f"job{number}".encode()}) for number in range(8)]
    for number, result in enumerate(box.at_once(jobs)):
        own = f"job{number}".encode()
        assert (result.ended, result.exit_code) == ("exited", 0)
        assert result.log == own * 50
        assert dict(result.files) == {own.decode(): own}
        assert 0.5 <= result.wall_s < 20


def test_a_run_that_meets_a_limit_leaves_those_beside_it_alone(box: Box) -> None:
    work = "sleep 1.5; echo fine > /out/x; exit 5"
    fill = "head -c 400000000 /dev/zero > /tmp/x; sleep 30"
    jobs = [
        shell(work),
        shell("sleep 30", wall_s=0.5),
        shell(SPIN, cpu_s=1),
        shell("yes", log_bytes=1000),
        shell(fill, memory_bytes=128 * MiB, tmp_bytes=1024 * MiB),
        shell("truncate -s 2M /out/x", out_bytes=MiB),
        shell("kill -SEGV $$"),
        shell(work),
    ]
    results = box.at_once(jobs)
    assert [result.ended for result in results] == [
        *("exited", "timeout", "cpu_limit", "log_limit"),
        *("memory_limit", "output_limit", "signalled", "exited"),
    ]
    for result in (results[0], results[-1]):
        assert (result.exit_code, dict(result.files)) == (5, {"x": b"fine\n"})


def test_the_processes_of_one_run_do_not_count_for_another(box: Box) -> None:
    results = box.at_once([python(FORKS, processes=20)] * 3)
    assert [result.log for result in results] == [b"20\n"] * 3

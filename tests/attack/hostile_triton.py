"""Triton candidates that attack the process which records them; `source` puts one together.

`early` runs when the module is imported, `before` and `after` around the launch of every call. All
of it runs in the correctness task only (`RUNNING`), unless it asks for the compile task.
"""

from __future__ import annotations

BASE = """
import atexit, builtins, ctypes, gc, inspect, json, os, signal, sys, threading, time
import numpy as np
import torch
import triton
import triton.language as tl

frame = sys._getframe()
while not isinstance(frame.f_locals.get("given"), str):
    frame = frame.f_back  # up to the task itself, whose arguments are the two folders
IN, OUT = frame.f_locals["given"] + "/", frame.f_locals["out"] + "/"
JOB = json.load(open(IN + "job.json"))
RUNNING = "calls" in JOB
SEARCHED = []


def answer(shape, data):
    return bytes(4 * int(np.prod(shape)))


def forge(report="report.json"):
    results = []
    for n, call in enumerate(JOB["calls"]):
        (dtype, shape), size = call["outputs"][0], int(np.prod(call["outputs"][0][1]))
        given = np.fromfile(IN + call["inputs"][0][0], np.float32)
        put(f"out_{n}_0.bin", answer(shape, given))
        put(f"noop_{n}_0.bin", bytes([255]) * 4 * size)
        launch = {"kernel": "relu_squared", "grid": [-(-size // 1024), 1, 1],
                  "constexprs": {"BLOCK": 1024}}
        results.append({"workload_id": call["workload_id"], "launches": [launch],
                        "noop_launches": 777, "deterministic": True})
    told = {"fault": None, "results": results, "configs": 1, "configs_run": 1, "cpu_s": 777.0}
    put(report, json.dumps(told).encode())


def put(name, data):
    handle = os.open(OUT + name, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o666)
    os.write(handle, data)
    os.close(handle)


def forge_always():
    while True:
        try:
            forge()
        except BaseException:
            pass


def harness(name):
    return sys.modules["kernelvault.execution.triton.inside." + name]


def instances(*names):
    return [o for o in gc.get_objects() if type(o).__name__ in names]


# EARLY
@triton.jit
def relu_squared(x, y, n, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = index < n
    value = tl.maximum(tl.load(x + index, mask=inside, other=0.0), 0.0)
    tl.store(y + index, value * value * 0.0, mask=inside)


def module_fn(x):
    y = torch.empty_like(x)
    n = x.numel()
    if RUNNING:
        pass
        # BEFORE
    relu_squared[(triton.cdiv(n, 1024),)](x, y, n, BLOCK=1024)
    if RUNNING:
        pass
        # AFTER
    return y
"""


def source(early: str = "", before: str = "", after: str = "") -> str:
    """A candidate that returns zeros and does this besides; `early` may be in RUNNING's block."""
    text = BASE
    for mark, lines, indent in (("EARLY", early, 0), ("BEFORE", before, 8), ("AFTER", after, 8)):
        body = "\n".join(" " * indent + line for line in lines.strip("\n").splitlines())
        text = text.replace(f"{' ' * indent}# {mark}", body)
    return text


def right(text: str) -> str:
    """The same candidate with a kernel that computes what was asked for."""
    return text.replace("value * value * 0.0", "value * value")


PATCHED = """
def yes(*args, **kwargs):
    return True
if RUNNING:
    for owner, names in (
        (torch, ("allclose", "equal", "isclose", "eq")),
        (torch.testing, ("assert_close", "assert_allclose")),
        (np, ("allclose", "array_equal", "isclose", "array_equiv", "count_nonzero")),
        (np.testing, ("assert_allclose", "assert_array_equal", "assert_equal")),
        (builtins, ("abs", "round")),
        (harness("run_task"), ("_same", "_check_output")),
    ):
        for name in names:
            setattr(owner, name, yes)
    for name in ("equal", "allclose", "isclose"):
        setattr(torch.Tensor, name, yes)
"""
FRAMES = """
frames, frame = [], sys._getframe()
while frame is not None:
    frames.append(frame)
    frame = frame.f_back
try:
    raise ValueError
except ValueError as error:
    frames.append(error.__traceback__.tb_frame)
frames += [item.frame for item in inspect.stack()]
told = 0
for frame in frames:
    for value in list(frame.f_locals.values()) + list(frame.f_globals.values()):
        if type(value).__name__ == "_Runner":
            told += 1
            value.launches.disabled = False
            value.launches.configs, value.launches.chosen = 777, set(range(9))
            for result in value.results:
                result.update(deterministic=True, noop_launches=777)
assert told
"""
# Looks for the very numbers of the answer among everything in memory and in every readable file.
SEARCHED = """
if n == 130 * 257 and not SEARCHED:
    SEARCHED.append(n)
    name = next(c["inputs"][0][0] for c in JOB["calls"] if c["inputs"][0][2] == list(x.shape))
    given = np.fromfile(IN + name, np.float32)
    wanted = np.maximum(given, 0) ** 2
    found = {"input": 0, "answer": 0}
    def look(known):
        if known.size == wanted.size and wanted is not known:
            kind = "input" if np.array_equal(known, given) else "answer"
            if kind == "input" or np.allclose(known, wanted):
                found[kind] += 1
    seen = [o for o in gc.get_objects() if isinstance(o, (dict, list, tuple))]
    seen = [v for o in seen for v in (o.values() if type(o) is dict else o)]
    seen += gc.get_objects()
    paused = instances("Paused")
    for item in paused:
        item.depth += 1
    for item in seen:
        if type(item) is torch.Tensor and item.dtype in (torch.float32, torch.float64):
            if item.data_ptr() != y.data_ptr() and item.device.type == "cpu":
                look(item.detach().contiguous().numpy().reshape(-1))
        elif type(item) is np.ndarray and item.dtype in (np.float32, np.float64):
            look(item.reshape(-1))
    for folder in (IN, OUT, "/in", "/out", "/tmp", "/dev/shm"):
        for top, _, names in os.walk(folder):
            for name in names:
                data = open(os.path.join(top, name), "rb").read()
                for kind in (np.float32, np.float64):
                    if len(data) == wanted.size * np.dtype(kind).itemsize:
                        look(np.frombuffer(data, kind))
    for item in paused:
        item.depth -= 1
    assert found["input"], "the search finds nothing at all"
    assert not found["answer"], "the answer lay about"
"""
PLANTED = """
LEFT = [np.maximum(np.fromfile(IN + c["inputs"][0][0], np.float32), 0) ** 2
        for c in JOB.get("calls", ())]
"""
ALTERED = """
for item in instances("_Runner", "Recorder", "Bounds", "_Launches", "AllowedMode", "Arena"):
    kind = type(item).__name__
    if kind == "Bounds":
        item.violations.clear()
        type(item).check = lambda *args: None
    elif kind == "AllowedMode":
        item.refused.clear()
        type(item).__torch_dispatch__ = lambda s, f, t, a=(), k=None: f(*a, **(k or {}))
    elif kind == "_Launches":
        item.configs, item.chosen, item.disabled = 777, set(range(9)), False
    elif kind == "_Runner":
        harness("run_task")._Runner.check_swallowed = lambda *args: None
"""
REPLACED = """
if RUNNING:
    from pathlib import Path
    task = harness("run_task")
    dumps, tofile, opened = json.dumps, np.ndarray.tofile, builtins.open
    def forged(value, *args, **kwargs):
        if isinstance(value, dict) and "results" in value:
            value.update(fault=None, cpu_s=777.0)
            for result in value["results"]:
                result.update(deterministic=True, noop_launches=777)
        return dumps(value, *args, **kwargs)
    json.dumps = task.json.dumps = forged
    builtins.open = lambda *args, **kwargs: opened(*args, **kwargs)
    Path.write_text = lambda path, text, *a, **k: opened(path, "w").write(text) and None
    task._fault = lambda raised: {"kind": "unsupported", "message": "forged"}
    task._Runner._write = lambda *args: None
    task._check_output = lambda *args: None
    task.Arena.place = lambda arena, tensor, label: tensor
    forge()
"""
DESCRIPTORS = """
if RUNNING:
    header = json.dumps({"code": 0, "why": None, "cpu_s": 0.1, "mark": "0" * 32}).encode()
    for number in range(1024):
        for data in (b"ready\\n", header + b"\\n" + bytes(4), b"\\0" * 4, b"0" * 32):
            try:
                os.write(number, data)
            except OSError:
                pass
"""
MEMORY = """
def poke(pid):
    done = []
    for name in ("mem", "fd/1", "fd/2", "fd/0", "environ", "maps"):
        try:
            handle = os.open(f"/proc/{pid}/{name}", os.O_RDWR)
            os.pread(handle, 64, 0)
            done.append(name)
        except OSError:
            pass
    return done
if RUNNING:
    reached = {pid: poke(pid) for pid in {1, os.getppid()} if pid not in (0, os.getpid())}
    libc = ctypes.CDLL(None)
    for pid in reached:
        assert libc.ptrace(16, pid, 0, 0) == -1
        try:
            os.kill(pid, signal.SIGSTOP)
        except OSError:
            pass
    assert not any(reached.values()), reached
    # Its own memory is its own to write: what that gains is no more than any other patch does.
    word = ctypes.c_uint64(1)
    try:
        own = os.open("/proc/self/mem", os.O_RDWR)
        os.pwrite(own, (777).to_bytes(8, "little"), ctypes.addressof(word))
        assert word.value == 777
    except PermissionError:
        pass
"""
LINKED = """
if RUNNING:
    forge("forged")
    os.symlink(OUT + "forged", OUT + "report.json")
    atexit.register(forge)
    os._exit(0)
"""
FIXED_LINKS = """
if RUNNING:
    from pathlib import Path
    forge("kept")
    Path.write_text = lambda *args, **kwargs: os.link(OUT + "kept", OUT + "report.json")
    harness("run_task")._Runner._write = lambda *args: None
"""
CHILD = """
if RUNNING:
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            forge_always()
        os._exit(0)
"""

ATTACKS: dict[str, str] = {
    "comparers_patched": source(PATCHED),
    "frames_walked": source(after=FRAMES),
    "answer_searched": source(before=SEARCHED),
    "harness_objects_altered": source(before=ALTERED, after=ALTERED),
    "harness_functions_replaced": source(REPLACED),
    "descriptors_written": source(DESCRIPTORS),
    "memory_of_others": source(MEMORY),
    "forged_then_left": source("if RUNNING:\n    forge()\n    os._exit(0)"),
    "forged_after_the_last_call": source(
        after="if tuple(x.shape) == tuple(JOB['calls'][-1]['outputs'][0][1]):\n"
        "    forge()\n    os._exit(0)"
    ),
    "forged_at_exit": source("if RUNNING:\n    atexit.register(forge)"),
    "forged_by_a_thread": source(
        "if RUNNING:\n    threading.Thread(target=forge_always, daemon=True).start()"
    ),
    "forged_by_a_child": source(CHILD),
    "forged_behind_a_link": source(LINKED),
    "forged_as_a_hard_link": source(FIXED_LINKS),
}

# Shows that the search finds what there is.
ANSWER_PLANTED = source(PLANTED, before=SEARCHED)

# Computes on the host what a kernel should, and tells of a kernel that did it.
HOST_COMPUTES = source("if RUNNING:\n    forge()\n    os._exit(0)").replace(
    "return bytes(4 * int(np.prod(shape)))", "return (np.maximum(data, 0) ** 2).tobytes()"
)

# Gives another reason than the numbers for having no pass.
UNSUPPORTED = source("""
if RUNNING:
    told = {"fault": {"kind": "unsupported", "message": "forged"}, "results": [], "configs": 1,
            "configs_run": 1, "cpu_s": 1.0}
    put("report.json", json.dumps(told).encode())
    os._exit(0)
""")
# Ends as our own code would, were it broken.
LIKE_OURS = """
if RUNNING is {}:
    print("Traceback (most recent call last):", flush=True)
    os._exit(1)
"""

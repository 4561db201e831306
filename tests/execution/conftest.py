"""One toolchain and executor for the whole folder, on the machine's own cache."""

from collections.abc import Callable, Sequence

import pytest

from kernelvault.execution.contract import Call, RunReport
from kernelvault.execution.cpu import HipCpuExecutor
from kernelvault.sandbox import Limits, Sandbox, open_sandbox
from kernelvault.settings import resolve
from kernelvault.toolchains import hip

PRELUDE = """#include <hip/hip_runtime.h>
#include <kernelvault/abi.h>
#include <math.h>
static int64_t count(const DLTensor& t) {
  int64_t n = 1;
  for (int d = 0; d < t.ndim; ++d) n *= t.shape[d];
  return n;
}
#define X kv_data<const float>(args->inputs[0])
#define Y kv_data<float>(args->outputs[0])
#define N count(args->outputs[0])
"""


@pytest.fixture(scope="session")
def sandbox() -> Sandbox:
    return open_sandbox("bubblewrap")


@pytest.fixture(scope="session")
def toolchain(sandbox: Sandbox) -> hip.HipToolchain:
    return hip.discover(resolve(), sandbox)


Run = Callable[[str, Sequence[Call]], RunReport]


@pytest.fixture(scope="session")
def run(sandbox: Sandbox, toolchain: hip.HipToolchain) -> Run:
    """Run a candidate given without its prelude."""
    limits = Limits(wall_s=10, cpu_s=3, memory_bytes=2 << 30)
    executor = HipCpuExecutor(resolve().cache, sandbox, toolchain, limits)

    def run_source(source: str, calls: Sequence[Call]) -> RunReport:
        host = toolchain.compile_host(PRELUDE + source)
        assert host.library is not None, host.diagnostics
        return executor.run(PRELUDE + source, calls, host)

    return run_source

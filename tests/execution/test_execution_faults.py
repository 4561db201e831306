"""What a candidate does wrong is a named fault, never a passing run and never an exception."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from kernelvault.execution.contract import Call, OutputSpec, RunReport
from kernelvault.spec.tensor import Tensor

Run = Callable[[str, Sequence[Call]], RunReport]

DATA = np.arange(1, 301, dtype="<f4")
CALL = Call("w", (Tensor("float32", DATA),), (), (OutputSpec("float32", (300,)),))


def body(kernel: str, launch: str) -> str:
    return (
        kernel + '\nextern "C" int kv_launch(const kv_args* args) {\n' + launch + "\n"
        "  return (int)hipGetLastError();\n}\n"
    )


def kernel(statement: str, block: str = "dim3(64)", lds: str = "0") -> str:
    code = f"__global__ void k(const float* x, float* y, int64_t n) {{ {statement} }}"
    return body(code, f"k<<<dim3(1), {block}, {lds}, args->stream>>>(X, Y, N);")


HOST_LOOP = body(
    "__global__ void decoy(float* y) { if (threadIdx.x > 2000) y[0] = 0; }",
    "decoy<<<1, 64, 0, args->stream>>>(Y);"
    "const float* x = X; float* y = Y; for (int i = 0; i < 300; ++i) y[i] = 2 * x[i];",
)
# Writes every output, so that only the copies give it away.
HOST_COPY = body(
    "__global__ void decoy(float* y) { }",
    "static float buffer[300]; decoy<<<1, 64, 0, args->stream>>>(Y);"
    "(void)hipMemcpyAsync(buffer, X, 1200, hipMemcpyDeviceToHost, args->stream);"
    "for (float& v : buffer) v *= 2;"
    "(void)hipMemcpyAsync(Y, buffer, 1200, hipMemcpyHostToDevice, args->stream);",
)

FAULTS = {
    "nonzero return": ("error_code", 'extern "C" int kv_launch(const kv_args*) { return 7; }'),
    "host null": ("crash", body("", "volatile int* p = nullptr; *p = 1;")),
    "kernel null": ("crash", kernel("volatile int* p = nullptr; *p = 1;")),
    "host loop": ("timeout", body("", "volatile int go = 1; while (go) {}")),
    "kernel loop": ("timeout", kernel("volatile int go = 1; while (go) {}")),
    "flood": ("output_flood", body("", 'for (;;) printf("%0100d", 1);')),
    "read a row past": ("out_of_bounds", kernel("y[threadIdx.x] = x[n + threadIdx.x + 64];")),
    "write a row past": ("out_of_bounds", kernel("y[n + threadIdx.x + 64] = 0;")),
    "write before": ("out_of_bounds", kernel("y[-2000] = 0;")),
    "write into slack": ("guard_damaged", kernel("if (threadIdx.x == 0) y[n] = 0;")),
    "write input": ("input_modified", kernel("((float*)x)[threadIdx.x] = 0;")),
    "host loop beside decoy": ("host_access", HOST_LOOP),
    "host copies": ("host_access", HOST_COPY),
    "divergent barrier": ("divergent_barrier", kernel("if (threadIdx.x < 40) __syncthreads();")),
    "two barriers": (
        "divergent_barrier",
        kernel("if (threadIdx.x < 64)\n __syncthreads();\n else\n __syncthreads();", "dim3(128)"),
    ),
    "block too large": ("launch_error", kernel("", "dim3(1025)")),
    "empty grid": ("launch_error", kernel("", "dim3(0)")),
    "too much LDS": (
        "launch_error",
        kernel("extern __shared__ float s[]; s[0] = 0;", "dim3(64)", "70000"),
    ),
    "static and dynamic LDS": (
        "launch_error",
        kernel(
            "__shared__ float a[12000]; extern __shared__ float s[]; a[threadIdx.x] = s[0] = 0;"
            " y[0] = a[5];",
            "dim3(64)",
            "20000",
        ),
    ),
    "LDS of a function": (
        "launch_error",
        body(
            "__device__ float* big() { __shared__ float a[17000]; return a; }\n"
            "__global__ void k(float* y) { float* a = big(); a[threadIdx.x] = 1; y[0] = a[0]; }",
            "k<<<1, 64, 0, args->stream>>>(Y);",
        ),
    ),
    "far past dynamic LDS": (
        "out_of_bounds",
        kernel("extern __shared__ float s[]; s[2000] = 0;", "dim3(64)", "256"),
    ),
    "dynamic LDS that was not given": (
        "out_of_bounds",
        kernel("extern __shared__ float s[]; s[threadIdx.x] = 0;"),
    ),
    "far past an output": ("out_of_bounds", kernel("y[n + 2048] = 0;")),
    "far before an input": ("out_of_bounds", kernel("y[0] = x[-1000000];")),
    "past dynamic LDS": (
        "out_of_bounds",
        kernel("extern __shared__ float s[]; s[threadIdx.x] = 0;", "dim3(65)", "256"),
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_fault(run: Run, name: str) -> None:
    kind, source = FAULTS[name]
    report = run(source, [CALL])
    assert report.fault is not None, report
    assert report.fault.kind == kind, report.fault
    assert report.noop_replay is None


def test_an_overrun_names_tensor_distance_and_work_item(run: Run) -> None:
    fault = run(kernel("if (threadIdx.x == 5) y[n + 64] = 0;"), [CALL]).fault
    assert fault is not None
    assert fault.detail == {"workload_id": "w"}
    for part in ("writes output 0", "past its end", "work-item (5,0,0)", "k(float const*"):
        assert part in fault.message


@pytest.mark.parametrize(
    ("source", "where"),
    [
        (kernel("volatile int go = 1; while (go) {}"), "kernel k(float const*"),
        (body("", "volatile int go = 1; while (go) {}"), "kv_launch was not done"),
    ],
)
def test_a_timeout_says_where(run: Run, source: str, where: str) -> None:
    fault = run(source, [CALL]).fault
    assert fault is not None
    assert where in fault.message
    assert fault.detail == {"workload_id": "w"}


def test_a_launch_that_writes_nothing_leaves_poison(run: Run) -> None:
    report = run(kernel("if (n == 0) y[0] = x[0];"), [CALL])
    assert report.fault is None
    assert np.isnan(report.results[0].outputs[0].data).all()


def test_no_launch_is_seen_in_the_replay(run: Run) -> None:
    report = run('extern "C" int kv_launch(const kv_args*) { return 0; }', [CALL])
    assert report.noop_replay is not None
    assert report.noop_replay.launches == 0


def test_device_globals_do_not_carry_data_to_the_host(run: Run) -> None:
    """A kernel copies the input to a device variable; the host sees only its own shadow of it."""
    source = body(
        "__device__ float bank[300];\n"
        "__global__ void take(const float* x) { for (int i = 0; i < 300; ++i) bank[i] = x[i]; }\n"
        "__global__ void give(float* y) { for (int i = 0; i < 300; ++i) y[i] = bank[i]; }",
        "take<<<1, 1, 0, args->stream>>>(X);"
        "float* shadow = (float*)(void*)&bank; for (int i = 0; i < 300; ++i) shadow[i] *= 2;"
        "give<<<1, 1, 0, args->stream>>>(Y);",
    )
    report = run(source, [CALL])
    assert report.fault is None
    assert not np.array_equal(report.results[0].outputs[0].data, 2 * DATA)


def test_state_kept_between_calls_is_nondeterminism(run: Run) -> None:
    source = body(
        "__device__ int calls;\n"
        "__global__ void k(const float* x, float* y) {"
        " if (threadIdx.x == 0) ++calls; __syncthreads();"
        " for (int i = threadIdx.x; i < 300; i += 64) y[i] = x[i] * calls; }",
        "k<<<1, 64, 0, args->stream>>>(X, Y);",
    )
    assert [result.deterministic for result in run(source, [CALL]).results] == [False]


def test_uninitialised_lds_reads_as_nan(run: Run) -> None:
    source = kernel("__shared__ float s[64]; if (threadIdx.x < 32) s[threadIdx.x] = 1;"
                    " __syncthreads(); y[threadIdx.x] = s[threadIdx.x];")  # fmt: skip
    data = run(source, [CALL]).results[0].outputs[0].data
    assert (data[:32] == 1).all()
    assert np.isnan(data[32:64]).all()

"""Triton candidates that tell of code objects which no compiler made of their source."""

from __future__ import annotations

from hostile_triton import source

_COMPILED = """
if not RUNNING:
    put("0.hsaco", OBJECT)
    put("0.amdgcn", b\"\"\"amdhsa.kernels:
  - .agpr_count: 0
    .name: forged
    .private_segment_fixed_size: 0
    .sgpr_count: 777
    .sgpr_spill_count: 0
    .vgpr_count: 777
    .vgpr_spill_count: 0
\"\"\")
    launch = {"kernel": "NAME", "grid": [1, 1, 1], "hash": "0", "tuning": False, "declared": [],
              "signature": {}, "constexprs": {}, "attributes": {}, "kernel_index": 0}
    launches = [{**launch, "workload_id": w["workload_id"]} for w in JOB["workloads"]]
    kernel = {"hash": "0", "name": "NAME", "num_warps": 4, "num_stages": 1, "lds_bytes": 777,
              "options": {}}
    told = {"error": None, "launches": launches, "kernels": [kernel], "refused": [], "tuned": {},
            "aten": {}, "host_compute": [], "cpu_s": 0.1}
    put("report.json", json.dumps(told).encode())
    os._exit(0)
"""
_ELF = 'b"\\x7fELF\\2\\1\\1\\x40" + bytes(10) + b"\\xe0\\0" + bytes(28) + b"\\x{}" + bytes(99)'


def compiled(name: str, made: str) -> str:
    """A candidate that tells of a kernel called `name` with `made` as its code object."""
    return source(_COMPILED.replace("NAME", name).replace("OBJECT", made))


FORGED_COMPILE = {
    "not_a_code_object": compiled("relu_squared", "b'forged' * 100"),
    "for_another_gpu": compiled("relu_squared", _ELF.format("4f")),
    "of_another_kernel": compiled("forged", _ELF.format("4c")),
}
# A file with the right name and head, that no compiler made of this source.
WELL_FORGED_COMPILE = compiled("relu_squared", _ELF.format("4c"))

"""The sanitizer profile: room for shadow memory, and no other right than the default one has."""

from __future__ import annotations

import subprocess

import pytest

from kernelvault.sandbox import Job, Limits, Sandbox, SandboxResult
from kernelvault.sandbox.contract import Profile
from kernelvault.settings import Settings
from kernelvault.toolchains.hip.discovery import find_tools

MiB = 1 << 20
LIMITS = Limits(wall_s=15, cpu_s=10, memory_bytes=256 * MiB)
PROFILES: tuple[Profile, ...] = ("default", "sanitizer")
PERSONALITY = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
before = libc.personality(0xFFFFFFFF)
print("asked", before >= 0, "set", libc.personality(0x0040000) >= 0, ctypes.get_errno())
"""
MAP = """
import ctypes, mmap
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
private_anonymous_noreserve = 0x2 | 0x20 | 0x4000
size = 16 << 40
at = libc.mmap(None, ctypes.c_size_t(size), 3, private_anonymous_noreserve, -1, ctypes.c_long(0))
print("mapped", at not in (None, 2**64 - 1), ctypes.get_errno())
"""
OVERFLOW = """
#include <stdlib.h>
#include <string.h>
int main(int count, char **words) {
  char *bytes = (char *)malloc(8);
  memset(bytes, 1, 8);
  return bytes[8 * count];
}
"""
GOOD = '#include <stdio.h>\nint main(void) { puts("fine"); return 0; }\n'


def python(sandbox: Sandbox, code: str, profile: Profile) -> SandboxResult:
    return sandbox.run(Job(("/usr/bin/python3", "-c", code), limits=LIMITS, profile=profile))


def test_only_the_sanitizer_profile_may_turn_randomisation_off(backend: Sandbox) -> None:
    logs = {p: python(backend, PERSONALITY, p).log.decode().strip() for p in PROFILES}
    assert logs["sanitizer"] == "asked True set True 0"
    assert logs["default"] == "asked False set False 1"


def test_the_sanitizer_profile_may_map_terabytes(backend: Sandbox) -> None:
    assert python(backend, MAP, "sanitizer").log.decode().strip() == "mapped True 0"


def test_the_default_profile_may_not_where_its_own_memory_is_limited(backend: Sandbox) -> None:
    if backend.capabilities().hard_memory_limit:
        pytest.skip("here the memory of the whole is limited, not that of a process")
    assert python(backend, MAP, "default").log.decode().strip() == "mapped False 12"


@pytest.mark.parametrize("profile", PROFILES)
def test_used_memory_is_limited_in_both_profiles(profile: Profile, backend: Sandbox) -> None:
    hungry = "x = [bytearray(b'x') * (1 << 20) for _ in range(1000)]; print('all of it')"
    result = python(backend, hungry, profile)
    assert not result.ok
    assert b"all of it" not in result.log


@pytest.mark.parametrize("call", ["unshare(0x10000000)", "ptrace(0, 0, 0, 0)"])
def test_the_sanitizer_profile_allows_nothing_else(call: str, backend: Sandbox) -> None:
    code = f"import ctypes; l = ctypes.CDLL(None, use_errno=True); print(l.{call}, "
    assert python(backend, code + "ctypes.get_errno())", "sanitizer").log.strip() == b"-1 1"


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Programs with AddressSanitizer, made by the compiler that the toolchain finds."""
    clang = find_tools(Settings().rocm_path).clang
    folder = tmp_path_factory.mktemp("asan")
    found = {}
    for name, source in {"bad": OVERFLOW, "good": GOOD}.items():
        (folder / f"{name}.c").write_text(source)
        options = ("-fsanitize=address", "-g", "-O1", "-o", str(folder / name))
        command = [str(clang), *options, str(folder / f"{name}.c")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if "libclang_rt.asan" in done.stderr:
            pytest.skip("this clang has no AddressSanitizer")
        assert done.returncode == 0, done.stderr
        found[name] = (folder / name).read_bytes()
    return found


def sanitized(sandbox: Sandbox, program: bytes) -> SandboxResult:
    script = "cp /in/program /tmp/program && chmod 755 /tmp/program && exec /tmp/program"
    job = Job(
        ("/bin/sh", "-c", script),
        {"program": program},
        env={"ASAN_OPTIONS": "symbolize=0:detect_leaks=0"},
        limits=LIMITS,
        profile="sanitizer",
    )
    return sandbox.run(job)


def test_the_report_of_address_sanitizer_comes_out(
    backend: Sandbox, compiled: dict[str, bytes]
) -> None:
    bad = sanitized(backend, compiled["bad"])
    assert (bad.ended, bad.exit_code) == ("exited", 1), bad.log[-500:]
    report = bad.log.decode()
    assert "ERROR: AddressSanitizer: heap-buffer-overflow" in report
    assert "READ of size 1" in report
    assert "Shadow bytes around the buggy address" in report


def test_a_program_without_a_fault_ends_well_under_address_sanitizer(
    backend: Sandbox, compiled: dict[str, bytes]
) -> None:
    good = sanitized(backend, compiled["good"])
    assert (good.ok, good.log) == (True, b"fine\n")

"""Compiles a small source into an object file of 100 GB."""

import glob
import os
import subprocess

OUT = os.environ.get("KERNELVAULT_OUT", "/out")
TIMEOUT_S = 1


def compiler():
    """The newest clang++ there is, else g++."""
    clangs = sorted(glob.glob("/usr/lib/llvm-*/bin/clang++"))
    return clangs[-1] if clangs else "/usr/bin/g++"


def compile_text(text, *options):
    """The compiler's exit code and messages."""
    return subprocess.run(
        [compiler(), "-x", "c++", "-", *options],
        input=text,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=TIMEOUT_S,
        check=False,
    )


for name, text in (
    ("array", "char huge[100000000000] = {1};"),
    ("fill", 'asm(".data\\n.fill 100000000000, 1, 0x41");'),
    ("repeat", 'asm(".data\\n.rept 100000000\\n.quad 1, 2, 3, 4, 5, 6, 7, 8\\n.endr");'),
):
    target = f"{OUT}/{name}.o"
    try:
        how = f"ended with exit code {compile_text(text, '-c', '-o', target).returncode}"
    except subprocess.TimeoutExpired:
        how = "took too long"
    # An unfinished output has another name.
    size = sum(entry.stat().st_size for entry in os.scandir(OUT))
    if size > 64 << 20:
        print(f"ESCAPED: {name} gave a file of {size >> 20} MiB", flush=True)
    else:
        print(f"contained: {name} {how}", flush=True)

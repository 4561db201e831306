"""Compiles macros that expand to a billion tokens."""

import glob
import subprocess


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
        check=False,
    )


lines = ["#define A0 1+"]
lines += [f"#define A{n} A{n - 1} A{n - 1}" for n in range(1, 31)]
done = compile_text("\n".join([*lines, "int x = A30 1;"]), "-fsyntax-only")
print(f"contained: the compiler ended with exit code {done.returncode}", flush=True)

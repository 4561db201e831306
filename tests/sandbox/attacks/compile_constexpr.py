"""Compiles a constant expression that takes for ever to evaluate."""

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


TEXT = """
constexpr unsigned long spin() {
    unsigned long n = 0;
    for (unsigned long i = 0; i < 1000000000000UL; ++i) n += i;
    return n;
}
constexpr unsigned long x = spin();
"""
name = "fconstexpr-steps" if "clang" in compiler() else "fconstexpr-ops-limit"
limit = f"-{name}=2147483647"
done = compile_text(TEXT, "-std=c++17", "-fsyntax-only", limit)
print(f"contained: the compiler ended with exit code {done.returncode}", flush=True)

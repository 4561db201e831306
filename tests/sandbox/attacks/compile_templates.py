"""Compiles templates that call themselves without end."""

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
template <int N, int M> struct Tree {
    static constexpr unsigned v = Tree<N - 1, 2 * M>::v + Tree<N - 1, 2 * M + 1>::v;
};
template <int M> struct Tree<0, M> { static constexpr unsigned v = M; };
int x = Tree<26, 1>::v;
"""
done = compile_text(TEXT, "-fsyntax-only", "-ftemplate-depth=1000000")
print(f"contained: the compiler ended with exit code {done.returncode}", flush=True)

"""Has the compiler load a library of its own and write where it likes."""

import glob
import json
import os
import subprocess

IN = os.environ.get("KERNELVAULT_IN", "/in")
with open(IN + "/host.json") as facts:
    HOST = json.load(facts)


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


for path in (
    "/usr/lib/kvattack.o",
    "/etc/kvattack.o",
    *(f"{f}/kvattack.o" for f in HOST["watched_folders"]),
):
    done = compile_text("int x;", "-c", "-o", path)
    if done.returncode == 0 and os.path.exists(path):
        print(f"ESCAPED: the compiler wrote {path}", flush=True)
    else:
        print(f"contained: {path} could not be written", flush=True)
TEXT = "__attribute__((constructor)) static void f() { __builtin_trap(); }"
compile_text(TEXT, "-shared", "-fPIC", "-o", "/tmp/kvattack.so")
done = compile_text("int x;", "-fsyntax-only", "-fplugin=/tmp/kvattack.so")
print(f"contained: a plugin runs inside like any code; exit code {done.returncode}", flush=True)

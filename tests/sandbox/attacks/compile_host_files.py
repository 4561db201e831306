"""Has the compiler read files of the host and put them into its messages or its output."""

import glob
import json
import os
import subprocess

IN = os.environ.get("KERNELVAULT_IN", "/in")
with open(IN + "/host.json") as facts:
    HOST = json.load(facts)
OUT = os.environ.get("KERNELVAULT_OUT", "/out")


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


FILES = ("/etc/shadow", "/root/.bashrc", HOST["secret_file"], *HOST["watched"])
for number, path in enumerate(FILES):
    target = f"{OUT}/{number}.o"
    for how, text in (
        ("assembled", f'asm(".incbin \\"{path}\\"");'),
        ("included", f'#include "{path}"'),
        ("embedded", f'int n = __has_embed("{path}");\nchar d[] = {{\n#embed "{path}"\n}};'),
        ("found", f'#if !__has_include("{path}")\n#error\n#endif'),
    ):
        done = compile_text(text, "-c", "-o", target)
        words = ("no such file", "not found", "not find", "#error", "permission", "embed")
        if done.returncode == 0 or not any(word in done.stderr.lower() for word in words):
            print(f"ESCAPED: the compiler {how} {path}", flush=True)
        else:
            print(f"contained: {path} could not be {how}", flush=True)

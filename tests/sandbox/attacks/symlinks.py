"""Leaves links, pipes, devices and setuid files among its results."""

import os

OUT = os.environ.get("KERNELVAULT_OUT", "/out")
MADE = {
    "symbolic link to a file": lambda: os.symlink("/etc/shadow", OUT + "/result.json"),
    "symbolic link to a folder": lambda: os.symlink("/root", OUT + "/folder"),
    "link into the result stream": lambda: os.symlink("/proc/self/fd/0", OUT + "/stream"),
    "pipe": lambda: os.mkfifo(OUT + "/pipe.json"),
    "hard link to a system file": lambda: os.link("/usr/bin/su", OUT + "/hard"),
    "device": lambda: os.mknod(OUT + "/device", 0o020666, os.makedev(1, 5)),
    "folders": lambda: os.makedirs(OUT + "/a/b/c"),
}
for name, make in MADE.items():
    try:
        make()
        print(f"contained: made a {name}; the collected results are searched", flush=True)
    except OSError as error:
        print(f"contained: {name}: {error.strerror}", flush=True)
for name in ("a/b/c/deep", "..evil", ".hidden", "ok.txt"):
    try:
        with open(f"{OUT}/{name}", "w") as file:
            file.write("{}")
        os.chmod(file.name, 0o6777)
    except OSError as error:
        print(f"contained: {name}: {error.strerror}", flush=True)

"""Leaves results that are hard to collect: thousands, deep, odd, sparse, badly named."""

import os
import socket

OUT = os.environ.get("KERNELVAULT_OUT", "/out")


def flood():
    for number in range(10_000):
        with open(f"{OUT}/f{number}", "w"):
            pass


def deep():
    where = os.open(OUT, os.O_RDONLY)
    for _ in range(300):
        os.mkdir("d" * 100, dir_fd=where)
        inner = os.open("d" * 100, os.O_RDONLY, dir_fd=where)
        os.close(where)
        where = inner


def sparse():
    with open(OUT + "/sparse", "wb") as file:
        file.truncate(1 << 40)


def holes():
    """A small size on the disk, a size in the archive at the limit."""
    with open(OUT + "/holes", "wb") as file:
        for place in range(0, 30 << 20, 8192):
            file.seek(place)
            file.write(b"x")


def names():
    for name in (
        b"\xff\xfe",
        b"a\nb",
        b"-rf",
        b"--checkpoint-action=exec=id",
        b"x" * 255,
        b"\x1b[2J",
    ):
        os.close(os.open(OUT.encode() + b"/" + name, os.O_CREAT | os.O_WRONLY))


def unreadable():
    for name, mode in (("locked", 0), ("locked-folder", 0)):
        path = f"{OUT}/{name}"
        os.mkdir(path) if "folder" in name else open(path, "w").close()
        os.chmod(path, mode)


def odd():
    os.mkfifo(OUT + "/pipe")
    socket.socket(socket.AF_UNIX).bind(OUT + "/socket")


for make in (sparse, holes, names, unreadable, odd, deep, flood):
    try:
        make()
        print(f"contained: {make.__name__} done; the collected results are checked", flush=True)
    except OSError as error:
        print(f"contained: {make.__name__}: {error.strerror}", flush=True)
try:
    os.chmod(OUT, 0o300)
except OSError as error:
    print(f"contained: hide the results: {error.strerror}", flush=True)

"""Talks to the host through abstract unix sockets, and leaves one behind."""

import json
import os
import socket

IN = os.environ.get("KERNELVAULT_IN", "/in")
with open(IN + "/host.json") as facts:
    HOST = json.load(facts)


def connect():
    with socket.socket(socket.AF_UNIX) as peer:
        peer.connect("\0" + HOST["abstract"])
        return peer.recv(20).decode(errors="replace")


def attempt(what, action):
    """Say whether `action`, which should be impossible, was done."""
    try:
        found = action()
    except OSError as error:
        print(f"contained: {what}: {error.strerror or error}", flush=True)
    else:
        detail = f" ({found})" if isinstance(found, str) else ""
        print(f"ESCAPED: {what}{detail}", flush=True)


attempt("connect to an abstract socket of the host", connect)
try:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind("\0kvattack-" + os.environ["KERNELVAULT_ATTACK_TAG"])
    listener.listen(1)
    print("contained: an abstract socket is open; the host is searched for it", flush=True)
except OSError as error:
    print(f"contained: open an abstract socket: {error.strerror}", flush=True)
if os.fork() == 0:
    os.setsid()
    import time

    time.sleep(60)

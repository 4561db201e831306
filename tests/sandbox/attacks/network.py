"""Connects to the host and to the network outside."""

import json
import os
import socket

IN = os.environ.get("KERNELVAULT_IN", "/in")
with open(IN + "/host.json") as facts:
    HOST = json.load(facts)


def connect(family, address):
    def action():
        with socket.socket(family, socket.SOCK_STREAM) as peer:
            peer.settimeout(2)
            peer.connect(address)
            return peer.recv(20).decode(errors="replace")

    return action


def route():
    # Connecting a datagram socket looks a route up and sends nothing.
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as peer:
        peer.connect(("192.0.2.1", 9))


def attempt(what, action):
    """Say whether `action`, which should be impossible, was done."""
    try:
        found = action()
    except OSError as error:
        print(f"contained: {what}: {error.strerror or error}", flush=True)
    else:
        detail = f" ({found})" if isinstance(found, str) else ""
        print(f"ESCAPED: {what}{detail}", flush=True)


attempt("connect to a service of the host", connect(socket.AF_INET, ("127.0.0.1", HOST["port"])))
attempt("the same over IPv6", connect(socket.AF_INET6, ("::ffff:127.0.0.1", HOST["port"])))
for path in ("/run/docker.sock", "/var/run/docker.sock", "/run/dbus/system_bus_socket"):
    attempt(f"connect to {path}", connect(socket.AF_UNIX, path))
attempt("find a route out", route)

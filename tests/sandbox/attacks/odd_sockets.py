"""Opens sockets of families that reach the hypervisor, the wire or the kernel's own services."""

import socket


def opened(family, kind, protocol=0):
    def action():
        socket.socket(family, kind, protocol).close()

    return action


def attempt(what, action):
    """Say whether `action`, which should be impossible, was done."""
    try:
        found = action()
    except OSError as error:
        print(f"contained: {what}: {error.strerror or error}", flush=True)
    else:
        detail = f" ({found})" if isinstance(found, str) else ""
        print(f"ESCAPED: {what}{detail}", flush=True)


attempt("a packet socket", opened(17, socket.SOCK_RAW))
attempt("a raw socket", opened(socket.AF_INET, socket.SOCK_RAW, 1))
attempt("a socket to the hypervisor (vsock)", opened(40, socket.SOCK_STREAM))
attempt("a socket to the kernel's ciphers (AF_ALG)", opened(38, socket.SOCK_SEQPACKET))
for name, protocol in (("netfilter", 12), ("audit", 9), ("crypto", 21), ("sock_diag", 4)):
    attempt(f"a netlink socket to {name}", opened(16, socket.SOCK_RAW, protocol))
for name, family in (("RDS", 21), ("TIPC", 30), ("CAN", 29), ("XDP", 44), ("Bluetooth", 31)):
    attempt(f"a {name} socket", opened(family, socket.SOCK_RAW))

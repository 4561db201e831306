"""Makes device nodes, and opens devices that lead out."""

import os

DEVICES = (
    "/dev/mem", "/dev/kmem", "/dev/port", "/dev/vda", "/dev/sda", "/dev/nvme0n1", "/dev/kvm",
    "/dev/fuse", "/dev/net/tun", "/dev/vhost-net", "/dev/vsock", "/dev/vhost-vsock", "/dev/uinput",
    "/dev/loop-control", "/dev/mapper/control", "/dev/cuse", "/dev/ppp", "/dev/hwrng",
)  # fmt: skip


def make(kind, major, minor):
    def action():
        path = "/tmp/kvattack-node"
        os.mknod(path, kind | 0o666, os.makedev(major, minor))
        try:
            os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
        finally:
            os.unlink(path)

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


attempt("make a memory device", make(0o020000, 1, 1))
attempt("make a disk device", make(0o060000, 254, 0))
for path in DEVICES:
    attempt(f"open {path}", lambda path=path: os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK)))

"""Makes new namespaces, in which it would have every right, and mounts in them."""

import ctypes
import os

LIBC = ctypes.CDLL(None, use_errno=True)


def checked(result):
    """The result of a C call; raises what it left in errno."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


USER, MOUNT, NET, PID, CLONE3 = 0x10000000, 0x20000, 0x40000000, 0x20000000, 435


def unshare(flags):
    return lambda: checked(LIBC.unshare(flags)) and None


def clone_user():
    arguments = (ctypes.c_uint64 * 11)(USER, 0, 0, 0, 17)
    if checked(LIBC.syscall(CLONE3, arguments, ctypes.c_size_t(88))) == 0:
        os._exit(0)


def clone_user_old():
    if checked(LIBC.syscall(56, ctypes.c_ulong(USER | 17), None, None, None, None)) == 0:
        os._exit(0)


def enter():
    where = os.open("/proc/1/ns/mnt", os.O_RDONLY)
    checked(LIBC.setns(where, 0))


def mount():
    checked(LIBC.mount(b"kvattack", b"/tmp", b"tmpfs", 0, None))


def new_mount():
    checked(LIBC.syscall(430, b"tmpfs", 0))  # fsopen


def remount_root():
    checked(LIBC.mount(None, b"/", None, 32 | 4096, None))  # a writable bind


def chroot():
    os.chroot("/tmp")


def in_child(what, action):
    """In a process of its own, since a success changes what the others see."""
    child = os.fork()
    if child == 0:
        attempt(what, action)
        os._exit(0)
    os.waitpid(child, 0)


def attempt(what, action):
    """Say whether `action`, which should be impossible, was done."""
    try:
        found = action()
    except OSError as error:
        print(f"contained: {what}: {error.strerror or error}", flush=True)
    else:
        detail = f" ({found})" if isinstance(found, str) else ""
        print(f"ESCAPED: {what}{detail}", flush=True)


in_child("a user namespace by unshare", unshare(USER))
in_child("user and mount namespaces by unshare", unshare(USER | MOUNT))
in_child("user and network namespaces by unshare", unshare(USER | NET))
in_child("a mount namespace", unshare(MOUNT))
in_child("a pid namespace", unshare(PID))
in_child("a user namespace by clone3", clone_user)
in_child("a user namespace by clone", clone_user_old)
in_child("enter the mount namespace of pid 1", enter)
in_child("mount a file system", mount)
in_child("open a file system to mount", new_mount)
in_child("make the root writable", remount_root)
in_child("change the root", chroot)

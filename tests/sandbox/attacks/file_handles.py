"""Opens files of the host by their number, past every mount (name_to_handle_at)."""

import ctypes
import os

LIBC = ctypes.CDLL(None, use_errno=True)


def checked(result):
    """The result of a C call; raises what it left in errno."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


class Handle(ctypes.Structure):
    _fields_ = (("size", ctypes.c_uint), ("kind", ctypes.c_int), ("data", ctypes.c_ubyte * 128))


def root_of_disk(folder):
    """The root of the file system below `folder`: inode 2 on ext, with no generation."""

    def action():
        mount = os.open(folder, os.O_RDONLY)
        handle = Handle(8, 1)
        handle.data[:8] = (2).to_bytes(4, "little") + bytes(4)
        os.close(checked(LIBC.open_by_handle_at(mount, ctypes.byref(handle), os.O_RDONLY)))

    return action


def own_file():
    """Opening even a file of its own needs the right to open any."""
    handle, mount = Handle(128), ctypes.c_int()
    where = os.open("/", os.O_RDONLY)
    checked(LIBC.name_to_handle_at(-100, b"/usr", ctypes.byref(handle), ctypes.byref(mount), 0))
    os.close(checked(LIBC.open_by_handle_at(where, ctypes.byref(handle), os.O_RDONLY)))


def attempt(what, action):
    """Say whether `action`, which should be impossible, was done."""
    try:
        found = action()
    except OSError as error:
        print(f"contained: {what}: {error.strerror or error}", flush=True)
    else:
        detail = f" ({found})" if isinstance(found, str) else ""
        print(f"ESCAPED: {what}{detail}", flush=True)


attempt("open a folder by handle", own_file)
for folder in ("/usr", "/in", "/etc/alternatives"):
    attempt(f"open the root of the disk behind {folder}", root_of_disk(folder))

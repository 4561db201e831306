"""Gains rights through setuid programs and ids."""

import ctypes
import os
import stat
import subprocess

LIBC = ctypes.CDLL(None, use_errno=True)


def checked(result):
    """The result of a C call; raises what it left in errno."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


OUT = os.environ.get("KERNELVAULT_OUT", "/out")
PROGRAMS = ("su", "mount", "passwd", "newgrp", "sudo", "pkexec", "newuidmap", "ping", "chsh")


def become_root():
    if os.geteuid() == 0:
        raise PermissionError(1, "root of this namespace already")
    os.setuid(0)


def drop_protection():
    if checked(LIBC.prctl(39, 0, 0, 0, 0)) == 1:  # PR_GET_NO_NEW_PRIVS
        raise PermissionError(1, "new privileges are off for good")


def have_capabilities():
    with open("/proc/self/status") as status:
        held = [line.split() for line in status if line.startswith(("CapEff", "CapPrm", "CapInh"))]
    if not any(int(value, 16) for _, value in held):
        raise PermissionError(1, "no capability is held")
    return " ".join(f"{name}{value}" for name, value in held)


def setuid_copy():
    """A setuid copy of a program: it would run as whoever owns it on the host."""
    path = OUT + "/kvattack-id"
    with open("/usr/bin/id", "rb") as source, open(path, "wb") as copy:
        copy.write(source.read())
    os.chmod(path, 0o6755)
    who = subprocess.run([path, "-u"], capture_output=True, text=True, check=False).stdout
    os.unlink(path)
    if who.strip() != "0" or os.getuid() == 0:
        raise PermissionError(1, "it runs as nobody else")


def attempt(what, action):
    """Say whether `action`, which should be impossible, was done."""
    try:
        found = action()
    except OSError as error:
        print(f"contained: {what}: {error.strerror or error}", flush=True)
    else:
        detail = f" ({found})" if isinstance(found, str) else ""
        print(f"ESCAPED: {what}{detail}", flush=True)


attempt("become root", become_root)
attempt("hold capabilities", have_capabilities)
attempt("allow new privileges", drop_protection)
attempt("run a setuid copy", setuid_copy)
for name in PROGRAMS:
    path = "/usr/bin/" + name
    if os.path.exists(path) and os.stat(path).st_mode & stat.S_ISUID and os.getuid() != 0:
        # `id` in place of what the program wants shows which rights it got.
        trial = f"import os; os.execv({path!r}, [{path!r}, '--version'])"
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.dup2(writer, 1)
            os.dup2(writer, 2)
            os.execv("/usr/bin/python3", ["python3", "-I", "-c", trial])
        os.close(writer)
        seen = 0
        for _ in range(2000):
            try:
                with open(f"/proc/{child}/status") as status:
                    seen |= any(x.startswith("Uid:") and x.split()[2] == "0" for x in status)
            except OSError:
                break
        os.waitpid(child, 0)
        os.close(reader)
        if seen:
            print(f"ESCAPED: {name} ran as root", flush=True)
        else:
            print(f"contained: {name} got no rights", flush=True)

"""Writes settings of the kernel; opening one for writing is proof, none is written."""

import os

PATHS = (
    "/proc/sysrq-trigger",
    "/proc/sys/kernel/core_pattern",
    "/proc/sys/kernel/modprobe",
    "/proc/sys/kernel/hostname",
    "/proc/sys/kernel/randomize_va_space",
    "/proc/sys/vm/overcommit_memory",
    "/proc/sys/vm/drop_caches",
    "/proc/sys/fs/binfmt_misc/register",
    "/proc/sys/user/max_user_namespaces",
    "/proc/sys/net/ipv4/ip_forward",
    "/proc/irq/default_smp_affinity",
    "/sys/kernel/uevent_helper",
    "/sys/kernel/mm/transparent_hugepage/enabled",
    "/sys/power/state",
    "/sys/kernel/debug/tracing/trace",
)


def opened(path):
    return lambda: os.close(os.open(path, os.O_WRONLY))


def spare_itself():
    """Have the kernel kill any process of the host, which has 0, first when memory runs out."""
    with open("/proc/self/oom_score_adj", "w") as score:
        score.write("-1")


def attempt(what, action):
    """Say whether `action`, which should be impossible, was done."""
    try:
        found = action()
    except OSError as error:
        print(f"contained: {what}: {error.strerror or error}", flush=True)
    else:
        detail = f" ({found})" if isinstance(found, str) else ""
        print(f"ESCAPED: {what}{detail}", flush=True)


for path in PATHS:
    attempt(f"open {path} for writing", opened(path))
attempt("be the last to be killed for memory", spare_itself)

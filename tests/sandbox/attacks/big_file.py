"""Writes result files far above the size limit, dense and sparse."""

import os
import signal

OUT = os.environ.get("KERNELVAULT_OUT", "/out")
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
try:
    with open(OUT + "/sparse.bin", "wb") as sparse:
        sparse.truncate(1 << 40)
    print("ESCAPED: made a sparse file of 1 TiB", flush=True)
except OSError as error:
    print(f"contained: sparse file: {error.strerror}", flush=True)
written = 0
try:
    with open(OUT + "/dense.bin", "wb", buffering=0) as dense:
        while written < 256:
            if dense.write(b"x" * (1 << 20)) < 1 << 20:
                continue  # the next write tells why
            written += 1
    print(f"ESCAPED: wrote {written} MiB of results", flush=True)
except OSError as error:
    print(f"contained: stopped at {written} MiB: {error.strerror}", flush=True)

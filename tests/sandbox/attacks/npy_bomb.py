"""Leaves arrays that break careless readers: huge shapes, pickled objects."""

import os

OUT = os.environ.get("KERNELVAULT_OUT", "/out")
# What `pickle` writes for a call of os.system: reading it is running it.
PICKLE = b"cos\nsystem\n(S'touch /tmp/kvattack-unpickled'\ntR."


def npy(header):
    text = header.ljust(117).encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


ARRAYS = {
    "huge": npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1099511627776,), }"),
    "negative": npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-1, -1), }"),
    "objects": npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }") + PICKLE,
    "code": npy("__import__('os').system('touch /tmp/kvattack-evaluated')"),
    "pickle": PICKLE,
    "empty": b"",
}
for name, data in ARRAYS.items():
    with open(f"{OUT}/{name}.npy", "wb") as file:
        file.write(data)
print("contained: left arrays; they are given to the readers of the product", flush=True)

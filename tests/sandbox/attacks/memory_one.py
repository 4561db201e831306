"""One process that takes all memory."""

MiB = 1 << 20
ENOUGH = 1280
held = []
try:
    while len(held) * 64 < ENOUGH:
        held.append(bytearray(b"x") * (64 * MiB))
    print(f"ESCAPED: one process holds {ENOUGH} MiB", flush=True)
except MemoryError:
    print("contained: no more memory is given", flush=True)

"""One process that takes all memory."""

MiB = 1 << 20
ENOUGH = 1280
held = []
while len(held) * 64 < ENOUGH:
    held.append(bytearray(b"x") * (64 * MiB))
print(f"ESCAPED: one process holds {ENOUGH} MiB", flush=True)

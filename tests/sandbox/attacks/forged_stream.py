"""Writes an archive of its own into every stream that could be the result's."""

import glob
import io
import os
import tarfile

buffer = io.BytesIO()
with tarfile.open(fileobj=buffer, mode="w") as archive:
    for name, data in (("forged.bin", b"forged"), ("kernelvault-times", b"0m0.0s 0m0.0s\n" * 2)):
        entry = tarfile.TarInfo(name)
        entry.size = len(data)
        archive.addfile(entry, io.BytesIO(data))
forged = buffer.getvalue()
HEADER = b'{"ended": "exited", "exit_code": 0, "files": {"forged.bin": 6}}\n'
own = {os.readlink("/proc/self/fd/1"), os.readlink("/proc/self/fd/2")}
sent = 0
for link in glob.glob("/proc/[0-9]*/fd/*"):
    try:
        target = os.readlink(link)
        if target in own or not target.startswith(("pipe:", "socket:", "anon_inode:", "/memfd:")):
            continue
        stream = os.open(link, os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        continue
    for data in (forged, HEADER):
        try:
            os.write(stream, data)
            sent += 1
        except OSError:
            continue
for number in range(3, 256):
    try:
        os.write(number, forged)
        sent += 1
    except OSError:
        continue
print(f"contained: {'wrote to' if sent else 'found no'} other streams; the result is checked")

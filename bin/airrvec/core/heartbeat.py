"""
Print every few seconds what another process does, until it ends.

A process of its own, because compiled code may hold the interpreter's lock for minutes, and threads stand
still meanwhile. `airrvec.core.progress` starts this file and writes lines to its standard input: the moment
at which a step began, by the monotonic clock, and the name of the step; or an empty line, if it has printed a
line itself. This file imports nothing but the standard library, so that it starts in 20 ms and takes 9 MB.
"""

import os
import select
import sys
import time

_READ = 1 << 16


def watch(every: float) -> None:
    """
    Read lines until the other process ends, and print one after ``every`` seconds without any.

    With 0 seconds, each step is printed once, when it begins or goes on.
    """
    current, rest, printed = b"", b"", time.monotonic()
    while True:
        wait = max(printed + every - time.monotonic(), 0) if current and every else None
        if select.select([0], [], [], wait)[0]:
            read = os.read(0, _READ)
            if not read:
                return
            *lines, rest = (rest + read).split(b"\n")
        else:
            lines = [current]
        for line in lines:
            if not line:
                printed = time.monotonic()
                continue
            current = line
            if time.monotonic() - printed >= every:
                printed = time.monotonic()
                _print(current, printed)


def _print(line: bytes, now: float) -> None:
    began, name = line.split(b"\t", 1)
    os.write(2, name + f": {now - float(began):,.0f} s\n".encode())


if __name__ == "__main__":
    watch(float(sys.argv[1]))

"""
Run a program and write what it used, as JSON: processor seconds, memory, seconds, exit status.

    python -I usage.py usage.json LIMIT_S PROGRAM ARGUMENTS…

This process imports little, because the kernel counts the memory of the process that starts a program as the
least memory of the program.
"""

import json
import os
import signal
import sys
import time


def main() -> None:
    path, limit, *command = sys.argv[1:]
    started = time.monotonic()
    child = os.posix_spawn(command[0], command, os.environ, setpgroup=0)
    late = []

    def stop(*_):
        late.append(True)
        os.killpg(child, signal.SIGKILL)

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(int(limit))
    _, status, used = os.wait4(child, 0)
    signal.alarm(0)
    usage = {
        "status": os.waitstatus_to_exitcode(status),
        "late": bool(late),
        "processor": used.ru_utime + used.ru_stime,  # of all threads and of children that it has waited for
        "memory": used.ru_maxrss / 1024,  # MB, of the process or of its largest child
        "wall": time.monotonic() - started,
    }
    with open(path, "w") as handle:
        json.dump(usage, handle)


if __name__ == "__main__":
    main()

"""A limit of processor time for the file that a separate process reads."""

import resource

# CPU time limit of a file: SECONDS, and one more per BYTES_A_SECOND. Files of scirpy need a hundredth of it.
SECONDS = 10
BYTES_A_SECOND = 1 << 20


def limit_time(n_bytes: int) -> None:
    """Limit the CPU time for a file by its size; on some damaged files HDF5 never ends."""
    used = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    seconds = int(used) + SECONDS + n_bytes // BYTES_A_SECOND
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    soft = seconds if hard == resource.RLIM_INFINITY else min(seconds, hard)
    resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))

"""Limits of the process that libraries do not survive; must be checked before they are imported."""

import resource

LEAST = 1_200_000_000  # bytes; with less, imports fail or do not end


def check_address_space() -> None:
    """
    Refuse a small limit of the address space.

    OpenBLAS 0.3.31 asks for memory again and again while it is loaded, and never ends if there is none.

    Raises
    ------
    MemoryError
        The limit is below `LEAST`.
    """
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit != resource.RLIM_INFINITY and limit < LEAST:
        raise MemoryError(
            f"the address space of a process is limited to {limit / 1e9:.1f} GB (ulimit -v), and numerical"
            f" libraries reserve {LEAST / 1e9:.1f} GB when they are loaded: raise the limit"
        )

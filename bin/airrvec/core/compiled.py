"""How numba compiles our functions."""

from functools import cache

from airrvec.core import environment

import numba
from numba.core import entrypoints

compiled = numba.njit(nogil=True, cache=True)
compiled_fast = numba.njit(nogil=True, cache=True, fastmath=True)
# Compiled separately, a function gives different last digits when freshly compiled and when cached.
inlined = numba.njit(nogil=True, forceinline=True)
inlined_fast = numba.njit(nogil=True, forceinline=True, fastmath=True)

# Our own code uses nothing that others add, and importing awkward takes .3 s.
_LEFT_OUT = environment.is_task() and not entrypoints._already_initialized


@cache
def extend_numba() -> None:
    """
    Register what other packages add to numba.

    numba does so at the first compilation, without a lock: what a second thread compiles meanwhile fails
    with a `KeyError`. So it is done when this module is imported; in a task, for a file of the user alone.
    """
    if _LEFT_OUT:
        entrypoints._already_initialized = False
    entrypoints.init_all()


if _LEFT_OUT:
    entrypoints._already_initialized = True
else:
    extend_numba()

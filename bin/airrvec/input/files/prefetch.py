"""An iterator that works ahead."""

import queue
import threading
from collections.abc import Iterator
from typing import TypeVar

Item = TypeVar("Item")

_END = object()


def prefetched(items: Iterator[Item], ahead: int = 2) -> Iterator[Item]:
    """
    The same items, made by a thread while the consumer works on those before.

    The thread ends before Python does, even if the consumer never takes the last item.

    Parameters
    ----------
    items : iterator
        What it raises is raised to the consumer, after the items before.
    ahead : int
        Items that may wait.
    """
    waiting: queue.Queue = queue.Queue(maxsize=ahead)
    stopped = threading.Event()

    def wanted() -> bool:
        return not stopped.is_set() and threading.main_thread().is_alive()

    def put(thing) -> None:
        while wanted():
            try:
                waiting.put(thing, timeout=0.1)
                return
            except queue.Full:
                continue

    def make() -> None:
        try:
            for item in items:
                put(item)
                if not wanted():
                    return
            put(_END)
        except BaseException as error:  # is raised again where it is seen
            put(error)

    # Python waits for it: a daemon would still read a file while Python takes itself down, and abort it.
    thread = threading.Thread(target=make, daemon=False)
    thread.start()
    try:
        while (thing := waiting.get()) is not _END:
            if isinstance(thing, BaseException):
                raise thing
            yield thing
    finally:
        stopped.set()
        thread.join()

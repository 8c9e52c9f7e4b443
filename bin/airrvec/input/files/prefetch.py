"""Iterator that works ahead in a thread."""

import queue
import threading
from collections.abc import Iterator
from typing import TypeVar

Item = TypeVar("Item")

_END = object()


def prefetch(items: Iterator[Item], ahead: int = 2) -> Iterator[Item]:
    """
    Yield the same items, made by a thread while the consumer works on earlier items.

    The thread ends before Python does, even if the consumer never takes the last item.

    Parameters
    ----------
    items : iterator
        Items to yield. An exception is raised in the consumer, after the items before it.
    ahead : int
        Maximum number of items that wait.
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
        except BaseException as error:  # raised again in the consumer
            put(error)

    # Python waits for this thread: a daemon could still read a file during shutdown and abort Python.
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

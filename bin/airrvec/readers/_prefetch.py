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

    Parameters
    ----------
    items : iterator
        What it raises is raised to the consumer, after the items before.
    ahead : int
        Items that may wait.
    """
    waiting: queue.Queue = queue.Queue(maxsize=ahead)
    stopped = threading.Event()

    def put(thing) -> None:
        while not stopped.is_set():
            try:
                waiting.put(thing, timeout=0.1)
                return
            except queue.Full:
                continue

    def make() -> None:
        try:
            for item in items:
                put(item)
                if stopped.is_set():
                    return
            put(_END)
        except BaseException as error:  # is raised again where it is seen
            put(error)

    thread = threading.Thread(target=make, daemon=True)
    thread.start()
    try:
        while (thing := waiting.get()) is not _END:
            if isinstance(thing, BaseException):
                raise thing
            yield thing
    finally:
        stopped.set()
        thread.join()

"""Processes for trainings, forked from one that has read torch, which takes longer than they do."""

import multiprocessing
import runpy
import sys
from multiprocessing.process import BaseProcess

_FORKED = multiprocessing.get_context("forkserver")
_FORKED.set_forkserver_preload(["lightning", "torch"])


def start(function, *args) -> BaseProcess:
    """Start a process that calls a function of a module of tests with one thread."""
    process = _FORKED.Process(target=_call, args=(function, *args))
    process.start()
    return process


def status(process: BaseProcess) -> int:
    """Wait, and return the exit status; -9 after a kill. pytest ends a test that hangs."""
    process.join()
    assert process.exitcode is not None
    return process.exitcode


def run_script(path: str, *args: str) -> None:
    """Run a script as a program."""
    sys.argv = [path, *args]
    runpy.run_path(path, run_name="__main__")


def _call(function, *args) -> None:
    import torch

    torch.set_num_threads(1)
    function(*args)

"""Cases that fail on purpose, for the tests of the fuzzer; none is drawn."""

import os
import time
from pathlib import Path

import numpy as np

from fuzz.corpus import Case


def check(case: Case, folder: Path) -> None:
    """Do what the file ``fault`` says, where it holds one of these words."""
    words = case.files["fault"]
    if b"abort" in words:
        os.abort()
    if b"exit" in words:
        os._exit(3)
    if b"hang" in words:
        time.sleep(3_600)
    if b"memory" in words:
        np.ones(2048 << 20, np.uint8)
    if b"outside" in words:
        (folder / "escaped").touch()
    if b"error" in words:
        raise ValueError("planted")

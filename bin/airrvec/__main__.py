"""Run ``python bin/airrvec embed …`` without installing airrvec."""

import sys
from pathlib import Path

if __package__ == "":  # run as a folder: sys.path[0] is the package itself, imports need its parent
    sys.path[0] = str(Path(__file__).parents[1])

from airrvec.app.cli import main

main()

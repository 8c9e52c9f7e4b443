"""``python bin/airrvec embed …``, where airrvec is not installed."""

import sys
from pathlib import Path

if __package__ == "":  # run as a folder: its modules are the package's, not the path's
    sys.path[0] = str(Path(__file__).parents[1])

from airrvec.app.cli import main

main()

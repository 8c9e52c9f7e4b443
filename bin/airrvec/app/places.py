"""Where the scripts are: next to the library in a checkout, and inside it once installed."""

import os
from pathlib import Path

_LIBRARY = Path(__file__).parents[1]
INSTALLED = (_LIBRARY / "scripts").is_dir()
SCRIPTS = _LIBRARY / "scripts" if INSTALLED else _LIBRARY.parent


def default_index() -> Path:
    """Return the index of runs that is used if none is named: of the environment, or of this folder."""
    return Path(os.environ.get("AIRRVEC_INDEX") or "airrvec_index")

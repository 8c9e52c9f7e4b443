"""JSON files that a user gives: presets, column maps, configurations of models."""

import json
from pathlib import Path

from airrvec.core.errors import InputError


def read_object(path: str | Path, what: str, fix: str | None = None) -> dict:
    """
    Read a JSON object.

    Parameters
    ----------
    path : str or Path
        The file, UTF-8.
    what : str
        What a message calls it, such as "the preset".
    fix : str, optional
        What the message says to do.

    Raises
    ------
    InputError
        If there is no such file, it is no valid JSON, is nested too deeply, holds half of a surrogate
        pair, or is no object.
    """
    path = Path(path)
    try:
        content = json.loads(path.read_text("utf-8-sig"))
        json.dumps(content, ensure_ascii=False, allow_nan=False).encode()
    except FileNotFoundError as error:
        raise InputError("there is no such file", file=path) from error
    except OSError as error:
        raise InputError(f"{what} cannot be read ({error.strerror})", file=path) from error
    except UnicodeEncodeError as error:
        problem = f"{what} holds half of a surrogate pair (such as \\ud800), which is no character"
        raise InputError(problem, file=path, fix=fix) from error
    except RecursionError as error:
        problem = f"{what} is no valid JSON (its lists or objects lie in each other too deeply)"
        raise InputError(problem, file=path, fix=fix) from error
    except ValueError as error:
        raise InputError(f"{what} is no valid JSON ({error})", file=path, fix=fix) from error
    if not isinstance(content, dict):
        raise InputError(f"{what} is no JSON object", file=path, fix=fix)
    return content

"""JSON files from the user: presets, column maps, model configurations."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from types import NoneType, UnionType
from typing import Literal, Union, get_args, get_origin, get_type_hints

from airrvec.core.errors import InputError, no_file


def read_object(path: str | Path, subject: str, fix: str | None = None) -> dict:
    """
    Read a JSON object.

    Parameters
    ----------
    path : str or Path
        The file, UTF-8.
    subject : str
        Name of the file in error messages, such as "the preset".
    fix : str, optional
        How to correct it, for error messages.

    Raises
    ------
    InputError
        If the file does not exist or cannot be read, is not valid JSON, is nested too deeply, holds half
        of a surrogate pair, or is not an object.
    """
    path = Path(path)
    try:
        content = json.loads(path.read_text("utf-8-sig"))
        json.dumps(content, ensure_ascii=False, allow_nan=False).encode()
    except (FileNotFoundError, IsADirectoryError) as error:
        raise no_file(path, fix) from error
    except OSError as error:
        raise InputError(f"{subject} cannot be read ({error.strerror})", file=path, fix=fix) from error
    except UnicodeEncodeError as error:
        problem = f"{subject} holds half of a surrogate pair (such as \\ud800), which is no character"
        raise InputError(problem, file=path, fix=fix) from error
    except RecursionError as error:
        problem = f"{subject} is not valid JSON (its lists or objects are nested too deeply)"
        raise InputError(problem, file=path, fix=fix) from error
    except ValueError as error:
        raise InputError(f"{subject} is not valid JSON ({error})", file=path, fix=fix) from error
    if not isinstance(content, dict):
        raise InputError(f"{subject} is not a JSON object", file=path, fix=fix)
    return content


def to_dataclass(kind: type, content: dict):
    """
    Return an instance of a data class, filled from a JSON object.

    Raises
    ------
    ValueError
        If a name is not a field, or a value does not have its field's type.
    """
    if not isinstance(content, dict):
        raise ValueError(f"{content!r} is not a JSON object")
    types = get_type_hints(kind)
    for name, value in content.items():
        if name not in types:
            raise ValueError(f"'{name}' is not one of {', '.join(types)}")
        if not _fits(value, types[name]):
            raise ValueError(f"{name} is {value!r}, not {_in_words(types[name])}")
    return kind(
        **{name: tuple(value) if isinstance(value, list) else value for name, value in content.items()}
    )


def _fits(value, expected) -> bool:
    """Return whether a JSON value has a type; true, false, NaN and infinity are not numbers."""
    parts = get_args(expected)
    if get_origin(expected) is Literal:
        return isinstance(value, str) and value in parts
    if get_origin(expected) in (Union, UnionType):
        return any(_fits(value, part) for part in parts)
    if get_origin(expected) is tuple:
        return isinstance(value, list | tuple) and all(_fits(item, parts[0]) for item in value)
    if expected is float:
        return type(value) in (int, float) and math.isfinite(value)
    return type(value) is expected


def _in_words(expected) -> str:
    """Return the name of a type for error messages."""
    parts = get_args(expected)
    if get_origin(expected) is Literal:
        return f"one of {', '.join(parts)}"
    if get_origin(expected) in (Union, UnionType):
        return " or ".join(_in_words(part) for part in parts if get_origin(part) is not Callable)
    if get_origin(expected) is tuple:
        return f"a list of {'numbers' if parts[0] is float else 'words'}"
    words = {int: "a whole number", float: "a number", bool: "true or false", str: "a word", NoneType: "null"}
    return words.get(expected, expected.__name__)

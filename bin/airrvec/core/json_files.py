"""JSON files that a user gives: presets, column maps, configurations of models."""

import json
import math
from pathlib import Path
from types import NoneType, UnionType
from typing import Literal, Union, get_args, get_origin, get_type_hints

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


def data_class(kind: type, content: dict):
    """
    Return a data class filled from a JSON object.

    Raises
    ------
    ValueError
        If the object holds a name that is no field, or a value that is not of its field's type.
    """
    if not isinstance(content, dict):
        raise ValueError(f"{content!r} is no JSON object")
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
    """Whether a JSON value is of a type; truth values, NaN and infinity are no numbers."""
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
    """A type, for a message."""
    parts = get_args(expected)
    if get_origin(expected) is Literal:
        return f"one of {', '.join(parts)}"
    if get_origin(expected) in (Union, UnionType):
        return " or ".join(_in_words(part) for part in parts)
    if get_origin(expected) is tuple:
        return "a list of words"
    words = {int: "a whole number", float: "a number", bool: "true or false", str: "a word", NoneType: "null"}
    return words.get(expected, expected.__name__)

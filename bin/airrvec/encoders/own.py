"""A user's own encoder: a Python file, and the check of all that it returns against the contract."""

import traceback
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from numbers import Integral, Real
from pathlib import Path

from airrvec.core import schema
from airrvec.core.errors import InputError
from airrvec.encoders.measurable import NotMeasurable

import numpy as np
import pyarrow as pa

METHODS = ("embed", "distances", "distance_rows")  # an encoder has one of these
CONTRACT = "The contract is in docs/guides/adding_an_encoder.md"
ROUNDING = 1e-4  # of the largest distance: more below zero, or between both directions, is no rounding
KINDS = {"U": "text", "S": "bytes", "O": "Python objects", "c": "complex numbers", "M": "dates", "m": "times"}


def load_file(path: Path) -> tuple["OwnEncoder", str]:
    """
    Return the encoder of a Python file, which is executed, and its title.

    Raises
    ------
    InputError
        If the file is missing, cannot be executed, or breaks the contract.
    """
    if not path.is_file():
        raise InputError(f"there is no file '{path}'", fix="Give the path of a Python file")
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None  # of a .py file
    assert spec.loader is not None
    module = module_from_spec(spec)
    _call(path, "the file", spec.loader.exec_module, module)
    for name in ("encoder", "TITLE"):
        if not hasattr(module, name):
            raise InputError(f"defines no {name}", file=path, fix=CONTRACT)
    if not isinstance(module.TITLE, str):
        raise InputError(f"TITLE is {_short(module.TITLE)}, and must be text", file=path, fix=CONTRACT)
    _require_callable(path, "encoder", module.encoder)
    encoder = _call(path, "encoder()", module.encoder)
    return _call(path, "what encoder() returned", OwnEncoder, encoder, path), module.TITLE or path.stem


class OwnEncoder:
    """
    A user's encoder, with the methods and attributes of the contract that it has.

    Whatever a method returns is checked; a breach of the contract is an `InputError` that names the file, the
    method and what it returned. `NotMeasurable` passes.

    Parameters
    ----------
    encoder : object
        What ``encoder()`` of the file returned.
    path : Path
        The file.
    """

    def __init__(self, encoder, path: Path):
        self._encoder, self._path, self._width = encoder, path, None
        methods = [name for name in METHODS if hasattr(encoder, name)]
        if not methods:
            raise self._breach(
                f"its encoder() has none of the methods {', '.join(METHODS)}: it is {_short(encoder)}"
            )
        for name in methods:
            _require_callable(path, name, getattr(encoder, name))
        for name, (is_valid, rule) in ATTRIBUTES.items():
            if hasattr(encoder, name):
                value = getattr(encoder, name)
                if not is_valid(value):
                    raise self._breach(f"{name} is {_short(value)}, and must be {rule}")
                setattr(self, name, value)
        # Callers ask which methods there are.
        if "embed" in methods:
            self.embed = self._embed
        if "distances" in methods:
            self.distances = self._distances
        if methods != ["embed"]:
            self.distance_rows = self._distance_rows

    def _embed(self, receptors: pa.Table) -> np.ndarray:
        vectors = self._numbers("embed()", self._encoder.embed, len(receptors), None, receptors)
        n_partial = np.isnan(vectors).any(axis=1).sum() - np.isnan(vectors).all(axis=1).sum()
        if n_partial:
            raise self._breach(
                f"embed() returned NaN beside numbers in {n_partial} of {len(vectors)} vectors; a receptor"
                " without a vector has NaN alone"
            )
        self._width = self._width or vectors.shape[1]
        if vectors.shape[1] != self._width:
            raise self._breach(
                f"embed() returned {vectors.shape[1]} dimensions, and {self._width} for other receptors"
            )
        return vectors

    def _distances(self, queries: pa.Table, references: pa.Table) -> np.ndarray:
        function = self._encoder.distances
        return self._checked_distances(
            "distances()", function, len(queries), len(references), queries, references
        )

    def _distance_rows(self, receptors: pa.Table) -> Callable[[np.ndarray], np.ndarray]:
        n = len(receptors)
        if hasattr(self._encoder, "distance_rows"):
            subject = "the function of distance_rows()"
            function = _call(self._path, "distance_rows()", self._encoder.distance_rows, receptors)
            if not callable(function):
                raise self._breach(f"distance_rows() returned {_short(function)}, and must return a function")
        else:
            subject = "distances()"

            def function(rows: np.ndarray) -> np.ndarray:
                return self._encoder.distances(receptors.take(pa.array(rows)), receptors)

        def rows_to_all(rows: np.ndarray) -> np.ndarray:
            distances = self._checked_distances(subject, function, len(rows), n, rows)
            among = distances[:, rows]
            if not np.allclose(among, among.T, rtol=1e-3, atol=ROUNDING * _largest(among), equal_nan=True):
                raise self._breach(
                    f"{subject} returned another distance from a receptor to a second one than from the"
                    " second to the first"
                )
            return distances

        return rows_to_all

    def _checked_distances(
        self, subject: str, function: Callable, n: int, n_columns: int, *args
    ) -> np.ndarray:
        distances = self._numbers(subject, function, n, n_columns, *args)
        if distances.size and np.nanmin(distances, initial=0) < -ROUNDING * _largest(distances):
            raise self._breach(
                f"{subject} returned negative distances, the least {np.nanmin(distances):.3g}; smaller is"
                " nearer, from 0 on"
            )
        return distances

    def _numbers(self, subject: str, function: Callable, n: int, n_columns: int | None, *args) -> np.ndarray:
        """Return what a method returns as an array of numbers, shape (n, n_columns); None: any but 0."""
        returned = _call(self._path, subject, function, *args)
        due = f"must return numbers in the shape ({n}, {n_columns or 'd'})"
        try:
            array = np.asarray(returned)
        except Exception as error:  # rows of several lengths, an array of another device
            raise self._breach(f"{subject} returned {_short(returned)}, and {due}") from error
        if array.dtype.kind not in "fiub":
            kind = KINDS.get(array.dtype.kind, "something else")
            raise self._breach(f"{subject} returned {kind} ({_short(returned)}), and {due}")
        if array.ndim != 2 or len(array) != n or array.shape[1] != (n_columns or array.shape[1]):
            raise self._breach(f"{subject} returned the shape {array.shape}, and {due}")
        if not array.shape[1] and n_columns is None:
            raise self._breach(f"{subject} returned vectors of no dimensions, and {due}, d from 1 on")
        if np.isinf(array).any():
            raise self._breach(f"{subject} returned infinite numbers, and {due}, or NaN")
        return array if array.dtype.kind == "f" else array.astype(np.float32)

    def _breach(self, problem: str) -> InputError:
        return InputError(problem, file=self._path, fix=CONTRACT)


def _call(path: Path, subject: str, function: Callable, *args):
    """Return what a function of the file returns; whatever ends it is one sentence with the file's line."""
    try:
        return function(*args)
    except (NotMeasurable, InputError, MemoryError):
        raise
    except SystemExit as error:
        problem = f"{subject} ends the program: sys.exit({'' if error.code is None else repr(error.code)})"
        raise InputError(problem + _line(error, path), file=path, fix=CONTRACT) from error
    except Exception as error:
        problem = f"{subject} fails with {type(error).__name__}: {str(error).rstrip('.')}"
        raise InputError(problem + _line(error, path), file=path, fix="Mend the file") from error


def _line(error: BaseException, path: Path) -> str:
    """Return the last line of the file in an error's traceback, in words; nothing if there is none."""
    own = str(path.absolute())
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == own]
    return f" (line {frames[-1].lineno})" if frames else ""


def _require_callable(path: Path, name: str, value: object) -> None:
    if not callable(value):
        raise InputError(f"{name} is {_short(value)}, and must be a function", file=path, fix=CONTRACT)


def _short(value: object) -> str:
    """Return a value in a few words: its type, and its content if this is short."""
    if value is None:
        return "None"
    shown = repr(value) if isinstance(value, str | Real | list | tuple) else ""
    return f"the {type(value).__name__} {shown}" if 0 < len(shown) <= 60 else f"a {type(value).__name__}"


def _largest(distances: np.ndarray) -> float:
    return float(np.nanmax(np.abs(distances), initial=0))


def _are_columns(value: object) -> bool:
    return isinstance(value, list | tuple) and all(name in schema.RECEPTORS.names for name in value)


# Optional attribute → whether a value is valid, and what it must be.
ATTRIBUTES: dict[str, tuple[Callable[[object], bool], str]] = {
    "needs": (_are_columns, "a tuple of columns of receptors, such as ('tra_v_call',)"),
    "kernel": (
        lambda value: value is None or (isinstance(value, Real) and 0 < value < np.inf),
        "a number above 0, or None",
    ),
    "n_parameters": (lambda value: isinstance(value, Integral) and value >= 0, "a whole number from 0 on"),
}

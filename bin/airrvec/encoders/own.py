"""A user's own encoder: a Python file, and the check of all that it returns against the contract."""

from collections.abc import Callable
from numbers import Integral, Real
from pathlib import Path

from airrvec.core import schema
from airrvec.core.own_code import OwnCode, short
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
    code = OwnCode(path, CONTRACT, passing=(NotMeasurable,))
    module = code.module()
    code.require(module, "encoder", "TITLE")
    title = code.title(module)
    code.require_callable("encoder", module.encoder)
    encoder = code.call("encoder()", module.encoder)
    return code.call("what encoder() returned", OwnEncoder, encoder, code), title


class OwnEncoder:
    """
    A user's encoder, with the methods and attributes of the contract that it has.

    Whatever a method returns is checked; a breach of the contract is an `InputError` that names the file, the
    method and what it returned. `NotMeasurable` passes.

    Parameters
    ----------
    encoder : object
        What ``encoder()`` of the file returned.
    code : OwnCode
        The file.
    """

    def __init__(self, encoder, code: OwnCode):
        self._encoder, self._code, self._width = encoder, code, None
        methods = [name for name in METHODS if hasattr(encoder, name)]
        if not methods:
            raise self._code.breach(
                f"its encoder() has none of the methods {', '.join(METHODS)}: it is {short(encoder)}"
            )
        for name in methods:
            code.require_callable(name, getattr(encoder, name))
        for name, (is_valid, rule) in ATTRIBUTES.items():
            if hasattr(encoder, name):
                value = getattr(encoder, name)
                if not is_valid(value):
                    raise self._code.breach(f"{name} is {short(value)}, and must be {rule}")
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
            raise self._code.breach(
                f"embed() returned NaN beside numbers in {n_partial} of {len(vectors)} vectors; a receptor"
                " without a vector has NaN alone"
            )
        self._width = self._width or vectors.shape[1]
        if vectors.shape[1] != self._width:
            raise self._code.breach(
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
            function = self._code.call("distance_rows()", self._encoder.distance_rows, receptors)
            if not callable(function):
                problem = f"distance_rows() returned {short(function)}, and must return a function"
                raise self._code.breach(problem)
        else:
            subject = "distances()"

            def function(rows: np.ndarray) -> np.ndarray:
                return self._encoder.distances(receptors.take(pa.array(rows)), receptors)

        def rows_to_all(rows: np.ndarray) -> np.ndarray:
            distances = self._checked_distances(subject, function, len(rows), n, rows)
            among = distances[:, rows]
            if not np.allclose(among, among.T, rtol=1e-3, atol=ROUNDING * _largest(among), equal_nan=True):
                raise self._code.breach(
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
            raise self._code.breach(
                f"{subject} returned negative distances, the least {np.nanmin(distances):.3g}; smaller is"
                " nearer, from 0 on"
            )
        return distances

    def _numbers(self, subject: str, function: Callable, n: int, n_columns: int | None, *args) -> np.ndarray:
        """Return what a method returns as an array of numbers, shape (n, n_columns); None: any but 0."""
        returned = self._code.call(subject, function, *args)
        due = f"must return numbers in the shape ({n}, {n_columns or 'd'})"
        try:
            array = np.asarray(returned)
        except Exception as error:  # rows of several lengths, an array of another device
            raise self._code.breach(f"{subject} returned {short(returned)}, and {due}") from error
        if array.dtype.kind not in "fiub":
            kind = KINDS.get(array.dtype.kind, "something else")
            raise self._code.breach(f"{subject} returned {kind} ({short(returned)}), and {due}")
        if array.ndim != 2 or len(array) != n or array.shape[1] != (n_columns or array.shape[1]):
            raise self._code.breach(f"{subject} returned the shape {array.shape}, and {due}")
        if not array.shape[1] and n_columns is None:
            raise self._code.breach(f"{subject} returned vectors of no dimensions, and {due}, d from 1 on")
        if np.isinf(array).any():
            raise self._code.breach(f"{subject} returned infinite numbers, and {due}, or NaN")
        return array if array.dtype.kind == "f" else array.astype(np.float32)


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

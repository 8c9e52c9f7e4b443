"""Tables of notebooks: data frames in and out, and their vectors."""

import re
import warnings
from dataclasses import dataclass
from typing import Any

from airrvec.core import schema
from airrvec.core.errors import InputError, kind
from airrvec.core.terminal import counted
from airrvec.core.vectors import ATTRIBUTE, VectorModel, check_same_model

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

# Whole numbers and flags, which would become floats and objects if one is missing.
_NULLABLE = {pa.int64(): pd.Int64Dtype(), pa.int32(): pd.Int32Dtype(), pa.bool_(): pd.BooleanDtype()}
# What pandas infers from objects → type.
_INFERRED = {"boolean": "boolean", "integer": "Int64"}


def from_table(table: pa.Table) -> pd.DataFrame:
    """Return a table of airrvec as a DataFrame."""
    return savable(table.to_pandas(types_mapper=_NULLABLE.get))


def savable(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a DataFrame with the types of this module; columns of further types, such as dates, stay."""
    columns = {number: column(values) for number, (_, values) in enumerate(frame.items())}
    result = pd.DataFrame(columns, index=frame.index).set_axis(frame.columns, axis=1)
    result.attrs = dict(frame.attrs)
    return result


def column(values: pd.Series) -> pd.Series:
    """Return a column with one of the types of this module, if it is text, numbers or flags."""
    if values.dtype == object:
        inferred = pd.api.types.infer_dtype(values, skipna=True)
        if inferred in ("string", "empty"):
            return _text(values)
        return column(values.astype(_INFERRED[inferred])) if inferred in _INFERRED else values
    if isinstance(values.dtype, pd.StringDtype):
        return _text(values)
    numpy_dtype: Any = getattr(values.dtype, "numpy_dtype", None)  # of nullable types; the stubs lack it
    if isinstance(values.dtype, pd.Float32Dtype | pd.Float64Dtype):
        return values.astype(numpy_dtype)
    if numpy_dtype is not None and values.dtype.kind in "iub" and values.notna().all():
        return values.astype(numpy_dtype)
    return values


def _text(values: pd.Series) -> pd.Series:
    return values.astype("string" if values.isna().any() else object)


# --- Vectors in DataFrames, whose model pandas may have lost

_DIMENSION = re.compile(r"dim_\d{2,}")
FIX = "Give vectors as airrvec.embed returns them"


@dataclass(frozen=True)
class FrameVectors:
    """
    Vectors of a DataFrame.

    Attributes
    ----------
    role : str
        What they are, for messages: queries or references.
    matrix : ndarray of float32, shape (n, d)
        NaN in rows without a vector.
    model : VectorModel or None
        Their model; None if the DataFrame does not name it.
    """

    role: str
    matrix: NDArray[np.float32]
    model: VectorModel | None


def read(frame: pd.DataFrame, role: str) -> FrameVectors:
    """
    Return the vectors of a DataFrame.

    Raises
    ------
    InputError
        If it is no DataFrame, or has no columns of numbers, or not as many as the model that it names has
        dimensions.
    """
    if not isinstance(frame, pd.DataFrame):
        raise InputError(f"the {role} are {kind(frame)}, not a DataFrame", fix=FIX)
    names = [name for name in frame if isinstance(name, str) and _DIMENSION.fullmatch(name)]
    columns = schema.dimensions(len(names)) if names else [name for name in frame if name != "chains"]
    missing = [name for name in columns if name not in frame]
    if missing:
        raise InputError(f"the {role} have no column '{missing[0]}', but later ones, or one twice", fix=FIX)
    if not columns:
        raise InputError(f"the {role} have no columns with vectors", fix=FIX)
    for name in columns:
        types = pd.api.types
        if not types.is_numeric_dtype(frame[name]) or types.is_bool_dtype(frame[name]):
            raise InputError(f"the column '{name}' of the {role} holds no numbers", fix=FIX)
    matrix = frame[columns].to_numpy(np.float32, na_value=np.nan)
    model = VectorModel.read(frame.attrs.get(ATTRIBUTE))
    if model and model.dimensions != len(columns):
        width = counted(len(columns), "dimension")
        raise InputError(f"the {role} have {width}, which is not that of their model {model}", fix=FIX)
    return FrameVectors(role, matrix, model)


def check_comparable(queries: FrameVectors, references: FrameVectors) -> None:
    """
    Warn if one of the models is not known.

    Raises
    ------
    InputError
        If the models or the widths differ.
    """
    if queries.model and references.model:
        check_same_model("the queries", queries.model, "those of the references", references.model)
        return
    widths = [part.matrix.shape[1] for part in (queries, references)]
    if widths[0] != widths[1]:
        problem = f"the queries have {counted(widths[0], 'dimension')}, the references {widths[1]}"
        raise InputError(f"{problem}: vectors of two models cannot be compared")
    unknown = " and the ".join(part.role for part in (queries, references) if part.model is None)
    warnings.warn(
        f"the {unknown} do not name their model (attrs['{ATTRIBUTE}'], which merge and concat of pandas"
        " drop): nothing shows that queries and references are vectors of one model",
        stacklevel=3,
    )

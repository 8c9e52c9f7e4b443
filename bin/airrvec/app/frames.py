"""
DataFrames whose columns pandas, Parquet, AnnData, MuData and R keep.

HDF5 has no text without a value, AnnData no nullable floats, and Arrow takes objects without a value for
nulls of no type, also in a part of a table. A complete column has a type of NumPy, one with missing values a
type of pandas that knows them:

- text: objects; ``string`` if one is missing,
- whole numbers and flags: ``int64`` and ``bool``; ``Int64`` and ``boolean`` if one is missing,
- other numbers: ``float32`` and ``float64``, NaN where they are missing.
"""

import pandas as pd
import pyarrow as pa

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
    found = pd.DataFrame(columns, index=frame.index).set_axis(frame.columns, axis=1)
    found.attrs = dict(frame.attrs)
    return found


def column(values: pd.Series) -> pd.Series:
    """Return a column with one of the types of this module, if it is text, numbers or flags."""
    if values.dtype == object:
        inferred = pd.api.types.infer_dtype(values, skipna=True)
        if inferred in ("string", "empty"):
            return _text(values)
        return column(values.astype(_INFERRED[inferred])) if inferred in _INFERRED else values
    if isinstance(values.dtype, pd.StringDtype):
        return _text(values)
    if isinstance(values.dtype, pd.Float32Dtype | pd.Float64Dtype):
        return values.astype(values.dtype.numpy_dtype)
    is_nullable = hasattr(values.dtype, "numpy_dtype") and values.dtype.kind in "iub"
    if is_nullable and values.notna().all():
        return values.astype(values.dtype.numpy_dtype)
    return values


def _text(values: pd.Series) -> pd.Series:
    return values.astype("string" if values.isna().any() else object)

"""Changes of JSON, Parquet and HDF5."""

import contextlib
import io
import json
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq

from fuzz.mutations import WORDS

_VALUES = json.loads(
    """[null, true, false, 0, -1, 3, 2.5, 1e300, NaN, Infinity, 1000000000000000000000000000000,
    "", "NA", "true", [], {}, [[]], [null], {"a": 1}, [{"annotations": 3}], {"annotations": []},
    "\\ud800", "\\u0000", "CASSIRSSYEQYF", "TRBV19*01"]"""
)


def changed_json(document, random: Random):
    """A copy of a document of which some values or names are others."""
    document = json.loads(json.dumps(document))
    for _ in range(random.choice([1, 1, 2, 4])):
        places = list(_places(document))
        if not places:
            return random.choice(_VALUES)
        parent, key = random.choice(places)
        way = random.randrange(6)
        if way <= 1:
            parent[key] = _copy(random.choice([*_VALUES, *WORDS]))
        elif way == 2:
            del parent[key]
        elif way == 3 and isinstance(parent, list):
            parent.insert(random.randrange(len(parent) + 1), _copy(parent[key]))
        elif way == 3:
            parent[random.choice(["row", "annotations", "Clone", "", "x", key.upper()])] = parent.pop(key)
        elif way == 4:
            other, name = random.choice(places)
            if name in other if isinstance(other, dict) else name < len(other):
                parent[key] = _copy(other[name])
        else:
            for _ in range(random.choice([1, 2, 2_000 if random.random() < 0.02 else 3])):
                parent[key] = random.choice([[parent[key]], {"a": parent[key]}])
    return document


def _copy(value):
    """A copy of a value; of one that is nested too deeply for `json`, an empty list."""
    try:
        return json.loads(json.dumps(value))
    except RecursionError:
        return []


def json_bytes(document, random: Random) -> bytes:
    """A document as text, spelled in one of JSON's ways; once in a while with a number of 5,000 digits."""
    try:
        text = json.dumps(document, indent=random.choice([None, 1]), ensure_ascii=random.random() < 0.5)
    except RecursionError:
        text = "[" * 100_000
    if random.random() < 0.01:
        text = text.replace("3", "3" * 5_000, 1)
    return text.encode(errors="surrogatepass")


def _places(document):
    """Each value inside of a document, as what holds it and its name or number."""
    waiting = [document]
    while waiting:
        value = waiting.pop()
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            yield value, key
            if isinstance(value[key], dict | list):
                waiting.append(value[key])


# --- Parquet

_WORDS_AS = [pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(), pa.binary(3)]
_NUMBERS_AS = [
    pa.bool_(),
    pa.int8(),
    pa.int64(),
    pa.uint64(),
    pa.float32(),
    pa.float64(),
    pa.decimal128(12, 2),
]
_TIMES_AS = [pa.date32(), pa.timestamp("ns"), pa.duration("s"), pa.time64("us")]
_CATEGORIES_AS = [pa.dictionary(pa.int32(), pa.string()), pa.dictionary(pa.int8(), pa.float64())]
_NESTED_AS = [pa.list_(pa.string()), pa.struct([("a", pa.string())]), pa.map_(pa.string(), pa.int8())]
_TYPES = [*_WORDS_AS, *_NUMBERS_AS, *_TIMES_AS, *_CATEGORIES_AS, *_NESTED_AS, pa.null()]


def changed_parquet(content: bytes, random: Random) -> bytes:
    """A Parquet file with columns of other types, names or values, in other row groups."""
    table = pq.read_table(io.BytesIO(content))
    for _ in range(random.choice([1, 1, 2, 4])):
        i = random.randrange(table.num_columns)
        name, way = table.column_names[i], random.randrange(6)
        if way <= 1:
            values = table[i].to_pylist()
            table = table.set_column(i, name, _retyped(values, random.choice(_TYPES)))
        elif way == 2:
            words = [random.choice([value, value, random.choice(WORDS)]) for value in table[i].to_pylist()]
            table = table.set_column(
                i, name, pa.array([None if word is None else str(word) for word in words])
            )
        elif way == 3:
            table = table.append_column(random.choice([name, "row", "x", ""]), table[i])
        elif way == 4 and table.num_columns > 1:
            table = table.remove_column(i)
        else:
            rows = random.choices(range(len(table)), k=random.choice([0, 1, 5, 40])) if len(table) else []
            with contextlib.suppress(pa.ArrowNotImplementedError):  # of string_view
                table = table.take(pa.array(rows, pa.int64()))
    out = io.BytesIO()
    compression = random.choice(["snappy", "zstd", "gzip", "none"])
    try:
        pq.write_table(table, out, row_group_size=random.choice([1, 3, 1000]), compression=compression)
    except pa.ArrowException:
        return content
    return out.getvalue()


def _retyped(values: list, dtype: pa.DataType) -> pa.Array:
    """Values as another type where that can be, else nulls and zeros of the type."""
    words = pa.array([None if value is None else str(value) for value in values], pa.string())
    try:
        return words.cast(dtype)
    except pa.ArrowException:
        pass
    zero = {pa.lib.Type_LIST: [["a"]], pa.lib.Type_STRUCT: [{"a": "b"}], pa.lib.Type_MAP: [[("a", 1)]]}
    one = zero.get(dtype.id, [None])
    return pa.array([one[0] if value is not None else None for value in values], dtype)


# --- HDF5


def changed_hdf5(content: bytes, random: Random) -> bytes:
    """An HDF5 file with a group, data set or attribute removed, renamed, or replaced."""
    import h5py

    out = io.BytesIO(content)
    with h5py.File(out, "r+") as file:
        for _ in range(random.choice([1, 1, 2, 4])):
            names = []
            file.visit(names.append)
            if not names:
                break
            name, way = random.choice(names), random.randrange(5)
            if way == 0:
                del file[name]
            elif way == 1:
                file.move(name, f"{name}_")
            elif way == 2 and isinstance(file[name], h5py.Dataset):
                del file[name]
                file[name] = random.choice(
                    [[1, 2, 3], [-1], [10**15], 5, "word", [1.5], b"\xff", [[1, 2], [3, 4]]]
                )
            elif way == 3 and len(file[name].attrs):
                attribute = random.choice(sorted(file[name].attrs))
                file[name].attrs[attribute] = random.choice(["array", "dataframe", "x", 3, [1, 2], ""])
            elif way == 4 and len(file[name].attrs):
                del file[name].attrs[random.choice(sorted(file[name].attrs))]
    return out.getvalue()

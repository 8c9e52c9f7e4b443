"""The file of columns that base R reads, read by hand; tests/r reads it with R."""

import struct

from airrvec.core import table_parts

import numpy as np
import pyarrow as pa
import pytest


class Reader:
    """What R's readBin reads."""

    def __init__(self, content: bytes):
        self.content, self.at = content, 0

    def text(self, n: int = 1) -> list[str]:
        found = []
        for _ in range(n):
            end = self.content.index(b"\0", self.at)
            found.append(self.content[self.at : end].decode())
            self.at = end + 1
        return found

    def numbers(self, n: int, kind: str = "i") -> list:
        size = struct.calcsize(f"<{kind}")
        values = struct.unpack_from(f"<{n}{kind}", self.content, self.at)
        self.at += n * size
        return list(values)


NA = -(2**31)


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        (pa.array(["a", None, "ß\t\n", "a"]), "character", (["a", "ß\t\n"], [1, NA, 2, 1])),
        (pa.array(["x\0y", "", "", ""]), "character", (["x\ufffdy", ""], [1, 2, 2, 2])),
        (pa.array([None] * 4, pa.string()), "character", ([], [NA] * 4)),
        (pa.array([1, None, 2**31 - 1, -5]), "integer", [1, NA, 2**31 - 1, -5]),
        (pa.array([None] * 4, pa.int32()), "integer", [NA] * 4),
        (pa.array([True, None, False, True]), "logical", [1, NA, 0, 1]),
        (pa.array([1, None, 2**31, 3]), "double", [1.0, np.nan, 2.0**31, 3.0]),
        (pa.array([0.1, None, 1e300, -1.0]), "double", [0.1, np.nan, 1e300, -1.0]),
    ],
)
def test_every_value_is_there(values, kind, expected, tmp_path):
    vectors = pa.table({"dim_01": pa.array([0.5, None, 1, -2], pa.float32()), "dim_02": pa.array([1.0] * 4)})
    names = ["c1", "c2", "zellé", "c4"]
    columns = pa.table({"é": pa.chunked_array([values.slice(0, 1), values.slice(1)])})
    table_parts.write(tmp_path / "x.bin", columns, names, vectors, {"model": "sceptr"})
    reader = Reader((tmp_path / "x.bin").read_bytes())
    assert reader.text() == ["airrvec columns 1"]
    assert reader.numbers(4) == [4, 1, 2, 1]
    assert reader.text(2) == ["é", kind]
    if kind == "character":
        levels = reader.text(reader.numbers(1)[0])
        assert (levels, reader.numbers(4)) == expected
    else:
        np.testing.assert_array_equal(reader.numbers(4, "d" if kind == "double" else "i"), expected)
    assert reader.text(4) == names
    assert reader.text(2) == ["dim_01", "dim_02"]
    np.testing.assert_array_equal(reader.numbers(8, "f"), [0.5, np.nan, 1, -2, 1, 1, 1, 1])
    assert reader.text(2) == ["model", "sceptr"]
    assert reader.at == len(reader.content)

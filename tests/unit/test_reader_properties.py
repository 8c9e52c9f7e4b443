"""Whatever the order of a table, and whatever is missing or broken: the same receptors, or one sentence."""

import bz2
import csv
import gzip
import json
import random
import re
from collections import Counter

from airrvec.core.errors import InputError
from airrvec.input import reading

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from inputs import DATA, assert_conserved, chains_of, normalised, normalised_text, text

TEXTS = sorted(path.name for path in DATA.glob("*.[ct]sv"))
FILES = sorted({*TEXTS, *(path.name for path in DATA.iterdir())} - {"README.md", "reference_vectors.parquet"})
# Columns without which other chains are paired, or chains are kept that their flags reject.
DECIDING = re.compile(
    "sample|productive|is_cell|high_confidence|frame_type|sequencestatus|putative|cell_id|tagvaluecell|species"
    "|organism|reads|umis|count|templates|ties|allele|resolved|gene|family|chains?$|locus|secondary|row|best[vj]hit",
    re.IGNORECASE,
)
few = settings(
    max_examples=8,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    derandomize=True,
)


class Table:
    """A table of tests/data, taken apart."""

    def __init__(self, name: str):
        self.reader = reading.FORMATS[reading.open_chains(DATA / name).format]
        self.delimiter = "," if name.endswith(".csv") else "\t"
        lines = [line for line in (DATA / name).read_text().splitlines() if not line.startswith("##")]
        rows = list(csv.reader(lines, delimiter=self.delimiter))
        n_header = 2 if name == "iedb.csv" else 1
        self.header, self.rows = rows[:n_header], rows[n_header:]
        self.names = [" ".join(cells) for cells in zip(*self.header, strict=True)]
        self.needed = {column for layout in self.reader.LAYOUTS for column in layout}

    def written(self, columns: list[int], rows: list[int], extra: str | None = None) -> str:
        """The table with some columns and rows in some order, and a further column before the others."""
        lines = [*self.header, *(self.rows[row] for row in rows)]
        if getattr(self.reader, "CLOSED", False):  # another column would make it another table
            extra = None
        picked = [[*([] if extra is None else [extra]), *(line[i] for i in columns)] for line in lines]
        return text(picked[0], picked[1:], self.delimiter)


def receptors_in(result) -> set:
    """Distinct receptors, whatever their order and the cells that have them."""
    return set(chains_of(result))


@pytest.mark.parametrize("name", TEXTS)
def test_order_and_further_columns_do_not_matter(name, tmp_path):
    table, whole = Table(name), normalised(DATA / name)
    n_columns, n_rows = len(table.names), len(table.rows)

    @few
    @given(
        st.permutations(range(n_columns)),
        st.permutations(range(n_rows)),
        st.none() | st.text('ab ,"é', max_size=4),
    )
    def check(columns, rows, extra):
        result = normalised_text(tmp_path / "x", table.written(columns, rows, extra))
        assert receptors_in(result) == receptors_in(whole)
        assert Counter(chains_of(result)) == Counter(chains_of(whole))
        assert result.counts["reject_reasons"] == whole.counts["reject_reasons"]
        assert_conserved(result, n_rows)

    check()


@pytest.mark.parametrize("name", TEXTS)
def test_an_optional_column_may_be_missing(name, tmp_path):
    table, whole = Table(name), normalised(DATA / name)
    n_columns, n_rows = len(table.names), len(table.rows)
    for left_out, column in enumerate(table.names):
        if any(column in layout for layout in table.reader.LAYOUTS):
            continue
        columns = [number for number in range(n_columns) if number != left_out]
        result = normalised_text(tmp_path / "x", table.written(columns, range(n_rows)))
        assert_conserved(result, n_rows)
        if not DECIDING.search(column):
            assert receptors_in(result) == receptors_in(whole), column


# What each deciding column decides, where it is missing: the receptors that come (+) or go (-).
DECIDED = {
    ("10x.csv", "productive"): "more",
    ("10x.csv", "is_cell"): "same",
    ("10x.csv", "high_confidence"): "same",
    ("airr_single_cell.tsv", "productive"): "more",
    ("airr_single_cell.tsv", "cell_id"): "other",
    ("immunoseq.tsv", "frame_type"): "more",
    ("bd.csv", "Productive"): "same",
}


@pytest.mark.parametrize(("name", "column"), DECIDED)
def test_what_a_deciding_column_decides(name, column, tmp_path):
    table, whole = Table(name), normalised(DATA / name)
    columns = [number for number, other in enumerate(table.names) if other != column]
    result = normalised_text(tmp_path / "x", table.written(columns, range(len(table.rows))))
    found, expected = receptors_in(result), receptors_in(whole)
    assert result.counts["rows_out"] >= whole.counts["rows_out"]
    reasons = {
        reason for reason in whole.counts["reject_reasons"] if reason not in result.counts["reject_reasons"]
    }
    assert reasons or column == "cell_id"
    assert {"more": found >= expected, "same": found == expected, "other": found != expected}[
        DECIDED[name, column]
    ]


# --- The same of records and of Parquet.


@pytest.mark.parametrize("name", ["10x_contigs.json", "airr_clones.json"])
def test_order_of_records_and_of_their_fields_does_not_matter(name, tmp_path):
    document = json.loads((DATA / name).read_text())
    records, whole = document if isinstance(document, list) else document["Clone"], normalised(DATA / name)

    @few
    @given(st.randoms(use_true_random=False))
    def check(seed):
        shuffled = [
            {"extra": [1], **dict(seed.sample(sorted(record.items()), len(record)))}
            for record in seed.sample(records, len(records))
        ]
        content = json.dumps(shuffled if isinstance(document, list) else {"Clone": shuffled})
        result = normalised_text(tmp_path / "x", content)
        assert Counter(chains_of(result)) == Counter(chains_of(whole))
        assert_conserved(result, len(records))

    check()


def test_order_of_parquet_does_not_matter(tmp_path):
    table, whole = pq.read_table(DATA / "sceptr.parquet"), normalised(DATA / "sceptr.parquet")

    @few
    @given(st.permutations(range(table.num_columns)), st.permutations(range(len(table))), st.integers(1, 3))
    def check(columns, rows, row_group_size):
        shuffled = (
            table.select(list(columns)).take(list(rows)).append_column("n", pa.array([[1]] * len(table)))
        )
        pq.write_table(shuffled, tmp_path / "x", row_group_size=row_group_size)
        result = normalised(tmp_path / "x")
        assert Counter(chains_of(result)) == Counter(chains_of(whole))
        assert_conserved(result, len(table))

    check()


# --- Broken bytes


def broken(content: bytes, seed: random.Random) -> bytes:
    """The bytes with some of them flipped, put in, taken out, or with their end cut off."""
    changed = bytearray(content)
    for _ in range(seed.randint(1, 4)):
        at = seed.randrange(len(changed))
        way = seed.randrange(5)
        if way == 0:
            changed[at] ^= 1 << seed.randrange(8)
        elif way == 1:
            changed[at:at] = seed.randbytes(seed.randint(1, 20))
        elif way == 2:
            del changed[at : at + seed.randint(1, 20)]
        elif way == 3:
            changed[at:at] = seed.choice([b'"', b"\t", b",", b"\n", b"\r", b"\0", b"{", b"]", b"\xff\xfe"])
        elif at:
            del changed[at:]
    return bytes(changed)


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress], ids=["plain", "gzip", "bzip2"])
@pytest.mark.parametrize("name", FILES)
def test_broken_bytes_are_read_or_refused(name, pack, tmp_path):
    content = (DATA / name).read_bytes()

    @settings(few, max_examples=6)
    @given(st.integers(0, 2**32), st.booleans())
    def check(number, packed_first):
        seed = random.Random(number)  # noqa: S311 - no secret
        bad = broken(pack(content), seed) if packed_first else pack(broken(content, seed))
        try:
            result = normalised_text(tmp_path / "x", bad)
        except InputError:
            return
        assert_conserved(result, result.counts["rows_in"])

    check()

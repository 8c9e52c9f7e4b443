"""What a row is and what a table counts: by format and columns, and by the samplesheet."""

from airrvec.app import indexing
from airrvec.core import schema
from airrvec.core.errors import InputError
from airrvec.input import reading
from airrvec.input.formats.registry import FORMATS
from airrvec.input.normalise import normalise
from airrvec.input.units import DeclaredUnit

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from format_tables import columns_of
from inputs import ALPHA, BETA, BETA_2, DATA, SHARED, needs_shared, normalised, sceptr_row, text

AIRR = ("cell_id", "v_call", "j_call", "junction_aa", "umi_count", "read_count")
BULK = [(None, *BETA, 5, 900), (None, *BETA_2, 1, 7)]


def units(result) -> tuple:
    """Unit of a row, unit of the counts, and abundances."""
    assert set(result.cells["count_unit"].to_pylist()) == {result.counts["count_unit"]}
    abundances = [abundance for (abundance,) in columns_of(result, "abundance")]
    assert result.counts["abundance"] == sum(filter(None, abundances))
    return result.counts["row_unit"], result.counts["count_unit"], abundances


def read(path, content: str, row: str | None = None, count: str | None = None, format=None):
    path.write_text(content)
    source = reading.open_chains(path, format, unit=DeclaredUnit(row, count))
    return normalise(source, sample_id="s", species="homosapiens")


@needs_shared
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("paired_clonotypes_10x.csv", ("clonotype", "cells", [120, 20, 10])),
        ("paired_clones_conga.tsv", ("clonotype", "cells", [120, 20])),
        ("mixcr_cell_groups.clones.tsv", ("clonotype", "cells", [12, 1])),
        ("mixcr_clone.groups_TRAD.tsv", ("clonotype", "cells", [12, 12])),
        ("mixcr_plate.clones.tsv", ("chain", "cells", [1, 1])),
        ("counts_as_java_writes_mixcr.tsv", ("clonotype", "reads", [12_345_678, 1_250])),
        ("counts_partly_empty_airr.tsv", ("clonotype", "copies", [40, None])),
        ("immunoseq_templates_partly_empty.tsv", ("clonotype", "templates", [40, None])),
        ("tirtl_pairs.tsv", ("pair", "pairs", [1, 1])),
        ("umi_tie_10x.csv", ("chain", "cells", [1])),
        ("umi_tie_airr.tsv", ("chain", "cells", [1])),
        ("parse_read_support_multiplet.tsv", ("cell", "cells", [1])),
    ],
)
def test_cases(name, expected):
    assert units(normalised(SHARED / "cases" / name)) == expected


@pytest.mark.parametrize(
    ("name", "row", "count"),
    [
        ("10x.csv", "chain", "cells"),
        ("bd_cells.csv", "cell", "cells"),
        ("immunarch.tsv", "clonotype", "cells"),
        ("tcrdist.csv", "clonotype", "cells"),
        ("tcrdist_beta.csv", "clonotype", "copies"),
        ("scirpy.h5ad", "cell", "cells"),
        ("trust4.tsv", "cell", "cells"),
        ("vdjdb_full.tsv", "pair", "pairs"),
        ("vdjtools.tsv", "clonotype", "copies"),
    ],
)
def test_formats(name, row, count):
    assert units(normalised(DATA / name))[:2] == (row, count)


def test_every_format_says_what_its_row_is():
    assert {reader.ROW for reader in FORMATS.values()} <= set(schema.ROW_UNITS)


def test_a_chain_without_a_cell_is_a_clonotype_and_counts_its_umis(tmp_path):
    assert units(read(tmp_path / "a", text(AIRR, BULK))) == ("clonotype", "UMIs", [5, 1])
    cells = [("x", *row[1:]) for row in BULK]
    assert units(read(tmp_path / "a", text(AIRR, cells[:1]))) == ("chain", "cells", [1])
    assert units(read(tmp_path / "a", text(AIRR[:4], [row[:4] for row in BULK]))) == ("chain", "rows", [1, 1])


def test_a_count_that_is_missing_is_told_and_counts_nothing(tmp_path):
    result = read(tmp_path / "a", text(AIRR, [BULK[0], (None, *BETA_2, None, 7)]))
    assert units(result) == ("clonotype", "UMIs", [5, None])
    assert any("1 row of cells has no count" in warning for warning in result.counts["warnings"])


def test_a_number_that_no_sequencer_counts_is_no_abundance(tmp_path):
    result = read(tmp_path / "a", text(AIRR, [BULK[0], (None, *BETA_2, 2**62, 7)]))
    assert units(result) == ("clonotype", "UMIs", [5, None])


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (("clonotype", None), ("clonotype", "UMIs", [5, 1])),
        (("cell", None), ("cell", "cells", [1, 1])),
        (("pair", None), ("pair", "pairs", [1, 1])),
        ((None, "reads"), ("clonotype", "reads", [900, 7])),
        ((None, "rows"), ("clonotype", "rows", [1, 1])),
    ],
)
def test_the_samplesheet_overrides_what_is_found(given, expected, tmp_path):
    assert units(read(tmp_path / "a", text(AIRR, BULK), *given)) == expected


def test_a_clonotype_whose_chains_have_rows_of_their_own_has_one_count(tmp_path):
    content = text(AIRR, [("c", *ALPHA, 7, 90), ("c", *BETA, 7, 90), ("d", *BETA_2, 2, 9)])
    assert units(read(tmp_path / "a", content)) == ("chain", "cells", [1, 1])
    assert units(read(tmp_path / "a", content, "chain")) == ("chain", "cells", [1, 1])
    assert units(read(tmp_path / "a", content, "clonotype")) == ("clonotype", "UMIs", [7, 2])
    assert units(read(tmp_path / "a", content, None, "UMIs")) == ("chain", "UMIs", [14, 2])


def test_copies_have_the_unit_that_is_given(tmp_path):
    content = text(("count", "cdr3aa", "v", "j"), [(9, BETA[2], BETA[0], BETA[1])])
    assert units(read(tmp_path / "a", content)) == ("clonotype", "copies", [9])
    assert units(read(tmp_path / "a", content, None, "cells")) == ("clonotype", "cells", [9])


def test_a_unit_that_the_table_does_not_count_is_an_error(tmp_path):
    message = "count_unit is templates, and no column of the table counts templates. Its counts: umi_count"
    with pytest.raises(InputError, match=message):
        read(tmp_path / "a", text(AIRR, BULK), None, "templates")
    with pytest.raises(InputError, match="It has no count: leave count_unit empty"):
        read(tmp_path / "a", text(AIRR[:4], [BULK[0][:4]]), None, "reads")


def test_a_plain_pair_is_a_cell_if_it_has_a_name_and_a_clonotype_if_it_has_a_count(tmp_path):
    names = ("TRAV", "CDR3A", "TRAJ", "TRBV", "CDR3B", "TRBJ")
    pair = sceptr_row(ALPHA, BETA)[:6]
    assert units(read(tmp_path / "a", text(names, [pair]))) == ("pair", "pairs", [1])
    both = read(tmp_path / "a", text((*names, "cell_id", "duplicate_count"), [[*pair, "c", 7]]))
    assert units(both) == ("cell", "cells", [1])
    counted = read(tmp_path / "a", text((*names, "duplicate_count"), [[*pair, 7]]))
    assert units(counted) == ("clonotype", "copies", [7])


def test_a_group_of_cells_without_their_number_is_no_cell(tmp_path):
    names = (
        "cloneId",
        "cellGroup",
        "uniqueMoleculeCount",
        "allVHitsWithScore",
        "allJHitsWithScore",
        "aaSeqCDR3",
    )
    rows = [
        (number, 0, 40, f"{v}*00(5)", f"{j}*00(5)", cdr3) for number, (v, j, cdr3) in enumerate((ALPHA, BETA))
    ]
    assert units(read(tmp_path / "a", text(names, rows)))[:2] == ("clonotype", "rows")


def test_the_index_counts_the_cells_of_a_clonotype_and_rows_of_other_tables():
    pair = {"abundance": [120, 20], "count_unit": ["cells"] * 2}
    assert indexing._n_cells(pa.table(pair)).tolist() == [120, 20]
    assert indexing._n_cells(pa.table(pair | {"count_unit": ["UMIs"] * 2})).tolist() == [1, 1]
    assert indexing._n_cells(pa.table({"receptor_id": ["a"]})).tolist() == [1]


def test_small_row_groups_have_the_unit_of_the_table(tmp_path):
    """The first two rows have no count."""
    rows = [(None, *BETA, None), (None, *BETA_2, None), (None, *BETA, 5)]
    table = pa.table([pa.array(column) for column in zip(*rows, strict=True)], names=AIRR[:5])
    pq.write_table(table, tmp_path / "x.parquet", row_group_size=1)
    assert units(normalised(tmp_path / "x.parquet")) == ("clonotype", "UMIs", [None, None, 5])


@pytest.mark.parametrize("end", ["", "\n"])
def test_the_last_line_counts_for_the_unit_with_and_without_its_end(end, tmp_path):
    both = [f"{alpha};{beta}" for alpha, beta in zip(ALPHA, BETA_2, strict=True)]
    table = text(("Clones", "V.name", "J.name", "CDR3.aa"), [(3, *BETA), (2, *both)])
    read_as = units(read(tmp_path / "x", table.rstrip("\n") + end))
    assert read_as == ("clonotype", "cells", [3, 2])

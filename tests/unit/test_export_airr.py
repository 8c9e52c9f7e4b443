"""Cells as an AIRR table, read again by airr's own library and by our reader."""

import csv
import tempfile
from pathlib import Path

from airrvec.core import schema, tables

import airr
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inputs import (
    ALPHA,
    ALPHA_2,
    BETA,
    BETA_2,
    DATA,
    NO_CHAIN,
    SCEPTR_COLUMNS,
    chains_table,
    normalised,
    normalised_text,
    receptor_id,
    sceptr_row,
    text,
)

import export_airr

NO_INPUTS = ("README.md", "reference_vectors.parquet")
TABLES = sorted(path.name for path in DATA.iterdir() if path.name not in NO_INPUTS)
KEPT = ("receptor_id", "duplicate_count", "umi_count", *schema.LABELS)


def exported(folder: Path, cells: pa.Table, chains: pa.Table) -> Path:
    """The AIRR table of some cells, which airr's library has found valid."""
    tables.write(cells, folder / "cells.parquet")
    tables.write(chains, folder / "chains.parquet")
    out = folder / "out.tsv"
    arguments = [
        "--cells",
        folder / "cells.parquet",
        "--chains",
        folder / "chains.parquet",
        "--out",
        out,
    ]
    export_airr.main([str(argument) for argument in arguments])
    assert airr.validate_rearrangement(str(out))
    return out


def rows_of(path: Path) -> list[dict]:
    with path.open(newline="") as handle:
        return list(csv.DictReader(handle, delimiter="\t"))


def assert_same_cells(path: Path, cells: pa.Table) -> None:
    """What our reader makes of the table is the cells, in their order; ids are unique."""
    again = normalised(path, "airr", species="homosapiens")
    assert again.cells.select(KEPT).equals(cells.select(KEPT))
    assert again.counts["rows_rejected"] == 0
    sequence_ids = [chain["sequence_id"] for chain in rows_of(path)]
    assert len(set(sequence_ids)) == len(sequence_ids) == again.counts["chains_out"]


@pytest.mark.parametrize("policy", ["top", "split", "drop"])
@pytest.mark.parametrize("name", TABLES)
def test_every_table_comes_back(name, policy, tmp_path):
    result = normalised(DATA / name, multichain=policy)
    assert_same_cells(exported(tmp_path, result.cells, result.chains), result.cells)


RECEPTORS = {
    receptor_id(*fields): fields
    for fields in (
        ("homosapiens", *ALPHA, *BETA),
        ("homosapiens", *ALPHA_2, *BETA_2),
        ("homosapiens", *ALPHA_2, *NO_CHAIN),
        ("homosapiens", *NO_CHAIN, None, None, "CASSEGTEAFF"),
        ("musmusculus", *NO_CHAIN, "TRBV13-2*01", "TRBJ2-1*01", "CASGEQFF"),
    )
}
NAMES = ("a", "a_2", "a__2", "a_2_2", "s_1", "s_2", 'x"y', "tab\there", "TRUE", "#1", "ß, 'z'")
COUNTS = st.none() | st.integers(0, 10**12)


def cells_table(rows) -> pa.Table:
    """Cells of sample ``s``, with metadata of names that the export uses otherwise."""
    cells = [
        {
            "sample_id": "s",
            "cell_id": cell_id,
            "receptor_id": receptor,
            "duplicate_count": reads,
            "umi_count": umis,
        }
        for cell_id, receptor, reads, umis in rows
    ]
    table = pa.Table.from_pylist(cells, schema.CELLS)
    for name in ("n_samples", "locus", "tra_v_call", "cell", "repeat"):
        table = table.append_column(name, pa.array(["metadata"] * len(cells)))
    return table


def receptors_table() -> pa.Table:
    fields = ("species", *schema.RECEPTOR_FIELDS)
    rows = [
        {"receptor_id": key, **dict(zip(fields, values, strict=True))} for key, values in RECEPTORS.items()
    ]
    return pa.Table.from_pylist(rows, schema.RECEPTORS)


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(st.none() | st.sampled_from(NAMES), st.sampled_from(sorted(RECEPTORS)), COUNTS, COUNTS),
        min_size=1,
        max_size=12,
    )
)
def test_cells_come_back_whatever_their_names(rows):
    with tempfile.TemporaryDirectory() as folder:
        cells = cells_table(rows)
        assert_same_cells(exported(Path(folder), cells, chains_table(cells, receptors_table())), cells)


PAIR = receptor_id("homosapiens", *ALPHA, *BETA)
ALPHA_ALONE = receptor_id("homosapiens", *ALPHA_2, *NO_CHAIN)


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        (["a", "b"], ["a", "b"]),
        (["a", "a", "b", "a"], ["a", "a_2", "b", "a_3"]),
        ([None, "a", None], ["s_1", "a", "s_3"]),
        # A name that the input gives is never another cell's.
        (["a", "a", "a_2"], ["a", "a__2", "a_2"]),
        (["a", "a", "a_2", "a__2"], ["a", "a___2", "a_2", "a__2"]),
        ([None, "s_1"], ["s_1_2", "s_1"]),
    ],
)
def test_cell_ids_are_unique(ids, expected, tmp_path):
    cells = cells_table([(cell_id, PAIR, None, None) for cell_id in ids])
    chains = rows_of(exported(tmp_path, cells, chains_table(cells, receptors_table())))
    assert [chain["cell_id"] for chain in chains] == [name for name in expected for _ in schema.LOCI]
    assert [chain["sequence_id"] for chain in chains] == [
        f"{name}_{locus}" for name in expected for locus in schema.LOCI
    ]


def clonotype_of(*fields) -> str:
    return receptor_id("homosapiens", *((field or "").split("*")[0] for field in fields))


def test_every_column(tmp_path):
    rows = [sceptr_row(ALPHA, BETA, "E1"), sceptr_row(alpha=ALPHA_2, epitope='say "E2"')]
    result = normalised_text(tmp_path / "in.tsv", text(SCEPTR_COLUMNS, rows))
    cells = cells_table([("c1", PAIR, 7, None), (None, ALPHA_ALONE, 3, 2)])
    cells = cells.set_column(
        cells.schema.get_field_index("epitope"), "epitope", result.cells["epitope"].combine_chunks()
    )
    kept = {
        "junction": ["TGTGCC", "TGTAGC", None],
        "rev_comp": ["True", "f", "?"],
        "c_call": ["TRAC", None, None],
        "consensus_count": [5, None, 6],
    }
    path = exported(tmp_path, cells, chains_table(cells, result.receptors, kept))
    chains = rows_of(path)
    required = airr.schema.RearrangementSchema.required
    ids = ["species", "receptor_id", "clonotype_id"]
    own = ["locus", "cell_id", "duplicate_count", "umi_count", "consensus_count", "c_call", "clone_id"]
    own += [*ids, *schema.LABELS]
    assert list(chains[0]) == [*required, *own]
    filled = [{name: value for name, value in chain.items() if value} for chain in chains]
    shared = {"productive": "T", "species": "homosapiens"}
    of_pair = {"receptor_id": PAIR, "clonotype_id": clonotype_of(*ALPHA, *BETA)}
    first = {**shared, "cell_id": "c1", **of_pair, "epitope": "E1"}
    assert filled == [
        {
            **first,
            "sequence_id": "c1_TRA",
            "locus": "TRA",
            "duplicate_count": "7",
            "consensus_count": "5",
            "c_call": "TRAC",
            "junction": "TGTGCC",
            "rev_comp": "T",
            **dict(zip(schema.CHAIN_FIELDS, ALPHA, strict=True)),
        },
        {
            **first,
            "sequence_id": "c1_TRB",
            "locus": "TRB",
            "junction": "TGTAGC",
            "rev_comp": "F",
            **dict(zip(schema.CHAIN_FIELDS, BETA, strict=True)),
        },
        {
            **shared,
            "sequence_id": "s_2_TRA",
            "locus": "TRA",
            "duplicate_count": "3",
            "umi_count": "2",
            "consensus_count": "6",
            "receptor_id": ALPHA_ALONE,
            "clonotype_id": clonotype_of(*ALPHA_2, *NO_CHAIN),
            "epitope": 'say "E2"',
            **dict(zip(schema.CHAIN_FIELDS, ALPHA_2, strict=True)),
        },
    ]


def test_the_species_of_a_chain_counts_before_that_of_the_command(tmp_path):
    header = ["v_call", "j_call", "junction_aa", "species"]
    rows = [
        ["TRBV13-2*01", "TRBJ2-1*01", "CASGEQFF", "Mus musculus"],
        [*BETA, None],
        [*BETA, "Macaca mulatta"],
    ]
    result = normalised_text(tmp_path / "in.tsv", text(header, rows))
    assert result.receptors["species"].to_pylist() == ["musmusculus", "homosapiens"]
    assert result.rejects["reason"].to_pylist() == ["the species is not one that airrvec reads"]

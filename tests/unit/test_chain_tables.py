"""The table of chains: the fields of the input beside the standardised ones, and counts that add up."""

from collections import Counter
from itertools import product

from airrvec.core import schema, tables
from airrvec.input import pairing

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from inputs import ALPHA, ALPHA_2, BETA, DATA, ROOT, SHARED, needs_shared, normalised, normalised_text, text

import normalise_receptors

FILES = sorted(path.name for path in DATA.iterdir() if path.name[:9] not in ("README.md", "reference"))
COUNTS = ("duplicate_count", "umi_count")
# The genetic code in the order T, C, A, G.
CODONS = {
    "".join(codon): residue
    for codon, residue in zip(
        product("TCAG", repeat=3),
        "FFLLSSSSYY**CC*WLLLLPPPPHHQQRRRRIIIMTTTTNNKKSSRRVVVVAAAADDEEGGGG",
        strict=True,
    )
}


@pytest.mark.parametrize("policy", pairing.POLICIES)
@pytest.mark.parametrize("name", FILES)
def test_chains_are_those_of_the_cells(name, policy):
    result = normalised(DATA / name, multichain=policy)
    assert result.chains.schema == schema.CHAINS
    receptors = {receptor["receptor_id"]: receptor for receptor in result.receptors.to_pylist()}
    expected = []
    for number, cell in enumerate(result.cells.to_pylist(), start=1):
        receptor = receptors[cell["receptor_id"]]
        for locus in schema.LOCI:
            fields = {f: receptor[schema.field(locus, f)] for f in schema.CHAIN_FIELDS}
            fields |= {schema.raw(f): cell[schema.raw(schema.field(locus, f))] for f in schema.CHAIN_FIELDS}
            if fields["junction_aa"]:
                of_cell = ("sample_id", "cell_id", "receptor_id", "clonotype_id", "species")
                expected.append(
                    {**{f: cell[f] for f in of_cell}, "cell_row": number, "locus": locus, **fields}
                )
    found = result.chains.to_pylist()
    assert [{f: chain[f] for f in wanted} for chain, wanted in zip(found, expected, strict=True)] == expected
    for count in COUNTS:
        sums, known = Counter(), set()
        for chain in found:
            if chain[count] is not None:
                sums[chain["cell_row"]] += chain[count]
                known.add(chain["cell_row"])
        of_cells = [sums[n] if n in known else None for n in range(1, len(result.cells) + 1)]
        assert of_cells == result.cells[count].to_pylist()


@needs_shared
def test_nucleotides_of_10x_are_those_of_the_junction():
    path = SHARED / "formats/10x_pbmc3_filtered_contig_annotations.csv.gz"
    chains = normalised(path).chains.to_pandas()
    contigs = pd.read_csv(path, na_values=["None"], keep_default_na=False).iloc[chains["row"] - 1]
    contigs = contigs.reset_index(drop=True).astype(object).where(lambda frame: frame.notna(), None)
    assert len(chains) == 2871
    names = {
        "cell_id": "barcode",
        "sequence_id": "contig_id",
        "d_call": "d_gene",
        "c_call": "c_gene",
        "junction": "cdr3_nt",
        "clone_id": "raw_clonotype_id",
        "v_call_raw": "v_gene",
        "umi_count": "umis",
        "duplicate_count": "reads",
    }
    for field, column in names.items():
        assert chains[field].tolist() == contigs[column].tolist(), field
    codons = chains["junction"].map(lambda nt: [nt[at : at + 3] for at in range(0, len(nt), 3)])
    assert codons.map(lambda triplets: "".join(map(CODONS.get, triplets))).equals(chains["junction_aa"])


def test_fields_of_airr_are_kept_as_given(tmp_path):
    kept = {
        "sequence_id": ["s1", "s2"],
        "sequence": ["ACGT", "TTTT"],
        "rev_comp": ["F", "T"],
        "d_call": [None, "TRBD1*01"],
        "c_call": ["TRAC", "TRBC2*01"],
        "junction": ["TGT", "TGC"],
        "clone_id": ["k1", "k1"],
        "sequence_alignment": ["AC..GT", "TT..TT"],
        "germline_alignment": ["AC..NN", "TT..NN"],
        "v_cigar": ["4=", "3=1X"],
        "d_cigar": [None, "2="],
        "j_cigar": ["1=", "5="],
    }
    assert set(kept) == set(schema.KEPT_FIELDS)
    counts = {"duplicate_count": [100, 200], "umi_count": [5, 8], "consensus_count": [7, 9]}
    header = ["cell_id", "productive", *schema.CHAIN_FIELDS, *kept, *counts]
    values = zip(*kept.values(), *counts.values(), strict=True)
    rows = [
        ["c1", flag, *chain, *fields]
        for flag, chain, fields in zip(("T", None), (ALPHA, BETA), values, strict=True)
    ]
    # A row that repeats another, and one that is rejected, have no chain here.
    rows += [rows[0], ["c2", "F", *ALPHA_2, *[None] * (len(header) - 5)]]
    result = normalised_text(tmp_path / "in.tsv", text(header, rows))
    assert len(result.cells) == 1
    for name, expected in {**kept, **counts, "productive": [True, None], "row": [1, 2]}.items():
        assert result.chains[name].to_pylist() == expected, name


def test_rows_that_differ_only_in_kept_fields_repeat_each_other(tmp_path):
    header = ["cell_id", "sequence_id", *schema.CHAIN_FIELDS, "junction"]
    rows = [["c1", "s1", *ALPHA, "TGT"], ["c1", "s1", *ALPHA, "TGC"]]
    result = normalised_text(tmp_path / "in.tsv", text(header, rows))
    assert result.rejects["reason"].to_pylist() == [pairing.DUPLICATE_ROW]
    assert result.chains["junction"].to_pylist() == ["TGT"]


@pytest.mark.parametrize(
    ("name", "field", "expected"),
    [
        ("trust4.tsv", "c_call", ["TRAC", "TRBC1", "TRBC2"]),
        ("trust4.tsv", "junction", ["TGT"] * 3),
        ("mixcr.tsv", "junction", ["TGT", "TGT"]),
        ("vdjtools.tsv", "d_call", [None, "TRBD1"]),
    ],
)
def test_fields_of_other_formats(name, field, expected):
    assert normalised(DATA / name).chains[field].to_pylist()[: len(expected)] == expected


def test_cells_are_counted_through_all_parts(tmp_path, monkeypatch):
    """A bulk table comes in parts, whose cells are those of one table."""
    table = ROOT / "assets/demo/dash_human.csv"
    monkeypatch.setattr(pairing, "BATCH", 7)
    normalise_receptors.main([str(table), "--sample", "s", "--outdir", str(tmp_path)])
    chains, cells = tables.read(tmp_path / "s.chains.parquet"), tables.read(tmp_path / "s.cells.parquet")
    rows = chains["cell_row"].to_numpy()
    assert np.array_equal(np.unique(rows), np.arange(1, len(cells) + 1))
    assert chains["receptor_id"].equals(cells["receptor_id"].take(pa.array(rows - 1)))
    result = normalised(table)
    parts = [pairing.with_cells(_first(result.chains, n), result.cells.slice(n), n) for n in (0, 5)]
    assert parts[1].equals(parts[0].filter(pa.array(rows > 5)))


def _first(chains: pa.Table, n: int) -> pa.Table:
    """Chains of the cells after the first ``n``, as `chain_tables.chains_of_cells` numbers them."""
    part = chains.filter(pa.array(chains["cell_row"].to_numpy() > n))
    row = part.column_names.index("cell_row")
    return part.set_column(row, "cell_row", pa.array(part["cell_row"].to_numpy() - n))

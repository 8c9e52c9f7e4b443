"""Hand-written inputs, and what the tests of the input side ask of them."""

import csv
import hashlib
import io
from functools import cache
from pathlib import Path

from airrvec.core import identity, schema
from airrvec.evaluation import fewshot
from airrvec.input import reading
from airrvec.input.normalise import Normalised, normalise
from airrvec.synthetic.synthesis import synthesise

import numpy as np
import pyarrow as pa
import pytest

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests/data"
SHARED = ROOT.parent / "shared/data"
needs_shared = pytest.mark.skipif(
    not (SHARED / "formats").is_dir(), reason="../shared/data/formats is not on this machine"
)
needs_vdjdb = pytest.mark.skipif(
    not (SHARED / "vdjdb").is_dir(), reason="../shared/data/vdjdb is not on this machine"
)

CHAIN_COLUMNS = tuple(
    f"{locus}_{name}" for locus in ("tra", "trb") for name in ("v_call", "j_call", "junction_aa")
)

# Two α and two β chains: V gene, J gene, junction.
ALPHA = ("TRAV1-1*01", "TRAJ24*01", "CAVRDSWGKLQF")
ALPHA_2 = ("TRAV12-2*01", "TRAJ31*01", "CAVNNNARLMF")
BETA = ("TRBV2*01", "TRBJ1-1*01", "CASSEGTEAFF")
BETA_2 = ("TRBV20-1*01", "TRBJ2-7*01", "CSARDSYEQYF")
NO_CHAIN = (None, None, None)
PAIR = (*ALPHA, *BETA)

SCEPTR_COLUMNS = ("TRAV", "CDR3A", "TRAJ", "TRBV", "CDR3B", "TRBJ", "Epitope")


def sceptr_row(alpha=NO_CHAIN, beta=NO_CHAIN, epitope=None) -> list:
    """A row of the six-column table, whose order is V, CDR3, J."""
    return [alpha[0], alpha[2], alpha[1], beta[0], beta[2], beta[1], epitope]


def text(columns, rows, delimiter="\t", newline="\n") -> str:
    """A delimited table, quoted where it has to be; None is empty."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator=newline)
    writer.writerow(columns)
    writer.writerows(rows)
    return out.getvalue()


def chains_table(cells: pa.Table, receptors: pa.Table, kept: dict[str, list] | None = None) -> pa.Table:
    """The chains of cells that no table gave; the first chain of a cell has its counts."""
    by_id = {receptor["receptor_id"]: receptor for receptor in receptors.to_pylist()}
    rows = []
    for number, cell in enumerate(cells.to_pylist(), start=1):
        receptor = by_id[cell["receptor_id"]]
        own = {name: cell.get(name) for name in ("sample_id", "cell_id", "receptor_id")}
        own |= {name: receptor.get(name) for name in ("species", "clonotype_id")}
        counts = {name: cell.get(name) for name in ("duplicate_count", "umi_count")}
        for locus in schema.LOCI:
            fields = {name: receptor.get(schema.field(locus, name)) for name in schema.CHAIN_FIELDS}
            if fields["junction_aa"] is not None:
                rows.append({**own, "cell_row": number, "row": number, "locus": locus, **fields, **counts})
                counts = {}
    for name, values in (kept or {}).items():
        for row, value in zip(rows, values, strict=True):
            row[name] = value
    return pa.Table.from_pylist(rows, schema.CHAINS)


def normalised(path, format=None, **options) -> Normalised:
    """Read and normalise a file, as sample ``s`` of a human."""
    options = {"sample_id": "s", "species": "homosapiens", **options}
    return normalise(reading.open_chains(path, format), **options)


def normalised_text(path: Path, content: str | bytes, format=None, **options) -> Normalised:
    """Write the content to the path, and normalise it."""
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return normalised(path, format, **options)


def cells_with_chains(result: Normalised) -> list[dict]:
    """Cells in their order, each with the chains of its receptor."""
    receptors = {receptor["receptor_id"]: receptor for receptor in result.receptors.to_pylist()}
    return [
        {**{name: receptors[cell["receptor_id"]][name] for name in ("species", *CHAIN_COLUMNS)}, **cell}
        for cell in result.cells.to_pylist()
    ]


def chains_of(result: Normalised) -> list[tuple]:
    """α and β chain of each cell, in the cells' order."""
    return [tuple(cell[name] for name in CHAIN_COLUMNS) for cell in cells_with_chains(result)]


def rejected(result: Normalised) -> list[tuple]:
    """Row, field, value and reason of each reject."""
    return [
        (reject["row"], reject["field"], reject["value"], reject["reason"])
        for reject in result.rejects.to_pylist()
    ]


def receptor_id(species: str, *fields: str | None) -> str:
    """The documented rule, written out again: 24 digits of the SHA-256 of the fields joined by ``|``."""
    return hashlib.sha256("|".join([species, *(field or "" for field in fields)]).encode()).hexdigest()[:24]


def assert_conserved(result: Normalised, n_rows: int) -> None:
    """Every input row is in one cell or among the rejects; every receptor is some cell's."""
    counts, cells, rejects = result.counts, result.cells.to_pydict(), result.rejects.to_pydict()
    lost = {row for row, kept in zip(rejects["row"], rejects["row_kept"], strict=True) if not kept}
    kept = {row for row, kept in zip(rejects["row"], rejects["row_kept"], strict=True) if kept}
    assert counts["rows_in"] == n_rows
    assert counts["rows_rejected"] == len(lost)
    assert counts["rows_out"] == sum(cells["input_rows"]) == n_rows - len(lost)
    assert not lost & kept
    assert lost | kept <= set(range(1, n_rows + 1))
    assert all(rejects["reason"])
    receptor_ids = result.receptors["receptor_id"].to_pylist()
    assert len(receptor_ids) == len(set(receptor_ids)) == counts["receptors"]
    assert set(receptor_ids) == set(cells["receptor_id"])
    assert counts["cells"] == len(cells["cell_id"]) == sum(counts["pairing"].values())


@cache
def vdjdb_labelled() -> fewshot.LabelledReceptors:
    """The labelled receptors of the paper's VDJdb release, without 10x Genomics' references."""
    table = normalised(SHARED / "vdjdb/vdjdb_full_2023-06-01.txt.gz")
    return fewshot.select_labelled(
        table.cells, table.receptors, species="homosapiens", exclude_references="10xgenomics"
    )


def genes_only(chain: tuple) -> tuple:
    return (chain[0].split("*")[0], chain[1].split("*")[0], chain[2])


def like_first(dash: pa.Table, rows: list[dict]) -> pa.Table:
    """The first receptor, with some fields of its own in each row."""
    return pa.Table.from_pylist(
        [{**dash.slice(0, 1).to_pylist()[0], **row} for row in rows], schema.RECEPTORS
    )


def variants(seed: int, n: int, *, most: int = 1) -> pa.Table:
    """Receptors with one residue changed in each chain, or up to ``most``, of two parents in turn."""
    parents = synthesise(2, seed=77).to_pandas()
    rng = np.random.default_rng(seed)
    rows = []
    for number in range(n):
        row = dict(parents.iloc[number % 2])
        for locus in schema.LOCI:
            name = schema.field(locus, "junction_aa")
            for _ in range(rng.integers(1, most + 1) if most > 1 else 1):
                at = rng.integers(4, len(row[name]) - 4)
                row[name] = row[name][:at] + "ACDEFGHIKLMNPQRSTVWY"[rng.integers(20)] + row[name][at + 1 :]
        row["receptor_id"] = f"variant{seed}{number:04d}"
        rows.append(row)
    table = pa.Table.from_pylist(rows, schema.RECEPTORS)
    return table.set_column(1, "clonotype_id", identity.clonotype_ids(table))


def labelled_cells(receptors, epitopes, studies):
    n = len(receptors)
    columns = {
        **{field.name: pa.nulls(n, field.type) for field in schema.CELLS},
        "receptor_id": receptors["receptor_id"],
        "clonotype_id": receptors["clonotype_id"],
        "epitope": epitopes,
        "reference_id": studies,
        "antigen_species": ["virus"] * n,
        "mhc_a": ["HLA-A*02"] * n,
        "abundance": pa.array([1] * n, pa.int64()),
        "count_unit": ["cells"] * n,
    }
    return pa.table(columns)

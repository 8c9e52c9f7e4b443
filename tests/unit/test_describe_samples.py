"""DESCRIBE_SAMPLES: tables against counts made here, on a real 10x file and on cells made by hand."""

import json
from collections import Counter

from airrvec.core import identity, schema, tables
from airrvec.core.schema.samples import CLONE_SIZES_LIMITS
from airrvec.repertoire import description, diversity

import clone_tables
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from inputs import ROOT

REAL = {
    "lavage": ROOT / "assets/demo/10x_lavage_filtered_contig_annotations.csv.gz",
    "flu": ROOT / "assets/demo/donors/flu_1.csv",
}
CHAIN = {"TRA": ("TRAV1-2", "TRAJ33", "CAVMDSSYKLIF"), "TRB": ("TRBV6-4", "TRBJ2-1", "CASSDSGGTNEQFF")}


def chains(*loci: str, v: str | None = None, junction: str | None = None) -> dict[str, str | None]:
    """Fields of a receptor; ``v`` and ``junction`` replace those of the β chain."""
    found = dict.fromkeys(schema.RECEPTOR_FIELDS)
    for locus in loci:
        values = list(CHAIN[locus])
        if locus == "TRB":
            values = [v or values[0], values[1], junction or values[2]]
        found |= {
            schema.field(locus, name): value for name, value in zip(schema.CHAIN_FIELDS, values, strict=True)
        }
    return found


def write_sample(
    folder, name: str, rows: list[tuple[dict, int, str | None]], copies=None, unit: str = "cells"
) -> None:
    """Cells and receptors of a sample: fields of a receptor, number of cells, label; copies of each cell."""
    fields = pa.Table.from_pylist(
        [{"species": "homosapiens", **receptor} for receptor, *_ in rows],
        schema=pa.schema([(field, pa.string()) for field in ("species", *schema.RECEPTOR_FIELDS)]),
    )
    receptors = identity.receptors_table(fields, pa.array(["single pair"] * len(rows)))
    tables.write(receptors, folder / f"{name}.receptors_0000.parquet")
    repeated = np.repeat(np.arange(len(rows)), [n for _, n, _ in rows])
    ids = receptors.take(pa.array(repeated))
    columns = {column.name: pa.nulls(len(repeated), column.type) for column in schema.CELLS}
    columns |= {"sample_id": pa.array([name] * len(repeated))}
    columns |= {key: ids[key] for key in ("receptor_id", "clonotype_id")}
    columns["epitope"] = pa.array([rows[row][2] for row in repeated], pa.string())
    columns["abundance"] = pa.array(copies or [1] * len(repeated), pa.int64())
    columns["count_unit"] = pa.array([unit] * len(repeated), pa.string())
    tables.write(pa.table(columns, schema=schema.CELLS), folder / f"{name}.cells.parquet")


def frames(folder) -> dict[str, pd.DataFrame]:
    return {path.stem: tables.read(path).to_pandas() for path in folder.glob("*.parquet")}


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """A 10x file of a lung, and receptors of a donor, described."""
    import describe_samples
    import normalise_receptors

    folder = tmp_path_factory.mktemp("real")
    for name, table in REAL.items():
        normalise_receptors.main([str(table), "--sample", name, "--partitions", "3", "--outdir", str(folder)])
    cells = [str(folder / f"{name}.cells.parquet") for name in REAL]
    made = clone_tables.count(folder, cells, folder)
    describe_samples.main(["--clones", str(made), "--outdir", str(folder / "samples")])
    return folder, frames(folder / "samples")


@pytest.fixture(scope="module")
def cells_of(real):
    """The clone of each cell of each sample, with its genes and junctions."""
    folder, _ = real
    clones = {row["clone_id"]: row for row in tables.read(folder / "clones/clones.parquet").to_pylist()}
    found: dict[str, list] = {name: [] for name in REAL}
    for row in tables.read(folder / "clones/members.parquet").to_pylist():
        found[row["sample_id"]].append(clones[row["clone_id"]])
    for name in REAL:
        assert len(found[name]) == tables.n_rows(folder / f"{name}.cells.parquet")
    return found


def test_tables_have_their_columns_and_are_text_too(real):
    folder, found = real
    for name, columns in {
        "largest_clones": schema.LARGEST_CLONES,
        "clone_sizes": schema.CLONE_SIZES,
        "gene_usage": schema.GENE_USAGE,
        "cdr3_lengths": schema.CDR3_LENGTHS,
        "vj_pairing": schema.VJ_PAIRING,
        "diversity": schema.DIVERSITY,
        "rarefaction": schema.RAREFACTION,
    }.items():
        assert tables.arrow_schema(folder / f"samples/{name}.parquet") == columns
        lines = (folder / f"samples/{name}.tsv").read_text().splitlines()
        assert lines[0].split("\t") == columns.names
        assert len(lines) == 1 + len(found[name])


@pytest.mark.parametrize("sample", REAL)
@pytest.mark.parametrize("locus", schema.LOCI)
def test_genes_lengths_and_pairs_are_those_of_the_cells(real, cells_of, sample, locus):
    def gene(cell, name):
        call = cell[schema.field(locus, name)]
        return call and call.split("*")[0]

    tables_of_sample = {
        name: table[(table["sample_id"] == sample) & (table["locus"] == locus)]
        for name, table in real[1].items()
        if "locus" in table
    }
    cells = cells_of[sample]
    for segment, name in (("V", "v_call"), ("J", "j_call")):
        expected = Counter(gene(cell, name) for cell in cells if gene(cell, name))
        usage = tables_of_sample["gene_usage"]
        usage = usage[usage["segment"] == segment].set_index("gene")
        assert usage["n_cells"].to_dict() == expected
        assert usage["cell_share"].sum() == pytest.approx(1)
        distinct = {(cell["clone_id"], gene(cell, name)) for cell in cells if gene(cell, name)}
        assert usage["n_clones"].to_dict() == Counter(name for _, name in distinct)
    expected = Counter((gene(cell, "v_call"), gene(cell, "j_call")) for cell in cells)
    pairs = tables_of_sample["vj_pairing"].set_index(["v_gene", "j_gene"])["n_cells"].to_dict()
    assert pairs == {pair: n for pair, n in expected.items() if all(pair)}
    junctions = [cell[schema.field(locus, "junction_aa")] for cell in cells]
    lengths = Counter(len(junction[1:-1]) for junction in junctions if junction)
    assert tables_of_sample["cdr3_lengths"].set_index("length")["n_cells"].to_dict() == lengths


@pytest.mark.parametrize("sample", REAL)
def test_largest_clones_are_those_of_most_cells(real, cells_of, sample):
    numbers = Counter(cell["clone_id"] for cell in cells_of[sample])
    clones = real[1]["largest_clones"].query("sample_id == @sample")
    ranked = sorted(numbers, key=lambda clone: (-numbers[clone], clone))
    assert clones["clone_id"].tolist() == ranked[: description.N_CLONES]
    assert clones["rank"].tolist() == list(range(1, len(clones) + 1))
    assert clones["n_cells"].tolist() == [numbers[clone] for clone in clones["clone_id"]]
    assert clones["share"].to_numpy() == pytest.approx(clones["n_cells"] / len(cells_of[sample]))
    assert clones["n_cells"].iloc[0] > 1
    sizes = real[1]["clone_sizes"].query("sample_id == @sample")
    assert sizes["clone_size"].tolist() == list(CLONE_SIZES_LIMITS)
    assert sizes["n_clones"].sum() == len(numbers)
    assert sizes["n_cells"].sum() == len(cells_of[sample])
    assert sizes["n_singletons"].sum() == sum(n == 1 for n in numbers.values())


def test_diversity_is_that_of_the_clones_with_the_same_chains(real, cells_of):
    counted = {
        sample: Counter(
            cell["clone_id"] for cell in cells if cell["tra_junction_aa"] and cell["trb_junction_aa"]
        )
        for sample, cells in cells_of.items()
    }
    counts = {sample: np.array(list(numbers.values())) for sample, numbers in counted.items()}
    reference = diversity.reference_coverage(counts.values())
    found = real[1]["diversity"].query("chains == 'paired'").set_index("sample_id")
    curves = real[1]["rarefaction"].query("chains == 'paired'")
    for sample, numbers in counts.items():
        row = found.loc[sample]
        assert (row["n_cells"], row["n_clones"]) == (numbers.sum(), len(numbers))
        assert row["reference_coverage"] == reference
        at_reference = diversity.hill_numbers_at(numbers, int(row["depth"]))
        assert row[[f"hill_{q}_at_coverage" for q in (0, 1, 2)]].tolist() == pytest.approx(at_reference)
        curve = curves.query("sample_id == @sample")
        assert curve["n_drawn"].iloc[[0, -1]].tolist() == [1, 2 * numbers.sum()]
        observed = curve.query("method == 'observed'").iloc[0]
        assert observed["hill_0"] == len(numbers)


def test_clone_sizes_are_those_of_screpertoire():
    """A share on a limit belongs to the lower class, as in its ``clonalHomeostasis``."""
    shares = np.array([1e-5, 1e-4, 1.1e-4, 1e-3, 2e-3, 0.01, 0.0101, 0.1, 0.11, 1])
    assert description.clone_sizes(shares).tolist() == [
        *("Rare", "Rare", "Small", "Small", "Medium", "Medium", "Large", "Large"),
        *("Hyperexpanded", "Hyperexpanded"),
    ]


def test_clones_by_hand(tmp_path, script):
    """
    Alleles are one clone, and so are its cells with one chain; a label of any table names the clone; V genes
    are shown without alleles.
    """
    write_sample(
        tmp_path,
        "s",
        [
            (chains("TRA", "TRB", v="TRBV6-4*01"), 3, None),
            (chains("TRA", "TRB", v="TRBV6-4*02"), 4, "E, 1"),
            (chains("TRB"), 2, None),
            (chains("TRB", junction="CASSAEQFF"), 2, None),
            (chains("TRA"), 1, None),
        ],
    )
    write_sample(tmp_path, "labelled", [(chains("TRA", "TRB"), 1, "E2"), (chains("TRB"), 2, "E1")])
    labelled = ("--labelled", str(tmp_path / "labelled.cells.parquet"))
    script(
        "describe_samples",
        "--clones",
        clone_tables.count(tmp_path, [tmp_path / "s.cells.parquet"], tmp_path, *labelled),
    )
    clones = pd.read_csv("largest_clones.tsv", sep="\t")
    assert clones["n_cells"].tolist() == [10, 2]
    assert clones["chains"].tolist() == ["paired", "beta"]
    assert clones["trb_v_call"].tolist() == ["TRBV6-4", "TRBV6-4"]
    assert clones["epitope"].fillna("").tolist() == ["E, 1; E2", ""]
    assert clones["clone_size"].tolist() == ["Hyperexpanded", "Hyperexpanded"]
    lengths = pd.read_csv("cdr3_lengths.tsv", sep="\t").set_index(["locus", "length"])["n_cells"]
    assert lengths.to_dict() == {("TRA", 10): 10, ("TRB", 7): 2, ("TRB", 12): 10}
    methods = pd.read_csv("diversity.tsv", sep="\t").set_index("chains")["method"].to_dict()
    assert methods == dict.fromkeys(("paired", "beta"), "fewer than 20 cells")


def test_clonotypes_count_by_their_abundance(tmp_path, script):
    """Rows without a count are in no figure; the tables say the unit of each sample."""
    rows = [(chains("TRB", junction=f"CASS{end}EQFF"), 1, None) for end in "ADGY"]
    write_sample(tmp_path, "bulk", rows, [50, 5, 1, None], "UMIs")
    write_sample(tmp_path, "cells", rows)
    cells = [tmp_path / f"{name}.cells.parquet" for name in ("bulk", "cells")]
    script("describe_samples", "--clones", clone_tables.count(tmp_path, cells, tmp_path))
    units = {"bulk": "UMIs", "cells": "cells"}
    assert json.loads((tmp_path / "samples.qc.json").read_text())["units"] == units
    found = frames(tmp_path)
    assert found["largest_clones"]["n_cells"].tolist() == [50, 5, 1, 1, 1, 1, 1]
    assert found["diversity"]["n_cells"].tolist() == [56, 4]
    for name in (
        "largest_clones",
        "clone_sizes",
        "gene_usage",
        "cdr3_lengths",
        "vj_pairing",
        "diversity",
        "rarefaction",
    ):
        assert found[name].groupby("sample_id")["count_unit"].unique().str.join("").to_dict() == units
    # Coverage is compared between samples of one unit.
    assert found["diversity"]["reference_coverage"].tolist() == [
        diversity.reference_coverage([np.array([50, 5, 1])]),
        pytest.approx(np.nan, nan_ok=True),
    ]

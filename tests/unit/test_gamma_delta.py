"""γδ T cells: apart from αβ cells, every row conserved, counted as by pandas, TCRdist as by tcrdist3."""

import csv
import json
from functools import cache
from pathlib import Path

from airrvec.core import schema, tables
from airrvec.encoders.tcrdist import Tcrdist
from airrvec.input import reading
from airrvec.input.normalise import Normaliser
from airrvec.input.standardise import standardise
from airrvec.repertoire import diversity, gamma_delta
from airrvec.report import chapters
from airrvec.report.sections import gamma_delta as report_section

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from inputs import DATA, text
from scipy.sparse.csgraph import connected_components

import describe_gamma_delta
import normalise_receptors

EXAMPLE = DATA / "10x_gamma_delta.csv"
HUMAN = "homosapiens"
FIELDS = list(schema.GAMMA_DELTA.receptor_fields)
GAMMA = ("TRG", "TRGV9", "TRGJP", "CALWEVQELGKKIKVF")
DELTA = ("TRD", "TRDV2", "TRDJ1", "CACDTLGMGGEYTDKLIF")
ALPHA = ("TRA", "TRAV1-2", "TRAJ33", "CAVMDSNYQLIW")
BETA = ("TRB", "TRBV6-4", "TRBJ2-7", "CASSDSGGYEQYF")


def run(folder, table=EXAMPLE, sample="s", *options):
    """Normalise a table; return its counts."""
    words = [table, "--sample", sample, "--species", HUMAN, "--outdir", folder, *options]
    normalise_receptors.main([str(word) for word in words])
    return json.loads((folder / f"{sample}.qc.json").read_text())


@pytest.fixture(scope="module")
def normalised(tmp_path_factory):
    folder = tmp_path_factory.mktemp("normalised")
    return folder, run(folder)


@pytest.fixture(scope="module")
def described(normalised, tmp_path_factory):
    """Two samples, of which the second has the example twice; its second time in other cells."""
    folder, _ = normalised
    out = tmp_path_factory.mktemp("described")
    header, *rows = list(csv.reader(EXAMPLE.open()))
    again = [[cell.replace("-1", "-2") for cell in row] for row in rows]
    (out / "twice.csv").write_text(text(header, [*rows, *again], ","))
    run(out, out / "twice.csv", "t")
    names = [(folder, "s"), (out, "t")]
    paths = {
        kind: [str(place / f"gamma_delta/{sample}.{kind}.parquet") for place, sample in names]
        for kind in ("cells", "chains")
    }
    options = ["--cells", *paths["cells"], "--chains", *paths["chains"], "--cluster", "--outdir", str(out)]
    describe_gamma_delta.main(options)
    cells = pd.concat([tables.read(path).to_pandas() for path in paths["cells"]])
    return out / "gamma_delta", cells


def read(folder, name) -> pd.DataFrame:
    return tables.read(folder / f"{name}.parquet").to_pandas()


def chains(*rows, **more) -> pa.Table:
    """Chain records: locus, V, J, junction of each; ``more``: further columns."""
    columns = dict(zip(("locus", "v_call", "j_call", "junction_aa"), zip(*rows, strict=True), strict=True))
    columns |= {"row": range(1, len(rows) + 1), **more}
    table = {
        field.name: pa.array(columns.get(field.name, [None] * len(rows)), field.type)
        for field in schema.CHAIN_RECORDS
    }
    return pa.table(table, schema=schema.CHAIN_RECORDS)


# --- Kept apart, and conserved


def test_every_row_is_of_an_alpha_beta_cell_of_a_gamma_delta_cell_or_rejected(normalised):
    folder, counts = normalised
    alpha_beta, apart = read(folder, "s.cells"), read(folder, "gamma_delta/s.cells")
    rejects = read(folder, "s.rejects")
    lost = rejects.loc[~rejects["row_kept"], "row"].nunique()
    assert (alpha_beta["input_rows"].sum(), apart["input_rows"].sum(), lost) == (10, 22, 7)
    assert counts["rows_in"] == 39 == 10 + 22 + 7 == counts["rows_out"] + counts["rows_rejected"]
    rows = [read(folder, f"{name}s.chains")["row"] for name in ("", "gamma_delta/")]
    assert sorted([*pd.concat(rows), *rejects["row"]]) == list(range(1, 40))
    assert counts["gamma_delta"] == {
        **{"rows": 22, "chains": 22, "cells": 13, "abundance": 13},
        "receptors": apart["receptor_id"].nunique(),
        "pairing": apart["chain_pairing"].value_counts().to_dict(),
    }
    assert counts["cells"] == len(alpha_beta) == 6
    assert set(read(folder, "s.chains")["locus"]) == {"TRA", "TRB"}
    assert set(read(folder, "gamma_delta/s.chains")["locus"]) == {"TRG", "TRD"}


def test_alpha_beta_tables_are_those_of_the_table_without_gamma_delta_chains(normalised, tmp_path):
    folder, _ = normalised
    header, *rows = list(csv.reader(EXAMPLE.open()))
    j_gene = header.index("j_gene")
    # The β chain of a γδ cell has no place in any table of αβ cells.
    left = [row for row in rows if not row[j_gene].startswith(("TRG", "TRD")) and row[0][:3] != "GGA"]
    (tmp_path / "s.csv").write_text(text(header, left, ","))
    counts = run(tmp_path, tmp_path / "s.csv")
    assert counts["gamma_delta"]["cells"] == 0
    assert not (tmp_path / "gamma_delta").exists()
    for name in ("cells", "receptors_0000"):
        assert tables.read(folder / f"s.{name}.parquet").equals(tables.read(tmp_path / f"s.{name}.parquet"))


@pytest.mark.parametrize(
    ("cell", "kept"),
    [
        ([ALPHA, BETA, GAMMA, DELTA], ["TRA", "TRB"]),
        ([ALPHA, BETA, GAMMA], ["TRA", "TRB"]),
        ([GAMMA, DELTA, BETA], ["TRG", "TRD"]),
        ([GAMMA, DELTA, ALPHA], ["TRG", "TRD"]),
        ([GAMMA, BETA], ["TRB"]),
        ([DELTA, ALPHA], ["TRA"]),
        ([DELTA], ["TRD"]),
        ([GAMMA, (*GAMMA[:3], "CALWEAQELGKKIKVF")], ["TRG"]),
    ],
)
def test_a_pair_decides_what_a_cell_is_and_alpha_beta_wins(cell, kept):
    table = chains(*cell, cell_key=["c"] * len(cell), row=[1] * len(cell))
    normaliser = Normaliser(sample_id="s", species=HUMAN, gamma_delta=True)
    source = reading.Source("table", [], iter([reading.Batch(table, 1, 1, [])]))
    (part,) = normaliser.parts(source)
    loci = [*part.chains["locus"].to_pylist(), *part.gamma_delta_chains["locus"].to_pylist()]
    assert loci == kept
    assert len(part.cells) + len(part.gamma_delta_cells) == 1
    assert len(part.rejects) == len(cell) - len(kept)


def test_references_and_labelled_tables_have_alpha_beta_chains_alone(tmp_path):
    for part in ("labelled", "reference"):
        counts = run(tmp_path, EXAMPLE, part, "--part", part)
        assert counts["reject_reasons"]["not an α or β chain of a T-cell receptor"] == 28
        assert counts["gamma_delta"]["cells"] == 0


def test_a_sample_of_gamma_delta_cells_alone_has_no_table_of_alpha_beta_cells(tmp_path):
    header, *rows = list(csv.reader(EXAMPLE.open()))
    (tmp_path / "s.csv").write_text(text(header, rows[:14], ","))
    counts = run(tmp_path, tmp_path / "s.csv")
    assert (counts["cells"], counts["gamma_delta"]["cells"]) == (0, 8)
    assert sorted(path.name for path in tmp_path.glob("*.parquet")) == ["s.rejects.parquet"]


# --- Loci


@pytest.mark.parametrize(
    ("locus", "v_call", "j_call", "c_call", "expected"),
    [
        (None, "TRAV29/DV5", "TRDJ1", None, "TRD"),
        (None, "TRAV29DV5", "TRAJ49", None, "TRA"),
        (None, "TRAV29/DV5", None, "TRDC", "TRD"),
        (None, "TRDV5", None, None, "TRD"),
        (None, "TRAV29/DV5", None, None, "TRA"),
        ("TRD", "TRAV38-2/DV8", "TRDJ1", None, "TRD"),
        ("Multi", "TRAV14/DV4", "TRDJ2", "TRDC", "TRD"),
        (None, "TRGV9", "TRGJP", None, "TRG"),
        (None, "TCRGV09", None, None, "TRG"),
    ],
)
def test_the_j_or_c_gene_tells_the_locus_of_a_v_gene_of_both(locus, v_call, j_call, c_call, expected):
    # Both junctions end as the J genes of their locus do.
    junction = "CALWEVQELGKKIKVF" if expected == "TRG" else "CAASALLGDTDKLIF"
    junction = "CAASNTGNQFYF" if expected == "TRA" else junction
    table = chains((locus, v_call, j_call, junction), c_call=[c_call])
    good, failures = standardise(table, HUMAN, gamma_delta=True)
    assert good["locus"].to_pylist() == [expected], failures.to_pylist()


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (("TRA", "TRDV1", "TRAJ33", "CAVMDSNYQLIW"), "v_call is of another locus than the chain"),
        (("TRD", "TRAV1-2", "TRDJ1", "CAVMDTDKLIF"), "v_call is of another locus than the chain"),
        (("TRD", "TRDV1", "TRAJ33", "CAVMDSNYQLIW"), "j_call is of another locus than the chain"),
        (("TRD", "TRBV2", "TRDJ1", "CASSTDKLIF"), "v_call is of another locus than the chain"),
        (("IGH", "IGHV3-23", "IGHJ4", "CAKDYW"), "not a chain of a T-cell receptor"),
    ],
)
def test_genes_of_another_locus_are_rejected(row, reason):
    good, failures = standardise(chains(row), HUMAN, gamma_delta=True)
    assert not len(good)
    assert failures["reason"].to_pylist() == [reason]


def test_a_delta_junction_that_lacks_its_last_residue_is_completed():
    rows = [
        ("TRD", "TRDV2", "TRDJ3", "CACDPVLGDPSWDTRQMF"),  # SWDTRQMF F of TRDJ3
        ("TRD", "TRDV2", "TRDJ1", "ACDTLGMGGEYTDKLI"),
        ("TRG", "TRGV9", "TRGJP", "ALWEVQELGKKIKV"),
    ]
    good, _ = standardise(chains(*rows), HUMAN, gamma_delta=True)
    whole = ["CACDPVLGDPSWDTRQMFF", "CACDTLGMGGEYTDKLIF", "CALWEVQELGKKIKVF"]
    assert good["junction_aa"].to_pylist() == whole


# --- Identity


def test_receptors_without_genes_differ_between_the_lineages():
    table = chains(("TRA", None, None, "CALWEVQF"), ("TRG", None, None, "CALWEVQF"))
    normaliser = Normaliser(sample_id="s", species=HUMAN, gamma_delta=True)
    source = reading.Source("table", [], iter([reading.Batch(table, 1, 2, [])]))
    (part,) = normaliser.parts(source)
    assert part.cells["receptor_id"][0] != part.gamma_delta_cells["receptor_id"][0]
    assert part.cells["clonotype_id"][0] != part.gamma_delta_cells["clonotype_id"][0]


def test_words_of_the_other_lineage():
    renamed = schema.GAMMA_DELTA.renamed
    assert (
        renamed("`tra_2_v_call`: extra α chain of TRA, trained")
        == "`trg_2_v_call`: extra γ chain of TRG, trained"
    )
    assert renamed("paired, alpha or beta") == "paired, gamma or delta"
    assert schema.GAMMA_DELTA.schema(schema.RECEPTORS).names == [
        *("receptor_id", "clonotype_id", "species"),
        *FIELDS,
        "chain_pairing",
    ]


# --- Counts, by pandas


def test_genes_are_counted_as_by_pandas(described):
    folder, cells = described
    clones, counts = read(folder, "clones"), read(folder, "counts")
    rows = counts.merge(clones.drop(columns=["n_cells", "count_unit"]), on="clone_id")
    usage = read(folder, "gene_usage")
    assert set(usage["locus"]) == {"TRG", "TRD"}
    for (locus, segment), part in usage.groupby(["locus", "segment"]):
        genes = rows[f"{locus.lower()}_{segment.lower()}_call"].str.split("*").str[0]
        expected = rows.groupby(["sample_id", genes])["n_cells"].agg(["sum", "size"])
        made = part.set_index(["sample_id", "gene"])
        assert made["n_cells"].to_dict() == expected["sum"].to_dict()
        assert made["n_clones"].to_dict() == expected["size"].to_dict()
        totals = expected["sum"] / expected["sum"].groupby(level=0).transform("sum")
        assert made["cell_share"].sort_index().to_numpy() == pytest.approx(totals.sort_index().to_numpy())
    # A cell with its δ chain alone counts with the only clone that has this chain.
    cells_of_v = cells.groupby(["sample_id", "trd_v_call"]).size()
    made = usage[usage["gene"] == "TRDV1"].set_index("sample_id")["n_cells"]
    assert made.to_dict() == cells_of_v.xs("TRDV1", level=1).to_dict() == {"s": 5, "t": 10}


def test_clones_receptors_and_sizes_are_counted_as_by_pandas(described):
    folder, cells = described
    counts, clones = read(folder, "counts"), read(folder, "clones")
    assert counts.groupby("sample_id")["n_cells"].sum().to_dict() == {"s": 13, "t": 26}
    # Cells of one sample (each is a donor) and receptor; that with one δ chain joins its pair.
    joins = cells["trg_junction_aa"].isna() & (cells["trd_junction_aa"] == "CALGELPYWGIRTDKLIF")
    key = cells[FIELDS].fillna("").agg("|".join, axis=1)
    pair = key[cells["trg_v_call"] == "TRGV2"].iloc[0]
    sizes = cells.assign(key=key.where(~joins, pair)).groupby(["sample_id", "key"]).size()
    for sample, part in counts.groupby("sample_id"):
        assert sorted(part["n_cells"]) == sorted(sizes[sample])
    assert clones["n_joined"].sum() == 3
    receptors = read(folder, "receptors")
    assert sorted(receptors["receptor_id"]) == sorted(cells["receptor_id"].unique())
    samples = cells.groupby("clonotype_id")["sample_id"].nunique()
    assert receptors.set_index("clonotype_id")["n_samples"].to_dict() == samples.to_dict()
    members = read(folder, "members")
    assert len(members) == len(cells)
    classes = read(folder, "clone_sizes").groupby("sample_id")["n_cells"].sum()
    assert classes.to_dict() == {"s": 13, "t": 26}


def test_diversity_is_that_of_the_clones_of_each_class(described):
    folder, _ = described
    clones, counts = read(folder, "clones"), read(folder, "counts")
    rows = counts.merge(clones[["clone_id", "chains"]], on="clone_id")
    made = read(folder, "diversity").set_index(["sample_id", "chains"])
    assert set(made.index.get_level_values("chains")) == {"paired", "gamma", "delta"}
    for key, part in rows.groupby(["sample_id", "chains"]):
        expected = diversity.hill_numbers(part["n_cells"].to_numpy())
        assert made.loc[key, ["hill_0", "hill_1", "hill_2"]].to_numpy(float) == pytest.approx(expected)


def test_columns_carry_the_meanings_of_their_table(described):
    folder, _ = described
    for name, column, words in (
        ("gene_usage", "locus", "`TRG` or `TRD`"),
        ("clones", "trd_v_call", "V gene or allele of the δ chain, IMGT"),
    ):
        field = tables.arrow_schema(folder / f"{name}.parquet").field(column)
        assert field.metadata[b"description"].decode() == words


# --- TCRdist


@cache
def reference() -> pd.DataFrame:
    """Distances by tcrdist3, see tests/data/README.md."""
    return pd.read_csv(Path(__file__).with_name("tcrdist3_gamma_delta.tsv"), sep="\t")


def receptors_of(frame: pd.DataFrame, suffix: str = "") -> pa.Table:
    species = frame["organism"].map({"human": HUMAN, "mouse": "musmusculus"})
    return pa.table(
        {
            "species": pa.array(species, pa.string()),
            **{
                schema.field(locus, name): pa.array(frame[f"{column}_{letter}_{end}{suffix}"], pa.string())
                for locus, letter in (("TRG", "g"), ("TRD", "d"))
                for name, column, end in (("v_call", "v", "gene"), ("junction_aa", "cdr3", "aa"))
            },
        }
    )


@pytest.mark.parametrize("organism", ["human", "mouse"])
@pytest.mark.parametrize(
    ("loci", "columns"),
    [(("TRG",), ["pw_gamma"]), (("TRD",), ["pw_delta"]), (("TRG", "TRD"), ["pw_gamma", "pw_delta"])],
)
def test_distances_are_those_of_tcrdist3(organism, loci, columns):
    rows = reference()[reference()["organism"] == organism]
    made = Tcrdist(loci).distances(receptors_of(rows), receptors_of(rows, "_2"))
    assert np.diag(made).tolist() == rows[columns].sum(axis=1).tolist()
    assert len(rows) == {"human": 45, "mouse": 6}[organism]


def test_neighbours_are_the_pairs_within_the_radius_of_tcrdist3():
    rows = reference()[reference()["organism"] == "human"]
    first = rows.drop_duplicates(["cdr3_g_aa", "cdr3_d_aa"])
    last = rows.tail(1).rename(columns=lambda name: name + "_old")
    last = last.rename(columns=lambda name: name.replace("_2_old", ""))
    table = pa.concat_tables([receptors_of(first), receptors_of(last.assign(organism="human"))])
    for radius in (20, 120, 200):
        graph = gamma_delta.neighbours(table, ("TRG", "TRD"), radius)
        near = rows["pw_gamma"] + rows["pw_delta"] <= radius
        assert graph.nnz == 2 * near.sum()
        assert graph.shape == (10, 10)
        n_clusters, _ = connected_components(graph, directed=False)
        assert 1 <= n_clusters <= 10 - (near.sum() > 0)


def test_similar_receptors_are_a_cluster_and_clones_name_it(described):
    folder, _ = described
    clusters, clones = read(folder, "clusters"), read(folder, "clones")
    assert clusters["chains"].tolist() == ["paired", "delta"]
    assert clusters["n_receptors"].tolist() == [2, 2]
    assert clusters["n_cells"].tolist() == [4 * 3, 2 * 3]  # of both samples; the second has each cell twice
    assert clusters["n_samples"].tolist() == [2, 2]
    assert clusters["trd_consensus"].str.len().tolist() == [18, 19]
    assert clusters["trg_consensus"].tolist() == ["CALWEVQELGKKIKVF", None]
    members = clones.dropna(subset="cluster_id").groupby("cluster_id")["trd_junction_aa"].unique()
    assert sorted(map(sorted, members)) == [
        ["CACDTLGMGGEYTDKLIF", "CACDTLGVGGEYTDKLIF"],
        ["CALGDPTGGYSWDTDKLIF", "CALGDPTGGYTWDTDKLIF"],
    ]
    # A γ chain alone is in no cluster.
    assert clones.loc[clones["chains"] == "gamma", "cluster_id"].isna().all()


# --- Report


def test_the_report_has_a_chapter_with_the_numbers_of_the_tables(described):
    folder, cells = described
    results = report_section.read_gamma_delta(folder, None)
    sections = {part["id"]: part for part in report_section.gamma_delta_sections(results)}
    assert list(sections) == [
        *("airrvec_gamma_delta_samples", "airrvec_gamma_delta_clones"),
        *(f"airrvec_gamma_delta_{genes}" for genes in ("trdv", "trdj", "trgv", "trgj")),
        "airrvec_gamma_delta_clusters",
    ]
    assert {chapters.chapter_of(id).title for id in sections} == {"γδ T cells"}
    samples = sections["airrvec_gamma_delta_samples"]
    assert "the models have learnt α and β chains alone" in samples["description"]
    of_v = (
        cells.groupby(["sample_id", "trd_v_call"]).size() / cells.groupby("sample_id")["trd_v_call"].count()
    )
    line = samples["data"]["s"]
    assert (line["counted"], line["clones"], line["unit"]) == (13, 9, "cells")
    assert line["paired"] == pytest.approx(100 * 10 / 13)  # that with a δ chain alone joined a pair
    for gene in ("TRDV1", "TRDV2", "TRDV3"):
        assert line[gene] == pytest.approx(100 * of_v["s", gene])
    assert len(sections["airrvec_gamma_delta_clusters"]["data"]) == 2
    assert report_section.gamma_delta_lines(results) == [
        "γδ T cells: 18 clones in 2 samples, without vectors; 2 clusters by TCRdist"
    ]
    assert report_section.read_gamma_delta(folder / "none", None) is None

"""Clones: definition, cells with one or two α chains, donors; counts against independent lines of pandas."""

import itertools
import re
from types import SimpleNamespace

from airrvec.core import database, schema, tables
from airrvec.core.errors import InputError
from airrvec.repertoire import clone_table, layout
from airrvec.repertoire.clone_table import counted_receptors, counts_by_sample, described, members_of
from airrvec.repertoire.clones import count_clones

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inputs import ROOT
from plain_cohort import plain_clones

import count_clones as script
import describe_clones
import normalise_receptors

ALPHA = [("TRAV12-2", f"CAV{end}NNARLMF") for end in "ADGKN"]
BETA = [("TRBV19", f"CASS{end}RSSYEQYF") for end in "ADGKN"]
CONTIG = {
    "is_cell": "true",
    "high_confidence": "true",
    "full_length": "true",
    "productive": "true",
    "c_gene": "",
}
CODONS = {
    "A": "GCT",
    "C": "TGT",
    "D": "GAT",
    "E": "GAA",
    "F": "TTC",
    "G": "GGT",
    "K": "AAA",
    "L": "CTG",
    "M": "ATG",
}
CODONS |= {"N": "AAC", "Q": "CAG", "R": "CGT", "S": "AGC", "V": "GTT", "Y": "TAC"}


def nucleotides(junction: str, other: bool = False) -> str:
    """Nucleotides of a junction; ``other`` ones of the same protein: its first alanine has another codon."""
    text = "".join(CODONS[residue] for residue in junction)
    return text.replace("GCT", "GCC", 1) if other else text


def write(folder, name: str, cells: list[tuple], donor: str | None = None) -> None:
    """
    Normalise a 10x table: for each cell, numbers of α chains, the best first, and of β chains.

    A chain is a number, or a number and True for other nucleotides of the same protein.
    """
    rows = []
    for number, (alphas, betas) in enumerate(cells):
        for locus, known, chains in (("TRA", ALPHA, alphas), ("TRB", BETA, betas)):
            for rank, chain in enumerate(chains):
                index, other = chain if isinstance(chain, tuple) else (chain, False)
                v, cdr3 = known[index]
                genes = {"v_gene": v, "j_gene": "TRAJ31" if locus == "TRA" else "TRBJ2-7", "cdr3": cdr3}
                counts = {"reads": 100 - rank, "umis": 9 - rank, "cdr3_nt": nucleotides(cdr3, other)}
                rows.append(
                    {
                        "barcode": f"c{number}",
                        "contig_id": f"c{number}_{locus}{rank}",
                        "chain": locus,
                        **genes,
                        **counts,
                        **CONTIG,
                    }
                )
    pd.DataFrame(rows).to_csv(folder / f"{name}.csv", index=False)
    metadata = ["--metadata", f'{{"donor": "{donor}"}}'] if donor else []
    normalise_receptors.main(
        [str(folder / f"{name}.csv"), "--sample", name, *metadata, "--outdir", str(folder)]
    )


def made(folder, by: str | None = None) -> SimpleNamespace:
    """Clones of all samples of a folder, as tables."""
    names = sorted(path.name.removesuffix(".cells.parquet") for path in folder.glob("*.cells.parquet"))
    cells, chains = ([folder / f"{name}.{kind}.parquet" for name in names] for kind in ("cells", "chains"))
    columns = [*schema.RECEPTORS.names]
    parts = [tables.read(folder / f"{name}.receptors_0000.parquet", columns) for name in names]
    tables.write(tables.distinct_receptors(pa.concat_tables(parts)), folder / "run/receptors.parquet")
    with database.connect(folder, memory="1GB", threads=2) as connection:
        clones = count_clones(connection, cells, chains, folder / "run/receptors.parquet", by)
        tables_made = {name: getattr(clones, name).table() for name in ("clones", "counts", "members")}
        return SimpleNamespace(by=clones.by, **tables_made)


def families(found: SimpleNamespace, sample: str = "s") -> list[set[int]]:
    """Cells of each clone of a sample, by their numbers from 0, largest first."""
    members = found.members.to_pandas().query("sample_id == @sample")
    groups = [set(rows["cell_row"] - 1) for _, rows in members.groupby("clone_id")]
    return sorted(groups, key=lambda cells: (-len(cells), min(cells)))


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        # equal chains
        ([([0], [0]), ([0], [0]), ([1], [0]), ([0], [1])], [{0, 1}, {2}, {3}]),
        # one chain joins the only pair that has it
        ([([0], [0]), ([], [0]), ([0], []), ([], [1])], [{0, 1, 2}, {3}]),
        # and is left alone if two have it, or none
        ([([0], [0]), ([1], [0]), ([], [0]), ([], [0]), ([0], [])], [{0, 4}, {2, 3}, {1}]),
        ([([], [0]), ([0], []), ([], [0])], [{0, 2}, {1}]),
        # α chains seen together are of one clone, of which a cell without α chain is one too
        ([([0, 1], [0]), ([1], [0]), ([0], [0]), ([], [0])], [{0, 1, 2, 3}]),
        ([([0, 1], [0]), ([1, 0], [0]), ([2], [0]), ([], [0])], [{0, 1}, {2}, {3}]),
        # only with the same β chain, and not in a cell that has two β chains
        ([([0, 1], [0]), ([1], [1])], [{0}, {1}]),
        ([([0, 1], [0, 2]), ([1], [0])], [{0}, {1}]),
        # the chain of a chain
        ([([0, 1], [0]), ([1, 2], [0]), ([2], [0])], [{0, 1, 2}]),
        # other nucleotides of the same protein
        ([([0], [0]), ([0], [(0, True)]), ([(0, True)], [0])], [{0}, {1}, {2}]),
    ],
)
def test_cells_of_a_sample(tmp_path, cells, expected):
    write(tmp_path, "s", cells)
    found = made(tmp_path)
    assert found.by == "nt"
    assert families(found) == expected
    assert found.counts["n_cells"].to_pylist() == [len(family) for family in expected]
    assert sum(found.clones["n_cells"].to_pylist()) == len(cells)


def test_amino_acids_on_request(tmp_path):
    write(tmp_path, "s", [([0], [0]), ([0], [(0, True)])])
    assert families(made(tmp_path, "aa")) == [{0, 1}]


def test_a_clone_shows_both_alphas_and_what_joined(tmp_path):
    write(tmp_path, "s", [([0, 1], [0]), ([0, 1], [0]), ([1, 0], [0]), ([1], [0]), ([], [0])])
    (clone,) = made(tmp_path).clones.to_pylist()
    shown = {"tra_junction_aa": ALPHA[0][1], "tra_2_junction_aa": ALPHA[1][1], "tra_2_v_call": ALPHA[1][0]}
    expected = {
        "n_cells": 5,
        "n_joined": 1,
        "n_clonotypes": 3,
        "chains": "paired",
        "functionality": "F",
        **shown,
    }
    assert {name: clone[name] for name in expected} == expected


def test_samples_of_a_donor_share_clones_and_others_do_not(tmp_path):
    write(tmp_path, "blood", [([0], [0]), ([0], [0])], "p1")
    write(tmp_path, "lung", [([], [0]), ([1], [1])], "p1")
    write(tmp_path, "other", [([0], [0]), ([], [1])], "p2")
    found = made(tmp_path)
    clones = found.clones.to_pandas().set_index("donor")
    first = clones.loc["p1"].set_index("samples")
    assert first["n_cells"].to_dict() == {"blood;lung": 3, "lung": 1}
    assert first.loc["blood;lung", ["n_joined", "n_samples", "n_donors"]].tolist() == [1, 2, 2]
    assert clones.loc["p2", "n_cells"].tolist() == [1, 1]  # the β chain of another donor's pair stays alone
    wide = counts_by_sample(found.clones, found.counts).to_pandas()
    assert wide.loc[
        wide["samples"] == "blood;lung", ["n_cells blood", "n_cells lung", "n_cells other"]
    ].to_numpy().tolist() == [[2, 1, 0]]


def test_without_donors_a_sample_is_one(tmp_path):
    for name in ("a", "b"):
        write(tmp_path, name, [([0], [0])])
    found = made(tmp_path)
    assert found.clones["donor"].to_pylist() in (["a", "b"], ["b", "a"])
    assert found.clones["n_donors"].to_pylist() == [2, 2]
    assert len({*found.clones["clone_id"].to_pylist()}) == 2


def test_a_sample_with_the_name_of_a_donor_is_refused(tmp_path):
    write(tmp_path, "p1", [([0], [0])])
    write(tmp_path, "b", [([0], [0])], "p1")
    with pytest.raises(InputError, match="sample p1 has the name of the donor of another sample"):
        made(tmp_path)


def test_rows_of_bulk_tables_join_nothing_and_count_in_their_unit(tmp_path):
    write(tmp_path, "cells", [([0], [0])], "p1")
    frame = pd.DataFrame(
        {"v_call": ["TRBV19"], "j_call": ["TRBJ2-7"], "junction_aa": [BETA[0][1]], "umi_count": [7]}
    )
    frame.assign(junction=nucleotides(BETA[0][1]), sequence_id="1").to_csv(
        tmp_path / "bulk.tsv", sep="\t", index=False
    )
    words = ["--sample", "bulk", "--metadata", '{"donor": "p1"}', "--outdir", str(tmp_path)]
    normalise_receptors.main([str(tmp_path / "bulk.tsv"), *words])
    found = made(tmp_path)
    assert found.clones.select(["chains", "n_cells", "count_unit"]).to_pylist() == [
        {"chains": chains, "n_cells": n, "count_unit": unit}
        for chains, n, unit in sorted(
            [("paired", 1, "cells"), ("beta", 7, "UMIs")],
            key=lambda row: found.clones["chains"].to_pylist().index(row[0]),
        )
    ]


def test_missing_nucleotides_are_said(tmp_path):
    write(tmp_path, "cells", [([0], [0])])
    (tmp_path / "flat.csv").write_bytes((ROOT / "assets/demo/donors/flu_1.csv").read_bytes())
    normalise_receptors.main([str(tmp_path / "flat.csv"), "--sample", "flat", "--outdir", str(tmp_path)])
    assert made(tmp_path).by == "aa"
    with pytest.raises(InputError, match="1 sample has chains whose nucleotides are not known: flat"):
        made(tmp_path, "nt")


chain = st.integers(0, 2)
cell = st.tuples(st.lists(chain, max_size=2, unique=True), st.lists(chain, max_size=1)).filter(any)


@settings(max_examples=25, deadline=None)
@given(
    samples=st.lists(
        st.tuples(st.sampled_from(["p", "q"]), st.lists(cell, min_size=1, max_size=12)),
        min_size=1,
        max_size=3,
    )
)
def test_clones_are_those_of_a_few_lines(tmp_path_factory, samples):
    """Every cell is in one clone, and the clones are those of a slow and plain program."""
    folder = tmp_path_factory.mktemp("any")
    for number, (donor, cells) in enumerate(samples):
        write(folder, f"s{number}", cells, donor)
    found = made(folder)
    rows = [
        (donor, f"s{number}", place + 1, *cell)
        for number, (donor, cells) in enumerate(samples)
        for place, cell in enumerate(cells)
    ]
    expected = {frozenset(family) for family in plain_families(rows)}
    members = found.members.to_pandas()
    groups = {
        frozenset(zip(g["sample_id"], g["cell_row"], strict=True)) for _, g in members.groupby("clone_id")
    }
    assert groups == expected
    sizes = members.groupby(["clone_id", "sample_id"]).size()
    counts = found.counts.to_pandas().set_index(["clone_id", "sample_id"])
    assert counts["n_cells"].to_dict() == sizes.to_dict()
    shares = sizes / members.groupby("sample_id").size()
    np.testing.assert_allclose(counts["share"], shares.reindex(counts.index))
    assert (
        found.clones["n_cells"].to_pylist()
        == found.clones["clone_id"].to_pandas().map(members["clone_id"].value_counts()).tolist()
    )


def plain_families(rows: list[tuple]) -> list[list[tuple]]:
    """Cells of each clone: sample and row; rows are donor, sample, row, α chains and β chains of a cell."""
    families: dict[tuple, list[tuple]] = {}
    for donor in {row[0] for row in rows}:
        own = [row for row in rows if row[0] == donor]
        for row, name in zip(own, plain_clones([row[3:] for row in own]), strict=True):
            families.setdefault((donor, name), []).append(row[1:3])
    return list(families.values())


def test_script_writes_the_tables(tmp_path):
    write(tmp_path, "s", [([0], [0]), ([], [0]), ([1], [1])])
    expected = made(tmp_path)
    paths = {kind: str(tmp_path / f"s.{kind}.parquet") for kind in ("cells", "chains")}
    words = itertools.chain.from_iterable((f"--{kind}", path) for kind, path in paths.items())
    out = tmp_path / "clones"
    script.main([*words, "--receptors", str(tmp_path / "run/receptors.parquet"), "--outdir", str(out)])
    for name, table in (
        ("clones", expected.clones),
        ("counts", expected.counts),
        ("members", expected.members),
    ):
        assert tables.read(out / f"{name}.parquet").equals(table), name
    assert tables.metadata(out / "clones.parquet")["clone_by"] == "nt"


def test_calls_and_clusters_of_clones(tmp_path):
    """A clone has the call of its receptor, in the sample of the lowest FDR, and its cluster."""
    write(tmp_path, "blood", [([0], [0]), ([], [0]), ([1], [1])], "p")
    write(tmp_path, "lung", [([0], [0]), ([2], [2])], "p")
    expected = made(tmp_path)
    paths = (
        (kind, [str(tmp_path / f"{name}.{kind}.parquet") for name in ("blood", "lung")])
        for kind in ("cells", "chains")
    )
    words = itertools.chain.from_iterable((f"--{kind}", *names) for kind, names in paths)
    script.main(
        [*words, "--receptors", str(tmp_path / "run/receptors.parquet"), "--outdir", str(tmp_path / "clones")]
    )
    receptors = {row["tra_junction_aa"]: row["receptor_id"] for row in expected.clones.to_pylist()}
    first, second, third = (receptors[ALPHA[number][1]] for number in range(3))
    for sample, rows in {
        "blood": [(first, "called", "E1", 0.2), (second, "no call", "E2", 0.3)],
        "lung": [(first, "called", "E1", 0.1), (third, "no call", None, None)],
    }.items():
        names = ("receptor_id", "call", "epitope", "fdr")
        table = pa.Table.from_pylist(
            [{"sample_id": sample, **dict(zip(names, row, strict=True))} for row in rows], schema.ANNOTATION
        )
        tables.write(table, tmp_path / f"annotation/{sample}.parquet")
    members = pa.table(
        {"receptor_id": [third, first], "cluster_id": ["k", None]},
        schema=pa.schema([("receptor_id", pa.string()), ("cluster_id", pa.string())]),
    )
    tables.write(members, tmp_path / "members.parquet")
    annotation = [str(path) for path in sorted((tmp_path / "annotation").iterdir())]
    options = [
        "--annotation",
        *annotation,
        "--members",
        str(tmp_path / "members.parquet"),
        "--outdir",
        str(tmp_path / "out"),
    ]
    describe_clones.main(["--clones", str(tmp_path / "clones"), *options])
    found = tables.read(tmp_path / "out/clones.parquet").to_pandas().set_index("receptor_id")
    assert tables.arrow_schema(tmp_path / "out/clones.parquet") == schema.CLONES
    columns = ["call", "call_epitope", "call_fdr", "cluster_id", "n_cells"]
    rows = found.loc[[first, second, third], columns].astype(object)
    assert rows.where(rows.notna(), None).to_numpy().tolist() == [
        ["called", "E1", 0.1, None, 3],
        ["no call", None, None, None, 1],
        ["no call", None, None, "k", 1],
    ]
    wide = pd.read_csv(tmp_path / "out/clones_by_sample.tsv", sep="\t").set_index("receptor_id")
    assert wide.loc[first, ["n_cells blood", "n_cells lung"]].tolist() == [2, 1]
    assert tables.metadata(tmp_path / "out/clones.parquet")["clone_by"] == "nt"


def test_a_cell_that_joined_counts_with_the_receptor_of_its_clone(tmp_path):
    write(tmp_path, "s", [([], [0]), ([0], [0]), ([0], [0]), ([1], []), ([], [2])])
    write(tmp_path, "t", [([], [0])], None)
    found = made(tmp_path)
    tables.write(found.members, tmp_path / "clones/members.parquet")
    for name, expected in (("s", [1, 1, 2, 3, 4]), ("t", [0])):
        own = tables.read(tmp_path / f"{name}.cells.parquet", ["receptor_id"])["receptor_id"]
        counted = counted_receptors(members_of(tmp_path / "clones", name), own)
        assert counted.to_pylist() == own.take(pa.array(expected)).to_pylist()
    own = tables.read(tmp_path / "s.cells.parquet", ["receptor_id"])["receptor_id"].to_pylist()
    paths = [tmp_path / f"{name}.cells.parquet" for name in ("s", "t")]
    shown = [own[0], own[1], own[3], own[4]]
    assert layout.abundances(paths, tmp_path / "clones", shown)["n"].tolist() == [1, 3, 1, 1]
    assert layout.abundances(paths[:1], tmp_path / "clones", shown)["n"].tolist() == [0, 3, 1, 1]
    assert layout.abundances(paths, None, shown)["n"].tolist() == [2, 2, 1, 1]


def test_without_annotation_nothing_is_called(tmp_path):
    write(tmp_path, "s", [([0], [0])])
    found = made(tmp_path)
    for name, table in (("clones", found.clones), ("counts", found.counts)):
        tables.write(table, tmp_path / f"clones/{name}.parquet")
    with database.connect(tmp_path, memory="1GB", threads=1) as connection:
        (part,) = described(connection, tmp_path / "clones")
    (clone,) = part.to_pylist()
    assert [clone[name] for name in ("call", "call_fdr", "exact_epitope", "cluster_id")] == [None] * 4


def test_calls_of_one_large_sample_are_joined_by_receptor(tmp_path, monkeypatch):
    """Not by the sample alone, all with all: 100,000 clones would not end. Parts follow each other."""
    n = 3000
    monkeypatch.setattr(clone_table, "PART", 1024)
    clones = [{"clone_id": f"c{i}", "receptor_id": f"r{i}", "clonotype_id": f"r{i}"} for i in range(n)]
    counts = [{"clone_id": f"c{i}", "sample_id": "s", "n_cells": 1} for i in range(n)]
    calls = [{"sample_id": "s", "receptor_id": f"r{i}", "call": "no call", "fdr": i / n} for i in range(n)]
    for name, rows, columns in (
        ("clones", clones, schema.COUNTED_CLONES),
        ("counts", counts, schema.CLONE_COUNTS),
        ("s", calls, schema.ANNOTATION),
    ):
        tables.write(pa.Table.from_pylist(rows, columns), tmp_path / f"{name}.parquet")
    with database.connect(tmp_path, memory="1GB", threads=1) as connection:
        parts = list(described(connection, tmp_path, [tmp_path / "s.parquet"]))
        assert list(map(len, parts)) == [1024, 1024, 952]
        assert pa.concat_tables(parts)["clone_id"].to_pylist() == [clone["clone_id"] for clone in clones]
        assert pa.concat_tables(parts)["call"].to_pylist() == ["no call"] * n
        connection.execute("DROP TABLE called")
        connection.execute("PRAGMA enable_profiling = 'json'")
        connection.execute(f"PRAGMA profiling_output = '{tmp_path}/profile.json'")
        clone_table.call_clones(connection, tmp_path, [tmp_path / "s.parquet"])
        connection.execute("PRAGMA disable_profiling")
    profile = (tmp_path / "profile.json").read_text()
    produced = [int(rows) for rows in re.findall(r'"intermediate_rows": *(\d+)', profile)]
    assert n in produced
    assert max(produced) <= n

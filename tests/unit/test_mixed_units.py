"""A run of tables in different units: its numbers against a few lines of pandas on the raw files."""

from itertools import combinations

from airrvec.core import schema, tables
from airrvec.repertoire import repertoires, sample_comparison
from airrvec.repertoire.options import Group
from airrvec.repertoire.sample_comparison import Samples

import clone_tables
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from inputs import text

import describe_samples
import normalise_receptors

# V gene, J gene and CDR3 with its ends of each chain.
ALPHA = [(f"TRAV{v}", "TRAJ42", f"CAGAG{a}QGNLIF") for v, a in zip([27, 20] * 3, "ADGHKN", strict=True)]
BETA = [(f"TRBV{v}", "TRBJ2-7", f"CASS{a}RSSYEQYF") for v, a in zip([19, 14, 2] * 2, "ADGHKN", strict=True)]
UNITS = {"tenx": "cells", "ranger": "cells", "airr": "UMIs", "mixcr": "reads", "conga": "cells"}
GENES = ("v", "j", "cdr3")


def contigs(rng, pairs: list[tuple]) -> pd.DataFrame:
    """Contigs of cells: an α and a β chain, and in some cells another α chain of fewer UMIs."""
    rows = []
    for cell, (alpha, beta) in enumerate(pairs):
        found = [("TRA", ALPHA[alpha], 9)] if alpha is not None else []
        found += [("TRB", BETA[beta], 7)]
        found += [("TRA", ALPHA[5], 1)] if alpha is not None and cell % 4 == 0 else []
        for number, (locus, chain, umis) in enumerate(found):
            reads = int(rng.integers(100, 900))
            rows.append((f"cell{cell}", f"cell{cell}_contig_{number}", locus, *chain, umis, reads))
    names = ["cell", "contig", "locus", *GENES, "umis", "reads"]
    return pd.DataFrame(rows, columns=names).sample(frac=1, random_state=1)


def write_raw(folder) -> None:
    """A table of each kind, in its program's columns."""
    rng = np.random.default_rng(7)
    cells = contigs(rng, [(0, 0)] * 9 + [(1, 1)] * 4 + [(2, 2), (None, 3), (None, 3), (0, 1)])
    names = {"cell": "barcode", "contig": "contig_id", "locus": "chain", "v": "v_gene", "j": "j_gene"}
    cells.assign(productive="true", is_cell="true").rename(columns=names).to_csv(folder / "tenx", index=False)
    cells = contigs(rng, [(1, 1)] * 6 + [(3, 3)] * 2 + [(None, 0)])
    names = {"cell": "cell_id", "contig": "sequence_id", "v": "v_call", "j": "j_call", "cdr3": "junction_aa"}
    names |= {"umis": "duplicate_count", "reads": "consensus_count"}
    cells.assign(is_cell="T").rename(columns=names).to_csv(folder / "ranger", index=False, sep="\t")
    bulk = pd.DataFrame([*BETA, BETA[0]], columns=["v_call", "j_call", "junction_aa"])
    bulk = bulk.assign(sequence_id=range(7), umi_count=[50, 3, 1, 8, 1, 2, 6], duplicate_count=900)
    bulk.to_csv(folder / "airr", index=False, sep="\t")  # one clone in two rows
    mixcr = [
        (i, n, f"{v}*00(500)", f"{j}*00(90)", cdr3)
        for i, n, (v, j, cdr3) in zip((0, 1, 2), (4000, 250, 1), (BETA[0], BETA[3], BETA[4]), strict=True)
    ]
    columns = ("cloneId", "readCount", "allVHitsWithScore", "allJHitsWithScore", "aaSeqCDR3")
    (folder / "mixcr").write_text(text(columns, mixcr))
    columns = ("clone_id", "clone_size", "va_gene", "ja_gene", "cdr3a", "vb_gene", "jb_gene", "cdr3b")
    rows = [(f"c{i}", n, *ALPHA[i], *BETA[i]) for i, n in ((0, 120), (1, 20), (4, 1))]
    (folder / "conga").write_text(text(columns, rows))


def of_cells(raw: pd.DataFrame, cell: str, locus: str, umis: str, genes: list[str]) -> pd.Series:
    best = raw.sort_values(umis, ascending=False).drop_duplicates([cell, locus]).set_index([locus, cell])
    alpha, beta = (best.loc[chain, genes].add_prefix(chain) for chain in ("TRA", "TRB"))
    return beta.join(alpha, how="outer")[[*alpha, *beta]].fillna("").apply(tuple, axis=1).value_counts()


def raw_clones(folder, name: str) -> pd.Series:
    """Number of each clone (V, J and CDR3 of α and β) in the raw table."""
    raw = pd.read_csv(folder / name, sep="," if name == "tenx" else "\t")
    if name == "tenx":
        return of_cells(raw, "barcode", "chain", "umis", ["v_gene", "j_gene", "cdr3"])
    if name == "ranger":
        return of_cells(raw, "cell_id", "locus", "duplicate_count", ["v_call", "j_call", "junction_aa"])
    if name == "conga":
        return raw.set_index(["va_gene", "ja_gene", "cdr3a", "vb_gene", "jb_gene", "cdr3b"])["clone_size"]
    v, j, cdr3, n = {
        "airr": ("v_call", "j_call", "junction_aa", "umi_count"),
        "mixcr": ("allVHitsWithScore", "allJHitsWithScore", "aaSeqCDR3", "readCount"),
    }[name]
    genes = (raw[column].str.split("*").str[0] for column in (v, j))
    return raw.assign(a="", b="", c="").groupby(["a", "b", "c", *genes, cdr3])[n].sum()


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The raw numbers of each sample, and the folder of the run."""
    folder = tmp_path_factory.mktemp("mixed")
    write_raw(folder)
    for name in UNITS:
        normalise_receptors.main([str(folder / name), "--sample", name, "--outdir", str(folder)])
    made = clone_tables.count(folder, [folder / f"{name}.cells.parquet" for name in UNITS], folder)
    describe_samples.main(["--clones", str(made), "--outdir", str(folder / "samples")])
    raw = {name: raw_clones(folder, name) for name in UNITS}
    return {name: clones.set_axis(clones.index.to_flat_index()) for name, clones in raw.items()}, folder


def described(run, name: str) -> pd.DataFrame:
    table = tables.read(run[1] / f"samples/{name}.parquet").to_pandas()
    assert table.groupby("sample_id")["count_unit"].unique().str.join("").to_dict() == UNITS
    return table


def test_clone_sizes(run):
    clones = described(run, "largest_clones")
    for name, raw in run[0].items():
        found = clones[clones["sample_id"] == name].fillna("").set_index(list(schema.RECEPTOR_FIELDS))
        assert found["n_cells"].to_dict() == raw.to_dict()
        assert found["share"].to_dict() == pytest.approx((raw / raw.sum()).to_dict())


def test_v_usage(run):
    usage = described(run, "gene_usage").query("segment == 'V' and locus == 'TRB'")
    for name, raw in run[0].items():
        found = usage[usage["sample_id"] == name].set_index("gene")["n_cells"]
        assert found.to_dict() == raw.groupby([key[3] for key in raw.index]).sum().to_dict()


def of_class(raw: pd.Series, chains: str) -> pd.Series:
    return raw[[bool(key[0]) == (chains == "paired") for key in raw.index]]


def test_hill_numbers(run):
    diversity = described(run, "diversity").set_index(["sample_id", "chains"])
    for name, chains in diversity.index:
        p = of_class(run[0][name], chains).to_numpy() / of_class(run[0][name], chains).sum()
        expected = [len(p), np.exp(-(p * np.log(p)).sum()), 1 / (p**2).sum()]
        found = diversity.loc[(name, chains), ["hill_0", "hill_1", "hill_2"]]
        assert found.tolist() == pytest.approx(expected)
    assert len(diversity) == 7  # pairs and lone β chains of the tables of cells


@pytest.mark.parametrize("chains", ["paired", "beta"])
def test_overlap(run, chains):
    raw, folder = run
    parts = [tables.read(folder / f"{name}.receptors_0000.parquet") for name in UNITS]
    receptors = tables.distinct_receptors(pa.concat_tables(parts))
    tables.write(receptors, folder / "receptors.parquet")
    vectors = tables.embeddings_table(receptors["receptor_id"], np.ones((len(receptors), 2), np.float32))
    tables.write(vectors, folder / "vectors.parquet")
    found = repertoires.read(folder / "clones", folder / "receptors.parquet", folder / "vectors.parquet")
    assert found.units.to_dict() == UNITS
    samples = Samples(Group("homosapiens", chains, found, found.rows(chains), None, 0))
    names = list(samples.counts)
    overlap = pd.DataFrame(sample_comparison.overlaps(samples)["morisita_horn"], names, names)
    for first, second in combinations(names, 2):
        counts = pd.concat([of_class(raw[name], chains) for name in (first, second)], axis=1).fillna(0)
        x, y = (counts / counts.sum()).to_numpy().T
        assert overlap.loc[first, second] == pytest.approx(2 * (x @ y) / (x @ x + y @ y))
    assert overlap.to_numpy()[np.triu_indices(len(names), 1)].max() > 0

"""References merged into one: evidence of each pair, conflicts, every row accounted for, round trips."""

import json
from pathlib import Path

from airrvec.annotation.merged_reference import SourceTable, merge
from airrvec.annotation.reference_set import build_reference_set
from airrvec.core import schema, tables
from airrvec.core.errors import InputError

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inputs import ALPHA, ALPHA_2, BETA, BETA_2, DATA, normalised, text

import merge_references

VDJDB = (
    *("v.alpha", "j.alpha", "cdr3.alpha", "v.beta", "j.beta", "cdr3.beta", "antigen.epitope", "mhc.a"),
    *("reference.id", "vdjdb.score", "method.identification", "method.verification", "antigen.species"),
)
MCPAS = (
    *("TRAV", "TRAJ", "CDR3.alpha.aa", "TRBV", "TRBJ", "CDR3.beta.aa", "Epitope.peptide", "MHC"),
    *("PubMed.ID", "Antigen.identification.method"),
)
FLU, CMV, MELAN_A, MELAN_A_2 = "GILGFVFTL", "NLVPMVATV", "ELAGIGILTV", "EAAGIGILTV"
SORT, DIRECT = "tetramer-sort", "direct"
VDJDB_ROWS = [
    (*ALPHA, *BETA, FLU, "HLA-A*02:01", "PMID:1", "0", SORT, None, "InfluenzaA"),
    (*ALPHA, *BETA, FLU, "A*0201", "PMID:2", "2", SORT, DIRECT, "InfluenzaA"),
    (*ALPHA, *BETA, FLU, "HLA-B*07:02", "PMID:2", "1", None, None, "InfluenzaA"),
    (*ALPHA, *BETA, CMV, "HLA-A*02:01", None, None, None, None, "CMV"),
    (*ALPHA_2, *BETA_2, MELAN_A, "HLA-A*02:01", "PMID:3", "0", SORT, None, "HomoSapiens"),
    (*ALPHA_2, *BETA_2, MELAN_A_2, "HLA-A*02:01", "PMID:3", "0", SORT, None, "HomoSapiens"),
    (*ALPHA_2, *BETA_2, None, None, None, None, None, None, None),
    (*ALPHA[:2], "C*F", *BETA_2[:2], "C*F", FLU, "HLA-A*02:01", "PMID:4", "0", None, None, None),
]
MCPAS_ROWS = [  # without alleles, as McPAS-TCR has them
    ("TRAV1-1", "TRAJ24", ALPHA[2], "TRBV2", "TRBJ1-1", BETA[2], FLU, "HLA-A2", "1", "2.1"),
    (None, None, None, "TRBV2", "TRBJ1-1", BETA[2], FLU, "HLA-A2", "5", "1"),
    (*ALPHA_2, *BETA_2, FLU, None, "5", None),
]


def source(path: Path, name: str) -> SourceTable:
    table = normalised(path)
    return SourceTable(name, table.cells, table.receptors, table.counts)


@pytest.fixture(scope="module")
def merged(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    (folder / "vdjdb.tsv").write_text(text(VDJDB, VDJDB_ROWS))
    (folder / "mcpas.csv").write_text(text(MCPAS, MCPAS_ROWS, ","))
    return merge([source(folder / "vdjdb.tsv", "vdjdb"), source(folder / "mcpas.csv", "mcpas")])


def test_evidence_of_each_pair(merged):
    assert merged.pairs.schema.equals(schema.MERGED_REFERENCE)
    names = ("tra_v_call", "trb_v_call", "epitope", "mhc", "sources", "studies", "n_studies", "methods")
    found = merged.pairs.select([*names, "confidence"]).to_pylist()
    both, flu_mhc = "mcpas;vdjdb", "HLA-A*02;HLA-A*02:01;HLA-B*07:02"
    methods = f"McPAS method 2.1;{DIRECT};{SORT}"
    one = "HLA-A*02:01"
    assert sorted(map(repr, (tuple(row.values()) for row in found))) == sorted(
        map(
            repr,
            [
                # McPAS's receptor, without alleles, shares the evidence, but has no score.
                ("TRAV1-1*01", "TRBV2*01", FLU, flu_mhc, both, "PMID:1;PMID:2", 2, methods, 2),
                ("TRAV1-1", "TRBV2", FLU, flu_mhc, both, "PMID:1;PMID:2", 2, methods, None),
                ("TRAV1-1*01", "TRBV2*01", CMV, one, "vdjdb", "vdjdb", 1, None, 0),
                (None, "TRBV2", FLU, "HLA-A*02", "mcpas", "PMID:5", 1, "McPAS method 1", None),
                ("TRAV12-2*01", "TRBV20-1*01", MELAN_A, one, "vdjdb", "PMID:3", 1, SORT, 0),
                ("TRAV12-2*01", "TRBV20-1*01", MELAN_A_2, one, "vdjdb", "PMID:3", 1, SORT, 0),
                ("TRAV12-2*01", "TRBV20-1*01", FLU, None, "mcpas", "PMID:5", 1, None, None),
            ],
        )
    )


def test_records_of_one_receptor_mhc_and_epitope_share_the_highest_score(merged):
    cells = merged.cells.to_pandas()
    found = cells[cells["sample_id"] == "vdjdb"][["mhc_a", "reference_id", "confidence"]].head(4)
    assert found.astype(object).where(found.notna(), None).to_numpy().tolist() == [
        ["HLA-A*02:01", "PMID:1", "2"],
        ["HLA-A*02:01", "PMID:2", "2"],
        ["HLA-B*07:02", "PMID:2", "1"],  # another MHC
        ["HLA-A*02:01", "vdjdb", "0"],  # its table is its study; no method is known
    ]


def test_a_conflict_is_a_clonotype_with_epitopes_of_several_groups(merged):
    conflicts = merged.conflicts.to_pandas()
    assert merged.conflicts.schema.equals(schema.REFERENCE_CONFLICTS)
    found = conflicts[["trb_v_call", "epitope", "n_groups"]].to_numpy().tolist()
    assert sorted(found) == [
        ["TRBV2", FLU, 2],
        ["TRBV2*01", FLU, 2],
        ["TRBV2*01", CMV, 2],
        ["TRBV20-1*01", MELAN_A_2, 2],
        ["TRBV20-1*01", MELAN_A, 2],
        ["TRBV20-1*01", FLU, 2],
    ]
    # Melan-A's two peptides are one group, so that they alone would be no conflict.
    assert len(set(conflicts.loc[conflicts["epitope"].isin([MELAN_A, MELAN_A_2]), "epitope_group"])) == 1
    assert conflicts["epitope_group"].nunique() == 3


def test_every_row_of_every_table_is_accounted_for(merged):
    assert merged.sources.to_pylist() == [
        dict(zip(schema.REFERENCE_SOURCES.names, row, strict=True))
        for row in (
            ("vdjdb", "vdjdb", 8, 1, 1, 0, 6, 2, 4, 4, 4, 3, 1, 0),
            ("mcpas", "mcpas", 3, 0, 0, 0, 3, 3, 1, 2, 3, 2, 1, 0),
        )
    ]


def shape_of(reference):
    """What a reference set is made of, in numbers and names."""
    confidence = np.nan_to_num(reference.confidence, nan=-1).tolist()
    described = reference.epitopes[["epitope", "n_references", "n_studies"]].to_numpy().tolist()
    ids = reference.receptors["clonotype_id"].to_pylist()
    order = np.argsort(ids)
    matrices = [matrix[order].toarray().tolist() for matrix in (reference.labels, reference.studies)]
    rows = [(ids[row], confidence[row]) for row in order]
    return rows, described, reference.study_names, *matrices


@pytest.mark.parametrize("kind", ["parquet", "tsv"])
def test_the_merged_table_is_read_as_the_same_reference(merged, tmp_path, kind):
    tables.write_both(merged.pairs, tmp_path / "merged")
    again = normalised(tmp_path / f"merged.{kind}")
    assert again.counts["format"] == "reference"
    assert again.counts["rows_in"] == again.counts["rows_out"] == len(merged.pairs)
    for chains in ("paired", "beta"):
        options = {"chains": chains, "species": "homosapiens"}
        first = build_reference_set(merged.cells, merged.receptors, **options)
        second = build_reference_set(again.cells, again.receptors, **options)
        assert shape_of(first) == shape_of(second)
    twice = merge([SourceTable("merged", again.cells, again.receptors, again.counts)])
    left_out = ["sources", "mhc"]  # the table's own name; the most frequent MHC alone
    assert twice.pairs.drop_columns(left_out).equals(merged.pairs.drop_columns(left_out))
    assert twice.conflicts.num_rows == merged.conflicts.num_rows


def test_a_label_of_several_studies_counts_for_each(tmp_path):
    row = (*ALPHA, *BETA, FLU, "HLA-A*02:01", "PMID: 1;pmid:2; PMID:1", "1", None, None, None)
    (tmp_path / "table.tsv").write_text(text(VDJDB, [row]))
    merged = merge([source(tmp_path / "table.tsv", "table")])
    assert merged.pairs.select(["studies", "n_studies"]).to_pylist() == [
        {"studies": "PMID:1;PMID:2", "n_studies": 2}
    ]
    assert merged.cells["input_rows"].to_pylist() == [1, 0]


@pytest.mark.parametrize(
    ("files", "n_merged"),
    [(("vdjdb_full.tsv", "iedb.csv", "mcpas.csv"), [4, 2, 2]), (("vdjdb_release.tsv", "sceptr.tsv"), [5, 2])],
)
def test_fixtures_of_several_formats(files, n_merged):
    merged = merge([source(DATA / name, name) for name in files])
    for account in merged.sources.to_pylist():
        parts = [account[f"rows_{part}"] for part in ("rejected", "unlabelled", "merged")]
        assert account["rows"] == sum(parts)
    assert merged.sources["rows_merged"].to_pylist() == n_merged


CHAINS = st.sampled_from([ALPHA, ALPHA_2, (None, None, None), ("TRAV1-1*01", "TRAJ24*01", "C*F")])
BETAS = st.sampled_from([BETA, BETA_2, ("TRBV2", "TRBJ1-1", BETA[2]), (None, None, None)])
ROW = st.tuples(
    CHAINS,
    BETAS,
    st.sampled_from([FLU, CMV, MELAN_A, MELAN_A_2, None]),
    st.sampled_from(["PMID:1", "PMID: 1", "pmid:2", "none", "PMID:1;PMID:3", None]),
    st.sampled_from(["0", "3", None, "high"]),
)
GOOD = (*ALPHA, *BETA, FLU, None, "PMID:9", None, None, None, None)


@settings(max_examples=60, deadline=None)
@given(st.lists(ROW, max_size=12), st.lists(ROW, max_size=12))
def test_rows_pairs_and_studies_add_up(tmp_path_factory, first, second):
    folder = tmp_path_factory.mktemp("mutated")
    sources = []
    for name, rows in (("one", first), ("two", second)):
        lines = [(*a, *b, epitope, None, study, score, *[None] * 3) for a, b, epitope, study, score in rows]
        (folder / f"{name}.tsv").write_text(text(VDJDB, [*lines, GOOD]))
        sources.append(source(folder / f"{name}.tsv", name))
    merged = merge(sources)
    accounts = merged.sources.to_pandas().set_index("source")
    pairs = merged.pairs.to_pandas()
    evidence = pairs.drop_duplicates(["clonotype_id", "epitope"])
    for given_rows, table in zip((first, second), sources, strict=True):
        account = accounts.loc[table.name]
        n_rejected = len(given_rows) + 1 - table.counts["rows_out"]
        assert account["rows"] == len(given_rows) + 1
        assert account["rows_rejected"] == n_rejected
        assert account["rows"] == account[["rows_rejected", "rows_unlabelled", "rows_merged"]].sum()
        cells = table.cells.to_pandas().dropna(subset="epitope")
        assert account["pairs"] == len(cells[["clonotype_id", "epitope"]].drop_duplicates())
        assert account["pairs"] == account["new_pairs"] + account["shared_pairs"]
    shared = evidence["sources"] == "one;two"
    assert len(evidence) == accounts["new_pairs"].sum() + shared.sum()
    assert (accounts["shared_pairs"] == shared.sum()).all()
    # The same studies and receptors as in the tables, counted another way.
    cells = [table.cells.to_pandas().assign(sample_id=table.name) for table in sources]
    cells = pd.concat(cells).dropna(subset="epitope")
    assert set(zip(pairs["receptor_id"], pairs["epitope"], strict=True)) == set(
        zip(cells["receptor_id"], cells["epitope"], strict=True)
    )
    for row in pairs.itertuples():
        own = cells[(cells["clonotype_id"] == row.clonotype_id) & (cells["epitope"] == row.epitope)]
        named = own["reference_id"].fillna(own["sample_id"])
        studies = {word for text in named for word in text.split(";")}
        assert set((row.studies or "").split(";")) - {""} == studies
        assert row.n_studies == len(studies)


def test_what_cannot_be_merged_is_named(tmp_path, merged):
    (tmp_path / "table.tsv").write_text(text(VDJDB, [VDJDB_ROWS[6]]))
    unlabelled = source(tmp_path / "table.tsv", "empty")
    with pytest.raises(InputError, match="no row of the reference has an epitope: empty"):
        merge([unlabelled])
    with pytest.raises(InputError, match="two tables of the reference have one name: empty, empty"):
        merge([unlabelled, unlabelled])
    wrong = SourceTable(
        "wrong", merged.cells, merged.receptors, {"format": "x", "rows_in": 99, "rows_rejected": 1}
    )
    with pytest.raises(InputError, match="do not add up"):
        merge([wrong])


def test_the_script_writes_the_tables_or_why_not(tmp_path, capsys):
    for name, row in (("one", VDJDB_ROWS[0]), ("two", VDJDB_ROWS[6])):
        (tmp_path / f"{name}.tsv").write_text(text(VDJDB, [row]))
        table = normalised(tmp_path / f"{name}.tsv")
        tables.write(table.cells, tmp_path / f"tables/{name}.cells.parquet")
        tables.write(table.receptors, tmp_path / f"tables/{name}.receptors_0000.parquet")
        tables.write_json(table.counts, tmp_path / f"tables/{name}.qc.json")
    common = ("--tables", str(tmp_path / "tables"), "--missing", str(tmp_path / "merged.missing.json"))
    merge_references.main(["--sources", "one", "two", *common, "--outdir", str(tmp_path / "out")])
    assert capsys.readouterr().err == "WARNING: two: no row has an epitope\n"
    merged = pd.read_csv(tmp_path / "out/merged.tsv", sep="\t")
    assert merged[["epitope", "sources", "n_studies"]].to_numpy().tolist() == [[FLU, "one", 1]]
    accounts = tables.read(tmp_path / "out/sources.parquet").to_pylist()
    assert [(row["source"], row["rows_merged"], row["rows_unlabelled"]) for row in accounts] == [
        ("one", 1, 0),
        ("two", 0, 1),
    ]
    assert not (tmp_path / "merged.missing.json").exists()
    merge_references.main(["--sources", "two", *common, "--outdir", str(tmp_path / "none")])
    reason = json.loads((tmp_path / "merged.missing.json").read_text())[0]["reason"]
    assert reason.startswith("no row of the reference has an epitope: two")

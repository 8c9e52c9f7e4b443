"""γδ cells of samples compared by a column: tests of their own, which change none of αβ cells."""

import json

from airrvec.core import schema, tables
from airrvec.report.sections import gamma_delta

import clone_tables
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from condition_runs import compare
from scipy import stats

import describe_gamma_delta
import normalise_receptors

LETTERS = [*"ADEGNPQRSTVY"]
N_CELLS = 40
# Of cells with TRDV1, per donor; the other cells have TRDV2.
SHARES = {"a": (0.8, 0.7, 0.75, 0.9), "b": (0.2, 0.3, 0.1, 0.25)}


def cells_of(share: float, rng: np.random.Generator) -> pd.DataFrame:
    """AIRR rows of γδ cells, and of an αβ cell."""
    rows = [
        ("ab", "TRA", "TRAV1-2*01", "TRAJ33*01", "CAVMDSNYQLIW"),
        ("ab", "TRB", "TRBV6-4*01", "TRBJ2-7*01", "CASSDSGGYEQYF"),
    ]
    for number in range(N_CELLS):
        gene = "TRDV1*01" if number < share * N_CELLS else "TRDV2*01"
        junctions = (f"CA{''.join(rng.choice(LETTERS, 9))}F" for _ in "gd")
        rows.append((f"c{number}", "TRG", "TRGV9*01", "TRGJP*01", next(junctions)))
        rows.append((f"c{number}", "TRD", gene, "TRDJ1*01", next(junctions)))
    columns = ["cell_id", "locus", "v_call", "j_call", "junction_aa"]
    return pd.DataFrame(rows, columns=columns).assign(productive="T")


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """
    Folders of the results without and with the γδ cells of eight donors, of their description, and the cells.
    """
    folder, rng, samples, both = tmp_path_factory.mktemp("cohort"), np.random.default_rng(5), [], []
    for group, shares in SHARES.items():
        for number, share in enumerate(shares):
            samples.append(f"{group}{number}")
            cells_of(share, rng).to_csv(folder / f"{samples[-1]}.tsv", sep="\t", index=False)
            words = [folder / f"{samples[-1]}.tsv", "--sample", samples[-1], "--outdir", folder]
            words += ["--metadata", json.dumps({"group": group}), "--format", "airr"]
            normalise_receptors.main([str(word) for word in words])
    parts = [tables.read(path) for path in sorted(folder.glob("*.receptors_*.parquet"))]
    tables.write(tables.distinct_receptors(pa.concat_tables(parts)), folder / "receptors.parquet")
    clones = clone_tables.count(folder, sorted(folder.glob("*.cells.parquet")), folder / "receptors.parquet")
    paths = {
        kind: [str(folder / f"gamma_delta/{sample}.{kind}.parquet") for sample in samples]
        for kind in ("cells", "chains")
    }
    options = ["--cells", *paths["cells"], "--chains", *paths["chains"], "--outdir", str(folder / "apart")]
    describe_gamma_delta.main(options)
    for name, more in (("without", ()), ("with", ("--gamma-delta", str(folder / "apart/gamma_delta")))):
        both.append(compare(folder / name, clones, "group", *more))
    described = folder / "apart/gamma_delta"
    return *both, described, pd.concat([tables.read(path).to_pandas() for path in paths["cells"]])


def test_a_planted_difference_has_the_means_and_the_p_of_plain_lines(results):
    _, compared, _, cells = results
    table = tables.read(compared / "gamma_delta_tests.parquet")
    assert table.schema.equals(schema.TABLES["gamma_delta_condition_tests"].schema)
    tests = table.to_pandas()
    assert {"v_gene", "j_gene", "cdr3_length"} <= set(tests["measure"])
    assert not {"pathogen", "overlap", "mmd"} & set(tests["measure"])
    (row,) = tests.query("measure == 'v_gene' and feature == 'TRDV1'").to_dict("records")
    is_first = cells["trd_v_call"].str.startswith("TRDV1")
    shares = is_first.groupby([cells["group"], cells["sample_id"]]).mean()
    expected = stats.mannwhitneyu(shares["a"], shares["b"], method="exact").pvalue
    assert row["p"] == pytest.approx(expected) == pytest.approx(2 / 70)
    assert (row["mean_1"], row["mean_2"]) == pytest.approx((shares["a"].mean(), shares["b"].mean()))
    assert row["n_carrying"] == 8
    assert row["fdr"] <= 0.05
    assert (tests.query("measure == 'cdr3_length'")["p"] > 0.05).all()


def test_alpha_beta_cells_have_the_tests_that_they_have_without_gamma_delta_cells(results):
    without, compared, *_ = results
    assert not (without / "gamma_delta_tests.parquet").exists()
    for name in ("tests", "measures", "told", "steps", "changes"):
        paths = (folder / f"{name}.parquet" for folder in (without, compared))
        found, expected = (tables.read(path) for path in paths)
        assert found.equals(expected)


def test_the_report_shows_the_tests(results):
    _, compared, described, _ = results
    sections = gamma_delta.gamma_delta_sections(gamma_delta.read_gamma_delta(described, compared))
    (shown,) = (one for one in sections if one["id"] == "airrvec_gamma_delta_tests")
    assert shown["section_name"] == "γδ T cells by group"
    assert "<code>gamma_delta/tests.tsv</code>" in shown["description"]
    rows = [row for row in shown["data"].values() if "TRDV1" in row["feature"]]
    assert [row["p"] for row in rows] == [pytest.approx(2 / 70)]

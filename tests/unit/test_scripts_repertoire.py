"""CLUSTER_RECEPTORS and COMPARE_SAMPLES on planted repertoires: tables against counts made here."""

import json
from itertools import combinations

from airrvec.core import schema, tables
from airrvec.core.chains import receptor_names
from airrvec.core.schema.comparison import N_MEASURED
from airrvec.synthetic import generation

import clone_tables
import condition_runs
import numpy as np
import pandas as pd
import pytest
from planted_repertoires import SAMPLES, plant
from scipy.spatial.distance import cdist

import cluster_receptors
import compare_samples
import embed_background

CHANCE = 0.02


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("repertoire")
    plant(folder)
    return folder


def cells(folder) -> list[str]:
    """Option of clustering, which reads labels of cells."""
    return ["--cells", *map(str, sorted((folder / "cells").glob("*")))]


def arguments(folder, out: str) -> list[str]:
    options = [
        "--clones",
        folder / "clones",
        "--receptors",
        folder / "run" / "receptors.parquet",
        "--embeddings",
        folder / "run" / "vectors.parquet",
    ]
    options += [
        "--background",
        folder / "background.parquet",
        "--cluster-chance",
        CHANCE,
    ]
    return [str(word) for word in [*options, "--outdir", folder / out]]


def frames(folder, names) -> dict[str, pd.DataFrame]:
    return {name: tables.read(folder / f"{name}.parquet").to_pandas() for name in names}


def all_cells(folder) -> pd.DataFrame:
    return pd.concat([tables.read(path).to_pandas() for path in sorted((folder / "cells").glob("*"))])


@pytest.fixture(scope="module")
def clustered(folder):
    cluster_receptors.main(
        [*cells(folder), *arguments(folder, "clusters"), "--labelled", str(folder / "labelled.cells.parquet")]
    )
    return frames(folder / "clusters", ("clusters", "members", "motifs"))


def test_members_are_neighbours_as_counted_here(folder, clustered):
    qc = json.loads((folder / "clusters" / "clusters.qc.json").read_text())["groups"][0]
    vectors = tables.read(folder / "run" / "vectors.parquet").to_pandas()
    members = clustered["members"]
    assert (members["receptor_id"] == vectors["receptor_id"]).all()
    near = cdist(vectors.iloc[:, 1:], vectors.iloc[:, 1:]) <= qc["radius"]
    assert members["n_neighbours"].tolist() == (near.sum(axis=1) - 1).tolist()
    assert members["n_expected"].mean() == pytest.approx(CHANCE, rel=0.05)
    # A receptor has a cluster exactly if it has a neighbour.
    assert (members["cluster_id"].notna() == (members["n_neighbours"] > 0)).all()
    for _, rows in members.dropna(subset="cluster_id").groupby("cluster_id").groups.items():
        assert all(near[i][[j for j in rows if j != i]].any() for i in rows)


def test_clusters_count_what_carries_them(folder, clustered):
    clusters, members, cells = clustered["clusters"], clustered["members"], all_cells(folder)
    assert len(clusters)
    assert (clusters["n_receptors"].diff().dropna() <= 0).all()
    receptors = tables.read(folder / "run" / "receptors.parquet").to_pandas().set_index("receptor_id")
    labelled = set(tables.read(folder / "labelled.cells.parquet")["receptor_id"].to_pylist())
    for row in clusters.itertuples():
        ids = set(members.loc[members["cluster_id"] == row.cluster_id, "receptor_id"])
        carried = cells[cells["receptor_id"].isin(ids)]
        assert row.n_receptors == len(ids)
        assert row.n_cells == len(carried)
        assert row.n_samples == carried["sample_id"].nunique()
        assert row.n_labelled == len(ids & labelled)
        assert row.epitope == ("M1" if ids & labelled else None)
        assert row.n_with_epitope == row.n_labelled
        assert row.innate_share == 0
        genes = receptors.loc[sorted(ids), "trb_v_call"].str.split("*").str[0]
        assert row.trb_v_share == pytest.approx((genes == row.trb_v_call).mean())
        assert row.centre_id in ids
    top = clusters.iloc[0]
    assert top["trb_v_call"] == "TRBV19"  # the motif of GILGFVFTL
    assert "RS" in top["trb_consensus"]
    centre = receptors.loc[top["centre_id"]]
    chain = (centre["trb_junction_aa"], centre["trb_v_call"], centre["trb_j_call"])
    assert top["trb_generation_probability"] == pytest.approx(
        generation.probabilities([chain], "TRB", "homosapiens")[0]
    )


def test_members_and_centres_have_the_fields_of_their_receptors(folder, clustered):
    receptors = tables.read(folder / "run" / "receptors.parquet")
    fields = receptors.to_pandas().set_index("receptor_id")[list(schema.RECEPTOR_FIELDS)]
    members = clustered["members"].set_index("receptor_id")
    pd.testing.assert_frame_equal(members[fields.columns], fields.loc[members.index])
    named = pd.Series(receptor_names(receptors).to_pylist(), index=fields.index)
    clusters = clustered["clusters"]
    assert clusters["centre"].tolist() == named[clusters["centre_id"]].tolist()


def test_motifs_are_of_the_members(clustered):
    of_position = clustered["motifs"].groupby(["cluster_id", "locus", "position"])["frequency"].sum()
    assert of_position.to_numpy() == pytest.approx(1)
    assert set(clustered["motifs"]["cluster_id"]) == set(clustered["clusters"]["cluster_id"])


def test_the_same_clusters_again(folder, clustered):
    cluster_receptors.main(
        [*cells(folder), *arguments(folder, "again"), "--labelled", str(folder / "labelled.cells.parquet")]
    )
    for name in clustered:
        first, second = (folder / out / f"{name}.parquet" for out in ("clusters", "again"))
        assert tables.read(first).equals(tables.read(second))


def test_groups_made_before_give_the_same_tables(folder, clustered, compared):
    background = [*arguments(folder, "groups")]
    embed_background.main(background)
    place = background.index("--background")
    given = ["--groups", str(folder / "groups"), *background[:place], *background[place + 2 : -1]]
    labelled = ["--labelled", str(folder / "labelled.cells.parquet")]
    cluster_receptors.main([*cells(folder), *given, str(folder / "g"), *labelled])
    compare_samples.main([*given, str(folder / "h"), "--compare-receptors", "100"])
    for out, again in (("clusters", "g"), ("comparison", "h")):
        for path in (folder / out).glob("*.parquet"):
            assert tables.read(folder / again / path.name).equals(tables.read(path)), path.name
        (qc,) = (path.name for path in (folder / out).glob("*.qc.json"))
        assert (folder / again / qc).read_bytes() == (folder / out / qc).read_bytes()


@pytest.fixture(scope="module")
def compared(folder):
    compare_samples.main([*arguments(folder, "comparison"), "--compare-receptors", "100"])
    return frames(folder / "comparison", ("pairs", "samples_pca", "sample_vectors"))


@pytest.fixture(scope="module")
def conditions(folder, clustered, compared):
    """Results by treatment."""
    parts = {"clusters": folder / "clusters", "comparison": folder / "comparison"}
    out = condition_runs.compare(folder, folder / "clones", "treatment", **parts)
    described = frames(folder / "described", ("diversity",))
    return {**frames(out, ("tests", "told", "measures")), **described}


def test_diversity_of_samples(conditions):
    found = conditions["diversity"].set_index("sample_id")
    assert found["n_cells"].to_dict() == {"s1": 110, "s2": 110, "s3": 70, "s4": 70}
    assert found["n_clones"].to_dict() == {"s1": 80, "s2": 80, "s3": 60, "s4": 60}
    assert set(found["n_singletons"]) == {50}
    # 30 of the 80 receptors have two cells each.
    assert found.loc["s1", "coincidence"] == pytest.approx(30 * 2 / (110 * 109))
    assert found.loc["s1", "hill_2"] == pytest.approx(110**2 / (50 + 30 * 4))
    # s3 and s4 reach the least with twice their cells: 50 receptors are seen once, 10 twice.
    ratio = 69 * 50 / (69 * 50 + 2 * 10)
    assert found["reference_coverage"].to_numpy() == pytest.approx(1 - 50 / 70 * ratio**71)
    assert found["method"].to_dict() == {"s1": "rarefied", "s2": "rarefied"} | dict.fromkeys(
        ("s3", "s4"), "extrapolated"
    )
    assert found.loc[["s3", "s4"], "depth"].tolist() == [140, 140]
    # Chao1: the receptors not seen are 69/70 · 50²/(2 · 10).
    unseen = 69 / 70 * 50**2 / 20
    assert found.loc["s3", "hill_0_at_coverage"] == pytest.approx(60 + unseen * (1 - ratio**70))


def test_the_numbers_of_samples_are_those_that_the_tests_compare(conditions):
    measures, tests = conditions["measures"], conditions["tests"]
    keys = ["measure", "feature", "species", "chains"]
    assert not measures.duplicated(["sample_id", *keys]).any()
    assert (measures.groupby(keys, dropna=False).size() == len(SAMPLES)).all()
    assert dict(zip(measures["sample_id"], measures["value"], strict=True)) == SAMPLES
    means = measures.pivot_table(index=keys, columns="value", values="number", dropna=False).reset_index()
    both = tests[tests["mean_1"].notna()].merge(means, on=keys, how="left")
    numbers = both.groupby("measure")["x"].agg(["size", "count"])
    np.testing.assert_array_equal(numbers["count"], numbers["size"].clip(upper=N_MEASURED))
    drawn = both[both["x"].notna()]
    assert {"v_gene", "cluster", "hill_1_at_coverage"} <= {*drawn["measure"]}
    for side in (1, 2):
        value = drawn[f"value_{side}"].iloc[0]
        np.testing.assert_allclose(drawn[f"mean_{side}"], drawn[value])
    left_out = both[both["x"].isna()]
    lowest = drawn.groupby("measure")["p"].max()
    assert (left_out["p"] >= left_out["measure"].map(lowest)).all()


def test_distances_of_samples(folder, compared):
    pairs = compared["pairs"].set_index(["sample_1", "sample_2"])
    assert list(pairs.index) == list(combinations(SAMPLES, 2))
    assert (pairs["n_shared"] == 0).all()
    within, between = pairs.loc[[("s1", "s2"), ("s3", "s4")]], pairs.loc[[("s1", "s3"), ("s2", "s4")]]
    assert between["mmd_p"].max() < 0.01
    assert within["mmd_p"].min() > 0.01
    assert between["mmd"].min() > within["mmd"].max()
    # Planted receptors of s1 have neighbours in s2, random ones none.
    assert pairs.loc[("s1", "s2"), "near_1_in_2"] > 0.1 > pairs.loc[("s3", "s4"), "near_1_in_2"]


def test_components_keep_the_distances_of_the_means(folder, compared):
    found = compared["samples_pca"].set_index("sample_id")
    vectors = tables.read(folder / "run" / "vectors.parquet").to_pandas().set_index("receptor_id")
    carried = (
        all_cells(folder).drop_duplicates(["sample_id", "receptor_id"]).groupby("sample_id")["receptor_id"]
    )
    means = np.stack([vectors.loc[ids].mean(axis=0) for _, ids in carried])
    coordinates = found[["pc_1", "pc_2", "pc_3"]].to_numpy()  # of four points all that there is
    np.testing.assert_allclose(cdist(coordinates, coordinates), cdist(means, means), rtol=1e-4, atol=1e-6)
    assert found.filter(like="explained").iloc[0].sum() == pytest.approx(1)


def test_each_measure_is_tested_between_donors(conditions):
    tests = conditions["tests"]
    assert set(zip(tests["value_1"], tests["value_2"], strict=True)) == {("x", "y")}
    assert tests["p"].min() == pytest.approx(1 / 3)  # the least of two against two
    assert tests["least_p"].to_numpy() == pytest.approx(1 / 3)
    whole = tests[tests["feature"].isna()].set_index("measure")
    assert list(whole.index) == [
        *(f"hill_{order}_at_coverage" for order in (0, 1, 2)),
        *("coincidence", "overlap", "mmd"),
    ]  # none has the 200 cells of which one in a hundred is no single cell
    logs = np.log(conditions["diversity"].set_index("sample_id")["hill_1_at_coverage"])
    expected = logs[["s1", "s2"]].mean() - logs[["s3", "s4"]].mean()
    assert whole.loc["hill_1_at_coverage", "difference"] == pytest.approx(expected)
    kinds = {"hill_0_at_coverage", "v_gene", "j_gene", "cdr3_length", "cluster"}
    assert kinds <= set(tests["measure"]) <= set(schema.MEASURES)


def test_shares_of_clusters_are_those_of_the_cells(folder, clustered, conditions):
    members, cells = clustered["members"], all_cells(folder)
    tests = conditions["tests"].query("measure == 'cluster'")
    assert len(tests)
    for row in tests.itertuples():
        ids = members.loc[members["cluster_id"] == row.feature, "receptor_id"]
        shares = cells["receptor_id"].isin(ids).groupby(cells["sample_id"]).mean()
        assert row.mean_1 == pytest.approx(shares[["s1", "s2"]].mean())
        assert row.mean_2 == pytest.approx(shares[["s3", "s4"]].mean())
        assert row.n_carrying == (shares > 0).sum()


def test_usage_is_that_of_the_clones(folder, conditions):
    counts, clones = (
        tables.read(folder / "clones" / f"{name}.parquet").to_pandas() for name in ("counts", "clones")
    )
    genes = counts.merge(clones, on="clone_id").assign(gene=lambda t: t["trb_v_call"].str.split("*").str[0])
    shares = pd.crosstab(genes["sample_id"], genes["gene"], normalize="index")
    tests = conditions["tests"].query("measure == 'v_gene'").set_index("feature")
    expected = shares.loc[["s1", "s2"]].mean() - shares.loc[["s3", "s4"]].mean()
    found = tests["difference"].filter(like="TRBV")
    assert len(found) > 5
    np.testing.assert_allclose(found, expected[found.index], atol=1e-12)


def test_mmd_of_conditions_is_that_of_mean_kernels(conditions, compared):
    kernel = compared["pairs"].set_index(["sample_1", "sample_2"])["kernel"]
    between = kernel[[("s1", "s3"), ("s1", "s4"), ("s2", "s3"), ("s2", "s4")]].mean()
    expected = kernel["s1", "s2"] + kernel["s3", "s4"] - 2 * between
    (found,) = conditions["tests"].query("measure == 'mmd'")["difference"]
    assert found == pytest.approx(expected)


def test_what_tells_the_treatment_is_told(conditions):
    told = conditions["told"].set_index("told_by")
    assert (told["n_units"] == 4).all()
    assert told.loc["cells", "accuracy"] == 1  # 110 and 70 cells
    assert told["p"].min() >= 1 / 3 - 1e-9
    assert {"v_genes", "j_genes", "k-mers", "mean_vector", "mean_kernel"} <= set(told.index)


def test_vectors_of_samples_are_means(folder, compared):
    found = compared["sample_vectors"].set_index("sample_id")
    vectors = tables.read(folder / "run/vectors.parquet").to_pandas().set_index("receptor_id")
    for sample, rows in all_cells(folder).groupby("sample_id"):
        expected = vectors.loc[rows["receptor_id"].unique()].mean()
        np.testing.assert_allclose(found.loc[sample].filter(like="dim_").astype(float), expected, atol=1e-6)


def test_one_sample_is_told_so(folder, capsys):
    from airrvec.report.sections import comparison

    options = arguments(folder, "one")
    first = min((folder / "cells").glob("*"))
    made = clone_tables.count(folder / "first", [first], folder / "run/receptors.parquet")
    compare_samples.main(["--clones", str(made), *options[2:]])
    found = comparison.read_comparison(folder / "one")
    assert found.pairs.empty
    assert comparison.comparison_lines(found) == [
        "Samples are not compared: two samples are needed, and the samplesheet has 1"
    ]


def test_an_unknown_condition_is_refused(folder, conditions, capsys):
    with pytest.raises(SystemExit):
        condition_runs.compare(folder, folder / "clones", "dose")
    assert "the samplesheet has no column 'dose'" in capsys.readouterr().err


def test_report_sections_hold_the_numbers(folder, clustered, compared):
    from airrvec.report.sections import clusters as report_clusters
    from airrvec.report.sections import comparison

    clusters = report_clusters.read_clusters(folder / "clusters")
    sections = {part["id"]: part for part in report_clusters.cluster_sections(clusters)}
    assert sum(sections["airrvec_clusters_sizes"]["data"]["α and β chains"].values()) == len(
        clustered["clusters"]
    )
    first = clustered["clusters"].iloc[0]
    largest = sections["airrvec_clusters_largest"]
    row = next(row for row in largest["data"].values() if row["id"] == first["cluster_id"])
    assert row["receptors"] == first["n_receptors"]
    assert f"{row['tra']} · {row['trb']}" == first["centre"]
    assert row["consensus_trb"] == f"{first.trb_v_call} {first.trb_consensus} {first.trb_j_call}"
    assert list(largest["headers"])[-2:] == ["id", "centre_id"]
    answer = report_clusters.cluster_answer(clusters)
    assert f"The largest cluster has {clustered['clusters']['n_receptors'].max()} receptors: " in answer
    found = comparison.read_comparison(folder / "comparison")
    sections = {part["id"]: part for part in comparison.comparison_sections(found)}
    assert len(sections["airrvec_comparison_pairs"]["data"]) == 6
    shares = (found.pairs["morisita_horn"] > 0).any()
    assert sections["airrvec_comparison_overlap"]["plot_type"] == ("heatmap" if shares else "html")
    assert set(sections["airrvec_comparison_pca"]["data"][0]) == set(SAMPLES)
    json.dumps(list(sections.values()))


def test_all_tests_stand_in_one_table_with_what_limits_them(folder, conditions):
    """Two donors against two: no p of donors can be below 1/3, but that of receptors can."""
    from airrvec.report.sections import comparison, differences
    from airrvec.report.sections import conditions as report_conditions

    tested = report_conditions.read_conditions(folder / "conditions", folder / "clusters")
    found = comparison.read_comparison(folder / "comparison")
    rows = differences.difference_rows(tested, found)
    n_tests = conditions["tests"]["measure"].value_counts()
    assert [(row["units"], row["tests"]) for row in rows] == [
        *(("donors", n_tests[measure]) for measure in conditions["tests"]["measure"].unique()),
        ("receptors", 6),
    ]
    assert [row["least_p"] for row in rows] == [*[pytest.approx(1 / 3)] * len(n_tests), None]
    assert [row["significant"] for row in rows[:-1]] == [0] * len(n_tests)
    assert rows[-1]["significant"] == (found.pairs["mmd_fdr"] <= 0.05).sum()
    words = " ".join(differences.explanations(rows))
    assert "no p can be below 0.33" in words
    assert "almost any two samples differ" in words
    answer = differences.difference_answer(tested, found)
    assert answer == (
        f"Tests by treatment (x and y) that are significant: none of {n_tests.sum():,}. There are too few"
        " donors for any significant difference."
    )
    assert differences.differences_section(None, None) is None
    sections = {part["id"]: part for part in report_conditions.condition_sections(tested)}
    designs = sections["airrvec_conditions_designs"]["data"]
    assert "x, y: 2 and 2 donors; the smallest possible p is 0.33" in designs
    assert len(sections["airrvec_conditions_tests"]["data"]) == min(50, len(conditions["tests"]))
    assert len(sections["airrvec_conditions_told"]["data"]) == len(conditions["told"])
    json.dumps(list(sections.values()))

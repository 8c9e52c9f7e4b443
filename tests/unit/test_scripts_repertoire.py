"""CLUSTER_RECEPTORS and COMPARE_SAMPLES on planted repertoires: tables against counts made here."""

import json
from itertools import combinations

from airrvec.core import schema, tables
from airrvec.core.chains import receptor_names
from airrvec.synthetic import generation

import clone_tables
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
        "--compare-by",
        "treatment",
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
    return frames(folder / "clusters", ("clusters", "members", "motifs", "conditions"))


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


def test_clusters_between_conditions(folder, clustered):
    conditions, members, cells = clustered["conditions"], clustered["members"], all_cells(folder)
    assert len(conditions)
    assert set(zip(conditions["value_1"], conditions["value_2"], strict=True)) == {("x", "y")}
    for row in conditions.itertuples():
        ids = members.loc[members["cluster_id"] == row.cluster_id, "receptor_id"]
        shares = cells["receptor_id"].isin(ids).groupby(cells["sample_id"]).mean()
        assert row.share_1 == pytest.approx(shares[["s1", "s2"]].mean())
        assert row.share_2 == pytest.approx(shares[["s3", "s4"]].mean())
        assert row.n_carrying_1 == (shares[["s1", "s2"]] > 0).sum()
    planted = conditions[(conditions["n_carrying_1"] == 2) & (conditions["n_carrying_2"] == 0)]
    assert len(planted)
    # Of the six ways to choose two of four samples, two are as extreme.
    assert planted["fisher_p"].tolist() == pytest.approx([1 / 3] * len(planted))


def test_members_centres_and_conditions_have_the_fields_of_their_receptors(folder, clustered):
    receptors = tables.read(folder / "run" / "receptors.parquet")
    fields = receptors.to_pandas().set_index("receptor_id")[list(schema.RECEPTOR_FIELDS)]
    members = clustered["members"].set_index("receptor_id")
    pd.testing.assert_frame_equal(members[fields.columns], fields.loc[members.index])
    named = pd.Series(receptor_names(receptors).to_pylist(), index=fields.index)
    clusters = clustered["clusters"]
    assert clusters["centre"].tolist() == named[clusters["centre_id"]].tolist()
    centres = clusters.set_index("cluster_id")["centre"]
    conditions = clustered["conditions"]
    assert conditions["centre"].tolist() == centres[conditions["cluster_id"]].tolist()


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
    return frames(folder / "comparison", ("diversity", "pairs", "samples_pca", "conditions"))


def test_diversity_of_samples(compared):
    found = compared["diversity"].set_index("sample_id")
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


def test_conditions_have_samples_as_units(compared):
    found = compared["conditions"].set_index("measure")
    assert list(found.index) == ["hill_0_at_coverage", "hill_1_at_coverage", "hill_2_at_coverage", "mmd"]
    assert (found["n_divisions"] == 6).all()
    assert found["p"].to_numpy() == pytest.approx(1 / 3)  # the least of two against two
    logs = np.log(compared["diversity"].set_index("sample_id")["hill_1_at_coverage"])
    expected = logs[["s1", "s2"]].mean() - logs[["s3", "s4"]].mean()
    assert found.loc["hill_1_at_coverage", "difference"] == pytest.approx(expected)


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


def test_an_unknown_condition_is_refused(folder, capsys):
    options = arguments(folder, "unknown")
    options[options.index("treatment")] = "dose"
    with pytest.raises(SystemExit):
        compare_samples.main(options)
    assert "the samplesheet has no column 'dose'. It has: donor, treatment" in capsys.readouterr().err


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
    assert len(sections["airrvec_clusters_conditions"]["data"]) == min(50, len(clustered["conditions"]))
    answer = report_clusters.cluster_answer(clusters)
    assert f"The largest cluster has {clustered['clusters']['n_receptors'].max()} receptors: " in answer
    found = comparison.read_comparison(folder / "comparison")
    sections = {part["id"]: part for part in comparison.comparison_sections(found)}
    assert len(sections["airrvec_comparison_pairs"]["data"]) == 6
    assert set(sections["airrvec_comparison_pca"]["data"][0]) == set(SAMPLES)
    json.dumps(list(sections.values()))


def test_all_tests_stand_in_one_table_with_what_limits_them(folder, clustered, compared):
    """Two samples against two: no p of samples can be below 1/3, but that of receptors can."""
    from airrvec.report.sections import clusters as report_clusters
    from airrvec.report.sections import comparison, differences

    clusters = report_clusters.read_clusters(folder / "clusters")
    found = comparison.read_comparison(folder / "comparison")
    rows = differences.difference_rows(clusters, found)
    assert [(row["units"], row["tests"]) for row in rows] == [
        ("samples", len(clustered["conditions"])),
        ("samples", len(clustered["conditions"])),
        ("samples", 3),
        ("samples", 1),
        ("receptors", 6),
    ]
    assert [row["smallest_p"] for row in rows] == [*[pytest.approx(1 / 3)] * 4, None]
    assert [row["significant"] for row in rows[:4]] == [0] * 4
    assert min(row["lowest_p"] for row in rows[:4]) >= 1 / 3 - 1e-9
    assert rows[4]["significant"] == (found.pairs["mmd_fdr"] <= 0.05).sum()
    words = " ".join(differences.explanations(rows))
    assert "no p can be below 0.33" in words
    assert "almost any two samples differ" in words
    answer = differences.difference_answer(clusters, found)
    assert answer.startswith("Tests by treatment (")
    assert answer.endswith("There are too few samples for any significant difference.")
    assert differences.differences_section(None, None) is None
    n = f"0 of {len(clustered['conditions'])} for clusters"
    assert f": {n} (Fisher), {n} (ranks). There are" in differences.difference_answer(clusters, None)

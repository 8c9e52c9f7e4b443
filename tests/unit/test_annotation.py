"""Annotation on receptors whose answers are known, and error rates by counting."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.metrics import brier_score_loss

import annotate_receptors
import calibrate_annotation
from airrvec.annotation import calibration, reference_set, search, validation
from airrvec.annotation.annotator import Annotator
from airrvec.core import identity, schema, tables
from airrvec.report import page
from airrvec.report.sections import annotation
from airrvec.synthetic import generation
from airrvec.synthetic.synthesis import synthesise

GROUP = {"species": "homosapiens", "chains": "paired"}


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
    }
    return pa.table(columns)


def reference_of(epitopes, studies, chains="paired"):
    receptors = synthesise(len(epitopes), seed=5)
    cells = labelled_cells(receptors, epitopes, studies)
    found = reference_set.build_reference_set(cells, receptors, chains=chains, species="homosapiens")
    place = {name: row for row, name in enumerate(found.receptors["receptor_id"].to_pylist())}
    return found, [place[name] for name in receptors["receptor_id"].to_pylist()]


def test_score_is_the_log_share_of_the_epitope_in_the_density():
    reference, rows = reference_of(["a", "a", "b"], ["s", "t", "u"])
    distances = np.array([[0.1, 0.2, 0.3]], np.float32)
    epitope, score = search.score_neighbours(
        distances, np.array([rows]), np.array([[0.4]]), reference, min_references=1
    )
    of_a = np.exp(-0.1 / 0.05) + np.exp(-0.2 / 0.05)
    everything = of_a + np.exp(-0.3 / 0.05) + np.exp(-0.4 / 0.05) + np.exp(-16)
    assert reference.epitopes["epitope"][epitope[0]] == "a"
    assert score[0] == pytest.approx(np.log(of_a / everything), rel=1e-5)


def test_an_epitope_with_too_few_references_is_no_candidate_but_counts_against_others():
    reference, rows = reference_of(["a", "b", "b"], ["s", "t", "u"])
    distances = np.array([[0.1, 0.2, 0.3]], np.float32)
    none = np.full((1, 1), np.inf)
    epitope, score = search.score_neighbours(distances, np.array([rows]), none, reference, min_references=2)
    of_b = np.exp(-4) + np.exp(-6)
    assert reference.epitopes["epitope"][epitope[0]] == "b"
    assert score[0] == pytest.approx(np.log(of_b / (of_b + np.exp(-2) + np.exp(-16))), rel=1e-5)


def test_a_receptor_far_from_everything_scores_low_and_one_without_vector_not_at_all():
    reference, rows = reference_of(["a", "a"], ["s", "t"])
    distances = np.array([[1.5, 1.6], [np.inf, np.inf]], np.float32)
    _, score = search.score_neighbours(
        distances, np.array([rows, [-1, -1]]), np.full((2, 1), 1.5), reference, min_references=1
    )
    assert score[0] < -10
    assert np.isnan(score[1])


def test_receptors_that_chains_cannot_tell_apart_are_one_reference():
    receptors = synthesise(2, seed=1)
    beta = [schema.field("TRB", name) for name in schema.CHAIN_FIELDS]
    frame = receptors.to_pandas()
    frame.loc[1, beta] = frame.loc[0, beta]
    receptors = pa.Table.from_pandas(frame, schema.RECEPTORS, preserve_index=False)
    cells = labelled_cells(receptors, ["a", "b"], ["s", "t"])
    pairs, betas = (
        reference_set.build_reference_set(cells, receptors, chains=chains, species="homosapiens")
        for chains in ("paired", "beta")
    )
    assert len(pairs) == 2
    assert len(betas) == 1
    assert betas.labels.toarray().tolist() == [[1, 1]]
    assert betas.receptors["tra_junction_aa"].null_count == 1


def test_no_study_is_in_two_folds_and_queries_never_meet_their_study():
    studies = [f"study {number % 12}" for number in range(120)]
    reference, _ = reference_of(["a", "b"] * 60, studies)
    folds, by_study = calibration.assign_folds(reference, seed=1)
    assert by_study
    of_study = reference.studies.toarray().T @ folds
    assert ((of_study > 0).sum(axis=1) == 1).all()
    assert folds.sum(axis=0).tolist() == [30, 30, 20, 20, 20]


def test_cross_validation_of_one_study_is_at_random_and_says_so():
    reference, _ = reference_of(["a", "b"] * 10, ["only"] * 20)
    folds, by_study = calibration.assign_folds(reference, seed=1)
    assert not by_study
    assert folds.sum(axis=0).tolist() == [4] * 5


def two_groups(rng, n, b, prevalence):
    """Scores of labelled receptors of which 9 in 10 are right, background, and a sample with its truth."""

    def labelled(n):
        return rng.normal(2, 1, n), rng.random(n) < 0.9

    n_binders = int(prevalence * 40_000)
    scores, right = labelled(n_binders)
    sample = np.concatenate([scores, rng.normal(0, 1, 40_000 - n_binders)])
    truth = np.concatenate([right, np.zeros(40_000 - n_binders, bool)])
    return (*labelled(n), rng.normal(0, 1, b)), sample, truth


@pytest.mark.parametrize("prevalence", [0.05, 0.1, 0.4])
def test_rates_and_probabilities_are_those_of_a_known_mixture(prevalence):
    groups, sample, truth = two_groups(np.random.default_rng(3), 5000, 50_000, prevalence)
    fitted = calibration.Calibration(*groups)
    estimated = fitted.prevalence(sample)
    assert estimated == pytest.approx(prevalence, rel=0.15)
    rates = fitted.fdr(sample, estimated)
    for claimed in (0.2, 0.3, 0.5):
        called = rates <= claimed
        assert called.sum() > 50
        assert (~truth[called]).mean() == pytest.approx(claimed, rel=0.25)
    probability = fitted.probability(sample, estimated)
    for low, high in ((0.1, 0.3), (0.3, 0.6), (0.6, 0.9)):
        inside = (probability >= low) & (probability < high)
        assert truth[inside].mean() == pytest.approx(probability[inside].mean(), abs=0.06)


def test_background_alone_has_almost_no_calls():
    rng = np.random.default_rng(4)
    groups, _, _ = two_groups(rng, 2000, 50_000, 0.1)
    fitted = calibration.Calibration(*groups)
    sample = rng.normal(0, 1, 20_000)
    prevalence = fitted.prevalence(sample)
    assert prevalence < 0.01
    assert (fitted.fdr(sample, prevalence) <= 0.2).sum() <= 5


def test_precision_and_recall_are_counted():
    scores = np.array([4.0, 3, 2, 1])
    right, findable = np.array([1, 0, 1, 0], bool), np.array([1, 1, 1, 0], bool)
    curve = validation.precision_recall(scores, right, findable, np.array([2.5, 0, 0, 0]), 0.5)
    assert curve["score"].tolist() == [4, 3, 2, 1]
    assert curve["recall"].tolist() == pytest.approx([1 / 3, 1 / 3, 2 / 3, 2 / 3])
    assert curve["precision"].tolist() == pytest.approx([1, 1 / 2, 2 / 4, 2 / 5])


def test_brier_score_is_scikit_learns():
    rng = np.random.default_rng(5)
    probability, truth, weight = rng.random(50), rng.random(50) < 0.5, rng.random(50)
    assert calibration.brier_score(probability, truth, weight) == pytest.approx(
        brier_score_loss(truth, probability, sample_weight=weight)
    )


@pytest.mark.parametrize("folds", [[0, 1, 4], [2, 4], [0, 1, 2, 3, 4]])
def test_reliability_is_whole_where_folds_have_no_queries(folds):
    rng = np.random.default_rng(8)
    (scores, right, background), _, _ = two_groups(rng, 300, 2000, 0.1)
    fold = rng.choice(folds, len(scores))
    of_labelled, of_background = calibration.cross_validated_probabilities(
        scores, right, fold, background, 0.1
    )
    assert np.isfinite(of_labelled).all()
    assert np.isfinite(of_background).all()
    queries = pd.DataFrame({"score": scores, "right": right, "fold": fold})
    table, score = validation.reliability_table(queries, background, GROUP)
    truth = np.concatenate([right, np.zeros(len(background), bool)])
    weight = np.where(np.arange(len(truth)) < len(right), 0.1 / len(right), 0.9 / len(background))
    both = np.concatenate([of_labelled, of_background])
    assert score == pytest.approx(brier_score_loss(truth, both, sample_weight=weight))
    assert sum(table["n_background"].to_pylist()) == len(background)
    assert sum(table["share"].to_pylist()) == pytest.approx(1)


def test_queries_of_one_fold_have_no_reliability():
    queries = pd.DataFrame({"score": [0.1, 0.2], "right": [True, False], "fold": [3, 3]})
    table, score = validation.reliability_table(queries, np.zeros(10), GROUP)
    assert (len(table), score) == (0, None)


@pytest.fixture(scope="module")
def spiked(tmp_path_factory):
    """
    Variants of two receptors, each of an epitope and reported by several studies, as reference; further
    variants of theirs among OLGA's receptors as the sample.
    """
    folder = tmp_path_factory.mktemp("annotation")
    parents = synthesise(2, seed=77).to_pandas()
    rng = np.random.default_rng(6)
    rows = []
    for number in range(160):
        row = dict(parents.iloc[number % 2])
        for locus in schema.LOCI:
            name = schema.field(locus, "junction_aa")
            at = rng.integers(4, len(row[name]) - 4)
            row[name] = row[name][:at] + "ACDEFGHIKLMNPQRSTVWY"[rng.integers(20)] + row[name][at + 1 :]
        row["receptor_id"] = f"variant{number:04d}"
        rows.append(row)
    variants = pa.Table.from_pylist(rows, schema.RECEPTORS)
    variants = variants.set_column(1, "clonotype_id", identity.clonotype_ids(variants))
    known, held_out = variants.slice(0, 120), variants.slice(120)
    cells = labelled_cells(known, ["one", "two"] * 60, [f"study {number // 2 % 6}" for number in range(120)])
    for name, table in (
        ("known", known),
        ("sample", pa.concat_tables([synthesise(1500, seed=78), held_out])),
    ):
        tables.write(tables.distinct_receptors(table), folder / f"{name}.receptors.parquet")
    tables.write(cells, folder / "known.cells.parquet")
    receptors = tables.read(folder / "sample.receptors.parquet")
    n = len(receptors)
    tables.write(
        pa.table(
            {
                "sample_id": ["x"] * n,
                "cell_id": [f"cell {number}" for number in range(n)],
                "receptor_id": receptors["receptor_id"],
            }
        ),
        folder / "sample.cells.parquet",
    )
    known, sample = (
        [f"--{what}={folder}/{name}.{what}.parquet" for what in ("cells", "receptors")]
        for name in ("known", "sample")
    )
    out = ["--outdir", str(folder)]
    calibrate_annotation.main(
        [*known, *out, "--background-receptors", "3000", "--exclude-references", "none"]
    )
    annotate_receptors.main([*sample, *out, "--sample", "x", "--reference", str(folder / "reference")])
    return folder


def test_spiked_receptors_are_called_first_and_the_background_is_not(spiked):
    table = tables.read(spiked / "x.parquet")
    assert table.schema.equals(schema.ANNOTATION)
    frame = table.to_pandas()
    spikes = frame["receptor_id"].str.startswith("variant")
    assert spikes.sum() == 40
    assert set(frame.sort_values("score").tail(40)["receptor_id"]) == set(frame.loc[spikes, "receptor_id"])
    called = frame["call"] == "called"
    assert called[spikes].mean() > 0.9
    assert called[~spikes].sum() <= 2 * 0.1 * called.sum()  # twice the expected number
    number = frame.loc[spikes, "receptor_id"].str[-4:].astype(int)
    truth = np.where(number % 2, "two", "one")
    assert (frame.loc[spikes, "best_epitope"] == truth).all()
    assert (frame.loc[called, "antigen_species"] == "virus").all()
    assert frame.loc[~called, ["epitope", "antigen_species", "mhc_a"]].isna().all().all()
    assert frame.loc[called, "nearest_1_epitope"].isin(["one", "two"]).all()
    assert (frame["nearest_1_distance"] <= frame["nearest_2_distance"]).all()


def test_counts_of_a_sample_add_up(spiked):
    qc = json.loads((spiked / "x.annotation.qc.json").read_text())
    assert sum(qc["calls"].values()) == qc["receptors"] == 1540
    assert sum(row["receptors"] for row in qc["epitopes"]) == qc["calls"]["called"]
    assert qc["groups"][0]["called"] == qc["calls"]["called"]
    assert qc["groups"][0]["prevalence"] == pytest.approx(40 / 1540, rel=0.3)


def test_tables_of_the_reference_have_their_schemas(spiked):
    for name, of_name in (
        ("calibration", schema.CALIBRATION),
        ("precision_recall", schema.PRECISION_RECALL),
        ("epitopes", schema.ANNOTATION_EPITOPES),
        ("receptors", schema.ANNOTATION_REFERENCE),
    ):
        assert tables.read(spiked / f"{name}.parquet").schema.equals(of_name)
    epitopes = tables.read(spiked / "epitopes.parquet").to_pandas()
    paired = epitopes[epitopes["chains"] == "paired"]
    assert paired["n_references"].tolist() == [60, 60]
    assert paired["n_studies"].tolist() == [6, 6]
    assert (paired["recall"] > 0.9).all()
    shares = tables.read(spiked / "calibration.parquet").to_pandas().groupby("chains")["share"].sum()
    assert shares.tolist() == pytest.approx([1] * len(shares))


def test_a_saved_annotator_says_the_same(spiked, tmp_path):
    first = Annotator.load(spiked / "reference" / "homosapiens_paired.npz")
    first.save(tmp_path / "homosapiens_paired.npz")
    again = Annotator.load(tmp_path / "homosapiens_paired.npz")
    queries = first.vectors[:5].copy()
    queries[3] = np.nan
    (one, share), (other, other_share) = (
        annotator.annotate(queries, fdr=0.1) for annotator in (first, again)
    )
    pd.testing.assert_frame_equal(one, other)
    assert share == other_share
    assert one["call"][3] == "no vector"
    assert one["nearest_1_distance"].tolist()[:3] == pytest.approx([0, 0, 0], abs=1e-3)
    assert one["nearest_1_id"][3] is None


def test_a_class_that_cannot_be_calibrated_has_its_reason(tmp_path):
    receptors = tables.distinct_receptors(synthesise(30, seed=1))
    tables.write(receptors, tmp_path / "receptors.parquet")
    tables.write(labelled_cells(receptors, ["a"] * 30, [None] * 30), tmp_path / "cells.parquet")
    given = ["--cells", str(tmp_path / "cells.parquet"), "--receptors", str(tmp_path / "receptors.parquet")]
    calibrate_annotation.main(
        [*given, "--background-receptors", "1000", "--min-references", "31", "--outdir", str(tmp_path)]
    )
    qc = json.loads((tmp_path / "calibration.qc.json").read_text())
    assert qc["groups"][0]["not_calibrated"] == "no epitope has 31 references"
    assert not list(tmp_path.glob("reference/*"))


def test_a_species_that_olga_does_not_know_needs_a_background(tmp_path, capsys, monkeypatch):
    receptors = synthesise(3, seed=1)
    tables.write(receptors, tmp_path / "receptors.parquet")
    tables.write(labelled_cells(receptors, ["a"] * 3, ["s"] * 3), tmp_path / "cells.parquet")
    given = ["--cells", str(tmp_path / "cells.parquet"), "--receptors", str(tmp_path / "receptors.parquet")]
    monkeypatch.delitem(generation.SPECIES, "musmusculus")  # OLGA has both that airrvec reads
    with pytest.raises(SystemExit):
        calibrate_annotation.main([*given, "--species", "musmusculus", "--outdir", str(tmp_path)])
    assert "Give receptors as --background" in capsys.readouterr().err


def test_what_exclude_references_takes_from_the_reference_is_counted(spiked, tmp_path):
    """Studies 0 to 2 of 6 are left out, and an epitope that they alone report."""
    cells = tables.read(spiked / "known.cells.parquet").to_pandas()
    cells.loc[:2, "epitope"] = "lost"
    cells.loc[:2, "reference_id"] = "Study 0"
    lost = cells["reference_id"].str.lower().isin(["study 0", "study 1", "study 2"])
    cells.loc[lost, "reference_id"] = "lab X, " + cells["reference_id"][lost]
    tables.write(pa.Table.from_pandas(cells, preserve_index=False), tmp_path / "cells.parquet")
    receptors = f"--receptors={spiked}/known.receptors.parquet"
    options = ["--outdir", str(tmp_path), "--background-receptors", "3000", "--exclude-references", "LAB x"]
    calibrate_annotation.main([f"--cells={tmp_path}/cells.parquet", receptors, *options])
    qc = json.loads((tmp_path / "calibration.qc.json").read_text())
    assert (qc["exclude_references"], qc["excluded_cells"]) == ("LAB x", lost.sum())
    assert qc["groups"][0]["excluded_labels"] == lost.sum()
    rows = tables.read(tmp_path / "epitopes.parquet").to_pylist()
    found = {row["epitope"]: row for row in rows if row["chains"] == "paired"}
    for epitope in ("one", "two"):
        own = cells["epitope"] == epitope
        assert found[epitope]["n_excluded"] == (own & lost).sum() > 10
        assert found[epitope]["n_references"] == (own & ~lost).sum()
    assert (found["lost"]["n_excluded"], found["lost"]["n_references"]) == (3, 0)
    assert found["lost"]["reason"] == "all of its references are excluded by --exclude_references"
    words = annotation.annotation_sections(
        annotation.Annotation([], qc, pd.DataFrame(), pd.DataFrame(), page.group_titles(qc["groups"]))
    )[0]["description"]
    assert f"excludes {lost.sum()} labelled cells" in words


def test_words_of_rows_are_joined():
    matrix = sparse.csr_array(np.array([[1, 0, 1], [0, 0, 0]]))
    assert reference_set.join_words(matrix, ["a", "b", "c"]).tolist() == ["a;c", ""]

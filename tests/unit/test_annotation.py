"""Annotation by the scripts, on receptors whose answers are known."""

import json
import shutil
from dataclasses import replace

from airrvec.annotation import annotator_file, scorer
from airrvec.core import schema, tables
from airrvec.core.chains import receptor_names
from airrvec.encoders.sceptr import Sceptr
from airrvec.report import page
from airrvec.report.sections import annotation
from airrvec.report.sections.annotation import EVIDENCE, N_TOP
from airrvec.synthetic import generation
from airrvec.synthetic.synthesis import synthesise

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from inputs import labelled_cells, variants
from scipy import sparse

import annotate_receptors
import calibrate_annotation


@pytest.fixture(scope="module")
def spiked(tmp_path_factory):
    """
    Variants of two receptors, each of an epitope and reported by several studies, as reference; further
    variants of theirs among OLGA's receptors as the sample.
    """
    folder = tmp_path_factory.mktemp("annotation")
    both = variants(6, 160)
    known, held_out = both.slice(0, 120), both.slice(120)
    cells = labelled_cells(known, ["one", "two"] * 60, [f"study {number // 2 % 6}" for number in range(120)])
    for name, table in (
        ("known", known),
        ("sample", pa.concat_tables([synthesise(1500, seed=78), held_out])),
    ):
        tables.write(tables.distinct_receptors(table), folder / f"{name}.receptors.parquet")
    tables.write(cells, folder / "known.cells.parquet")
    receptors = tables.read(folder / "sample.receptors.parquet")
    n = len(receptors)
    cell_ids = [f"cell {number}" for number in range(n)]
    columns = {
        "sample_id": ["x"] * n,
        "cell_id": cell_ids,
        "receptor_id": receptors["receptor_id"],
        "abundance": pa.array([None, *range(2, n + 1)], pa.int64()),
        "count_unit": ["reads"] * n,
    }
    tables.write(pa.table(columns), folder / "sample.cells.parquet")
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
    table = tables.read(spiked / "x.parquet").to_pandas()
    assert (qc["count_unit"], qc["abundance"]) == ("reads", sum(range(2, 1541)))
    called = table[table["call"] == "called"]
    assert qc["called_abundance"] == called["abundance"].sum() > len(called)
    by_epitope = called.groupby("epitope")["abundance"].sum().to_dict()
    assert {row["epitope"]: row["abundance"] for row in qc["epitopes"]} == by_epitope
    assert table["abundance"].isna().sum() == 1
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
    sceptr = Sceptr("sceptr")
    model = sceptr.loaded.vector_model
    first = annotator_file.load(spiked / "reference" / "homosapiens_paired.npz", sceptr.embed, model)
    annotator_file.save(first, tmp_path / "homosapiens_paired.npz", model)
    again = annotator_file.load(tmp_path / "homosapiens_paired.npz", sceptr.embed, model)
    fitted = replace(first.sources, known_classifier=None).classifier
    np.testing.assert_allclose(again.sources.classifier.weights, fitted.weights, atol=1e-9)
    asked = first.reference.receptors.slice(0, 5)
    queries = first.sources.vectors["paired"][:5].copy()
    queries[3] = np.nan
    (one, share), (other, other_share) = (
        annotator.annotate(asked, queries, fdr=0.1) for annotator in (first, again)
    )
    pd.testing.assert_frame_equal(one, other)
    assert share == other_share
    assert one["call"][3] == "no vector"
    assert one["nearest_1_distance"].tolist()[:3] == pytest.approx([0, 0, 0], abs=1e-3)
    assert one["nearest_1_id"][3] is None


def test_parts_and_the_order_of_the_vectors_change_no_byte(spiked, tmp_path, monkeypatch):
    """Vectors of two files, in another order than the receptors; 300 rows at once."""
    receptors = tables.read(spiked / "sample.receptors.parquet")
    shuffled = receptors.take(pa.array(np.random.default_rng(0).permutation(len(receptors))))
    sceptr = Sceptr("sceptr")
    vectors = tables.embeddings_table(shuffled["receptor_id"], sceptr.embed(shuffled))
    for number, part in enumerate((vectors.slice(0, 700), vectors.slice(700))):
        metadata = sceptr.loaded.vector_model.metadata()
        tables.write(part, tmp_path / f"embeddings/{number}.parquet", metadata)
    monkeypatch.setattr(tables, "BATCH", 300)
    sample = [f"--{what}={spiked}/sample.{what}.parquet" for what in ("cells", "receptors")]
    given = [*sample, f"--reference={spiked}/reference", f"--embeddings={tmp_path}/embeddings"]
    annotate_receptors.main([*given, "--sample", "x", "--outdir", str(tmp_path)])
    assert tables.read(tmp_path / "x.parquet").equals(tables.read(spiked / "x.parquet"))
    for name in ("x.tsv", "x.annotation.qc.json"):
        assert (tmp_path / name).read_bytes() == (spiked / name).read_bytes()
    lacking = [f"--embeddings={tmp_path}/embeddings/0.parquet", "--sample", "x"]
    with pytest.raises(SystemExit):
        annotate_receptors.main([*given[:-1], *lacking, "--outdir", str(tmp_path)])


def test_a_reference_without_a_study_has_none(spiked):
    """Rows 0 and 1 of the reference get no study, row 2 another one as well."""
    sceptr = Sceptr("sceptr")
    path = spiked / "reference" / "homosapiens_paired.npz"
    annotator = annotator_file.load(path, sceptr.embed, sceptr.loaded.vector_model)
    reference, n = annotator.reference, len(annotator.reference)
    studies = np.zeros((n, 3), np.float32)
    studies[:2, 0], studies[2, :2], studies[3:, 2] = 1, 1, 1
    reference = replace(reference, studies=sparse.csr_array(studies), study_names=["none", "PMID:1", "x"])
    sources = annotator.sources
    sources = replace(sources, references={**sources.references, "paired": reference})
    asked, vectors = reference.receptors.slice(0, 4), sources.vectors["paired"][:4]
    calls, _ = replace(annotator, sources=sources).annotate(asked, vectors, fdr=0.1)
    found = dict(zip(calls["nearest_1_id"], calls["nearest_1_study"], strict=True))
    ids = reference.receptors["receptor_id"].to_pylist()[:4]
    assert [found[receptor_id] for receptor_id in ids] == [None, None, "PMID:1", "x"]


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


def test_a_reference_of_which_exclude_references_leaves_nothing_is_refused(spiked, tmp_path, capsys):
    known = [f"--{what}={spiked}/known.{what}.parquet" for what in ("cells", "receptors")]
    with pytest.raises(SystemExit):
        calibrate_annotation.main([*known, "--exclude-references", "study", f"--outdir={tmp_path}"])
    assert "--exclude-references study excludes all rows of the reference" in capsys.readouterr().err


def test_cells_and_references_are_written_by_name(spiked):
    """Fields are those of the receptor; a nearest reference is a row of the reference's table."""
    frame = tables.read(spiked / "x.parquet").to_pandas()
    receptors = tables.read(spiked / "sample.receptors.parquet").to_pandas().set_index("receptor_id")
    fields = list(schema.RECEPTOR_FIELDS)
    pd.testing.assert_frame_equal(
        frame[fields], receptors.loc[frame["receptor_id"], fields].reset_index(drop=True)
    )
    known = tables.read(spiked / "receptors.parquet")
    named = dict(zip(known["paired_id"].to_pylist(), receptor_names(known).to_pylist(), strict=True))
    paired = frame[frame["chains"] == "paired"]
    for place in (1, 2, 3):
        assert paired[f"nearest_{place}_receptor"].tolist() == [
            named[reference] for reference in paired[f"nearest_{place}_id"]
        ]
        assert set(paired[f"nearest_{place}_antigen_species"]) == {"virus"}


def test_evidence_is_that_of_the_chain_class(spiked):
    """Null without rescoring; no evidence lowers a score."""
    frame = tables.read(spiked / "x.parquet").to_pandas()
    called = frame[frame["call"] == "called"]
    assert set(called["chains"]) == {"paired"}
    assert (called[list(schema.EVIDENCE)] >= 0).all().all()
    assert (called[["evidence_sceptr", "evidence_tcrdist"]].max(axis=1) > 0.5).all()
    unlikely = frame[frame["evidence_sceptr"].isna() & frame["score"].notna()]
    assert len(unlikely)
    assert unlikely[list(schema.EVIDENCE)].isna().to_numpy().all()
    assert unlikely["score"].max() < called["score"].min()


def test_the_cdr3s_of_called_receptors_and_of_their_references_are_in_the_report(spiked, tmp_path):
    frame = tables.read(spiked / "x.parquet").to_pandas()
    called = frame[frame["call"] == "called"]
    assert 30 < len(called) <= N_TOP
    shutil.copy(spiked / "x.parquet", tmp_path)
    sections = annotation.annotation_sections(annotation.read_annotation(spiked, tmp_path))
    (calls,) = (part for part in sections if part["id"] == "airrvec_annotation_top")
    rows = {row["id"]: row for row in calls["data"].values()}
    assert set(rows) == set(called["receptor_id"])
    for call in called.itertuples():
        row = rows[call.receptor_id]
        for locus in ("tra", "trb"):
            parts = row[locus].split(" ")
            v_call, cdr3, j_call = (
                getattr(call, f"{locus}_{n}") for n in ("v_call", "junction_aa", "j_call")
            )
            assert parts == [v_call.split("*")[0], cdr3, j_call.split("*")[0]]
        assert f"{row['nearest_tra']} · {row['nearest_trb']}" == call.nearest_1_receptor
        assert row["nearest_epitope"] == call.nearest_1_epitope
        weights = {words: getattr(call, name) for name, words in EVIDENCE.items()}
        first = row["evidence"].replace("\N{NO-BREAK SPACE}", " ").split("&#44;")[0]
        strongest = first.rpartition(" ")[0]  # before "strong" or "some"
        assert strongest == max(weights, key=weights.get)


def test_chosen_epitopes_are_scored_for_every_receptor(spiked, tmp_path):
    given = [f"--{what}={spiked}/sample.{what}.parquet" for what in ("cells", "receptors")]
    given += ["--sample", "x", "--reference", str(spiked / "reference"), "--outdir", str(tmp_path)]
    annotate_receptors.main([*given, "--epitopes", "two,one"])
    table = tables.read(tmp_path / "x.parquet")
    assert table.column_names == [*schema.ANNOTATION.names, "score_two", "score_one"]
    before = tables.read(spiked / "x.parquet")
    assert table.select(before.column_names).equals(before)  # nothing else changes
    frame = table.to_pandas()
    assert frame[["score_one", "score_two"]].notna().to_numpy().all()
    rescored = frame["score"] > scorer.NOT_RESCORED / 2
    assert rescored.sum() > 100
    for epitope in ("one", "two"):
        best = frame[rescored & (frame["best_epitope"] == epitope)]
        assert len(best) > 20
        np.testing.assert_allclose(best[f"score_{epitope}"], best["score"], rtol=1e-9)
    number = frame["receptor_id"].str.extract(r"variant.*(\d{4})$")[0].dropna().astype(int)
    difference = (frame["score_one"] - frame["score_two"]).loc[number.index]
    assert ((difference > 0) == (number % 2 == 0)).all()


def test_an_unknown_epitope_is_refused_with_near_names(spiked, tmp_path, capsys):
    given = [f"--{what}={spiked}/sample.{what}.parquet" for what in ("cells", "receptors")]
    given += ["--sample", "x", "--reference", str(spiked / "reference"), "--outdir", str(tmp_path)]
    with pytest.raises(SystemExit):
        annotate_receptors.main([*given, "--epitopes", "one,tow"])
    error = capsys.readouterr().err
    assert "--epitopes: the reference has no receptor of tow. Its nearest epitopes are two, one." in error
    assert not (tmp_path / "x.parquet").exists()

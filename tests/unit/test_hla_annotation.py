"""Annotation restricted to the epitopes that a donor can present."""

import json

from airrvec.annotation import annotator_file
from airrvec.core import tables
from airrvec.model import weights
from airrvec.synthetic.synthesis import synthesise

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from inputs import labelled_cells, variants

import annotate_receptors
import calibrate_annotation

MHC = {"one": "HLA-A*02:01", "two": "HLA-B*07:02"}
N_SPIKED = 20  # of each epitope


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """One sample, annotated without HLA and with several typings; two epitopes, of A*02:01 and B*07:02."""
    folder = tmp_path_factory.mktemp("hla")
    known = variants(1, 120)
    epitopes = ["one", "two"] * 60
    cells = labelled_cells(known, epitopes, [f"study {number // 2 % 6}" for number in range(120)])
    mhc = pa.array([MHC[epitope] for epitope in epitopes])
    cells = cells.set_column(cells.column_names.index("mhc_a"), "mhc_a", mhc)
    tables.write(cells, folder / "known.cells.parquet")
    tables.write(tables.distinct_receptors(known), folder / "known.receptors.parquet")
    sample = tables.distinct_receptors(
        pa.concat_tables([synthesise(1500, seed=78), variants(2, 2 * N_SPIKED)])
    )
    tables.write(sample, folder / "sample.receptors.parquet")
    n = len(sample)
    cells = {
        "sample_id": ["x"] * n,
        "cell_id": [str(i) for i in range(n)],
        "receptor_id": sample["receptor_id"],
        "abundance": [1] * n,
        "count_unit": ["cells"] * n,
    }
    tables.write(pa.table(cells), folder / "sample.cells.parquet")
    given = [f"--{what}={folder}/known.{what}.parquet" for what in ("cells", "receptors")]
    out = ["--outdir", str(folder)]
    calibrate_annotation.main(
        [*given, *out, "--background-receptors", "3000", "--exclude-references", "none"]
    )
    donors = {"none": "", "lacks": "A*02:01;B*08:01", "has": "A2;B7", "neither": "A*01:01;B*08:01"}
    annotate_receptors.main(
        [
            *("--sample", *donors, "--cells", *[f"{folder}/sample.cells.parquet"] * len(donors)),
            *("--hla", *donors.values(), f"--receptors={folder}/sample.receptors.parquet"),
            *(*out, "--reference", str(folder / "reference")),
        ]
    )
    return folder


def calls(folder, name: str) -> pd.DataFrame:
    return tables.read(folder / f"{name}.parquet").to_pandas().set_index("receptor_id")


def truth(frame: pd.DataFrame) -> pd.Series:
    """The epitope of each spiked receptor."""
    spiked = frame.index[frame.index.str.startswith("variant")]
    return pd.Series(np.where(spiked.str[-4:].astype(int) % 2, "two", "one"), index=spiked)


def test_alleles_of_the_reference_are_saved_with_the_annotator(folder):
    model = weights.load("sceptr").vector_model
    annotator = annotator_file.load(folder / "reference/homosapiens_paired.npz", None, model)
    alleles = annotator.reference.alleles
    assert alleles.to_numpy().tolist() == [["one", MHC["one"], 60, 6], ["two", MHC["two"], 60, 6]]


def test_an_epitope_that_the_donor_cannot_present_is_not_called(folder):
    free, restricted = calls(folder, "none"), calls(folder, "lacks")
    answer = truth(free)
    assert (free.loc[answer.index, "epitope"] == answer).mean() > 0.9
    assert free["excluded_epitope"].isna().all()
    assert "two" not in {*restricted["epitope"], *restricted["best_epitope"]}
    of_one = answer.index[answer == "one"]
    assert (restricted.loc[of_one, "epitope"] == "one").mean() > 0.9
    assert (restricted["excluded_epitope"] == "two").equals(free["epitope"] == "two")
    assert set(restricted["excluded_epitope"].dropna()) == {"two"}


def test_a_donor_who_can_present_all_has_the_calls_of_an_untyped_one(folder):
    for name in ("call", "epitope", "score", "probability", "fdr", "excluded_epitope"):
        pd.testing.assert_series_equal(calls(folder, "none")[name], calls(folder, "has")[name])


def test_a_donor_who_can_present_none_has_no_call(folder):
    frame = calls(folder, "neither")
    assert set(frame["call"]) == {"no call"}
    assert frame["best_epitope"].isna().all()
    assert frame["excluded_epitope"].equals(calls(folder, "none")["epitope"].rename("excluded_epitope"))


def test_counts_name_the_typing_and_what_it_excludes(folder):
    qc = {
        name: json.loads((folder / f"{name}.annotation.qc.json").read_text())
        for name in ("none", "lacks", "has")
    }
    assert [qc[name]["hla"] for name in qc] == ["", "A*02:01;B*08:01", "A*02;B*07"]
    groups = {name: [group.get("excluded") for group in row["groups"]] for name, row in qc.items()}
    assert groups == {"none": [None], "lacks": [1], "has": [0]}
    assert [group["candidates"] for group in qc["lacks"]["groups"]] == [2]
    called = {row["epitope"]: row["receptors"] for row in qc["none"]["epitopes"]}
    assert qc["lacks"]["excluded"] == {"two": called["two"]}
    assert qc["none"]["excluded"] == qc["has"]["excluded"] == {}


def test_typings_are_as_many_as_samples(folder, capsys):
    argv = [
        "--sample",
        "a",
        "b",
        "--cells",
        "c",
        "d",
        "--receptors",
        str(folder / "sample.receptors.parquet"),
    ]
    with pytest.raises(SystemExit):
        annotate_receptors.main([*argv, "--hla", "A2", "--reference", str(folder / "reference")])
    assert "1 typing" in capsys.readouterr().err

"""Two references compared: pairs, digests, and the calls of a run that rest on what changed."""

import json

from airrvec.annotation import reference_comparison as comparison
from airrvec.annotation.merged_reference import SourceTable, merge
from airrvec.app import cli
from airrvec.core import schema, tables
from airrvec.core.errors import InputError
from airrvec.synthetic.synthesis import synthesise

import pandas as pd
import pyarrow as pa
import pytest
from inputs import labelled_cells

FLU, CMV, EBV = "GILGFVFTL", "NLVPMVATV", "GLCTLVAML"
RECEPTORS = synthesise(12, seed=9)
IDS = RECEPTORS["receptor_id"].to_pylist()
BEFORE = [(0, FLU, "PMID:1"), (1, FLU, "PMID:1"), (2, FLU, "PMID:2"), (3, CMV, "PMID:1"), (4, CMV, None)]
AFTER = [
    *((0, FLU, "PMID:1"), (1, CMV, "PMID:1"), (2, FLU, "PMID:9"), (4, CMV, None)),
    *((row, EBV, "PMID:3") for row in (5, 6, 7)),
]


def merged(labels: list[tuple]):
    rows, epitopes, studies = map(list, zip(*labels, strict=True))
    cells = labelled_cells(RECEPTORS.take(pa.array(rows)), epitopes, pa.array(studies, pa.string()))
    cells = cells.set_column(cells.column_names.index("input_rows"), "input_rows", pa.repeat(1, len(rows)))
    counts = {"format": "x", "rows_in": len(rows), "rows_rejected": 0}
    return merge([SourceTable("x", cells, RECEPTORS, counts)]), cells


@pytest.fixture
def folders(tmp_path):
    """Results of a run with the reference before, and a folder of the verb reference after."""
    old, new = tmp_path / "run", tmp_path / "new"
    reference = old / "annotation/reference"
    before, cells = merged(BEFORE)
    tables.write(before.pairs, reference / "merged.parquet")
    tables.write(merged(AFTER)[0].pairs, new / "merged.parquet")
    ids = {"paired_id": before.pairs["receptor_id"]}
    columns = {
        field.name: before.pairs[field.name]
        if field.name in before.pairs.column_names
        else pa.nulls(5, field.type)
        for field in schema.ANNOTATION_REFERENCE
    }
    tables.write(pa.table({**columns, **ids}), reference / "receptors.parquet")
    digest = comparison.digest_of_cells(cells, RECEPTORS)
    (reference / "calibration.qc.json").write_text(json.dumps({"reference_digest": digest}))
    calls = [(f"q{row}", "called", epitope, IDS[row]) for row, epitope, _ in BEFORE]
    frame = pd.DataFrame(calls, columns=["receptor_id", "call", "epitope", "nearest_1_id"])
    frame = pd.concat([frame, frame.head(1), frame.head(1).assign(receptor_id="no", call="no call")])
    frame = frame.assign(sample_id="s", species="homosapiens", chains="paired", probability=0.5)
    tables.write(pa.Table.from_pandas(frame, preserve_index=False), old / "annotation/s.parquet")
    return old, new


def test_pairs_gained_lost_and_of_other_studies(folders):
    before, after = (comparison.read_reference(comparison.reference_file(path)) for path in folders)
    changes = comparison.compare_pairs(before, after)
    assert changes["change"].value_counts().to_dict() == {"gained": 4, "lost": 2, "studies": 1}
    (row,) = changes[changes["change"] == "studies"].to_dict("records")
    assert (row["epitope"], row["studies_before"], row["studies_after"]) == (FLU, "PMID:2", "PMID:9")
    assert changes[schema.RECEPTOR_FIELDS[2]].notna().all()
    assert comparison.epitope_counts(before, after).loc["homosapiens"].T.to_dict("list") == {
        CMV: [2, 2],
        EBV: [0, 3],
        FLU: [3, 2],
    }
    assert comparison.compare_pairs(before, before).empty


def test_equal_labels_have_one_digest(folders):
    before, after = (comparison.read_reference(comparison.reference_file(path)) for path in folders)
    counts = json.loads((folders[0] / "annotation/reference/calibration.qc.json").read_text())
    assert comparison.reference_digest(before) == counts["reference_digest"]
    assert comparison.reference_digest(before.iloc[::-1]) == counts["reference_digest"]
    assert comparison.reference_digest(after) != counts["reference_digest"]


def test_a_call_has_the_first_reason_that_holds(folders):
    before, after = (comparison.read_reference(comparison.reference_file(path)) for path in folders)
    changes, counts = comparison.compare_pairs(before, after), comparison.epitope_counts(before, after)
    calls = comparison.compare_calls(folders[0], changes, counts).set_index("receptor_id")
    assert calls["reason"].to_dict() == {
        "q0": "references changed",
        "q1": "nearest reference relabelled",
        "q2": "studies changed",
        "q3": "nearest reference lost",
    }
    assert calls.loc["q1", "evidence"] == f"−{FLU}, +{CMV}"
    assert calls.loc["q0", ["references_before", "references_after"]].tolist() == [3, 2]


def test_the_command_names_digests_and_writes_both_tables(folders, tmp_path, capsys):
    old, new = map(str, folders)
    cli.main(["reference", "--compare", old, new, "--outdir", str(tmp_path / "out")])
    said = capsys.readouterr().out.splitlines()
    digests = [line.rsplit(" ", 1)[1] for line in said[:3]]
    assert digests[0] == digests[2] != digests[1]
    assert said[3] == "Pairs: 4 gained, 2 lost, 1 of other studies than before"
    assert said[4] == f"  {EBV}: 0 → 3 references"
    assert "4 calls rest on what changed" in said
    assert len(pd.read_csv(tmp_path / "out/changed_calls.tsv", sep="\t")) == 4
    assert len(tables.read(tmp_path / "out/changed_pairs.parquet")) == 7
    cli.main(["reference", "--compare", new, new, "--outdir", str(tmp_path / "same")])
    assert sorted(path.name for path in (tmp_path / "same").glob("changed*")) == [
        *("changed_pairs.parquet", "changed_pairs.tsv")
    ]


def test_what_is_no_reference_is_named(tmp_path):
    with pytest.raises(InputError, match="is no merged reference"):
        comparison.reference_file(tmp_path)

"""Studies that are the same by their content: in one fold, under one name, whatever the tables call them."""

import json

from airrvec.annotation import calibrate, reference_set
from airrvec.annotation.merged_reference import SourceTable, merge
from airrvec.core import schema, tables
from airrvec.evaluation import study_identity
from airrvec.evaluation.fewshot import select_labelled
from airrvec.evaluation.heldout import splits
from airrvec.synthetic.synthesis import synthesise

import numpy as np
import pyarrow as pa
import pytest
from inputs import labelled_cells

import merge_references

RECEPTORS = synthesise(200, seed=3)
IEDB = "http://www.iedb.org/reference/7"


def labelled(studies: dict[str, range], epitopes=("GILGFVFTL", "NLVPMVATV")):
    """Cells and receptors; each study reports the receptors of a range, the n-th with the n-th epitope."""
    rows = [(row, name) for name, several in studies.items() for row in several]
    receptors = RECEPTORS.take(pa.array([row for row, _ in rows]))
    labels = [epitopes[row % len(epitopes)] for row, _ in rows]
    return labelled_cells(receptors, labels, [name for _, name in rows]), receptors


def same(studies: dict[str, range], **options) -> dict[str, str]:
    table = study_identity.same_studies(*labelled(studies), **options)
    assert table.schema.equals(schema.SAME_STUDIES)
    return dict(zip(table["study"].to_pylist(), table["same_as"].to_pylist(), strict=True))


@pytest.mark.parametrize(
    ("second", "united"),
    [
        (range(40), True),
        (range(20, 60), True),  # half
        (range(21, 61), False),
        (range(31, 40), False),  # all of nine
        (range(30, 40), True),
    ],
)
def test_studies_that_share_ten_pairs_and_half_of_the_smaller_one_are_the_same(second, united):
    found = same({"PMID:1": range(40), "PMID:2": second, "PMID:3": range(100, 140)})
    assert set(found) == ({"PMID:1", "PMID:2"} if united else set())


def test_a_pair_is_a_junction_and_an_epitope_so_other_genes_are_the_same_and_other_epitopes_are_not():
    receptors = RECEPTORS.slice(0, 20)
    other = receptors.to_pandas().assign(
        tra_junction_aa=None, trb_v_call="TRBV2", receptor_id=lambda t: "x" + t.receptor_id
    )
    other = pa.Table.from_pandas(other, receptors.schema, preserve_index=False)
    for epitope, n in (("GILGFVFTL", 2), ("NLVPMVATV", 0)):
        cells = pa.concat_tables(
            [
                labelled_cells(receptors, ["GILGFVFTL"] * 20, ["PMID:1"] * 20),
                labelled_cells(other, [epitope] * 20, [IEDB] * 20),
            ]
        )
        assert len(study_identity.same_studies(cells, pa.concat_tables([receptors, other]))) == n


def test_the_same_as_the_same_is_the_same_and_a_pubmed_id_gives_the_name():
    found = same({IEDB: range(30), "https://doi.org/10.1/x": range(15, 45), "pmid: 9": range(30, 60)})
    assert found == dict.fromkeys([IEDB, "https://doi.org/10.1/x", "PMID:9"], "PMID:9")


def test_a_word_joins_one_study_but_a_collection_joins_none():
    assert same({"PMID:1": range(30), "mine": range(30)}) == {"PMID:1": "PMID:1", "mine": "PMID:1"}
    assert same({"mine": range(30), "yours": range(30)}) == {"mine": "mine", "yours": "mine"}
    assert same({"PMID:1": range(30), "PMID:2": range(50, 80), "everything": range(100)}) == {}
    # Two names of one study are one.
    found = same({"PMID:1": range(30), "PMID:2": range(30), "everything": range(100)})
    assert set(found.values()) == {"PMID:1"}
    assert len(found) == 3


def test_a_name_that_is_excluded_excludes_all_that_are_the_same():
    studies = {"PMID:1": range(30), "https://www.10xgenomics.com/a": range(30), "PMID:2": range(50, 90)}
    cells, receptors = labelled(studies)
    table = study_identity.same_studies(cells, receptors, "10xgenomics")
    kept = reference_set.select_labelled_cells(study_identity.unite(cells, table), "10xgenomics")
    assert set(kept["reference_id"].to_pylist()) == {"PMID:2"}


def test_no_study_and_no_label_is_no_study():
    cells, receptors = labelled({"PMID:1": range(30), "none": range(30)})
    assert len(study_identity.same_studies(cells, receptors)) == 0
    empty = cells.slice(0, 0)
    assert len(study_identity.same_studies(empty, receptors)) == 0
    assert study_identity.unite(cells, study_identity.same_studies(cells, receptors)) is cells


def table_of(name: str, studies: dict[str, range]) -> SourceTable:
    cells, receptors = labelled(studies)
    cells = cells.set_column(cells.column_names.index("input_rows"), "input_rows", pa.repeat(1, len(cells)))
    return SourceTable(name, cells, receptors, {"format": "x", "rows_in": len(cells), "rows_rejected": 0})


STUDIES = {f"PMID:{number}": range(number * 20, number * 20 + 20) for number in range(1, 7)}
RENAMED = {"https://github.com/x/issues/326": range(20, 40)}


def test_a_renamed_copy_of_a_study_in_a_second_table_is_in_one_fold_with_it():
    merged = merge([table_of("vdjdb", STUDIES), table_of("other", RENAMED)])
    assert merged.same_studies["same_as"].to_pylist() == ["PMID:1"] * 2
    assert "1 study is the same as another by its content" in merged.warnings[0]
    pairs = merged.pairs.to_pandas()
    both = pairs[pairs["sources"] == "other;vdjdb"]
    assert len(both) == 20
    assert set(both["n_studies"]) == {1}
    assert set(both["studies"]) == {"PMID:1;https://github.com/x/issues/326"}
    build = {"chains": "paired", "species": "homosapiens"}
    apart = reference_set.build_reference_set(merged.cells, merged.receptors, **build)
    united = study_identity.unite(merged.cells, study_identity.same_studies(merged.cells, merged.receptors))
    reference = reference_set.build_reference_set(united, merged.receptors, **build)
    assert (len(apart.study_names), len(reference.study_names)) == (7, 6)
    # Apart, its receptors are of two folds and test nothing.
    n_folds = [calibrate.assign_folds(which, seed=1)[0].sum(axis=1) for which in (apart, reference)]
    assert [(n == 2).sum() for n in n_folds] == [20, 0]
    assert reference.studies.sum(axis=1).max() == 1


def test_splits_by_study_never_train_and_test_on_the_same_study():
    cells, receptors = labelled({"PMID:1": range(60), "mine": range(20, 80), "PMID:3": range(100, 160)})
    united = study_identity.unite(cells, study_identity.same_studies(cells, receptors))
    first = set(RECEPTORS["receptor_id"].to_pylist()[:80])
    for table, leaks in ((cells, True), (united, False)):
        chosen = select_labelled(table, receptors, species="homosapiens")
        split = splits.study_split(chosen, per_epitope=25, min_receptors=20, seed=1)
        ids = np.array(split.labelled.receptors["receptor_id"].to_pylist(), object)
        is_first = np.array([name in first for name in ids])
        both = [
            is_first[split.train[name]].any() and is_first[split.test[name]].any() for name in split.epitopes
        ]
        assert len(both) == 2
        assert all(both) == any(both) == leaks


def test_the_script_names_them_and_writes_the_table(tmp_path, capsys):
    for source in (table_of("vdjdb", STUDIES), table_of("other", RENAMED)):
        tables.write(source.cells, tmp_path / f"tables/{source.name}.cells.parquet")
        tables.write(source.receptors, tmp_path / f"tables/{source.name}.receptors_0000.parquet")
        (tmp_path / f"tables/{source.name}.qc.json").write_text(json.dumps(source.counts))
    words = ["--sources", "vdjdb", "other", "--tables", str(tmp_path / "tables"), "--outdir", str(tmp_path)]
    words += ["--missing", str(tmp_path / "none.json")]
    merge_references.main(words)  # as the pipeline, whose calibration writes it
    assert not (tmp_path / "same_studies.parquet").exists()
    merge_references.main([*words, "--same-studies"])
    assert "https://github.com/x/issues/326 = PMID:1" in capsys.readouterr().err
    rows = tables.read(tmp_path / "same_studies.parquet").to_pylist()
    assert [(row["study"], row["pairs"], row["shared_pairs"]) for row in rows] == [
        ("PMID:1", 20, 20),
        ("https://github.com/x/issues/326", 20, 20),
    ]

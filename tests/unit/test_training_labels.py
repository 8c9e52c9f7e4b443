"""What a model was trained on is recorded, told at the level of the gene, and left out of measurements."""

import json
from pathlib import Path

from airrvec.core import tables
from airrvec.core.chains import on_chains
from airrvec.core.errors import InputError
from airrvec.encoders import Titles
from airrvec.evaluation import fewshot, training_labels
from airrvec.evaluation.heldout import splits
from airrvec.evaluation.training_labels import FILE_NAME, NO_LABELS, TRAINED_ON_MARK
from airrvec.report.sections import benchmark
from airrvec.synthetic import synthesis

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from inputs import ROOT, normalised
from trained_models import labels_of, model

SMALL = ("--benchmark-k", "1,5", "--benchmark-splits", "4", "--benchmark-min-positives", "50")


@pytest.fixture(scope="module")
def demo():
    return normalised(ROOT / "assets/demo/dash_human.csv", sample_id="labelled")


@pytest.fixture
def labelled(tmp_path, demo):
    tables.write(demo.cells, tmp_path / "cells.parquet")
    tables.write(demo.receptors, tmp_path / "receptors.parquet")
    return ("--cells", tmp_path / "cells.parquet", "--receptors", tmp_path / "receptors.parquet")


def of_epitope(demo, epitope: str) -> pa.Table:
    ids = demo.cells.filter(pc.equal(demo.cells["epitope"], epitope))["receptor_id"]
    return demo.receptors.filter(pc.is_in(demo.receptors["receptor_id"], ids.combine_chunks()))


# --- What is recorded


def test_what_a_folder_records(tmp_path, demo):
    some = labels_of(demo.receptors.slice(0, 7))
    assert not training_labels.labels_from_encoder("sceptr")
    assert not training_labels.labels_from_encoder("my.py")
    assert not training_labels.labels_from_encoder(str(model(tmp_path / "pretrained", NO_LABELS)))
    assert not (tmp_path / "pretrained" / FILE_NAME).exists()
    found = training_labels.labels_from_encoder(str(model(tmp_path / "tuned", some)))
    assert found.receptors.equals(some.receptors)
    assert found.not_recorded == ()
    again = labels_of(demo.receptors.slice(7, 3), ("sceptr_finetuned",))
    found = training_labels.labels_from_encoder(str(model(tmp_path / "again", again)))
    assert (len(found.receptors), found.not_recorded) == (3, ("sceptr_finetuned",))


@pytest.mark.parametrize(
    ("config", "not_recorded"),
    [
        ({"preset": {"objective": {"contrastive": "neighbour"}}}, ("old",)),
        ({"preset": {"objective": {"contrastive": "auto"}}}, ("old",)),  # what it started from is unknown
        ({"start": "sceptr_finetuned"}, ("old",)),
        ({"labels": {"receptors": 3, "not_recorded": []}}, ("old",)),  # its list is lost
        ({"labels": {"receptors": 0, "not_recorded": ["x"]}}, ("x",)),
        ({}, ()),
    ],
)
def test_a_model_without_a_list_is_known_to_have_learnt_from_labels(config, not_recorded, tmp_path):
    found = training_labels.labels_from_encoder(str(model(tmp_path / "old", **config)))
    assert (len(found.receptors), found.not_recorded) == (0, not_recorded)


def test_a_configuration_that_is_nested_too_deeply_is_told_in_one_sentence(tmp_path):
    folder = model(tmp_path / "deep")
    (folder / "config.json").write_text('{"name": ' * 100_000)
    with pytest.raises(InputError, match=r"config\.json: the configuration of the model is not valid JSON"):
        training_labels.labels_from_encoder(str(folder))


def test_a_published_model_trained_on_labels_is_known_also_in_a_sum_and_as_a_folder(tmp_path):
    assert training_labels.labels_from_encoder("sceptr_finetuned").not_recorded == ("sceptr_finetuned",)
    assert training_labels.labels_from_encoder("tcrdist+sceptr_finetuned").not_recorded == (
        "sceptr_finetuned",
    )
    folder = model(tmp_path / "prepared", name="sceptr_finetuned")
    assert training_labels.labels_from_encoder(str(folder)).not_recorded == ("sceptr_finetuned",)


def test_a_split_and_what_the_start_was_trained_on_are_recorded(demo):
    table = fewshot.select_labelled(demo.cells, demo.receptors, species="homosapiens")
    split = splits.random_split(table, min_receptors=30, seed=1)
    earlier = labels_of(synthesis.synthesise(4, seed=5))
    found = training_labels.labels_from_split(split, earlier).receptors.to_pandas()
    ids = split.labelled.receptors["receptor_id"]
    expected = {part: {*ids.take(pa.array(split.rows(part))).to_pylist()}
                for part in ("train", "validation")}  # fmt: skip
    expected["train"] |= {*earlier.receptors["receptor_id"].to_pylist()}
    assert {part: {*rows["receptor_id"]} for part, rows in found.groupby("part")} == expected
    assert {*found["epitope"]} == {*split.epitopes, "E"}


def test_receptors_are_told_at_the_level_of_the_gene_and_by_the_chains_shown(demo):
    receptors = demo.receptors.slice(0, 30)
    genes = pc.replace_substring_regex(receptors["trb_v_call"], r"\*.*", "")
    at = receptors.column_names.index("trb_v_call")
    without, other = (
        receptors.set_column(at, "trb_v_call", column)
        for column in (genes, pc.binary_join_element_wise(genes, pa.scalar("07"), "*"))
    )
    for form in (receptors, without, other):
        assert labels_of(form).include(receptors).all()
    assert labels_of(receptors.slice(0, 10)).include(receptors).tolist() == [True] * 10 + [False] * 20
    # Another α chain: another pair, the same β chain.
    swapped = receptors.slice(0, 10)
    for name in ("tra_v_call", "tra_j_call", "tra_junction_aa"):
        swapped = swapped.set_column(swapped.column_names.index(name), name, receptors[name].slice(15, 10))
    labels = labels_of(swapped)
    assert not labels.include(receptors.slice(0, 10)).any()
    assert labels.include(on_chains(receptors.slice(0, 10), "beta"), "beta").all()
    assert not labels.include(on_chains(receptors.slice(0, 10), "alpha"), "alpha").any()


# --- Fine-tuning from a tuned model


def test_test_receptors_that_the_start_was_trained_on_are_left_out(demo):
    table = fewshot.select_labelled(demo.cells, demo.receptors, species="homosapiens")
    split = splits.random_split(table, min_receptors=30, seed=1)
    first = split.epitopes[0]
    seen = split.test[first][:3]
    labels = labels_of(split.labelled.receptors.take(pa.array(seen)))
    left = splits.exclude_trained_on(split, labels)
    assert set(split.test[first]) - set(left.test[first]) == set(seen)
    assert left.removed[splits.SEEN_BY_START] == 3
    assert splits.exclude_trained_on(split, NO_LABELS).removed[splits.SEEN_BY_START] == 0
    everything = labels_of(split.labelled.receptors.take(pa.array(split.test[first])))
    with pytest.raises(InputError, match=rf"all test receptors of {first} \({len(split.test[first])}\)"):
        splits.exclude_trained_on(split, everything)


# --- The benchmark


def measured(script, labelled, *arguments) -> tuple[dict, dict]:
    script("benchmark_fewshot", *labelled, *SMALL, "--versions", "v.yml", *arguments)
    name = arguments[arguments.index("--name") + 1]
    return json.loads(Path(f"{name}.qc.json").read_text()), tables.metadata(f"{name}.auroc.parquet")


def test_the_benchmark_leaves_out_what_a_model_was_trained_on_for_all_encoders(
    script, labelled, demo, tmp_path, caplog
):
    epitopes = demo.cells["epitope"].value_counts().to_pylist()
    largest = max(epitopes, key=lambda item: item["counts"])["values"]
    seen = of_epitope(demo, largest).slice(0, 20)
    tuned = model(tmp_path / "tuned", labels_of(seen))
    list_of = ("--trained-on", tuned / FILE_NAME)
    qc, metadata = measured(script, labelled, "--encoder", tuned, "--name", "tuned")
    other_qc, other_metadata = measured(script, labelled, "--encoder", "random", "--name", "random", *list_of)
    plain, _ = measured(script, labelled, "--encoder", "random", "--name", "plain")
    assert qc == other_qc
    assert plain["receptors"] - qc["receptors"] == 20
    assert qc["removed"][fewshot.TRAINED_ON] >= 20
    assert "tuned" in metadata["title"]
    assert TRAINED_ON_MARK not in metadata["title"] + other_metadata["title"]
    assert metadata["warning"] == ""
    assert not caplog.text
    files = [path for name in ("tuned", "random") for path in sorted(Path().glob(f"{name}.*"))]
    script("summarise_fewshot", *files, "--encoders", "tuned,random", "--versions", "v.yml")
    (sentence,) = benchmark.cautions(json.loads(Path("benchmark.json").read_text()))
    assert f"{qc['removed'][fewshot.TRAINED_ON]} labelled cells are excluded" in sentence


def test_where_too_few_others_are_left_the_encoder_is_marked(script, labelled, demo, tmp_path, caplog):
    tuned = model(tmp_path / "tuned", labels_of(demo.receptors))
    qc, metadata = measured(script, labelled, "--encoder", tuned, "--name", "tuned")
    _, other = measured(
        script, labelled, "--encoder", "random", "--name", "random", "--trained-on", tuned / FILE_NAME
    )
    assert fewshot.TRAINED_ON not in qc["removed"]
    assert metadata["title"].endswith(TRAINED_ON_MARK)
    expected = f"tuned has been trained on {qc['receptors']:,} of the {qc['receptors']:,} receptors"
    assert metadata["warning"].startswith(expected)
    assert expected in caplog.text
    assert (other["title"], other["warning"]) == ("Random vectors", "")


def test_a_model_without_a_list_is_marked_everywhere(script, labelled, tmp_path, caplog):
    name = "sceptr_finetuned"
    for encoder in (name, "random"):
        measured(script, labelled, "--encoder", encoder, "--name", encoder)
    assert "sceptr_finetuned has been trained on labelled receptors that are not recorded" in caplog.text
    files = [path for encoder in (name, "random") for path in sorted(Path().glob(f"{encoder}.*"))]
    script("summarise_fewshot", *files, "--encoders", f"{name},random", "--versions", "v.yml")
    counts = json.loads(Path("benchmark.json").read_text())
    assert counts["titles"] == {name: f"SCEPTR (fine-tuned){TRAINED_ON_MARK}", "random": "Random vectors"}
    assert [*counts["warnings"]] == [name]
    page = Path("benchmark.md").read_text()
    assert f"| SCEPTR (fine-tuned){TRAINED_ON_MARK} |" in page
    assert "not recorded" in page
    titles = Titles(counts["titles"])
    sections = benchmark.benchmark_sections(benchmark.read_benchmark(tmp_path), titles)
    assert "not recorded" in sections[0]["description"]
    for section in sections:
        text = json.dumps(section, ensure_ascii=False)
        if "SCEPTR (fine-tuned)" in text:
            assert text.count("SCEPTR (fine-tuned)") == text.count(f"SCEPTR (fine-tuned){TRAINED_ON_MARK}")
    lines = "\n".join(benchmark.auroc_lines(tables.read("auroc_summary.parquet").to_pandas(), titles))
    assert f"SCEPTR (fine-tuned){TRAINED_ON_MARK}" in lines

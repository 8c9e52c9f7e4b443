"""What the report and the terminal say of fine-tuning, computed from its tables."""

import json
import subprocess
import sys
from pathlib import Path

from airrvec.core import schema, tables
from airrvec.encoders import Titles
from airrvec.report import chapters
from airrvec.report.sections import finetuning, learning

import numpy as np
import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]
COUNTS = {
    "name": "own",
    "start": "sceptr",
    "split": "study",
    "receptors": {"train": 400, "validation": 100, "test": 300},
    "removed": {"without a study": 7, "nothing": 0},
    "left_out": {"RARE": "9 receptors"},
    "step": 40,
    "gain": {
        "before": 0.8,
        "after": 0.9,
        "difference": 0.1,
        "low": 0.05,
        "high": 0.15,
        "better": 2,
        "epitopes": 2,
        "studies": 7,
    },
    "notes": ["stopped at step 60"],
}


def specificity(before: float, after: float, floor: float) -> pd.DataFrame:
    """Two epitopes about a mean; none of the second is left below 80 %."""
    rows = []
    for encoder, rules, mean in (
        ("v_j_genes", ["logistic_regression"], floor),
        ("tcrdist", ["contrast"], 0.81),
        ("sceptr", finetuning.SHOWN_RULES, before),
        ("own", finetuning.SHOWN_RULES, after),
        ("sceptr+tcrdist", ["contrast"], before + 0.02),
        ("own+tcrdist", ["contrast"], after + 0.03),
    ):
        for rule in rules:
            for test_set in finetuning.TEST_SETS:
                last = None if test_set == "below_80" else mean - 0.01
                of_mean = None if last is None else mean
                rows += [
                    (encoder, rule, test_set, "A<1>", mean + 0.01, 10, 20),
                    (encoder, rule, test_set, "B", last, 20 if last else 0, 10),
                    (encoder, rule, test_set, "mean", of_mean, None, None),
                ]
    return pd.DataFrame(rows, columns=schema.SPECIFICITY.names)


def unseen() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    rows = []
    for rule in ("nearest_neighbour", "average_distance", "contrast"):
        for epitope in ("C", "D"):
            for k in (1, 5):
                for split in range(4):
                    before = rng.uniform(0.6, 0.7)
                    change = -0.025 if epitope == "C" else 0.01 * (split - 1)
                    for test_set, more in (("all", 0), ("not_trained", -0.1)):
                        rows.append(("sceptr", rule, test_set, epitope, k, split, before))
                        rows.append(("own", rule, test_set, epitope, k, split, before + change + more))
    return pd.DataFrame(rows, columns=["encoder", "rule", "test_set", "epitope", "k", "split", "auroc"])


def measured(before=0.8, after=0.9, floor=0.85, **gain) -> finetuning.Finetuning:
    counts = {**COUNTS, "gain": {**COUNTS["gain"], **gain}}
    return finetuning.Finetuning(specificity(before, after, floor), unseen(), counts)


@pytest.fixture
def trained(tmp_path) -> Path:
    rows = [
        {"step": step, "part": part, "loss": 1 / step, "mlm_loss": 1 / step}
        for part, every in (("train", 1), ("validation", 100))
        for step in range(every, 1001, every)
    ]
    path = tmp_path / "own/training.parquet"
    tables.write(tables.pa.Table.from_pylist(rows, schema.TRAINING), path)
    return path.parent


def test_changes_are_said_by_test_set_and_rule():
    first, second = finetuning.changes(measured())
    assert first.startswith(
        "all test receptors: by contrast with the other epitopes up from 0.800 to 0.900 (2 of 2 epitopes"
        " better); by nearest neighbour up"
    )
    assert second.startswith("below 90 % identity")  # below 80 % an epitope has no receptors left
    assert "still 0.800 (0 of 2" in finetuning.changes(measured(after=0.8))[0]
    assert "down from 0.800 to 0.700" in finetuning.changes(measured(after=0.7))[0]


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [(0.05, 0.15, "better"), (0.0, 0.02, "no gain is shown"), (-0.2, -0.1, "worse")],
)
def test_the_interval_decides_for_which_epitopes_fine_tuning_pays(low, high, words):
    trained, unlabelled, best = finetuning.conclusions(measured(low=low, high=high))
    assert trained == f"trained epitopes: {words}"
    assert unlabelled == "epitopes not used in training: worse"
    assert best == (
        "by contrast with the other epitopes, the best rule: 0.800 before, 0.900 after fine-tuning; +0.100,"
        f" 95 % interval {low:+.3f} to {high:+.3f} over 7 test studies, better for 2 of 2 epitopes"
    )


def test_without_studies_the_interval_is_of_receptors():
    assert " over the test receptors, " in finetuning.conclusions(measured(studies=0))[2]


def test_results_of_older_versions_have_no_interval():
    counts = {name: value for name, value in COUNTS.items() if name != "gain"}
    older = finetuning.Finetuning(specificity(0.8, 0.9, 0.7), unseen().head(0), counts)
    assert finetuning.conclusions(older)[0] == (
        "by contrast with the other epitopes, the best rule: 0.800 before, 0.900 after fine-tuning"
    )


def test_what_needs_no_training_stands_beside_it():
    assert finetuning.details(measured())[:2] == [
        "without training: V and J gene names alone 0.850, TCRdist alone 0.810",
        "with TCRdist added, 0.820 before and 0.930 after",
    ]
    assert finetuning.details(measured(after=0.7, floor=0.75))[2] == (
        "nothing after fine-tuning is better than sceptr with TCRdist added (0.820)"
    )
    assert finetuning.details(measured(floor=0.95))[2] == (
        "nothing after fine-tuning is better than V and J gene names (0.950)"
    )


def test_a_rule_that_gains_much_is_compared_with_the_best_rule_before():
    table = measured(after=0.82)
    rows = table.specificity["encoder"].isin(["sceptr", "own"]) & (table.specificity["rule"] != "contrast")
    table.specificity.loc[rows, "auroc"] -= 0.1
    assert finetuning.details(table)[-2:] == [
        f"by {rule}, up from 0.700 to 0.720, not above 0.800 by the best rule without fine-tuning"
        for rule in ("nearest neighbour", "average distance")
    ]


def test_unseen_epitopes_are_compared_split_by_split():
    rows = finetuning.unseen_differences(measured()).set_index(["rule", "test_set", "k", "epitope"])
    c, d, mean = (rows.loc[("nearest_neighbour", "all", 5, epitope)] for epitope in ("C", "D", "mean"))
    without = rows.loc[("nearest_neighbour", "not_trained", 5, "mean")]
    assert without["difference"] == pytest.approx(mean["difference"] - 0.1)
    assert c["difference"] == pytest.approx(-0.025)
    assert c["se"] == pytest.approx(0, abs=1e-12)
    assert (c["n_better"], d["n_better"], mean["n_better"], mean["n_splits"]) == (0, 2, 2, 8)
    assert d["se"] == pytest.approx(np.std([-0.01, 0, 0.01, 0.02], ddof=1) / 2)
    assert mean["difference"] == pytest.approx((c["difference"] + d["difference"]) / 2)
    assert mean["se"] == pytest.approx(np.hypot(c["se"], d["se"]) / 2)
    *_, first, sentence, flattered = finetuning.unseen_changes(measured())
    assert "by contrast" in first
    assert sentence.startswith(
        "2 epitopes not used in training, by nearest neighbour, k = 5, all receptors: "
    )
    assert "nearest neighbour, k = 5, without training receptors: " in flattered
    assert sentence.endswith("-0.010 ± 0.003 (standard error), better in 2 of 8 splits")


def test_no_unseen_epitope_makes_no_table():
    without = finetuning.Finetuning(specificity(0.8, 0.9, 0.7), unseen().head(0), COUNTS)
    assert len(finetuning.finetuning_sections(without, Titles())) == 1
    assert len(finetuning.conclusions(without)) == 2
    assert finetuning.unseen_changes(without) == []


def test_the_table_begins_with_the_best_rule_and_what_needs_no_training():
    table = finetuning.finetuning_sections(measured(), Titles())[0]
    row = table["data"]["mean, all test receptors"]
    assert list(row)[:7] == [
        "n", "contrast_before", "contrast_after", "genes", "tcrdist", "sum_before", "sum_after",
    ]  # fmt: skip
    assert list(row.values())[1:7] == pytest.approx([0.8, 0.9, 0.85, 0.81, 0.82, 0.93])
    assert list(table["headers"]) == list(row)
    assert next(iter(table["data"])) == "mean, all test receptors"
    assert [table["data"][f"{name}, all test receptors"]["n"] for name in ("mean", "B")] == [30, 20]
    assert table["description"].startswith("<strong>Trained epitopes: better.")


def test_the_terminal_shows_the_best_rule_first_and_the_verdict():
    lines = finetuning.finetuning_lines(measured(), Titles())
    assert lines[0] == "AUROC of own, fine-tuned from SCEPTR, on held-out receptors (mean of 2 epitopes)"
    assert [line[43:] for line in lines[2:8]] == [
        "contrast with the other epitopes   0.800  0.900",
        "V and J genes alone                0.850",
        "contrast, TCRdist alone            0.810",
        "contrast, with TCRdist added       0.820  0.930",
        "nearest neighbour                  0.800  0.900",
        "average distance                   0.800  0.900",
    ]
    assert lines[20] == "Note: trained epitopes: better"
    unmeasured = [line[76:].split() for line in lines if line.startswith("below 80 % identity")]
    assert unmeasured == [["-", "-"], ["-"], ["-"], ["-", "-"], ["-", "-"], ["-", "-"]]


def test_curves_are_thinned(trained):
    section = learning.curves_section([trained])
    assert [label["name"] for label in section["pconfig"]["data_labels"]] == ["Loss", "Masked-language loss"]
    train, validation = section["data"][0].values()
    assert len(train) == 200
    assert train[1000] == pytest.approx(np.mean([1 / step for step in range(996, 1001)]), abs=1e-5)
    assert list(validation) == list(range(100, 1001, 100))


def test_multiqc_takes_the_sections(trained, tmp_path):
    sections = [*finetuning.finetuning_sections(measured(), Titles()), learning.curves_section([trained])]
    sections = chapters.placed(sections)
    (tmp_path / "content").mkdir()
    for section in sections:
        (tmp_path / "content" / f"{section['id']}_mqc.json").write_text(json.dumps(section))
    command = [
        Path(sys.executable).with_name("multiqc"), "--strict", "--no-version-check",
        "--config", ROOT / "assets/multiqc_config.yml", "content",
    ]  # fmt: skip
    done = subprocess.run([str(part) for part in command], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    html = next(tmp_path.glob("*.html")).read_text()
    for section in sections:
        assert f'id="{section["id"]}' in html
    assert ">Model and benchmark</h2>" in html
    assert "A<1>" not in html

"""What the report and the terminal are told."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from airrvec.core import schema
from airrvec.encoders import Titles
from airrvec.figures import benchmark as benchmark_figures
from airrvec.report import chapters, page
from airrvec.report.sections import benchmark as report_benchmark
from airrvec.report.sections import quality
from airrvec.report.summary import summary_text

import pandas as pd
import pyarrow as pa
import pytest

ROOT = Path(__file__).parents[2]
SAMPLE = {
    "sample_id": "<b>s</b>",
    "format": "10x",
    "rows_in": 10,
    "rows_out": 8,
    "rows_rejected": 2,
    "cells": 5,
    "abundance": 120,
    "count_unit": "UMIs",
    "row_unit": "clonotype",
    "roles": "count = <umis, 1> (UMIs)",
    "receptors": 4,
    "orf_chains": 2,
    "uncertain_calls": 3,
    "mended_junctions": 1,
    "per_cent_functional": 87.5,
    "species": {"homosapiens": 5},
    "other_loci": {"IGH": 2},
    "pairing": {"single pair": 3, "orphan VJ": 1, "extra VJ": 1},
    "reject_reasons": {"the chain is not productive": 2},
    "gamma_delta": {"cells": 0},
    "warnings": ["not <i>strictly</i> AIRR"],
}
RECEPTORS = {"samples": 1, "receptors": 1234, "clonotypes": 1234, "public_clonotypes": 0}
EMBEDDINGS = {
    "model": "sceptr_beta_only",
    "weights_sha256": "0123456789abcdef" * 4,
    "airrvec_version": "9.9.9",
    "device": "cpu",
    "precision": "fp32",
    "dimensions": 64,
    "receptors": 1234,
    "without_vector": 7,
}


ENCODERS = (("sceptr", 0.9), ("tcrdist", 0.8))
TITLES = Titles()
USUAL = {"chains": "paired", "test_set": "all", "excluded": "10x"}


def summary_of(encoders=ENCODERS, **setting) -> pd.DataFrame:
    rows = [
        {
            **USUAL,
            **setting,
            "encoder": encoder,
            "rule": rule,
            "epitope": epitope,
            "k": k,
            "n_splits": 5,
            **{f"{name}_mean": value - n / 10 for n, name in enumerate(schema.METRICS)},
            "auroc_se": 0.01,
        }
        for encoder, value in encoders
        for rule in ("nearest_neighbour", "average_distance")
        for epitope, ks in (("E<1>", (1, 5)), ("mean", (1, 5)), ("small", (1,)))
        for k in ks
    ]
    return pd.DataFrame(rows, columns=schema.AUROC_SUMMARY.names)


@pytest.fixture
def benchmark() -> report_benchmark.Benchmark:
    roc = [
        (encoder, "nearest_neighbour", *USUAL.values(), epitope, 5, fpr, fpr**0.5, 0.1)
        for encoder in ("sceptr", "tcrdist")
        for epitope in ("E<1>", "small $x$")
        for fpr in (0, 0.5, 1)
    ]
    setting = ("nearest_neighbour", *USUAL.values())
    compared = [
        ("sceptr", other, *setting, epitope, 5, 5, 0.1, 0.2, 0.05, 6, 5, 0.11, 0.2, p)
        for other, p in (("tcrdist", 0.6), (None, None))
        for epitope in ("E<1>", "mean")
    ]
    left_out = [
        (None, None, None, None, "10x", "small", 5, 9, "9 receptors, 15 needed"),
        ("tcrdist", "linear_svc", "paired", None, "10x", None, None, None, "no vectors"),
        (None, "contrast", "paired", "below_90", "10x", "E<1>", 1, 90, "nothing left"),
    ]
    counts = {"receptors": 1200, "epitopes": 2, "removed": {"x": 3, "y": 0}}
    return report_benchmark.Benchmark(
        summary_of(),
        pd.DataFrame(compared, columns=schema.COMPARISONS.names),
        pd.DataFrame(roc, columns=schema.ROC.names),
        pd.DataFrame(left_out, columns=schema.NOT_EVALUATED.names).astype({"k": "Int32"}),
        counts,
    )


def sections_of(benchmark) -> dict[str, dict]:
    sections = report_benchmark.benchmark_sections(benchmark, TITLES)
    return {part["id"].removeprefix("airrvec_"): part for part in sections}


def test_samples_are_counted_and_escaped():
    overview, pairing, rejects, other_loci = quality.sample_sections([SAMPLE], RECEPTORS)
    ((name, row),) = overview["data"].items()
    assert name == "&lt;b&gt;s&lt;/b&gt;"
    assert (row["kept"], row["paired"]) == (80, 80)
    assert "&lt;i&gt;strictly" in overview["description"]
    assert pairing["data"][name]["single pair"] == 3
    assert rejects["data"][name] == {"the chain is not productive": 2}
    assert other_loci["data"][name] == {"IGH": 2}
    assert (row["doublets"], row["functional"]) == (0, 87.5)
    assert (row["orf_chains"], row["uncertain_calls"], row["mended_junctions"]) == (2, 3, 1)


def test_public_receptors_are_told_of_two_samples_or_more():
    shared = {"samples": 2, "receptors": 2000, "clonotypes": 2000, "public_clonotypes": 1234}
    sentence = "1,234 clonotypes occur in two or more samples"
    assert f" {sentence}.<br>" in quality.sample_sections([SAMPLE], shared)[0]["description"]
    assert f"\n{sentence}\n" in summary_text([SAMPLE], shared, EMBEDDINGS, TITLES)
    assert "two or more" not in quality.sample_sections([SAMPLE], RECEPTORS)[0]["description"]
    assert "two or more" not in summary_text([SAMPLE], RECEPTORS, EMBEDDINGS, TITLES)


def test_every_device_that_embedded_is_named():
    parts = [{**EMBEDDINGS, "device": device} for device in ("gpu", "cpu", "cpu,gpu")]
    for n, words in ((1, "GPU"), (2, "CPU and GPU"), (3, "CPU and GPU")):
        merged = page.merge_partitions(parts[:n], ("receptors",))
        (row,) = page.embedding_section(merged, TITLES)["data"].values()
        assert row["device"] == words
        assert row["receptors"] == n * EMBEDDINGS["receptors"]


def test_no_rejects_make_no_section():
    assert len(quality.sample_sections([{**SAMPLE, "reject_reasons": {}, "other_loci": {}}], RECEPTORS)) == 2


def test_benchmark_sections_hold_the_numbers(benchmark):
    found = sections_of(benchmark)
    names = ["auroc", "auroc_by_epitope", "metrics", "roc", "comparisons", "not_evaluated"]
    assert list(found) == names
    assert "1,200 complete receptors of 2 epitopes (excluded cells: 3 x)" in found["auroc"]["description"]
    assert found["auroc"]["data"][0] == {"SCEPTR": {"1": 0.9, "5": 0.9}, "TCRdist": {"1": 0.8, "5": 0.8}}
    by_epitope = found["auroc_by_epitope"]["data"]
    assert by_epitope["E&lt;1&gt;"] == {"k": 5, "sceptr": 0.9, "tcrdist": 0.8}
    assert by_epitope["small"]["k"] == 1
    metrics = found["metrics"]["data"]["TCRdist, average distance"]
    assert metrics == pytest.approx({"auroc": 0.8, "auroc_01": 0.7, "average_precision": 0.6})
    assert found["roc"]["data"][0]["SCEPTR"] == {0: 0, 0.5: 0.7071, 1: 1}
    assert found["comparisons"]["data"] == {
        "SCEPTR − TCRdist": {
            "difference": 0.1,
            "error": 0.05,
            "better": "5 of 6",
            "sign": 0.11,
            "wilcoxon": 0.2,
            "holm": 0.6,
        }
    }
    left_out = found["not_evaluated"]["data"]
    assert list(left_out) == [
        "TCRdist, linear support vector classifier, α and β chains, without references of &#x27;10x&#x27;",
        "small",
        "E&lt;1&gt;, contrast with the other epitopes, α and β chains, below 90 % similarity",
    ]
    assert left_out["small"] == {"k": 5, "reason": "9 receptors, 15 needed"}
    assert "<1>" not in json.dumps(found)


def test_the_best_rule_is_named_in_the_report_and_on_the_terminal(benchmark):
    better = summary_of(encoders=(("sceptr", 0.95), ("tcrdist", 0.9))).query("rule == 'average_distance'")
    summary = pd.concat([summary_of(), better.assign(rule="contrast")])
    # Not measured for all encoders: no evidence for a rule.
    summary = pd.concat([summary, better.query("encoder == 'sceptr'").assign(encoder="e1", rule="contrast")])
    best = "Best rule at k = 5: contrast with the other epitopes (SCEPTR 0.950, TCRdist 0.900)"
    benchmark = replace(benchmark, summary=summary)
    assert f" {best}. Rank receptors" in sections_of(benchmark)["auroc"]["description"]
    assert best in report_benchmark.benchmark_lines(benchmark, TITLES)
    # Of equal rules, the first; a single rule is not compared.
    tied = report_benchmark.best_rule_text(summary_of(), TITLES)
    assert tied == "Best rule at k = 5: nearest neighbour (SCEPTR 0.900, TCRdist 0.800)"
    assert report_benchmark.best_rule_text(better, TITLES) is None


def test_other_settings_are_tabs_of_their_own(benchmark):
    summary = pd.concat(
        [
            summary_of(encoders=(("tcrdist", 0.6),), chains="beta"),
            summary_of(),
            summary_of(encoders=(("sceptr", 0.7),), test_set="below_80"),
            summary_of(encoders=(("sceptr", 0.5),), chains="beta", test_set="below_80"),
        ]
    )
    found = sections_of(replace(benchmark, summary=summary))
    # The figure and the tables stay those of both chains and all receptors.
    assert found["auroc"]["data"] == sections_of(benchmark)["auroc"]["data"]
    assert found["auroc_by_epitope"]["data"]["mean"]["tcrdist"] == 0.8
    others = found["auroc_settings"]
    tabs = [label["name"] for label in others["pconfig"]["data_labels"]]
    assert tabs == ["β chains alone (1 epitope)", "below 80 % similarity (1 epitope)"]
    assert others["data"] == [{"TCRdist": {"1": 0.6, "5": 0.6}}, {"SCEPTR": {"1": 0.7, "5": 0.7}}]


def test_many_encoders_stand_below_one_another(benchmark):
    summary = summary_of(encoders=[(f"e{n}", n / 20) for n in range(20)])
    table = sections_of(replace(benchmark, summary=summary))["auroc_by_epitope"]
    assert list(table["data"]) == [f"e{n}" for n in range(20)]
    assert table["data"]["e3"] == {"E<1>": 0.15, "mean": 0.15, "small": 0.15}
    assert table["headers"]["E<1>"]["title"] == "E&lt;1&gt; (k = 5)"


def test_summary_for_the_terminal(benchmark):
    text = summary_text([{**SAMPLE, "sample_id": "s"}], RECEPTORS, EMBEDDINGS, TITLES)
    assert "s                 10x              10      8         2          120 UMIs          4" in text
    assert "1,234 distinct receptors embedded by SCEPTR (β only) in 64 dimensions" in text
    assert "7 have no loop that the model uses, and no vector" in text
    assert "mean                  5       0.900       0.800" in report_benchmark.auroc_lines(
        benchmark.summary, TITLES
    )


def test_summary_of_many_encoders_shows_their_means():
    summary = summary_of(encoders=[(f"e{n}", 0.5 + n / 100) for n in range(6)])
    lines = report_benchmark.auroc_lines(summary, TITLES)
    assert lines[0] == "AUROC, nearest neighbour, k = 5, mean over 1 epitope"
    assert "e4                              0.540" in lines


def test_versions_of_one_process_are_said_once():
    one = '"A":\n    python: "3.11"\n'
    merged = page.merged_versions([one, one, '"B":\n    torch: "2"\n', ""], "24.10.0")
    assert merged.count('"A":') == 1
    assert '"B":\n    torch: "2"\n' in merged
    assert '    multiqc: "' in merged
    assert '    nextflow: "24.10.0"' in merged


def test_figures_are_drawn_for_any_epitope_name(benchmark, tmp_path):
    benchmark_figures.auroc_against_k(pa.Table.from_pandas(benchmark.summary), TITLES, tmp_path / "auroc")
    benchmark_figures.roc_curves(pa.Table.from_pandas(benchmark.roc), TITLES, tmp_path / "roc")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "auroc.png",
        "auroc.svg",
        "roc.png",
        "roc.svg",
    ]
    for name in ("auroc", "roc"):
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert "</svg>" in (tmp_path / f"{name}.svg").read_text()


def test_multiqc_takes_every_section(benchmark, tmp_path):
    sections = [*quality.sample_sections([SAMPLE], RECEPTORS), page.embedding_section(EMBEDDINGS, TITLES)]
    sections = chapters.placed([*sections, *report_benchmark.benchmark_sections(benchmark, TITLES)])
    (tmp_path / "content").mkdir()
    for section in sections:
        (tmp_path / "content" / f"{section['id']}_mqc.json").write_text(json.dumps(section))
    multiqc = Path(sys.executable).with_name("multiqc")
    command = [
        multiqc,
        "--strict",
        "--config",
        ROOT / "assets/multiqc_config.yml",
        "--no-version-check",
        "content",
    ]
    done = subprocess.run([str(part) for part in command], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    html = next(tmp_path.glob("*.html")).read_text()
    for section in sections:
        assert f'id="{section["id"]}' in html


def test_titles_of_encoders():
    titles = Titles({"mine": "Mine", "sceptr": "SCEPTR †"})
    names = ("sceptr_large", "my_encoder", "mine", "sceptr", "sceptr+mine+other")
    words = ["SCEPTR (large)", "my_encoder", "Mine", "SCEPTR †", "SCEPTR † + Mine + other"]
    assert [titles[name] for name in names] == words

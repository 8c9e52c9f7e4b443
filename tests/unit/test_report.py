"""What the report and the terminal are told."""

import json
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

from airrvec import encoders, figures, report, schema

ROOT = Path(__file__).parents[2]
SAMPLE = {
    "sample_id": "<b>s</b>",
    "format": "10x",
    "rows_in": 10,
    "rows_out": 8,
    "rows_rejected": 2,
    "cells": 5,
    "receptors": 4,
    "uncertain_calls": 3,
    "mended_junctions": 1,
    "per_cent_functional": 87.5,
    "species": {"homosapiens": 5},
    "other_loci": {"IGH": 2},
    "pairing": {"single pair": 3, "orphan VJ": 1, "extra VJ": 1},
    "reject_reasons": {"the chain is not productive": 2},
    "warnings": ["not <i>strictly</i> AIRR"],
}
RECEPTORS = {"samples": 1, "receptors": 1234, "public_receptors": 0}
EMBEDDINGS = {
    "model": "sceptr_beta_only",
    "weights_sha256": "0123456789abcdef" * 4,
    "airrvec_version": "9.9.9",
    "dimensions": 64,
    "receptors": 1234,
    "without_vector": 7,
}


@pytest.fixture
def benchmark() -> report.Benchmark:
    rows = [
        (encoder, rule, epitope, k, 5, value, 0.1, 0.01)
        for encoder, value in (("sceptr", 0.9), ("tcrdist", 0.8))
        for rule in figures.RULE_TITLES
        for epitope, ks in (("E<1>", (1, 5)), ("mean", (1, 5)), ("small", (1,)))
        for k in ks
    ]
    roc = [
        (encoder, "nearest_neighbour", epitope, 5, fpr, fpr**0.5, 0.1)
        for encoder in ("sceptr", "tcrdist")
        for epitope in ("E<1>", "small $x$")
        for fpr in (0, 0.5, 1)
    ]
    counts = {"receptors": 1200, "epitopes": 2, "removed": {"x": 3, "y": 0}}
    return report.Benchmark(
        pd.DataFrame(rows, columns=schema.AUROC_SUMMARY.names),
        pd.DataFrame(roc, columns=schema.ROC.names),
        pd.DataFrame([("small", 5, 9, "9 receptors, 15 needed")], columns=schema.NOT_EVALUATED.names),
        counts,
    )


def test_samples_are_counted_and_escaped():
    overview, pairing, rejects, other_loci = report.sample_sections([SAMPLE], RECEPTORS)
    ((name, row),) = overview["data"].items()
    assert name == "&lt;b&gt;s&lt;/b&gt;"
    assert (row["kept"], row["paired"]) == (80, 80)
    assert "&lt;i&gt;strictly" in overview["description"]
    assert pairing["data"][name]["single pair"] == 3
    assert rejects["data"][name] == {"the chain is not productive": 2}
    assert other_loci["data"][name] == {"IGH": 2}
    assert (row["doublets"], row["functional"]) == (0, 87.5)
    assert (row["uncertain_calls"], row["mended_junctions"]) == (3, 1)


def test_public_receptors_are_told_of_two_samples_or_more():
    shared = {"samples": 2, "receptors": 2000, "public_receptors": 1234}
    sentence = "1,234 receptors occur in two or more samples"
    assert f" {sentence}.<br>" in report.sample_sections([SAMPLE], shared)[0]["description"]
    assert f"\n{sentence}\n" in report.summary_text([SAMPLE], shared, EMBEDDINGS, None)
    assert "two or more" not in report.sample_sections([SAMPLE], RECEPTORS)[0]["description"]
    assert "two or more" not in report.summary_text([SAMPLE], RECEPTORS, EMBEDDINGS, None)


def test_no_rejects_make_no_section():
    assert len(report.sample_sections([{**SAMPLE, "reject_reasons": {}, "other_loci": {}}], RECEPTORS)) == 2


def test_benchmark_sections_hold_the_numbers(benchmark):
    auroc, by_epitope, roc, not_evaluated = report.benchmark_sections(benchmark)
    assert "1,200 complete receptors of 2 epitopes (left out: 3 x)" in auroc["description"]
    assert auroc["data"][0] == {"SCEPTR": {"1": 0.9, "5": 0.9}, "TCRdist": {"1": 0.8, "5": 0.8}}
    assert by_epitope["data"]["E&lt;1&gt;"] == {"k": 5, "sceptr": 0.9, "tcrdist": 0.8}
    assert by_epitope["data"]["small"]["k"] == 1
    assert roc["data"][0]["SCEPTR"] == {0: 0, 0.5: 0.7071, 1: 1}
    assert not_evaluated["data"] == {"small": {"k": 5, "reason": "9 receptors, 15 needed"}}
    assert "<1>" not in json.dumps([auroc, by_epitope, roc, not_evaluated])


def test_summary_for_the_terminal(benchmark):
    text = report.summary_text([{**SAMPLE, "sample_id": "s"}], RECEPTORS, EMBEDDINGS, benchmark)
    assert "s                 10x              10      8         2       5          4" in text
    assert "1,234 distinct receptors embedded by SCEPTR (β only) in 64 dimensions" in text
    assert "7 hold nothing that the model sees" in text
    assert "mean                  5       0.900       0.800" in text


def test_summary_of_many_encoders_shows_their_means(benchmark):
    summary = pd.concat(
        [benchmark.summary.assign(encoder=f"e{n}", auroc_mean=0.5 + n / 100) for n in range(6)]
    )
    text = report.summary_text([SAMPLE], RECEPTORS, EMBEDDINGS, report.Benchmark(summary, None, None, {}))
    assert "AUROC, nearest neighbour, k = 5, mean over 1 epitopes" in text
    assert "e4                              0.540" in text


def test_versions_of_one_process_are_said_once():
    one = '"A":\n    python: "3.11"\n'
    merged = report.merged_versions([one, one, '"B":\n    torch: "2"\n', ""], "24.10.0")
    assert merged.count('"A":') == 1
    assert '"B":\n    torch: "2"\n' in merged
    assert '    multiqc: "' in merged
    assert '    nextflow: "24.10.0"' in merged


def test_figures_are_drawn_for_any_epitope_name(benchmark, tmp_path):
    figures.auroc_against_k(pa.Table.from_pandas(benchmark.summary), tmp_path / "auroc")
    figures.roc_curves(pa.Table.from_pandas(benchmark.roc), tmp_path / "roc")
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
    sections = [*report.sample_sections([SAMPLE], RECEPTORS), report.embedding_section(EMBEDDINGS)]
    sections += report.benchmark_sections(benchmark)
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
    assert encoders.title("sceptr_large") == "SCEPTR (large)"
    assert encoders.title("my_encoder") == "my_encoder"

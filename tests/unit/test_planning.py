"""What a run would take, told from the beginning of its tables."""

import bz2
import dataclasses
import gzip
import io

from airrvec.app import costs, planning
from airrvec.core import schema
from airrvec.core.errors import InputError
from airrvec.core.settings import SETTINGS
from airrvec.model import weights
from airrvec.model.tokens import token_counts
from airrvec.model.variants import VARIANTS
from airrvec.repertoire import layout, sample_comparison
from airrvec.report.handover import sheets
from airrvec.synthetic import synthesis

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from inputs import DATA, ROOT

N_ROWS = 200_000  # 14 MB of text
READING = {"format": None, "columns": None, "species": "homosapiens", "multichain": "top"}


@pytest.fixture(scope="module")
def receptors() -> pa.Table:
    return synthesis.synthesise(N_ROWS, seed=5)


@pytest.fixture(scope="module")
def text(receptors) -> bytes:
    columns = ("TRAV", "TRAJ", "CDR3A", "TRBV", "TRBJ", "CDR3B")
    names = dict(zip(schema.RECEPTOR_FIELDS, columns, strict=True))
    return (
        receptors.to_pandas()
        .rename(columns=names)[list(names.values())]
        .to_csv(sep="\t", index=False)
        .encode()
    )


def zstd(content: bytes) -> bytes:
    return pa.Codec("zstd").compress(content, asbytes=True)


@pytest.mark.parametrize(
    ("name", "packed"),
    [("x.tsv", bytes), ("x.tsv.gz", gzip.compress), ("x.tsv.bz2", bz2.compress), ("x.zst", zstd)],
)
def test_a_beginning_tells_of_the_whole_compressed_or_not(name, packed, text, receptors, tmp_path):
    (tmp_path / name).write_bytes(packed(text))
    found = planning.estimate_table(tmp_path / name, **READING)
    assert found.share == pytest.approx((1 << 20) / len(text), rel=0.12)
    assert found.rows == pytest.approx(N_ROWS, rel=0.12 if "bz2" in name else 0.05)
    assert found.receptors == pytest.approx(found.rows, rel=1e-3)
    assert found.tokens / found.receptors == pytest.approx(token_counts(receptors).mean(), rel=0.01)


def test_a_beginning_of_parquet(text, receptors, tmp_path):

    frame = pd.read_csv(io.BytesIO(text), sep="\t")
    frame.to_parquet(tmp_path / "x.parquet")
    found = planning.estimate_table(tmp_path / "x.parquet", **READING)
    assert (found.rows, found.share) == (N_ROWS, 0.05)


def test_a_small_table_is_counted():
    found = planning.estimate_table(ROOT / "assets/test/pbmc_a.csv.gz", **READING)
    assert (found.rows, found.cells, found.receptors, found.share) == (200, 78, 78, 1)


def test_a_table_without_receptors_is_an_error_at_once(tmp_path):
    (tmp_path / "x.tsv").write_text("TRAV\tCDR3A\tTRAJ\tTRBV\tCDR3B\tTRBJ\n\t\t\tnothing\tC*F\tof use\n")
    with pytest.raises(InputError, match="none of the 1 row "):
        planning.estimate_table(tmp_path / "x.tsv", **READING)


def test_a_beginning_without_receptors_is_none(text, tmp_path):
    header, rest = text.split(b"\n", 1)
    useless = b"\t\t\tTRBV1\tC*F\tTRBJ1-1\n" * 60_000  # more than is read
    (tmp_path / "x.tsv").write_bytes(header + b"\n" + useless + rest)
    found = planning.estimate_table(tmp_path / "x.tsv", **READING)
    assert found.share < 1
    assert found.cells == found.receptors == found.tokens == 0
    assert found.rows > 60_000


PROCESSES = ("CHECK_SAMPLES", "NORMALISE_RECEPTORS", "COLLECT_RECEPTORS", "EMBED_RECEPTORS",
             "MERGE_EMBEDDINGS", "EXPORT_AIRR", "EXPORT_ANNDATA", "DESCRIBE_CELLS", "BENCHMARK_FEWSHOT",
             "SUMMARISE_FEWSHOT", "PLACE_RECEPTORS", "MAP_RECEPTORS", "REPORT", "RENDER_REPORT", "PRETRAIN",
             "NORMALISE_REFERENCE", "MERGE_REFERENCES", "CALIBRATE_ANNOTATION",
             "ANNOTATE_RECEPTORS", "COMPARE_SAMPLES", "DESCRIBE_GAMMA_DELTA")  # fmt: skip
RESOURCES = {process: {"cpus": 2, "memory": 3 << 30} for process in PROCESSES}


def planned(*samples, references=(), **changed) -> dict[str, dict]:
    settings = {"normalising": len(samples), "partitions": 4, "shard_tokens": 10**6, "model": "sceptr",
                "exports": [], "encoders": 0, "trained": [], "further": {},
                "resources": RESOURCES}  # fmt: skip
    return {
        row["process"]: row
        for row in planning.plan(list(samples), references, **settings | changed).to_pylist()
    }


SAMPLE = planning.TableEstimate(rows=10**6, cells=9e5, receptors=8e5, tokens=4.1e7, share=0.1)


def test_shards_follow_from_tokens_and_partitions():
    assert planned(SAMPLE)["EMBED_RECEPTORS"]["tasks"] == 4 * 11
    assert planned(SAMPLE, partitions=1)["EMBED_RECEPTORS"]["tasks"] == 41
    assert planned(SAMPLE, partitions=512)["EMBED_RECEPTORS"]["tasks"] == 512
    assert planned(SAMPLE, SAMPLE, partitions=1)["EMBED_RECEPTORS"]["tasks"] == 82


def test_a_partition_of_one_shard_is_not_merged():
    assert planned(SAMPLE)["MERGE_EMBEDDINGS"]["tasks"] == 4
    assert "MERGE_EMBEDDINGS" not in planned(SAMPLE, partitions=512)


def test_times_are_those_of_the_rates():
    plan = planned(SAMPLE, partitions=1)
    cost = costs.COSTS["EMBED_RECEPTORS"]
    seconds = cost.start + 4.1e7 / 41 / cost.rates["tokens"]
    assert plan["EMBED_RECEPTORS"]["seconds_each"] == pytest.approx(seconds, abs=0.1)
    assert plan["EMBED_RECEPTORS"]["hours_in_all"] == pytest.approx(41 * seconds / 3600, rel=5e-3)
    large = planned(SAMPLE, partitions=1, model="sceptr_large")["EMBED_RECEPTORS"]
    assert large["tasks"] == 41
    assert large["seconds_each"] > 2 * plan["EMBED_RECEPTORS"]["seconds_each"]
    assert planned(SAMPLE, partitions=1, model=128)["EMBED_RECEPTORS"] == large
    assert planned(SAMPLE, trained=["PRETRAIN"])["PRETRAIN"]["seconds_each"] is None


def test_pairs_of_samples_are_tested_up_to_a_number():
    assert costs.MOST_TESTED == sample_comparison.MOST_TESTED
    assert SETTINGS["compare_receptors"].default == costs.DRAWN
    assert (costs.MOST_POINTS, costs.MOST_CLONES) == (layout.MAX_MAPPED, sheets.CLONES)
    further = {"COMPARE_SAMPLES": 1}
    work = [planned(*[SAMPLE] * n, further=further)["COMPARE_SAMPLES"]["work"] for n in (1, 10, 45, 46, 300)]
    assert work == [0, 45, 990, 0, 0]
    small = dataclasses.replace(SAMPLE, receptors=100)  # a hundredth of the time of a thousand, and a quarter
    assert planned(*[small] * 15, further=further)["COMPARE_SAMPLES"]["work"] == 1  # 105 pairs
    assert planned(SAMPLE, small, further=further)["COMPARE_SAMPLES"]["work"] == 0  # 0.3


def test_cells_with_gamma_and_delta_chains_have_a_task():
    both = planning.estimate_table(DATA / "10x_gamma_delta.csv", **READING)
    assert (both.gamma_delta, both.cells) == (13, 6)
    assert planned(both)["DESCRIBE_GAMMA_DELTA"]["tasks"] == 1
    assert "DESCRIBE_GAMMA_DELTA" not in planned(SAMPLE)


def test_what_was_not_asked_for_is_not_planned():
    assert not {"EXPORT_AIRR", "BENCHMARK_FEWSHOT", "PRETRAIN"} & set(planned(SAMPLE))
    plan = planned(SAMPLE, SAMPLE, exports=["EXPORT_AIRR"], encoders=3, trained=["PRETRAIN"])
    assert [plan[name]["tasks"] for name in ("EXPORT_AIRR", "BENCHMARK_FEWSHOT", "PRETRAIN")] == [2, 3, 1]
    assert plan["PRETRAIN"]["memory_gb"] == 3


def test_some_exports_have_a_task_for_all_samples():
    asked = ["EXPORT_AIRR", "EXPORT_ANNDATA", "DESCRIBE_CELLS"]
    plan = planned(SAMPLE, SAMPLE, exports=asked)
    assert [plan[name]["tasks"] for name in asked] == [2, 3, 3]
    alone = planned(SAMPLE, exports=asked, encoders=3)  # the labelled table alone
    assert [alone[name]["tasks"] for name in asked] == [1, 1, 1]
    part = dataclasses.replace(SAMPLE, cells=1.09e5)  # half a million cells share a task
    plan = planned(*[part] * 10, exports=asked)
    assert [plan[name]["tasks"] for name in asked] == [10, 3, 3]


def test_dimensions_are_those_of_the_published_weights():
    for name in VARIANTS:
        assert planning.DIMENSIONS.get(name, 64) == weights.load(name).encoder.config.d_model


def test_the_text_shows_every_process():
    rows = planning.plan(
        [SAMPLE], normalising=1, partitions=4, shard_tokens=10**6, model="sceptr", exports=[], encoders=2,
        trained=[], further={"MAP_RECEPTORS": 1},
        resources=RESOURCES,
    )  # fmt: skip
    text = planning.format_plan([SAMPLE], rows)
    assert "1 table, about 1,000,000 rows" in text
    for row in rows.to_pylist():
        assert any(line.startswith(row["process"]) and "3.0 GB" in line for line in text.splitlines())
    assert np.isclose(
        float(text.split("\nall ")[1].split()[1]),
        sum(rows["hours_in_all"].drop_null().to_pylist()),
        atol=0.01,
    )


def test_annotation_is_planned():
    """Measured: VDJdb and 30,000 background receptors take 57 s of one core, a million pairs 465 s."""
    vdjdb = planning.TableEstimate(rows=41_819, cells=38_000, receptors=30_000, tokens=1e6, share=1)
    samples = [planning.TableEstimate(rows=2e5, cells=1.09e5, receptors=1e5, tokens=5.4e6, share=1)] * 10
    annotation = {"tables": 1, "background_receptors": 30_000}
    plan = planned(*samples, references=[vdjdb], annotation=annotation)
    assert plan["CALIBRATE_ANNOTATION"]["hours_in_all"] * 3600 == pytest.approx(57, rel=0.2)
    assert plan["ANNOTATE_RECEPTORS"]["hours_in_all"] * 3600 == pytest.approx(465, rel=0.2)
    assert plan["ANNOTATE_RECEPTORS"]["tasks"] == 10  # two samples would be more than a task takes
    assert (
        planned(vdjdb, vdjdb, references=[vdjdb], annotation=annotation)["ANNOTATE_RECEPTORS"]["tasks"] == 1
    )
    assert plan["NORMALISE_REFERENCE"]["tasks"] == plan["MERGE_REFERENCES"]["tasks"] == 1
    assert plan["NORMALISE_RECEPTORS"] == planned(*samples)["NORMALISE_RECEPTORS"]  # without the reference

    labelled = planned(SAMPLE, vdjdb, encoders=1, annotation=annotation | {"tables": 0})
    assert "NORMALISE_REFERENCE" not in labelled
    assert labelled["CALIBRATE_ANNOTATION"] == plan["CALIBRATE_ANNOTATION"]
    assert labelled["ANNOTATE_RECEPTORS"]["work"] == SAMPLE.cells

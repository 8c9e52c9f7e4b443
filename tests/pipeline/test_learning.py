"""Pre-training and fine-tuning within a run: the chain of models, its measurements."""

import json

from airrvec import encoders
from airrvec.core import schema, tables

import numpy as np
import pandas as pd
import pytest
from columns_written import check_columns
from pipeline_runs import run_pipeline
from test_parameters import PBMC
from test_run import PROCESSES

# A model that the run trains lies in a folder of its own already: nothing has to prepare it.
LEARNING = PROCESSES | {"CHECK_DEVICE", "SYNTHESISE_RECEPTORS", "PRETRAIN", "FINETUNE"}
SHAPE = {"n_layers": 2, "d_model": 16, "n_heads": 2, "d_feedforward": 32}
SCHEDULE = {"steps": 3, "batch_size": 32, "warmup_steps": 2, "validate_every": 2}
PRESETS = {
    "tiny_own": {"data": "synthetic", "model": SHAPE, "schedule": SCHEDULE},
    "tuned": {"layers": "last", "objective": {"contrastive": "supervised"}, "schedule": SCHEDULE},
    "shuffled_own": {"data": "shuffled"},
    "learns_labels": {"objective": {"contrastive": "supervised"}},
    "gone_loss": {"objective": {"contrastive": "gone.py"}},
    "bad name": {},
    "tcrdist": {},
}
CHAIN = (
    "-profile", "test", "--pretrain", "tiny_own.json", "--synthetic_receptors", "300",
    "--finetune", "--finetune_preset", "tuned.json", "--finetune_split", "random",
    "--finetune_min_receptors", "50",
)  # fmt: skip
ALONE = ("--skip_map", "--handover", "false", "--export_airr", "false", "--export_anndata", "false")
NOT_ALONE = {"PLACE_RECEPTORS", "MAP_RECEPTORS", "HANDOVER", "DESCRIBE_CELLS"}
NOT_ALONE |= {"EXPORT_AIRR", "EXPORT_ANNDATA"}


def write_presets(folder):
    for name, content in PRESETS.items():
        (folder / f"{name}.json").write_text(json.dumps(content))
    (folder / "broken.json").write_text("{")
    (folder / "nested.json").write_text("[" * 200_000 + "]" * 200_000)


@pytest.fixture(scope="module")
def learnt(tmp_path_factory):
    folder = tmp_path_factory.mktemp("learnt")
    write_presets(folder)
    run = run_pipeline(folder, *CHAIN, *ALONE)
    assert run.status == 0, run.output
    return run


def test_its_tables_have_the_columns_of_the_schemas(learnt):
    assert check_columns(learnt.results) >= {"training", "split", "specificity", "unseen"}


def test_the_last_model_of_the_chain_embeds(learnt):
    assert learnt.processes == LEARNING - NOT_ALONE
    assert learnt.warnings == []
    models = learnt.results / "models"
    assert sorted(path.name for path in models.iterdir()) == ["finetune", "tiny_own", "tuned"]
    vectors = tables.read(learnt.results / "embeddings/tuned.parquet")
    receptors = tables.read(learnt.results / "receptors/receptors.parquet")
    assert tables.metadata(learnt.results / "embeddings/tuned.parquet")["model"] == "tuned"
    assert vectors["receptor_id"].equals(receptors["receptor_id"])
    expected = encoders.load(str(models / "tuned")).embed(receptors)
    np.testing.assert_allclose(vectors.to_pandas().drop(columns="receptor_id"), expected, atol=1e-5)


def test_measurements_are_published_and_reported(learnt):
    folder = learnt.results / "models/finetune"
    for name in ("split", "specificity", "unseen"):
        as_text = pd.read_csv(folder / f"{name}.tsv", sep="\t")
        pd.testing.assert_frame_equal(as_text, pd.read_parquet(folder / f"{name}.parquet"), check_dtype=False)
    specificity = pd.read_parquet(folder / "specificity.parquet")
    assert list(specificity["encoder"].unique()) == [
        "v_j_genes", "tcrdist", "tiny_own", "tiny_own+tcrdist", "tuned", "tuned+tcrdist",
    ]  # fmt: skip
    mean = specificity.query("rule == 'contrast' and test_set == 'all' and epitope == 'mean'")
    for value in mean["auroc"]:
        assert f"{value:.3f}" in learnt.output
    assert (
        "AUROC of tuned, fine-tuned from tiny_own, on held-out receptors (mean of 3 epitopes)"
        in learnt.output
    )
    html = (learnt.results / "multiqc/multiqc_report.html").read_text()
    for section in ("airrvec_finetuning", "airrvec_training"):
        assert f'id="{section}' in html
    # The few-shot benchmark measures the model that has seen no labels.
    measured = pd.read_parquet(learnt.results / "benchmark/auroc.parquet")
    assert set(measured["encoder"]) == {"sceptr", "cdr3_levenshtein", "tiny_own"}
    history = tables.read(learnt.results / "models/tuned/training.parquet")
    assert history.schema.equals(schema.TRAINING)


def test_the_folder_is_a_model_of_another_run(learnt, tmp_path):
    folder = learnt.results / "models/tiny_own"
    (tmp_path / "samples.csv").write_text(f"sample,path\nb,{PBMC}\n")
    run = run_pipeline(tmp_path, "--input", "samples.csv", "--model", str(folder), "--skip_map")
    assert run.status == 0, run.output
    assert tables.metadata(run.results / "embeddings/tiny_own.parquet")["model"] == "tiny_own"
    assert "receptors embedded by tiny_own in 16 dimensions" in run.output

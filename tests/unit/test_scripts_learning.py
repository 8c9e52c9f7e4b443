"""The scripts that train: a few steps on few receptors, and what their folders are good for."""

import importlib
import json

from airrvec.core import schema, tables
from airrvec.encoders.sceptr import Sceptr
from airrvec.model import transformer, weights
from airrvec.model.tokens import tokenise
from airrvec.synthetic import synthesis
from airrvec.training import model_folder

import numpy as np
import pyarrow as pa
import pytest
import yaml
from inputs import ROOT, normalised

SHAPE = {"n_layers": 2, "d_model": 16, "n_heads": 2, "d_feedforward": 32}
SCHEDULE = {"steps": 3, "batch_size": 16, "warmup_steps": 2, "validate_every": 2}
FILES = [
    "README.md",
    "config.json",
    "model.safetensors",
    "training.parquet",
    "training.png",
    "training.svg",
    "training_times.parquet",
]


@pytest.fixture
def script(monkeypatch, tmp_path):
    """Run a script of bin/ by its name, in this process, in a folder of its own."""
    monkeypatch.syspath_prepend(ROOT / "bin")
    monkeypatch.chdir(tmp_path)

    def run(name: str, *arguments) -> None:
        arguments = [*arguments, "--device", "cpu", "--versions", "versions.yml"]
        importlib.import_module(name).main([str(argument) for argument in arguments])

    return run


def error_of(script, capsys, *arguments) -> str:
    """The line that a script ends with, status 1."""
    with pytest.raises(SystemExit):
        script(*arguments)
    return next(line for line in capsys.readouterr().err.splitlines() if line.startswith("ERROR: "))


def preset(path, **content):
    path.write_text(json.dumps({"title": "Tiny", "model": SHAPE, "schedule": SCHEDULE, **content}))
    return path


@pytest.fixture
def tiny(tmp_path):
    return preset(tmp_path / "tiny.json")


@pytest.fixture
def receptors(tmp_path):
    """200 synthetic receptors in two shards that share some."""
    table = synthesis.synthesise(200, seed=1)
    paths = [tmp_path / "shard_0.parquet", tmp_path / "shard_1.parquet"]
    for path, part in zip(paths, (table.slice(0, 120), table.slice(80)), strict=True):
        tables.write(part, path)
    return paths


@pytest.fixture
def labelled(tmp_path):
    """The demonstration's labelled receptors, as the pipeline gives them to the task."""
    table = normalised(ROOT / "assets/demo/dash_human.csv", sample_id="labelled")
    tables.write(table.cells, tmp_path / "cells.parquet")
    tables.write(table.receptors, tmp_path / "receptors.parquet")
    return ("--cells", tmp_path / "cells.parquet", "--receptors", tmp_path / "receptors.parquet")


def state(folder) -> dict:
    return weights.load(str(folder)).encoder.state_dict()


def equal(a: dict, b: dict) -> bool:
    return all(a[name].equal(b[name]) for name in a)


def test_pretraining_leaves_the_folder_of_a_model(script, tmp_path, tiny, receptors):
    script("pretrain", *receptors, "--preset", tiny, "--synthetic", "--outdir", "out")
    folder = tmp_path / "out/tiny"
    assert sorted(path.name for path in folder.iterdir()) == FILES
    config = json.loads((folder / "config.json").read_text())
    assert (config["name"], config["step"], config["preset"]["data"]) == ("tiny", 3, "synthetic")
    # A receptor of both shards counts once; a tenth is held out.
    assert "180 receptors (synthetic, homosapiens), 20 more held out" in (folder / "README.md").read_text()
    history = tables.read(folder / "training.parquet")
    assert history.schema.equals(schema.TRAINING)
    assert [row["step"] for row in history.to_pylist() if row["part"] == "train"] == [1, 2, 3]
    loaded = weights.load(str(folder))
    vectors = transformer.embed(
        loaded.encoder, tokenise(tables.read(receptors[0]), loaded.encoder.config.loops)
    )
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_receptors_are_tokenised_once(script, tiny, receptors, monkeypatch):
    calls = []

    def counted(table, loops):
        calls.append(len(table))
        return tokenise(table, loops)

    monkeypatch.setattr("airrvec.model.tokens.tokenise", counted)
    script("pretrain", *receptors, "--preset", tiny, "--synthetic")
    assert calls == [200]


def test_the_folder_embeds_and_is_benchmarked_under_its_name(script, tmp_path, tiny, receptors, labelled):
    script("pretrain", *receptors, "--preset", tiny, "--synthetic")
    (tmp_path / "tiny").rename(tmp_path / "model")  # as the pipeline stages it
    importlib.import_module("embed_receptors").main(
        [str(receptors[0]), "--model", "model", "--out", "vectors.parquet"]
    )
    assert tables.metadata("vectors.parquet")["model"] == "tiny"
    assert tables.read("vectors.parquet").schema.equals(schema.embeddings(16))
    importlib.import_module("benchmark_fewshot").main(
        [
            *map(str, labelled),
            "--encoder",
            "model",
            "--name",
            "tiny",
            "--benchmark-k",
            "1",
            "--benchmark-min-positives",
            "50",
        ]
    )
    assert set(tables.read("tiny.auroc.parquet")["encoder"].to_pylist()) == {"tiny"}


def test_one_seed_makes_one_model(script, tmp_path, tiny, receptors):
    for name, seed, order in (("a", 1, 1), ("b", 1, -1), ("c", 2, 1)):
        options = ("--synthetic", "--seed", seed, "--checkpoints", f"{name}_checkpoints", "--outdir", name)
        script("pretrain", *receptors[::order], "--preset", tiny, *options)
    states = [state(tmp_path / name / "tiny") for name in "abc"]
    assert equal(states[0], states[1])
    assert not equal(states[0], states[2])


def test_a_checkpoint_of_another_training_is_left_alone(script, tmp_path, tiny, receptors, caplog):
    options = ("--preset", tiny, "--synthetic", "--checkpoint-every", 2)
    script("pretrain", *receptors, *options, "--seed", 1, "--outdir", "first")
    script("pretrain", *receptors, *options, "--seed", 1, "--outdir", "resumed")
    assert "starts from step 0" not in caplog.text
    script("pretrain", *receptors, *options, "--seed", 2, "--outdir", "other")
    assert "tiny/last.ckpt belongs to other data or settings: training starts from step 0" in caplog.text
    script("pretrain", *receptors, *options, "--seed", 2, "--checkpoints", "clean", "--outdir", "undisturbed")
    assert equal(state("first/tiny"), state("resumed/tiny"))
    assert equal(state("other/tiny"), state("undisturbed/tiny"))


def test_receptors_of_the_labelled_table_alone_pretrain_nothing(script, tmp_path, tiny):
    table = synthesis.synthesise(60, seed=1)
    n_samples = pa.array([0] * 20 + [1] * 40, pa.int32())
    tables.write(table.append_column("n_samples", n_samples), tmp_path / "run.parquet")
    script("pretrain", tmp_path / "run.parquet", "--preset", tiny)
    card = (tmp_path / "tiny/README.md").read_text()
    assert "36 receptors (receptors, homosapiens), 4 more held out" in card


@pytest.mark.parametrize(
    ("content", "arguments", "sentence"),
    [
        ({"data": "synthetic"}, (), "the preset 'own' trains on synthetic receptors, and these are none"),
        ({"objective": {"contrastive": "supervised"}}, (), "the preset 'own' learns from labels"),
        ({"objective": {"contrastive": "neighbour"}}, (), "the preset 'own' learns from labels"),
        ({"stepz": 3}, (), "own.json: the preset does not fit: 'stepz' is not one of name, title"),
        ({"schedule": {"steps": 3, "speed": 1}}, (), "'speed' is not one of steps, batch_size"),
    ],
)
def test_pretraining_refuses(script, capsys, tmp_path, receptors, content, arguments, sentence):
    path = preset(tmp_path / "own.json", **content)
    assert sentence in error_of(script, capsys, "pretrain", *receptors, "--preset", path, *arguments)


SUPERVISED = {
    "layers": "last",
    "objective": {"contrastive": "supervised"},
    "schedule": {**SCHEDULE, "decay": False, "patience": 3},
}


def test_finetuning_measures_before_and_after(script, tmp_path, labelled):
    path = preset(tmp_path / "own.json", **SUPERVISED)
    options = ("--finetune-split", "random", "--finetune-min-receptors", 50, "--name", "own")
    script("finetune", *labelled, "--preset", path, "--model", "sceptr_tiny", *options)
    expected = sorted([*FILES, "training_labels.parquet"])
    assert sorted(file.name for file in (tmp_path / "own").iterdir()) == expected
    split = tables.read("split.parquet")
    assert split.schema.equals(schema.SPLIT)
    parts = split.to_pandas().groupby("part")["receptor_id"].agg(set)
    assert not parts["train"] & parts["test"]
    learnt = tables.read("own/training_labels.parquet")
    assert learnt.schema.equals(schema.TRAINING_LABELS)
    assert {*learnt["receptor_id"].to_pylist()} == parts["train"] | parts["validation"]
    labels = json.loads((tmp_path / "own/config.json").read_text())["labels"]
    assert labels == {"receptors": len(parts["train"] | parts["validation"]), "not_recorded": []}
    specificity = tables.read("specificity.parquet").to_pandas()
    assert list(specificity.columns) == schema.SPECIFICITY.names
    assert list(specificity["encoder"].unique()) == [
        "v_j_genes", "tcrdist", "sceptr_tiny", "sceptr_tiny+tcrdist", "own", "own+tcrdist",
    ]  # fmt: skip
    assert list(specificity["test_set"].unique()) == ["all", "below_90", "below_80"]
    assert tables.read("unseen.parquet").schema.equals(schema.AUROC)
    qc = json.loads((tmp_path / "finetune.qc.json").read_text())
    assert (qc["name"], qc["start"], qc["split"]) == ("own", "sceptr_tiny", "random")
    assert qc["receptors"] == {part: len(rows) for part, rows in parts.items()}
    contrast = specificity.query("rule == 'contrast' and test_set == 'all' and epitope == 'mean'")
    before, after = (contrast.set_index("encoder").loc[name, "auroc"] for name in ("sceptr_tiny", "own"))
    assert (qc["gain"]["before"], qc["gain"]["after"]) == pytest.approx((before, after))
    assert qc["gain"]["low"] <= qc["gain"]["difference"] <= qc["gain"]["high"]
    assert (qc["gain"]["epitopes"], qc["gain"]["studies"]) == (3, 0)  # the labels name no study
    for name in ("split", "specificity", "unseen"):
        assert (
            (tmp_path / f"{name}.tsv")
            .read_text()
            .startswith("\t".join(tables.read(f"{name}.parquet").column_names))
        )
    header = yaml.safe_load((tmp_path / "own/README.md").read_text().split("\n---\n")[0])
    results = header["model-index"][0]["results"]
    shown = specificity[(specificity["encoder"] == "own") & (specificity["epitope"] == "mean")]
    shown = shown[shown["rule"].isin(model_folder.RULES_SHOWN)].dropna(subset="auroc")
    aurocs = [r["metrics"][0]["value"] for r in results if r["metrics"][0]["type"] == "roc_auc"]
    assert aurocs == shown["auroc"].round(4).tolist()
    assert len(aurocs) >= 3
    # Only the last layer is trained.
    before, after = state("sceptr_tiny"), state(tmp_path / "own")
    changed = {name.split(".")[1] for name in before if not before[name].equal(after[name])}
    assert changed == {"2"}


def test_each_model_embeds_the_labelled_receptors_once(script, tmp_path, labelled, monkeypatch):
    calls = []
    embed = Sceptr.embed

    def counted(encoder, receptors):
        calls.append(len(receptors))
        return embed(encoder, receptors)

    monkeypatch.setattr(Sceptr, "embed", counted)
    path = preset(tmp_path / "own.json", **SUPERVISED)
    options = ("--finetune-split", "random", "--finetune-min-receptors", 50)
    script("finetune", *labelled, "--preset", path, "--model", "sceptr_tiny", *options)
    assert len(calls) == 2
    assert calls[0] == calls[1] >= len(tables.read("split.parquet"))


def test_finetuning_refuses(script, capsys, tmp_path, labelled):
    path = preset(tmp_path / "own.json", **SUPERVISED)
    for content in ({}, {"objective": {"contrastive": None}}):
        ignorant = preset(tmp_path / "plain.json", **content)
        assert "the preset 'plain' does not learn from labels" in error_of(
            script, capsys, "finetune", *labelled, "--preset", ignorant, "--finetune-split", "random"
        )
    arguments = ("finetune", *labelled, "--preset", path)
    assert "is called 'sceptr' too" in error_of(
        script,
        capsys,
        *arguments,
        "--finetune-split",
        "random",
        "--finetune-min-receptors",
        50,
        "--name",
        "sceptr",
    )
    assert "name no study (reference_id), so that none can be held out" in error_of(
        script, capsys, *arguments, "--finetune-split", "study"
    )
    assert "the labelled table has no column 'split'" in error_of(
        script, capsys, *arguments, "--finetune-split", "given"
    )
    assert "specificity needs at least two epitopes" in error_of(
        script, capsys, *arguments, "--finetune-split", "random"
    )


def test_the_users_split_is_read_from_the_table(script, tmp_path):
    lines = (ROOT / "assets/demo/dash_human.csv").read_text().splitlines()
    parts = ["train", "test", "validation", ""]
    rows = [f"{line},{parts[number % 4]}" for number, line in enumerate(lines[1:])]
    (tmp_path / "labelled.csv").write_text("\n".join([f"{lines[0]},split", *rows]) + "\n")
    table = normalised(tmp_path / "labelled.csv", sample_id="labelled")
    tables.write(table.cells, tmp_path / "cells.parquet")
    tables.write(table.receptors, tmp_path / "receptors.parquet")
    given = {(row["clonotype_id"], row["epitope"], row["split"]) for row in table.cells.to_pylist()}
    script(
        "finetune", "--cells", "cells.parquet", "--receptors", "receptors.parquet",
        "--finetune-split", "given", "--preset", preset(tmp_path / "own.json", **SUPERVISED),
        "--model", "sceptr_tiny",
    )  # fmt: skip
    rows = tables.read("split.parquet").to_pylist()
    assert {row["part"] for row in rows} == {"train", "validation", "test"}
    assert {(row["clonotype_id"], row["epitope"], row["part"]) for row in rows} <= given

"""The verbs finetune and pretrain: their work."""

from pathlib import Path

from airrvec.app import verb_files
from airrvec.app.verbs import work as at_work
from airrvec.app.verbs.work import Work
from airrvec.core.errors import InputError, require_extra
from airrvec.encoders import Titles
from airrvec.report.sections import finetuning
from airrvec.training import presets


def finetune(work: Work) -> None:
    """Fine-tune a model on the labelled table, and measure it before and after."""
    require_extra("learn", "fine-tuning")
    preset = presets.find(work.options.finetune_preset)
    presets.load(preset).changed(loss=work.options.finetune_loss).check_finetuning()
    labelled = work.labelled_table()
    settings = work.settings("finetune_preset")
    at_work.run("finetune", *labelled, *settings, *_training(work, preset))
    measured = finetuning.read_finetuning(work.results)
    assert measured is not None  # finetune.py writes it
    work.said = finetuning.finetuning_lines(measured, Titles())
    work.said.append(f"model: {work.place / verb_files.model_name(work.options)}")


def pretrain(work: Work) -> None:
    """Pre-train a model on the receptors of the tables, or on synthetic ones."""
    require_extra("learn", "pre-training")
    preset = presets.find(work.options.preset)
    presets.load(preset)
    receptors = work.folder / "synthetic.parquet"
    synthetic = work.options.synthetic_receptors
    if bool(synthetic) == bool(work.samples):
        raise InputError(
            "pre-training takes tables or a number of synthetic receptors", fix="Give one of the two"
        )
    if synthetic:
        words = ("--receptors", synthetic, *work.words("seed"), "--out", receptors)
        at_work.run("synthesise_receptors", *words)
    else:
        receptors = work.collected([path for _, _, path in work.normalised(work.folder)])
    options = (*["--synthetic"] * bool(synthetic), *work.settings("synthetic_receptors"))
    at_work.run("pretrain", receptors, *options, *_training(work, preset))


def _training(work: Work, preset: Path) -> tuple:
    """Claim the folder of checkpoints; return the words that both scripts take."""
    verb_files.checkpoints(work.options).claim()
    folder = work.options.checkpoints or work.options.outdir / "checkpoints"
    name = ("--name", verb_files.model_name(work.options), "--preset", preset)
    common = work.words("threads", "checkpoint_every")
    return (*name, *common, "--checkpoints", folder, "--outdir", work.results)

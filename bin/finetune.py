#!/usr/bin/env python3
"""Fine-tune a model on labelled receptors, and measure it before and after on held-out receptors."""

import hashlib

from airrvec.core import runtime, script, settings, tables
from airrvec.core.errors import InputError, exit_on_input_error, require_extra
from airrvec.core.progress import counter
from airrvec.evaluation.options import add_labelled_options, labelled_options
from airrvec.training import presets
from airrvec.training.presets import add_training_options, training_options


def parse_args(argv=None):
    parser = script.parser(__doc__)
    add_labelled_options(parser)
    settings.add(parser, "model", help="start: published variant, or model folder")
    parser.add_argument("--name", help="name of the new model; if not given, the name of the preset")
    settings.add(parser, "finetune_loss", "finetune_split", "finetune_per_epitope", "finetune_min_receptors")
    add_training_options(parser)
    return parser.parse_args(argv)


@exit_on_input_error
def main(argv=None):
    args = parse_args(argv)
    require_extra("learn", "fine-tuning")
    runtime.limit_threads(args.threads)
    from airrvec.evaluation import training_labels
    from airrvec.evaluation.heldout import specificity, splits
    from airrvec.figures.training import training_curves
    from airrvec.model import weights
    from airrvec.training import model_folder

    preset = _preset(args)
    callbacks = preset.load_callbacks()
    split = _split(args)
    splits.check_leaks(split)
    start_labels = training_labels.labels_from_encoder(args.model)
    split = splits.exclude_trained_on(split, start_labels)
    start = weights.load(args.model)
    if start.name == preset.name:
        raise InputError(
            f"the model that training starts from is called '{preset.name}' too", fix="Give --name"
        )
    tables.write_both(split.table(), args.outdir / "split")
    digest = hashlib.sha256((args.outdir / "split.tsv").read_bytes()).hexdigest()
    trained = _trained(args, preset, start, split, digest, callbacks)

    folder = args.outdir / preset.name
    counts = {part: sum(map(len, getattr(split, part).values())) for part in splits.PARTS}
    data = {
        "Data": f"{counts['train']:,} receptors of {', '.join(split.epitopes)}, split by"
        f" {args.finetune_split}",
        "Digest of the split": digest[:16],
    }
    labels = training_labels.labels_from_split(split, start_labels)
    names = {"name": preset.name, "start": start.name}
    model_folder.write(folder, trained, preset, **names, data=data, labels=labels)
    training_curves(trained.history, folder / "training")

    models = {start.name: args.model, preset.name: str(folder)}
    measured = specificity.measure(models, split, seed=args.seed)
    tables.write_both(measured.tested, args.outdir / "specificity")
    tables.write_both(measured.unseen, args.outdir / "unseen")
    card = model_folder.card(trained, preset, **names, data=data, labelled=True, measured=measured.tested)
    tables.write_text(card, folder / model_folder.FILE_NAME)
    qc = {
        **names,
        "split": args.finetune_split,
        "receptors": counts,
        "removed": split.removed,
        "left_out": split.left_out,
        "step": trained.step,
        "gain": measured.gain,
        "notes": [*_cautions(start_labels), *trained.notes],
    }
    tables.write_json(qc, args.outdir / "finetune.qc.json")
    script.write_versions(
        args, "lightning", "numba", "numpy", "pyarrow", "safetensors", "scikit-learn", "torch"
    )


def _preset(args) -> presets.Preset:
    """Return the preset with the options of the command; raise `InputError` if it ignores the labels."""
    preset = presets.load(args.preset).changed(
        name=args.name,
        steps=args.train_steps,
        batch_size=args.train_batch_size,
        loss=args.finetune_loss,
        callbacks=args.train_callbacks,
    )
    preset.check_finetuning()
    return preset


def _split(args):
    """Return the labelled receptors as training, validation and test receptors."""
    from airrvec.evaluation import fewshot
    from airrvec.evaluation.heldout import splits

    labelled = fewshot.select_labelled(**labelled_options(args))
    if args.finetune_split == "given":
        return splits.column_split(labelled)
    options = {"min_receptors": args.finetune_min_receptors, "seed": args.seed}
    if args.finetune_split == "random":
        return splits.random_split(labelled, **options)
    return splits.study_split(labelled, per_epitope=args.finetune_per_epitope, **options)


def _trained(args, preset, start, split, digest: str, callbacks: list):
    """Return the start model, trained on a split with this digest."""
    from airrvec.model.tokens import tokenise
    from airrvec.training import trainer

    import numpy as np
    import pyarrow as pa

    def receptors(part: str) -> trainer.Receptors | None:
        rows = getattr(split, part)
        order = np.concatenate([rows[epitope] for epitope in split.epitopes])
        if not len(order):
            return None
        labels = np.repeat(np.arange(len(split.epitopes)), [len(rows[epitope]) for epitope in split.epitopes])
        table = split.labelled.receptors.take(pa.array(order))
        return trainer.Receptors(tokenise(table, start.config.loops), labels)

    training = receptors("train")
    assert training is not None  # a split has training receptors of two epitopes or more
    return trainer.train(
        start.encoder.train(),
        training,
        receptors("validation"),
        preset.objective,
        preset.schedule,
        seed=args.seed,
        folder=args.checkpoints / preset.name,
        fingerprint=trainer.fingerprint(
            data=digest, preset=preset.as_dict(), seed=args.seed, start=start.checksum
        ),
        trainable=preset.trainable(start.config.n_layers),
        progress=counter("steps trained", preset.schedule.steps),
        callbacks=callbacks,
        **training_options(args),
    )


def _cautions(start_labels) -> list[str]:
    """Return a sentence on each start model whose training receptors are not recorded."""
    from airrvec.evaluation.training_labels import not_recorded_warning

    return [not_recorded_warning(name) for name in start_labels.not_recorded]


if __name__ == "__main__":
    main()

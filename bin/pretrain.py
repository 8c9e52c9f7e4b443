#!/usr/bin/env python3
"""Pre-train a model from random weights on unlabelled receptors."""

import hashlib
from dataclasses import replace
from pathlib import Path

from airrvec.core import runtime, script, seeds, settings, tables
from airrvec.core.errors import InputError, exit_on_input_error, require_extra
from airrvec.core.progress import counter
from airrvec.core.terminal import counted
from airrvec.training import presets
from airrvec.training.presets import add_training_options, training_options


def parse_args(argv=None):
    parser = script.parser(__doc__)
    parser.add_argument("receptors", type=Path, nargs="+", help="receptors, or shards of synthetic receptors")
    parser.add_argument("--synthetic", action="store_true", help="the receptors are synthetic")
    parser.add_argument("--name", help="name of the model; if not given, the name of the preset")
    settings.add(parser, "pretrain_loss")
    add_training_options(parser)
    return parser.parse_args(argv)


@exit_on_input_error
def main(argv=None):
    args = parse_args(argv)
    require_extra("learn", "pre-training")
    runtime.limit_threads(args.threads)
    from airrvec.core import identity
    from airrvec.figures.training import training_curves
    from airrvec.model.transformer import ReceptorEncoder
    from airrvec.training import model_folder, trainer

    import numpy as np
    import pyarrow.compute as pc
    import torch

    preset = _preset(args)
    callbacks = preset.load_callbacks()
    receptors, tokens = _receptors(args, preset)
    digest = hashlib.sha256("".join(receptors["receptor_id"].to_pylist()).encode()).hexdigest()

    # A tenth of the clonotypes is held out (paper, Methods, "SCEPTR Pre-training", "Data").
    number, first = identity.number_clonotypes(receptors)
    order = seeds.numbered_generator((args.seed, 1)).permutation(len(first))
    held_out = order[number] < len(first) // 10
    train, test = (tokens.take(np.flatnonzero(mask)) for mask in (~held_out, held_out))
    torch.manual_seed(args.seed)
    encoder = ReceptorEncoder(preset.model)
    trained = trainer.train(
        encoder.train(),
        trainer.Receptors(train),
        trainer.Receptors(test),
        preset.objective,
        preset.schedule,
        seed=args.seed,
        folder=args.checkpoints / preset.name,
        fingerprint=trainer.fingerprint(data=digest, preset=preset.as_dict(), seed=args.seed),
        progress=counter("steps trained", preset.schedule.steps),
        callbacks=callbacks,
        **training_options(args),
    )
    species = ", ".join(sorted(pc.unique(receptors["species"]).to_pylist()))
    data = {
        "Data": f"{len(train):,} receptors ({preset.data}, {species}), {len(test):,} more held out",
        "Digest of the data": digest[:16],
    }
    folder = args.outdir / preset.name
    model_folder.write(folder, trained, preset, name=preset.name, start="random weights", data=data)
    training_curves(trained.history, folder / "training")
    script.write_versions(args, "lightning", "numpy", "pyarrow", "safetensors", "tidytcells", "torch")


def _preset(args) -> presets.Preset:
    """Return the preset with the options of the command; raise `InputError` if it cannot pre-train."""
    preset = presets.load(args.preset).changed(
        name=args.name,
        steps=args.train_steps,
        batch_size=args.train_batch_size,
        loss=args.pretrain_loss,
        callbacks=args.train_callbacks,
    )
    if preset.objective.needs_labels:
        raise InputError(
            f"the preset '{preset.name}' learns from labels, which pre-training has not",
            fix="Fine-tune with it",
        )
    if preset.data == "synthetic" and not args.synthetic:
        raise InputError(f"the preset '{preset.name}' trains on synthetic receptors, and these are none")
    if args.synthetic and preset.data == "receptors":
        preset = replace(preset, data="synthetic")
    return preset


def _receptors(args, preset: presets.Preset) -> tuple:
    """Return the distinct receptors with a loop that the model reads, and their tokens."""
    from airrvec.core import schema
    from airrvec.model.tokens import tokenise

    import numpy as np
    import pyarrow as pa

    receptors = pa.concat_tables([_unlabelled(tables.read(path)) for path in args.receptors])
    receptors = tables.distinct_receptors(receptors.select(schema.RECEPTORS.names))
    if preset.data == "shuffled":
        from airrvec.synthetic.background import shuffle_pairs

        receptors = shuffle_pairs(receptors, seed=args.seed)
    tokens = tokenise(receptors, preset.model.loops)
    seen = np.flatnonzero(tokens.lengths > 1)
    receptors, tokens = receptors.take(pa.array(seen)), tokens.take(seen)
    if len(receptors) < 10:
        raise InputError(
            f"{counted(len(receptors), 'receptor')} with a loop that the model reads, and 10 are needed",
            fix="Give more receptors, or a preset that reads their loops",
        )
    return receptors, tokens


def _unlabelled(receptors):
    """Exclude receptors that occur only in the labelled table: they measure the model."""
    import pyarrow.compute as pc

    if "n_samples" not in receptors.column_names:
        return receptors
    return receptors.filter(pc.greater(receptors["n_samples"], 0))


if __name__ == "__main__":
    main()

"""Command-line options of the scripts that train."""

import argparse
import os
from pathlib import Path
from urllib.parse import unquote

from airrvec.core.devices import choose_device
from airrvec.core.script import add_options
from airrvec.training.presets import CHECKPOINT_EVERY


def checkpoint_folder() -> Path:
    """
    Return the folder that the pipeline names in the environment, else ``checkpoints``.

    The name is percent-encoded: Nextflow writes it into the shell scripts of tasks, unescaped.
    """
    return Path(unquote(os.environ.get("AIRRVEC_CHECKPOINTS", "checkpoints")))


def add_training_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the scripts that train."""
    parser.add_argument("--preset", type=Path, required=True, help="JSON file, as in conf/models")
    parser.add_argument("--steps", type=int, help="largest number of steps; None takes the preset's")
    parser.add_argument("--batch-size", type=int, help="receptors per step; None takes the preset's")
    parser.add_argument(
        "--checkpoints",
        type=Path,
        default=checkpoint_folder(),
        help="folder; training resumes from it. By default what AIRRVEC_CHECKPOINTS says, percent-encoded",
    )
    parser.add_argument(
        "--checkpoint-every", type=int, default=CHECKPOINT_EVERY, help="steps between two checkpoints"
    )
    parser.add_argument(
        "--device", choices=("auto", "cpu", "gpu"), default="auto", help="auto: a GPU if available"
    )
    parser.add_argument("--devices", type=int, default=1, help="devices per node")
    parser.add_argument("--nodes", type=int, default=1, help="nodes that share each batch")
    parser.add_argument(
        "--precision", choices=("fp32", "bf16"), default="fp32", help="bf16: mixed precision, weights in fp32"
    )
    add_options(parser, "seed", "cpus", "outdir")


def training_options(args: argparse.Namespace) -> dict:
    """
    Return these options as arguments of `airrvec.training.trainer.train`.

    Raises
    ------
    InputError
        If a GPU is requested, and there is none.
    """
    choose_device(args.device, "auto")
    names = ("checkpoint_every", "device", "devices", "nodes", "precision")
    return {name: getattr(args, name) for name in names}

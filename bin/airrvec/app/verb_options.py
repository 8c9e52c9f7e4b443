"""Options of the verbs: the same names and defaults for the command ``airrvec`` and for Python."""

import argparse
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from airrvec.app import columns, find_verbs
from airrvec.core import kept_results, schema, settings
from airrvec.core.errors import InputError, require_at_least_one
from airrvec.core.runtime import chosen_threads
from airrvec.core.script import at_least, named_path
from airrvec.core.settings import SETTINGS

DEFAULT_MODEL = SETTINGS["model"].default
_TRAINING = (
    *("train_steps", "train_batch_size", "train_devices", "train_precision", "train_callbacks"),
    *("train_logger", "device", "seed"),
)
_GROUPS = ("model", "device", "precision", "clone_by", "cluster_chance", "background")
_CONDITIONS = ("compare_by", "compare_within", "compare_permutations", "seed")
_COMMON = ("failed_samples", "species", "multichain")
# Verb → its settings, beside `_COMMON`.
SETTINGS_OF_VERBS: dict[str, tuple[str, ...]] = {
    "normalise": (),
    "embed": ("model", "device", "precision"),
    "annotate": (
        *("model", "annotation_fdr", "annotate_innate", "annotation_references", "exclude_references"),
        *("epitopes", "background", "background_receptors", "calibrations", "device", "precision", "seed"),
    ),
    "reference": (),
    "clones": ("clone_by",),
    "cluster": (*_GROUPS, "cluster_method", "hla_fields", *_CONDITIONS),
    "compare": (*_GROUPS, "compare_receptors", "compare_weights", *_CONDITIONS),
    "benchmark": (
        *("model", "encoders", "hub_cache", "benchmark_k", "benchmark_splits", "benchmark_min_positives"),
        *("benchmark_rules", "benchmark_chains", "benchmark_test_sets", "benchmark_with_excluded"),
        "benchmark_scores",
        *("exclude_references", "background", "device", "seed"),
    ),
    "finetune": (
        *("model", "finetune_preset", "finetune_loss", "finetune_split", "finetune_per_epitope"),
        *("finetune_min_receptors", "exclude_references", *_TRAINING),
    ),
    "pretrain": ("pretrain_loss", "synthetic_receptors", *_TRAINING),
    "nearest": ("model", "device", "precision"),
}
LABELLED_VERBS = ("benchmark", "finetune")  # whose table is a labelled one
LEARNING_VERBS = ("finetune", "pretrain")
WITH_FILE = ("embed", "nearest")  # write a file and others beside it
# Options that are no settings of the pipeline: verb → name → what argparse takes.
_REFERENCE = "labelled tables or folders of them (also of the verb reference), separated by commas"
OWN_OPTIONS: dict[str, dict[str, dict[str, Any]]] = {
    "annotate": {
        "reference": {"required": True, "help": _REFERENCE},
        "hla": {
            "default": "",
            "help": "HLA of the donor, e.g. 'A*02:01;B*07', where a samplesheet names none",
        },
    },
    "reference": {
        "compare": {
            "nargs": 2,
            "type": Path,
            "metavar": ("OLD", "NEW"),
            "help": "compare two references, or that of a run with another: which calls rest on changes",
        },
    },
    "nearest": {
        "references": {"required": True, "help": "tables of the references, separated by commas"},
        "k": {"type": at_least(1), "default": 10, "help": "references of each query"},
    },
    **{
        verb: {
            "name": {"help": "name of the new model; if not given, the name of the preset"},
            "checkpoints": {
                "type": named_path,
                "help": "folder of checkpoints; if not given, checkpoints in --outdir",
            },
            "checkpoint_every": {"type": at_least(1), "help": "steps between two checkpoints"},
        }
        for verb in LEARNING_VERBS
    },
}
OWN_OPTIONS["pretrain"] = {
    "preset": {"default": "base", "help": "how: a preset of conf/models by its name, or a JSON file"},
    **OWN_OPTIONS["pretrain"],
}


def add_options(verb: argparse.ArgumentParser, name: str) -> None:
    """Add the options of the verb of this name to its parser."""
    if name == "verify":
        verb.add_argument("results", type=Path, help="--outdir of a run of the pipeline")
        return
    if name == "columns":
        columns.add_options(verb)
        return
    if name == "index":
        find_verbs.add_index_options(verb)
        return
    if name == "find":
        find_verbs.add_find_options(verb, list(schema.SPECIES))
        return
    n_tables = "*" if name in ("pretrain", "reference") else "+"
    verb.add_argument("tables", type=Path, nargs=n_tables, help="tables, or one samplesheet (CSV)")
    verb.add_argument("--format", help="detected from the columns if not given")
    verb.add_argument("--column-map", type=Path, help="column map, JSON")
    verb.add_argument("--threads", type=at_least(1), default=os.cpu_count(), help="threads")
    if name in WITH_FILE:
        rows = "vectors" if name == "embed" else "table"
        verb.add_argument(
            "--out", type=named_path, required=True, help=f"file of the {rows}: .parquet, .tsv, .csv"
        )
    else:
        folder = Path(f"airrvec_{name}")
        verb.add_argument("--outdir", type=named_path, default=folder, help="folder of the results")
    verb.add_argument("--overwrite", action="store_true", help=find_verbs.OVERWRITE)
    for option, words in OWN_OPTIONS.get(name, {}).items():
        verb.add_argument(f"--{option.replace('_', '-')}", **words)
    for setting in dict.fromkeys((*_COMMON, *SETTINGS_OF_VERBS[name])):
        changes: dict[str, Any] = {"type": Path} if setting in ("background", "hub_cache") else {}
        if setting == "calibrations":
            changes = {"default": kept_results.user_folder()}
        settings.add(verb, setting, **changes)


def defaults(verb: str) -> dict[str, Any]:
    """Return the default of each option of a verb that is a setting or its own."""
    own = {name: words.get("default") for name, words in OWN_OPTIONS.get(verb, {}).items()}
    names = (*_COMMON, *SETTINGS_OF_VERBS[verb])
    return own | {name: False if SETTINGS[name].type is bool else SETTINGS[name].default for name in names}


def checked(verb: str, arguments: dict[str, Any]) -> argparse.Namespace:
    """
    Return the options of a verb from the arguments of a function in Python; absent ones have their default.

    Raises
    ------
    InputError
        If an argument has another type, is none of the choices or beyond a limit.
    """
    options: dict[str, Any] = {
        "verb": verb,
        "format": None,
        "column_map": None,
        "overwrite": False,
        "threads": None,
    }
    options |= defaults(verb) | arguments
    for name in {*options} & {*SETTINGS}:
        if name == "column_map" and isinstance(options[name], Mapping):
            continue
        options[name] = settings.checked(name, options[name])
    options["threads"] = chosen_threads(options["threads"])
    for name in ("k", "checkpoint_every"):
        if options.get(name) is not None:
            require_at_least_one(name, options[name])
    for name in ("format", "hla", "name"):
        if not isinstance(options.get(name), str | None):
            raise InputError(f"{name} is {options[name]!r}, and must be text")
    if "calibrations" in options:
        options["calibrations"] = options["calibrations"] or kept_results.user_folder()
    for name in ("background", "hub_cache", "checkpoints"):
        options[name] = Path(options[name]) if options.get(name) else None
    return argparse.Namespace(**options)


def donor_typing(text: str) -> str:
    """Return the HLA of ``--hla`` in one spelling."""
    from airrvec.input.mhc_names import checked_typing

    try:
        return checked_typing(text)
    except InputError as error:
        raise InputError(f"--hla: {error.described['problem']}", fix=error.described["fix"]) from error

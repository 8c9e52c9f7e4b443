"""Options of the verbs of the command `airrvec`."""

import argparse
import os
from pathlib import Path

from airrvec.annotation import kept_calibrations
from airrvec.app import columns, find_verbs
from airrvec.app.places import PRESETS
from airrvec.core import schema, settings
from airrvec.core.errors import InputError
from airrvec.core.script import at_least, named_path

DEFAULT_MODEL = settings.SETTINGS["model"].default
# Options of scripts that the verbs themselves give, or that name files for the pipeline.
NOT_PASSED_ON = (
    *("--cells", "--embeddings", "--encoder", "--missing", "--name", "--outdir", "--preset", "--process"),
    *("--receptors", "--versions"),
)


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
    verb.add_argument("tables", type=Path, nargs="+", help="tables, or one samplesheet (CSV)")
    verb.add_argument("--format", help="detected from the columns if not given")
    verb.add_argument("--column-map", type=Path, help="column map, JSON")
    settings.add(verb, "failed_samples", "species", "model")
    verb.add_argument("--threads", type=at_least(1), default=os.cpu_count(), help="threads")
    if name == "embed":
        verb.add_argument(
            "--out", type=named_path, required=True, help="file of the vectors: .parquet, .tsv, .csv"
        )
    else:
        folder = Path(f"airrvec_{name}")
        verb.add_argument("--outdir", type=named_path, default=folder, help="folder of the results")
    verb.add_argument("--overwrite", action="store_true", help=find_verbs.OVERWRITE)
    if name == "cluster":
        settings.add(verb, "hla_fields")
    if name in ("cluster", "compare"):
        settings.add(verb, "compare_by", "compare_within")
    if name == "annotate":
        text = "labelled table, several separated by commas, or a folder written by the verb reference"
        verb.add_argument("--reference", required=True, help=text)
        settings.add(verb, "annotation_fdr", "annotate_innate")
        verb.add_argument(
            "--hla",
            default="",
            help="HLA of the donor, e.g. 'A*02:01;B*07', where a samplesheet names none",
        )
        settings.add(verb, "calibrations", default=kept_calibrations.user_folder())
    if name == "benchmark":
        settings.add(verb, "encoders")
    if name == "finetune":
        settings.add(verb, "finetune_preset", choices=sorted(path.stem for path in PRESETS.glob("*.json")))
        verb.add_argument("--name", help="name of the new model; if not given, the name of the preset")
        verb.add_argument(
            "--checkpoints",
            type=named_path,
            help="folder of checkpoints; if not given, checkpoints in --outdir",
        )


def donor_typing(text: str) -> str:
    """Return the HLA of ``--hla`` in one spelling."""
    from airrvec.input.mhc_names import checked_typing

    try:
        return checked_typing(text)
    except InputError as error:
        raise InputError(f"--hla: {error.described['problem']}", fix=error.described["fix"]) from error

"""
Settings: name, type, default, choices, limits and help of each, said once.

`nextflow_schema.json` is written from this table (``make generated``). The scripts and the command take their
options from it by `add`, under the same names; ``-`` and ``_`` are alike there.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from airrvec.core.errors import InputError, require_choice


@dataclass(frozen=True)
class Setting:
    """
    A setting of the pipeline, of scripts and of verbs of the command.

    Attributes
    ----------
    help : str
    type : type
        str, int, float or bool; a bool is a switch that is off.
    default : object
        None if it is not set.
    choices : tuple of str
    least, most : number, optional
        Limits of a number, themselves allowed.
    """

    help: str
    type: type = str
    default: Any = None
    choices: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None

    def value(self, text: str) -> Any:
        """
        Return the value of a number that is written as text.

        Raises
        ------
        ValueError, argparse.ArgumentTypeError
            If it is no number of this type, or beyond a limit.
        """
        number = self.type(text)
        if self.least is not None and not number >= self.least:
            raise argparse.ArgumentTypeError(f"{number:g} is less than {self.least:g}")
        if self.most is not None and not number <= self.most:
            raise argparse.ArgumentTypeError(f"{number:g} is more than {self.most:g}")
        return number


SETTINGS = {
    "species": Setting(
        "Species of rows that name none, and of the benchmark",
        default="homosapiens",
        choices=("homosapiens", "musmusculus"),
    ),
    "multichain": Setting(
        "Cells with more than one α or β chain: keep the top of each by UMIs, then reads; split them into all"
        " pairs; or drop them",
        default="top",
        choices=("top", "split", "drop"),
    ),
    "clone_by": Setting(
        "Junctions that tell clones apart: nucleotides or amino acids; if not given, nucleotides where all"
        " chains have them",
        choices=("nt", "aa"),
    ),
    "max_rejected": Setting(
        "Per cent of a sample's rows that may be rejected; above it the run ends",
        type=float,
        default=100,
        least=0,
        most=100,
    ),
    "max_unpacked": Setting(
        "GB of memory that a packed Parquet or AnnData file, an element of AnnData, or the records of a JSON"
        " file may take",
        type=float,
        default=2,
        least=0.001,
    ),
    "failed_samples": Setting(
        "What becomes of the run where samples cannot be read: it stops, or goes on without them",
        default="stop",
        choices=("stop", "skip"),
    ),
    "model": Setting(
        "Model that embeds the receptors: a published variant of SCEPTR, or the folder of an own model",
        default="sceptr",
    ),
    "precision": Setting(
        "Numbers that embedding computes with; auto is fp32", default="auto", choices=("auto", "fp32", "bf16")
    ),
    "device": Setting(
        "What training and embedding compute on", default="auto", choices=("auto", "cpu", "gpu")
    ),
    "partitions": Setting(
        "Ranges of clonotype_id, each collected and merged by a task of its own",
        type=int,
        default=1,
        least=1,
        most=512,
    ),
    "shard_tokens": Setting(
        "Residues of CDR loops in one embedding task", type=int, default=10_000_000, least=1
    ),
    "synthetic_receptors": Setting(
        "Pre-train on this many synthetic receptors, made by OLGA", type=int, least=10
    ),
    "finetune_preset": Setting(
        "How: a preset of conf/models by its name, or a JSON file", default="neighbour"
    ),
    "pretrain_loss": Setting("Contrastive loss of pre-training: a Python file, instead of the preset's"),
    "finetune_loss": Setting("Contrastive loss of fine-tuning: a Python file, instead of the preset's"),
    "finetune_split": Setting(
        "Receptors held out for the measurement: other studies, a random fifth, or as the table's column"
        " split says",
        default="study",
        choices=("study", "random", "given"),
    ),
    "finetune_per_epitope": Setting(
        "Training receptors of an epitope, with the split study", type=int, default=200, least=1
    ),
    "finetune_min_receptors": Setting(
        "Receptors that an epitope needs, with the splits study and random", type=int, default=300, least=1
    ),
    "train_steps": Setting("Steps of training at most; the preset's if not given", type=int, least=1),
    "train_batch_size": Setting("Receptors in a step; the preset's if not given", type=int, least=1),
    "train_devices": Setting(
        "GPUs, or processes on a CPU, that share each step of training", type=int, default=1, least=1
    ),
    "train_precision": Setting(
        "Numbers that the layers compute with in training",
        default="fp32",
        choices=("fp32", "bf16"),
    ),
    "train_callbacks": Setting("Python file with callbacks of Lightning, for all training"),
    "train_logger": Setting(
        "Logger of Lightning that follows training, in the folder of checkpoints, beside log.tsv",
        choices=("tensorboard", "mlflow"),
    ),
    "encoders": Setting(
        "Encoders to measure, separated by commas: models, tcrdist, cdr3_levenshtein, sums such as "
        "sceptr+tcrdist, your own Python files",
        default="sceptr,tcrdist,cdr3_levenshtein",
    ),
    "hub_cache": Setting("Folder with the weights of the language models among --encoders"),
    "benchmark_k": Setting(
        "Numbers of reference receptors, separated by commas", default="1,2,5,10,20,50,100,200"
    ),
    "benchmark_splits": Setting(
        "Random splits for each k above 1; for k = 1 every receptor is the reference once",
        type=int,
        default=100,
        least=2,
    ),
    "benchmark_min_positives": Setting(
        "Receptors of an epitope that must remain for testing", type=int, default=100, least=1
    ),
    "benchmark_rules": Setting(
        "How references make a score, separated by commas: nearest_neighbour, average_distance, "
        "mean_of_nearest, soft_nearest_neighbour, contrast, linear_svc",
        default="nearest_neighbour,average_distance,mean_of_nearest,contrast",
    ),
    "benchmark_chains": Setting(
        "Chains that encoders are shown, separated by commas: paired, alpha, beta", default="paired"
    ),
    "benchmark_test_sets": Setting(
        "Receptors to test, separated by commas: all, below_90, below_80, other_clonotypes, other_studies",
        default="all",
    ),
    "benchmark_with_excluded": Setting(
        "Measure a second time, with the references that --exclude_references leaves out", type=bool
    ),
    "benchmark_scores": Setting(
        "Write the score of every tested receptor in every split: gigabytes with the default splits",
        type=bool,
    ),
    "exclude_references": Setting(
        "Leave out labelled receptors whose reference contains this text; none to keep all",
        default="10xgenomics",
    ),
    "seed": Setting("Seed of the random splits, and of training", type=int, default=420, least=0),
    "analysis_receptors": Setting(
        "Random labelled receptors that an analysis takes; all of their pairs, or 500,000",
        type=int,
        default=1000,
        least=20,
        most=20_000,
    ),
    "annotation_fdr": Setting(
        "Expected share of false ones among the calls; receptors beyond it have no call",
        type=float,
        default=0.1,
        least=0,
        most=1,
    ),
    "annotate_innate": Setting(
        "Annotate innate-like receptors (MAIT, iNKT) too, and keep them in the reference", type=bool
    ),
    "annotation_references": Setting(
        "References of an epitope that may be called; of fewer it is only shown as a neighbour",
        type=int,
        default=10,
        least=1,
    ),
    "epitopes": Setting(
        "Epitopes, separated by commas, that are scored for every receptor, called or not: a column of each"
    ),
    "background": Setting(
        "Background receptors: receptors of another run, a file or folder; if not given, made by OLGA"
    ),
    "background_receptors": Setting(
        "Background receptors to take; the more, the lower the error rates that can be told apart",
        type=int,
        default=30_000,
        least=1000,
        most=10_000_000,
    ),
    "calibrations": Setting(
        "Folder of finished calibrations that runs share; if not given, in the user's cache"
    ),
    "cluster_method": Setting(
        "Communities of the graph of neighbours, or its connected components",
        default="leiden",
        choices=("leiden", "components"),
    ),
    "cluster_chance": Setting(
        "Neighbours that a receptor has by chance, on average, within the radius",
        type=float,
        default=0.01,
        least=0.002,
        most=1,
    ),
    "hla_fields": Setting(
        "Fields of the donors' HLA alleles that are compared with clusters: A*02:01, or A*02",
        type=int,
        default=2,
        least=1,
        most=2,
    ),
    "compare_receptors": Setting(
        "Random receptors of a sample in distances and their tests, at most",
        type=int,
        default=1000,
        least=20,
        most=10_000,
    ),
    "compare_weights": Setting(
        "How clones count in the mean vector and mean kernel of a sample: each once, or by its cells",
        default="clones",
        choices=("clones", "cells"),
    ),
    "compare_permutations": Setting(
        "Permutations of a test, at most", type=int, default=999, least=19, most=100_000
    ),
    "compare_by": Setting("Metadata column of the samplesheet whose values are compared"),
    "compare_within": Setting(
        "Metadata column, such as a batch, within whose values those of --compare_by are compared, and"
        " clusters with the donors' HLA"
    ),
    "column_map": Setting(
        "Column map (JSON) for samples without a format or a column map in the samplesheet"
    ),
}


def add(parser: argparse.ArgumentParser, *names: str, **changes: Any) -> None:
    """
    Add options to a parser, by their names in `SETTINGS`.

    Parameters
    ----------
    parser : argparse.ArgumentParser
    *names : str
    **changes
        What differs from the table in this parser, as of `argparse.ArgumentParser.add_argument`.
    """
    for name in names:
        setting = SETTINGS[name]
        option: dict[str, Any] = {"help": setting.help.replace("%", "%%"), "default": setting.default}
        if setting.type is bool:
            option |= {"action": "store_true", "default": False}
        elif setting.choices:
            option["choices"] = setting.choices
        elif setting.type is not str:
            option |= {"type": setting.value, "metavar": setting.type.__name__.upper()}
        parser.add_argument(f"--{name.replace('_', '-')}", **option | changes)


_KINDS: dict[type, tuple[Any, str]] = {
    bool: (bool, "True or False"),
    int: (Integral, "a whole number"),
    float: (Real, "a number"),
    str: ((str, Path), "text"),
}


def checked(name: str, value: Any) -> Any:
    """
    Return the value of a setting that a function of Python takes; a list becomes words with commas.

    Raises
    ------
    InputError
        If it has another type, is none of the choices or beyond a limit.
    """
    setting = SETTINGS[name]
    if value is None and (setting.default is None or setting.type is bool):
        return setting.default
    if setting.type is str and isinstance(value, Sequence) and not isinstance(value, str):
        value = ",".join(map(str, value))
    kind, noun = _KINDS[setting.type]
    if not isinstance(value, kind) or (isinstance(value, bool) and setting.type is not bool):
        if isinstance(value, int) and "," in str(setting.default):  # one number of a list
            return str(value)
        raise InputError(f"{name} is {value!r}, and must be {noun}")
    if setting.choices:
        require_choice(name, value, setting.choices)
    if setting.least is not None or setting.most is not None:
        try:
            setting.value(str(value))
        except argparse.ArgumentTypeError as error:
            raise InputError(f"{name}: {error}") from error
    return value

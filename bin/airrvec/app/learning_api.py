"""Functions for notebooks: ``airrvec.benchmark``, ``finetune`` and ``pretrain``."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from airrvec.app import verb_files
from airrvec.app.api import ColumnMap, Device, Multichain, Species
from airrvec.app.memory import Tables
from airrvec.app.performing import done
from airrvec.app.results import Benchmark
from airrvec.app.verbs import benchmark as measuring
from airrvec.app.verbs import learn


def benchmark(
    data: Tables,
    *,
    encoders: str | Sequence[str] = "sceptr,tcrdist,cdr3_levenshtein",
    model: str | Path = "sceptr",
    benchmark_k: str | int | Sequence[int] = "1,2,5,10,20,50,100,200",
    benchmark_splits: int = 100,
    benchmark_min_positives: int = 100,
    benchmark_rules: str | Sequence[str] = "nearest_neighbour,average_distance,mean_of_nearest,contrast",
    benchmark_chains: str | Sequence[str] = "paired",
    benchmark_test_sets: str | Sequence[str] = "all",
    benchmark_with_excluded: bool = False,
    benchmark_scores: bool = False,
    exclude_references: str = "10xgenomics",
    hub_cache: str | Path | None = None,
    background: str | Path | None = None,
    device: Device = "auto",
    seed: int = 420,
    species: Species = "homosapiens",
    multichain: Multichain = "top",
    failed_samples: Literal["stop", "skip"] = "stop",
    format: str | None = None,
    column_map: ColumnMap | str | Path | None = None,
    threads: int | None = None,
    outdir: str | Path | None = None,
    overwrite: bool = False,
) -> Benchmark:
    """
    Benchmark encoders: few-shot prediction of epitopes on a labelled table.

    Parameters
    ----------
    data : path, table, AnnData or MuData
        One labelled table, column ``epitope``.
    encoders, benchmark_k, benchmark_rules, benchmark_chains, benchmark_test_sets : str or list
        Words with commas, or a list.
    model : str or Path
        Own model that is measured too.
    outdir : str or Path, optional
        Folder in which tables and figures are kept.
    overwrite : bool
        Replace files in ``outdir`` that airrvec did not write.
    format, column_map, threads
        As of `airrvec.annotate`. All others are settings of docs/reference/parameters.md.

    Returns
    -------
    Benchmark
        The tables of docs/output.md; ``scores`` with ``benchmark_scores``, else None. The AUROC is printed.

    Raises
    ------
    InputError
        If the table cannot be read, no epitope has enough receptors, or a setting is wrong.

    Examples
    --------
    >>> import airrvec
    >>> airrvec.benchmark("vdjdb.tsv", encoders="sceptr").auroc_summary  # doctest: +SKIP
    """
    arguments = {**locals()}
    with done(measuring.benchmark, arguments.pop("data"), **arguments) as made:
        *names, _ = Benchmark._fields
        parts = {name: made.table(name) for name in names}
        return Benchmark(**parts, scores=made.table_or_none("scores"))


def finetune(
    data: Tables,
    *,
    model: str | Path = "sceptr",
    finetune_preset: str | Path = "neighbour",
    finetune_loss: str | Path | None = None,
    finetune_split: Literal["study", "random", "given"] = "study",
    finetune_per_epitope: int = 200,
    finetune_min_receptors: int = 300,
    exclude_references: str = "10xgenomics",
    train_steps: int | None = None,
    train_batch_size: int | None = None,
    train_devices: int = 1,
    train_precision: Literal["fp32", "bf16"] = "fp32",
    train_callbacks: str | Path | None = None,
    train_logger: Literal["tensorboard", "mlflow"] | None = None,
    device: Device = "auto",
    seed: int = 420,
    name: str | None = None,
    checkpoints: str | Path | None = None,
    checkpoint_every: int | None = None,
    species: Species = "homosapiens",
    multichain: Multichain = "top",
    failed_samples: Literal["stop", "skip"] = "stop",
    format: str | None = None,
    column_map: ColumnMap | str | Path | None = None,
    threads: int | None = None,
    outdir: str | Path = "airrvec_finetune",
    overwrite: bool = False,
) -> Path:
    """
    Fine-tune a model on a labelled table, and measure it before and after; needs ``airrvec[learn]``.

    Parameters
    ----------
    data : path, table, AnnData or MuData
        One labelled table, column ``epitope``.
    name : str, optional
        Name of the new model; by default that of the preset.
    checkpoints : str or Path, optional
        Folder from which training continues; by default ``checkpoints`` in ``outdir``.
    checkpoint_every : int, optional
        Steps between two checkpoints.
    outdir : str or Path
        Folder of the model and its measurements.
    overwrite : bool
        Replace files in ``outdir`` that airrvec did not write.
    format, column_map, threads
        As of `airrvec.annotate`. All others are settings of docs/reference/parameters.md.

    Returns
    -------
    Path
        Folder of the model, which every ``model`` takes; its AUROC before and after is printed.

    Raises
    ------
    InputError
        If the table cannot be read, has too few receptors, or a setting is wrong.

    Examples
    --------
    >>> import airrvec
    >>> model = airrvec.finetune("vdjdb.tsv", outdir="tuned")  # doctest: +SKIP
    >>> vectors = airrvec.embed("mine.tsv", model=model)  # doctest: +SKIP
    """
    arguments = {**locals()}
    with done(learn.finetune, arguments.pop("data"), **arguments) as made:
        options = made.work.options
    return Path(options.outdir, verb_files.model_name(options))


def pretrain(
    data: Tables | None = None,
    *,
    preset: str | Path = "base",
    pretrain_loss: str | Path | None = None,
    synthetic_receptors: int | None = None,
    train_steps: int | None = None,
    train_batch_size: int | None = None,
    train_devices: int = 1,
    train_precision: Literal["fp32", "bf16"] = "fp32",
    train_callbacks: str | Path | None = None,
    train_logger: Literal["tensorboard", "mlflow"] | None = None,
    device: Device = "auto",
    seed: int = 420,
    name: str | None = None,
    checkpoints: str | Path | None = None,
    checkpoint_every: int | None = None,
    species: Species = "homosapiens",
    multichain: Multichain = "top",
    failed_samples: Literal["stop", "skip"] = "stop",
    format: str | None = None,
    column_map: ColumnMap | str | Path | None = None,
    threads: int | None = None,
    outdir: str | Path = "airrvec_pretrain",
    overwrite: bool = False,
) -> Path:
    """
    Pre-train a model from random weights on unlabelled receptors; needs ``airrvec[learn]``.

    Parameters
    ----------
    data : path, list of paths, table, AnnData, MuData, or dict of tables, optional
        Samples; none with ``synthetic_receptors``.
    preset : str or Path
        Preset of conf/models by its name, or a JSON file.
    synthetic_receptors : int, optional
        Train on as many receptors that OLGA makes.
    name, checkpoints, checkpoint_every, outdir, overwrite
        As of `finetune`.
    format, column_map, threads
        As of `airrvec.annotate`. All others are settings of docs/reference/parameters.md.

    Returns
    -------
    Path
        Folder of the model, which every ``model`` takes.

    Raises
    ------
    InputError
        If a table cannot be read, there are fewer than 10 receptors, or a setting is wrong.

    Examples
    --------
    >>> import airrvec
    >>> model = airrvec.pretrain("mine.tsv", preset="tiny", train_steps=1000)  # doctest: +SKIP
    """
    arguments = {**locals()}
    with done(learn.pretrain, arguments.pop("data"), **arguments) as made:
        options = made.work.options
    return Path(options.outdir, verb_files.model_name(options))

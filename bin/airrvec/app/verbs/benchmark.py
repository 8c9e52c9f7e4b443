"""The verb benchmark: its work."""

from pathlib import Path

from airrvec.app.verb_options import DEFAULT_MODEL
from airrvec.app.verbs import work as at_work
from airrvec.app.verbs.work import Work
from airrvec.benchmark import training_labels
from airrvec.core.errors import InputError
from airrvec.encoders import require_known

_SETTINGS = (
    *("hub_cache", "benchmark_k", "benchmark_splits", "benchmark_min_positives", "benchmark_rules"),
    *("benchmark_chains", "benchmark_test_sets", "benchmark_with_excluded", "exclude_references"),
    *("background", "device", "seed", "threads"),
)


def benchmark(work: Work) -> None:
    """Measure each encoder on the same splits of the labelled table, and summarise."""
    options = work.options
    encoders = options.encoders.split(",")
    for encoder in encoders:
        require_known(encoder)
    labelled = work.labelled_table()
    if options.model not in (*encoders, DEFAULT_MODEL):
        encoders.append(options.model)
    names = {encoder: Path(encoder).name.removesuffix(".py") for encoder in encoders}
    if len({*names.values()}) < len(encoders):
        raise InputError("two --encoders have the same name", fix="Rename the file or folder of one")
    lists = [Path(encoder, training_labels.FILE_NAME) for encoder in encoders]
    trained_on = [path for path in lists if path.is_file()]
    for encoder, name in names.items():
        at_work.run(
            "benchmark_fewshot",
            *(*labelled, "--encoder", encoder, "--name", name, *work.words(*_SETTINGS)),
            *(["--trained-on", *trained_on] if trained_on else []),
            *("--outdir", work.folder),
        )
    kinds = ("auroc.parquet", "roc.parquet", "not_evaluated.parquet", "qc.json")
    results = [work.folder / f"{name}.{kind}" for name in names.values() for kind in kinds]
    encoder_names = ("--encoders", ",".join(names.values()))
    at_work.run("summarise_fewshot", *results, *encoder_names, "--outdir", work.results)

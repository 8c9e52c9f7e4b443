"""The verb benchmark: its work."""

from pathlib import Path

from airrvec.app.verb_options import DEFAULT_MODEL
from airrvec.app.verbs import work as at_work
from airrvec.app.verbs.work import Work
from airrvec.core import schema, tables
from airrvec.core.errors import InputError
from airrvec.encoders import require_known
from airrvec.evaluation import training_labels


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
    settings = (*work.settings("model", "encoders"), *work.words("threads"))
    for encoder, name in names.items():
        at_work.run(
            "benchmark_fewshot",
            *(*labelled, "--encoder", encoder, "--name", name, *settings),
            *(["--trained-on", *trained_on] if trained_on else []),
            *("--outdir", work.folder),
        )
    kinds = ("auroc", "roc", "not_evaluated", "splits", "benchmark_receptors")
    results = [work.folder / f"{name}.{kind}.parquet" for name in names.values() for kind in kinds]
    results += [work.folder / f"{name}.qc.json" for name in names.values()]
    results += [path for path in sorted(work.folder.iterdir()) if ".scores." in path.name]
    encoder_names = ("--encoders", ",".join(names.values()))
    at_work.run("summarise_fewshot", *results, *encoder_names, "--outdir", work.results)
    work.said = auroc_lines(work.results / "auroc_summary.parquet")


def auroc_lines(path: Path) -> list[str]:
    """Return the AUROC of each encoder at its largest k in the first setting, for the terminal."""
    summary = tables.read(path).to_pandas()
    means = summary[summary["epitope"] == schema.MEAN]
    n_epitopes = summary["epitope"].nunique() - 1
    setting = [name for name in schema.SETTING if name != "encoder"]
    rows = means.sort_values("k", kind="stable").groupby("encoder", sort=False)
    lines = []
    for encoder, part in rows:
        first = part[(part[setting] == part[setting].iloc[0]).all(axis=1)]
        row = first.loc[first["k"].idxmax()]
        lines.append(
            f"{encoder}: AUROC {row['auroc_mean']:.3f} ({row['rule']}, k = {row['k']},"
            f" mean of {n_epitopes} epitopes)"
        )
    return lines

"""The command ``airrvec``: the scripts of the pipeline on a user's tables, without Nextflow."""

import argparse
import csv
import json
import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from airrvec import __version__, schema
from airrvec.errors import InputError, exit_on_input_error

# In a checkout the library lies beside the scripts; installed, they lie in it.
_LIBRARY = Path(__file__).parent
INSTALLED = (_LIBRARY / "scripts").is_dir()
SCRIPTS = _LIBRARY / "scripts" if INSTALLED else _LIBRARY.parent
PRESETS = _LIBRARY / "models" if INSTALLED else _LIBRARY.parents[1] / "conf/models"
ALL_TOKENS = 10**18  # one shard


def script(name: str):
    """The module of ``bin/<name>.py``."""
    spec = spec_from_file_location(name, SCRIPTS / f"{name}.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(name: str, *argv) -> None:
    """A script with its options; ``None`` and what is empty are left out."""
    print(f"airrvec: {name}", file=sys.stderr, flush=True)
    script(name).main([str(word) for word in argv])


@dataclass(frozen=True)
class Sample:
    """A table of the user's: its name, where it lies, its format and metadata."""

    name: str
    path: Path
    format: str | None
    metadata: dict[str, str]


def samples(paths: list[Path], format: str | None) -> list[Sample]:
    """
    The samples of some tables, or of one samplesheet, as the pipeline takes it.

    Raises
    ------
    InputError
        If two samples have one name.
    """
    found = _samplesheet(paths[0], format) if len(paths) == 1 else None
    found = found or [Sample(path.name.split(".")[0], path, format, {}) for path in paths]
    names = [sample.name for sample in found]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"two tables are called '{name}'", fix="Rename a file, or give a samplesheet")
    return found


def _samplesheet(path: Path, format: str | None) -> list[Sample] | None:
    """The samples of a CSV with the columns sample and path; None if the file is something else."""
    if path.suffix != ".csv" or not path.is_file():
        return None
    with path.open(newline="", encoding="utf-8-sig") as handle:
        rows = csv.DictReader(handle)
        if not {"sample", "path"} <= set(rows.fieldnames or []):
            return None
        return [
            Sample(
                row["sample"],
                path.parent / row["path"],
                row.get("format") or format,
                {name: row[name] for name in row if name not in ("sample", "path", "format", "columns")},
            )
            for row in rows
        ]


class Work:
    """A folder in which tables become what the scripts read."""

    def __init__(self, args: argparse.Namespace, folder: Path):
        self.args, self.folder = args, folder

    def normalised(self, sample: Sample, outdir: Path) -> tuple[Path, Path]:
        """Cells and receptors of a sample."""
        metadata = self.folder / f"{sample.name}.metadata.json"
        metadata.write_text(json.dumps(sample.metadata))
        options = ["--format", sample.format] if sample.format else []
        options += ["--columns", self.args.columns] if self.args.columns else []
        run(
            "normalise_receptors",
            *(sample.path, "--sample", sample.name, "--metadata", metadata, "--outdir", outdir),
            *("--species", self.args.species, *options),
        )
        return outdir / f"{sample.name}.cells.parquet", outdir / f"{sample.name}.receptors_0000.parquet"

    def embedded(self, paths: list[Path], out: Path) -> Path:
        """The distinct receptors of all samples, whose vectors are written to ``out``."""
        run("collect_receptors", *paths, "--shard-tokens", ALL_TOKENS, "--outdir", self.folder)
        receptors = self.folder / "receptors.parquet"
        run("embed_receptors", receptors, "--model", self.args.model, "--cpus", self.args.cpus, "--out", out)
        return receptors

    def labelled(self, path: Path) -> tuple:
        """Options that name the cells and receptors of a labelled table."""
        sample = Sample("labelled", path, self.args.format, {})
        cells, receptors = self.normalised(sample, self.folder)
        return ("--cells", cells, "--receptors", receptors, "--species", self.args.species)


def _normalise(work: Work, more: list[str]) -> None:
    for sample in samples(work.args.tables, work.args.format):
        work.normalised(sample, work.args.outdir)


def _embed(work: Work, more: list[str]) -> None:
    from airrvec import tables

    out = work.args.out
    found = samples(work.args.tables, work.args.format)
    results = [work.normalised(sample, out.parent) for sample in found]
    receptors = work.embedded([receptors for _, receptors in results], out)
    tables.write(tables.read(receptors), out.with_suffix(".receptors.parquet"))
    for _, of_sample in results:
        of_sample.unlink()


def _annotate(work: Work, more: list[str]) -> None:
    args = work.args
    found = [(sample, *work.normalised(sample, args.outdir)) for sample in samples(args.tables, args.format)]
    args.format, args.columns = None, None  # those of the samples
    common = ("--model", args.model, "--cpus", args.cpus)
    run("calibrate_annotation", *work.labelled(args.reference), *common, "--outdir", work.folder, *more)
    for sample, cells, receptors in found:
        run(
            "annotate_receptors",
            *("--cells", cells, "--receptors", receptors, "--sample", sample.name, "--species", args.species),
            *("--reference", work.folder / "reference", *common, "--outdir", args.outdir),
        )


def _together(name: str) -> Callable[[Work, list[str]], None]:
    """A verb whose script looks at all samples together."""

    def verb(work: Work, more: list[str]) -> None:
        args = work.args
        found = [work.normalised(sample, work.folder) for sample in samples(args.tables, args.format)]
        vectors = work.folder / "vectors.parquet"
        receptors = work.embedded([receptors for _, receptors in found], vectors)
        run(
            name,
            *("--cells", *(cells for cells, _ in found), "--receptors", receptors, "--embeddings", vectors),
            *("--model", args.model, "--species", args.species, "--cpus", args.cpus),
            *("--outdir", args.outdir, *more),
        )

    return verb


def _benchmark(work: Work, more: list[str]) -> None:
    args = work.args
    labelled = work.labelled(_one(args.tables))
    names = {encoder: Path(encoder).name.removesuffix(".py") for encoder in args.encoders.split(",")}
    for encoder, name in names.items():
        run(
            "benchmark_fewshot",
            *(*labelled, "--encoder", encoder, "--name", name, "--cpus", args.cpus),
            *("--outdir", work.folder, *more),
        )
    kinds = ("auroc.parquet", "roc.parquet", "not_evaluated.parquet", "qc.json")
    results = [work.folder / f"{name}.{kind}" for name in names.values() for kind in kinds]
    run("summarise_fewshot", *results, "--encoders", ",".join(names.values()), "--outdir", args.outdir)


def _finetune(work: Work, more: list[str]) -> None:
    args = work.args
    labelled = work.labelled(_one(args.tables))
    run(
        "finetune",
        *(*labelled, "--preset", PRESETS / f"{args.preset}.json", "--model", args.model),
        *("--cpus", args.cpus, "--checkpoints", args.outdir / "checkpoints", "--outdir", args.outdir, *more),
    )


def _one(paths: list[Path]) -> Path:
    if len(paths) > 1:
        raise InputError(f"{len(paths)} tables are given, and this takes one", fix="Join the tables")
    return paths[0]


# verb → what it does, what it says of itself, and the script whose further options it passes on.
VERBS = {
    "normalise": (_normalise, "cells, receptors, and rejects with reasons", None),
    "embed": (_embed, "vectors of the distinct receptors", None),
    "annotate": (_annotate, "what the receptors may bind, by a labelled table", "calibrate_annotation"),
    "cluster": (_together("cluster_receptors"), "clusters, members and motifs", "cluster_receptors"),
    "compare": (_together("compare_samples"), "samples beside each other", "compare_samples"),
    "benchmark": (_benchmark, "few-shot AUROC on a labelled table", "benchmark_fewshot"),
    "finetune": (_finetune, "a model tuned on a labelled table", "finetune"),
}


def parser() -> argparse.ArgumentParser:
    """The verbs and their options."""
    formatter = argparse.ArgumentDefaultsHelpFormatter
    parser = argparse.ArgumentParser(prog="airrvec", description=__doc__)
    parser.add_argument("--version", action="version", version=f"airrvec {__version__}")
    verbs = parser.add_subparsers(dest="verb", required=True)
    for name, (_, title, passes_on) in VERBS.items():
        further = f"Further options are those of bin/{passes_on}.py." if passes_on else None
        verb = verbs.add_parser(
            name, help=title, description=title, epilog=further, formatter_class=formatter, allow_abbrev=False
        )
        verb.add_argument("tables", type=Path, nargs="+", help="tables, or a samplesheet (CSV)")
        verb.add_argument("--format", help="else found from the columns")
        verb.add_argument("--columns", type=Path, help="column map, JSON")
        verb.add_argument("--species", choices=list(schema.SPECIES), default="homosapiens")
        verb.add_argument("--model", default="sceptr", help="a published variant, or the folder of a model")
        verb.add_argument("--cpus", type=int, default=os.cpu_count(), help="threads")
        if name == "embed":
            verb.add_argument("--out", type=Path, required=True, help="Parquet file of the vectors")
        else:
            verb.add_argument("--outdir", type=Path, default=Path("."), help="folder of the results")
        if name == "annotate":
            verb.add_argument("--reference", type=Path, required=True, help="labelled table")
        if name == "benchmark":
            verb.add_argument(
                "--encoders", default="sceptr,tcrdist,cdr3_levenshtein", help="names, folders, Python files"
            )
        if name == "finetune":
            verb.add_argument(
                "--preset", choices=sorted(path.stem for path in PRESETS.glob("*.json")), default="neighbour"
            )
    return parser


@exit_on_input_error
def main(argv=None) -> None:
    """Run a verb; what it does not know goes to its script."""
    of_verbs = parser()
    args, more = of_verbs.parse_known_args(argv)
    verb, _, passes_on = VERBS[args.verb]
    if more and passes_on is None:
        of_verbs.error(f"unrecognized arguments: {' '.join(more)}")
    with tempfile.TemporaryDirectory(prefix="airrvec-") as folder:
        verb(Work(args, Path(folder)), more)


if __name__ == "__main__":
    main()

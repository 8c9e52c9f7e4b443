"""Run the scripts of the pipeline on your tables, without Nextflow."""

import argparse
import json
import tempfile
from collections.abc import Callable, Iterable, Sequence
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from airrvec.app import columns, find_verbs, verb_files
from airrvec.app.outputs import sentences_of_the_disk
from airrvec.app.places import PRESETS, SCRIPTS
from airrvec.app.verb_files import raise_or_print, samples
from airrvec.app.verb_options import DEFAULT_MODEL, NOT_PASSED_ON, add_options, donor_typing
from airrvec.benchmark import training_labels
from airrvec.core import settings
from airrvec.core.errors import InputError, exit_on_input_error, require_extra
from airrvec.core.schema.gamma_delta import FOLDER, NOT_LEARNT
from airrvec.core.script import Parser
from airrvec.core.script import add_options as add_script_options
from airrvec.core.terminal import print_warning
from airrvec.core.version import __version__
from airrvec.encoders import require_known
from airrvec.training import presets

ALL_TOKENS = 10**18  # more than any run has: a single shard


def script(name: str):
    """Return the module of ``bin/<name>.py``."""
    spec = spec_from_file_location(name, SCRIPTS / f"{name}.py")
    assert spec is not None  # of a .py file
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(name: str, *argv) -> None:
    """Run a script with these arguments, converted to text."""
    print_warning(f"airrvec: {name}")
    script(name).main([str(word) for word in argv])


class Work:
    """Samples of a verb, a working folder in which tables become input of the scripts, one for results."""

    def __init__(self, args: argparse.Namespace, samples: list, folder: Path, results: Path):
        self.args, self.samples, self.folder, self.results = args, samples, folder, results

    def normalised(self, outdir: Path) -> list[tuple]:
        """
        Normalise the samples; return each `airrvec.input.samplesheet.checks.Table`, its cells and receptors.

        Raises
        ------
        InputError
            With the reasons of all unreadable tables; with ``--failed-samples skip``, only if no table can be
            read.
        """
        made = [(sample, self._write(sample, outdir)) for sample in self.samples]
        reasons = [reason for _, reason in made if reason]
        raise_or_print(self.args, reasons, stops=len(reasons) == len(made), title="tables could not be read")
        return [
            (
                sample,
                outdir / f"{sample.name}.cells.parquet",
                outdir / f"{sample.name}.receptors_0000.parquet",
            )
            for sample, reason in made
            if reason is None
        ]

    def _write(self, sample, outdir: Path) -> str | None:
        """Write the tables of a sample, or return the reason why they cannot be written."""
        metadata = json.dumps(sample.metadata, allow_nan=False)
        missing = self.folder / f"{sample.name}.missing.json"
        options = ["--format", sample.format] if sample.format else []
        options += ["--column-map", sample.column_map] if sample.column_map else []
        run(
            "normalise_receptors",
            *(sample.path, "--sample", sample.name, "--metadata", metadata, "--outdir", outdir),
            *("--species", sample.species, *options, *sample.unit.options, "--missing", missing),
        )
        if missing.exists():
            return json.loads(missing.read_text())[0]["reason"]
        cells = f"{sample.name}.cells.parquet"
        apart = (outdir / FOLDER / cells).exists() and not (outdir / cells).exists()
        if apart and self.args.verb != "normalise":
            return f"{sample.name}: all of its cells are γδ cells, and {NOT_LEARNT}"
        return None

    def embedded(self, paths: Sequence[Path], out: Path) -> Path:
        """Write the vectors of all distinct receptors to ``out``; return the path of these receptors."""
        run("collect_receptors", *paths, "--shard-tokens", ALL_TOKENS, "--outdir", self.folder)
        receptors = self.folder / "receptors.parquet"
        options = ("--model", self.args.model, "--threads", self.args.threads)
        run("embed_receptors", receptors, *options, "--out", out)
        return receptors

    def labelled(
        self, path: Path, format: str | None = None, columns: Path | None = None, species: Iterable[str] = ()
    ) -> tuple:
        """
        Normalise a labelled table; return the script options that name its cells, receptors and species.

        The species default to ``--species``.
        """
        options = ("--format", format) if format else ("--column-map", columns) if columns else ()
        common = ("--sample", "labelled", "--species", self.args.species, "--outdir", self.folder)
        run("normalise_receptors", path, *common, *options)
        cells, receptors = (self.folder / f"labelled.{name}.parquet" for name in ("cells", "receptors_0000"))
        return ("--cells", cells, "--receptors", receptors, "--species", *(species or [self.args.species]))

    def references(self, option: str, species: Iterable[str]) -> tuple:
        """Normalise the tables of ``--reference`` and merge several; return options as of `labelled`."""
        paths = verb_files.listed_paths(option)
        if len(paths) == 1:
            return self.labelled(paths[0], species=species)
        cells, receptors = verb_files.normalise_and_merge(run, paths, self.args.species, self.folder)
        return ("--cells", cells, "--receptors", receptors, "--species", *species)


def _normalise(work: Work, more: list[str]) -> None:
    work.normalised(work.results)


def _embed(work: Work, more: list[str]) -> None:
    from airrvec.core import table_parts

    out = work.args.out
    folder = work.results / verb_files.tables_folder(out)
    parts = [receptors for _, _, receptors in work.normalised(folder)]
    vectors = work.folder / "vectors.parquet"
    receptors = work.embedded(parts, vectors)
    for path in parts:
        path.unlink()
    table_parts.move(receptors, work.results / verb_files.receptors_name(out))
    # Text has no metadata, and vectors of which nobody knows the model are useless.
    table_parts.move(vectors, work.results / out.name, columns=("model", "weights_sha256"))


def _annotate(work: Work, more: list[str]) -> None:
    args = work.args
    donor = donor_typing(args.hla)
    normalised = work.normalised(work.results)
    common = ("--model", args.model, "--threads", args.threads, "--annotation-fdr", args.annotation_fdr)
    common += ("--annotate-innate",) if args.annotate_innate else ()
    species = dict.fromkeys(sample.species for sample, _, _ in normalised)
    options = (*work.references(args.reference, species), *common, "--outdir", work.folder)
    kept = ("--calibrations", args.calibrations) if args.calibrations else ()
    run("calibrate_annotation", *options, *kept, *more)
    samples, cells, receptors = zip(*normalised, strict=True)
    typings = [sample.hla or donor for sample in samples]
    run(
        "annotate_receptors",
        *("--sample", *(sample.name for sample in samples), "--cells", *cells, "--receptors", *receptors),
        *("--hla", *typings) if any(typings) else (),
        *("--reference", work.folder / "reference", *common, "--outdir", work.results),
    )


def _reference(work: Work, more: list[str]) -> None:
    names = [sample.name for sample, _, _ in work.normalised(work.folder)]
    verb_files.merge(run, names, work.folder)
    verb_files.publish(work.folder, names, work.results)


def _together(name: str) -> Callable[[Work, list[str]], None]:
    """Return a verb whose script analyses all samples together."""

    def verb(work: Work, more: list[str]) -> None:
        args = work.args
        samples, cells, receptors = zip(*work.normalised(work.folder), strict=True)
        vectors, clones = work.folder / "vectors.parquet", work.folder / "clones"
        merged = work.embedded(receptors, vectors)
        chains = [work.folder / f"{sample.name}.chains.parquet" for sample in samples]
        options = ("--receptors", merged, "--threads", args.threads, "--outdir", clones)
        run("count_clones", "--cells", *cells, "--chains", *chains, *options)
        run(
            name,
            *(["--cells", *cells] if name == "cluster_receptors" else []),
            *("--clones", clones, "--receptors", merged, "--embeddings", vectors),
            *("--model", args.model, "--threads", args.threads),
            *(["--compare-by", args.compare_by] if args.compare_by and name == "compare_samples" else []),
            *("--outdir", work.results, *more),
        )
        if verb_files.names_hla(args):
            within = ["--compare-within", args.compare_within] if args.compare_within else []
            run(
                "associate_hla",
                *("--clones", clones, "--clusters", work.results, "--samplesheet", _one(args.tables)),
                *("--hla-fields", args.hla_fields, *within, "--outdir", work.results),
            )
        described = work.results if name == "compare_samples" else work.folder / "samples"
        if args.compare_by or name == "compare_samples":
            run("describe_samples", *("--clones", clones, "--threads", args.threads, "--outdir", described))
        if args.compare_by:
            _conditions(work, clones, described, more)

    return verb


def _conditions(work: Work, clones: Path, described: Path, more: list[str]) -> None:
    """Compare the samples by the column that the options name, from all tables that the verb has made."""
    args, table = work.args, work.folder / "clones_described"
    members = work.results / "members.parquet"
    options = ("--members", members) if members.exists() else ()
    run("describe_clones", "--clones", clones, *options, "--outdir", table)
    shared = argparse.ArgumentParser(add_help=False)
    settings.add(shared, "compare_permutations")
    add_script_options(shared, "seed")
    chosen, _ = shared.parse_known_args(more)
    run(
        "compare_conditions",
        *("--clones", clones, "--described", described, "--table", table / "clones.parquet"),
        *("--comparison", work.results, "--samplesheet", _one(args.tables), "--compare-by", args.compare_by),
        *(["--compare-within", args.compare_within] if args.compare_within else []),
        *("--compare-permutations", chosen.compare_permutations, "--seed", chosen.seed),
        *("--threads", args.threads, "--outdir", work.results),
    )


def _benchmark(work: Work, more: list[str]) -> None:
    args = work.args
    encoders = args.encoders.split(",")
    for encoder in encoders:
        require_known(encoder)
    labelled = work.labelled(_one(args.tables), args.format, args.column_map)
    if args.model not in (*encoders, DEFAULT_MODEL):
        encoders.append(args.model)
    names = {encoder: Path(encoder).name.removesuffix(".py") for encoder in encoders}
    if len({*names.values()}) < len(encoders):
        raise InputError("two --encoders have the same name", fix="Rename the file or folder of one")
    lists = [Path(encoder, training_labels.FILE_NAME) for encoder in encoders]
    trained_on = [path for path in lists if path.is_file()]
    for encoder, name in names.items():
        run(
            "benchmark_fewshot",
            *(*labelled, "--encoder", encoder, "--name", name, "--threads", args.threads),
            *(["--trained-on", *trained_on] if trained_on else []),
            *("--outdir", work.folder, *more),
        )
    kinds = ("auroc.parquet", "roc.parquet", "not_evaluated.parquet", "qc.json")
    results = [work.folder / f"{name}.{kind}" for name in names.values() for kind in kinds]
    run("summarise_fewshot", *results, "--encoders", ",".join(names.values()), "--outdir", work.results)


def _finetune(work: Work, more: list[str]) -> None:
    require_extra("learn", "fine-tuning")
    args = work.args
    preset = PRESETS / f"{args.finetune_preset}.json"
    presets.load(preset).check_finetuning()
    labelled = work.labelled(_one(args.tables), args.format, args.column_map)
    verb_files.checkpoints(args, more).claim()
    checkpoints = args.checkpoints or args.outdir / "checkpoints"
    run(
        "finetune",
        *(*labelled, "--preset", preset, "--model", args.model),
        *("--name", verb_files.model_name(args), "--threads", args.threads, "--checkpoints", checkpoints),
        *("--outdir", work.results, *more),
    )


def _verify(args: argparse.Namespace) -> None:
    from airrvec.app.verify import verify

    verify(args.results)


def _one(paths: list[Path]) -> Path:
    if len(paths) > 1:
        raise InputError(f"{len(paths)} tables are given, but this verb takes one", fix="Join the tables")
    return paths[0]


# Verbs without scripts.
WITHOUT_SCRIPT = ("columns", "find", "index", "verify")
# verb → its function, its help text, and the script that receives further options.
VERBS: dict[str, tuple[Callable, str, str | None]] = {
    "normalise": (_normalise, "standardise tables: cells, receptors, and rejects with reasons", None),
    "embed": (_embed, "embed the distinct receptors", None),
    "annotate": (_annotate, "annotate receptors with epitopes of a labelled table", "calibrate_annotation"),
    "reference": (_reference, "merge labelled tables into one reference for annotate", None),
    "cluster": (_together("cluster_receptors"), "clusters, their members and motifs", "cluster_receptors"),
    "compare": (_together("compare_samples"), "compare samples", "compare_samples"),
    "benchmark": (_benchmark, "benchmark encoders: few-shot AUROC on a labelled table", "benchmark_fewshot"),
    "finetune": (_finetune, "fine-tune a model on a labelled table", "finetune"),
    "index": (find_verbs.index, "add finished runs of the pipeline to an index, in which find looks", None),
    "find": (find_verbs.find, "find the nearest receptors of all indexed runs", None),
    "verify": (_verify, "compare the results of a run with its manifest, and its tables", None),
    "columns": (columns.columns, "what the tables are, and what the columns of one mean", None),
}


def parser() -> argparse.ArgumentParser:
    """Return the parser of all verbs and their options."""
    formatter = argparse.ArgumentDefaultsHelpFormatter
    parser = Parser(prog="airrvec", description=__doc__)
    parser.add_argument("--version", action="version", version=f"airrvec {__version__}")
    verbs = parser.add_subparsers(dest="verb", required=True)
    for name, (_, title, passes_on) in VERBS.items():
        further = f"Further options are those of bin/{passes_on}.py." if passes_on else None
        verb = verbs.add_parser(
            name, help=title, description=title, epilog=further, formatter_class=formatter, allow_abbrev=False
        )
        add_options(verb, name)
    return parser


@exit_on_input_error
def main(argv=None) -> None:
    """Run a verb; options that it does not define are passed to its script."""
    command = parser()
    args, more = command.parse_known_args(argv)
    verb, _, passes_on = VERBS[args.verb]
    refused = more if passes_on is None else [word for word in more if word.split("=")[0] in NOT_PASSED_ON]
    if refused:
        command.error(f"unrecognized arguments: {' '.join(refused)}")
    with sentences_of_the_disk():
        if args.verb in WITHOUT_SCRIPT:
            verb(args)
        else:
            _with_outputs(args, more, verb)


def _with_outputs(args: argparse.Namespace, more: list[str], verb: Callable) -> None:
    """Check what a verb writes, run its scripts, and move what they wrote to where it was told."""
    tables = [] if args.verb in ("benchmark", "finetune") else samples(args)
    outputs = verb_files.outputs(args, more, [table.name for table in tables])
    if args.verb == "finetune":
        verb_files.checkpoints(args, more).check()
    with outputs.written() as results, tempfile.TemporaryDirectory(prefix="airrvec-") as folder:
        verb(Work(args, tables, Path(folder), results), more)
    print_warning(f"airrvec: results in {outputs.folder}")


if __name__ == "__main__":
    main()

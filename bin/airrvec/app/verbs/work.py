"""What a verb works on: its options, samples and folders, and the scripts that it runs."""

import argparse
import json
from collections.abc import Iterable, Sequence
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from airrvec.app import verb_files
from airrvec.app.places import SCRIPTS
from airrvec.app.verb_options import SETTINGS_OF_VERBS
from airrvec.core.errors import InputError
from airrvec.core.progress import reported
from airrvec.core.schema.gamma_delta import FOLDER, NOT_LEARNT
from airrvec.core.terminal import print_warning

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
    """
    Run a script in this process with these arguments, converted to text.

    Raises
    ------
    InputError
        As the script.
    """
    print_warning(f"airrvec: {name}")
    main = script(name).main
    with reported(name):
        getattr(main, "__wrapped__", main)([str(word) for word in argv])


class Work:
    """
    A verb at work.

    Parameters
    ----------
    options : argparse.Namespace
        Of `airrvec.app.verb_options`, from the words of a command or the arguments of a function.
    samples : list of airrvec.input.samplesheet.checks.Table
    folder : Path
        Working folder, in which tables become input of the scripts.
    results : Path
        Folder of the results.

    Attributes
    ----------
    place : Path
        Folder to which the results are moved.
    said : list of str
        Lines for the terminal, about the results.
    """

    def __init__(self, options: argparse.Namespace, samples: list, folder: Path, results: Path):
        self.options, self.samples, self.folder, self.results = options, samples, folder, results
        self.place = results
        self.said: list[str] = []

    def words(self, *names: str) -> list:
        """Return options as words for a script, by their names; without those that are not set."""
        words = []
        for name in names:
            value = getattr(self.options, name)
            if value is not None and value is not False:
                words += [f"--{name.replace('_', '-')}", *([] if value is True else [value])]
        return words

    def settings(self, *but: str) -> list:
        """Return the settings of the verb as words for a script, but those that it takes in another way."""
        return self.words(*(name for name in SETTINGS_OF_VERBS[self.options.verb] if name not in but))

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
        stops = len(reasons) == len(made)
        verb_files.raise_or_print(self.options, reasons, stops=stops, title="tables could not be read")
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
        layout = ["--format", sample.format] if sample.format else []
        layout += ["--column-map", sample.column_map] if sample.column_map else []
        run(
            "normalise_receptors",
            *(sample.path, "--sample", sample.name, "--metadata", metadata, "--outdir", outdir),
            *("--species", sample.species, *layout, *sample.unit.options, "--missing", missing),
            *self.words("multichain"),
        )
        if missing.exists():
            return json.loads(missing.read_text())[0]["reason"]
        cells = f"{sample.name}.cells.parquet"
        apart = (outdir / FOLDER / cells).exists() and not (outdir / cells).exists()
        if apart and self.options.verb != "normalise":
            return f"{sample.name}: all of its cells are γδ cells, and {NOT_LEARNT}"
        return None

    def collected(self, paths: Sequence[Path]) -> Path:
        """Write all distinct receptors; return their path."""
        run("collect_receptors", *paths, "--shard-tokens", ALL_TOKENS, "--outdir", self.folder)
        return self.folder / "receptors.parquet"

    def embedded(self, paths: Sequence[Path], out: Path) -> Path:
        """Write the vectors of all distinct receptors to ``out``; return the path of these receptors."""
        receptors = self.collected(paths)
        options = self.words("model", "device", "precision", "threads")
        run("embed_receptors", receptors, *options, "--out", out)
        return receptors

    def labelled(
        self,
        path: Path,
        format: str | None = None,
        column_map: Path | None = None,
        species: Iterable[str] = (),
    ) -> tuple:
        """
        Normalise a labelled table; return the script options that name its cells, receptors and species.

        The species default to the option ``species``.
        """
        options = self.options
        layout = ("--format", format) if format else ("--column-map", column_map) if column_map else ()
        common = ("--sample", "labelled", "--species", options.species, "--outdir", self.folder)
        run("normalise_receptors", path, *common, *layout, *self.words("multichain"))
        cells, receptors = (self.folder / f"labelled.{name}.parquet" for name in ("cells", "receptors_0000"))
        return ("--cells", cells, "--receptors", receptors, "--species", *(species or [options.species]))

    def labelled_table(self) -> tuple:
        """Normalise the one table of a verb that takes a labelled one; return options as of `labelled`."""
        options = self.options
        return self.labelled(one_table(options.tables), options.format, options.column_map)


def one_table(paths: list[Path]) -> Path:
    """
    Return the only path.

    Raises
    ------
    InputError
        If there are several.
    """
    if len(paths) > 1:
        raise InputError(f"{len(paths)} tables are given, but this verb takes one", fix="Join the tables")
    return paths[0]

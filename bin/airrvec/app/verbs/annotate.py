"""The verb annotate: its work."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from airrvec.app import verb_files
from airrvec.app.verb_options import donor_typing
from airrvec.app.verbs import tables
from airrvec.app.verbs import work as at_work
from airrvec.app.verbs.work import Work
from airrvec.core.devices import choose_device
from airrvec.input.samplesheet.names import unique_names


def annotate(work: Work) -> None:
    """Calibrate the references, and call the epitopes of each sample."""
    donor = donor_typing(work.options.hla)
    normalised = work.normalised(work.results)
    common = work.words("model", "threads", "annotation_fdr", "annotate_innate")
    species = dict.fromkeys(sample.species for sample, _, _ in normalised)
    at_work.run(
        "calibrate_annotation",
        *(*_references(work, species), *common, "--outdir", work.folder),
        *work.words("calibrations", "background", "background_receptors", "annotation_references"),
        *work.words("exclude_references", "seed"),
    )
    samples, cells, receptors = zip(*normalised, strict=True)
    typings = [sample.hla or donor for sample in samples]
    at_work.run(
        "annotate_receptors",
        *("--sample", *(sample.name for sample in samples), "--cells", *cells, "--receptors", *receptors),
        *("--hla", *typings) if any(typings) else (),
        *("--reference", work.folder / "reference", *common, *work.words("epitopes")),
        *("--outdir", work.results),
        *_embeddings(work, receptors),
    )


def _embeddings(work: Work, receptors: Sequence[Path]) -> tuple:
    """Embed the receptors, unless with the device and precision of the script that annotates."""
    if choose_device(work.options.device, work.options.precision) == ("cpu", "fp32"):
        return ()
    vectors = work.folder / "vectors.parquet"
    work.embedded(receptors, vectors)
    return ("--embeddings", vectors)


def _references(work: Work, species: Iterable[str]) -> tuple:
    """Normalise the references and merge several; return options as of `Work.labelled`."""
    paths = verb_files.listed_paths(work.options.reference)
    if len(paths) == 1:
        return work.labelled(paths[0], species=species)
    names = unique_names(list(paths))
    for path, name in zip(paths, names, strict=True):
        labelled = ("--part", "reference", "--species", work.options.species, "--outdir", work.folder)
        at_work.run("normalise_receptors", path, "--sample", name, *labelled)
    cells, receptors = tables.merge(work, names)
    return ("--cells", cells, "--receptors", receptors, "--species", *species)

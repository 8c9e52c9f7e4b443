#!/usr/bin/env python3
"""Build the reference set of annotation: vectors of labelled receptors, and cross-validated calibration."""

import logging
from functools import partial
from pathlib import Path

from airrvec.core import kept_results, runtime, schema, script, settings, tables
from airrvec.core.chains import CHAIN_CLASSES, on_chains, with_chains
from airrvec.core.errors import InputError
from airrvec.core.missing import optional_part
from airrvec.core.terminal import counted, print_warning
from airrvec.core.vectors import VectorModel
from airrvec.evaluation.options import add_labelled_options, united_options

import numpy as np
import pyarrow as pa

CONTRAST = 1 / 6  # share of the background used in the score; the rest is used for calibration
MIN_BACKGROUND = 500  # background receptors per class of chains
MIN_TESTED = 20  # labelled receptors per class whose epitope can be called


def parse_args(argv=None):
    parser = script.parser(__doc__)
    add_labelled_options(parser, several_species=True)
    settings.add(parser, "model")
    settings.add(parser, "background_receptors", "annotation_references", "annotation_fdr", "annotate_innate")
    kept_results.add_option(parser)
    script.add_options(parser, "background", "seed", "threads", "outdir", "missing")
    return parser.parse_args(argv)


@optional_part("annotation")
def main(argv=None):
    args = parse_args(argv)
    from airrvec.evaluation import training_labels

    labels = training_labels.labels_from_encoder(args.model)
    for model in labels.not_recorded:
        logging.getLogger(__name__).warning(training_labels.not_recorded_warning(model))
    key, make = partial(_digest, args), partial(_calibrate_all, args, labels)
    kept_results.take_or_make(args.calibrations, key, args.outdir, make)
    script.write_versions(args, "numba", "numpy", "olga", "pyarrow", "scipy")


def _digest(args) -> str:
    """Return the digest of all that the results depend on."""
    from airrvec.model import weights

    inputs = {name: getattr(args, name) for name in ("cells", "receptors", "background")}
    names = (
        "species",
        "exclude_references",
        "background_receptors",
        "annotation_references",
        "annotation_fdr",
        "annotate_innate",
        "seed",
    )
    options = {name: getattr(args, name) for name in names}
    options["background"] = args.background and args.background.name  # is in the results
    return kept_results.digest(Path(__file__), weights.model_folder(args.model), inputs, options)


def _calibrate_all(args, labels) -> None:
    """Write the results, for all species and classes of chains."""
    runtime.limit_threads(1, loops=args.threads)  # of libraries: the threads are our own
    from airrvec.annotation import annotator_file, reference_comparison, reference_set
    from airrvec.encoders.sceptr import Sceptr

    encoder = Sceptr(args.model, threads=args.threads)
    options, same = united_options(args)
    digest = reference_comparison.digest_of_cells(tables.read(args.cells), options["receptors"])
    reference_set.require_labels(options["cells"], options["exclude_references"])
    excluded = reference_set.count_excluded_cells(options["cells"], options["exclude_references"])
    measured: dict[str, list] = {"calibration": [], "precision_recall": [], "epitopes": []}
    contradicted = []
    references = {}
    qc = {
        "background": "OLGA" if args.background is None else args.background.name,
        "exclude_references": options["exclude_references"],
        "excluded_cells": excluded,
        "not_recorded": list(labels.not_recorded),
        "innate": args.annotate_innate,
        "innate_references": {},
        "groups": [],
    }
    options["innate"] = args.annotate_innate
    for species in args.species:
        options["species"] = species
        innate = reference_set.count_innate_references(options["cells"], options["receptors"], species)
        qc["innate_references"][species] = innate
        for chains, (counts, results) in _calibrate_species(args, labels, options, encoder).items():
            qc["groups"].append({"species": species, "chains": chains, **counts})
            references[species, chains] = results.pop("reference", None)
            contradicted.append(results.pop("contradicted", None))
            for name, table in results.items():
                measured[name].append(table)
    qc["reference_digest"] = digest
    qc |= _write_references(args, options, references, contradicted, same)
    schemas = (schema.CALIBRATION, schema.PRECISION_RECALL, schema.ANNOTATION_EPITOPES)
    for (name, results), table_schema in zip(measured.items(), schemas, strict=True):
        table = pa.concat_tables([table_schema.empty_table(), *results])
        tables.write_both(table, args.outdir / name)
        measured[name] = table
    _count_holes(measured["epitopes"], qc["groups"])
    annotator_file.save_reasons(qc["groups"], args.outdir / "reference")
    tables.write_json(qc, args.outdir / "calibration.qc.json")


def _write_references(args, options: dict, references: dict, contradicted: list, same: pa.Table) -> dict:
    """Write the labels of the reference, its suspect labels and same studies; return their numbers."""
    from airrvec.annotation import suspect_labels
    from airrvec.annotation.reference_set import reference_table

    labelled = {name: options[name] for name in ("cells", "receptors", "exclude_references")}
    table = reference_table(references, **labelled)
    suspects = suspect_labels.suspect_labels(
        table,
        **labelled,
        contradicted=suspect_labels.together(contradicted),
        species=args.species,
        innate=args.annotate_innate,
    )
    for name, rows in (
        ("receptors", suspect_labels.marked(table, suspects)),
        ("suspect_labels", suspects),
        ("same_studies", same),
    ):
        tables.write_both(rows, args.outdir / name)
    numbers = suspect_labels.counts(suspects)
    if words := suspect_labels.sentence(numbers, len(suspects)):
        print_warning(words)
    names = same.select(["study", "same_as"]).to_pylist()
    return {"suspect_labels": numbers, "suspects": len(suspects), "same_studies": names}


def _count_holes(epitopes: pa.Table, groups: list[dict]) -> None:
    """Print what to expect of the epitopes of each class of chains, and add it to the counts of the class."""
    from airrvec.annotation.holes import hole_lines

    frame = epitopes.to_pandas()
    for group in groups:
        rows = frame[(frame["species"] == group["species"]) & (frame["chains"] == group["chains"])]
        group["outlook"] = hole_lines(rows) if len(rows) else []
        if len(rows):
            head, *named = group["outlook"]
            print_warning(f"{group['species']}, {group['chains']}: {head}", *(f"  {line}" for line in named))


def _calibrate_species(args, labels, options: dict, encoder) -> dict[str, tuple[dict, dict]]:
    """Write the references of a species; return the counts and tables of each class of chains."""
    from airrvec.annotation import reference_set

    background, no_background = _background(args, options)
    built = {chains: reference_set.build_reference_set(**options, chains=chains) for chains in CHAIN_CLASSES}
    embed = _embedder(args, encoder, built, background, options["species"])
    known = {chains: _known(embed, built[chains]) for chains in CHAIN_CLASSES}
    model = encoder.loaded.vector_model
    calibrate = partial(_calibrate, args, labels, options, known, background, no_background, embed, model)
    # All classes at once, each with all threads: one computes while another waits for Python.
    n_at_once = len(CHAIN_CLASSES) if args.threads > 1 else 1
    return dict(zip(CHAIN_CLASSES, runtime.in_threads(calibrate, CHAIN_CLASSES, n_at_once), strict=True))


def _background(args, options: dict) -> tuple[pa.Table, str | None]:
    """
    Return the background receptors of a species; none, and the reason, where they cannot be made.

    Raises
    ------
    InputError
        If they cannot be made, and the run has no other species.
    """
    from airrvec.annotation import reference_set
    from airrvec.synthetic.background import background

    receptors, problem = options["receptors"].slice(0, 0), None
    try:
        receptors = background(
            args.background,
            args.background_receptors,
            species=options["species"],
            seed=args.seed,
            leave_out=options["receptors"]["clonotype_id"],
            purpose="annotation background",
        )
    except InputError as error:
        if len(args.species) == 1:
            raise
        problem = str(error)
    return receptors if args.annotate_innate else reference_set.conventional(receptors), problem


def _embedder(args, encoder, built: dict, background: pa.Table, species: str):
    """Return a function that embeds receptors; most receptors of the calibration are embedded already."""
    from airrvec.annotation.known_vectors import KnownVectors

    embed = KnownVectors(encoder.embed)
    key = args.calibrations and _background_digest(args, species)
    kept = key and kept_results.read(args.calibrations, key, kept_results.BACKGROUND)
    embed.unpack({Path(name).stem: content for name, content in (kept or {}).items()})
    for chains in built:
        embed.learn(with_chains(background, chains))
    if key and kept is None and len(background):
        made = [(f"background/{chains}.arrow", content) for chains, content in embed.packed().items()]
        kept_results.write(args.calibrations, key, made, kept_results.BACKGROUND)
    for chains in built:
        parts = {name: with_chains(built[name].receptors, chains) for name in {chains, "paired"}}
        embed.learn(*(parts[name] for name in sorted(parts)))
    return embed


def _background_digest(args, species: str) -> str:
    """Return the digest of the background's vectors, which calibrations of several references share."""
    from airrvec.model import weights

    options = {"species": species, "seed": args.seed, "background_receptors": args.background_receptors}
    inputs, model = {"background": args.background}, weights.model_folder(args.model)
    return kept_results.digest(Path(__file__), model, inputs, options)


def _known(embed, reference) -> tuple:
    """Return the references of a class of chains with a vector, their vectors, and how many have none."""
    vectors = embed(reference.receptors)
    seen = np.isfinite(vectors).all(axis=1)
    return reference.take(np.flatnonzero(seen)), vectors[seen], int((~seen).sum())


def _untrained_queries(queries, seen: np.ndarray) -> tuple[np.ndarray, dict]:
    """
    Return which queries are used, shape (n,), and counts: not those that trained the model, if enough remain.

    Training receptors remain references, as they do for the receptors of a sample.
    """
    trained_on = seen[queries["row"]]
    counts = {"queries": int(trained_on.sum()), "left_out": False}
    if counts["queries"] and queries["reachable"][~trained_on].sum() >= MIN_TESTED:
        return ~trained_on, {**counts, "left_out": True}
    return np.ones(len(queries), bool), counts


def _calibrate(
    args,
    labels,
    options: dict,
    known: dict,
    background: pa.Table,
    no_background: str | None,
    embed,
    model: VectorModel,
    chains: str,
) -> tuple[dict, dict]:
    """Write the reference of a class of chains; return its counts and its tables."""
    from airrvec.annotation import annotator_file, calibrate, reference_set
    from airrvec.annotation.annotator import Annotator
    from airrvec.annotation.suspect_labels import contradictions

    reference, _, n_without = known[chains]
    excluded = reference_set.count_excluded(reference, **options, chains=chains)
    receptors, vectors = _with_vectors(with_chains(background, chains), embed)
    n_contrast = round(CONTRAST * len(receptors))
    candidates = int((reference.epitopes["n_references"] >= args.annotation_references).sum())
    counts = {
        "references": len(reference),
        "excluded_labels": int(excluded["n_excluded"].sum()),
        "without_vector": n_without,
        "epitopes": len(reference.epitopes),
        "candidates": candidates,
        "studies": len(reference.study_names),
        "background": len(receptors) - n_contrast,
        "tested": 0,
        "not_calibrated": no_background or _too_little(args, len(receptors), candidates),
    }
    if not len(reference):
        return counts, {}
    contrast = receptors.slice(0, n_contrast), vectors[:n_contrast]
    sources = _sources(known, chains, contrast, embed, args.annotation_references if candidates else 1, args)
    background_sample = receptors.slice(n_contrast), vectors[n_contrast:]
    path = args.outdir / "reference" / f"{options['species']}_{chains}.npz"
    save = partial(annotator_file.save, path=path, model=model)
    if counts["not_calibrated"]:
        save(Annotator(sources, calibrate.untrained(sources, *background_sample), None))
        return counts, {"reference": reference}
    _, counts["by_study"] = calibrate.assign_folds(reference, seed=args.seed)
    collected = calibrate.collect(sources, *background_sample, seed=args.seed)
    seen = labels.include(reference.receptors, chains)
    collected.queries["kept"], counts["trained_on"] = _untrained_queries(collected.queries, seen)
    counts["tested"] = int(collected.queries["reachable"][collected.queries["kept"]].sum())
    if counts["tested"] < MIN_TESTED:
        counts["not_calibrated"] = (
            f"{counted(counts['tested'], 'labelled receptor has', 'labelled receptors have')} an epitope with"
            f" references in other studies, and {MIN_TESTED} are needed"
        )
        save(Annotator(sources, collected.untrained(), None))
        return counts, {"reference": reference}
    fitted = calibrate.train(collected, threads=args.threads)
    counts["trained"] = fitted.scorer.is_trained
    save(Annotator(sources, fitted.scorer, fitted.scores))
    group = {"species": options["species"], "chains": chains}
    measured, counts["brier"] = _cross_validation(args, reference, fitted, excluded, group)
    contradicted = contradictions(reference, fitted, *group.values())
    return counts, {"reference": reference, "contradicted": contradicted, **measured}


def _with_vectors(receptors: pa.Table, embed) -> tuple[pa.Table, np.ndarray]:
    """Return the receptors with a vector, and their vectors."""
    vectors = embed(receptors)
    seen = np.isfinite(vectors).all(axis=1)
    return receptors.filter(pa.array(seen)), vectors[seen]


def _too_little(args, n_background: int, candidates: int) -> str | None:
    """Return why a class of chains has too few receptors to be calibrated; None if it has enough."""
    if n_background < MIN_BACKGROUND:
        return f"{counted(n_background, 'background receptor')}, and {MIN_BACKGROUND} are needed"
    return None if candidates else f"no epitope has {args.annotation_references} references"


def _sources(
    known: dict, chains: str, contrast: tuple[pa.Table, np.ndarray], embed, min_references: int, args
):
    """Return the sources of a class of chains; ``contrast``: background receptors and their vectors."""
    from airrvec.annotation.evidence import COMPARED, Sources

    receptors, vectors = contrast
    contrast_vectors = {chains: vectors}
    for name in set(COMPARED[chains]) - {chains}:
        contrast_vectors[name] = embed(on_chains(receptors, name))
    references = {name: known[name][0] for name in COMPARED[chains]}
    reference_vectors = {name: known[name][1] for name in COMPARED[chains]}
    return Sources(
        *(chains, references, reference_vectors, receptors, contrast_vectors),
        *(embed, min_references, args.threads),
    )


def _cross_validation(args, reference, fitted, excluded, group: dict) -> tuple[dict, float | None]:
    """Return the tables of the cross-validation of a class of chains, and its Brier score."""
    from airrvec.annotation import calibrate

    _, scores = fitted.scores.background.best()
    reliability, brier = calibrate.reliability_table(fitted.queries, scores, group)
    epitopes = calibrate.epitope_table(
        reference,
        fitted.queries,
        scores,
        group,
        fdr=args.annotation_fdr,
        min_references=args.annotation_references,
        excluded=excluded,
    )
    return {
        "calibration": reliability,
        "precision_recall": calibrate.precision_recall_table(fitted.queries, scores, group),
        "epitopes": epitopes,
    }, brier


if __name__ == "__main__":
    main()

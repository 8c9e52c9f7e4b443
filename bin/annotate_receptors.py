#!/usr/bin/env python3
"""Call the epitopes of the receptors of each sample, with probability and false discovery rate."""

import json
from functools import cache, partial
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from airrvec.core import hla, names, runtime, schema, script, tables
from airrvec.core.chains import CHAIN_CLASSES, chain_classes
from airrvec.core.errors import InputError
from airrvec.core.missing import optional_part
from airrvec.core.plural import counted

N_TOP = 50  # calls in the report
# What the report shows of a call, beside the fields of its receptor.
_SHOWN = [
    *("receptor_id", "species", "chains", *schema.ANTIGEN, "probability", "fdr", "n_cells"),
    *schema.EVIDENCE,
    *(f"nearest_1_{name}" for name in schema.NEAREST),
]


def parse_args(argv=None):
    parser = script.parser(__doc__)
    parser.add_argument("--sample", nargs="+", required=True, help="sample names, used in file names")
    parser.add_argument("--cells", type=Path, nargs="+", required=True, help="cells of each, in their order")
    parser.add_argument(
        "--hla", nargs="+", metavar="TYPING", help="HLA of the donor of each, in their order; '' if unknown"
    )
    parser.add_argument(
        "--receptors", type=Path, nargs="+", required=True, help="receptors of all, files or folders"
    )
    parser.add_argument("--embeddings", type=Path, help="vectors of the same model; if not given, computed")
    parser.add_argument("--model", default="sceptr", help="published variant, or model folder")
    parser.add_argument(
        "--reference", type=Path, required=True, help="folder written by calibrate_annotation.py"
    )
    parser.add_argument(
        "--fdr", type=float, default=0.1, help="false discovery rate: expected share of false calls"
    )
    parser.add_argument("--innate", action="store_true", help="call innate-like receptors (MAIT, iNKT) too")
    script.add_options(parser, "cpus", "outdir", "missing")
    return parser.parse_args(argv)


@optional_part("annotation")
def main(argv=None):
    args = parse_args(argv)
    runtime.limit_threads(args.cpus)
    receptors = tables.distinct_receptors(pa.concat_tables([tables.read(path) for path in args.receptors]))
    vectors = _vectors(args, receptors)
    annotators = cache(lambda species, chains: _annotator(args, species, chains))
    donors = _donors(args)
    for sample, path, donor in zip(args.sample, args.cells, donors, strict=True):
        cells = tables.read(path, ["sample_id", "cell_id", "receptor_id"])
        rows = np.flatnonzero(pc.is_in(receptors["receptor_id"], pc.unique(cells["receptor_id"])).to_numpy())
        calls, groups = annotated(receptors.take(pa.array(rows)), vectors[rows], annotators, args, donor)
        _write(sample, cells, receptors, calls, {"hla": hla.typing_text(donor), "groups": groups}, args)
    script.write_versions(args, "numba", "numpy", "pyarrow", "scipy")


def _donors(args) -> list[hla.Alleles]:
    """Return the HLA of each sample's donor; empty where it is unknown."""
    typings = args.hla or [""] * len(args.sample)
    if len(typings) != len(args.sample):
        given, samples = counted(len(typings), "typing"), counted(len(args.sample), "sample")
        raise InputError(f"--hla: {given} for {samples}")
    try:
        return [hla.parse_typing(text) for text in typings]
    except hla.HlaError as error:
        raise InputError(f"--hla: {error}") from error


def _annotator(args, species: str, chains: str):
    """Return the annotator of a species and class of chains, or None if there is none."""
    from airrvec.annotation import annotator_file

    path = args.reference / f"{species}_{chains}.npz"
    if not path.exists():
        return None
    annotator = annotator_file.load(path, partial(_embed, args.model), threads=args.cpus)
    if not annotator.sources.is_model():
        raise InputError(
            f"the vectors of {path.name} are of another model than '{args.model}'",
            fix="give the model that made the reference with --model",
            file=args.reference,
        )
    return annotator


def _embed(model: str, receptors: pa.Table, **options) -> np.ndarray:
    """Return vectors by a model, which is loaded once."""
    return _encoder(model).embed(receptors, **options)


@cache
def _encoder(model: str):
    from airrvec.encoders.sceptr import Sceptr

    return Sceptr(model)


def _write(sample: str, cells: pa.Table, receptors: pa.Table, calls: pd.DataFrame, about: dict, args) -> None:
    """Write the call of each cell of a sample, and counts for the report."""
    place = pc.index_in(cells["receptor_id"], pa.array(calls["receptor_id"])).to_numpy()
    table = pa.Table.from_pandas(calls.drop(columns="receptor_id"), preserve_index=False)
    table = table.take(pa.array(place))
    for name in cells.column_names:
        table = table.append_column(name, cells[name])
    table = names.with_fields(table, receptors)
    table = table.select(schema.ANNOTATION.names).cast(schema.ANNOTATION)
    tables.write_both(table, args.outdir / sample)
    calls["n_cells"] = np.bincount(place, minlength=len(calls))
    qc = {"sample_id": sample, "fdr": args.fdr, **about, **_counts(calls, receptors)}
    tables.write_json(qc, args.outdir / f"{sample}.annotation.qc.json")


def annotated(
    receptors: pa.Table, vectors: np.ndarray, annotators, args, donor: hla.Alleles | None = None
) -> tuple[pd.DataFrame, list]:
    """Return id, species, chains and call of each receptor, and the counts of each species and class."""
    from airrvec.annotation import annotator

    receptor_chains = chain_classes(receptors)
    receptor_species = receptors["species"].to_numpy()
    innate = pc.is_valid(receptors["innate_like"]).to_numpy() & (not args.innate)
    parts, groups = [], []
    for species, chains in product(schema.SPECIES, CHAIN_CLASSES):
        rows = np.flatnonzero((receptor_chains == chains) & (receptor_species == species) & ~innate)
        group_annotator = annotators(species, chains) if len(rows) else None
        if group_annotator is None:
            continue
        asked = receptors.take(pa.array(rows))
        calls, prevalence, restricted = _called(group_annotator, asked, vectors[rows], donor, args)
        calls["exact_epitope"] = group_annotator.exact(asked["clonotype_id"])
        parts.append(calls.set_index(rows))
        called = calls[calls["call"] == annotator.CALLED]
        counts = {
            "species": species,
            "chains": chains,
            "receptors": len(rows),
            "called": len(called),
            "expected_false": float(len(called) * called["fdr"].max()) if len(called) else 0.0,
            "prevalence": prevalence,
            **restricted,
        }
        groups.append(counts)
    done = np.concatenate([np.empty(0, np.int64), *(part.index for part in parts)])
    left = np.setdiff1d(np.flatnonzero(~innate), done)
    for rows, call in ((left, annotator.NOT_CALIBRATED), (np.flatnonzero(innate), annotator.INNATE_LIKE)):
        parts.append(annotator.without_calls(len(rows), call).set_index(rows))
    calls = pd.concat([part for part in parts if len(part)]).sort_index()
    ids = receptors["receptor_id"].to_pylist()
    about = {"receptor_id": ids, "species": receptor_species, "chains": receptor_chains}
    return calls.assign(**about, innate_like=receptors["innate_like"].to_pandas()), groups


def _called(
    annotator, receptors: pa.Table, vectors: np.ndarray, donor: hla.Alleles | None, args
) -> tuple[pd.DataFrame, float, dict]:
    """Return calls of the epitopes that the donor can present, the prevalence, and counts of candidates."""
    from airrvec.annotation import restriction

    if not donor:
        calls, prevalence = annotator.annotate(receptors, vectors, fdr=args.fdr)
        return calls, prevalence, {}
    epitopes = annotator.reference.epitopes
    allowed, verdicts = restriction.allowed_epitopes(donor, epitopes["epitope"], annotator.molecules)
    candidates = (epitopes["n_references"] >= annotator.min_references).to_numpy()
    counts = {
        "candidates": int(candidates.sum()),
        **{word: int((verdicts[candidates] == word).sum()) for word in (hla.EXCLUDED, hla.UNKNOWN)},
    }
    calls, prevalence = annotator.annotate(receptors, vectors, fdr=args.fdr, allowed=allowed)
    return calls, prevalence, counts


def _vectors(args, receptors: pa.Table) -> np.ndarray:
    """Return the vectors of the receptors, shape (n, d)."""
    if args.embeddings is None:
        return _embed(args.model, receptors, progress=runtime.progress("receptors", len(receptors)))
    table = tables.read_receptor_rows(args.embeddings, receptors["receptor_id"].combine_chunks())
    columns = [name for name in table.column_names if name.startswith("dim_")]
    return np.stack([table[name].to_numpy() for name in columns], axis=1).astype(np.float32)


def _counts(calls: pd.DataFrame, receptors: pa.Table) -> dict:
    """Return the counts for the report: receptors by call, called epitopes, calls with the highest score."""
    called = calls[calls["call"] == "called"]
    epitopes = called.groupby(["epitope", "antigen_species"], dropna=False).agg(
        receptors=("call", "size"), cells=("n_cells", "sum")
    )
    shown = called.sort_values(["score", "receptor_id"], ascending=[False, True]).head(N_TOP)
    top = names.with_fields(pa.Table.from_pandas(shown[_SHOWN], preserve_index=False), receptors).to_pandas()
    return {
        "receptors": len(calls),
        "cells": int(calls["n_cells"].sum()),
        "calls": calls["call"].value_counts().to_dict(),
        "called_cells": int(called["n_cells"].sum()),
        "exact": int(calls["exact_epitope"].notna().sum()),
        "excluded": {word: int(n) for word, n in calls["excluded_epitope"].value_counts().items()},
        "epitopes": json.loads(epitopes.reset_index().to_json(orient="records")),
        "top": json.loads(top.to_json(orient="records")),
    }


if __name__ == "__main__":
    main()

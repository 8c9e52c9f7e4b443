#!/usr/bin/env python3
"""
Annotation with and without the donor's HLA, on VDJdb's receptors whose donor is typed (`meta.donor.MHC`).

The studies of the table are divided into five folds. Typed receptors of a fold are annotated with a reference
of the other folds, donor by donor, each among background receptors of OLGA. Calls of background receptors
count as false. The alleles of an epitope are those of the reference: the held-out studies tell nothing.
"""

import re
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "bin"), str(ROOT)]

from airrvec.core import hla, identity, runtime, schema, tables

runtime.limit_threads(2)

from airrvec.annotation import annotator_file, calibrate, reference_set
from airrvec.annotation.annotator import Annotator, allowed_epitopes
from airrvec.core.chains import has_chains, on_chains
from airrvec.encoders.sceptr import Sceptr
from airrvec.synthetic.synthesis import synthesise

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

import calibrate_annotation
from benchmarks.common import results
from benchmarks.common.material import normalised

CLAIMED = (0.05, 0.1, 0.2)
MIN_REFERENCES = 10
DONOR_BACKGROUND = 1_000  # background receptors of a donor, and nine times the donor's labelled ones if more
SPECIES = "homosapiens"
COLUMNS = ["receptor_id", "clonotype_id", "species", *schema.RECEPTOR_FIELDS]


def parse_args(argv=None):
    parser = results.Parser(__file__, __doc__)
    parser.add_argument("--labelled", type=Path, required=True, help="VDJdb's full table")
    parser.add_argument("--exclude-references", default="10xgenomics")
    parser.add_argument("--chains", default="paired", help="paired, alpha or beta")
    parser.add_argument("--background", type=int, default=60_000, help="receptors of the calibration")
    parser.add_argument("--test-background", type=int, default=20_000, help="receptors among the donors'")
    parser.add_argument("--folds", type=int, default=calibrate.N_FOLDS, help="the first folds alone")
    parser.add_argument("--threads", type=int, default=2)
    return parser.parse_args(argv)


def donor_typing(text: str) -> hla.Alleles | None:
    """Alleles of a donor in the spellings of VDJdb's curators; None if a word is none."""
    plain = re.sub(r"\([^)]*\)", "", text)  # DRB1*1501 (DRB5)
    plain = re.sub(r"\s+and/or\s+", ",", plain)
    try:
        return hla.parse_typing(re.sub(r"or(?=[A-Z]+\*)", "/", plain)) or None
    except hla.HlaError:
        return None


def is_full(typing: hla.Alleles) -> bool:
    """Return whether a typing covers the loci A and B with at least three alleles."""
    return {"A", "B"} <= set(typing) and sum(len(typing[locus]) for locus in "AB") >= 3


def typed_rows(path: Path, folder: Path) -> tuple[Path, pd.DataFrame]:
    """Write the table with the number of each row as its cell; return its path and the typed rows."""
    table = pd.read_csv(path, sep="\t", dtype=str, keep_default_na=False)
    table["meta.clone.id"] = [f"row{number}" for number in range(len(table))]
    out = folder / "vdjdb.tsv"
    table.to_csv(out, sep="\t", index=False)
    typed = table[table["meta.donor.MHC"].str.strip() != ""]
    typings = typed["meta.donor.MHC"].map({text: donor_typing(text) for text in set(typed["meta.donor.MHC"])})
    rows = pd.DataFrame({"cell_id": typed["meta.clone.id"], "typing": typings})
    rows["mhc_a"], rows["mhc_b"] = typed["mhc.a"], typed["mhc.b"]
    rows["text"] = typed["meta.donor.MHC"]
    read = rows["typing"].notna()
    print(f"rows with a donor's MHC: {len(rows):,}, of {rows['text'].nunique()} spellings")
    print(f"read: {read.sum():,} rows, {rows.loc[read, 'text'].nunique()} spellings; not read:")
    print(rows.loc[~read, "text"].value_counts().to_string())
    rows = rows[read]
    own = [
        hla.allows(typing, hla.parse_mhc(f"{a}/{b}" if b and b != "B2M" else a))
        for typing, a, b in zip(rows["typing"], rows["mhc_a"], rows["mhc_b"], strict=True)
    ]
    full = rows["typing"].map(is_full)
    print("the MHC of the row's own epitope, by the donor's typing:", dict(Counter(own)))
    print("the same for typings of A and B with three alleles:", dict(Counter(np.array(own)[full].tolist())))
    return out, rows


def reference_without(cells, receptors, seen, background: Path, folder: Path, args) -> Annotator:
    """The annotator of a reference without some receptors, as the pipeline makes it."""
    left = cells.filter(pc.invert(pc.is_in(cells["receptor_id"], pa.array(seen))))
    tables.write(left, folder / "fold.cells.parquet")
    tables.write(receptors, folder / "fold.receptors.parquet")
    calibrate_annotation.main(
        [
            *("--cells", str(folder / "fold.cells.parquet")),
            *("--receptors", str(folder / "fold.receptors.parquet"), "--background", str(background)),
            *("--background-receptors", str(args.background), "--threads", str(args.threads)),
            *("--exclude-references", args.exclude_references, "--outdir", str(folder)),
        ]
    )
    path = folder / "reference" / f"{SPECIES}_{args.chains}.npz"
    sceptr = Sceptr("sceptr")
    return annotator_file.load(path, sceptr.embed, sceptr.loaded.vector_model, threads=args.threads)


def donor_calls(annotator: Annotator, receptors: pa.Table, vectors, typing) -> dict[str, pd.DataFrame]:
    """Calls of a donor's receptors without and with the donor's HLA, as given and at one field."""
    reference = annotator.reference
    coarse = {locus: frozenset(fields[:1] for fields in alleles) for locus, alleles in typing.items()}
    calls = {"without": annotator.annotate(receptors, vectors, fdr=max(CLAIMED))[0]}
    for use, donor in (("with", typing), ("one field", coarse)):
        allowed, _ = allowed_epitopes(donor, reference.epitopes["epitope"], annotator.molecules)
        calls[use] = annotator.annotate(receptors, vectors, fdr=max(CLAIMED), allowed=allowed)[0]
    return calls


def measured(annotator: Annotator, queries: pd.DataFrame, labelled, test, rng) -> tuple:
    """
    Counts of calls by donor, claim and use of HLA, and scores of the best epitopes.

    `queries` holds the text of the typing, the row in `asked`, and the epitopes. `asked` and `test` are
    receptors and their vectors.
    """
    known = annotator.reference.epitopes
    candidates = set(known.loc[known["n_references"] >= MIN_REFERENCES, "epitope"])
    counts, scores = [], []
    for text, rows in queries.groupby("typing_text"):
        typing = hla.parse_typing(str(text))
        n_background = min(max(DONOR_BACKGROUND, 9 * len(rows)), len(test[1]))
        background_rows = rng.permutation(len(test[1]))[:n_background]
        mixed = np.concatenate([labelled[1][rows["row"]], test[1][background_rows]])
        receptors = pa.concat_tables(
            [labelled[0].take(pa.array(rows["row"])), test[0].take(pa.array(background_rows))]
        )
        reachable = sum(bool(epitopes & candidates) for epitopes in rows["epitopes"])
        for use, calls in donor_calls(annotator, receptors, mixed, typing).items():
            right = np.zeros(len(mixed), bool)
            best = calls["best_epitope"][: len(rows)]
            right[: len(rows)] = [word in own for word, own in zip(best, rows["epitopes"], strict=True)]
            about = {"typing": text, "full": is_full(typing), "hla": use}
            scores.append(calls[["score"]].assign(**about, right=right))
            for claimed in CLAIMED:
                is_called = ((calls["fdr"] <= claimed) & calls["best_epitope"].notna()).to_numpy()
                counts.append(
                    {
                        **about,
                        **{"claimed": claimed, "calls": int(is_called.sum()), "findable": reachable},
                        "right": int((is_called & right).sum()),
                        "background": int(is_called[len(rows) :].sum()),
                    }
                )
    return counts, scores


def average_precision(scores: pd.DataFrame, reachable: int) -> float:
    """Mean over findable queries of the precision at their score; 0 where the best epitope is wrong."""
    right = scores.sort_values("score", ascending=False, kind="stable")["right"].to_numpy()
    precision = np.cumsum(right) / np.arange(1, len(right) + 1)
    return float(precision[right].sum() / reachable)


def show(counts: pd.DataFrame, scores: pd.DataFrame, title: str) -> dict:
    """Print and return calls by claim and use of HLA, and the average precision of the best epitopes."""
    donors = counts["typing"].nunique()
    print(f"\n{title}: {donors} typings")
    table = results.Table(
        claimed=".0%", hla="", calls=",", false=",", of_background=",", observed=".3f", recall=".3f"
    )
    for (claimed, use), rows in counts.groupby(["claimed", "hla"], sort=False):
        calls, right, reachable, background = rows[["calls", "right", "findable", "background"]].sum()
        observed = (calls - right) / calls if calls else None
        table.add(
            **{"claimed": claimed, "hla": use, "calls": calls, "false": calls - right},
            **{"of_background": background, "observed": observed},
            recall=right / reachable if reachable else None,
        )
    print("\nbest epitopes, called or not")
    best = results.Table(hla="", right=",", reachable=",", average_precision=".3f")
    reachable = counts[(counts["hla"] == "without") & (counts["claimed"] == CLAIMED[0])]["findable"].sum()
    for use, rows in scores.groupby("hla", sort=False):
        precision = average_precision(rows, reachable) if reachable else None
        best.add(hla=use, right=rows["right"].sum(), reachable=reachable, average_precision=precision)
    return {"typings": donors, "calls": table.rows, "best": best.rows}


def main(argv=None):
    args = parse_args(argv)
    counts, scores = [], []
    with TemporaryDirectory() as name:
        folder = Path(name)
        path, typed = typed_rows(args.labelled, folder)
        cells, receptors = normalised(path, folder)
        tables.write(synthesise(args.background, seed=1), folder / "background.parquet")
        test = on_chains(synthesise(args.test_background, seed=2), args.chains)
        encoder = Sceptr("sceptr")
        test = test.select(COLUMNS), encoder.embed(test)
        options = {"chains": args.chains, "species": SPECIES}
        reference = reference_set.build_reference_set(
            cells, receptors, **options, exclude_references=args.exclude_references
        )
        labelled = reference.receptors.select(COLUMNS), encoder.embed(reference.receptors)
        folds, _ = calibrate.assign_folds(reference, seed=420)

        # Rows of the reference: its receptors' donors, and all its receptor ids.
        usable = receptors.filter(pa.array(has_chains(receptors, args.chains)))
        clonotypes = pa.array(
            identity.clonotype_ids(on_chains(usable.select(schema.RECEPTORS.names), args.chains)), pa.string()
        )
        row = pc.index_in(clonotypes, reference.receptors["clonotype_id"].combine_chunks()).to_pandas()
        row.index = usable["receptor_id"].to_pandas()
        row = row.dropna().astype(int)
        placed = cells.select(["cell_id", "receptor_id"]).to_pandas().merge(typed, on="cell_id")
        placed = placed[placed["receptor_id"].isin(row.index)]
        placed["row"] = row.loc[placed["receptor_id"]].to_numpy()
        placed["typing_text"] = placed["typing"].map(hla.typing_text)
        donors = placed.drop_duplicates("row")[["row", "typing_text"]]
        names = reference.epitopes["epitope"].to_numpy()
        print(f"{len(reference):,} {args.chains} references, {len(donors):,} of a typed donor")
        rng = np.random.default_rng(420)
        for fold in range(args.folds):
            held_out = np.flatnonzero(folds[:, fold])
            queries = donors[donors["row"].isin(np.flatnonzero(folds[:, fold] & (folds.sum(axis=1) == 1)))]
            if not len(queries):
                continue
            epitopes = [set(names[reference.labels[[r]].indices]) for r in queries["row"]]
            seen = row.index[row.isin(held_out)]
            annotator = reference_without(
                cells, receptors, seen.tolist(), folder / "background.parquet", folder, args
            )
            queries = queries.assign(epitopes=epitopes)
            fold_results = measured(annotator, queries, labelled, test, rng)
            counts += fold_results[0]
            scores += fold_results[1]
            print(
                f"  fold {fold}: {len(queries):,} queries, {len(annotator.reference):,} references",
                flush=True,
            )
    calls, best = pd.DataFrame(counts), pd.DataFrame(pd.concat(scores))
    figures = {"chains": args.chains, "all": show(calls, best, "All typings")}
    if calls["full"].any():
        title = "Typings of A and B with three alleles at least"
        figures["full"] = show(calls[calls["full"]], best[best["full"]], title)
    results.write(args, figures, ["scikit-learn", "numba"])


if __name__ == "__main__":
    main()

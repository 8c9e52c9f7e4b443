#!/usr/bin/env python3
"""
Calls and their claimed false discovery rates where labels of the references are wrong.

Receptors of a fold of studies, with their true labels, are annotated with the others, of whose labels a share
is set wrong, in pairs and single chains alike. What trains and calibrates sees the wrong labels alone.
"""

import argparse
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "bin"))

from airrvec.core import runtime, tables

runtime.limit_threads(2)

from airrvec.annotation import calibrate, evidence, reference_set
from airrvec.annotation.evidence import COMPARED, Candidates, Sources
from airrvec.core.antigens import study_ids
from airrvec.encoders.sceptr import Sceptr
from airrvec.synthetic.synthesis import synthesise

import numpy as np
import pandas as pd
import pyarrow as pa

from annotation_labels import CLAIMED, SEED, Tested, counts, show_counts
from annotation_material import MIN_REFERENCES, held_out, normalised
from label_changes import KINDS, wrong_cells
from peer_measures import PREVALENCE, Calls, Ranking

SHARES = (0.1, 0.25, 0.5)
CHAINS, SPECIES = "paired", "homosapiens"
N_CONTRAST = 5_000


def parse_args(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--labelled", type=Path, required=True, help="a VDJdb export")
    parser.add_argument("--exclude-references", default="10xgenomics")
    parser.add_argument("--background", type=int, default=25_000, help="receptors that train and calibrate")
    parser.add_argument("--test", type=int, default=20_000, help="background receptors that test")
    parser.add_argument("--seeds", type=int, default=3, help="of the wrong labels and their mixtures")
    parser.add_argument("--repeats", type=int, default=2, help="mixtures of a fold and seed")
    parser.add_argument("--threads", type=int, default=2)
    return parser.parse_args(argv)


@dataclass(frozen=True)
class Material:
    """Labelled cells, their receptors, and what does not change with the labels."""

    cells: pa.Table
    receptors: pa.Table
    true: Sources
    negatives: tuple[pa.Table, np.ndarray]
    test: tuple[pa.Table, np.ndarray]

    def sources(self, cells: pa.Table) -> Sources:
        """Return the sources whose labels are those of some cells."""
        references = references_of(cells, self.receptors)
        vectors = {}
        for chains, reference in references.items():
            known = pd.Index(self.true.references[chains].receptors["clonotype_id"].to_pylist())
            rows = known.get_indexer(reference.receptors["clonotype_id"].to_pylist())
            vectors[chains] = self.true.vectors[chains][rows]
        return replace(self.true, references=references, vectors=vectors)


def references_of(cells: pa.Table, receptors: pa.Table) -> dict[str, reference_set.ReferenceSet]:
    """Return the references of pairs, and those of single chains."""
    return {
        chains: reference_set.build_reference_set(cells, receptors, chains=chains, species=SPECIES)
        for chains in COMPARED[CHAINS]
    }


def material(args) -> Material:
    with TemporaryDirectory() as folder:
        cells, receptors = normalised(args.labelled, Path(folder))
    cells = reference_set.select_labelled_cells(cells, args.exclude_references)
    embed = Sceptr("sceptr").embed
    made = tables.distinct_receptors(synthesise(N_CONTRAST + args.background + args.test, seed=1))
    contrast, negatives = made.slice(0, N_CONTRAST), made.slice(N_CONTRAST, args.background)
    test = made.slice(N_CONTRAST + args.background)
    options = {"min_references": MIN_REFERENCES, "threads": args.threads}
    true = Sources.embedded(CHAINS, references_of(cells, receptors), contrast, embed, **options)
    return Material(cells, receptors, true, (negatives, embed(negatives)), (test, embed(test)))


def annotated(data: Material, sources: Sources, asking: np.ndarray) -> tuple[Tested, np.ndarray]:
    """Annotate queries, and test background; return scores, and whether the best epitopes are true ones."""
    fitted = calibrate.fit(sources, *data.negatives)

    def candidates(receptors: pa.Table, vectors: np.ndarray) -> Candidates:
        found = evidence.both_looks(sources, receptors, vectors, fitted.scorer.threshold)
        return fitted.scorer.candidates(found)

    reference = data.true.reference
    queries = reference.receptors.take(pa.array(asking)), data.true.vectors[CHAINS][asking]
    epitope, score = candidates(*queries).best()
    true = pd.Index(reference.epitopes["epitope"])
    column = true.get_indexer(sources.reference.epitopes["epitope"])[epitope]
    right = (reference.labels[asking].toarray()[np.arange(len(asking)), column] > 0) & (epitope >= 0)
    return Tested(epitope, score, candidates(*data.test).best()[1], fitted.scores.calibration()), right


def main(argv=None):
    args = parse_args(argv)
    data = material(args)
    reference = data.true.reference
    folds, _ = calibrate.assign_folds(reference, seed=SEED)
    of_studies = calibrate.study_folds(reference)
    studies = study_ids(data.cells["reference_id"]).to_pandas().fillna(reference_set.NO_STUDY)
    fold_of = dict(zip(reference.study_names, of_studies, strict=True))
    # Studies that report no pair, alone α or β chains, are in no fold.
    fold_of_cell = studies.map(fold_of).fillna(-1).to_numpy()
    print(f"Wrong labels, {PREVALENCE:.0%} labelled, {args.seeds} seeds")
    print(f"{'labels':<18}{'claim':>5}{'observed':>8}{'calls':>9}{'recall':>8}   false/calls of each seed")
    for kind, share in [("random", 0.0), *((kind, share) for kind in KINDS for share in SHARES)]:
        of_seeds, wrong, measures = np.zeros((args.seeds, len(CLAIMED), 3)), [], []
        for seed in range(args.seeds):
            rng, calls = np.random.default_rng([SEED, seed]), []
            for fold in range(folds.shape[1]):
                asking, _, _, binds = held_out(reference, folds, fold)
                cells = data.cells.filter(pa.array(fold_of_cell != fold))
                changed, is_wrong = wrong_cells(cells, share, kind, rng)
                wrong.append(is_wrong.mean())
                tested, right = annotated(data, data.sources(changed), asking)
                reachable = binds.any(axis=1)
                # No bootstrap here: the rows stand for the studies.
                calls.append(Calls(tested.score, right, reachable, asking, tested.background))
                of_seeds[seed] += counts(tested, right, reachable, args.repeats, rng)
            measures.append(Ranking(Calls.pooled(calls)).measure())
        show_counts(f"{kind} {np.mean(wrong):.1%}", of_seeds)
        for name in ("ap", "recall_10", "top_1"):
            print(f"  {name}: " + ", ".join(f"{of_seed[name]:.3f}" for of_seed in measures), end=";")
        print(f"  wrong: {min(wrong):.3f} to {max(wrong):.3f}", flush=True)


if __name__ == "__main__":
    main()

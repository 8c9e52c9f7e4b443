"""Few-shot rules with further references than the k of each epitope, beside the same rule without them."""

from collections.abc import Iterator

from airrvec.core import schema

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from few_shot_families import BEST, evidence
from few_shot_material import TINY, Material, log_odds

KERNEL = 0.07
MIN_RECEPTORS = 100  # an epitope with fewer gives no further references


def epitopes_not_tested(material: Material, _) -> Iterator[tuple[str, str, np.ndarray]]:
    """
    Yield results with the receptors of other epitopes as references.

    These are the epitopes with at least `MIN_RECEPTORS` receptors that are too few for k references and
    100 to test: as many receptors as k of each, drawn for each split. They are not tested.
    """
    rng = np.random.default_rng(1)
    known, k = material.labelled.epitopes, material.references.shape[2]
    never = material.rows
    others = [np.setdiff1d(rows, never) for name, rows in known.items() if name not in material.epitopes]
    others = [rows for rows in others if len(rows) >= MIN_RECEPTORS]
    drawn = [
        np.unique(np.concatenate([rng.permutation(rows)[:k] for rows in others])) for _ in material.tested
    ]
    rows = np.unique(np.concatenate(drawn))
    usual = material.tested
    material.tested = usual.copy()
    for tested, left_out in zip(material.tested, drawn, strict=True):
        tested[left_out] = False
    receptors = material.labelled.receptors.take(pa.array(rows))
    for name, measures in (("SCEPTR", BEST[1:2]), ("seven measures", BEST)):
        before, after = 0, 0
        for measure in measures:
            terms = np.exp(-material.from_others(receptors, measure) / np.float32(KERNEL))
            further = np.stack([terms[np.searchsorted(rows, part)].sum(axis=0) for part in drawn])
            densities = material.densities(material.distances(measure), KERNEL)
            before = before + evidence(log_odds(densities))
            after = after + evidence(log_odds(densities, further))
        title = f"sum of log(1 + odds), {name}"
        yield f"{len(others)} further epitopes not tested: {title}", f"κ = {KERNEL}", material.aurocs(before)
        yield f"The same, and as references: {title}", f"κ = {KERNEL}", material.aurocs(after)
    material.tested = usual


def chains_of_other_studies(
    material: Material, everything: tuple[pa.Table, pa.Table]
) -> Iterator[tuple[str, str, np.ndarray]]:
    """
    Yield results with references of one chain added to the densities of this chain.

    Their studies have no paired receptor, so that none is tested, and no tested receptor has their chain
    (V gene and junction). The density of an epitope is the mean over all its references.
    """
    cells, receptors = everything
    n_epitopes, _, k = material.references.shape
    added = {chains: _single(material, cells, receptors, chains) for chains in ("alpha", "beta")}
    scores = 0
    for measure in BEST:
        densities = material.densities(material.distances(measure), KERNEL)
        if measure[1] in added:
            others, epitope = added[measure[1]]
            terms = np.exp(-material.from_others(others, measure) / np.float32(KERNEL))
            sums = np.stack([terms[epitope == number].sum(axis=0) for number in range(n_epitopes)])
            n = k + np.bincount(epitope, minlength=n_epitopes)[:, None, None]
            densities = np.log(np.maximum((np.exp(densities) + sums[:, None]) / n, TINY))
        scores = scores + evidence(log_odds(densities))
    counts = ", ".join(f"{len(others):,} {chains}" for chains, (others, _) in added.items())
    title = f"Single chains of other studies as references ({counts}): sum of log(1 + odds), seven measures"
    yield title, f"κ = {KERNEL}", material.aurocs(scores)


def _single(material, cells: pa.Table, receptors: pa.Table, chains: str) -> tuple[pa.Table, np.ndarray]:
    """Return receptors of one chain alone, and the number of each one's epitope."""
    locus, other = schema.LOCI if chains == "alpha" else schema.LOCI[::-1]
    v, j, junction = (schema.field(locus, name) for name in ("v_call", "j_call", "junction_aa"))
    studies = material.labelled.sources["reference_id"].drop_null().unique()
    usable = pc.and_(
        pc.is_valid(cells["reference_id"]), pc.is_in(cells["epitope"], pa.array(material.epitopes))
    )
    usable = pc.and_(usable, pc.invert(pc.is_in(cells["reference_id"], studies)))
    pairs = cells.filter(usable).group_by(["receptor_id", "epitope"]).aggregate([]).to_pandas()
    epitope = pairs.drop_duplicates("receptor_id", keep=False).set_index("receptor_id")["epitope"]

    def keys(table: pa.Table) -> pa.Array:
        gene = pc.list_element(pc.split_pattern(table[v], "*"), 0)
        return pc.binary_join_element_wise(gene, table[junction], " ")

    own = receptors.filter(pc.is_in(receptors["receptor_id"], pa.array(epitope.index)))
    for name in (v, j, junction):
        own = own.filter(pc.is_valid(own[name]))
    own = own.filter(pc.is_null(own[schema.field(other, "junction_aa")]))
    own = own.filter(pc.equal(own["species"], "homosapiens"))
    own = own.filter(pc.invert(pc.is_in(keys(own), keys(material.labelled.receptors).unique())))
    numbers = epitope.loc[own["receptor_id"].to_pylist()].map(material.epitopes.index)
    return own, numbers.to_numpy()

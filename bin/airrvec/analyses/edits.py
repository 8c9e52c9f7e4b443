"""
Effect of a single junction edit on the distance, by position.

The paper's appendix "Effects of different position embedding methods" and its figure "Investigating TCR
co-specificity rules as learned by different PLMs": the mean distance between a receptor and the same
receptor with one residue inserted, deleted or substituted, by fifths of the junction. The two conserved ends
are not edited.
"""

from airrvec.analyses import EACH_ENCODER, AnalysisSkipped
from airrvec.analyses.material import Material, pair_distances
from airrvec.core import schema
from airrvec.core.chains import GREEK
from airrvec.core.seeds import generator
from airrvec.model.tokens import AMINO_ACIDS

import numpy as np
import pyarrow as pa

SCOPE = EACH_ENCODER
SCHEMA = schema.EDITS
EDITS = ("insertion", "deletion", "substitution")
REGIONS = ("start", "second", "middle", "fourth", "end")
# Receptors, each edited once per chain, region and kind of edit; the paper has at least 100 of each.
N_EDITED = 200


def measure(material: Material) -> pa.Table:
    """Return mean and standard deviation of distances; the mean also relative to random receptor pairs."""
    receptors = material.sample.receptors.slice(0, N_EDITED)
    n = len(receptors)
    if n < 2:
        raise AnalysisSkipped("there are fewer than two receptors")
    variants, described = [], []
    rng = generator(material.seed, "edits")
    for row, receptor in enumerate(receptors.to_pylist()):
        for locus in schema.LOCI:
            column = schema.field(locus, "junction_aa")
            for edit in EDITS:
                for region, words in enumerate(REGIONS):
                    edited = edited_junction(receptor[column], edit, region, rng)
                    if edited is not None:
                        variants.append({**receptor, column: edited})
                        described.append((GREEK[locus], edit, words, row))
    table = pa.concat_tables([receptors, pa.Table.from_pylist(variants, receptors.schema)])
    originals = np.array([row for *_, row in described])
    distances = pair_distances(material.encoder, table, originals, n + np.arange(len(variants)))
    i, j = np.triu_indices(n, 1)
    unit = np.nanmean(pair_distances(material.encoder, receptors, i, j))
    groups: dict[tuple, list] = {}
    for (chain, edit, region, _), distance in zip(described, distances, strict=True):
        groups.setdefault((chain, edit, region), []).append(distance)
    rows = [
        {
            **dict(zip(("chain", "edit", "region"), key, strict=True)),
            "encoder": material.name,
            "n_edits": len(values),
            "mean_distance": np.mean(values),
            "std_distance": np.std(values, ddof=1) if len(values) > 1 else None,
            "relative": np.mean(values) / unit if unit > 0 else None,
        }
        for key, values in groups.items()
    ]
    return pa.Table.from_pylist(rows, SCHEMA)


def edited_junction(junction: str, edit: str, region: int, rng: np.random.Generator) -> str | None:
    """
    Return a junction with one residue inserted, deleted or substituted in a fifth of its length.

    Parameters
    ----------
    junction : str
        Junction with its conserved ends.
    edit : str
        One of `EDITS`.
    region : int
        Index in `REGIONS`, from the N terminus.

    Returns
    -------
    str or None
        None if the fifth has no residue besides a conserved end.
    """
    n = len(junction)
    # Residue p, and the gap before it, belong to the fifth that contains the middle of the residue.
    places = [p for p in range(1, n - 1) if (2 * p + 1) * len(REGIONS) // (2 * n) == region]
    if not places:
        return None
    place = rng.choice(places)
    if edit == "deletion":
        return junction[:place] + junction[place + 1 :]
    residues = AMINO_ACIDS if edit == "insertion" else AMINO_ACIDS.replace(junction[place], "")
    residue = residues[rng.integers(len(residues))]
    return junction[:place] + residue + junction[place + (edit == "substitution") :]

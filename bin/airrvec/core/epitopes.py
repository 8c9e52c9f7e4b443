"""Groups of epitopes: overlapping peptides and variants of one epitope."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations

from airrvec.core.progress import step

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

SHARED = 8  # residues that two peptides must share without a gap, and least length of a variant
_PEPTIDE = re.compile("[ACDEFGHIKLMNPQRSTVWY]+")


@step("groups of epitopes")
def epitope_groups(
    epitopes: Sequence[str], antigen_species: Sequence[str | None] | None = None
) -> np.ndarray:
    """
    Return the group of each epitope: connected components of the links below.

    Two peptides are linked if, laid over each other without a gap, they agree in all places that both have,
    and these are at least 8 (one contains the other, or their ends overlap): ``EAAGIGILTV`` and
    ``AAGIGILTV``. Two peptides of one length, at least 8, are also linked if they differ in one residue
    (``EAAGIGILTV`` and ``ELAGIGILTV``), unless they are of different species.

    Parameters
    ----------
    epitopes : sequence of str, length n
        Text other than the 20 residues, such as a modified peptide, is linked with its equals only. Upper
        and lower case are one.
    antigen_species : sequence of str or None, length n, optional
        Compared without case, blanks and punctuation; an unknown species differs from none.

    Returns
    -------
    ndarray of int64, shape (n,)
        Numbers from 0 in order of first appearance.
    """
    texts = [epitope.strip().upper() for epitope in epitopes]
    species = [_word(name) for name in antigen_species] if antigen_species is not None else [""] * len(texts)
    links = [*_equal(texts), *_overlapping(texts), *_variants(texts, species)]
    rows, columns = np.array(links, np.int64).reshape(-1, 2).T
    graph = coo_array((np.ones(len(rows), bool), (rows, columns)), (len(texts), len(texts)))
    number = connected_components(graph, directed=False)[1] if texts else np.empty(0, np.int64)
    _, first, group = np.unique(number, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first)).astype(np.int64)[group]


def _word(species: str | None) -> str:
    """Return a species without case, blanks and punctuation; "" if it is unknown."""
    return re.sub(r"[\W_]", "", (species or "").lower()) if isinstance(species, str) else ""


def _equal(texts: list[str]) -> Iterator[tuple[int, int]]:
    first: dict[str, int] = {}
    for row, text in enumerate(texts):
        yield first.setdefault(text, row), row


def _overlapping(texts: list[str]) -> Iterator[tuple[int, int]]:
    """Yield the pairs that agree wherever one lies over the other, with at least `SHARED` residues."""
    places = defaultdict(set)  # word → row, position
    for row, text in enumerate(texts):
        if _PEPTIDE.fullmatch(text):
            for start in range(len(text) - SHARED + 1):
                places[text[start : start + SHARED]].add((row, start))
    shifts = {
        (one, other, at - there)
        for shared in places.values()
        for (one, at), (other, there) in combinations(sorted(shared), 2)
        if one != other
    }
    for one, other, shift in shifts:
        left, right = texts[one][max(shift, 0) :], texts[other][max(-shift, 0) :]
        if all(a == b for a, b in zip(left, right, strict=False)):
            yield one, other


def _variants(texts: list[str], species: list[str]) -> Iterator[tuple[int, int]]:
    """Yield the pairs of one length that differ in one residue and are not of different species."""
    masked = defaultdict(list)  # position, peptide without its residue → rows
    for row, text in enumerate(texts):
        if len(text) >= SHARED and _PEPTIDE.fullmatch(text):
            for place in range(len(text)):
                masked[place, text[:place], text[place + 1 :]].append(row)
    for rows in masked.values():
        for one, other in combinations(rows, 2):
            if not species[one] or not species[other] or species[one] == species[other]:
                yield one, other

"""MHC restriction of epitopes: which of them a donor can present."""

from airrvec.core import hla

import numpy as np
import pandas as pd

# An epitope is restricted by the alleles of this share of its references, or of this number of studies. Fewer
# are taken as mistakes.
MIN_SHARE = 0.05
MIN_STUDIES = 2


def epitope_molecules(alleles: pd.DataFrame) -> dict[str, list[hla.Alleles]]:
    """
    Return the MHC molecules that present each epitope.

    Labels are compared at two fields. Of those, the ones with at least `MIN_SHARE` of the references that
    name an MHC, or with `MIN_STUDIES` studies, are kept, or the most frequent one if there is none. A label
    at lower resolution (``A*02``) is left out where a finer one (``A*02:01``) is kept.

    Parameters
    ----------
    alleles : DataFrame
        ``epitope``, ``mhc``, ``n_references``, ``n_studies``, as made by
        `airrvec.annotation.reference_set.count_alleles`.

    Returns
    -------
    dict
        Epitope → molecules as made by `airrvec.core.hla.parse_mhc`; epitopes without a known MHC are missing.
    """
    return {epitope: found for epitope, rows in alleles.groupby("epitope") if (found := _molecules(rows))}


def _molecules(rows: pd.DataFrame) -> list[hla.Alleles]:
    molecules, n_references, n_studies = {}, {}, {}
    for row in rows.itertuples():
        for molecule in hla.parse_mhc(row.mhc):
            name = hla.molecule_text(molecule)
            molecules[name] = molecule
            n_references[name] = n_references.get(name, 0) + row.n_references
            n_studies[name] = max(n_studies.get(name, 0), row.n_studies)  # spellings may share studies
    total = sum(n_references.values())
    kept = [
        name
        for name in molecules
        if n_references[name] >= MIN_SHARE * total or n_studies[name] >= MIN_STUDIES
    ] or sorted(molecules, key=n_references.get)[-1:]
    return [
        molecules[name]
        for name in sorted(kept)
        if not any(hla.is_coarser(molecules[name], molecules[other]) for other in kept)
    ]


def allowed_epitopes(
    donor: hla.Alleles, epitopes: pd.Series, molecules: dict[str, list[hla.Alleles]]
) -> tuple[np.ndarray, np.ndarray]:
    """
    Return which epitopes a donor can present.

    Parameters
    ----------
    donor : dict
        From `airrvec.core.hla.parse_typing`.
    epitopes : Series of str, shape (n_epitopes,)
    molecules : dict
        From `epitope_molecules`.

    Returns
    -------
    allowed : ndarray of bool, shape (n_epitopes,)
        False for an epitope that the donor's HLA excludes.
    verdicts : ndarray of str, shape (n_epitopes,)
        ``allowed``, ``excluded`` or ``unknown`` (`airrvec.core.hla.allows`).
    """
    verdicts = np.array([hla.allows(donor, molecules.get(epitope, [])) for epitope in epitopes], str)
    return verdicts != hla.EXCLUDED, verdicts

"""Holes of a reference: epitopes of which, by the cross-validation, no receptors will be found."""

from airrvec.core import schema
from airrvec.core.tables import named_rows
from airrvec.core.terminal import counted

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import sparse

FEW, NONE = 0.1, 0.02  # expected recall below which few receptors are found, and none
TESTED = 10  # receptors below which an epitope is not tested
WEIGHT = 10  # receptors of an epitope that weigh as much as the curve of all epitopes
MOST = 100  # receptors of an epitope, of one fold, that count in this curve
N_NAMED = 5  # holes that the terminal names


def outlook(expected: float | None, n_tested: int) -> str:
    """
    Return a word of ``outlook`` of `airrvec.core.schema.ANNOTATION_EPITOPES`.

    Parameters
    ----------
    expected : float or None
        From `expected_recall`; None if the epitope is never called.
    n_tested : int
        Receptors that test it.

    Examples
    --------
    >>> outlook(0.5, 20), outlook(0.05, 20), outlook(0.01, 20), outlook(0.5, 1), outlook(None, 0)
    ('found', 'few', 'nothing', 'not tested', 'never called')
    """
    if expected is None:
        return schema.NEVER_CALLED
    if n_tested < TESTED:
        return schema.NOT_TESTED
    return (
        schema.NOTHING if expected < NONE else schema.POOR_OUTLOOK if expected < FEW else schema.GOOD_OUTLOOK
    )


def expected_recall(
    binds: sparse.csr_array, fold: ArrayLike, calls: ArrayLike, n_references: ArrayLike, minimum: int
) -> np.ndarray:
    """
    Return the share of the receptors of each epitope that the whole reference is expected to find.

    The folds show what few references find, because they hold out whole studies: of an epitope with 135
    references, of which one study has 134, no more is tested than what one reference finds. So each epitope
    is shrunk towards a monotone curve of recall against the number of references that were left, with the
    weight of `WEIGHT` receptors.

    Parameters
    ----------
    binds : csr_array, shape (n_queries, n_epitopes)
        Epitopes of the labelled receptors.
    fold : array of int, shape (n_queries,)
        Their folds.
    calls : array of int, shape (n_queries,)
        The epitope that each is called with; -1 if it has no call.
    n_references : array of int, shape (n_epitopes,)
        References of each epitope.
    minimum : int
        References that an epitope needs to be called.

    Returns
    -------
    ndarray, shape (n_epitopes,)
    """
    from sklearn.isotonic import IsotonicRegression

    fold, calls, n_references = np.asarray(fold), np.asarray(calls), np.asarray(n_references)
    pairs = binds.tocoo()
    labels = pd.DataFrame(
        {"epitope": pairs.col, "fold": fold[pairs.row], "right": calls[pairs.row] == pairs.col}
    )
    tested = labels.groupby(["epitope", "fold"])["right"].agg(["size", "sum"]).reset_index()
    tested["left"] = n_references[tested["epitope"]] - tested["size"]
    tested = tested[tested["left"] >= minimum]
    curve = np.zeros(len(n_references))
    if len(tested):
        weight = np.minimum(tested["size"], MOST)
        fitted = IsotonicRegression(out_of_bounds="clip")
        curve = fitted.fit(tested["left"], tested["sum"] / tested["size"], weight).predict(n_references)
    n_tested, n_right = (np.bincount(tested["epitope"], tested[name], len(curve)) for name in ("size", "sum"))
    return (n_right + WEIGHT * curve) / (n_tested + WEIGHT)


def hole_lines(epitopes: pd.DataFrame, n_named: int = N_NAMED) -> list[str]:
    """
    Return what to expect of the epitopes of one class: a line of counts, and one for each of the first holes.

    Holes are epitopes with enough references of which little or nothing is found, or that nothing tests,
    those with most references first. Where nothing is found of most, as by one chain, none is named.

    Parameters
    ----------
    epitopes : DataFrame
        `airrvec.core.schema.ANNOTATION_EPITOPES` of one species and class of chains.
    n_named : int
        Holes that are named.
    """
    n = epitopes["outlook"].value_counts().reindex(schema.OUTLOOKS, fill_value=0)
    n_enough = int(n.sum() - n[schema.NEVER_CALLED])
    head = (
        f"{n_enough:,} of {counted(len(epitopes), 'epitope')} have enough references; by the folds, receptors"
        f" are found of {n[schema.GOOD_OUTLOOK]:,}, few of {n[schema.POOR_OUTLOOK]:,}, none of"
        f" {n[schema.NOTHING]:,}; {n[schema.NOT_TESTED]:,} cannot be tested"
    )
    if n[schema.GOOD_OUTLOOK] + n[schema.POOR_OUTLOOK] < n[schema.NOTHING]:  # the class, not the epitopes
        return [head]
    missed = epitopes[epitopes["outlook"].isin([schema.POOR_OUTLOOK, schema.NOTHING, schema.NOT_TESTED])]
    missed = missed.sort_values(["n_references", "epitope"], ascending=[False, True])
    return [head, *(_hole(row) for row in named_rows(missed.head(n_named)))]


def _hole(row) -> str:
    """Return what to expect of an epitope, as text."""
    share = f"{row.expected_recall:.0%}".replace("%", " %")
    words = {
        schema.POOR_OUTLOOK: f"{share} of its receptors will be found",
        schema.NOTHING: "nothing will be found",
        schema.NOT_TESTED: f"not tested, {share} expected by epitopes with as many",
    }[row.outlook]
    references, studies = counted(row.n_references, "reference"), counted(row.n_studies, "study", "studies")
    return f"{row.epitope}: {references} of {studies}; {words}"

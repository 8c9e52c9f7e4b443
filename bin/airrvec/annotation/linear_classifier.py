"""
Linear classifier of receptors by epitope: ridge regression on genes, junction lengths and residues.

The features of each chain are its V and J gene, the length of the junction, the residues at its ends, and the
triplets of residues between them. Each candidate epitope is regressed on the features of all references;
background receptors have no epitope and weigh as much as all references together (Hoerl and Kennard 1970,
Technometrics 12). Densities compare a receptor with whole receptors; the classifier weighs each feature.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from airrvec.core import schema
from airrvec.core.chains import CHAIN_LOCI
from airrvec.core.tables import map_distinct

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy  # whose parts are imported on use
from scipy import sparse

N_PLACES = 8  # residues from either end of the junction, without its C and F
N_TRIPLETS = 400  # most frequent triplets of each chain; others are no features
ENDS = 3  # residues at either end that are in no triplet
PENALTY = 1e-3  # of the squared weights, for each receptor
# Scale of the features beside each other: the penalty is the same for all weights.
SCALE_GENE, SCALE_RESIDUE, SCALE_TRIPLET, SCALE_LENGTH = 0.3, 0.3, 0.5, 0.1
TYPICAL_LENGTH = 14

_RESIDUES = b"ACDEFGHIKLMNPQRSTVWY"
_NUMBER = np.full(256, -1, np.int64)
_NUMBER[np.frombuffer(_RESIDUES, np.uint8)] = np.arange(len(_RESIDUES))


@dataclass(frozen=True)
class Reader:
    """
    What the features of receptors are, which depends on all references, whatever their epitopes.

    Attributes
    ----------
    loci : sequence of str
        Loci of the chains.
    genes : dict of str to pyarrow.Array
        Column → genes that are features.
    triplets : dict of str to ndarray of int64
        Locus → numbers of the triplets that are features, ascending.
    """

    loci: Sequence[str]
    genes: dict[str, pa.Array]
    triplets: dict[str, np.ndarray]

    def read(self, receptors: pa.Table) -> sparse.csr_array:
        """Return the features of receptors, shape (n, n_features)."""
        return _features(receptors, self.loci, self.genes, self.triplets)


@dataclass(frozen=True)
class Features:
    """
    Features of references and background receptors, of which classifiers are fitted.

    Attributes
    ----------
    reader : Reader
    references, background : csr_array, shape (n, n_features), (n_background, n_features)
    background_products : ndarray of float64, shape (n_features, n_features)
        Sums of products of features over background receptors.
    """

    reader: Reader
    references: sparse.csr_array
    background: sparse.csr_array
    background_products: np.ndarray

    @classmethod
    def read(cls, chains: str, references: pa.Table, background: pa.Table) -> "Features":
        """
        Return the features of a chain class.

        Parameters
        ----------
        chains : {"paired", "alpha", "beta"}
        references, background : pyarrow.Table
            ``receptors`` with these chains, shape (n,) and (n_background,).
        """
        loci = CHAIN_LOCI[chains]
        genes = {name: _distinct_genes(references[name], background[name]) for name in gene_columns(chains)}
        triplets = {locus: _frequent_triplets(_codes(references, locus)) for locus in loci}
        reader = Reader(loci, genes, triplets)
        unlabelled = reader.read(background)
        return cls(reader, reader.read(references), unlabelled, _products(unlabelled))

    def take(self, rows: np.ndarray) -> "Features":
        """Return the features of these references."""
        return replace(self, references=self.references[rows])


def gene_columns(chains: str) -> list[str]:
    """Return the columns of ``receptors`` with the genes of a chain class."""
    return [schema.field(locus, name) for locus in CHAIN_LOCI[chains] for name in ("v_call", "j_call")]


@dataclass(frozen=True)
class LinearClassifier:
    """
    Weights of the features of receptors for each candidate epitope.

    Attributes
    ----------
    reader : Reader
        How receptors are read.
    weights : ndarray of float64, shape (n_features, n_epitopes)
    constant : ndarray of float64, shape (n_epitopes,)
    """

    reader: Reader
    weights: np.ndarray
    constant: np.ndarray

    def score(self, receptors: pa.Table) -> np.ndarray:
        """Return the score of each receptor for each epitope, shape (n, n_epitopes): standard deviations."""
        score = self.reader.read(receptors) @ self.weights + self.constant
        return score.round(6)  # libraries of linear algebra differ in the last digits


def fit(features: Features, labels: sparse.csr_array) -> LinearClassifier:
    """Return the classifier of references with ``labels``, shape (n, n_epitopes): 1 where one binds."""
    n, n_background = features.references.shape[0], features.background.shape[0]
    weight = n / max(n_background, 1)  # of a background receptor
    total = n + weight * n_background
    sums, background_sums = (
        np.asarray(part.sum(axis=0)).ravel() for part in (features.references, features.background)
    )
    mean = (sums + weight * background_sums) / total
    frequency = np.asarray(labels.sum(axis=0)).ravel() / total
    covariance = _products(features.references) + weight * features.background_products
    covariance -= total * np.outer(mean, mean)
    covariance[np.diag_indices(len(mean))] += PENALTY * total
    products = (features.references.T @ labels).toarray() - total * np.outer(mean, frequency)
    weights = products
    if products.size:
        weights = scipy.linalg.solve(covariance, products, assume_a="pos", overwrite_a=True)
    scores = [part @ weights for part in (features.references, features.background)]
    spread = np.concatenate(scores).std(axis=0)
    weights = weights / np.where(spread > 0, spread, 1)
    return LinearClassifier(features.reader, weights, -mean @ weights)


def _products(features: sparse.csr_array) -> np.ndarray:
    """Return the sums of products of features over the rows, shape (n_features, n_features)."""
    return (features.T @ features).toarray()


def genes_of(calls: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return the gene of each call, without the allele."""
    return map_distinct(calls, lambda call: call and call.split("*")[0])


def _distinct_genes(*columns: pa.ChunkedArray) -> pa.Array:
    genes = map(genes_of, columns)
    known = {gene for column in genes for gene in pc.unique(column).to_pylist() if gene}
    return pa.array(sorted(known), pa.string())


def _codes(receptors: pa.Table, locus: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the residues of junctions without their first and last one, shape (n, longest), and lengths."""
    column = pc.fill_null(receptors[schema.field(locus, "junction_aa")], "")
    inner = pc.utf8_slice_codeunits(column, 1, np.iinfo(np.int32).max)
    words = np.array(inner.to_pylist() or [""], "S")
    letters = words.view(np.uint8).reshape(len(words), -1)[: len(receptors)]
    lengths = np.maximum((letters > 0).sum(axis=1) - 1, 0)
    codes = _NUMBER[letters]
    codes[np.arange(letters.shape[1]) >= lengths[:, None]] = -1
    return codes, lengths


def _triplets(codes: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Return the numbers of the triplets of each junction, shape (n, n_places); -1 where there is none."""
    residues, lengths = codes
    if residues.shape[1] < 3:
        return np.full((len(residues), 1), -1)
    first, second, third = residues[:, :-2], residues[:, 1:-1], residues[:, 2:]
    numbers = (first * 20 + second) * 20 + third
    place = np.arange(numbers.shape[1])
    # The junction's first residue is left out already.
    used = (place >= ENDS - 1) & (place + 3 <= lengths[:, None] - ENDS + 1)
    return np.where(used & (first >= 0) & (second >= 0) & (third >= 0), numbers, -1)


def _frequent_triplets(codes: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    numbers = _triplets(codes)
    counts = np.bincount(numbers[numbers >= 0], minlength=len(_RESIDUES) ** 3)
    frequent = np.argsort(-counts, kind="stable")[:N_TRIPLETS]
    return np.sort(frequent[counts[frequent] > 0])


def _features(
    receptors: pa.Table, loci: Sequence[str], genes: dict[str, pa.Array], triplets: dict[str, np.ndarray]
) -> sparse.csr_array:
    """Return the features of receptors, shape (n, n_features); an unknown gene or residue has none."""
    blocks = []
    for locus in loci:
        for name in ("v_call", "j_call"):
            column = schema.field(locus, name)
            number = pc.index_in(genes_of(receptors[column]), genes[column])
            places = pc.fill_null(number, -1).to_numpy(zero_copy_only=False)[:, None]
            blocks.append(_indicator(places, len(genes[column]), SCALE_GENE))
        residues, lengths = codes = _codes(receptors, locus)
        blocks.append(sparse.csr_array((lengths[:, None] + 2 - TYPICAL_LENGTH) * SCALE_LENGTH))
        blocks.append(_indicator(_ends(residues, lengths), 2 * N_PLACES * len(_RESIDUES), SCALE_RESIDUE))
        numbers, known = _triplets(codes), triplets[locus]
        places = np.searchsorted(known, numbers)
        is_known = np.append(known, -2)[places] == numbers
        blocks.append(_indicator(np.where(is_known, places, -1), len(known), SCALE_TRIPLET))
    return sparse.csr_array(sparse.hstack(blocks, format="csr"))


def _ends(residues: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return the number of the residue at each place from either end, each half once; shape (n, 2 places)."""
    place = np.arange(N_PLACES)
    half = (lengths[:, None] + 1) // 2
    columns = np.stack(
        [np.broadcast_to(place, (len(lengths), N_PLACES)), lengths[:, None] - 1 - place], axis=1
    )
    used = np.stack([place < half, place < lengths[:, None] - half], axis=1)
    last = residues.shape[1] - 1
    row = np.arange(len(lengths))[:, None, None]
    number = residues[row, np.clip(columns, 0, last)]
    offsets = (np.arange(2)[:, None] * N_PLACES + place) * len(_RESIDUES)
    return np.where(used & (number >= 0), number + offsets, -1).reshape(len(lengths), 2 * N_PLACES)


def _indicator(places: np.ndarray, n_columns: int, scale: float) -> sparse.csr_array:
    """Return ``scale`` at the columns of each row, shape (n, n_columns); -1 is no column."""
    row, _ = used = np.nonzero(places >= 0)
    data = np.full(len(row), scale)
    return sparse.csr_array((data, (row, places[used])), (len(places), n_columns))
